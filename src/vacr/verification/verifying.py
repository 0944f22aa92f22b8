"""Statement + policy → what was verified, or an error. Step: verify.

The order of the checks is fixed, see `checks.NAMES`. Nothing here returns a verdict that could be
forgotten: what does not hold raises, and what is returned is what was checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from vacr.agents import Source
from vacr.attribution import BaseFiles, JointRecords
from vacr.errors import InvalidStatement
from vacr.signing import (
    ALGORITHMS,
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_COSE_THEN_TIMESTAMP,
    HEADER_TIMESTAMP_THEN_COSE,
    Sign1,
    check_timestamp_token,
    encode_stamped_signature,
    parse_sign1,
)
from vacr.verification.claims import (
    check_claims,
    check_content,
    describe_issuer,
    detect_profile,
    get_signed_payload,
)
from vacr.verification.policy import Check, Checks, Policy
from vacr.verification.receipts import VerifiedReceipt, check_receipts
from vacr.verification.record import VerificationInputs, check_evidence, check_signed_record
from vacr.verification.trust import (
    TrustedSigner,
    check_algorithm,
    check_carried_key,
    check_signature,
    check_validity_period,
    list_candidate_signers,
)


@dataclass(frozen=True, slots=True)
class VerifiedStatement:
    """What was verified: the statement, the bytes it is about, who signed, what they said, and when
    at the latest.
    """

    message: Sign1
    profile: str
    payload: bytes
    record: dict[str, Any] | None
    signer: TrustedSigner
    issuer: str | None
    subject: str | None
    issued_at: float | None
    timestamp: datetime | None
    logged_at: datetime | None
    """When a trusted log had it at the latest."""
    receipts: tuple[VerifiedReceipt, ...]
    checks: tuple[Check, ...]


def verify(
    statement: bytes,
    policy: Policy,
    *,
    payload: bytes | None = None,
    source: Sequence[Source] = (),
    base: BaseFiles | None = None,
    joint: Callable[[], JointRecords] = lambda: JointRecords(()),
    evidence: bytes | None = None,
    checked_record: dict[str, Any] | None = None,
    now: datetime,
) -> VerifiedStatement:
    """Verify a signed statement; `payload` is what it is about where that is not inside.

    What else is at hand: `source`, the native session, to make the record again; `base`, the
    repository that an attribution was made with; `joint` gives the records that it was made
    together with, in the order they were named; `evidence`, or the result of a verifier, where it
    is not in the statement's header; `checked_record`, the payload as the caller has just validated,
    attributed and encoded it, so that this is not done again.

    Raises:
        VerificationFailed: something does not hold; it has the checks that were made.
    """
    checks = Checks()
    with checks.of("structure"):
        message = parse_sign1(statement)
        profile = detect_profile(message)
        checks.passed("structure", f"COSE_Sign1, {profile}")
    with checks.of("algorithm"):
        algorithm = check_algorithm(message, policy)
        checks.passed("algorithm", ALGORITHMS[algorithm].name)
    with checks.of("trust"):
        found = list_candidate_signers(message, algorithm, policy)
    with checks.of("signature"):
        signer = check_signature(message, algorithm, get_signed_payload(message, payload), found)
    with checks.of("trust"):
        check_carried_key(message, signer)
        checks.passed("trust", str(signer))
        checks.passed("signature", f"{len(message.signature)} bytes")
    with checks.of("content"):
        covered = check_content(message, profile, payload)
        checks.passed("content", f"{len(covered)} bytes, as they were signed")
    with checks.of("claims"):
        said = check_claims(message, policy, signer, now)
        checks.passed("claims", describe_issuer(said, policy))
    with checks.of("receipt"):
        receipts = check_receipts(message, policy, now, checks)
        logged_at = min((one.time for one in receipts if one.time is not None), default=None)
    with checks.of("timestamp"):
        when = _check_timestamps(message, covered, policy, checks)
    with checks.of("certificate"):
        _check_certificate_validity(
            signer, said.get(CLAIM_IAT), {"timestamp": when, "receipt": logged_at}, now, checks
        )
    record = check_signed_record(
        message,
        covered,
        policy,
        VerificationInputs(tuple(source), base, joint, checked_record),
        checks,
    )
    with checks.of("evidence"):
        check_evidence(message, covered, record, evidence, policy, now, checks)
    return VerifiedStatement(
        message,
        profile,
        covered,
        record,
        signer,
        said.get(CLAIM_ISS),
        said.get(CLAIM_SUB),
        said.get(CLAIM_IAT),
        when,
        logged_at,
        receipts,
        tuple(checks.made),
    )


def _check_timestamps(
    message: Sign1, payload: bytes, policy: Policy, checks: Checks
) -> datetime | None:
    """Check the timestamps of a statement; gives the earliest time at which its signature surely
    existed.
    """
    if (
        HEADER_COSE_THEN_TIMESTAMP in message.protected
        or HEADER_TIMESTAMP_THEN_COSE in message.unprotected
    ):
        raise InvalidStatement("a timestamp in the wrong header", reason="timestamp-malformed")
    over = {}
    if HEADER_TIMESTAMP_THEN_COSE in message.protected:
        over[HEADER_TIMESTAMP_THEN_COSE] = (
            message.payload if message.payload is not None else payload
        )
    if HEADER_COSE_THEN_TIMESTAMP in message.unprotected:
        over[HEADER_COSE_THEN_TIMESTAMP] = encode_stamped_signature(message.signature)
    if over and not policy.timestamp_roots:
        if policy.needs_timestamp:
            raise InvalidStatement(
                "no timestamp authority is trusted", reason="timestamp-untrusted"
            )
        checks.undecided("timestamp", "there is one, and no authority is trusted")
        return None
    when = None
    for label, data in over.items():
        token = message.protected.get(label, message.unprotected.get(label))
        time = check_timestamp_token(token, data, policy.timestamp_roots).astimezone(UTC)
        if label == HEADER_COSE_THEN_TIMESTAMP:
            when = time  # the other one proves that the payload existed, not that it was signed
        checks.passed("timestamp", f"{time:%Y-%m-%dT%H:%M:%SZ}")
    if policy.needs_timestamp and when is None:
        raise InvalidStatement("no timestamp of the signature", reason="timestamp-missing")
    return when


def _check_certificate_validity(
    signer: TrustedSigner,
    issued_at: Any,
    sure: dict[str, datetime | None],
    now: datetime,
    checks: Checks,
) -> None:
    """Check that the certificates were valid when the signature first surely existed, or else when
    the signer says and now.

    `sure` are times at which it surely existed, each by the name of what proves it.
    """
    if not signer.path:
        return
    proofs = {when: name for name, when in sure.items() if when is not None}
    earliest = min(proofs, default=None)
    times = [earliest or now]
    if earliest is None and issued_at is not None:
        times.append(datetime.fromtimestamp(issued_at, UTC))
    for time in times:
        check_validity_period(signer.path, time)
    checks.passed(
        "certificate",
        f"valid at the time of the {proofs[earliest]}" if earliest is not None else "valid now",
    )
