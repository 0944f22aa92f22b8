"""SQLite databases that agents keep their sessions in: whose they are, which sessions they hold,
and the rows of each.
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
    DatabaseQuery,
    ListedSession,
    Reader,
    SessionDatabase,
    Source,
    SourcePart,
    encode_session_rows,
    load_readers,
)
from vacr.errors import NotASession, UnreadableInput
from vacr.files import SqliteSnapshots, format_path, read_bytes

SQLITE_MAGIC = b"SQLite format 3\0"
SQLITE_SIDE_SUFFIXES = ("-wal", "-shm", "-journal")

_NO_SESSION_MESSAGE = "there is no session in it"
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_MAX_LABEL_LENGTH = 100


def is_database(path: str | Path) -> bool:
    """Tell whether a file is a SQLite database. A pipe is none: what it gives can be read once
    only.

    Raises:
        UnreadableInput: it cannot be read.
    """
    return os.path.isfile(path) and read_bytes(path, len(SQLITE_MAGIC)) == SQLITE_MAGIC  # noqa: PTH113 - a path from a user


class DatabaseFile:
    """An agent's database, and the reader that knows it."""

    def __init__(self, path: Path, agent: str | None = None) -> None:
        """Find out whose database it is.

        Raises:
            UnreadableInput: it cannot be read, or is none that an agent is known to have.
        """
        self.path = path
        self.agent = agent
        self.name = format_path(path.name)
        self.snapshots = SqliteSnapshots(path)
        try:
            self.reader, self.database = _find_database_reader(
                self.snapshots.read(_list_tables), agent, str(path)
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the copy, if there is one."""
        self.snapshots.close()

    def sessions(self) -> list[ListedSession]:
        """List the sessions.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        return self.snapshots.read(lambda query: list(self.database.sessions(query)))

    def signed_sessions(self) -> list[tuple[ListedSession, object]]:
        """List the sessions, each with what is another after its agent changed rows of it: not
        every change shows in the list.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        database = self.database
        return self.snapshots.read(
            lambda query: [
                (one, database.sign(query, one.session_id)) for one in database.sessions(query)
            ]
        )

    def source(self, session_id: str) -> Source:
        """Export the rows of a session.

        Raises:
            UnreadableInput: the database cannot be read, or holds no such session.
        """
        data = self.snapshots.read(lambda query: self._exported(query, session_id))
        if data is None:
            raise UnreadableInput(
                f"no session {session_id} in it" if session_id else _NO_SESSION_MESSAGE,
                where=str(self.path),
            )
        stem = self.name.rpartition(".")[0] or self.name
        # Whatever an agent calls its sessions, a file can have the name.
        label = _UNSAFE_CHARACTERS.sub("-", session_id)[:_MAX_LABEL_LENGTH]
        return Source((SourcePart(f"{stem}.{label}.jsonl" if label else f"{stem}.jsonl", data),))

    def _exported(self, query: DatabaseQuery, session_id: str) -> bytes | None:
        rows = self.database.rows(query, session_id)
        first = next(rows, None)
        return (
            encode_session_rows(
                self.database.format_id, session_id, itertools.chain((first,), rows)
            )
            if first
            else None
        )


_cached_databases: list[DatabaseFile] = []
"""The database that was asked for one of its sessions last, for whoever asks for the next."""


@contextmanager
def open_cached_database(path: Path, agent: str | None = None) -> Iterator[DatabaseFile]:
    """Open a database for one of its sessions, the others of which may be asked for next.

    What was learnt about it, and the copy if there had to be one, serve again while it stays as it
    is.

    Raises:
        UnreadableInput: it cannot be read, or is none that an agent is known to have.
    """
    database = _take_cached_database(path, agent) or DatabaseFile(path, agent)
    try:
        yield database
    finally:
        _close_cached_database()
        _cached_databases.append(database)
        _close_cached_at_exit(os.getpid())


def _take_cached_database(path: Path, agent: str | None) -> DatabaseFile | None:
    """Take the database that was kept, if it is that and as it was; nobody else has it
    meanwhile.
    """
    for database in [_cached_databases.pop()] if _cached_databases else []:
        if (database.path, database.agent) == (path, agent) and database.snapshots.is_unchanged():
            return database
        database.close()
    return None


@functools.cache
def _close_cached_at_exit(process: int) -> None:
    """See to it that a process leaves nothing behind; those of a pool do at their end only what
    `multiprocessing` knows of.
    """
    from multiprocessing.util import Finalize

    del process
    Finalize(None, _close_cached_database, exitpriority=0)


def _close_cached_database() -> None:
    """Close the database that was kept."""
    while _cached_databases:
        _cached_databases.pop().close()


def _list_tables(query: DatabaseQuery) -> frozenset[str]:
    return frozenset(
        row["name"] for row in query("SELECT name FROM sqlite_master WHERE type = 'table'")
    )


def _find_database_reader(
    tables: frozenset[str], agent: str | None, where: str
) -> tuple[Reader, SessionDatabase]:
    for reader in load_readers().values():
        for database in getattr(reader, "DATABASES", ()):
            if database.knows(tables) and agent in (None, reader.name):
                return reader, database
    names = sorted(
        {reader.name for reader in load_readers().values() if getattr(reader, "DATABASES", ())}
    )
    raise NotASession(
        "a database that no agent is known to have",
        where=where,
        hint=f"Known are those of {', '.join(names)}.",
    )
