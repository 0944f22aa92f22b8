"""The index: one SQLite file with the rows of all conversations, and their text for search.

The records and the native sessions are the truth. The index can be deleted at any time: it is built
again from them, and again if it is damaged or another version of vacr made it. It lies in the state
folder, readable by its owner only, in the file that also holds the index of `vacr blame`.

    >>> import tempfile, vacr
    >>> from pathlib import Path
    >>> from vacr.archive import SourceVersion, SearchIndex, build_record_rows
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex.open(Path(folder.name))
    >>> source = SourceVersion("/home/mira/session.jsonl", "", 12_218, 1_800_000_000, "5f2a")
    >>> with index.transaction():
    ...     index.add_source(source, [build_record_rows(r) for r in vacr.read("session.jsonl")])
    >>> index.find_stamp(source.path, source.session)
    '5f2a'
    >>> index.count_rows()
    {'records': 1, 'entries': 16, 'calls': 4, 'files': 3, 'usage': 1}
    >>> index.close()
    >>> folder.cleanup()

The text of an entry is stored once, in `entries`; `entry_texts` is the full-text index over it
(SQLite FTS5).
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vacr.errors import UnreadableInput
from vacr.files import (
    STATE_VARIABLE,
    IndexTakenOver,
    check_index_part,
    delete_index_database,
    find_index_file,
    find_making,
    make_state_folder_error,
    open_index_database,
)

if TYPE_CHECKING:  # The rows need the viewer; reading the index does not.
    from vacr.archive.record_rows import RecordRows

_PART = "search"
_REBUILD_HINT = "The index is only a cache. Delete the file; the next search builds it again."
_BUSY_HINT = "Another program writes it. Wait until that ends, and try again."
_TAKEN_HINT = (
    "Two versions of vacr share this index. Install one version, then restart this program."
)
_FULL_HINT = (
    f"The disk is full. Free some space, or set {STATE_VARIABLE} to a folder on another disk."
)
_UNWRITABLE_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_BUSY_SECONDS = 30.0
"""How long to wait for another program; it may have to empty a large index of another version."""

TABLES: dict[str, dict[str, str]] = {
    "records": {
        "record": "INTEGER PRIMARY KEY",
        "source": "INTEGER NOT NULL",
        "source_path": "TEXT NOT NULL",
        "is_repeated": "INTEGER NOT NULL DEFAULT 0",
        "id": "TEXT",
        "session": "TEXT",
        "parent": "TEXT",
        "agent": "TEXT",
        "kept_by": "TEXT",
        "version": "TEXT",
        "model": "TEXT",
        "title": "TEXT",
        "project": "TEXT",
        "repo": "TEXT",
        "branch": "TEXT",
        "commit_id": "TEXT",
        "start_ms": "INTEGER",
        "end_ms": "INTEGER",
        "duration_ms": "INTEGER",
        "entries": "INTEGER",
        "prompts": "INTEGER",
        "calls": "INTEGER",
        "failed": "INTEGER",
        "added": "INTEGER",
        "removed": "INTEGER",
        "input": "INTEGER",
        "output": "INTEGER",
        "cost": "REAL",
        "is_estimated": "INTEGER",
        "is_unpriced": "INTEGER",
    },
    "entries": {
        "entry": "INTEGER PRIMARY KEY",
        "record": "INTEGER NOT NULL",
        "n": "INTEGER",
        "place": "TEXT",
        "kind": "TEXT",
        "speaker": "TEXT",
        "is_prompt": "INTEGER",
        "prompt": "TEXT",
        "time_ms": "INTEGER",
        "model": "TEXT",
        "sub_agent": "TEXT",
        "tool": "TEXT",
        "is_error": "INTEGER",
        "is_copy": "INTEGER",
        "summary": "TEXT",
        "text": "TEXT",
    },
    "calls": {
        "record": "INTEGER NOT NULL",
        "n": "INTEGER",
        "place": "TEXT",
        "call_id": "TEXT",
        "tool": "TEXT",
        "status": "TEXT",
        "exit_code": "INTEGER",
        "is_error": "INTEGER",
        "duration_ms": "INTEGER",
    },
    "files": {
        "record": "INTEGER NOT NULL",
        "n": "INTEGER",
        "place": "TEXT",
        "path": "TEXT",
        "how": "TEXT",
        "added": "INTEGER",
        "removed": "INTEGER",
    },
    "usage": {
        "record": "INTEGER NOT NULL",
        "time_ms": "INTEGER",
        "day": "TEXT",
        "model": "TEXT",
        "turns": "INTEGER",
        "input": "INTEGER",
        "cached": "INTEGER",
        "output": "INTEGER",
        "reasoning": "INTEGER",
        "total": "INTEGER",
        "cost": "REAL",
        "stated": "REAL",
        "is_estimated": "INTEGER",
        "unpriced": "INTEGER",
    },
}
"""The tables that `vacr sql` documents: the columns of each, and their types."""
_WEEKLY_USAGE = """
CREATE VIEW weekly_usage AS
SELECT date(day, '-6 days', 'weekday 1') AS week, records.agent, records.repo, records.project,
       usage.model, count(DISTINCT record) AS sessions, sum(usage.turns) AS turns,
       sum(usage.input) AS input, sum(usage.cached) AS cached, sum(usage.output) AS output,
       sum(usage.reasoning) AS reasoning, sum(usage.cost) AS cost,
       max(usage.is_estimated) AS is_estimated, sum(usage.unpriced) AS unpriced
