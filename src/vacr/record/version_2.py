"""Convert records between version 2, whose maps are closed, and version 3, whose maps are open.

Towards version 2, members without a place there go into the map's `vendor-ext`, at the root into
`metadata`. So do values that its members cannot represent: a `format` other than its two (`null`
stands for none), a session id of bytes, further members of a recording agent.
Towards version 3, those extensions are unpacked, an entry of a vendor's own type becomes a
`system-event`, and members that version 3 requires are filled with stubs (see `version_maps`).

    >>> from vacr.record.version_2 import convert_v2_to_v3, convert_v3_to_v2
    >>> session = {
    ...     "session-id": "s1",
    ...     "agent-meta": {"model-id": "m", "model-provider": "p"},
    ...     "entries": [],
    ... }
    >>> new = {"version": "3.0.0-draft", "id": "r1", "session": session, "team": "blue"}
    >>> old = convert_v3_to_v2(new, json=True)
    >>> old["metadata"], old["session"]["format"], old["session"]["vendor-ext"]["data"]
    ({'vendor': 'vacr', 'data': {'team': 'blue'}}, 'interactive', {'format': None})
    >>> convert_v2_to_v3(old, json=True) == new
    True
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.json_text import ValuePath, format_pointer
from vacr.record.validation import parse_major_version
from vacr.record.version_maps import (
    CONVERTED_MEMBER,
    EMPTY_CONTENT_STUB,
    EMPTY_DIRECTORY_STUB,
    ENTRIES_PATH,
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
    find_conversion_mark,
    is_packed_extension,
    is_vendor_entry,
    make_stub_session,
    pack_extension,
    remove_conversion_mark,
)

METADATA_MEMBER = "metadata"
RECORDING_AGENT_MEMBERS = ("name", "version")
INTERACTIVE_FORMAT, AUTONOMOUS_FORMAT = SESSION_FORMATS

_PLACED_MEMBERS = frozenset(
    ("version", "id", "created", "session", "file-attribution", "vcs", "recording-agent")
)
_NEVER_PACKED_MEMBERS = _PLACED_MEMBERS - {"version", "recording-agent"}

_EntryConverter = Callable[[JsonObject, ValuePath], JsonObject]
"""Converts the entry at a place to another version: to a new dict, with unconverted children."""


def convert_v3_to_v2(record: JsonObject, *, json: bool) -> JsonObject:
    """Convert a valid record of version 3 to version 2.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    conversions = build_map_conversions(json=json)
    mark = find_conversion_mark(record, json=json)
    if mark is not None:
        record = remove_conversion_mark(record)
    stubs = mark.stubs if mark else frozenset()
    result: JsonObject = {"version": (mark and mark.version) or V2_VERSION, "id": record["id"]}
    rest = {name: value for name, value in record.items() if name not in _PLACED_MEMBERS}
    if record["version"] != SCHEMA_VERSION:
        rest["version"] = record["version"]
    if "created" in record:
        result["created"] = record["created"]
    if "file-attribution" in record:
        result["file-attribution"] = convert_attribution_to_snake(record["file-attribution"])
    if "vcs" in record:
        result["vcs"] = conversions.vcs.convert_to_v2(record["vcs"])
    if "recording-agent" in record:
        result["recording-agent"] = _split_recording_agent(record["recording-agent"], rest)
    if SESSION_POINTER not in stubs:
        result["session"] = _convert_session_to_v2(record["session"], conversions, stubs, json=json)
    _remove_stubs(result, stubs)
    if not rest:
        return result
    can_pack = partial(
        _can_pack_record_members,
        base=record,
        version=result["version"],
        has_mark=mark is not None,
        json=json,
    )
    return result | {METADATA_MEMBER: pack_extension(rest, METADATA_MEMBER, can_pack, json=json)}


