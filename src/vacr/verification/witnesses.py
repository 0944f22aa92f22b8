"""Witnesses: proof that others saw the log entry of a statement, and that the log only grew.

A receipt is the word of the log alone, and a log could show everybody another tree. If the trust
store requires witnesses, a statement needs a tlog-proof: a checkpoint of a trusted log over the
statement's entry, cosigned by enough trusted witnesses. It is checked offline.

    >>> from datetime import UTC, datetime
    >>> from vacr.verification import VerifiedWitnesses, WitnessCosignature
    >>> seen = WitnessCosignature("Witness One", "w.example+…", datetime(2026, 1, 2, tzinfo=UTC))
    >>> str(VerifiedWitnesses("Example log", "log.example", 7, 12, bytes(32), (seen,), 1, 3))
    '1 of 3 cosigned (Witness One); entry 7 of 12 in Example log'

The position and the size are proven here: the cosigned checkpoint covers both, together with the
path. In a receipt, they are not signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from vacr.errors import InvalidStatement
from vacr.signing import Sign1
from vacr.transparency import (
    Cosignature,
    TlogProof,
    VerifierKey,
    build_log_entry,
    hash_leaf,
    list_tlog_proofs,
    parse_tlog_proof,
    verify_tlog_proof,
)
from vacr.verification.policy import Checks, Policy
from vacr.verification.receipts import VerifiedReceipt
from vacr.verification.trust_store import ROLE_LOG, TrustedParty, TrustStore

UNKNOWN_LOG_REASON = "witness-origin"
"""The reason for refusing a proof of a log that is not trusted."""
_MAX_CLOCK_SKEW = 300
"""Seconds by which the clocks of witness and verifier may differ."""


@dataclass(frozen=True, slots=True)
class WitnessCosignature:
    """A cosignature that counts."""

    name: str
    """The name of the witness in the trust store."""
    key: str
    """The key of the witness, as it is published."""
    time: datetime
    """When the witness cosigned, by its own clock."""


@dataclass(frozen=True, slots=True)
class VerifiedWitnesses:
    """A verified tlog-proof: enough witnesses cosigned a checkpoint over a statement's entry."""

    log: str
    """The name of the log in the trust store."""
    origin: str
    """The name of the log in its checkpoint."""
    index: int
    size: int
    root: bytes
    cosigned: tuple[WitnessCosignature, ...]
    """The cosignatures, the earliest first."""
    required: int
    known: int
    """The number of witnesses in the trust store."""

    def __str__(self) -> str:
        """Describe the witnesses, the entry's position and the log in one line."""
        names = ", ".join(sorted(cosignature.name for cosignature in self.cosigned))
        return (
            f"{len(self.cosigned)} of {self.known} cosigned ({names}); "
            f"entry {self.index} of {self.size} in {self.log}"
        )


def check_witnesses(
    message: Sign1,
    receipts: Sequence[VerifiedReceipt],
    policy: Policy,
    now: datetime,
    checks: Checks,
) -> tuple[VerifiedWitnesses, ...]:
    """Return the verified tlog-proofs of a statement, and add the results to `checks`.

    Return an empty tuple if the trust store requires no witnesses. `receipts` are the verified
    receipts of the statement; a proof of the same log must not contradict them.

    Raises:
        InvalidStatement: witnesses are required, but there is no proof of a trusted log, or a
            proof of a trusted log is invalid.
    """
    encoded_proofs = list_tlog_proofs(message)
    store = policy.trust_store
    if store is None or not store.witnesses_required:
        if encoded_proofs:
            checks.add_undecided("witnesses", "not checked: no trust store requires witnesses")
        return ()
    if not encoded_proofs:
        raise InvalidStatement(
            "the statement has no proof that witnesses saw its log entry",
            reason="witness-missing",
            hint="To add it: vacr register --refresh FILE --service URL",
        )
    store = store.exclude_witnesses(policy.log_keys)
    leaf = hash_leaf(build_log_entry(message, policy.entry_rule))
    proofs = [parse_tlog_proof(encoded) for encoded in encoded_proofs]
    outcomes = [_verify_known_proof(proof, leaf, store, now) for proof in proofs]
    verified = tuple(witnesses for witnesses in outcomes if witnesses is not None)
    if not verified:
        verify_witnesses(proofs[0], leaf, store, now)  # raises the error about the unknown log
    for witnesses in verified:
        _check_receipts_agree(witnesses, receipts)
        checks.add_passed("witnesses", str(witnesses))
    if len(verified) < len(outcomes):
        ignored = len(outcomes) - len(verified)
        checks.add_undecided("witnesses", f"{ignored} more proofs of untrusted logs, not checked")
    return verified


