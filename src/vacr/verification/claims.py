"""What the signer says beside the signature: who they are, what it is about, and when. Step:
verify. Follows RFC 8392.

What a statement is about: its profile, and the bytes it covers. Step: verify. Follows RFC 9995
for hash envelopes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.record import RecordEncoding, detect_and_decode
from vacr.signing import (
    ATTACHED,
    CLAIM_EXP,
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_NBF,
    CLAIM_SUB,
    DETACHED,
    HASH_ENVELOPE,
    HASH_FUNCTIONS,
    HEADER_CONTENT_TYPE,
    HEADER_CWT_CLAIMS,
    HEADER_PAYLOAD_HASH_ALG,
    HEADER_PAYLOAD_LOCATION,
    HEADER_PREIMAGE_CONTENT_TYPE,
    HEADER_X5CHAIN,
    HEADER_X5T,
    THUMBPRINT_URI_PREFIX,
    Sign1,
    format_header_label,
    is_issuer_uri,
)
from vacr.verification.policy import Policy
from vacr.verification.trust import TrustedSigner, matches_claimed_issuer

_TIME_TYPES = (int, float)
_CLAIM_TYPES: dict[int, tuple[type, ...]] = {
    CLAIM_ISS: (str,),
    CLAIM_SUB: (str,),
    CLAIM_IAT: _TIME_TYPES,
    CLAIM_NBF: _TIME_TYPES,
    CLAIM_EXP: _TIME_TYPES,
}
"""The types of the claims that are looked at."""
_TIME_END = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_MAX_CLOCK_SKEW = 300
"""By how many seconds a signer's clock may be wrong by ours."""


def check_claims(
    message: Sign1, policy: Policy, signer: TrustedSigner, now: datetime
) -> dict[Any, Any]:
    """Check what the signer says beside the signature, and give it; a statement may say nothing.

    Raises:
        InvalidStatement: it is not what it has to be, or not what is asked for.
    """
    if HEADER_CWT_CLAIMS in message.unprotected:
        raise InvalidStatement("the claims are not protected", reason="claims-unprotected")
    claims = parse_claims(message.protected.get(HEADER_CWT_CLAIMS, {}), now)
    issuer = claims.get(CLAIM_ISS)
    if (
        HEADER_X5CHAIN in message.protected or HEADER_X5T in message.protected
    ) and not is_issuer_uri(issuer):
        raise InvalidStatement(
            "with certificates, the issuer has to be a URI", reason="issuer-not-uri"
        )
    if policy.issuer is not None:
        if issuer != policy.issuer:
            raise InvalidStatement(
                f"the issuer is {issuer!r}, not {policy.issuer!r}", reason="issuer"
            )
        if (
            signer.path
            and not _is_thumbprint_uri(issuer)
            and not matches_claimed_issuer(signer.path[0], issuer)
        ):
            raise InvalidStatement(
                "the signer's certificate is for another issuer", reason="issuer-unbound"
            )
    if _is_thumbprint_uri(issuer) and issuer != signer.uri:
        raise InvalidStatement("the issuer is named as another key", reason="issuer-unbound")
    if policy.subject is not None and claims.get(CLAIM_SUB) != policy.subject:
        raise InvalidStatement(
            f"the subject is {claims.get(CLAIM_SUB)!r}, not {policy.subject!r}", reason="subject"
        )
    return claims


def parse_claims(said: Any, now: datetime) -> dict[Any, Any]:
    """Read claims, and check their types and their times.

    Raises:
        InvalidStatement: they are none, or do not hold now.
    """
    if not isinstance(said, dict):
        raise InvalidStatement("claims that are no map", reason="claims-malformed")
    # 1, 1.0 and true are three labels in CBOR, and one in Python.
    if not all(type(label) in (int, str) for label in said):
        raise InvalidStatement(
            "a claim whose label is neither number nor text", reason="claims-malformed"
        )
    for label, kinds in _CLAIM_TYPES.items():
        if label in said and type(said[label]) not in kinds:
            raise InvalidStatement(f"claim {label} is of the wrong type", reason="claims-malformed")
    _check_claim_times(said, now)
    return dict(said)


def describe_issuer(claims: dict[Any, Any], policy: Policy) -> str:
    """Say who the issuer is, and whether that is more than what the signer says."""
    issuer = claims.get(CLAIM_ISS)
    if issuer is None:
        return "no issuer is named"
    return (
        f"by {issuer}"
        if policy.issuer is not None or _is_thumbprint_uri(issuer)
        else f"by {issuer}, as they say"
    )


