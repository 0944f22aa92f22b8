"""The signing keys of a log, kept as files next to its database.

A log signs receipts with an ES256 key and checkpoints with an Ed25519 key. Which keys are current
is written in the log itself: its first entry describes the log, and each rotation appends a new
description that the previous key signs. The keyring reads the newest description and loads the
private keys that it names. Replaced keys stay available in public form, so that older receipts can
still be verified:

    >>> from contextlib import closing
    >>> from vacr.log import create_log, read_log_descriptions, rotate_log_keys
    >>> folder = create_log("mylog", origin="log.example.org/agents")
    >>> new_key = rotate_log_keys(folder)
    >>> with closing(folder.reader()) as reader:
    ...     [description.origin for description in read_log_descriptions(reader)]
    ['log.example.org/agents', 'log.example.org/agents']
    >>> (folder.path / "receipt-keys.pem").read_text().count("BEGIN PUBLIC KEY")
    2
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes, write_durable_file
from vacr.log.storage import LogDamaged, LogReader, StoredHead
from vacr.signing import (
    RECEIPT_KEYS_FILE,
    KeySigner,
    PrivateKey,
    PublicKey,
    Signer,
    check_secret_permissions,
    compute_thumbprint,
    encode_private_pem,
    encode_public_pem,
    generate_key,
    parse_private_key,
)
from vacr.transparency import (
    LogDescription,
    VerifierKey,
    build_verifier_key,
    compute_log_identity,
    parse_description,
    parse_first_description,
    parse_next_description,
)

KEYS_FOLDER_NAME = "keys"
_KEYS_FOLDER_MODE = 0o700
_KEY_FILE_MODE = 0o600


class Keyring:
    """The private keys of one log, loaded from its folder when they are needed."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder; keys are read later."""
        self.folder = folder
        self.next_signer: Signer | None = None
        """During a key rotation: the signer of the first head after it."""
        self.origin = ""
        """The log's name; empty until `load_identity`."""
        self.log_identity = ""
        """The digest of the log's first entry, as a URI; empty until `load_identity`."""

    def load_identity(self, reader: LogReader) -> None:
        """Set `origin` and `log_identity` from the log's first entry, unless they are set.

        Raises:
            LogDamaged: the first entry is missing.
            InvalidStatement: the first entry does not describe a log.
        """
        if not self.log_identity:
            entry = _read_log_entry(reader, 0)
            self.origin = parse_first_description(entry).origin
            self.log_identity = compute_log_identity(entry)

    def load_signer(self, reader: LogReader, head: StoredHead) -> Signer:
        """Return the signer with the receipt key that was current at a head.

        Raises:
            UsageError: the private key is not in the folder.
            UnreadableInput: the key file is malformed, or contains another key.
        """
        self.load_identity(reader)
        description = _read_description_at(reader, head)
        return KeySigner(self._load_private_key(description.receipt_key, "receipt"))

    def load_checkpoint_key(self, reader: LogReader, head: StoredHead) -> ed25519.Ed25519PrivateKey:
        """Return the private checkpoint key that was current at a head.

        Raises:
            UsageError: the private key is not in the folder.
            UnreadableInput: the key file is malformed, or contains another key.
        """
        description = _read_description_at(reader, head)
        key: ed25519.Ed25519PrivateKey = self._load_private_key(
            description.checkpoint_key, "checkpoint"
        )
        return key

    def _load_private_key(self, key: PublicKey, use: str) -> PrivateKey:
        """Load the private key of a public key; `use` names the key in error messages."""
        path = _build_key_path(self.folder, key)
        if not path.is_file():
            hint = (
                f"Copy {KEYS_FOLDER_NAME}/{path.name} here, from a backup or from another server "
                "of the same log."
            )
            raise UsageError(f"the log's {use} key is missing", where=str(self.folder), hint=hint)
        check_secret_permissions(str(path))
        private_key = parse_private_key(read_bytes(path))
        if compute_thumbprint(private_key.public_key()) != compute_thumbprint(key):
            raise UnreadableInput("the key does not match its file name", where=str(path))
        return private_key

    def sync_files(self, descriptions: Sequence[LogDescription]) -> None:
        """Write all public receipt keys to their file, and delete replaced private keys.

        `descriptions` are the log's descriptions of itself, oldest first. This also completes a
        rotation that was interrupted.

        Raises:
            UnreadableInput: the public keys cannot be written.
        """
        receipt_keys = [description.receipt_key for description in descriptions]
        write_receipt_keys(self.folder, receipt_keys)
        for replaced in descriptions[:-1]:
            for key in (replaced.receipt_key, replaced.checkpoint_key):
                with suppress(OSError):
                    _build_key_path(self.folder, key).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class LogKeyPair:
    """The two private keys of a log: ES256 for receipts, Ed25519 for checkpoints."""

    receipt: PrivateKey
    checkpoint: ed25519.Ed25519PrivateKey

    @classmethod
    def generate(cls) -> LogKeyPair:
        """Generate two new keys."""
        return cls(generate_key("es256"), generate_key("eddsa"))

    @classmethod
    def load(cls, folder: Path) -> LogKeyPair:
        """Load the keys of a log folder that has had no rotation yet.

        Raises:
            UnreadableInput: the folder does not contain exactly one key of each kind.
        """
        paths = sorted((folder / KEYS_FOLDER_NAME).glob("*.pem"))
        keys = [parse_private_key(read_bytes(path)) for path in paths]
        checkpoint_keys = [key for key in keys if isinstance(key, ed25519.Ed25519PrivateKey)]
        receipt_keys = [key for key in keys if not isinstance(key, ed25519.Ed25519PrivateKey)]
        if len(checkpoint_keys) != 1 or len(receipt_keys) != 1:
            raise UnreadableInput(
                "the folder must contain exactly two keys, one ES256 key and one Ed25519 key",
                where=str(folder / KEYS_FOLDER_NAME),
                hint="Name another folder: vacr log init creates the keys of a new log.",
            )
        return cls(receipt_keys[0], checkpoint_keys[0])

    def save(self, folder: Path) -> None:
        """Write both keys durably to `keys/` in a log folder, readable by the owner only."""
        (folder / KEYS_FOLDER_NAME).mkdir(mode=_KEYS_FOLDER_MODE, exist_ok=True)
        for key in (self.receipt, self.checkpoint):
            path = _build_key_path(folder, key.public_key())
            write_durable_file(path, encode_private_pem(key), mode=_KEY_FILE_MODE)

    def delete(self, folder: Path) -> None:
        """Delete both key files from a log folder; only for keys that no log uses."""
        for key in (self.receipt, self.checkpoint):
            _build_key_path(folder, key.public_key()).unlink(missing_ok=True)

    @property
    def signer(self) -> Signer:
        """The receipt signer."""
        return KeySigner(self.receipt)

    def describe_log(self, origin: str, created: int, log: str | None = None) -> LogDescription:
        """Return the description of a log that uses these keys.

        `created` is in seconds since 1970. `log` is the log's identity, or None for the log's
        first description.
        """
        return LogDescription(
            origin, self.receipt.public_key(), self.checkpoint.public_key(), created, log=log
        )


