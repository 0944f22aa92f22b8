"""Signed checkpoints of a journal: the number of frames and the last hash of each session.

Hash chains alone do not stop somebody from computing all of them again. A checkpoint is a signed
statement, fit for a transparency log, of the heads of the sessions that grew since the checkpoint
before it. Checkpoints form a chain of frames themselves; the log's answers, called anchors, follow
in the same chain.

>>> from vacr.capture.checkpoints import JournalCheckpoint, verify_journal_checkpoint
>>> from vacr.capture.frames import EMPTY_CHAIN_HEAD, ChainHead
>>> from vacr.signing import KeySigner, generate_key
>>> signer = KeySigner(generate_key("eddsa"))
>>> heads = {"some-agent/abc": ChainHead(7, bytes(32))}
>>> checkpoint = JournalCheckpoint(0, 1_784_000_000_000, 0, EMPTY_CHAIN_HEAD, heads)
>>> statement = checkpoint.sign(signer, "urn:example:journal")
>>> verified, key = verify_journal_checkpoint(statement, signer.public_key, "journal", 0)
>>> verified == checkpoint
True

A key signs for one epoch. The last checkpoint of an epoch names the next key, and then the old key
is erased. An attacker who takes over the machine finds the current key alone, and cannot replace
what earlier keys signed, as long as a verifier knows the first key or a later checkpoint. The
attacker can still sign false content from now on, or delete the journal; and only the disk knows
whether an erased key is really gone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vacr.capture.frames import (
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainHead,
    ChainScan,
    read_frames,
)
from vacr.errors import InvalidStatement, UnreadableInput, VacrError
from vacr.files import read_bytes, sync_folder, write_durable_file
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
    encode_private_pem,
    find_carried_key,
    generate_key,
    parse_cose_key,
    parse_private_key,
    parse_sign1,
    sign,
    verify_signature,
)
from vacr.transparency import build_log_entry

CHECKPOINTS_FILE = "checkpoints"
CHECKPOINT_CONTENT_TYPE = "application/vnd.vacr.journal-checkpoint+cbor"
MAX_CHECKPOINT_SESSIONS = 256
"""The most sessions in one checkpoint; a log might refuse a larger statement."""

_CBOR_MAP_START = 0xA0
_CBOR_TAG_START = 0xC0
_OWNER_ONLY = 0o600


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
    retired: Mapping[str, bytes] = field(default_factory=dict)
    """Journals that were deleted → the digests of the records they were sealed as."""
    spools: Mapping[str, int] = field(default_factory=dict)
    """Spools of the deleted journals → how many bytes of them were read."""
    next_key: PublicKey | None = None

    def sign(self, signer: KeySigner, journal: str) -> bytes:
        """Return the signed statement; its subject is the name of the journal."""
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
    return [head.frames, head.hash]


@dataclass(frozen=True, slots=True)
class CheckpointAnchor:
    """The answer of a log to a checkpoint."""

    number: int
    """The number of the checkpoint."""
    service: str
    statement: bytes
    """The checkpoint, with the log's receipt in it."""


