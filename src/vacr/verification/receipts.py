"""Receipts of transparency logs: that a log which is trusted has the statement. Step: verify.
Follows RFC 9942 and RFC 9943.

A receipt is checked with nothing but itself, the statement and the log's key. What it says of the
size of the tree and of the place of the entry is not signed: the root is, and that the statement is
under it.
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
from vacr.verification.policy import Checks, Policy
from vacr.verification.trust import matches_key_id

_NO_LOG_NAME, _MAX_LOG_NAME_LENGTH = "no name", 200


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """What a receipt shows: which log has the statement, where in a tree of which size, and when it
    had it at the latest.
    """

    issuer: str
    subject: str
    size: int
    index: int
    time: datetime | None
    key: PublicKey

    def __str__(self) -> str:
        """Say it in a line."""
        when = f", {self.time:%Y-%m-%dT%H:%M:%SZ}" if self.time is not None else ""
        return f"in {self.issuer}, entry {self.index} of {self.size}{when}"


def check_receipts(
    message: Sign1, policy: Policy, now: datetime, checks: Checks
) -> tuple[VerifiedReceipt, ...]:
    """Check the receipts in a statement; gives those of logs that are trusted.

    Raises:
        InvalidStatement: there is none of a trusted log, or one that says it is does not hold.
    """
    written = list_encoded_receipts(message)
    if not policy.log_keys:
        if written:
            checks.undecided("receipt", "there is one, and no log is trusted")
        return ()
    if not written:
        hint = "vacr register FILE --service URL puts one into it."
        raise InvalidStatement(
            "there is no receipt of a log in it", reason="receipt-missing", hint=hint
        )
    leaf = hash_leaf(build_log_entry(message, policy.entry_rule))
    found = [_check_trusted_receipt(one, leaf, policy, now) for one in written]
    held = tuple(one for one in found if one is not None)
    if not held:
        told = f"no receipt is of a log that is trusted: {', '.join(map(_describe_receipt_log, written))}"
        hint = (
            "Name the key of the log with --log-key. If the log has changed its keys, get "
            "them again."
        )
        raise InvalidStatement(told, reason="receipt-untrusted", hint=hint)
    for logged in held:
        checks.passed("receipt", str(logged))
    if len(held) < len(found):
        checks.undecided("receipt", f"{len(found) - len(held)} more, of logs that are not trusted")
    return held


def check_receipt(
    message: Sign1,
    receipt: bytes,
    log_keys: Sequence[PublicKey],
    now: datetime,
    *,
    rule: str = ENTRY_RULE_STATEMENT,
) -> VerifiedReceipt:
    """Check a receipt for a statement, which need not be in it.

    Raises:
        InvalidStatement: it is none, is about something else, or none of the keys signed it.
    """
    policy = Policy(log_keys=tuple(log_keys), entry_rule=rule)
    return _check_inclusion_receipt(
        parse_receipt(receipt), hash_leaf(build_log_entry(message, rule)), policy, now
    )


@dataclass(frozen=True, slots=True)
class VerifiedConsistency:
    """What a receipt of consistency shows: which log only grew, from which size to which, and the
    root that it has signed.
    """

    issuer: str
    subject: str
    older: int
    newer: int
    root: bytes
    time: datetime | None
    key: PublicKey


def check_consistency_receipt(
    receipt: bytes, older_root: bytes, log_keys: Sequence[PublicKey], now: datetime
) -> VerifiedConsistency:
    """Check a receipt that shows that a tree, whose root is known, is the beginning of a newer one.

    Raises:
        InvalidStatement: it is none, the older tree is not that beginning, or none of the keys
            signed the newer root.
    """
    read = parse_receipt(receipt)
    if len(read.consistencies) != 1 or read.inclusions:
        raise InvalidStatement(
            "a receipt that proves something else than that a log only grew", reason="receipt-kind"
        )
    (proof,) = read.consistencies
    root = proof.root(older_root)
    key = _find_receipt_signer(read, root, log_keys)
    issuer, subject, time = _parse_log_claims(read, now)
    return VerifiedConsistency(issuer, subject, proof.older, proof.newer, root, time, key)


def _check_trusted_receipt(
    written: Any, leaf: bytes, policy: Policy, now: datetime
) -> VerifiedReceipt | None:
    """Check a receipt in a statement; nothing where it is of a log that is not trusted, so that
    nobody here can tell.
    """
    try:
        receipt = parse_receipt(written)
    except InvalidStatement as error:
        if error.reason != UNKNOWN_TREE_REASON or _is_trusted_log_key(
            parse_sign1(written, RECEIPT_CRIT_LABELS).protected.get(HEADER_KID), policy
        ):
            raise
        return None
    try:
        return _check_inclusion_receipt(receipt, leaf, policy, now)
    except InvalidStatement:
        if _is_trusted_log_key(receipt.kid, policy):
            raise
        return None


def _describe_receipt_log(written: Any) -> str:
    """Say of which log a receipt is, by its own words."""
    message = parse_sign1(written, RECEIPT_CRIT_LABELS)
    claims, kid = message.protected.get(HEADER_CWT_CLAIMS), message.protected.get(HEADER_KID)
    log = str(claims.get(CLAIM_ISS, _NO_LOG_NAME) if isinstance(claims, dict) else _NO_LOG_NAME)[
        :_MAX_LOG_NAME_LENGTH
    ]
    return f"one says it is of {log}" + (
        f", by key {kid[:8].hex()}" if isinstance(kid, bytes) else ""
    )


def _is_trusted_log_key(kid: Any, policy: Policy) -> bool:
    return any(matches_key_id(key, kid) for key in policy.log_keys)


def _check_inclusion_receipt(
    receipt: Receipt, leaf: bytes, policy: Policy, now: datetime
) -> VerifiedReceipt:
    root = _compute_receipt_root(receipt, leaf, lenient=policy.lenient_receipts)
    key = _find_receipt_signer(receipt, root, policy.log_keys)
    issuer, subject, time = _parse_log_claims(receipt, now)
    proof = receipt.inclusions[0]
    return VerifiedReceipt(issuer, subject, proof.size, proof.index, time, key)


def _parse_log_claims(receipt: Receipt, now: datetime) -> tuple[str, str, datetime | None]:
    """Give the names that a receipt has for its log, and when it was signed, if it says so."""
    try:
        claims = parse_claims(receipt.message.protected.get(HEADER_CWT_CLAIMS, {}), now)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the log says in a receipt: {error.message}", reason=f"receipt-{error.reason}"
        ) from error
    issuer, subject, time = claims.get(CLAIM_ISS), claims.get(CLAIM_SUB), claims.get(CLAIM_IAT)
    if issuer is None or subject is None:
        raise InvalidStatement(
            "a receipt that does not name its log", reason="receipt-claims-missing"
        )
    return issuer, subject, datetime.fromtimestamp(time, UTC) if time is not None else None


def _compute_receipt_root(receipt: Receipt, leaf: bytes, *, lenient: bool) -> bytes:
    """Give the root that the proofs of a receipt lead to."""
    if not receipt.inclusions or receipt.consistencies:
        raise InvalidStatement(
            "a receipt that proves something else than that an entry is in a log",
            reason="receipt-kind",
        )
    if not lenient and not all(proof.path for proof in receipt.inclusions):
        raise InvalidStatement(
            "a proof with an empty path, of a log with one entry: RFC 9942 wants at least one hash",
            reason="receipt-path-empty",
            hint=(
                "A log that begins with an entry of its own has none; "
                "Policy(lenient_receipts=True) takes it."
            ),
        )
    roots = {proof.root(leaf) for proof in receipt.inclusions}
    if len(roots) > 1:
        raise InvalidStatement(
            "the proofs of a receipt lead to different roots", reason="receipt-root"
        )
    return roots.pop()


def _find_receipt_signer(receipt: Receipt, root: bytes, log_keys: Sequence[PublicKey]) -> PublicKey:
    """Give the key that signed a root: most likely the one that is named, but that is only
    a hint.
    """
    refused = None
    for key in sorted(log_keys, key=lambda key: not matches_key_id(key, receipt.kid)):
        try:
            receipt.check(root, key)
        except InvalidStatement as error:
            refused = refused or error
        else:
            return key
    raise refused or InvalidStatement("no key to verify a receipt with", reason="receipt-untrusted")
