"""The SQLite file of caches in the state folder, which several parts of vacr share.

Each part (the claims of `vacr blame`, the rows of `vacr search`) has its own tables in it. A part
whose tables another version of the code made, or whose definition changed, gets empty tables; the
other parts keep theirs. If that happens while this process runs, the other version keeps the part:
two versions must not empty each other's tables in turn. Only the owner can read the file, because
it contains code and prompts.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from vacr.files import find_index_file, open_index_database
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = find_index_file(Path(folder.name))
    >>> connection = open_index_database(path, "notes", ["CREATE TABLE notes (text TEXT)"])
    >>> _ = connection.execute("INSERT INTO notes VALUES ('hello')")
    >>> connection.close()
    >>> connection = open_index_database(path, "notes", ["CREATE TABLE notes (text TEXT)"])
    >>> connection.execute("SELECT * FROM notes").fetchall()
    [('hello',)]
    >>> connection.close()
    >>> folder.cleanup()
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from vacr.files.writing import make_folder_tree
from vacr.version import __version__

_FOLDER_NAME = "index"
_FILE_NAME = "index.db"
_SIDE_SUFFIXES = ("", "-wal", "-shm")
_BUSY_SECONDS = 2.0
_AGENT_ENTRY_POINTS = "vacr.agents"
_STAMP_QUERY = "SELECT value FROM about WHERE name = ?"
_MADE_SUFFIX = " made"
_used_stamps: dict[tuple[str, str], str] = {}
"""The stamp with which this process last used a part, by the path of the file and the part."""
_CREATE_PATTERN = re.compile(r"\s*CREATE\s+(VIRTUAL\s+TABLE|TABLE|VIEW)\s+(\w+)", re.IGNORECASE)


class IndexTakenOver(sqlite3.OperationalError):
    """Another version of vacr has emptied and rebuilt a part that this process used before."""

    def __init__(self) -> None:
        """Describe it."""
        super().__init__("another version of vacr has rebuilt it since this one started")


def find_index_file(state: Path) -> Path:
    """Return the path of the caches in the state folder; it need not exist."""
    return state / _FOLDER_NAME / _FILE_NAME


def open_index_database(
    path: Path, part: str, schema: Sequence[str], *, wait: float = _BUSY_SECONDS
) -> sqlite3.Connection:
    """Open the file of caches, with the tables of a part; create what is missing.

    `schema` are the statements that create the tables, views and indexes of the part. `wait` is how
    many seconds this call, and each use of the connection, waits while another program writes. A
    damaged file is deleted and created again.

    Raises:
        IndexTakenOver: another version has rebuilt the part since this process used it.
        sqlite3.OperationalError: another program locks it, or it cannot be written.
        sqlite3.DatabaseError: it is damaged, and cannot be replaced.
        OSError: it cannot be created, or belongs to another user.
    """
    try:
        return _connect(path, part, schema, wait)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        delete_index_database(path)
        return _connect(path, part, schema, wait)


def delete_index_database(path: Path) -> None:
    """Delete the file of caches, if possible; the next one to open it creates it again."""
    with suppress(OSError):
        for suffix in _SIDE_SUFFIXES:
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def check_index_part(connection: sqlite3.Connection, part: str, schema: Sequence[str]) -> None:
    """Check that the tables of a part are still those of this version.

    Call it in a transaction, before the first query or change: they stay so until its end.

    Raises:
        IndexTakenOver: another version has rebuilt the part.
    """
    stamp = _compute_stamp(tuple(schema))
    if connection.execute(_STAMP_QUERY, (part,)).fetchall() != [(stamp,)]:
        raise IndexTakenOver


def find_making(connection: sqlite3.Connection, part: str) -> str:
    """Return a text that changes each time the tables of a part are made, also by this version."""
    row = connection.execute(_STAMP_QUERY, (part + _MADE_SUFFIX,)).fetchone()
    return str(row[0]) if row is not None else ""


def _connect(path: Path, part: str, schema: Sequence[str], wait: float) -> sqlite3.Connection:
    """Open the file for its owner only, and prepare the tables of a part."""
    _create_private_file(path)
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        _prepare_tables(connection, path, part, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_private_file(path: Path) -> None:
    """Create the file and its folder, or correct their modes, so that only the owner can read.

    Raises:
        OSError: one of them cannot be created, or belongs to another user.
    """
    make_folder_tree(path.parent, 0o700)
    for place, mode in ((path.parent, 0o700), (path, 0o600)):
        if place is path:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(path, flags, mode))
        status = place.lstat()
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to another user")
        if stat.S_IMODE(status.st_mode) != mode:
            place.chmod(mode)


def _prepare_tables(
    connection: sqlite3.Connection, path: Path, part: str, schema: Sequence[str]
) -> None:
    """Create the tables of a part, unless this version of the code made the existing ones.

    Raises:
        IndexTakenOver: another version made them since this process used the part.
    """
    stamp = _compute_stamp(tuple(schema))
    key = str(path), part
    found: list[tuple[str]] = []
    with suppress(sqlite3.OperationalError):  # There is no such table yet.
        found = connection.execute(_STAMP_QUERY, (part,)).fetchall()
    if found and found != [(stamp,)] and _used_stamps.get(key) == stamp:
        raise IndexTakenOver
    if found != [(stamp,)]:
        _create_tables(connection, part, schema, stamp)
    _used_stamps[key] = stamp


def _create_tables(
    connection: sqlite3.Connection, part: str, schema: Sequence[str], stamp: str
) -> None:
    """Create the tables of a part in place of older ones, unless another process was faster."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
    )
    if connection.execute(_STAMP_QUERY, (part,)).fetchall() != [(stamp,)]:
        for kind, name in reversed(_list_created(schema)):
            connection.execute(f"DROP {kind} IF EXISTS {name}")
        for statement in schema:
            connection.execute(statement)
        values = [(part, stamp), (part + _MADE_SUFFIX, secrets.token_hex(16))]
        connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values)
    connection.execute("COMMIT")


def _list_created(schema: Sequence[str]) -> list[tuple[str, str]]:
    """Return the kind (`TABLE` or `VIEW`) and name of each table and view that a schema creates."""
    created = []
    for statement in schema:
        if match := _CREATE_PATTERN.match(statement):
            created.append((match[1].split()[-1].upper(), match[2]))
    return created


@cache
def _compute_stamp(schema: tuple[str, ...]) -> str:
    """Return a text that changes with the schema, the code of vacr, and the plugins for agents.

    The rows depend on nearly all of the code, so any change of it makes them stale.
    """
    digest = hashlib.sha256("\n".join((__version__, *schema)).encode())
    package = Path(__file__).parent.parent
    start = len(str(package)) + 1
    for folder, _, names in sorted(os.walk(package)):
        for name in sorted(names):
            if name.endswith(".py"):
                status = Path(folder, name).stat()
                place = f"{folder}/{name}"[start:]
                about = f"{place}:{status.st_size}:{status.st_mtime_ns}\n"
                digest.update(os.fsencode(about))
    for point in entry_points(group=_AGENT_ENTRY_POINTS):
        version = point.dist.version if point.dist is not None else ""
        digest.update(f"{point.name}:{point.value}:{version}\n".encode())
    return digest.hexdigest()
