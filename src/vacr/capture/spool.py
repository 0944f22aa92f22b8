"""Spools: the events that hooks appended, read back. Step: capture.

`hook.py` says what a frame is. Many hooks append to one spool, and any of them may be killed while
it writes: what is left of such a frame is passed over as soon as a whole one follows it. At the end
of a spool a frame that is not whole may still be in the making, and is waited for. What lies
between two hooks' writes is not: an append is one write, which others cannot divide.

What the events of hooks tell: which session they are of, and whether it is over. All else in
them is only kept.

The spools of hooks, as a watcher reads them: which have grown, whose they are, and which have
been read for good.

A spool is known by its first event, not by its name: one that was read is removed, and another of
the same name may follow. As a hook may have opened it just before, it first gets a name that no
hook opens, and is removed later, if nothing more came.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from struct import Struct
from typing import Any
from urllib.parse import unquote_to_bytes
from zlib import crc32

import msgspec

from vacr.capture.hook import FRAME_MAGIC
from vacr.capture.session_places import AgentRoot, SessionPlace, is_store
from vacr.errors import UnreadableInput

SPOOL_FOLDER = "spool"
SPOOL_SUFFIX = ".spool"
TAKEN_SUFFIX = ".taken"
READ_CHUNK_SIZE = 1 << 24
"""How many bytes of a file are read at a time, unless one frame has more."""

_FRAME_HEADER = Struct(">4sIQI")
_sync_data = getattr(os, "fdatasync", os.fsync)
_CHECKED_HEADER_SIZE = _FRAME_HEADER.size - 4


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What a hook was given, once."""

    time: int
    """Nanoseconds since 1970, by the clock of the hook."""
    payload: bytes
    offset: int
    """Where its frame begins."""
    passed: int
    """How many bytes before it belong to no whole frame."""

    @property
    def end(self) -> int:
        """Where its frame ends."""
        return self.offset + _FRAME_HEADER.size + len(self.payload)


@dataclass(frozen=True, slots=True)
class Spool:
    """A spool in the state folder."""

    agent: str
    session: str
    """As the file is named: a long name is cut, and `unknown` is that of events that name none."""
    path: Path

    @property
    def is_taken(self) -> bool:
        """Whether it has the name that no hook opens any more."""
        return self.path.suffix == TAKEN_SUFFIX

    @property
    def home(self) -> Path:
        """The path at which hooks append."""
        return self.path.with_suffix("") if self.is_taken else self.path

    @property
    def taken(self) -> Path:
        """The path at which they do not."""
        return self.home.with_name(f"{self.home.name}{TAKEN_SUFFIX}")


def list_spools(state: Path) -> Iterator[Spool]:
    """Find the spools in a state folder, in the order of their names."""
    for path in sorted(
        (
            *(state / SPOOL_FOLDER).glob(f"*/*{SPOOL_SUFFIX}"),
            *(state / SPOOL_FOLDER).glob(f"*/*{SPOOL_SUFFIX}{TAKEN_SUFFIX}"),
        )
    ):
        if path.is_file() and not path.is_symlink():
            session = path.name.removesuffix(TAKEN_SUFFIX).removesuffix(SPOOL_SUFFIX)
            yield Spool(_decode_file_name(path.parent.name), _decode_file_name(session), path)


def _decode_file_name(name: str) -> str:
    return unquote_to_bytes(name).decode("utf-8", "backslashreplace")


def read_hook_events(
    source: bytes | Path, offset: int = 0, most: int = READ_CHUNK_SIZE
) -> tuple[list[HookEvent], int]:
    """Give the next events from an offset on, and the offset to go on from.

    Of a file about `most` bytes are read, so there may be more events where some came: go on until
    none comes. What is given is on the disk, though its hook may still be waiting for that: a spool
    never becomes shorter than it was read.

    Raises:
        UnreadableInput: the file cannot be read, or has become shorter than the offset.
    """
    if isinstance(source, bytes):
        return _parse_hook_events(source[offset:], offset)
    try:
        with source.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < offset:
                raise UnreadableInput(
                    f"the spool has become shorter: {size} bytes, {offset} were read",
                    where=str(source),
                )
            while True:
                file.seek(offset)
                found, after = _parse_hook_events(file.read(most), offset)
                if found:
                    _sync_data(file.fileno())
                if found or offset + most >= size:
                    return found, after
                most *= 4
    except OSError as error:
        raise UnreadableInput(
            f"cannot be read: {error.strerror or error}", where=str(source)
        ) from error


def _parse_hook_events(data: bytes, offset: int) -> tuple[list[HookEvent], int]:
    events = []
    after = at = 0
    while (at := data.find(FRAME_MAGIC, at)) >= 0:
        frame = _parse_frame(data, at)
        if frame is None or _overlaps_next_frame(data, at, len(frame[1])):
            at += 1
            continue
        time, payload = frame
        events.append(HookEvent(time, payload, offset + at, at - after))
        after = at = at + _FRAME_HEADER.size + len(payload)
    return events, offset + after


