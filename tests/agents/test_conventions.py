"""Names of members, and members that are left out, in the records of every agent."""

import json

import pytest

from tests.conftest import AGENT_FOLDERS, EXAMPLES, native_files, record_of, records_of
from vacr.model import CANONICAL_ENTRY_MEMBERS, SESSION_MEMBERS, AgentMeta, Environment, Record
from vacr.record.message_content import walk_entries
from vacr.record.validation import load_record_schema

OURS = {"vacr"}
# Members that keep their shape and their nulls.
VERBATIM = {"content", "input", "output", "data", "children"}
FILES = [
    pytest.param(path, id=f"{agent}/{path.name[-40:]}")
    for agent in AGENT_FOLDERS
    for path in native_files(agent)
]


def maps(record):
    """Return the maps of a record that have canonical members, each with the names of these."""
    session = record["session"]
    yield record, Record.__annotations__.keys()
    yield session, SESSION_MEMBERS
    yield session["agent-meta"], AgentMeta.__annotations__.keys()
    yield session.get("environment", {}), Environment.__annotations__.keys()
    for entry in walk_entries(session["entries"]):
        yield entry, CANONICAL_ENTRY_MEMBERS


@pytest.mark.parametrize("path", FILES)
def test_a_name_with_a_hyphen_is_canonical(path):
    for record in records_of(path.read_bytes()):
        for held, canonical in maps(record):
            assert {name for name in held if "-" in name} <= canonical | OURS


def test_canonical_members_have_no_capitals_and_no_underscores():
    canonical = {
        name
        for held, names in maps(record_of((EXAMPLES / "codex-cli.jsonl").read_bytes()))
        for name in names
    }
    assert all(name == name.lower() and "_" not in name for name in canonical)
    assert "start_line" not in load_record_schema("3").rule_text("range")


@pytest.mark.parametrize("path", FILES)
def test_native_members_that_are_null_are_left_out(path):
    for record in records_of(path.read_bytes()):
        for held, _ in maps(record):
            assert [
                name for name, value in held.items() if value is None and name not in VERBATIM
            ] == []


NULLS = {
    "claude-code": {
        "type": "user",
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "s",
        "userType": None,
        "message": {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [None, {"a": None}]}
            ],
        },
    },
    "codex-cli": {
        "timestamp": "2026-01-01T00:00:00.000Z",
        "type": "response_item",
        "payload": {
            "type": "function_call",
            "call_id": "c",
            "name": "f",
            "arguments": '{"a":null}',
            "namespace": None,
        },
    },
    "cursor": {
        "role": "user",
        "mood": None,
        "message": {"content": [{"type": "text", "text": "x", "a": None}]},
    },
}


@pytest.mark.parametrize("agent", NULLS)
def test_nulls_inside_content_are_kept(agent):
    (entry,) = record_of(json.dumps(NULLS[agent]).encode() + b"\n", agent)["session"]["entries"]
    assert not {"parent-id", "userType", "mood", "namespace"} & entry.keys()
    kept = [entry.get(name) for name in ("content", "input")]
    assert "None" in repr(kept)
