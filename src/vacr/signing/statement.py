"""Bytes + signer → a signed statement. Step: sign. Follows RFC 9943 (what a statement says) and RFC
9995 (hash envelopes).

There are three profiles: a `hash-envelope` holds the SHA-256 of the bytes, `attached` holds the
bytes, `detached` holds nothing and says by its content type what belongs to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509

from vacr.errors import UsageError
from vacr.signing import carried, certificates, keys, labels
from vacr.signing.sign1 import Sign1, encode_protected, to_be_signed
from vacr.signing.signers import Signer

HASH_ENVELOPE, DETACHED, ATTACHED = "hash-envelope", "detached", "attached"
PROFILES = (HASH_ENVELOPE, DETACHED, ATTACHED)


@dataclass(frozen=True, slots=True)
class Claims:
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
    claims: Claims | None = None,
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
    if profile not in PROFILES:
        raise UsageError(f"no profile {profile!r}", hint=f"Known: {', '.join(PROFILES)}.")
    if payload is None and (profile != HASH_ENVELOPE or digest is None):
        raise UsageError("nothing to sign")
    digest = hashlib.sha256(payload).digest() if payload is not None else digest
    headers = _headers(signer, claims or Claims(), digest or b"", chain)
    if profile == HASH_ENVELOPE:
        headers |= {
            labels.PAYLOAD_HASH_ALG: labels.SHA256,
            labels.PREIMAGE_CONTENT_TYPE: content_type,
        }
        payload = digest
    else:
        headers[labels.CONTENT_TYPE] = content_type
    written = encode_protected({**headers, **(protected or {})})
    signature = signer.sign(to_be_signed(written, payload or b""))
    beside = {
        **({} if chain else {labels.KCCS: carried.kccs(signer.public_key)}),
        **(unprotected or {}),
    }
    return Sign1(
        written, headers, beside, None if profile == DETACHED else payload, signature
    ).encode()


def _headers(
    signer: Signer, claims: Claims, digest: bytes, chain: Sequence[x509.Certificate]
) -> dict[int, Any]:
    said: dict[int, Any] = {
        labels.ISS: claims.issuer or keys.thumbprint_uri(signer.public_key),
        labels.SUB: claims.subject or f"urn:sha-256:{digest.hex()}",
    }
    if claims.issued_at is not None:
        said[labels.IAT] = claims.issued_at
    headers: dict[int, Any] = {
        labels.ALG: signer.algorithm,
        labels.KID: keys.thumbprint(signer.public_key),
        labels.CWT_CLAIMS: said,
    }
    if chain:
        if keys.thumbprint(chain[0].public_key()) != keys.thumbprint(signer.public_key):
            raise UsageError(
                "the first certificate is not the key's",
                hint="A chain begins with the signer's certificate.",
            )
        if not certificates.is_uri(said[labels.ISS]):
            raise UsageError(
                "with certificates, the issuer has to be a URI",
                hint="For example: --issuer https://example.org",
            )
        headers |= {
            labels.X5CHAIN: certificates.x5chain(chain),
            labels.X5T: certificates.x5t(chain[0]),
        }
    return headers
