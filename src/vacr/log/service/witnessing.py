"""Asking witnesses to cosign what was published. Step: register. Follows C2SP tlog-witness, as a
client.

Each witness has a thread of its own: one that never answers holds back neither the log nor the
others. Whoever has not cosigned the last checkpoint is asked again, after pauses that grow, until
they have or there is a newer one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from vacr.errors import VacrError
from vacr.log.cosigning import AtAnotherSize, checked, cosign
from vacr.log.ledger import Tiles
from vacr.log.service.reading import Readers
from vacr.receipts import tree
from vacr.receipts.notes import VerifierKey
from vacr.receipts.tiles import node_in

FIRST_PAUSE = 2.0
"""How many seconds to wait before a witness is asked for the same checkpoint again; the next time
twice as long.
"""
_LONGEST_PAUSE = 300.0
_log = logging.getLogger("vacr.log")


@dataclass(frozen=True, slots=True)
class Witness:
    """Somebody who cosigns checkpoints."""

    url: str
    key: VerifierKey


class Asking:
    """One witness, who is asked until they have cosigned the last checkpoint."""

    def __init__(
        self,
        witness: Witness,
        readers: Readers,
        cosigned: Callable[[], None],
        *,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        """Take a witness, and what to call when they have cosigned."""
        self.witness = witness
        self.readers = readers
        self.cosigned = cosigned
        self.first_pause = first_pause
        self.wanted = (b"", 0)
        """The checkpoint to be cosigned, as the log has signed it, and its size."""
        self.given = (b"", b"")
        """The last one that was, with the lines of the witness."""
        self.seen = 0
        self.failure: VacrError | None = None
        self.due = threading.Event()
        self.stopping = False
        self.thread = threading.Thread(
            target=self._run, name=f"witness {witness.key.name}", daemon=True
        )

    def start(self) -> None:
        """Begin to ask."""
        self.thread.start()

    def close(self) -> None:
        """Ask no more; nobody waits for an answer that may never come."""
        self.stopping = True
        self.due.set()

    def ask(self, note: bytes, size: int) -> None:
        """Have a checkpoint cosigned, in the place of an older one."""
        if note != self.wanted[0]:
            self.wanted = (note, size)
            self.due.set()

    def remember(self, note: bytes, published: bytes) -> None:
        """Take over what the witness has cosigned, if a checkpoint was published with it before
        this process began.
        """
        if published.startswith(note):
            with suppress(VacrError):
                self.given = (note, checked(note, published.removeprefix(note), self.witness.key))

    def lines(self, note: bytes) -> bytes:
        """Give the lines of the witness for a checkpoint; nothing as long as there are none."""
        signed, found = self.given
        return found if signed == note else b""

    @property
    def missing(self) -> bool:
        """Whether the last checkpoint is not cosigned."""
        return self.given[0] != self.wanted[0]

    def _run(self) -> None:
        pause = self.first_pause
        while not self.stopping:
            anew = self.due.wait(pause if self.missing else None)
            self.due.clear()
            pause = self.first_pause if anew else min(2 * pause, _LONGEST_PAUSE)
            if self.missing and not self.stopping:
                self._try()

    def _try(self) -> None:
        note, size = self.wanted
        try:
            lines = self._cosign(note, size)
        except VacrError as error:
            self._failed(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next time it may be better
            self._failed(VacrError(f"{type(error).__name__}: {error}"))
        else:
            if self.failure is not None:
                _log.warning("cosigned again by %s", self.witness.key.name)
            self.failure = None
            self.given = (note, lines)
            self.cosigned()

    def _failed(self, error: VacrError) -> None:
        if not self.stopping and (self.failure is None or str(self.failure) != str(error)):
            _log.warning("not cosigned by %s: %s", self.witness.key.name, error)
        self.failure = error

    def _cosign(self, note: bytes, size: int) -> bytes:
        try:
            lines = self._from(self.seen, note, size)
        except AtAnotherSize as other:
            if other.size > size:
                raise
            lines = self._from(other.size, note, size)
        self.seen = size
        return lines

    def _from(self, old: int, note: bytes, size: int) -> bytes:
        proof = self.readers.now(
            lambda reading: tree.consistency_path(node_in(Tiles(reading)), old, size)
        )
        return cosign(note, old, proof, self.witness.url, self.witness.key)
