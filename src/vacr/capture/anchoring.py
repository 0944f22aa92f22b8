"""Checkpoints are registered in a transparency service, beside the capture: it waits for no
network.

Only the last checkpoint is sent: it covers those before it. So what could not be sent while the
service was away needs no queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from vacr.capture.journal import Journal
from vacr.errors import Unreachable, VacrError
from vacr.log.client import Client
from vacr.receipts.transparent import with_receipt
from vacr.signing.algorithms import PublicKey

_LONGEST = 600.0


class Anchoring:
    """Has the last checkpoint registered, now and then."""

    def __init__(
        self,
        client: Client,
        log_keys: Sequence[PublicKey],
        every: float,
        tell: Callable[[str], None],
        pending: Callable[[], None] = lambda: None,
    ) -> None:
        """Say where, by which keys its receipts are verified, and after how many seconds the next
        one is sent.

        What else waits for the service is registered by `pending`, at first and whenever the
        service answers.
        """
        self._client, self._log_keys, self._every, self._tell, self._pending = (
            client,
            log_keys,
            every,
            tell,
            pending,
        )
        self._pool = ThreadPoolExecutor(1, "anchoring")
        self._pool.submit(pending)
        self._sent: tuple[int, Future[bytes]] | None = None
        self._next = 0.0
        self._wait = every
        self.problem = ""
        """Why the last one was not registered."""

    def step(self, journal: Journal) -> None:
        """Take what came back, and send what is due.

        Raises:
            NotWritten: what came back cannot be noted.
        """
        if self._sent is not None and self._sent[1].done():
            self._take(journal, *self._sent)
            self._sent = None
        last, anchors = journal.covered.last, journal.covered.anchors
        # The first checkpoint covers nothing yet; one that only deletes or rotates covers those
        # before it that wait.
        is_new = (
            last is not None
            and last.number > 0
            and (not anchors or anchors[-1].number < last.number)
        )
        if last is not None and is_new and self._sent is None and time.monotonic() >= self._next:
            self._next = time.monotonic() + self._wait
            self._sent = (last.number, self._pool.submit(self._register, journal.covered.statement))

    def finish(self, journal: Journal) -> None:
        """Wait for what was sent, and send the last one."""
        self._next = 0.0
        for _ in range(2):  # what is under way, then the last one
            self.step(journal)
            if self._sent is not None:
                self._sent[1].exception()
        self.step(journal)
        self._pool.shutdown()

    def _register(self, statement: bytes) -> bytes:
        found = self._client.register(statement, self._log_keys)
        self._pending()
        return with_receipt(statement, found.receipt, found.logged.key)

    def _take(self, journal: Journal, number: int, sent: Future[bytes]) -> None:
        try:
            journal.anchor(number, self._client.url, sent.result())
            self.problem, self._wait = "", self._every
        except VacrError as error:
            if not isinstance(error, Unreachable):
                self._tell(f"a checkpoint was not registered: {error}")
            elif not self.problem:
                self._tell(f"the log cannot be reached, and checkpoints wait: {error}")
            self.problem = str(error)
            self._wait = min(_LONGEST, self._wait * 2)
