"""SQLite files, opened so that nothing of them or beside them is changed.

Read-only is not enough: SQLite leaves files behind, and marks in those that are there. Where a
crash left something to repair, a copy is what is opened.
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
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

from vacr.errors import UnreadableInput
from vacr.sources.files import read_bytes, reason_of

if sys.platform != "win32":
    import fcntl

State = tuple[tuple[int, int, int], ...]
"""The size, the time of the last change and the number of a database's file, its log and its
journal.
"""

LOCKED = "locked by another program"
LATER = "Try again when the agent has finished writing."
CHANGES = "it changes all the time"
ATTEMPTS = 5
TICK = 20_000_000
"""How long two changes may be apart, in nanoseconds, that the file system's clock does not tell
apart.
"""
_PATIENCE = 10.0
_AGAIN = 0.005
# Where SQLite's readers lock, and how many bytes of it.
_READERS = (510, 0x40000002)
_COPY = "copy.db"
# The byte that tells readers to look for a log; the one before it is for writers.
_READ_VERSION = slice(19, 20)
_LOG = b"\x02"


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


def since_change(state: State) -> int:
    """Tell how long ago the last change was; one that is yet to come was long ago."""
    since = time.time_ns() - max(modified for _, modified, _ in state)
    return since if since >= 0 else TICK


def _settled(path: Path) -> State:
    """Give the state of a database once a further change would be seen: two in one tick of the file
    system's clock are not.
    """
    state = state_of(path)
    since = since_change(state)
    if since < TICK:
        time.sleep((TICK - since) / 1e9)
        state = state_of(path)
    return state


def open_untouched(path: Path, opened: ExitStack) -> tuple[sqlite3.Connection, State | None]:
    """Open a database so that nothing of it or beside it is changed."""
    address = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode=ro"
    if read_bytes(path, _READ_VERSION.stop)[_READ_VERSION] == _LOG:
        held = _hold(path, opened)
        state = state_of(path)
        if not _logged(state):
            state = _settled(path)
        if not _logged(state):
            # With nothing in the log, opening the database as usual would leave two files behind.
            # What is added from now on is for the next reading, as long as it stays in the log.
            connection = _checked(sqlite3.connect(f"{address}&immutable=1", uri=True), opened)
            return connection, state[:1] if held else state
    # The index of the log is shared with the agent, and other readers write their marks into it:
    # not this one.
    return _checked(
        sqlite3.connect(f"{address}&readonly_shm=1", uri=True, timeout=_PATIENCE), opened
    ), None


def _hold(path: Path, opened: ExitStack) -> bool:
    """Take the lock that SQLite's readers have, if there are locks: while they do, whoever goes
    leaves the log as it is.

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
                raise UnreadableInput(LOCKED, where=str(path), hint=LATER) from error
            time.sleep(_AGAIN)
        else:
            return True


def _checked(connection: sqlite3.Connection, opened: ExitStack) -> sqlite3.Connection:
    """Make sure that a database can be read and is not written."""
    opened.callback(connection.close)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    return connection


def open_copy(folder: tempfile.TemporaryDirectory[str], opened: ExitStack) -> sqlite3.Connection:
    """Open a copy; what a crash left is repaired there."""
    return _checked(sqlite3.connect(Path(folder.name) / _COPY), opened)


def copied(path: Path) -> tuple[tempfile.TemporaryDirectory[str], State]:
    """Take a copy with all that a crash left beside, to be repaired there; tell of which state.

    Raises:
        UnreadableInput: it cannot be copied, or it is being changed.
    """
    for _ in range(ATTEMPTS):
        folder = tempfile.TemporaryDirectory(prefix="vacr-")
        try:
            state = _settled(path)
            for suffix in ("", "-wal", "-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(
                        f"{os.path.realpath(path)}{suffix}", Path(folder.name) / f"{_COPY}{suffix}"
                    )
            if state == state_of(path):
                return folder, state
        except OSError as error:
            folder.cleanup()
            raise UnreadableInput(reason_of(error), where=str(path)) from error
        folder.cleanup()
    raise UnreadableInput(CHANGES, where=str(path), hint=LATER)


def is_locked(error: sqlite3.OperationalError) -> bool:
    """Tell whether somebody keeps others from reading."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )
