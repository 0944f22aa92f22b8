"""Keys: PEM and COSE_Key ⇄ keys that sign and verify, and the name of a key. Step: sign, verify.

Follows RFC 9052 section 7, RFC 9053 section 7, RFC 8230 and RFC 9964; a key is named by its
thumbprint, RFC 9679.

What makes a signature: a key at hand, or one that another device keeps. Step: sign.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, rsa

from vacr.errors import UnreadableInput, UsageError
from vacr.record import decode_cbor, encode_deterministic_cbor
from vacr.signing.cose import (
    ALG_ML_DSA_44,
    ALG_ML_DSA_65,
    ALG_ML_DSA_87,
    ALGORITHMS,
    CURVE_ED448,
    CURVE_ED25519,
    CURVE_P256,
    CURVE_P384,
    CURVE_P521,
    KEY_AKP_PUBLIC,
    KEY_ALG,
    KEY_CURVE,
    KEY_RSA_E,
    KEY_RSA_N,
    KEY_TYPE,
    KEY_TYPE_AKP,
    KEY_TYPE_EC2,
    KEY_TYPE_OKP,
    KEY_TYPE_RSA,
    KEY_X,
    KEY_Y,
    PrivateKey,
    PublicKey,
    choose_algorithm_number,
)

THUMBPRINT_URI_PREFIX = "urn:ietf:params:oauth:ckt:sha-256:"

_PEM_PUBLIC_KEY_START = re.compile(b"(?=-----BEGIN PUBLIC KEY-----)")
_NEW_RSA_KEY_BITS = 3072
_MAX_PASSPHRASE_LENGTH = 1023
_EC_CURVES: dict[int, ec.EllipticCurve] = {
    CURVE_P256: ec.SECP256R1(),
    CURVE_P384: ec.SECP384R1(),
    CURVE_P521: ec.SECP521R1(),
}
_CURVE_NUMBERS = {curve.name: number for number, curve in _EC_CURVES.items()}
_EDWARDS_KEY_CLASSES: dict[int, Any] = {
    CURVE_ED25519: ed25519.Ed25519PublicKey,
    CURVE_ED448: ed448.Ed448PublicKey,
}
_ML_DSA_KEY_CLASSES: dict[int, Any] = {
    ALG_ML_DSA_44: mldsa.MLDSA44PublicKey,
    ALG_ML_DSA_65: mldsa.MLDSA65PublicKey,
    ALG_ML_DSA_87: mldsa.MLDSA87PublicKey,
}
_KEY_GENERATORS: dict[str, Callable[[], PrivateKey]] = {
    "eddsa": ed25519.Ed25519PrivateKey.generate,
    "es256": lambda: ec.generate_private_key(_EC_CURVES[CURVE_P256]),
    "es384": lambda: ec.generate_private_key(_EC_CURVES[CURVE_P384]),
    "es512": lambda: ec.generate_private_key(_EC_CURVES[CURVE_P521]),
    "ps256": lambda: rsa.generate_private_key(65537, _NEW_RSA_KEY_BITS),
    "ml-dsa-44": mldsa.MLDSA44PrivateKey.generate,
    "ml-dsa-65": mldsa.MLDSA65PrivateKey.generate,
    "ml-dsa-87": mldsa.MLDSA87PrivateKey.generate,
}
NEW_KEY_ALGORITHMS = tuple(_KEY_GENERATORS)
"""The algorithms that a key can be made for."""


def generate_key(kind: str) -> PrivateKey:
    """Make a key for an algorithm.

    Raises:
        UsageError: there is no such algorithm, or this machine's library cannot make its keys.
    """
    if kind not in _KEY_GENERATORS:
        raise UsageError(
            f"no keys are made for {kind!r}", hint=f"Known: {', '.join(NEW_KEY_ALGORITHMS)}."
        )
    try:
        return _KEY_GENERATORS[kind]()
    except UnsupportedAlgorithm as error:
        raise UsageError(
            f"the cryptographic library here has no {kind}", hint="Update the package cryptography."
        ) from error


def encode_private_pem(key: PrivateKey, passphrase: bytes | None = None) -> bytes:
    """Write a private key as PKCS#8, encrypted if there is a passphrase.

    Raises:
        UsageError: the passphrase is empty, or longer than one may be.
    """
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        if not 0 < len(passphrase) <= _MAX_PASSPHRASE_LENGTH:
            raise UsageError(
                f"a passphrase has from 1 to {_MAX_PASSPHRASE_LENGTH} bytes, not {len(passphrase)}"
            )
        encryption = serialization.BestAvailableEncryption(passphrase)
    written: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    return written


def encode_public_pem(key: PublicKey) -> bytes:
    """Write a public key as SubjectPublicKeyInfo."""
    written: bytes = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return written


def is_encrypted_pem(pem: bytes) -> bool:
    """Tell whether a private key needs a passphrase."""
    return b"ENCRYPTED" in pem


def parse_private_key(pem: bytes, passphrase: bytes | None = None) -> PrivateKey:
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
    if is_encrypted_pem(pem) and passphrase is None:
        raise UnreadableInput("the key is encrypted", hint="Give its passphrase.")
    try:
        return serialization.load_pem_private_key(
            pem, passphrase if is_encrypted_pem(pem) else None
        )
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        told = (
            "the passphrase is wrong, or the key is damaged"
            if is_encrypted_pem(pem)
            else "not a private key in PEM"
        )
        raise UnreadableInput(told, hint="vacr key generate makes one.") from error


def parse_public_keys(data: bytes) -> list[PublicKey]:
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
            return [
                serialization.load_pem_public_key(one)
                for one in _PEM_PUBLIC_KEY_START.split(data)[1:]
            ]
        value = decode_cbor(data)
    except (ValueError, UnsupportedAlgorithm, UnreadableInput) as error:
        raise UnreadableInput("not a public key in PEM, a certificate or a COSE key") from error
    return _parse_cose_key_set(value) if isinstance(value, list) else [parse_cose_key(value)]


def _parse_cose_key_set(value: list[Any]) -> list[PublicKey]:
    """Make keys of a set; those of kinds that are not known do not keep the others back, RFC 9052
    section 7.
    """
    found, failed = [], UnreadableInput("a set of keys without any")
    for item in value:
        try:
            found.append(parse_cose_key(item))
        except UnreadableInput as error:
            failed = error
    if not found:
        raise failed
    return found


def build_cose_key(key: PublicKey) -> dict[int, Any]:
    """Give the parameters of a public key that its thumbprint is made of.

    Raises:
        UnreadableInput: COSE has no form for such a key.
    """
    if isinstance(key, ed25519.Ed25519PublicKey):
        return {
            KEY_TYPE: KEY_TYPE_OKP,
            KEY_CURVE: CURVE_ED25519,
            KEY_X: key.public_bytes_raw(),
        }
    if isinstance(key, ed448.Ed448PublicKey):
        return {
            KEY_TYPE: KEY_TYPE_OKP,
            KEY_CURVE: CURVE_ED448,
            KEY_X: key.public_bytes_raw(),
        }
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVE_NUMBERS:
        size, numbers = (key.curve.key_size + 7) // 8, key.public_numbers()
        x, y = numbers.x.to_bytes(size, "big"), numbers.y.to_bytes(size, "big")
        return {
            KEY_TYPE: KEY_TYPE_EC2,
            KEY_CURVE: _CURVE_NUMBERS[key.curve.name],
            KEY_X: x,
            KEY_Y: y,
        }
    if isinstance(key, rsa.RSAPublicKey):
        numbers_ = key.public_numbers()
        return {
            KEY_TYPE: KEY_TYPE_RSA,
            KEY_RSA_N: _encode_minimal_integer(numbers_.n),
            KEY_RSA_E: _encode_minimal_integer(numbers_.e),
        }
    for number, kind in _ML_DSA_KEY_CLASSES.items():
        if isinstance(key, kind):
            return {
                KEY_TYPE: KEY_TYPE_AKP,
                KEY_ALG: number,
                KEY_AKP_PUBLIC: key.public_bytes_raw(),
            }
    raise UnreadableInput(f"a key of a kind that COSE has no form for: {type(key).__name__}")


def parse_cose_key(value: Any) -> PublicKey:
    """Make a public key of COSE parameters.

    Raises:
        UnreadableInput: they make none.
    """
    try:
        return _parse_cose_parameters(dict(value))
    except (ValueError, TypeError, KeyError, OverflowError, UnsupportedAlgorithm) as error:
        raise UnreadableInput("not a COSE key of a known kind") from error


def _parse_cose_parameters(value: dict[Any, Any]) -> PublicKey:
    match kind := value[KEY_TYPE]:
        case _ if kind == KEY_TYPE_OKP:
            return _EDWARDS_KEY_CLASSES[value[KEY_CURVE]].from_public_bytes(value[KEY_X])
        case _ if kind == KEY_TYPE_EC2:
            curve, x, y = _EC_CURVES[value[KEY_CURVE]], value[KEY_X], value[KEY_Y]
            if isinstance(y, bool):  # the point is compressed, and this is the sign of y
                return ec.EllipticCurvePublicKey.from_encoded_point(curve, bytes([2 + y]) + x)
            return ec.EllipticCurvePublicKey.from_encoded_point(curve, b"\x04" + x + y)
        case _ if kind == KEY_TYPE_RSA:
            n, e = (int.from_bytes(value[label], "big") for label in (KEY_RSA_N, KEY_RSA_E))
            return rsa.RSAPublicNumbers(e, n).public_key()
        case _ if kind == KEY_TYPE_AKP:
            return _ML_DSA_KEY_CLASSES[value[KEY_ALG]].from_public_bytes(value[KEY_AKP_PUBLIC])
    raise ValueError("a key type that is not known")


def _encode_minimal_integer(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def compute_thumbprint(key: PublicKey) -> bytes:
    """Give the name of a key: the SHA-256 of its COSE form."""
    return hashlib.sha256(encode_deterministic_cbor(build_cose_key(key))).digest()


def compute_thumbprint_uri(key: PublicKey) -> str:
    """Give the name of a key as a URI."""
    return format_thumbprint_uri(compute_thumbprint(key))


def format_thumbprint_uri(name: bytes) -> str:
    """Write the thumbprint of a key as a URI."""
    return THUMBPRINT_URI_PREFIX + base64.urlsafe_b64encode(name).rstrip(b"=").decode()


class Signer(Protocol):
    """What `sign` asks for a signature."""

    @property
    def algorithm(self) -> int:
        """The COSE number of the algorithm."""
        ...

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Sign bytes, in the form that COSE has for the algorithm."""
        ...


@dataclass(frozen=True)
class KeySigner:
    """Signs with a private key; its algorithm is the usual one of the key unless it is named."""

    key: PrivateKey
    number: int | None = None

    def __post_init__(self) -> None:
        """Check that the algorithm takes the key.

        Raises:
            UsageError: it does not.
        """
        if self.number is not None and not ALGORITHMS[self.number].fits(self.public_key):
            raise UsageError(f"{ALGORITHMS[self.number].name} takes no key of this kind")

    def __repr__(self) -> str:
        """Say nothing about the key."""
        return f"KeySigner({ALGORITHMS[self.algorithm].name})"

    @property
    def algorithm(self) -> int:
        """The COSE number of the algorithm."""
        return choose_algorithm_number(self.public_key) if self.number is None else self.number

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies."""
        return self.key.public_key()

    def sign(self, data: bytes) -> bytes:
        """Sign bytes."""
        return ALGORITHMS[self.algorithm].sign(self.key, data)
