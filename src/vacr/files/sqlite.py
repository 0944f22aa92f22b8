"""SQLite files, opened so that nothing of them or beside them is changed.

Read-only is not enough: SQLite leaves files behind, and marks in those that are there. Where a
crash left something to repair, a copy is what is opened.

SQLite files at one moment, read while somebody may be writing, and never changed.

A file is opened read-only, and in a way that leaves no file beside it and no mark in those that are
there. Where that cannot be (a crash left something to repair), a copy is opened instead. What is
read is read within one transaction, or with proof that nothing was written meanwhile, so that it is
whole.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

from vacr.agents import DatabaseQuery
from vacr.errors import UnreadableInput, VacrError
from vacr.files.reading import describe_file_error, read_bytes
from vacr.model import JsonObject

if sys.platform != "win32":
    import fcntl

DatabaseState = tuple[tuple[int, int, int], ...]
"""The size, the time of the last change and the number of a database's file, its log and its
journal.
"""

LOCKED_MESSAGE = "locked by another program"
RETRY_HINT = "Try again when the agent has finished writing."
CHANGING_MESSAGE = "it changes all the time"
MAX_READ_ATTEMPTS = 5
CLOCK_TICK_NANOSECONDS = 20_000_000
"""How long two changes may be apart, in nanoseconds, that the file system's clock does not tell
apart.
"""
_LOCK_TIMEOUT_SECONDS = 10.0
_LOCK_RETRY_SECONDS = 0.005
# Where SQLite's readers lock, and how many bytes of it.
_READER_LOCK_RANGE = (510, 0x40000002)
_COPY_NAME = "copy.db"
# The byte that tells readers to look for a log; the one before it is for writers.
_READ_VERSION_BYTE = slice(19, 20)
_WAL_READ_VERSION = b"\x02"


def read_database_state(path: Path) -> DatabaseState:
    """Tell by what a change of a database is seen.

    Raises:
        UnreadableInput: what should be its log or journal is no file; opening it might never end.
    """
    found = []
    for suffix in ("", "-wal", "-journal"):
        try:
            status = os.stat(f"{os.path.realpath(path)}{suffix}")  # noqa: PTH116 - SQLite follows links so, too
        except FileNotFoundError:
            found.append((0, 0, 0))
            continue
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableInput(f"{path.name}{suffix} is not a file", where=str(path))
        found.append((status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(found)


def _get_wal_size(state: DatabaseState) -> int:
    """Tell how large the log of a database is."""
    return state[1][0]


def compute_change_age(state: DatabaseState) -> int:
    """Tell how long ago the last change was; one that is yet to come was long ago."""
    since = time.time_ns() - max(modified for _, modified, _ in state)
    return since if since >= 0 else CLOCK_TICK_NANOSECONDS


def _wait_until_settled(path: Path) -> DatabaseState:
    """Give the state of a database once a further change would be seen: two in one tick of the file
    system's clock are not.
    """
    state = read_database_state(path)
    since = compute_change_age(state)
    if since < CLOCK_TICK_NANOSECONDS:
        time.sleep((CLOCK_TICK_NANOSECONDS - since) / 1e9)
        state = read_database_state(path)
    return state


def open_database_untouched(
    path: Path, opened: ExitStack
) -> tuple[sqlite3.Connection, DatabaseState | None]:
    """Open a database so that nothing of it or beside it is changed."""
    address = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode=ro"
    if read_bytes(path, _READ_VERSION_BYTE.stop)[_READ_VERSION_BYTE] == _WAL_READ_VERSION:
        held = _lock_for_reading(path, opened)
        state = read_database_state(path)
        if not _get_wal_size(state):
            state = _wait_until_settled(path)
        if not _get_wal_size(state):
            # With nothing in the log, opening the database as usual would leave two files behind.
            # What is added from now on is for the next reading, as long as it stays in the log.
            connection = _prepare_connection(
                sqlite3.connect(f"{address}&immutable=1", uri=True), opened
            )
            return connection, state[:1] if held else state
    # The index of the log is shared with the agent, and other readers write their marks into it:
    # not this one.
    return _prepare_connection(
        sqlite3.connect(f"{address}&readonly_shm=1", uri=True, timeout=_LOCK_TIMEOUT_SECONDS),
        opened,
    ), None


def _lock_for_reading(path: Path, opened: ExitStack) -> bool:
    """Take the lock that SQLite's readers have, if there are locks: while they do, whoever goes
    leaves the log as it is.

    Raises:
        UnreadableInput: somebody keeps everybody else out.
    """
    if sys.platform == "win32":
        return False
    descriptor = os.open(os.path.realpath(path), os.O_RDONLY)
    opened.callback(os.close, descriptor)
    end = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, *_READER_LOCK_RANGE)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                return False
            if time.monotonic() >= end:
                raise UnreadableInput(LOCKED_MESSAGE, where=str(path), hint=RETRY_HINT) from error
            time.sleep(_LOCK_RETRY_SECONDS)
        else:
            return True


def _prepare_connection(connection: sqlite3.Connection, opened: ExitStack) -> sqlite3.Connection:
    """Make sure that a database can be read and is not written."""
    opened.callback(connection.close)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    return connection


def open_database_copy(
    folder: tempfile.TemporaryDirectory[str], opened: ExitStack
) -> sqlite3.Connection:
    """Open a copy; what a crash left is repaired there."""
    return _prepare_connection(sqlite3.connect(Path(folder.name) / _COPY_NAME), opened)


def copy_database(path: Path) -> tuple[tempfile.TemporaryDirectory[str], DatabaseState]:
    """Take a copy with all that a crash left beside, to be repaired there; tell of which state.

    Raises:
        UnreadableInput: it cannot be copied, or it is being changed.
    """
    for _ in range(MAX_READ_ATTEMPTS):
        folder = tempfile.TemporaryDirectory(prefix="vacr-")
        try:
            state = _wait_until_settled(path)
            for suffix in ("", "-wal", "-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(
                        f"{os.path.realpath(path)}{suffix}",
                        Path(folder.name) / f"{_COPY_NAME}{suffix}",
                    )
            if state == read_database_state(path):
                return folder, state
        except OSError as error:
            folder.cleanup()
            raise UnreadableInput(describe_file_error(error), where=str(path)) from error
        folder.cleanup()
    raise UnreadableInput(CHANGING_MESSAGE, where=str(path), hint=RETRY_HINT)


def is_locked_error(error: sqlite3.OperationalError) -> bool:
    """Tell whether somebody keeps others from reading."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