def verify_journal_checkpoint(
    statement: bytes, key: PublicKey | None, where: str, frame: int
) -> tuple[JournalCheckpoint, PublicKey]:
    """Verify a checkpoint by the key of its epoch, and return its content and that key.

    The first checkpoint of a journal is verified by the key that it carries: pass None.

    Raises:
        BrokenJournal: the statement is not a checkpoint, or the key did not sign it.
    """
    try:
        return _verify_message(parse_sign1(statement), key)
    except InvalidStatement as error:
        raise BrokenJournal(
            "a checkpoint that the key of its epoch did not sign", where=where, frame=frame
        ) from error
    except (VacrError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenJournal("no checkpoint", where=where, frame=frame) from error


def _verify_message(message: Sign1, key: PublicKey | None) -> tuple[JournalCheckpoint, PublicKey]:
    key = key if key is not None else find_carried_key(message)
    content_type = message.protected.get(HEADER_CONTENT_TYPE)
    if key is None or message.payload is None or content_type != CHECKPOINT_CONTENT_TYPE:
        raise TypeError("no checkpoint")
    algorithm = message.protected.get(HEADER_ALG)
    verify_signature(algorithm, key, message.signature, message.to_be_signed(message.payload))
    return _parse_checkpoint(decode(message.payload, "cbor")), key


def _parse_checkpoint(content: Any) -> JournalCheckpoint:
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
    frames, digest = pair
    return ChainHead(_check_whole_number(frames), _check_digest(digest))


def _check_digest(value: Any) -> bytes:
    if type(value) is not bytes:
        raise TypeError("no digest")
    return value


def _check_whole_number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("no number")
    return value


class JournalCoverage:
    """The sum of a chain of checkpoints: the covered heads, the keys, and the anchors."""

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
        self.retired: dict[str, bytes] = {}
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
        """The thumbprint of the first key, which names the journal."""
        return compute_thumbprint(self.first_key) if self.first_key is not None else b""

    def add_frame(self, payload: bytes, before: ChainHead) -> JournalCheckpoint | CheckpointAnchor:
        """Verify and add the next frame of the chain; `before` is the head before it.

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
        checkpoint, key = verify_journal_checkpoint(payload, self.key, self.where, self.frames)
        last = self.last
        expected = (
            (0, 0) if last is None else (last.number + 1, last.epoch + (last.next_key is not None))
        )
        if (checkpoint.number, checkpoint.epoch) != expected or checkpoint.before != before:
            raise BrokenJournal(
                "a checkpoint that does not follow the one before it",
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
            raise BrokenJournal("no anchor", where=self.where, frame=self.frames) from error
        if not is_known_checkpoint:
            raise BrokenJournal(
                "an anchor of another checkpoint", where=self.where, frame=self.frames
            )
        anchor = CheckpointAnchor(number, service, statement)
        self.anchors.append(anchor)
        return anchor


def _hash_log_entry(statement: bytes) -> bytes:
    return hashlib.sha256(build_log_entry(parse_sign1(statement))).digest()


def read_checkpoints(
    folder: Path, covered: JournalCoverage, scan: ChainScan | None = None
) -> Iterator[JournalCheckpoint | CheckpointAnchor]:
    """Yield the checkpoints and anchors of a journal, verified and added to `covered`.

    Raises:
        BrokenJournal: one of them does not verify.
        OSError: they cannot be read.
    """
    path = folder / CHECKPOINTS_FILE
    scan = scan or ChainScan()
    with path.open("rb") as file:
        for before, payload in read_frames(
            file, str(path), scan, EMPTY_CHAIN_HEAD, one_by_one=True
        ):
            yield covered.add_frame(payload, before)


class EpochKeys:
    """The key of the current epoch, and the next key until it takes over."""

    def __init__(self, folder: Path) -> None:
        """Use the key files in a journal's folder."""
        self._path = folder / "epoch-key.pem"
        self._next = folder / "next-epoch-key.pem"
        self._is_next_named = False
        """Whether a checkpoint names the next key, so that it is the current one already."""

    def create_first(self) -> KeySigner:
        """Create the first key of a journal."""
        self._remove_temporary_files()
        return _create_key(self._path)

    def load_current(self, thumbprint: bytes) -> KeySigner:
        """Return the key with this thumbprint, and finish a change of keys that was interrupted.

        Raises:
            UnreadableInput: neither key file has it.
        """
        self._remove_temporary_files()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                signer = _load_key(path)
                if compute_thumbprint(signer.public_key) == thumbprint:
                    if path == self._next:
                        self.advance()
                    else:
                        self._next.unlink(missing_ok=True)
                    return signer
        self._check_readable()
        hint = (
            "The journal can be verified, but not added to. Move its folder away to begin another."
        )
        raise UnreadableInput(
            "the key that the last checkpoint names is gone", where=str(self._path), hint=hint
        )

    def _check_readable(self) -> None:
        """Raise an error of its own for an unreadable key: unlike a lost one, it can come back."""
        if not self._path.exists():
            return
        try:
            read_bytes(self._path)
        except UnreadableInput as error:
            hint = (
                "The journal cannot be added to without this key. Have its file readable, "
                "as it was."
            )
            raise UnreadableInput(
                f"the key of this epoch cannot be read: {error.message}",
                where=error.where,
                hint=hint,
            ) from None

    def list_thumbprints(self) -> set[bytes]:
        """Return the thumbprints of the keys that exist and can be read."""
        thumbprints = set()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                thumbprints.add(compute_thumbprint(_load_key(path).public_key))
        return thumbprints

    def create_next(self) -> KeySigner:
        """Create the next key, before a checkpoint names it.

        Raises:
            OSError: the last change of keys is unfinished, and cannot be finished.
            UnreadableInput: the key cannot be written.
        """
        if self._is_next_named:
            self.advance()
        return _create_key(self._next)

    def advance(self) -> None:
        """Erase the old key, and put the next one, named by a checkpoint, in its place.

        Raises:
            OSError: that failed; both keys exist, and another call can finish.
        """
        self._is_next_named = True
        with suppress(FileNotFoundError):
            handle = os.open(self._path, os.O_WRONLY)
            try:
                os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
        self._next.replace(self._path)
        # From here on the path holds the current key, and a second call must not erase it.
        self._is_next_named = False
        sync_folder(self._path.parent)

    def _remove_temporary_files(self) -> None:
        """Remove keys that a killed process left half written; they never signed anything."""
        for path in self._path.parent.glob(f".*{self._path.name}-*.tmp"):
            path.unlink(missing_ok=True)


def _load_key(path: Path) -> KeySigner:
    return KeySigner(parse_private_key(read_bytes(path)))


def _create_key(path: Path) -> KeySigner:
    private_key = generate_key("eddsa")
    write_durable_file(path, encode_private_pem(private_key), _OWNER_ONLY)
    return KeySigner(private_key)
