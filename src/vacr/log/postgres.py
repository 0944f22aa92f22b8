"""A log in a PostgreSQL database, for several services at once. Step: register.

Writers take turns by an advisory lock, and the head moves only from where it was, so that they
cannot fork the log.
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
        "the package for PostgreSQL is missing", hint="pip install 'vacr[postgres]'"
    ) from error

_ADDRESS_EXAMPLE = "For example: postgresql://user@host/database"
_ADVISORY_LOCK_ID = 0x76616372  # "vacr"
_SCHEMA = """
CREATE SCHEMA vacr;
CREATE TABLE vacr.entries (position bigint PRIMARY KEY, entry bytea NOT NULL);
CREATE TABLE vacr.old_leaves (prefix bigint, position bigint, PRIMARY KEY (prefix, position));
CREATE TABLE vacr.new_leaves (prefix bigint, position bigint, PRIMARY KEY (prefix, position));
CREATE VIEW vacr.leaves AS SELECT * FROM vacr.old_leaves UNION ALL SELECT * FROM vacr.new_leaves;
CREATE TABLE vacr.tiles (level smallint, number bigint, hashes bytea NOT NULL, PRIMARY KEY (level, number));
CREATE TABLE vacr.heads (size bigint PRIMARY KEY, root bytea NOT NULL, protected bytea NOT NULL, signature bytea NOT NULL,
                         time bigint NOT NULL, description bigint NOT NULL);
