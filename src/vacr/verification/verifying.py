"""Statement + policy → what was verified, or an error. Step: verify.

The order of the checks is fixed, see `checks.NAMES`. Nothing here returns a verdict that could be
forgotten: what does not hold raises, and what is returned is what was checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from vacr.attribution import Base
from vacr.attribution.checking import Joint
from vacr.errors import InvalidStatement
from vacr.readers.source import Source
from vacr.signing import labels
from vacr.signing.algorithms import ALGORITHMS
from vacr.signing.sign1 import Sign1, parse
from vacr.verification import chains, claims, contents, tokens, trust
from vacr.verification.checks import Check, Checks
from vacr.verification.evidence import check_evidence
from vacr.verification.policy import Policy
from vacr.verification.receipts import Logged, check_receipts
from vacr.verification.records import Inputs, check_record
from vacr.verification.trust import Trusted


@dataclass(frozen=True, slots=True)
class Verified:
    """What was verified: the statement, the bytes it is about, who signed, what they said, and when
    at the latest.
    """

    message: Sign1
    profile: str
    payload: bytes
    record: dict[str, Any] | None
    signer: Trusted
    issuer: str | None
    subject: str | None
    issued_at: float | None
    timestamp: datetime | None
    logged_at: datetime | None
    """When a trusted log had it at the latest."""
    receipts: tuple[Logged, ...]
    checks: tuple[Check, ...]


def verify(
    statement: bytes,
    policy: Policy,
    *,
    payload: bytes | None = None,
    source: Sequence[Source] = (),
    base: Base | None = None,
    joint: Callable[[], Joint] = lambda: Joint(()),
    evidence: bytes | None = None,
    now: datetime,
) -> Verified:
    """Verify a signed statement; `payload` is what it is about where that is not inside.

    What else is at hand: `source`, the native session, to make the record again; `base`, the
    repository that an attribution was made with; `joint` gives the records that it was made
    together with, in the order they were named; `evidence`, or the result of a verifier, where it
    is not in the statement's header.

    Raises:
        VerificationFailed: something does not hold; it has the checks that were made.
    """
    checks = Checks()
    with checks.of("structure"):
        message = parse(statement)
        profile = contents.profile_of(message)
        checks.passed("structure", f"COSE_Sign1, {profile}")
    with checks.of("algorithm"):
        algorithm = trust.check_algorithm(message, policy)
        checks.passed("algorithm", ALGORITHMS[algorithm].name)
    with checks.of("trust"):
        found = trust.candidates(message, algorithm, policy)
    with checks.of("signature"):
        signer = trust.check_signature(
            message, algorithm, contents.signed_payload(message, payload), found
        )
    with checks.of("trust"):
        trust.check_carried(message, signer)
        checks.passed("trust", str(signer))
        checks.passed("signature", f"{len(message.signature)} bytes")
    with checks.of("content"):
        covered = contents.check_content(message, profile, payload)
        checks.passed("content", f"{len(covered)} bytes, as they were signed")
    with checks.of("claims"):
        said = claims.check_claims(message, policy, signer, now)
        checks.passed("claims", claims.told(said, policy))
    with checks.of("receipt"):
        receipts = check_receipts(message, policy, now, checks)
        logged_at = min((one.time for one in receipts if one.time is not None), default=None)
    with checks.of("timestamp"):
        when = _timestamp(message, covered, policy, checks)
    with checks.of("certificate"):
        _check_certificates(
            signer, said.get(labels.IAT), {"timestamp": when, "receipt": logged_at}, now, checks
        )
    record = check_record(message, covered, policy, Inputs(tuple(source), base, joint), checks)
    with checks.of("evidence"):
        check_evidence(message, covered, record, evidence, policy, now, checks)
    return Verified(
        message,
        profile,
        covered,
        record,
        signer,
        said.get(labels.ISS),
        said.get(labels.SUB),
        said.get(labels.IAT),
        when,
        logged_at,
        receipts,
        tuple(checks.made),
    )


def _timestamp(message: Sign1, payload: bytes, policy: Policy, checks: Checks) -> datetime | None:
    """Check the timestamps of a statement; gives the earliest time at which its signature surely
    existed.
    """
    if (
        labels.COSE_THEN_TIMESTAMP in message.protected
        or labels.TIMESTAMP_THEN_COSE in message.unprotected
    ):
        raise InvalidStatement("a timestamp in the wrong header", reason="timestamp-malformed")
    over = {}
    if labels.TIMESTAMP_THEN_COSE in message.protected:
        over[labels.TIMESTAMP_THEN_COSE] = (
            message.payload if message.payload is not None else payload
        )
    if labels.COSE_THEN_TIMESTAMP in message.unprotected:
        over[labels.COSE_THEN_TIMESTAMP] = tokens.stamped(message.signature)
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
        time = tokens.check_token(token, data, policy.timestamp_roots).astimezone(UTC)
        if label == labels.COSE_THEN_TIMESTAMP:
            when = time  # the other one proves that the payload existed, not that it was signed
        checks.passed("timestamp", f"{time:%Y-%m-%dT%H:%M:%SZ}")
    if policy.needs_timestamp and when is None:
        raise InvalidStatement("no timestamp of the signature", reason="timestamp-missing")
    return when


def _check_certificates(
    signer: Trusted, issued_at: Any, sure: dict[str, datetime | None], now: datetime, checks: Checks
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
        chains.check_valid(signer.path, time)
    checks.passed(
        "certificate",
        f"valid at the time of the {proofs[earliest]}" if earliest is not None else "valid now",
    )
