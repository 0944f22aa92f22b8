"""Spools: the events that hooks appended, read back. Step: capture.

`hook.py` says what a frame is. Many hooks append to one spool, and any of them may be killed while
it writes: what is left of such a frame is passed over as soon as a whole one follows it. At the end
of a spool a frame that is not whole may still be in the making, and is waited for. What lies
between two hooks' writes is not: an append is one write, which others cannot divide.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from urllib.parse import unquote_to_bytes
from zlib import crc32

from vacr.capture.hook import MAGIC
from vacr.errors import UnreadableInput

FOLDER = "spool"
ENDING = ".spool"
TAKEN = ".taken"
MOST = 1 << 24
"""How many bytes of a file are read at a time, unless one frame has more."""

_HEAD = Struct(">4sIQI")
_sync = getattr(os, "fdatasync", os.fsync)
_CHECKED = _HEAD.size - 4


@dataclass(frozen=True, slots=True)
class Event:
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
        return self.offset + _HEAD.size + len(self.payload)


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
        return self.path.suffix == TAKEN

    @property
    def home(self) -> Path:
        """The path at which hooks append."""
        return self.path.with_suffix("") if self.is_taken else self.path

    @property
    def taken(self) -> Path:
        """The path at which they do not."""
        return self.home.with_name(f"{self.home.name}{TAKEN}")


def spools(state: Path) -> Iterator[Spool]:
    """Find the spools in a state folder, in the order of their names."""
    for path in sorted(
        (*(state / FOLDER).glob(f"*/*{ENDING}"), *(state / FOLDER).glob(f"*/*{ENDING}{TAKEN}"))
    ):
        if path.is_file() and not path.is_symlink():
            session = path.name.removesuffix(TAKEN).removesuffix(ENDING)
            yield Spool(_plain(path.parent.name), _plain(session), path)


def _plain(name: str) -> str:
    return unquote_to_bytes(name).decode("utf-8", "backslashreplace")


def read(source: bytes | Path, offset: int = 0, most: int = MOST) -> tuple[list[Event], int]:
    """Give the next events from an offset on, and the offset to go on from.

    Of a file about `most` bytes are read, so there may be more events where some came: go on until
    none comes. What is given is on the disk, though its hook may still be waiting for that: a spool
    never becomes shorter than it was read.

    Raises:
        UnreadableInput: the file cannot be read, or has become shorter than the offset.
    """
    if isinstance(source, bytes):
        return _events(source[offset:], offset)
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
                found, after = _events(file.read(most), offset)
                if found:
                    _sync(file.fileno())
                if found or offset + most >= size:
                    return found, after
                most *= 4
    except OSError as error:
        raise UnreadableInput(
            f"cannot be read: {error.strerror or error}", where=str(source)
        ) from error


def _events(data: bytes, offset: int) -> tuple[list[Event], int]:
    events = []
    after = at = 0
    while (at := data.find(MAGIC, at)) >= 0:
        frame = _frame(data, at)
        if frame is None or _reaches_into_another(data, at, len(frame[1])):
            at += 1
            continue
        time, payload = frame
        events.append(Event(time, payload, offset + at, at - after))
        after = at = at + _HEAD.size + len(payload)
    return events, offset + after


def _reaches_into_another(data: bytes, at: int, length: int) -> bool:
    """Tell whether what seems whole owes its end to the next frame: it was cut, and the bytes that
    follow happen to be the same.

    Only an event that is no text in UTF-8 can end as a frame begins.
    """
    end = at + _HEAD.size + length
    start = at
    while (start := data.find(MAGIC, start + 1, end + len(MAGIC) - 1)) >= 0:
        frame = _frame(data, start)
        if frame is not None and start + _HEAD.size + len(frame[1]) > end:
            return True
    return False


def _frame(data: bytes, at: int) -> tuple[int, bytes] | None:
    """Give the time and the payload of the frame that begins here, if it is whole."""
    if at + _HEAD.size > len(data):
        return None
    _, length, time, check = _HEAD.unpack_from(data, at)
    start = at + _HEAD.size
    if start + length > len(data):
        return None
    view = memoryview(data)
    if crc32(view[start : start + length], crc32(view[at : at + _CHECKED])) != check:
        return None
    return time, data[start : start + length]
