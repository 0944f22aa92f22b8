"""SQLite files at one moment, read while somebody may be writing, and never changed.

A file is opened read-only, and in a way that leaves no file beside it and no mark in those that are there. Where that cannot be
(a crash left something to repair), a copy is opened instead. What is read is read within one transaction, or with proof that
nothing was written meanwhile, so that it is whole.
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

from vacr.errors import UnreadableInput, VacrError
from vacr.model import Native
from vacr.readers.export import Query
from vacr.sources.files import read_bytes, reason_of

if sys.platform != "win32":
    import fcntl

T = TypeVar("T")
State = tuple[tuple[int, int, int], ...]
"""The size, the time of the last change and the number of a database's file, its log and its journal."""

_LOCKED = "locked by another program"
_LATER = "Try again when the agent has finished writing."
_PATIENCE = 10.0
_AGAIN = 0.005
# Where SQLite's readers lock, and how many bytes of it.
_READERS = (510, 0x40000002)
_ATTEMPTS = 5
_TICK = 20_000_000
_COPY = "copy.db"
# The byte that tells readers to look for a log; the one before it is for writers.
_READ_VERSION = slice(19, 20)
_LOG = b"\x02"


class Snapshots:
    """A SQLite file, of which one moment after the other can be read."""

    def __init__(self, path: Path) -> None:
        """Start with nothing known about it."""
        self.path = path
        self._state: State | None = None
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
            return self._state == state_of(self.path)
        except (OSError, UnreadableInput):
            return False

    def read(self, work: Callable[[Query], T]) -> T:
        """Do something with the database as it is at one moment.

        Raises:
            UnreadableInput: the database cannot be read, or is none that the work can be done with.
        """
        try:
            for _ in range(_ATTEMPTS):
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
            raise UnreadableInput(reason_of(error), where=str(self.path)) from error
        except Exception as error:
            # Whatever a database makes of our questions is about that database alone.
            raise _unreadable(error, self.path) from error
        raise UnreadableInput("it changes all the time", where=str(self.path), hint=_LATER)

    def _tried(self, work: Callable[[Query], T], opened: ExitStack) -> tuple[T | None, Exception | None, bool]:
        """Do something with the database; give what came of it, what went wrong, and whether it is not to be believed."""
        self._look()
        connection, still = self._connect(opened)
        connection.text_factory = bytes
        asked = _Asked(connection, self._learnt)
        result = failed = None
        try:
            connection.execute("BEGIN")
            result = work(asked)
        except Exception as error:  # noqa: BLE001 - it is raised if the database is still the same
            failed = error
        return result, failed, self._has_changed(still, used_before=asked.used_before)

    def _look(self) -> None:
        """Let go of what is known about an earlier state."""
        state = state_of(self.path)
        if state != self._state:
            self.close()
            self._state = state

    def _has_changed(self, still: State | None, *, used_before: bool) -> bool:
        """Tell whether what was read is not to be believed; forget what was learnt if the next reading must not rely on it."""
        state = state_of(self.path)
        changed = (still is not None and still != state[: len(still)]) or (used_before and state != self._state)
        if state != self._state or _since(state) < _TICK:
            self._learnt = {}
        return changed

    def _connect(self, opened: ExitStack) -> tuple[sqlite3.Connection, State | None]:
        """Open the database, or else a copy of it; tell which state it must still have at the end, if that is a condition."""
        if self._copies is None:
            try:
                return _open(self.path, opened)
            except sqlite3.OperationalError as error:
                if _is_locked(error):
                    raise
            # A crash left something to be repaired, or the index of the log is missing.
            self._copies, self._state = _copied(self.path)
        return _checked(sqlite3.connect(Path(self._copies.name) / _COPY), opened), None


class _Asked:
    """Questions to a database within one transaction."""

    def __init__(self, connection: sqlite3.Connection, learnt: dict[Any, Any]) -> None:
        self._connection = connection
        self._learnt = learnt
        self.used_before = False
        """Whether something was used that an earlier reading learnt."""
        self._new: set[Any] = set()

    def __call__(self, statement: str, *parameters: Any) -> Iterator[Native]:
        """Run a statement; give the rows."""
        cursor = self._connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            yield {name: _text(value) for name, value in zip(names, row, strict=True)}

    def once(self, work: Callable[[Query], T]) -> T:
        """Do what has the same result as long as the database stays as it is."""
        if work not in self._learnt:
            self._learnt[work] = work(self)
            self._new.add(work)
        self.used_before = self.used_before or work not in self._new
        found: T = self._learnt[work]
        return found


