"""SQLite databases with the sessions of agents.

This module finds the reader that knows a database, lists the sessions, and exports the rows of each
as lines, so that readers see a session from a database as they would see a file.

    >>> import sqlite3
    >>> from pathlib import Path
    >>> from vacr.discovery import DatabaseFile
    >>> connection = sqlite3.connect("store.db")
    >>> _ = connection.executescript('''
    ...     CREATE TABLE meta (key, value); CREATE TABLE blobs (id, data);
    ...     INSERT INTO meta VALUES ('0', hex('{"agentId": "s1", "name": "Fix the build"}'));
    ... ''')
    >>> connection.close()
    >>> database = DatabaseFile(Path("store.db"))
    >>> [(listed.session_id, listed.title) for listed in database.sessions()]
    [('s1', 'Fix the build')]
    >>> database.source("s1").main.name
    'store.s1.jsonl'
    >>> database.close()
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vacr.agents import (
    Agent,
    DatabaseQuery,
    ListedSession,
    SessionDatabase,
    Source,
    SourcePart,
    encode_session_rows,
    load_agents,
)
from vacr.errors import NotASession, UnreadableInput
from vacr.files import SqliteSnapshots, format_path, read_bytes

SQLITE_MAGIC = b"SQLite format 3\0"
SQLITE_SIDE_SUFFIXES = ("-wal", "-shm", "-journal")

_NO_SESSION_MESSAGE = "there is no session in it"
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_MAX_LABEL_LENGTH = 100


def is_database(path: str | Path) -> bool:
    """Return whether a file is a SQLite database; a pipe is not, because it is read only once.

    Raises:
        UnreadableInput: it cannot be read.
    """
    is_file = os.path.isfile(path)  # noqa: PTH113 - false on any error, where Path.is_file may raise
    return is_file and read_bytes(path, len(SQLITE_MAGIC)) == SQLITE_MAGIC


class DatabaseFile:
    """An agent's database, and the reader that knows it."""

    def __init__(self, path: Path, agent: str | None = None) -> None:
        """Find the reader of a database; only the reader of `agent` counts, if given.

        Raises:
            UnreadableInput: it cannot be read.
            NotASession: no reader knows it.
        """
        self.path = path
        self.agent = agent
        self.name = format_path(path.name)
        self.snapshots = SqliteSnapshots(path)
        try:
            tables = self.snapshots.read(_list_tables)
            self.reader, self._database = _find_database_reader(tables, agent, str(path))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the copy of the database, if there is one."""
        self.snapshots.close()

    def is_unchanged(self) -> bool:
        """Return whether the file is as it was when it was last read."""
        return self.snapshots.is_unchanged()

    def sessions(self) -> list[ListedSession]:
        """Return the sessions.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        return self.snapshots.read(lambda query: list(self._database.sessions(query)))

    def signed_sessions(self) -> list[tuple[ListedSession, object]]:
        """Return the sessions, each with a value that differs once its agent changed its rows.

        Not every change is visible in the list alone.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        database = self._database
        return self.snapshots.read(
            lambda query: [
                (session, database.sign(query, session.session_id))
                for session in database.sessions(query)
            ]
        )

    def source(self, session_id: str) -> Source:
        """Return the rows of a session, exported as a source.

        Raises:
            UnreadableInput: the database cannot be read, or has no such session.
        """
        data = self.snapshots.read(lambda query: self._export_rows(query, session_id))
        if data is None:
            raise UnreadableInput(
                f"no session {session_id} in it" if session_id else _NO_SESSION_MESSAGE,
                where=str(self.path),
            )
        stem = self.name.rpartition(".")[0] or self.name
        # An agent may use any text as a session's id; a file name may not.
        label = _UNSAFE_CHARACTERS.sub("-", session_id)[:_MAX_LABEL_LENGTH]
        return Source((SourcePart(f"{stem}.{label}.jsonl" if label else f"{stem}.jsonl", data),))

    def _export_rows(self, query: DatabaseQuery, session_id: str) -> bytes | None:
        """Return the rows of a session as lines, or None if it has no rows."""
        rows = self._database.rows(query, session_id)
        first = next(rows, None)
        if not first:
            return None
        every_row = itertools.chain((first,), rows)
        return encode_session_rows(self._database.format_id, session_id, every_row)


def _list_tables(query: DatabaseQuery) -> frozenset[str]:
    rows = query("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(row["name"] for row in rows)


def _find_database_reader(
    tables: frozenset[str], agent: str | None, where: str
) -> tuple[Agent, SessionDatabase]:
    """Return the reader that knows a database with these tables, and its view of the database.

    Raises:
        NotASession: no reader does.
    """
    for reader in load_agents().values():
        for database in reader.databases:
            if database.knows(tables) and agent in (None, reader.name):
                return reader, database
    names = sorted({reader.name for reader in load_agents().values() if reader.databases})
    raise NotASession(
        "a database that no agent is known to have",
        where=where,
        hint=f"Known are those of {', '.join(names)}.",
    )


_cached_databases: list[DatabaseFile] = []
"""The database of the session that was read last, kept open; at most one."""


@contextmanager
def open_cached_database(path: Path, agent: str | None = None) -> Iterator[DatabaseFile]:
    """Open a database for one session, and keep it open for the next.

    As long as it does not change, the results of its queries, and the copy if one was needed, serve
    again.

    Raises:
        UnreadableInput: it cannot be read.
        NotASession: no reader knows it.
    """
    database = _take_cached_database(path, agent) or DatabaseFile(path, agent)
    try:
        yield database
    finally:
        _close_cached_database()
        _cached_databases.append(database)
        _close_cached_at_exit(os.getpid())


def _take_cached_database(path: Path, agent: str | None) -> DatabaseFile | None:
    """Take the cached database out of the cache, if it is this one and did not change."""
    for database in [_cached_databases.pop()] if _cached_databases else []:
        if (database.path, database.agent) == (path, agent) and database.is_unchanged():
            return database
        database.close()
    return None


@functools.cache
def _close_cached_at_exit(process: int) -> None:
    """Close the cached database when this process ends; done once per process.

    Workers of a pool do not run `atexit` functions, but they run `multiprocessing` finalizers.
    """
    from multiprocessing.util import Finalize

    del process
    Finalize(None, _close_cached_database, exitpriority=0)


def _close_cached_database() -> None:
    while _cached_databases:
        _cached_databases.pop().close()
