"""Lists of conversations from the index: newest first, filtered, with the sums above them.

    >>> import tempfile, vacr
    >>> from pathlib import Path
    >>> from vacr.archive import *
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex.open(Path(folder.name))
    >>> source = SourceVersion("/home/mira/session.jsonl", "", 12_218, 1_800_000_000, "5f2a")
    >>> with index.transaction():
    ...     index.add_source(source, [build_record_rows(r) for r in vacr.read("session.jsonl")])
    >>> listed = list_conversations(index.connection, ConversationQuery(outcome="failed"))
    >>> listed.count, listed.rows[0]["title"], listed.rows[0]["failed"]
    (1, 'Fix invoice rounding', 1)
    >>> count_facets(index.connection)["agent"][0]["count"]
    1
    >>> index.close()
    >>> folder.cleanup()

A sub-agent is part of the conversation that started it, and has no row of its own.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import Any

from vacr.archive.search_index import decode_name

_COLUMNS = (
    "record",
    "session",
    "agent",
    "model",
    "title",
    "project",
    "repo",
    "branch",
    "start_ms",
    "end_ms",
    "duration_ms",
    "prompts",
    "calls",
    "failed",
    "added",
    "removed",
    "input",
    "output",
    "cost",
    "is_estimated",
    "is_unpriced",
    "source_path",
)
_FACETS = {"agent": "agent", "repo": "repo", "project": "project", "model": "model"}
_MAX_FACET_VALUES = 200
_RECORDED_ONCE = "NOT is_repeated"
"""Selects sessions and their sub-agents, without repeated recordings."""
_ROOTS = (
    f"{_RECORDED_ONCE} AND (parent = '' OR NOT EXISTS "
    "(SELECT 1 FROM records AS above WHERE above.session = records.parent))"
)
"""Selects conversations: no repeated recording, and no sub-agent whose parent is known."""
_FILE_TIME = "(SELECT mtime / 1000000 FROM sources WHERE sources.source = records.source)"
_FIRST_USED = f"coalesce(start_ms, {_FILE_TIME})"
_LAST_USED = f"coalesce(end_ms, start_ms, {_FILE_TIME})"
"""When a session was first and last used, in milliseconds; without times, when it was written."""


@dataclass(frozen=True, slots=True)
class ConversationQuery:
    """Which conversations to list; an empty value selects all."""

    agent: str = ""
    repo: str = ""
    project: str = ""
    model: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    outcome: str = ""
    """`failed`: with a failed call; `clean`: without one."""
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ConversationList:
    """Some conversations, and the sums over all that the query selects."""

    rows: list[dict[str, Any]]
    """Each maps names of columns of the table `records` to values, and `last_used_ms`."""
    count: int
    totals: dict[str, Any]


def list_conversations(
    connection: sqlite3.Connection, query: ConversationQuery
) -> ConversationList:
    """Return the conversations that a query selects, the last used first."""
    where, values = _build_conditions(query)
    count, tokens_in, tokens_out, cost, estimated, unpriced = connection.execute(
        "SELECT count(*), ifnull(sum(input), 0), ifnull(sum(output), 0), ifnull(sum(cost), 0), "
        "ifnull(max(is_estimated), 0), ifnull(max(is_unpriced), 0) "
        f"FROM records WHERE {where}",
        values,
    ).fetchone()
    rows = connection.execute(
        f"SELECT {', '.join(_COLUMNS)}, {_LAST_USED} AS last_used_ms FROM records WHERE {where} "
        "ORDER BY last_used_ms DESC, record DESC LIMIT ? OFFSET ?",
        (*values, query.limit, query.offset),
    )
    totals = {
        "input": tokens_in,
        "output": tokens_out,
        "cost": cost,
        "is_estimated": bool(estimated),
        "is_unpriced": bool(unpriced),
    }
    listed = [dict(zip((*_COLUMNS, "last_used_ms"), row, strict=True)) for row in rows]
    return ConversationList(listed, count, totals)


def _build_conditions(
    query: ConversationQuery, selected: str = _ROOTS
) -> tuple[str, list[str | int]]:
    """Return the condition of a query on the records `selected`, and the values that it binds."""
    conditions, values = [selected], list[str | int]()
    for column in ("agent", "repo", "project", "model"):
        if value := getattr(query, column):
            conditions.append(f"{column} = ?")
            values.append(value)
    if query.since_ms is not None:
        conditions.append(f"{_LAST_USED} >= ?")
        values.append(query.since_ms)
    if query.until_ms is not None:
        conditions.append(f"{_FIRST_USED} < ?")
        values.append(query.until_ms)
    if query.outcome:
        conditions.append("failed > 0" if query.outcome == "failed" else "failed = 0")
    return " AND ".join(conditions), values


def count_facets(connection: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the agents, repositories, projects and models, each with its conversations.

    The most common come first; conversations without a value are left out.
    """
    return {
        name: [
            {"name": value, "count": count}
            for value, count in connection.execute(
                f"SELECT {column}, count(*) FROM records WHERE {_ROOTS} AND {column} <> '' "
                "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
                (_MAX_FACET_VALUES,),
            )
        ]
        for name, column in _FACETS.items()
    }


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """Which sessions to select; an empty value selects all."""

    agent: str = ""
    project: str = ""
    """The absolute path of a folder; folders below it count, too."""
    repo: str = ""
    """A part of the address of the repository."""
    since_ms: int | None = None
    until_ms: int | None = None


