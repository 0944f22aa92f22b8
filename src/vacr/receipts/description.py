"""What a log says of itself, signed: its name, its keys, its rules. Step: register, verify.

The first entry of a log is its description, signed by the key in it; the digest of that entry is
the identity of the log, which no move and no new key changes. New keys are told by another
description, as an entry, signed by the key before.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.receipts.entries import RULES, STATEMENT, entry_of
from vacr.signing import ATTACHED, Claims, keys, labels, sign
from vacr.signing.algorithms import PublicKey, verify
from vacr.signing.sign1 import Sign1, parse
from vacr.signing.signers import Signer

CONTENT_TYPE = "application/vnd.vacr.log-description+cbor"
TREE = "RFC9162_SHA256"


@dataclass(frozen=True, slots=True)
class Description:
    """What a log says of itself."""

    origin: str
    """Its name, as checkpoints have it and receipts have for their subject."""
    receipt_key: PublicKey
    checkpoint_key: ed25519.Ed25519PublicKey
    created: int
    entry_rule: str = STATEMENT
    log: str | None = None
    """The identity of the log; the first description cannot name it."""

    def statement(self, signer: Signer) -> bytes:
        """Sign it, as an entry; the first by the key in it, the others by the key before."""
        said = {
            "origin": self.origin,
            "receipt-key": keys.to_cose(self.receipt_key),
            "checkpoint-key": keys.to_cose(self.checkpoint_key),
            "tree": TREE,
            "entry": self.entry_rule,
        }
        if self.log is not None:
            said["log"] = self.log
        claims = Claims(subject=self.origin, issued_at=self.created)
        payload = deterministic_cbor.encode(said)
        return entry_of(
            parse(sign(payload, signer, profile=ATTACHED, content_type=CONTENT_TYPE, claims=claims))
        )


def identity_of(entry: bytes) -> str:
    """Name a log by its first entry, as a URI (RFC 6920)."""
    return (
        "ni:///sha-256;"
        + base64.urlsafe_b64encode(hashlib.sha256(entry).digest()).rstrip(b"=").decode()
    )


def first(entry: bytes) -> Description:
    """Read the first entry of a log, and check that the key in it signed it.

    Raises:
        InvalidStatement: it is no description, or the key did not.
    """
    found = _read(entry)
    if found is None:
        raise InvalidStatement(
            "the first entry is not the log's description of itself", reason="log-description"
        )
    message, description = found
    _check(message, description.receipt_key)
    return description


def described(entry: bytes) -> Description:
    """Read a description that is known to be one.

    Raises:
        InvalidStatement: it is none.
    """
    found = _read(entry)
    if found is None:
        raise InvalidStatement(
            "an entry that should describe the log does not", reason="log-description"
        )
    return found[1]


def following(entry: bytes, before: Description, log: str) -> Description | None:
    """Read the description that an entry is, if it is one and of this log: the key before has
    signed it.
    """
    try:
        found = _read(entry)
        if found is None or found[1].log != log or found[1].origin != before.origin:
            return None
        _check(found[0], before.receipt_key)
    except InvalidStatement:
        return None  # anybody may register what looks like one
    return found[1]


def _check(message: Sign1, key: PublicKey) -> None:
    verify(
        message.protected.get(labels.ALG),
        key,
        message.signature,
        message.to_be_signed(message.payload or b""),
    )


def _read(entry: bytes) -> tuple[Sign1, Description] | None:
    if CONTENT_TYPE.encode() not in entry:
        return None
    message = parse(entry)
    if message.protected.get(labels.CONTENT_TYPE) != CONTENT_TYPE or entry_of(message) != entry:
        return None
    try:
        return message, _description(
            deterministic_cbor.decode(message.payload or b""), message.protected
        )
    except (UnreadableInput, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            f"a description of a log that cannot be read: {error}", reason="log-description"
        ) from error


def _description(said: Any, protected: dict[Any, Any]) -> Description:
    checkpoint_key = keys.from_cose(said["checkpoint-key"])
    if not isinstance(checkpoint_key, ed25519.Ed25519PublicKey):
        raise TypeError("checkpoints are signed by Ed25519")
    if said["tree"] != TREE or said["entry"] not in RULES or not isinstance(said["origin"], str):
        raise ValueError("a tree or a rule that is not known")
    created = protected[labels.CWT_CLAIMS][labels.IAT]
    if type(created) is not int:
        raise TypeError("no time")
    key = keys.from_cose(said["receipt-key"])
    return Description(said["origin"], key, checkpoint_key, created, said["entry"], said.get("log"))
