"""Every clause of the schemas, with values that it accepts and values that it refuses.

The tables are written from the documents of the draft, not from the CDDL files: `?` marks an
optional member, and `...` an open map. Each member is checked in the smallest value of its rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cbor2
import pytest

from vacr.record.validation import load_record_schema

OTHER_VALUES = (None, True, 0, -1, 1.5, "x", b"x", [], {}, cbor2.CBORTag(1, 0))
"""One value of each kind, and a negative number."""
OPEN = "..."


@dataclass(frozen=True)
class Values:
    """Values that a type accepts, and values that it refuses."""

    accepted: tuple[Any, ...]
    refused: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A clause of a schema, with values of its rule that it accepts or refuses."""

    rule: str
    member: str
    accepted: tuple[Any, ...]
    refused: tuple[Any, ...]

    def __str__(self) -> str:
        """Return the name of the clause."""
        return f"{self.rule}.{self.member}" if self.member else self.rule


def accept(*accepted: Any, refused: tuple[Any, ...] = ()) -> Values:
    """Return values of a type: it refuses all kinds of values other than the accepted ones."""
    kinds = {type(value) for value in accepted}
    others = tuple(value for value in OTHER_VALUES if type(value) not in kinds)
    return Values(accepted, others + refused)


def accept_list(items: Values) -> Values:
    """Return values of a list, which may be empty."""
    accepted = ([], *([item] for item in items.accepted), [items.accepted[0]] * 2)
    return accept(*accepted, refused=tuple([item] for item in items.refused))


def accept_rule(members: dict[str, Values]) -> Values:
    """Return values of a rule whose members are checked elsewhere: a valid one and a broken one."""
    smallest = make_smallest(members)
    name, values = next((name, values) for name, values in members.items() if name != OPEN)
    return accept(smallest, refused=(smallest | {name.lstrip("?"): values.refused[0]},))


def make_smallest(members: dict[str, Values]) -> dict[str, Any]:
    """Return a map with only the required members of a rule."""
    return {
        name: values.accepted[0]
        for name, values in members.items()
        if not name.startswith("?") and name != OPEN
    }


def list_cases(rule: str, members: dict[str, Values]) -> Iterator[Case]:
    """Yield a case for each member of a rule, and one for the rule itself."""
    smallest = make_smallest(members)
    largest = {
        name.lstrip("?"): values.accepted[-1] for name, values in members.items() if name != OPEN
    }
    extended = [smallest | {"more": value, "and more": value} for value in OTHER_VALUES]
    is_open = OPEN in members
    yield Case(
        rule,
        "",
        (smallest, largest, *(extended if is_open else ())),
        (
            *(value for value in OTHER_VALUES if type(value) is not dict),
            *(() if is_open else [smallest | {"more": None}, *extended]),
            smallest | {5: None},
            smallest | {b"more": None},
        ),
    )
    for name, values in members.items():
        if name == OPEN:
            continue
        member = name.lstrip("?")
        without = {key: value for key, value in largest.items() if key != member}
        is_optional = name.startswith("?")
        yield Case(
            rule,
            member,
            (*(smallest | {member: value} for value in values.accepted), *[without] * is_optional),
            (
                *(smallest | {member: value} for value in values.refused),
                *[without] * (not is_optional),
            ),
        )


# Types.

STAMP = "2026-02-10T17:27:14.123Z"
ANY = accept(*OTHER_VALUES)
TEXT = accept("x", "")
BYTES = accept(b"x", b"")
BYTES_OR_NULL = accept(b"x", None)
TEXT_OR_BYTES = accept("x", b"x")
TEXTS = accept_list(TEXT)
BOOL = accept(True, False)
UINT = accept(0, 2**64 - 1, refused=(-1, 2**64))
NUMBER = accept(0, -1, 1.5)
URI = accept("https://example.org/c?x=1#y", "", refused=("a#b\nc",))
TIMES = (STAMP, "2016-12-31T23:59:60+05:30", "2026-02-10T17:27:14-00:00")
NOT_TIMES = (
    "",
    "now",
    "2026-02-10",
    "2026-13-10T17:27:14Z",
    "2026-02-32T17:27:14Z",
    "2026-02-10T24:27:14Z",
    "2026-02-10T17:60:14Z",
    "2026-02-10T17:27:61Z",
    "2026-02-10T17:27:14",
    "2026-02-10T17:27:14.Z",
    "2026-02-10T17:27:14+24:00",
    f"{STAMP}x",
    f"x{STAMP}",
)
RFC3339 = accept(*TIMES, refused=NOT_TIMES)
TIMESTAMP = accept(*TIMES, 0, -1, 1.5, refused=NOT_TIMES)
CONTRIBUTOR_TYPE = accept("human", "ai", "mixed", "unknown", refused=("robot",))


