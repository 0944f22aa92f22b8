"""Keys and certificates on this machine: in files, and in hardware security modules (HSMs).

Only the owner can ever read a new private key file, and a key file that others can read is
refused. A log's keys are read from a file or from the log's folder.

    >>> from pathlib import Path
    >>> from vacr.signing import encode_private_pem, encode_public_pem, generate_key
    >>> from vacr.signing import load_signer, write_key_pair
    >>> key = generate_key("eddsa")
    >>> pems = encode_private_pem(key), encode_public_pem(key.public_key())
    >>> [str(path) for path in write_key_pair(Path("keys"), *pems)]
    ['keys/signing.pem', 'keys/signing.pub.pem']
    >>> load_signer("keys/signing.pem", algorithm=None, passphrase=None, force=False)
    KeySigner(EdDSA)

A key in an HSM never leaves it. A PKCS#11 URI (RFC 7512) names such a key: the token, the object
in it, and the driver to load. This needs the extra `hsm`.

    >>> from vacr.errors import UsageError
    >>> uri = "pkcs11:token=vacr;object=signing"   # without ?module-path=/usr/lib/…
    >>> try:
    ...     load_signer(uri, algorithm=None, passphrase=None, force=False)
    ... except UsageError:
    ...     print("refused: the URI names no driver")
    refused: the URI names no driver
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from vacr.errors import Unreachable, UnreadableInput, UsageError
from vacr.files import is_folder, join_path, make_folder_error, path_exists, read_bytes
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
    get_algorithm_number,
)
from vacr.signing.keys import (
    DEFAULT_ALGORITHM_HINT,
    KeySigner,
    Signer,
    parse_private_key,
    parse_public_keys,
)
from vacr.signing.statement import parse_pem_certificates

PKCS11_PREFIX = "pkcs11:"
RECEIPT_KEYS_FILE = "receipt-keys.pem"
"""The file in a log's folder that holds the public keys of its receipts."""

_GENERATE_KEY_HINT = "To create a private key: vacr key generate -o FOLDER"
_LOG_KEYS_HINT = (
    f"Use the log's {RECEIPT_KEYS_FILE}, the log's folder, or a download of the service's "
    "/.well-known/scitt-keys."
)
_GROUP_AND_OTHER_BITS = stat.S_IRWXG | stat.S_IRWXO
_OWNER_ONLY_MODE = 0o600
_MAX_KEY_FILE_SIZE = 1 << 20

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


def write_key_pair(folder: Path, private: bytes, public: bytes) -> tuple[Path, Path]:
    """Write a new key pair into a folder, and return the paths of the private and public key.

    The folder is created if it is missing. Only the owner can ever read the private key.

    Raises:
        UsageError: a key already exists there.
        UnreadableInput: the folder cannot be written to.
    """
    private_path, public_path = folder / "signing.pem", folder / "signing.pub.pem"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _create_file(private_path, private, _OWNER_ONLY_MODE)
        try:
            _create_file(public_path, public, 0o644)
        except OSError:
            private_path.unlink(missing_ok=True)  # Half a pair is useless.
            raise
    except FileExistsError as error:
        hint = "Keys are never overwritten. Choose another folder with -o, or move the key away."
        raise UsageError(f"{error.filename} already exists", hint=hint) from error
    except OSError as error:
        hint = "Choose a folder that you can write with -o."
        raise make_folder_error(folder, error, hint) from error
    return private_path, public_path


