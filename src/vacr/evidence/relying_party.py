"""The relying party: does what vouches for a record suffice? Role: relying party. Step: verify.
Follows RFC 9334, section 5.

By passport, the attester has carried its evidence to a verifier and shows the result. By background
check, the relying party has the evidence appraised itself. Either way what counts is the tier, and
that it is about this record.
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
from vacr.evidence.verifier import AppraisalPolicy, appraise_evidence
from vacr.signing import PublicKey

_MAX_CLOCK_SKEW = 300
"""By how many seconds a verifier's clock may be ahead of ours."""
RESULT_MISSING_HINT = (
    "Have it appraised: vacr appraise --key writes a result. Or do it here: "
    "--evidence-policy and --nonce, not --verifier-key."
)
EVIDENCE_MISSING_HINT = (
    "vacr verify --verifier-key believes a verifier's result; what --evidence-policy and "
    "vacr appraise take is evidence."
)
"""What to do where there is only evidence, and where there is only a result."""


@dataclass(frozen=True)
class EvidenceRequirement:
    """What a relying party asks for."""

    tier: Tier
    policy: AppraisalPolicy | None = None
    """For a background check: how evidence is appraised."""
    verifiers: tuple[PublicKey, ...] = ()
    """For a passport: whose results are believed."""
    nonce: bytes | None = None
    """The nonce that was asked with; without it a result may be one that was shown before, and
    evidence cannot be appraised.
    """
    hardware: bool = False
    """Whether hardware has to be affirmed, which a key in software never is."""


def check_evidence_requirement(
    data: bytes | None,
    record: bytes,
    needed: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None = None,
) -> str:
    """Check that what vouches for a record is enough, and say what it is; `record` is its digest,
    `journal` what it names as one.

    Raises:
        InvalidStatement: it is not, or there is nothing.
    """
    if data is None:
        hint = "vacr attest makes evidence, vacr appraise a result."
        raise InvalidStatement(
            "nothing vouches for how it was recorded", reason="evidence-missing", hint=hint
        )
    found = parse_messages(data)
    if found.result is not None and needed.verifiers:
        return _check_passport(found.result, found.evidence, record, needed, now, journal)
    if found.evidence is not None and needed.policy is not None:
        return _run_background_check(found, record, needed, now, journal)
    told, hint = (
        ("evidence, and no result", RESULT_MISSING_HINT)
        if needed.verifiers
        else ("a result, and no evidence", EVIDENCE_MISSING_HINT)
    )
    raise InvalidStatement(f"there is {told}", reason="evidence-undecided", hint=hint)


def _check_passport(
    message: bytes,
    evidence: bytes | None,
    record: bytes,
    needed: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    result = decode_signed_result(message, needed.verifiers)
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
    if needed.nonce is not None and result.nonce != needed.nonce:
        raise InvalidStatement("the result is for another nonce", reason="result-nonce")
    if result.expires_at is None or now.timestamp() >= result.expires_at:
        told = (
            "for ever, as it says"
            if result.expires_at is None
            else f"until {_format_time(result.expires_at)}"
        )
        raise InvalidStatement(f"the result held {told}", reason="result-expired")
    if result.issued_at > now.timestamp() + _MAX_CLOCK_SKEW:
        raise InvalidStatement(
            f"the result says that it will be made at {_format_time(result.issued_at)}",
            reason="result-in-future",
        )
    if not is_tier_sufficient(result.status, needed.tier):
        raise InvalidStatement(
            f"{describe_result(result)}, not {needed.tier.label}",
            reason=f"evidence-{result.status.label}",
        )
    _check_hardware(result.vector, describe_result(result), needed)
    return describe_result(result)


def _matches_evidence(result: AttestationResult, evidence: bytes) -> bool:
    claims = parse_cwt(evidence).claims
    return claims.get(EAT_NONCE) == result.nonce and claims.get(CLAIM_RECORD) == [
        NAMED_INFO_SHA256,
        result.record,
    ]


def _check_hardware(vector: dict[str, int], told: str, needed: EvidenceRequirement) -> None:
    if needed.hardware and get_tier(vector.get("hardware", TRUST_NO_CLAIM)) is not Tier.AFFIRMING:
        hint = (
            "vacr attest --attester tpm with an endorsement of its key (vacr endorse) shows "
            "hardware."
        )
        raise InvalidStatement(
            f"{told}, and no hardware vouches for it", reason="hardware-missing", hint=hint
        )


def _run_background_check(
    found: RatsMessages,
    record: bytes,
    needed: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    if found.evidence is None or needed.policy is None or needed.nonce is None:
        raise InvalidStatement(
            "evidence cannot be appraised without the nonce that it was asked with",
            reason="nonce-missing",
        )
    appraisal = appraise_evidence(
        found.evidence,
        needed.policy,
        nonce=needed.nonce,
        record=record,
        now=now,
        journal=journal,
        endorsements=found.endorsements,
    )
    status, worst = appraisal.status, appraisal.worst_check
    if not is_tier_sufficient(status, needed.tier):
        told = f": {worst.name}: {worst.told}" if worst is not None else ""
        reason = worst.reason if worst is not None and worst.reason else f"evidence-{status.label}"
        raise InvalidStatement(f"{status.label}, not {needed.tier.label}{told}", reason=reason)
    told = f"{status.label} by {appraisal.policy}{describe_storage_caveat(appraisal.key_storage, appraisal.vector)}"
    _check_hardware(appraisal.vector, told, needed)
    return told


def _format_time(time: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"
