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
from vacr.log import durable
from vacr.log.storage import Damaged, Reading, StoredHead
from vacr.receipts.description import Description, described, first, following, identity_of
from vacr.signing import KeySigner, keys
from vacr.signing.algorithms import PrivateKey, PublicKey
from vacr.signing.signers import Signer
from vacr.sources.files import read_bytes
from vacr.sources.key_files import RECEIPT_KEYS, refuse_shared

_FOLDER = "keys"
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class NewKeys:
    """A pair of keys for a log: ES256 for receipts, Ed25519 for checkpoints."""

    receipt: PrivateKey
    checkpoint: ed25519.Ed25519PrivateKey

    @classmethod
    def make(cls) -> NewKeys:
        """Make a pair."""
        return cls(keys.generate("es256"), keys.generate("eddsa"))

    @property
    def signer(self) -> Signer:
        """What signs receipts."""
        return KeySigner(self.receipt)

    def description(self, origin: str, created: int, log: str | None = None) -> Description:
        """Describe a log that has these keys."""
        return Description(
            origin, self.receipt.public_key(), self.checkpoint.public_key(), created, log=log
        )

    @classmethod
    def read(cls, folder: Path) -> NewKeys:
        """Find the pair in a folder where it was written, and nothing else.

        Raises:
            UnreadableInput: it is not there.
        """
        found = [
            keys.load_private(read_bytes(path)) for path in sorted((folder / _FOLDER).glob("*.pem"))
        ]
        pair = sorted(found, key=lambda key: not isinstance(key, ed25519.Ed25519PrivateKey))
        if len(pair) != len(("receipt", "checkpoint")) or isinstance(
            pair[1], ed25519.Ed25519PrivateKey
        ):
            raise UnreadableInput("not the two keys of a new log", where=str(folder / _FOLDER))
        checkpoint, receipt = pair
        return cls(receipt, checkpoint)

    def write(self, folder: Path) -> None:
        """Write them so that nobody else can read them, and so that they outlast a loss
        of power.
        """
        place = folder / _FOLDER
        place.mkdir(mode=0o700, exist_ok=True)
        for key in (self.receipt, self.checkpoint):
            durable.write(place / _name(key.public_key()), keys.private_pem(key), mode=_OWNER_ONLY)

    def discard(self, folder: Path) -> None:
        """Remove them: no log has come to name them."""
        for key in (self.receipt, self.checkpoint):
            (folder / _FOLDER / _name(key.public_key())).unlink(missing_ok=True)


class Keyring:
    """The keys of a log, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Look into a folder when a key is asked for."""
        self.folder = folder
        self.next_signer: Signer | None = None
        self.origin = self.log = ""

    def learn(self, reading: Reading) -> None:
        """Learn which log it is from its first entry.

        Raises:
            Damaged: it does not describe a log.
        """
        if not self.log:
            entry = _entry(reading, 0)
            self.origin, self.log = first(entry).origin, identity_of(entry)

    def signer(self, reading: Reading, head: StoredHead) -> Signer:
        """Give what signs receipts.

        Raises:
            UsageError: the key is not here.
        """
        self.learn(reading)
        return KeySigner(self._private(self._description(reading, head).receipt_key, "receipt"))

    def checkpoint_key(self, reading: Reading, head: StoredHead) -> ed25519.Ed25519PrivateKey:
        """Give the key that signs checkpoints.

        Raises:
            UsageError: the key is not here.
        """
        key: ed25519.Ed25519PrivateKey = self._private(
            self._description(reading, head).checkpoint_key, "checkpoint"
        )
        return key

    def _description(self, reading: Reading, head: StoredHead) -> Description:
        return described(_entry(reading, head.description))

    def _private(self, key: PublicKey, use: str) -> PrivateKey:
        path = self.folder / _FOLDER / _name(key)
        if not path.is_file():
            hint = f"Copy {_FOLDER}/{path.name} from the folder of the log, or name that folder."
            raise UsageError(
                f"the {use} key of the log is not here", where=str(self.folder), hint=hint
            )
        refuse_shared(str(path))
        found = keys.load_private(read_bytes(path))
        if keys.thumbprint(found.public_key()) != keys.thumbprint(key):
            raise UnreadableInput("another key than its name says", where=str(path))
        return found

    def settle(self, said: Sequence[Description]) -> None:
        """Bring the files in line with what the log says of itself, also where a change of keys was
        interrupted.

        The keys that verify receipts are written for others to have; what remains of keys that were
        replaced is removed.

        Raises:
            UnreadableInput: they cannot be written.
        """
        write_public(self.folder, [one.receipt_key for one in said])
        for key in (key for one in said[:-1] for key in (one.receipt_key, one.checkpoint_key)):
            with suppress(OSError):
                (self.folder / _FOLDER / _name(key)).unlink(missing_ok=True)


def write_public(folder: Path, found: Iterable[PublicKey]) -> None:
    """Write the keys that verify receipts, the present one last, unless they are there."""
    path, data = folder / RECEIPT_KEYS, b"".join(map(keys.public_pem, found))
    with suppress(VacrError):
        if read_bytes(path) == data:
            return
    durable.write(path, data)


def descriptions(reading: Reading) -> list[Description]:
    """Give all that a log said of itself, from the first on, each signed by the key before.

    Raises:
        Damaged: one of them is not.
    """
    entry = _entry(reading, 0)
    found, log = [first(entry)], identity_of(entry)
    positions = []
    head = reading.head()
    while head is not None and head.description:
        positions.append(head.description)
        head = reading.head_until(head.description)
    for position in reversed(positions):
        after = following(_entry(reading, position), found[-1], log)
        if after is None:
            raise Damaged(f"entry {position} is no description that the key before has signed")
        found.append(after)
    return found


def _name(key: PublicKey) -> str:
    kind = "checkpoint" if isinstance(key, ed25519.Ed25519PublicKey) else "receipt"
    return f"{kind}-{keys.thumbprint(key).hex()[:16]}.pem"


def _entry(reading: Reading, position: int) -> bytes:
    found = reading.entries(position, position + 1)
    if not found:
        raise Damaged(f"entry {position} is missing")
    return found[0]
