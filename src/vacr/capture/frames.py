"""A file of frames, chained by hash: what was written first stays, or the chain tells.

A frame is its payload's length (four bytes), the hash of the frame before it, the payload, and the
hash of all these. The first follows a hash of zeros. A crash may leave the last frame half written:
that is cut off, and nothing else ever is.

Where a journal keeps what.

What the frames of a session's journal say, each a map in CBOR.

| kind | what it notes |
|---|---|
| `began` | whose session is followed, and where it lies |
| `part` | a file of it, or what a store gives for it; `rewritten` when the agent itself writes it
anew, and not only to its end | | `bytes` | from `at` on, `cut` bytes of a part became `data` | |
`gone` | a part is not there any more | | `event` | what a hook was told, with the place in its
spool | | `sealed` | the record that was made of the first frames |
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
from typing import Any, BinaryIO, NoReturn

import cbor2

from vacr.errors import InvalidStatement, Unreachable
from vacr.files import describe_file_error, sync_folder
from vacr.record import encode

ZERO_HASH = bytes(32)
_LENGTH_FIELD = struct.Struct(">I")
_HASH_SIZE = 32
_FRAME_HEADER_SIZE = _LENGTH_FIELD.size + _HASH_SIZE
_OWNER_ONLY = 0o600
_REWRITE_CHUNK_SIZE = 1 << 20
_FRAME_BOUNDARY = re.compile(rb"(.{32}).{4}\1", re.DOTALL)
"""Where one frame ends and another begins: its hash, a length, and the hash again."""
_MIN_DISTINCT_BYTES = 8
"""A hash has more different bytes than that; what a disk never wrote has not."""


class BrokenJournal(InvalidStatement):
    """A chain that does not hold."""

    def __init__(self, message: str, *, where: str, frame: int) -> None:
        """Say from which frame on."""
        super().__init__(f"{message} in frame {frame}", reason="journal-broken", where=where)
        self.frame = frame


class UnwritableJournal(Unreachable):
    """Frames could not be written: none of them is in the chain."""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where a chain stands."""

    frames: int = 0
    hash: bytes = ZERO_HASH


EMPTY_CHAIN_HEAD = ChainHead()


@dataclass(slots=True)
class ChainScan:
    """What a look at a file of frames has found so far."""

    head: ChainHead = EMPTY_CHAIN_HEAD
    size: int = 0
    """How many bytes hold the frames that were found whole."""
    torn: int = 0
    """How many bytes at the end are no whole frame."""
    vouched: int = 0
    """How many bytes hold the frames that somebody vouches for."""


