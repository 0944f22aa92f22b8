"""Zed's database `threads.db`: one row for each thread, with the whole thread compressed in it.

An export has the row with the text of the thread in the place of the compressed bytes. Zed
compresses with Zstandard, which Python has from 3.14 on; before, the package `zstandard` is needed.
A thread that cannot be decompressed stays in the row as bytes.

>>> from vacr.agents.zed.database import decode_thread
>>> decode_thread({"id": "t1", "data_type": "json", "data": b'{"title": "Tidy"}'})
{'id': 't1', 'data_type': 'json', 'data': '{"title": "Tidy"}'}
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.agents.documents import DatabaseQuery, ListedSession, build_select, list_columns
from vacr.errors import UnreadableInput
from vacr.model import JsonObject

ZED_DATABASE_FORMAT = "zed-sqlite"
THREADS_TABLE = "threads"
COMPRESSED = "zstd"
MAX_THREAD_BYTES = 1 << 29
"""No thread is larger when it is decompressed; a larger one is damaged, or an attack."""
_SIGNS = frozenset(("threads.summary", "threads.updated_at", "threads.data_type", "threads.data"))
_MISSING_PACKAGE = "Zed compresses its threads, and the package zstandard is missing"


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
        data = _decompress(data)
    try:
        return row if data is None else row | {"data": data.decode()}
    except UnicodeDecodeError:
        return row


def _decompress(data: bytes) -> bytes | None:
    """Return decompressed bytes, or None if they are damaged or too large.

    Raises:
        UnreadableInput: the package for it is missing.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        decompressor = zstd.ZstdDecompressor()
        try:
            text = decompressor.decompress(data, MAX_THREAD_BYTES)
        except zstd.ZstdError:
            return None
        return text if decompressor.eof else None
    try:
        import zstandard
    except ImportError:
        raise UnreadableInput(_MISSING_PACKAGE, hint="pip install 'vacr[zed]'") from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            text = reader.read(MAX_THREAD_BYTES + 1)
            is_whole = len(text) <= MAX_THREAD_BYTES and not reader.read(1)
    except zstandard.ZstdError:
        return None
    return text if is_whole else None