def _check_claim_times(claims: dict[Any, Any], now: datetime) -> None:
    """Check when it says that it was signed, and between which times it says that it holds; RFC
    8392 section 3.1.
    """
    said = {label: claims[label] for label in (CLAIM_IAT, CLAIM_NBF, CLAIM_EXP) if label in claims}
    if not all(0 <= time < _TIME_END for time in said.values()):
        raise InvalidStatement("a time that no calendar has", reason="claims-malformed")
    latest, earliest = now.timestamp() + _MAX_CLOCK_SKEW, now.timestamp() - _MAX_CLOCK_SKEW
    if said.get(CLAIM_IAT, 0) > latest:
        raise InvalidStatement(
            f"it says that it will be signed at {_format_time(said[CLAIM_IAT])}",
            reason="issued-in-future",
        )
    if said.get(CLAIM_NBF, 0) > latest:
        raise InvalidStatement(
            f"it says that it holds from {_format_time(said[CLAIM_NBF])} on",
            reason="claims-not-yet",
        )
    if said.get(CLAIM_EXP, latest) < earliest:
        raise InvalidStatement(
            f"it says that it held until {_format_time(said[CLAIM_EXP])}", reason="claims-expired"
        )


def _format_time(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _is_thumbprint_uri(issuer: Any) -> bool:
    """Tell whether an issuer is named by a key, which then has to be the one that signed."""
    return isinstance(issuer, str) and issuer.startswith(THUMBPRINT_URI_PREFIX)


_ENVELOPE_HEADERS = (HEADER_PREIMAGE_CONTENT_TYPE, HEADER_PAYLOAD_LOCATION)


def detect_profile(message: Sign1) -> str:
    """Tell the profile of a statement, and check what its headers must and must not have.

    Raises:
        InvalidStatement: they contradict each other.
    """
    for label in (HEADER_PAYLOAD_HASH_ALG, *_ENVELOPE_HEADERS):
        if label in message.unprotected:
            raise InvalidStatement(
                f"{format_header_label(label)} is not protected", reason="envelope-unprotected"
            )
    if HEADER_PAYLOAD_HASH_ALG in message.protected:
        _check_hash_envelope(message)
        return HASH_ENVELOPE
    for label in _ENVELOPE_HEADERS:
        if label in message.protected:
            raise InvalidStatement(
                f"{format_header_label(label)} without a hash algorithm", reason="hash-alg-missing"
            )
    if message.payload is None:
        return DETACHED
    if not message.payload:
        raise InvalidStatement("the payload is empty", reason="payload-empty")
    return ATTACHED


def _check_hash_envelope(message: Sign1) -> None:
    if HEADER_CONTENT_TYPE in message.protected or HEADER_CONTENT_TYPE in message.unprotected:
        raise InvalidStatement(
            "a hash envelope with a content type", reason="envelope-content-type"
        )
    number = message.protected[HEADER_PAYLOAD_HASH_ALG]
    if type(number) is not int or number not in HASH_FUNCTIONS:
        raise InvalidStatement(f"no hash algorithm {number!r}", reason="hash-alg-unknown")
    if message.payload is None:
        raise InvalidStatement("a hash envelope without a hash", reason="payload-missing")
    if len(message.payload) != HASH_FUNCTIONS[number]().digest_size:
        raise InvalidStatement(
            "the payload is not a hash of the algorithm that is named", reason="hash-alg-mismatch"
        )


def get_signed_payload(message: Sign1, payload: bytes | None) -> bytes:
    """Give the payload that the signature is over: the one inside, or else the one that was given.

    Raises:
        InvalidStatement: there is none.
    """
    signed = message.payload if message.payload is not None else payload
    if not signed:
        raise InvalidStatement(
            "the payload is missing",
            reason="payload-missing",
            hint="It is detached: give the file it is about.",
        )
    return signed


def check_content(message: Sign1, profile: str, payload: bytes | None) -> bytes:
    """Check that given bytes are those that the statement is about, and give them.

    Raises:
        InvalidStatement: they are not, or there are none.
    """
    if profile != HASH_ENVELOPE:
        signed = get_signed_payload(message, payload)
        if payload is not None and payload != signed:
            raise InvalidStatement(
                "the bytes are not those that were signed", reason="content-mismatch"
            )
        return signed
    if payload is None:
        hint = (
            "It holds their hash: put the file it is about beside it, as NAME beside "
            "NAME.cose, and verify that."
        )
        raise InvalidStatement(
            "the bytes that the statement is about are missing", reason="payload-missing", hint=hint
        )
    if (
        HASH_FUNCTIONS[message.protected[HEADER_PAYLOAD_HASH_ALG]](payload).digest()
        != message.payload
    ):
        raise InvalidStatement(
            "the bytes are not those that were signed", reason="content-mismatch"
        )
    return payload


def parse_signed_record(data: bytes) -> tuple[dict[str, Any], RecordEncoding] | None:
    """Give the record that bytes are, and its form; nothing for anything else."""
    try:
        value, form = detect_and_decode(data)
    except UnreadableInput:
        return None
    is_record = (
        isinstance(value, dict) and "version" in value and ("session" in value or "files" in value)
    )
    return (value, form) if is_record else None
