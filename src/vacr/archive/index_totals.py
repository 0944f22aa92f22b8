"""Totals of all conversations from the index, as `vacr stats` shows them, of any span of time.

    >>> import tempfile, vacr
    >>> from pathlib import Path
    >>> from vacr.archive import SearchIndex, SourceVersion, TotalsQuery, build_record_rows
    >>> from vacr.archive import sum_totals
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex.open(Path(folder.name))
    >>> source = SourceVersion("/home/mira/session.jsonl", "", 12_218, 1_800_000_000, "5f2a")
    >>> with index.transaction():
    ...     index.add_source(source, [build_record_rows(r) for r in vacr.read("session.jsonl")])
    >>> [(key, totals)] = sum_totals(index.connection, TotalsQuery(by="day")).items()
    >>> key, totals.prompts, totals.calls, totals.failed_calls, totals.tokens["output"]
    ('2026-03-14', 1, 4, 1, 606)
    >>> index.close()
    >>> folder.cleanup()

Entries that a session copied from another one, and repeated recordings of a session, do not count.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from vacr.archive.record_rows import find_usage_quarter
from vacr.archive.search_index import clean_value
from vacr.viewer import BY_DAY, BY_MODEL, COUNTED_TOKENS, Cost, Totals, sum_tokens

_UNKNOWN = "unknown"
_ENTRY_KEYS = {
    "agent": "records.agent",
    "project": "ifnull(nullif(records.project, ''), records.repo)",
    "repo": "records.repo",
    "model": "ifnull(nullif(entries.model, ''), records.model)",
}
_USAGE_KEYS = {**_ENTRY_KEYS, "model": "usage.model"}
INDEX_GROUPINGS = (*_ENTRY_KEYS, BY_DAY)
"""How totals from the index can be grouped."""


@dataclass(frozen=True, slots=True)
class TotalsQuery:
    """Which conversations count, and how they are grouped; an empty value selects all."""

    by: str
    agent: str = ""
    repo: str = ""
    """A part of the repository's address."""
    project: str = ""
    """A folder; conversations in it and below it count."""
    since_ms: int | None = None
    until_ms: int | None = None
    model: str = ""
    """A part of the names of models; only groups by model can be chosen by it."""
    has_local_days: bool = False
    """Whether days are those of this machine's time zone, and not of UTC."""


def sum_totals(connection: sqlite3.Connection, query: TotalsQuery) -> dict[str, Totals]:
    """Return the totals of each group: days in their order, others by tokens, most first.

    Tokens and cost are known by the quarter of an hour, so a span of time takes whole quarters.
    """
    groups: defaultdict[str, Totals] = defaultdict(Totals)
    _add_entries(connection, query, groups)
    _add_tools(connection, query, groups)
    _add_files(connection, query, groups)
    _add_usage(connection, query, groups)
    _add_durations(connection, query, groups)
    if query.by == BY_DAY:
        return dict(sorted(groups.items()))
    ranked = sorted(groups.items(), key=lambda item: (-sum_tokens(item[1]), item[0]))
    if query.model:
        ranked = [(name, own) for name, own in ranked if query.model in name.lower()]
    return dict(ranked)


def add_up_groups(groups: dict[str, Totals], session_count: int) -> Totals:
    """Return the totals of all groups; a session in several groups counts once."""
    total = sum(groups.values(), Totals())
    total.sessions = session_count
    return total


def count_sessions(connection: sqlite3.Connection, query: TotalsQuery) -> int:
    """Return the number of sessions that a query selects."""
    where, values = _build_entry_conditions(query)
    if query.model:
        where += " AND record IN (SELECT record FROM usage WHERE instr(lower(model), ?))"
        values.append(query.model)
    found = connection.execute(
        f"SELECT count(DISTINCT record) FROM entries JOIN records USING (record) WHERE {where}",
        values,
    ).fetchone()
    return int(found[0])


