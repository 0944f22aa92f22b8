"""Signing keys: how they sign, how PEM and COSE_Key represent them, and their names.

A key is named by its thumbprint: the SHA-256 of its COSE_Key parameters (RFC 9679). Statements
name their signer by it, so two encodings of one key have one name.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import KeySigner, build_cose_key, compute_thumbprint_uri
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> signer, sorted(build_cose_key(signer.public_key))
    (KeySigner(EdDSA), [-2, -1, 1])
    >>> compute_thumbprint_uri(signer.public_key)
    'urn:ietf:params:oauth:ckt:sha-256:b33u9l1UppkF0wmlPLE_x-m5pAoyyg_UoJxxGZw_B80'

COSE_Key follows RFC 9052 section 7, RFC 9053 section 7, RFC 8230 (RSA) and RFC 9964 (ML-DSA).
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

DEFAULT_ALGORITHM_HINT = "Omit --alg to use the default algorithm of the key."

# A table or member `trusted`, or PEM in a quoted text. A key file has neither.
_TRUST_STORE_TEXT = re.compile(
    rb"""["']\s*-----BEGIN |^[ \t]*(?:\[[ \t]*){0,2}["']?trusted["']?[ \t]*[].=]""", re.MULTILINE
)
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
"""The algorithms that `generate_key` makes keys for."""


class Signer(Protocol):
    """A key that signs: in memory, or in a device."""

    @property
    def algorithm(self) -> int:
        """The COSE number of the algorithm."""
        ...

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies the signatures."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Sign bytes, and return the signature in the form COSE has for the algorithm."""
        ...


