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
from vacr.evidence import cwt, ear, labels, messages
from vacr.evidence.journal import JournalHead
from vacr.evidence.policy import AppraisalPolicy
from vacr.evidence.trust_tiers import NO_CLAIM, Tier, is_enough, tier_of
from vacr.evidence.verifier import appraise
from vacr.signing.algorithms import PublicKey

_CLOCKS_DIFFER_BY = 300
"""By how many seconds a verifier's clock may be ahead of ours."""
ASK = (
    "Have it appraised: vacr appraise --key writes a result. Or do it here: "
    "--evidence-policy and --nonce, not --verifier-key."
)
BELIEVE = (
    "vacr verify --verifier-key believes a verifier's result; what --evidence-policy and "
    "vacr appraise take is evidence."
)
"""What to do where there is only evidence, and where there is only a result."""


@dataclass(frozen=True)
class Needed:
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


def check(
    data: bytes | None,
    record: bytes,
    needed: Needed,
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
    found = messages.read(data)
    if found.result is not None and needed.verifiers:
        return _passport(found.result, found.evidence, record, needed, now, journal)
    if found.evidence is not None and needed.policy is not None:
        return _background_check(found, record, needed, now, journal)
    told, hint = (
        ("evidence, and no result", ASK)
        if needed.verifiers
        else ("a result, and no evidence", BELIEVE)
    )
    raise InvalidStatement(f"there is {told}", reason="evidence-undecided", hint=hint)


def _passport(
    message: bytes,
    evidence: bytes | None,
    record: bytes,
    needed: Needed,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    result = ear.decode(message, needed.verifiers)
    if evidence is not None and not _is_of(result, evidence):
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
            else f"until {_moment(result.expires_at)}"
        )
        raise InvalidStatement(f"the result held {told}", reason="result-expired")
    if result.issued_at > now.timestamp() + _CLOCKS_DIFFER_BY:
        raise InvalidStatement(
            f"the result says that it will be made at {_moment(result.issued_at)}",
            reason="result-in-future",
        )
    if not is_enough(result.status, needed.tier):
        raise InvalidStatement(
            f"{ear.told(result)}, not {needed.tier.label}", reason=f"evidence-{result.status.label}"
        )
    _check_hardware(result.vector, ear.told(result), needed)
    return ear.told(result)


def _is_of(result: ear.Result, evidence: bytes) -> bool:
    claims = cwt.read_token(evidence).claims
    return claims.get(labels.NONCE) == result.nonce and claims.get(labels.RECORD) == [
        labels.SHA256,
        result.record,
    ]


def _check_hardware(vector: dict[str, int], told: str, needed: Needed) -> None:
    if needed.hardware and tier_of(vector.get("hardware", NO_CLAIM)) is not Tier.AFFIRMING:
        hint = (
            "vacr attest --attester tpm with an endorsement of its key (vacr endorse) shows "
            "hardware."
        )
        raise InvalidStatement(
            f"{told}, and no hardware vouches for it", reason="hardware-missing", hint=hint
        )


def _background_check(
    found: messages.Messages,
    record: bytes,
    needed: Needed,
    now: datetime,
    journal: JournalHead | None,
) -> str:
    if found.evidence is None or needed.policy is None or needed.nonce is None:
        raise InvalidStatement(
            "evidence cannot be appraised without the nonce that it was asked with",
            reason="nonce-missing",
        )
    appraisal = appraise(
        found.evidence,
        needed.policy,
        nonce=needed.nonce,
        record=record,
        now=now,
        journal=journal,
        endorsements=found.endorsements,
    )
    status, worst = appraisal.status, appraisal.worst_check
    if not is_enough(status, needed.tier):
        told = f": {worst.name}: {worst.told}" if worst is not None else ""
        reason = worst.reason if worst is not None and worst.reason else f"evidence-{status.label}"
        raise InvalidStatement(f"{status.label}, not {needed.tier.label}{told}", reason=reason)
    told = (
        f"{status.label} by {appraisal.policy}{ear.weaker(appraisal.key_storage, appraisal.vector)}"
    )
    _check_hardware(appraisal.vector, told, needed)
    return told


def _moment(time: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"
