"""What version 3 needs and an older record lacks: put in, marked, and taken out again. Step:
convert.

The mark is `vacr.converted` at the root: `stubs`, the sorted pointers of what was put in, and
`version`, that of the record before, where it is not the one that is written on the way back. A
mark counts only if each pointer leads to just that stub; whatever else stands in `vacr.converted`
is a member like any other, and carried as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.codec.pointers import pointer
from vacr.model import SCHEMA_VERSION, Native
from vacr.schema.versions import major
from vacr.versions import entries, extensions

V2_VERSION = "2.0.0-draft"
UNKNOWN = "unknown"
NO_DIRECTORY = ""
NO_CONTENT = ""

OURS = "vacr"
CONVERTED = "converted"

SESSION = "/session"
VCS_TYPE = "/vcs/type"
RECORDER = "/recording-agent/name"
DIRECTORY = "/session/environment/working-dir"
SESSION_VCS_TYPE = "/session/environment/vcs/type"

_VENDOR_ENTRY = frozenset(
    ("type", "event-type", "vendor-ext", "timestamp", "id", "session-id", "children")
)
_NEVER_VENDORS = ("user", "assistant", "reasoning")
_REQUIRED = {
    "tool-call": ("name", "input"),
    "tool-result": ("output",),
    "system-event": ("event-type",),
}


@dataclass(frozen=True)
class Mark:
    """What a record of version 3 says about the older one that it was made of."""

    stubs: frozenset[str]
    version: str | None


def session(record_id: str) -> Native:
    """Make a session for a record that has none; a session id is what the earliest version's record
    id became.
    """
    return {
        "session-id": record_id,
        "agent-meta": {"model-id": UNKNOWN, "model-provider": UNKNOWN},
        "entries": [],
    }


def is_vendor_entry(entry: Native) -> bool:
    """Tell whether an entry of version 2 is of its seventh kind: of no type that is known, or
    without what that type needs.
    """
    kind = entry["type"]
    return kind not in _NEVER_VENDORS and not (
        kind in _REQUIRED and all(name in entry for name in _REQUIRED[kind])
    )


def marked(record: Native, pointers: list[str], version: str) -> Native:
    """Give a record with the mark, if there is anything to mark."""
    mark: Native = {"stubs": sorted(pointers)} if pointers else {}
    if version != V2_VERSION:
        mark["version"] = version
    return record | {OURS: record.get(OURS, {}) | {CONVERTED: mark}} if mark else record


def unmarked(record: Native) -> Native:
    """Give a record without its mark."""
    rest = {name: value for name, value in record[OURS].items() if name != CONVERTED}
    return {name: value for name, value in record.items() if name != OURS} | (
        {OURS: rest} if rest else {}
    )


def converted(record: Native) -> Native:
    """Give what a record says about being converted, true or not."""
    ours = record.get(OURS)
    said = ours.get(CONVERTED) if isinstance(ours, dict) else None
    return said if isinstance(said, dict) else {}


def mark_of(record: Native, *, json: bool) -> Mark | None:
    """Give the mark of a record of version 3, if it has one and all of it is true."""
    mark = converted(record)
    if not mark or not mark.keys() <= {"stubs", "version"}:
        return None
    if "version" in mark and not (
        _is_other_v2(mark["version"]) and record["version"] == SCHEMA_VERSION
    ):
        return None
    stubs = mark.get("stubs", [])
    if "stubs" in mark and not (
        isinstance(stubs, list) and stubs and all(isinstance(one, str) for one in stubs)
    ):
        return None
    found = frozenset(stubs)
    if stubs != sorted(found) or not found <= frozenset(_places(record, json=json)):
        return None
    return Mark(found, mark.get("version"))


def _is_other_v2(version: Any) -> bool:
    return isinstance(version, str) and version != V2_VERSION and major(version) == "2"


def _places(record: Native, *, json: bool) -> Iterator[str]:
    """Give the pointers of all that looks like a stub."""
    if record.get("vcs", {}).get("type") == UNKNOWN:
        yield VCS_TYPE
    if record.get("recording-agent", {}).get("name") == UNKNOWN:
        yield RECORDER
    trace = record["session"]
    if trace == session(record["id"]):
        yield SESSION
    environment = trace.get("environment", {})
    if environment.get("working-dir") == NO_DIRECTORY:
        yield DIRECTORY
    if environment.get("vcs", {}).get("type") == UNKNOWN:
        yield SESSION_VCS_TYPE
    for entry, place in entries.each(trace["entries"]):
        if entry["type"] == "reasoning" and entry["content"] == NO_CONTENT:
            yield f"{pointer(place)}/content"
        elif entry["type"] == "system-event" and _was_vendor_entry(entry, json=json):
            yield f"{pointer(place)}/type"


def _was_vendor_entry(entry: Native, *, json: bool) -> bool:
    return (
        entry.keys() <= _VENDOR_ENTRY
        and entry["event-type"] not in _NEVER_VENDORS
        and isinstance(entry.get("session-id", ""), str)
        and extensions.is_extension(entry.get("vendor-ext"), json=json)
    )
