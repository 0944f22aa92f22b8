"""The keys of a log: files that only its owner can read, found by what the log says of itself.
Step: register.

The last description in the log names the key that signs receipts and the one that signs
checkpoints. Keys that were replaced are kept in public form, for those who verify older receipts.
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
    check_key_permissions,
    compute_thumbprint,
    encode_private_pem,
    encode_public_pem,
    generate_key,
    parse_private_key,
)
from vacr.transparency import (
    LogDescription,
    compute_log_identity,
    parse_description,
    parse_first_description,
    parse_next_description,
)

_KEYS_FOLDER_NAME = "keys"
_KEY_FILE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class LogKeyPair:
    """A pair of keys for a log: ES256 for receipts, Ed25519 for checkpoints."""

    receipt: PrivateKey
    checkpoint: ed25519.Ed25519PrivateKey

    @classmethod
    def make(cls) -> LogKeyPair:
        """Make a pair."""
        return cls(generate_key("es256"), generate_key("eddsa"))

    @property
    def signer(self) -> Signer:
        """What signs receipts."""
        return KeySigner(self.receipt)

    def description(self, origin: str, created: int, log: str | None = None) -> LogDescription:
        """Describe a log that has these keys."""
        return LogDescription(
            origin, self.receipt.public_key(), self.checkpoint.public_key(), created, log=log
        )

    @classmethod
    def read(cls, folder: Path) -> LogKeyPair:
        """Find the pair in a folder where it was written, and nothing else.

        Raises:
            UnreadableInput: it is not there.
        """
        found = [
            parse_private_key(read_bytes(path))
            for path in sorted((folder / _KEYS_FOLDER_NAME).glob("*.pem"))
        ]
        pair = sorted(found, key=lambda key: not isinstance(key, ed25519.Ed25519PrivateKey))
        if len(pair) != len(("receipt", "checkpoint")) or isinstance(
            pair[1], ed25519.Ed25519PrivateKey
        ):
            raise UnreadableInput(
                "not the two keys of a new log", where=str(folder / _KEYS_FOLDER_NAME)
            )
        checkpoint, receipt = pair
        return cls(receipt, checkpoint)

    def write(self, folder: Path) -> None:
        """Write them so that nobody else can read them, and so that they outlast a loss
        of power.
        """
        place = folder / _KEYS_FOLDER_NAME
        place.mkdir(mode=0o700, exist_ok=True)
        for key in (self.receipt, self.checkpoint):
            write_durable_file(
                place / _format_key_file_name(key.public_key()),
                encode_private_pem(key),
                mode=_KEY_FILE_MODE,
            )

    def discard(self, folder: Path) -> None:
        """Remove them: no log has come to name them."""
        for key in (self.receipt, self.checkpoint):
            (folder / _KEYS_FOLDER_NAME / _format_key_file_name(key.public_key())).unlink(
                missing_ok=True
            )


class Keyring:
    """The keys of a log, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Look into a folder when a key is asked for."""
        self.folder = folder
        self.next_signer: Signer | None = None
        self.origin = self.log = ""

    def learn(self, reading: LogReader) -> None:
        """Learn which log it is from its first entry.

        Raises:
            Damaged: it does not describe a log.
        """
        if not self.log:
            entry = _read_log_entry(reading, 0)
            self.origin, self.log = (
                parse_first_description(entry).origin,
                compute_log_identity(entry),
            )

    def signer(self, reading: LogReader, head: StoredHead) -> Signer:
        """Give what signs receipts.

        Raises:
            UsageError: the key is not here.
        """
        self.learn(reading)
        return KeySigner(self._private(self._description(reading, head).receipt_key, "receipt"))

    def checkpoint_key(self, reading: LogReader, head: StoredHead) -> ed25519.Ed25519PrivateKey:
        """Give the key that signs checkpoints.

        Raises:
            UsageError: the key is not here.
        """
        key: ed25519.Ed25519PrivateKey = self._private(
            self._description(reading, head).checkpoint_key, "checkpoint"
        )
        return key

    def _description(self, reading: LogReader, head: StoredHead) -> LogDescription:
        return parse_description(_read_log_entry(reading, head.description))

    def _private(self, key: PublicKey, use: str) -> PrivateKey:
        path = self.folder / _KEYS_FOLDER_NAME / _format_key_file_name(key)
        if not path.is_file():
            hint = f"Copy {_KEYS_FOLDER_NAME}/{path.name} from the folder of the log, or name that folder."
            raise UsageError(
                f"the {use} key of the log is not here", where=str(self.folder), hint=hint
            )
        check_key_permissions(str(path))
        found = parse_private_key(read_bytes(path))
        if compute_thumbprint(found.public_key()) != compute_thumbprint(key):
            raise UnreadableInput("another key than its name says", where=str(path))
        return found

    def settle(self, said: Sequence[LogDescription]) -> None:
        """Bring the files in line with what the log says of itself, also where a change of keys was
        interrupted.

        The keys that verify receipts are written for others to have; what remains of keys that were
        replaced is removed.

        Raises:
            UnreadableInput: they cannot be written.
        """
        write_receipt_keys(self.folder, [one.receipt_key for one in said])
        for key in (key for one in said[:-1] for key in (one.receipt_key, one.checkpoint_key)):
            with suppress(OSError):
                (self.folder / _KEYS_FOLDER_NAME / _format_key_file_name(key)).unlink(
                    missing_ok=True
                )


def write_receipt_keys(folder: Path, found: Iterable[PublicKey]) -> None:
    """Write the keys that verify receipts, the present one last, unless they are there."""
    path, data = folder / RECEIPT_KEYS_FILE, b"".join(map(encode_public_pem, found))
    with suppress(VacrError):
        if read_bytes(path) == data:
            return
    write_durable_file(path, data)


def read_log_descriptions(reading: LogReader) -> list[LogDescription]:
    """Give all that a log said of itself, from the first on, each signed by the key before.

    Raises:
        Damaged: one of them is not.
    """
    entry = _read_log_entry(reading, 0)
    found, log = [parse_first_description(entry)], compute_log_identity(entry)
    positions = []
    head = reading.head()
    while head is not None and head.description:
        positions.append(head.description)
        head = reading.head_until(head.description)
    for position in reversed(positions):
        after = parse_next_description(_read_log_entry(reading, position), found[-1], log)
        if after is None:
            raise LogDamaged(f"entry {position} is no description that the key before has signed")
        found.append(after)
    return found


def _format_key_file_name(key: PublicKey) -> str:
    kind = "checkpoint" if isinstance(key, ed25519.Ed25519PublicKey) else "receipt"
    return f"{kind}-{compute_thumbprint(key).hex()[:16]}.pem"


def _read_log_entry(reading: LogReader, position: int) -> bytes:
    found = reading.entries(position, position + 1)
    if not found:
        raise LogDamaged(f"entry {position} is missing")
    return found[0]
