"""The v3 schema: valid and invalid records, entries, attributions and signed records."""

import copy

import cbor2
import pytest

from vacr.record.validation import load_record_schema

DELETE = object()
STAMP = "2026-02-10T17:27:14.123Z"
RECORD = {
    "version": "3.0.0-draft",
    "id": "018f",
    "session": {
        "session-id": "s-1",
        "agent-meta": {"model-id": "m", "model-provider": "p"},
        "entries": [
            {"type": "user", "content": "hi", "timestamp": STAMP, "id": "1"},
            {
                "type": "assistant",
                "content": [{"type": "text", "text": "hello"}],
                "model-id": "m",
                "parent-id": "1",
                "token-usage": {
                    "input": 5,
                    "output": 7,
                    "cached": 0,
                    "reasoning": 1,
                    "total": 13,
                    "cost": 0.01,
                },
                "children": [
                    {
                        "type": "tool-call",
                        "name": "Bash",
                        "input": {"command": "ls"},
                        "call-id": "c1",
                    }
                ],
                "isSidechain": False,
            },
            {
                "type": "tool-result",
                "output": "a.py",
                "call-id": "c1",
                "status": "success",
                "is-error": False,
            },
            {"type": "reasoning", "content": "", "encrypted": "gAAA", "subject": "plan"},
            {"type": "system-event", "event-type": "token-count", "data": {"n": 1}},
        ],
    },
    "created": 1739205834496,
    "file-attribution": {
        "files": [
            {
                "path": "a.py",
                "conversations": [
                    {
                        "url": "https://example.org/c?x=1#y",
                        "contributor": {"type": "ai", "model-id": "anthropic/claude"},
                        "ranges": [
                            {
                                "start-line": 1,
                                "end-line": 9,
                                "content-hash": "ab",
                                "content-hash-alg": "sha-256",
                            }
                        ],
                        "related": [{"type": "issue", "url": "https://example.org/1"}],
                    }
                ],
            }
        ]
    },
    "vcs": {"type": "git", "revision": "abc", "branch": "main", "repository": "r"},
    "recording-agent": {"name": "vacr", "version": "1"},
    "vacr": {"source": {}},
}
CONVERSATION = "file-attribution/files/0/conversations/0"
RANGE = f"{CONVERSATION}/ranges/0"
ENTRIES = "session/entries"


def replace_member(path, value):
    """Return the record with one member replaced, added or deleted."""
    record = copy.deepcopy(RECORD)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place = record
    for step in steps:
        place = place[step]
    if value is DELETE:
        del place[last]
    else:
        place[last] = value
    return record


