"""Where OpenCode keeps its sessions: a database since version 1.2, a storage folder before.

In the database, a session is any id that a row names, of any type: ids of the same spelling are one
session, and rows that name none belong to a session without a name. The reader asks only
for columns that a table has, so every version works, and so does Kilo Code, which keeps the same
database under another name. It reads the tables themselves, once for all sessions, because a
damaged index may lack rows.

The storage folder has a file for each session, message and part. Their paths hold the ids.

>>> from vacr.agents.opencode.stores import FOLDER, add_ids_from_path, format_row_id
>>> paths = ["session/prj/ses_1.json", "message/ses_2/msg_1.json", "part/msg_1/prt_1.json"]
>>> FOLDER.sessions(lambda pattern: [path for path in paths if path[:4] == pattern[:4]])
['ses_1', 'ses_2']
>>> add_ids_from_path("part/msg_1/prt_1.json", {"type": "text"})
{'type': 'text', 'id': 'prt_1', 'messageID': 'msg_1'}
>>> format_row_id("ses_1"), format_row_id(7), format_row_id(None)
('ses_1', '7', '')
"""

from __future__ import annotations

import itertools
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from vacr.agents.agent import Source
from vacr.agents.documents import (
    LISTED_NUMBERS,
    SELECT_TABLE_NAMES,
    DatabaseQuery,
    FileLister,
    ListedSession,
    RepairedValue,
    build_select,
    find_row_number_name,
    format_row_id,
    list_columns,
    quote_sql_name,
)
from vacr.agents.opencode.pieces import (
    MAX_SHARED_PROJECT_BYTES,
    OPENCODE_DAMAGE_TABLE,
    make_project_reference,
)
from vacr.model import JsonObject

OPENCODE_SKIPPED_TABLES = frozenset(("permission", "workspace", "data_migration"))
"""Tables about the machine or its user, not about a session."""
CREDENTIAL_TABLE_WORDS = ("credential", "account", "auth", "token", "secret")
"""Words in the names of tables that may hold credentials, also in future versions."""
OPENCODE_FIRST_TABLES = ("session", "project", "message", "part")
"""Tables whose rows come first, in this order."""
OPENCODE_SESSION_TABLES = frozenset(
    ("session", "message", "part", "todo", "session_share")
    + ("session_message", "session_entry", "session_input")
)
"""Tables whose every row belongs to a session, even if it names none."""

_SESSION_COLUMNS = ("session_id", "aggregate_id")
_ORDER_COLUMNS = {
    "message": ("time_created", "id"),
    "part": ("message_id", "id"),
    "todo": ("position",),
    "event": ("seq",),
}
_LISTED_COLUMNS = ("id", "parent_id", "title", "directory", "time_created", "time_updated")
_UPDATED_COLUMN = "time_updated"


# --- The database ---


class _OpenCodeDatabase:
    """The database; see `SessionDatabase`."""

    format_id = "opencode-sqlite"

    def knows(self, tables: frozenset[str]) -> bool:
        """Return whether a database with these tables is OpenCode's."""
        return {"session", "message", "part"} <= tables

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Return the sessions, sorted by id, including ids that only rows of other tables name."""
        tables = query.once(_find_session_tables)
        listed = {
            session_id: ListedSession(session_id)
            for table in tables
            if table.name != "project"
            for session_id in table.places
        }
        columns = [
            column
            for table in tables
            if table.name == "session"
            for column in _LISTED_COLUMNS
            if column in table.columns
        ]
        statement = build_select(", ".join(columns) or "NULL", "session", "NOT INDEXED")
        for row in _read_until_damage(query(statement)):
            listed[format_row_id(row.get("id"))] = _make_listed_session(row)
        return [listed[session_id] for session_id in sorted(listed)]

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the rows of a session: itself, project, messages, parts, then other tables."""
        project_ids: set[str] = set()
        has_rows = False
        tables = query.once(_find_session_tables)
        for table in tables:
            is_project = table.name == "project"
            keys = sorted(project_ids) if is_project else [session_id]
            for row in (row for key in keys for row in table.rows(query, key)):
                has_rows = True
                # The session's row comes before the projects, and names the one it needs.
                if table.name == "session" and row.get("project_id") is not None:
                    project_ids.add(format_row_id(row["project_id"]))
                yield table.name, _limit_project(query, row, session_id) if is_project else row
        if has_rows:
            for table in tables:
                if table.damage:
                    yield OPENCODE_DAMAGE_TABLE, {"table": table.name, "reason": table.damage}

    def compute_change_mark(self, query: DatabaseQuery, session_id: str) -> object:
        """Return the numbers of a session's rows and the time of the last change, by table."""
        tables = [table for table in query.once(_find_session_tables) if session_id in table.places]
        return [
            (table.name, crc32(table.places[session_id].tobytes()), table.changed.get(session_id))
            for table in tables
        ]


