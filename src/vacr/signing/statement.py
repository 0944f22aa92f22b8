"""Statements: sign a record or a native session, and carry the signer's key (RFC 9943).

A statement has one of three profiles. A `hash-envelope` contains the SHA-256 of the payload (RFC
9995), `attached` contains the payload itself, and `detached` contains neither. All of them name
the issuer, the subject and the content type in the protected header.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import KeySigner, find_carried_key, parse_sign1, sign
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> message = parse_sign1(sign(b"hello", signer))
    >>> message.payload.hex()      # the SHA-256 of the payload
    '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
    >>> sorted(message.protected)  # alg, kid, CWT claims, hash algorithm, content type
    [1, 4, 15, 258, 259]

A statement also carries its signer's key, so that a receiver without any other file can check the
signature. The key is in `kccs`, a claims set whose `cnf` claim holds it (RFC 9528, RFC 8747), or in
`x5chain`, a certificate chain that starts with the signer's certificate (RFC 9360). `x5t` is the
hash of that certificate.

    >>> find_carried_key(message) == signer.public_key
    True

`kccs` is unprotected; that is safe because the key's thumbprint is the protected `kid`. Carrying a
key proves nothing about its owner and makes it no more trusted.

`trace-metadata` summarises a record for readers that do not open it. It is in the unprotected
header, so it is not signed: verification builds it again from the record and compares.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.signing.cose import (
    ALG_SHA256,
    CLAIM_CNF,
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    CNF_COSE_KEY,
    HASH_FUNCTIONS,
    HEADER_ALG,
    HEADER_CONTENT_TYPE,
    HEADER_CWT_CLAIMS,
    HEADER_KCCS,
    HEADER_KID,
    HEADER_PAYLOAD_HASH_ALG,
    HEADER_PREIMAGE_CONTENT_TYPE,
    HEADER_X5CHAIN,
    HEADER_X5T,
    PublicKey,
    Sign1,
    encode_protected_header,
    encode_sig_structure,
)
from vacr.signing.keys import (
    Signer,
    build_cose_key,
    check_not_trust_store,
    compute_thumbprint,
    compute_thumbprint_uri,
    parse_cose_key,
)

HASH_ENVELOPE, DETACHED, ATTACHED = "hash-envelope", "detached", "attached"
STATEMENT_PROFILES = (HASH_ENVELOPE, DETACHED, ATTACHED)

TRACE_FORMATS = {"3.0.0-draft": "ietf-vac-v3.0", "2.0.0-draft": "ietf-vac-v2.0"}
"""The trace format id of a record, by schema version. A native session has its reader's format."""
_UINT_END = 2**64
_MAX_CHAIN_LENGTH = 16
_MAX_ISSUER_LENGTH = 8192
_X5T_PART_COUNT = 2
_CERTIFICATE_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


@dataclass(frozen=True, slots=True)
class StatementClaims:
    """The signer's claims in a statement; None leaves the default of `sign`."""

    issuer: str | None = None
    subject: str | None = None
    issued_at: int | None = None
    """The time of signing in seconds since 1970; None omits the time."""


