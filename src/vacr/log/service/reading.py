"""Reading a log while it is written: connections of their own, in threads of their own. Step:
register.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from vacr.log.storage import Reading, Storage, StorageFailed

T = TypeVar("T")
_THREADS = 4
_log = logging.getLogger("vacr.log")


class Readers:
    """Some threads that read, each with a connection that is opened when it is needed, and again
    after it failed.
    """

    def __init__(self, open_storage: Callable[[], Storage]) -> None:
        """Read from a storage."""
        self.open_storage = open_storage
        self.pool = ThreadPoolExecutor(_THREADS, "reader")
        self.own = threading.local()
        self.opened: set[Storage] = set()
        self.failures = 0
        """How often something could not be read the first time."""

    async def read(self, work: Callable[[Reading], T]) -> T:
        """Do some reading in one of the threads.

        Raises:
            StorageFailed: it cannot be read.
        """
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.now, work)

    def now(self, work: Callable[[Reading], T]) -> T:
        """Do some reading in this thread.

        Raises:
            StorageFailed: it cannot be read.
        """
        try:
            return work(self._reader())
        except StorageFailed as error:
            self.failures += 1
            self._drop()  # a connection that was lost is lost: the next one may do
            found = work(self._reader())
            _log.warning(
                "the database could not be read and was opened again: %s", error.diagnostics()
            )
            return found

    def _reader(self) -> Reading:
        found: Storage | None = getattr(self.own, "reader", None)
        if found is None:
            found = self.own.reader = self.open_storage()
            self.opened.add(found)
        return found

    def _drop(self) -> None:
        found: Storage | None = getattr(self.own, "reader", None)
        if found is not None:
            self.own.reader = None
            self.opened.discard(found)
            found.close()

    def close(self) -> None:
        """End the threads, and close what they opened."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        while self.opened:
            self.opened.pop().close()
