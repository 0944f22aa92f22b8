"""The index of conversations for a server: up to date, without making each answer wait.

>>> import tempfile
>>> from pathlib import Path
>>> from vacr.app.fresh_index import FreshIndex
>>> folder = tempfile.TemporaryDirectory()
>>> index = FreshIndex(Path(folder.name), {"HOME": folder.name})
>>> index.start()
>>> with index.open() as connection:
...     connection.execute("SELECT count(*) FROM records").fetchone()
(0,)
>>> index.stop()
>>> folder.cleanup()
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from vacr.archive import LostIndex, SearchIndex
from vacr.errors import VacrError
from vacr.workflows import refresh_search_index

_REFRESH_SECONDS = 3.0
_FIRST_WAIT_SECONDS = 20.0
_INCOMPLETE = (
    " The index is still being built, so older conversations may be missing. Ask again later."
)


class FreshIndex:
    """The index, brought up to date at the start, and before an answer if it may be stale."""

    def __init__(
        self,
        state: Path,
        environment: Mapping[str, str],
        first_wait: float = _FIRST_WAIT_SECONDS,
    ) -> None:
        """Take vacr's state folder, and the environment that says where agents keep sessions.

        `first_wait` is how long an answer waits for the first refresh, in seconds. After that, it
        is given from the part of the index that is ready.
        """
        self.first_wait = first_wait
        self.state = state
        self.environment = environment
        self._first_is_done = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._due = 0.0
        self._thread = threading.Thread(target=self._run_first, daemon=True)

    @property
    def remark(self) -> str:
        """A sentence for a summary while the index is incomplete, or an empty text."""
        return "" if self._first_is_done.is_set() else _INCOMPLETE

    def start(self) -> None:
        """Begin the first refresh in the background."""
        self._thread.start()

    def stop(self) -> None:
        """End a refresh that is under way."""
        self._ended.set()
        self._thread.join()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that reads the index, after a refresh if the last is too long ago.

        Raises:
            UnreadableInput: the index cannot be used.
        """
        if self._first_is_done.wait(self.first_wait) and time.monotonic() >= self._due:
            self._refresh()
        with closing(SearchIndex.open(self.state)) as index:
            try:
                with index.reading():
                    yield index.connection
            except LostIndex:
                self._due = 0.0
                raise

    def _run_first(self) -> None:
        """Bring the index up to date for the first time; after an error, the next call retries."""
        try:
            self._refresh()
        except (VacrError, sqlite3.Error, OSError):
            pass
        finally:
            self._first_is_done.set()

    def _refresh(self) -> None:
        """Bring the index up to date, unless another thread does so.

        Raises:
            UnreadableInput: the index cannot be written.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            began = time.monotonic()
            with closing(SearchIndex.open(self.state)) as index:
                refresh_search_index(index, environment=self.environment, progress=self._check_end)
            now = time.monotonic()
            # A refresh of many sessions takes its time: answers must not wait for it every time.
            self._due = now + max(_REFRESH_SECONDS, 10 * (now - began))
        finally:
            self._lock.release()

    def _check_end(self, _done: int, _total: int) -> None:
        """End a refresh if the server ends.

        Raises:
            VacrError: the server ends.
        """
        if self._ended.is_set():
            raise VacrError("the server ends")
