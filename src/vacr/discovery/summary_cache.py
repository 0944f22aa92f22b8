"""Remember the facts read from session files, so that the next listing reads only changed files.

Reading both ends of a large session takes about a millisecond, and a machine may have 10,000
sessions. The summaries lie in the file of caches in the state folder, which only the owner can
read. Each counts as long as its file has the same size, times and inode.

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from vacr.discovery.summary_cache import SummaryCache, compute_file_version
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "session.jsonl")
    >>> _ = path.write_text("{}")
    >>> os.utime(path, (1_700_000_000, 1_700_000_000))
    >>> version = compute_file_version(str(path), "", "/src/app")
    >>> cache = SummaryCache({"VACR_STATE": folder.name})
    >>> cache.find_rows("parrot", str(path), version)
    >>> cache.add_rows("parrot", str(path), version, [{"title": "Fix the tests"}])
    >>> cache.save()
    >>> SummaryCache({"VACR_STATE": folder.name}).find_rows("parrot", str(path), version)
    [{'title': 'Fix the tests'}]
    >>> folder.cleanup()

It is only a cache: if it cannot be opened or written, vacr reads every file instead.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from zlib import crc32

from vacr.errors import UsageError
from vacr.files import (
    check_index_part,
    find_index_file,
    find_state_folder,
    open_index_database,
)

if TYPE_CHECKING:
    import sqlite3

_PART = "listing"
_TABLE = """
CREATE TABLE listed_files (
    agent TEXT NOT NULL, path BLOB NOT NULL, version TEXT NOT NULL, summaries TEXT NOT NULL,
    PRIMARY KEY (agent, path)) WITHOUT ROWID
"""
_SETTLED_NANOSECONDS = 2_000_000_000
"""Two writes within this time may leave the same times, so that the second one is not noticed."""


def compute_file_version(path: str, description: str, project: str) -> str:
    """Return a text that changes when a transcript or the file that describes it is written.

    `description` is empty if there is no such file. `project` is part of the text, because the
    summary may contain it. Return an empty text if a file was written just now, or cannot be
    examined: the rows of such files are not kept.
    """
    version = ascii(project)
    latest = time.time_ns() - _SETTLED_NANOSECONDS
    for file in (path, description) if description else (path,):
        try:
            status = os.stat(file)  # noqa: PTH116 - faster than Path
        except (OSError, ValueError):
            return ""
        if status.st_mtime_ns > latest:
            return ""
        version += f"|{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    return version


def _compute_checksum(text: str) -> str:
    """Return a checksum that tells a row from one that a disk or a program has damaged."""
    return f"{crc32(text.encode()):08x}"


class SummaryCache:
    """Rows about session files that were listed before, so that unchanged files are not read."""

    def __init__(self, environment: Mapping[str, str] | None) -> None:
        """Use the state folder that the environment names; for None, find and keep nothing.

        The file is opened when it is needed.
        """
        self._environment = environment
        self._connection: sqlite3.Connection | None = None
        self._was_opened = False
        self._known: dict[str, dict[bytes, tuple[str, str]]] = {}
        self._used: dict[str, set[bytes]] = {}
        self._added: list[tuple[str, bytes, str, str]] = []
        self._removed: list[tuple[str, bytes]] = []

    def find_rows(self, agent: str, path: str, version: str) -> list[dict[str, Any]] | None:
        """Return the rows that were added for this version of a file, or None if there are none.

        A damaged row does not count.
        """
        if not version:
            return None
        name = os.fsencode(path)
        known_version, rows = self._load_agent(agent).get(name, ("", ""))
        if known_version != version:
            return None
        self._used[agent].add(name)
        checksum, _, text = rows.partition(" ")
        return list(json.loads(text)) if checksum == _compute_checksum(text) else None

    def add_rows(
        self, agent: str, path: str, version: str, rows: Iterable[Mapping[str, Any]]
    ) -> None:
        """Remember the rows of a file that was read: objects of JSON, one for each session."""
        if version:
            name = os.fsencode(path)
            self._load_agent(agent)
            self._used[agent].add(name)
            text = json.dumps(list(rows))
            self._added.append((agent, name, version, f"{_compute_checksum(text)} {text}"))

    def forget_others(self, agent: str) -> None:
        """Forget the files of an agent that were neither found nor added: they are gone."""
        gone = self._load_agent(agent).keys() - self._used[agent]
        self._removed += [(agent, name) for name in gone]

    def save(self) -> None:
        """Write the added rows, and close the file."""
        if self._connection is None:
            return
        import sqlite3

        with suppress(sqlite3.Error):
            if self._added or self._removed:
                # If another program writes at this moment, the next listing saves its rows. If
                # another version of vacr has taken the tables over, they are its own.
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("BEGIN IMMEDIATE")
                check_index_part(self._connection, _PART, [_TABLE])
                self._connection.executemany(
                    "DELETE FROM listed_files WHERE agent = ? AND path = ?", self._removed
                )
                self._connection.executemany(
                    "INSERT OR REPLACE INTO listed_files VALUES (?, ?, ?, ?)", self._added
                )
                self._connection.execute("COMMIT")
        with suppress(sqlite3.Error):
            self._connection.close()
        self._connection = None

    def _load_agent(self, agent: str) -> dict[bytes, tuple[str, str]]:
        """Return the version and rows of each known file of an agent, by its path."""
        if agent not in self._known:
            import sqlite3

            self._known[agent], self._used[agent] = {}, set()
            with suppress(sqlite3.Error):
                connection = self._open()
                if connection is not None:
                    query = (
                        "SELECT path, version, summaries FROM listed_files WHERE agent = ? "
                        "AND typeof(version) = 'text' AND typeof(summaries) = 'text'"
                    )
                    rows = connection.execute(query, (agent,))
                    self._known[agent] = {path: (version, text) for path, version, text in rows}
        return self._known[agent]

    def _open(self) -> sqlite3.Connection | None:
        """Open the file once; return None if that fails."""
        import sqlite3

        if self._environment is not None and not self._was_opened:
            self._was_opened = True
            with suppress(UsageError, OSError, sqlite3.Error):
                file = find_index_file(find_state_folder(self._environment))
                self._connection = open_index_database(file, _PART, [_TABLE])
        return self._connection