def accept_word(word: str) -> Values:
    """Return the only value of a literal, and other texts."""
    return accept(word, refused=("", f"{word}x"))


# Version 3.

CONTRIBUTOR = {"type": CONTRIBUTOR_TYPE, "?model-id": TEXT}
RESOURCE = {"type": TEXT, "url": URI}
RANGE = {
    "start-line": UINT,
    "end-line": UINT,
    "?content-hash": TEXT,
    "?content-hash-alg": TEXT,
    "?contributor": accept_rule(CONTRIBUTOR),
}
CONVERSATION = {
    "?url": URI,
    "?contributor": accept_rule(CONTRIBUTOR),
    "ranges": accept_list(accept_rule(RANGE)),
    "?related": accept_list(accept_rule(RESOURCE)),
}
FILE = {"path": TEXT, "conversations": accept_list(accept_rule(CONVERSATION))}
ATTRIBUTION = {"files": accept_list(accept_rule(FILE))}
VCS = {"type": TEXT, "?revision": TEXT, "?branch": TEXT, "?repository": TEXT, OPEN: ANY}
ENVIRONMENT = {"working-dir": TEXT, "?vcs": accept_rule(VCS), "?sandboxes": TEXTS, OPEN: ANY}
RECORDING_AGENT = {"name": TEXT, "?version": TEXT, OPEN: ANY}
AGENT_META = {
    "model-id": TEXT,
    "model-provider": TEXT,
    "?models": TEXTS,
    "?cli-name": TEXT,
    "?cli-version": TEXT,
    OPEN: ANY,
}
USAGE_COUNTERS = {
    "?input": UINT,
    "?output": UINT,
    "?cached": UINT,
    "?reasoning": UINT,
    "?total": UINT,
    "?cost": NUMBER,
}
TOKEN_USAGE = {**USAGE_COUNTERS, OPEN: ANY}
ENTRY = accept(
    {"type": "user"},
    {"type": "assistant"},
    {"type": "tool-call", "name": "", "input": None},
    {"type": "tool-result", "output": None},
    {"type": "reasoning", "content": None},
    {"type": "system-event", "event-type": ""},
    refused=({}, {"type": "other"}, {"type": "tool-call"}),
)
EVERY_ENTRY = {"?timestamp": TIMESTAMP, "?id": TEXT, "?children": accept_list(ENTRY), OPEN: ANY}
MESSAGE = {
    "type": accept("user", "assistant", refused=("", "system")),
    "?content": ANY,
    "?model-id": TEXT,
    "?parent-id": TEXT,
    "?token-usage": accept_rule(TOKEN_USAGE),
    **EVERY_ENTRY,
}
TOOL_CALL = {
    "type": accept_word("tool-call"),
    "name": TEXT,
    "input": ANY,
    "?call-id": TEXT,
    **EVERY_ENTRY,
}
TOOL_RESULT = {
    "type": accept_word("tool-result"),
    "output": ANY,
    "?call-id": TEXT,
    "?status": TEXT,
    "?is-error": BOOL,
    **EVERY_ENTRY,
}
REASONING = {
    "type": accept_word("reasoning"),
    "content": ANY,
    "?encrypted": TEXT,
    "?subject": TEXT,
    **EVERY_ENTRY,
}
EVENT = {
    "type": accept_word("system-event"),
    "event-type": TEXT,
    "?data": accept(
        {"a": 1, "b": 2},
        *({"a": value} for value in OTHER_VALUES),
        {},
        refused=({1: 2}, {b"a": 2}),
    ),
    **EVERY_ENTRY,
}
SESSION = {
    "?format": TEXT,
    "session-id": TEXT_OR_BYTES,
    "?session-start": TIMESTAMP,
    "?session-end": TIMESTAMP,
    "agent-meta": accept_rule(AGENT_META),
    "?environment": accept_rule(ENVIRONMENT),
    "entries": accept_list(ENTRY),
    OPEN: ANY,
}
RECORD = {
    "version": TEXT,
    "id": TEXT,
    "session": accept_rule(SESSION),
    "?created": TIMESTAMP,
    "?file-attribution": accept_rule(ATTRIBUTION),
    "?vcs": accept_rule(VCS),
    "?recording-agent": accept_rule(RECORDING_AGENT),
    OPEN: ANY,
}
TRACE_METADATA = {
    "session-id": TEXT_OR_BYTES,
    "agent-vendor": TEXT,
    "trace-format": TEXT,
    "timestamp-start": TIMESTAMP,
    "?timestamp-end": TIMESTAMP,
    "?content-hash": TEXT,
    "?content-hash-alg": TEXT,
}
MAPS_3 = {
    "verifiable-agent-record": RECORD,
    "session-trace": SESSION,
    "agent-meta": AGENT_META,
    "recording-agent": RECORDING_AGENT,
    "environment": ENVIRONMENT,
    "vcs-context": VCS,
    "message-entry": MESSAGE,
    "tool-call-entry": TOOL_CALL,
    "tool-result-entry": TOOL_RESULT,
    "reasoning-entry": REASONING,
    "event-entry": EVENT,
    "token-usage": TOKEN_USAGE,
    "file-attribution-record": ATTRIBUTION,
    "file": FILE,
    "conversation": CONVERSATION,
    "range": RANGE,
    "contributor": CONTRIBUTOR,
    "resource": RESOURCE,
    "trace-metadata": TRACE_METADATA,
}

