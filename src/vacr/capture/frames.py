"""An append-only file of frames, chained by hash.

A journal has to show that nobody changed it later. So every frame repeats the hash of the frame
before it: changing, dropping or swapping a frame breaks the chain from there on. The head of the
chain, its number of frames and last hash, is all that a verifier has to remember.

>>> from pathlib import Path
>>> from vacr.capture.frames import EMPTY_CHAIN_HEAD, ChainScan, FrameChain, read_frames
>>> chain = FrameChain(Path("example.frames"))
>>> list(chain.recover())
[]
>>> chain.append([b"first", b"second"]).frames
2
>>> chain.close()
>>> with open("example.frames", "rb") as file:
...     [payload for _, payload in read_frames(file, "example", ChainScan(), EMPTY_CHAIN_HEAD)]
[b'first', b'second']

The layout of a frame; numbers are big endian, and the first frame follows a hash of zeros:

| bytes | content |
|---|---|
| 4 | length of the payload |
| 32 | hash of the frame before |
| length | payload |
| 32 | SHA-256 of everything above |

A crash may leave the last frames half written. Recovery truncates such a torn end, and nothing
else: frames that a signed checkpoint covers are never cut off.
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
from vacr.files import describe_file_error, sync_folder

ZERO_HASH = bytes(32)

_LENGTH_FIELD = struct.Struct(">I")
_HASH_SIZE = 32
_FRAME_HEADER_SIZE = _LENGTH_FIELD.size + _HASH_SIZE
_OWNER_ONLY = 0o600
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_REWRITE_CHUNK_SIZE = 1 << 20

_FRAME_BOUNDARY = re.compile(rb"(.{32}).{4}\1", re.DOTALL)
"""The seam between two frames: a hash, the next frame's length, and the same hash again."""
_MIN_DISTINCT_BYTES = 8
"""A hash has more distinct bytes than this; blocks that a disk never wrote have fewer."""


class BrokenJournal(InvalidStatement):
    """A chain with a missing or changed frame."""

    def __init__(self, message: str, *, where: str, frame: int) -> None:
        """Name the first frame that does not hold."""
        super().__init__(f"{message} in frame {frame}", reason="journal-broken", where=where)
        self.frame = frame


class UnwritableJournal(Unreachable):
    """Frames could not be written; the chain is as it was before."""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The state of a chain: how many frames it has, and the hash of the last one."""

    frames: int = 0
    hash: bytes = ZERO_HASH


EMPTY_CHAIN_HEAD = ChainHead()


@dataclass(slots=True)
class ChainScan:
    """The progress of reading a file of frames."""

    head: ChainHead = EMPTY_CHAIN_HEAD
    size: int = 0
    """Bytes of the intact frames read so far."""
    torn: int = 0
    """Bytes at the end that are not an intact frame."""
    required_size: int = 0
    """Bytes of the frames up to the required head."""


class FrameChain:
    """A file of frames that this process alone appends to."""

    def __init__(self, path: Path) -> None:
        """Prepare the chain at `path`; call `recover` before appending."""
        self.path = path
        self.head = EMPTY_CHAIN_HEAD
        self._size = 0
        self._handle = -1

    def recover(
        self, required: ChainHead = EMPTY_CHAIN_HEAD, *, one_by_one: bool = False
    ) -> Iterator[tuple[ChainHead, bytes]]:
        """Yield each payload with the head before it, then truncate a torn end.

        Frames can be appended once the iterator is exhausted.

        Raises:
            BrokenJournal: the chain does not reach the required head intact; or frames that were
                added one by one are damaged before the last of them.
            OSError: the file cannot be read.
        """
        self._handle = os.open(self.path, _OPEN_FLAGS, _OWNER_ONLY)
        scan = ChainScan()
        with open(self._handle, "rb", closefd=False) as file:
            yield from read_frames(file, str(self.path), scan, required, one_by_one=one_by_one)
        os.ftruncate(self._handle, scan.size)
        self._rewrite(scan.required_size, scan.size)
        os.fsync(self._handle)
        if not scan.size:
            # The process that created the file or its folder may have been killed before their
            # names reached the disk.
            sync_folder(self.path.parent)
            sync_folder(self.path.parent.parent)
        self.head, self._size = scan.head, scan.size

    def _rewrite(self, start: int, end: int) -> None:
        """Write the bytes from `start` to `end` again.

        After a failed sync the newest frames may exist in the page cache alone, marked clean:
        another sync would not write them.
        """
        for at in range(start, end, _REWRITE_CHUNK_SIZE):
            data = os.pread(self._handle, min(_REWRITE_CHUNK_SIZE, end - at), at)
            os.pwrite(self._handle, data, at)

    def append(self, payloads: Sequence[bytes]) -> ChainHead:
        """Append frames durably, all of them or none, and return the new head.

        Raises:
            UnwritableJournal: writing failed; the chain is as it was before.
        """
        frames = []
        last_hash = self.head.hash
        for payload in payloads:
            frame, last_hash = encode_frame(payload, last_hash)
            frames.append(frame)
        data = b"".join(frames)
        try:
            self._write(data)
            os.fdatasync(self._handle)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise UnwritableJournal(
                f"cannot be written: {describe_file_error(error)}", where=str(self.path)
            ) from error
        self.head = ChainHead(self.head.frames + len(frames), last_hash)
        self._size += len(data)
        return self.head

    def _write(self, data: bytes) -> None:
        view, at = memoryview(data), self._size
        while view:
            count = os.pwrite(self._handle, view, at)
            view, at = view[count:], at + count

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def encode_frame(payload: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Return a frame that follows the hash `before`, and the frame's own hash."""
    hashed_bytes = _LENGTH_FIELD.pack(len(payload)) + before + payload
    digest = hashlib.sha256(hashed_bytes).digest()
    return hashed_bytes + digest, digest


