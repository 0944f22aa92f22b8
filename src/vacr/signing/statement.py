"""Sign a record or a native session, as a statement (RFC 9943).

A statement has one of three profiles. A `hash-envelope` contains the SHA-256 of the payload (RFC
9995), `attached` contains the payload itself, and `detached` contains neither. All of them name
the issuer, the subject and the content type in the protected header.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import KeySigner, parse_sign1, sign
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> message = parse_sign1(sign(b"hello", signer))
    >>> message.payload.hex()      # the SHA-256 of the payload
    '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
    >>> sorted(message.protected)  # alg, kid, CWT claims, hash algorithm, content type
    [1, 4, 15, 258, 259]

`trace-metadata` summarises a record for readers that do not open it. It is in the unprotected
header, so it is not signed: verification builds it again from the record and compares.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509

from vacr.errors import UsageError
from vacr.signing.certificates import build_kccs, build_x5chain, build_x5t, is_issuer_uri
from vacr.signing.cose import (
    ALG_SHA256,
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_ALG,
    HEADER_CONTENT_TYPE,
    HEADER_CWT_CLAIMS,
    HEADER_KCCS,
    HEADER_KID,
    HEADER_PAYLOAD_HASH_ALG,
    HEADER_PREIMAGE_CONTENT_TYPE,
    HEADER_X5CHAIN,
    HEADER_X5T,
    Sign1,
    encode_protected_header,
    encode_sig_structure,
)
from vacr.signing.keys import Signer, compute_thumbprint, compute_thumbprint_uri

HASH_ENVELOPE, DETACHED, ATTACHED = "hash-envelope", "detached", "attached"
STATEMENT_PROFILES = (HASH_ENVELOPE, DETACHED, ATTACHED)

TRACE_FORMATS = {"3.0.0-draft": "ietf-vac-v3.0", "2.0.0-draft": "ietf-vac-v2.0"}
"""The trace format id of a record, by schema version. A native session has its reader's format."""
_UINT_END = 2**64


@dataclass(frozen=True, slots=True)
class StatementClaims:
    """The signer's claims: issuer, subject, and the time of signing in seconds since 1970."""

    issuer: str | None = None
    subject: str | None = None
    issued_at: int | None = None


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
    """Sign a payload and return the statement.

    A hash envelope needs only the payload's SHA-256, `digest`, so a large file need not be in
    memory. Unless `claims` say otherwise, the issuer is the key's thumbprint and the subject is
    the payload's digest. The statement carries the key, by itself or in the certificate chain.

    Raises:
        UsageError: the profile is unknown, or an argument that it needs is missing.
    """
    if profile not in STATEMENT_PROFILES:
        raise UsageError(f"no profile {profile!r}", hint=f"Known: {', '.join(STATEMENT_PROFILES)}.")
    if payload is None and (profile != HASH_ENVELOPE or digest is None):
        raise UsageError("nothing to sign")
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
                "the first certificate is not the key's",
                hint="A chain begins with the signer's certificate.",
            )
        if not is_issuer_uri(cwt_claims[CLAIM_ISS]):
            raise UsageError(
                "with certificates, the issuer has to be a URI",
                hint="For example: --issuer https://example.org",
            )
        headers |= {
            HEADER_X5CHAIN: build_x5chain(chain),
            HEADER_X5T: build_x5t(chain[0]),
        }
    return headers


def build_trace_metadata(record: dict[str, Any], trace_format: str) -> dict[str, Any] | None:
    """Summarise a record, or return None for a session without an id or a start."""
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
    """Return whether a value can be a time; an invalid record may hold anything there."""
    return isinstance(value, str) or (type(value) is int and 0 <= value < _UINT_END)


def get_trace_format(version: Any) -> str:
    """Return the trace format id of a record, by its version; "unknown" for any other value."""
    return TRACE_FORMATS.get(version, "unknown") if isinstance(version, str) else "unknown"
