"""Keys that last for an epoch: a checkpoint names the next one, and the old one is erased.

Whoever takes over the machine finds only the key of this epoch. So what was signed before cannot be
signed again with other content, for those who know the first key or hold a later checkpoint. It
does not keep anybody from signing from now on what never happened, nor from deleting; and what a
disk really erases is the disk's affair.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.log import durable
from vacr.recording.files import sync_folder
from vacr.signing import KeySigner, keys
from vacr.sources.files import read_bytes

_OWNER_ONLY = 0o600


class EpochKeys:
    """The key of this epoch, and the next one while it is being put in its place."""

    def __init__(self, folder: Path) -> None:
        """Say where they are."""
        self._path = folder / "epoch-key.pem"
        self._next = folder / "next-epoch-key.pem"
        self._is_named = False
        """Whether a checkpoint names the next key, which then is that of this epoch."""

    def begin(self) -> KeySigner:
        """Make the first key."""
        self._tidy()
        return self._made(self._path)

    def current(self, thumbprint: bytes) -> KeySigner:
        """Give the key of this epoch, which is known by its thumbprint.

        Raises:
            UnreadableInput: it is not there.
        """
        self._tidy()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                found = KeySigner(keys.load_private(read_bytes(path)))
                if keys.thumbprint(found.public_key) == thumbprint:
                    if path == self._next:
                        self.advance()
                    else:
                        self._next.unlink(missing_ok=True)
                    return found
        self._refuse_unreadable()
        hint = (
            "The journal can be verified, but not added to. Move its folder away to begin another."
        )
        raise UnreadableInput(
            "the key that the last checkpoint names is gone", where=str(self._path), hint=hint
        )

    def _refuse_unreadable(self) -> None:
        """Tell a key that is there and cannot be read from one that is gone: no other journal need
        be begun.
        """
        if not self._path.exists():
            return
        try:
            read_bytes(self._path)
        except UnreadableInput as error:
            hint = (
                "The journal cannot be added to without this key. Have its file readable, "
                "as it was."
            )
            raise UnreadableInput(
                f"the key of this epoch cannot be read: {error.message}",
                where=error.where,
                hint=hint,
            ) from None

    def known(self) -> set[bytes]:
        """Give the thumbprints of the keys that there are, as far as they can be read."""
        found = set()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                found.add(
                    keys.thumbprint(KeySigner(keys.load_private(read_bytes(path))).public_key)
                )
        return found

    def prepare(self) -> KeySigner:
        """Make the next key, which is not in use yet.

        Raises:
            OSError: the key before it is not in its place yet, and cannot be put there.
            UnreadableInput: it cannot be written.
        """
        if self._is_named:
            self.advance()
        return self._made(self._next)

    def advance(self) -> None:
        """Erase the key of the last epoch, and put the next one, which a checkpoint names, in its
        place.

        Raises:
            OSError: that failed; both keys are there, and it can be tried again.
        """
        self._is_named = True
        with suppress(FileNotFoundError):
            handle = os.open(self._path, os.O_WRONLY)
            try:
                os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
        self._next.replace(self._path)
        # What is at that path is the key of this epoch from now on, and must not be erased by
        # another try.
        self._is_named = False
        sync_folder(self._path.parent)

    def _tidy(self) -> None:
        """Remove keys that were being written when somebody was killed; nothing was ever signed
        with them.
        """
        for path in self._path.parent.glob(f".*{self._path.name}-*.tmp"):
            path.unlink(missing_ok=True)

    @staticmethod
    def _made(path: Path) -> KeySigner:
        private = keys.generate("eddsa")
        durable.write(path, keys.private_pem(private), _OWNER_ONLY)
        return KeySigner(private)