ACCEPTED = [
    ("created", DELETE),
    ("created", STAMP),
    ("created", "2026-12-31T23:59:60+05:30"),
    ("created", 0),
    ("created", 1.5),
    ("file-attribution", DELETE),
    ("file-attribution", {"files": []}),
    ("vcs", DELETE),
    ("vcs", {"type": "jj", "native": None}),
    ("recording-agent", {"name": "x"}),
    ("anything", {"else": [1, None]}),
    ("session/format", "interactive"),
    ("session/session-id", b"\x01\x02"),
    ("session/session-start", STAMP),
    ("session/session-end", 1739205834496),
    (
        "session/environment",
        {"working-dir": "/w", "vcs": {"type": "git"}, "sandboxes": ["/s"], "os": "x"},
    ),
    ("session/entries", []),
    ("session/agent-meta/models", ["a", "b"]),
    ("session/agent-meta/cli-name", "x"),
    ("session/agent-meta/native", 1),
    (f"{ENTRIES}/0/content", DELETE),
    (f"{ENTRIES}/0/content", None),
    (f"{ENTRIES}/0/timestamp", 5),
    (f"{ENTRIES}/1/children", []),
    (f"{ENTRIES}/1/token-usage", {}),
    (f"{ENTRIES}/1/token-usage/service_tier", "x"),
    (f"{ENTRIES}/1/children/0/input", None),
    (f"{ENTRIES}/2/output", None),
    (f"{ENTRIES}/2/call-id", DELETE),
    (f"{ENTRIES}/4/data", {}),
    (f"{ENTRIES}/4/event-type", "vendor-thing"),
    (CONVERSATION, {"ranges": []}),
    (f"{CONVERSATION}/url", ""),
    (f"{RANGE}/contributor", {"type": "human"}),
    (f"{RANGE}/start-line", 0),
]
REFUSED = [
    ("version", DELETE, ""),
    ("version", 3, "/version"),
    ("id", DELETE, ""),
    ("id", None, "/id"),
    ("session", DELETE, ""),
    ("session", [], "/session"),
    ("created", "yesterday", "/created"),
    ("created", "2026-02-10T17:27:14Zjunk", "/created"),
    ("created", "x2026-02-10T17:27:14Z", "/created"),
    ("created", "2026-13-10T17:27:14Z", "/created"),
    ("created", "2026-02-10T24:27:14Z", "/created"),
    ("created", "2026-02-10T17:27:14", "/created"),
    ("created", "2026-02-10T17:27:14Z\n", "/created"),
    ("created", None, "/created"),
    ("created", True, "/created"),
    ("vcs", {"revision": "x"}, "/vcs"),
    ("vcs/branch", 1, "/vcs/branch"),
    ("recording-agent", {"version": "1"}, "/recording-agent"),
    ("session/session-id", DELETE, "/session"),
    ("session/session-id", 5, "/session/session-id"),
    ("session/agent-meta", DELETE, "/session"),
    ("session/agent-meta/model-id", DELETE, "/session/agent-meta"),
    ("session/agent-meta/model-provider", DELETE, "/session/agent-meta"),
    ("session/agent-meta/models", "a", "/session/agent-meta/models"),
    ("session/agent-meta/models", ["a", 1], "/session/agent-meta/models/1"),
    ("session/environment", {}, "/session/environment"),
    ("session/entries", DELETE, "/session"),
    ("session/entries", {}, "/session/entries"),
    ("session/format", 1, "/session/format"),
    (f"{ENTRIES}/0", None, f"/{ENTRIES}/0"),
    (f"{ENTRIES}/0/type", "human", f"/{ENTRIES}/0/type"),
    (f"{ENTRIES}/0/type", DELETE, f"/{ENTRIES}/0"),
    (f"{ENTRIES}/0/id", 1, f"/{ENTRIES}/0/id"),
    (f"{ENTRIES}/0/timestamp", "now", f"/{ENTRIES}/0/timestamp"),
    (f"{ENTRIES}/1/token-usage/input", -1, f"/{ENTRIES}/1/token-usage/input"),
    (f"{ENTRIES}/1/token-usage/input", 1.5, f"/{ENTRIES}/1/token-usage/input"),
    (f"{ENTRIES}/1/token-usage/input", 2**64, f"/{ENTRIES}/1/token-usage/input"),
    (f"{ENTRIES}/1/token-usage/cost", "1", f"/{ENTRIES}/1/token-usage/cost"),
    (f"{ENTRIES}/1/token-usage", None, f"/{ENTRIES}/1/token-usage"),
    (f"{ENTRIES}/1/children/0/name", DELETE, f"/{ENTRIES}/1/children/0"),
    (f"{ENTRIES}/1/children/0/input", DELETE, f"/{ENTRIES}/1/children/0"),
    (f"{ENTRIES}/1/children/0/type", "x", f"/{ENTRIES}/1/children/0/type"),
    (f"{ENTRIES}/1/children", {}, f"/{ENTRIES}/1/children"),
    (f"{ENTRIES}/2/output", DELETE, f"/{ENTRIES}/2"),
    (f"{ENTRIES}/2/is-error", 0, f"/{ENTRIES}/2/is-error"),
    (f"{ENTRIES}/2/is-error", "false", f"/{ENTRIES}/2/is-error"),
    (f"{ENTRIES}/3/content", DELETE, f"/{ENTRIES}/3"),
    (f"{ENTRIES}/3/encrypted", b"x", f"/{ENTRIES}/3/encrypted"),
    (f"{ENTRIES}/4/event-type", DELETE, f"/{ENTRIES}/4"),
    (f"{ENTRIES}/4/data", [], f"/{ENTRIES}/4/data"),
    (f"{ENTRIES}/4/data", {1: 2}, f"/{ENTRIES}/4/data/1"),
    ("file-attribution/more", 1, "/file-attribution/more"),
    ("file-attribution/files", DELETE, "/file-attribution"),
    ("file-attribution/files/0/path", DELETE, "/file-attribution/files/0"),
    ("file-attribution/files/0/more", 1, "/file-attribution/files/0/more"),
    (f"{CONVERSATION}/more", 1, f"/{CONVERSATION}/more"),
    (f"{CONVERSATION}/ranges", DELETE, f"/{CONVERSATION}"),
    (f"{CONVERSATION}/url", 5, f"/{CONVERSATION}/url"),
    (f"{CONVERSATION}/url", "a#b\nc", f"/{CONVERSATION}/url"),
    (f"{CONVERSATION}/contributor/type", "robot", f"/{CONVERSATION}/contributor/type"),
    (f"{CONVERSATION}/contributor/model_id", "x", f"/{CONVERSATION}/contributor/model_id"),
    (f"{RANGE}/start_line", 1, f"/{RANGE}/start_line"),
    (f"{RANGE}/start-line", -1, f"/{RANGE}/start-line"),
    (f"{RANGE}/end-line", DELETE, f"/{RANGE}"),
    (f"{CONVERSATION}/related/0/url", DELETE, f"/{CONVERSATION}/related/0"),
    (f"{CONVERSATION}/related/0/url", "a#b\nc", f"/{CONVERSATION}/related/0/url"),
]


