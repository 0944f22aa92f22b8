"""Convert records between the versions of the format.

Every conversion passes through version 3. From 3 to 2 and back, and from 2 to 3 and back, returns
the very same record, and so does a record of version 1 by way of either. Version 1 is a file
attribution alone, so converting to it loses the session; `list_lost_members` lists the losses.
Version 1 is converted here, and version 2 in `version_2`.

    >>> from vacr.record import convert, list_lost_members
    >>> old = {"version": "1.0.0", "id": "r1", "timestamp": "2026-01-01T00:00:00Z", "files": []}
    >>> new = convert(old, "v3")
    >>> new["session"]["session-start"], new["vacr"]["converted"]["version"]
    ('2026-01-01T00:00:00Z', '1.0.0')
    >>> convert(new, "v1") == old, list_lost_members(new)
    (True, [])

The draft defines how version 1 maps to version 3: the record's id becomes the session's id, its
timestamp the session's start, its tool the agent's name and version, its vcs the environment's, its
metadata the session's extension. In the other direction, the timestamp is the session's end or the
time of its last entry. A range of version 1 cannot name the algorithm of a hash, so the algorithms
go into `metadata.vacr`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from vacr.errors import InvalidRecord, UsageError
from vacr.model import SCHEMA_VERSION, JsonObject, Record
from vacr.record.encoding import compute_record_id, is_made_by_vacr
from vacr.record.json_text import MAX_DEPTH, escape_pointer_token, measure_depth
from vacr.record.timestamps import find_time_span, format_timestamp
from vacr.record.validation import (
    choose_rule,
    load_record_schema,
    parse_major_version,
    shorten_value,
)
from vacr.record.version_2 import convert_v2_to_v3, convert_v3_to_v2
from vacr.record.version_maps import (
    CONVERTED_MEMBER,
    EMPTY_DIRECTORY_STUB,
    EXTENSION_MEMBER,
    SESSION_VCS_TYPE_POINTER,
    UNKNOWN_STUB,
    V2_VERSION,
    VACR_MEMBER,
    VCS_TYPE_POINTER,
    WORKING_DIR_POINTER,
    convert_attribution_to_kebab,
    convert_attribution_to_snake,
    get_conversion_claim,
    make_stub_session,
    walk_entries_with_paths,
)

V1_VERSION = "1.0.0"

FormatVersion = Literal["v1", "v2", "v3"]
FORMAT_VERSIONS: dict[FormatVersion, str] = {
    "v1": V1_VERSION,
    "v2": V2_VERSION,
    "v3": SCHEMA_VERSION,
}
"""The `version` member that vacr writes, for each version of the format."""

_RECORD_RULES = ("verifiable-agent-record", "agent-convo-record")
_RULE_DESCRIPTIONS = {
    "[* entry]": "an array",
    "session-trace": "a session trace",
    "signed-agent-record": "a signed record",
}

_HASH_ALGORITHM_MEMBER = "content-hash-alg"
_TOOL_MEMBERS = {"name": "cli-name", "version": "cli-version"}


def convert(record: Any, to: FormatVersion, *, json: bool = True) -> JsonObject:
    """Return a record in another version of the format; the record itself if it has that version.

    The record is not changed, but the result shares unchanged parts with it. `json` is True for a
    record from JSON, False for one from CBOR: there, 1 and 1.0 are different numbers. `to` is `v1`,
    `v2` or `v3`.

    Raises:
        InvalidRecord: the record is not valid, or lacks a member that the version requires.
        UsageError: the version does not exist.
    """
    if to not in FORMAT_VERSIONS:
        raise UsageError(
            f"unknown format version {to!r}",
            hint=f"Known: {', '.join(FORMAT_VERSIONS)}.",
        )
    version = _check_record_version(record, json=json)
    if version == to:
        return cast("JsonObject", record)
    converted = _convert_from_v3(_convert_to_v3(record, version, json=json), to, json=json)
    # An extension adds levels, so the result may be deeper than any codec accepts.
    if measure_depth(converted, MAX_DEPTH) > MAX_DEPTH >= measure_depth(record, MAX_DEPTH):
        raise InvalidRecord(
            f"cannot convert to {to}: the result would be nested deeper than {MAX_DEPTH} levels",
            where="/",
            hint=f"{to} nests some members deeper than the version of this record does.",
        )
    return converted


def list_lost_members(record: Any, *, json: bool = True) -> list[str]:
    """Return the pointers of the members that a record loses when converted to version 1.

    They are pointers into the record in version 3. The list is empty if nothing is lost. `json` is
    True for a record from JSON, False for one from CBOR.

    Raises:
        InvalidRecord: the record is not valid, or has no file attribution or no time.
    """
    as_v3 = convert(record, "v3", json=json)
    return list_missing_in_v1(as_v3, convert_v3_to_v1(as_v3))


def convert_to_original_version(record: Any, *, json: bool) -> Any:
    """Return a record of version 2 in version 3, because vacr derives ids from version 3.

    `record` is a dict. Return any other version, or an invalid record, unchanged. `json` is True
    for a record from JSON, False for one from CBOR.
    """
    if parse_major_version(record.get("version")) == "2":
        with suppress(InvalidRecord):
            return convert(record, "v3", json=json)
    return record


@dataclass(frozen=True, slots=True)
class RecordModification:
    """The contradiction between the id of a modified record and its content."""

    found: str
    """The id in the record, quoted and shortened; `missing` if it has none."""
    expected: str
    """The id that its content gives, quoted, or why it gives none."""
    cause: InvalidRecord | None = None
    """Why the content gives no id; None if it gives one."""

    def __str__(self) -> str:
        """Return the text that all verbs print about a modified record."""
        return (
            f"the record was modified: its id is {self.found}, but its content gives "
            f"{self.expected}"
        )


def find_record_modification(record: Any, *, json: bool) -> RecordModification | None:
    """Return how the id of a record that vacr made contradicts its content, or None if it does not.

    Return None also for records of other programs, for values that are not records, and for
    records of version 1: their id covers a session that they do not hold. `json` is True for a
    record from JSON, False for one from CBOR.
    """
    if not isinstance(record, dict) or "version" not in record:
        return None
    if parse_major_version(record["version"]) == "1" and "session" not in record:
        return None
    original = convert_to_original_version(record, json=json)
    if not is_made_by_vacr(original):
        return None
    record_id = original.get("id")
    found = shorten_value(record_id) if isinstance(record_id, str) else "missing"
    if not isinstance(original.get("session"), dict):
        missing = InvalidRecord("it has no session", where="/id")
        return RecordModification(found, "no id, because it has no session", missing)
    try:
        expected = compute_record_id(cast("Record", original))
    except InvalidRecord as error:
        return RecordModification(found, f"no id: {error.where}: {error.message}", error)
    return None if record_id == expected else RecordModification(found, repr(expected))


def is_record_modified(record: Any, *, json: bool) -> bool:
    """Return whether a record was modified after vacr made it: its id contradicts its content.

    Return False for records of other programs, whose ids cannot be checked. `json` is True for a
    record from JSON, False for one from CBOR.
    """
    return find_record_modification(record, json=json) is not None


def _check_record_version(record: Any, *, json: bool) -> FormatVersion:
    """Return the format version of a valid record, such as `v2`.

    `json` is True for a record from JSON, False for one from CBOR.

    Raises:
        InvalidRecord: the value is not a whole record, or its schema refuses it.
    """
    rule = choose_rule(record)
    if rule not in _RECORD_RULES or not isinstance(record, dict):
        raise InvalidRecord(
            f"not a whole record, but {_RULE_DESCRIPTIONS.get(rule, 'something else')}",
            where="/",
            hint="Convert a whole record. To convert a signed one, convert the record inside it, "
            "and sign the result.",
        )
    schema = load_record_schema(record.get("version", SCHEMA_VERSION))
    for finding in schema.checker(rule, json=json).findings(record):
        raise InvalidRecord(
            f"not a valid record: {finding.rule}: {finding.found}, expected {finding.expected}",
            where=finding.pointer or "/",
            hint="Run `vacr validate` to see all problems.",
        )
    return cast("FormatVersion", f"v{parse_major_version(record['version'])}")


def _convert_to_v3(record: JsonObject, version: FormatVersion, *, json: bool) -> JsonObject:
    """Convert a valid record of this version to version 3.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    match version:
        case "v1":
            return convert_v1_to_v3(record)
        case "v2":
            return convert_v2_to_v3(record, json=json)
        case "v3":
            return record


def _convert_from_v3(record: JsonObject, version: FormatVersion, *, json: bool) -> JsonObject:
    """Convert a valid record of version 3 to this version.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    match version:
        case "v1":
            return convert_v3_to_v1(record)
        case "v2":
            return convert_v3_to_v2(record, json=json)
        case "v3":
            return record


# Version 1.


def convert_v1_to_v3(record: JsonObject) -> JsonObject:
    """Convert a valid record of version 1 to version 3, with stubs for the missing session."""
    tool, metadata = record.get("tool", {}), record.get("metadata")
    stubs = [
        "/session/agent-meta/model-id",
        "/session/agent-meta/model-provider",
        "/session/entries",
    ]
    session = make_stub_session(record["id"]) | {"session-start": record["timestamp"]}
    session["agent-meta"] |= {_TOOL_MEMBERS[name]: value for name, value in tool.items()}
    if "vcs" in record:
        session["environment"] = {"working-dir": EMPTY_DIRECTORY_STUB, "vcs": dict(record["vcs"])}
        stubs.append(WORKING_DIR_POINTER)
    attribution = convert_attribution_to_kebab({"files": record["files"]})
    if _restore_hash_algorithms(metadata, attribution):
        others = {name: value for name, value in record["metadata"].items() if name != VACR_MEMBER}
        metadata = others or None
    if metadata is not None:
        session[EXTENSION_MEMBER] = {"vendor": tool.get("name", UNKNOWN_STUB), "data": metadata}
    mark: JsonObject = {"version": record["version"], "stubs": sorted(stubs)}
    if record.get("tool") == {}:
        mark["tool"] = {}
    return {
        "version": SCHEMA_VERSION,
        "id": record["id"],
        "session": session,
        "file-attribution": attribution,
        VACR_MEMBER: {CONVERTED_MEMBER: mark},
    }


def convert_v3_to_v1(record: JsonObject) -> JsonObject:
    """Convert the file attribution of a valid record of version 3 to a record of version 1.

    Raises:
        InvalidRecord: it has no file attribution, or no time.
    """
    if "file-attribution" not in record:
        raise InvalidRecord(
            "the record has no file attribution, and version 1 can contain nothing else",
            where="/file-attribution",
            hint="Attribute its files first (vacr attribute), or convert it to v2.",
        )
    mark, session_id = _get_v1_mark(record), record["session"]["session-id"]
    attribution = convert_attribution_to_snake(record["file-attribution"])
    algorithms = {
        pointer: line_range.pop("content_hash_alg")
        for pointer, line_range in _walk_ranges(attribution)
        if "content_hash_alg" in line_range
    }
    result: JsonObject = {
        "version": mark.get("version", V1_VERSION),
        "id": session_id.hex() if isinstance(session_id, bytes) else session_id,
        "timestamp": _find_record_time(record),
        "files": attribution["files"],
    }
    optional = {
        "vcs": _find_vcs_state(record),
        "tool": _build_tool(record, mark),
        "metadata": _build_metadata(record, algorithms),
    }
    return result | {name: value for name, value in optional.items() if value is not None}


def list_missing_in_v1(record: JsonObject, converted: JsonObject) -> list[str]:
    """Return the pointers of the members of a record of version 3 that `converted` lacks.

    `converted` is the same record, converted to version 1.
    """
    tool, vcs, time = converted.get("tool", {}), converted.get("vcs", {}), converted["timestamp"]
    # Version 1 has one place for values that several members of version 3 have.
    moved = {
        "/created": time,
        "/session/session-start": time,
        "/session/session-end": time,
        "/vcs/type": vcs.get("type"),
        "/vcs/revision": vcs.get("revision"),
        "/recording-agent/name": tool.get("name"),
        "/recording-agent/version": tool.get("version"),
    }
    return [
        pointer
        for pointer, value in _find_unmatched_members(record, convert_v1_to_v3(converted), "")
        if pointer not in moved or _format_if_number(value) != moved[pointer]
    ]


def _find_unmatched_members(
    old: JsonObject, new: JsonObject, base: str
) -> Iterator[tuple[str, Any]]:
    """Yield the pointer and value of each member of `old` that `new` lacks or has differently.

    `base` is the pointer of both maps. File attribution and conversion marks are skipped.
    """
    for name, value in old.items():
        pointer = f"{base}/{escape_pointer_token(str(name))}"
        if pointer in {"/file-attribution", "/vacr/converted"} or (
            name in new and value is new[name]
        ):
            continue
        if isinstance(value, dict) and (
            isinstance(new.get(name), dict) or pointer in {"/vcs", "/recording-agent"}
        ):
            yield from _find_unmatched_members(value, new.get(name, {}), pointer)
        elif name not in new or value != new[name]:
            yield pointer, value


def _format_if_number(value: Any) -> Any:
    """Return a timestamp in milliseconds as text, and any other value unchanged."""
    return format_timestamp(value) if isinstance(value, int | float) else value


def _get_v1_mark(record: JsonObject) -> JsonObject:
    """Return the conversion mark of a record that came from version 1, or an empty dict."""
    mark = get_conversion_claim(record)
    return mark if parse_major_version(mark.get("version")) == "1" else {}


def _find_record_time(record: JsonObject) -> str:
    """Return the session's end, or else the latest time of its entries, its start or `created`.

    Raises:
        InvalidRecord: the record has none of these times.
    """
    session = record["session"]
    stamps = [
        entry["timestamp"]
        for entry, _ in walk_entries_with_paths(session["entries"])
        if "timestamp" in entry
    ]
    span = find_time_span(
        [stamp for stamp in stamps if isinstance(stamp, str) or math.isfinite(stamp)]
    )
    for stamp in (
        session.get("session-end"),
        span and span[1],
        session.get("session-start"),
        record.get("created"),
    ):
        text = None if stamp is None else format_timestamp(stamp)
        if text is not None:
            return text
    raise InvalidRecord(
        "the record has no timestamp, and version 1 requires one",
        where="/session/session-start",
        hint="Add `created`, `session-start` or `session-end` to the record.",
    )


def _find_vcs_state(record: JsonObject) -> JsonObject | None:
    """Return the type and revision of the session's or record's repository.

    Return None unless both are known.
    """
    environment = record["session"].get("environment", {})
    for vcs, type_pointer in (
        (environment.get("vcs", {}), SESSION_VCS_TYPE_POINTER),
        (record.get("vcs", {}), VCS_TYPE_POINTER),
    ):
        if "revision" in vcs and not _is_marked_stub(record, type_pointer):
            return {"type": vcs["type"], "revision": vcs["revision"]}
    return None


def _build_tool(record: JsonObject, mark: JsonObject) -> JsonObject | None:
    """Return the member `tool` of version 1: the name and the version of the agent, if known.

    If neither is known, `mark`, the conversion mark, decides for a record that came from version 1,
    and for others the recording agent. Return None if that is unknown, too.
    """
    agent = record["session"]["agent-meta"]
    tool = {name: agent[member] for name, member in _TOOL_MEMBERS.items() if member in agent}
    if tool or mark:
        return tool or mark.get("tool")
    recorder = record.get("recording-agent", {})
    recorder_tool = {
        name: recorder[name]
        for name in _TOOL_MEMBERS
        if name in recorder and not _is_marked_stub(record, f"/recording-agent/{name}")
    }
    return recorder_tool or None


def _is_marked_stub(record: JsonObject, pointer: str) -> bool:
    """Return whether the record's conversion mark lists this pointer as a stub."""
    stubs = get_conversion_claim(record).get("stubs")
    return isinstance(stubs, list) and pointer in stubs


