"""Stores that have many sessions: SQLite databases, and folders with a file for each piece.

An agent knows its own stores. Here the agent that knows a store is found, the sessions are listed,
and each is exported as a source, so that agents see it as they would see a file.

A session in a database becomes lines, one for each row:

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

A session in a folder becomes the parts of a source. Links inside the folder are not followed,
because they may lead anywhere; they are reported instead.

    >>> from vacr.discovery import find_folder_store
    >>> for name in ("session/project/ses_1.json", "message/ses_1/msg_1.json"):
    ...     file = Path("storage") / name
    ...     file.parent.mkdir(parents=True)
    ...     _ = file.write_text("{}")
    >>> store = find_folder_store(Path("storage"))
    >>> store.sessions(), [file.name for file in store.files("ses_1")]
    (['ses_1'], ['ses_1.json', 'msg_1.json'])
"""

from __future__ import annotations

import errno
import functools
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vacr.agents import (
    Agent,
    DatabaseQuery,
    FileLister,
    ListedSession,
    SessionDatabase,
    SessionFolder,
    Source,
    SourcePart,
    describe_likely_table,
    encode_session_rows,
    load_agents,
)
from vacr.errors import NotASession, UnreadableInput
from vacr.files import (
    SqliteSnapshots,
    describe_file_error,
    format_path,
    is_file,
    is_folder,
    read_bytes,
)
from vacr.model import Record

SQLITE_MAGIC = b"SQLite format 3\0"
SQLITE_SIDE_SUFFIXES = ("-wal", "-shm", "-journal")

_SELECT_COLUMN_NAMES = (
    "SELECT t.name || '.' || c.name AS name FROM sqlite_master AS t "
    "JOIN pragma_table_info(t.name) AS c "
    "WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%'"
)
_NO_SESSION_MESSAGE = "the database has no sessions"
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_MAX_LABEL_LENGTH = 100


# Databases


def is_database(path: str | Path) -> bool:
    """Return whether a path is a regular file that begins like a SQLite database.

    Return False for a path that does not exist, a folder or a pipe.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    return is_file(path) and read_bytes(path, len(SQLITE_MAGIC)) == SQLITE_MAGIC


class DatabaseFile:
    """A SQLite database with sessions, and the agent that writes it."""

    def __init__(self, path: Path, agent_name: str | None = None) -> None:
        """Open a database, and find the agent that knows its tables.

        With `agent_name`, only that agent is considered.

        Raises:
            UnreadableInput: the database cannot be read.
            NotASession: no agent, or not that one, knows the tables.
        """
        self.path = path
        self.agent_name = agent_name
        self.name = format_path(path.name)
        self.snapshots = SqliteSnapshots(path)
        try:
            tables = self.snapshots.read(_list_tables)
            self.agent, self._database = _find_database_agent(tables, agent_name, str(path))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the copy of the database and the cached results of queries, if any."""
        self.snapshots.close()

    def is_unchanged(self) -> bool:
        """Return whether the database has not changed since it was last read."""
        return self.snapshots.is_unchanged()

    def sessions(self) -> list[ListedSession]:
        """Return the sessions that the database lists, each with its id, times and title.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        return self.snapshots.read(lambda query: list(self._database.sessions(query)))

    def list_marked_sessions(self) -> list[tuple[ListedSession, object]]:
        """Return the sessions, each with a change mark: a value that differs after each change.

        The mark covers rows of the session that the list itself does not show.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        database = self._database
        return self.snapshots.read(
            lambda query: [
                (session, database.compute_change_mark(query, session.session_id))
                for session in database.sessions(query)
            ]
        )

    def source(self, session_id: str) -> Source:
        """Export the rows of a session as a source of one JSON Lines part.

        The part is named after the database and the session, such as `store.s1.jsonl`.

        Raises:
            UnreadableInput: the database cannot be read, or has no such session.
        """
        data = self.snapshots.read(lambda query: self._export_rows(query, session_id))
        if data is None:
            raise UnreadableInput(
                f"session {session_id} not found" if session_id else _NO_SESSION_MESSAGE,
                where=str(self.path),
                hint="To list the sessions: vacr list -v",
            )
        stem = self.name.rpartition(".")[0] or self.name
        # An agent may use any text as a session's id; a file name may not.
        label = _UNSAFE_CHARACTERS.sub("-", session_id)[:_MAX_LABEL_LENGTH]
        return Source((SourcePart(f"{stem}.{label}.jsonl" if label else f"{stem}.jsonl", data),))

    def _export_rows(self, query: DatabaseQuery, session_id: str) -> bytes | None:
        """Return the rows of a session as lines of JSON, or None if it has no rows."""
        rows = self._database.rows(query, session_id)
        first = next(rows, None)
        if not first:
            return None
        every_row = itertools.chain((first,), rows)
        return encode_session_rows(self._database.format_id, session_id, every_row)


