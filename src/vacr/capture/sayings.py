"""What a session says, entry by entry, as its reader understands it: the words, which stay, and
what is noted beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vacr.codec import canonical_json
from vacr.content import all_entries
from vacr.errors import VacrError
from vacr.model import Native
from vacr.readers.registry import readers
from vacr.readers.source import Part, Source

_WORDS = {
    "user": ("timestamp", "content"),
    "assistant": ("timestamp", "model-id", "content"),
    "reasoning": ("timestamp", "content", "encrypted", "subject"),
    "tool-call": ("timestamp", "name", "input"),
    "tool-result": ("timestamp", "output", "is-error"),
}
"""What is said and done, by the types of entries. Events tell about the session, and are written
anew as it goes on.
"""
_KEPT_BY_STORES = ("time_updated", "vacr")
"""What a database notes of each row when it is written, whatever is in it, and what a reader made
of the entry.
"""

_CONTEXT = b'"text":"<session_context>'
"""How what Gemini CLI says in the name of the user begins, before that one says anything."""


@dataclass(frozen=True, slots=True)
class Saying:
    """An entry that says or does something."""

    number: int
    kind: str
    name: str
    """Its own id, or that of the call; nothing where it has none."""
    words: bytes
    entry: Native
    """All of it, without its children."""
    is_open: bool = False
    """Whether it is a call whose result is not there."""

    def __str__(self) -> str:
        """Name it."""
        return (
            f"entry {self.number} ({self.kind} {self.name})"
            if self.name
            else f"entry {self.number} ({self.kind})"
        )


def sayings(agent: str, parts: Iterable[tuple[str, bytes]]) -> list[Saying] | None:
    """Give what a session says; nothing where that cannot be told, because a file of it is half
    written.
    """
    source = Source(tuple(Part(name, data) for name, data in parts))
    if not source.parts:
        return None
    try:
        entries = [
            one
            for reading in readers()[agent].read(source)
            for one in all_entries(reading.record["session"]["entries"])
        ]
    except VacrError:
        return None
    if any(entry.get("event-type") == "undecodable" for entry in entries):
        return None
    answered = {entry.get("call-id") for entry in entries if entry["type"] == "tool-result"}
    found = []
    for number, entry in enumerate(entries, 1):
        kind = entry["type"]
        if kind in _WORDS:
            alone = _told(
                {member: value for member, value in entry.items() if member != "children"}
            )
            said = {member: alone[member] for member in _WORDS[kind] if member in alone}
            call = entry.get("call-id")
            is_open = kind == "tool-call" and call not in answered
            name = str(entry.get("id") or call or "")
            found.append(
                Saying(
                    number, kind, name, canonical_json.encode([kind, name, said]), alone, is_open
                )
            )
    return found


def entries_in(agent: str, parts: Iterable[tuple[str, bytes]]) -> int | None:
    """Count the entries that a record of a session would have; nothing where a file of it is half
    written.
    """
    try:
        readings = readers()[agent].read(Source(tuple(Part(name, data) for name, data in parts)))
        return sum(len(reading.record["session"]["entries"]) for reading in readings)
    except VacrError:
        return None


def is_begun(said: list[Saying] | None) -> bool:
    """Tell whether anybody said or did anything in a session; so it may be where that cannot be
    told.
    """
    return said is None or any(one.kind != "user" or _CONTEXT not in one.words for one in said)


def _told(entry: Native) -> Native:
    """Leave out of an entry, and of the pieces of its content, what says nothing about it."""
    told = {member: value for member, value in entry.items() if member not in _KEPT_BY_STORES}
    if isinstance(content := told.get("content"), list):
        told["content"] = [_told(piece) if isinstance(piece, dict) else piece for piece in content]
    return (
        told
        if told.get("content") != []
        else {member: value for member, value in told.items() if member != "content"}
    )


def is_grown(before: Saying, after: Saying) -> bool:
    """Tell whether somebody only went on: all that was said is there, and more after it."""
    old, new = before.entry, after.entry
    if (before.kind, before.name) != (after.kind, after.name) or bool(old.get("is-error")) != bool(
        new.get("is-error")
    ):
        return False
    beside = [
        member for member in _WORDS[before.kind] if member not in ("content", "output", "is-error")
    ]
    said = "output" if before.kind == "tool-result" else "content"
    return all(old.get(one) in (None, new.get(one)) for one in beside) and _goes_on(
        old.get(said), new.get(said)
    )


def _goes_on(old: Any, new: Any) -> bool:
    if old is None or old == new:
        return True
    if isinstance(old, str):
        return isinstance(new, str) and new.startswith(old)
    if isinstance(old, list):
        last = len(old) - 1
        return (
            isinstance(new, list)
            and len(new) > last
            and old[:last] == new[:last]
            and (not old or _goes_on(old[-1], new[last]))
        )
    if isinstance(old, dict) and isinstance(new, dict):
        return all(name in new and _goes_on(value, new[name]) for name, value in old.items())
    return False


def holds(entry: Any, before: Any) -> bool:
    """Tell whether an entry still has every member that it had, with the same value."""
    if isinstance(before, dict) and isinstance(entry, dict):
        return all(name in entry and holds(entry[name], value) for name, value in before.items())
    return bool(entry == before)