OPENCODE_DATABASE = _OpenCodeDatabase()
DATABASES = (OPENCODE_DATABASE,)


def _make_listed_session(row: JsonObject) -> ListedSession:
    """Return a row of the table `session` as a listed session."""
    return ListedSession(
        format_row_id(row.get("id")),
        _get_text(row.get("title")),
        _get_text(row.get("directory")),
        row.get("time_created"),
        row.get("time_updated"),
        format_row_id(row.get("parent_id")) or None,
    )


def _limit_project(query: DatabaseQuery, project: JsonObject, session_id: str) -> JsonObject:
    """Return a project, or a reference to its first session if it is large."""
    size = sum(len(value) for value in project.values() if isinstance(value, str | bytes))
    if size <= MAX_SHARED_PROJECT_BYTES:
        return project
    first = query.once(_find_first_sessions)[format_row_id(project["id"])]
    return project if session_id == first else make_project_reference(project["id"], first)


def _find_first_sessions(query: DatabaseQuery) -> dict[str, str]:
    """Return a dict from the id of each project to the least id of its sessions."""
    first: dict[str, str] = {}
    for row in query("SELECT * FROM session NOT INDEXED"):
        project, session = format_row_id(row.get("project_id")), format_row_id(row.get("id"))
        first[project] = min(first.get(project, session), session)
    return first


@dataclass
class _SessionTable:
    """A table, and the places of each session's rows in it."""

    name: str
    columns: list[str]
    key: str
    """The column that names the session, if there is one."""
    number: str
    """The table's name for the number of a row; empty if it has none."""
    places: dict[str, array[int]] = field(default_factory=dict)
    """Session → the numbers of its rows."""
    changed: dict[str, int] = field(default_factory=dict)
    """Session → the time of its last changed row, if the table has such times."""
    damage: str = ""
    """The reason why the table could not be read whole."""

    def locate_rows(self, query: DatabaseQuery) -> None:
        """Read the whole table for the places of the sessions' rows."""
        key = f"{quote_sql_name(self.key)} AS key" if self.key else "NULL AS key"
        number = f"{self.number} AS number" if self.number else "0 AS number"
        changed = f"{_UPDATED_COLUMN if _UPDATED_COLUMN in self.columns else 'NULL'} AS changed"
        columns = f"{number}, {key}, {changed}"
        try:
            self._add_places(query(build_select(columns, self.name, "NOT INDEXED")))
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            # Rows behind the damage can still be found by their key, if an index lists it.
            self.damage, self.number = str(error), ""
            for row in _read_until_damage(query(build_select(f"DISTINCT {key}", self.name))):
                self._add_places([row | {"number": 0, "changed": None}])

    def _add_places(self, rows: Iterable[JsonObject]) -> None:
        """Add the numbers and the last changed time of rows to their sessions."""
        for row in rows:
            if row["key"] is not None or self.name in OPENCODE_SESSION_TABLES:
                session_id = format_row_id(row["key"])
                self.places.setdefault(session_id, array("q")).append(row["number"])
                if type(row["changed"]) is int:
                    self.changed[session_id] = max(self.changed.get(session_id, 0), row["changed"])

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[JsonObject]:
        """Yield the rows of a session in an order that does not depend on their places."""
        if session_id not in self.places:
            return
        order = f"ORDER BY {self._build_order()}"
        if self.number:
            numbers = str(self.places[session_id].tolist())
            condition = f"NOT INDEXED WHERE {self.number} IN {LISTED_NUMBERS}"
            yield from query(build_select("*", self.name, f"{condition} {order}"), numbers)
        elif self.damage and self.key:
            condition = f"WHERE {quote_sql_name(self.key)} = ?"
            yield from query(build_select("*", self.name, f"{condition} {order}"), session_id)
        else:
            for row in query(build_select("*", self.name, f"NOT INDEXED {order}")):
                if format_row_id(row.get(self.key)) == session_id:
                    yield row

    def _build_order(self) -> str:
        """Return the columns to sort by: the usual ones first, all others to break ties."""
        usual = _ORDER_COLUMNS.get(self.name, ("seq", "id"))
        first = [column for column in usual if column in self.columns]
        columns = dict.fromkeys([*first, *self.columns])
        return ", ".join(f"{quote_sql_name(column)} COLLATE BINARY" for column in columns)