def convert_v2_to_v3(record: JsonObject, *, json: bool) -> JsonObject:
    """Convert a valid record of version 2 to version 3, with stubs for missing members.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    conversions = build_map_conversions(json=json)
    stubs: list[str] = []
    result: JsonObject = {"version": SCHEMA_VERSION, "id": record["id"]}
    if "created" in record:
        result["created"] = record["created"]
    if "file-attribution" in record:
        result["file-attribution"] = convert_attribution_to_kebab(record["file-attribution"])
    if "vcs" in record:
        result["vcs"] = conversions.vcs.convert_to_v3(record["vcs"])
        _fill_with_stub(result["vcs"], "type", UNKNOWN_STUB, VCS_TYPE_POINTER, stubs)
    if "recording-agent" in record:
        agent = dict(record["recording-agent"])
        _fill_with_stub(agent, "name", UNKNOWN_STUB, RECORDING_AGENT_NAME_POINTER, stubs)
        result["recording-agent"] = agent
    if "session" in record:
        result["session"] = _convert_session_to_v3(record["session"], conversions, stubs, json=json)
    else:
        _fill_with_stub(result, "session", make_stub_session(record["id"]), SESSION_POINTER, stubs)
    if METADATA_MEMBER in record:
        has_mark = bool(stubs) or record["version"] != V2_VERSION
        _unpack_metadata(result, record, has_mark=has_mark, json=json)
    return add_conversion_mark(result, stubs, record["version"])


def _split_recording_agent(agent: JsonObject, rest: JsonObject) -> JsonObject:
    """Return the members of a recording agent that version 2 has; add the others to `rest`."""
    others = {name: value for name, value in agent.items() if name not in RECORDING_AGENT_MEMBERS}
    if others:
        rest["recording-agent"] = others
    return {name: agent[name] for name in RECORDING_AGENT_MEMBERS if name in agent}


def _convert_session_to_v2(
    session: JsonObject, conversions: MapConversions, stubs: frozenset[str], *, json: bool
) -> JsonObject:
    """Convert a session with its entries; `stubs` are the pointers of stubs to leave out.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    is_autonomous = session.get("format") == AUTONOMOUS_FORMAT
    conversion = conversions.autonomous if is_autonomous else conversions.interactive
    placed, rest = conversion.split_members(session)
    if "format" not in placed:
        placed["format"] = INTERACTIVE_FORMAT
        rest["format"] = session.get("format")
    if "session-id" not in placed:
        placed["session-id"] = session["session-id"].hex()
    placed["entries"] = _convert_entries(
        session["entries"], partial(_convert_entry_to_v2, conversions=conversions, stubs=stubs)
    )
    if not rest:
        return placed
    can_pack = partial(_can_pack_session_members, conversion=conversion, placed=placed)
    extension = pack_extension(rest, EXTENSION_MEMBER, can_pack, json=json)
    return placed | {EXTENSION_MEMBER: extension}