def sign(
    payload: bytes | None,
    signer: Signer,
    *,
    profile: str = HASH_ENVELOPE,
    digest: bytes | None = None,
    content_type: str = "application/json",
    claims: StatementClaims | None = None,
    chain: Sequence[x509.Certificate] = (),
    unprotected: Mapping[int, Any] | None = None,
    protected: Mapping[int, Any] | None = None,
) -> bytes:
    """Sign a payload, and return the encoded statement.

    A hash envelope needs only the payload's SHA-256, `digest`, so a large file need not be in
    memory. Unless `claims` say otherwise, the issuer is the key's thumbprint and the subject is the
    payload's digest. The statement carries the key, by itself or in the certificate `chain`.
    `protected` and `unprotected` are more headers, by label. `content_type` is the media type of
    the payload.

    Raises:
        UsageError: the profile is unknown, an argument that it needs is missing, or the chain does
            not fit the key or the issuer.
    """
    if profile not in STATEMENT_PROFILES:
        raise UsageError(
            f"unknown profile {profile!r}", hint=f"Known: {', '.join(STATEMENT_PROFILES)}."
        )
    if payload is None and (profile != HASH_ENVELOPE or digest is None):
        raise UsageError(
            "the payload to sign is missing",
            hint="Pass the payload, or for a hash envelope its digest.",
        )
    digest = hashlib.sha256(payload).digest() if payload is not None else digest
    headers = _build_protected_header(signer, claims or StatementClaims(), digest or b"", chain)
    if profile == HASH_ENVELOPE:
        headers |= {
            HEADER_PAYLOAD_HASH_ALG: ALG_SHA256,
            HEADER_PREIMAGE_CONTENT_TYPE: content_type,
        }
        payload = digest
    else:
        headers[HEADER_CONTENT_TYPE] = content_type
    protected_bytes = encode_protected_header({**headers, **(protected or {})})
    signature = signer.sign(encode_sig_structure(protected_bytes, payload or b""))
    carried_key = {} if chain else {HEADER_KCCS: build_kccs(signer.public_key)}
    return Sign1(
        protected_bytes,
        headers,
        {**carried_key, **(unprotected or {})},
        None if profile == DETACHED else payload,
        signature,
    ).encode()


def _build_protected_header(
    signer: Signer, claims: StatementClaims, digest: bytes, chain: Sequence[x509.Certificate]
) -> dict[int, Any]:
    """Return the protected headers of all profiles: algorithm, key id, claims and certificates.

    Raises:
        UsageError: the first certificate is for another key, or the issuer is not a URI.
    """
    cwt_claims: dict[int, Any] = {
        CLAIM_ISS: claims.issuer or compute_thumbprint_uri(signer.public_key),
        CLAIM_SUB: claims.subject or f"urn:sha-256:{digest.hex()}",
    }
    if claims.issued_at is not None:
        cwt_claims[CLAIM_IAT] = claims.issued_at
    headers: dict[int, Any] = {
        HEADER_ALG: signer.algorithm,
        HEADER_KID: compute_thumbprint(signer.public_key),
        HEADER_CWT_CLAIMS: cwt_claims,
    }
    if chain:
        if compute_thumbprint(chain[0].public_key()) != compute_thumbprint(signer.public_key):
            raise UsageError(
                "the first certificate of the chain is not for the signing key",
                hint="The chain must start with the signer's certificate.",
            )
        if not is_issuer_uri(cwt_claims[CLAIM_ISS]):
            raise UsageError(
                "the issuer must be a URI if the statement has certificates",
                hint="For example: --issuer https://example.org",
            )
        headers |= {
            HEADER_X5CHAIN: build_x5chain(chain),
            HEADER_X5T: build_x5t(chain[0]),
        }
    return headers


def build_trace_metadata(record: dict[str, Any], trace_format: str) -> dict[str, Any] | None:
    """Return the header `trace-metadata` of a record: its session's id, vendor, format and times.

    `trace_format` is the id of the format. An unknown vendor becomes `unknown`, and an unknown end
    is left out. Return None if the record has no session, or the session has no id or no start
    time.
    """
    session = record.get("session")
    if not isinstance(session, dict) or not _is_timestamp(session.get("session-start")):
        return None
    if not isinstance(session.get("session-id"), str):
        return None
    meta = session.get("agent-meta")
    vendor = meta.get("model-provider") if isinstance(meta, dict) else None
    summary = {
        "session-id": session.get("session-id"),
        "agent-vendor": vendor if isinstance(vendor, str) else "unknown",
        "trace-format": trace_format,
        "timestamp-start": session["session-start"],
    }
    if _is_timestamp(session.get("session-end")):
        summary["timestamp-end"] = session["session-end"]
    return summary


