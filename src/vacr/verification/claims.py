"""The content of a statement: its profile, the payload it covers, and the signer's claims.

The profile defines which bytes a statement covers. Its CWT claims (RFC 8392) name the issuer, the
subject and the time of signing. Both are in the protected header, and must satisfy the policy.

    >>> from datetime import UTC, datetime
    >>> from vacr.verification.claims import parse_claims
    >>> claims = {1: "https://example.org", 6: 1_700_000_000}    # iss, iat
    >>> parse_claims(claims, datetime(2024, 1, 1, tzinfo=UTC)) == claims
    True
    >>> parse_claims(claims, datetime(2020, 1, 1, tzinfo=UTC))
    Traceback (most recent call last):
    ...
    vacr.errors.InvalidStatement: the claimed signing time is in the future: 2023-11-14T22:13:20Z
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import cbor2

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
from vacr.verification.displayed_names import quote_words
from vacr.verification.policy import Checks, Policy, format_time
from vacr.verification.trust import TrustedSigner, is_issuer_bound

_TIME_TYPES = (int, float)
_CLAIM_TYPES: dict[int, tuple[type, ...]] = {
    CLAIM_ISS: (str,),
    CLAIM_SUB: (str,),
    CLAIM_IAT: _TIME_TYPES,
    CLAIM_NBF: _TIME_TYPES,
    CLAIM_EXP: _TIME_TYPES,
}
"""The types of the claims that verification reads."""
_TIME_CLAIMS = (CLAIM_IAT, CLAIM_NBF, CLAIM_EXP)
_EPOCH_TIME_TAG = 1
_TIME_END = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_MAX_CLOCK_SKEW = 300
"""The tolerated difference between the signer's clock and ours, in seconds."""
_MAP_START = re.compile(rb"[ \t\r\n]*\{|[\xa0-\xdb]")
"""The start of a JSON object, a CBOR map, or a CBOR tag, which may be around a map."""
_VISIBLE_BYTE = re.compile(rb"[^ \t\r\n]")
_ENVELOPE_HEADERS = (HEADER_PREIMAGE_CONTENT_TYPE, HEADER_PAYLOAD_LOCATION)


def detect_profile(message: Sign1) -> str:
    """Return the profile of a statement: HASH_ENVELOPE, DETACHED or ATTACHED.

    Raises:
        InvalidStatement: the headers or the payload do not fit the profile.
    """
    for label in (HEADER_PAYLOAD_HASH_ALG, *_ENVELOPE_HEADERS):
        if label in message.unprotected:
            raise InvalidStatement(
                f"the header {format_header_label(label)} is not signed: it is unprotected",
                reason="envelope-unprotected",
            )
    if HEADER_PAYLOAD_HASH_ALG in message.protected:
        _check_hash_envelope(message)
        return HASH_ENVELOPE
    for label in _ENVELOPE_HEADERS:
        if label in message.protected:
            raise InvalidStatement(
                f"the header {format_header_label(label)} needs a hash algorithm, but has none",
                reason="hash-alg-missing",
            )
    if message.payload is None:
        return DETACHED
    if not message.payload:
        raise InvalidStatement("the payload is empty", reason="payload-empty")
    return ATTACHED


def _check_hash_envelope(message: Sign1) -> None:
    """Check that the payload of a hash envelope is a hash of the length its algorithm has.

    Raises:
        InvalidStatement: it is not, the algorithm is unknown, or there is a content type.
    """
    if HEADER_CONTENT_TYPE in message.protected or HEADER_CONTENT_TYPE in message.unprotected:
        raise InvalidStatement(
            "a hash envelope must not have a content type", reason="envelope-content-type"
        )
    number = message.protected[HEADER_PAYLOAD_HASH_ALG]
    if type(number) is not int or number not in HASH_FUNCTIONS:
        raise InvalidStatement(
            f"unknown hash algorithm {number!r} in the hash envelope", reason="hash-alg-unknown"
        )
    if message.payload is None:
        raise InvalidStatement(
            "the hash envelope has no payload, so it contains no hash", reason="payload-missing"
        )
    if len(message.payload) != HASH_FUNCTIONS[number]().digest_size:
        raise InvalidStatement(
            "the hash in the statement has the wrong length for its algorithm",
            reason="hash-alg-mismatch",
        )


