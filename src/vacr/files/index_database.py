"""The SQLite file of caches in the state folder, which several parts of vacr share.

Each part (the claims of `vacr blame`, the rows of `vacr search`) has its own tables in it. A part
whose tables another version of the code made, or whose definition changed, gets empty tables; the
other parts keep theirs. Only the owner can read the file, because it contains code and prompts.

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
_CREATE_PATTERN = re.compile(r"\s*CREATE\s+(VIRTUAL\s+TABLE|TABLE|VIEW)\s+(\w+)", re.IGNORECASE)


def find_index_file(state: Path) -> Path:
    """Return the path of the caches in the state folder; it need not exist."""
    return state / _FOLDER_NAME / _FILE_NAME


def open_index_database(path: Path, part: str, schema: Sequence[str]) -> sqlite3.Connection:
    """Open the file of caches, with the tables of a part; create what is missing.

    `schema` are the statements that create the tables, views and indexes of the part. A damaged
    file is deleted and created again.

    Raises:
        sqlite3.OperationalError: another program locks it, or it cannot be written.
        sqlite3.DatabaseError: it is damaged, and cannot be replaced.
        OSError: it cannot be created, or belongs to another user.
    """
    try:
        return _connect(path, part, schema)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        with suppress(OSError):
            for suffix in _SIDE_SUFFIXES:
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        return _connect(path, part, schema)


def _connect(path: Path, part: str, schema: Sequence[str]) -> sqlite3.Connection:
    """Open the file for its owner only, and prepare the tables of a part."""
    _create_private_file(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        _prepare_tables(connection, part, schema)
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


def _prepare_tables(connection: sqlite3.Connection, part: str, schema: Sequence[str]) -> None:
    """Create the tables of a part, unless this version of the code made the existing ones."""
    stamp = _compute_stamp(tuple(schema))
    query = "SELECT value FROM about WHERE name = ?"
    with suppress(sqlite3.OperationalError):  # There is no such table yet.
        if connection.execute(query, (part,)).fetchall() == [(stamp,)]:
            return
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
    )
    if connection.execute(query, (part,)).fetchall() != [(stamp,)]:  # Nobody was faster.
        for kind, name in reversed(_list_created(schema)):
            connection.execute(f"DROP {kind} IF EXISTS {name}")
        for statement in schema:
            connection.execute(statement)
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (part, stamp))
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
