"""Version 1, which is a file attribution alone, into version 3 and out of it. Step: convert.

Follows the draft's own mapping of version 1: its id is the session's id, its timestamp the
session's start, its tool the agent's name and version, its vcs that of the environment, its
metadata the session's extension. Out of a record with more than that, the time is the session's end
or that of its last entry, as the draft derives it; all else stays behind, and `left_behind` tells
what. The algorithm of a hash, which a range of version 1 cannot name, is in `metadata.vacr`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from vacr.errors import InvalidRecord
from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.json_text import escape_pointer_token
from vacr.record.timestamps import find_time_span, format_timestamp
from vacr.record.validation import parse_major_version
from vacr.record.version_maps import (
    CONVERTED_MEMBER,
    EMPTY_DIRECTORY_STUB,
    EXTENSION_MEMBER,
    SESSION_VCS_TYPE_POINTER,
    UNKNOWN_STUB,
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

_HASH_ALGORITHM_MEMBER = "content-hash-alg"
_TOOL_MEMBERS = {"name": "cli-name", "version": "cli-version"}


def convert_v1_to_v3(record: JsonObject) -> JsonObject:
    """Give a valid record of version 1 as version 3 has it."""
    tool, metadata = record.get("tool", {}), record.get("metadata")
    made_up = [
        "/session/agent-meta/model-id",
        "/session/agent-meta/model-provider",
        "/session/entries",
    ]
    session = make_stub_session(record["id"]) | {"session-start": record["timestamp"]}
    session["agent-meta"] |= {_TOOL_MEMBERS[name]: value for name, value in tool.items()}
    if "vcs" in record:
        session["environment"] = {"working-dir": EMPTY_DIRECTORY_STUB, "vcs": dict(record["vcs"])}
        made_up.append(WORKING_DIR_POINTER)
    files = convert_attribution_to_kebab({"files": record["files"]})
    if _restore_hash_algorithms(metadata, files):
        metadata = {
            name: value for name, value in record["metadata"].items() if name != VACR_MEMBER
        } or None
    if metadata is not None:
        session[EXTENSION_MEMBER] = {"vendor": tool.get("name", UNKNOWN_STUB), "data": metadata}
    mark: JsonObject = {"version": record["version"], "stubs": sorted(made_up)}
    if record.get("tool") == {}:
        mark["tool"] = {}
    result = {
        "version": SCHEMA_VERSION,
        "id": record["id"],
        "session": session,
        "file-attribution": files,
    }
    return result | {VACR_MEMBER: {CONVERTED_MEMBER: mark}}


def convert_v3_to_v1(record: JsonObject) -> JsonObject:
    """Give the file attribution of a valid record of version 3 as a record of version 1.

    Raises:
        InvalidRecord: there is no file attribution, or no time.
    """
    if "file-attribution" not in record:
        raise InvalidRecord(
            "the record has no file attribution, and version 1 is nothing else",
            where="/file-attribution",
            hint="Attribute its files first, or convert it to v2, which can hold the session.",
        )
    mark, identity = _get_v1_mark(record), record["session"]["session-id"]
    files = convert_attribution_to_snake(record["file-attribution"])
    algorithms = {
        where: one.pop("content_hash_alg")
        for where, one in _walk_ranges(files)
        if "content_hash_alg" in one
    }
    result: JsonObject = {
        "version": mark.get("version", V1_VERSION),
        "id": identity.hex() if isinstance(identity, bytes) else identity,
        "timestamp": _find_record_time(record),
        "files": files["files"],
    }
    optional = {
        "vcs": _find_vcs_state(record),
        "tool": _build_tool(record, mark),
        "metadata": _build_metadata(record, algorithms),
    }
    return result | {name: value for name, value in optional.items() if value is not None}


def list_missing_in_v1(record: JsonObject, made: JsonObject) -> list[str]:
    """Give the pointers of what a record of version 3 has and the record of version 1 made of it
    does not.
    """
    tool, vcs, time = made.get("tool", {}), made.get("vcs", {}), made["timestamp"]
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
        where
        for where, value in _find_unmatched_members(record, convert_v1_to_v3(made), "")
        if where not in moved or _format_if_number(value) != moved[where]
    ]


def _find_unmatched_members(
    old: JsonObject, new: JsonObject, base: str
) -> Iterator[tuple[str, Any]]:
    for name, value in old.items():
        where = f"{base}/{escape_pointer_token(str(name))}"
        if where in {"/file-attribution", "/vacr/converted"} or (
            name in new and value is new[name]
        ):
            continue
        if isinstance(value, dict) and (
            isinstance(new.get(name), dict) or where in {"/vcs", "/recording-agent"}
        ):
            yield from _find_unmatched_members(value, new.get(name, {}), where)
        elif name not in new or value != new[name]:
            yield where, value


def _format_if_number(value: Any) -> Any:
    return format_timestamp(value) if isinstance(value, int | float) else value


def _get_v1_mark(record: JsonObject) -> JsonObject:
    """Give the mark of a record that was made of one of version 1."""
    mark = get_conversion_claim(record)
    return mark if parse_major_version(mark.get("version")) == "1" else {}


def _find_record_time(record: JsonObject) -> str:
    session = record["session"]
    stamps = [
        entry["timestamp"]
        for entry, _ in walk_entries_with_paths(session["entries"])
        if "timestamp" in entry
    ]
    latest = find_time_span(
        [stamp for stamp in stamps if isinstance(stamp, str) or math.isfinite(stamp)]
    )
    for stamp in (
        session.get("session-end"),
        latest and latest[1],
        session.get("session-start"),
        record.get("created"),
    ):
        text = None if stamp is None else format_timestamp(stamp)
        if text is not None:
            return text
    raise InvalidRecord(
        "the record has no time, and version 1 needs one",
        where="/session/session-start",
        hint="A record with `created`, `session-start` or `session-end` can be converted.",
    )


def _find_vcs_state(record: JsonObject) -> JsonObject | None:
    """Give the state of version control, if both its type and its revision are known."""
    environment = record["session"].get("environment", {})
    for vcs, where in (
        (environment.get("vcs", {}), SESSION_VCS_TYPE_POINTER),
        (record.get("vcs", {}), VCS_TYPE_POINTER),
    ):
        if "revision" in vcs and not _is_marked_stub(record, where):
            return {"type": vcs["type"], "revision": vcs["revision"]}
    return None


def _build_tool(record: JsonObject, mark: JsonObject) -> JsonObject | None:
    """Give the agent's name and version; where it has none, the recording agent's, as version 2
    understands `tool`.
    """
    agent = record["session"]["agent-meta"]
    tool = {name: agent[member] for name, member in _TOOL_MEMBERS.items() if member in agent}
    if tool or mark:
        return tool or mark.get("tool")
    recorder = record.get("recording-agent", {})
    return {
        name: recorder[name]
        for name in _TOOL_MEMBERS
        if name in recorder and not _is_marked_stub(record, f"/recording-agent/{name}")
    } or None


def _is_marked_stub(record: JsonObject, where: str) -> bool:
    put_in = get_conversion_claim(record).get("stubs")
    return isinstance(put_in, list) and where in put_in


def _build_metadata(record: JsonObject, algorithms: dict[str, str]) -> JsonObject | None:
    extension = record["session"].get(EXTENSION_MEMBER)
    data = extension.get("data") if isinstance(extension, dict) else None
    metadata = dict(data) if isinstance(data, dict) else None
    return (
        (metadata or {}) | {VACR_MEMBER: {_HASH_ALGORITHM_MEMBER: algorithms}}
        if algorithms
        else metadata
    )


def _restore_hash_algorithms(metadata: Any, files: JsonObject) -> bool:
    """Put the algorithms that the metadata name into the ranges; tell whether that is all that
    `metadata.vacr` says.
    """
    ours = metadata.get(VACR_MEMBER) if isinstance(metadata, dict) else None
    if not isinstance(ours, dict) or ours.keys() != {_HASH_ALGORITHM_MEMBER}:
        return False
    named, ranges = ours[_HASH_ALGORITHM_MEMBER], dict(_walk_ranges(files))
    if not isinstance(named, dict) or not named or not named.keys() <= ranges.keys():
        return False
    if not all(isinstance(algorithm, str) for algorithm in named.values()):
        return False
    for where, algorithm in named.items():
        ranges[where][_HASH_ALGORITHM_MEMBER] = algorithm
    return True


def _walk_ranges(attributed: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Give the ranges of a file attribution with their pointers."""
    for number, file in enumerate(attributed["files"]):
        for index, conversation in enumerate(file["conversations"]):
            for place, one in enumerate(conversation["ranges"]):
                yield f"/files/{number}/conversations/{index}/ranges/{place}", one