def _convert_session_to_v3(
    session: JsonObject, conversions: MapConversions, stubs: list[str], *, json: bool
) -> JsonObject:
    """Convert a session with its entries; add the pointers of new stubs to `stubs`.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    is_autonomous = session["format"] == AUTONOMOUS_FORMAT
    conversion = conversions.autonomous if is_autonomous else conversions.interactive
    result = conversion.convert_members_to_v3(session)
    environment = result.get("environment")
    if environment is not None:
        _fill_with_stub(
            environment, "working-dir", EMPTY_DIRECTORY_STUB, WORKING_DIR_POINTER, stubs
        )
        if "vcs" in environment:
            vcs = environment["vcs"]
            _fill_with_stub(vcs, "type", UNKNOWN_STUB, SESSION_VCS_TYPE_POINTER, stubs)
    result["entries"] = _convert_entries(
        session["entries"], partial(_convert_entry_to_v3, conversions=conversions, stubs=stubs)
    )
    can_pack = partial(_can_pack_session_members, conversion=conversion, placed=session)
    if EXTENSION_MEMBER in session and is_packed_extension(
        session[EXTENSION_MEMBER], EXTENSION_MEMBER, can_pack, json=json
    ):
        del result[EXTENSION_MEMBER]
        result |= session[EXTENSION_MEMBER]["data"]
        if result["format"] is None:
            del result["format"]
    return result


def _convert_entries(entries: list[JsonObject], convert_entry: _EntryConverter) -> list[JsonObject]:
    """Return all entries, converted at every depth by `convert_entry`, which gets entry and place.

    This uses no recursion, so that deep nesting cannot exhaust the stack.
    """
    result: list[JsonObject] = []
    levels = [(entries, result, ENTRIES_PATH)]
    while levels:
        old, new, place = levels.pop()
        for index, entry in enumerate(old):
            converted = convert_entry(entry, (place, index))
            if "children" in converted:
                children: list[JsonObject] = []
                levels.append((converted["children"], children, ((place, index), "children")))
                converted["children"] = children
            new.append(converted)
    return result


def _convert_entry_to_v2(
    entry: JsonObject, place: ValuePath, *, conversions: MapConversions, stubs: frozenset[str]
) -> JsonObject:
    """Convert an entry without its children, and undo the stubs that `stubs` lists in it."""
    if stubs:
        pointer = format_pointer(place)
        if f"{pointer}/type" in stubs:
            members = {name: value for name, value in entry.items() if name != "event-type"}
            return members | {"type": entry["event-type"]}
        if f"{pointer}/content" in stubs:
            entry = {name: value for name, value in entry.items() if name != "content"}
    return conversions.entries[entry["type"]].convert_to_v2(entry)


def _convert_entry_to_v3(
    entry: JsonObject, place: ValuePath, *, conversions: MapConversions, stubs: list[str]
) -> JsonObject:
    """Convert an entry without its children, and add the pointers of new stubs to `stubs`."""
    if is_vendor_entry(entry):
        stubs.append(f"{format_pointer(place)}/type")
        return entry | {"type": "system-event", "event-type": entry["type"]}
    result = conversions.entries[entry["type"]].convert_to_v3(entry)
    if entry["type"] == "reasoning" and "content" not in entry:
        result["content"] = EMPTY_CONTENT_STUB
        stubs.append(f"{format_pointer(place)}/content")
    return result


def _fill_with_stub(
    holder: JsonObject, name: str, stub: object, pointer: str, stubs: list[str]
) -> None:
    """Set the member `name` to a stub and add its pointer to `stubs`, if the member is missing."""
    if name not in holder:
        holder[name] = stub
        stubs.append(pointer)


def _remove_stubs(record: JsonObject, stubs: frozenset[str]) -> None:
    """Remove the listed stubs from a record of version 2 in place, except stubs in entries."""
    if VCS_TYPE_POINTER in stubs:
        del record["vcs"]["type"]
    if RECORDING_AGENT_NAME_POINTER in stubs:
        del record["recording-agent"]["name"]
    if WORKING_DIR_POINTER in stubs:
        del record["session"]["environment"]["working-dir"]
    if SESSION_VCS_TYPE_POINTER in stubs:
        del record["session"]["environment"]["vcs"]["type"]


def _unpack_metadata(result: JsonObject, record: JsonObject, *, has_mark: bool, json: bool) -> None:
    """Add the `metadata` of a record of version 2 to `result`, the record of version 3.

    Metadata that vacr packed becomes members of the record again; any other stays `metadata`.
    `has_mark` means that the record of version 3 gets a conversion mark. `json` is True for a
    record from JSON, False for one from CBOR.
    """
    metadata = record[METADATA_MEMBER]
    can_pack = partial(
        _can_pack_record_members,
        base=result,
        version=record["version"],
        has_mark=has_mark,
        json=json,
    )
    if not is_packed_extension(metadata, METADATA_MEMBER, can_pack, json=json):
        result[METADATA_MEMBER] = metadata
        return
    rest = dict(metadata["data"])
    if "recording-agent" in rest:
        result["recording-agent"] |= rest.pop("recording-agent")
    result |= rest


def _can_pack_record_members(
    rest: JsonObject, *, base: JsonObject, version: str, has_mark: bool, json: bool
) -> bool:
    """Return whether converting a record to version 2 could have packed these members.

    `base` is the record in version 3, and `version` its version number in version 2. `has_mark`
    means that the record in version 3 has a conversion mark besides these members. `json` is True
    for a record from JSON, False for one from CBOR.
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
    if has_mark:
        return isinstance(ours, dict) and bool(ours) and CONVERTED_MEMBER not in ours
    # A mark is removed before packing, so packed members never contain a valid one.
    unpacked = base | {"vacr": ours, "version": rest.get("version", SCHEMA_VERSION)}
    return find_conversion_mark(unpacked, json=json) is None


def _is_other_v3_version(version: Any) -> bool:
    """Return whether a value is a version 3.* other than the one that vacr writes."""
    return (
        isinstance(version, str)
        and version != SCHEMA_VERSION
        and parse_major_version(version) == "3"
    )


def _can_pack_recording_agent(value: Any, base: JsonObject) -> bool:
    """Return whether a value could be packed members of the recording agent of `base`."""
    return (
        "recording-agent" in base
        and isinstance(value, dict)
        and bool(value)
        and all(type(name) is str and name not in RECORDING_AGENT_MEMBERS for name in value)
    )


def _can_pack_session_members(
    rest: JsonObject, *, conversion: MapConversion, placed: JsonObject
) -> bool:
    """Return whether converting a session to version 2 could have packed these members.

    `placed` is the session in version 2.
    """
    if "format" in rest and placed["format"] != INTERACTIVE_FORMAT:
        return False
    if "session-id" in rest and not (
        isinstance(rest["session-id"], bytes) and rest["session-id"].hex() == placed["session-id"]
    ):
        return False
    return conversion.can_pack(rest, placed=placed)
