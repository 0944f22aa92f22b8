"""Spools: hooks append events to these files, and the watcher reads them.

Many hooks append to one spool, and any of them may be killed while it writes. An append is one
write, and other hooks cannot interrupt it; so a frame is whole, or is cut short and followed by the
next frame. A reader skips a frame that was cut short once a whole one follows; at the end of the
spool it waits, because the hook may still be writing. `hook.py` describes the layout of a frame.

>>> from pathlib import Path
>>> from vacr.capture.hook import append_event
>>> from vacr.capture.spool import list_spools, read_hook_events
>>> append_event(b"state", b"some-agent", b"abc", b'{"hook_event_name": "Stop"}')
>>> (spool,) = list_spools(Path("state"))
>>> spool.agent, spool.session
('some-agent', 'abc')
>>> events, offset = read_hook_events(spool.path)
>>> [event.payload for event in events], read_hook_events(spool.path, offset)[0]
([b'{"hook_event_name": "Stop"}'], [])

Spools that were read are removed. A hook may have opened one just before, so a spool is first
renamed to a path that no hook opens, and removed later if nothing more was written. Another spool
may then get the first name; this is why the journal identifies a spool by its first event.
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
"""How many bytes are read at a time, unless a single frame has more."""

_FRAME_HEADER = Struct(">4sIQI")
_CHECKED_HEADER_SIZE = _FRAME_HEADER.size - 4
_SESSION_END_EVENTS = frozenset(("sessionend", "session.deleted"))
_EVENT_NAME_MEMBERS = ("hook_event_name", "type", "event")
_UUID_LENGTH = 36
_SPOOL_IDLE_SECONDS = 3600.0
_HOOK_GRACE_SECONDS = 600.0
"""After this time a hook that opened a spool has written, or never will."""

_sync_data = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True, slots=True)
class Spool:
    """A spool in the state folder."""

    agent: str
    session: str
    """The session in the file's name: a long id is cut, and `unknown` stands for a missing one."""
    path: Path

    @property
    def is_taken(self) -> bool:
        """Return whether the spool was renamed, so that no hook opens it any more."""
        return self.path.suffix == TAKEN_SUFFIX

    @property
    def hook_path(self) -> Path:
        """The path that hooks append to."""
        return self.path.with_suffix("") if self.is_taken else self.path

    @property
    def taken_path(self) -> Path:
        """The path that no hook opens."""
        return self.hook_path.with_name(f"{self.hook_path.name}{TAKEN_SUFFIX}")


def list_spools(state: Path) -> Iterator[Spool]:
    """Yield the spools in a state folder, ordered by path."""
    folder = state / SPOOL_FOLDER
    paths = [
        *folder.glob(f"*/*{SPOOL_SUFFIX}"),
        *folder.glob(f"*/*{SPOOL_SUFFIX}{TAKEN_SUFFIX}"),
    ]
    for path in sorted(paths):
        if path.is_file() and not path.is_symlink():
            session = path.name.removesuffix(TAKEN_SUFFIX).removesuffix(SPOOL_SUFFIX)
            yield Spool(_decode_file_name(path.parent.name), _decode_file_name(session), path)


def _decode_file_name(name: str) -> str:
    return unquote_to_bytes(name).decode("utf-8", "backslashreplace")


# --- reading events ---


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event that an agent passed to a hook."""

    time: int
    """Nanoseconds since 1970, by the clock of the hook."""
    payload: bytes
    offset: int
    """Where its frame begins."""
    passed: int
    """The number of bytes before it that belong to no whole frame."""

    @property
    def end(self) -> int:
        """The offset at which its frame ends."""
        return self.offset + _FRAME_HEADER.size + len(self.payload)


def read_hook_events(
    source: bytes | Path, offset: int = 0, chunk_size: int = READ_CHUNK_SIZE
) -> tuple[list[HookEvent], int]:
    """Return the next events from an offset on, and the offset of the rest.

    About `chunk_size` bytes of a file are read, so call again until no event comes. The events are
    on the disk, even if their hook is still waiting for its own sync: a spool never becomes
    shorter than it was read.

    Raises:
        UnreadableInput: the file cannot be read, or is shorter than the offset.
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
                events, end = _parse_hook_events(file.read(chunk_size), offset)
                if events:
                    _sync_data(file.fileno())
                if events or offset + chunk_size >= size:
                    return events, end
                # One frame may be larger than the chunk.
                chunk_size *= 4
    except OSError as error:
        raise UnreadableInput(
            f"cannot be read: {error.strerror or error}", where=str(source)
        ) from error


def _parse_hook_events(data: bytes, offset: int) -> tuple[list[HookEvent], int]:
    """Parse the whole frames in `data`, which stands at an offset of the spool."""
    events = []
    end = at = 0
    while (at := data.find(FRAME_MAGIC, at)) >= 0:
        frame = _parse_frame(data, at)
        if frame is None or _overlaps_next_frame(data, at, len(frame[1])):
            at += 1
            continue
        time, payload = frame
        events.append(HookEvent(time, payload, offset + at, at - end))
        end = at = at + _FRAME_HEADER.size + len(payload)
    return events, offset + end


