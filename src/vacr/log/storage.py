"""How a log is stored: the interface of every storage, and the storage in a SQLite file.

A log can live in SQLite (here) or in PostgreSQL (`postgres.py`). Both keep the entries, the tiles
of the Merkle tree, an index from leaf hashes to positions, and every head that was signed. A batch
of entries is one transaction, and it moves the head by compare-and-swap: only from the head that
the batch was built on. A new log has one entry, which describes the log itself:

    >>> from contextlib import closing
    >>> from vacr.log import create_log
    >>> with closing(create_log("mylog").reader()) as reader:
    ...     reader.head().head.size, reader.count_rows()
    (1, {'entries': 1, 'leaves': 1, 'tiles': 1, 'heads': 1})

An entry counts as logged only once it is on the disk. So the SQLite file uses a write-ahead log and
syncs every commit, and each setting is read back: SQLite reports an error of a PRAGMA only when its
result is fetched, and a log that missed the error would go on without being durable.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput
from vacr.files import hold_file_lock, rewrite_and_sync, sync_folder
from vacr.transparency import Tile, TreeHead

STORAGE_FORMAT = 2
"""The version of the table layout; a storage with another version is refused."""
_INDEX_MERGE_INTERVAL = 4_096
"""Number of entries after which the new part of the index is merged into the old part.

Leaf hashes are random, so each row inserted into a large index touches a page of its own. Merging
many sorted rows at once lets them share pages.
"""
_INDEX_PREFIX_SIZE = 8


# --- Errors ---


class StorageFailed(Unreachable):
    """A read or write failed; the operation was not done, or its outcome is unknown."""


class HeadMoved(Unreachable):
    """Another writer moved the head. The batch was not written, and can be tried again."""


class LogDamaged(InvalidStatement):
    """The stored data differs from the data that was written."""

    def __init__(
        self, message: str, *, where: str = "", hint: str = "Check the log with: vacr log fsck"
    ) -> None:
        """Describe the damage."""
        super().__init__(message, reason="log-damaged", where=where, hint=hint)


# --- Stored types ---


@dataclass(frozen=True, slots=True)
class StoredHead:
    """A signed tree head as it is stored."""

    head: TreeHead
    time: int
    """When the head was signed, in seconds since 1970."""
    description: int
    """The position of the log's newest description of itself at that time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The entries that one transaction appends, with everything that changes because of them."""

    before: StoredHead | None
    """The head that the batch was built on, or None for the first entry of a new log."""
    entries: Sequence[bytes]
    leaves: Sequence[bytes]
    """The leaf hashes of the entries, in the same order."""
    tiles: dict[tuple[int, int], Tile]
    """The changed tiles, by level and number."""
    after: StoredHead
    """The signed head of the tree with the batch."""

    @property
    def first_position(self) -> int:
        """The position of the first entry of the batch."""
        return self.after.head.size - len(self.entries)

    def list_index_rows(self) -> list[tuple[int, int]]:
        """Return (prefix of the leaf hash, position) for each entry of the batch, sorted."""
        prefixes = map(compute_index_prefix, self.leaves)
        positions = range(self.first_position, self.after.head.size)
        return sorted(zip(prefixes, positions, strict=True))

    def completes_index_part(self) -> bool:
        """Return whether the new part of the index must now be merged into the old part."""
        parts_before = self.first_position // _INDEX_MERGE_INTERVAL
        parts_after = self.after.head.size // _INDEX_MERGE_INTERVAL
        return parts_before != parts_after


def compute_index_prefix(leaf: bytes) -> int:
    """Return the first eight bytes of a leaf hash as the signed number that the index stores."""
    return int.from_bytes(leaf[:_INDEX_PREFIX_SIZE], "big", signed=True)


# --- The interface ---


class LogReader(Protocol):
    """The read operations of a storage.

    Each of them raises StorageFailed if the database fails.
    """

    def head(self) -> StoredHead | None:
        """Return the current head, or None if the log has not been created yet."""
        ...

    def head_until(self, size: int) -> StoredHead | None:
        """Return the newest head whose tree has at most this size, or None before the first."""
        ...

    def heads(self) -> Iterator[StoredHead]:
        """Yield every signed head, oldest first."""
        ...

    def entries(self, first: int, end: int) -> list[bytes]:
        """Return the entries from position `first` up to, but not including, `end`.

        The list is shorter if entries are missing.
        """
        ...

    def tile(self, level: int, number: int) -> bytes | None:
        """Return the concatenated hashes of a tile, or None if it is not stored."""
        ...

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Return (prefix, position in the log) for each leaf hash with one of these prefixes."""
        ...

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows of `entries`, `leaves`, `tiles` and `heads`, by these names."""
        ...


