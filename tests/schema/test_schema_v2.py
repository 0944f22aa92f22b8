"""The v2 schema, and how a version finds its schema."""

import copy

import cbor2
import pytest

from vacr.errors import InvalidRecord
from vacr.schema.versions import schema_for, schema_text

RECORD = {
    "version": "2.0.0-draft",
    "id": "018f",
    "session": {
        "format": "interactive",
        "session-id": "s-1",
        "agent-meta": {"model-id": "m", "model-provider": "p"},
        "entries": [
            {"type": "user", "content": "hi", "session-id": "s-1"},
            {"type": "assistant", "stop-reason": "end_turn", "token-usage": {"input": 1}, "children": []},
            {
                "type": "tool-call",
                "name": "Bash",
                "input": {},
                "contributor": {"type": "ai", "model_id": "m"},
            },
            {"type": "tool-result", "output": 1, "is-error": True},
            {"type": "reasoning", "encrypted": "x"},
            {"type": "system-event", "event-type": "e", "data": {"vendor": "v", "data": {"a": 1}}},
            {"type": "queue", "vendor-ext": {"vendor": "v", "data": {1: 2}}},
        ],
    },
    "metadata": {"vendor": "vacr", "data": {"vacr": {}}},
}


def entry(change):
    record = copy.deepcopy(RECORD)
    record["session"]["entries"] = [change]
    return record


ACCEPTED = [
    RECORD,
    {"version": "2", "id": "x"},
    {**RECORD, "recording-agent": {}},
    {**RECORD, "vcs": {}},
    {**RECORD, "session": {**RECORD["session"], "format": "autonomous", "task-result": "done"}},
    {
        **RECORD,
        "file-attribution": {"files": [{"path": "a", "conversations": [{"ranges": [{"start_line": 1, "end_line": 2}]}]}]},
    },
    entry({"type": "user", "vendor-ext": {"vendor": "v"}}),
]
REFUSED = [
    ({**RECORD, "more": 1}, "/more"),
    ({**RECORD, "metadata": {}}, "/metadata"),
    ({**RECORD, "session": {**RECORD["session"], "format": "batch"}}, "/session/format"),
    ({**RECORD, "session": {**RECORD["session"], "task-result": "x"}}, "/session/task-result"),
    (entry({"type": "user", "more": 1}), "/session/entries/0/more"),
    (entry({"type": "tool-call", "input": 1}), "/session/entries/0"),
    (entry({"type": "queue"}), "/session/entries/0"),
    (entry({"type": "system-event", "event-type": "e", "data": {"a": 1}}), "/session/entries/0/data"),
    (
        {
            **RECORD,
            "file-attribution": {"files": [{"path": "a", "conversations": [{"ranges": [{"start-line": 1}]}]}]},
        },
        None,
    ),
    ({**RECORD, "metadata": {"vendor": "v", "data": {1.5: 1}}}, "/metadata/data/1.5"),
]


@pytest.mark.parametrize("record", ACCEPTED)
def test_a_record_may_be_so(record):
    assert schema_for("2.0.0-draft").checker(json=True).findings(record) == []


@pytest.mark.parametrize(("record", "pointer"), REFUSED)
def test_a_record_may_not_be_so(record, pointer):
    findings = schema_for("2").checker().findings(record)
    assert findings
    assert pointer in {None, findings[0].pointer}


def test_the_signed_form_is_closed():
    checker = schema_for("2").checker("signed-agent-record")
    metadata = {"session-id": "s", "agent-vendor": "v", "trace-format": "claude-jsonl", "timestamp-start": 1}
    assert checker.matches(cbor2.CBORTag(18, [b"", {100: metadata}, None, b""]))
    assert checker.matches(cbor2.CBORTag(18, [b"", {}, b"{}", b""]))
    assert checker.findings(cbor2.CBORTag(18, [b"", {4: b"kid"}, None, b""]))
    assert checker.findings(cbor2.CBORTag(18, [b"", {100: {**metadata, "session-id": b"s"}}, None, b""]))


@pytest.mark.parametrize("version", ["3", "3.0", "3.0.0-draft", "3.1.4", "2", "2.0.0-draft"])
def test_a_version_has_a_schema(version):
    schema = schema_for(version)
    assert schema is schema_for(version)
    assert schema.name == f"v{version[0]}.cddl"
    assert "start = verifiable-agent-record" in schema_text(version)


@pytest.mark.parametrize("version", ["", "0.1.0", "4.0", "30", "v3", "3x", "x" * 10**5, None, 3, 3.0, ["3"]])
def test_an_unknown_version_is_refused(version):
    for ask in (schema_for, schema_text):
        with pytest.raises(InvalidRecord) as caught:
            ask(version)
        assert "3.*, 2.*" in caught.value.hint
        assert len(str(caught.value)) < 120