@dataclass(frozen=True)
class KeySigner:
    """A private key in memory that signs, with its default algorithm if `number` is None."""

    key: PrivateKey
    number: int | None = None

    def __post_init__(self) -> None:
        """Check that the algorithm accepts the key.

        Raises:
            UsageError: the algorithm is for another kind of key.
        """
        if self.number is not None and not ALGORITHMS[self.number].fits(self.public_key):
            raise UsageError(
                f"{ALGORITHMS[self.number].name} cannot be used with this kind of key",
                hint=DEFAULT_ALGORITHM_HINT,
            )

    def __repr__(self) -> str:
        """Name the algorithm only, so that a key never appears in a log."""
        return f"KeySigner({ALGORITHMS[self.algorithm].name})"

    @property
    def algorithm(self) -> int:
        """The COSE number of the algorithm."""
        return choose_algorithm_number(self.public_key) if self.number is None else self.number

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies the signatures."""
        return self.key.public_key()

    def sign(self, data: bytes) -> bytes:
        """Sign bytes, and return the signature in the form COSE has for the algorithm."""
        return ALGORITHMS[self.algorithm].sign(self.key, data)


def generate_key(algorithm: str) -> PrivateKey:
    """Generate a private key for an algorithm, one of `NEW_KEY_ALGORITHMS`.

    Raises:
        UsageError: the algorithm is unknown, or the cryptographic library does not support it.
    """
    if algorithm not in _KEY_GENERATORS:
        raise UsageError(
            f"cannot generate keys for {algorithm!r}",
            hint=f"Known: {', '.join(NEW_KEY_ALGORITHMS)}.",
        )
    try:
        return _KEY_GENERATORS[algorithm]()
    except UnsupportedAlgorithm as error:
        raise UsageError(
            f"the installed package cryptography does not support {algorithm}",
            hint="Update it: pip install --upgrade cryptography",
        ) from error


def encode_private_pem(key: PrivateKey, passphrase: bytes | None = None) -> bytes:
    """Encode a private key as PKCS#8 in PEM, encrypted unless `passphrase` is None.

    Raises:
        UsageError: the passphrase is empty or too long.
    """
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        if not 0 < len(passphrase) <= _MAX_PASSPHRASE_LENGTH:
            raise UsageError(
                f"the passphrase has {len(passphrase)} bytes; "
                f"it must have 1 to {_MAX_PASSPHRASE_LENGTH}"
            )
        encryption = serialization.BestAvailableEncryption(passphrase)
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    return pem


def encode_public_pem(key: PublicKey) -> bytes:
    """Encode a public key as SubjectPublicKeyInfo in PEM."""
    pem: bytes = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return pem


def is_encrypted_pem(pem: bytes) -> bool:
    """Return whether a private key in PEM needs a passphrase; False for other data."""
    return b"ENCRYPTED" in pem


def parse_private_key(pem: bytes, passphrase: bytes | None = None) -> PrivateKey:
    """Parse a private key in PEM. Errors never quote the input, which may hold a secret.

    Raises:
        UnreadableInput: the input is not a private key, or the passphrase is missing or wrong.
    """
    if b"PUBLIC KEY-----" in pem and b"PRIVATE KEY-----" not in pem:
        raise UnreadableInput(
            "this is a public key; a private key is needed",
            hint="Name the private key, such as signing.pem.",
        )
    if is_encrypted_pem(pem) and passphrase is None:
        raise UnreadableInput("the private key is encrypted", hint="Add --passphrase-file FILE.")
    try:
        return serialization.load_pem_private_key(
            pem, passphrase if is_encrypted_pem(pem) else None
        )
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if is_encrypted_pem(pem):
            raise UnreadableInput(
                "wrong passphrase, or damaged key",
                hint="Check the passphrase, or restore the key from a copy.",
            ) from error
        raise UnreadableInput("not a private key in PEM") from error


def is_trust_store(data: bytes) -> bool:
    """Return whether a file looks like a trust store, in any usual layout of TOML."""
    return _TRUST_STORE_TEXT.search(data) is not None


def check_not_trust_store(data: bytes) -> None:
    """Refuse a trust store: its keys and authorities count only in their roles, and for a time.

    Raises:
        UnreadableInput: it is one.
    """
    if is_trust_store(data):
        raise UnreadableInput(
            "this is a trust store, not a key", hint="To use it: --trust-store FILE"
        )


def parse_public_keys(data: bytes) -> list[PublicKey]:
    """Return the public keys in PEM text, in a COSE_Key, or in a COSE_KeySet; at least one.

    Raises:
        UnreadableInput: no public key can be read.
    """
    check_not_trust_store(data)
    if b"PRIVATE KEY-----" in data:
        raise UnreadableInput(
            "this is a private key; a public key is needed",
            hint="Name the public key, such as signing.pub.pem.",
        )
    try:
        if b"-----BEGIN PUBLIC KEY-----" in data:
            return [
                serialization.load_pem_public_key(pem)
                for pem in _PEM_PUBLIC_KEY_START.split(data)[1:]
            ]
        value = decode_cbor(data)
    except (ValueError, UnsupportedAlgorithm, UnreadableInput) as error:
        raise UnreadableInput(
            "neither a public key in PEM, nor a certificate, nor a COSE key",
            hint="Name the signer's public key, such as signing.pub.pem.",
        ) from error
    return _parse_cose_key_set(value) if isinstance(value, list) else [parse_cose_key(value)]


def _parse_cose_key_set(items: list[Any]) -> list[PublicKey]:
    """Return the keys of a COSE_KeySet, without keys of unknown kinds (RFC 9052, section 7).

    Raises:
        UnreadableInput: no key can be read.
    """
    keys, last_error = [], UnreadableInput("the key set is empty")
    for item in items:
        try:
            keys.append(parse_cose_key(item))
        except UnreadableInput as error:
            last_error = error
    if not keys:
        raise last_error
    return keys


def build_cose_key(key: PublicKey) -> dict[int, Any]:
    """Return a public key as a COSE_Key, with only the parameters that its thumbprint covers.

    Raises:
        UnreadableInput: COSE has no representation for such a key.
    """
    for curve, key_class in _EDWARDS_KEY_CLASSES.items():
        if isinstance(key, key_class):
            return {KEY_TYPE: KEY_TYPE_OKP, KEY_CURVE: curve, KEY_X: key.public_bytes_raw()}
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVE_NUMBERS:
        size, point = (key.curve.key_size + 7) // 8, key.public_numbers()
        return {
            KEY_TYPE: KEY_TYPE_EC2,
            KEY_CURVE: _CURVE_NUMBERS[key.curve.name],
            KEY_X: point.x.to_bytes(size, "big"),
            KEY_Y: point.y.to_bytes(size, "big"),
        }
    if isinstance(key, rsa.RSAPublicKey):
        numbers = key.public_numbers()
        return {
            KEY_TYPE: KEY_TYPE_RSA,
            KEY_RSA_N: _encode_minimal_integer(numbers.n),
            KEY_RSA_E: _encode_minimal_integer(numbers.e),
        }
    for algorithm, key_class in _ML_DSA_KEY_CLASSES.items():
        if isinstance(key, key_class):
            return {
                KEY_TYPE: KEY_TYPE_AKP,
                KEY_ALG: algorithm,
                KEY_AKP_PUBLIC: key.public_bytes_raw(),
            }
    raise UnreadableInput(f"COSE cannot represent this kind of key: {type(key).__name__}")


def _encode_minimal_integer(number: int) -> bytes:
    """Encode an integer in big-endian order, without leading zero bytes."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def parse_cose_key(value: Any) -> PublicKey:
    """Return the public key that a decoded COSE_Key represents.

    Raises:
        UnreadableInput: `value` is not a COSE_Key, or a key of an unknown kind.
    """
    try:
        parameters = dict(value)
        return _look_up(_COSE_KEY_PARSERS, parameters[KEY_TYPE])(parameters)
    except (ValueError, TypeError, KeyError, OverflowError, UnsupportedAlgorithm) as error:
        raise UnreadableInput("not a supported COSE key") from error


