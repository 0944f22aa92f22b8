"""Receipts: proofs that a trusted transparency log contains a statement (RFC 9942, RFC 9943).

A receipt is checked with nothing but itself, the statement and the log's public key. The log signs
the root of its tree; the inclusion proof leads from the statement to that root. The tree size and
the entry's position in a receipt are not signed by themselves.

    >>> from datetime import UTC, datetime
    >>> from vacr.verification import VerifiedReceipt
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> key = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    >>> logged = datetime(2026, 1, 2, tzinfo=UTC)
    >>> print(VerifiedReceipt("https://log.example", "log.example/2026", 8, 3, logged, key))
    in the log of key 6f7deef65d54a699, which calls itself https://log.example, 2026-01-02T00:00:00Z
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
    compute_thumbprint,
    parse_sign1,
)
from vacr.transparency import (
    ENTRY_RULE_STATEMENT,
    RECEIPT_CRIT_LABELS,
    UNKNOWN_TREE_REASON,
    EntryHashes,
    Receipt,
    hash_log_entry,
    list_encoded_receipts,
    parse_receipt,
)
from vacr.verification.claims import parse_claims
from vacr.verification.displayed_names import quote_words
from vacr.verification.policy import Checks, Policy, format_time
from vacr.verification.trust import check_party_validity, format_key_id, matches_key_id
from vacr.verification.trust_store import ROLE_LOG, TrustedParty

_MAX_LOG_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """A checked receipt: `key` signed that a log contains a statement."""

    issuer: str | None
    """The identity of the log, as it claims, or None if it claims none."""
    subject: str | None
    """The origin (name) of the log, as it claims, or None if it claims none."""
    size: int | None
    """The number of entries of the log, as the receipt claims; not signed. None in CCF's tree."""
    index: int | None
    """The position of the entry, as the receipt claims; not signed. None in CCF's tree."""
    time: datetime | None
    """When the log signed, or None if the receipt does not claim a time."""
    key: PublicKey
    party: TrustedParty | None = None
    """The log's entry in the trust store; None for a bare key."""
    root: bytes = b""
    """The root of the tree, which `key` signed."""
    transaction: str = ""
    """The id of the transaction in the tree of CCF; empty for other trees."""

    def __str__(self) -> str:
        """Describe the log, and the transaction and time if known; the rest is not signed."""
        place = f", transaction {self.transaction}" if self.transaction else ""
        time = f", {format_time(self.time)}" if self.time is not None else ""
        return f"in {self.log_name}{place}{time}"

    @property
    def log_name(self) -> str:
        """The log's name in the trust store, or else its key and the name that it gives itself.

        One trusted log could give itself the name of another.
        """
        if self.party is not None:
            return self.party.name
        log = f"the log of key {compute_thumbprint(self.key).hex()[:16]}"
        return f"{log}, which calls itself {quote_words(self.issuer)}" if self.issuer else log

    @property
    def position(self) -> str:
        """The entry's position and the size of the log, as text; empty if it has none.

        Neither is signed.
        """
        return f"entry {self.index} of {self.size}" if self.index is not None else ""


@dataclass(frozen=True, slots=True)
class VerifiedConsistency:
    """A checked consistency receipt: a log only grew, from `older` to `newer` entries."""

    issuer: str | None
    subject: str | None
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

    Return an empty tuple if the policy neither has log keys nor needs a receipt, and no receipt is
    of a log in the trust store.

    Raises:
        InvalidStatement: a required receipt is missing; or, if any log is trusted, a receipt is
            malformed, or it names the key of a trusted log and is invalid.
    """
    encoded_receipts = list_encoded_receipts(message)
    is_required = bool(policy.log_keys) or policy.needs_receipt
    if is_required and not encoded_receipts:
        hint = "To add a receipt: vacr register FILE --service URL"
        raise InvalidStatement(
            "the statement has no receipt from a log", reason="receipt-missing", hint=hint
        )
    if not _list_log_keys(policy) and not is_required:
        if encoded_receipts:
            checks.add_undecided("receipt", "not checked: no trusted log key given")
        return ()
    hashes = hash_log_entry(message, policy.entry_rule)
    outcomes = [
        _check_trusted_receipt(encoded, hashes, policy, now) for encoded in encoded_receipts
    ]
    verified = [receipt for receipt in outcomes if receipt is not None]
    counted, first_error = _select_valid_logs(verified, now)
    if is_required:
        _check_required_receipt(counted, encoded_receipts, policy, first_error)
    for receipt in counted:
        checks.add_passed("receipt", str(receipt))
    if first_error is not None:
        checks.add_undecided("receipt", f"does not count: {first_error.message}")
    untrusted = len(outcomes) - len(verified)
    if untrusted:
        more = " more" if counted else ""
        noun = "receipt from an untrusted log" if untrusted == 1 else "receipts from untrusted logs"
        checks.add_undecided("receipt", f"{untrusted}{more} {noun}, not checked")
    return tuple(counted)


def _list_log_keys(policy: Policy) -> tuple[PublicKey, ...]:
    """Return the keys of trusted logs: the bare ones, and those of the trust store."""
    store = policy.trust_store
    return (*policy.log_keys, *(store.list_keys(ROLE_LOG) if store is not None else ()))


def _select_valid_logs(
    receipts: list[VerifiedReceipt], now: datetime
) -> tuple[list[VerifiedReceipt], InvalidStatement | None]:
    """Return the receipts of logs that were trusted when they signed, and the first other's error.

    A receipt without a time is judged at `now`.
    """
    counted, first_error = [], None
    for receipt in receipts:
        try:
            if receipt.party is not None:
                check_party_validity(receipt.party, receipt.time or now, "log")
        except InvalidStatement as error:
            first_error = first_error or error
        else:
            counted.append(receipt)
    return counted, first_error


def _check_required_receipt(
    receipts: list[VerifiedReceipt],
    encoded_receipts: list[Any],
    policy: Policy,
    first_error: InvalidStatement | None,
) -> None:
    """Check that a receipt is of a bare log key, if the policy has any, or else of any trusted log.

    Raises:
        InvalidStatement: none is.
    """
    if any(not policy.log_keys or receipt.key in policy.log_keys for receipt in receipts):
        return
    if first_error is not None:
        raise first_error
    logs = ", ".join(map(_describe_receipt_log, encoded_receipts))
    hint = "Add --log-key with the log's key. If the log changed its keys, download them again."
    raise InvalidStatement(
        f"no receipt is from a trusted log: {logs}", reason="receipt-untrusted", hint=hint
    )


def _check_trusted_receipt(
    encoded: Any, hashes: EntryHashes, policy: Policy, now: datetime
) -> VerifiedReceipt | None:
    """Check and return a receipt in a statement, or return None if its log is not trusted.

    `hashes` are the ones of the statement. A malformed receipt is always an error. Any
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
        return _check_inclusion_receipt(receipt, hashes, policy, now)
    except InvalidStatement:
        if _is_trusted_log_key(receipt.kid, policy):
            raise
        return None


