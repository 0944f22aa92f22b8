"""Read SQLite files of other programs: consistently, while they write, and without a trace.

An agent may be writing its database while we read it. Read-only mode is not enough: SQLite creates
files next to the database, and leaves marks in existing ones. So a database is opened in ways that
do neither. Where a crash left something to repair, a copy is opened and repaired instead.
Everything is read in one transaction, or with proof that nothing was written meanwhile.

    >>> import sqlite3
    >>> from pathlib import Path
    >>> from vacr.files import SqliteSnapshots
    >>> agent = sqlite3.connect("sessions.db")
    >>> _ = agent.executescript("CREATE TABLE session (id); INSERT INTO session VALUES ('s1');")
    >>> agent.close()
    >>> snapshots = SqliteSnapshots(Path("sessions.db"))
    >>> snapshots.read(lambda query: list(query("SELECT id FROM session")))
    [{'id': 's1'}]
    >>> snapshots.close()
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

from vacr.errors import UnreadableInput, VacrError
from vacr.files.inputs import describe_file_error, read_bytes
from vacr.model import JsonObject

if sys.platform != "win32":
    import fcntl

T = TypeVar("T")

DatabaseState = tuple[tuple[int, int, int], ...]
"""The size, modification time and inode of a database's file, its write-ahead log and its journal.

Two equal states mean that nothing was written between them, except within one clock tick.
"""

_STATE_SUFFIXES = ("", "-wal", "-journal")
_LOG_INDEX_SUFFIX = "-shm"
_LOG_INDEX_HEADERS_SIZE = 96
"""The size of both copies of the header in the index of a write-ahead log."""
_COPY_NAME = "copy.db"

_LOCKED_MESSAGE = "locked by another program"
_CHANGING_MESSAGE = "it keeps changing while it is read"
_RETRY_HINT = "Try again when the agent has finished writing."

_MAX_READ_ATTEMPTS = 5
_MAX_VALUE_BYTES = 1 << 28
# Columns with computed values; a virtual table would need its module here.
_COMPUTED_COLUMNS = """
SELECT 1 FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns
WHERE tables.type = 'table' AND tables.sql NOT LIKE 'CREATE VIRTUAL%' AND columns.hidden IN (2, 3)
LIMIT 1
"""
_CLOCK_TICK_NANOSECONDS = 20_000_000
"""The file system's clock may not distinguish two changes that are closer than this."""
_LOCK_TIMEOUT_SECONDS = 10.0
_LOCK_RETRY_SECONDS = 0.005

_READER_LOCK_RANGE = (510, 0x40000002)
"""The length and offset of the byte range that SQLite's readers lock."""
# The byte of the header that says whether readers must look for a write-ahead log.
_READ_VERSION_BYTE = slice(19, 20)
_WAL_READ_VERSION = b"\x02"


