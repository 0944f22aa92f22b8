"""What the events of hooks tell: which session they are of, and whether it is over. All else in
them is only kept.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from vacr.capture.places import Place, Root, is_store
from vacr.capture.spool import Event, Spool

_OVER = frozenset(("sessionend", "session.deleted"))
_UUID = 36
_NAMES = ("hook_event_name", "type", "event")


def _told(payload: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def ends_session(payload: bytes) -> bool:
    """Tell whether an event says that its session is over."""
    said = _told(payload)
    return any(str(said.get(name)).lower().replace("_", "") in _OVER for name in _NAMES)


def _is_transcript(root: Root, path: Path) -> bool:
    """Tell whether a path that somebody named is that of a transcript, which may not be there yet.
    It may be anything.
    """
    try:
        # A name that no file can have, such as one that is too long, raises another error.
        with suppress(FileNotFoundError):
            path.lstat()
        return root.holder(path) == path and root.owns(path) and not is_store(path)
    except (OSError, ValueError):
        return False


def _is_named(place: Place, session: str) -> bool:
    """Tell whether a place is that of a session: of its name, or of one that ends in it after the
    time, as Codex has it.
    """
    return session in (place.session, place.path.stem) or (
        len(session) >= _UUID and place.path.stem.endswith(f"-{session}")
    )


def place_of(spool: Spool, events: list[Event], roots: list[Root], known: list[Place]) -> Place:
    """Give the place whose session a spool is of; where nobody knows, one that has nothing but the
    events.
    """
    for event in events:
        named = _told(event.payload).get("transcript_path")
        if isinstance(named, str) and named and "\0" not in named:
            path = Path(named)
            for root in roots:
                if root.reader.name == spool.agent and _is_transcript(root, path):
                    return Place(spool.agent, path)
    for place in known:
        if place.agent == spool.agent and _is_named(place, spool.session):
            return place
    return place_of_events(spool)


def place_of_events(spool: Spool) -> Place:
    """Give the place of a session of which there is nothing but the events."""
    return Place(spool.agent, spool.home, spool.session)
