"""The relying party: require evidence, or a verifier's result, about a record (RFC 9334).

In the passport model, the attester presents the result of a verifier. In the background-check
model, the relying party appraises the evidence itself. Either way, the tier must suffice, and the
message must be about this record.

    >>> from datetime import UTC, datetime
    >>> from vacr.evidence import EvidenceRequirement, Tier, check_evidence_requirement
    >>> requirement, now = EvidenceRequirement(Tier.AFFIRMING), datetime(2026, 1, 1, tzinfo=UTC)
    >>> check_evidence_requirement(None, bytes(32), requirement, now)
    Traceback (most recent call last):
    ...
    vacr.errors.InvalidStatement: nothing vouches for how it was recorded
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from vacr.errors import InvalidStatement
from vacr.evidence.attester import JournalHead
from vacr.evidence.messages import RatsMessages, parse_messages
from vacr.evidence.results import (
    TRUST_NO_CLAIM,
    AttestationResult,
    Tier,
    decode_signed_result,
    describe_result,
    describe_storage_caveat,
    get_tier,
    is_tier_sufficient,
)
from vacr.evidence.tokens import CLAIM_RECORD, EAT_NONCE, NAMED_INFO_SHA256, parse_cwt
from vacr.evidence.verifier import MAX_CLOCK_SKEW, AppraisalPolicy, appraise_evidence
from vacr.signing import PublicKey

RESULT_MISSING_HINT = (
    "Have it appraised: vacr appraise --key writes a result. Or do it here: "
    "--evidence-policy and --nonce, not --verifier-key."
)
EVIDENCE_MISSING_HINT = (
    "vacr verify --verifier-key believes a verifier's result; what --evidence-policy and "
    "vacr appraise take is evidence."
)
"""The hints if there is only evidence, and if there is only a result."""


@dataclass(frozen=True)
class EvidenceRequirement:
    """The requirement of a relying party."""

    tier: Tier
    policy: AppraisalPolicy | None = None
    """The appraisal policy of a background check."""
    verifiers: tuple[PublicKey, ...] = ()
    """The keys of trusted verifiers in the passport model."""
    nonce: bytes | None = None
    """The nonce of the challenge.

    Without it, a result may have been shown before, and evidence cannot be appraised.
    """
    hardware: bool = False
    """Whether hardware must be affirmed; a key in software never is."""


def check_evidence_requirement(
    data: bytes | None,
    record: bytes,
    requirement: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None = None,
) -> str:
    """Check that evidence or a result satisfies a requirement, and describe it.

    `record` is the digest of the record, `journal` the journal head that the record names.

    Raises:
        InvalidStatement: it does not satisfy the requirement, or is missing.
    """
    if data is None:
        hint = "vacr attest makes evidence, vacr appraise a result."
        raise InvalidStatement(
            "nothing vouches for how it was recorded", reason="evidence-missing", hint=hint
        )
    messages = parse_messages(data)
    if messages.result is not None and requirement.verifiers:
        return _check_passport(
            messages.result, messages.evidence, record, requirement, now, journal
        )
    if messages.evidence is not None and requirement.policy is not None:
        return _run_background_check(messages, record, requirement, now, journal)
    available, hint = (
        ("evidence, and no result", RESULT_MISSING_HINT)
        if requirement.verifiers
        else ("a result, and no evidence", EVIDENCE_MISSING_HINT)
    )
    raise InvalidStatement(f"there is {available}", reason="evidence-undecided", hint=hint)


def _check_passport(
    encoded_result: bytes,
    evidence: bytes | None,
    record: bytes,
    requirement: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    result = decode_signed_result(encoded_result, requirement.verifiers)
    if evidence is not None and not _matches_evidence(result, evidence):
        raise InvalidStatement(
            "the result is of other evidence than lies beside it", reason="result-evidence"
        )
    if result.record != record:
        raise InvalidStatement("the result is about another record", reason="result-record")
    if journal is not None and result.journal != journal.claim():
        raise InvalidStatement(
            "the record names another journal than the result", reason="result-journal"
        )
    if requirement.nonce is not None and result.nonce != requirement.nonce:
        raise InvalidStatement("the result is for another nonce", reason="result-nonce")
    _check_result_validity(result, now)
    description = describe_result(result)
    if not is_tier_sufficient(result.status, requirement.tier):
        raise InvalidStatement(
            f"{description}, not {requirement.tier.label}",
            reason=f"evidence-{result.status.label}",
        )
    _check_hardware(result.vector, description, requirement)
    return description


def _check_result_validity(result: AttestationResult, now: datetime) -> None:
    """Check the expiry and the time of issue; a result without an expiry is never valid."""
    if result.expires_at is None or now.timestamp() >= result.expires_at:
        expiry = (
            "for ever, as it says"
            if result.expires_at is None
            else f"until {_format_time(result.expires_at)}"
        )
        raise InvalidStatement(f"the result held {expiry}", reason="result-expired")
    if result.issued_at > now.timestamp() + MAX_CLOCK_SKEW:
        raise InvalidStatement(
            f"the result says that it will be made at {_format_time(result.issued_at)}",
            reason="result-in-future",
        )


def _matches_evidence(result: AttestationResult, evidence: bytes) -> bool:
    claims = parse_cwt(evidence).claims
    record = [NAMED_INFO_SHA256, result.record]
    return claims.get(EAT_NONCE) == result.nonce and claims.get(CLAIM_RECORD) == record


def _run_background_check(
    messages: RatsMessages,
    record: bytes,
    requirement: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    if messages.evidence is None or requirement.policy is None or requirement.nonce is None:
        raise InvalidStatement(
            "evidence cannot be appraised without the nonce that it was asked with",
            reason="nonce-missing",
        )
    appraisal = appraise_evidence(
        messages.evidence,
        requirement.policy,
        nonce=requirement.nonce,
        record=record,
        now=now,
        journal=journal,
        endorsements=messages.endorsements,
    )
    status, worst = appraisal.status, appraisal.worst_check
    if not is_tier_sufficient(status, requirement.tier):
        cause = f": {worst.name}: {worst.told}" if worst is not None else ""
        reason = worst.reason if worst is not None and worst.reason else f"evidence-{status.label}"
        raise InvalidStatement(
            f"{status.label}, not {requirement.tier.label}{cause}", reason=reason
        )
    caveat = describe_storage_caveat(appraisal.key_storage, appraisal.vector)
    description = f"{status.label} by {appraisal.policy}{caveat}"
    _check_hardware(appraisal.vector, description, requirement)
    return description


def _check_hardware(
    vector: dict[str, int], description: str, requirement: EvidenceRequirement
) -> None:
    if (
        requirement.hardware
        and get_tier(vector.get("hardware", TRUST_NO_CLAIM)) is not Tier.AFFIRMING
    ):
        hint = (
            "vacr attest --attester tpm with an endorsement of its key (vacr endorse) shows "
            "hardware."
        )
        raise InvalidStatement(
            f"{description}, and no hardware vouches for it", reason="hardware-missing", hint=hint
        )


def _format_time(time: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"