# Version 3: the signed form.

CLAIMS = {1: "iss", 2: "sub"}
HEADERS = accept({}, {5: None}, {"x": None, "y": None}, refused=({b"x": None}, {1.5: None}))
X5CHAIN = accept(b"x", [b"x", b"y"], [b"x"] * 3, refused=([b"x"], [b"x", "y"]))
X5T = accept(
    [-16, b"x"],
    ["sha-256", b"x"],
    refused=([-16], [b"x"], [b"x", b"x"], [-16, "x"], [-16, -16, b"x"], [-16, b"x", b"x"]),
)
CWT_CLAIMS = accept(
    CLAIMS,
    CLAIMS | {6: None},
    CLAIMS | {"x": None, "y": None},
    refused=(
        {1: "iss"},
        {2: "sub"},
        *({1: value, 2: "sub"} for value in TEXT.refused),
        *({1: "iss", 2: value} for value in TEXT.refused),
        CLAIMS | {b"x": None},
        CLAIMS | {1.5: None},
    ),
)
# A known label may have a value of any type, as in the draft.
PARAMETERS = ({}, *({label: value} for label in (1, 3, 4, 33, 34) for value in OTHER_VALUES))
PROTECTED = accept(
    *(header | {15: CLAIMS} for header in (*HEADERS.accepted, *PARAMETERS)),
    *({15: claims} for claims in CWT_CLAIMS.accepted),
    refused=(
        {},
        {1: -8, 3: "application/json"},
        *({15: claims} for claims in CWT_CLAIMS.refused),
        *(header | {15: CLAIMS} for header in HEADERS.refused if isinstance(header, dict)),
    ),
)
PLAIN_PROTECTED = accept(
    *HEADERS.accepted,
    *PARAMETERS,
    {15: CLAIMS},
    refused=(*({15: claims} for claims in CWT_CLAIMS.refused), *HEADERS.refused),
)
UNPROTECTED = accept(
    *HEADERS.accepted,
    *({label: value} for label in (33, 100, 394) for value in OTHER_VALUES),
    refused=HEADERS.refused,
)
RECEIPT_PARTS = {
    "protected": BYTES,
    "unprotected": HEADERS,
    "payload": BYTES_OR_NULL,
    "signature": BYTES,
}


def encode_values(values: Values) -> Values:
    """Return byte strings that hold the values in CBOR."""
    refused = (*map(cbor2.dumps, values.refused), b"\x18")
    return accept(*map(cbor2.dumps, values.accepted), refused=refused)


def list_signed_cases(rule: str, parts: dict[str, Values]) -> Iterator[Case]:
    """Yield a case for each part of a COSE_Sign1 structure, and one for the structure itself."""
    smallest = [values.accepted[0] for values in parts.values()]

    def sign(*parts: Any, tag: int = 18) -> cbor2.CBORTag:
        return cbor2.CBORTag(tag, list(parts))

    yield Case(
        rule,
        "",
        (sign(*smallest),),
        (smallest, sign(*smallest, tag=17), sign(*smallest, tag=19), sign(*smallest, b"")),
    )
    for index, (part, values) in enumerate(parts.items()):
        before, after = smallest[:index], smallest[index + 1 :]
        yield Case(
            rule,
            part,
            tuple(sign(*before, value, *after) for value in values.accepted),
            (
                sign(*before, *after),
                sign(*before, *[smallest[index]] * 2, *after),
                *(sign(*before, value, *after) for value in values.refused),
            ),
        )


