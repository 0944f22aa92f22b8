r"""Databases with a table of sessions and a table of messages, as several agents keep them.

Crush, Goose and Hermes share a layout: the table `sessions` has a row for each session, and every
other table names the session in the column `session_id`. An agent describes its own tables with
`SessionTables`, which lists and exports the sessions; `add_session_rows` reads an export back.

A session is any id that a row names, of any type: ids of the same spelling are one session. Each
table is read whole, once for all sessions, because a damaged index may lack rows. A table that is
damaged itself yields the rows before the damage, and a row of `damaged-table` with the reason.

>>> from vacr.agents.documents import encode_session_rows
>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.lift import SessionBuilder
>>> from vacr.agents.session_tables import read_exported_rows
>>> rows = [("sessions", {"id": "s-1", "title": "Tidy"}), ("messages", {"id": 1, "role": "user"})]
>>> data = encode_session_rows("parrot-sqlite", "s-1", rows)
>>> session = SessionBuilder("parrot-sqlite", "parrot")
>>> read_exported_rows(Source((SourcePart("store.s-1.jsonl", data),)), session)
[('sessions', {'id': 's-1', 'title': 'Tidy'}), ('messages', {'id': 1, 'role': 'user'})]
>>> session.session_id
's-1'
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from vacr.agents.agent import Source
from vacr.agents.documents import (
    EXPORT_HEAD_MEMBER,
    LISTED_NUMBERS,
    SELECT_TABLE_NAMES,
    DatabaseQuery,
    ListedSession,
    RepairedValue,
    build_select,
    find_row_number_name,
    format_row_id,
    get_exported_session_id,
    get_extra_head_members,
    is_export_head,
    is_export_row,
    list_columns,
    quote_sql_name,
)
from vacr.agents.lift import SessionBuilder, is_number
from vacr.model import JsonObject

DAMAGED_TABLE = "damaged-table"
"""The table of a row that names a damaged table and the reason."""
SESSIONS_TABLE = "sessions"
SESSION_COLUMN = "session_id"
_MESSAGES_TABLE = "messages"
CREDENTIAL_WORDS = ("credential", "account", "auth", "secret")
"""Words in the names of tables that are never exported."""

_LARGEST_SECONDS = 10**11
"""Times below this are seconds since 1970; others are milliseconds."""


def seconds_to_milliseconds(value: Any) -> int | None:
    """Return a time in seconds, or already in milliseconds, as milliseconds since 1970.

    Return None for a value that is not a positive number.
    """
    if not is_number(value) or not 0 < value < 2**53:
        return None
    return int(value * 1000) if value < _LARGEST_SECONDS else int(value)


@dataclass(frozen=True)
class SessionTables:
    """The tables of an agent's database; see `SessionDatabase`."""

    format_id: str
    signs: frozenset[str]
    """Names of tables, and of columns as `table.column`, that only this agent's databases have."""
    order: Mapping[str, tuple[str, ...]]
    """Table → the columns that sort its rows before their numbers do; in the order of an export."""
    weighed: tuple[str, ...] = ()
    """Columns whose length tells that a row changed."""
    shared: frozenset[str] = frozenset()
    """Small tables without sessions, which every export repeats."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """`title`, `project`, `start`, `end`, `parent` → the column of `sessions` that has it."""
    parse_time: Callable[[Any], Any] = seconds_to_milliseconds

    def knows(self, tables: frozenset[str]) -> bool:
        """Return whether a database with these tables and columns is this agent's."""
        return self.signs <= tables

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Return the sessions, sorted by id, including ids that only other tables name."""
        tables = query.once(self._locate_rows)
        listed = {
            session_id: ListedSession(session_id) for table in tables for session_id in table.places
        }
        if any(table.name == SESSIONS_TABLE for table in tables):
            columns = ", ".join(
                quote_sql_name(column)
                for column in next(t for t in tables if t.name == SESSIONS_TABLE).columns
                if column == "id" or column in self.columns.values()
            )
            statement = build_select(columns or "NULL", SESSIONS_TABLE, "NOT INDEXED")
            for row in _read_until_damage(query(statement)):
                session_id = format_row_id(row.get("id"))
                listed[session_id] = self._make_listed_session(session_id, row)
        return [listed[session_id] for session_id in sorted(listed)]

    def _make_listed_session(self, session_id: str, row: JsonObject) -> ListedSession:
        """Return a row of the table of sessions as a listed session."""

        def get(fact: str) -> Any:
            return row.get(self.columns.get(fact, ""))

        def get_text(fact: str) -> str:
            value = get(fact)
            return value if type(value) is str else ""

        return ListedSession(
            session_id,
            get_text("title"),
            get_text("project"),
            self.parse_time(get("start")),
            self.parse_time(get("end")),
            format_row_id(get("parent")) or None,
        )

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the rows of a session: itself, the tables in `order`, then other tables."""
        has_rows = False
        tables = query.once(self._locate_rows)
        for table in tables:
            for row in table.rows(query, session_id):
                has_rows = True
                yield table.name, row
        if has_rows:
            for table in tables:
                if table.damage:
                    yield DAMAGED_TABLE, {"table": table.name, "reason": table.damage}
            yield from query.once(self._read_shared_rows)

    def compute_change_mark(self, query: DatabaseQuery, session_id: str) -> object:
        """Return the numbers and lengths of a session's rows, by table."""
        return [
            (table.name, crc32(repr(table.places[session_id]).encode()))
            for table in query.once(self._locate_rows)
            if session_id in table.places
        ]

    def _locate_rows(self, query: DatabaseQuery) -> list[_SessionTable]:
        """Return the tables with rows of sessions, in the order of an export."""
        names = [row["name"] for row in query(SELECT_TABLE_NAMES)]
        ranks = {name: rank for rank, name in enumerate((SESSIONS_TABLE, *self.order))}
        tables = []
        for name in sorted(names, key=lambda name: ranks.get(name, len(ranks))):
            if type(name) is not str or any(word in name.lower() for word in CREDENTIAL_WORDS):
                continue
            columns = list_columns(query, name)
            key = "id" if name == SESSIONS_TABLE else SESSION_COLUMN
            if key in columns:
                table = _SessionTable(name, key, columns, self.order.get(name, ()))
                table.locate_rows(query, [name for name in self.weighed if name in columns])
                tables.append(table)
        return tables

    def _read_shared_rows(self, query: DatabaseQuery) -> list[tuple[str, JsonObject]]:
        """Return the rows of the tables that every export repeats."""
        names = [row["name"] for row in query(SELECT_TABLE_NAMES) if row["name"] in self.shared]
        return [
            (name, row)
            for name in names
            for row in _read_until_damage(query(build_select("*", name)))
        ]