def _create_file(path: Path, data: bytes, mode: int) -> None:
    """Write a new file with these permissions from the start.

    Raises:
        FileExistsError: the file exists; it is never overwritten.
        OSError: the file cannot be written.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)


def load_signer(
    name: str, *, algorithm: str | None, passphrase: bytes | None, force: bool
) -> Signer:
    """Load a signing key from a PEM file, or from a device that a PKCS#11 URI names (RFC 7512).

    `algorithm` is a name such as `es256`; None chooses the key's default. `passphrase` decrypts
    the file, or is the PIN of the device. `force` accepts a file that others can read.

    Raises:
        UsageError: others can read the file, or the algorithm is unknown or does not accept the
            key.
        UnreadableInput: the file holds no private key, or the passphrase is missing or wrong.
        Unreachable: the device, token or key is missing, or the PIN is wrong.
    """
    number = get_algorithm_number(algorithm) if algorithm is not None else None
    if name.startswith(PKCS11_PREFIX):
        return open_hsm_signer(name, number, passphrase)
    data = read_key_file(name)
    if not force and b"PRIVATE KEY-----" in data:
        check_secret_permissions(name, otherwise=", or add --force")
    try:
        key = parse_private_key(data, passphrase)
    except UnreadableInput as error:
        hint = error.hint or _GENERATE_KEY_HINT
        raise UnreadableInput(error.message, where=name, hint=hint) from error
    if number is None and not any(known.fits(key.public_key()) for known in ALGORITHMS.values()):
        raise UsageError(
            f"{name}: no supported algorithm uses this kind or size of key",
            hint=_GENERATE_KEY_HINT,
        )
    return KeySigner(key, number)


def read_key_file(name: str) -> bytes:
    """Return the first 1 MiB of a private key file, at most; the content is not checked.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    try:
        return read_bytes(name, _MAX_KEY_FILE_SIZE)
    except UnreadableInput as error:
        hint = _GENERATE_KEY_HINT if isinstance(error.__cause__, FileNotFoundError) else error.hint
        raise UnreadableInput(
            f"cannot read the key: {error.message}", where=name, hint=hint
        ) from error


def check_secret_permissions(name: str, *, otherwise: str = "") -> None:
    """Refuse a file with a private key, a passphrase or a token that other users can read.

    `otherwise` continues the hint "chmod 600 FILE". Missing files, pipes, and any file on Windows
    pass.

    Raises:
        UsageError: others can read it.
    """
    if sys.platform == "win32":
        return
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 - the path as the user wrote it
    except (OSError, ValueError):
        return  # Reading the file will report the reason.
    if stat.S_ISREG(mode) and mode & _GROUP_AND_OTHER_BITS:
        raise UsageError(
            f"other users can read {name}", hint=f"chmod 600 {shlex.quote(name)}{otherwise}."
        )


def read_passphrase(name: str) -> bytes:
    """Return the first line of a file, without its line end, as a passphrase or a token.

    Raises:
        UsageError: other users can read the file.
        Unreachable: the file cannot be read.
    """
    check_secret_permissions(name)
    return read_trust_file(name).split(b"\n", 1)[0].rstrip(b"\r")


def read_certificate_file(name: str) -> list[x509.Certificate]:
    """Return the certificates in a PEM file; at least one.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds no certificate, or an unreadable one.
    """
    try:
        return parse_pem_certificates(read_trust_file(name))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=name, hint=error.hint) from error


def read_log_keys(name: str) -> list[PublicKey]:
    """Return the public keys of a log from a file, in PEM or COSE, or from the log's folder.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds no key.
    """
    is_log_folder = is_folder(name)
    path = join_path(name, RECEIPT_KEYS_FILE) if is_log_folder else name
    try:
        return parse_public_keys(read_trust_file(path))
    except Unreachable as error:
        hint = "This is not the folder of a log." if is_log_folder else _LOG_KEYS_HINT
        if path_exists(path):
            hint = error.hint
        raise Unreachable(error.message, where=error.where, hint=hint) from error
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=path, hint=_LOG_KEYS_HINT) from error


def read_trust_file(name: str) -> bytes:
    """Return the bytes of a file that verification trusts, such as keys or certificates.

    Raises:
        Unreachable: it cannot be read, or is larger than 1 MiB.
    """
    try:
        # One byte more shows that the file is too large. Its first part could mean something else.
        data = read_bytes(name, _MAX_KEY_FILE_SIZE + 1)
    except UnreadableInput as error:
        raise Unreachable(error.message, where=name, hint=error.hint) from error
    if len(data) > _MAX_KEY_FILE_SIZE:
        raise Unreachable("the file is too large: more than 1 MiB", where=name)
    return data


@dataclass(frozen=True)
class HsmSigner:
    """A key that signs inside its device and never leaves it."""

    public_key: PublicKey
    algorithm: int
    request_signature: Callable[[bytes], bytes] = field(repr=False)
    """Returns the device's signature over bytes."""
    close: Callable[[], None] = field(repr=False)
    """Closes the session; some devices allow only one at a time."""

    def sign(self, data: bytes) -> bytes:
        """Sign bytes, and return the signature in the form COSE has for the algorithm.

        Raises:
            Unreachable: the device fails to sign.
        """
        from pkcs11.exceptions import PKCS11Error

        try:
            return self.request_signature(data)
        except PKCS11Error as error:
            raise Unreachable(
                f"the device with the key failed to sign: {type(error).__name__}",
                hint="Check that the device is connected and unlocked, and try again.",
            ) from error


