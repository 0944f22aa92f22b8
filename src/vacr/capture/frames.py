"""A file of frames, chained by hash: what was written first stays, or the chain tells.

A frame is its payload's length (four bytes), the hash of the frame before it, the payload, and the
hash of all these. The first follows a hash of zeros. A crash may leave the last frame half written:
that is cut off, and nothing else ever is.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vacr.errors import InvalidStatement, Unreachable
from vacr.recording.files import sync_folder
from vacr.sources.files import reason_of

BEGINNING = bytes(32)
_LENGTH = struct.Struct(">I")
_HASH = 32
_BEFORE = _LENGTH.size + _HASH
_OWNER_ONLY = 0o600
_PIECE = 1 << 20
_LATER = re.compile(rb"(.{32}).{4}\1", re.DOTALL)
"""Where one frame ends and another begins: its hash, a length, and the hash again."""
_VARIED = 8
"""A hash has more different bytes than that; what a disk never wrote has not."""


class Broken(InvalidStatement):
    """A chain that does not hold."""

    def __init__(self, message: str, *, where: str, frame: int) -> None:
        """Say from which frame on."""
        super().__init__(f"{message} in frame {frame}", reason="journal-broken", where=where)
        self.frame = frame


class NotWritten(Unreachable):
    """Frames could not be written: none of them is in the chain."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain stands."""

    frames: int = 0
    hash: bytes = BEGINNING


NOTHING = Head()


@dataclass(slots=True)
class Scan:
    """What a look at a file of frames has found so far."""

    head: Head = NOTHING
    size: int = 0
    """How many bytes hold the frames that were found whole."""
    torn: int = 0
    """How many bytes at the end are no whole frame."""
    vouched: int = 0
    """How many bytes hold the frames that somebody vouches for."""


def encode(payload: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Write a frame; gives it with its hash."""
    covered = _LENGTH.pack(len(payload)) + before + payload
    digest = hashlib.sha256(covered).digest()
    return covered + digest, digest


def frames(
    file: BinaryIO, where: str, scan: Scan, vouched: Head, *, one_by_one: bool = False
) -> Iterator[tuple[Head, bytes]]:
    """Give the payloads of a chain from its beginning on, each checked, with the head before it;
    `scan` tells how far that came.

    A crash may have left frames in which some bytes never reached the disk. So where nobody vouches
    for a frame, one that does not hold is the torn end, which `scan` tells of. Of frames that were
    added `one_by_one` only the last can be torn.

    Raises:
        Broken: one of the frames up to a head that somebody vouches for, or before another, is
            missing or not what was written.
    """
    end = os.fstat(file.fileno()).st_size
    while scan.size < end:
        covered = file.read(_BEFORE)
        length = _LENGTH.unpack_from(covered)[0] if len(covered) == _BEFORE else end
        # A length that was overwritten is found out before so much is read.
        payload = file.read(length) if length <= end - scan.size else b""
        digest = file.read(_HASH)
        hashed = hashlib.sha256(covered)
        hashed.update(payload)
        if covered[_LENGTH.size :] != scan.head.hash or hashed.digest() != digest:
            break
        before, scan.head = scan.head, Head(scan.head.frames + 1, digest)
        scan.size += _BEFORE + length + _HASH
        if scan.head.frames == vouched.frames:
            if scan.head.hash != vouched.hash:
                raise Broken(
                    "a checkpoint says otherwise of what is",
                    where=where,
                    frame=scan.head.frames - 1,
                )
            scan.vouched = scan.size
        yield before, payload
    if scan.head.frames < vouched.frames:
        told = (
            "what was written has changed"
            if scan.size < end
            else f"of {vouched.frames} the rest is missing, the first of it"
        )
        raise Broken(told, where=where, frame=scan.head.frames)
    scan.torn = end - scan.size
    if one_by_one and scan.torn:
        file.seek(scan.size)
        if any(len(set(found[1])) > _VARIED for found in _LATER.finditer(file.read(scan.torn))):
            raise Broken("what was written has changed", where=where, frame=scan.head.frames)


class Chain:
    """A file of frames that is open, to be added to by this process alone."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it."""
        self.path = path
        self.head = NOTHING
        self._size = 0
        self._handle = -1

    def recover(
        self, vouched: Head = NOTHING, *, one_by_one: bool = False
    ) -> Iterator[tuple[Head, bytes]]:
        """Give the payloads there are, each with the head before it, and cut what is torn at the
        end; then frames can be added.

        Of what was written last, some may be in the memory of the system alone after an error: it
        is written again.

        Raises:
            Broken: it does not hold up to the head that somebody vouches for, or to the last of
                frames added one by one.
            OSError: it cannot be read.
        """
        self._handle = os.open(
            self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _OWNER_ONLY
        )
        scan = Scan()
        with open(self._handle, "rb", closefd=False) as file:
            yield from frames(file, str(self.path), scan, vouched, one_by_one=one_by_one)
        os.ftruncate(self._handle, scan.size)
        for at in range(scan.vouched, scan.size, _PIECE):
            os.pwrite(self._handle, os.pread(self._handle, min(_PIECE, scan.size - at), at), at)
        os.fsync(self._handle)
        if not scan.size:
            # Whoever made the file, or its folder, may have been killed before the disk had their
            # names.
            sync_folder(self.path.parent)
            sync_folder(self.path.parent.parent)
        self.head, self._size = scan.head, scan.size

    def append(self, payloads: Sequence[bytes]) -> Head:
        """Add frames, all or none, durably.

        Raises:
            NotWritten: that failed; the chain is as before.
        """
        written = []
        frames, before = self.head.frames, self.head.hash
        for payload in payloads:
            frame, before = encode(payload, before)
            written.append(frame)
        data = b"".join(written)
        try:
            self._write(data)
            os.fdatasync(self._handle)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise NotWritten(
                f"cannot be written: {reason_of(error)}", where=str(self.path)
            ) from error
        self.head, self._size = Head(frames + len(written), before), self._size + len(data)
        return self.head

    def _write(self, data: bytes) -> None:
        view, at = memoryview(data), self._size
        while view:
            done = os.pwrite(self._handle, view, at)
            view, at = view[done:], at + done

    def close(self) -> None:
        """Close it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
