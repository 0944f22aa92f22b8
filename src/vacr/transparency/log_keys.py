"""What a log says of itself, signed: its name, its keys, its rules. Step: register, verify.

The first entry of a log is its description, signed by the key in it; the digest of that entry is
the identity of the log, which no move and no new key changes. New keys are told by another
description, as an entry, signed by the key before.

The keys that a log has had: each is announced by an entry that the key before signed. Step:
verify.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.record import decode_cbor, encode_deterministic_cbor
from vacr.signing import (
    ATTACHED,
    CLAIM_IAT,
    HEADER_ALG,
    HEADER_CONTENT_TYPE,
    HEADER_CWT_CLAIMS,
    PublicKey,
    Sign1,
    Signer,
    StatementClaims,
    build_cose_key,
    parse_cose_key,
    parse_sign1,
    sign,
    verify_signature,
)
from vacr.transparency.checkpoint import VerifierKey, build_verifier_key
from vacr.transparency.receipt import ENTRY_RULE_STATEMENT, ENTRY_RULES, build_log_entry

DESCRIPTION_CONTENT_TYPE = "application/vnd.vacr.log-description+cbor"
TREE_ALGORITHM = "RFC9162_SHA256"


@dataclass(frozen=True, slots=True)
class LogDescription:
    """What a log says of itself."""

    origin: str
    """Its name, as checkpoints have it and receipts have for their subject."""
    receipt_key: PublicKey
    checkpoint_key: ed25519.Ed25519PublicKey
    created: int
    entry_rule: str = ENTRY_RULE_STATEMENT
    log: str | None = None
    """The identity of the log; the first description cannot name it."""

    def statement(self, signer: Signer) -> bytes:
        """Sign it, as an entry; the first by the key in it, the others by the key before."""
        said = {
            "origin": self.origin,
            "receipt-key": build_cose_key(self.receipt_key),
            "checkpoint-key": build_cose_key(self.checkpoint_key),
            "tree": TREE_ALGORITHM,
            "entry": self.entry_rule,
        }
        if self.log is not None:
            said["log"] = self.log
        claims = StatementClaims(subject=self.origin, issued_at=self.created)
        payload = encode_deterministic_cbor(said)
        return build_log_entry(
            parse_sign1(
                sign(
                    payload,
                    signer,
                    profile=ATTACHED,
                    content_type=DESCRIPTION_CONTENT_TYPE,
                    claims=claims,
                )
            )
        )


def compute_log_identity(entry: bytes) -> str:
    """Name a log by its first entry, as a URI (RFC 6920)."""
    return (
        "ni:///sha-256;"
        + base64.urlsafe_b64encode(hashlib.sha256(entry).digest()).rstrip(b"=").decode()
    )


def parse_first_description(entry: bytes) -> LogDescription:
    """Read the first entry of a log, and check that the key in it signed it.

    Raises:
        InvalidStatement: it is no description, or the key did not.
    """
    found = _parse_description_entry(entry)
    if found is None:
        raise InvalidStatement(
            "the first entry is not the log's description of itself", reason="log-description"
        )
    message, description = found
    _check_description_signature(message, description.receipt_key)
    return description


def parse_description(entry: bytes) -> LogDescription:
    """Read a description that is known to be one.

    Raises:
        InvalidStatement: it is none.
    """
    found = _parse_description_entry(entry)
    if found is None:
        raise InvalidStatement(
            "an entry that should describe the log does not", reason="log-description"
        )
    return found[1]


def parse_next_description(entry: bytes, before: LogDescription, log: str) -> LogDescription | None:
    """Read the description that an entry is, if it is one and of this log: the key before has
    signed it.
    """
    try:
        found = _parse_description_entry(entry)
        if found is None or found[1].log != log or found[1].origin != before.origin:
            return None
        _check_description_signature(found[0], before.receipt_key)
    except InvalidStatement:
        return None  # anybody may register what looks like one
    return found[1]


def _check_description_signature(message: Sign1, key: PublicKey) -> None:
    verify_signature(
        message.protected.get(HEADER_ALG),
        key,
        message.signature,
        message.to_be_signed(message.payload or b""),
    )


def _parse_description_entry(entry: bytes) -> tuple[Sign1, LogDescription] | None:
    if DESCRIPTION_CONTENT_TYPE.encode() not in entry:
        return None
    message = parse_sign1(entry)
    if (
        message.protected.get(HEADER_CONTENT_TYPE) != DESCRIPTION_CONTENT_TYPE
        or build_log_entry(message) != entry
    ):
        return None
    try:
        return message, _parse_description_payload(
            decode_cbor(message.payload or b""), message.protected
        )
    except (UnreadableInput, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            f"a description of a log that cannot be read: {error}", reason="log-description"
        ) from error


def _parse_description_payload(said: Any, protected: dict[Any, Any]) -> LogDescription:
    checkpoint_key = parse_cose_key(said["checkpoint-key"])
    if not isinstance(checkpoint_key, ed25519.Ed25519PublicKey):
        raise TypeError("checkpoints are signed by Ed25519")
    if (
        said["tree"] != TREE_ALGORITHM
        or said["entry"] not in ENTRY_RULES
        or not isinstance(said["origin"], str)
    ):
        raise ValueError("a tree or a rule that is not known")
    created = protected[HEADER_CWT_CLAIMS][CLAIM_IAT]
    if type(created) is not int:
        raise TypeError("no time")
    key = parse_cose_key(said["receipt-key"])
    return LogDescription(
        said["origin"], key, checkpoint_key, created, said["entry"], said.get("log")
    )


class LogKeyChain:
    """Follows the descriptions among the entries of a log, from the first or from any later
    one on.
    """

    def __init__(
        self,
        origin: str,
        current: VerifierKey | None,
        identity: str = "",
        receipt_key: PublicKey | None = None,
    ) -> None:
        """Start from what is known: the current key for checkpoints, and the key that announces the
        next.

        Without an identity it starts at the first entry. Without a current key that has to describe
        the log.
        """
        self.origin = origin
        self.current = self.previous = current
        self.identity = identity
        self.rotations = 0
        self.changed_at = -1
        self.description: LogDescription | None = None
        if current is not None and receipt_key is not None:
            key = ed25519.Ed25519PublicKey.from_public_bytes(current.public)
            self.description = LogDescription(origin, receipt_key, key, 0, log=identity)

    def read(self, index: int, entry: bytes) -> None:
        """Read an entry; they come in order.

        Raises:
            InvalidStatement: it is the first, and does not describe the log as it has to.
        """
        if index == 0:
            self._first(entry)
        elif self.description is not None:
            found = parse_next_description(entry, self.description, self.identity)
            if found is not None:
                self.description = found
                self.previous, self.current = (
                    self.current,
                    build_verifier_key(self.origin, found.checkpoint_key),
                )
                self.changed_at = index
                self.rotations += 1

    def _first(self, entry: bytes) -> None:
        self.identity = compute_log_identity(entry)
        try:
            found = parse_first_description(entry)
        except InvalidStatement:
            if self.current is None:
                raise
            return  # A log of another make, whose key was given: it cannot announce another.
        if found.origin != self.origin:
            told = f"the log describes itself as {found.origin}, and signs as {self.origin}"
            raise InvalidStatement(told, reason="log-origin")
        try:
            self.previous = self.current = build_verifier_key(self.origin, found.checkpoint_key)
        except UsageError as error:
            raise InvalidStatement(
                f"the name of the log cannot be one: {error.message}", reason="log-origin"
            ) from error
        self.description = found

    def keys_at(self, size: int) -> tuple[VerifierKey, ...]:
        """Give the keys that may sign a checkpoint of so many entries; the last is the one for all
        larger ones.

        Where the last entry announces a key, the checkpoint may be by it or by the one before.
        """
        keys = (self.previous, self.current) if self.changed_at == size - 1 else (self.current,)
        return tuple(dict.fromkeys(key for key in keys if key is not None))
