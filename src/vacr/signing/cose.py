"""COSE: registry numbers, signed messages (COSE_Sign1), and signature algorithms.

A statement is a COSE_Sign1 message: an array of protected header, unprotected header, payload and
signature (RFC 9052, sections 3 and 4). Verification uses the protected header exactly as received.
Inputs that implementations read differently are refused: a label in both headers, repeated keys,
indefinite lengths, integers that are not in their shortest form, and trailing bytes.

    >>> from vacr.signing import parse_sign1
    >>> message = parse_sign1(bytes.fromhex("d2 84 43a10126 a0 4568656c6c6f 4100"))
    >>> message.protected, message.payload
    ({1: -7}, b'hello')
    >>> message.to_be_signed(b"hello").hex()
    '846a5369676e61747572653143a10126404568656c6c6f'

The numbers follow the IANA registries for RFC 9052, 9053, 9360, 9597, 9679, 9864, 9921, 9942, 9964
and 9995. The algorithms follow RFC 9053, RFC 8230 (RSA-PSS), RFC 9864 (fully specified numbers)
and RFC 9964 (ML-DSA).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import cbor2
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.record import (
    decode_shortest_cbor,
    encode_byte_string,
    encode_byte_string_head,
    encode_deterministic_cbor,
)

PublicKey = Any
"""A public key of `cryptography`; the library has no type that covers all kinds."""
PrivateKey = Any

SIGN1_TAG = 18

# Header parameters.
HEADER_ALG, HEADER_CRIT, HEADER_CONTENT_TYPE, HEADER_KID = 1, 2, 3, 4
HEADER_KCCS, HEADER_CWT_CLAIMS, HEADER_TYP = 14, 15, 16
HEADER_X5BAG, HEADER_X5CHAIN, HEADER_X5T, HEADER_X5U = 32, 33, 34, 35
HEADER_TRACE_METADATA = 100
HEADER_PAYLOAD_HASH_ALG, HEADER_PREIMAGE_CONTENT_TYPE, HEADER_PAYLOAD_LOCATION = 258, 259, 260
HEADER_TIMESTAMP_THEN_COSE, HEADER_COSE_THEN_TIMESTAMP = 269, 270
HEADER_RECEIPTS, HEADER_VDS, HEADER_VDP = 394, 395, 396
# Defined by vacr; the registry reserves numbers below -65536 for private use.
HEADER_EVIDENCE, HEADER_TLOG_PROOFS = -75100, -75101

# CWT claims.
CLAIM_ISS, CLAIM_SUB, CLAIM_EXP, CLAIM_NBF, CLAIM_IAT, CLAIM_CNF = 1, 2, 4, 5, 6, 8
CNF_COSE_KEY = 1

# Verifiable data structures and their proofs.
VDS_RFC9162_SHA256, VDS_CCF_LEDGER_SHA256 = 1, 2
VDP_INCLUSION, VDP_CONSISTENCY = -1, -2

# Algorithms.
ALG_EDDSA, ALG_ED25519, ALG_ED448 = -8, -19, -53
ALG_ES256, ALG_ES384, ALG_ES512 = -7, -35, -36
ALG_ESP256, ALG_ESP384, ALG_ESP512 = -9, -51, -52
ALG_PS256, ALG_PS384, ALG_PS512 = -37, -38, -39
ALG_ML_DSA_44, ALG_ML_DSA_65, ALG_ML_DSA_87 = -48, -49, -50
ALG_SHA256, ALG_SHA384, ALG_SHA512 = -16, -43, -44

# Key parameters: the common ones, then the ones of each key type.
KEY_TYPE, KEY_ALG = 1, 3
KEY_TYPE_OKP, KEY_TYPE_EC2, KEY_TYPE_RSA, KEY_TYPE_AKP = 1, 2, 3, 7
KEY_CURVE, KEY_X, KEY_Y = -1, -2, -3
KEY_RSA_N, KEY_RSA_E = -1, -2
KEY_AKP_PUBLIC = -1
CURVE_P256, CURVE_P384, CURVE_P521, CURVE_ED25519, CURVE_ED448 = 1, 2, 3, 6, 7

HEADER_NAMES = {
    HEADER_ALG: "alg",
    HEADER_CRIT: "crit",
    HEADER_CONTENT_TYPE: "content type",
    HEADER_KID: "kid",
    HEADER_KCCS: "kccs",
    HEADER_CWT_CLAIMS: "CWT claims",
    HEADER_TYP: "typ",
    HEADER_X5BAG: "x5bag",
    HEADER_X5CHAIN: "x5chain",
    HEADER_X5T: "x5t",
    HEADER_X5U: "x5u",
    HEADER_TRACE_METADATA: "trace-metadata",
    HEADER_PAYLOAD_HASH_ALG: "payload hash alg",
    HEADER_PREIMAGE_CONTENT_TYPE: "preimage content type",
    HEADER_PAYLOAD_LOCATION: "payload location",
    HEADER_TIMESTAMP_THEN_COSE: "3161-ttc",
    HEADER_COSE_THEN_TIMESTAMP: "3161-ctt",
    HEADER_RECEIPTS: "receipts",
    HEADER_VDS: "vds",
    HEADER_VDP: "vdp",
    HEADER_EVIDENCE: "evidence",
    HEADER_TLOG_PROOFS: "tlog-proofs",
}

HASH_FUNCTIONS = {
    ALG_SHA256: hashlib.sha256,
    ALG_SHA384: hashlib.sha384,
    ALG_SHA512: hashlib.sha512,
}
"""The hash algorithms, by COSE number."""

_SIG_STRUCTURE_START = b"\x84\x6aSignature1"
_NO_EXTERNAL_DATA = b"\x40"
_SIGN1_PART_COUNT, _PAYLOAD_INDEX = 4, 2
_MAX_SIGN1_DEPTH = 16
_MAX_SIGN1_ITEMS = 20_000
# Verification reports or ignores these, so a statement cannot make them critical.
_IGNORED_HEADERS = {HEADER_TYP, HEADER_X5U, HEADER_X5BAG, HEADER_PAYLOAD_LOCATION, HEADER_EVIDENCE}
_RECEIPT_HEADERS = {HEADER_RECEIPTS, HEADER_VDS, HEADER_VDP, HEADER_TLOG_PROOFS}
UNDERSTOOD_STATEMENT_HEADERS = frozenset(HEADER_NAMES) - _IGNORED_HEADERS - _RECEIPT_HEADERS
"""The labels that a statement's `crit` header may name: the ones verification acts on."""


