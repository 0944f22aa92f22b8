"""Keys and certificates on this machine: files that only their owner can read, and devices that
keep keys.
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
"""The file in the folder of a log that holds the public keys of its receipts."""

_LOG_KEYS_HINT = (
    f"Give the {RECEIPT_KEYS_FILE} of the log, its folder, or a file with what its service "
    "has at /.well-known/scitt-keys."
)
_GROUP_AND_OTHER_BITS = stat.S_IRWXG | stat.S_IRWXO
_OWNER_ONLY_MODE = 0o600
_MAX_KEY_FILE_SIZE = 1 << 20


def write_key_pair(folder: Path, private: bytes, public: bytes) -> tuple[Path, Path]:
    """Write a new pair of keys; the private one so that nobody else can read it, at any moment.

    Raises:
        UsageError: there is a key already.
        UnreadableInput: the folder cannot be written to.
    """
    signing, verifying = folder / "signing.pem", folder / "signing.pub.pem"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _create_file(signing, private, _OWNER_ONLY_MODE)
        try:
            _create_file(verifying, public, 0o644)
        except OSError:
            signing.unlink(missing_ok=True)  # half a pair is of no use to anybody
            raise
    except FileExistsError as error:
        hint = "Keys are never replaced: give another folder with -o, or move it away."
        raise UsageError(f"{error.filename} is there already", hint=hint) from error
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(folder)) from error
    return signing, verifying


def _create_file(path: Path, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)


def load_signer(
    name: str, *, algorithm: str | None, passphrase: bytes | None, force: bool
) -> Signer:
    """Give what signs with a key: a file in PEM, or one that a device keeps, named by a URI (RFC
    7512).

    Raises:
        UsageError: others can read the file, and that is not forced; or the algorithm takes no such
            key.
        UnreadableInput: there is no key.
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
    if number is None and not any(one.fits(key.public_key()) for one in ALGORITHMS.values()):
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
    """Refuse a private key that others on this machine can read; `otherwise` is what else there is
    to do about it.

    Raises:
        UsageError: they can.
    """
    if sys.platform == "win32":
        return
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 - a path that a user gave
    except (OSError, ValueError):
        return  # reading it tells why
    if stat.S_ISREG(mode) and mode & _GROUP_AND_OTHER_BITS:
        raise UsageError(
            f"{name} can be read by others", hint=f"chmod 600 {shlex.quote(name)}{otherwise}."
        )


def read_passphrase(name: str) -> bytes:
    """Read a passphrase: the first line of a file.

    Raises:
        Unreachable: it cannot be read.
    """
    return read_trust_file(name).split(b"\n", 1)[0].rstrip(b"\r")


def read_certificate_file(name: str) -> list[x509.Certificate]:
    """Read the certificates in a file.

    Raises:
        Unreachable: it cannot be read.
        UnreadableInput: there are none in it, or one of them cannot be read.
    """
    try:
        return parse_pem_certificates(read_trust_file(name))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=name, hint=error.hint) from error


def read_log_keys(name: str) -> list[PublicKey]:
    """Read the public keys of a log: in PEM, or as COSE keys; of the folder of a log, those that it
    keeps there.

    Raises:
        Unreachable: they cannot be read.
        UnreadableInput: there are none.
    """
    folder = os.path.isdir(name)  # noqa: PTH112 - a path that a user gave
    path = os.path.join(name, RECEIPT_KEYS_FILE) if folder else name  # noqa: PTH118
    try:
        return parse_public_keys(read_trust_file(path))
    except Unreachable as error:
        hint = "The folder is not that of a log." if folder else _LOG_KEYS_HINT
        there = os.path.exists(path)  # noqa: PTH110
        raise Unreachable(
            error.message, where=error.where, hint=error.hint if there else hint
        ) from error
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=path, hint=_LOG_KEYS_HINT) from error


def read_trust_file(name: str) -> bytes:
    """Read a file that trust rests on.

    Raises:
        Unreachable: it cannot be read.
    """
    try:
        return read_bytes(name, _MAX_KEY_FILE_SIZE)
    except UnreadableInput as error:
        raise Unreachable(error.message, where=name, hint=error.hint) from error