def _overlaps_next_frame(data: bytes, at: int, length: int) -> bool:
    """Tell whether what seems whole owes its end to the next frame: it was cut, and the bytes that
    follow happen to be the same.

    Only an event that is no text in UTF-8 can end as a frame begins.
    """
    end = at + _FRAME_HEADER.size + length
    start = at
    while (start := data.find(FRAME_MAGIC, start + 1, end + len(FRAME_MAGIC) - 1)) >= 0:
        frame = _parse_frame(data, start)
        if frame is not None and start + _FRAME_HEADER.size + len(frame[1]) > end:
            return True
    return False


def _parse_frame(data: bytes, at: int) -> tuple[int, bytes] | None:
    """Give the time and the payload of the frame that begins here, if it is whole."""
    if at + _FRAME_HEADER.size > len(data):
        return None
    _, length, time, check = _FRAME_HEADER.unpack_from(data, at)
    start = at + _FRAME_HEADER.size
    if start + length > len(data):
        return None
    view = memoryview(data)
    if crc32(view[start : start + length], crc32(view[at : at + _CHECKED_HEADER_SIZE])) != check:
        return None
    return time, data[start : start + length]


_SESSION_END_EVENTS = frozenset(("sessionend", "session.deleted"))
_UUID_LENGTH = 36
_EVENT_NAME_MEMBERS = ("hook_event_name", "type", "event")


def _parse_event_payload(payload: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def ends_session(payload: bytes) -> bool:
    """Tell whether an event says that its session is over."""
    said = _parse_event_payload(payload)
    return any(
        str(said.get(name)).lower().replace("_", "") in _SESSION_END_EVENTS
        for name in _EVENT_NAME_MEMBERS
    )


def _is_transcript(root: AgentRoot, path: Path) -> bool:
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


def _matches_session(place: SessionPlace, session: str) -> bool:
    """Tell whether a place is that of a session: of its name, or of one that ends in it after the
    time, as Codex has it.
    """
    return session in (place.session, place.path.stem) or (
        len(session) >= _UUID_LENGTH and place.path.stem.endswith(f"-{session}")
    )


def find_spool_place(
    spool: Spool, events: list[HookEvent], roots: list[AgentRoot], known: list[SessionPlace]
) -> SessionPlace:
    """Give the place whose session a spool is of; where nobody knows, one that has nothing but the
    events.
    """
    for event in events:
        named = _parse_event_payload(event.payload).get("transcript_path")
        if isinstance(named, str) and named and "\0" not in named:
            path = Path(named)
            for root in roots:
                if root.reader.name == spool.agent and _is_transcript(root, path):
                    return SessionPlace(spool.agent, path)
    for place in known:
        if place.agent == spool.agent and _matches_session(place, spool.session):
            return place
    return make_events_only_place(spool)


def make_events_only_place(spool: Spool) -> SessionPlace:
    """Give the place of a session of which there is nothing but the events."""
    return SessionPlace(spool.agent, spool.home, spool.session)


_SPOOL_IDLE_SECONDS = 3600.0
_HOOK_GRACE_SECONDS = 600.0
"""So many seconds after it was opened, a hook has written or never will."""


@dataclass
class SpoolProgress:
    """A spool, and how much of it was read."""

    spool: Spool
    name: str
    """By which the journal knows it."""
    inode: int
    place: SessionPlace | None = None
    """Whose session it is."""
    size: int = 0
    """How large it was when all of it was read."""


class SpoolTracker:
    """The spools in a state folder."""

    def __init__(self, state: Path) -> None:
        """Say which state folder."""
        self._state = state
        self._known: dict[Path, SpoolProgress] = {}
        self.wait = False
        """Whether there is one of which it is not known yet whose it is."""

    def grown(self) -> Iterator[SpoolProgress]:
        """Give the spools in which there is something that was not read.

        Raises:
            UnreadableInput: one of them cannot be read.
        """
        self.wait = False
        for found in list_spools(self._state):
            one = self._named(found)
            if one is not None and found.path.stat().st_size != one.size:
                yield one
                self.wait = self.wait or one.place is None

    def _named(self, found: Spool) -> SpoolProgress | None:
        """Give what is known of a spool, if it holds an event by which it can be known."""
        known, inode = self._known.get(found.path), found.path.stat().st_ino
        if known is not None and known.inode == inode:
            return known
        first = next(iter(read_hook_events(found.path, most=1)[0]), None)
        if first is None:
            return None
        self._known[found.path] = SpoolProgress(
            found, f"{found.agent}/{found.home.name}@{first.time}", inode
        )
        return self._known[found.path]

    def tidy(self, is_read: Callable[[SpoolProgress], bool]) -> None:
        """Remove the spools that were read, and to which nothing was added for long.

        Raises:
            OSError: one cannot be removed.
            UnreadableInput: one cannot be read.
        """
        now = time.time()
        for found in list(list_spools(self._state)):
            one, status = self._named(found), found.path.stat()
            if one is None or one.place is None or one.size != status.st_size or not is_read(one):
                continue
            if found.is_taken and now - status.st_ctime > _HOOK_GRACE_SECONDS:
                found.path.unlink()
                self._known.pop(found.path, None)
            elif (
                not found.is_taken
                and now - status.st_mtime > _SPOOL_IDLE_SECONDS
                and not found.taken.exists()
            ):
                found.path.rename(found.taken)
                self._known[found.taken] = replace(
                    self._known.pop(found.path), spool=replace(found, path=found.taken)
                )