T = TypeVar("T")


class SqliteSnapshots:
    """A SQLite file, of which one moment after the other can be read."""

    def __init__(self, path: Path) -> None:
        """Start with nothing known about it."""
        self.path = path
        self._state: DatabaseState | None = None
        self._learnt: dict[Any, Any] = {}
        self._copies: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Forget what was learnt, and remove the copy if there is one."""
        self._learnt = {}
        if self._copies is not None:
            self._copies.cleanup()
            self._copies = None

    def is_unchanged(self) -> bool:
        """Tell whether the file is as it was when it was last read."""
        try:
            return self._state == read_database_state(self.path)
        except (OSError, UnreadableInput):
            return False

    def read(self, work: Callable[[DatabaseQuery], T]) -> T:
        """Do something with the database as it is at one moment.

        Raises:
            UnreadableInput: the database cannot be read, or is none that the work can be done with.
        """
        try:
            for _ in range(MAX_READ_ATTEMPTS):
                with ExitStack() as opened:
                    result, failed, changed = self._tried(work, opened)
                if not changed:
                    if failed is not None:
                        raise failed  # noqa: TRY301 - what is wrong is said below
                    return cast("T", result)
                # It was written to meanwhile, and so what was read is of no one moment.
        except VacrError:
            raise
        except OSError as error:
            raise UnreadableInput(describe_file_error(error), where=str(self.path)) from error
        except Exception as error:
            # Whatever a database makes of our questions is about that database alone.
            raise _make_database_error(error, self.path) from error
        raise UnreadableInput(CHANGING_MESSAGE, where=str(self.path), hint=RETRY_HINT)

    def _tried(
        self, work: Callable[[DatabaseQuery], T], opened: ExitStack
    ) -> tuple[T | None, Exception | None, bool]:
        """Do something with the database; give what came of it, what went wrong, and whether it is
        not to be believed.
        """
        self._look()
        connection, still = self._connect(opened)
        connection.text_factory = bytes
        asked = _TransactionQuery(connection, self._learnt)
        result = failed = None
        try:
            connection.execute("BEGIN")
            result = work(asked)
        except Exception as error:  # noqa: BLE001 - it is raised if the database is still the same
            failed = error
        return result, failed, self._has_changed(still, used_before=asked.used_before)

    def _look(self) -> None:
        """Let go of what is known about an earlier state."""
        state = read_database_state(self.path)
        if state != self._state:
            self.close()
            self._state = state

    def _has_changed(self, still: DatabaseState | None, *, used_before: bool) -> bool:
        """Tell whether what was read is not to be believed; forget what was learnt if the next
        reading must not rely on it.
        """
        state = read_database_state(self.path)
        changed = (still is not None and still != state[: len(still)]) or (
            used_before and state != self._state
        )
        if state != self._state or compute_change_age(state) < CLOCK_TICK_NANOSECONDS:
            self._learnt = {}
        return changed

    def _connect(self, opened: ExitStack) -> tuple[sqlite3.Connection, DatabaseState | None]:
        """Open the database, or else a copy of it; tell which state it must still have at the end,
        if that is a condition.
        """
        if self._copies is None:
            try:
                return open_database_untouched(self.path, opened)
            except sqlite3.OperationalError as error:
                if is_locked_error(error):
                    raise
            # A crash left something to be repaired, or the index of the log is missing.
            self._copies, self._state = copy_database(self.path)
        return open_database_copy(self._copies, opened), None


class _TransactionQuery:
    """Questions to a database within one transaction."""

    def __init__(self, connection: sqlite3.Connection, learnt: dict[Any, Any]) -> None:
        self._connection = connection
        self._learnt = learnt
        self.used_before = False
        """Whether something was used that an earlier reading learnt."""
        self._new: set[Any] = set()

    def __call__(self, statement: str, *parameters: Any) -> Iterator[JsonObject]:
        """Run a statement; give the rows."""
        cursor = self._connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            yield {name: _decode_value(value) for name, value in zip(names, row, strict=True)}

    def once(self, work: Callable[[DatabaseQuery], T]) -> T:
        """Do what has the same result as long as the database stays as it is."""
        if work not in self._learnt:
            self._learnt[work] = work(self)
            self._new.add(work)
        self.used_before = self.used_before or work not in self._new
        found: T = self._learnt[work]
        return found


def _decode_value(value: Any) -> Any:
    """Give text as text, however it is stored; bytes that are no text stay bytes."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _make_database_error(error: Exception, path: Path) -> UnreadableInput:
    """Say what is wrong with a database."""
    if isinstance(error, sqlite3.OperationalError):
        if is_locked_error(error):
            return UnreadableInput(LOCKED_MESSAGE, where=str(path), hint=RETRY_HINT)
        return UnreadableInput(f"cannot be read as a database: {error}", where=str(path))
    if isinstance(error, MemoryError):
        return UnreadableInput("too large for the memory there is", where=str(path))
    if isinstance(error, sqlite3.Error | UnicodeDecodeError):
        return UnreadableInput(f"a damaged database: {error}", where=str(path))
    return UnreadableInput(
        f"a database that no agent makes so: {type(error).__name__}: {error}", where=str(path)
    )
