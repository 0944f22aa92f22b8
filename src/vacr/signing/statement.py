"""Bytes + signer → a signed statement. Step: sign. Follows RFC 9943 (what a statement says) and RFC
9995 (hash envelopes).

There are three profiles: a `hash-envelope` holds the SHA-256 of the bytes, `attached` holds the
bytes, `detached` holds nothing and says by its content type what belongs to it.

`trace-metadata`: what a signed record is about, beside the signature. Step: sign, verify.

It stands in the unprotected header: nobody signs it. Whoever has the record makes it again and
compares.
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


@dataclass(frozen=True, slots=True)
class StatementClaims:
    """What the signer says: who they are, what it is about, and when they signed, in seconds of the
    epoch.
    """

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
    """Sign bytes; for a hash envelope their SHA-256 is enough, so that they need not be in memory.

    The issuer is named by the key and the subject by the bytes, unless `claims` name them. The
    statement carries the key, by itself or in the chain of its certificates.

    Raises:
        UsageError: there is no such profile, or it needs what was not given.
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
    written = encode_protected_header({**headers, **(protected or {})})
    signature = signer.sign(encode_sig_structure(written, payload or b""))
    beside = {
        **({} if chain else {HEADER_KCCS: build_kccs(signer.public_key)}),
        **(unprotected or {}),
    }
    return Sign1(
        written, headers, beside, None if profile == DETACHED else payload, signature
    ).encode()


def _build_protected_header(
    signer: Signer, claims: StatementClaims, digest: bytes, chain: Sequence[x509.Certificate]
) -> dict[int, Any]:
    said: dict[int, Any] = {
        CLAIM_ISS: claims.issuer or compute_thumbprint_uri(signer.public_key),
        CLAIM_SUB: claims.subject or f"urn:sha-256:{digest.hex()}",
    }
    if claims.issued_at is not None:
        said[CLAIM_IAT] = claims.issued_at
    headers: dict[int, Any] = {
        HEADER_ALG: signer.algorithm,
        HEADER_KID: compute_thumbprint(signer.public_key),
        HEADER_CWT_CLAIMS: said,
    }
    if chain:
        if compute_thumbprint(chain[0].public_key()) != compute_thumbprint(signer.public_key):
            raise UsageError(
                "the first certificate is not the key's",
                hint="A chain begins with the signer's certificate.",
            )
        if not is_issuer_uri(said[CLAIM_ISS]):
            raise UsageError(
                "with certificates, the issuer has to be a URI",
                hint="For example: --issuer https://example.org",
            )
        headers |= {
            HEADER_X5CHAIN: build_x5chain(chain),
            HEADER_X5T: build_x5t(chain[0]),
        }
    return headers


TRACE_FORMATS = {"3.0.0-draft": "ietf-vac-v3.0", "2.0.0-draft": "ietf-vac-v2.0"}
"""Schema version → trace format id of a record; that of a native session is its reader's."""


_UINT_END = 2**64


def get_trace_format(version: Any) -> str:
    """Give the trace format id of a record by its version, which may be anything."""
    return TRACE_FORMATS.get(version, "unknown") if isinstance(version, str) else "unknown"


def _is_timestamp(value: Any) -> bool:
    """Tell whether a value can stand for a time, whatever its form: a record that is not valid may
    hold anything there.
    """
    return isinstance(value, str) or (type(value) is int and 0 <= value < _UINT_END)


def build_trace_metadata(record: dict[str, Any], trace_format: str) -> dict[str, Any] | None:
    """Summarise a record; nothing for a session without a start, of which there is no summary."""
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