def _list_tables(query: DatabaseQuery) -> frozenset[str]:
    """Return the names of all tables of a database, and of their columns as `table.column`.

    Views, and the columns of virtual tables, are left out.
    """
    tables = query("SELECT name FROM sqlite_master WHERE type = 'table'")
    columns = query(_SELECT_COLUMN_NAMES)
    return frozenset(row["name"] for rows in (tables, columns) for row in rows)


def _find_database_agent(
    tables: frozenset[str], agent_name: str | None, where: str
) -> tuple[Agent, SessionDatabase]:
    """Return the agent that knows a database with these tables, and its database layout.

    With `agent_name`, only that agent is considered. `where` is the path for the error.

    Raises:
        NotASession: no such agent knows the tables.
    """
    for agent in load_agents().values():
        for database in agent.databases:
            if database.knows(tables) and agent_name in (None, agent.name):
                return agent, database
    names = sorted({agent.name for agent in load_agents().values() if agent.databases})
    hint = f"Supported are the databases of {', '.join(names)}."
    likely = describe_likely_table(tables)
    if likely is None:
        raise NotASession("unrecognised database", where=where, hint=hint)
    content, next_step = likely
    raise NotASession(f"unrecognised database; {content}", where=where, hint=f"{hint} {next_step}")


_cached_databases: list[DatabaseFile] = []
"""The database of the session that was read last, kept open; at most one."""


@contextmanager
def open_cached_database(path: Path, agent_name: str | None = None) -> Iterator[DatabaseFile]:
    """Open a database for the context, and keep it in a cache of one afterwards.

    Opening the same database again takes it from the cache, if it did not change: results of
    queries, and the copy of the database if one was needed, are reused.

    Raises:
        UnreadableInput: the database cannot be read.
        NotASession: no agent, or not that one, knows its tables.
    """
    database = _take_cached_database(path, agent_name) or DatabaseFile(path, agent_name)
    try:
        yield database
    finally:
        _close_cached_database()
        _cached_databases.append(database)
        _close_cached_at_exit(os.getpid())


def _take_cached_database(path: Path, agent_name: str | None) -> DatabaseFile | None:
    """Empty the cache, and return its database if it is the wanted one and did not change.

    Otherwise close it, and return None.
    """
    if not _cached_databases:
        return None
    database = _cached_databases.pop()
    is_wanted = (database.path, database.agent_name) == (path, agent_name)
    if is_wanted and database.is_unchanged():
        return database
    database.close()
    return None


@functools.cache
def _close_cached_at_exit(process: int) -> None:
    """Arrange once for each process id that the cached database is closed when the process ends.

    Workers of a pool do not run `atexit` functions, but they run `multiprocessing` finalizers.
    """
    from multiprocessing.util import Finalize

    del process
    Finalize(None, _close_cached_database, exitpriority=0)


def _close_cached_database() -> None:
    """Close the database in the cache, if there is one, and empty the cache."""
    while _cached_databases:
        _cached_databases.pop().close()


# Folders


