"""Convert records between the versions of the format.

Every conversion passes through version 3. From 3 to 2 and back, and from 2 to 3 and back, returns
the very same record, and so does a record of version 1 by way of either. Version 1 is a file
attribution alone, so converting to it loses the session; `list_lost_members` lists the losses.

    >>> from vacr.record import convert, list_lost_members
    >>> old = {"version": "1.0.0", "id": "r1", "timestamp": "2026-01-01T00:00:00Z", "files": []}
    >>> new = convert(old, "v3")
    >>> new["session"]["session-start"], new["vacr"]["converted"]["version"]
    ('2026-01-01T00:00:00Z', '1.0.0')
    >>> convert(new, "v1") == old, list_lost_members(new)
    (True, [])
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, cast

from vacr.errors import InvalidRecord, UsageError
from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.conversion_marks import V2_VERSION
from vacr.record.identity import compute_record_id, is_made_by_vacr
from vacr.record.json_text import MAX_DEPTH, measure_depth
from vacr.record.validation import choose_rule, load_record_schema, parse_major_version
from vacr.record.version_1 import V1_VERSION, convert_v1_to_v3, convert_v3_to_v1, list_missing_in_v1
from vacr.record.version_2 import convert_v2_to_v3, convert_v3_to_v2

FormatVersion = Literal["v1", "v2", "v3"]
FORMAT_VERSIONS: dict[FormatVersion, str] = {
    "v1": V1_VERSION,
    "v2": V2_VERSION,
    "v3": SCHEMA_VERSION,
}
"""The `version` of records that are made here, for each version of the format."""

_RECORD_RULES = ("verifiable-agent-record", "agent-convo-record")
_RULE_DESCRIPTIONS = {
    "[* entry]": "an array",
    "session-trace": "a session trace",
    "signed-agent-record": "a signed record",
}


def convert(record: Any, to: FormatVersion, *, json: bool = True) -> JsonObject:
    """Return a record in another version of the format; the record itself if it has that version.

    The record is not changed; the result shares with it what needs no change. `json` means that
    the record came from JSON, where there is one kind of number.

    Raises:
        InvalidRecord: the record is not valid, or has nothing that the version could represent.
        UsageError: the version does not exist.
    """
    if to not in FORMAT_VERSIONS:
        raise UsageError(
            f"there is no version {to!r} of the format",
            hint=f"The versions are {', '.join(FORMAT_VERSIONS)}.",
        )
    version = _check_record_version(record, json=json)
    if version == to:
        return cast("JsonObject", record)
    converted = _convert_from_v3(_convert_to_v3(record, version, json=json), to, json=json)
    # An extension adds levels, so the result may be deeper than any codec accepts.
    if measure_depth(converted, MAX_DEPTH) > MAX_DEPTH >= measure_depth(record, MAX_DEPTH):
        message = (
            f"as {to} it would be nested deeper than {MAX_DEPTH} levels, for {to} has some "
            "of it further down"
        )
        raise InvalidRecord(
            message, where="/", hint="It stays as it is: no codec writes a record that deep."
        )
    return converted


def list_lost_members(record: Any, *, json: bool = True) -> list[str]:
    """Return the pointers, in version 3, of what version 1 has no place for.

    Raises:
        InvalidRecord: the record is not valid, or has nothing that version 1 could represent.
    """
    as_v3 = convert(record, "v3", json=json)
    return list_missing_in_v1(as_v3, convert_v3_to_v1(as_v3))


def convert_to_original_version(record: Any, *, json: bool) -> Any:
    """Return a record of version 2 in version 3, the version its id may be derived from."""
    if parse_major_version(record.get("version")) == "2":
        with suppress(InvalidRecord):
            return convert(record, "v3", json=json)
    return record


def is_record_modified(record: Any, *, json: bool) -> bool:
    """Return whether a record that vacr made was modified: its id and its content disagree."""
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return False
    original = convert_to_original_version(record, json=json)
    if not is_made_by_vacr(original):
        return False
    try:
        return bool(original["id"] != compute_record_id(original))
    except InvalidRecord:
        return True


def _check_record_version(record: Any, *, json: bool) -> FormatVersion:
    """Return the version of a valid record.

    Raises:
        InvalidRecord: with the place where it is not valid.
    """
    rule = choose_rule(record)
    if rule not in _RECORD_RULES or not isinstance(record, dict):
        hint = (
            "Only whole records are converted; of a signed one, the record inside, which "
            "then has to be signed anew."
        )
        raise InvalidRecord(
            f"not a whole record, but {_RULE_DESCRIPTIONS.get(rule, 'something else')}",
            where="/",
            hint=hint,
        )
    schema = load_record_schema(record.get("version", SCHEMA_VERSION))
    for finding in schema.checker(rule, json=json).findings(record):
        raise InvalidRecord(
            f"not a valid record: {finding.rule}: {finding.found}, expected {finding.expected}",
            where=finding.pointer or "/",
            hint="`vacr validate` says all that is wrong with it.",
        )
    return cast("FormatVersion", f"v{parse_major_version(record['version'])}")


def _convert_to_v3(record: JsonObject, version: FormatVersion, *, json: bool) -> JsonObject:
    match version:
        case "v1":
            return convert_v1_to_v3(record)
        case "v2":
            return convert_v2_to_v3(record, json=json)
        case "v3":
            return record


def _convert_from_v3(record: JsonObject, version: FormatVersion, *, json: bool) -> JsonObject:
    match version:
        case "v1":
            return convert_v3_to_v1(record)
        case "v2":
            return convert_v3_to_v2(record, json=json)
        case "v3":
            return record
