"""The description that a log signs of itself, and the chain of its keys.

The first entry of a log is its description: its name, its keys and its rules, signed with the
receipt key in it. The digest of that entry is the log's identity, and neither a move nor a new key
changes it. A later description, signed with the previous key, announces new keys.

    >>> from vacr.signing import KeySigner, generate_key
    >>> from vacr.transparency import LogDescription, compute_log_identity, parse_first_description
    >>> signer, checkpoints = KeySigner(generate_key("es256")), generate_key("eddsa").public_key()
    >>> description = LogDescription("log.example", signer.public_key, checkpoints, created=0)
    >>> entry = description.statement(signer)
    >>> compute_log_identity(entry)
    'ni:///sha-256;...'
    >>> parse_first_description(entry).origin
    'log.example'
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
    """A log's description of itself: its name, its keys and its rules."""

    origin: str
    """The log's name: the origin of its checkpoints and the subject of its receipts."""
    receipt_key: PublicKey
    checkpoint_key: ed25519.Ed25519PublicKey
    created: int
    entry_rule: str = ENTRY_RULE_STATEMENT
    log: str | None = None
    """The log's identity; the first description cannot contain it."""

    def statement(self, signer: Signer) -> bytes:
        """Sign the description, and return it as a log entry.

        `signer` has the receipt key of this description if it is the log's first, and otherwise
        the receipt key of the previous description.
        """
        content = {
            "origin": self.origin,
            "receipt-key": build_cose_key(self.receipt_key),
            "checkpoint-key": build_cose_key(self.checkpoint_key),
            "tree": TREE_ALGORITHM,
            "entry": self.entry_rule,
        }
        if self.log is not None:
            content["log"] = self.log
        signed = sign(
            encode_deterministic_cbor(content),
            signer,
            profile=ATTACHED,
            content_type=DESCRIPTION_CONTENT_TYPE,
            claims=StatementClaims(subject=self.origin, issued_at=self.created),
        )
        return build_log_entry(parse_sign1(signed))


def compute_log_identity(entry: bytes) -> str:
    """Return the identity of a log: the digest of its first entry, as a URI (RFC 6920)."""
    digest = hashlib.sha256(entry).digest()
    return "ni:///sha-256;" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def parse_first_description(entry: bytes) -> LogDescription:
    """Parse the first entry of a log, and check that the key in it signed it.

    Raises:
        InvalidStatement: it is not a description, or another key signed it.
    """
    parsed = _parse_description_entry(entry, 0)
    if parsed is None:
        raise InvalidStatement(
            "the first entry is not the log's description", reason="log-description"
        )
    message, description = parsed
    _check_description_signature(message, description.receipt_key)
    return description


def parse_description(entry: bytes, position: int) -> LogDescription:
    """Parse an entry that must be a description of the log, without checking its signature.

    `position` is the position of the entry in the log, for error messages.

    Raises:
        InvalidStatement: the entry is not a description of a log.
    """
    parsed = _parse_description_entry(entry, position)
    if parsed is None:
        raise InvalidStatement(
            f"entry {position} is not a description of the log", reason="log-description"
        )
    return parsed[1]


def parse_next_description(entry: bytes, before: LogDescription, log: str) -> LogDescription | None:
    """Return the description in an entry if it announces a log's next keys, and otherwise `None`.

    It must have the origin of `before`, name `log` as the log's identity, and be signed with the
    receipt key of `before`.
    """
    try:
        parsed = _parse_description_entry(entry, None)
        if parsed is None:
            return None
        message, description = parsed
        if description.log != log or description.origin != before.origin:
            return None
        _check_description_signature(message, before.receipt_key)
    except InvalidStatement:
        return None  # Anybody may register an entry that looks like a description.
    return description


def _check_description_signature(message: Sign1, key: PublicKey) -> None:
    """Check that `key` signed a description; raise InvalidStatement otherwise."""
    verify_signature(
        message.protected.get(HEADER_ALG),
        key,
        message.signature,
        message.to_be_signed(message.payload or b""),
    )


