"""SQLite databases that agents keep their sessions in, read while the agent may be writing, and never changed.

A database is opened read-only, and in a way that leaves no file beside it and no mark in those that are there. Where that
cannot be (a crash left something to repair), a copy is opened instead. A session is exported within one transaction, or with
proof that nothing was written meanwhile, so that it is whole.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from vacr.errors import NotASession, UnreadableInput
from vacr.model import Native
from vacr.readers.export import Database, Listed, Query, export
from vacr.readers.registry import Reader, readers
from vacr.readers.source import Part, Source
from vacr.sources.files import as_text, read_bytes, reason_of

if sys.platform != "win32":
    import fcntl

T = TypeVar("T")
State = tuple[tuple[int, int, int], ...]
"""The size, the time of the last change and the number of a database's file, its log and its journal."""

MAGIC = b"SQLite format 3\0"
SIDE_FILES = ("-wal", "-shm", "-journal")

_NOTHING = "there is no session in it"
_LOCKED = "locked by another program"
_LATER = "Try again when the agent has finished writing."
_PATIENCE = 10.0
_AGAIN = 0.005
# Where SQLite's readers lock, and how many bytes of it.
_READERS = (510, 0x40000002)
_ATTEMPTS = 5
_TICK = 20_000_000
_COPY = "copy.db"
_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")
_LONGEST = 100
_WAL_VERSIONS = b"\x02\x02"


def is_database(path: str | Path) -> bool:
    """Tell whether a file is a SQLite database. A pipe is none: what it gives can be read once only.

    Raises:
        UnreadableInput: it cannot be read.
    """
    return os.path.isfile(path) and read_bytes(path, len(MAGIC)) == MAGIC  # noqa: PTH113 - a path from a user


class DatabaseFile:
    """An agent's database, and the reader that knows it."""

    def __init__(self, path: Path, agent: str | None = None, name: str | None = None) -> None:
        """Find out whose database it is.

        Raises:
            UnreadableInput: it cannot be read, or is none that an agent is known to have.
        """
        self.path = path
        self.name = name or as_text(path.name)
        self._copies: tempfile.TemporaryDirectory[str] | None = None
        try:
            self.reader, self.database = _known(self._read(_tables), agent, str(path))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the copy, if there is one."""
        if self._copies is not None:
            self._copies.cleanup()

    def sessions(self) -> list[Listed]:
        """List the sessions.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        return self._read(lambda query: list(self.database.sessions(query)))

    def source(self, session_id: str) -> Source:
        """Export the rows of a session.

        Raises:
            UnreadableInput: the database cannot be read, or holds no such session.
        """
        data = self._read(lambda query: self._exported(query, session_id))
        if data is None:
            raise UnreadableInput(f"no session {session_id} in it" if session_id else _NOTHING, where=str(self.path))
        stem = self.name.rpartition(".")[0] or self.name
        # Whatever an agent calls its sessions, a file can have the name.
        label = _UNSAFE.sub("-", session_id)[:_LONGEST]
        return Source((Part(f"{stem}.{label}.jsonl" if label else f"{stem}.jsonl", data),))

    def _exported(self, query: Query, session_id: str) -> bytes | None:
        rows = self.database.rows(query, session_id)
        first = next(rows, None)
        return export(self.database.format_id, session_id, itertools.chain((first,), rows)) if first else None

    def _read(self, work: Callable[[Query], T]) -> T:
        """Do something with the database as it is at one moment."""
        for _ in range(_ATTEMPTS):
            failed: sqlite3.Error | None = None
            with ExitStack() as opened:
                try:
                    connection, still = self._connect(opened)
                except OSError as error:
                    raise UnreadableInput(reason_of(error), where=str(self.path)) from error
                except sqlite3.Error as error:
                    raise _unreadable(error, self.path) from error
                connection.text_factory = bytes
                try:
                    connection.execute("BEGIN")
                    result = work(_runner(connection))
                except sqlite3.Error as error:
                    failed = error
                changed = still is not None and still != _state(self.path)[: len(still)]
            if not changed:
                if failed is not None:
                    raise _unreadable(failed, self.path) from failed
                return result
            # It was written to meanwhile, and so what was read is of no one moment.
        raise UnreadableInput("it changes all the time", where=str(self.path), hint=_LATER)

    def _connect(self, opened: ExitStack) -> tuple[sqlite3.Connection, State | None]:
        """Open the database, or else a copy of it; tell which state it must still have at the end, if that is a condition."""
        if self._copies is None:
            try:
                return _open(self.path, opened)
            except sqlite3.OperationalError as error:
                if _is_locked(error):
                    raise
            # A crash left something to be repaired, or the index of the log is missing.
            self._copies = _copied(self.path)
        return _checked(sqlite3.connect(Path(self._copies.name) / _COPY), opened), None


