"""The one place where entries get their order: a thread that takes what is waiting, a batch at a
time. Step: register.

What waits is bounded: who comes when it is full is told so at once. An error of the storage ends
the batch; the storage is opened again and the batch is tried once more, which adds nothing twice,
since entries are known by their hashes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from vacr.errors import Unreachable, VacrError
from vacr.log.ledger import MOST, Ledger, Placed
from vacr.log.storage import StorageFailed

T = TypeVar("T")
Results = list[tuple[T, Placed | VacrError]]

WAITING = 4096
"""How many entries may wait."""
_PAUSE = 0.25
_PROBE = 1.0
"""After so many seconds a log that failed is tried again, though nothing waits."""
_log = logging.getLogger("vacr.log")


class Busy(Unreachable):
    """More is waiting than may wait, or the log is going down."""


class Sequencer(Generic[T]):
    """Adds entries to a log in the order they come; each comes with a ticket, by which its result
    is delivered.
    """

    def __init__(
        self,
        ledger: Ledger,
        deliver: Callable[[Results[T]], None],
        *,
        waiting: int = WAITING,
        linger: float = 0.0,
    ) -> None:
        """Take over a ledger; `deliver` is called from the sequencer's thread. A batch is gathered
        for `linger` seconds.
        """
        self.ledger = ledger
        self.deliver = deliver
        self.waiting = waiting
        self.linger = linger
        self.queue: deque[tuple[bytes, T]] = deque()
        self.changed = threading.Condition()
        self.stopping = False
        self.failure: VacrError | None = None
        """What kept the last batch from being added; none when all is well."""
        self.batches = 0
        self.storage_failures = 0
        """How often the storage failed and was opened again: a disk that does so once may do so
        again.
        """
        self.thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self.thread.start()

    def submit(self, entry: bytes, ticket: T) -> None:
        """Have an entry added.

        Raises:
            Busy: too many are waiting.
        """
        with self.changed:
            if self.stopping or len(self.queue) >= self.waiting:
                raise Busy(
                    str(self.failure or "the log is going down")
                    if self.stopping
                    else "too many entries are waiting"
                )
            self.queue.append((entry, ticket))
            if len(self.queue) == 1:
                self.changed.notify()

    def close(self) -> None:
        """Add what is still waiting, and end."""
        with self.changed:
            self.stopping = True
            self.changed.notify()
        self.thread.join()
        self.ledger.close()

    def _run(self) -> None:
        try:
            while (batch := self._next()) or not self.stopping:
                # What failed is tried also without entries: whoever asks how the log is may send
                # none before all is well.
                results = self._append([entry for entry, _ in batch])
                if batch:
                    self.deliver(
                        [
                            (ticket, result)
                            for (_, ticket), result in zip(batch, results, strict=True)
                        ]
                    )
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits and whoever comes has to be told
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Refuse what waits and what comes: nothing adds entries any more."""
        failure = Unreachable(
            f"the log takes no more entries until it is started again: {type(error).__name__}: "
            f"{error}"
        )
        with self.changed:
            self.stopping, self.failure = True, failure
            left = [ticket for _, ticket in self.queue]
            self.queue.clear()
        with suppress(Exception):
            self.deliver([(ticket, failure) for ticket in left])

    def _next(self) -> list[tuple[bytes, T]]:
        """Give what waits; nothing, when it is time to end or to try again."""
        with self.changed:
            self.changed.wait_for(
                lambda: self.queue or self.stopping, _PROBE if self.failure else None
            )
        if self.linger and not self.stopping and len(self.queue) < MOST:
            time.sleep(self.linger)
        with self.changed:
            return [self.queue.popleft() for _ in range(min(MOST, len(self.queue)))]

    def _append(self, entries: Sequence[bytes]) -> Sequence[Placed | VacrError]:
        try:
            try:
                placed = self.ledger.append(entries)
            except StorageFailed as error:
                self.storage_failures += 1
                time.sleep(_PAUSE)
                placed = self.ledger.append(entries)
                _log.warning(
                    "the database failed and was opened again, nothing is lost: %s",
                    error.diagnostics(),
                )
        except VacrError as error:
            return [self._failed(error)] * len(entries)
        except Exception as error:  # noqa: BLE001 - whoever waits has to be told, whatever it is
            return [
                self._failed(Unreachable(f"a bug in vacr: {type(error).__name__}: {error}"))
            ] * len(entries)
        if self.failure is not None:
            _log.warning("entries are taken again")
        self.failure = None
        self.batches += bool(entries)
        return placed

    def _failed(self, error: VacrError) -> VacrError:
        if self.failure is None or str(self.failure) != str(error):
            _log.warning("no entries are taken: %s", error.diagnostics())
        self.failure = error
        return error