SIGNED_PARTS = {
    "protected": encode_values(PLAIN_PROTECTED),
    "unprotected": UNPROTECTED,
    "payload": BYTES_OR_NULL,
    "signature": BYTES,
}
SIGNED_CASES = list(list_signed_cases("signed-agent-record", SIGNED_PARTS))
RECEIPT_CASES = list(list_signed_cases("receipt", RECEIPT_PARTS))
RECEIPTS = encode_values(
    Values(
        tuple(value for case in RECEIPT_CASES for value in case.accepted),
        tuple(value for case in RECEIPT_CASES for value in case.refused),
    )
)
SMALLEST_RECORD = make_smallest(RECORD)
TYPES_3 = {
    "start": accept(
        SMALLEST_RECORD,
        SIGNED_CASES[0].accepted[0],
        refused=({}, SIGNED_CASES[0].refused[1], [SMALLEST_RECORD]),
    ),
    "abstract-timestamp": TIMESTAMP,
    "session-id": TEXT_OR_BYTES,
    "entry-id": TEXT,
    "entry": ENTRY,
    "protected-header": PROTECTED,
    "plain-protected-header": PLAIN_PROTECTED,
    "unprotected-header": UNPROTECTED,
    "cwt-claims": CWT_CLAIMS,
    "cwt-claims-key": accept(15, refused=(14, 16)),
    "trace-metadata-key": accept(100, refused=(99, 101)),
    "label": accept(0, -1, "x"),
    "x5chain": X5CHAIN,
    "x5t": X5T,
    "receipts": accept(
        *([receipt] for receipt in RECEIPTS.accepted),
        [RECEIPTS.accepted[0]] * 2,
        refused=([], *([receipt] for receipt in RECEIPTS.refused)),
    ),
    "trace-format-id": TEXT,
}
CASES_3 = [
    *(case for rule, members in MAPS_3.items() for case in list_cases(rule, members)),
    *(Case(rule, "", values.accepted, values.refused) for rule, values in TYPES_3.items()),
    *SIGNED_CASES,
    *RECEIPT_CASES,
    *list_signed_cases(
        "scitt-signed-agent-record", SIGNED_PARTS | {"protected": encode_values(PROTECTED)}
    ),
]

# Version 2: maps are closed, and vendors have a place for their members.

EXTENSION_DATA = accept(
    {},
    {"a": 1, "b": 2},
    *({key: value} for key in ("a", 1, -7) for value in OTHER_VALUES),
    refused=({b"a": 1}, {1.5: 1}),
)
EXTENSION = {"vendor": TEXT, "?version": TEXT, "?data": EXTENSION_DATA}
VENDOR_EXT = {"?vendor-ext": accept_rule(EXTENSION)}
CONTRIBUTOR_2 = {"type": CONTRIBUTOR_TYPE, "?model_id": TEXT}
RANGE_1 = {
    "start_line": UINT,
    "end_line": UINT,
    "?content_hash": TEXT,
    "?contributor": accept_rule(CONTRIBUTOR_2),
}
RANGE_2 = RANGE_1 | {"?content_hash_alg": TEXT}


def list_attribution_rules(range_members: dict[str, Values]) -> dict[str, dict[str, Values]]:
    """Return the rules of file attribution, which versions 1 and 2 share except for ranges."""
    conversation = {
        "?url": URI,
        "?contributor": accept_rule(CONTRIBUTOR_2),
        "ranges": accept_list(accept_rule(range_members)),
        "?related": accept_list(accept_rule(RESOURCE)),
    }
    return {
        "file": {"path": TEXT, "conversations": accept_list(accept_rule(conversation))},
        "conversation": conversation,
        "range": range_members,
        "contributor": CONTRIBUTOR_2,
        "resource": RESOURCE,
    }