def _text(value: Any) -> Any:
    """Give text as text, however it is stored; bytes that are no text stay bytes."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def state_of(path: Path) -> State:
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


def _logged(state: State) -> int:
    """Tell how large the log of a database is."""
    return state[1][0]


def _since(state: State) -> int:
    """Tell how long ago the last change was; one that is yet to come was long ago."""
    since = time.time_ns() - max(modified for _, modified, _ in state)
    return since if since >= 0 else _TICK


def _settled(path: Path) -> State:
    """Give the state of a database once a further change would be seen: two in one tick of the file system's clock are not."""
    state = state_of(path)
    since = _since(state)
    if since < _TICK:
        time.sleep((_TICK - since) / 1e9)
        state = state_of(path)
    return state


def _open(path: Path, opened: ExitStack) -> tuple[sqlite3.Connection, State | None]:
    """Open a database so that nothing of it or beside it is changed."""
    address = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode=ro"
    if read_bytes(path, _READ_VERSION.stop)[_READ_VERSION] == _LOG:
        held = _hold(path, opened)
        state = state_of(path)
        if not _logged(state):
            state = _settled(path)
        if not _logged(state):
            # With nothing in the log, opening the database as usual would leave two files behind. What is added from now on
            # is for the next reading, as long as it stays in the log.
            connection = _checked(sqlite3.connect(f"{address}&immutable=1", uri=True), opened)
            return connection, state[:1] if held else state
    # The index of the log is shared with the agent, and other readers write their marks into it: not this one.
    return _checked(sqlite3.connect(f"{address}&readonly_shm=1", uri=True, timeout=_PATIENCE), opened), None


def _hold(path: Path, opened: ExitStack) -> bool:
    """Take the lock that SQLite's readers have, if there are locks: while they do, whoever goes leaves the log as it is.

    Raises:
        UnreadableInput: somebody keeps everybody else out.
    """
    if sys.platform == "win32":
        return False
    descriptor = os.open(os.path.realpath(path), os.O_RDONLY)
    opened.callback(os.close, descriptor)
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, *_READERS)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                return False
            if time.monotonic() >= end:
                raise UnreadableInput(_LOCKED, where=str(path), hint=_LATER) from error
            time.sleep(_AGAIN)
        else:
            return True


def _checked(connection: sqlite3.Connection, opened: ExitStack) -> sqlite3.Connection:
    """Make sure that a database can be read and is not written."""
    opened.callback(connection.close)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    return connection


def _copied(path: Path) -> tuple[tempfile.TemporaryDirectory[str], State]:
    """Take a copy with all that a crash left beside, to be repaired there; tell of which state.

    Raises:
        UnreadableInput: it cannot be copied, or it is being changed.
    """
    for _ in range(_ATTEMPTS):
        folder = tempfile.TemporaryDirectory(prefix="vacr-")
        try:
            state = _settled(path)
            for suffix in ("", "-wal", "-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{os.path.realpath(path)}{suffix}", Path(folder.name) / f"{_COPY}{suffix}")
            if state == state_of(path):
                return folder, state
        except OSError as error:
            folder.cleanup()
            raise UnreadableInput(reason_of(error), where=str(path)) from error
        folder.cleanup()
    raise UnreadableInput("it changes all the time", where=str(path), hint=_LATER)


def _unreadable(error: Exception, path: Path) -> UnreadableInput:
    """Say what is wrong with a database."""
    if isinstance(error, sqlite3.OperationalError):
        if _is_locked(error):
            return UnreadableInput(_LOCKED, where=str(path), hint=_LATER)
        return UnreadableInput(f"cannot be read as a database: {error}", where=str(path))
    if isinstance(error, MemoryError):
        return UnreadableInput("too large for the memory there is", where=str(path))
    if isinstance(error, sqlite3.Error | UnicodeDecodeError):
        return UnreadableInput(f"a damaged database: {error}", where=str(path))
    return UnreadableInput(f"a database that no agent makes so: {type(error).__name__}: {error}", where=str(path))


def _is_locked(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