@dataclass(frozen=True, slots=True)
class Sign1:
    """A COSE_Sign1 message: two headers, a payload and a signature."""

    protected_bytes: bytes
    """The protected header as encoded; the signature covers these bytes."""
    protected: dict[Any, Any]
    """The protected header, decoded: values by label."""
    unprotected: dict[Any, Any]
    """The header that the signature does not cover."""
    payload: bytes | None
    """None if the payload is detached: transmitted separately."""
    signature: bytes
    tagged: bool = True
    """Whether the encoded message starts with the CBOR tag of COSE_Sign1."""

    def to_be_signed(self, payload: bytes) -> bytes:
        """Return the bytes that the signature covers: protected header and `payload`, encoded."""
        return encode_sig_structure(self.protected_bytes, payload)

    def encode(self) -> bytes:
        """Encode the message as CBOR, with the COSE_Sign1 tag if `tagged`."""
        parts = [self.protected_bytes, self.unprotected, self.payload, self.signature]
        return encode_deterministic_cbor(cbor2.CBORTag(SIGN1_TAG, parts) if self.tagged else parts)


def parse_sign1(
    data: bytes,
    understood: frozenset[int] = UNDERSTOOD_STATEMENT_HEADERS,
    *,
    share_payload: bool = False,
) -> Sign1:
    """Parse a COSE_Sign1 message, tagged or not, without checking its signature.

    `understood` are the labels that its `crit` header may name. With `share_payload`, the payload
    is a memoryview of `data` instead of a copy.

    Raises:
        InvalidStatement: the bytes are not such a message, implementations may read them
            differently, or `crit` names another label.
    """
    value = _decode_sign1_cbor(
        data,
        "not a COSE_Sign1 message: not CBOR",
        "cbor",
        shared_index=_PAYLOAD_INDEX if share_payload else None,
    )
    tagged = isinstance(value, cbor2.CBORTag)
    if isinstance(value, cbor2.CBORTag):
        if value.tag != SIGN1_TAG:
            raise InvalidStatement(
                f"not a COSE_Sign1 message: the CBOR tag is {value.tag}, expected {SIGN1_TAG}",
                reason="tag",
            )
        value = value.value
    if not isinstance(value, list | tuple) or len(value) != _SIGN1_PART_COUNT:
        raise InvalidStatement(
            "not a COSE_Sign1 message: not an array of four parts", reason="structure"
        )
    protected_bytes, unprotected, payload, signature = value
    if (
        type(protected_bytes) is not bytes
        or type(signature) is not bytes
        or not isinstance(payload, bytes | memoryview | None)
    ):
        raise InvalidStatement(
            "not a COSE_Sign1 message: the protected header and the signature must be byte "
            "strings, the payload a byte string or null",
            reason="structure",
        )
    protected: Any = {}
    if protected_bytes:
        protected = _decode_sign1_cbor(
            protected_bytes, "the protected header is not CBOR", "protected"
        )
    if not isinstance(protected, dict) or not isinstance(unprotected, dict):
        raise InvalidStatement(
            "not a COSE_Sign1 message: a header is not a map", reason="structure"
        )
    _check_header_labels(protected, unprotected)
    _check_critical_headers(protected, unprotected, understood)
    content = cast("bytes | None", payload)  # or a memoryview, which is used in the same way
    return Sign1(protected_bytes, dict(protected), dict(unprotected), content, signature, tagged)


