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

from vacr.codec.pointers import escape
from vacr.errors import InvalidRecord
from vacr.model import SCHEMA_VERSION, Native
from vacr.schema.versions import major
from vacr.timestamps import as_text, span
from vacr.versions import attribution, entries, stubs
from vacr.versions.kinds import EXTENSION

V1_VERSION = "1.0.0"

_ALGORITHM = "content-hash-alg"
_TOOL = {"name": "cli-name", "version": "cli-version"}


def from_v1(record: Native) -> Native:
    """Give a valid record of version 1 as version 3 has it."""
    tool, metadata = record.get("tool", {}), record.get("metadata")
    made_up = [
        "/session/agent-meta/model-id",
        "/session/agent-meta/model-provider",
        "/session/entries",
    ]
    session = stubs.session(record["id"]) | {"session-start": record["timestamp"]}
    session["agent-meta"] |= {_TOOL[name]: value for name, value in tool.items()}
    if "vcs" in record:
        session["environment"] = {"working-dir": stubs.NO_DIRECTORY, "vcs": dict(record["vcs"])}
        made_up.append(stubs.DIRECTORY)
    files = attribution.to_kebab({"files": record["files"]})
    if _named_algorithms(metadata, files):
        metadata = {
            name: value for name, value in record["metadata"].items() if name != stubs.OURS
        } or None
    if metadata is not None:
        session[EXTENSION] = {"vendor": tool.get("name", stubs.UNKNOWN), "data": metadata}
    mark: Native = {"version": record["version"], "stubs": sorted(made_up)}
    if record.get("tool") == {}:
        mark["tool"] = {}
    result = {
        "version": SCHEMA_VERSION,
        "id": record["id"],
        "session": session,
        "file-attribution": files,
    }
    return result | {stubs.OURS: {stubs.CONVERTED: mark}}


def to_v1(record: Native) -> Native:
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
    mark, identity = _mark(record), record["session"]["session-id"]
    files = attribution.to_snake(record["file-attribution"])
    algorithms = {
        where: one.pop("content_hash_alg")
        for where, one in _ranges(files)
        if "content_hash_alg" in one
    }
    result: Native = {
        "version": mark.get("version", V1_VERSION),
        "id": identity.hex() if isinstance(identity, bytes) else identity,
        "timestamp": _time(record),
        "files": files["files"],
    }
    optional = {
        "vcs": _vcs(record),
        "tool": _tool(record, mark),
        "metadata": _metadata(record, algorithms),
    }
    return result | {name: value for name, value in optional.items() if value is not None}


def left_behind(record: Native, made: Native) -> list[str]:
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
        for where, value in _only_in(record, from_v1(made), "")
        if where not in moved or _told(value) != moved[where]
    ]


def _only_in(old: Native, new: Native, base: str) -> Iterator[tuple[str, Any]]:
    for name, value in old.items():
        where = f"{base}/{escape(str(name))}"
        if where in {"/file-attribution", "/vacr/converted"} or (
            name in new and value is new[name]
        ):
            continue
        if isinstance(value, dict) and (
            isinstance(new.get(name), dict) or where in {"/vcs", "/recording-agent"}
        ):
            yield from _only_in(value, new.get(name, {}), where)
        elif name not in new or value != new[name]:
            yield where, value


def _told(value: Any) -> Any:
    return as_text(value) if isinstance(value, int | float) else value


def _mark(record: Native) -> Native:
    """Give the mark of a record that was made of one of version 1."""
    mark = stubs.converted(record)
    return mark if major(mark.get("version")) == "1" else {}


def _time(record: Native) -> str:
    session = record["session"]
    stamps = [
        entry["timestamp"] for entry, _ in entries.each(session["entries"]) if "timestamp" in entry
    ]
    latest = span([stamp for stamp in stamps if isinstance(stamp, str) or math.isfinite(stamp)])
    for stamp in (
        session.get("session-end"),
        latest and latest[1],
        session.get("session-start"),
        record.get("created"),
    ):
        text = None if stamp is None else as_text(stamp)
        if text is not None:
            return text
    raise InvalidRecord(
        "the record has no time, and version 1 needs one",
        where="/session/session-start",
        hint="A record with `created`, `session-start` or `session-end` can be converted.",
    )


def _vcs(record: Native) -> Native | None:
    """Give the state of version control, if both its type and its revision are known."""
    environment = record["session"].get("environment", {})
    for vcs, where in (
        (environment.get("vcs", {}), stubs.SESSION_VCS_TYPE),
        (record.get("vcs", {}), stubs.VCS_TYPE),
    ):
        if "revision" in vcs and not _is_stub(record, where):
            return {"type": vcs["type"], "revision": vcs["revision"]}
    return None


def _tool(record: Native, mark: Native) -> Native | None:
    """Give the agent's name and version; where it has none, the recording agent's, as version 2
    understands `tool`.
    """
    agent = record["session"]["agent-meta"]
    tool = {name: agent[member] for name, member in _TOOL.items() if member in agent}
    if tool or mark:
        return tool or mark.get("tool")
    recorder = record.get("recording-agent", {})
    return {
        name: recorder[name]
        for name in _TOOL
        if name in recorder and not _is_stub(record, f"/recording-agent/{name}")
    } or None


def _is_stub(record: Native, where: str) -> bool:
    put_in = stubs.converted(record).get("stubs")
    return isinstance(put_in, list) and where in put_in


def _metadata(record: Native, algorithms: dict[str, str]) -> Native | None:
    extension = record["session"].get(EXTENSION)
    data = extension.get("data") if isinstance(extension, dict) else None
    metadata = dict(data) if isinstance(data, dict) else None
    return (metadata or {}) | {stubs.OURS: {_ALGORITHM: algorithms}} if algorithms else metadata


def _named_algorithms(metadata: Any, files: Native) -> bool:
    """Put the algorithms that the metadata name into the ranges; tell whether that is all that
    `metadata.vacr` says.
    """
    ours = metadata.get(stubs.OURS) if isinstance(metadata, dict) else None
    if not isinstance(ours, dict) or ours.keys() != {_ALGORITHM}:
        return False
    named, ranges = ours[_ALGORITHM], dict(_ranges(files))
    if not isinstance(named, dict) or not named or not named.keys() <= ranges.keys():
        return False
    if not all(isinstance(algorithm, str) for algorithm in named.values()):
        return False
    for where, algorithm in named.items():
        ranges[where][_ALGORITHM] = algorithm
    return True


def _ranges(attributed: Native) -> Iterator[tuple[str, Native]]:
    """Give the ranges of a file attribution with their pointers."""
    for number, file in enumerate(attributed["files"]):
        for index, conversation in enumerate(file["conversations"]):
            for place, one in enumerate(conversation["ranges"]):
                yield f"/files/{number}/conversations/{index}/ranges/{place}", one