class SqliteSnapshots:
    """Reads a SQLite file that another program may be writing; each `read` sees one moment."""

    def __init__(self, path: Path) -> None:
        """Remember the path of the database; the file is not opened yet."""
        self.path = path
        self._state: DatabaseState | None = None
        self._log_index = b""
        self._results: dict[Any, Any] = {}
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Forget the results of `SqliteQuery.once`, and remove the copy of the database, if any."""
        self._results = {}
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def is_unchanged(self) -> bool:
        """Return whether the database has not changed since the last `read`.

        Return False if it was never read, or cannot be examined now.
        """
        try:
            return self._state == _read_database_state(self.path)
        except (OSError, UnreadableInput):
            return False

    def read(self, work: Callable[[SqliteQuery], T]) -> T:
        """Call `work` with a query function in one transaction, and return its result.

        `work` may be called several times, until the database does not change meanwhile.

        Raises:
            UnreadableInput: the database cannot be read, keeps changing, or `work` failed.
        """
        try:
            return self._read_at_one_moment(work)
        except VacrError:
            raise
        except OSError as error:
            raise UnreadableInput(describe_file_error(error), where=str(self.path)) from error
        except Exception as error:
            # Any failure of our queries is a problem of this database alone.
            raise _make_database_error(error, self.path) from error

    def _read_at_one_moment(self, work: Callable[[SqliteQuery], T]) -> T:
        """Repeat `work` until the database does not change meanwhile, and return its result.

        Raises the last exception of `work`, or UnreadableInput if the database keeps changing.
        """
        failure: Exception | None = None
        for _ in range(_MAX_READ_ATTEMPTS):
            self._forget_if_changed()
            with ExitStack() as resources:
                result, failure, changed, used_earlier_result = self._try_work(work, resources)
            # A commit becomes visible in the index of the log, after the log itself was written.
            # Look only now: opening and closing the index would release SQLite's locks on it.
            if self._log_index != _read_log_index(self.path):
                self._results = {}
                changed = changed or used_earlier_result
            if changed or _must_wait_for_writer(failure):
                # The result mixes two moments, or a writer is about to repair the log.
                continue
            if failure is not None:
                raise failure
            return cast("T", result)
        raise failure or UnreadableInput(_CHANGING_MESSAGE, where=str(self.path), hint=_RETRY_HINT)

    def _try_work(
        self, work: Callable[[SqliteQuery], T], resources: ExitStack
    ) -> tuple[T | None, Exception | None, bool, bool]:
        """Call `work` once, and catch its exception.

        Return its result or None, its exception or None, whether the database changed so that
        neither counts, and whether `work` used a result of an earlier transaction. Closing
        `resources` closes the database.
        """
        connection, required_state = self._connect(resources)
        connection.text_factory = bytes
        query = SqliteQuery(connection, self._results)
        result = failure = None
        try:
            connection.execute("BEGIN")
            result = work(query)
        except Exception as error:  # noqa: BLE001 - raised later, unless the database changed
            failure = error
        used_earlier_result = query.used_earlier_result
        changed = self._has_changed(required_state, used_earlier_result=used_earlier_result)
        return result, failure, changed, used_earlier_result

    def _forget_if_changed(self) -> None:
        """Forget the results of `once` and the copy if the database changed since they were made.

        Then remember its new state.
        """
        state = _read_database_state(self.path)
        log_index = _read_log_index(self.path)
        if (state, log_index) != (self._state, self._log_index):
            self.close()
            self._state = state
            self._log_index = log_index

    def _connect(self, resources: ExitStack) -> tuple[sqlite3.Connection, DatabaseState | None]:
        """Open the database, or a copy of it if a crash left something to repair.

        Also return the state that the database must still have after the work for the result to
        count, or None if any state will do. Closing `resources` closes the connection.
        """
        if self._copy is None:
            try:
                return _open_untouched(self.path, resources)
            except sqlite3.OperationalError as error:
                if _is_locked_error(error):
                    raise
            # A crash left something to be repaired, or the index of the log is missing.
            self._copy, self._state = _copy_database(self.path)
        connection = sqlite3.connect(Path(self._copy.name) / _COPY_NAME)
        return _prepare_connection(connection, resources), None

    def _has_changed(
        self, required_state: DatabaseState | None, *, used_earlier_result: bool
    ) -> bool:
        """Return whether the database changed during the work so that its result does not count.

        Also forget the results of `once` if the database differs from the start of the work, or
        changed so recently that a further change might not be visible.
        """
        state = _read_database_state(self.path)
        differs_from_start = state != self._state
        changed = used_earlier_result and differs_from_start
        if required_state is not None:
            changed = changed or required_state != state[: len(required_state)]
        if differs_from_start or _compute_change_age(state) < _CLOCK_TICK_NANOSECONDS:
            self._results = {}
        return changed


class SqliteQuery:
    """Runs SQL statements within one transaction."""

    def __init__(self, connection: sqlite3.Connection, results: dict[Any, Any]) -> None:
        """Use an open connection; `results` has the results of `once`, also from earlier queries.

        `once` adds its results to that dict.
        """
        self._connection = connection
        self._results = results
        self._new: set[Any] = set()
        self.used_earlier_result = False
        """Whether a result of an earlier transaction was used."""

    def __call__(self, statement: str, *parameters: Any) -> Iterator[JsonObject]:
        """Run an SQL statement, and yield each row as a dict of column name to value.

        Blobs and texts come as `str` if they are UTF-8, and as `bytes` otherwise.
        """
        cursor = self._connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            yield {name: _decode_value(value) for name, value in zip(names, row, strict=True)}

    def once(self, work: Callable[[SqliteQuery], T]) -> T:
        """Return the result of `work(self)`, or its earlier result while the database is the same.

        `work` itself is the key, so pass the same function each time.
        """
        if work not in self._results:
            self._results[work] = work(self)
            self._new.add(work)
        self.used_earlier_result = self.used_earlier_result or work not in self._new
        result: T = self._results[work]
        return result


def _decode_value(value: Any) -> Any:
    """Return bytes as text if they are UTF-8, and any other value unchanged."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _read_database_state(path: Path) -> DatabaseState:
    """Return size, modification time and inode of a database, its log and its journal.

    A file that does not exist counts as (0, 0, 0).

    Raises:
        UnreadableInput: one of the files is not a regular file, so opening it might block.
        OSError: a file cannot be examined.
    """
    states = []
    for suffix in (*_STATE_SUFFIXES, _LOG_INDEX_SUFFIX):
        try:
            # SQLite follows links before it adds the suffix, too.
            status = Path(f"{os.path.realpath(path)}{suffix}").stat()
        except FileNotFoundError:
            states.append((0, 0, 0))
            continue
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableInput(
                f"{path.name}{suffix} is a folder, pipe or device, but SQLite needs a regular file "
                "there",
                where=str(path),
            )
        states.append((status.st_size, status.st_mtime_ns, status.st_ino))
    # SQLite opens the index of the log, but its readers change it: it is not part of the state.
    return tuple(states[: len(_STATE_SUFFIXES)])