ATTRIBUTION_RULES_2 = list_attribution_rules(RANGE_2)
ATTRIBUTION_2 = {"files": accept_list(accept_rule(ATTRIBUTION_RULES_2["file"]))}
VCS_2 = {"?type": TEXT, "?revision": TEXT, "?branch": TEXT, "?repository": TEXT, **VENDOR_EXT}
ENVIRONMENT_2 = {
    "?working-dir": TEXT,
    "?vcs": accept_rule(VCS_2),
    "?sandboxes": TEXTS,
    **VENDOR_EXT,
}
RECORDING_AGENT_2 = {"?name": TEXT, "?version": TEXT}
AGENT_META_2 = {
    "model-id": TEXT,
    "model-provider": TEXT,
    "?models": TEXTS,
    "?cli-name": TEXT,
    "?cli-version": TEXT,
    **VENDOR_EXT,
}
TOKEN_USAGE_2 = {**USAGE_COUNTERS, **VENDOR_EXT}
ENTRY_2 = accept(
    {"type": "user"},
    {"type": "assistant"},
    {"type": "tool-call", "name": "", "input": None},
    {"type": "tool-result", "output": None},
    {"type": "reasoning"},
    {"type": "system-event", "event-type": ""},
    {"type": "other", "vendor-ext": {"vendor": "v"}},
    refused=({}, {"type": "other"}, {"type": "tool-call"}, {"type": "user", "more": 1}),
)
BASE_ENTRY = {
    "?timestamp": TIMESTAMP,
    "?id": TEXT,
    "?session-id": TEXT,
    "?children": accept_list(ENTRY_2),
}
ENVELOPE = {
    "session-id": TEXT,
    "?session-start": TIMESTAMP,
    "?session-end": TIMESTAMP,
    "agent-meta": accept_rule(AGENT_META_2),
    "?environment": accept_rule(ENVIRONMENT_2),
    "entries": accept_list(ENTRY_2),
    **VENDOR_EXT,
}
INTERACTIVE = {"format": accept_word("interactive"), **ENVELOPE}
AUTONOMOUS = {
    "format": accept_word("autonomous"),
    "?task-description": TEXT,
    "?task-result": TEXT,
    **ENVELOPE,
}
SESSION_2 = accept(
    make_smallest(INTERACTIVE),
    make_smallest(AUTONOMOUS),
    refused=({}, make_smallest(INTERACTIVE) | {"format": "batch"}),
)
TRACE_METADATA_2 = TRACE_METADATA | {"session-id": TEXT}
MAPS_2 = {
    "verifiable-agent-record": {
        "version": TEXT,
        "id": TEXT,
        "?created": TIMESTAMP,
        "?session": SESSION_2,
        "?file-attribution": accept_rule(ATTRIBUTION_2),
        "?vcs": accept_rule(VCS_2),
        "?recording-agent": accept_rule(RECORDING_AGENT_2),
        "?metadata": accept_rule(EXTENSION),
    },
    "interactive-session": INTERACTIVE,
    "autonomous-session": AUTONOMOUS,
    "agent-meta": AGENT_META_2,
    "recording-agent": RECORDING_AGENT_2,
    "environment": ENVIRONMENT_2,
    "vcs-context": VCS_2,
    "user-entry": {
        "type": accept_word("user"),
        "?content": ANY,
        "?parent-id": TEXT,
        **BASE_ENTRY,
        **VENDOR_EXT,
    },
    "assistant-entry": {
        "type": accept_word("assistant"),
        "?content": ANY,
        "?model-id": TEXT,
        "?stop-reason": TEXT,
        "?token-usage": accept_rule(TOKEN_USAGE_2),
        "?parent-id": TEXT,
        **BASE_ENTRY,
        **VENDOR_EXT,
    },
    "tool-call-entry": {
        "type": accept_word("tool-call"),
        "?call-id": TEXT,
        "name": TEXT,
        "input": ANY,
        "?contributor": accept_rule(CONTRIBUTOR_2),
        **BASE_ENTRY,
        **VENDOR_EXT,
    },
    "tool-result-entry": {
        "type": accept_word("tool-result"),
        "?call-id": TEXT,
        "output": ANY,
        "?status": TEXT,
        "?is-error": BOOL,
        **BASE_ENTRY,
        **VENDOR_EXT,
    },
    "reasoning-entry": {
        "type": accept_word("reasoning"),
        "?content": ANY,
        "?encrypted": TEXT,
        "?subject": TEXT,
        **BASE_ENTRY,
        **VENDOR_EXT,
    },
    "system-event-entry": {
        "type": accept_word("system-event"),
        "event-type": TEXT,
        "?data": accept_rule(EXTENSION),
        **BASE_ENTRY,
        **VENDOR_EXT,
    },
    "vendor-entry": {"type": TEXT, "vendor-ext": accept_rule(EXTENSION), **BASE_ENTRY},
    "token-usage": TOKEN_USAGE_2,
    "file-attribution-record": ATTRIBUTION_2,
    **ATTRIBUTION_RULES_2,
    "vendor-extension": EXTENSION,
    "trace-metadata": TRACE_METADATA_2,
}
METADATA_2 = accept_rule(TRACE_METADATA_2)
SIGNED_PARTS_2 = {
    "protected": BYTES,
    "unprotected": accept(
        {},
        *({100: metadata} for metadata in METADATA_2.accepted),
        refused=(*({100: metadata} for metadata in METADATA_2.refused), {4: b"kid"}, {"x": 1}),
    ),
    "payload": BYTES_OR_NULL,
    "signature": BYTES,
}
SMALLEST_RECORD_2 = {"version": "", "id": ""}
TYPES_2 = {
    "start": accept(SMALLEST_RECORD_2, refused=({}, [SMALLEST_RECORD_2])),
    "abstract-timestamp": TIMESTAMP,
    "session-id": TEXT,
    "entry-id": TEXT,
    "session-trace": SESSION_2,
    "entry": ENTRY_2,
    "extension-key": accept("a", 1, -7),
    "extension-data": EXTENSION_DATA,
    "trace-metadata-key": accept(100, refused=(99, 101)),
    "trace-format-id": accept("ietf-vac-v2.0", "claude-jsonl", "cursor-jsonl", "", "x"),
}
CASES_2 = [
    *(case for rule, members in MAPS_2.items() for case in list_cases(rule, members)),
    *(Case(rule, "", values.accepted, values.refused) for rule, values in TYPES_2.items()),
    *list_signed_cases("signed-agent-record", SIGNED_PARTS_2),
]