def _tables(query: Query) -> frozenset[str]:
    return frozenset(row["name"] for row in query("SELECT name FROM sqlite_master WHERE type = 'table'"))


def _state(path: Path) -> State:
    """Tell by what a change of a database is seen."""
    found = []
    for suffix in ("", "-wal", "-journal"):
        try:
            status = os.stat(f"{os.path.realpath(path)}{suffix}")  # noqa: PTH116 - SQLite follows links so, too
            found.append((status.st_size, status.st_mtime_ns, status.st_ino))
        except FileNotFoundError:
            found.append((0, 0, 0))
    return tuple(found)


def _logged(state: State) -> int:
    """Tell how large the log of a database is."""
    return state[1][0]


def _settled(path: Path) -> State:
    """Give the state of a database once a further change would be seen: two in one tick of the file system's clock are not."""
    state = _state(path)
    newest = max(modified for _, modified, _ in state)
    since = time.time_ns() - newest
    if 0 <= since < _TICK:
        time.sleep((_TICK - since) / 1e9)
        state = _state(path)
    return state


def _open(path: Path, opened: ExitStack) -> tuple[sqlite3.Connection, State | None]:
    """Open a database so that nothing of it or beside it is changed."""
    address = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode=ro"
    if read_bytes(path, 20)[18:20] == _WAL_VERSIONS:
        held = _hold(path, opened)
        state = _state(path)
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


def _copied(path: Path) -> tempfile.TemporaryDirectory[str]:
    """Take a copy with all that a crash left beside, to be repaired there.

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
            if state == _state(path):
                return folder
        except OSError as error:
            folder.cleanup()
            raise UnreadableInput(reason_of(error), where=str(path)) from error
        folder.cleanup()
    raise UnreadableInput("it changes all the time", where=str(path), hint=_LATER)


def _runner(connection: sqlite3.Connection) -> Query:
    def query(statement: str, *parameters: Any) -> Iterable[Native]:
        cursor = connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            yield {name: _text(value) for name, value in zip(names, row, strict=True)}

    return query


def _text(value: Any) -> Any:
    """Give text as text, however it is stored; bytes that are no text stay bytes."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _known(tables: frozenset[str], agent: str | None, where: str) -> tuple[Reader, Database]:
    for reader in readers().values():
        for database in getattr(reader, "DATABASES", ()):
            if database.knows(tables) and agent in (None, reader.name):
                return reader, database
    names = sorted({reader.name for reader in readers().values() if getattr(reader, "DATABASES", ())})
    raise NotASession("a database that no agent is known to have", where=where, hint=f"Known are those of {', '.join(names)}.")


def _unreadable(error: sqlite3.Error, path: Path) -> UnreadableInput:
    if not isinstance(error, sqlite3.OperationalError):
        return UnreadableInput(f"a damaged database: {error}", where=str(path))
    if _is_locked(error):
        return UnreadableInput(_LOCKED, where=str(path), hint=_LATER)
    return UnreadableInput(f"cannot be read as a database: {error}", where=str(path))


def _is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
