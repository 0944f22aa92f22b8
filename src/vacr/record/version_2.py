"""From version 3 to version 2. Step: convert. Follows v2.cddl, whose maps are closed.

What version 2 has no member for goes into the map's `vendor-ext`, at the root into `metadata`: see
`extensions`. So do values that its members cannot hold: a `format` other than its two (`null` says
that there was none), a session id of bytes, what a recording agent has beside name and version.
Stubs that an older record was given are taken out: see `stubs`.

From version 2 to version 3. Step: convert. Follows v3.cddl, whose maps are open.

Extensions that `from_v3` packed are opened; those of other vendors stay, as open members. An entry
of a vendor's own type becomes a `system-event` of that event type. What version 3 needs and version
2 does not is put in and marked: see `stubs`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.json_text import ValuePath, format_pointer
from vacr.record.validation import parse_major_version
from vacr.record.version_maps import (
    CONVERTED_MEMBER,
    EMPTY_CONTENT_STUB,
    EMPTY_DIRECTORY_STUB,
    EXTENSION_MEMBER,
    RECORDING_AGENT_NAME_POINTER,
    SESSION_FORMATS,
    SESSION_POINTER,
    SESSION_VCS_TYPE_POINTER,
    UNKNOWN_STUB,
    V2_VERSION,
    VCS_TYPE_POINTER,
    WORKING_DIR_POINTER,
    MapConversion,
    MapConversions,
    add_conversion_mark,
    build_map_conversions,
    convert_attribution_to_kebab,
    convert_attribution_to_snake,
    convert_entries,
    find_conversion_mark,
    is_packed_extension,
    is_vendor_entry,
    make_stub_session,
    pack_extension,
    remove_conversion_mark,
)

METADATA_MEMBER = "metadata"
RECORDING_AGENT_MEMBERS = ("name", "version")

_PLACED_MEMBERS = frozenset(
    ("version", "id", "created", "session", "file-attribution", "vcs", "recording-agent")
)
_NEVER_PACKED_MEMBERS = _PLACED_MEMBERS - {"version", "recording-agent"}


def convert_v3_to_v2(record: JsonObject, *, json: bool) -> JsonObject:
    """Give a valid record of version 3 as version 2 has it."""
    tables = build_map_conversions(json=json)
    mark = find_conversion_mark(record, json=json)
    if mark is not None:
        record = remove_conversion_mark(record)
    taken = mark.stubs if mark else frozenset()
    result: JsonObject = {"version": (mark and mark.version) or V2_VERSION, "id": record["id"]}
    rest = {name: value for name, value in record.items() if name not in _PLACED_MEMBERS}
    if record["version"] != SCHEMA_VERSION:
        rest["version"] = record["version"]
    if "created" in record:
        result["created"] = record["created"]
    if "file-attribution" in record:
        result["file-attribution"] = convert_attribution_to_snake(record["file-attribution"])
    if "vcs" in record:
        result["vcs"] = tables.vcs.to_v2(record["vcs"])
    if "recording-agent" in record:
        result["recording-agent"] = _convert_recording_agent(record["recording-agent"], rest)
    if SESSION_POINTER not in taken:
        result["session"] = _convert_session_to_v2(record["session"], tables, taken, json=json)
    _remove_stubs(result, taken)
    if not rest:
        return result
    admits = partial(
        can_pack_record_members,
        base=record,
        version=result["version"],
        lacking=mark is not None,
        json=json,
    )
    return result | {METADATA_MEMBER: pack_extension(rest, METADATA_MEMBER, admits, json=json)}


def can_pack_record_members(
    rest: JsonObject, *, base: JsonObject, version: str, lacking: bool, json: bool
) -> bool:
    """Tell whether members could be the rest of a record: `base`, as version 3 has it; `version`,
    that of version 2.

    `lacking` says whether the record has a mark beside them.
    """
    if not _NEVER_PACKED_MEMBERS.isdisjoint(rest):
        return False
    if "version" in rest and not (version == V2_VERSION and _is_other_v3_version(rest["version"])):
        return False
    if "recording-agent" in rest and not _can_pack_recording_agent(rest["recording-agent"], base):
        return False
    if "vacr" not in rest:
        return True
    ours = rest["vacr"]
    if lacking:
        return isinstance(ours, dict) and bool(ours) and CONVERTED_MEMBER not in ours
    # What would be read as a mark, once unpacked, was never packed.
    unpacked = base | {"vacr": ours, "version": rest.get("version", SCHEMA_VERSION)}
    return find_conversion_mark(unpacked, json=json) is None


def can_pack_session_members(rest: JsonObject, *, kind: MapConversion, placed: JsonObject) -> bool:
    """Tell whether members could be the rest of a session; `placed` is what version 2 has of it."""
    if "format" in rest and placed["format"] != SESSION_FORMATS[0]:
        return False
    if "session-id" in rest and not (
        isinstance(rest["session-id"], bytes) and rest["session-id"].hex() == placed["session-id"]
    ):
        return False
    return kind.admits(rest, placed=placed)


def _is_other_v3_version(version: Any) -> bool:
    return (
        isinstance(version, str)
        and version != SCHEMA_VERSION
        and parse_major_version(version) == "3"
    )


def _can_pack_recording_agent(value: Any, base: JsonObject) -> bool:
    return (
        "recording-agent" in base
        and isinstance(value, dict)
        and bool(value)
        and all(type(name) is str and name not in RECORDING_AGENT_MEMBERS for name in value)
    )


def _convert_recording_agent(agent: JsonObject, rest: JsonObject) -> JsonObject:
    """Give the recording agent as version 2 has it, and add what it has no place for to the rest of
    the record.
    """
    more = {name: value for name, value in agent.items() if name not in RECORDING_AGENT_MEMBERS}
    if more:
        rest["recording-agent"] = more
    return {name: agent[name] for name in RECORDING_AGENT_MEMBERS if name in agent}


def _convert_session_to_v2(
    session: JsonObject, tables: MapConversions, taken: frozenset[str], *, json: bool
) -> JsonObject:
    kind = tables.autonomous if session.get("format") == SESSION_FORMATS[1] else tables.interactive
    placed, rest = kind.split(session)
    if "format" not in placed:
        placed["format"] = SESSION_FORMATS[0]
        rest["format"] = session.get("format")
    if "session-id" not in placed:
        placed["session-id"] = session["session-id"].hex()
    placed["entries"] = convert_entries(
        session["entries"], partial(_convert_entry_to_v2, tables=tables, taken=taken)
    )
    if not rest:
        return placed
    extension = pack_extension(
        rest,
        EXTENSION_MEMBER,
        partial(can_pack_session_members, kind=kind, placed=placed),
        json=json,
    )
    return placed | {EXTENSION_MEMBER: extension}


def _convert_entry_to_v2(
    entry: JsonObject, place: ValuePath, *, tables: MapConversions, taken: frozenset[str]
) -> JsonObject:
    """Give one entry as version 2 has it, its children still as they were."""
    if taken:
        here = format_pointer(place)
        if f"{here}/type" in taken:
            return {name: value for name, value in entry.items() if name != "event-type"} | {
                "type": entry["event-type"]
            }
        if f"{here}/content" in taken:
            entry = {name: value for name, value in entry.items() if name != "content"}
    return tables.entries[entry["type"]].to_v2(entry)


def _remove_stubs(record: JsonObject, taken: frozenset[str]) -> None:
    """Take the stubs outside the entries out of a record that is being made."""
    if VCS_TYPE_POINTER in taken:
        del record["vcs"]["type"]
    if RECORDING_AGENT_NAME_POINTER in taken:
        del record["recording-agent"]["name"]
    if WORKING_DIR_POINTER in taken:
        del record["session"]["environment"]["working-dir"]
    if SESSION_VCS_TYPE_POINTER in taken:
        del record["session"]["environment"]["vcs"]["type"]


def convert_v2_to_v3(record: JsonObject, *, json: bool) -> JsonObject:
    """Give a valid record of version 2 as version 3 has it."""
    tables = build_map_conversions(json=json)
    lacks: list[str] = []
    result: JsonObject = {"version": SCHEMA_VERSION, "id": record["id"]}
    if "created" in record:
        result["created"] = record["created"]
    if "file-attribution" in record:
        result["file-attribution"] = convert_attribution_to_kebab(record["file-attribution"])
    if "vcs" in record:
        result["vcs"] = tables.vcs.to_v3(record["vcs"])
        _fill_with_stub(result["vcs"], "type", UNKNOWN_STUB, VCS_TYPE_POINTER, lacks)
    if "recording-agent" in record:
        result["recording-agent"] = dict(record["recording-agent"])
        _fill_with_stub(
            result["recording-agent"], "name", UNKNOWN_STUB, RECORDING_AGENT_NAME_POINTER, lacks
        )
    if "session" in record:
        result["session"] = _convert_session_to_v3(record["session"], tables, lacks, json=json)
    else:
        _fill_with_stub(result, "session", make_stub_session(record["id"]), SESSION_POINTER, lacks)
    if METADATA_MEMBER in record:
        lacking = bool(lacks) or record["version"] != V2_VERSION
        _unpack_metadata(result, record, lacking=lacking, json=json)
    return add_conversion_mark(result, lacks, record["version"])


def _unpack_metadata(result: JsonObject, record: JsonObject, *, lacking: bool, json: bool) -> None:
    """Add what the metadata hold to a record that is being made."""
    metadata = record[METADATA_MEMBER]
    admits = partial(
        can_pack_record_members, base=result, version=record["version"], lacking=lacking, json=json
    )
    if not is_packed_extension(metadata, METADATA_MEMBER, admits, json=json):
        result[METADATA_MEMBER] = metadata
        return
    rest = dict(metadata["data"])
    if "recording-agent" in rest:
        result["recording-agent"] |= rest.pop("recording-agent")
    result |= rest


def _convert_session_to_v3(
    session: JsonObject, tables: MapConversions, lacks: list[str], *, json: bool
) -> JsonObject:
    kind = tables.autonomous if session["format"] == SESSION_FORMATS[1] else tables.interactive
    result = kind.raised(session)
    environment = result.get("environment")
    if environment is not None:
        _fill_with_stub(
            environment, "working-dir", EMPTY_DIRECTORY_STUB, WORKING_DIR_POINTER, lacks
        )
        if "vcs" in environment:
            _fill_with_stub(
                environment["vcs"], "type", UNKNOWN_STUB, SESSION_VCS_TYPE_POINTER, lacks
            )
    result["entries"] = convert_entries(
        session["entries"], partial(_convert_entry_to_v3, tables=tables, lacks=lacks)
    )
    admits = partial(can_pack_session_members, kind=kind, placed=session)
    if EXTENSION_MEMBER in session and is_packed_extension(
        session[EXTENSION_MEMBER], EXTENSION_MEMBER, admits, json=json
    ):
        del result[EXTENSION_MEMBER]
        result |= session[EXTENSION_MEMBER]["data"]
        if result["format"] is None:
            del result["format"]
    return result


def _convert_entry_to_v3(
    entry: JsonObject, place: ValuePath, *, tables: MapConversions, lacks: list[str]
) -> JsonObject:
    """Give one entry as version 3 has it, its children still as they were."""
    if is_vendor_entry(entry):
        lacks.append(f"{format_pointer(place)}/type")
        return entry | {"type": "system-event", "event-type": entry["type"]}
    result = tables.entries[entry["type"]].to_v3(entry)
    if entry["type"] == "reasoning" and "content" not in entry:
        result["content"] = EMPTY_CONTENT_STUB
        lacks.append(f"{format_pointer(place)}/content")
    return result


def _fill_with_stub(
    holder: JsonObject, name: str, stub: object, where: str, lacks: list[str]
) -> None:
    """Put in what is missing, and note it."""
    if name not in holder:
        holder[name] = stub
        lacks.append(where)
