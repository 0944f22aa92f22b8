"""Receipts: proofs that a trusted transparency log contains a statement (RFC 9942, RFC 9943).

A receipt is checked with nothing but itself, the statement and the log's public key. The log signs
the root of its tree; the inclusion proof leads from the statement to that root. The tree size and
the entry's position in a receipt are not signed by themselves.

    >>> from datetime import UTC, datetime
    >>> from vacr.verification import VerifiedReceipt
    >>> logged = datetime(2026, 1, 2, tzinfo=UTC)
    >>> str(VerifiedReceipt("https://log.example", "log.example/2026", 8, 3, logged, key=None))
    'in https://log.example, entry 3 of 8, 2026-01-02T00:00:00Z'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from vacr.errors import InvalidStatement
from vacr.signing import (
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_CWT_CLAIMS,
    HEADER_KID,
    PublicKey,
    Sign1,
    parse_sign1,
)
from vacr.transparency import (
    ENTRY_RULE_STATEMENT,
    RECEIPT_CRIT_LABELS,
    UNKNOWN_TREE_REASON,
    Receipt,
    build_log_entry,
    hash_leaf,
    list_encoded_receipts,
    parse_receipt,
)
from vacr.verification.claims import parse_claims
from vacr.verification.policy import Checks, Policy, format_time
from vacr.verification.trust import matches_key_id

_NO_LOG_NAME, _MAX_LOG_NAME_LENGTH = "an unnamed log", 200


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """A checked receipt: `key` signed that a log contains a statement as its entry `index`."""

    issuer: str
    """The identity of the log, as it claims."""
    subject: str
    """The origin (name) of the log, as it claims."""
    size: int
    """The number of entries of the log when it signed."""
    index: int
    time: datetime | None
    """When the log signed, or None if the receipt does not claim a time."""
    key: PublicKey

    def __str__(self) -> str:
        """Describe the log, the entry's position and the time, if known, in one line."""
        time = f", {format_time(self.time)}" if self.time is not None else ""
        return f"in {self.issuer}, entry {self.index} of {self.size}{time}"


@dataclass(frozen=True, slots=True)
class VerifiedConsistency:
    """A checked consistency receipt: a log only grew, from `older` to `newer` entries."""

    issuer: str
    subject: str
    older: int
    newer: int
    root: bytes
    """The root hash of the newer tree, which `key` signed."""
    time: datetime | None
    key: PublicKey


def check_receipts(
    message: Sign1, policy: Policy, now: datetime, checks: Checks
) -> tuple[VerifiedReceipt, ...]:
    """Return the valid receipts of trusted logs in a statement, and add the results to `checks`.

    Return an empty tuple if the policy has no log keys: then receipts are not required.

    Raises:
        InvalidStatement: the policy has log keys, but no receipt is of one of these logs, or a
            receipt that names one of these keys is invalid.
    """
    encoded_receipts = list_encoded_receipts(message)
    if not policy.log_keys:
        if encoded_receipts:
            checks.add_undecided("receipt", "not checked: no trusted log key given")
        return ()
    if not encoded_receipts:
        hint = "To add a receipt: vacr register FILE --service URL"
        raise InvalidStatement(
            "the statement has no receipt from a log", reason="receipt-missing", hint=hint
        )
    leaf = hash_leaf(build_log_entry(message, policy.entry_rule))
    outcomes = [_check_trusted_receipt(encoded, leaf, policy, now) for encoded in encoded_receipts]
    verified = tuple(receipt for receipt in outcomes if receipt is not None)
    if not verified:
        logs = ", ".join(map(_describe_receipt_log, encoded_receipts))
        hint = "Add --log-key with the log's key. If the log changed its keys, download them again."
        raise InvalidStatement(
            f"no receipt is from a trusted log: {logs}",
            reason="receipt-untrusted",
            hint=hint,
        )
    for receipt in verified:
        checks.add_passed("receipt", str(receipt))
    untrusted = len(outcomes) - len(verified)
    if untrusted:
        checks.add_undecided("receipt", f"{untrusted} more from untrusted logs, not checked")
    return verified


def _check_trusted_receipt(
    encoded: Any, leaf: bytes, policy: Policy, now: datetime
) -> VerifiedReceipt | None:
    """Check and return a receipt in a statement, or return None if its log is not trusted.

    `leaf` is the hash of the statement's log entry. A malformed receipt is always an error. Any
    other invalid receipt is an error only if it names a trusted log's key: anybody can add receipts
    of other logs, and these must not make a statement fail.
    """
    try:
        receipt = parse_receipt(encoded)
    except InvalidStatement as error:
        if error.reason != UNKNOWN_TREE_REASON:
            raise
        key_id = parse_sign1(encoded, RECEIPT_CRIT_LABELS).protected.get(HEADER_KID)
        if _is_trusted_log_key(key_id, policy):
            raise
        return None
    try:
        return _check_inclusion_receipt(receipt, leaf, policy, now)
    except InvalidStatement:
        if _is_trusted_log_key(receipt.kid, policy):
            raise
        return None


def _is_trusted_log_key(key_id: Any, policy: Policy) -> bool:
    """Return whether a `kid` header names a log key of the policy."""
    return any(matches_key_id(key, key_id) for key in policy.log_keys)