def _build_conditions(query: TotalsQuery) -> tuple[list[str], list[Any]]:
    """Return the conditions on records, and the values that they bind."""
    conditions, values = ["NOT records.is_repeated"], []
    if query.agent:
        conditions.append("records.agent = ?")
        values.append(query.agent)
    if query.repo:
        conditions.append("instr(records.repo, ?)")
        values.append(query.repo.lower())
    if query.project:
        conditions.append("(records.project = ? OR instr(records.project, ?) = 1)")
        values += [query.project, f"{query.project.rstrip('/')}/"]
    return conditions, list(map(clean_value, values))


def _build_entry_conditions(query: TotalsQuery) -> tuple[str, list[Any]]:
    """Return the condition on entries and their records, and the values that it binds."""
    conditions, values = _build_conditions(query)
    conditions.append("NOT entries.is_copy")
    if query.since_ms is not None:
        conditions.append("ifnull(entries.time_ms, records.start_ms) >= ?")
        values.append(query.since_ms)
    if query.until_ms is not None:
        conditions.append("ifnull(entries.time_ms, records.start_ms) < ?")
        values.append(query.until_ms)
    return " AND ".join(conditions), values


def _name_entry_key(query: TotalsQuery) -> str:
    """Return the SQL expression for the group of an entry."""
    if query.by == BY_DAY:
        return _name_day(query, "ifnull(entries.time_ms, records.start_ms)")
    return _ENTRY_KEYS[query.by]


def _name_usage_key(query: TotalsQuery) -> str:
    """Return the SQL expression for the group of tokens and cost.

    They have the quarter of an hour; the days of all time zones begin with one.
    """
    if query.by == BY_DAY:
        return f"ifnull({_name_day(query, 'usage.time_ms')}, usage.day)"
    return _USAGE_KEYS[query.by]


def _name_day(query: TotalsQuery, time: str) -> str:
    """Return the SQL expression for the day of a time in milliseconds."""
    zone = ", 'localtime'" if query.has_local_days else ""
    return f"date({time} / 1000, 'unixepoch'{zone})"


def _add_entries(
    connection: sqlite3.Connection, query: TotalsQuery, groups: defaultdict[str, Totals]
) -> None:
    """Add sessions, prompts, answers, calls and errors to the groups."""
    where, values = _build_entry_conditions(query)
    rows = connection.execute(
        f"SELECT {_name_entry_key(query)}, count(DISTINCT record), sum(is_prompt), "
        "sum(kind = 'assistant'), sum(tool <> ''), sum(entries.is_error), count(*) "
        f"FROM entries JOIN records USING (record) WHERE {where} GROUP BY 1",
        values,
    )
    for key, sessions, prompts, answers, calls, errors, entries in rows:
        totals = groups[key or _UNKNOWN]
        totals.sessions, totals.prompts, totals.answers = sessions, prompts, answers
        totals.calls, totals.errors, totals.entries = calls, errors, entries


def _add_tools(
    connection: sqlite3.Connection, query: TotalsQuery, groups: defaultdict[str, Totals]
) -> None:
    """Add the calls and failures of each tool to the groups."""
    where, values = _build_entry_conditions(query)
    rows = connection.execute(
        f"SELECT {_name_entry_key(query)}, tool, count(*), sum(entries.is_error) "
        f"FROM entries JOIN records USING (record) WHERE {where} AND tool <> '' GROUP BY 1, 2",
        values,
    )
    for key, tool, count, failed in rows:
        groups[key or _UNKNOWN].tools[tool] += count
        groups[key or _UNKNOWN].failed_tools[tool] += failed


def _add_files(
    connection: sqlite3.Connection, query: TotalsQuery, groups: defaultdict[str, Totals]
) -> None:
    """Add the changed files, and the lines that calls added and removed, to the groups."""
    where, values = _build_entry_conditions(query)
    rows = connection.execute(
        f"SELECT {_name_entry_key(query)}, path, count(*), sum(files.added), sum(files.removed) "
        "FROM files JOIN entries USING (record, n) JOIN records USING (record) "
        f"WHERE {where} AND how <> 'read' GROUP BY 1, 2",
        values,
    )
    for key, path, count, added, removed in rows:
        totals = groups[key or _UNKNOWN]
        totals.files[path] += count
        totals.added += added
        totals.removed += removed


