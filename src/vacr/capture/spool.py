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

`session_capture.py` removes spools that were read. A hook may have opened one just before, so a
spool is first renamed to a path that no hook opens, and removed later if nothing more was written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any
from urllib.parse import unquote_to_bytes
from zlib import crc32

import msgspec

from vacr.capture.hook import FRAME_MAGIC
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

_sync_data = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True, slots=True)
class Spool:
    """A spool in the state folder: the events of one session."""

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
        """The path that the spool is renamed to before its removal; no hook opens it."""
        return self.hook_path.with_name(f"{self.hook_path.name}{TAKEN_SUFFIX}")


def list_spools(state: Path) -> Iterator[Spool]:
    """Yield the spools in a state folder, ordered by path; links are left out."""
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
    """Return the text behind a percent-encoded file name, such as `a/b` for `a%2Fb`."""
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
    """The number of bytes before the event that belong to no whole frame."""

    @property
    def end(self) -> int:
        """The offset at which its frame ends."""
        return self.offset + _FRAME_HEADER.size + len(self.payload)


def read_hook_events(
    source: bytes | Path, offset: int = 0, chunk_size: int = READ_CHUNK_SIZE
) -> tuple[list[HookEvent], int]:
    """Return the next events of a spool from an offset on, and the offset after the last of them.

    About `chunk_size` bytes of a file are read, so call again until the list is empty. The events
    are on the disk, even if their hook is still waiting for its own sync: a spool never becomes
    shorter than the part that was read.

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
                    f"the spool of the hooks was cut to {size} bytes after {offset} were read; "
                    "events may be lost",
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
    """Return the events of the whole frames in `data`, and the offset after the last of them.

    `offset` is the offset of `data` in the spool. Incomplete frames are skipped.
    """
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

    `at` is the offset of the frame, and `length` the size of its payload. This can happen to a
    payload that is not UTF-8: it may end like the magic of a frame begins.
    """
    end = at + _FRAME_HEADER.size + length
    start = at
    while (start := data.find(FRAME_MAGIC, start + 1, end + len(FRAME_MAGIC) - 1)) >= 0:
        frame = _parse_frame(data, start)
        if frame is not None and start + _FRAME_HEADER.size + len(frame[1]) > end:
            return True
    return False


# --- the content of events ---


def ends_session(payload: bytes) -> bool:
    """Return whether the JSON of an event is the end of its session, such as `SessionEnd`.

    A payload that is not a JSON object is not.
    """
    event = parse_event_payload(payload)
    return any(
        str(event.get(member)).lower().replace("_", "") in _SESSION_END_EVENTS
        for member in _EVENT_NAME_MEMBERS
    )


def parse_event_payload(payload: bytes) -> dict[str, Any]:
    """Return the members of an event, or an empty dict if it is not a JSON object."""
    try:
        event = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