def _look_up(table: dict[int, Any], number: Any) -> Any:
    """Return the value of a number in a table.

    Python takes 1, 1.0 and true for one key, and cannot look up a tag around a list.

    Raises:
        KeyError: the table lacks the number, or it is not an integer.
    """
    if type(number) is not int:
        raise KeyError(number)
    return table[number]


def _parse_okp_key(parameters: dict[Any, Any]) -> PublicKey:
    """Return the Ed25519 or Ed448 key with the parameters of a COSE_Key.

    Raises:
        ValueError, TypeError, KeyError: a parameter is missing or malformed.
    """
    key_class = _look_up(_EDWARDS_KEY_CLASSES, parameters[KEY_CURVE])
    return key_class.from_public_bytes(parameters[KEY_X])


def _parse_ec2_key(parameters: dict[Any, Any]) -> PublicKey:
    """Return the ECDSA key with the parameters of a COSE_Key; its point may be compressed.

    Raises:
        ValueError, TypeError, KeyError: a parameter is missing or malformed.
    """
    curve = _look_up(_EC_CURVES, parameters[KEY_CURVE])
    x, y = parameters[KEY_X], parameters[KEY_Y]
    if isinstance(y, bool):  # A compressed point: `y` is the sign of the coordinate.
        return ec.EllipticCurvePublicKey.from_encoded_point(curve, bytes([2 + y]) + x)
    return ec.EllipticCurvePublicKey.from_encoded_point(curve, b"\x04" + x + y)


def _parse_rsa_key(parameters: dict[Any, Any]) -> PublicKey:
    """Return the RSA key with the parameters of a COSE_Key.

    Raises:
        ValueError, TypeError, KeyError: a parameter is missing or malformed.
    """
    n = int.from_bytes(parameters[KEY_RSA_N], "big")
    e = int.from_bytes(parameters[KEY_RSA_E], "big")
    return rsa.RSAPublicNumbers(e, n).public_key()


def _parse_akp_key(parameters: dict[Any, Any]) -> PublicKey:
    """Return the ML-DSA key with the parameters of a COSE_Key.

    Raises:
        ValueError, TypeError, KeyError: a parameter is missing or malformed.
        UnsupportedAlgorithm: the installed `cryptography` does not know ML-DSA.
    """
    key_class = _look_up(_ML_DSA_KEY_CLASSES, parameters[KEY_ALG])
    return key_class.from_public_bytes(parameters[KEY_AKP_PUBLIC])


_COSE_KEY_PARSERS = {
    KEY_TYPE_OKP: _parse_okp_key,
    KEY_TYPE_EC2: _parse_ec2_key,
    KEY_TYPE_RSA: _parse_rsa_key,
    KEY_TYPE_AKP: _parse_akp_key,
}


def compute_fingerprint(key: PublicKey) -> bytes:
    """Return the SHA-256 of a key's SubjectPublicKeyInfo; some logs name their keys by it."""
    spki = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(spki).digest()


def compute_thumbprint(key: PublicKey) -> bytes:
    """Return the thumbprint that names a key: the SHA-256 of its COSE_Key (RFC 9679), 32 bytes.

    Raises:
        UnreadableInput: COSE has no representation for such a key.
    """
    return hashlib.sha256(encode_deterministic_cbor(build_cose_key(key))).digest()


def compute_thumbprint_uri(key: PublicKey) -> str:
    """Return the thumbprint of a key as a URI, such as `urn:ietf:params:oauth:ckt:sha-256:…`.

    Raises:
        UnreadableInput: COSE has no representation for such a key.
    """
    return format_thumbprint_uri(compute_thumbprint(key))


def format_thumbprint_uri(thumbprint: bytes) -> str:
    """Format a thumbprint as a URI, in base64url after `THUMBPRINT_URI_PREFIX`."""
    return THUMBPRINT_URI_PREFIX + base64.urlsafe_b64encode(thumbprint).rstrip(b"=").decode()