# Version 1: file attribution alone.

ATTRIBUTION_RULES_1 = list_attribution_rules(RANGE_1)
VCS_1 = {"type": TEXT, "revision": TEXT}
TOOL = {"?name": TEXT, "?version": TEXT}
ANY_MAP = accept(
    {}, {1: 2, b"a": 3}, *({key: value} for key in ("a", 1, b"a", False) for value in OTHER_VALUES)
)
RECORD_1 = {
    "version": TEXT,
    "id": TEXT,
    "timestamp": RFC3339,
    "?vcs": accept_rule(VCS_1),
    "?tool": accept_rule(TOOL),
    "files": accept_list(accept_rule(ATTRIBUTION_RULES_1["file"])),
    "?metadata": ANY_MAP,
}
MAPS_1 = {"agent-convo-record": RECORD_1, "vcs": VCS_1, "tool": TOOL, **ATTRIBUTION_RULES_1}
TYPES_1 = {
    "start": accept(make_smallest(RECORD_1), refused=({}, [make_smallest(RECORD_1)])),
    "anymap": ANY_MAP,
    "label": ANY,
    "value": ANY,
}
CASES_1 = [
    *(case for rule, members in MAPS_1.items() for case in list_cases(rule, members)),
    *(Case(rule, "", values.accepted, values.refused) for rule, values in TYPES_1.items()),
]


@pytest.mark.parametrize("case", CASES_1, ids=str)
def test_clause_of_version_1_accepts_and_refuses(case):
    check_clause("1", case)


@pytest.mark.parametrize("case", CASES_2, ids=str)
def test_clause_of_version_2_accepts_and_refuses(case):
    check_clause("2", case)


@pytest.mark.parametrize("case", CASES_3, ids=str)
def test_clause_of_version_3_accepts_and_refuses(case):
    check_clause("3", case)


def check_clause(version: str, case: Case) -> None:
    """Check that a schema accepts and refuses the values of a clause."""
    matches = load_record_schema(version).checker(case.rule).matches
    for value in case.accepted:
        assert matches(value), f"{case} refuses {value!r}"
    for value in case.refused:
        assert not matches(value), f"{case} accepts {value!r}"


@pytest.mark.parametrize("rule", ["range", "trace-metadata"])
def test_default_of_the_hash_algorithm_is_sha_256(rule):
    assert 'tstr .default "sha-256"' in load_record_schema("3").rule_text(rule)