def _build_metadata(record: JsonObject, algorithms: dict[str, str]) -> JsonObject | None:
    """Return the member `metadata` of version 1: the session's extension data, or None.

    `algorithms` are the hash algorithms of ranges by pointer; they go into `metadata.vacr`.
    """
    extension = record["session"].get(EXTENSION_MEMBER)
    data = extension.get("data") if isinstance(extension, dict) else None
    metadata = dict(data) if isinstance(data, dict) else None
    if not algorithms:
        return metadata
    return (metadata or {}) | {VACR_MEMBER: {_HASH_ALGORITHM_MEMBER: algorithms}}


def _restore_hash_algorithms(metadata: Any, attribution: JsonObject) -> bool:
    """Copy the hash algorithms in `metadata.vacr` into the ranges of `attribution`.

    Return True; or change nothing and return False, unless `metadata.vacr` contains only such
    algorithms.
    """
    ours = metadata.get(VACR_MEMBER) if isinstance(metadata, dict) else None
    if not isinstance(ours, dict) or ours.keys() != {_HASH_ALGORITHM_MEMBER}:
        return False
    algorithms, ranges = ours[_HASH_ALGORITHM_MEMBER], dict(_walk_ranges(attribution))
    if not isinstance(algorithms, dict) or not algorithms:
        return False
    if not algorithms.keys() <= ranges.keys():
        return False
    if not all(isinstance(algorithm, str) for algorithm in algorithms.values()):
        return False
    for pointer, algorithm in algorithms.items():
        ranges[pointer][_HASH_ALGORITHM_MEMBER] = algorithm
    return True


def _walk_ranges(attribution: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield each line range of a file attribution, after its pointer.

    The pointer starts at the attribution: `/files/0/conversations/0/ranges/0`.
    """
    for file_index, file in enumerate(attribution["files"]):
        for index, conversation in enumerate(file["conversations"]):
            for range_index, line_range in enumerate(conversation["ranges"]):
                base = f"/files/{file_index}/conversations/{index}"
                yield f"{base}/ranges/{range_index}", line_range
