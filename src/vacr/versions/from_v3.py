"""From version 3 to version 2. Step: convert. Follows v2.cddl, whose maps are closed.

What version 2 has no member for goes into the map's `vendor-ext`, at the root into `metadata`: see
`extensions`. So do values that its members cannot hold: a `format` other than its two (`null` says
that there was none), a session id of bytes, what a recording agent has beside name and version.
Stubs that an older record was given are taken out: see `stubs`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from vacr.codec.pointers import Place, pointer
from vacr.model import SCHEMA_VERSION, Native
from vacr.schema.versions import major
from vacr.versions import attribution, entries, extensions, stubs
from vacr.versions.kinds import EXTENSION, FORMATS, Kind, Kinds, kinds

METADATA = "metadata"
RECORDER_MEMBERS = ("name", "version")

_PLACED = frozenset(
    ("version", "id", "created", "session", "file-attribution", "vcs", "recording-agent")
)
_NEVER_PACKED = _PLACED - {"version", "recording-agent"}


def to_v2(record: Native, *, json: bool) -> Native:
    """Give a valid record of version 3 as version 2 has it."""
    tables = kinds(json=json)
    mark = stubs.mark_of(record, json=json)
    if mark is not None:
        record = stubs.unmarked(record)
    taken = mark.stubs if mark else frozenset()
    result: Native = {"version": (mark and mark.version) or stubs.V2_VERSION, "id": record["id"]}
    rest = {name: value for name, value in record.items() if name not in _PLACED}
    if record["version"] != SCHEMA_VERSION:
        rest["version"] = record["version"]
    if "created" in record:
        result["created"] = record["created"]
    if "file-attribution" in record:
        result["file-attribution"] = attribution.to_snake(record["file-attribution"])
    if "vcs" in record:
        result["vcs"] = tables.vcs.to_v2(record["vcs"])
    if "recording-agent" in record:
        result["recording-agent"] = _recorder(record["recording-agent"], rest)
    if stubs.SESSION not in taken:
        result["session"] = _session(record["session"], tables, taken, json=json)
    _take_out(result, taken)
    if not rest:
        return result
    admits = partial(
        could_be_packed, base=record, version=result["version"], lacking=mark is not None, json=json
    )
    return result | {METADATA: extensions.packed(rest, METADATA, admits, json=json)}


def could_be_packed(rest: Native, *, base: Native, version: str, lacking: bool, json: bool) -> bool:
    """Tell whether members could be the rest of a record: `base`, as version 3 has it; `version`,
    that of version 2.

    `lacking` says whether the record has a mark beside them.
    """
    if not _NEVER_PACKED.isdisjoint(rest):
        return False
    if "version" in rest and not (version == stubs.V2_VERSION and _is_other_v3(rest["version"])):
        return False
    if "recording-agent" in rest and not _is_rest_of_recorder(rest["recording-agent"], base):
        return False
    if "vacr" not in rest:
        return True
    ours = rest["vacr"]
    if lacking:
        return isinstance(ours, dict) and bool(ours) and stubs.CONVERTED not in ours
    # What would be read as a mark, once unpacked, was never packed.
    unpacked = base | {"vacr": ours, "version": rest.get("version", SCHEMA_VERSION)}
    return stubs.mark_of(unpacked, json=json) is None


def session_admits(rest: Native, *, kind: Kind, placed: Native) -> bool:
    """Tell whether members could be the rest of a session; `placed` is what version 2 has of it."""
    if "format" in rest and placed["format"] != FORMATS[0]:
        return False
    if "session-id" in rest and not (
        isinstance(rest["session-id"], bytes) and rest["session-id"].hex() == placed["session-id"]
    ):
        return False
    return kind.admits(rest, placed=placed)


def _is_other_v3(version: Any) -> bool:
    return isinstance(version, str) and version != SCHEMA_VERSION and major(version) == "3"


def _is_rest_of_recorder(value: Any, base: Native) -> bool:
    return (
        "recording-agent" in base
        and isinstance(value, dict)
        and bool(value)
        and all(type(name) is str and name not in RECORDER_MEMBERS for name in value)
    )


def _recorder(agent: Native, rest: Native) -> Native:
    """Give the recording agent as version 2 has it, and add what it has no place for to the rest of
    the record.
    """
    more = {name: value for name, value in agent.items() if name not in RECORDER_MEMBERS}
    if more:
        rest["recording-agent"] = more
    return {name: agent[name] for name in RECORDER_MEMBERS if name in agent}


def _session(session: Native, tables: Kinds, taken: frozenset[str], *, json: bool) -> Native:
    kind = tables.autonomous if session.get("format") == FORMATS[1] else tables.interactive
    placed, rest = kind.split(session)
    if "format" not in placed:
        placed["format"] = FORMATS[0]
        rest["format"] = session.get("format")
    if "session-id" not in placed:
        placed["session-id"] = session["session-id"].hex()
    placed["entries"] = entries.carried(
        session["entries"], partial(_entry, tables=tables, taken=taken)
    )
    if not rest:
        return placed
    extension = extensions.packed(
        rest, EXTENSION, partial(session_admits, kind=kind, placed=placed), json=json
    )
    return placed | {EXTENSION: extension}


def _entry(entry: Native, place: Place, *, tables: Kinds, taken: frozenset[str]) -> Native:
    """Give one entry as version 2 has it, its children still as they were."""
    if taken:
        here = pointer(place)
        if f"{here}/type" in taken:
            return {name: value for name, value in entry.items() if name != "event-type"} | {
                "type": entry["event-type"]
            }
        if f"{here}/content" in taken:
            entry = {name: value for name, value in entry.items() if name != "content"}
    return tables.entries[entry["type"]].to_v2(entry)


def _take_out(record: Native, taken: frozenset[str]) -> None:
    """Take the stubs outside the entries out of a record that is being made."""
    if stubs.VCS_TYPE in taken:
        del record["vcs"]["type"]
    if stubs.RECORDER in taken:
        del record["recording-agent"]["name"]
    if stubs.DIRECTORY in taken:
        del record["session"]["environment"]["working-dir"]
    if stubs.SESSION_VCS_TYPE in taken:
        del record["session"]["environment"]["vcs"]["type"]