def _read_log_index(path: Path) -> bytes:
    """Return the headers of the index of a write-ahead log; every commit changes them.

    Return empty bytes if the index does not exist or cannot be read.
    """
    try:
        return read_bytes(
            Path(f"{os.path.realpath(path)}{_LOG_INDEX_SUFFIX}"), _LOG_INDEX_HEADERS_SIZE
        )
    except (OSError, UnreadableInput):
        return b""


def _get_wal_size(state: DatabaseState) -> int:
    """Return the size of the write-ahead log in a state; 0 if it is empty or missing."""
    return state[_STATE_SUFFIXES.index("-wal")][0]


def _compute_change_age(state: DatabaseState) -> int:
    """Return the nanoseconds since the last change in a state.

    A change in the future counts as one clock tick old, so that nobody waits for it.
    """
    age = time.time_ns() - max(modified for _, modified, _ in state)
    return age if age >= 0 else _CLOCK_TICK_NANOSECONDS


def _wait_until_settled(path: Path) -> DatabaseState:
    """Wait until the last change is a clock tick old, and return the state of the database.

    Any further change then alters the state. If the database keeps changing, give up after a few
    tries, and return its latest state.
    """
    state = _read_database_state(path)
    for _ in range(_MAX_READ_ATTEMPTS):
        age = _compute_change_age(state)
        if age >= _CLOCK_TICK_NANOSECONDS:
            break
        time.sleep((_CLOCK_TICK_NANOSECONDS - age) / 1e9)
        state = _read_database_state(path)
    return state


def _open_untouched(
    path: Path, resources: ExitStack
) -> tuple[sqlite3.Connection, DatabaseState | None]:
    """Open a database without changing it or any file next to it.

    Also return the state that must not change while the connection is used, or None if SQLite
    itself keeps it consistent.

    Raises:
        sqlite3.OperationalError: it is locked, or a crash left something to repair.
        UnreadableInput: it cannot be read, or another program keeps all readers out.
    """
    address = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode=ro"
    if read_bytes(path, _READ_VERSION_BYTE.stop)[_READ_VERSION_BYTE] == _WAL_READ_VERSION:
        is_locked = _lock_for_reading(path, resources)
        state = _read_database_state(path)
        if not _get_wal_size(state):
            state = _wait_until_settled(path)
        if not _get_wal_size(state):
            # The log is empty, and opening the database as usual would leave two files behind.
            # With the lock, only the database file must stay the same: an agent's further changes
            # stay in the log, for the next reading.
            connection = sqlite3.connect(f"{address}&immutable=1", uri=True)
            return _prepare_connection(connection, resources), state[:1] if is_locked else state
    # Other readers write marks into the index of the log, a file shared with the agent: not us.
    connection = sqlite3.connect(
        f"{address}&readonly_shm=1", uri=True, timeout=_LOCK_TIMEOUT_SECONDS
    )
    return _prepare_connection(connection, resources), None