def _find_session_tables(query: DatabaseQuery) -> list[_SessionTable]:
    """Find the tables that may hold rows of a session, in the order of an export."""
    names = [
        row["name"] for row in query(SELECT_TABLE_NAMES) if _may_hold_session_rows(row["name"])
    ]
    tables = []
    for name in sorted(names, key=_get_table_rank):
        columns = list_columns(query, name)
        keys = ("id",) if name in ("session", "project") else _SESSION_COLUMNS
        key = next((key for key in keys if key in columns), "")
        if key or name in OPENCODE_SESSION_TABLES:
            table = _SessionTable(name, columns, key, find_row_number_name(query, name, columns))
            table.locate_rows(query)
            tables.append(table)
    return tables


def _may_hold_session_rows(table: Any) -> bool:
    """Return whether a table is neither skipped nor named like one with credentials."""
    return (
        type(table) is str
        and table not in OPENCODE_SKIPPED_TABLES
        and not any(word in table.lower() for word in CREDENTIAL_TABLE_WORDS)
    )


def _get_table_rank(name: str) -> int:
    """Return the position of a table in an export; tables without a fixed one come last."""
    if name in OPENCODE_FIRST_TABLES:
        return OPENCODE_FIRST_TABLES.index(name)
    return len(OPENCODE_FIRST_TABLES)


def _read_until_damage(rows: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """Yield rows up to the first damage of the database."""
    try:
        yield from rows
    except sqlite3.DatabaseError:
        return


def _get_text(value: Any) -> str:
    """Return a value that is text, or else an empty text."""
    return value if type(value) is str else ""


# --- The storage folder ---


class _StorageFolder:
    """The storage folder: a file for each session, message and part."""

    marks = frozenset(("session", "message"))
    """The folders that a storage folder has."""
    signs = ("session/*/ses_*.json", "message/ses_*/msg_*.json", "part/msg_*/prt_*.json")
    """Files that show a storage folder even if one of the folders is missing."""
    pieces = frozenset(("message", "part"))
    """The folders whose files are not sessions."""

    def holds(self, source: Source) -> bool:
        """Return whether a source was made of a storage folder."""
        folders = ("session/", "message/", "part/")
        return source.main.name.startswith(folders) and source.main.name.endswith(".json")

    def session_of(self, source: Source) -> str:
        """Return the id of a source's session, or an empty text if no path names it."""
        kind, above, name = source.main.name.split("/")[:3]
        return {"session": name.removesuffix(".json"), "message": above}.get(kind, "")

    def sessions(self, files: FileLister) -> list[str]:
        """Return the sorted ids of the sessions that have a file, or messages.

        Parts without their message form a session of the message's id, as no path names theirs.
        """
        own = {_get_file_stem(path) for path in files("session/*/*.json")}
        messages = files("message/*/*.json")
        named = {path.split("/")[1] for path in messages}
        message_ids = {_get_file_stem(path) for path in messages}
        orphans = {path.split("/")[1] for path in files("part/*/*.json")} - message_ids
        # If a message's name is not known, any part may be its.
        if "" in message_ids:
            orphans = set()
        return sorted((own | named | orphans) - {""})

    def glimpse(self, files: FileLister, session_id: str) -> list[str]:
        """Return the file that describes a session, in a list: its own, or else one of its pieces.

        The list is empty if the session has no files.
        """
        own = files(f"session/*/{session_id}.json")
        others = (files(f"{folder}/{session_id}/*.json") for folder in ("message", "part"))
        return own or list(itertools.islice(itertools.chain.from_iterable(others), 1))

    def parts(self, files: FileLister, session_id: str) -> list[str]:
        """Return the files of a session, its own first; empty if it has none."""
        own, messages = files(f"session/*/{session_id}.json"), files(f"message/{session_id}/*.json")
        if not own and not messages:
            return files(f"part/{session_id}/*.json")
        paths = own + messages
        for path in messages:
            paths += files(f"part/{_get_file_stem(path)}/*.json")
        for folder in ("session_diff", "todo", "session_share"):
            paths += files(f"{folder}/{session_id}.json")
        for path in own:
            paths += files(f"project/{path.split('/')[1]}.json")
        return paths


FOLDER = _StorageFolder()


def _get_file_stem(path: str) -> str:
    """Return the name of a file without its folders and `.json`."""
    return path.rpartition("/")[2].removesuffix(".json")


def add_ids_from_path(path: str, document: Any) -> Any:
    """Add the ids in a file's path to its value: migrations moved files without rewriting them.

    Ids that the value has stay. Return the same document.
    """
    value = document.value if isinstance(document, RepairedValue) else document
    if type(value) is dict:
        folder, *between, name = path.removesuffix(".json").split("/")
        above = between[-1] if between else ""
        ids = {
            "session": {"id": name, "projectID": above},
            "message": {"id": name, "sessionID": above},
            "part": {"id": name, "messageID": above},
        }.get(folder, {})
        for member, identity in ids.items():
            value.setdefault(member, identity)
    return document