def _parse_frame(data: bytes, at: int) -> tuple[int, bytes] | None:
    """Return the time and the payload of the frame at an offset, or None if it is not whole."""
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


def _overlaps_next_frame(data: bytes, at: int, length: int) -> bool:
    """Return whether a frame seems whole only because the next frame completes it by chance.

    That can happen to a payload that is not UTF-8: it may end like the magic of a frame begins.
    """
    end = at + _FRAME_HEADER.size + length
    start = at
    while (start := data.find(FRAME_MAGIC, start + 1, end + len(FRAME_MAGIC) - 1)) >= 0:
        frame = _parse_frame(data, start)
        if frame is not None and start + _FRAME_HEADER.size + len(frame[1]) > end:
            return True
    return False


# --- the sessions of events ---


def ends_session(payload: bytes) -> bool:
    """Return whether an event says that its session has ended."""
    event = _parse_event_payload(payload)
    return any(
        str(event.get(member)).lower().replace("_", "") in _SESSION_END_EVENTS
        for member in _EVENT_NAME_MEMBERS
    )


def _parse_event_payload(payload: bytes) -> dict[str, Any]:
    try:
        event = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def find_spool_place(
    spool: Spool, events: list[HookEvent], roots: list[AgentRoot], known: list[SessionPlace]
) -> SessionPlace:
    """Return the place of a spool's session; without a transcript, a place for events only."""
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
    """Return the place of a session that has no transcript."""
    return SessionPlace(spool.agent, spool.hook_path, spool.session)


def _is_transcript(root: AgentRoot, path: Path) -> bool:
    """Return whether a path, which an event chose freely, is a present or future transcript."""
    try:
        # An impossible name, for example an overlong one, raises another error.
        with suppress(FileNotFoundError):
            path.lstat()
        return root.find_holder(path) == path and root.contains(path) and not is_store(path)
    except (OSError, ValueError):
        return False


def _matches_session(place: SessionPlace, session: str) -> bool:
    """Return whether a place belongs to a session; a file name may have the time before the id."""
    stem = place.path.stem
    if session in (place.session, stem):
        return True
    return len(session) >= _UUID_LENGTH and stem.endswith(f"-{session}")


# --- keeping track of spools ---


@dataclass
class SpoolProgress:
    """A spool, and how much of it was read."""

    spool: Spool
    name: str
    """The name of the spool in the journal: its path and the time of its first event."""
    inode: int
    place: SessionPlace | None = None
    """The place of its session, once known."""
    size: int = 0
    """Its size when all of it was read."""


class SpoolTracker:
    """The spools in a state folder, and how much of each was read."""

    def __init__(self, state: Path) -> None:
        """Track the spools in a state folder."""
        self._state = state
        self._known: dict[Path, SpoolProgress] = {}
        self.is_waiting = False
        """Whether the session of some spool is not known yet."""

    def find_grown(self) -> Iterator[SpoolProgress]:
        """Yield the spools with unread bytes.

        Raises:
            UnreadableInput: a spool cannot be read.
        """
        self.is_waiting = False
        for spool in list_spools(self._state):
            progress = self._get_progress(spool)
            if progress is not None and spool.path.stat().st_size != progress.size:
                yield progress
                # The consumer sets the place if it can find one.
                self.is_waiting = self.is_waiting or progress.place is None

    def _get_progress(self, spool: Spool) -> SpoolProgress | None:
        """Return the progress of a spool, or None if it has no event yet to identify it."""
        known, inode = self._known.get(spool.path), spool.path.stat().st_ino
        if known is not None and known.inode == inode:
            return known
        events, _ = read_hook_events(spool.path, chunk_size=1)
        if not events:
            return None
        name = f"{spool.agent}/{spool.hook_path.name}@{events[0].time}"
        progress = self._known[spool.path] = SpoolProgress(spool, name, inode)
        return progress

    def tidy(self, is_read: Callable[[SpoolProgress], bool]) -> None:
        """Rename the spools that were read and are idle, and remove those renamed long ago.

        Raises:
            OSError: a spool cannot be removed.
            UnreadableInput: a spool cannot be read.
        """
        now = time.time()
        for spool in list(list_spools(self._state)):
            progress, status = self._get_progress(spool), spool.path.stat()
            if progress is None or progress.place is None or progress.size != status.st_size:
                continue
            if not is_read(progress):
                continue
            if spool.is_taken:
                if now - status.st_ctime > _HOOK_GRACE_SECONDS:
                    spool.path.unlink()
                    self._known.pop(spool.path, None)
            elif now - status.st_mtime > _SPOOL_IDLE_SECONDS and not spool.taken_path.exists():
                self._rename_to_taken(spool)

    def _rename_to_taken(self, spool: Spool) -> None:
        taken_path = spool.taken_path
        spool.path.rename(taken_path)
        progress = self._known.pop(spool.path)
        self._known[taken_path] = replace(progress, spool=replace(spool, path=taken_path))