FROM usage JOIN records USING (record)
WHERE NOT records.is_repeated
GROUP BY week, records.agent, records.repo, records.project, usage.model
"""
VIEW_COLUMNS = {
    "weekly_usage": (
        "week",
        "agent",
        "repo",
        "project",
        "model",
        "sessions",
        "turns",
        "input",
        "cached",
        "output",
        "reasoning",
        "cost",
        "is_estimated",
        "unpriced",
    )
}
"""The views that `vacr sql` documents, with their columns."""
_SOURCES = """
CREATE TABLE sources (
    source INTEGER PRIMARY KEY, path TEXT NOT NULL, session TEXT NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, stamp TEXT NOT NULL, failure TEXT NOT NULL, UNIQUE (path, session))
"""
_INDEXES = (
    "CREATE INDEX record_of_source ON records (source)",
    "CREATE INDEX record_of_session ON records (session)",
    "CREATE INDEX entry_of_record ON entries (record, n)",
    "CREATE INDEX call_of_record ON calls (record)",
    "CREATE INDEX call_of_tool ON calls (tool, is_error)",
    "CREATE INDEX file_of_record ON files (record)",
    "CREATE INDEX file_of_path ON files (path)",
    "CREATE INDEX usage_of_record ON usage (record)",
)
_MARK_REPEATED = """
UPDATE records SET is_repeated = ranked.number > 1 FROM (
    SELECT record AS ranked_record, row_number() OVER (
        PARTITION BY iif(kept_by = '', agent, kept_by), session
        ORDER BY kept_by <> '', entries DESC, source_path LIKE '%.acr.%', record) AS number
    FROM records) AS ranked
WHERE record = ranked_record AND is_repeated <> (ranked.number > 1)
"""
_ENTRY_TEXTS = (
    "CREATE VIRTUAL TABLE entry_texts USING fts5(text, content = 'entries', "
    "content_rowid = 'entry', tokenize = 'unicode61 remove_diacritics 2')"
)


def _list_schema() -> list[str]:
    """Return the statements that create all tables, views and indexes of this part."""
    tables = [
        f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"
        for name, columns in TABLES.items()
    ]
    return [_SOURCES, *tables, *_INDEXES, _ENTRY_TEXTS, _WEEKLY_USAGE]


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A file with conversations, or one session of a database, and when it last changed."""

    path: str
    """The absolute path."""
    session: str
    """The id of the session if the path has several, or else empty."""
    size: int
    mtime: int
    """When it was last written, in nanoseconds since 1970."""
    stamp: str
    """A digest that changes whenever the source is written."""


class LostIndex(UnreadableInput):
    """The rows of this version are gone: another version rebuilt the index, or it was damaged."""

    is_taken_over = False
    """Whether another version has it now; a damaged index was deleted."""


