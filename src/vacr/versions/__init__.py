"""Records in the versions of the format. Step: convert. Follows v1.cddl, v2.cddl and v3.cddl.

Every way leads through version 3. From 3 to 2 and back, and from 2 to 3 and back, gives the very
same record, and so does a record of version 1 by way of either; version 1 has no place for a
session, so a record that has one leaves it behind.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from vacr.codec.depth import MAX_DEPTH, depth
from vacr.errors import InvalidRecord, UsageError
from vacr.model import SCHEMA_VERSION, Native
from vacr.schema import rule_for, schema_for
from vacr.schema.versions import major
from vacr.versions import v1
from vacr.versions.from_v2 import to_v3
from vacr.versions.from_v3 import to_v2
from vacr.versions.stubs import V2_VERSION

__all__ = ["VERSIONS", "Version", "convert", "left_behind"]

Version = Literal["v1", "v2", "v3"]
VERSIONS: dict[Version, str] = {"v1": v1.V1_VERSION, "v2": V2_VERSION, "v3": SCHEMA_VERSION}
"""What a record of each version says in `version`, when it is made here."""

_RECORDS = ("verifiable-agent-record", "agent-convo-record")
_WORDS = {
    "[* entry]": "an array",
    "session-trace": "a session trace",
    "signed-agent-record": "a signed record",
}


def convert(record: Any, to: Version, *, json: bool = True) -> Native:
    """Give a record as another version of the format has it; the record itself when it is of that
    version.

    What needs no change is shared with the record, which is left as it is. `json` says that the
    record came from JSON, where there is one kind of number.

    Raises:
        InvalidRecord: the record is not valid, or holds nothing that the version could.
        UsageError: there is no such version.
    """
    if to not in VERSIONS:
        raise UsageError(
            f"there is no version {to!r} of the format",
            hint=f"The versions are {', '.join(VERSIONS)}.",
        )
    found = _version(record, json=json)
    if found == to:
        return cast("Native", record)
    converted = _lowered(_raised(record, found, json=json), to, json=json)
    if depth(converted, MAX_DEPTH) > MAX_DEPTH >= depth(record, MAX_DEPTH):
        told = (
            f"as {to} it would be nested deeper than {MAX_DEPTH} levels, for {to} has some "
            "of it further down"
        )
        raise InvalidRecord(
            told, where="/", hint="It stays as it is: no codec writes a record that deep."
        )
    return converted


def left_behind(record: Any, *, json: bool = True) -> list[str]:
    """Give the pointers of what a record has, in version 3, and version 1 has no place for.

    Raises:
        InvalidRecord: the record is not valid, or holds nothing that version 1 could.
    """
    raised = convert(record, "v3", json=json)
    return v1.left_behind(raised, v1.to_v1(raised))


def _raised(record: Native, found: Version, *, json: bool) -> Native:
    match found:
        case "v1":
            return v1.from_v1(record)
        case "v2":
            return to_v3(record, json=json)
        case "v3":
            return record


def _lowered(record: Native, to: Version, *, json: bool) -> Native:
    match to:
        case "v1":
            return v1.to_v1(record)
        case "v2":
            return to_v2(record, json=json)
        case "v3":
            return record


def _version(record: Any, *, json: bool) -> Version:
    """Give the version of a valid record.

    Raises:
        InvalidRecord: saying where it is not valid.
    """
    rule = rule_for(record)
    if rule not in _RECORDS or not isinstance(record, dict):
        hint = (
            "Only whole records are converted; of a signed one, the record inside, which "
            "then has to be signed anew."
        )
        raise InvalidRecord(
            f"not a whole record, but {_WORDS.get(rule, 'something else')}", where="/", hint=hint
        )
    schema = schema_for(record.get("version", SCHEMA_VERSION))
    for finding in schema.checker(rule, json=json).findings(record):
        raise InvalidRecord(
            f"not a valid record: {finding.rule}: {finding.found}, expected {finding.expected}",
            where=finding.pointer or "/",
            hint="`vacr validate` says all that is wrong with it.",
        )
    return cast("Version", f"v{major(record['version'])}")
