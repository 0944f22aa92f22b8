"""Verify a statement against a policy: return the verified content, or raise.

The checks run in a fixed order, and the first failed check raises. So a caller cannot forget to
look at the verdict, and the return value holds only checked content.

    >>> from datetime import UTC, datetime
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import KeySigner, sign
    >>> from vacr.verification import Policy, verify
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> policy, now = Policy(keys=(signer.public_key,)), datetime(2026, 1, 1, tzinfo=UTC)
    >>> verify(sign(b"data", signer), policy, payload=b"data", now=now).payload
    b'data'
    >>> verify(sign(b"data", signer), policy, payload=b"other data", now=now)
    Traceback (most recent call last):
    ...
    vacr.verification.policy.VerificationFailed: the file changed after it was signed
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
from vacr.verification.certificates import check_validity_period
from vacr.verification.claims import (
    check_claims,
    check_content,
    describe_issuer,
    detect_profile,
    get_signed_payload,
)
from vacr.verification.policy import Check, Checks, Policy, format_time
from vacr.verification.receipts import VerifiedReceipt, check_receipts
from vacr.verification.record import VerificationInputs, check_evidence, check_signed_record
from vacr.verification.trust import (
    TrustedSigner,
    check_algorithm,
    check_carried_key,
    check_signature,
    list_candidate_signers,
)


@dataclass(frozen=True, slots=True)
class VerifiedStatement:
    """A statement that passed all checks, and the facts that the checks established."""

    message: Sign1
    profile: str
    """HASH_ENVELOPE, DETACHED or ATTACHED."""
    payload: bytes
    """The signed file; for a hash envelope, the file and not its hash."""
    record: dict[str, Any] | None
    """The record in the payload, or None if the payload is not a record."""
    signer: TrustedSigner
    issuer: str | None
    """The issuer that the signer claims, or None; so are `subject` and `issued_at`."""
    subject: str | None
    issued_at: float | None
    """The claimed time of signing, in seconds since 1970."""
    timestamp: datetime | None
    """A time at which the signature existed, proven by a trusted timestamp authority, or None."""
    logged_at: datetime | None
    """The earliest time at which a trusted log contained the statement, or None if unknown."""
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
    now: datetime,
) -> VerifiedStatement:
    """Verify a signed statement, and return its content and signer.

    `payload` is the signed file; None if the statement contains it.
    More inputs allow more checks: `source`, the native session, to convert it again; `base`, the
    repository that an attribution was computed with; `joint`, which returns the records that were
    attributed together, in the same order as then; `evidence`, or a verifier's result, unless
    it is in the statement's header.

    Raises:
        VerificationFailed: a check failed; the exception has the checks up to it.
    """
    inputs = VerificationInputs(tuple(source), base, joint)
    return _run_checks(statement, policy, payload, inputs, evidence, now)


def verify_new_statement(
    statement: bytes, policy: Policy, *, payload: bytes, record: dict[str, Any], now: datetime
) -> VerifiedStatement:
    """Verify a statement that this process just made about a record that it just checked.

    Skip the slow checks: the caller guarantees that `payload` encodes `record`, and that the record
    is valid and its attribution right.

    Raises:
        VerificationFailed: a check failed; the exception has the checks up to it.
    """
    inputs = VerificationInputs((), None, lambda: JointRecords(()), checked_record=record)
    return _run_checks(statement, policy, payload, inputs, None, now)


def _run_checks(
    statement: bytes,
    policy: Policy,
    payload: bytes | None,
    inputs: VerificationInputs,
    evidence: bytes | None,
    now: datetime,
) -> VerifiedStatement:
    """Run all checks in their order, and return the verified facts."""
    checks = Checks()
    with checks.run("structure"):
        message = parse_sign1(statement)
        profile = detect_profile(message)
        checks.add_passed("structure", f"COSE_Sign1, {profile}")
    signer = _find_signer(message, policy, payload, checks)
    with checks.run("content"):
        content = check_content(message, profile, payload)
        checks.add_passed("content", f"{len(content)} bytes, unchanged since signing")
    with checks.run("claims"):
        claims = check_claims(message, policy, signer, now)
        checks.add_passed("claims", describe_issuer(claims, policy))
    with checks.run("receipt"):
        receipts = check_receipts(message, policy, now, checks)
        log_times = [receipt.time for receipt in receipts if receipt.time is not None]
        logged_at = min(log_times, default=None)
    with checks.run("timestamp"):
        timestamp = _check_timestamps(message, content, policy, checks)
    with checks.run("certificate"):
        proven_times = {"timestamp": timestamp, "receipt": logged_at}
        _check_certificate_validity(signer, claims.get(CLAIM_IAT), proven_times, now, checks)
    record = check_signed_record(message, content, policy, inputs, checks)
    with checks.run("evidence"):
        check_evidence(message, content, record, evidence, policy, now, checks)
    return VerifiedStatement(
        message=message,
        profile=profile,
        payload=content,
        record=record,
        signer=signer,
        issuer=claims.get(CLAIM_ISS),
        subject=claims.get(CLAIM_SUB),
        issued_at=claims.get(CLAIM_IAT),
        timestamp=timestamp,
        logged_at=logged_at,
        receipts=receipts,
        checks=tuple(checks.finished),
    )


def _find_signer(
    message: Sign1, policy: Policy, payload: bytes | None, checks: Checks
) -> TrustedSigner:
    """Return the trusted key that signed a statement; check algorithm, trust and signature."""
    with checks.run("algorithm"):
        algorithm = check_algorithm(message, policy)
        checks.add_passed("algorithm", ALGORITHMS[algorithm].name)
    with checks.run("trust"):
        candidates = list_candidate_signers(message, algorithm, policy)
    with checks.run("signature"):
        signed = get_signed_payload(message, payload)
        signer = check_signature(message, algorithm, signed, candidates)
    with checks.run("trust"):
        check_carried_key(message, signer)
        checks.add_passed("trust", str(signer))
        checks.add_passed("signature", f"valid, {len(message.signature)} bytes")
    return signer


def _check_timestamps(
    message: Sign1, payload: bytes, policy: Policy, checks: Checks
) -> datetime | None:
    """Check the timestamps of a statement, and return a time at which its signature existed.

    Return None if no timestamp of a trusted authority covers the signature.

    Raises:
        InvalidStatement: a timestamp is invalid, or one is required and missing or untrusted.
    """
    if (
        HEADER_COSE_THEN_TIMESTAMP in message.protected
        or HEADER_TIMESTAMP_THEN_COSE in message.unprotected
    ):
        raise InvalidStatement("the timestamp is in the wrong header", reason="timestamp-malformed")
    stamped_data = {}
    if HEADER_TIMESTAMP_THEN_COSE in message.protected:
        stamped_payload = message.payload if message.payload is not None else payload
        stamped_data[HEADER_TIMESTAMP_THEN_COSE] = stamped_payload
    if HEADER_COSE_THEN_TIMESTAMP in message.unprotected:
        stamped_data[HEADER_COSE_THEN_TIMESTAMP] = encode_stamped_signature(message.signature)
    if stamped_data and not policy.timestamp_roots:
        if policy.needs_timestamp:
            raise InvalidStatement(
                "no trusted timestamp authority given",
                reason="timestamp-untrusted",
                hint="Add --timestamp-trust FILE.",
            )
        checks.add_undecided("timestamp", "not checked: no trusted timestamp authority given")
        return None
    signed_at = None
    for label, data in stamped_data.items():
        token = message.protected.get(label, message.unprotected.get(label))
        time = check_timestamp_token(token, data, policy.timestamp_roots).astimezone(UTC)
        if label == HEADER_COSE_THEN_TIMESTAMP:
            signed_at = time  # The other kind proves only that the payload existed.
        checks.add_passed("timestamp", format_time(time))
    if policy.needs_timestamp and signed_at is None:
        raise InvalidStatement("the signature has no timestamp", reason="timestamp-missing")
    return signed_at


def _check_certificate_validity(
    signer: TrustedSigner,
    issued_at: Any,
    proven_times: dict[str, datetime | None],
    now: datetime,
    checks: Checks,
) -> None:
    """Check that the certificates were valid at the time of signing.

    `proven_times` are times at which the signature provably existed, by the name of the proof; the
    earliest counts. Without a proof, the certificates have to be valid at `now` and at `issued_at`,
    the time that the signer claims or None. A signer without certificates passes.
    """
    if not signer.path:
        return
    proofs = {time: name for name, time in proven_times.items() if time is not None}
    earliest = min(proofs, default=None)
    times = [earliest or now]
    if earliest is None and issued_at is not None:
        times.append(datetime.fromtimestamp(issued_at, UTC))
    for time in times:
        check_validity_period(signer.path, time)
    finding = (
        f"valid at the time of the {proofs[earliest]}" if earliest is not None else "valid now"
    )
    checks.add_passed("certificate", finding)
