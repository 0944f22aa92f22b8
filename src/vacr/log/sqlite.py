"""A log in one SQLite file. Step: register.

Write-ahead log, every commit synced. What a PRAGMA answers is fetched and compared: an error while
it is carried out would be lost otherwise, and the log would go on without being durable.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput
from vacr.files import hold_file_lock, rewrite_and_sync, sync_folder
from vacr.log.storage import STORAGE_FORMAT, Batch, HeadMoved, LogDamaged, StorageFailed, StoredHead
from vacr.transparency import TreeHead

_LOCK_WAIT_SECONDS = 30.0
"""How many seconds to wait for another writer."""
_SYNCHRONOUS_FULL = 2
_CORRUPTION_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_CACHE_KILOBYTES = 16_384
"""Kilobytes of pages in memory: enough for all that a batch touches, whatever the size of the log.
"""

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
        size INTEGER PRIMARY KEY, root BLOB NOT NULL, protected BLOB NOT NULL, signature BLOB NOT NULL,
        time INTEGER NOT NULL, description INTEGER NOT NULL)""",
    (
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL, root "
        "BLOB NOT NULL)"
    ),
    "INSERT INTO head VALUES (1, 0, x'')",
    f"PRAGMA user_version = {STORAGE_FORMAT}",
)
_HEAD_COLUMN_TYPES = (int, bytes, bytes, bytes, int, int)
_SELECT_HEADS = "SELECT heads.size, heads.root, protected, signature, time, description FROM heads"