class LogTransaction(LogReader, Protocol):
    """A storage within a write transaction."""

    def append(self, batch: Batch) -> None:
        """Append a batch within a transaction, and make its head the current one.

        Raises:
            HeadMoved: the head has moved since the batch was built.
        """
        ...


class LogStorage(LogReader, Protocol):
    """An open storage."""

    def transaction(self) -> AbstractContextManager[LogTransaction]:
        """Begin an exclusive write transaction; it is durable once the context ends normally."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads within the context see the log as it is now."""
        ...

    def check_database(self) -> list[str]:
        """Run the database's own integrity check, and return its complaints; empty if it passes."""
        ...

    def close(self) -> None:
        """Close the database; uncommitted writes are lost."""
        ...


# --- SQLite ---

_LOCK_WAIT_SECONDS = 30.0
"""How long to wait for another writer."""
_SYNCHRONOUS_FULL = 2
_CORRUPTION_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_CACHE_KILOBYTES = 16_384
"""Page cache: enough for every page that a batch touches, however large the log is."""

_SCHEMA = (
    "CREATE TABLE entries (position INTEGER PRIMARY KEY, entry BLOB NOT NULL)",
    (
        "CREATE TABLE old_leaves (prefix INTEGER, position INTEGER, PRIMARY KEY (prefix, "
        "position)) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE new_leaves (prefix INTEGER, position INTEGER, PRIMARY KEY (prefix, "
        "position)) WITHOUT ROWID"
    ),
    "CREATE VIEW leaves AS SELECT * FROM old_leaves UNION ALL SELECT * FROM new_leaves",
    "CREATE TABLE tiles (place INTEGER PRIMARY KEY, hashes BLOB NOT NULL)",
    """CREATE TABLE heads (
        size INTEGER PRIMARY KEY, root BLOB NOT NULL, protected BLOB NOT NULL,
        signature BLOB NOT NULL, time INTEGER NOT NULL, description INTEGER NOT NULL)""",
    (
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL, root "
        "BLOB NOT NULL)"
    ),
    "INSERT INTO head VALUES (1, 0, x'')",
    f"PRAGMA user_version = {STORAGE_FORMAT}",
)
_COUNT_ROWS = {
    "entries": "SELECT count(*) FROM entries",
    "leaves": "SELECT count(*) FROM leaves",
    "tiles": "SELECT count(*) FROM tiles",
    "heads": "SELECT count(*) FROM heads",
}
_HEAD_COLUMN_TYPES = (int, bytes, bytes, bytes, int, int)
_SELECT_POSITIONS = "SELECT prefix, position FROM leaves WHERE prefix IN"
_SELECT_HEADS = "SELECT heads.size, heads.root, protected, signature, time, description FROM heads"