def _is_timestamp(value: Any) -> bool:
    """Return whether a value is text or epoch milliseconds; text is not parsed."""
    return isinstance(value, str) or (type(value) is int and 0 <= value < _UINT_END)


def get_trace_format(version: Any) -> str:
    """Return the trace format id for a schema version; `unknown` for any other value."""
    return TRACE_FORMATS.get(version, "unknown") if isinstance(version, str) else "unknown"


def find_carried_key(message: Sign1) -> PublicKey | None:
    """Return the key that a message carries, in `kccs` or in its first certificate.

    Return None if it carries no key. The key may belong to anybody.

    Raises:
        InvalidStatement: it cannot be read, or the protected header names another key.
    """
    key, certified_key = find_kccs_key(message), _find_certified_key(message)
    if key is None:
        return certified_key
    if message.protected.get(HEADER_KID) != compute_thumbprint(key):
        raise InvalidStatement(
            "the statement carries a different key (kccs) than it names as its signer's (kid)",
            reason="kccs-mismatch",
        )
    if certified_key is not None and compute_thumbprint(certified_key) != compute_thumbprint(key):
        raise InvalidStatement(
            "the statement carries two keys: the one in kccs is not the certificate's",
            reason="kccs-mismatch",
        )
    return key


def _find_certified_key(message: Sign1) -> PublicKey | None:
    """Return the key of the first certificate in `x5chain`, or None without a chain.

    Raises:
        InvalidStatement: no protected header names the certificate or its key.
    """
    if HEADER_X5CHAIN in message.protected:
        return parse_x5chain(message.protected[HEADER_X5CHAIN])[0].public_key()
    if HEADER_X5CHAIN not in message.unprotected:
        return None
    certificate = parse_x5chain(message.unprotected[HEADER_X5CHAIN])[0]
    if HEADER_X5T in message.protected:
        check_x5t(message.protected[HEADER_X5T], certificate)
    elif message.protected.get(HEADER_KID) != compute_thumbprint(certificate.public_key()):
        raise InvalidStatement(
            "the certificate is not signed: no protected header names it or its key",
            reason="x5chain-unprotected",
        )
    return certificate.public_key()


def find_kccs_key(message: Sign1) -> PublicKey | None:
    """Return the key in a message's `kccs` header, or None if it has no such header.

    Raises:
        InvalidStatement: the header holds no readable key.
    """
    for headers in (message.protected, message.unprotected):
        if HEADER_KCCS in headers:
            return parse_kccs(headers[HEADER_KCCS])
    return None


def parse_kccs(value: Any) -> PublicKey:
    """Return the key in the value of a `kccs` header.

    Raises:
        InvalidStatement: the value holds no readable key.
    """
    confirmation = value.get(CLAIM_CNF) if isinstance(value, dict) else None
    parameters = confirmation.get(CNF_COSE_KEY) if isinstance(confirmation, dict) else None
    if not isinstance(parameters, dict):
        raise InvalidStatement("the header kccs contains no key", reason="kccs-malformed")
    try:
        key = parse_cose_key(parameters)
        build_cose_key(key)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"cannot read the key in the header kccs: {error.message}", reason="kccs-malformed"
        ) from error
    return key


def build_kccs(key: PublicKey) -> dict[int, Any]:
    """Return the value of a `kccs` header: a claims set that contains a key."""
    return {CLAIM_CNF: {CNF_COSE_KEY: build_cose_key(key)}}