def list_sources(connection: sqlite3.Connection, query: SourceQuery) -> list[tuple[str, str]]:
    """Return the path of each conversation that a query selects, the last used first.

    With it is the id of the session if the path has several, or else an empty text.
    """
    where, values = _build_conditions(
        ConversationQuery(agent=query.agent, since_ms=query.since_ms, until_ms=query.until_ms)
    )
    if query.project:
        where += " AND (project = ? OR substr(project, 1, ?) = ?)"
        below = query.project.rstrip("/") + "/"
        values += [query.project, len(below), below]
    if query.repo:
        where += " AND instr(lower(repo), ?)"
        values.append(query.repo.lower())
    rows = connection.execute(
        "SELECT path, sources.session FROM records JOIN sources USING (source) "
        f"WHERE {where} ORDER BY {_LAST_USED} DESC, record DESC",
        values,
    )
    return [(decode_name(path), decode_name(session)) for path, session in rows]


def find_source(connection: sqlite3.Connection, record: int) -> tuple[str, str] | None:
    """Return the path of a record, and the session at that path or an empty text.

    Return None if the index does not have the record.
    """
    row = connection.execute(
        "SELECT path, sources.session FROM records JOIN sources USING (source) WHERE record = ?",
        (record,),
    ).fetchone()
    return (decode_name(row[0]), decode_name(row[1])) if row is not None else None


def find_current_titles(connection: sqlite3.Connection) -> dict[tuple[str, int], str]:
    """Return the titles of the sessions that have a file of their own, by its path and size.

    A title counts as long as the file has that size: agents only append to their sessions.
    """
    rows = connection.execute(
        "SELECT path, size, title FROM records JOIN sources USING (source) "
        "WHERE sources.session = '' AND title <> '' GROUP BY source HAVING count(*) = 1"
    )
    return {(decode_name(path), size): title for path, size, title in rows}


def find_record(connection: sqlite3.Connection, session: str) -> int | None:
    """Return the number of the record whose session has this id, or None; copies do not count."""
    row = connection.execute(
        "SELECT record FROM records WHERE session = ? AND NOT is_repeated", (session,)
    ).fetchone()
    return int(row[0]) if row is not None else None


def find_version(connection: sqlite3.Connection, session: str) -> tuple[str, int | None]:
    """Return a text that changes with a session or its sub-agents, and the time of its last entry.

    The text is empty if the index does not have the session; the time is None if it is not known.
    """
    stamps, end = connection.execute(
        "SELECT group_concat(stamp), max(end_ms) FROM (SELECT stamp, end_ms FROM records "
        "JOIN sources USING (source) WHERE records.session = ? OR parent = ? ORDER BY record)",
        (session, session),
    ).fetchone()
    return hashlib.sha256((stamps or "").encode()).hexdigest() if stamps else "", end


def list_daily_usage(
    connection: sqlite3.Connection, query: ConversationQuery
) -> list[dict[str, Any]]:
    """Return tokens, cost, sessions and failed calls of each day in UTC, the oldest day first.

    A call's tokens and cost count on its own day, and all failures of a session on the day it was
    last used. Sub-agents count as well, so that the sums are those of `vacr stats`.
    """
    where, values = _build_conditions(query, _RECORDED_ONCE)
    days = {
        day: {"day": day, "tokens": tokens, "cost": cost, "sessions": sessions, "failed": 0}
        for day, tokens, cost, sessions in connection.execute(
            "SELECT day, sum(usage.input + usage.output), sum(usage.cost), count(DISTINCT record) "
            f"FROM usage JOIN (SELECT record FROM records WHERE {where}) USING (record) "
            "WHERE day <> '' GROUP BY day",
            values,
        )
    }
    failures = connection.execute(
        f"SELECT date({_LAST_USED} / 1000, 'unixepoch') AS last_day, sum(failed) "
        f"FROM records WHERE {where} AND failed > 0 GROUP BY last_day HAVING last_day <> ''",
        values,
    )
    for day, failed in failures:
        unused = {"day": day, "tokens": 0, "cost": 0.0, "sessions": 0}
        days.setdefault(day, unused)["failed"] = failed
    return [days[day] for day in sorted(days)]
