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
    vacr.errors.InvalidStatement: no evidence or result about the recording
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
from vacr.signing import PublicKey, compute_thumbprint

RESULT_MISSING_HINT = (
    "Create a result with vacr evidence appraise --key. Or appraise the evidence here: use "
    "--evidence-policy and --nonce instead of --verifier-key."
)
EVIDENCE_MISSING_HINT = (
    "To accept a verifier's result, use vacr verify --verifier-key. --evidence-policy and "
    "vacr evidence appraise need evidence."
)
"""The hints if there is only evidence, and if there is only a result."""
_NEW_RESULT_HINT = (
    "Ask the verifier for a new result about this record: vacr evidence appraise --record."
)
_SEE_CHECKS_HINT = (
    "To see all checks of the evidence: vacr evidence appraise EVIDENCE --policy FILE."
)


@dataclass(frozen=True)
class EvidenceRequirement:
    """The requirement of a relying party for evidence."""

    tier: Tier
    """The worst tier that is accepted."""
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
    names: tuple[tuple[bytes, str], ...] = ()
    """The thumbprints of verifiers' keys, each with the name in the trust store."""


def check_evidence_requirement(
    data: bytes | None,
    record: bytes,
    requirement: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None = None,
) -> str:
    """Check that evidence or a result satisfies a requirement, and describe it in a line.

    `data` is the encoded message, or None if none was found. `record` is the SHA-256 of the record,
    and `journal` the journal head that the record names. Results are judged as of `now`.

    Raises:
        InvalidStatement: the message is missing, malformed, or does not satisfy the requirement.
    """
    if data is None:
        hint = "Create evidence with vacr evidence attest, or a result with vacr evidence appraise."
        raise InvalidStatement(
            "no evidence or result about the recording", reason="evidence-missing", hint=hint
        )
    messages = parse_messages(data)
    if messages.result is not None and requirement.verifiers:
        return _check_passport(
            messages.result, messages.evidence, record, requirement, now, journal
        )
    if messages.evidence is not None and requirement.policy is not None:
        return _run_background_check(messages, record, requirement, now, journal)
    problem, hint = (
        ("found evidence, but no result", RESULT_MISSING_HINT)
        if requirement.verifiers
        else ("found a result, but no evidence", EVIDENCE_MISSING_HINT)
    )
    raise InvalidStatement(problem, reason="evidence-undecided", hint=hint)


def _check_passport(
    encoded_result: bytes,
    evidence: bytes | None,
    record: bytes,
    requirement: EvidenceRequirement,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    """Check the signed result of a trusted verifier, and describe it in a line.

    If evidence came with the result, both must have the same nonce and record.

    Raises:
        InvalidStatement: the result does not satisfy the requirement.
    """
    result = decode_signed_result(encoded_result, requirement.verifiers)
    if evidence is not None and not _matches_evidence(result, evidence):
        raise InvalidStatement(
            "the attestation result is not about the evidence given with it",
            reason="result-evidence",
            hint=_NEW_RESULT_HINT,
        )
    if result.record != record:
        raise InvalidStatement(
            "the attestation result is about a different record",
            reason="result-record",
            hint=_NEW_RESULT_HINT,
        )
    if journal is not None and result.journal != journal.claim():
        raise InvalidStatement(
            "the record and the attestation result name different journals",
            reason="result-journal",
            hint=_NEW_RESULT_HINT,
        )
    if requirement.nonce is not None and result.nonce != requirement.nonce:
        raise InvalidStatement(
            "the attestation result is for a different nonce",
            reason="result-nonce",
            hint="Use the nonce that you sent to the attester, or ask for new evidence.",
        )
    _check_result_validity(result, now)
    name = dict(requirement.names).get(compute_thumbprint(result.verifier), "")
    description = describe_result(result, name)
    insufficient = result.find_insufficient_status(requirement.tier)
    if insufficient is not None:
        subject, status = insufficient
        raise InvalidStatement(
            f"the attestation result is {description}, but {requirement.tier.label} is required; "
            f"{subject} is {status.label}",
            reason=f"evidence-{status.label}",
            hint=_SEE_CHECKS_HINT,
        )
    _check_hardware(result.vector, description, requirement)
    return description


def _check_result_validity(result: AttestationResult, now: datetime) -> None:
    """Check that a result has not expired, and is not dated in the future.

    Raises:
        InvalidStatement: one of them is the case, or the result has no expiry.
    """
    if result.expires_at is None or now.timestamp() >= result.expires_at:
        problem = (
            "the attestation result has no expiry"
            if result.expires_at is None
            else f"the attestation result expired at {_format_time(result.expires_at)}"
        )
        raise InvalidStatement(problem, reason="result-expired", hint=_NEW_RESULT_HINT)
    if result.issued_at > now.timestamp() + MAX_CLOCK_SKEW:
        raise InvalidStatement(
            f"the attestation result is dated in the future: {_format_time(result.issued_at)}",
            reason="result-in-future",
            hint="Check the clock of this machine, or ask the verifier for a new result.",
        )


def _matches_evidence(result: AttestationResult, evidence: bytes) -> bool:
    """Return whether a result and evidence have the same nonce and record."""
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
    """Appraise the evidence here, and describe the appraisal in a line.

    Raises:
        InvalidStatement: the appraisal does not satisfy the requirement.
    """
    if messages.evidence is None or requirement.policy is None or requirement.nonce is None:
        raise InvalidStatement(
            "cannot appraise evidence without its nonce",
            reason="nonce-missing",
            hint="Add --nonce HEX: the nonce that you sent to the attester.",
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
        cause = f" ({worst.name}: {worst.finding})" if worst is not None else ""
        reason = worst.reason if worst is not None and worst.reason else f"evidence-{status.label}"
        raise InvalidStatement(
            f"the evidence is {status.label}{cause}, but {requirement.tier.label} is required",
            reason=reason,
            hint=_SEE_CHECKS_HINT,
        )
    caveat = describe_storage_caveat(appraisal.key_storage, appraisal.vector)
    description = f"{status.label} by {appraisal.policy}{caveat}"
    _check_hardware(appraisal.vector, description, requirement)
    return description


def _check_hardware(
    vector: dict[str, int], description: str, requirement: EvidenceRequirement
) -> None:
    """Raise InvalidStatement if hardware is required, and the vector does not affirm it."""
    if (
        requirement.hardware
        and get_tier(vector.get("hardware", TRUST_NO_CLAIM)) is not Tier.AFFIRMING
    ):
        hint = (
            "Use vacr evidence attest --attester tpm, with an endorsement of its key "
            "(vacr evidence endorse)."
        )
        raise InvalidStatement(
            f"certified hardware is required, but the evidence is only {description}",
            reason="hardware-missing",
            hint=hint,
        )


def _format_time(time: int) -> str:
    """Return a time in seconds since 1970 as text in UTC, or `an invalid time`."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return "an invalid time"
