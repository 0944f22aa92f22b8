"""Signed checkpoints of a journal: which session had how many frames, and with which hash, when.

A checkpoint is a signed statement, so that a log can take it. It covers the heads of the sessions
that have grown since the one before, and the hash of the chain of checkpoints up to itself. What a
log said to it follows in the same chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vacr import codec
from vacr.capture.frames import Broken, Head
from vacr.errors import InvalidStatement, VacrError
from vacr.signing import ATTACHED, Claims, KeySigner, algorithms, keys, labels, sign
from vacr.signing.algorithms import PublicKey
from vacr.signing.carried import carried_key
from vacr.signing.sign1 import Sign1, parse

CONTENT_TYPE = "application/vnd.vacr.journal-checkpoint+cbor"
MOST = 256
"""How many sessions a checkpoint may speak of; with more, a log might not take it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint says."""

    number: int
    time: int
    """In milliseconds since 1970."""
    epoch: int
    before: Head
    """The chain of checkpoints up to this one."""
    sessions: Mapping[str, Head]
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
            "before": _pair(self.before),
            "sessions": {name: _pair(head) for name, head in self.sessions.items()},
        }
        if self.retired:
            said |= {"retired": dict(self.retired), "spools": dict(self.spools)}
        if self.next_key is not None:
            said["next-key"] = codec.encode(keys.to_cose(self.next_key), "cbor")
        claims = Claims(subject=journal, issued_at=self.time // 1000)
        return sign(
            codec.encode(said, "cbor"),
            signer,
            profile=ATTACHED,
            content_type=CONTENT_TYPE,
            claims=claims,
        )


def _pair(head: Head) -> list[Any]:
    return [head.frames, head.hash]


def read(
    statement: bytes, key: PublicKey | None, where: str, frame: int
) -> tuple[Checkpoint, PublicKey]:
    """Verify a checkpoint by the key of its epoch, and give what it says; the first tells its key
    itself.

    Raises:
        Broken: it is none, or that key did not sign it.
    """
    try:
        return _verified(parse(statement), key)
    except InvalidStatement as error:
        raise Broken(
            "a checkpoint that the key of its epoch did not sign", where=where, frame=frame
        ) from error
    except (VacrError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise Broken("no checkpoint", where=where, frame=frame) from error


def _verified(message: Sign1, key: PublicKey | None) -> tuple[Checkpoint, PublicKey]:
    key = key if key is not None else carried_key(message)
    if (
        key is None
        or message.payload is None
        or message.protected.get(labels.CONTENT_TYPE) != CONTENT_TYPE
    ):
        raise TypeError("no checkpoint")
    algorithms.verify(
        message.protected.get(labels.ALG),
        key,
        message.signature,
        message.to_be_signed(message.payload),
    )
    return _checkpoint(codec.decode(message.payload, "cbor")), key


def _checkpoint(said: Any) -> Checkpoint:
    number, time, epoch = (_whole(said[name]) for name in ("number", "time", "epoch"))
    following = said.get("next-key")
    return Checkpoint(
        number,
        time,
        epoch,
        _head(said["before"]),
        {str(name): _head(pair) for name, pair in said["sessions"].items()},
        {str(name): _digest(record) for name, record in said.get("retired", {}).items()},
        {str(name): _whole(end) for name, end in said.get("spools", {}).items()},
        keys.from_cose(codec.decode(following, "cbor")) if following is not None else None,
    )


def _head(pair: Any) -> Head:
    frames, digest = pair
    return Head(_whole(frames), _digest(digest))


def _digest(value: Any) -> bytes:
    if type(value) is not bytes:
        raise TypeError("no digest")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("no number")
    return value
