"""SQLite databases that agents keep their sessions in, read while the agent may be writing, and never changed.

A database is opened read-only, and in a way that leaves no file beside it. Where that cannot be (a crash left a journal, or
the folder may not be written), a copy is opened instead. A session is exported within one transaction, so that it is whole.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from vacr.errors import NotASession, UnreadableInput
from vacr.model import Native
from vacr.readers.export import Database, Listed, Query, export
from vacr.readers.registry import Reader, readers
from vacr.readers.source import Part, Source
from vacr.sources.files import as_text, read_bytes, reason_of

T = TypeVar("T")

MAGIC = b"SQLite format 3\0"
SIDE_FILES = ("-wal", "-shm", "-journal")

_LATER = "Try again when the agent has finished writing."
_PATIENCE = 10.0
_ATTEMPTS = 5
_COPY = "copy.db"
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
        self.reader, self.database = _known(self._read(_tables), agent, str(path))

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
            UnreadableInput: the database cannot be read.
        """
        database = self.database
        data = self._read(lambda query: export(database.format_id, session_id, database.rows(query, session_id)))
        stem = self.name.rpartition(".")[0] or self.name
        return Source((Part(f"{stem}.{session_id}.jsonl" if session_id else f"{stem}.jsonl", data),))

    def _read(self, work: Callable[[Query], T]) -> T:
        """Do something with the database as it is at one moment."""
        try:
            for _ in range(_ATTEMPTS):
                connection, still = self._connect()
                with closing(connection):
                    connection.text_factory = bytes
                    connection.execute("BEGIN")
                    result = work(_runner(connection))
                if still is None or still == _state(self.path):
                    return result
        except sqlite3.OperationalError as error:
            raise _unreadable(error, self.path) from error
        except sqlite3.DatabaseError as error:
            raise UnreadableInput(f"a damaged database: {error}", where=str(self.path)) from error
        raise UnreadableInput(
            "it changes all the time", where=str(self.path), hint="Try again when the agent has finished writing."
        )

    def _connect(self) -> tuple[sqlite3.Connection, tuple[int, ...] | None]:
        """Open the database, or else a copy of it; tell which state it must still have at the end, if that is a condition."""
        if self._copies is None:
            try:
                return _open(self.path)
            except sqlite3.OperationalError as error:
                if _is_locked(error):
                    raise
            self._copies = _copied(self.path)
        return _checked(sqlite3.connect(Path(self._copies.name) / _COPY)), None


def _tables(query: Query) -> frozenset[str]:
    return frozenset(row["name"] for row in query("SELECT name FROM sqlite_master WHERE type = 'table'"))


def _state(path: Path) -> tuple[int, ...]:
    """Tell by what a change of a database is seen."""
    status, wal = path.stat(), Path(f"{path}-wal")
    return status.st_size, status.st_mtime_ns, status.st_ino, wal.stat().st_size if wal.is_file() else 0


def _open(path: Path) -> tuple[sqlite3.Connection, tuple[int, ...] | None]:
    """Open a database so that nothing of it or beside it is changed."""
    head, state = read_bytes(path, 20), _state(path)
    journal = Path(f"{path}-journal")
    if (journal.is_file() and journal.stat().st_size > 0) or (state[-1] and not Path(f"{path}-shm").is_file()):
        raise sqlite3.OperationalError("a crash left something to repair")
    # With nobody writing, opening it otherwise would leave two files behind.
    quiet = head[18:20] == _WAL_VERSIONS and not state[-1]
    mode = "mode=ro&immutable=1" if quiet else "mode=ro"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=_PATIENCE)
    return _checked(connection), state if quiet else None


def _checked(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Make sure that a database can be read and is not written."""
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _copied(path: Path) -> tempfile.TemporaryDirectory[str]:
    """Take a copy with all that a crash left beside, to be repaired there."""
    folder = tempfile.TemporaryDirectory(prefix="vacr-")
    try:
        shutil.copyfile(path, Path(folder.name) / _COPY)
        for suffix in ("-wal", "-journal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", Path(folder.name) / f"{_COPY}{suffix}")
    except OSError as error:
        folder.cleanup()
        raise UnreadableInput(reason_of(error), where=str(path)) from error
    return folder


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


def _unreadable(error: sqlite3.OperationalError, path: Path) -> UnreadableInput:
    if _is_locked(error):
        return UnreadableInput(
            "locked by another program", where=str(path), hint="Try again when the agent has finished writing."
        )
    return UnreadableInput(f"cannot be read as a database: {error}", where=str(path))


def _is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