class FolderStore:
    """A folder where an agent keeps its sessions, with several files for each session."""

    def __init__(self, path: Path, agent: Agent, folder: SessionFolder) -> None:
        """Remember the folder, its agent and its layout; nothing is read yet."""
        self.path = path
        self.agent = agent
        self.listing_errors: list[UnreadableInput] = []
        """Folders that the last call of `sessions` could not list: sessions may be missing."""
        self._folder = folder

    def sessions(self) -> list[str]:
        """Return the ids of the sessions, and set `listing_errors`.

        A session whose own folder cannot be listed is included: reading it reports the error.

        Raises:
            OSError: the folder itself cannot be listed.
        """
        self.listing_errors = []
        sessions = self._folder.sessions(self._list_files_noting_errors)
        self.listing_errors = [
            error for error in self.listing_errors if Path(error.where).name not in sessions
        ]
        return sessions

    def files(self, session_id: str) -> list[Path]:
        """Return the paths of a session's files, or an empty list if it has none.

        Links are left out, and so are files in folders that cannot be listed.
        """
        names = self._folder.parts(
            lambda pattern: self._list_files(pattern, unlisted=[]), session_id
        )
        return [self.path / name for name in names]

    def source(self, session_id: str, left_out: list[UnreadableInput]) -> Source:
        """Read all files of a session, and return them as the parts of a source.

        Links are not followed; an error for each is added to `left_out`.

        Raises:
            UnreadableInput: the session has no files, or one cannot be read.
        """
        return self._read_source(self._folder.parts, session_id, left_out)

    def read_glimpse(self, session_id: str) -> Source:
        """Read the few files of a session that a summary needs, and return them as a source.

        Raises:
            UnreadableInput: the session has no files, or one cannot be read.
        """
        return self._read_source(self._folder.glimpse, session_id)

    def find_parents(self) -> dict[str, str | None]:
        """Return a dict from each session's id to its parent's id, or None if it has no parent.

        Only a sub-agent's session has a parent. Sessions that cannot be read are left out of the
        dict: reading them later reports why.

        Raises:
            OSError: the folder, or one in it, cannot be listed.
        """
        parents: dict[str, str | None] = {}
        for session_id in self.sessions():
            with suppress(UnreadableInput):
                for reading in self.agent.read(self.read_glimpse(session_id)):
                    parents[session_id] = find_parent_session(reading.record)
        return parents

    def _read_source(
        self,
        list_names: Callable[[FileLister, str], list[str]],
        session_id: str,
        left_out: list[UnreadableInput] | None = None,
    ) -> Source:
        """Read the files that `list_names` names for a session, and return them as a source.

        Add an error for each link to `left_out`, if given.

        Raises:
            UnreadableInput: no file is named, or one cannot be read.
        """
        try:
            names = list_names(lambda pattern: self._list_files(pattern, left_out), session_id)
        except OSError as error:
            raise make_listing_error(error, self.path) from error
        if not names:
            raise make_no_session_error(session_id, self.path)
        return Source(
            tuple(SourcePart(format_path(name), read_bytes(self.path / name)) for name in names)
        )

    def _list_files_noting_errors(self, pattern: str) -> list[str]:
        """Return the paths of files that match a pattern, relative to the store.

        A folder that cannot be listed is returned itself, with a slash at the end, and its error is
        added to `listing_errors`.
        """
        unlisted: list[tuple[Path, OSError]] = []
        files = self._list_files(pattern, unlisted=unlisted)
        self.listing_errors += [make_listing_error(error, folder) for folder, error in unlisted]
        return files + [f"{folder.relative_to(self.path).as_posix()}/" for folder, _ in unlisted]

    def _list_files(
        self,
        pattern: str,
        left_out: list[UnreadableInput] | None = None,
        unlisted: list[tuple[Path, OSError]] | None = None,
    ) -> list[str]:
        """Return the paths of files that match a pattern such as `session/*/*.json`.

        The paths are relative to the store. Only a leading `*` of a name is a wildcard; `?` and
        brackets stand for themselves. Add an error for each link to `left_out`, and each folder
        that cannot be listed to `unlisted`.

        Raises:
            OSError: a folder cannot be listed, and `unlisted` is None.
        """
        *folder_names, file_name = pattern.split("/")
        folders = [self.path]
        for name in folder_names:
            folders = [
                path
                for folder in folders
                for path in _list_matching_paths(folder, name, stat.S_ISDIR, left_out, unlisted)
            ]
        files = [
            path
            for folder in folders
            for path in _list_matching_paths(folder, file_name, stat.S_ISREG, left_out, unlisted)
        ]
        return [file.relative_to(self.path).as_posix() for file in files]


