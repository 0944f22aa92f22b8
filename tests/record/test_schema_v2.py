"""The v2 schema, and the schema for each version."""

import copy

import cbor2
import pytest

from vacr.errors import InvalidRecord
from vacr.record.validation import load_record_schema, read_schema_text

RECORD = {
    "version": "2.0.0-draft",
    "id": "018f",
    "session": {
        "format": "interactive",
        "session-id": "s-1",
        "agent-meta": {"model-id": "m", "model-provider": "p"},
        "entries": [
            {"type": "user", "content": "hi", "session-id": "s-1"},
            {
                "type": "assistant",
                "stop-reason": "end_turn",
                "token-usage": {"input": 1},
                "children": [],
            },
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


def make_record(entry):
    """Return the record with this entry alone."""
    record = copy.deepcopy(RECORD)
    record["session"]["entries"] = [entry]
    return record


ACCEPTED = [
    RECORD,
    {"version": "2", "id": "x"},
    {**RECORD, "recording-agent": {}},
    {**RECORD, "vcs": {}},
    {**RECORD, "session": {**RECORD["session"], "format": "autonomous", "task-result": "done"}},
    {
        **RECORD,
        "file-attribution": {
            "files": [
                {"path": "a", "conversations": [{"ranges": [{"start_line": 1, "end_line": 2}]}]}
            ]
        },
    },
    make_record({"type": "user", "vendor-ext": {"vendor": "v"}}),
]
REFUSED = [
    ({**RECORD, "more": 1}, "/more"),
    ({**RECORD, "metadata": {}}, "/metadata"),
    ({**RECORD, "session": {**RECORD["session"], "format": "batch"}}, "/session/format"),
    ({**RECORD, "session": {**RECORD["session"], "task-result": "x"}}, "/session/task-result"),
    (make_record({"type": "user", "more": 1}), "/session/entries/0/more"),
    (make_record({"type": "tool-call", "input": 1}), "/session/entries/0"),
    (make_record({"type": "queue"}), "/session/entries/0"),
    (
        make_record({"type": "system-event", "event-type": "e", "data": {"a": 1}}),
        "/session/entries/0/data",
    ),
    (
        {
            **RECORD,
            "file-attribution": {
                "files": [{"path": "a", "conversations": [{"ranges": [{"start-line": 1}]}]}]
            },
        },
        None,
    ),
    ({**RECORD, "metadata": {"vendor": "v", "data": {1.5: 1}}}, "/metadata/data/1.5"),
]


@pytest.mark.parametrize("record", ACCEPTED)
def test_valid_record_is_accepted(record):
    assert load_record_schema("2.0.0-draft").checker(json=True).findings(record) == []


@pytest.mark.parametrize(("record", "pointer"), REFUSED)
def test_invalid_record_is_refused(record, pointer):
    findings = load_record_schema("2").checker().findings(record)
    assert findings
    assert pointer in {None, findings[0].pointer}


META, EXTENSION = (
    RECORD["session"]["agent-meta"],
    {"vendor": "v", "version": "1", "data": {"a": 1, -7: 2}},
)
EXTENSIBLE = {
    "record": lambda extension: {**RECORD, "metadata": extension},
    "session": lambda extension: {
        **RECORD,
        "session": {**RECORD["session"], "vendor-ext": extension},
    },
    "agent-meta": lambda extension: {
        **RECORD,
        "session": {**RECORD["session"], "agent-meta": {**META, "vendor-ext": extension}},
    },
    "environment": lambda extension: {
        **RECORD,
        "session": {**RECORD["session"], "environment": {"vendor-ext": extension}},
    },
    "vcs": lambda extension: {**RECORD, "vcs": {"vendor-ext": extension}},
    "token-usage": lambda extension: make_record(
        {"type": "assistant", "token-usage": {"vendor-ext": extension}}
    ),
    "data of an event": lambda extension: make_record(
        {"type": "system-event", "event-type": "e", "data": extension}
    ),
    **{
        entry["type"]: lambda extension, entry=entry: make_record(
            {**entry, "vendor-ext": extension}
        )
        for entry in RECORD["session"]["entries"]
    },
}


@pytest.mark.parametrize("extend", EXTENSIBLE.values(), ids=EXTENSIBLE)
def test_extension_is_accepted_and_must_name_its_vendor(extend):
    checker = load_record_schema("2").checker()
    assert checker.findings(extend(EXTENSION)) == []
    assert not checker.matches(extend({"data": {"a": 1}}))
    assert not checker.matches(extend({"vendor": "v", "more": 1}))


@pytest.mark.parametrize("entry", RECORD["session"]["entries"], ids=lambda entry: entry["type"])
def test_every_type_of_entry_has_the_base_members(entry):
    base = {"timestamp": 1, "id": "e", "session-id": "s", "children": [{"type": "user"}]}
    assert load_record_schema("2").checker().findings(make_record({**entry, **base})) == []
    for name, value in {
        "timestamp": "now",
        "id": 1,
        "session-id": 1,
        "children": [{"type": "queue"}],
    }.items():
        assert not load_record_schema("2").checker().matches(make_record({**entry, name: value}))


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize(
    "name",
    ["ietf-vac-v2.0", "ietf-unified-v0.1", "claude-jsonl", "cursor-jsonl", "a future format"],
)
def test_trace_format_may_be_any_text(version, name):
    assert load_record_schema(version).checker("trace-format-id").matches(name)
    assert not load_record_schema(version).checker("trace-format-id").matches(2)


def test_signed_record_allows_no_other_headers():
    checker = load_record_schema("2").checker("signed-agent-record")
    metadata = {
        "session-id": "s",
        "agent-vendor": "v",
        "trace-format": "claude-jsonl",
        "timestamp-start": 1,
    }
    assert checker.matches(cbor2.CBORTag(18, [b"", {100: metadata}, None, b""]))
    assert checker.matches(cbor2.CBORTag(18, [b"", {}, b"{}", b""]))
    assert checker.findings(cbor2.CBORTag(18, [b"", {4: b"kid"}, None, b""]))
    assert checker.findings(
        cbor2.CBORTag(18, [b"", {100: {**metadata, "session-id": b"s"}}, None, b""])
    )


@pytest.mark.parametrize("version", ["3", "3.0", "3.0.0-draft", "3.1.4", "2", "2.0.0-draft"])
def test_supported_version_has_a_schema(version):
    schema = load_record_schema(version)
    assert schema is load_record_schema(version)
    assert schema.name == f"v{version[0]}.cddl"
    assert "start = verifiable-agent-record" in read_schema_text(version)


@pytest.mark.parametrize(
    "version", ["", "0.1.0", "4.0", "30", "v3", "3x", "x" * 10**5, None, 3, 3.0, ["3"]]
)
def test_unsupported_version_is_refused(version):
    for load in (load_record_schema, read_schema_text):
        with pytest.raises(InvalidRecord) as caught:
            load(version)
        assert "3.*, 2.*" in caught.value.hint
        assert len(str(caught.value)) < 120
