"""The place of each member of version 3 in version 2."""

import pytest

from vacr.record.conversion import convert

SESSION = {
    "format": "interactive",
    "session-id": "s",
    "agent-meta": {"model-id": "m", "model-provider": "p"},
    "entries": [],
}
RECORD = {"version": "3.0.0-draft", "id": "x", "session": SESSION}


def lowered(**members):
    return convert(
        RECORD | {name.replace("_", "-"): value for name, value in members.items()},
        "v2",
        json=False,
    )


def session(**members):
    return lowered(
        session=SESSION | {name.replace("_", "-"): value for name, value in members.items()}
    )["session"]


def entry(value):
    return session(entries=[value])["entries"][0]


def ours(**data):
    return {
        "vendor": "vacr",
        "data": {name.replace("_", "-"): value for name, value in data.items()},
    }


def test_record_that_both_versions_fit_changes_only_its_version():
    assert lowered() == RECORD | {"version": "2.0.0-draft"}


ROOT = [
    ({"vacr": {"source": {}}}, {"metadata": ours(vacr={"source": {}})}),
    ({"vacr": {}, "more": 1}, {"metadata": ours(vacr={}, more=1)}),
    ({"version": "3.1"}, {"metadata": ours(version="3.1")}),
    (
        {"metadata": {"vendor": "acme", "data": {1: 2}}},
        {"metadata": {"vendor": "acme", "data": {1: 2}}},
    ),
    (
        {"metadata": {"vendor": "acme"}, "more": 1},
        {"metadata": ours(metadata={"vendor": "acme"}, more=1)},
    ),
    ({"metadata": {"no": "vendor"}}, {"metadata": ours(metadata={"no": "vendor"})}),
    ({"metadata": ours(more=1)}, {"metadata": ours(metadata=ours(more=1))}),
    (
        {"recording-agent": {"name": "r", "url": "u"}},
        {"recording-agent": {"name": "r"}, "metadata": ours(recording_agent={"url": "u"})},
    ),
    (
        {"vcs": {"type": "git", "worktree": "w"}, "created": 5},
        {"vcs": {"type": "git", "vendor-ext": ours(worktree="w")}, "created": 5},
    ),
    (
        {"vendor-ext": {"vendor": "acme"}},
        {"metadata": {"vendor": "vacr", "data": {"vendor-ext": {"vendor": "acme"}}}},
    ),
]


@pytest.mark.parametrize(("members", "expected"), ROOT)
def test_members_of_the_record(members, expected):
    assert lowered(**members) == RECORD | {"version": "2.0.0-draft"} | expected


TRACE = [
    (
        {"format": "autonomous", "task-result": "done"},
        {"format": "autonomous", "task-result": "done"},
    ),
    (
        {"format": "autonomous", "task-result": 5},
        {"format": "autonomous", "vendor-ext": ours(task_result=5)},
    ),
    ({"task-result": "done"}, {"vendor-ext": ours(task_result="done")}),
    ({"format": "batch"}, {"vendor-ext": ours(format="batch")}),
    (
        {"session-id": b"\x01\xff"},
        {"session-id": "01ff", "vendor-ext": ours(session_id=b"\x01\xff")},
    ),
    ({"gitBranch": "main"}, {"vendor-ext": ours(gitBranch="main")}),
    (
        {"environment": {"working-dir": "/", "os": "linux"}},
        {"environment": {"working-dir": "/", "vendor-ext": ours(os="linux")}},
    ),
]


@pytest.mark.parametrize(("members", "expected"), TRACE)
def test_members_of_the_session(members, expected):
    assert session(**members) == SESSION | expected


def test_missing_format_is_noted_in_the_extension():
    without = {name: value for name, value in SESSION.items() if name != "format"}
    assert lowered(session=without)["session"] == SESSION | {"vendor-ext": ours(format=None)}


ENTRIES = [
    (
        {"type": "user", "content": 1, "cwd": "/"},
        {"type": "user", "content": 1, "vendor-ext": ours(cwd="/")},
    ),
    ({"type": "user", "stop-reason": "x"}, {"type": "user", "vendor-ext": ours(stop_reason="x")}),
    (
        {"type": "user", "token-usage": {"input": 1}},
        {"type": "user", "vendor-ext": ours(token_usage={"input": 1})},
    ),
    ({"type": "user", "session-id": "s"}, {"type": "user", "session-id": "s"}),
    ({"type": "user", "session-id": 5}, {"type": "user", "vendor-ext": ours(session_id=5)}),
    ({"type": "assistant", "stop-reason": "x"}, {"type": "assistant", "stop-reason": "x"}),
    (
        {"type": "assistant", "stop-reason": ["x"]},
        {"type": "assistant", "vendor-ext": ours(stop_reason=["x"])},
    ),
    (
        {"type": "assistant", "token-usage": {"input": 1, "thoughts": 2}},
        {"type": "assistant", "token-usage": {"input": 1, "vendor-ext": ours(thoughts=2)}},
    ),
    (
        {
            "type": "tool-call",
            "name": "n",
            "input": 1,
            "contributor": {"type": "ai", "model-id": "m"},
        },
        {
            "type": "tool-call",
            "name": "n",
            "input": 1,
            "contributor": {"type": "ai", "model_id": "m"},
        },
    ),
    (
        {
            "type": "tool-call",
            "name": "n",
            "input": 1,
            "contributor": {"type": "ai", "model_id": "m"},
        },
        {
            "type": "tool-call",
            "name": "n",
            "input": 1,
            "vendor-ext": ours(contributor={"type": "ai", "model_id": "m"}),
        },
    ),
    (
        {"type": "tool-result", "output": 1, "model-id": "m"},
        {"type": "tool-result", "output": 1, "vendor-ext": ours(model_id="m")},
    ),
    ({"type": "reasoning", "content": ""}, {"type": "reasoning", "content": ""}),
    (
        {"type": "system-event", "event-type": "e", "data": {"a": 1}},
        {"type": "system-event", "event-type": "e", "data": {"vendor": "vacr", "data": {"a": 1}}},
    ),
    (
        {"type": "system-event", "event-type": "e", "data": {"vendor": "acme", "data": {"a": 1}}},
        {"type": "system-event", "event-type": "e", "data": {"vendor": "acme", "data": {"a": 1}}},
    ),
    (
        {"type": "user", "vendor-ext": {"vendor": "acme", "version": "1", "data": {7: 1}}},
        {"type": "user", "vendor-ext": {"vendor": "acme", "version": "1", "data": {7: 1}}},
    ),
    (
        {"type": "user", "vendor-ext": {"vendor": "acme"}, "cwd": "/"},
        {
            "type": "user",
            "vendor-ext": {
                "vendor": "vacr",
                "data": {"vendor-ext": {"vendor": "acme"}, "cwd": "/"},
            },
        },
    ),
    (
        {"type": "user", "children": [{"type": "reasoning", "content": 1, "x": 1}]},
        {
            "type": "user",
            "children": [{"type": "reasoning", "content": 1, "vendor-ext": ours(x=1)}],
        },
    ),
]


@pytest.mark.parametrize(("value", "expected"), ENTRIES)
def test_entries(value, expected):
    assert entry(value) == expected
