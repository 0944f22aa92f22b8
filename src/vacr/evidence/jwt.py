"""Signed claims in JSON: JSON Web Tokens, in their compact form. Step: appraise. Follows RFC 7515,
RFC 7519 and RFC 8725.

Only ES256, ES384, ES512 and EdDSA are written and read, whose signatures COSE and JOSE write alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vacr.codec import canonical_json
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import base64url, labels
from vacr.signing import keys
from vacr.signing import labels as cose
from vacr.signing.algorithms import PublicKey, verify
from vacr.signing.signers import Signer

_NAMES = {
    cose.ES256: "ES256",
    cose.ESP256: "ES256",
    cose.ES384: "ES384",
    cose.ESP384: "ES384",
    cose.ES512: "ES512",
    cose.ESP512: "ES512",
    cose.EDDSA: "EdDSA",
    cose.ED25519: "EdDSA",
}
_NUMBERS = {"ES256": cose.ES256, "ES384": cose.ES384, "ES512": cose.ES512, "EdDSA": cose.EDDSA}
_PARTS = 3
_TYPES = ("JWT", labels.EAT_JWT, "eat+jwt")


@dataclass(frozen=True, slots=True)
class JsonToken:
    """Claims and their signature, which is not checked yet."""

    algorithm: int
    signed: bytes
    signature: bytes
    claims: dict[str, Any]

    def check(self, key: PublicKey) -> None:
        """Check that a key signed the claims.

        Raises:
            InvalidStatement: it did not.
        """
        verify(self.algorithm, key, self.signature, self.signed)


def looks_like_one(data: bytes) -> bool:
    """Tell whether bytes may be a token in JSON: those in CBOR begin otherwise."""
    return data.startswith(b"ey")


def sign_claims(claims: dict[str, Any], signer: Signer) -> bytes:
    """Sign claims.

    Raises:
        UsageError: JWTs are not signed by the algorithm of this key.
    """
    if signer.algorithm not in _NAMES:
        raise UsageError(
            "a JWT cannot be signed by a key of this kind",
            hint="Take an Ed25519 or EC key, or write a CWT.",
        )
    header = {
        "alg": _NAMES[signer.algorithm],
        "kid": keys.thumbprint_uri(signer.public_key),
        "typ": labels.EAT_JWT,
    }
    signed = _base64(canonical_json.encode(header)) + b"." + _base64(canonical_json.encode(claims))
    return signed + b"." + _base64(signer.sign(signed))


def read_token(data: bytes) -> JsonToken:
    """Read a token.

    Raises:
        InvalidStatement: it is none, or by an algorithm that is not known.
    """
    parts = data.rstrip(b"\r\n").split(b".")
    if len(parts) != _PARTS:
        raise InvalidStatement("a JWT has three parts", reason="jwt-malformed")
    header, claims = _object(parts[0]), _object(parts[1])
    name = header.get("alg")
    if not isinstance(name, str) or name not in _NUMBERS:
        raise InvalidStatement(f"no signature algorithm {name!r}", reason="alg-unknown")
    if "crit" in header:
        raise InvalidStatement("crit names what is not understood", reason="crit-unknown")
    if header.get("typ", labels.EAT_JWT) not in _TYPES:
        raise InvalidStatement("a signed text that is no token", reason="typ")
    return JsonToken(_NUMBERS[name], parts[0] + b"." + parts[1], _bytes(parts[2]), claims)


def _object(part: bytes) -> dict[str, Any]:
    try:
        value = canonical_json.decode(_bytes(part))
    except UnreadableInput as error:
        raise InvalidStatement(
            f"a part of a JWT that is no JSON: {error}", reason="jwt-malformed"
        ) from error
    if not isinstance(value, dict):
        raise InvalidStatement("a part of a JWT that is no object", reason="jwt-malformed")
    return value


def _base64(data: bytes) -> bytes:
    return base64url.encode(data).encode()


def _bytes(part: bytes) -> bytes:
    try:
        return base64url.decode(part.decode())
    except ValueError as error:
        raise InvalidStatement(
            "a part of a JWT that is not base64url", reason="jwt-malformed"
        ) from error
