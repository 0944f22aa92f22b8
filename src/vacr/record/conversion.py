"""Records in the versions of the format. Step: convert. Follows v1.cddl, v2.cddl and v3.cddl.

Every way leads through version 3. From 3 to 2 and back, and from 2 to 3 and back, gives the very
same record, and so does a record of version 1 by way of either; version 1 has no place for a
session, so a record that has one leaves it behind.

Records as they were made, whose content gives their id. Step: convert, verify.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, cast

from vacr.errors import InvalidRecord, UsageError
from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.identity import compute_record_id, is_made_by_vacr
from vacr.record.json_text import MAX_DEPTH, measure_depth
from vacr.record.validation import choose_rule, load_record_schema, parse_major_version
from vacr.record.version_1 import V1_VERSION, convert_v1_to_v3, convert_v3_to_v1, list_missing_in_v1
from vacr.record.version_2 import convert_v2_to_v3, convert_v3_to_v2
from vacr.record.version_maps import V2_VERSION

FormatVersion = Literal["v1", "v2", "v3"]
FORMAT_VERSIONS: dict[FormatVersion, str] = {
    "v1": V1_VERSION,
    "v2": V2_VERSION,
    "v3": SCHEMA_VERSION,
}
"""What a record of each version says in `version`, when it is made here."""

_RECORD_RULES = ("verifiable-agent-record", "agent-convo-record")
_RULE_DESCRIPTIONS = {
    "[* entry]": "an array",
    "session-trace": "a session trace",
    "signed-agent-record": "a signed record",
}


def convert(record: Any, to: FormatVersion, *, json: bool = True) -> JsonObject:
    """Give a record as another version of the format has it; the record itself when it is of that
    version.

    What needs no change is shared with the record, which is left as it is. `json` says that the
    record came from JSON, where there is one kind of number.

    Raises:
        InvalidRecord: the record is not valid, or holds nothing that the version could.
        UsageError: there is no such version.
    """
    if to not in FORMAT_VERSIONS:
        raise UsageError(
            f"there is no version {to!r} of the format",
            hint=f"The versions are {', '.join(FORMAT_VERSIONS)}.",
        )
    found = _check_record_version(record, json=json)
    if found == to:
        return cast("JsonObject", record)
    converted = _convert_from_v3(_convert_to_v3(record, found, json=json), to, json=json)
    if measure_depth(converted, MAX_DEPTH) > MAX_DEPTH >= measure_depth(record, MAX_DEPTH):
        told = (
            f"as {to} it would be nested deeper than {MAX_DEPTH} levels, for {to} has some "
            "of it further down"
        )
        raise InvalidRecord(
            told, where="/", hint="It stays as it is: no codec writes a record that deep."
        )
    return converted


def list_lost_members(record: Any, *, json: bool = True) -> list[str]:
    """Give the pointers of what a record has, in version 3, and version 1 has no place for.

    Raises:
        InvalidRecord: the record is not valid, or holds nothing that version 1 could.
    """
    raised = convert(record, "v3", json=json)
    return list_missing_in_v1(raised, convert_v3_to_v1(raised))


def _convert_to_v3(record: JsonObject, found: FormatVersion, *, json: bool) -> JsonObject:
    match found:
        case "v1":
            return convert_v1_to_v3(record)
        case "v2":
            return convert_v2_to_v3(record, json=json)
        case "v3":
            return record


def _convert_from_v3(record: JsonObject, to: FormatVersion, *, json: bool) -> JsonObject:
    match to:
        case "v1":
            return convert_v3_to_v1(record)
        case "v2":
            return convert_v3_to_v2(record, json=json)
        case "v3":
            return record


def _check_record_version(record: Any, *, json: bool) -> FormatVersion:
    """Give the version of a valid record.

    Raises:
        InvalidRecord: saying where it is not valid.
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


def convert_to_original_version(record: Any, *, json: bool) -> Any:
    """Give a record of version 2 in the version it may have been made in, whose content gives the
    id.
    """
    if parse_major_version(record.get("version")) == "2":
        with suppress(InvalidRecord):
            return convert(record, "v3", json=json)
    return record


def is_record_modified(record: Any, *, json: bool) -> bool:
    """Tell whether a record that vacr made is not any more what it was made as."""
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return False
    made = convert_to_original_version(record, json=json)
    if not is_made_by_vacr(made):
        return False
    try:
        return bool(made["id"] != compute_record_id(made))
    except InvalidRecord:
        return True