class SqliteStorage:
    """A log in a SQLite file that is open."""

    def __init__(self, path: Path, *, create: bool = False, readonly: bool = False) -> None:
        """Open the file, and make the tables where they are to be made.

        Raises:
            UnreadableInput: there is no log in it, or one of another layout.
            StorageFailed: it cannot be opened so that commits are durable.
        """
        self.path = path
        if not create and not path.is_file():
            hint = (
                "Put the newest copy of it back. It is not made again: another one would be "
                "another log."
            )
            raise UnreadableInput("the database of the log is gone", where=str(path), hint=hint)
        mode = "ro" if readonly else "rwc" if create else "rw"
        with self._failing():
            self.connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_LOCK_WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._failing():
                self._open(create=create, readonly=readonly)
        except BaseException:
            self.close()
            raise

    def _open(self, *, create: bool, readonly: bool) -> None:
        if not readonly:
            self._demand("PRAGMA journal_mode = WAL", "wal")
            self._ask("PRAGMA synchronous = FULL")
            self._demand("PRAGMA synchronous", _SYNCHRONOUS_FULL)
            self._ask(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
            self._recover()
            # SQLite syncs the name of the write-ahead log itself, and does not look whether that
            # worked.
            sync_folder(self.path.parent)
        if create:
            with self._alone():
                self._create()
        version = self._one("PRAGMA user_version")
        if version != STORAGE_FORMAT:
            hint = "It is from another version of vacr, or no log."
            raise UnreadableInput(
                f"a log of layout {version}, not {STORAGE_FORMAT}", where=str(self.path), hint=hint
            )

    def _recover(self) -> None:
        """See to the disk what an earlier process wrote and may have failed to sync.

        After such a failure the system gives back what it holds in memory and never writes it. So
        the write-ahead log is written again, byte for byte; only then it may be moved into the
        file, which would be broken without it if the power failed then.
        """
        with self._alone():
            rewrite_and_sync(self.path.with_name(f"{self.path.name}-wal"))
            busy, *_ = self._ask("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        if busy:
            raise StorageFailed(
                "another process uses the log without pause",
                where=str(self.path),
                hint="Try again.",
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else write, nor move the write-ahead log into the file.

        SQLite has locks of its own for both; but before version 3.51.3 one of two who do that at
        the same instant may be lost (its "WAL-reset bug").
        """
        with ExitStack() as stack:
            with self._failing():
                stack.enter_context(
                    hold_file_lock(self.path.with_suffix(".lock"), _LOCK_WAIT_SECONDS)
                )
            yield

    def _create(self) -> None:
        self._ask("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            self._ask(statement)
        self._ask("COMMIT")

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", None) in _CORRUPTION_CODES:
                raise LogDamaged(f"the log's database: {error}", where=str(self.path)) from error
            raise StorageFailed(f"the log's database: {error}", where=str(self.path)) from error

    def _ask(self, statement: str, given: Sequence[Any] = ()) -> list[Any]:
        return self.connection.execute(statement, given).fetchall()

    def _one(self, statement: str, given: Sequence[Any] = ()) -> Any:
        row = self.connection.execute(statement, given).fetchone()
        return row[0] if row is not None else None

    def _demand(self, pragma: str, wanted: Any) -> None:
        found = self._one(pragma)
        if found != wanted:
            raise StorageFailed(f"{pragma}: {found!r}, not {wanted!r}", where=str(self.path))

    # --- reading ---

    def head(self) -> StoredHead | None:
        """Give the head; nothing where there is no log yet."""
        return next(self._heads(f"{_SELECT_HEADS} JOIN head ON head.size = heads.size"), None)

    def head_until(self, size: int) -> StoredHead | None:
        """Give the last head of at most a size."""
        return next(
            self._heads(f"{_SELECT_HEADS} WHERE size <= ? ORDER BY size DESC LIMIT 1", size), None
        )

    def heads(self) -> Iterator[StoredHead]:
        """Give all heads, from the first on."""
        return self._heads(f"{_SELECT_HEADS} ORDER BY size")

    def _heads(self, statement: str, *given: Any) -> Iterator[StoredHead]:
        with self._failing():
            for row in self.connection.execute(statement, given):
                if tuple(map(type, row)) != _HEAD_COLUMN_TYPES:
                    raise LogDamaged("a head that is not as it was written", where=str(self.path))
                size, root, protected, signature, time, description = row
                yield StoredHead(TreeHead(size, root, protected, signature), time, description)

    def entries(self, first: int, end: int) -> list[bytes]:
        """Give entries, from one position up to another."""
        with self._failing():
            rows = self._ask(
                "SELECT entry FROM entries WHERE position >= ? AND position < ? ORDER BY position",
                (first, end),
            )
        if any(type(row[0]) is not bytes for row in rows):
            raise LogDamaged(
                f"an entry from {first} on is not as it was written", where=str(self.path)
            )
        return [row[0] for row in rows]

    def tile(self, level: int, number: int) -> bytes | None:
        """Give the hashes of a tile."""
        with self._failing():
            found = self._one(
                "SELECT hashes FROM tiles WHERE place = ?", (_encode_tile_key(level, number),)
            )
        return found if type(found) is bytes else None

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Give the positions of leaves that begin so, each with its beginning."""
        marks = ",".join("?" * len(prefixes))
        with self._failing():
            return self._ask(
                f"SELECT prefix, position FROM leaves WHERE prefix IN ({marks})",  # noqa: S608
                prefixes,
            )

    def counts(self) -> dict[str, int]:
        """Count what is stored, table by table."""
        with self._failing():
            return {
                name: self._one(f"SELECT count(*) FROM {name}")  # noqa: S608
                for name in ("entries", "leaves", "tiles", "heads")
            }

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read the log as it is at this moment, whatever is added meanwhile."""
        with self._failing():
            self._ask("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._ask("ROLLBACK")

    def check(self) -> list[str]:
        """Have the database check itself; gives what it complains about."""
        with self._failing():
            found = [str(row[0]) for row in self._ask("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    # --- writing ---

    @contextmanager
    def writing(self) -> Iterator[SqliteStorage]:
        """Begin a transaction, alone; it is durable when the context has ended without an error."""
        with self._alone():
            with self._failing():
                self._ask("BEGIN IMMEDIATE")
            try:
                yield self
                with self._failing():
                    self._ask("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    if self.connection.in_transaction:
                        self._ask("ROLLBACK")
                raise

    def append(self, batch: Batch) -> None:
        """Add a batch.

        Raises:
            HeadMoved: the head is not where the batch begins.
        """
        after, before = batch.after, batch.before
        numbered = range(batch.first, after.head.size)
        with self._failing():
            many = self.connection.executemany
            many("INSERT INTO entries VALUES (?, ?)", zip(numbered, batch.entries, strict=True))
            many("INSERT INTO new_leaves VALUES (?, ?)", batch.indexed())
            if batch.ends_lot():
                self._ask("INSERT INTO old_leaves SELECT * FROM new_leaves ORDER BY prefix")
                self._ask("DELETE FROM new_leaves")
            many(
                "INSERT OR REPLACE INTO tiles VALUES (?, ?)",
                [
                    (_encode_tile_key(level, number), tile.encode())
                    for (level, number), tile in batch.tiles.items()
                ],
            )
            head = after.head
            row = (
                head.size,
                head.root,
                head.protected,
                head.signature,
                after.time,
                after.description,
            )
            self._ask("INSERT INTO heads VALUES (?, ?, ?, ?, ?, ?)", row)
            was = (before.head.size, before.head.root) if before is not None else (0, b"")
            moved = self.connection.execute(
                "UPDATE head SET size = ?, root = ? WHERE size = ? AND root = ?",
                (head.size, head.root, *was),
            )
        if moved.rowcount != 1:
            raise HeadMoved("another writer moved the head of the log", where=str(self.path))

    def close(self) -> None:
        """Close it; what was not committed is gone."""
        with suppress(sqlite3.Error):
            self.connection.close()


def _encode_tile_key(level: int, number: int) -> int:
    return level << 56 | number
