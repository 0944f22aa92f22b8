"""Signature algorithms by their COSE numbers: which key each takes, and how it verifies and signs.
Step: sign, verify.

Follows RFC 9053, RFC 8230 (PS), RFC 9864 (numbers that name the curve too) and RFC 9964 (ML-DSA).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from vacr.errors import InvalidStatement, UsageError
from vacr.signing import labels

PublicKey = Any
"""A public key of `cryptography`, which has no type for all of them."""
PrivateKey = Any

HASHES = {
    labels.SHA256: hashlib.sha256,
    labels.SHA384: hashlib.sha384,
    labels.SHA512: hashlib.sha512,
}
"""Hash algorithms by their COSE numbers."""

LEAST_RSA_BITS = 2048
_MOST_RSA_BITS, _MOST_EXPONENT_BITS = 8192, 64
"""Whoever sends larger ones has others work for milliseconds."""
# The orders of the curves: a signature holds two numbers, each at least 1 and below the order.
_ORDERS = {
    "secp256r1": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "secp384r1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
    "secp521r1": 0x01FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409,  # noqa: E501, RUF100
}
_EDWARDS = (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)
_25519, _448 = 2**255 - 19, 2**448 - 2**224 - 1
_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
# How points of small order are written, by the length of a key; some implementations also take
# numbers above the prime.
_SMALL_ORDER = {
    32: {0, 1, _25519 - 1, _25519, _25519 + 1, _OF_ORDER_8, _25519 - _OF_ORDER_8},
    57: {0, 1, _448 - 1, _448, _448 + 1},
}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One algorithm; `fits` tells whether a key is one of its keys."""

    number: int
    name: str
    fits: Callable[[PublicKey], bool]
    verify: Callable[[PublicKey, bytes, bytes], None]
    sign: Callable[[PrivateKey, bytes], bytes]


def _is_anybodys(key: PublicKey) -> bool:
    """Tell whether a key is a point of small order: signatures by it over anything can be made
    without a secret.
    """
    if not isinstance(key, _EDWARDS):
        return False
    point = key.public_bytes_raw()
    y = int.from_bytes(point, "little") & ~(
        1 << (8 * len(point) - 1)
    )  # the first bit is the sign of x
    return y in _SMALL_ORDER[len(point)]


def _edwards(number: int, name: str, *kinds: type) -> Algorithm:
    return Algorithm(
        number,
        name,
        lambda key: isinstance(key, kinds) and not _is_anybodys(key),
        lambda key, signature, data: key.verify(signature, data),
        lambda key, data: bytes(key.sign(data)),
    )


def _ecdsa(
    number: int, name: str, curve: ec.EllipticCurve, digest: hashes.HashAlgorithm
) -> Algorithm:
    size = (curve.key_size + 7) // 8

    def verify(key: PublicKey, signature: bytes, data: bytes) -> None:
        if len(signature) != 2 * size:
            raise InvalidStatement(
                f"a signature of {len(signature)} bytes, not {2 * size}", reason="signature-length"
            )
        r, s = int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
        if not 0 < r < _ORDERS[curve.name] or not 0 < s < _ORDERS[curve.name]:
            raise InvalidStatement(
                "a number of the signature is outside its range", reason="signature-range"
            )
        key.verify(encode_dss_signature(r, s), data, ec.ECDSA(digest))

    def sign(key: PrivateKey, data: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(digest)))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")

    def fits(key: PublicKey) -> bool:
        return isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name == curve.name

    return Algorithm(number, name, fits, verify, sign)


def _fits_pss(key: PublicKey) -> bool:
    return (
        isinstance(key, rsa.RSAPublicKey)
        and LEAST_RSA_BITS <= key.key_size <= _MOST_RSA_BITS
        and key.public_numbers().e.bit_length() <= _MOST_EXPONENT_BITS
    )


def _pss(number: int, name: str, digest: hashes.HashAlgorithm) -> Algorithm:
    pad = padding.PSS(padding.MGF1(digest), digest.digest_size)
    return Algorithm(
        number,
        name,
        _fits_pss,
        lambda key, signature, data: key.verify(signature, data, pad, digest),
        lambda key, data: bytes(key.sign(data, pad, digest)),
    )


_P256, _P384, _P521 = ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()

ALGORITHMS = {
    algorithm.number: algorithm
    for algorithm in (
        _edwards(labels.EDDSA, "EdDSA", *_EDWARDS),
        _edwards(labels.ED25519, "Ed25519", ed25519.Ed25519PublicKey),
        _edwards(labels.ED448, "Ed448", ed448.Ed448PublicKey),
        _ecdsa(labels.ES256, "ES256", _P256, hashes.SHA256()),
        _ecdsa(labels.ES384, "ES384", _P384, hashes.SHA384()),
        _ecdsa(labels.ES512, "ES512", _P521, hashes.SHA512()),
        _ecdsa(labels.ESP256, "ESP256", _P256, hashes.SHA256()),
        _ecdsa(labels.ESP384, "ESP384", _P384, hashes.SHA384()),
        _ecdsa(labels.ESP512, "ESP512", _P521, hashes.SHA512()),
        _pss(labels.PS256, "PS256", hashes.SHA256()),
        _pss(labels.PS384, "PS384", hashes.SHA384()),
        _pss(labels.PS512, "PS512", hashes.SHA512()),
        _edwards(labels.ML_DSA_44, "ML-DSA-44", mldsa.MLDSA44PublicKey),
        _edwards(labels.ML_DSA_65, "ML-DSA-65", mldsa.MLDSA65PublicKey),
        _edwards(labels.ML_DSA_87, "ML-DSA-87", mldsa.MLDSA87PublicKey),
    )
}

BY_NAME = {algorithm.name.lower(): algorithm.number for algorithm in ALGORITHMS.values()}


def number_of(name: str) -> int:
    """Give the number of an algorithm by its name.

    Raises:
        UsageError: there is none of that name.
    """
    if name.lower() not in BY_NAME:
        known = ", ".join(algorithm.name for algorithm in ALGORITHMS.values())
        raise UsageError(f"no algorithm {name}", hint=f"Known: {known}.")
    return BY_NAME[name.lower()]


def algorithm_of(number: Any) -> Algorithm:
    """Give an algorithm by its number.

    Raises:
        InvalidStatement: there is none of that number.
    """
    found = ALGORITHMS.get(number) if type(number) is int else None
    if found is None:
        raise InvalidStatement(f"no signature algorithm {number!r}", reason="alg-unknown")
    return found


def default_for(key: PublicKey) -> int:
    """Give the algorithm that a key signs with unless told otherwise: the number that most
    implementations know.

    Raises:
        InvalidStatement: no algorithm takes such a key.
    """
    for algorithm in ALGORITHMS.values():
        if algorithm.fits(key):
            return algorithm.number
    raise InvalidStatement("no algorithm takes a key of this kind", reason="alg-key")


def verify(number: Any, key: PublicKey, signature: bytes, data: bytes) -> None:
    """Check a signature.

    Raises:
        InvalidStatement: the algorithm is not known or takes no such key, or the signature is not
            the key's over the data.
    """
    algorithm = algorithm_of(number)
    if not algorithm.fits(key):
        raise InvalidStatement(f"{algorithm.name} takes no key of this kind", reason="alg-key")
    try:
        algorithm.verify(key, signature, data)
    except (InvalidSignature, UnsupportedAlgorithm) as error:
        raise InvalidStatement(
            "the signature is not this key's over these bytes", reason="signature"
        ) from error