@pytest.mark.parametrize("as_json", [False, True])
def test_full_record_is_accepted(as_json):
    assert load_record_schema("3.0.0-draft").checker(json=as_json).findings(RECORD) == []


@pytest.mark.parametrize(("path", "value"), ACCEPTED)
def test_valid_record_is_accepted(path, value):
    assert load_record_schema("3").checker().findings(replace_member(path, value)) == []


@pytest.mark.parametrize(("path", "value", "pointer"), REFUSED)
def test_invalid_record_is_refused(path, value, pointer):
    checker = load_record_schema("3").checker()
    record = replace_member(path, value)
    assert not checker.matches(record)
    assert [finding.pointer for finding in checker.findings(record)] == [pointer]


CHILD = {"type": "reasoning", "content": "hm"}
OTHER_TYPES = [
    *[("vcs", name, 1) for name in ("type", "revision", "branch", "repository")],
    *[("recording-agent", name, 1) for name in ("name", "version")],
    *[
        ("session/agent-meta", name, 1)
        for name in ("model-id", "model-provider", "cli-name", "cli-version")
    ],
    *[("session", name, "now") for name in ("session-start", "session-end")],
    ("session", "environment", {"working-dir": 1}),
    ("session", "environment", {"working-dir": "/w", "vcs": {}}),
    ("session", "environment", {"working-dir": "/w", "sandboxes": [1]}),
    *[(f"{ENTRIES}/{number}", "id", 1) for number in range(5)],
    *[(f"{ENTRIES}/{number}", "timestamp", "now") for number in range(5)],
    *[(f"{ENTRIES}/{number}", "children", [{"type": "reasoning"}]) for number in range(5)],
    *[(f"{ENTRIES}/1", name, 1) for name in ("model-id", "parent-id")],
    *[(f"{ENTRIES}/1/children/0", name, 1) for name in ("name", "call-id")],
    *[(f"{ENTRIES}/2", name, 1) for name in ("call-id", "status")],
    *[(f"{ENTRIES}/3", name, 1) for name in ("encrypted", "subject")],
    (f"{ENTRIES}/4", "event-type", 1),
    *[
        (f"{ENTRIES}/1/token-usage", name, "1")
        for name in ("input", "output", "cached", "reasoning", "total", "cost")
    ],
    ("file-attribution/files/0", "path", 1),
    *[(RANGE, name, 1) for name in ("content-hash", "content-hash-alg")],
    *[(RANGE, name, "1") for name in ("start-line", "end-line")],
    (f"{CONVERSATION}/contributor", "model-id", 1),
    *[(f"{CONVERSATION}/related/0", name, 1) for name in ("type", "url")],
]


@pytest.mark.parametrize(("place", "member", "value"), OTHER_TYPES)
def test_member_of_another_type_is_refused(place, member, value):
    assert not load_record_schema("3").checker().matches(replace_member(f"{place}/{member}", value))


@pytest.mark.parametrize("number", range(5))
def test_every_type_of_entry_may_have_children_and_native_members(number):
    checker = load_record_schema("3").checker()
    assert (
        checker.findings(
            replace_member(f"{ENTRIES}/{number}/children", [{**CHILD, "children": [CHILD]}])
        )
        == []
    )
    assert checker.findings(replace_member(f"{ENTRIES}/{number}/requestId", {"any": [None]})) == []


def test_integral_float_is_an_integer_only_in_json():
    record = replace_member(f"{RANGE}/start-line", 1.0)
    assert load_record_schema("3").checker(json=True).matches(record)
    assert not load_record_schema("3").checker().matches(record)


@pytest.mark.parametrize(
    "value", [None, 5, "x", [], {}, [RECORD], b"", cbor2.CBORTag(4149, RECORD)]
)
def test_other_values_are_refused(value):
    assert load_record_schema("3").checker().findings(value)


