"""The choice of the rule, and the checks beyond the schema."""

import copy

import pytest

import vacr
from tests.conftest import EXAMPLES, FIXTURES, record_of
from vacr import validate
from vacr.cddl import CddlError, compile_cddl
from vacr.errors import InvalidRecord, InvalidSchema
from vacr.record.encoding import decode, encode
from vacr.record.validation import SemanticCheck, choose_rule, load_record_schema

RECORD = record_of((EXAMPLES / "claude-code.jsonl").read_bytes())
FOREIGN = {name: value for name, value in RECORD.items() if name != "vacr"} | {
    "recording-agent": {"name": "somebody else"}
}


def change_session(record, change):
    record = copy.deepcopy(record)
    change(record["session"])
    return record


def get_edit_call(session):
    return next(
        entry
        for entry in session["entries"]
        if entry.get("children", [{}])[0].get("name") == "Edit"
    )["children"][0]


CONTRADICTIONS = [
    (
        "a repeated id",
        lambda s: s["entries"][5].update(id=s["entries"][4]["id"]),
        "ids must be unique",
        "/session/entries/5/id",
    ),
    (
        "another input",
        lambda s: get_edit_call(s).update(input={"file_path": "/etc/passwd"}),
        "a child must match the message it comes from",
        "/children/0/input",
    ),
    (
        "another name",
        lambda s: get_edit_call(s).update(name="Read"),
        "a child must match the message it comes from",
        "/children/0/name",
    ),
    (
        "another call",
        lambda s: get_edit_call(s).update({"call-id": "toolu_x"}),
        "a child must match the message it comes from",
        "/children/0/call-id",
    ),
    (
        "a child too many",
        lambda s: s["entries"][4]["children"].append({"type": "reasoning", "content": "x"}),
        "a child must match",
        "/children",
    ),
    (
        "a child too few",
        lambda s: s["entries"][4].pop("children"),
        "a child must match the message it comes from",
        "/children",
    ),
    (
        "an end before the start",
        lambda s: s.update({"session-end": "2020-01-01T00:00:00Z"}),
        "times must be in order",
        "/session/session-end",
    ),
]


@pytest.mark.parametrize(
    ("change", "rule", "pointer"),
    [case[1:] for case in CONTRADICTIONS],
    ids=[case[0] for case in CONTRADICTIONS],
)
def test_contradictions_are_findings(change, rule, pointer):
    report = validate(change_session(RECORD, change))
    assert not report.valid
    assert rule in report.findings[0].rule
    assert pointer in report.findings[0].pointer


REMARKS = [
    (
        "a parent elsewhere",
        lambda s: s["entries"][4].update({"parent-id": "gone"}),
        "parents must exist",
    ),
    ("a call without an answer", lambda s: s["entries"].pop(7), "calls and results must pair"),
    ("an answer without a call", lambda s: s["entries"].pop(6), "calls and results must pair"),
    (
        "time going backwards",
        lambda s: s["entries"][8].update(timestamp="2020-01-01T00:00:00Z"),
        "times must be in order",
    ),
    (
        "more cached than input",
        lambda s: s["entries"][6]["token-usage"].update(cached=10**9),
        "a token counter must not exceed the one that includes it",
    ),
]


@pytest.mark.parametrize(
    ("change", "rule"), [case[1:] for case in REMARKS], ids=[case[0] for case in REMARKS]
)
def test_peculiarities_of_real_sessions_are_remarks(change, rule):
    report = validate(change_session(RECORD, change))
    assert report.valid
    assert rule in {remark.rule for remark in report.remarks}


def test_foreign_records_need_no_children_but_existing_ones_must_agree():
    assert validate(
        change_session(FOREIGN, lambda s: [entry.pop("children", None) for entry in s["entries"]])
    ).valid
    assert not validate(change_session(FOREIGN, lambda s: get_edit_call(s).update(input={}))).valid


def test_rule_is_chosen_by_the_value():
    import cbor2

    assert choose_rule(RECORD) == "verifiable-agent-record"
    assert choose_rule(RECORD["session"]) == "session-trace"
    assert choose_rule(RECORD["session"]["entries"]) == "[* entry]"
    assert choose_rule(cbor2.CBORTag(18, [])) == "signed-agent-record"
    for value in (RECORD, RECORD["session"], RECORD["session"]["entries"], []):
        assert validate(value).valid
    for value in ({}, {"entries": []}, [{}], cbor2.CBORTag(18, []), 5, None, "x"):
        assert not validate(value).valid