def open_hsm_signer(uri: str, number: int | None, pin: bytes | None) -> HsmSigner:
    """Open a session with a device, and return a signer for the key that a PKCS#11 URI names.

    `number` is the COSE number of an algorithm; None chooses the key's default. `pin` unlocks the
    device; None takes the PIN from the URI, if it has one. The caller closes the signer.

    Raises:
        UsageError: the URI names no driver, the extra `hsm` is not installed, or the algorithm
            does not accept the key.
        Unreachable: the device, token or key is missing, or the PIN is wrong.
    """
    try:
        import pkcs11
        from pkcs11.exceptions import PKCS11Error
    except ImportError as error:
        raise UsageError(
            "a key in a device needs the packages of vacr[hsm], which are not installed",
            hint="pip install 'vacr[hsm]'",
        ) from error
    attributes = _parse_pkcs11_uri(uri)
    if "module-path" not in attributes:
        raise UsageError(
            "the key's URI does not name the device's driver: module-path is missing",
            hint=_KEY_URI_EXAMPLE,
        )
    session = None
    try:
        token = pkcs11.lib(attributes["module-path"]).get_token(token_label=attributes.get("token"))
        user_pin = _decode_pin(pin) if pin is not None else attributes.get("pin-value")
        session = token.open(user_pin=user_pin)
        private = _find_single_key(session, pkcs11.ObjectClass.PRIVATE_KEY, attributes)
        public = _find_single_key(session, pkcs11.ObjectClass.PUBLIC_KEY, attributes)
        key = _convert_public_key(public)
    except (PKCS11Error, RuntimeError, ValueError) as error:
        if session is not None:
            session.close()
        problem = str(error) or type(error).__name__
        # Show only these parts of the URI: a PIN may be anywhere else in it.
        where = "pkcs11:" + ";".join(
            f"{name}={attributes[name]}" for name in ("token", "object") if name in attributes
        )
        raise Unreachable(
            f"cannot use the key in the device: {problem}", where=where, hint=_KEY_URI_EXAMPLE
        ) from error
    algorithm = choose_algorithm_number(key) if number is None else number
    if not ALGORITHMS[algorithm].fits(key):
        session.close()
        raise UsageError(
            f"{ALGORITHMS[algorithm].name} cannot be used with this kind of key",
            hint=DEFAULT_ALGORITHM_HINT,
        )
    return HsmSigner(key, algorithm, _make_sign_function(private, algorithm), session.close)


def _parse_pkcs11_uri(uri: str) -> dict[str, str]:
    """Return the attributes of a PKCS#11 URI by name, such as token, object and module-path.

    Values are percent-decoded; unknown attributes are kept, and nothing is checked.
    """
    path, _, query = uri.partition(":")[2].partition("?")
    pairs = [part.partition("=") for part in (*path.split(";"), *query.split("&")) if part]
    return {name: unquote(value) for name, _, value in pairs}


def _decode_pin(pin: bytes) -> str:
    """Return a PIN as text.

    Raises:
        ValueError: the PIN is not UTF-8; the error does not quote it.
    """
    try:
        return pin.decode()
    except UnicodeDecodeError:
        raise ValueError("the PIN is not valid UTF-8") from None


def _find_single_key(session: Any, object_class: Any, attributes: dict[str, str]) -> Any:
    """Return the only private or public key of a device with the URI's label.

    `object_class` selects private or public keys; without a label, the device must have only one.

    Raises:
        ValueError: no key, or several keys match.
    """
    from pkcs11 import Attribute

    template = {Attribute.CLASS: object_class}
    if "object" in attributes:
        template[Attribute.LABEL] = attributes["object"]
    keys = list(session.get_objects(template))
    if not keys:
        raise ValueError("key not found; if the device needs a PIN, add --passphrase-file")
    if len(keys) > 1:
        if "object" in attributes:
            raise ValueError("several keys have this label; give each key its own label")
        raise ValueError("the device has several keys; choose one by its label: object=LABEL")
    return keys[0]


def _convert_public_key(public: Any) -> PublicKey:
    """Convert a public RSA, Ed25519 or ECDSA key of the device to a key of `cryptography`."""
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
    """Return a function that makes the device sign bytes, in the form COSE has.

    Raises:
        UsageError: vacr does not support the algorithm in devices.
    """
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
    raise UsageError(
        f"{ALGORITHMS[algorithm].name} is not supported for keys in devices",
        hint="Choose another algorithm with --alg, or another key.",
    )
