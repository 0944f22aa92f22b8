"""Signing keys in a hardware security module, reached through PKCS#11. Needs the extra `hsm`.

A PKCS#11 URI (RFC 7512) names the key: the token, the object in it, and the driver to load.

    >>> from vacr.errors import UsageError
    >>> from vacr.signing import load_signer
    >>> uri = "pkcs11:token=vacr;object=signing"   # without ?module-path=/usr/lib/…
    >>> try:
    ...     load_signer(uri, algorithm=None, passphrase=None, force=False)
    ... except UsageError:
    ...     print("refused: no driver is named")
    refused: no driver is named
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from vacr.errors import Unreachable, UsageError
from vacr.signing.cose import (
    ALG_ED25519,
    ALG_EDDSA,
    ALG_ES256,
    ALG_ES384,
    ALG_ES512,
    ALG_ESP256,
    ALG_ESP384,
    ALG_ESP512,
    ALG_PS256,
    ALG_PS384,
    ALG_PS512,
    ALGORITHMS,
    PublicKey,
    choose_algorithm_number,
)

_KEY_URI_EXAMPLE = (
    "For example: --key "
    "'pkcs11:token=vacr;object=signing?module-path=/usr/lib/softhsm/libsofthsm2.so'"
)
_ECDSA_HASHES = {
    ALG_ES256: hashlib.sha256,
    ALG_ESP256: hashlib.sha256,
    ALG_ES384: hashlib.sha384,
    ALG_ESP384: hashlib.sha384,
    ALG_ES512: hashlib.sha512,
    ALG_ESP512: hashlib.sha512,
}
_PSS_HASH_BITS = {ALG_PS256: 256, ALG_PS384: 384, ALG_PS512: 512}
_EDDSA_ALGORITHMS = (ALG_EDDSA, ALG_ED25519)


@dataclass(frozen=True)
class HsmSigner:
    """A key that signs inside its device and never leaves it."""

    public_key: PublicKey
    algorithm: int
    ask: Callable[[bytes], bytes] = field(repr=False)
    close: Callable[[], None] = field(repr=False)
    """Closes the session; some devices allow only one at a time."""

    def sign(self, data: bytes) -> bytes:
        """Sign bytes.

        Raises:
            Unreachable: the device does not sign.
        """
        from pkcs11.exceptions import PKCS11Error

        try:
            return self.ask(data)
        except PKCS11Error as error:
            raise Unreachable(f"the device does not sign: {type(error).__name__}") from error


def open_hsm_signer(uri: str, number: int | None, pin: bytes | None) -> HsmSigner:
    """Open a session with a device and find the key that a URI names.

    Raises:
        UsageError: the URI names no module, the extra is not installed, or the algorithm does not
            accept the key.
        Unreachable: the device, token or key is missing, or the PIN is wrong.
    """
    try:
        import pkcs11
        from pkcs11.exceptions import PKCS11Error
    except ImportError as error:
        raise UsageError(
            "keys in devices need the extra hsm", hint="pip install 'vacr[hsm]'"
        ) from error
    attributes = _parse_pkcs11_uri(uri)
    if "module-path" not in attributes:
        raise UsageError("the key's URI names no module-path", hint=_KEY_URI_EXAMPLE)
    session = None
    try:
        token = pkcs11.lib(attributes["module-path"]).get_token(token_label=attributes.get("token"))
        user_pin = _decode_pin(pin) if pin is not None else attributes.get("pin-value")
        session = token.open(user_pin=user_pin)
        private = _find_single_key(session, pkcs11.ObjectClass.PRIVATE_KEY, attributes)
        public = _find_single_key(session, pkcs11.ObjectClass.PUBLIC_KEY, attributes)
        key = _read_public_key(public)
    except (PKCS11Error, RuntimeError, ValueError) as error:
        if session is not None:
            session.close()
        problem = str(error) or type(error).__name__
        # Show only these parts of the URI: a PIN may be anywhere else in it.
        where = "pkcs11:" + ";".join(
            f"{name}={attributes[name]}" for name in ("token", "object") if name in attributes
        )
        raise Unreachable(
            f"the key cannot be used: {problem}", where=where, hint=_KEY_URI_EXAMPLE
        ) from error
    algorithm = choose_algorithm_number(key) if number is None else number
    if not ALGORITHMS[algorithm].fits(key):
        session.close()
        raise UsageError(f"{ALGORITHMS[algorithm].name} takes no key of this kind")
    return HsmSigner(key, algorithm, _make_sign_function(private, algorithm), session.close)


def _parse_pkcs11_uri(uri: str) -> dict[str, str]:
    """Return the attributes in the path and the query of a PKCS#11 URI."""
    path, _, query = uri.partition(":")[2].partition("?")
    pairs = [part.partition("=") for part in (*path.split(";"), *query.split("&")) if part]
    return {name: unquote(value) for name, _, value in pairs}


def _decode_pin(pin: bytes) -> str:
    try:
        return pin.decode()
    except UnicodeDecodeError:
        raise ValueError("the PIN is not text") from None


def _find_single_key(session: Any, object_class: Any, attributes: dict[str, str]) -> Any:
    """Return the only key of a class that the URI's attributes name."""
    from pkcs11 import Attribute

    template = {Attribute.CLASS: object_class}
    if "object" in attributes:
        template[Attribute.LABEL] = attributes["object"]
    keys = list(session.get_objects(template))
    if not keys:
        raise ValueError(
            "there is no such key, or it shows itself only with the PIN, which "
            "--passphrase-file gives"
        )
    if len(keys) > 1:
        raise ValueError("more than one key fits: name it with object=")
    return keys[0]


def _read_public_key(public: Any) -> PublicKey:
    """Convert a public key of the device to one of `cryptography`."""
    from pkcs11 import Attribute, KeyType
    from pkcs11.util.ec import encode_ec_public_key

    if public.key_type == KeyType.RSA:
        n = int.from_bytes(public[Attribute.MODULUS], "big")
        e = int.from_bytes(public[Attribute.PUBLIC_EXPONENT], "big")
        return rsa.RSAPublicNumbers(e, n).public_key()
    if public.key_type == KeyType.EC_EDWARDS:
        return ed25519.Ed25519PublicKey.from_public_bytes(public[Attribute.EC_POINT][-32:])
    return serialization.load_der_public_key(encode_ec_public_key(public))


def _make_sign_function(private: Any, algorithm: int) -> Callable[[bytes], bytes]:
    """Return a function that asks the device for a signature in the form COSE has."""
    from pkcs11 import MGF, Mechanism

    if algorithm in _ECDSA_HASHES:
        return lambda data: bytes(
            private.sign(_ECDSA_HASHES[algorithm](data).digest(), mechanism=Mechanism.ECDSA)
        )
    if algorithm in _EDDSA_ALGORITHMS:
        return lambda data: bytes(private.sign(data, mechanism=Mechanism.EDDSA))
    if algorithm in _PSS_HASH_BITS:
        bits = _PSS_HASH_BITS[algorithm]
        pss_parameters = (Mechanism[f"SHA{bits}"], MGF[f"SHA{bits}"], bits // 8)
        return lambda data: bytes(
            private.sign(
                data, mechanism=Mechanism[f"SHA{bits}_RSA_PKCS_PSS"], mechanism_param=pss_parameters
            )
        )
    raise UsageError(f"{ALGORITHMS[algorithm].name} is not asked of devices")
