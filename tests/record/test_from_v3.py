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


def convert_to_v2(**members):
    """Convert the record with these members; `_` stands for `-`."""
    return convert(
        RECORD | {name.replace("_", "-"): value for name, value in members.items()},
        "v2",
        json=False,
    )


def convert_session(**members):
    return convert_to_v2(
        session=SESSION | {name.replace("_", "-"): value for name, value in members.items()}
    )["session"]


def convert_entry(value):
    return convert_session(entries=[value])["entries"][0]


def make_extension(**data):
    """Return the extension into which vacr packs these members."""
    return {
        "vendor": "vacr",
        "data": {name.replace("_", "-"): value for name, value in data.items()},
    }


def test_record_that_both_versions_fit_changes_only_its_version():
    assert convert_to_v2() == RECORD | {"version": "2.0.0-draft"}


ROOT = [
    ({"vacr": {"source": {}}}, {"metadata": make_extension(vacr={"source": {}})}),
    ({"vacr": {}, "more": 1}, {"metadata": make_extension(vacr={}, more=1)}),
    ({"version": "3.1"}, {"metadata": make_extension(version="3.1")}),
    (
        {"metadata": {"vendor": "acme", "data": {1: 2}}},
        {"metadata": {"vendor": "acme", "data": {1: 2}}},
    ),
    (
        {"metadata": {"vendor": "acme"}, "more": 1},
        {"metadata": make_extension(metadata={"vendor": "acme"}, more=1)},
    ),
    ({"metadata": {"no": "vendor"}}, {"metadata": make_extension(metadata={"no": "vendor"})}),
    (
        {"metadata": make_extension(more=1)},
        {"metadata": make_extension(metadata=make_extension(more=1))},
    ),
    (
        {"recording-agent": {"name": "r", "url": "u"}},
        {
            "recording-agent": {"name": "r"},
            "metadata": make_extension(recording_agent={"url": "u"}),
        },
    ),
    (
        {"vcs": {"type": "git", "worktree": "w"}, "created": 5},
        {"vcs": {"type": "git", "vendor-ext": make_extension(worktree="w")}, "created": 5},
    ),
    (
        {"vendor-ext": {"vendor": "acme"}},
        {"metadata": {"vendor": "vacr", "data": {"vendor-ext": {"vendor": "acme"}}}},
    ),
]


@pytest.mark.parametrize(("members", "expected"), ROOT)
def test_record_members_are_converted(members, expected):
    assert convert_to_v2(**members) == RECORD | {"version": "2.0.0-draft"} | expected


TRACE = [
    (
        {"format": "autonomous", "task-result": "done"},
        {"format": "autonomous", "task-result": "done"},
    ),
    (
        {"format": "autonomous", "task-result": 5},
        {"format": "autonomous", "vendor-ext": make_extension(task_result=5)},
    ),
    ({"task-result": "done"}, {"vendor-ext": make_extension(task_result="done")}),
    ({"format": "batch"}, {"vendor-ext": make_extension(format="batch")}),
    (
        {"session-id": b"\x01\xff"},
        {"session-id": "01ff", "vendor-ext": make_extension(session_id=b"\x01\xff")},
    ),
    ({"gitBranch": "main"}, {"vendor-ext": make_extension(gitBranch="main")}),
    (
        {"environment": {"working-dir": "/", "os": "linux"}},
        {"environment": {"working-dir": "/", "vendor-ext": make_extension(os="linux")}},
    ),
]


@pytest.mark.parametrize(("members", "expected"), TRACE)
def test_session_members_are_converted(members, expected):
    assert convert_session(**members) == SESSION | expected


def test_missing_format_is_noted_in_the_extension():
    without = {name: value for name, value in SESSION.items() if name != "format"}
    assert convert_to_v2(session=without)["session"] == SESSION | {
        "vendor-ext": make_extension(format=None)
    }


ENTRIES = [
    (
        {"type": "user", "content": 1, "cwd": "/"},
        {"type": "user", "content": 1, "vendor-ext": make_extension(cwd="/")},
    ),
    (
        {"type": "user", "stop-reason": "x"},
        {"type": "user", "vendor-ext": make_extension(stop_reason="x")},
    ),
    (
        {"type": "user", "token-usage": {"input": 1}},
        {"type": "user", "vendor-ext": make_extension(token_usage={"input": 1})},
    ),
    ({"type": "user", "session-id": "s"}, {"type": "user", "session-id": "s"}),
    (
        {"type": "user", "session-id": 5},
        {"type": "user", "vendor-ext": make_extension(session_id=5)},
    ),
    ({"type": "assistant", "stop-reason": "x"}, {"type": "assistant", "stop-reason": "x"}),
    (
        {"type": "assistant", "stop-reason": ["x"]},
        {"type": "assistant", "vendor-ext": make_extension(stop_reason=["x"])},
    ),
    (
        {"type": "assistant", "token-usage": {"input": 1, "thoughts": 2}},
        {
            "type": "assistant",
            "token-usage": {"input": 1, "vendor-ext": make_extension(thoughts=2)},
        },
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
            "vendor-ext": make_extension(contributor={"type": "ai", "model_id": "m"}),
        },
    ),
    (
        {"type": "tool-result", "output": 1, "model-id": "m"},
        {"type": "tool-result", "output": 1, "vendor-ext": make_extension(model_id="m")},
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
            "children": [{"type": "reasoning", "content": 1, "vendor-ext": make_extension(x=1)}],
        },
    ),
]


@pytest.mark.parametrize(("value", "expected"), ENTRIES)
def test_entries_are_converted(value, expected):
    assert convert_entry(value) == expected
