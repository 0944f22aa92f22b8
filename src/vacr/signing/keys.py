"""Keys: PEM and COSE_Key ⇄ keys that sign and verify, and the name of a key. Step: sign, verify.

Follows RFC 9052 section 7, RFC 9053 section 7, RFC 8230 and RFC 9964; a key is named by its
thumbprint, RFC 9679.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, rsa

from vacr.codec import deterministic_cbor
from vacr.errors import UnreadableInput, UsageError
from vacr.signing import labels
from vacr.signing.algorithms import PrivateKey, PublicKey

THUMBPRINT_URI = "urn:ietf:params:oauth:ckt:sha-256:"

_PEM = re.compile(b"(?=-----BEGIN PUBLIC KEY-----)")
_RSA_BITS = 3072
_LONGEST_PASSPHRASE = 1023
_CURVES: dict[int, ec.EllipticCurve] = {
    labels.P256: ec.SECP256R1(),
    labels.P384: ec.SECP384R1(),
    labels.P521: ec.SECP521R1(),
}
_CURVE_NUMBERS = {curve.name: number for number, curve in _CURVES.items()}
_EDWARDS: dict[int, Any] = {
    labels.CURVE_ED25519: ed25519.Ed25519PublicKey,
    labels.CURVE_ED448: ed448.Ed448PublicKey,
}
_ML_DSA: dict[int, Any] = {
    labels.ML_DSA_44: mldsa.MLDSA44PublicKey,
    labels.ML_DSA_65: mldsa.MLDSA65PublicKey,
    labels.ML_DSA_87: mldsa.MLDSA87PublicKey,
}
_MAKERS: dict[str, Callable[[], PrivateKey]] = {
    "eddsa": ed25519.Ed25519PrivateKey.generate,
    "es256": lambda: ec.generate_private_key(_CURVES[labels.P256]),
    "es384": lambda: ec.generate_private_key(_CURVES[labels.P384]),
    "es512": lambda: ec.generate_private_key(_CURVES[labels.P521]),
    "ps256": lambda: rsa.generate_private_key(65537, _RSA_BITS),
    "ml-dsa-44": mldsa.MLDSA44PrivateKey.generate,
    "ml-dsa-65": mldsa.MLDSA65PrivateKey.generate,
    "ml-dsa-87": mldsa.MLDSA87PrivateKey.generate,
}
KINDS = tuple(_MAKERS)
"""The algorithms that a key can be made for."""


def generate(kind: str) -> PrivateKey:
    """Make a key for an algorithm.

    Raises:
        UsageError: there is no such algorithm, or this machine's library cannot make its keys.
    """
    if kind not in _MAKERS:
        raise UsageError(f"no keys are made for {kind!r}", hint=f"Known: {', '.join(KINDS)}.")
    try:
        return _MAKERS[kind]()
    except UnsupportedAlgorithm as error:
        raise UsageError(
            f"the cryptographic library here has no {kind}", hint="Update the package cryptography."
        ) from error


def private_pem(key: PrivateKey, passphrase: bytes | None = None) -> bytes:
    """Write a private key as PKCS#8, encrypted if there is a passphrase.

    Raises:
        UsageError: the passphrase is empty, or longer than one may be.
    """
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        if not 0 < len(passphrase) <= _LONGEST_PASSPHRASE:
            raise UsageError(
                f"a passphrase has from 1 to {_LONGEST_PASSPHRASE} bytes, not {len(passphrase)}"
            )
        encryption = serialization.BestAvailableEncryption(passphrase)
    written: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    return written


def public_pem(key: PublicKey) -> bytes:
    """Write a public key as SubjectPublicKeyInfo."""
    written: bytes = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return written


def is_encrypted(pem: bytes) -> bool:
    """Tell whether a private key needs a passphrase."""
    return b"ENCRYPTED" in pem


def load_private(pem: bytes, passphrase: bytes | None = None) -> PrivateKey:
    """Read a private key.

    Raises:
        UnreadableInput: it is no private key, or the passphrase is missing or wrong. What was found
            is not told.
    """
    if b"PUBLIC KEY-----" in pem and b"PRIVATE KEY-----" not in pem:
        raise UnreadableInput(
            "a public key where the private one is wanted",
            hint="Give signing.pem, not signing.pub.pem.",
        )
    if is_encrypted(pem) and passphrase is None:
        raise UnreadableInput("the key is encrypted", hint="Give its passphrase.")
    try:
        return serialization.load_pem_private_key(pem, passphrase if is_encrypted(pem) else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        told = (
            "the passphrase is wrong, or the key is damaged"
            if is_encrypted(pem)
            else "not a private key in PEM"
        )
        raise UnreadableInput(told, hint="vacr key generate makes one.") from error


def load_public(data: bytes) -> list[PublicKey]:
    """Read public keys: those in a PEM text, a COSE key, or a set of them.

    Raises:
        UnreadableInput: there is none that can be read.
    """
    if b"PRIVATE KEY-----" in data:
        raise UnreadableInput(
            "a private key where a public one is wanted",
            hint="Give signing.pub.pem, not signing.pem.",
        )
    try:
        if b"-----BEGIN PUBLIC KEY-----" in data:
            return [serialization.load_pem_public_key(one) for one in _PEM.split(data)[1:]]
        value = deterministic_cbor.decode(data)
    except (ValueError, UnsupportedAlgorithm, UnreadableInput) as error:
        raise UnreadableInput("not a public key in PEM, a certificate or a COSE key") from error
    return _from_set(value) if isinstance(value, list) else [from_cose(value)]


def _from_set(value: list[Any]) -> list[PublicKey]:
    """Make keys of a set; those of kinds that are not known do not keep the others back, RFC 9052
    section 7.
    """
    found, failed = [], UnreadableInput("a set of keys without any")
    for item in value:
        try:
            found.append(from_cose(item))
        except UnreadableInput as error:
            failed = error
    if not found:
        raise failed
    return found


def to_cose(key: PublicKey) -> dict[int, Any]:
    """Give the parameters of a public key that its thumbprint is made of.

    Raises:
        UnreadableInput: COSE has no form for such a key.
    """
    if isinstance(key, ed25519.Ed25519PublicKey):
        return {
            labels.KEY_TYPE: labels.OKP,
            labels.CURVE: labels.CURVE_ED25519,
            labels.X: key.public_bytes_raw(),
        }
    if isinstance(key, ed448.Ed448PublicKey):
        return {
            labels.KEY_TYPE: labels.OKP,
            labels.CURVE: labels.CURVE_ED448,
            labels.X: key.public_bytes_raw(),
        }
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVE_NUMBERS:
        size, numbers = (key.curve.key_size + 7) // 8, key.public_numbers()
        x, y = numbers.x.to_bytes(size, "big"), numbers.y.to_bytes(size, "big")
        return {
            labels.KEY_TYPE: labels.EC2,
            labels.CURVE: _CURVE_NUMBERS[key.curve.name],
            labels.X: x,
            labels.Y: y,
        }
    if isinstance(key, rsa.RSAPublicKey):
        numbers_ = key.public_numbers()
        return {
            labels.KEY_TYPE: labels.RSA,
            labels.RSA_N: _minimal(numbers_.n),
            labels.RSA_E: _minimal(numbers_.e),
        }
    for number, kind in _ML_DSA.items():
        if isinstance(key, kind):
            return {
                labels.KEY_TYPE: labels.AKP,
                labels.KEY_ALG: number,
                labels.AKP_PUBLIC: key.public_bytes_raw(),
            }
    raise UnreadableInput(f"a key of a kind that COSE has no form for: {type(key).__name__}")


def from_cose(value: Any) -> PublicKey:
    """Make a public key of COSE parameters.

    Raises:
        UnreadableInput: they make none.
    """
    try:
        return _from_cose(dict(value))
    except (ValueError, TypeError, KeyError, OverflowError, UnsupportedAlgorithm) as error:
        raise UnreadableInput("not a COSE key of a known kind") from error


def _from_cose(value: dict[Any, Any]) -> PublicKey:
    match kind := value[labels.KEY_TYPE]:
        case _ if kind == labels.OKP:
            return _EDWARDS[value[labels.CURVE]].from_public_bytes(value[labels.X])
        case _ if kind == labels.EC2:
            curve, x, y = _CURVES[value[labels.CURVE]], value[labels.X], value[labels.Y]
            if isinstance(y, bool):  # the point is compressed, and this is the sign of y
                return ec.EllipticCurvePublicKey.from_encoded_point(curve, bytes([2 + y]) + x)
            return ec.EllipticCurvePublicKey.from_encoded_point(curve, b"\x04" + x + y)
        case _ if kind == labels.RSA:
            n, e = (int.from_bytes(value[label], "big") for label in (labels.RSA_N, labels.RSA_E))
            return rsa.RSAPublicNumbers(e, n).public_key()
        case _ if kind == labels.AKP:
            return _ML_DSA[value[labels.KEY_ALG]].from_public_bytes(value[labels.AKP_PUBLIC])
    raise ValueError("a key type that is not known")


def _minimal(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def thumbprint(key: PublicKey) -> bytes:
    """Give the name of a key: the SHA-256 of its COSE form."""
    return hashlib.sha256(deterministic_cbor.encode(to_cose(key))).digest()


def thumbprint_uri(key: PublicKey) -> str:
    """Give the name of a key as a URI."""
    return uri_of(thumbprint(key))


def uri_of(name: bytes) -> str:
    """Write the thumbprint of a key as a URI."""
    return THUMBPRINT_URI + base64.urlsafe_b64encode(name).rstrip(b"=").decode()
