"""OpenCode's database, since version 1.2: which sessions it holds, and the rows of each. Step:
read; what is read is data.

Only what a table has is asked for, so that every version will do; Kilo Code keeps the same database
under its own name. The tables themselves are read, once for all sessions: an index may lack rows
that its table has. A session is whatever a table names by an id, of whatever type: ids that are
spelled alike are one. Rows of a session that name none are of one without a name.

The rows of OpenCode's database as pieces of a conversation. Step: read.

`message` and `part` rows hold JSON without the ids, which are columns. Rows of `session_message`,
the later model, are entries of their own where a session has no other messages; else they repeat
them and are kept as events.

Where OpenCode kept its sessions before version 1.2: the storage folder. Step: read; what is read
is data.
"""

from __future__ import annotations

import itertools
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from vacr.agents.agent import Source
from vacr.agents.documents import DatabaseQuery, ListedSession, RepairedValue, decode_exact_json
from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    SourceNotice,
    add_remaining_members,
    is_one_of,
    keep_native_members,
)
from vacr.agents.opencode.parts import (
    MAX_SHARED_PROJECT_BYTES,
    OpenCodeConversation,
    PieceCollector,
    lift_opencode_usage,
    lift_timestamp,
    make_project_reference,
    make_tool_entries,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

OPENCODE_SKIPPED_TABLES = frozenset(("permission", "workspace", "data_migration"))
"""Tables about the machine or its user, not about a session."""
CREDENTIAL_TABLE_WORDS = ("credential", "account", "auth", "token", "secret")
"""Words in the names of tables that may hold credentials, also in versions that are not known."""
OPENCODE_FIRST_TABLES = ("session", "project", "message", "part")
"""Tables whose rows come first, in this order."""
OPENCODE_SESSION_TABLES = frozenset(
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
OPENCODE_DAMAGE_TABLE = "vacr-damaged"
"""The table of a row of ours: which of the others could not be read whole."""
_SESSION_COLUMNS = ("session_id", "aggregate_id")
_ORDER_COLUMNS = {
    "message": ("time_created", "id"),
    "part": ("message_id", "id"),
    "todo": ("position",),
    "event": ("seq",),
}
_LISTED_COLUMNS = ("id", "parent_id", "title", "directory", "time_created", "time_updated")
_UPDATED_COLUMN = "time_updated"
_ROW_NUMBER_NAMES = ("rowid", "_rowid_", "oid")
_SELECT_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE "
    "VIRTUAL%' ORDER BY name COLLATE BINARY"
)


class _OpenCodeDatabase:
    """What is known about the database."""

    format_id = "opencode-sqlite"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is OpenCode's."""
        return {"session", "message", "part"} <= tables

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """List the sessions, and those that only rows of other tables name."""
        tables = query.once(_find_session_tables)
        found = {
            name: ListedSession(name)
            for table in tables
            if table.name != "project"
            for name in table.places
        }
        columns = [
            column
            for table in tables
            if table.name == "session"
            for column in _LISTED_COLUMNS
            if column in table.columns
        ]
        shown = ", ".join(columns) or "NULL"
        for row in _read_until_damage(query(f"SELECT {shown} FROM session NOT INDEXED")):  # noqa: S608 - names of ours
            found[format_row_id(row.get("id"))] = _make_listed_session(row)
        return [found[name] for name in sorted(found)]

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Give the rows of a session: itself, its project, its messages and parts, then what else
        names it.
        """
        projects: set[str] = set()
        found = False
        tables = query.once(_find_session_tables)
        for table in tables:
            names = sorted(projects) if table.name == "project" else [session_id]
            for row in (row for name in names for row in table.rows(query, name)):
                found = True
                if table.name == "session" and row.get("project_id") is not None:
                    projects.add(format_row_id(row["project_id"]))
                yield (
                    table.name,
                    _limit_project_size(query, row, session_id) if table.name == "project" else row,
                )
        if found:
            yield from (
                (OPENCODE_DAMAGE_TABLE, {"table": table.name, "reason": table.damage})
                for table in tables
                if table.damage
            )

    def sign(self, query: DatabaseQuery, session_id: str) -> object:
        """Tell the rows of a session by their numbers, and by when the last of them was changed."""
        tables = [table for table in query.once(_find_session_tables) if session_id in table.places]
        return [
            (table.name, crc32(table.places[session_id].tobytes()), table.changed.get(session_id))
            for table in tables
        ]


def _limit_project_size(query: DatabaseQuery, project: JsonObject, session_id: str) -> JsonObject:
    """Give a project, or where it is if it is large: only the first of its sessions has it then."""
    if (
        sum(len(value) for value in project.values() if isinstance(value, str | bytes))
        > MAX_SHARED_PROJECT_BYTES
    ):
        first = query.once(_find_first_sessions)[format_row_id(project["id"])]
        return project if session_id == first else make_project_reference(project["id"], first)
    return project


def _find_first_sessions(query: DatabaseQuery) -> dict[str, str]:
    """Give the first session of each project."""
    found: dict[str, str] = {}
    for row in query("SELECT * FROM session NOT INDEXED"):
        project, session = format_row_id(row.get("project_id")), format_row_id(row.get("id"))
        found[project] = min(found.get(project, session), session)
    return found


def _make_listed_session(row: JsonObject) -> ListedSession:
    named = (
        format_row_id(row.get("id")),
        _get_text(row.get("title")),
        _get_text(row.get("directory")),
    )
    return ListedSession(
        *named,
        row.get("time_created"),
        row.get("time_updated"),
        format_row_id(row.get("parent_id")) or None,
    )


def format_row_id(identity: Any) -> str:
    """Give the text for an id of any type; nothing for none."""
    if isinstance(identity, bytes):
        return f"0x{identity.hex()}"
    return "" if identity is None else str(identity)


@dataclass
class _SessionTable:
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

    def find(self, query: DatabaseQuery) -> None:
        """Read the whole table for whose its rows are."""
        key = f"{_quote_name(self.key)} AS key" if self.key else "NULL AS key"
        number = f"{self.number} AS number" if self.number else "0 AS number"
        changed = f"{_UPDATED_COLUMN if _UPDATED_COLUMN in self.columns else 'NULL'} AS changed"
        try:
            self._take(
                query(
                    f"SELECT {number}, {key}, {changed} FROM {_quote_name(self.name)} NOT INDEXED"
                )
            )
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            # What the damage has left can still be asked for by the key, if there is an index that
            # knows where it is.
            self.damage, self.number = str(error), ""
            for row in _read_until_damage(
                query(f"SELECT DISTINCT {key} FROM {_quote_name(self.name)}")
            ):
                self._take([row | {"number": 0, "changed": None}])

    def _take(self, rows: Iterable[JsonObject]) -> None:
        for row in rows:
            if row["key"] is not None or self.name in OPENCODE_SESSION_TABLES:
                name = format_row_id(row["key"])
                self.places.setdefault(name, array("q")).append(row["number"])
                if type(row["changed"]) is int:
                    self.changed[name] = max(self.changed.get(name, 0), row["changed"])

    def rows(self, query: DatabaseQuery, name: str) -> Iterator[JsonObject]:
        """Give the rows of a session, always in the same order: where they lie must not matter."""
        if name not in self.places:
            return
        # Rows that the first columns do not tell apart are ordered by the others.
        first = [
            column
            for column in _ORDER_COLUMNS.get(self.name, ("seq", "id"))
            if column in self.columns
        ]
        order = ", ".join(
            f"{_quote_name(column)} COLLATE BINARY"
            for column in dict.fromkeys([*first, *self.columns])
        )
        table = _quote_name(self.name)
        if self.number:
            numbers = str(self.places[name].tolist())
            asked = f"{table} NOT INDEXED WHERE {self.number} IN (SELECT value FROM json_each(?))"  # noqa: S608
            yield from query(f"SELECT * FROM {asked} ORDER BY {order}", numbers)  # noqa: S608
        elif self.damage and self.key:
            yield from query(
                f"SELECT * FROM {table} WHERE {_quote_name(self.key)} = ? ORDER BY {order}",  # noqa: S608
                name,
            )
        else:
            everything = query(f"SELECT * FROM {table} NOT INDEXED ORDER BY {order}")  # noqa: S608
            yield from (row for row in everything if format_row_id(row.get(self.key)) == name)


def _find_session_tables(query: DatabaseQuery) -> list[_SessionTable]:
    """Find the tables that may hold rows of a session, in the order of their rows, and whose rows
    they hold.
    """
    names = [row["name"] for row in query(_SELECT_TABLES) if _may_hold_session_rows(row["name"])]
    found = []
    for name in sorted(
        names,
        key=lambda name: (
            OPENCODE_FIRST_TABLES.index(name)
            if name in OPENCODE_FIRST_TABLES
            else len(OPENCODE_FIRST_TABLES)
        ),
    ):
        columns = [
            row["name"]
            for row in query("SELECT name FROM pragma_table_info(?)", name)
            if type(row["name"]) is str
        ]
        keys = ("id",) if name in ("session", "project") else _SESSION_COLUMNS
        key = next((key for key in keys if key in columns), "")
        if key or name in OPENCODE_SESSION_TABLES:
            table = _SessionTable(name, columns, key, _find_row_number_name(query, name, columns))
            table.find(query)
            found.append(table)
    return found


def _find_row_number_name(query: DatabaseQuery, table: str, columns: list[str]) -> str:
    """Give a name for the numbers of a table's rows, if it has any."""
    taken = {column.lower() for column in columns}
    for name in _ROW_NUMBER_NAMES:
        if name not in taken:
            try:
                list(query(f"SELECT {name} FROM {_quote_name(table)} LIMIT 0"))  # noqa: S608
            except sqlite3.OperationalError:
                return ""
            return name
    return ""


def _read_until_damage(rows: Iterator[JsonObject]) -> Iterator[JsonObject]:
    try:
        yield from rows
    except sqlite3.DatabaseError:
        return


def _may_hold_session_rows(table: Any) -> bool:
    """Tell whether a table may hold rows of a session."""
    return (
        type(table) is str
        and table not in OPENCODE_SKIPPED_TABLES
        and not any(word in table.lower() for word in CREDENTIAL_TABLE_WORDS)
    )


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _get_text(value: Any) -> str:
    return value if type(value) is str else ""


OPENCODE_DATABASE = _OpenCodeDatabase()
DATABASES = (OPENCODE_DATABASE,)


OPENCODE_ID_COLUMNS = {
    "message": {"id": "id", "session_id": "sessionID"},
    "part": {"id": "id", "message_id": "messageID", "session_id": "sessionID"},
}
"""Table → the columns that OpenCode leaves out of the JSON, and the members they are."""
OPENCODE_REQUIRED_MEMBERS = {"session": "id", "project": "id", "message": "id", "part": "messageID"}
"""Table → what a row must have to be put where it belongs."""
OPENCODE_JSON_COLUMNS = {
    "session": frozenset(("summary_diffs", "revert", "permission", "model", "metadata")),
    "project": frozenset(("sandboxes", "commands")),
}
"""Table → its columns that hold JSON; any other text is a text, whatever it looks like."""
OPENCODE_LATER_MESSAGE_TABLES = frozenset(("session_message", "session_entry"))
OPENCODE_MESSAGE_TYPES = frozenset(("user", "assistant"))
OPENCODE_ROW_MOVES = Lift(Move("id", "id"))
OPENCODE_ASSISTANT_MOVES = Lift(Move("finish", "stop-reason"))
OPENCODE_SINGLE_ROW_TABLES = frozenset(("session_share",))
OPENCODE_LIST_TABLES = frozenset(("todo",))


def add_database_row(table: str, row: JsonObject, pieces: PieceCollector) -> None:
    """Take one row of the export."""
    if table in OPENCODE_REQUIRED_MEMBERS:
        found = (
            _restore_row_ids(row, OPENCODE_ID_COLUMNS[table])
            if table in OPENCODE_ID_COLUMNS
            else _parse_columns(row, OPENCODE_JSON_COLUMNS[table])
        )
        if type(found.get(OPENCODE_REQUIRED_MEMBERS[table])) is str or (
            table == "session" and pieces.only is not None
        ):
            pieces.add(found, table)
            return
    pieces.add_row(table, {name: value for name, value in row.items() if value is not None})


def _parse_columns(row: JsonObject, json_columns: frozenset[str]) -> JsonObject:
    """Read the columns of a row; those without a value say nothing."""
    return {
        name: _parse_json_column(value) if name in json_columns else value
        for name, value in row.items()
        if value is not None
    }


def _restore_row_ids(row: JsonObject, columns: dict[str, str]) -> JsonObject:
    """Put the ids back into the JSON of a row. What the JSON says about them otherwise is kept as
    it is.
    """
    rest = {name: value for name, value in row.items() if name not in columns and name != "data"}
    ids = {member: row[column] for column, member in columns.items() if row.get(column) is not None}
    data = _parse_json_column(row.get("data"))
    if type(data) is not dict or any(
        member in data and data[member] != value for member, value in (rest | ids).items()
    ):
        return rest | ids | {"data": row.get("data")}
    return data | rest | ids


def _parse_json_column(value: Any) -> Any:
    """Read JSON that a column holds as text, if it is an object or an array and nothing of it is
    lost.
    """
    if type(value) is str and value[:1] in ("{", "["):
        return next(iter(decode_exact_json(value.encode())), value)
    return value


def make_row_entries(
    conversation: OpenCodeConversation, session: SessionBuilder
) -> list[JsonObject]:
    """Turn the rows of other tables into what they say: about the session, or entries."""
    found = []
    for table, row in conversation.rows:
        if table in OPENCODE_SINGLE_ROW_TABLES and table not in session.native:
            session.native[table] = row
        elif table in OPENCODE_LIST_TABLES and type(session.native.setdefault(table, [])) is list:
            session.native[table].append(row)
        elif table == OPENCODE_DAMAGE_TABLE:
            session.notices.append(
                SourceNotice(
                    f"the table {row['table']} is damaged, rows of it may be missing: "
                    f"{row['reason']}"
                )
            )
            found.append({"type": "system-event", "event-type": table, "data": row})
        elif table in OPENCODE_LATER_MESSAGE_TABLES and not conversation.messages:
            found.append(_make_message_entry(row, session))
        else:
            found.append({"type": "system-event", "event-type": table, "data": row})
    return found


def _make_message_entry(row: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a row of the later model into an entry: a message, or an event that is named by the
    row's type.
    """
    data = _parse_json_column(row.pop("data", None))
    kind = row.get("type")
    entry: JsonObject = {
        "type": kind
        if is_one_of(kind, OPENCODE_MESSAGE_TYPES) and type(data) is dict
        else "system-event"
    }
    OPENCODE_ROW_MOVES.apply(row, entry)
    if type(data) is dict:
        lift_timestamp(data, "created", entry)
    if entry["type"] == "system-event":
        entry["event-type"] = row.pop("type") if type(kind) is str else "session_message"
        return entry | {"data": row | {"data": data}}
    del row["type"]
    if kind == "user":
        entry["content"], beside = data.pop("text", None), []
    else:
        beside = _take_assistant_content(data, entry, session)
    session.embedded += beside
    if (
        found := build_child_entries(entry["content"], session.drift.types, session.drift.members)
        + beside
    ):
        entry["children"] = found
    keep_native_members(entry, {"row": row})
    return add_remaining_members(entry, data)


def _take_assistant_content(
    data: JsonObject, entry: JsonObject, session: SessionBuilder
) -> list[JsonObject]:
    """Take what an assistant of the later model said apart; give what was not said but done or
    thought.
    """
    OPENCODE_ASSISTANT_MOVES.apply(data, entry)
    lift_opencode_usage(data, entry)
    model = data.get("model")
    if type(model) is dict and type(model.get("id")) is str:
        entry["model-id"] = model["id"]
        session.models[model["id"]] += 1
        if type(model.get("providerID")) is str:
            session.provider = model["providerID"]
    blocks = data.pop("content", None)
    if type(blocks) is not list:
        entry["content"] = blocks
        return []
    entry["content"], beside = [], []
    for block in blocks:
        if _is_tool_block(block):
            beside += _make_block_tool_entries(block, session)
        elif type(block) is dict and block.get("type") == "reasoning" and "text" in block:
            beside.append(_make_block_reasoning(block))
        else:
            entry["content"].append(block)
    return beside


def _is_tool_block(block: Any) -> bool:
    is_one = type(block) is dict and block.get("type") == "tool" and type(block.get("name")) is str
    return is_one and type(block.get("state")) is dict


def _make_block_tool_entries(block: JsonObject, session: SessionBuilder) -> list[JsonObject]:
    """See a tool of the later model as a call and a result."""
    block["tool"], block["callID"] = block.pop("name"), block.pop("id", None)
    state = block["state"]
    if (
        is_one_of(state.get("status"), ("completed", "error"))
        and "output" not in state
        and "error" not in state
    ):
        state["output"] = state.pop("content", None)
    return make_tool_entries(block, session)


def _make_block_reasoning(block: JsonObject) -> JsonObject:
    entry: JsonObject = {"type": block.pop("type"), "content": block.pop("text")}
    return add_remaining_members(entry, {"block": block})


FileLister = Callable[[str], list[str]]
"""Gives the paths of a folder's files that match a pattern, in order. A path may end where nothing
more is known.
"""


class _StorageFolder:
    """The storage folder: a file for each session, message and part."""

    marks = frozenset(("session", "message"))
    """The folders that a storage folder has."""
    signs = ("session/*/ses_*.json", "message/ses_*/msg_*.json", "part/msg_*/prt_*.json")
    """The files of which a folder that was restored has at least some, if not all those folders."""
    pieces = frozenset(("message", "part"))
    """The folders whose files are no sessions."""

    def holds(self, source: Source) -> bool:
        """Tell whether a source was made of a storage folder."""
        return source.main.name.startswith(
            ("session/", "message/", "part/")
        ) and source.main.name.endswith(".json")

    def session_of(self, source: Source) -> str:
        """Give the session that the files of a source are of, if their paths tell."""
        kind, above, name = source.main.name.split("/")[:3]
        return {"session": name.removesuffix(".json"), "message": above}.get(kind, "")

    def sessions(self, files: FileLister) -> list[str]:
        """List the ids of the sessions: those that have a file, and those that only messages name.

        Parts whose message has no file are of a session that no path tells: they go by the message.
        """
        own = {_get_file_stem(path) for path in files("session/*/*.json")}
        messages = files("message/*/*.json")
        parts = {path.split("/")[1] for path in files("part/*/*.json")}
        # Where not all messages are known, no part is known to be without its message.
        orphans = (
            parts - {_get_file_stem(path) for path in messages}
            if all(map(_get_file_stem, messages))
            else set()
        )
        return sorted((own | {path.split("/")[1] for path in messages} | orphans) - {""})

    def glimpse(self, files: FileLister, session_id: str) -> list[str]:
        """Name the files of a session that tell what it is: its own, or else one of the others."""
        own = files(f"session/*/{session_id}.json")
        others = (files(f"{folder}/{session_id}/*.json") for folder in ("message", "part"))
        return own or list(itertools.islice(itertools.chain.from_iterable(others), 1))

    def parts(self, files: FileLister, session_id: str) -> list[str]:
        """Name the files of a session, its own first."""
        own, messages = files(f"session/*/{session_id}.json"), files(f"message/{session_id}/*.json")
        if not own and not messages:
            return files(f"part/{session_id}/*.json")
        parts = [part for path in messages for part in files(f"part/{_get_file_stem(path)}/*.json")]
        beside = [
            path
            for name in ("session_diff", "todo", "session_share")
            for path in files(f"{name}/{session_id}.json")
        ]
        projects = [
            project for path in own for project in files(f"project/{path.split('/')[1]}.json")
        ]
        return own + messages + parts + beside + projects


def _get_file_stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


FOLDER = _StorageFolder()


def add_ids_from_path(path: str, document: Any) -> Any:
    """Give what a file of the storage folder holds the ids that its path names: migrations moved
    files and not what they say.
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