def write_receipt_keys(folder: Path, keys: Iterable[PublicKey]) -> None:
    """Write public receipt keys to `receipt-keys.pem`, unless it contains exactly these already.

    The keys are in the order of their use, the current one last.
    """
    path = folder / RECEIPT_KEYS_FILE
    data = b"".join(map(encode_public_pem, keys))
    with suppress(VacrError):
        if read_bytes(path) == data:
            return
    write_durable_file(path, data)


def read_log_descriptions(reader: LogReader) -> list[LogDescription]:
    """Return a log's descriptions of itself, oldest first, each signed by the key before.

    Raises:
        LogDamaged: an entry is missing, or is not the description that it should be.
        InvalidStatement: the first entry does not describe a log.
    """
    first_entry = _read_log_entry(reader, 0)
    log_identity = compute_log_identity(first_entry)
    descriptions = [parse_first_description(first_entry)]
    for position in _list_later_descriptions(reader):
        entry = _read_log_entry(reader, position)
        description = parse_next_description(entry, descriptions[-1], log_identity)
        if description is None:
            raise LogDamaged(
                f"entry {position} is not a description of the log, signed by the previous key"
            )
        descriptions.append(description)
    return descriptions


def read_checkpoint_keys(reader: LogReader, size: int) -> list[VerifierKey]:
    """Return the keys that may have signed a checkpoint over a log's first `size` entries.

    There are two for a tree that ends with the description of new keys. For a size beyond the log,
    it is the current key. Return an empty list for size 0.

    Raises:
        LogDamaged: a description is missing or invalid.
        InvalidStatement: the first entry does not describe a log.
    """
    descriptions = read_log_descriptions(reader)
    positions = [0, *_list_later_descriptions(reader)]
    first_sizes = [position + 1 for position in positions]
    last_sizes = [*first_sizes[1:], size]
    return [
        build_verifier_key(description.origin, description.checkpoint_key)
        for description, first, last in zip(descriptions, first_sizes, last_sizes, strict=True)
        if first <= size <= last
    ]


def _list_later_descriptions(reader: LogReader) -> list[int]:
    """Return the positions of all descriptions but the first, in ascending order."""
    positions = []
    head = reader.head()
    while head is not None and head.description:
        positions.append(head.description)
        # A tree of N entries ends just before position N, so its head names the description before.
        head = reader.head_until(head.description)
    return positions[::-1]


def _read_description_at(reader: LogReader, head: StoredHead) -> LogDescription:
    """Return the log's newest description of itself at a head."""
    return parse_description(_read_log_entry(reader, head.description), head.description)


def _read_log_entry(reader: LogReader, position: int) -> bytes:
    """Return the entry at a position; raise LogDamaged if it is missing."""
    entries = reader.entries(position, position + 1)
    if not entries:
        raise LogDamaged(f"entry {position} is missing")
    return entries[0]


def _build_key_path(folder: Path, key: PublicKey) -> Path:
    """Return the path of a private key, such as `keys/receipt-0123456789abcdef.pem`."""
    use = "checkpoint" if isinstance(key, ed25519.Ed25519PublicKey) else "receipt"
    name = f"{use}-{compute_thumbprint(key).hex()[:16]}.pem"
    return folder / KEYS_FOLDER_NAME / name