def _parse_description_entry(
    entry: bytes, position: int | None
) -> tuple[Sign1, LogDescription] | None:
    """Return an entry parsed as COSE_Sign1, and the log description in it.

    Return None if the entry has another content type. The signature is not checked. `position` is
    the position of the entry in the log, for error messages, or None if nobody will see them.

    Raises:
        InvalidStatement: the description is malformed.
    """
    if DESCRIPTION_CONTENT_TYPE.encode() not in entry:
        return None
    message = parse_sign1(entry)
    if (
        message.protected.get(HEADER_CONTENT_TYPE) != DESCRIPTION_CONTENT_TYPE
        or build_log_entry(message) != entry
    ):
        return None
    try:
        content = decode_cbor(message.payload or b"")
        return message, _parse_description_payload(content, message.protected)
    except (UnreadableInput, LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise InvalidStatement(
            f"entry {position} is a malformed description of the log: {problem}",
            reason="log-description",
            hint="Report it to the operator of the log.",
        ) from error


def _parse_description_payload(content: Any, protected: dict[Any, Any]) -> LogDescription:
    """Return the description in a decoded payload; its time is in the protected header.

    Raises:
        LookupError, TypeError, ValueError: a member is missing or invalid.
    """
    checkpoint_key = parse_cose_key(content["checkpoint-key"])
    if not isinstance(checkpoint_key, ed25519.Ed25519PublicKey):
        raise TypeError("the checkpoint key is not an Ed25519 key")
    if (
        content["tree"] != TREE_ALGORITHM
        or content["entry"] not in ENTRY_RULES
        or not isinstance(content["origin"], str)
    ):
        raise ValueError("the type of tree, the entry rule or the origin is invalid")
    created = protected[HEADER_CWT_CLAIMS][CLAIM_IAT]
    if type(created) is not int:
        raise TypeError("the time of signing is not a whole number")
    receipt_key = parse_cose_key(content["receipt-key"])
    return LogDescription(
        content["origin"],
        receipt_key,
        checkpoint_key,
        created,
        content["entry"],
        content.get("log"),
    )


class LogKeyChain:
    """The keys of a log, followed through the descriptions among its entries.

    `current` is the checkpoint key after the entries read so far, `previous` the one before it.
    """

    def __init__(
        self,
        origin: str,
        current: VerifierKey | None,
        identity: str = "",
        receipt_key: PublicKey | None = None,
    ) -> None:
        """Start with the known keys: `current` for checkpoints, `receipt_key` to announce the next.

        To start after the first entry, pass the log's `identity`; otherwise the first entry sets
        it. Without `current`, the first entry must be the log's description.
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
        """Take over the keys if the entry at `index` is a valid description of this log.

        Call it for every entry, in order. The first sets the identity of the log. Any other entry
        that is not a description of this log changes nothing.

        Raises:
            InvalidStatement: the first entry describes a log of another name, or is not a
                description although no key is known.
        """
        if index == 0:
            self._read_first(entry)
            return
        if self.description is None:
            return
        description = parse_next_description(entry, self.description, self.identity)
        if description is not None:
            self.description = description
            self.previous = self.current
            self.current = build_verifier_key(self.origin, description.checkpoint_key)
            self.changed_at = index
            self.rotations += 1

    def _read_first(self, entry: bytes) -> None:
        """Set the log's identity from its first entry, and its keys if that is a description.

        Raises:
            InvalidStatement: the entry is not a description and no key is known, or it names
                another origin.
        """
        self.identity = compute_log_identity(entry)
        try:
            description = parse_first_description(entry)
        except InvalidStatement:
            if self.current is None:
                raise
            return  # Another kind of log, with a known key. It cannot announce new keys.
        if description.origin != self.origin:
            raise InvalidStatement(
                f"the log signs as {self.origin}, but its description names {description.origin}",
                reason="log-origin",
            )
        try:
            key = build_verifier_key(self.origin, description.checkpoint_key)
        except UsageError as error:
            raise InvalidStatement(
                f"the log has an invalid name: {error.message}", reason="log-origin"
            ) from error
        self.previous = self.current = key
        self.description = description

    def keys_at(self, size: int) -> tuple[VerifierKey, ...]:
        """Return the keys that may sign the checkpoint over the `size` entries read so far.

        If the last of these entries announces a key, the previous key may have signed as well, and
        comes first. The last key in the result signs all larger checkpoints.
        """
        keys = (self.previous, self.current) if self.changed_at == size - 1 else (self.current,)
        return tuple(dict.fromkeys(key for key in keys if key is not None))
