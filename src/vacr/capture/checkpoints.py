"""Signed checkpoints of a journal: which session had how many frames, and with which hash, when.

A checkpoint is a signed statement, so that a log can take it. It covers the heads of the sessions
that have grown since the one before, and the hash of the chain of checkpoints up to itself. What a
log said to it follows in the same chain.

What the chain of checkpoints adds up to: how far each session is covered, by which keys, and
what logs said to it.

Keys that last for an epoch: a checkpoint names the next one, and the old one is erased.

Whoever takes over the machine finds only the key of this epoch. So what was signed before cannot be
signed again with other content, for those who know the first key or hold a later checkpoint. It
does not keep anybody from signing from now on what never happened, nor from deleting; and what a
disk really erases is the disk's affair.
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
    CHECKPOINTS_FILE,
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

CHECKPOINT_CONTENT_TYPE = "application/vnd.vacr.journal-checkpoint+cbor"
MAX_CHECKPOINT_SESSIONS = 256
"""How many sessions a checkpoint may speak of; with more, a log might not take it."""


@dataclass(frozen=True, slots=True)
class JournalCheckpoint:
    """What a checkpoint says."""

    number: int
    time: int
    """In milliseconds since 1970."""
    epoch: int
    before: ChainHead
    """The chain of checkpoints up to this one."""
    sessions: Mapping[str, ChainHead]
    retired: Mapping[str, bytes] = field(default_factory=dict)
    """Journals that were deleted, and the digests of the records they were sealed as."""
    spools: Mapping[str, int] = field(default_factory=dict)
    """How far the spools of those were read."""
    next_key: PublicKey | None = None

    def sign(self, signer: KeySigner, journal: str) -> bytes:
        """Sign it; `journal` names the journal."""
        said: dict[str, Any] = {
            "number": self.number,
            "time": self.time,
            "epoch": self.epoch,
            "before": _build_head_pair(self.before),
            "sessions": {name: _build_head_pair(head) for name, head in self.sessions.items()},
        }
        if self.retired:
            said |= {"retired": dict(self.retired), "spools": dict(self.spools)}
        if self.next_key is not None:
            said["next-key"] = encode(build_cose_key(self.next_key), "cbor")
        claims = StatementClaims(subject=journal, issued_at=self.time // 1000)
        return sign(
            encode(said, "cbor"),
            signer,
            profile=ATTACHED,
            content_type=CHECKPOINT_CONTENT_TYPE,
            claims=claims,
        )


def _build_head_pair(head: ChainHead) -> list[Any]:
    return [head.frames, head.hash]


def verify_journal_checkpoint(
    statement: bytes, key: PublicKey | None, where: str, frame: int
) -> tuple[JournalCheckpoint, PublicKey]:
    """Verify a checkpoint by the key of its epoch, and give what it says; the first tells its key
    itself.

    Raises:
        Broken: it is none, or that key did not sign it.
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
    if (
        key is None
        or message.payload is None
        or message.protected.get(HEADER_CONTENT_TYPE) != CHECKPOINT_CONTENT_TYPE
    ):
        raise TypeError("no checkpoint")
    verify_signature(
        message.protected.get(HEADER_ALG),
        key,
        message.signature,
        message.to_be_signed(message.payload),
    )
    return _parse_checkpoint(decode(message.payload, "cbor")), key


