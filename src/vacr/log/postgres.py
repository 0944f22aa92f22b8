"""A log stored in a PostgreSQL database, which several services can share.

Two services that append to one log must never fork it. So writers take turns by an advisory lock,
and the head moves by compare-and-swap. Needs the extra `postgres`. An address is checked before
it is used, because a database error may quote it, password included:

    >>> from vacr.log.postgres import parse_postgres_address
    >>> address = parse_postgres_address("postgresql://vacr:secret@db.example.org/log")
    >>> address["host"], address["dbname"]
    ('db.example.org', 'log')
    >>> parse_postgres_address("postgresql://vacr:se@cret@db.example.org/log")
    Traceback (most recent call last):
    vacr.errors.UsageError: not a PostgreSQL address: it contains more than one @
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from vacr.errors import UnreadableInput, UsageError
from vacr.log.storage import STORAGE_FORMAT, Batch, HeadMoved, StorageFailed, StoredHead
from vacr.transparency import TreeHead

try:
    import psycopg
except ImportError as error:
    raise UsageError(
        "logs in PostgreSQL need the packages of vacr[postgres], which are not installed",
        hint="pip install 'vacr[postgres]'",
    ) from error

_ADDRESS_EXAMPLE = "For example: postgresql://user@host/database"
_ADVISORY_LOCK_ID = 0x76616372  # "vacr"
_SCHEMA = """
CREATE SCHEMA vacr;
CREATE TABLE vacr.entries (position bigint PRIMARY KEY, entry bytea NOT NULL);
CREATE TABLE vacr.old_leaves (prefix bigint, position bigint, PRIMARY KEY (prefix, position));
CREATE TABLE vacr.new_leaves (prefix bigint, position bigint, PRIMARY KEY (prefix, position));
CREATE VIEW vacr.leaves AS SELECT * FROM vacr.old_leaves UNION ALL SELECT * FROM vacr.new_leaves;
CREATE TABLE vacr.tiles (
    level smallint, number bigint, hashes bytea NOT NULL, PRIMARY KEY (level, number));
CREATE TABLE vacr.heads (
    size bigint PRIMARY KEY, root bytea NOT NULL, protected bytea NOT NULL,
    signature bytea NOT NULL, time bigint NOT NULL, description bigint NOT NULL);
CREATE TABLE vacr.head (
    one smallint PRIMARY KEY CHECK (one = 1), size bigint NOT NULL, root bytea NOT NULL,
    format int NOT NULL);
INSERT INTO vacr.head VALUES (1, 0, '', 2);
"""
_COUNT_ROWS = {
    "entries": "SELECT count(*) FROM vacr.entries",
    "leaves": "SELECT count(*) FROM vacr.leaves",
    "tiles": "SELECT count(*) FROM vacr.tiles",
    "heads": "SELECT count(*) FROM vacr.heads",
}
_SELECT_HEADS = (
    "SELECT h.size, h.root, h.protected, h.signature, h.time, h.description FROM vacr.heads h"
)
_UPSERT_TILE = (
    "INSERT INTO vacr.tiles VALUES (%s, %s, %s) ON CONFLICT (level, number) DO "
    "UPDATE SET hashes = excluded.hashes"
)
_DURABILITY_SETTINGS = {"synchronous_commit": "on", "fsync": "on"}
_KEEPALIVE_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_MAX_IDLE_IN_TRANSACTION = "30s"
"""How long a writer may be idle within a transaction.