class SqliteStorage:
    """An open log in a SQLite file; implements `LogStorage` and `LogTransaction`."""

    def __init__(self, path: Path, *, create: bool = False, readonly: bool = False) -> None:
        """Open the file; with `create`, also create it and its tables.

        Raises:
            UnreadableInput: the file is missing, or its layout has another version.
            StorageFailed: it cannot be opened, or commits would not be durable.
        """
        self.path = path
        if not create and not path.is_file():
            hint = "Restore its newest copy. A new database would be a different log."
            raise UnreadableInput("the log's database file is missing", where=str(path), hint=hint)
        mode = "rwc" if create else "rw"
        if readonly:
            mode = "ro"
        with self._translate_errors():
            self.connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_LOCK_WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._translate_errors():
                self._prepare(create=create, readonly=readonly)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the database; uncommitted writes are lost."""
        with suppress(sqlite3.Error):
            self.connection.close()

    def _prepare(self, *, create: bool, readonly: bool) -> None:
        """Set up the connection, create the tables if asked to, and check their version.

        Raises:
            UnreadableInput: another version of vacr made the log, or the file is not a log.
        """
        if not readonly:
            self._make_commits_durable()
        if create:
            with self._hold_write_lock():
                self._create_tables()
        version = self._fetch_value("PRAGMA user_version")
        if version != STORAGE_FORMAT:
            hint = "Another version of vacr made this log, or the file is not a log."
            raise UnreadableInput(
                f"unknown database layout {version}; this version of vacr reads {STORAGE_FORMAT}",
                where=str(self.path),
                hint=hint,
            )

    def _make_commits_durable(self) -> None:
        """Set SQLite up to sync every commit, and sync the data of an earlier process."""
        self._require_setting("PRAGMA journal_mode = WAL", "wal")
        self._fetch_rows("PRAGMA synchronous = FULL")
        self._require_setting("PRAGMA synchronous", _SYNCHRONOUS_FULL)
        self._fetch_rows(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
        self._recover_write_ahead_log()
        # SQLite syncs the folder entry of a new write-ahead log, but ignores a failure to do so.
        sync_folder(self.path.parent)

    def _require_setting(self, pragma: str, expected: Any) -> None:
        """Execute a PRAGMA, and raise StorageFailed unless its result is the expected one."""
        actual = self._fetch_value(pragma)
        if actual != expected:
            raise StorageFailed(
                f"SQLite cannot store data durably here: {pragma} gave {actual!r} instead of "
                f"{expected!r}",
                where=str(self.path),
                hint="Use a local disk.",
            )

    def _recover_write_ahead_log(self) -> None:
        """Sync the data that an earlier process left in the write-ahead log, perhaps unsynced.

        After a failed sync, the kernel keeps returning the data from memory but never writes it to
        the disk. So the write-ahead log is rewritten byte for byte and synced, and only then
        checkpointed into the database: the other way round, a power cut in between would leave a
        half-updated database without the log that repairs it.

        Raises:
            StorageFailed: another process keeps the database busy.
        """
        with self._hold_write_lock():
            rewrite_and_sync(self.path.with_name(f"{self.path.name}-wal"))
            busy, *_ = self._fetch_rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        if busy:
            raise StorageFailed(
                "another process keeps the log's database busy",
                where=str(self.path),
                hint="Try again.",
            )

    def _create_tables(self) -> None:
        self._fetch_rows("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            self._fetch_rows(statement)
        self._fetch_rows("COMMIT")

    # --- Reading ---

    def head(self) -> StoredHead | None:
        """Return the current head, or None if the log has not been created yet."""
        current = self._select_heads(f"{_SELECT_HEADS} JOIN head ON head.size = heads.size")
        return next(current, None)

    def head_until(self, size: int) -> StoredHead | None:
        """Return the newest head whose tree has at most this size, or None before the first."""
        query = f"{_SELECT_HEADS} WHERE size <= ? ORDER BY size DESC LIMIT 1"
        return next(self._select_heads(query, size), None)

    def heads(self) -> Iterator[StoredHead]:
        """Yield every signed head, oldest first."""
        return self._select_heads(f"{_SELECT_HEADS} ORDER BY size")

    def _select_heads(self, query: str, *parameters: Any) -> Iterator[StoredHead]:
        """Yield the heads that a query returns; raise LogDamaged for a malformed row."""
        with self._translate_errors():
            for row in self.connection.execute(query, parameters):
                # SQLite columns hold values of any type, so damage can change the type.
                if tuple(map(type, row)) != _HEAD_COLUMN_TYPES:
                    raise LogDamaged("a stored tree head is damaged", where=str(self.path))
                size, root, protected, signature, time, description = row
                yield StoredHead(TreeHead(size, root, protected, signature), time, description)

    def entries(self, first: int, end: int) -> list[bytes]:
        """Return the entries from position `first` up to, but not including, `end`.

        The list is shorter if entries are missing.

        Raises:
            LogDamaged: an entry is damaged.
            StorageFailed: the database cannot be read.
        """
        with self._translate_errors():
            rows = self._fetch_rows(
                "SELECT entry FROM entries WHERE position >= ? AND position < ? ORDER BY position",
                (first, end),
            )
        if any(type(row[0]) is not bytes for row in rows):
            raise LogDamaged(
                f"an entry between {first} and {end - 1} is damaged", where=str(self.path)
            )
        return [row[0] for row in rows]

    def tile(self, level: int, number: int) -> bytes | None:
        """Return the concatenated hashes of a tile, or None if it is not stored.

        A value of the wrong type counts as not stored.

        Raises:
            LogDamaged: the database is damaged.
            StorageFailed: the database cannot be read.
        """
        with self._translate_errors():
            hashes = self._fetch_value(
                "SELECT hashes FROM tiles WHERE place = ?", (_encode_tile_key(level, number),)
            )
        return hashes if type(hashes) is bytes else None

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Return (prefix, position in the log) for each leaf hash with one of these prefixes."""
        marks = ",".join("?" * len(prefixes))
        # The marks are question marks, so no value can get into the text of the query.
        with self._translate_errors():
            return self._fetch_rows(f"{_SELECT_POSITIONS} ({marks})", prefixes)

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows of `entries`, `leaves`, `tiles` and `heads`, by these names."""
        with self._translate_errors():
            return {table: self._fetch_value(query) for table, query in _COUNT_ROWS.items()}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads within the context see the log as it is now."""
        with self._translate_errors():
            self._fetch_rows("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._fetch_rows("ROLLBACK")

    def check_database(self) -> list[str]:
        """Run the database's own integrity check, and return its complaints; empty if it passes."""
        with self._translate_errors():
            messages = [str(row[0]) for row in self._fetch_rows("PRAGMA integrity_check")]
        return [] if messages == ["ok"] else messages

    # --- Writing ---

    @contextmanager
    def transaction(self) -> Iterator[SqliteStorage]:
        """Begin an exclusive write transaction; it is durable once the context ends normally."""
        with self._hold_write_lock():
            with self._translate_errors():
                self._fetch_rows("BEGIN IMMEDIATE")
            try:
                yield self
                with self._translate_errors():
                    self._fetch_rows("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    if self.connection.in_transaction:
                        self._fetch_rows("ROLLBACK")
                raise

    def append(self, batch: Batch) -> None:
        """Append a batch within a transaction, and make its head the current one.

        Raises:
            HeadMoved: the head has moved since the batch was built.
        """
        with self._translate_errors():
            self._insert_entries(batch)
            self._insert_tiles(batch)
            moved = self._move_head(batch)
        if not moved:
            raise HeadMoved("another writer moved the head of the log", where=str(self.path))

    def _insert_entries(self, batch: Batch) -> None:
        """Insert the entries of a batch and their index rows; merge the index when it is due."""
        insert_many = self.connection.executemany
        positions = range(batch.first_position, batch.after.head.size)
        insert_many("INSERT INTO entries VALUES (?, ?)", zip(positions, batch.entries, strict=True))
        insert_many("INSERT INTO new_leaves VALUES (?, ?)", batch.list_index_rows())
        if batch.completes_index_part():
            self._fetch_rows("INSERT INTO old_leaves SELECT * FROM new_leaves ORDER BY prefix")
            self._fetch_rows("DELETE FROM new_leaves")

    def _insert_tiles(self, batch: Batch) -> None:
        rows = [
            (_encode_tile_key(level, number), tile.encode())
            for (level, number), tile in batch.tiles.items()
        ]
        self.connection.executemany("INSERT OR REPLACE INTO tiles VALUES (?, ?)", rows)

    def _move_head(self, batch: Batch) -> bool:
        """Store the new head and make it current; return whether `batch.before` was current."""
        before, after = batch.before, batch.after
        head = after.head
        row = (head.size, head.root, head.protected, head.signature, after.time, after.description)
        self._fetch_rows("INSERT INTO heads VALUES (?, ?, ?, ?, ?, ?)", row)
        old_size, old_root = (0, b"") if before is None else (before.head.size, before.head.root)
        updated = self.connection.execute(
            "UPDATE head SET size = ?, root = ? WHERE size = ? AND root = ?",
            (head.size, head.root, old_size, old_root),
        )
        return updated.rowcount == 1

    @contextmanager
    def _hold_write_lock(self) -> Iterator[None]:
        """Keep other processes from writing and from checkpointing the write-ahead log.

        SQLite locks both itself. But before version 3.51.3, a commit could be lost when two
        processes did them at the same instant (the "WAL-reset bug").
        """
        with ExitStack() as stack:
            with self._translate_errors():
                lock_file = self.path.with_suffix(".lock")
                stack.enter_context(hold_file_lock(lock_file, _LOCK_WAIT_SECONDS))
            yield

    # --- Statements ---

    def _fetch_rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Execute an SQL statement, and return all its rows; empty if it does not return rows."""
        return self.connection.execute(statement, parameters).fetchall()

    def _fetch_value(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        """Execute an SQL statement, and return the first column of its first row, or None."""
        row = self.connection.execute(statement, parameters).fetchone()
        return row[0] if row is not None else None

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise LogDamaged or StorageFailed in the place of a database error in the context."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", None) in _CORRUPTION_CODES:
                raise LogDamaged(
                    f"the log's database is damaged: {error}", where=str(self.path)
                ) from error
            raise StorageFailed(
                f"the log's database failed: {error}", where=str(self.path)
            ) from error


def _encode_tile_key(level: int, number: int) -> int:
    """Return the primary key of a tile in its table: the level in the bits above the number."""
    return level << 56 | number