CREATE TABLE vacr.head (one smallint PRIMARY KEY CHECK (one = 1), size bigint NOT NULL, root bytea NOT NULL, format int NOT NULL);
INSERT INTO vacr.head VALUES (1, 0, '', 2);
"""
_SELECT_HEADS = (
    "SELECT h.size, h.root, h.protected, h.signature, h.time, h.description FROM vacr.heads h"
)
_DURABILITY_SETTINGS = {"synchronous_commit": "on", "fsync": "on"}
_KEEPALIVE_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_MAX_IDLE_IN_TRANSACTION = "30s"
"""How long a writer may do nothing within a transaction: then it has hung or is gone, and others
take their turn.
"""


class PostgresStorage:
    """A log in a PostgreSQL database, over one connection."""

    def __init__(self, address: str, *, create: bool = False, readonly: bool = False) -> None:
        """Connect, and make the tables where they are to be made.

        Raises:
            UsageError: the address is none, or there is a log already.
            UnreadableInput: there is no log in it, or one of another layout.
            StorageFailed: it cannot be reached, or its commits would not be durable.
        """
        named = parse_postgres_address(address)
        self.where = f"postgresql://{named.get('host', '')}/{named.get('dbname', '')}"
        """The address without what is secret in it."""
        with self._failing():
            self.connection = psycopg.connect(address, autocommit=True, **_KEEPALIVE_OPTIONS)  # type: ignore[arg-type]
        try:
            with self._failing():
                self._open(create=create, readonly=readonly)
        except BaseException:
            self.close()
            raise

    def _open(self, *, create: bool, readonly: bool) -> None:
        self._ask("SET synchronous_commit = on")
        if readonly:
            self._ask("SET default_transaction_read_only = on")
        else:
            self._ask(f"SET idle_in_transaction_session_timeout = '{_MAX_IDLE_IN_TRANSACTION}'")
        for name, wanted in _DURABILITY_SETTINGS.items():
            found = self._one(f"SHOW {name}")
            if found != wanted:
                raise StorageFailed(
                    f"the database has {name} {found}, and may lose what it says is done",
                    where=self.where,
                )
        there = self._one("SELECT to_regclass('vacr.head')")
        if create:
            if there is None:
                self.connection.execute(_SCHEMA)
            elif self._one("SELECT size FROM vacr.head"):
                raise UsageError(
                    "there is a log in this database already",
                    hint="vacr log serve FOLDER --database … serves it.",
                )
        elif there is None:
            hint = "vacr log init FOLDER --database … makes one."
            raise UnreadableInput("there is no log in this database", where=self.where, hint=hint)
        version = self._one("SELECT format FROM vacr.head")
        if version != STORAGE_FORMAT:
            raise UnreadableInput(
                f"a log of layout {version}, not {STORAGE_FORMAT}", where=self.where
            )

    @classmethod
    def holds_log(cls, address: str) -> bool:
        """Tell whether there is a log in a database.

        Raises:
            StorageFailed: it cannot be reached.
        """
        try:
            storage = cls(address, readonly=True)
        except UnreadableInput:
            return False
        try:
            return storage.head() is not None
        finally:
            storage.close()

    @staticmethod
    def name_of(address: str) -> str:
        """Give the name of the database that an address is of.

        Raises:
            UsageError: it is none.
        """
        named = parse_postgres_address(address)
        return str(named.get("dbname") or named.get("user") or "postgres").replace("/", "_")

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, OSError) as error:
            raise StorageFailed(
                f"the log's database: {_describe_database_error(error)}", where=self.where
            ) from error

    def _ask(self, statement: str, given: Sequence[Any] = ()) -> list[Any]:
        cursor = self.connection.execute(statement, given, binary=True)
        return cursor.fetchall() if cursor.description else []

    def _one(self, statement: str, given: Sequence[Any] = ()) -> Any:
        rows = self._ask(statement, given)
        return rows[0][0] if rows else None

    # --- reading ---

    def head(self) -> StoredHead | None:
        """Give the head; nothing where there is no log yet."""
        return next(self._heads(f"{_SELECT_HEADS} JOIN vacr.head now ON now.size = h.size"), None)

    def head_until(self, size: int) -> StoredHead | None:
        """Give the last head of at most a size."""
        return next(
            self._heads(f"{_SELECT_HEADS} WHERE h.size <= %s ORDER BY h.size DESC LIMIT 1", size),
            None,
        )

    def heads(self) -> Iterator[StoredHead]:
        """Give all heads, from the first on."""
        last = 0
        while found := list(
            self._heads(f"{_SELECT_HEADS} WHERE h.size > %s ORDER BY h.size LIMIT 1000", last)
        ):
            yield from found
            last = found[-1].head.size

    def _heads(self, statement: str, *given: Any) -> Iterator[StoredHead]:
        with self._failing():
            rows = self._ask(statement, given)
        for size, root, protected, signature, time, description in rows:
            yield StoredHead(TreeHead(size, root, protected, signature), time, description)

    def entries(self, first: int, end: int) -> list[bytes]:
        """Give entries, from one position up to another."""
        with self._failing():
            statement = (
                "SELECT entry FROM vacr.entries WHERE position >= %s AND position < %s "
                "ORDER BY position"
            )
            return [row[0] for row in self._ask(statement, (first, end))]

    def tile(self, level: int, number: int) -> bytes | None:
        """Give the hashes of a tile."""
        with self._failing():
            found: bytes | None = self._one(
                "SELECT hashes FROM vacr.tiles WHERE level = %s AND number = %s", (level, number)
            )
        return found

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Give the positions of leaves that begin so, each with its beginning."""
        with self._failing():
            return self._ask(
                "SELECT prefix, position FROM vacr.leaves WHERE prefix = ANY(%s::bigint[])",
                (list(prefixes),),
            )

    def counts(self) -> dict[str, int]:
        """Count what is stored, table by table."""
        with self._failing():
            return {
                name: self._one(f"SELECT count(*) FROM vacr.{name}")  # noqa: S608
                for name in ("entries", "leaves", "tiles", "heads")
            }

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read the log as it is at this moment, whatever is added meanwhile."""
        with self._failing():
            self._ask("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            yield
        finally:
            with suppress(psycopg.Error):
                self._ask("ROLLBACK")

    def check(self) -> list[str]:
        """Have the database check itself; it has no way to, beyond what reading all of it finds."""
        return []

    # --- writing ---

    @contextmanager
    def writing(self) -> Iterator[PostgresStorage]:
        """Begin a transaction, alone; it is durable when the context has ended without an error."""
        with self._failing():
            # Whatever the database does by default: what is read has to be what was committed when
            # the lock was had.
            self._ask("BEGIN ISOLATION LEVEL READ COMMITTED")
        try:
            with self._failing():
                self._ask("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK_ID,))
            yield self
            with self._failing():
                self._ask("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
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
            cursor = self.connection.cursor()
            with cursor.copy("COPY vacr.entries FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(("int8", "bytea"))
                for placed in zip(numbered, batch.entries, strict=True):
                    copy.write_row(placed)
            with cursor.copy("COPY vacr.new_leaves FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(("int8", "int8"))
                for pair in batch.indexed():
                    copy.write_row(pair)
            if batch.ends_lot():
                cursor.execute(
                    "INSERT INTO vacr.old_leaves SELECT * FROM vacr.new_leaves ORDER BY prefix"
                )
                cursor.execute("DELETE FROM vacr.new_leaves")
            cursor.executemany(
                (
                    "INSERT INTO vacr.tiles VALUES (%s, %s, %s) ON CONFLICT (level, number) DO "
                    "UPDATE SET hashes = excluded.hashes"
                ),
                [(level, number, tile.encode()) for (level, number), tile in batch.tiles.items()],
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
            cursor.execute("INSERT INTO vacr.heads VALUES (%s, %s, %s, %s, %s, %s)", row)
            was = (before.head.size, before.head.root) if before is not None else (0, b"")
            cursor.execute(
                "UPDATE vacr.head SET size = %s, root = %s WHERE size = %s AND root = %s",
                (head.size, head.root, *was),
            )
        if cursor.rowcount != 1:
            raise HeadMoved("another writer moved the head of the log", where=self.where)

    def close(self) -> None:
        """Close it; what was not committed is gone."""
        with suppress(psycopg.Error, AttributeError):
            self.connection.close()


def parse_postgres_address(address: str) -> dict[str, Any]:
    """Read the parts of an address; what the library says of one that is none may hold the
    password, and is not told.

    Raises:
        UsageError: it is none.
    """
    try:
        named: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error as error:
        raise UsageError("this is no address of a PostgreSQL", hint=_ADDRESS_EXAMPLE) from error
    # The rest of a password that holds one of these would be taken for the host or the database,
    # and be told as such.
    if any("@" in str(named.get(name, "")) for name in ("host", "port", "dbname")):
        hint = "In a password @ is written %40, / is %2F, : is %3A and % is %25."
        raise UsageError(
            "this is no address of a PostgreSQL: there is more than one @ in it", hint=hint
        )
    return named


def _describe_database_error(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