After that it has hung or lost its connection, and the server ends its turn.
"""


class PostgresStorage:
    """An open log in a PostgreSQL database; implements `LogStorage` and `LogTransaction`."""

    def __init__(self, address: str, *, create: bool = False, readonly: bool = False) -> None:
        """Connect to the database; with `create`, also create the tables.

        Raises:
            UsageError: the address is malformed; or `create` is set, and the database contains a
                log already.
            UnreadableInput: the database has no tables of a log, or its layout has another version.
            StorageFailed: it cannot be reached, or its commits would not be durable.
        """
        parts = parse_postgres_address(address)
        self.where = f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"
        """The address without user and password, for error messages."""
        with self._translate_errors():
            self.connection = psycopg.connect(address, autocommit=True, **_KEEPALIVE_OPTIONS)
        try:
            with self._translate_errors():
                self._prepare(create=create, readonly=readonly)
        except BaseException:
            self.close()
            raise

    @classmethod
    def holds_log(cls, address: str) -> bool:
        """Return whether a database contains a log with at least one entry.

        Raises:
            UsageError: the address is malformed.
            StorageFailed: the database cannot be reached.
        """
        try:
            storage = cls(address, readonly=True)
        except UnreadableInput:
            return False
        try:
            return storage.head() is not None
        finally:
            storage.close()

    def close(self) -> None:
        """Close the connection; uncommitted writes are lost."""
        with suppress(psycopg.Error, AttributeError):
            self.connection.close()

    def _prepare(self, *, create: bool, readonly: bool) -> None:
        """Set up the connection, and check durability, tables and their version.

        Raises:
            StorageFailed: the database may lose committed data.
            UnreadableInput: there is no log, or another version of vacr made it.
            UsageError: with `create`, there is a log already.
        """
        self._fetch_rows("SET synchronous_commit = on")
        if readonly:
            self._fetch_rows("SET default_transaction_read_only = on")
        else:
            timeout = f"'{_MAX_IDLE_IN_TRANSACTION}'"
            self._fetch_rows(f"SET idle_in_transaction_session_timeout = {timeout}")
        for name, expected in _DURABILITY_SETTINGS.items():
            actual = self._fetch_value(f"SHOW {name}")
            if actual != expected:
                raise StorageFailed(
                    f"the database may lose committed data: its setting {name} is {actual}, "
                    f"not {expected}",
                    where=self.where,
                    hint=f"Set {name} = {expected} on the PostgreSQL server.",
                )
        self._check_or_create_tables(create=create)
        version = self._fetch_value("SELECT format FROM vacr.head")
        if version != STORAGE_FORMAT:
            raise UnreadableInput(
                f"unknown database layout {version}; this version of vacr reads {STORAGE_FORMAT}",
                where=self.where,
            )

    def _check_or_create_tables(self, *, create: bool) -> None:
        """Check that the tables exist, or with `create`, that they are missing or still empty.

        Raises:
            UnreadableInput: the tables are missing.
            UsageError: with `create`, there is a log already.
        """
        tables_exist = self._fetch_value("SELECT to_regclass('vacr.head')") is not None
        if not create:
            if not tables_exist:
                hint = "To create a log: vacr log init FOLDER --database URL"
                raise UnreadableInput(
                    "this database does not contain a log", where=self.where, hint=hint
                )
        elif not tables_exist:
            self.connection.execute(_SCHEMA)
        elif self._fetch_value("SELECT size FROM vacr.head"):
            raise UsageError(
                "this database already contains a log",
                hint="To serve this log: vacr log serve FOLDER --database URL",
            )

    # --- Reading ---

    def head(self) -> StoredHead | None:
        """Return the current head, or None if the log has not been created yet."""
        current = self._select_heads(f"{_SELECT_HEADS} JOIN vacr.head now ON now.size = h.size")
        return next(current, None)

    def head_until(self, size: int) -> StoredHead | None:
        """Return the newest head whose tree has at most this size, or None before the first."""
        query = f"{_SELECT_HEADS} WHERE h.size <= %s ORDER BY h.size DESC LIMIT 1"
        return next(self._select_heads(query, size), None)

    def heads(self) -> Iterator[StoredHead]:
        """Yield every signed head, oldest first."""
        query = f"{_SELECT_HEADS} WHERE h.size > %s ORDER BY h.size LIMIT 1000"
        last_size = 0
        while page := list(self._select_heads(query, last_size)):
            yield from page
            last_size = page[-1].head.size

    def _select_heads(self, query: str, *parameters: Any) -> Iterator[StoredHead]:
        """Yield the heads that a query returns; it runs when the first one is requested.

        Raises:
            StorageFailed: the database cannot be read.
        """
        with self._translate_errors():
            rows = self._fetch_rows(query, parameters)
        for size, root, protected, signature, time, description in rows:
            yield StoredHead(TreeHead(size, root, protected, signature), time, description)

    def entries(self, first: int, end: int) -> list[bytes]:
        """Return the entries from position `first` up to, but not including, `end`.

        The list is shorter if entries are missing.
        """
        with self._translate_errors():
            query = (
                "SELECT entry FROM vacr.entries WHERE position >= %s AND position < %s "
                "ORDER BY position"
            )
            return [row[0] for row in self._fetch_rows(query, (first, end))]

    def tile(self, level: int, number: int) -> bytes | None:
        """Return the concatenated hashes of a tile, or None if it is not stored."""
        with self._translate_errors():
            hashes: bytes | None = self._fetch_value(
                "SELECT hashes FROM vacr.tiles WHERE level = %s AND number = %s", (level, number)
            )
        return hashes

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Return (prefix, position in the log) for each leaf hash with one of these prefixes."""
        with self._translate_errors():
            return self._fetch_rows(
                "SELECT prefix, position FROM vacr.leaves WHERE prefix = ANY(%s::bigint[])",
                (list(prefixes),),
            )

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows of `entries`, `leaves`, `tiles` and `heads`, by these names."""
        with self._translate_errors():
            return {table: self._fetch_value(query) for table, query in _COUNT_ROWS.items()}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads within the context see the log as it is now."""
        with self._translate_errors():
            self._fetch_rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            yield
        finally:
            with suppress(psycopg.Error):
                self._fetch_rows("ROLLBACK")

    def check_database(self) -> list[str]:
        """Return an empty list: PostgreSQL has no integrity check of its own."""
        return []

    # --- Writing ---

    @contextmanager
    def transaction(self) -> Iterator[PostgresStorage]:
        """Begin an exclusive write transaction; it is durable once the context ends normally."""
        with self._translate_errors():
            # Do not rely on the server's default isolation level: once the lock is held, reads must
            # see the previous holder's commit.
            self._fetch_rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        try:
            with self._translate_errors():
                self._fetch_rows("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK_ID,))
            yield self
            with self._translate_errors():
                self._fetch_rows("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                self._fetch_rows("ROLLBACK")
            raise

    def append(self, batch: Batch) -> None:
        """Append a batch within a transaction, and make its head the current one.

        Raises:
            HeadMoved: the head has moved since the batch was built.
        """
        tiles = [(level, number, tile.encode()) for (level, number), tile in batch.tiles.items()]
        with self._translate_errors(), psycopg.Cursor(self.connection) as statements:
            _copy_entries(statements, batch)
            statements.executemany(_UPSERT_TILE, tiles)
            moved = _move_head(statements, batch)
        if not moved:
            raise HeadMoved("another writer moved the head of the log", where=self.where)

    # --- Statements ---

    def _fetch_rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Execute an SQL statement, and return all its rows; empty if it does not return rows."""
        cursor = self.connection.execute(statement, parameters, binary=True)
        return cursor.fetchall() if cursor.description else []

    def _fetch_value(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        """Execute an SQL statement, and return the first column of its first row, or None."""
        rows = self._fetch_rows(statement, parameters)
        return rows[0][0] if rows else None

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise StorageFailed in the place of a database or connection error in the context."""
        try:
            yield
        except (psycopg.Error, OSError) as error:
            description = " ".join(str(error).split()) or type(error).__name__
            raise StorageFailed(
                f"the log's database failed: {description}", where=self.where
            ) from error


def get_database_name(address: str) -> str:
    """Return the name of the database at an address, as a file name: with `_` for each `/`.

    Like PostgreSQL, use the user's name if the address does not name a database; without either,
    return `postgres`.

    Raises:
        UsageError: the address is malformed.
    """
    parts = parse_postgres_address(address)
    return str(parts.get("dbname") or parts.get("user") or "postgres").replace("/", "_")


def parse_postgres_address(address: str) -> dict[str, Any]:
    """Return the parts of an address by name, such as `host`, `dbname` and `user`.

    The library's error for a malformed address may quote the password, so it is not passed on.

    Raises:
        UsageError: the address is malformed.
    """
    try:
        parts: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error as error:
        raise UsageError("not a PostgreSQL address", hint=_ADDRESS_EXAMPLE) from error
    # After an unescaped @ in a password, the library takes the rest of the password for the host or
    # the database, and error messages would show it.
    if any("@" in str(parts.get(name, "")) for name in ("host", "port", "dbname")):
        hint = "In a password, write @ as %40, / as %2F, : as %3A and % as %25."
        raise UsageError("not a PostgreSQL address: it contains more than one @", hint=hint)
    return parts


def _copy_entries(statements: psycopg.Cursor[Any], batch: Batch) -> None:
    """Insert the entries of a batch and their index rows, and merge the index when it is due."""
    positions = range(batch.first_position, batch.after.head.size)
    with statements.copy("COPY vacr.entries FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(("int8", "bytea"))
        for row in zip(positions, batch.entries, strict=True):
            copy.write_row(row)
    with statements.copy("COPY vacr.new_leaves FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(("int8", "int8"))
        for index_row in batch.list_index_rows():
            copy.write_row(index_row)
    if batch.completes_index_part():
        merge = "INSERT INTO vacr.old_leaves SELECT * FROM vacr.new_leaves ORDER BY prefix"
        statements.execute(merge)
        statements.execute("DELETE FROM vacr.new_leaves")


def _move_head(statements: psycopg.Cursor[Any], batch: Batch) -> bool:
    """Store the new head and make it current; return whether `batch.before` was current."""
    before, after = batch.before, batch.after
    head = after.head
    row = (head.size, head.root, head.protected, head.signature, after.time, after.description)
    statements.execute("INSERT INTO vacr.heads VALUES (%s, %s, %s, %s, %s, %s)", row)
    old_size, old_root = (0, b"") if before is None else (before.head.size, before.head.root)
    statements.execute(
        "UPDATE vacr.head SET size = %s, root = %s WHERE size = %s AND root = %s",
        (head.size, head.root, old_size, old_root),
    )
    return statements.rowcount == 1