def _lock_for_reading(path: Path, resources: ExitStack) -> bool:
    """Take the lock that SQLite's readers take, and return whether that worked.

    While we have the lock, a program that closes the database leaves its log as it is. Closing
    `resources` releases it. Return False where the file system or Windows has no such locks.

    Raises:
        UnreadableInput: another program kept all readers out for too long.
    """
    if sys.platform == "win32":
        return False
    descriptor = os.open(os.path.realpath(path), os.O_RDONLY)
    resources.callback(os.close, descriptor)
    deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, *_READER_LOCK_RANGE)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                return False
            if time.monotonic() >= deadline:
                raise UnreadableInput(_LOCKED_MESSAGE, where=str(path), hint=_RETRY_HINT) from error
            time.sleep(_LOCK_RETRY_SECONDS)
        else:
            return True


def _prepare_connection(connection: sqlite3.Connection, resources: ExitStack) -> sqlite3.Connection:
    """Make a connection read-only, check that it can read, and return it.

    Closing `resources` closes the connection.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    resources.callback(connection.close)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    # A small file can compute huge values.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    if connection.execute(_COMPUTED_COLUMNS).fetchone():
        raise sqlite3.NotSupportedError("a table has computed columns")
    connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    return connection


def _copy_database(path: Path) -> tuple[tempfile.TemporaryDirectory[str], DatabaseState]:
    """Copy a database, its log and its journal to a temporary folder, where SQLite may repair it.

    Return the folder, and the state of the database that was copied.

    Raises:
        UnreadableInput: a file cannot be copied, or the database keeps changing.
    """
    for _ in range(_MAX_READ_ATTEMPTS):
        folder = tempfile.TemporaryDirectory(prefix="vacr-")
        try:
            state = _wait_until_settled(path)
            is_settled = _compute_change_age(state) >= _CLOCK_TICK_NANOSECONDS
            for suffix in _STATE_SUFFIXES:
                with suppress(FileNotFoundError):
                    shutil.copyfile(
                        f"{os.path.realpath(path)}{suffix}",
                        Path(folder.name) / f"{_COPY_NAME}{suffix}",
                    )
            if is_settled and state == _read_database_state(path):
                return folder, state
        except OSError as error:
            folder.cleanup()
            raise UnreadableInput(describe_file_error(error), where=str(path)) from error
        folder.cleanup()
    raise UnreadableInput(_CHANGING_MESSAGE, where=str(path), hint=_RETRY_HINT)


def _is_locked_error(error: sqlite3.OperationalError) -> bool:
    """Return whether SQLite failed because another program has locked the database."""
    primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return primary_code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _must_wait_for_writer(failure: Exception | None) -> bool:
    """Return whether reading failed because a writer has to repair the index of the log first."""
    if not isinstance(failure, sqlite3.OperationalError):
        return False
    return getattr(failure, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY


def _make_database_error(error: Exception, path: Path) -> UnreadableInput:
    """Return an error for the user that describes why reading a database failed."""
    if isinstance(error, sqlite3.OperationalError):
        if _is_locked_error(error):
            return UnreadableInput(_LOCKED_MESSAGE, where=str(path), hint=_RETRY_HINT)
        return UnreadableInput(
            f"cannot read the database: {error}",
            where=str(path),
            hint="Check the permissions of the file and its folder, or try again later.",
        )
    if isinstance(error, MemoryError):
        return UnreadableInput("too large for the available memory", where=str(path))
    if isinstance(error, sqlite3.Error | UnicodeDecodeError):
        # SQLite says "file is not a database", but only files that begin like one are opened.
        is_wrong_header = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB
        problem = "its header is invalid" if is_wrong_header else str(error)
        return UnreadableInput(
            f"a damaged database: {problem}",
            where=str(path),
            hint="Restore the file from a copy. If the agent can open it, report this as a bug.",
        )
    return UnreadableInput(
        f"unexpected content in the database: {type(error).__name__}: {error}",
        where=str(path),
        hint="If the agent can open it, please report this as a bug in vacr.",
    )
