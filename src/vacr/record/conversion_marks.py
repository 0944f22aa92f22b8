"""Stubs for what version 3 requires and an older record lacks, and the mark that lists them.

To convert an older record, required members that it lacks are filled with stubs. The mark
`vacr.converted` at the root lists their pointers, so that converting back removes exactly those:

    >>> from vacr.record import convert
    >>> old = {"version": "2.0.0-draft", "id": "r1", "vcs": {"branch": "main"}}
    >>> new = convert(old, "v3")
    >>> new["vcs"], new["vacr"]
    ({'branch': 'main', 'type': 'unknown'}, {'converted': {'stubs': ['/session', '/vcs/type']}})
    >>> convert(new, "v2") == old
    True

The mark also has the `version` of the older record, if converting back would write another. A mark
counts only if each pointer leads to just that stub. Anything else in `vacr.converted` is an
ordinary member and is carried along.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.json_text import ValuePath, format_pointer
from vacr.record.validation import parse_major_version
from vacr.record.version_maps import EXTENSION_MEMBER, is_vendor_extension

V2_VERSION = "2.0.0-draft"
VACR_MEMBER = "vacr"
CONVERTED_MEMBER = "converted"

UNKNOWN_STUB = "unknown"
EMPTY_DIRECTORY_STUB = ""
EMPTY_CONTENT_STUB = ""

SESSION_POINTER = "/session"
VCS_TYPE_POINTER = "/vcs/type"
RECORDING_AGENT_NAME_POINTER = "/recording-agent/name"
WORKING_DIR_POINTER = "/session/environment/working-dir"
SESSION_VCS_TYPE_POINTER = "/session/environment/vcs/type"
ENTRIES_PATH: ValuePath = ((None, "session"), "entries")

_VENDOR_ENTRY_MEMBERS = frozenset(
    ("type", "event-type", EXTENSION_MEMBER, "timestamp", "id", "session-id", "children")
)
_NON_VENDOR_TYPES = ("user", "assistant", "reasoning")
_REQUIRED_MEMBERS = {
    "tool-call": ("name", "input"),
    "tool-result": ("output",),
    "system-event": ("event-type",),
}


@dataclass(frozen=True)
class ConversionMark:
    """The mark of a record of version 3 that was made from an older one."""

    stubs: frozenset[str]
    version: str | None


def make_stub_session(record_id: str) -> JsonObject:
    """Return a session for a record that has none.

    Its id is the record's, because the record id of version 1 became the session id.
    """
    return {
        "session-id": record_id,
        "agent-meta": {"model-id": UNKNOWN_STUB, "model-provider": UNKNOWN_STUB},
        "entries": [],
    }


def is_vendor_entry(entry: JsonObject) -> bool:
    """Return whether an entry of version 2 is a vendor's own.

    Its type is unknown, or a member is missing that the type requires.
    """
    kind = entry["type"]
    return kind not in _NON_VENDOR_TYPES and not (
        kind in _REQUIRED_MEMBERS and all(name in entry for name in _REQUIRED_MEMBERS[kind])
    )


def add_conversion_mark(record: JsonObject, pointers: list[str], version: str) -> JsonObject:
    """Return a record with a mark, if there is anything to mark."""
    mark: JsonObject = {"stubs": sorted(pointers)} if pointers else {}
    if version != V2_VERSION:
        mark["version"] = version
    if not mark:
        return record
    return record | {VACR_MEMBER: record.get(VACR_MEMBER, {}) | {CONVERTED_MEMBER: mark}}


def remove_conversion_mark(record: JsonObject) -> JsonObject:
    """Return a record without its mark."""
    ours = {name: value for name, value in record[VACR_MEMBER].items() if name != CONVERTED_MEMBER}
    rest = {name: value for name, value in record.items() if name != VACR_MEMBER}
    return rest | {VACR_MEMBER: ours} if ours else rest


def get_conversion_claim(record: JsonObject) -> JsonObject:
    """Return a record's own statement about its conversion, true or not."""
    ours = record.get(VACR_MEMBER)
    claim = ours.get(CONVERTED_MEMBER) if isinstance(ours, dict) else None
    return claim if isinstance(claim, dict) else {}


def find_conversion_mark(record: JsonObject, *, json: bool) -> ConversionMark | None:
    """Return the mark of a record of version 3, if it has one and all of it is true."""
    claim = get_conversion_claim(record)
    if not claim or not claim.keys() <= {"stubs", "version"}:
        return None
    if "version" in claim and not (
        _is_other_v2_version(claim["version"]) and record["version"] == SCHEMA_VERSION
    ):
        return None
    pointers = claim.get("stubs", [])
    if "stubs" in claim and not (
        isinstance(pointers, list)
        and pointers
        and all(isinstance(pointer, str) for pointer in pointers)
    ):
        return None
    stubs = frozenset(pointers)
    if pointers != sorted(stubs):
        return None
    if not stubs <= frozenset(_find_stub_pointers(record, json=json)):
        return None
    return ConversionMark(stubs, claim.get("version"))


def _is_other_v2_version(version: Any) -> bool:
    return (
        isinstance(version, str) and version != V2_VERSION and parse_major_version(version) == "2"
    )


def _find_stub_pointers(record: JsonObject, *, json: bool) -> Iterator[str]:
    """Yield the pointers of all values that look like stubs."""
    if record.get("vcs", {}).get("type") == UNKNOWN_STUB:
        yield VCS_TYPE_POINTER
    if record.get("recording-agent", {}).get("name") == UNKNOWN_STUB:
        yield RECORDING_AGENT_NAME_POINTER
    session = record["session"]
    if session == make_stub_session(record["id"]):
        yield SESSION_POINTER
    environment = session.get("environment", {})
    if environment.get("working-dir") == EMPTY_DIRECTORY_STUB:
        yield WORKING_DIR_POINTER
    if environment.get("vcs", {}).get("type") == UNKNOWN_STUB:
        yield SESSION_VCS_TYPE_POINTER
    for entry, place in walk_entries_with_paths(session["entries"]):
        if entry["type"] == "reasoning" and entry["content"] == EMPTY_CONTENT_STUB:
            yield f"{format_pointer(place)}/content"
        elif entry["type"] == "system-event" and _may_be_vendor_entry(entry, json=json):
            yield f"{format_pointer(place)}/type"


def _may_be_vendor_entry(entry: JsonObject, *, json: bool) -> bool:
    """Return whether a system event of version 3 may have been a vendor's entry of version 2."""
    return (
        entry.keys() <= _VENDOR_ENTRY_MEMBERS
        and entry["event-type"] not in _NON_VENDOR_TYPES
        and isinstance(entry.get("session-id", ""), str)
        and is_vendor_extension(entry.get(EXTENSION_MEMBER), json=json)
    )


def walk_entries_with_paths(entries: list[JsonObject]) -> Iterator[tuple[JsonObject, ValuePath]]:
    """Yield all entries, at every depth, with their places.

    Without recursion: an error must not depend on how much of the stack is left.
    """
    levels = [(entries, ENTRIES_PATH)]
    while levels:
        level, place = levels.pop()
        for index, entry in enumerate(level):
            yield entry, (place, index)
            if "children" in entry:
                levels.append((entry["children"], ((place, index), "children")))
