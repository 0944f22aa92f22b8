"""Keys and certificates on this machine: files, and keys in devices.

A private key file is created so that nobody but its owner can ever read it, and a key file that
others can read is refused. A log's keys are read from a file or from the log's folder.

    >>> from pathlib import Path
    >>> from vacr.signing import encode_private_pem, encode_public_pem, generate_key
    >>> from vacr.signing import load_signer, write_key_pair
    >>> key = generate_key("eddsa")
    >>> pems = encode_private_pem(key), encode_public_pem(key.public_key())
    >>> [str(path) for path in write_key_pair(Path("keys"), *pems)]
    ['keys/signing.pem', 'keys/signing.pub.pem']
    >>> load_signer("keys/signing.pem", algorithm=None, passphrase=None, force=False)
    KeySigner(EdDSA)
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path

from cryptography import x509

from vacr.errors import Unreachable, UnreadableInput, UsageError
from vacr.files import describe_file_error, read_bytes
from vacr.signing.certificates import parse_pem_certificates
from vacr.signing.cose import ALGORITHMS, PublicKey, get_algorithm_number
from vacr.signing.keys import KeySigner, Signer, parse_private_key, parse_public_keys

PKCS11_PREFIX = "pkcs11:"
RECEIPT_KEYS_FILE = "receipt-keys.pem"
"""The file in a log's folder that holds the public keys of its receipts."""

_LOG_KEYS_HINT = (
    f"Give the {RECEIPT_KEYS_FILE} of the log, its folder, or a file with what its service "
    "has at /.well-known/scitt-keys."
)
_GROUP_AND_OTHER_BITS = stat.S_IRWXG | stat.S_IRWXO
_OWNER_ONLY_MODE = 0o600
_MAX_KEY_FILE_SIZE = 1 << 20


def write_key_pair(folder: Path, private: bytes, public: bytes) -> tuple[Path, Path]:
    """Write a new key pair and return both paths; only the owner can ever read the private key.

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
        hint = "Keys are never replaced: give another folder with -o, or move it away."
        raise UsageError(f"{error.filename} is there already", hint=hint) from error
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(folder)) from error
    return private_path, public_path


def _create_file(path: Path, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)


def load_signer(
    name: str, *, algorithm: str | None, passphrase: bytes | None, force: bool
) -> Signer:
    """Load a signing key: a PEM file, or a key in a device named by a PKCS#11 URI (RFC 7512).

    Raises:
        UsageError: others can read the file and `force` is not set, or the algorithm does not
            accept the key.
        UnreadableInput: the file holds no private key.
    """
    number = get_algorithm_number(algorithm) if algorithm is not None else None
    if name.startswith(PKCS11_PREFIX):
        from vacr.signing.hsm import open_hsm_signer

        return open_hsm_signer(name, number, passphrase)
    data = read_key_file(name)
    if not force and b"PRIVATE KEY-----" in data:
        check_key_permissions(name, otherwise=", or give --force")
    try:
        key = parse_private_key(data, passphrase)
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=name, hint=error.hint) from error
    if number is None and not any(known.fits(key.public_key()) for known in ALGORITHMS.values()):
        raise UsageError(
            f"{name}: no algorithm takes a key of this kind or size",
            hint="vacr key generate makes one.",
        )
    return KeySigner(key, number)


def read_key_file(name: str) -> bytes:
    """Read the file of a private key.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        return read_bytes(name, _MAX_KEY_FILE_SIZE)
    except UnreadableInput as error:
        raise UnreadableInput(
            f"no key: {error.message}",
            where=name,
            hint=error.hint or "vacr key generate makes one.",
        ) from error


def check_key_permissions(name: str, *, otherwise: str = "") -> None:
    """Refuse a private key file that other users can read; `otherwise` ends the hint.

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
            f"{name} can be read by others", hint=f"chmod 600 {shlex.quote(name)}{otherwise}."
        )


def read_passphrase(name: str) -> bytes:
    """Read a passphrase: the first line of a file.

    Raises:
        Unreachable: the file cannot be read.
    """
    return read_trust_file(name).split(b"\n", 1)[0].rstrip(b"\r")


def read_certificate_file(name: str) -> list[x509.Certificate]:
    """Read the certificates in a PEM file.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds no certificate, or an unreadable one.
    """
    try:
        return parse_pem_certificates(read_trust_file(name))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=name, hint=error.hint) from error


def read_log_keys(name: str) -> list[PublicKey]:
    """Read the public keys of a log from a file, in PEM or COSE, or from the log's folder.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds no key.
    """
    is_folder = os.path.isdir(name)  # noqa: PTH112 - the path as the user wrote it
    path = os.path.join(name, RECEIPT_KEYS_FILE) if is_folder else name  # noqa: PTH118 - the same
    try:
        return parse_public_keys(read_trust_file(path))
    except Unreachable as error:
        hint = "The folder is not that of a log." if is_folder else _LOG_KEYS_HINT
        exists = os.path.exists(path)  # noqa: PTH110 - the path as the user wrote it
        raise Unreachable(
            error.message, where=error.where, hint=error.hint if exists else hint
        ) from error
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=path, hint=_LOG_KEYS_HINT) from error


def read_trust_file(name: str) -> bytes:
    """Read a file that verification trusts, such as keys or certificates.

    Raises:
        Unreachable: it cannot be read.
    """
    try:
        return read_bytes(name, _MAX_KEY_FILE_SIZE)
    except UnreadableInput as error:
        raise Unreachable(error.message, where=name, hint=error.hint) from error
