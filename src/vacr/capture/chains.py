"""Chains of frames, and the signed checkpoints over them.

A journal has to show that it was not changed later. So every frame repeats the hash of the frame
before it: changing, dropping or swapping a frame breaks the chain from there on. The head of a
chain, its number of frames and last hash, is all that a verifier has to remember.

>>> from pathlib import Path
>>> from vacr.capture.chains import EMPTY_CHAIN_HEAD, ChainScan, FrameChain, read_frames
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

Hashes alone do not stop somebody from computing a whole chain again. So a signed checkpoint states
the heads of the sessions that grew since the checkpoint before it. Checkpoints form a chain of
frames themselves, and fit into a transparency log; the log's answers, called anchors, follow in the
same chain.

>>> from vacr.capture.chains import ChainHead, JournalCheckpoint, verify_journal_checkpoint
>>> from vacr.signing import KeySigner, generate_key
>>> signer = KeySigner(generate_key("eddsa"))
>>> heads = {"some-agent/abc": ChainHead(7, bytes(32))}
>>> checkpoint = JournalCheckpoint(0, 1_784_000_000_000, 0, EMPTY_CHAIN_HEAD, heads)
>>> statement = checkpoint.sign(signer, "urn:example:journal")
>>> verified, key = verify_journal_checkpoint(statement, signer.public_key, "journal", 0)
>>> verified == checkpoint
True
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from vacr.errors import InvalidStatement, Unreachable, VacrError
from vacr.files import sync_folder
from vacr.record import decode, encode
from vacr.signing import (
    ATTACHED,
    HEADER_ALG,
    HEADER_CONTENT_TYPE,
    KeySigner,
    PublicKey,
    Sign1,
    StatementClaims,
    build_cose_key,
    compute_thumbprint,
    find_carried_key,
    parse_cose_key,
    parse_sign1,
    sign,
    verify_signature,
)
from vacr.transparency import build_log_entry

CHECKPOINTS_FILE = "checkpoints"
CHECKPOINT_CONTENT_TYPE = "application/vnd.vacr.journal-checkpoint+cbor"
MAX_CHECKPOINT_SESSIONS = 256
"""The most sessions in one checkpoint; a log might refuse a larger statement."""
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

_CBOR_MAP_START = 0xA0
_CBOR_TAG_START = 0xC0


class BrokenJournal(InvalidStatement):
    """The error for a chain with a missing, changed or invalid frame."""

    def __init__(self, problem: str, *, where: str, frame: int) -> None:
        """Describe the first broken frame: its number, and a problem such as "was changed"."""
        super().__init__(f"frame {frame} {problem}", reason="journal-broken", where=where)
        self.frame = frame


class UnwritableJournal(Unreachable):
    """The error for frames that could not be written; the chain is as it was before."""


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
    """The head after the last intact frame that was read."""
    size: int = 0
    """The number of bytes in the intact frames read so far."""
    torn: int = 0
    """The number of bytes at the end that are not an intact frame; set at the end of the file."""
    required_size: int = 0
    """The number of bytes in the frames up to the required head."""


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
        """Open or create the file, yield each payload with the head before it, and cut a torn end.

        Frames can be appended once the iterator is exhausted. `required` and `one_by_one` have the
        same meaning as in `read_frames`.

        Raises:
            BrokenJournal: the chain does not reach the required head intact; or frames that were
                added one by one are damaged before the last of them.
            OSError: the file cannot be created, read or written.
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
        """Write the bytes of the file from offset `start` to `end` over themselves.

        After a failed sync the newest frames may exist in the page cache alone, marked clean:
        another sync would not write them.
        """
        for at in range(start, end, _REWRITE_CHUNK_SIZE):
            data = os.pread(self._handle, min(_REWRITE_CHUNK_SIZE, end - at), at)
            os.pwrite(self._handle, data, at)

    def append(self, payloads: Sequence[bytes]) -> ChainHead:
        """Append one frame for each payload, all or none, and return the new head of the chain.

        The frames are on the disk when this returns.

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
                f"the journal cannot be written: {error.strerror or error}",
                where=str(self.path),
                hint="Check the free space and the permissions of this folder.",
            ) from error
        self.head = ChainHead(self.head.frames + len(frames), last_hash)
        self._size += len(data)
        return self.head

    def _write(self, data: bytes) -> None:
        """Write all of the data at the end of the file."""
        view, at = memoryview(data), self._size
        while view:
            count = os.pwrite(self._handle, view, at)
            view, at = view[count:], at + count

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def encode_frame(payload: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Return the bytes of a frame with this payload, and the hash of the frame.

    `before` is the hash of the frame before it.
    """
    hashed_bytes = _LENGTH_FIELD.pack(len(payload)) + before + payload
    digest = hashlib.sha256(hashed_bytes).digest()
    return hashed_bytes + digest, digest


