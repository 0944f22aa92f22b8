"""OpenCode's database, since version 1.2: which sessions it holds, and the rows of each. Step:
read; what is read is data.

Only what a table has is asked for, so that every version will do; Kilo Code keeps the same database
under its own name. The tables themselves are read, once for all sessions: an index may lack rows
that its table has. A session is whatever a table names by an id, of whatever type: ids that are
spelled alike are one. Rows of a session that name none are of one without a name.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from vacr.model import Native
from vacr.readers.export import Listed, Query
from vacr.readers.opencode_pieces import LARGE_PROJECT, kept_elsewhere

NOT_OURS = frozenset(("permission", "workspace", "data_migration"))
"""Tables about the machine or its user, not about a session."""
CREDENTIALS = ("credential", "account", "auth", "token", "secret")
"""Words in the names of tables that may hold credentials, also in versions that are not known."""
BEFORE = ("session", "project", "message", "part")
"""Tables whose rows come first, in this order."""
NAMELESS = frozenset(
    (
        "session",
        "message",
        "part",
        "todo",
        "session_share",
        "session_message",
        "session_entry",
        "session_input",
    )
)
"""Tables whose rows are always of a session; elsewhere, what names none is of none."""
DAMAGED = "vacr-damaged"
"""The table of a row of ours: which of the others could not be read whole."""
_KEYS = ("session_id", "aggregate_id")
_ORDER = {
    "message": ("time_created", "id"),
    "part": ("message_id", "id"),
    "todo": ("position",),
    "event": ("seq",),
}
_SHOWN = ("id", "parent_id", "title", "directory", "time_created", "time_updated")
_UPDATED = "time_updated"
_NUMBERS = ("rowid", "_rowid_", "oid")
_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE "
    "VIRTUAL%' ORDER BY name COLLATE BINARY"
)


class _Database:
    """What is known about the database."""

    format_id = "opencode-sqlite"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is OpenCode's."""
        return {"session", "message", "part"} <= tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """List the sessions, and those that only rows of other tables name."""
        tables = query.once(_tables)
        found = {
            name: Listed(name)
            for table in tables
            if table.name != "project"
            for name in table.places
        }
        columns = [
            column
            for table in tables
            if table.name == "session"
            for column in _SHOWN
            if column in table.columns
        ]
        shown = ", ".join(columns) or "NULL"
        for row in _until_damaged(query(f"SELECT {shown} FROM session NOT INDEXED")):  # noqa: S608 - names of ours
            found[spelled(row.get("id"))] = _listed(row)
        return [found[name] for name in sorted(found)]

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give the rows of a session: itself, its project, its messages and parts, then what else
        names it.
        """
        projects: set[str] = set()
        found = False
        tables = query.once(_tables)
        for table in tables:
            names = sorted(projects) if table.name == "project" else [session_id]
            for row in (row for name in names for row in table.rows(query, name)):
                found = True
                if table.name == "session" and row.get("project_id") is not None:
                    projects.add(spelled(row["project_id"]))
                yield (
                    table.name,
                    _bounded(query, row, session_id) if table.name == "project" else row,
                )
        if found:
            yield from (
                (DAMAGED, {"table": table.name, "reason": table.damage})
                for table in tables
                if table.damage
            )

    def sign(self, query: Query, session_id: str) -> object:
        """Tell the rows of a session by their numbers, and by when the last of them was changed."""
        tables = [table for table in query.once(_tables) if session_id in table.places]
        return [
            (table.name, crc32(table.places[session_id].tobytes()), table.changed.get(session_id))
            for table in tables
        ]


def _bounded(query: Query, project: Native, session_id: str) -> Native:
    """Give a project, or where it is if it is large: only the first of its sessions has it then."""
    if (
        sum(len(value) for value in project.values() if isinstance(value, str | bytes))
        > LARGE_PROJECT
    ):
        first = query.once(_first_sessions)[spelled(project["id"])]
        return project if session_id == first else kept_elsewhere(project["id"], first)
    return project


def _first_sessions(query: Query) -> dict[str, str]:
    """Give the first session of each project."""
    found: dict[str, str] = {}
    for row in query("SELECT * FROM session NOT INDEXED"):
        project, session = spelled(row.get("project_id")), spelled(row.get("id"))
        found[project] = min(found.get(project, session), session)
    return found


def _listed(row: Native) -> Listed:
    named = spelled(row.get("id")), _text(row.get("title")), _text(row.get("directory"))
    return Listed(
        *named,
        row.get("time_created"),
        row.get("time_updated"),
        spelled(row.get("parent_id")) or None,
    )


def spelled(identity: Any) -> str:
    """Give the text for an id of any type; nothing for none."""
    if isinstance(identity, bytes):
        return f"0x{identity.hex()}"
    return "" if identity is None else str(identity)


@dataclass
class _Table:
    """A table, and where in it the rows of each session are."""

    name: str
    columns: list[str]
    key: str
    number: str
    """What the table calls the number of a row; nothing if it has none."""
    places: dict[str, array[int]] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    """When a row of each session was last changed, if the table says so."""
    damage: str = ""
    """Why it could not be read whole."""

    def find(self, query: Query) -> None:
        """Read the whole table for whose its rows are."""
        key = f"{_quoted(self.key)} AS key" if self.key else "NULL AS key"
        number = f"{self.number} AS number" if self.number else "0 AS number"
        changed = f"{_UPDATED if _UPDATED in self.columns else 'NULL'} AS changed"
        try:
            self._take(
                query(f"SELECT {number}, {key}, {changed} FROM {_quoted(self.name)} NOT INDEXED")  # noqa: S608
            )
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            # What the damage has left can still be asked for by the key, if there is an index that
            # knows where it is.
            self.damage, self.number = str(error), ""
            for row in _until_damaged(query(f"SELECT DISTINCT {key} FROM {_quoted(self.name)}")):  # noqa: S608
                self._take([row | {"number": 0, "changed": None}])

    def _take(self, rows: Iterable[Native]) -> None:
        for row in rows:
            if row["key"] is not None or self.name in NAMELESS:
                name = spelled(row["key"])
                self.places.setdefault(name, array("q")).append(row["number"])
                if type(row["changed"]) is int:
                    self.changed[name] = max(self.changed.get(name, 0), row["changed"])

    def rows(self, query: Query, name: str) -> Iterator[Native]:
        """Give the rows of a session, always in the same order: where they lie must not matter."""
        if name not in self.places:
            return
        # Rows that the first columns do not tell apart are ordered by the others.
        first = [
            column for column in _ORDER.get(self.name, ("seq", "id")) if column in self.columns
        ]
        order = ", ".join(
            f"{_quoted(column)} COLLATE BINARY" for column in dict.fromkeys([*first, *self.columns])
        )
        table = _quoted(self.name)
        if self.number:
            numbers = str(self.places[name].tolist())
            asked = f"{table} NOT INDEXED WHERE {self.number} IN (SELECT value FROM json_each(?))"  # noqa: S608
            yield from query(f"SELECT * FROM {asked} ORDER BY {order}", numbers)  # noqa: S608
        elif self.damage and self.key:
            yield from query(
                f"SELECT * FROM {table} WHERE {_quoted(self.key)} = ? ORDER BY {order}",  # noqa: S608
                name,
            )
        else:
            everything = query(f"SELECT * FROM {table} NOT INDEXED ORDER BY {order}")  # noqa: S608
            yield from (row for row in everything if spelled(row.get(self.key)) == name)


def _tables(query: Query) -> list[_Table]:
    """Find the tables that may hold rows of a session, in the order of their rows, and whose rows
    they hold.
    """
    names = [row["name"] for row in query(_TABLES) if _may_be_a_sessions(row["name"])]
    found = []
    for name in sorted(
        names, key=lambda name: BEFORE.index(name) if name in BEFORE else len(BEFORE)
    ):
        columns = [
            row["name"]
            for row in query("SELECT name FROM pragma_table_info(?)", name)
            if type(row["name"]) is str
        ]
        keys = ("id",) if name in ("session", "project") else _KEYS
        key = next((key for key in keys if key in columns), "")
        if key or name in NAMELESS:
            table = _Table(name, columns, key, _number(query, name, columns))
            table.find(query)
            found.append(table)
    return found


def _number(query: Query, table: str, columns: list[str]) -> str:
    """Give a name for the numbers of a table's rows, if it has any."""
    taken = {column.lower() for column in columns}
    for name in _NUMBERS:
        if name not in taken:
            try:
                list(query(f"SELECT {name} FROM {_quoted(table)} LIMIT 0"))  # noqa: S608
            except sqlite3.OperationalError:
                return ""
            return name
    return ""


def _until_damaged(rows: Iterator[Native]) -> Iterator[Native]:
    try:
        yield from rows
    except sqlite3.DatabaseError:
        return


def _may_be_a_sessions(table: Any) -> bool:
    """Tell whether a table may hold rows of a session."""
    return (
        type(table) is str
        and table not in NOT_OURS
        and not any(word in table.lower() for word in CREDENTIALS)
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: Any) -> str:
    return value if type(value) is str else ""


DATABASE = _Database()
DATABASES = (DATABASE,)