def test_record_is_checked_against_the_schema_of_its_version():
    assert validate(RECORD).schema == "v3.cddl"
    old = {"version": "2.0.0-draft", "id": "x"}
    assert validate(old).schema == "v2.cddl"
    assert validate(old).valid
    assert not validate(RECORD | {"version": "2.0.0-draft"}).valid
    unknown = validate(RECORD | {"version": "9.0"})
    assert unknown.findings[0].pointer == "/version"


def test_raise_for_errors_names_the_first_finding():
    validate(RECORD).raise_for_errors()
    with pytest.raises(InvalidRecord, match="/session"):
        validate(RECORD | {"session": {}}).raise_for_errors()


@pytest.mark.parametrize("version", ["3", "2", "1"])
def test_generated_records_keep_their_bytes_in_both_encodings(version):
    schema = load_record_schema(version)
    for seed in range(60):
        rule = "agent-convo-record" if version == "1" else "verifiable-agent-record"
        record = schema.generate(rule, seed=seed)
        text = encode(record)
        data = encode(decode(text), "cbor")
        assert encode(decode(data)) == text
        for form in (text, data):
            assert schema.checker(rule, json=True).findings(decode(form)) == []


def test_generated_entries_never_break_the_semantic_checks():
    schema = load_record_schema("3")
    for seed in range(120):
        report = validate(schema.generate("[* entry]", seed=seed))
        assert all(
            finding.rule in {"ids must be unique", "a child must match the message it comes from"}
            for finding in report.findings
        )


def test_public_api_validates():
    (record,) = vacr.read(EXAMPLES / "codex-cli.jsonl")
    validate(record).raise_for_errors()
    for form in ("json", "cbor"):
        data = encode(record, form)
        assert encode(decode(data), form) == data
    assert [
        record["session"]["session-id"]
        for record in vacr.read(next((FIXTURES / "claude" / "project").glob("3*.jsonl")))
    ][1:]
    with pytest.raises(AttributeError):
        _ = vacr.nothing


class CountingList(list):
    """A list that counts how many of its items were visited."""

    steps = 0

    def __iter__(self):
        for item in super().__iter__():
            self.steps += 1
            yield item


def test_disagreeing_children_are_compared_in_linear_time():
    blocks = [
        {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {}}
        for number in range(500)
    ]
    children = CountingList(
        {"type": "tool-call", "call-id": f"c{number}", "name": "Write", "input": {}}
        for number in range(500)
    )
    for strict in (True, False):
        children.steps = 0
        semantics = SemanticCheck("", strict_views=strict)
        semantics.compare_children(blocks, children, (0,))
        assert semantics.findings[1].pointer == "/0/children/1/name"
        assert children.steps < 5 * len(children)


ODD_USAGE = [
    5,
    None,
    [],
    {"input": {}, "cached": 1},
    {"input": 1, "cached": "2"},
    {"input": True, "cached": 2},
]


@pytest.mark.parametrize("usage", ODD_USAGE)
def test_odd_token_usage_is_ignored(usage):
    """The schema defines usage and parent for messages only; other entries may contain anything."""
    record = record_of((EXAMPLES / "codex-cli.jsonl").read_bytes())
    call = next(entry for entry in record["session"]["entries"] if entry["type"] == "tool-call")
    call |= {"token-usage": usage, "parent-id": usage}
    record["vacr"]["source"]["format"] = usage
    assert validate(record).findings == []


def test_errors_of_a_schema_are_errors_of_vacr():
    schema = compile_cddl("a = {x: int}", name="my.cddl")
    with pytest.raises(CddlError) as original:
        schema.checker("[* b]")
    with pytest.raises(InvalidSchema) as caught:
        validate([], rule="[* b]", schema=schema)
    assert caught.value.message == original.value.message == "rule 'b' is not defined"
    assert caught.value.where == original.value.where == "my.cddl, type '[* b]':1:4"
    assert caught.value.hint == original.value.hint
    assert str(caught.value) == str(original.value)
    assert caught.value.exit_code == 3