class SearchIndex:
    """The index in the state folder, open for reading and writing."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use an open database that has the tables of this version."""
        self.connection = connection
        self.path = path
        self._file = _identify_file(path)
        self._making = find_making(connection, _PART)

    @classmethod
    def open(cls, state: Path) -> SearchIndex:
        """Open the index in the state folder; create it, or build new tables, where needed.

        Raises:
            UnreadableInput: it cannot be created or opened, or another program locks it.
        """
        path = find_index_file(state)
        try:
            schema = _list_schema()
            return cls(open_index_database(path, _PART, schema, wait=_BUSY_SECONDS), path)
        except (sqlite3.Error, OSError) as error:
            # A symbolic link in place of the file, or the file of another user, has another reason.
            if isinstance(error, OSError) and error.errno not in (None, errno.ELOOP):
                raise make_state_folder_error(state, error) from error
            raise _make_error("open", path, error) from error

    @property
    def state(self) -> Path:
        """Return the state folder that the index is in."""
        return self.path.parents[1]

    @property
    def is_empty(self) -> bool:
        """Return whether the index has no conversations."""
        with self.reading():
            return self.connection.execute("SELECT 1 FROM records LIMIT 1").fetchone() is None

    def close(self) -> None:
        """Close the database."""
        with suppress(sqlite3.Error):
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run the queries of the block on one state of the index, which no other program changes.

        A block inside another one, or inside a transaction, reads what that one does.

        Raises:
            LostIndex: another version of vacr has rebuilt it, or it was damaged and is deleted.
            UnreadableInput: it cannot be read.
        """
        if self.connection.in_transaction:
            yield
            return
        with self._run("read", "BEGIN"):
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in one transaction; undo it if the block raises.

        Raises:
            LostIndex: another version of vacr has rebuilt it, or it was damaged and is deleted.
            UnreadableInput: the index is full, or another program locks it.
        """
        with self._run("write", "BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def _run(self, verb: str, begin: str) -> Iterator[None]:
        """Run the block in one transaction over the tables of this version."""
        try:
            self.connection.execute(begin)
            try:
                check_search_tables(self.connection)
                self._check_making()
                yield
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite undoes it itself if the file is damaged.
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            if is_damage(error):
                self.close()
                if _identify_file(self.path) == self._file:  # Nobody has replaced it yet.
                    delete_index_database(self.path)
            raise _make_error(verb, self.path, error) from error

    def _check_making(self) -> None:
        """Check that the rows are those of this connection, not made anew by its own version.

        Raises:
            IndexTakenOver: the tables were made anew: another version had taken them.
        """
        if find_making(self.connection, _PART) != self._making:
            raise IndexTakenOver

    def find_stamp(self, path: str, session: str) -> str | None:
        """Return the stamp of a source when it was indexed, or None if it was not."""
        with self.reading():
            row = self.connection.execute(
                "SELECT stamp FROM sources WHERE path = ? AND session = ?",
                (encode_name(path), encode_name(session)),
            ).fetchone()
        return str(row[0]) if row is not None else None

    def list_sources(self) -> dict[tuple[str, str], str]:
        """Return the stamps of all sources, by path and session."""
        with self.reading():
            rows = self.connection.execute("SELECT path, session, stamp FROM sources").fetchall()
        return {(decode_name(path), decode_name(session)): stamp for path, session, stamp in rows}

    def add_source(
        self, source: SourceVersion, rows: Iterable[RecordRows], failure: str = ""
    ) -> None:
        """Add a source with the rows of its records, in place of an older version of it.

        `failure` says why the source has no records. Call it in a transaction.
        """
        self.remove_source(source.path, source.session)
        added = self.connection.execute(
            "INSERT INTO sources (path, session, size, mtime, stamp, failure) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                encode_name(source.path),
                encode_name(source.session),
                source.size,
                source.mtime,
                source.stamp,
                clean_value(failure),
            ),
        )
        for record_rows in rows:
            self._add_record(added.lastrowid or 0, source.path, record_rows)

    def _add_record(self, source: int, path: str, rows: RecordRows) -> None:
        """Add the rows of one record, and its text to the full-text index."""
        columns = {"source": source, "source_path": path, **rows.record}
        added = self._insert("records", [_clean_values(columns)])
        entries = [{"record": added, **row} for row in rows.entries]
        if entries:
            last = self.connection.execute("SELECT ifnull(max(entry), 0) FROM entries").fetchone()
            first = int(last[0]) + 1
            numbered = [
                _clean_values({"entry": number, **row}) for number, row in enumerate(entries, first)
            ]
            self._insert("entries", numbered)
            self.connection.executemany(
                "INSERT INTO entry_texts (rowid, text) VALUES (?, ?)",
                [(row["entry"], row["text"]) for row in numbered if row["text"]],
            )
        for table, listed in (("calls", rows.calls), ("files", rows.files), ("usage", rows.usage)):
            self._insert(table, [_clean_values({"record": added, **row}) for row in listed])

    def _insert(self, table: str, rows: Sequence[dict[str, Any]]) -> int:
        """Insert rows with the same columns; return the number of the last one, 0 without rows."""
        if not rows:
            return 0
        names = ", ".join(rows[0])
        marks = ", ".join("?" * len(rows[0]))
        statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"
        if len(rows) == 1:
            return self.connection.execute(statement, tuple(rows[0].values())).lastrowid or 0
        self.connection.executemany(statement, [tuple(row.values()) for row in rows])
        return 0

    def remove_source(self, path: str, session: str) -> None:
        """Remove a source with all its rows; do nothing if the index does not have it.

        Call it in a transaction.
        """
        found = self.connection.execute(
            "SELECT source FROM sources WHERE path = ? AND session = ?",
            (encode_name(path), encode_name(session)),
        ).fetchone()
        if found is None:
            return
        records = self.connection.execute("SELECT record FROM records WHERE source = ?", found)
        for (record,) in records.fetchall():
            self._remove_record(record)
        self.connection.execute("DELETE FROM sources WHERE source = ?", found)

    def _remove_record(self, record: int) -> None:
        """Remove the rows of a record; the full-text index needs the old text for that."""
        self.connection.execute(
            "INSERT INTO entry_texts (entry_texts, rowid, text) "
            "SELECT 'delete', entry, text FROM entries WHERE record = ? AND text <> ''",
            (record,),
        )
        for table in ("entries", "calls", "files", "usage", "records"):
            self.connection.execute(
                f"DELETE FROM {table} WHERE record = ?",
                (record,),
            )

    def mark_repeated_records(self) -> None:
        """Mark all recordings of a session but one, so that no session counts twice.

        The agent's own recording wins, then the longest. Call it in a transaction, after sources
        were added or removed.
        """
        self.connection.execute(_MARK_REPEATED)

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows in each table."""
        return {
            name: self.connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in TABLES
        }


def check_search_tables(connection: sqlite3.Connection) -> None:
    """Check in a transaction that the tables for search are those of this version.

    Raises:
        IndexTakenOver: another version of vacr has rebuilt them.
    """
    check_index_part(connection, _PART, _list_schema())


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the file is damaged."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from a later one of that name; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _make_error(verb: str, path: Path, error: Exception) -> UnreadableInput:
    """Return the error of something that could not be done to the index."""
    is_taken_over = isinstance(error, IndexTakenOver)
    is_lost = is_taken_over or (isinstance(error, sqlite3.Error) and is_damage(error))
    kind = LostIndex if is_lost else UnreadableInput
    made = kind(f"cannot {verb} the index: {error}", where=str(path), hint=_choose_hint(error))
    if isinstance(made, LostIndex):
        made.is_taken_over = is_taken_over
    return made


def _choose_hint(error: Exception) -> str:
    """Return the next step after an error; a file in use must not be deleted."""
    if isinstance(error, IndexTakenOver):
        return _TAKEN_HINT
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return _FULL_HINT
    if code in _UNWRITABLE_CODES:
        return f"Set {STATE_VARIABLE} to a folder that you can write."
    return _BUSY_HINT if "locked" in str(error) else _REBUILD_HINT


_MAX_INTEGER = (1 << 63) - 1
WORD_START, WORD_END = "\x02", "\x03"
"""Control characters around found words in a snippet; a session cannot forge them."""


def _clean_values(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose values SQLite can store."""
    return {
        name: clean_value(value) if type(value) is str or type(value) is int else value
        for name, value in row.items()
    }


def clean_value(value: Any) -> Any:
    """Return a value that SQLite can store.

    Lone surrogates become `?`, numbers beyond 64 bits the nearest one, and the control characters
    that mark found words are removed.
    """
    if type(value) is str:
        # Two searches for a character are much faster than a translation of the whole text.
        text = value.replace(WORD_START, "").replace(WORD_END, "")
        if text.isascii():
            return text
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return text.encode("utf-8", "replace").decode("utf-8")
        return text
    if type(value) is int:
        return max(-_MAX_INTEGER, min(value, _MAX_INTEGER))
    return value


def encode_name(name: str) -> str | bytes:
    """Return the name of a source as the index stores it: bytes if it is not valid Unicode.

    The name of a file may be any bytes, and the file must be found again by it.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")
    return name


def decode_name(stored: str | bytes) -> str:
    """Return the name of a source that `encode_name` encoded."""
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else stored


def get_file_size(path: Path) -> int:
    """Return the size of the index on disk in bytes, its log included; 0 if it does not exist."""
    size = 0
    for suffix in ("", "-wal"):
        with suppress(OSError):
            size += path.with_name(path.name + suffix).stat().st_size
    return size