def _verify_known_proof(
    proof: TlogProof, leaf: bytes, store: TrustStore, now: datetime
) -> VerifiedWitnesses | None:
    """Verify a proof, or return None if its log is not trusted.

    Anybody can add proofs of other logs, and these must not make a statement fail.
    """
    try:
        return verify_witnesses(proof, leaf, store, now)
    except InvalidStatement as error:
        if error.reason != UNKNOWN_LOG_REASON:
            raise
        return None


def verify_witnesses(
    proof: TlogProof, leaf: bytes, store: TrustStore, now: datetime
) -> VerifiedWitnesses:
    """Verify a tlog-proof for the entry with this leaf hash, by the rules of a trust store.

    A cosignature counts if its witness is trusted at its time, and if that is not in the future.

    Raises:
        InvalidStatement: the proof is invalid, or too few witnesses cosigned.
    """
    witnesses = {party.note_key: party for party in store.witnesses}
    log_keys = list_log_note_keys(store)
    latest = now.timestamp() + _MAX_CLOCK_SKEW

    def counts(cosignature: Cosignature) -> bool:
        if not 0 < cosignature.time <= latest:
            return False
        return witnesses[cosignature.key].is_valid_at(_make_time(cosignature))

    entry = verify_tlog_proof(
        proof,
        leaf,
        log_keys,
        store.witness_keys,
        required=store.witnesses_required,
        counts=counts,
    )
    cosigned = tuple(
        WitnessCosignature(
            witnesses[cosignature.key].name, str(cosignature.key), _make_time(cosignature)
        )
        for cosignature in entry.cosignatures
    )
    log = store.find_log_by_note_key(entry.log_key)
    verified = VerifiedWitnesses(
        log.name if log is not None else entry.checkpoint.origin,
        entry.checkpoint.origin,
        entry.index,
        entry.checkpoint.size,
        entry.checkpoint.root,
        cosigned,
        store.witnesses_required,
        len(store.witness_keys),
    )
    _check_log_is_valid(log, verified)
    return verified


def list_log_note_keys(store: TrustStore) -> list[VerifierKey]:
    """Return the keys of trusted logs that sign checkpoints; empty if the store has none."""
    return [party.note_key for party in store.list_parties(ROLE_LOG) if party.note_key is not None]


def _check_log_is_valid(log: TrustedParty | None, verified: VerifiedWitnesses) -> None:
    """Check that a log was trusted when as many witnesses as required had cosigned.

    Raises:
        InvalidStatement: it was not.
    """
    if log is None or not verified.cosigned or not verified.required:
        return
    time = verified.cosigned[verified.required - 1].time
    if not log.is_valid_at(time):
        raise InvalidStatement(
            f"the trust store does not trust {log.name} at the time of the cosignatures, "
            f"{time:%Y-%m-%d}",
            reason="witness-log-validity",
        )


def _check_receipts_agree(
    witnesses: VerifiedWitnesses, receipts: Sequence[VerifiedReceipt]
) -> None:
    """Check that receipts of the same log name the cosigned root for the cosigned size.

    Raises:
        InvalidStatement: one names another root: the log forked, or somebody changed the receipt.
    """
    for receipt in receipts:
        if (
            receipt.subject == witnesses.origin
            and receipt.size == witnesses.size
            and receipt.root != witnesses.root
        ):
            raise InvalidStatement(
                f"the log contradicts itself: its receipt and its cosigned checkpoint have "
                f"different roots for {receipt.size} entries",
                reason="witness-inconsistent",
                hint="Keep the statement as evidence, and ask the operator of the log.",
            )


def _make_time(cosignature: Cosignature) -> datetime:
    return datetime.fromtimestamp(cosignature.time, UTC)
