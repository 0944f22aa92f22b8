"""DSSE, the envelope of in-toto: what is signed, and how signatures are written. Step: export.
Follows DSSE 1.0.
"""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from vacr.model import Native
from vacr.signing import Signer, keys


def envelope(payload: bytes, payload_type: str, signer: Signer) -> Native:
    """Sign a payload with its type."""
    signature = _as_others_write_it(
        signer.sign(pre_authentication_encoding(payload, payload_type)), signer
    )
    return {
        "payload": _base64(payload),
        "payloadType": payload_type,
        "signatures": [
            {"keyid": keys.thumbprint_uri(signer.public_key), "sig": _base64(signature)}
        ],
    }


def pre_authentication_encoding(payload: bytes, payload_type: str) -> bytes:
    """Give the bytes that a signature covers: both parts, each after its length."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _as_others_write_it(signature: bytes, signer: Signer) -> bytes:
    """Give a signature of ECDSA in DER, as those who verify envelopes expect it; COSE has its two
    numbers side by side.
    """
    if not isinstance(signer.public_key, ec.EllipticCurvePublicKey):
        return signature
    half = len(signature) // 2
    return encode_dss_signature(
        int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