def read_frames(
    file: BinaryIO, where: str, scan: ChainScan, required: ChainHead, *, one_by_one: bool = False
) -> Iterator[tuple[ChainHead, bytes]]:
    """Yield the payload of each intact frame with the head before it, and keep `scan` up to date.

    The chain has to pass through the `required` head, usually the one in the last signed
    checkpoint. After that, reading ends at the first frame that is not intact, the torn end: after
    a crash, any of the later bytes may never have reached the disk. Frames that were added and
    synced `one_by_one` can be torn in the last frame only. `where` names the chain in errors.

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
                    "does not have the hash in a signed checkpoint: it, or a frame before it, was "
                    "changed",
                    where=where,
                    frame=scan.head.frames - 1,
                )
            scan.required_size = scan.size
        yield before, payload
    if scan.head.frames < required.frames:
        problem = "was changed"
        if scan.size >= end:
            problem = f"is missing: a checkpoint covers {required.frames} frames"
        raise BrokenJournal(problem, where=where, frame=scan.head.frames)
    scan.torn = end - scan.size
    if one_by_one and scan.torn:
        file.seek(scan.size)
        if _has_frame_boundary(file.read(scan.torn)):
            raise BrokenJournal("was changed", where=where, frame=scan.head.frames)


def _has_frame_boundary(data: bytes) -> bool:
    """Return whether `data` contains the seam between two frames, so it is more than one frame."""
    return any(
        len(set(boundary[1])) > _MIN_DISTINCT_BYTES for boundary in _FRAME_BOUNDARY.finditer(data)
    )


# --- checkpoints ---


@dataclass(frozen=True, slots=True)
class JournalCheckpoint:
    """The content of a checkpoint."""

    number: int
    time: int
    """In milliseconds since 1970."""
    epoch: int
    before: ChainHead
    """The head of the chain of checkpoints before this one."""
    sessions: Mapping[str, ChainHead]
    """Session journals that grew since the checkpoint before → their heads."""
    retired: Mapping[str, bytes] = field(default_factory=dict)
    """Journals that were deleted → the digests of the records they were sealed as."""
    spools: Mapping[str, int] = field(default_factory=dict)
    """Spools of the deleted journals → how many bytes of them were read."""
    next_key: PublicKey | None = None
    """The key of the next epoch, if this checkpoint is the last of its epoch."""

    def sign(self, signer: KeySigner, journal: str) -> bytes:
        """Return the checkpoint as a signed COSE statement; its subject is the URI `journal`."""
        content: dict[str, Any] = {
            "number": self.number,
            "time": self.time,
            "epoch": self.epoch,
            "before": _build_head_pair(self.before),
            "sessions": {name: _build_head_pair(head) for name, head in self.sessions.items()},
        }
        if self.retired:
            content |= {"retired": dict(self.retired), "spools": dict(self.spools)}
        if self.next_key is not None:
            content["next-key"] = encode(build_cose_key(self.next_key), "cbor")
        claims = StatementClaims(subject=journal, issued_at=self.time // 1000)
        return sign(
            encode(content, "cbor"),
            signer,
            profile=ATTACHED,
            content_type=CHECKPOINT_CONTENT_TYPE,
            claims=claims,
        )


def _build_head_pair(head: ChainHead) -> list[Any]:
    """Return a head as it is encoded in a checkpoint: the number of frames, and the hash."""
    return [head.frames, head.hash]


@dataclass(frozen=True, slots=True)
class CheckpointAnchor:
    """The answer of a log to a checkpoint."""

    number: int
    """The number of the checkpoint."""
    service: str
    """The URL of the log."""
    statement: bytes
    """The checkpoint, with the log's receipt in it."""


