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
from vacr.receipts import transparent, tree
from vacr.receipts.entries import STATEMENT, entry_of
from vacr.receipts.receipt import OTHER_TREE, UNDERSTOOD, Receipt, parse_receipt
from vacr.signing import labels
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import Sign1, parse
from vacr.verification.checks import Checks
from vacr.verification.claims import read_claims
from vacr.verification.policy import Policy
from vacr.verification.trust import is_named

_NOBODY, _LONGEST = "no name", 200


@dataclass(frozen=True, slots=True)
class Logged:
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
) -> tuple[Logged, ...]:
    """Check the receipts in a statement; gives those of logs that are trusted.

    Raises:
        InvalidStatement: there is none of a trusted log, or one that says it is does not hold.
    """
    written = transparent.written_in(message)
    if not policy.log_keys:
        if written:
            checks.undecided("receipt", "there is one, and no log is trusted")
        return ()
    if not written:
        hint = "vacr register FILE --service URL puts one into it."
        raise InvalidStatement(
            "there is no receipt of a log in it", reason="receipt-missing", hint=hint
        )
    leaf = tree.leaf_hash(entry_of(message, policy.entry_rule))
    found = [_held(one, leaf, policy, now) for one in written]
    held = tuple(one for one in found if one is not None)
    if not held:
        told = f"no receipt is of a log that is trusted: {', '.join(map(_said, written))}"
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
    rule: str = STATEMENT,
) -> Logged:
    """Check a receipt for a statement, which need not be in it.

    Raises:
        InvalidStatement: it is none, is about something else, or none of the keys signed it.
    """
    policy = Policy(log_keys=tuple(log_keys), entry_rule=rule)
    return _check(parse_receipt(receipt), tree.leaf_hash(entry_of(message, rule)), policy, now)


@dataclass(frozen=True, slots=True)
class Grown:
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


def check_consistency(
    receipt: bytes, older_root: bytes, log_keys: Sequence[PublicKey], now: datetime
) -> Grown:
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
    key = _signer(read, root, log_keys)
    issuer, subject, time = _named(read, now)
    return Grown(issuer, subject, proof.older, proof.newer, root, time, key)


def _held(written: Any, leaf: bytes, policy: Policy, now: datetime) -> Logged | None:
    """Check a receipt in a statement; nothing where it is of a log that is not trusted, so that
    nobody here can tell.
    """
    try:
        receipt = parse_receipt(written)
    except InvalidStatement as error:
        if error.reason != OTHER_TREE or _is_trusted(
            parse(written, UNDERSTOOD).protected.get(labels.KID), policy
        ):
            raise
        return None
    try:
        return _check(receipt, leaf, policy, now)
    except InvalidStatement:
        if _is_trusted(receipt.kid, policy):
            raise
        return None


def _said(written: Any) -> str:
    """Say of which log a receipt is, by its own words."""
    message = parse(written, UNDERSTOOD)
    claims, kid = message.protected.get(labels.CWT_CLAIMS), message.protected.get(labels.KID)
    log = str(claims.get(labels.ISS, _NOBODY) if isinstance(claims, dict) else _NOBODY)[:_LONGEST]
    return f"one says it is of {log}" + (
        f", by key {kid[:8].hex()}" if isinstance(kid, bytes) else ""
    )


def _is_trusted(kid: Any, policy: Policy) -> bool:
    return any(is_named(key, kid) for key in policy.log_keys)


def _check(receipt: Receipt, leaf: bytes, policy: Policy, now: datetime) -> Logged:
    root = _root(receipt, leaf, lenient=policy.lenient_receipts)
    key = _signer(receipt, root, policy.log_keys)
    issuer, subject, time = _named(receipt, now)
    proof = receipt.inclusions[0]
    return Logged(issuer, subject, proof.size, proof.index, time, key)


def _named(receipt: Receipt, now: datetime) -> tuple[str, str, datetime | None]:
    """Give the names that a receipt has for its log, and when it was signed, if it says so."""
    try:
        claims = read_claims(receipt.message.protected.get(labels.CWT_CLAIMS, {}), now)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the log says in a receipt: {error.message}", reason=f"receipt-{error.reason}"
        ) from error
    issuer, subject, time = claims.get(labels.ISS), claims.get(labels.SUB), claims.get(labels.IAT)
    if issuer is None or subject is None:
        raise InvalidStatement(
            "a receipt that does not name its log", reason="receipt-claims-missing"
        )
    return issuer, subject, datetime.fromtimestamp(time, UTC) if time is not None else None


def _root(receipt: Receipt, leaf: bytes, *, lenient: bool) -> bytes:
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


def _signer(receipt: Receipt, root: bytes, log_keys: Sequence[PublicKey]) -> PublicKey:
    """Give the key that signed a root: most likely the one that is named, but that is only
    a hint.
    """
    refused = None
    for key in sorted(log_keys, key=lambda key: not is_named(key, receipt.kid)):
        try:
            receipt.check(root, key)
        except InvalidStatement as error:
            refused = refused or error
        else:
            return key
    raise refused or InvalidStatement("no key to verify a receipt with", reason="receipt-untrusted")