def _describe_receipt_log(encoded: Any) -> str:
    """Return `one claims to be from LOG, by key ID` for an unchecked receipt."""
    message = parse_sign1(encoded, RECEIPT_CRIT_LABELS)
    claims, key_id = message.protected.get(HEADER_CWT_CLAIMS), message.protected.get(HEADER_KID)
    issuer = claims.get(CLAIM_ISS, _NO_LOG_NAME) if isinstance(claims, dict) else _NO_LOG_NAME
    key = f", by key {key_id[:8].hex()}" if isinstance(key_id, bytes) else ""
    return f"one claims to be from {str(issuer)[:_MAX_LOG_NAME_LENGTH]}{key}"


def check_receipt(
    message: Sign1,
    receipt: bytes,
    log_keys: Sequence[PublicKey],
    now: datetime,
    *,
    rule: str = ENTRY_RULE_STATEMENT,
) -> VerifiedReceipt:
    """Check a receipt for a statement, and return its facts.

    The statement need not contain the receipt. `rule` is how the log derives an entry from the
    statement.

    Raises:
        InvalidStatement: it is malformed, covers another entry, or none of the keys signed it.
    """
    policy = Policy(log_keys=tuple(log_keys), entry_rule=rule)
    return _check_inclusion_receipt(
        parse_receipt(receipt), hash_leaf(build_log_entry(message, rule)), policy, now
    )


def _check_inclusion_receipt(
    receipt: Receipt, leaf: bytes, policy: Policy, now: datetime
) -> VerifiedReceipt:
    """Check that a trusted log signed a tree that contains `leaf`, and return the facts."""
    root = _compute_receipt_root(receipt, leaf, lenient=policy.lenient_receipts)
    key = _find_receipt_signer(receipt, root, policy.log_keys)
    issuer, subject, time = _parse_log_claims(receipt, now)
    proof = receipt.inclusions[0]
    return VerifiedReceipt(issuer, subject, proof.size, proof.index, time, key)


def _compute_receipt_root(receipt: Receipt, leaf: bytes, *, lenient: bool) -> bytes:
    """Return the root hash that all inclusion proofs of a receipt compute from `leaf`.

    Raises:
        InvalidStatement: the receipt has no inclusion proof, or an empty one unless `lenient`, or
            its proofs compute different roots.
    """
    if not receipt.inclusions or receipt.consistencies:
        raise InvalidStatement(
            "the receipt does not prove that a log contains the statement",
            reason="receipt-kind",
        )
    if not lenient and not all(proof.path for proof in receipt.inclusions):
        raise InvalidStatement(
            "the receipt's proof is empty, but RFC 9942 requires at least one hash",
            reason="receipt-path-empty",
            hint=(
                "The log has only one entry. A log that starts with an entry of its own avoids "
                "this; Policy(lenient_receipts=True) accepts it."
            ),
        )
    roots = {proof.root(leaf) for proof in receipt.inclusions}
    if len(roots) > 1:
        raise InvalidStatement(
            "the receipt's proofs lead to different tree roots", reason="receipt-root"
        )
    return roots.pop()


def check_consistency_receipt(
    receipt: bytes, older_root: bytes, log_keys: Sequence[PublicKey], now: datetime
) -> VerifiedConsistency:
    """Check a receipt that proves that a log only grew since its root was `older_root`.

    Return the sizes of both trees, and the newer root.

    Raises:
        InvalidStatement: it is malformed, the older tree is not the beginning of the newer one, or
            none of the keys signed the newer root.
    """
    parsed = parse_receipt(receipt)
    if len(parsed.consistencies) != 1 or parsed.inclusions:
        raise InvalidStatement(
            "the receipt does not prove that a log only grew", reason="receipt-kind"
        )
    (proof,) = parsed.consistencies
    root = proof.root(older_root)
    key = _find_receipt_signer(parsed, root, log_keys)
    issuer, subject, time = _parse_log_claims(parsed, now)
    return VerifiedConsistency(issuer, subject, proof.older, proof.newer, root, time, key)


def _find_receipt_signer(receipt: Receipt, root: bytes, log_keys: Sequence[PublicKey]) -> PublicKey:
    """Return the log key that signed a tree root; the header `kid` only decides the order.

    Raises:
        InvalidStatement: none of the keys signed it.
    """
    first_error = None
    for key in sorted(log_keys, key=lambda key: not matches_key_id(key, receipt.kid)):
        try:
            receipt.check(root, key)
        except InvalidStatement as error:
            first_error = first_error or error
        else:
            return key
    raise first_error or InvalidStatement(
        "no trusted log key to verify the receipt with",
        reason="receipt-untrusted",
        hint="Add --log-key with the log's public key.",
    )


def _parse_log_claims(receipt: Receipt, now: datetime) -> tuple[str, str, datetime | None]:
    """Return a receipt's issuer and subject, and its time of signing or None.

    Raises:
        InvalidStatement: the claims are malformed or in the future, or name no issuer or subject.
    """
    try:
        claims = parse_claims(receipt.message.protected.get(HEADER_CWT_CLAIMS, {}), now)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"invalid claims in a receipt: {error.message}", reason=f"receipt-{error.reason}"
        ) from error
    issuer, subject, time = claims.get(CLAIM_ISS), claims.get(CLAIM_SUB), claims.get(CLAIM_IAT)
    if issuer is None or subject is None:
        raise InvalidStatement("the receipt does not name its log", reason="receipt-claims-missing")
    return issuer, subject, datetime.fromtimestamp(time, UTC) if time is not None else None
