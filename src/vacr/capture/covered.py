"""What the chain of checkpoints adds up to: how far each session is covered, by which keys, and
what logs said to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr import codec
from vacr.capture import checkpoints
from vacr.capture.checkpoints import Checkpoint
from vacr.capture.frames import NOTHING, Broken, Head, Scan, frames
from vacr.capture.layout import CHECKPOINTS
from vacr.errors import VacrError
from vacr.receipts.entries import entry_of
from vacr.signing import keys
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import parse

_MAP = 0xA0
_TAGGED = 0xC0


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a log said to a checkpoint."""

    number: int
    """The number of the checkpoint."""
    service: str
    statement: bytes
    """The checkpoint, with the receipt in it."""


class Covered:
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
        self.last: Checkpoint | None = None
        self.statement = b""
        """The last checkpoint as it was signed."""
        self.entries: list[bytes] = []
        """The digests of the entries that the checkpoints are in a log, by their numbers."""
        self.sessions: dict[str, Head] = {}
        self.retired: dict[str, bytes] = {}
        self.spools: dict[str, int] = {}
        """How far the spools of journals were read that are deleted."""
        self.retired_at: dict[str, int] = {}
        """When each was deleted, in milliseconds."""
        self.epoch_began = 0
        """When the key of this epoch was named, in milliseconds."""
        self.where_covered: dict[str, int] = {}
        """The last checkpoint of each session."""
        self.anchors: list[Anchor] = []

    @property
    def identity(self) -> bytes:
        """The thumbprint of the first key, which names the journal."""
        return keys.thumbprint(self.first_key) if self.first_key is not None else b""

    def take(self, payload: bytes, before: Head) -> Checkpoint | Anchor:
        """Take the next of the chain, which had a head before it.

        Raises:
            Broken: it is nothing that belongs there.
        """
        if payload and _MAP <= payload[0] < _TAGGED:
            taken: Checkpoint | Anchor = self._anchor(payload)
        else:
            taken = self._checkpoint(payload, before)
        self.frames += 1
        return taken

    def _checkpoint(self, payload: bytes, before: Head) -> Checkpoint:
        found, key = checkpoints.read(payload, self.key, self.where, self.frames)
        last = self.last
        expected = (
            (0, 0) if last is None else (last.number + 1, last.epoch + (last.next_key is not None))
        )
        if (found.number, found.epoch) != expected or found.before != before:
            raise Broken(
                "a checkpoint that does not follow the one before it",
                where=self.where,
                frame=self.frames,
            )
        if self.first_key is None or found.next_key is not None:
            self.epoch_began = found.time
        self.first_key = self.first_key or key
        self.key = found.next_key or key
        self.keys |= {keys.thumbprint(one): one for one in (key, self.key)}
        self.last, self.statement = found, payload
        self.entries.append(_entry_digest(payload))
        self.sessions |= found.sessions
        self.where_covered |= dict.fromkeys(found.sessions, found.number)
        self.spools |= found.spools
        for name, record in found.retired.items():
            self.sessions.pop(name, None)
            self.retired[name] = record
            self.retired_at[name] = found.time
        return found

    def _anchor(self, payload: bytes) -> Anchor:
        try:
            said: Any = codec.decode(payload, "cbor")
            number, service, statement = said["number"], said["service"], said["statement"]
            is_one = (
                type(service) is str
                and type(number) is int
                and _entry_digest(statement) == self.entries[number]
            )
        except (VacrError, LookupError, TypeError) as error:
            raise Broken("no anchor", where=self.where, frame=self.frames) from error
        if not is_one:
            raise Broken("an anchor of another checkpoint", where=self.where, frame=self.frames)
        self.anchors.append(Anchor(number, service, statement))
        return self.anchors[-1]


def _entry_digest(statement: bytes) -> bytes:
    return hashlib.sha256(entry_of(parse(statement))).digest()


def covered_by(
    folder: Path, covered: Covered, scan: Scan | None = None
) -> Iterator[Checkpoint | Anchor]:
    """Read the checkpoints of a journal, without changing it; `covered` takes each of them.

    Raises:
        Broken: one of them does not hold.
        OSError: they cannot be read.
    """
    path = folder / CHECKPOINTS
    with path.open("rb") as file:
        for before, payload in frames(file, str(path), scan or Scan(), NOTHING, one_by_one=True):
            yield covered.take(payload, before)