def get_signed_payload(message: Sign1, payload: bytes | None) -> bytes:
    """Return the bytes that the signature covers: the attached payload, or else `payload`.

    In a hash envelope, the attached payload is a hash of the file, not the file.

    Raises:
        InvalidStatement: the statement has no payload, and `payload` is None or empty.
    """
    signed = message.payload if message.payload is not None else payload
    if not signed:
        raise InvalidStatement(
            "the signed file is missing",
            reason="payload-missing",
            hint="The statement does not contain the file. Name the file, too.",
        )
    return signed


def check_content(message: Sign1, profile: str, payload: bytes | None) -> bytes:
    """Return the signed file: the attached payload, or `payload` after comparing it.

    A hash envelope contains only a hash, which `payload` must match.

    Raises:
        InvalidStatement: `payload` differs from the signed file, or the file is missing.
    """
    if profile != HASH_ENVELOPE:
        signed = get_signed_payload(message, payload)
        if payload is not None and payload != signed:
            raise InvalidStatement(
                "the file changed after it was signed", reason="content-mismatch"
            )
        return bytes(signed) if payload is None else payload
    if payload is None:
        hint = (
            "The statement holds only the file's hash. Put the file next to it, NAME next to "
            "NAME.cose, and verify NAME."
        )
        raise InvalidStatement("the signed file is missing", reason="payload-missing", hint=hint)
    hash_function = HASH_FUNCTIONS[message.protected[HEADER_PAYLOAD_HASH_ALG]]
    if hash_function(payload).digest() != message.payload:
        raise InvalidStatement("the file changed after it was signed", reason="content-mismatch")
    return payload


def parse_signed_record(data: bytes) -> tuple[dict[str, Any], RecordEncoding] | None:
    """Decode a signed file as a record, and return the record and its encoding.

    Return None if the file is neither JSON nor CBOR, or does not look like a record. The record is
    not validated.
    """
    # Decoding takes several times the memory of a file, so other files are not decoded.
    if _MAP_START.match(data) is None or _is_json_lines(data):
        return None
    try:
        value, encoding = detect_and_decode(data)
    except UnreadableInput:
        return None
    is_record = (
        isinstance(value, dict) and "version" in value and ("session" in value or "files" in value)
    )
    return (value, encoding) if is_record else None


def _is_json_lines(data: bytes) -> bool:
    """Return whether a JSON value ends in the first line, and more text follows.

    That is how most native sessions are stored. A line end cannot be within a JSON string, so such
    a text is never a single value.
    """
    end = data.find(b"\n")
    if end < 0 or _VISIBLE_BYTE.search(data, end) is None:
        return False
    try:
        json.loads(data[:end])
    except (ValueError, RecursionError):
        return False
    return True


def check_claims(
    message: Sign1, policy: Policy, signer: TrustedSigner, now: datetime
) -> dict[Any, Any]:
    """Return the claims of a statement by label, after checking them.

    A statement without claims is valid, unless the policy requires an issuer or a subject.

    Raises:
        InvalidStatement: a claim is malformed, not valid at `now`, or contradicts the policy or the
            signer's certificate.
    """
    if HEADER_CWT_CLAIMS in message.unprotected:
        raise InvalidStatement(
            "the claims are not signed: they are in the unprotected header",
            reason="claims-unprotected",
        )
    claims = parse_claims(message.protected.get(HEADER_CWT_CLAIMS, {}), now)
    _check_issuer(claims.get(CLAIM_ISS), message, policy, signer)
    subject = claims.get(CLAIM_SUB)
    if policy.subject is not None and subject != policy.subject:
        raise InvalidStatement(
            f"the claimed subject is {subject!r}, expected {policy.subject!r}", reason="subject"
        )
    return claims


def _check_issuer(issuer: Any, message: Sign1, policy: Policy, signer: TrustedSigner) -> None:
    """Check the claimed issuer, or None, against the policy and the signer.

    An issuer that the policy requires must be bound to the signer: a statement can claim any. A
    thumbprint URI must always name the signer's key.

    Raises:
        InvalidStatement: the issuer is another or unbound, or has certificates and is not a URI.
    """
    has_certificate = HEADER_X5CHAIN in message.protected or HEADER_X5T in message.protected
    if has_certificate and not is_issuer_uri(issuer):
        raise InvalidStatement(
            "the issuer must be a URI if the statement has certificates", reason="issuer-not-uri"
        )
    if policy.issuer is not None:
        if issuer != policy.issuer:
            raise InvalidStatement(
                f"the claimed issuer is {issuer!r}, expected {policy.issuer!r}", reason="issuer"
            )
        if not is_issuer_bound(issuer, signer):
            raise InvalidStatement(
                f"nothing binds the claimed issuer to the signer, {signer}",
                reason="issuer-unbound",
                hint="List the issuer in the trust store: vacr trust add NAME --key KEY --issuer "
                "URI. A certificate must have it as an alternative name.",
            )
    if _is_thumbprint_uri(issuer) and issuer != signer.uri:
        raise InvalidStatement(
            "the claimed issuer is not the key that signed", reason="issuer-unbound"
        )