def read_frames(
    file: BinaryIO, where: str, scan: ChainScan, required: ChainHead, *, one_by_one: bool = False
) -> Iterator[tuple[ChainHead, bytes]]:
    """Yield each checked payload with the head before it, and keep `scan` up to date.

    The chain has to pass through the `required` head, usually the one in the last signed
    checkpoint. Behind it, the first frame that does not hold is the torn end: after a crash, any
    of the later bytes may never have reached the disk. Frames that were added and synced
    `one_by_one` can be torn in the last frame only.

    Raises:
        BrokenJournal: a frame up to the required head, or before an intact one, is missing or was
            changed.
    """
    end = os.fstat(file.fileno()).st_size
    while scan.size < end:
        header = file.read(_FRAME_HEADER_SIZE)
        length = _LENGTH_FIELD.unpack_from(header)[0] if len(header) == _FRAME_HEADER_SIZE else end
        # An overwritten length must not make us read or allocate that many bytes.
        payload = file.read(length) if length <= end - scan.size else b""
        digest = file.read(_HASH_SIZE)
        hasher = hashlib.sha256(header)
        hasher.update(payload)
        if header[_LENGTH_FIELD.size :] != scan.head.hash or hasher.digest() != digest:
            break
        before, scan.head = scan.head, ChainHead(scan.head.frames + 1, digest)
        scan.size += _FRAME_HEADER_SIZE + length + _HASH_SIZE
        if scan.head.frames == required.frames:
            if scan.head.hash != required.hash:
                raise BrokenJournal(
                    "a checkpoint says otherwise of what is",
                    where=where,
                    frame=scan.head.frames - 1,
                )
            scan.required_size = scan.size
        yield before, payload
    if scan.head.frames < required.frames:
        message = (
            "what was written has changed"
            if scan.size < end
            else f"of {required.frames} the rest is missing, the first of it"
        )
        raise BrokenJournal(message, where=where, frame=scan.head.frames)
    scan.torn = end - scan.size
    if one_by_one and scan.torn:
        file.seek(scan.size)
        if _has_frame_boundary(file.read(scan.torn)):
            raise BrokenJournal("what was written has changed", where=where, frame=scan.head.frames)


def _has_frame_boundary(data: bytes) -> bool:
    """Return whether two frames meet somewhere in `data`, so that it is more than one frame."""
    return any(
        len(set(boundary[1])) > _MIN_DISTINCT_BYTES for boundary in _FRAME_BOUNDARY.finditer(data)
    )
