"""Zed's database `threads.db`: one row for each thread, with the whole thread compressed in it.

An export has the row with the text of the thread in the place of the compressed bytes. Zed
compresses with Zstandard, which Python has from 3.14 on; before, the package `zstandard` is needed.
A thread that cannot be decompressed stays in the row as bytes.

>>> from vacr.agents.zed.database import decode_thread
>>> decode_thread({"id": "t1", "data_type": "json", "data": b'{"title": "Tidy"}'})
{'id': 't1', 'data_type': 'json', 'data': '{"title": "Tidy"}'}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vacr.agents.documents import DatabaseQuery, ListedSession, build_select, list_columns
from vacr.agents.zstd import MAX_DECOMPRESSED_BYTES, decompress_zstd
from vacr.model import JsonObject

ZED_DATABASE_FORMAT = "zed-sqlite"
THREADS_TABLE = "threads"
COMPRESSED = "zstd"
MAX_THREAD_BYTES = MAX_DECOMPRESSED_BYTES
"""No thread is larger when it is decompressed."""
_SIGNS = frozenset(("threads.summary", "threads.updated_at", "threads.data_type", "threads.data"))
_COMPRESSION_REASON = "Zed compresses its threads"


class ThreadsDatabase:
    """Zed's database of threads; see `SessionDatabase`."""

    format_id = ZED_DATABASE_FORMAT

    def knows(self, tables: frozenset[str]) -> bool:
        """Return whether a database with these tables and columns is Zed's."""
        return tables >= _SIGNS

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Return the threads, without reading their content."""
        columns = list_columns(query, THREADS_TABLE)
        wanted = ("id", "summary", "created_at", "updated_at", "parent_id", "folder_paths")
        names = ", ".join(name for name in wanted if name in columns)
        threads = query(build_select(names, THREADS_TABLE, "ORDER BY id"))
        return [_make_listed_session(row) for row in threads]

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the row of a thread.

        Raises:
            UnreadableInput: it is compressed, and the package for that is missing.
        """
        for row in query("SELECT * FROM threads WHERE id = ? ORDER BY rowid", session_id):
            yield THREADS_TABLE, decode_thread(row)

    def compute_change_mark(self, query: DatabaseQuery, session_id: str) -> object:
        """Return the time and the length of a thread's last state."""
        statement = "SELECT updated_at, length(data) AS size FROM threads WHERE id = ?"
        return [(row["updated_at"], row["size"]) for row in query(statement, session_id)]


def _make_listed_session(row: JsonObject) -> ListedSession:
    """Return a row without its thread as a listed session."""

    def get_text(name: str) -> str:
        value = row.get(name)
        return value if type(value) is str else ""

    return ListedSession(
        get_text("id"),
        get_text("summary"),
        find_only_folder(row) or "",
        row.get("created_at"),
        row.get("updated_at"),
        get_text("parent_id") or None,
    )


def find_only_folder(row: JsonObject) -> str | None:
    """Return the folder of a thread, or None if it has several folders or none."""
    paths = row.get("folder_paths")
    folders = paths.split("\n") if type(paths) is str else []
    return folders[0] if len(folders) == 1 and folders[0] else None


def decode_thread(row: JsonObject) -> JsonObject:
    """Return a row with its thread as text, or unchanged if it is not text.

    Raises:
        UnreadableInput: the thread is compressed, and the package for that is missing.
    """
    data: Any = row.get("data")
    if type(data) is not bytes:
        return row
    if row.get("data_type") == COMPRESSED:
        data = decompress_zstd(data, _COMPRESSION_REASON, MAX_THREAD_BYTES)
    try:
        return row if data is None else row | {"data": data.decode()}
    except UnicodeDecodeError:
        return row