def _add_usage(
    connection: sqlite3.Connection, query: TotalsQuery, groups: defaultdict[str, Totals]
) -> None:
    """Add tokens, cost and the output of each model to the groups."""
    conditions, values = _build_conditions(query)
    if query.since_ms is not None:
        conditions.append("usage.time_ms >= ?")
        values.append(find_usage_quarter(query.since_ms))
    if query.until_ms is not None:
        conditions.append("usage.time_ms < ?")
        values.append(query.until_ms)
    sums = ", ".join(f"sum(usage.{name})" for name in COUNTED_TOKENS)
    rows = connection.execute(
        f"SELECT {_name_usage_key(query)}, usage.model, {sums}, sum(usage.stated), "
        "sum(usage.cost - usage.stated), sum(usage.is_estimated), sum(usage.unpriced) "
        f"FROM usage JOIN records USING (record) WHERE {' AND '.join(conditions)} GROUP BY 1, 2",
        values,
    )
    for key, model, *numbers in rows:
        *tokens, stated, estimated, estimated_count, unpriced = numbers
        totals = groups[key or _UNKNOWN]
        totals.tokens.update(dict(zip(COUNTED_TOKENS, tokens, strict=True)))
        if tokens[COUNTED_TOKENS.index("output")]:
            totals.models[model] += tokens[COUNTED_TOKENS.index("output")]
        totals.cost += Cost(
            stated=stated,
            estimated=estimated,
            estimated_calls=estimated_count,
            unpriced=Counter({model: unpriced} if unpriced else {}),
        )


def _add_durations(
    connection: sqlite3.Connection, query: TotalsQuery, groups: defaultdict[str, Totals]
) -> None:
    """Add the time from the start to the end of each session to the groups.

    In a span of time, or on one day, the part of it there counts: it begins with the first entry
    there, or with the session, and ends with the last entry there, or with the session. So all of
    a session has one duration everywhere. By model, it counts for the main model of the session.
    """
    where, values = _build_entry_conditions(query)
    group = "records.model" if query.by == BY_MODEL else _name_entry_key(query)
    begins_here, ends_here = (_build_span_condition(query, name) for name in ("start_ms", "end_ms"))
    own = "FROM entries WHERE entries.record = spans.record AND NOT is_copy"
    is_whole = query.by != BY_DAY and query.since_ms is None and query.until_ms is None
    span = (
        "duration_ms"
        if is_whole
        else "max(0, "
        f"iif({ends_here} AND ended = (SELECT max(time_ms) {own}), end_ms, ended) - "
        f"iif({begins_here} AND begun = (SELECT min(time_ms) {own}), start_ms, begun))"
    )
    rows = connection.execute(
        f"SELECT key, sum({span}) FROM (SELECT record, {group} AS key, min(time_ms) AS begun, "
        "max(time_ms) AS ended, start_ms, end_ms, duration_ms "
        f"FROM entries JOIN records USING (record) WHERE {where} GROUP BY record, key) AS spans "
        "GROUP BY key",
        values,
    )
    for key, milliseconds in rows:
        groups[key or _UNKNOWN].milliseconds = milliseconds or 0


def _build_span_condition(query: TotalsQuery, column: str) -> str:
    """Return the condition that the time in a column is in the span of a query, and on its day."""
    conditions = [f"{column} IS NOT NULL"]
    if query.by == BY_DAY:
        conditions.append(f"{_name_day(query, column)} = key")
    if query.since_ms is not None:
        conditions.append(f"{column} >= {query.since_ms:d}")
    if query.until_ms is not None:
        conditions.append(f"{column} < {query.until_ms:d}")
    return " AND ".join(conditions)
