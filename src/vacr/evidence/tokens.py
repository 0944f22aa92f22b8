"""Bytes as text, as JSON Web Tokens and wrappers in JSON write them. Step: attest, appraise.
Follows RFC 7515, section 2.

Messages of RATS in their wrappers, by which their type is known. Step: attest, appraise. Follows
RFC 9999 (CMW).

A record is `[type, value, ind]`, a tag `#6.N(value)` stands for a type by its CoAP content format
(RFC 9277), and a collection is a map of names to wrappers. In JSON values are base64url, and there
are no tags. Reading is strict.

The names and numbers of evidence: claims, media types, tags. Step: attest, appraise.

Follows RFC 9711 (EAT), RFC 9782 (its media types), RFC 10013 (measured components), RFC 9999 (CMW),
draft-ietf-rats-ear-03.

Claims of our own have integers below -65536, which RFC 8392 leaves for private use; texts would
have to be registered.

Signed claims: CBOR Web Tokens. Step: attest, appraise. Follows RFC 8392 and, for what type a
token is of, RFC 9596.

A token is `61(18([...]))`. Its protected header says that it is one: the same key may sign
statements about files, and nobody can have such a statement taken for a token by having the right
file signed.

Signed claims in JSON: JSON Web Tokens, in their compact form. Step: appraise. Follows RFC 7515,
RFC 7519 and RFC 8725.

Only ES256, ES384, ES512 and EdDSA are written and read, whose signatures COSE and JOSE write alike.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cbor2

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


def encode_base64url(data: bytes) -> str:
    """Write bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Read base64url without padding, in the one form that it has.

    Raises:
        ValueError: it is something else.
    """
    try:
        value = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    # The last letter may hold bits that belong to nothing: then two texts would be one value.
    if encode_base64url(value) != text:
        raise ValueError("not base64url")
    return value


(
    INDICATOR_REFERENCE_VALUES,
    INDICATOR_ENDORSEMENTS,
    INDICATOR_EVIDENCE,
    INDICATOR_RESULTS,
    INDICATOR_APPRAISAL_POLICY,
) = 1, 2, 4, 8, 16
"""What a record holds, as bits."""
_ALL_INDICATORS = (
    INDICATOR_REFERENCE_VALUES
    | INDICATOR_ENDORSEMENTS
    | INDICATOR_EVIDENCE
    | INDICATOR_RESULTS
    | INDICATOR_APPRAISAL_POLICY
)
COLLECTION_TYPE_MEMBER = "__cmwc_t"

_FIRST_FORMAT_TAG, _LAST_FORMAT_TAG, _FORMATS_PER_ROW = 1668546817, 1668612095, 255
_MAX_CONTENT_FORMAT = 65535
_CMW_RECORD_LENGTHS = (2, 3)
_MAX_CMW_DEPTH, _MAX_CMW_ITEMS, _MAX_COLLECTION_DEPTH = 12, 10_000, 4
_MEDIA_TYPE_PATTERN = re.compile(
    r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:;[ \t]*[^;\x00-\x1f]+)*"
)
_URI_OR_OID_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+|[0-2](?:\.(?:0|[1-9][0-9]*))+")

MessageType = str | int
"""A media type, or the number of a CoAP content format."""


@dataclass(frozen=True, slots=True)
class CmwRecord:
    """One message and its type; `indicator` says what it is for, as bits, and may be missing."""

    type: MessageType
    value: bytes
    indicator: int | None = None

    @property
    def media_type(self) -> MessageType:
        """The type without its parameters."""
        return self.type.split(";")[0].strip().lower() if isinstance(self.type, str) else self.type


@dataclass(frozen=True, slots=True)
class CmwCollection:
    """Several messages by their names, and what the whole is, as a URI or an OID."""

    members: Mapping[str | int, CmwRecord | CmwCollection]
    type: str | None = field(default=None)


WrappedMessage = CmwRecord | CmwCollection


def list_cmw_records(wrapped: WrappedMessage) -> Iterator[CmwRecord]:
    """Give all messages in a wrapper, however deep."""
    if isinstance(wrapped, CmwRecord):
        yield wrapped
        return
    for member in wrapped.members.values():
        yield from list_cmw_records(member)


def compute_format_tag(content_format: int) -> int:
    """Give the tag that stands for a content format; RFC 9277, section 4.3."""
    return (
        _FIRST_FORMAT_TAG
        + content_format // _FORMATS_PER_ROW * 256
        + content_format % _FORMATS_PER_ROW
    )


def encode_cmw_cbor(wrapped: WrappedMessage) -> bytes:
    """Write a wrapper as CBOR."""
    return encode_deterministic_cbor(build_cmw_value(wrapped))


def build_cmw_value(wrapped: WrappedMessage) -> Any:
    """Give a wrapper as values that CBOR holds."""
    if isinstance(wrapped, CmwRecord):
        return [
            wrapped.type,
            wrapped.value,
            *([] if wrapped.indicator is None else [wrapped.indicator]),
        ]
    said: dict[Any, Any] = (
        {COLLECTION_TYPE_MEMBER: wrapped.type} if wrapped.type is not None else {}
    )
    return said | {name: build_cmw_value(member) for name, member in wrapped.members.items()}


def encode_cmw_json(wrapped: WrappedMessage) -> bytes:
    """Write a wrapper as JSON.

    Raises:
        UsageError: it holds a content format or a number for a name, which only CBOR has.
    """
    return encode_canonical_json(_build_cmw_json(wrapped))


def _build_cmw_json(wrapped: WrappedMessage) -> Any:
    if isinstance(wrapped, CmwRecord):
        if not isinstance(wrapped.type, str):
            raise UsageError(
                f"content format {wrapped.type} cannot be written as JSON",
                hint="Name the media type.",
            )
        return [
            wrapped.type,
            encode_base64url(wrapped.value),
            *([] if wrapped.indicator is None else [wrapped.indicator]),
        ]
    said: dict[str, Any] = (
        {COLLECTION_TYPE_MEMBER: wrapped.type} if wrapped.type is not None else {}
    )
    for name, member in wrapped.members.items():
        if not isinstance(name, str):
            raise UsageError(
                f"the name {name} cannot be written as JSON", hint="Name it by a text."
            )
        said[name] = _build_cmw_json(member)
    return said


def decode_cmw(data: bytes) -> WrappedMessage:
    """Read a wrapper in CBOR or JSON.

    Raises:
        InvalidStatement: it is none.
    """
    is_json = data[:1] in (b"[", b"{") or data[:1].isspace()
    try:
        if is_json:
            return parse_cmw_value(decode_json(data), is_json=True)
        return parse_cmw_value(
            decode_shortest_cbor(data, max_depth=_MAX_CMW_DEPTH, most=_MAX_CMW_ITEMS)
        )
    except UnreadableInput as error:
        raise _make_cmw_error(f"not {'JSON' if is_json else 'CBOR'}: {error}") from error


def parse_cmw_value(value: Any, *, is_json: bool = False, depth: int = 0) -> WrappedMessage:
    """Read a wrapper from what CBOR or JSON holds.

    Raises:
        InvalidStatement: it is none.
    """
    if isinstance(value, list | tuple):
        return _parse_cmw_record(value, is_json=is_json)
    if isinstance(value, cbor2.CBORTag):
        return _parse_cmw_tag(value)
    if isinstance(value, dict):
        return _parse_cmw_collection(value, is_json=is_json, depth=depth)
    raise _make_cmw_error("there is a value that is neither a record nor a tag nor a collection")


def _parse_cmw_record(value: Any, *, is_json: bool) -> CmwRecord:
    if len(value) not in _CMW_RECORD_LENGTHS:
        raise _make_cmw_error(f"a record of {len(value)} parts")
    kind, content, *indicators = value
    if isinstance(kind, str):
        if not _MEDIA_TYPE_PATTERN.fullmatch(kind):
            raise _make_cmw_error("a record whose type is no media type")
    elif is_json or type(kind) is not int or not 0 <= kind <= _MAX_CONTENT_FORMAT:
        raise _make_cmw_error("a record whose type is neither a media type nor a content format")
    for bits in indicators:
        if type(bits) is not int or not 0 <= bits <= _ALL_INDICATORS:
            raise _make_cmw_error("a record that does not say what it is for by known bits")
    return CmwRecord(
        kind, _parse_cmw_content(content, is_json=is_json), indicators[0] if indicators else None
    )


def _parse_cmw_content(content: Any, *, is_json: bool) -> bytes:
    if not is_json:
        if type(content) is not bytes:
            raise _make_cmw_error("a record whose value is no byte string")
        return content
    try:
        return decode_base64url(content)
    except (ValueError, AttributeError) as error:
        raise _make_cmw_error("a record whose value is not base64url") from error


def _parse_cmw_tag(value: cbor2.CBORTag) -> CmwRecord:
    row, column = divmod(value.tag - _FIRST_FORMAT_TAG, 256)
    if not _FIRST_FORMAT_TAG <= value.tag <= _LAST_FORMAT_TAG or column == _FORMATS_PER_ROW:
        raise _make_cmw_error(f"tag {value.tag}, which stands for no content format")
    if type(value.value) is not bytes:
        raise _make_cmw_error("a tag whose value is no byte string")
    return CmwRecord(row * _FORMATS_PER_ROW + column, value.value)


def _parse_cmw_collection(value: dict[Any, Any], *, is_json: bool, depth: int) -> CmwCollection:
    if depth >= _MAX_COLLECTION_DEPTH:
        raise _make_cmw_error("collections too deep in each other")
    kind = value.get(COLLECTION_TYPE_MEMBER)
    if COLLECTION_TYPE_MEMBER in value and (
        not isinstance(kind, str) or not _URI_OR_OID_PATTERN.fullmatch(kind)
    ):
        raise _make_cmw_error(f"{COLLECTION_TYPE_MEMBER} is neither a URI nor an OID")
    members: dict[str | int, WrappedMessage] = {}
    for name, member in value.items():
        if name == COLLECTION_TYPE_MEMBER:
            continue
        if type(name) not in (str, int) or name == "":
            raise _make_cmw_error("a member whose name is neither text nor number")
        members[name] = parse_cmw_value(member, is_json=is_json, depth=depth + 1)
    if not members:
        raise _make_cmw_error("a collection without members")
    return CmwCollection(members, kind)


def _make_cmw_error(told: str) -> InvalidStatement:
    return InvalidStatement(f"not a wrapped message (CMW): {told}", reason="cmw-malformed")


EVIDENCE_PROFILE = "urn:uuid:5f0c7f5e-33d4-4b0e-9a52-6d1f6b1c2a71"
"""The EAT profile of our evidence. A URN of this kind needs no owner of a domain."""
ENDORSEMENT_PROFILE = "urn:uuid:0b1e4c1c-7b0f-4c7e-8b6a-7c2f2f5d9e36"
"""The profile of endorsements of attestation keys."""
EAR_PROFILE = "tag:ietf.org,2026:rats/ear#03"

CWT_TAG = 61

# Claims of CWT and EAT.
EAT_EXP, EAT_IAT, EAT_CNF, EAT_NONCE = 4, 6, 8, 10
EAT_PROFILE, EAT_SUBMODS, EAT_SWNAME, EAT_SWVERSION, EAT_MEASUREMENTS = 265, 266, 270, 271, 273

# Claims of ours.
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
"""The same claims in JSON."""

KEY_STORAGE_SOFTWARE, KEY_STORAGE_TPM = "software", "tpm"
"""Where the key is that vouches for the evidence."""

NAMED_INFO_SHA256 = 1
"""SHA-256 in the registry of named information, which measured components use."""
MEASURED_COMPONENT_FORMAT = 295
"""CoAP content format of application/measured-component+cbor."""
EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE = "application/eat+cwt", "application/eat+jwt"
REFERENCE_VALUES_MEDIA_TYPE = "application/vnd.vacr.reference-values+cbor"
ENROLMENT_MEDIA_TYPES = {
    kind: f"application/vnd.vacr.enrolment-{kind}+cbor"
    for kind in ("request", "challenge", "secret", "answer")
}


CWT_PREFIX = bytes((0xD8, CWT_TAG))
"""How a CWT begins."""
_UNDERSTOOD_CWT_HEADERS = frozenset((HEADER_ALG, HEADER_KID, HEADER_TYP))
_MAX_CLAIMS_DEPTH, _MAX_CLAIMS_ITEMS = 12, 200_000


@dataclass(frozen=True, slots=True)
class CborToken:
    """Claims and their signature, which is not checked yet."""

    message: Sign1
    claims: dict[Any, Any]

    def check(self, key: PublicKey) -> None:
        """Check that a key signed the claims.

        Raises:
            InvalidStatement: it did not.
        """
        message = self.message
        verify_signature(
            message.protected.get(HEADER_ALG),
            key,
            message.signature,
            message.to_be_signed(message.payload or b""),
        )


def sign_cwt(claims: dict[Any, Any], signer: Signer) -> bytes:
    """Sign claims."""
    headers = {
        HEADER_ALG: signer.algorithm,
        HEADER_KID: compute_thumbprint(signer.public_key),
        HEADER_TYP: EAT_CWT_MEDIA_TYPE,
    }
    protected, payload = encode_protected_header(headers), encode_deterministic_cbor(claims)
    return (
        CWT_PREFIX
        + Sign1(
            protected, headers, {}, payload, signer.sign(encode_sig_structure(protected, payload))
        ).encode()
    )


def parse_cwt(data: bytes) -> CborToken:
    """Read a token, tagged as a CWT or as COSE_Sign1 only.

    Raises:
        InvalidStatement: it is none, or one that could be read in two ways.
    """
    message = parse_sign1(data.removeprefix(CWT_PREFIX), _UNDERSTOOD_CWT_HEADERS)
    if not message.tagged:
        raise InvalidStatement("a token without the tag of COSE_Sign1", reason="tag")
    if message.protected.get(HEADER_TYP) != EAT_CWT_MEDIA_TYPE:
        raise InvalidStatement(
            f"a signed message that is no token: its typ is not {EAT_CWT_MEDIA_TYPE}", reason="typ"
        )
    if message.unprotected:
        raise InvalidStatement("a token with a header that nobody signed", reason="structure")
    if not message.payload:
        raise InvalidStatement("a token without claims", reason="payload-missing")
    return CborToken(message, parse_cwt_claims(message.payload))


def parse_cwt_claims(payload: bytes) -> dict[Any, Any]:
    """Read a claims set in deterministic CBOR.

    Raises:
        InvalidStatement: it is none.
    """
    try:
        claims = decode_shortest_cbor(payload, max_depth=_MAX_CLAIMS_DEPTH, most=_MAX_CLAIMS_ITEMS)
        again = encode_deterministic_cbor(claims)
    except (UnreadableInput, InvalidRecord) as error:
        raise InvalidStatement(
            f"the claims are not CBOR: {error}", reason="claims-malformed"
        ) from error
    if not isinstance(claims, dict):
        raise InvalidStatement("the claims are no map", reason="claims-malformed")
    if again != payload:
        raise InvalidStatement(
            "the claims are not in the one form that they have to be in", reason="claims-malformed"
        )
    return claims


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
_JWT_TYPES = ("JWT", EAT_JWT_MEDIA_TYPE, "eat+jwt")


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
        verify_signature(self.algorithm, key, self.signature, self.signed)


def looks_like_jwt(data: bytes) -> bool:
    """Tell whether bytes may be a token in JSON: those in CBOR begin otherwise."""
    return data.startswith(b"ey")


def sign_jwt(claims: dict[str, Any], signer: Signer) -> bytes:
    """Sign claims.

    Raises:
        UsageError: JWTs are not signed by the algorithm of this key.
    """
    if signer.algorithm not in _JWT_ALGORITHM_NAMES:
        raise UsageError(
            "a JWT cannot be signed by a key of this kind",
            hint="Take an Ed25519 or EC key, or write a CWT.",
        )
    header = {
        "alg": _JWT_ALGORITHM_NAMES[signer.algorithm],
        "kid": compute_thumbprint_uri(signer.public_key),
        "typ": EAT_JWT_MEDIA_TYPE,
    }
    signed = (
        _encode_jwt_part(encode_canonical_json(header))
        + b"."
        + _encode_jwt_part(encode_canonical_json(claims))
    )
    return signed + b"." + _encode_jwt_part(signer.sign(signed))


def parse_jwt(data: bytes) -> JsonToken:
    """Read a token.

    Raises:
        InvalidStatement: it is none, or by an algorithm that is not known.
    """
    parts = data.rstrip(b"\r\n").split(b".")
    if len(parts) != _JWT_PART_COUNT:
        raise InvalidStatement("a JWT has three parts", reason="jwt-malformed")
    header, claims = _parse_jwt_object(parts[0]), _parse_jwt_object(parts[1])
    name = header.get("alg")
    if not isinstance(name, str) or name not in _JWT_ALGORITHM_NUMBERS:
        raise InvalidStatement(f"no signature algorithm {name!r}", reason="alg-unknown")
    if "crit" in header:
        raise InvalidStatement("crit names what is not understood", reason="crit-unknown")
    if header.get("typ", EAT_JWT_MEDIA_TYPE) not in _JWT_TYPES:
        raise InvalidStatement("a signed text that is no token", reason="typ")
    return JsonToken(
        _JWT_ALGORITHM_NUMBERS[name], parts[0] + b"." + parts[1], _decode_jwt_part(parts[2]), claims
    )


def _parse_jwt_object(part: bytes) -> dict[str, Any]:
    try:
        value = decode_json(_decode_jwt_part(part))
    except UnreadableInput as error:
        raise InvalidStatement(
            f"a part of a JWT that is no JSON: {error}", reason="jwt-malformed"
        ) from error
    if not isinstance(value, dict):
        raise InvalidStatement("a part of a JWT that is no object", reason="jwt-malformed")
    return value


def _encode_jwt_part(data: bytes) -> bytes:
    return encode_base64url(data).encode()


def _decode_jwt_part(part: bytes) -> bytes:
    try:
        return decode_base64url(part.decode())
    except ValueError as error:
        raise InvalidStatement(
            "a part of a JWT that is not base64url", reason="jwt-malformed"
        ) from error