def _decode_sign1_cbor(
    data: bytes, problem: str, reason: str, *, shared_index: int | None = None
) -> Any:
    """Decode CBOR within the limits of a statement; `problem` and `reason` describe a failure.

    A byte string at `shared_index` of an array becomes a memoryview.

    Raises:
        InvalidStatement: the data is not such CBOR.
    """
    try:
        return decode_shortest_cbor(
            data,
            max_depth=_MAX_SIGN1_DEPTH,
            max_items=_MAX_SIGN1_ITEMS,
            shared_index=shared_index,
        )
    except UnreadableInput as error:
        raise InvalidStatement(f"{problem}: {error}", reason=reason) from error


def _check_header_labels(protected: dict[Any, Any], unprotected: dict[Any, Any]) -> None:
    """Refuse labels that are neither integers nor text, and labels in both headers.

    Raises:
        InvalidStatement: a header has such a label.
    """
    for label in (*protected, *unprotected):
        if type(label) not in (int, str):
            raise InvalidStatement(
                f"header label {label!r} is neither an integer nor text",
                reason="label-type",
            )
    for label in protected.keys() & unprotected.keys():
        raise InvalidStatement(
            f"the header {format_header_label(label)} occurs both protected and unprotected",
            reason="label-twice",
        )


def _check_critical_headers(
    protected: dict[Any, Any], unprotected: dict[Any, Any], understood: frozenset[int]
) -> None:
    """Refuse a message whose `crit` names a header we do not act on (RFC 9052, section 3.1).

    Raises:
        InvalidStatement: `crit` is malformed, unprotected, or names a header that is not understood
            or not protected.
    """
    if HEADER_CRIT in unprotected:
        raise InvalidStatement(
            "the list of critical headers (crit) is not signed: it is in the unprotected header",
            reason="crit-unprotected",
        )
    if HEADER_CRIT not in protected:
        return
    critical = protected[HEADER_CRIT]
    if not isinstance(critical, list | tuple) or not critical:
        raise InvalidStatement(
            "the list of critical headers (crit) is empty or not a list", reason="crit-malformed"
        )
    for label in critical:
        name = format_header_label(label)
        if type(label) not in (int, str) or label not in understood:
            raise InvalidStatement(
                f"the statement requires the header {name} (in crit), but vacr does not support it",
                reason="crit-unknown",
            )
        if label not in protected:
            raise InvalidStatement(
                f"the statement requires the header {name} (in crit), but does not protect it",
                reason="crit-absent",
            )


def encode_sig_structure(protected: bytes, payload: bytes) -> bytes:
    """Encode the bytes that a signature covers: the `Sig_structure` of RFC 9052, section 4.4.

    An empty protected header is an empty byte string there, even if the message has an empty map.
    """
    body_protected = b"" if protected == b"\xa0" else protected
    # Joined at once: a large payload is copied only here.
    return b"".join(
        (
            _SIG_STRUCTURE_START,
            encode_byte_string(body_protected),
            _NO_EXTERNAL_DATA,
            encode_byte_string_head(len(payload)),
            payload,
        )
    )


def encode_protected_header(headers: dict[Any, Any]) -> bytes:
    """Encode a protected header as CBOR; an empty one becomes empty bytes."""
    return encode_deterministic_cbor(headers) if headers else b""


