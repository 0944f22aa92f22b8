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
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cryptography import x509

from vacr.agents import Source
from vacr.attribution import BaseFiles, JointRecords
from vacr.errors import InvalidStatement
from vacr.signing import (
    ALGORITHMS,
    ATTACHED,
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
from vacr.verification.certificates import (
    check_time_authority,
    check_validity_period,
    find_public_key,
)
from vacr.verification.claims import (
    check_claims,
    check_content,
    detect_profile,
    get_signed_payload,
    report_issuer,
)
from vacr.verification.policy import Check, Checks, Policy, format_time
from vacr.verification.receipts import VerifiedReceipt, check_receipts
from vacr.verification.record import VerificationInputs, check_evidence, check_signed_record
from vacr.verification.trust import (
    TrustedSigner,
    check_algorithm,
    check_carried_key,
    check_party_validity,
    check_signature,
    list_candidate_signers,
)
from vacr.verification.trust_store import ROLE_TIMESTAMP_AUTHORITY, TrustedParty, TrustStore
from vacr.verification.witnesses import VerifiedWitnesses, check_witnesses

_UNTRUSTED_TIMESTAMP = "timestamp-untrusted"
_TIMESTAMP_REASONS = {
    "x5chain-hash-weak": "timestamp-hash-weak",
    "authority-key-weak": "timestamp-key-weak",
    "x5chain-order": _UNTRUSTED_TIMESTAMP,
    "authority-key-usage": _UNTRUSTED_TIMESTAMP,
}
"""The reasons for refusing the certificates of a timestamp, by those for other certificates."""
_UNCOUNTED_TIMESTAMPS = frozenset(_TIMESTAMP_REASONS.values())
"""The reasons why a timestamp proves no time; it fails only if one is required."""


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
    issuer_is_bound: bool
    """Whether the trust store, the certificate or the key's thumbprint confirms the issuer."""
    subject: str | None
    issued_at: float | None
    """The claimed time of signing, in seconds since 1970."""
    timestamp: datetime | None
    """A time at which the signature existed, proven by a trusted timestamp authority, or None."""
    logged_at: datetime | None
    """The earliest time at which a trusted log contained the statement, or None if unknown."""
    receipts: tuple[VerifiedReceipt, ...]
    checks: tuple[Check, ...]
    witnesses: tuple[VerifiedWitnesses, ...] = ()
    """The proofs that witnesses saw the log entry; empty if the policy requires none."""


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
        # A large payload is in memory twice at most: in the statement, and in the data to verify
        # or, after that, as the content.
        message = parse_sign1(statement, share_payload=True)
        profile = detect_profile(message)
        checks.add_passed("structure", f"COSE_Sign1, {profile}")
    signer = _find_signer(message, policy, payload, checks)
    with checks.run("content"):
        content = check_content(message, profile, payload)
        if message.payload is not None:
            attached = content if profile == ATTACHED else bytes(message.payload)
            message = replace(message, payload=attached)
        checks.add_passed("content", f"{len(content)} bytes, unchanged since signing")
    with checks.run("claims"):
        claims = check_claims(message, policy, signer, now)
        issuer_is_bound = report_issuer(claims, signer, checks)
    with checks.run("receipt"):
        receipts = check_receipts(message, policy, now, checks)
        logged_at = _find_logged_time(receipts, signer, checks)
    with checks.run("witnesses"):
        witnesses = check_witnesses(message, receipts, policy, now, checks)
    with checks.run("timestamp"):
        timestamp = _check_timestamps(message, content, policy, signer, checks)
    proven_times = {"timestamp": timestamp, "receipt": logged_at}
    signing_times = _choose_signing_times(claims.get(CLAIM_IAT), proven_times, now)
    with checks.run("trust"):
        _check_signer_validity(signer, signing_times, checks)
    with checks.run("certificate"):
        _check_certificate_validity(signer, signing_times, checks)
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
        issuer_is_bound=issuer_is_bound,
        subject=claims.get(CLAIM_SUB),
        issued_at=claims.get(CLAIM_IAT),
        timestamp=timestamp,
        logged_at=logged_at,
        receipts=receipts,
        witnesses=witnesses,
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
        signer = check_signature(message, algorithm, signed, candidates, policy.trust_store)
    with checks.run("trust"):
        check_carried_key(message, signer)
        checks.add_passed("trust", f"signed by {signer}")
        checks.add_passed("signature", f"valid, {len(message.signature)} bytes")
    return signer


def _find_logged_time(
    receipts: Sequence[VerifiedReceipt], signer: TrustedSigner, checks: Checks
) -> datetime | None:
    """Return the earliest time at which a log had the statement, or None if no receipt proves it.

    A log of the signer's own proves no time: its owner could choose one from before the end of the
    trust.
    """
    times = []
    for receipt in receipts:
        if signer.owns(receipt.key, receipt.party):
            checks.add_undecided("receipt", "proves no time: the log belongs to the signer")
        elif receipt.time is not None:
            times.append(receipt.time)
    return min(times, default=None)


def _check_timestamps(
    message: Sign1, payload: bytes, policy: Policy, signer: TrustedSigner, checks: Checks
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
    authorities = _list_time_authorities(policy, signer)
    if stamped_data and not authorities:
        if policy.needs_timestamp:
            raise InvalidStatement(
                "no trusted timestamp authority given",
                reason=_UNTRUSTED_TIMESTAMP,
                hint="Add --timestamp-trust FILE.",
            )
        checks.add_undecided("timestamp", "not checked: no trusted timestamp authority given")
        return None
    signed_at = None
    for label, data in stamped_data.items():
        token = message.protected.get(label, message.unprotected.get(label))
        try:
            time, finding = _check_timestamp(token, data, authorities, signer)
        except InvalidStatement as error:
            is_required = policy.timestamp_roots or policy.needs_timestamp
            if error.reason not in _UNCOUNTED_TIMESTAMPS or is_required:
                raise
            checks.add_undecided("timestamp", f"does not count: {error.message}")
            continue
        if label == HEADER_COSE_THEN_TIMESTAMP:
            signed_at = time  # The other kind proves only that the payload existed.
        checks.add_passed("timestamp", finding)
    if policy.needs_timestamp and signed_at is None:
        raise InvalidStatement("the signature has no timestamp", reason="timestamp-missing")
    return signed_at


@dataclass(frozen=True)
class _TimeAuthority:
    """The root certificates of a timestamp authority, and its entry in the trust store or None."""

    roots: tuple[x509.Certificate, ...]
    party: TrustedParty | None = None


def _list_time_authorities(policy: Policy, signer: TrustedSigner) -> list[_TimeAuthority]:
    """Return the trusted timestamp authorities: the bare roots, then the parties of the store.

    The first party that lists a root decides about it, also if the root is bare, too. The signer's
    own authority is left out: like a log of their own, it proves no time.
    """
    store = policy.trust_store or TrustStore()
    authorities, listed = [], set[x509.Certificate]()
    for party in store.list_parties(ROLE_TIMESTAMP_AUTHORITY):
        roots = TrustStore((party,)).list_authorities(ROLE_TIMESTAMP_AUTHORITY)
        if not signer.owns(None, party):
            authorities.append(_TimeAuthority(tuple(set(roots) - listed), party))
        listed.update(roots)
    bare = tuple(
        root
        for root in policy.timestamp_roots
        if root not in listed and not signer.owns(find_public_key(root), None)
    )
    return [authority for authority in (_TimeAuthority(bare), *authorities) if authority.roots]


def _check_timestamp(
    token: Any, data: bytes, authorities: list[_TimeAuthority], signer: TrustedSigner
) -> tuple[datetime, str]:
    """Return the time that a token proves, and the finding, from the first authority that made it.

    Raises:
        InvalidStatement: the token is malformed, or no authority made it.
    """
    first_error = None
    for authority in authorities:
        try:
            return _check_authority_timestamp(token, data, authority, signer)
        except InvalidStatement as error:
            if error.reason not in _UNCOUNTED_TIMESTAMPS:
                raise
            first_error = first_error or error
    raise first_error or InvalidStatement(
        "no trusted timestamp authority given", reason=_UNTRUSTED_TIMESTAMP
    )


def _check_authority_timestamp(
    token: Any, data: bytes, authority: _TimeAuthority, signer: TrustedSigner
) -> tuple[datetime, str]:
    """Return the time that an authority's token proves, and the finding.

    Raises:
        InvalidStatement: the token is malformed or another authority's, the signer of the statement
            made it, or the trust store did not trust the authority then.
    """
    proven = check_timestamp_token(token, data, authority.roots)
    # The root may have certified a key of the signer's for timestamps, too.
    if signer.owns(find_public_key(proven.signer), None):
        raise InvalidStatement(
            "the timestamp is signed with a key of the statement's signer",
            reason=_UNTRUSTED_TIMESTAMP,
        )
    try:
        check_time_authority(proven.signer, proven.others, authority.roots)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the timestamp is not trusted: {error.message}",
            reason=_TIMESTAMP_REASONS[error.reason],
        ) from error
    time = proven.time.astimezone(UTC)
    if authority.party is None:
        return time, format_time(time)
    if not authority.party.is_valid_at(time):
        raise InvalidStatement(
            f"{authority.party.name} is not trusted at {format_time(time)}, the time of the "
            "timestamp",
            reason=_UNTRUSTED_TIMESTAMP,
        )
    return time, f"{format_time(time)}, by {authority.party.name}"


@dataclass(frozen=True)
class _SigningTimes:
    """The times at which the signer must have been trusted, and how they are known."""

    times: tuple[datetime, ...]
    basis: str
    """Ends a sentence, such as `at the time of the receipt`."""


def _choose_signing_times(
    issued_at: Any, proven_times: dict[str, datetime | None], now: datetime
) -> _SigningTimes:
    """Return the times at which the signer's trust is judged.

    `proven_times` are times at which the signature provably existed, by the name of the proof; the
    earliest counts. Without a proof, the signer has to be trusted at `now` and at `issued_at`, the
    time that the signer claims or None.
    """
    proofs = {time: name for name, time in proven_times.items() if time is not None}
    if proofs:
        earliest = min(proofs)
        return _SigningTimes((earliest,), f"at the time of the {proofs[earliest]}")
    claimed = () if issued_at is None else (datetime.fromtimestamp(issued_at, UTC),)
    return _SigningTimes((now, *claimed), "now")


def _check_signer_validity(signer: TrustedSigner, signing: _SigningTimes, checks: Checks) -> None:
    """Check that the trust store trusted the signer at the time of signing.

    A bare key, or a party without limits of validity, passes.
    """
    party = signer.party
    if party is None or (party.valid_from is None and party.valid_until is None):
        return
    for time in signing.times:
        check_party_validity(party, time)
    checks.add_passed("trust", f"{party.name} is trusted {signing.basis}")


def _check_certificate_validity(
    signer: TrustedSigner, signing: _SigningTimes, checks: Checks
) -> None:
    """Check that the certificates were valid at the time of signing.

    A signer without certificates passes.
    """
    if not signer.path:
        return
    for time in signing.times:
        check_validity_period(signer.path, time)
    checks.add_passed("certificate", f"valid {signing.basis}")