def encode_frame(payload: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Write a frame; gives it with its hash."""
    covered = _LENGTH_FIELD.pack(len(payload)) + before + payload
    digest = hashlib.sha256(covered).digest()
    return covered + digest, digest


def read_frames(
    file: BinaryIO, where: str, scan: ChainScan, vouched: ChainHead, *, one_by_one: bool = False
) -> Iterator[tuple[ChainHead, bytes]]:
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
        covered = file.read(_FRAME_HEADER_SIZE)
        length = (
            _LENGTH_FIELD.unpack_from(covered)[0] if len(covered) == _FRAME_HEADER_SIZE else end
        )
        # A length that was overwritten is found out before so much is read.
        payload = file.read(length) if length <= end - scan.size else b""
        digest = file.read(_HASH_SIZE)
        hashed = hashlib.sha256(covered)
        hashed.update(payload)
        if covered[_LENGTH_FIELD.size :] != scan.head.hash or hashed.digest() != digest:
            break
        before, scan.head = scan.head, ChainHead(scan.head.frames + 1, digest)
        scan.size += _FRAME_HEADER_SIZE + length + _HASH_SIZE
        if scan.head.frames == vouched.frames:
            if scan.head.hash != vouched.hash:
                raise BrokenJournal(
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
        raise BrokenJournal(told, where=where, frame=scan.head.frames)
    scan.torn = end - scan.size
    if one_by_one and scan.torn:
        file.seek(scan.size)
        if any(
            len(set(found[1])) > _MIN_DISTINCT_BYTES
            for found in _FRAME_BOUNDARY.finditer(file.read(scan.torn))
        ):
            raise BrokenJournal("what was written has changed", where=where, frame=scan.head.frames)


class FrameChain:
    """A file of frames that is open, to be added to by this process alone."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it."""
        self.path = path
        self.head = EMPTY_CHAIN_HEAD
        self._size = 0
        self._handle = -1

    def recover(
        self, vouched: ChainHead = EMPTY_CHAIN_HEAD, *, one_by_one: bool = False
    ) -> Iterator[tuple[ChainHead, bytes]]:
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
        scan = ChainScan()
        with open(self._handle, "rb", closefd=False) as file:
            yield from read_frames(file, str(self.path), scan, vouched, one_by_one=one_by_one)
        os.ftruncate(self._handle, scan.size)
        for at in range(scan.vouched, scan.size, _REWRITE_CHUNK_SIZE):
            os.pwrite(
                self._handle,
                os.pread(self._handle, min(_REWRITE_CHUNK_SIZE, scan.size - at), at),
                at,
            )
        os.fsync(self._handle)
        if not scan.size:
            # Whoever made the file, or its folder, may have been killed before the disk had their
            # names.
            sync_folder(self.path.parent)
            sync_folder(self.path.parent.parent)
        self.head, self._size = scan.head, scan.size

    def append(self, payloads: Sequence[bytes]) -> ChainHead:
        """Add frames, all or none, durably.

        Raises:
            NotWritten: that failed; the chain is as before.
        """
        written = []
        frames, before = self.head.frames, self.head.hash
        for payload in payloads:
            frame, before = encode_frame(payload, before)
            written.append(frame)
        data = b"".join(written)
        try:
            self._write(data)
            os.fdatasync(self._handle)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise UnwritableJournal(
                f"cannot be written: {describe_file_error(error)}", where=str(self.path)
            ) from error
        self.head, self._size = ChainHead(frames + len(written), before), self._size + len(data)
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


CHECKPOINTS_FILE = "checkpoints"
SESSIONS_FOLDER = "sessions"
_FRAMES_SUFFIX = ".frames"


def get_session_journal_path(folder: Path, name: str) -> Path:
    """Say where the journal of a session is."""
    return folder / SESSIONS_FOLDER / f"{name}{_FRAMES_SUFFIX}"


def list_session_journals(folder: Path) -> Iterator[str]:
    """Name the sessions there are journals of, in order."""
    root = folder / SESSIONS_FOLDER
    yield from sorted(
        path.relative_to(root).as_posix().removesuffix(_FRAMES_SUFFIX)
        for path in root.glob(f"*/*{_FRAMES_SUFFIX}")
    )


JournalNote = dict[str, Any]

_MAX_NOTE_DEPTH = 4

_NOTE_MEMBERS: dict[str, dict[str, type]] = {
    "began": {"agent": str, "path": bytes, "session": str, "recorder": str},
    "part": {"part": int, "name": str, "path": bytes, "rewritten": bool},
    "bytes": {"part": int, "at": int, "cut": int, "data": bytes},
    "gone": {"part": int},
    "event": {"happened": int, "spool": str, "end": int, "data": bytes},
    "sealed": {"frames": int, "head": bytes, "record": bytes, "statement": bytes},
}


def _refuse_tag(*_: Any) -> NoReturn:
    raise ValueError("a tag")


def encode_journal_note(kind: str, time: int, **members: Any) -> bytes:
    """Write a note; its time is in nanoseconds since 1970."""
    return encode({"kind": kind, "time": time, **members}, "cbor")


def decode_journal_note(payload: bytes, where: str, frame: int) -> JournalNote:
    """Read a note.

    Raises:
        Broken: it is none.
    """
    try:
        # A hash vouches for these bytes: that there is no other way to write them need not be shown
        # once more.
        found = cbor2.loads(
            payload,
            tag_hook=_refuse_tag,
            max_depth=_MAX_NOTE_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
        )
        members = _NOTE_MEMBERS[found["kind"]]
        fits = type(found["time"]) is int
        for name, kind in members.items():
            value: Any = found[name]
            fits = fits and type(value) is kind and not (kind is int and found[name] < 0)
        if fits:
            return dict(found)
    except (
        cbor2.CBORError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ):
        pass
    raise BrokenJournal("what was written is no note of this version", where=where, frame=frame)