def format_header_label(label: object) -> str:
    """Return the name of a header label, such as `kid` for 4, or its `repr` if it has none."""
    name = HEADER_NAMES.get(label) if type(label) is int else None
    return name or repr(label)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A signature algorithm."""

    number: int
    """The number in the COSE registry."""
    name: str
    fits: Callable[[PublicKey], bool]
    """Returns whether the algorithm accepts a public key."""
    verify: Callable[[PublicKey, bytes, bytes], None]
    """Raises unless a key verifies a signature (second argument) over data (third)."""
    sign: Callable[[PrivateKey, bytes], bytes]
    """Returns the signature of a key over data, in the form that COSE defines."""
    flip: Callable[[bytes], bytes | None] = lambda _: None
    """Returns the other form of a signature, which anybody can compute, or None if it has none."""


def verify_signature(number: Any, key: PublicKey, signature: bytes, data: bytes) -> None:
    """Check that a key made a signature over data, with the algorithm of this COSE number.

    Raises:
        InvalidStatement: the algorithm is unknown or does not accept the key, or the signature does
            not verify.
    """
    algorithm = get_algorithm(number)
    if not algorithm.fits(key):
        raise InvalidStatement(
            f"{algorithm.name} cannot be used with this kind of key", reason="alg-key"
        )
    try:
        algorithm.verify(key, signature, data)
    except (InvalidSignature, UnsupportedAlgorithm) as error:
        raise InvalidStatement("not signed by this key", reason="signature") from error


def flip_signature(number: Any, signature: bytes) -> bytes | None:
    """Return the other form of an ECDSA signature, by the COSE number of its algorithm.

    If (r, s) is valid, so is (r, order - s): anybody can compute one from the other. Return None
    for other algorithms, whose signatures have only one form, and for malformed signatures.
    """
    algorithm = ALGORITHMS.get(number) if type(number) is int else None
    return algorithm.flip(signature) if algorithm is not None else None


def get_algorithm(number: Any) -> Algorithm:
    """Return an algorithm by its COSE number.

    Raises:
        InvalidStatement: no known algorithm has that number.
    """
    algorithm = ALGORITHMS.get(number) if type(number) is int else None
    if algorithm is None:
        raise InvalidStatement(f"unknown signature algorithm {number!r}", reason="alg-unknown")
    return algorithm


def get_algorithm_number(name: str) -> int:
    """Return the COSE number of an algorithm, by its name in any case.

    Raises:
        UsageError: no algorithm has that name.
    """
    if name.lower() not in ALGORITHM_NUMBERS:
        names = ", ".join(algorithm.name for algorithm in ALGORITHMS.values())
        raise UsageError(f"unknown algorithm {name}", hint=f"Known: {names}.")
    return ALGORITHM_NUMBERS[name.lower()]


def choose_algorithm_number(key: PublicKey) -> int:
    """Return the COSE number of a key's default algorithm, the one most implementations know.

    Raises:
        InvalidStatement: no algorithm accepts such a key.
    """
    for algorithm in ALGORITHMS.values():
        if algorithm.fits(key):
            return algorithm.number
    raise InvalidStatement(
        "no supported algorithm uses this kind of key",
        reason="alg-key",
        hint="Use an EdDSA, ECDSA (P-256, P-384, P-521), RSA or ML-DSA key.",
    )


# The algorithms themselves: for each, the keys it accepts, and how it verifies and signs.

MIN_RSA_BITS = 2048
# Larger RSA keys would let a sender cost the verifier milliseconds per signature.
_MAX_RSA_BITS, _MAX_RSA_EXPONENT_BITS = 8192, 64
_EDWARDS_KEY_CLASSES = (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)
_PRIME_25519, _PRIME_448 = 2**255 - 19, 2**448 - 2**224 - 1
_ORDER_8_POINT_Y = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
# The y coordinates of points of small order, by the length of a key. Some implementations also
# accept encodings that are not below the prime.
_SMALL_ORDER_POINTS = {
    32: {
        0,
        1,
        _PRIME_25519 - 1,
        _PRIME_25519,
        _PRIME_25519 + 1,
        _ORDER_8_POINT_Y,
        _PRIME_25519 - _ORDER_8_POINT_Y,
    },
    57: {0, 1, _PRIME_448 - 1, _PRIME_448, _PRIME_448 + 1},
}


def _has_small_order(key: PublicKey) -> bool:
    """Return whether a key is a point of small order on an Edwards curve.

    Anyone can make signatures that verify under such a key, without knowing a secret.
    """
    if not isinstance(key, _EDWARDS_KEY_CLASSES):
        return False
    point = key.public_bytes_raw()
    sign_of_x = 1 << (8 * len(point) - 1)
    y = int.from_bytes(point, "little") & ~sign_of_x
    return y in _SMALL_ORDER_POINTS[len(point)]


def _build_simple_algorithm(number: int, name: str, *key_classes: type) -> Algorithm:
    """Build an algorithm whose keys need no parameters to sign: EdDSA or ML-DSA."""
    return Algorithm(
        number,
        name,
        lambda key: isinstance(key, key_classes) and not _has_small_order(key),
        lambda key, signature, data: key.verify(signature, data),
        lambda key, data: bytes(key.sign(data)),
    )


def _build_ecdsa_algorithm(
    number: int, name: str, curve: ec.EllipticCurve, digest: hashes.HashAlgorithm
) -> Algorithm:
    """Build an ECDSA algorithm, whose signatures are two integers of fixed length, not DER."""
    size = (curve.key_size + 7) // 8
    order = curve.group_order  # A signature is two integers, each at least 1 and below the order.
    scheme = ec.ECDSA(digest)

    def verify(key: PublicKey, signature: bytes, data: bytes) -> None:
        """Verify a signature of two integers of fixed length.

        Raises:
            InvalidStatement: the signature has another length, or a number is out of range.
            InvalidSignature: the key did not make the signature.
        """
        if len(signature) != 2 * size:
            raise InvalidStatement(
                f"the signature has {len(signature)} bytes instead of {2 * size}",
                reason="signature-length",
            )
        r = int.from_bytes(signature[:size], "big")
        s = int.from_bytes(signature[size:], "big")
        if not 0 < r < order or not 0 < s < order:
            raise InvalidStatement(
                "the signature contains a number out of range", reason="signature-range"
            )
        key.verify(encode_dss_signature(r, s), data, scheme)

    def sign(key: PrivateKey, data: bytes) -> bytes:
        """Return the signature of data as two integers of fixed length."""
        r, s = decode_dss_signature(key.sign(data, scheme))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")

    def fits(key: PublicKey) -> bool:
        """Return whether a key is an ECDSA key on the curve."""
        return isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name == curve.name

    def flip(signature: bytes) -> bytes | None:
        s = int.from_bytes(signature[size:], "big")
        if len(signature) != 2 * size or not 0 < s < order:
            return None
        return signature[:size] + (order - s).to_bytes(size, "big")

    return Algorithm(number, name, fits, verify, sign, flip)


def _is_pss_key(key: PublicKey) -> bool:
    """Return whether a key is an RSA key of an accepted size."""
    return (
        isinstance(key, rsa.RSAPublicKey)
        and MIN_RSA_BITS <= key.key_size <= _MAX_RSA_BITS
        and key.public_numbers().e.bit_length() <= _MAX_RSA_EXPONENT_BITS
    )


def _build_pss_algorithm(number: int, name: str, digest: hashes.HashAlgorithm) -> Algorithm:
    """Build an RSA-PSS algorithm; the salt is as long as the hash (RFC 8230)."""
    pss = padding.PSS(padding.MGF1(digest), digest.digest_size)
    return Algorithm(
        number,
        name,
        _is_pss_key,
        lambda key, signature, data: key.verify(signature, data, pss, digest),
        lambda key, data: bytes(key.sign(data, pss, digest)),
    )


_P256, _P384, _P521 = ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()

ALGORITHMS = {
    algorithm.number: algorithm
    for algorithm in (
        _build_simple_algorithm(ALG_EDDSA, "EdDSA", *_EDWARDS_KEY_CLASSES),
        _build_simple_algorithm(ALG_ED25519, "Ed25519", ed25519.Ed25519PublicKey),
        _build_simple_algorithm(ALG_ED448, "Ed448", ed448.Ed448PublicKey),
        _build_ecdsa_algorithm(ALG_ES256, "ES256", _P256, hashes.SHA256()),
        _build_ecdsa_algorithm(ALG_ES384, "ES384", _P384, hashes.SHA384()),
        _build_ecdsa_algorithm(ALG_ES512, "ES512", _P521, hashes.SHA512()),
        _build_ecdsa_algorithm(ALG_ESP256, "ESP256", _P256, hashes.SHA256()),
        _build_ecdsa_algorithm(ALG_ESP384, "ESP384", _P384, hashes.SHA384()),
        _build_ecdsa_algorithm(ALG_ESP512, "ESP512", _P521, hashes.SHA512()),
        _build_pss_algorithm(ALG_PS256, "PS256", hashes.SHA256()),
        _build_pss_algorithm(ALG_PS384, "PS384", hashes.SHA384()),
        _build_pss_algorithm(ALG_PS512, "PS512", hashes.SHA512()),
        _build_simple_algorithm(ALG_ML_DSA_44, "ML-DSA-44", mldsa.MLDSA44PublicKey),
        _build_simple_algorithm(ALG_ML_DSA_65, "ML-DSA-65", mldsa.MLDSA65PublicKey),
        _build_simple_algorithm(ALG_ML_DSA_87, "ML-DSA-87", mldsa.MLDSA87PublicKey),
    )
}

ALGORITHM_NUMBERS = {algorithm.name.lower(): algorithm.number for algorithm in ALGORITHMS.values()}