def verify_journal_checkpoint(
    statement: bytes, key: PublicKey | None, where: str, frame: int
) -> tuple[JournalCheckpoint, PublicKey]:
    """Verify a signed checkpoint, and return its content and the key that signed it.

    `key` is the key of its epoch. Pass None for the first checkpoint of a journal, to use the key
    that it carries. `where` and `frame` name the chain and the frame in errors.

    Raises:
        BrokenJournal: the statement is not a checkpoint, or the key did not sign it.
    """
    try:
        return _verify_message(parse_sign1(statement), key)
    except InvalidStatement as error:
        raise BrokenJournal(
            "is not signed by the key of its epoch", where=where, frame=frame
        ) from error
    except (VacrError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenJournal("is not a checkpoint", where=where, frame=frame) from error


def _verify_message(message: Sign1, key: PublicKey | None) -> tuple[JournalCheckpoint, PublicKey]:
    """Verify a parsed statement, and return its checkpoint and the key that signed it.

    Raises:
        InvalidStatement: the key did not sign it.
        TypeError: it is not a checkpoint, or has no key although `key` is None.
    """
    key = key if key is not None else find_carried_key(message)
    content_type = message.protected.get(HEADER_CONTENT_TYPE)
    if key is None or message.payload is None or content_type != CHECKPOINT_CONTENT_TYPE:
        raise TypeError("not a checkpoint")
    algorithm = message.protected.get(HEADER_ALG)
    verify_signature(algorithm, key, message.signature, message.to_be_signed(message.payload))
    return _parse_checkpoint(decode(message.payload, "cbor")), key


def _parse_checkpoint(content: Any) -> JournalCheckpoint:
    """Build a checkpoint from a decoded CBOR map.

    Raises AttributeError, KeyError, TypeError or ValueError if it is not the map of a checkpoint.
    """
    next_key = content.get("next-key")
    retired = content.get("retired", {})
    spools = content.get("spools", {})
    return JournalCheckpoint(
        number=_check_whole_number(content["number"]),
        time=_check_whole_number(content["time"]),
        epoch=_check_whole_number(content["epoch"]),
        before=_parse_head(content["before"]),
        sessions={str(name): _parse_head(pair) for name, pair in content["sessions"].items()},
        retired={str(name): _check_digest(record) for name, record in retired.items()},
        spools={str(name): _check_whole_number(end) for name, end in spools.items()},
        next_key=parse_cose_key(decode(next_key, "cbor")) if next_key is not None else None,
    )


def _parse_head(pair: Any) -> ChainHead:
    """Return the head of a decoded pair; raise TypeError or ValueError if it is not one."""
    frames, digest = pair
    return ChainHead(_check_whole_number(frames), _check_digest(digest))


def _check_digest(value: Any) -> bytes:
    """Return the value if it is of type bytes, or raise TypeError."""
    if type(value) is not bytes:
        raise TypeError("a hash in the checkpoint is not a byte string")
    return value


def _check_whole_number(value: Any) -> int:
    """Return the value if it is an integer of at least 0, or raise TypeError."""
    if type(value) is not int or value < 0:
        raise TypeError("a number in the checkpoint is not an integer of at least 0")
    return value


class JournalCoverage:
    """The result of reading a chain of checkpoints: the covered heads, the keys, the anchors."""

    def __init__(self, where: str) -> None:
        """Start without checkpoints; `where` names the chain in errors."""
        self.where = where
        self.frames = 0
        self.first_key: PublicKey | None = None
        self.key: PublicKey | None = None
        """The key of the current epoch."""
        self.keys: dict[bytes, PublicKey] = {}
        """Thumbprint → key, for all epochs."""
        self.last: JournalCheckpoint | None = None
        self.statement = b""
        """The last checkpoint as it was signed."""
        self.entries: list[bytes] = []
        """The digests of the checkpoints' log entries, by checkpoint number."""
        self.sessions: dict[str, ChainHead] = {}
        """Session journal → the last head that a checkpoint covers."""
        self.retired: dict[str, bytes] = {}
        """Deleted session journal → the digest of the record it was sealed as."""
        self.spools: dict[str, int] = {}
        """Spools of deleted journals → how many bytes of them were read."""
        self.retired_at: dict[str, int] = {}
        """Deleted journal → the time of its deletion, in milliseconds."""
        self.epoch_began = 0
        """When the current key was named, in milliseconds."""
        self.where_covered: dict[str, int] = {}
        """Session → the number of the last checkpoint that covers it."""
        self.anchors: list[CheckpointAnchor] = []

    @property
    def identity(self) -> bytes:
        """The thumbprint of the journal's first key, its name; empty without a checkpoint."""
        return compute_thumbprint(self.first_key) if self.first_key is not None else b""

    def add_frame(self, payload: bytes, before: ChainHead) -> JournalCheckpoint | CheckpointAnchor:
        """Verify and add the next frame, and return it as a checkpoint or an anchor.

        `payload` is the content of the frame, and `before` the head of the chain before it.

        Raises:
            BrokenJournal: the frame is not a checkpoint or an anchor that belongs there.
        """
        added: JournalCheckpoint | CheckpointAnchor
        if payload and _CBOR_MAP_START <= payload[0] < _CBOR_TAG_START:
            added = self._add_anchor(payload)
        else:
            added = self._add_checkpoint(payload, before)
        self.frames += 1
        return added

    def _add_checkpoint(self, payload: bytes, before: ChainHead) -> JournalCheckpoint:
        """Verify a checkpoint, check that it follows the last one, add it, and return it.

        `before` is the head of the chain before the frame with the checkpoint.

        Raises:
            BrokenJournal: the checkpoint is invalid, or does not follow the last one.
        """
        checkpoint, key = verify_journal_checkpoint(payload, self.key, self.where, self.frames)
        last = self.last
        expected = (
            (0, 0) if last is None else (last.number + 1, last.epoch + (last.next_key is not None))
        )
        if (checkpoint.number, checkpoint.epoch) != expected or checkpoint.before != before:
            raise BrokenJournal(
                "does not follow the checkpoint before it",
                where=self.where,
                frame=self.frames,
            )
        if self.first_key is None or checkpoint.next_key is not None:
            self.epoch_began = checkpoint.time
        self.first_key = self.first_key or key
        self.key = checkpoint.next_key or key
        self.keys |= {compute_thumbprint(known): known for known in (key, self.key)}
        self.last, self.statement = checkpoint, payload
        self.entries.append(_hash_log_entry(payload))
        self.sessions |= checkpoint.sessions
        self.where_covered |= dict.fromkeys(checkpoint.sessions, checkpoint.number)
        self.spools |= checkpoint.spools
        for name, record in checkpoint.retired.items():
            self.sessions.pop(name, None)
            self.retired[name] = record
            self.retired_at[name] = checkpoint.time
        return checkpoint

    def _add_anchor(self, payload: bytes) -> CheckpointAnchor:
        """Decode an anchor, check that it is of a known checkpoint, add it, and return it.

        Raises:
            BrokenJournal: the payload is not an anchor, or not of a checkpoint in the journal.
        """
        try:
            content: Any = decode(payload, "cbor")
            number, service, statement = (
                content["number"],
                content["service"],
                content["statement"],
            )
            # The receipt is unprotected, so the log entry is the same with and without it.
            is_known_checkpoint = (
                type(service) is str
                and type(number) is int
                and _hash_log_entry(statement) == self.entries[number]
            )
        except (VacrError, LookupError, TypeError) as error:
            raise BrokenJournal(
                "is neither a checkpoint nor an anchor", where=self.where, frame=self.frames
            ) from error
        if not is_known_checkpoint:
            raise BrokenJournal(
                "anchors a checkpoint that is not in the journal",
                where=self.where,
                frame=self.frames,
            )
        anchor = CheckpointAnchor(number, service, statement)
        self.anchors.append(anchor)
        return anchor


def _hash_log_entry(statement: bytes) -> bytes:
    """Return the SHA-256 of the log entry for a statement."""
    return hashlib.sha256(build_log_entry(parse_sign1(statement))).digest()


def read_checkpoints(
    folder: Path, covered: JournalCoverage, scan: ChainScan | None = None
) -> Iterator[JournalCheckpoint | CheckpointAnchor]:
    """Yield the checkpoints and anchors in a journal's folder, each verified.

    Each is also added to `covered`, and `scan` is kept up to date, if given.

    Raises:
        BrokenJournal: a checkpoint or an anchor does not verify.
        OSError: the file of checkpoints cannot be read.
    """
    path = folder / CHECKPOINTS_FILE
    scan = scan or ChainScan()
    with path.open("rb") as file:
        for before, payload in read_frames(
            file, str(path), scan, EMPTY_CHAIN_HEAD, one_by_one=True
        ):
            yield covered.add_frame(payload, before)
