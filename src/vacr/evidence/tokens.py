"""Signed tokens: claims as CBOR Web Tokens (CWT) and JSON Web Tokens (JWT).

Evidence, endorsements and results are entity attestation tokens (EAT, RFC 9711). A CWT is
`61(18([...]))`, and its protected header says that it is a token (RFC 8392, RFC 9596). That matters
because the same key may sign statements about files: an attacker who gets a file signed must not
be able to pass off the statement as a token.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.evidence.tokens import *
    >>> from vacr.signing import KeySigner
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> token = parse_cwt(sign_cwt({EAT_NONCE: b"12345678"}, signer))
    >>> token.check(signer.public_key)       # raises if the key did not sign it
    >>> token.claims
    {10: b'12345678'}

JWTs are in the compact form of RFC 7515, by the rules of RFC 7519 and RFC 8725. Only ES256, ES384,
ES512 and EdDSA are supported, because their signatures are the same in COSE and JOSE.

The numbers follow RFC 9711, RFC 9782 (media types), RFC 10013 (measured components) and
draft-ietf-rats-ear-03 (results). Our own claims have integers below -65536, which RFC 8392 reserves
for private use; texts would have to be registered.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

from vacr.errors import InvalidRecord, InvalidStatement, UnreadableInput, UsageError
from vacr.record import (
    decode_json,
    decode_shortest_cbor,
    encode_canonical_json,
    encode_deterministic_cbor,
)
from vacr.signing import (
    ALG_ED25519,
    ALG_EDDSA,
    ALG_ES256,
    ALG_ES384,
    ALG_ES512,
    ALG_ESP256,
    ALG_ESP384,
    ALG_ESP512,
    HEADER_ALG,
    HEADER_KID,
    HEADER_TYP,
    PublicKey,
    Sign1,
    Signer,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_protected_header,
    encode_sig_structure,
    parse_sign1,
    verify_signature,
)

EVIDENCE_PROFILE = "urn:uuid:5f0c7f5e-33d4-4b0e-9a52-6d1f6b1c2a71"
"""The EAT profile of our evidence; a URN of this kind needs no domain."""
ENDORSEMENT_PROFILE = "urn:uuid:0b1e4c1c-7b0f-4c7e-8b6a-7c2f2f5d9e36"
"""The EAT profile of endorsements of attestation keys."""
EAR_PROFILE = "tag:ietf.org,2026:rats/ear#03"

CWT_TAG = 61

# Claims of CWT and EAT.
EAT_EXP, EAT_IAT, EAT_CNF, EAT_NONCE = 4, 6, 8, 10
EAT_PROFILE, EAT_SUBMODS, EAT_SWNAME, EAT_SWVERSION, EAT_MEASUREMENTS = 265, 266, 270, 271, 273

# Claims defined by vacr.
CLAIM_RECORD, CLAIM_JOURNAL, CLAIM_MANIFESTS, CLAIM_KEY_STORAGE, CLAIM_AGENT = (
    -75001,
    -75002,
    -75003,
    -75004,
    -75005,
)
CLAIM_QUOTE, CLAIM_QUOTE_SIGNATURE, CLAIM_ATTESTATION_KEY, CLAIM_PCRS = (
    -75011,
    -75012,
    -75013,
    -75014,
)
CLAIM_ENDORSED_KEY, CLAIM_ENDORSED_BY = -75021, -75022

# Claims of results (EAR).
EAR_STATUS, EAR_VECTOR, EAR_POLICY_IDS, EAR_VERIFIER_ID = 1000, 1001, 1003, 1004
EAR_JSON_NAMES = {
    EAT_IAT: "iat",
    EAT_EXP: "exp",
    EAT_NONCE: "eat_nonce",
    EAT_PROFILE: "eat_profile",
    EAT_SUBMODS: "submods",
    EAR_STATUS: "ear_status",
    EAR_VECTOR: "ear_trustworthiness_vector",
    EAR_POLICY_IDS: "ear_appraisal_policy_ids",
    EAR_VERIFIER_ID: "ear_verifier_id",
    CLAIM_KEY_STORAGE: "vacr_key_storage",
    CLAIM_RECORD: "vacr_record",
    CLAIM_JOURNAL: "vacr_journal",
}
"""The names of these claims in JSON."""

KEY_STORAGE_SOFTWARE, KEY_STORAGE_TPM = "software", "tpm"
"""The places for the key that vouches for evidence."""
TPM_SUBMODULE = KEY_STORAGE_TPM
"""The name of the submodule that holds the quote of a TPM."""

NAMED_INFO_SHA256 = 1
"""SHA-256 in the named information registry, which measured components use."""
MEASURED_COMPONENT_FORMAT = 295
"""The CoAP content format of application/measured-component+cbor."""
EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE = "application/eat+cwt", "application/eat+jwt"
REFERENCE_VALUES_MEDIA_TYPE = "application/vnd.vacr.reference-values+cbor"
ENROLMENT_MEDIA_TYPES = {
    kind: f"application/vnd.vacr.enrolment-{kind}+cbor"
    for kind in ("request", "challenge", "secret", "answer")
}

CWT_PREFIX = bytes((0xD8, CWT_TAG))
"""The first bytes of a CWT: its tag."""
_UNDERSTOOD_CWT_HEADERS = frozenset((HEADER_ALG, HEADER_KID, HEADER_TYP))
_MAX_CLAIMS_DEPTH, _MAX_CLAIMS_ITEMS = 12, 200_000
_JWT_ALGORITHM_NAMES = {
    ALG_ES256: "ES256",
    ALG_ESP256: "ES256",
    ALG_ES384: "ES384",
    ALG_ESP384: "ES384",
    ALG_ES512: "ES512",
    ALG_ESP512: "ES512",
    ALG_EDDSA: "EdDSA",
    ALG_ED25519: "EdDSA",
}
_JWT_ALGORITHM_NUMBERS = {
    "ES256": ALG_ES256,
    "ES384": ALG_ES384,
    "ES512": ALG_ES512,
    "EdDSA": ALG_EDDSA,
}
_JWT_PART_COUNT = 3
_JWT_TYPES = (EAT_JWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE.removeprefix("application/"))
_PROFILE_PARAMETER_PATTERN = re.compile(
    r'[ \t]*eat_profile=(?:"([^";]*)"|([^";\s]*))', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CborToken:
    """A CWT whose signature is not verified yet."""

    message: Sign1
    claims: dict[Any, Any]

    def check(self, key: PublicKey) -> None:
        """Verify that a key signed the claims.

        Raises:
            InvalidStatement: the key did not sign them.
        """
        message = self.message
        verify_signature(
            message.protected.get(HEADER_ALG),
            key,
            message.signature,
            message.to_be_signed(message.payload or b""),
        )


def sign_cwt(claims: dict[Any, Any], signer: Signer) -> bytes:
    """Return a signed CWT with these claims; its header has the thumbprint of the key."""
    headers = {
        HEADER_ALG: signer.algorithm,
        HEADER_KID: compute_thumbprint(signer.public_key),
        HEADER_TYP: EAT_CWT_MEDIA_TYPE,
    }
    protected, payload = encode_protected_header(headers), encode_deterministic_cbor(claims)
    signature = signer.sign(encode_sig_structure(protected, payload))
    return CWT_PREFIX + Sign1(protected, headers, {}, payload, signature).encode()


def parse_cwt(data: bytes) -> CborToken:
    """Parse a CWT, tagged as such or only as COSE_Sign1, without verifying its signature.

    Raises:
        InvalidStatement: the token is malformed, of another type, or has an unsigned header.
    """
    message = parse_sign1(data.removeprefix(CWT_PREFIX), _UNDERSTOOD_CWT_HEADERS)
    if not message.tagged:
        raise InvalidStatement("the CWT has no COSE_Sign1 tag", reason="tag")
    if message.protected.get(HEADER_TYP) != EAT_CWT_MEDIA_TYPE:
        raise InvalidStatement(
            f"not an attestation token: its typ is not {EAT_CWT_MEDIA_TYPE}", reason="typ"
        )
    if message.unprotected:
        raise InvalidStatement("the CWT has an unsigned header", reason="structure")
    if not message.payload:
        raise InvalidStatement("the CWT has no claims", reason="payload-missing")
    return CborToken(message, parse_cwt_claims(message.payload))


def parse_cwt_claims(payload: bytes) -> dict[Any, Any]:
    """Return the claims in the payload of a CWT.

    Raises:
        InvalidStatement: the payload is not a map in deterministic CBOR.
    """
    try:
        claims = decode_shortest_cbor(
            payload, max_depth=_MAX_CLAIMS_DEPTH, max_items=_MAX_CLAIMS_ITEMS
        )
        encoded_again = encode_deterministic_cbor(claims)
    except (UnreadableInput, InvalidRecord) as error:
        raise InvalidStatement(
            f"the claims of the CWT are not valid CBOR: {error}", reason="claims-malformed"
        ) from error
    if not isinstance(claims, dict):
        raise InvalidStatement("the claims of the CWT are not a map", reason="claims-malformed")
    if encoded_again != payload:
        raise InvalidStatement(
            "the claims of the CWT are not in deterministic CBOR", reason="claims-malformed"
        )
    return claims


@dataclass(frozen=True, slots=True)
class JsonToken:
    """A JWT whose signature is not verified yet."""

    algorithm: int
    """The COSE number of the signature algorithm."""
    signed: bytes
    """The bytes under the signature: the encoded header and claims."""
    signature: bytes
    claims: dict[str, Any]

    def check(self, key: PublicKey) -> None:
        """Verify that a key signed the claims.

        Raises:
            InvalidStatement: the key did not sign them.
        """
        verify_signature(self.algorithm, key, self.signature, self.signed)


def looks_like_jwt(data: bytes) -> bool:
    """Return whether bytes begin like a JWT, with `ey`; no CWT does."""
    return data.startswith(b"ey")


def sign_jwt(claims: dict[str, Any], signer: Signer) -> bytes:
    """Return a signed JWT with these claims, in the compact form.

    Raises:
        UsageError: JWTs do not support the algorithm of this key.
    """
    if signer.algorithm not in _JWT_ALGORITHM_NAMES:
        raise UsageError(
            "a JWT cannot be signed with this kind of key",
            hint="Use an Ed25519 or EC key, or write a CWT: --to cwt",
        )
    header = {
        "alg": _JWT_ALGORITHM_NAMES[signer.algorithm],
        "kid": compute_thumbprint_uri(signer.public_key),
        "typ": EAT_JWT_MEDIA_TYPE,
    }
    encoded_header = _encode_jwt_part(encode_canonical_json(header))
    encoded_claims = _encode_jwt_part(encode_canonical_json(claims))
    signed = encoded_header + b"." + encoded_claims
    return signed + b"." + _encode_jwt_part(signer.sign(signed))


def parse_jwt(data: bytes) -> JsonToken:
    """Parse a JWT in the compact form, without verifying its signature.

    Raises:
        InvalidStatement: the token is malformed or of another type, or its algorithm or a critical
            header is not supported.
    """
    parts = data.rstrip(b"\r\n").split(b".")
    if len(parts) != _JWT_PART_COUNT:
        raise InvalidStatement("a JWT must have three parts", reason="jwt-malformed")
    header, claims = _parse_jwt_object(parts[0]), _parse_jwt_object(parts[1])
    name = header.get("alg")
    if name is None:
        raise InvalidStatement("the JWT names no signature algorithm (alg)", reason="alg-unknown")
    if not isinstance(name, str) or name not in _JWT_ALGORITHM_NUMBERS:
        raise InvalidStatement(
            f"the JWT has an unknown signature algorithm: {name!r}", reason="alg-unknown"
        )
    if "crit" in header or "b64" in header:
        raise InvalidStatement(
            "the JWT requires a header that vacr does not support (crit or b64)",
            reason="crit-unknown",
        )
    _check_jwt_type(header.get("typ"), claims.get("eat_profile"))
    return JsonToken(
        _JWT_ALGORITHM_NUMBERS[name], parts[0] + b"." + parts[1], _decode_jwt_part(parts[2]), claims
    )


def _check_jwt_type(name: Any, profile: Any) -> None:
    """Check that the type of a JWT is the one of attestation tokens (RFC 9782), in any case.

    Otherwise a token that the same key signed for a login could pass for a result. The type may
    state the profile, which must then be the one in the claims.

    Raises:
        InvalidStatement: the type is missing, or another one.
    """
    if name is None:
        raise InvalidStatement(
            f"not an attestation token: it has no typ, expected {EAT_JWT_MEDIA_TYPE}", reason="typ"
        )
    media_type, separator, parameter = str(name).partition(";")
    stated = _PROFILE_PARAMETER_PATTERN.fullmatch(parameter)
    if (
        not isinstance(name, str)
        or media_type.strip().lower() not in _JWT_TYPES
        or (separator and (stated is None or (stated[1] or stated[2]) != profile))
    ):
        raise InvalidStatement(
            f"not an attestation token: its typ is {name!r}, expected {EAT_JWT_MEDIA_TYPE}",
            reason="typ",
        )


def _parse_jwt_object(part: bytes) -> dict[str, Any]:
    """Return the JSON object in the header or the claims of a JWT.

    Raises:
        InvalidStatement: the part is not base64url, not JSON, or not a JSON object.
    """
    try:
        value = decode_json(_decode_jwt_part(part))
    except UnreadableInput as error:
        raise InvalidStatement(
            f"a part of the JWT is not JSON: {error}", reason="jwt-malformed"
        ) from error
    if not isinstance(value, dict):
        raise InvalidStatement("a part of the JWT is not a JSON object", reason="jwt-malformed")
    return value


def _encode_jwt_part(data: bytes) -> bytes:
    """Return a part of a JWT: bytes in base64url."""
    return encode_base64url(data).encode()


def _decode_jwt_part(part: bytes) -> bytes:
    """Return the bytes of a part of a JWT.

    Raises:
        InvalidStatement: the part is not base64url.
    """
    try:
        return decode_base64url(part.decode())
    except ValueError as error:
        raise InvalidStatement(
            "a part of the JWT is not base64url", reason="jwt-malformed"
        ) from error


def encode_base64url(data: bytes) -> str:
    """Encode bytes as base64url without padding (RFC 7515, section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Decode base64url without padding, accepting only the one encoding that each value has.

    Raises:
        ValueError: the text is not that encoding.
    """
    try:
        value = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    # The last character may have unused bits; two texts would then have the same value.
    if encode_base64url(value) != text:
        raise ValueError("not base64url")
    return value