def _is_trusted_log_key(key_id: Any, policy: Policy) -> bool:
    """Return whether a `kid` header names the key of a trusted log."""
    return any(matches_key_id(key, key_id) for key in _list_log_keys(policy))


def _describe_receipt_log(encoded: Any) -> str:
    """Return `one claims to be from LOG, by key ID` for an unchecked receipt."""
    message = parse_sign1(encoded, RECEIPT_CRIT_LABELS)
    claims, key_id = message.protected.get(HEADER_CWT_CLAIMS), message.protected.get(HEADER_KID)
    issuer = claims.get(CLAIM_ISS) if isinstance(claims, dict) else None
    key = f", by key {format_key_id(key_id)}" if isinstance(key_id, bytes | str) else ""
    if issuer is None:
        return f"one does not name its log{key}"
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
        parse_receipt(receipt), hash_log_entry(message, rule), policy, now
    )


def _check_inclusion_receipt(
    receipt: Receipt, hashes: EntryHashes, policy: Policy, now: datetime
) -> VerifiedReceipt:
    """Check that a trusted log signed a tree with this statement, and return the facts."""
    root = _compute_receipt_root(receipt, hashes, lenient=policy.lenient_receipts)
    key = _find_receipt_signer(receipt, root, _list_log_keys(policy))
    store = policy.trust_store
    party = store.find_by_key(key, ROLE_LOG) if store is not None else None
    issuer, subject, time = _parse_log_claims(receipt, now)
    if receipt.ccf_proofs:
        transaction = receipt.ccf_proofs[0].transaction
        return VerifiedReceipt(issuer, subject, None, None, time, key, party, root, transaction)
    proof = receipt.inclusions[0]
    return VerifiedReceipt(issuer, subject, proof.size, proof.index, time, key, party, root)


def _compute_receipt_root(receipt: Receipt, hashes: EntryHashes, *, lenient: bool) -> bytes:
    """Return the root hash that all inclusion proofs of a receipt compute for a statement.

    Raises:
        InvalidStatement: the receipt has no inclusion proof, or an empty one unless `lenient`, or
            its proofs compute different roots.
    """
    paths = [proof.path for proof in receipt.inclusions]
    sided_paths = [proof.path for proof in receipt.ccf_proofs]
    if not (paths or sided_paths) or receipt.consistencies:
        raise InvalidStatement(
            "the receipt does not prove that a log contains the statement",
            reason="receipt-kind",
        )
    if not lenient and not (all(paths) and all(sided_paths)):
        raise InvalidStatement(
            "the receipt's proof is empty, but RFC 9942 requires at least one hash",
            reason="receipt-path-empty",
            hint=(
                "The log has only one entry. A log that starts with an entry of its own avoids "
                "this; Policy(lenient_receipts=True) accepts it."
            ),
        )
    roots = receipt.compute_roots(hashes)
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


def _parse_log_claims(
    receipt: Receipt, now: datetime
) -> tuple[str | None, str | None, datetime | None]:
    """Return a receipt's issuer, subject and time of signing; None for each missing one.

    RFC 9943 demands that a log names itself. Trust does not depend on it: the log's key decides.

    Raises:
        InvalidStatement: the claims are malformed or in the future.
    """
    try:
        claims = parse_claims(receipt.message.protected.get(HEADER_CWT_CLAIMS, {}), now)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"invalid claims in a receipt: {error.message}", reason=f"receipt-{error.reason}"
        ) from error
    issuer, subject, time = claims.get(CLAIM_ISS), claims.get(CLAIM_SUB), claims.get(CLAIM_IAT)
    return issuer, subject, datetime.fromtimestamp(time, UTC) if time is not None else None