@dataclass
class _SessionTable:
    """A table, and the places of each session's rows in it."""

    name: str
    key: str
    """The column that names the session."""
    columns: list[str]
    order: tuple[str, ...]
    number: str = ""
    """The table's name for the number of a row; empty if it has none."""
    places: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    """Session → the numbers of its rows, each with what tells that the row changed."""
    damage: str = ""

    def locate_rows(self, query: DatabaseQuery, weighed: list[str]) -> None:
        """Read the whole table for the places of the sessions' rows."""
        self.number = find_row_number_name(query, self.name, self.columns)
        marks = [f"length({quote_sql_name(name)})" for name in weighed]
        if "updated_at" in self.columns:
            marks.append("updated_at")
        number = f"{self.number} AS number" if self.number else "0 AS number"
        listed = "".join(f", {mark} AS mark{index}" for index, mark in enumerate(marks))
        columns = f"{number}, {quote_sql_name(self.key)} AS key{listed}"
        try:
            for row in query(build_select(columns, self.name, "NOT INDEXED")):
                session_id = format_row_id(row.pop("key"))
                self.places.setdefault(session_id, []).append(tuple(row.values()))
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self.damage = str(error)

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[JsonObject]:
        """Yield the rows of a session in an order that only the rows decide."""
        if session_id not in self.places:
            return
        first = [column for column in self.order if column in self.columns]
        names = dict.fromkeys([*first, *([] if self.number else self.columns)])
        order = [quote_sql_name(name) for name in names] + ([self.number] if self.number else [])
        rest = f"ORDER BY {', '.join(order)}"
        if self.number:
            numbers = str([place[0] for place in self.places[session_id]])
            condition = f"WHERE {self.number} IN {LISTED_NUMBERS}"
            statement = build_select("*", self.name, f"NOT INDEXED {condition} {rest}")
            yield from _read_until_damage(query(statement, numbers))
            return
        for row in _read_until_damage(query(build_select("*", self.name, f"NOT INDEXED {rest}"))):
            if format_row_id(row.get(self.key)) == session_id:
                yield row


def _read_until_damage(rows: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """Yield rows up to the first damage of the database."""
    try:
        yield from rows
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return


# --- Exports ---


def add_session_rows(
    source: Source,
    session: SessionBuilder,
    learn_session: Callable[[JsonObject, SessionBuilder], None],
    make_entry: Callable[[JsonObject, SessionBuilder], JsonObject | None],
    make_event: Callable[[str, JsonObject], JsonObject] | None = None,
) -> None:
    """Add an export to a session: an entry for each message, then an event for each other row.

    `learn_session` gets the row of the session itself, and `make_entry` each row of `messages`. A
    row of which it makes None becomes an event, by `make_event` or else by `make_row_event`.
    """
    rows = read_exported_rows(source, session)
    others, session.entries = session.entries, []
    events: list[JsonObject] = []
    has_session = False
    for table, row in rows:
        if table == SESSIONS_TABLE and not has_session and _describes_session(row, session):
            has_session = True
            learn_session(row, session)
        elif table == _MESSAGES_TABLE and (entry := make_entry(row, session)) is not None:
            session.entries.append(entry)
        else:
            events.append((make_event or make_row_event)(table, row))
    session.entries += events + others


def read_exported_rows(source: Source, session: SessionBuilder) -> list[tuple[str, JsonObject]]:
    """Return the rows of an export with their tables; everything else becomes an event.

    The head names the session. Repairs and undecodable lines are noted in the session.
    """
    rows: list[tuple[str, JsonObject]] = []
    has_head = False
    for line, batch in source.main.documents():
        for document in batch:
            value = document
            if isinstance(document, RepairedValue):
                session.repaired.append(document.reason)
                value = document.value
            if is_export_row(value):
                rows.append((value["table"], value["row"]))
            elif not has_head and is_export_head(value, session.format_id):
                has_head = True
                session.session_id = get_exported_session_id(value) or None
                if session.session_id is None or get_extra_head_members(value):
                    session.session_id = None
                    session.entries.append(make_row_event(EXPORT_HEAD_MEMBER, value))
            else:
                session.entries.append(session.make_unusual_event(line, value))
    return rows


def _describes_session(row: JsonObject, session: SessionBuilder) -> bool:
    """Return whether a row of the sessions describes the session of an export."""
    others = [value for name, value in row.items() if name != "id" and value is not None]
    return session.session_id is not None and row.get("id") == session.session_id and bool(others)


def make_row_event(table: str, row: JsonObject) -> JsonObject:
    """Make the event that keeps a row as it is, named by its table."""
    return {"type": "system-event", "event-type": table, "data": row, "vacr": {"row": True}}