def _list_matching_paths(
    folder: Path,
    name: str,
    is_wanted: Callable[[int], bool],
    left_out: list[UnreadableInput] | None,
    unlisted: list[tuple[Path, OSError]] | None,
) -> list[Path]:
    """Return the paths in a folder that match a name, or `*` and the end of a name.

    `is_wanted` decides by the file mode; links never match, and are noted in `left_out`. If the
    folder cannot be listed, add it with the error to `unlisted`, and return an empty list.

    Raises:
        OSError: the folder cannot be listed, and `unlisted` is None.
    """
    ending = name.removeprefix("*")
    try:
        if ending == name:
            paths = [folder / name]
        else:
            paths = [
                path
                for path in sorted(folder.iterdir())
                if path.name.endswith(ending) and not path.name.startswith(".")
            ]
        return [
            path
            for path in paths
            if is_wanted(_read_file_mode(path)) and not _is_skipped_link(path, left_out)
        ]
    except OSError as error:
        if unlisted is None:
            raise
        unlisted.append((folder, error))
        return []


def _read_file_mode(path: Path) -> int:
    """Return the mode of a file (`st_mode`, its kind and permissions), or 0 if it does not exist.

    `Path.is_file` cannot be used: since Python 3.14 it returns False where permission is denied.

    Raises:
        OSError: the folder of the file cannot be searched.
    """
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return 0
        raise


def _is_skipped_link(path: Path, left_out: list[UnreadableInput] | None) -> bool:
    """Return whether a path is a symbolic link; if so, add one error for it to `left_out`."""
    if not path.is_symlink():
        return False
    if left_out is not None and all(error.where != str(path) for error in left_out):
        left_out.append(UnreadableInput("a link, not followed", where=str(path)))
    return True


def find_folder_store(path: Path) -> FolderStore | None:
    """Return a folder as the store of the agent that recognises its layout.

    Return None if no agent does, or the path is not a folder.
    """
    for agent in load_agents().values():
        folder = agent.folder
        if folder is not None and (
            all(_is_real_folder(path / mark) for mark in folder.marks)
            or _has_sign_file(path, folder.signs)
        ):
            return FolderStore(path, agent, folder)
    return None


def _has_sign_file(path: Path, signs: Iterable[str]) -> bool:
    """Return whether a folder has a file that matches one of the `signs`.

    A sign is a pattern whose first name is a folder, such as `session/*/ses_*.json`.
    """
    for sign in signs:
        name, _, pattern = sign.partition("/")
        folder = path / name
        if _is_real_folder(folder) and next(folder.glob(pattern), None) is not None:
            return True
    return False


def _is_real_folder(path: Path) -> bool:
    """Return whether a path is a folder, and not a link to one."""
    return is_folder(path) and not path.is_symlink()


def find_session_store(path: Path) -> tuple[FolderStore, str] | None:
    """Return the store and the session id for a path like `STORE/session/PROJECT/ID.json`.

    Return None for any other path.
    """
    if path.parent.parent.name == "session" and path.suffix == ".json":
        store = find_folder_store(path.absolute().parent.parent.parent)
        if store is not None:
            return store, path.stem
    return None


def check_not_session_piece(path: Path) -> None:
    """Check that a file is not one of the many files of a session in a folder store.

    Raises:
        NotASession: it is; the hint names the store with the whole session.
    """
    folder = path.absolute().parent.parent
    for agent in load_agents().values():
        if (
            agent.folder is not None
            and folder.name in agent.folder.pieces
            and find_folder_store(folder.parent) is not None
        ):
            hint = (
                f"Record the folder with the whole session, {folder.parent}. Add --session ID "
                "to record only that session."
            )
            raise NotASession("only one of the files of a session", where=str(path), hint=hint)


def find_parent_session(record: Record) -> str | None:
    """Return the id of the session that a sub-agent worked for, from the sub-agent's record.

    Return None for other sessions (their format is not `autonomous`): a fork also names a parent,
    but a person works in it.
    """
    parent: str | None = record["vacr"].get("parent", {}).get("session-id")
    return parent if record["session"].get("format") == "autonomous" else None


def make_no_session_error(session_id: str | None, path: str | Path) -> UnreadableInput:
    """Return the error to raise if a path does not have the session with this id."""
    return UnreadableInput(
        f"session {session_id} not found",
        where=str(path),
        hint="To list the sessions: vacr list -v. Without --session, all sessions are recorded.",
    )


def make_listing_error(error: OSError, path: Path) -> UnreadableInput:
    """Return the error to raise if a folder cannot be listed; it names the path in `error`.

    If `error` has no path, it names `path`.
    """
    return UnreadableInput(describe_file_error(error), where=str(error.filename or path))
