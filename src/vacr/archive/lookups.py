"""Small questions about conversations, for programs that ask one at a time.

    >>> import tempfile, vacr
    >>> from pathlib import Path
    >>> from vacr.archive import *
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex.open(Path(folder.name))
    >>> source = SourceVersion("/home/mira/session.jsonl", "", 12_218, 1_800_000_000, "5f2a")
    >>> with index.transaction():
    ...     index.add_source(source, [build_record_rows(r) for r in vacr.read("session.jsonl")])
    >>> [found] = find_conversations(index.connection, "6f0d1c52")
    >>> found["title"], found["source_path"]
    ('Fix invoice rounding', '/home/mira/session.jsonl')
    >>> touched = list_file_touches(index.connection, "invoice/total.py", None, 10)
    >>> [(row["how"], row["times"]) for row in touched]
    [('edit', 2), ('read', 1)]
    >>> index.close()
    >>> folder.cleanup()

Secrets that vacr knows are not in the index, so no answer has them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from vacr.archive.search_index import clean_value
from vacr.errors import UsageError

USAGE_GROUPS = {
    "agent": "records.agent",
    "model": "usage.model",
    "repo": "records.repo",
    "project": "records.project",
    "day": "usage.day",
    "week": "date(usage.day, '-6 days', 'weekday 1')",
}
"""Names of groups of usage → the SQL expression of each."""
_CONVERSATION_COLUMNS = (
    "record",
    "session",
    "agent",
    "model",
    "title",
    "project",
    "repo",
    "start_ms",
    "end_ms",
    "entries",
    "source_path",
)
_ENTRY_COLUMNS = ("n", "place", "kind", "speaker", "tool", "time_ms", "is_error", "is_prompt")


def find_conversations(
    connection: sqlite3.Connection, name: str, *, copies: bool = False
) -> list[dict[str, Any]]:
    """Return the conversations whose session id is a name, or else begins with it.

    Other recordings of the same session are left out, unless `copies` are wanted.
    """
    kept = "" if copies else "AND NOT is_repeated"
    columns = ", ".join(_CONVERSATION_COLUMNS)
    for condition in ("session = ?", "instr(session, ?) = 1"):
        rows = connection.execute(
            f"SELECT {columns} FROM records WHERE {condition} {kept} ORDER BY is_repeated, record",
            (clean_value(name),),
        ).fetchall()
        if rows:
            return _name_columns(_CONVERSATION_COLUMNS, rows)
    return []


def list_entries(
    connection: sqlite3.Connection, record: int, first: int, count: int, length: int
) -> list[dict[str, Any]]:
    """Return entries of a conversation in order, each text cut to `length` characters.

    `text_length` is the length of the whole text.
    """
    rows = connection.execute(
        f"SELECT {', '.join(_ENTRY_COLUMNS)}, text FROM entries "
        "WHERE record = ? AND n >= ? ORDER BY n LIMIT ?",
        (record, first, count),
    )
    # SQLite would take a NUL for the end of a text.
    return [
        row | {"text": row["text"][:length], "text_length": len(row["text"])}
        for row in _name_columns((*_ENTRY_COLUMNS, "text"), rows)
    ]


def find_entry_number(connection: sqlite3.Connection, record: int, place: str) -> int | None:
    """Return the number of the entry at a place in its record, a JSON Pointer; None if unknown."""
    row = connection.execute(
        "SELECT n FROM entries WHERE record = ? AND place = ?", (record, place)
    ).fetchone()
    return int(row[0]) if row is not None else None


def find_call(connection: sqlite3.Connection, session: str, call_id: str) -> dict[str, Any] | None:
    """Return the record, number, place and file of a tool call; None if the index lacks it."""
    row = connection.execute(
        "SELECT record, calls.n, place, source_path FROM calls JOIN records USING (record) "
        "WHERE records.session = ? AND call_id = ? AND call_id <> '' ORDER BY is_repeated",
        (session, call_id),
    ).fetchone()
    names = ("record", "n", "place", "source_path")
    return dict(zip(names, row, strict=True)) if row is not None else None


def find_prompt_before(
    connection: sqlite3.Connection, record: int, number: int
) -> dict[str, Any] | None:
    """Return the place and text of the last prompt before an entry; None without a prompt."""
    row = connection.execute(
        "SELECT place, text FROM entries WHERE record = ? AND n < ? AND is_prompt "
        "ORDER BY n DESC LIMIT 1",
        (record, number),
    ).fetchone()
    return {"place": row[0], "text": row[1]} if row is not None else None


def list_file_touches(
    connection: sqlite3.Connection, path: str, since_ms: int | None, limit: int
) -> list[dict[str, Any]]:
    """Return the conversations that read or changed a file, the last first, one row for each way.

    An absolute path is compared as a whole, any other with the end of a path. `place` is the last
    call of that kind.
    """
    condition, value = "files.path = ?", path
    if not path.startswith("/"):
        value = f"/{path}"
        condition = "substr('/' || files.path, -length(?1)) = ?1"
    names = ("path", "how", "times", "added", "removed", "time_ms", "place")
    rows = connection.execute(
        f"SELECT files.path, how, count(*), sum(files.added), sum(files.removed), "
        "max(ifnull(time_ms, 0)), files.place, session, agent, records.model, title, source_path "
        "FROM files JOIN records USING (record) "
        "JOIN entries ON entries.record = files.record AND entries.n = files.n "
        f"WHERE {condition} AND NOT is_repeated AND NOT is_copy AND ifnull(time_ms, 0) >= ?2 "
        "GROUP BY files.record, files.path, how ORDER BY 6 DESC, how LIMIT ?3",
        (clean_value(value), since_ms or 0, limit),
    )
    return _name_columns(
        (*names, "session", "agent", "model", "title", "source_path"), rows.fetchall()
    )


def sum_usage(
    connection: sqlite3.Connection, group: str, since_day: str, limit: int
) -> list[dict[str, Any]]:
    """Return conversations, tokens and cost by agent, model, repo, project, day or week.

    The most expensive groups come first, and days and weeks in reverse order. `since_day` is a day
    in UTC such as `2026-03-14`, or empty.

    Raises:
        UsageError: the group is unknown.
    """
    expression = USAGE_GROUPS.get(group)
    if expression is None:
        raise UsageError(
            f"usage cannot be grouped by {group}", hint=f"Choose from: {', '.join(USAGE_GROUPS)}"
        )
    order = "1 DESC" if group in ("day", "week") else "5 DESC, 4 DESC, 1"
    rows = connection.execute(
        f"SELECT ifnull({expression}, ''), count(DISTINCT record), sum(usage.input), "
        "sum(usage.output), sum(usage.cost), max(usage.is_estimated) "
        "FROM usage JOIN records USING (record) WHERE NOT is_repeated AND day >= ? "
        f"GROUP BY 1 ORDER BY {order} LIMIT ?",
        (since_day, limit),
    )
    names = (group, "conversations", "input_tokens", "output_tokens", "cost", "is_estimated")
    return [row | {"is_estimated": bool(row["is_estimated"])} for row in _name_columns(names, rows)]


def _name_columns(names: Sequence[str], rows: Any) -> list[dict[str, Any]]:
    """Return rows as dicts from the names of columns to values."""
    return [dict(zip(names, row, strict=True)) for row in rows]