CLAIMS = {1: "iss", 2: "sub"}
METADATA = {
    "session-id": "s",
    "agent-vendor": "v",
    "trace-format": "ietf-vac-v3.0",
    "timestamp-start": STAMP,
}
RECEIPT = cbor2.dumps(cbor2.CBORTag(18, [b"", {396: {}}, None, b"sig"]))
HEADER = {1: -7, 3: "application/json", 4: b"kid", 15: CLAIMS, 34: [-16, b"hash"], 33: b"cert"}
STRICT = "scitt-signed-agent-record"


def make_signed_record(header=None, unprotected=None, payload=None, signature=b"sig", tag=18):
    """Return a COSE_Sign1 structure."""
    protected = (
        header if isinstance(header, bytes) else cbor2.dumps(HEADER if header is None else header)
    )
    return cbor2.CBORTag(tag, [protected, unprotected or {}, payload, signature])


SIGNED = [
    # (value, accepted as signed-agent-record, accepted as scitt-signed-agent-record)
    (make_signed_record(), True, True),
    (make_signed_record(payload=b"{}"), True, True),
    (make_signed_record(unprotected={100: METADATA, 33: [b"a", b"b"], 394: [RECEIPT]}), True, True),
    (make_signed_record({1: -8, 3: "application/json"}), True, False),
    (make_signed_record({}), True, False),
    (make_signed_record({15: CLAIMS}), True, True),
    (make_signed_record({15: {**CLAIMS, 6: 5, "x": 1}, "text": 1}), True, True),
    (make_signed_record({1: -7, 15: {1: "iss"}}), False, False),
    (make_signed_record({1: -7, 15: {1: "iss", 2: 5}}), False, False),
    (make_signed_record({1: -7, 15: "claims"}), False, False),
    (make_signed_record({1: "ES256", 15: CLAIMS}), True, True),
    (make_signed_record({b"x": 1, 15: CLAIMS}), False, False),
    (make_signed_record({1.5: 1, 15: CLAIMS}), False, False),
    (make_signed_record(b"not cbor"), False, False),
    (make_signed_record(b"\x01"), False, False),
    (make_signed_record(cbor2.dumps(HEADER) + b"\x00"), False, False),
    (make_signed_record(unprotected={100: {**METADATA, "more": 1}}), True, True),
    (make_signed_record(unprotected={b"x": 1}), False, False),
    (make_signed_record(payload="text"), False, False),
    (make_signed_record(payload={}), False, False),
    (make_signed_record(signature=None), False, False),
    (make_signed_record(tag=98), False, False),
    (make_signed_record().value, False, False),
    (cbor2.CBORTag(18, make_signed_record().value[:3]), False, False),
    (cbor2.CBORTag(18, [*make_signed_record().value, b""]), False, False),
    (cbor2.CBORTag(18, [HEADER, {}, None, b""]), False, False),
]


@pytest.mark.parametrize(("value", "accepted", "strictly"), SIGNED)
def test_signed_record_matches_its_rules(value, accepted, strictly):
    schema = load_record_schema("3")
    assert schema.checker("signed-agent-record").matches(value) is accepted
    assert schema.checker().matches(value) is accepted
    assert schema.checker(STRICT).matches(value) is strictly
    assert bool(schema.checker(STRICT).findings(value)) is not strictly


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ({}, True),
        ({"timestamp-end": 5, "content-hash": "ab", "content-hash-alg": "sha-256"}, True),
        ({"session-id": b"x"}, True),
        ({"trace-format": "cursor-vscdb"}, True),
        ({"trace-format": 3}, False),
        ({"timestamp-start": "now"}, False),
        ({"more": 1}, False),
        ({"agent-vendor": None}, False),
    ],
)
def test_trace_metadata_is_closed(change, accepted):
    assert (
        load_record_schema("3").checker("trace-metadata").matches({**METADATA, **change})
        is accepted
    )


@pytest.mark.parametrize(
    "receipts",
    [[], [b"x"], [cbor2.dumps([b"", {}, None, b""])], [cbor2.CBORTag(18, [b"", {}, None, b""])]],
)
def test_receipts_are_tagged_signatures_in_byte_strings(receipts):
    assert load_record_schema("3").checker("receipts").findings(receipts)
    assert load_record_schema("3").checker("receipts").matches([RECEIPT])


RULES = """
abstract-timestamp session-id entry-id verifiable-agent-record session-trace agent-meta recording-agent
environment
vcs-context entry message-entry tool-call-entry tool-result-entry reasoning-entry event-entry token-usage
range file
file-attribution-record conversation contributor resource signed-agent-record protected-header
unprotected-header
trace-metadata trace-format-id scitt-signed-agent-record
"""


def test_schema_has_all_rules_of_the_draft():
    schema = load_record_schema("3")
    assert set(RULES.split()) <= set(schema.rules)
    assert schema.root == "start"
