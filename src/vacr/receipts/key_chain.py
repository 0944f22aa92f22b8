"""The keys that a log has had: each is announced by an entry that the key before signed. Step:
verify.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import InvalidStatement, UsageError
from vacr.receipts import description, notes
from vacr.receipts.description import Description
from vacr.receipts.notes import VerifierKey
from vacr.signing.algorithms import PublicKey


class KeyChain:
    """Follows the descriptions among the entries of a log, from the first or from any later
    one on.
    """

    def __init__(
        self,
        origin: str,
        current: VerifierKey | None,
        identity: str = "",
        receipt_key: PublicKey | None = None,
    ) -> None:
        """Start from what is known: the current key for checkpoints, and the key that announces the
        next.

        Without an identity it starts at the first entry. Without a current key that has to describe
        the log.
        """
        self.origin = origin
        self.current = self.previous = current
        self.identity = identity
        self.rotations = 0
        self.changed_at = -1
        self.description: Description | None = None
        if current is not None and receipt_key is not None:
            key = ed25519.Ed25519PublicKey.from_public_bytes(current.public)
            self.description = Description(origin, receipt_key, key, 0, log=identity)

    def read(self, index: int, entry: bytes) -> None:
        """Read an entry; they come in order.

        Raises:
            InvalidStatement: it is the first, and does not describe the log as it has to.
        """
        if index == 0:
            self._first(entry)
        elif self.description is not None:
            found = description.following(entry, self.description, self.identity)
            if found is not None:
                self.description = found
                self.previous, self.current = (
                    self.current,
                    notes.key_of(self.origin, found.checkpoint_key),
                )
                self.changed_at = index
                self.rotations += 1

    def _first(self, entry: bytes) -> None:
        self.identity = description.identity_of(entry)
        try:
            found = description.first(entry)
        except InvalidStatement:
            if self.current is None:
                raise
            return  # A log of another make, whose key was given: it cannot announce another.
        if found.origin != self.origin:
            told = f"the log describes itself as {found.origin}, and signs as {self.origin}"
            raise InvalidStatement(told, reason="log-origin")
        try:
            self.previous = self.current = notes.key_of(self.origin, found.checkpoint_key)
        except UsageError as error:
            raise InvalidStatement(
                f"the name of the log cannot be one: {error.message}", reason="log-origin"
            ) from error
        self.description = found

    def keys_at(self, size: int) -> tuple[VerifierKey, ...]:
        """Give the keys that may sign a checkpoint of so many entries; the last is the one for all
        larger ones.

        Where the last entry announces a key, the checkpoint may be by it or by the one before.
        """
        keys = (self.previous, self.current) if self.changed_at == size - 1 else (self.current,)
        return tuple(dict.fromkeys(key for key in keys if key is not None))