def _parse_checkpoint(said: Any) -> JournalCheckpoint:
    number, time, epoch = (_check_whole_number(said[name]) for name in ("number", "time", "epoch"))
    following = said.get("next-key")
    return JournalCheckpoint(
        number,
        time,
        epoch,
        _parse_head(said["before"]),
        {str(name): _parse_head(pair) for name, pair in said["sessions"].items()},
        {str(name): _check_digest(record) for name, record in said.get("retired", {}).items()},
        {str(name): _check_whole_number(end) for name, end in said.get("spools", {}).items()},
        parse_cose_key(decode(following, "cbor")) if following is not None else None,
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


_CBOR_MAP_START = 0xA0
_CBOR_TAG_START = 0xC0


@dataclass(frozen=True, slots=True)
class CheckpointAnchor:
    """What a log said to a checkpoint."""

    number: int
    """The number of the checkpoint."""
    service: str
    statement: bytes
    """The checkpoint, with the receipt in it."""


class JournalCoverage:
    """What the chain of checkpoints adds up to."""

    def __init__(self, where: str) -> None:
        """Begin with nothing."""
        self.where = where
        self.frames = 0
        self.first_key: PublicKey | None = None
        self.key: PublicKey | None = None
        """The key of this epoch."""
        self.keys: dict[bytes, PublicKey] = {}
        """The keys of all epochs, by their thumbprints."""
        self.last: JournalCheckpoint | None = None
        self.statement = b""
        """The last checkpoint as it was signed."""
        self.entries: list[bytes] = []
        """The digests of the entries that the checkpoints are in a log, by their numbers."""
        self.sessions: dict[str, ChainHead] = {}
        self.retired: dict[str, bytes] = {}
        self.spools: dict[str, int] = {}
        """How far the spools of journals were read that are deleted."""
        self.retired_at: dict[str, int] = {}
        """When each was deleted, in milliseconds."""
        self.epoch_began = 0
        """When the key of this epoch was named, in milliseconds."""
        self.where_covered: dict[str, int] = {}
        """The last checkpoint of each session."""
        self.anchors: list[CheckpointAnchor] = []

    @property
    def identity(self) -> bytes:
        """The thumbprint of the first key, which names the journal."""
        return compute_thumbprint(self.first_key) if self.first_key is not None else b""

    def take(self, payload: bytes, before: ChainHead) -> JournalCheckpoint | CheckpointAnchor:
        """Take the next of the chain, which had a head before it.

        Raises:
            Broken: it is nothing that belongs there.
        """
        if payload and _CBOR_MAP_START <= payload[0] < _CBOR_TAG_START:
            taken: JournalCheckpoint | CheckpointAnchor = self._anchor(payload)
        else:
            taken = self._checkpoint(payload, before)
        self.frames += 1
        return taken

    def _checkpoint(self, payload: bytes, before: ChainHead) -> JournalCheckpoint:
        found, key = verify_journal_checkpoint(payload, self.key, self.where, self.frames)
        last = self.last
        expected = (
            (0, 0) if last is None else (last.number + 1, last.epoch + (last.next_key is not None))
        )
        if (found.number, found.epoch) != expected or found.before != before:
            raise BrokenJournal(
                "a checkpoint that does not follow the one before it",
                where=self.where,
                frame=self.frames,
            )
        if self.first_key is None or found.next_key is not None:
            self.epoch_began = found.time
        self.first_key = self.first_key or key
        self.key = found.next_key or key
        self.keys |= {compute_thumbprint(one): one for one in (key, self.key)}
        self.last, self.statement = found, payload
        self.entries.append(_hash_log_entry(payload))
        self.sessions |= found.sessions
        self.where_covered |= dict.fromkeys(found.sessions, found.number)
        self.spools |= found.spools
        for name, record in found.retired.items():
            self.sessions.pop(name, None)
            self.retired[name] = record
            self.retired_at[name] = found.time
        return found

    def _anchor(self, payload: bytes) -> CheckpointAnchor:
        try:
            said: Any = decode(payload, "cbor")
            number, service, statement = said["number"], said["service"], said["statement"]
            is_one = (
                type(service) is str
                and type(number) is int
                and _hash_log_entry(statement) == self.entries[number]
            )
        except (VacrError, LookupError, TypeError) as error:
            raise BrokenJournal("no anchor", where=self.where, frame=self.frames) from error
        if not is_one:
            raise BrokenJournal(
                "an anchor of another checkpoint", where=self.where, frame=self.frames
            )
        self.anchors.append(CheckpointAnchor(number, service, statement))
        return self.anchors[-1]


def _hash_log_entry(statement: bytes) -> bytes:
    return hashlib.sha256(build_log_entry(parse_sign1(statement))).digest()


def read_checkpoints(
    folder: Path, covered: JournalCoverage, scan: ChainScan | None = None
) -> Iterator[JournalCheckpoint | CheckpointAnchor]:
    """Read the checkpoints of a journal, without changing it; `covered` takes each of them.

    Raises:
        Broken: one of them does not hold.
        OSError: they cannot be read.
    """
    path = folder / CHECKPOINTS_FILE
    with path.open("rb") as file:
        for before, payload in read_frames(
            file, str(path), scan or ChainScan(), EMPTY_CHAIN_HEAD, one_by_one=True
        ):
            yield covered.take(payload, before)


_OWNER_ONLY = 0o600


class EpochKeys:
    """The key of this epoch, and the next one while it is being put in its place."""

    def __init__(self, folder: Path) -> None:
        """Say where they are."""
        self._path = folder / "epoch-key.pem"
        self._next = folder / "next-epoch-key.pem"
        self._is_named = False
        """Whether a checkpoint names the next key, which then is that of this epoch."""

    def begin(self) -> KeySigner:
        """Make the first key."""
        self._tidy()
        return self._made(self._path)

    def current(self, thumbprint: bytes) -> KeySigner:
        """Give the key of this epoch, which is known by its thumbprint.

        Raises:
            UnreadableInput: it is not there.
        """
        self._tidy()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                found = KeySigner(parse_private_key(read_bytes(path)))
                if compute_thumbprint(found.public_key) == thumbprint:
                    if path == self._next:
                        self.advance()
                    else:
                        self._next.unlink(missing_ok=True)
                    return found
        self._refuse_unreadable()
        hint = (
            "The journal can be verified, but not added to. Move its folder away to begin another."
        )
        raise UnreadableInput(
            "the key that the last checkpoint names is gone", where=str(self._path), hint=hint
        )

    def _refuse_unreadable(self) -> None:
        """Tell a key that is there and cannot be read from one that is gone: no other journal need
        be begun.
        """
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

    def known(self) -> set[bytes]:
        """Give the thumbprints of the keys that there are, as far as they can be read."""
        found = set()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                found.add(
                    compute_thumbprint(KeySigner(parse_private_key(read_bytes(path))).public_key)
                )
        return found

    def prepare(self) -> KeySigner:
        """Make the next key, which is not in use yet.

        Raises:
            OSError: the key before it is not in its place yet, and cannot be put there.
            UnreadableInput: it cannot be written.
        """
        if self._is_named:
            self.advance()
        return self._made(self._next)

    def advance(self) -> None:
        """Erase the key of the last epoch, and put the next one, which a checkpoint names, in its
        place.

        Raises:
            OSError: that failed; both keys are there, and it can be tried again.
        """
        self._is_named = True
        with suppress(FileNotFoundError):
            handle = os.open(self._path, os.O_WRONLY)
            try:
                os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
        self._next.replace(self._path)
        # What is at that path is the key of this epoch from now on, and must not be erased by
        # another try.
        self._is_named = False
        sync_folder(self._path.parent)

    def _tidy(self) -> None:
        """Remove keys that were being written when somebody was killed; nothing was ever signed
        with them.
        """
        for path in self._path.parent.glob(f".*{self._path.name}-*.tmp"):
            path.unlink(missing_ok=True)

    @staticmethod
    def _made(path: Path) -> KeySigner:
        private = generate_key("eddsa")
        write_durable_file(path, encode_private_pem(private), _OWNER_ONLY)
        return KeySigner(private)