def parse_claims(claims: Any, now: datetime) -> dict[Any, Any]:
    """Return a copy of CWT claims by label, after checking their types and times.

    Raises:
        InvalidStatement: they are malformed, or their times do not include `now`.
    """
    if not isinstance(claims, dict):
        raise InvalidStatement("the CWT claims are not a map", reason="claims-malformed")
    # 1, 1.0 and true are three labels in CBOR, and one in Python.
    if not all(type(label) in (int, str) for label in claims):
        raise InvalidStatement(
            "the label of a claim is neither an integer nor text", reason="claims-malformed"
        )
    parsed = {label: _untag_time(label, value) for label, value in claims.items()}
    for label, types in _CLAIM_TYPES.items():
        if label in parsed and type(parsed[label]) not in types:
            raise InvalidStatement(
                f"the claim with label {label} has the wrong type", reason="claims-malformed"
            )
    _check_claim_times(parsed, now)
    return parsed


def _untag_time(label: int | str, value: Any) -> Any:
    """Return the number in a tagged time (CBOR tag 1), and any other value as it is.

    RFC 8392 demands times without the tag, but some implementations write it.
    """
    is_tagged_time = isinstance(value, cbor2.CBORTag) and value.tag == _EPOCH_TIME_TAG
    return value.value if label in _TIME_CLAIMS and is_tagged_time else value


def _check_claim_times(claims: dict[Any, Any], now: datetime) -> None:
    """Check that `now` is not before the times of issue and start, nor after the expiry.

    Clocks may differ by five minutes. Missing times pass.

    Raises:
        InvalidStatement: `now` is outside, or a time is before 1970 or after 9999.
    """
    times = {label: claims[label] for label in _TIME_CLAIMS if label in claims}
    if not all(0 <= time < _TIME_END for time in times.values()):
        raise InvalidStatement(
            "a claimed time (iat, nbf or exp) is before 1970 or after 9999",
            reason="claims-malformed",
        )
    latest = now.timestamp() + _MAX_CLOCK_SKEW
    earliest = now.timestamp() - _MAX_CLOCK_SKEW
    if times.get(CLAIM_IAT, 0) > latest:
        raise InvalidStatement(
            f"the claimed signing time is in the future: {_format_seconds(times[CLAIM_IAT])}",
            reason="issued-in-future",
        )
    if times.get(CLAIM_NBF, 0) > latest:
        raise InvalidStatement(
            f"the statement is not valid before {_format_seconds(times[CLAIM_NBF])}",
            reason="claims-not-yet",
        )
    if times.get(CLAIM_EXP, latest) < earliest:
        raise InvalidStatement(
            f"the statement expired at {_format_seconds(times[CLAIM_EXP])}",
            reason="claims-expired",
        )


def _format_seconds(seconds: float) -> str:
    return format_time(datetime.fromtimestamp(seconds, UTC))


def _is_thumbprint_uri(issuer: Any) -> bool:
    """Return whether an issuer is the thumbprint of a key."""
    return isinstance(issuer, str) and issuer.startswith(THUMBPRINT_URI_PREFIX)


def report_issuer(claims: dict[Any, Any], signer: TrustedSigner, checks: Checks) -> bool:
    """Add the result about a statement's issuer, and return whether the signer may claim it.

    An issuer that nothing binds to the signer does not fail, but does not pass either.
    """
    issuer = claims.get(CLAIM_ISS)
    if issuer is None:
        checks.add_passed("claims", "no issuer")
        return False
    if is_issuer_bound(issuer, signer):
        checks.add_passed("claims", f"by {issuer}")
        return True
    checks.add_undecided(
        "claims",
        f"the statement claims the issuer {quote_words(issuer)}; nothing binds it to the signer",
    )
    return False
