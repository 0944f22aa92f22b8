"""The place of each member of version 2 in version 3, and the stubs for missing ones."""

import pytest

from vacr.record.conversion import convert

SESSION = {
    "format": "interactive",
    "session-id": "s",
    "agent-meta": {"model-id": "m", "model-provider": "p"},
    "entries": [],
}
RECORD = {"version": "2.0.0-draft", "id": "x", "session": SESSION}
STUB = {
    "session-id": "x",
    "agent-meta": {"model-id": "unknown", "model-provider": "unknown"},
    "entries": [],
}


def convert_to_v3(**members):
    """Convert the record with these members; `_` stands for `-`."""
    return convert(
        RECORD | {name.replace("_", "-"): value for name, value in members.items()},
        "v3",
        json=False,
    )


def make_mark(*stubs, **more):
    return {"vacr": {"converted": ({"stubs": list(stubs)} if stubs else {}) | more}}


ROOT = [
    ({}, {}),
    ({"version": "2.1"}, make_mark(version="2.1")),
    (
        {"metadata": {"vendor": "acme", "data": {1: 2}}},
        {"metadata": {"vendor": "acme", "data": {1: 2}}},
    ),
    (
        {"metadata": {"vendor": "vacr", "data": {"vacr": {"source": {}}, "more": 1}}},
        {"vacr": {"source": {}}, "more": 1},
    ),
    (
        {"metadata": {"vendor": "vacr", "version": "1", "data": {"a": 1}}},
        {"metadata": {"vendor": "vacr", "version": "1", "data": {"a": 1}}},
    ),
    (
        {"metadata": {"vendor": "vacr", "data": {"id": "y"}}},
        {"metadata": {"vendor": "vacr", "data": {"id": "y"}}},
    ),
    (
        {"vcs": {"branch": "b"}},
        {"vcs": {"type": "unknown", "branch": "b"}} | make_mark("/vcs/type"),
    ),
    (
        {"recording-agent": {"version": "1"}},
        {"recording-agent": {"name": "unknown", "version": "1"}}
        | make_mark("/recording-agent/name"),
    ),
    (
        {"metadata": {"vendor": "vacr", "data": {"vacr": {"source": {}}}}, "recording-agent": {}},
        {
            "recording-agent": {"name": "unknown"},
            "vacr": {"source": {}, "converted": {"stubs": ["/recording-agent/name"]}},
        },
    ),
]


@pytest.mark.parametrize(("members", "expected"), ROOT)
def test_record_members_are_converted(members, expected):
    assert convert_to_v3(**members) == RECORD | {"version": "3.0.0-draft"} | expected


def test_missing_session_is_filled_with_a_stub():
    record = {"version": "2.0.0-draft", "id": "x"}
    assert convert(record, "v3") == {
        "version": "3.0.0-draft",
        "id": "x",
        "session": STUB,
    } | make_mark("/session")


def test_missing_working_directory_is_filled_with_a_stub():
    environment = {"working-dir": "", "vcs": {"type": "unknown"}}
    places = ("/session/environment/vcs/type", "/session/environment/working-dir")
    expected = (
        RECORD
        | {"version": "3.0.0-draft", "session": SESSION | {"environment": environment}}
        | make_mark(*places)
    )
    assert convert_to_v3(session=SESSION | {"environment": {"vcs": {}}}) == expected


ENTRIES = [
    (
        {"type": "reasoning", "encrypted": "x"},
        {"type": "reasoning", "encrypted": "x", "content": ""},
        "content",
    ),
    (
        {"type": "queue", "vendor-ext": {"vendor": "acme", "data": {1: 2}}},
        {
            "type": "system-event",
            "event-type": "queue",
            "vendor-ext": {"vendor": "acme", "data": {1: 2}},
        },
        "type",
    ),
    (
        {"type": "tool-call", "vendor-ext": {"vendor": "acme"}},
        {"type": "system-event", "event-type": "tool-call", "vendor-ext": {"vendor": "acme"}},
        "type",
    ),
    (
        {"type": "user", "vendor-ext": {"vendor": "acme"}, "session-id": "s"},
        {"type": "user", "vendor-ext": {"vendor": "acme"}, "session-id": "s"},
        None,
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
            "contributor": {"type": "ai", "model-id": "m"},
        },
        None,
    ),
    (
        {"type": "system-event", "event-type": "e", "data": {"vendor": "vacr", "data": {"a": 1}}},
        {"type": "system-event", "event-type": "e", "data": {"a": 1}},
        None,
    ),
    (
        {"type": "user", "vendor-ext": {"vendor": "vacr", "data": {"token-usage": {"input": -1}}}},
        {"type": "user", "vendor-ext": {"vendor": "vacr", "data": {"token-usage": {"input": -1}}}},
        None,
    ),
]


@pytest.mark.parametrize(("entry", "expected", "stub"), ENTRIES)
def test_entries_are_converted(entry, expected, stub):
    child = {"type": "user", "children": [entry]}
    result = convert_to_v3(session=SESSION | {"entries": [entry, child]})
    assert result["session"]["entries"] == [expected, {"type": "user", "children": [expected]}]
    places = [f"/session/entries/0/{stub}", f"/session/entries/1/children/0/{stub}"] if stub else []
    assert result.get("vacr", {"converted": {"stubs": []}}) == {"converted": {"stubs": places}}


def test_attribution_becomes_kebab_case():
    ranges = [
        {
            "start_line": 1,
            "end_line": 2,
            "content_hash": "h",
            "content_hash_alg": "a",
            "contributor": {"type": "ai"},
        }
    ]
    conversation = {
        "url": "x:y",
        "contributor": {"type": "ai", "model_id": "m"},
        "ranges": ranges,
        "related": [],
    }
    result = convert_to_v3(
        file_attribution={"files": [{"path": "p", "conversations": [conversation]}]}
    )
    ranges = [
        {
            "start-line": 1,
            "end-line": 2,
            "content-hash": "h",
            "content-hash-alg": "a",
            "contributor": {"type": "ai"},
        }
    ]
    conversation = {
        "url": "x:y",
        "contributor": {"type": "ai", "model-id": "m"},
        "ranges": ranges,
        "related": [],
    }
    assert result["file-attribution"] == {"files": [{"path": "p", "conversations": [conversation]}]}