def parse_pem_certificates(pem: bytes) -> list[x509.Certificate]:
    """Return the certificates in a PEM text; at least one.

    Raises:
        UnreadableInput: it holds no certificate, or an unreadable one.
    """
    check_not_trust_store(pem)
    try:
        with _suppress_warnings():
            certificates = x509.load_pem_x509_certificates(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableInput(
            "contains no PEM certificates, or a malformed one",
            hint="A certificate starts with -----BEGIN CERTIFICATE-----",
        ) from error
    try:
        with _suppress_warnings():
            for certificate in certificates:
                _check_certificate_fields(certificate)
    except _CERTIFICATE_ERRORS as error:
        raise UnreadableInput(f"cannot read a certificate: {error}") from error
    return certificates


def parse_x5chain(value: Any) -> list[x509.Certificate]:
    """Return the certificates in the value of an `x5chain` header, the signer's first.

    Raises:
        InvalidStatement: it is not a list of 1 to 16 certificates, or one cannot be read.
    """
    encoded = [value] if isinstance(value, bytes) else value
    if (
        not isinstance(encoded, list | tuple)
        or not 0 < len(encoded) <= _MAX_CHAIN_LENGTH
        or not all(isinstance(der, bytes) for der in encoded)
    ):
        raise InvalidStatement(
            f"the header x5chain is not a list of 1 to {_MAX_CHAIN_LENGTH} certificates",
            reason="x5chain-malformed",
        )
    return [_parse_der_certificate(der) for der in encoded]


def _parse_der_certificate(der: bytes) -> x509.Certificate:
    """Parse a certificate, and check that every field and the key can be read.

    Raises:
        InvalidStatement: a part of the certificate cannot be read.
    """
    try:
        with _suppress_warnings():
            certificate = x509.load_der_x509_certificate(der)
            _check_certificate_fields(certificate)
        build_cose_key(certificate.public_key())
    except (*_CERTIFICATE_ERRORS, UnreadableInput) as error:
        raise InvalidStatement(
            f"cannot read a certificate in x5chain: {error}", reason="x5chain-malformed"
        ) from error
    return certificate


def build_x5chain(chain: Sequence[x509.Certificate]) -> Any:
    """Return the value of an `x5chain` header: bytes for one certificate, a list for several."""
    encoded = [certificate.public_bytes(Encoding.DER) for certificate in chain]
    return encoded[0] if len(encoded) == 1 else encoded


def build_x5t(certificate: x509.Certificate) -> list[Any]:
    """Return the value of an `x5t` header: a certificate's hash, after the hash's COSE number."""
    return [ALG_SHA256, hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()]


def check_x5t(value: Any, certificate: x509.Certificate) -> None:
    """Check that the value of an `x5t` header is the hash of a certificate.

    Raises:
        InvalidStatement: it is malformed, or the hash of another certificate.
    """
    is_pair = isinstance(value, list | tuple) and len(value) == _X5T_PART_COUNT
    if not is_pair or not isinstance(value[0], int) or value[0] not in HASH_FUNCTIONS:
        raise InvalidStatement(
            "the certificate hash (x5t) is malformed, or its algorithm is not supported",
            reason="x5t-malformed",
        )
    algorithm, digest = value
    if HASH_FUNCTIONS[algorithm](certificate.public_bytes(Encoding.DER)).digest() != digest:
        raise InvalidStatement(
            "the certificate was replaced: its hash is not the signed one (x5t)",
            reason="x5t-mismatch",
        )


def _check_certificate_fields(certificate: x509.Certificate) -> None:
    """Read every field that verification uses, so that errors appear now.

    The library parses a field only when it is first read.

    Raises:
        ValueError, UnsupportedAlgorithm: a field or the key cannot be read.
    """
    _ = (
        certificate.subject,
        certificate.issuer,
        certificate.extensions,
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
    )
    certificate.public_key()


@contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Suppress the library's warnings about odd certificates: they would reach the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_issuer_uri(issuer: Any) -> bool:
    """Return whether an issuer is a printable ASCII URI with a scheme, at most 8192 long.

    RFC 9943 requires a URI next to certificates.
    """
    try:
        scheme = urlsplit(issuer).scheme if isinstance(issuer, str) else ""
    except ValueError:
        return False
    return (
        bool(scheme)
        and issuer.isascii()
        and issuer.isprintable()
        and " " not in issuer
        and len(issuer) <= _MAX_ISSUER_LENGTH
    )
