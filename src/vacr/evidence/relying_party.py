"""The relying party: does what vouches for a record suffice? Role: relying party. Step: verify. Follows RFC 9334, section 5.

By passport, the attester has carried its evidence to a verifier and shows the result. By background check, the relying party
has the evidence appraised itself. Either way what counts is the tier, and that it is about this record.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from vacr.errors import InvalidStatement
from vacr.evidence import cmw, cwt, ear, jwt, labels
from vacr.evidence.journal import JournalHead
from vacr.evidence.policy import AppraisalPolicy
from vacr.evidence.trust_tiers import Tier, is_enough
from vacr.evidence.verifier import appraise
from vacr.signing.algorithms import PublicKey

_CLOCKS_DIFFER_BY = 300
_SIGN1 = b"\xd2"


@dataclass(frozen=True)
class Needed:
    """What a relying party asks for."""

    tier: Tier
    policy: AppraisalPolicy | None = None
    """For a background check: how evidence is appraised."""
    verifiers: tuple[PublicKey, ...] = ()
    """For a passport: whose results are believed."""
    nonce: bytes | None = None
    """The nonce that was asked with; without it a result may be one that was shown before, and evidence cannot be appraised."""


def check(data: bytes | None, record: bytes, needed: Needed, now: datetime, journal: JournalHead | None = None) -> str:
    """Check that what vouches for a record is enough, and say what it is; `record` is its digest, `journal` what it names as one.

    Raises:
        InvalidStatement: it is not, or there is nothing.
    """
    if data is None:
        hint = "vacr attest makes evidence, vacr appraise a result."
        raise InvalidStatement("nothing vouches for how it was recorded", reason="evidence-missing", hint=hint)
    message, is_result = unwrap(data, wants_result=bool(needed.verifiers))
    if is_result and needed.verifiers:
        return _passport(message, record, needed, now, journal)
    if not is_result and needed.policy is not None:
        return _background_check(message, record, needed, now, journal)
    what, option = ("a result", "a verifier's key") if is_result else ("evidence", "a policy to appraise it by")
    raise InvalidStatement(f"there is {what}, and {option} was not given", reason="evidence-undecided")


def unwrap(data: bytes, *, wants_result: bool) -> tuple[bytes, bool]:
    """Take the message out of its wrapper, and tell whether it is a result; of a collection, the one that is wanted.

    Raises:
        InvalidStatement: there is neither evidence nor a result, or more than one of them.
    """
    if jwt.looks_like_one(data):
        return data, True
    if data.startswith((cwt.TAG, _SIGN1)):
        return data, wants_result
    found = [(one.value, _is_result(one)) for one in cmw.records_in(cmw.decode(data)) if _is_token(one)]
    chosen = [one for one in found if one[1] == wants_result] or found
    if len(chosen) != 1:
        told = "neither evidence nor a result" if not chosen else "more than one message that could be meant"
        raise InvalidStatement(f"the wrapper holds {told}", reason="evidence-missing")
    return chosen[0]


def _is_token(record: cmw.Record) -> bool:
    return record.media_type in (labels.EAT_CWT, labels.EAT_JWT) and record.indicator in (None, cmw.EVIDENCE, cmw.RESULTS)


def _is_result(record: cmw.Record) -> bool:
    return record.indicator == cmw.RESULTS or record.media_type == labels.EAT_JWT


def _passport(message: bytes, record: bytes, needed: Needed, now: datetime, journal: JournalHead | None) -> str:
    result = ear.decode(message, needed.verifiers)
    if result.record != record:
        raise InvalidStatement("the result is about another record", reason="result-record")
    if journal is not None and result.journal != journal.claim():
        raise InvalidStatement("the record names another journal than the result", reason="result-journal")
    if needed.nonce is not None and result.nonce != needed.nonce:
        raise InvalidStatement("the result is for another nonce", reason="result-nonce")
    if result.expires_at is None or now.timestamp() > result.expires_at + _CLOCKS_DIFFER_BY:
        told = "for ever, as it says" if result.expires_at is None else f"until {_moment(result.expires_at)}"
        raise InvalidStatement(f"the result held {told}", reason="result-expired")
    if result.issued_at > now.timestamp() + _CLOCKS_DIFFER_BY:
        raise InvalidStatement(f"the result says that it will be made at {_moment(result.issued_at)}", reason="result-in-future")
    if not is_enough(result.status, needed.tier):
        raise InvalidStatement(f"{ear.told(result)}, not {needed.tier.label}", reason=f"evidence-{result.status.label}")
    return ear.told(result)


def _background_check(message: bytes, record: bytes, needed: Needed, now: datetime, journal: JournalHead | None) -> str:
    if needed.policy is None or needed.nonce is None:
        raise InvalidStatement("evidence cannot be appraised without the nonce that it was asked with", reason="nonce-missing")
    appraisal = appraise(message, needed.policy, nonce=needed.nonce, record=record, now=now, journal=journal)
    status, worst = appraisal.status, appraisal.worst_check
    if not is_enough(status, needed.tier):
        told = f": {worst.name}: {worst.told}" if worst is not None else ""
        reason = worst.reason if worst is not None and worst.reason else f"evidence-{status.label}"
        raise InvalidStatement(f"{status.label}, not {needed.tier.label}{told}", reason=reason)
    return f"{status.label} by {appraisal.policy}"


def _moment(time: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"
