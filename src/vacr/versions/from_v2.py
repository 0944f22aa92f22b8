"""From version 2 to version 3. Step: convert. Follows v3.cddl, whose maps are open.

Extensions that `from_v3` packed are opened; those of other vendors stay, as open members. An entry
of a vendor's own type becomes a `system-event` of that event type. What version 3 needs and version
2 does not is put in and marked: see `stubs`.
"""

from __future__ import annotations

from functools import partial

from vacr.codec.pointers import Place, pointer
from vacr.model import SCHEMA_VERSION, Native
from vacr.versions import attribution, entries, extensions, stubs
from vacr.versions.from_v3 import METADATA, could_be_packed, session_admits
from vacr.versions.kinds import EXTENSION, FORMATS, Kinds, kinds


def to_v3(record: Native, *, json: bool) -> Native:
    """Give a valid record of version 2 as version 3 has it."""
    tables = kinds(json=json)
    lacks: list[str] = []
    result: Native = {"version": SCHEMA_VERSION, "id": record["id"]}
    if "created" in record:
        result["created"] = record["created"]
    if "file-attribution" in record:
        result["file-attribution"] = attribution.to_kebab(record["file-attribution"])
    if "vcs" in record:
        result["vcs"] = tables.vcs.to_v3(record["vcs"])
        _fill(result["vcs"], "type", stubs.UNKNOWN, stubs.VCS_TYPE, lacks)
    if "recording-agent" in record:
        result["recording-agent"] = dict(record["recording-agent"])
        _fill(result["recording-agent"], "name", stubs.UNKNOWN, stubs.RECORDER, lacks)
    if "session" in record:
        result["session"] = _session(record["session"], tables, lacks, json=json)
    else:
        _fill(result, "session", stubs.session(record["id"]), stubs.SESSION, lacks)
    if METADATA in record:
        lacking = bool(lacks) or record["version"] != stubs.V2_VERSION
        _open_metadata(result, record, lacking=lacking, json=json)
    return stubs.marked(result, lacks, record["version"])


def _open_metadata(result: Native, record: Native, *, lacking: bool, json: bool) -> None:
    """Add what the metadata hold to a record that is being made."""
    metadata = record[METADATA]
    admits = partial(
        could_be_packed, base=result, version=record["version"], lacking=lacking, json=json
    )
    if not extensions.opens(metadata, METADATA, admits, json=json):
        result[METADATA] = metadata
        return
    rest = dict(metadata["data"])
    if "recording-agent" in rest:
        result["recording-agent"] |= rest.pop("recording-agent")
    result |= rest


def _session(session: Native, tables: Kinds, lacks: list[str], *, json: bool) -> Native:
    kind = tables.autonomous if session["format"] == FORMATS[1] else tables.interactive
    result = kind.raised(session)
    environment = result.get("environment")
    if environment is not None:
        _fill(environment, "working-dir", stubs.NO_DIRECTORY, stubs.DIRECTORY, lacks)
        if "vcs" in environment:
            _fill(environment["vcs"], "type", stubs.UNKNOWN, stubs.SESSION_VCS_TYPE, lacks)
    result["entries"] = entries.carried(
        session["entries"], partial(_entry, tables=tables, lacks=lacks)
    )
    admits = partial(session_admits, kind=kind, placed=session)
    if EXTENSION in session and extensions.opens(session[EXTENSION], EXTENSION, admits, json=json):
        del result[EXTENSION]
        result |= session[EXTENSION]["data"]
        if result["format"] is None:
            del result["format"]
    return result


def _entry(entry: Native, place: Place, *, tables: Kinds, lacks: list[str]) -> Native:
    """Give one entry as version 3 has it, its children still as they were."""
    if stubs.is_vendor_entry(entry):
        lacks.append(f"{pointer(place)}/type")
        return entry | {"type": "system-event", "event-type": entry["type"]}
    result = tables.entries[entry["type"]].to_v3(entry)
    if entry["type"] == "reasoning" and "content" not in entry:
        result["content"] = stubs.NO_CONTENT
        lacks.append(f"{pointer(place)}/content")
    return result


def _fill(holder: Native, name: str, stub: object, where: str, lacks: list[str]) -> None:
    """Put in what is missing, and note it."""
    if name not in holder:
        holder[name] = stub
        lacks.append(where)
