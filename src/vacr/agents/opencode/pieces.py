"""The pieces of OpenCode's conversations, sorted to their sessions.

Only an export holds a session whole. The storage folder has a file for each message and part, the
database a row, and a dump of either mixes many sessions in any order. `classify_piece` recognises
a piece by its members; `PieceCollector` adds each part to its message, and each message to its
session.

>>> from vacr.agents.opencode.pieces import PieceCollector, classify_piece
>>> pieces = PieceCollector()
>>> for piece in (
...     {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Hi"},
...     {"id": "msg_1", "sessionID": "ses_1", "role": "user"},
... ):
...     pieces.add(piece, classify_piece(piece))
>>> [(session_id, conversation)] = pieces.collect_conversations()
>>> session_id, [(message.info["id"], len(message.parts)) for message in conversation.messages]
('ses_1', [('msg_1', 1)])

Rows of `message` and `part` hold JSON without the ids; those are columns. Rows of
`session_message`, the later model, become entries where a session has no other messages; otherwise
they repeat those and become events.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from vacr.agents.documents import parse_json_text
from vacr.agents.labels import get_writable_marks
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
    copy_encrypted_reasoning,
    lift_opencode_usage,
    lift_timestamp,
    make_tool_entries,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries, encode_canonical_json

MAX_SHARED_PROJECT_BYTES = 1 << 16
"""A project up to this size is in every session of it; a larger one only in the first session."""

OPENCODE_DAMAGE_TABLE = "vacr-damaged"
"""The table of a row that vacr adds: it names a table that could not be read whole."""
OPENCODE_ID_COLUMNS = {
    "message": {"id": "id", "session_id": "sessionID"},
    "part": {"id": "id", "message_id": "messageID", "session_id": "sessionID"},
}
"""Table → the columns that OpenCode leaves out of the JSON, and the members they are."""
OPENCODE_REQUIRED_MEMBERS = {"session": "id", "project": "id", "message": "id", "part": "messageID"}
"""Table → the member that a row needs to be put where it belongs."""
OPENCODE_JSON_COLUMNS = {
    "session": frozenset(("summary_diffs", "revert", "permission", "model", "metadata")),
    "project": frozenset(("sandboxes", "commands")),
}
"""Table → its columns that hold JSON; a text in any other column is a text."""
OPENCODE_LATER_MESSAGE_TABLES = frozenset(("session_message", "session_entry"))
OPENCODE_SINGLE_ROW_TABLES = frozenset(("session_share",))
OPENCODE_LIST_TABLES = frozenset(("todo",))
OPENCODE_MESSAGE_TYPES = frozenset(("user", "assistant"))
OPENCODE_ROW_MOVES = Lift(Move("id", "id"))
OPENCODE_ASSISTANT_MOVES = Lift(Move("finish", "stop-reason"))


@dataclass
class OpenCodeMessage:
    """A message and its parts."""

    info: Any
    parts: list[Any] | None = field(default_factory=list)
    """An export without a list of parts has None here."""
    beside: JsonObject = field(default_factory=dict)
    """The other members that an export has next to `info` and `parts`."""


@dataclass
class OpenCodeConversation:
    """All that is known of one session."""

    info: JsonObject | None = None
    messages: list[OpenCodeMessage] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    """Other values of the session, by the name of their folder or table."""
    rows: list[tuple[str, JsonObject]] = field(default_factory=list)
    """Rows of other tables that name the session."""
    chat: list[JsonObject] = field(default_factory=list)
    """Messages in the form of a sample."""
    chat_from: str | None = None
    """The place of those messages in the sample, as a JSON Pointer."""
    loose: list[Any] = field(default_factory=list)
    """Values that fit nowhere."""


class PieceCollector:
    """The pieces of a source, while they are being collected."""

    def __init__(self) -> None:
        """Start without pieces."""
        self._sessions: dict[str, OpenCodeConversation] = {}
        self._messages: dict[tuple[str, str], OpenCodeMessage] = {}
        self._order: dict[str, list[tuple[Any, str]]] = {}
        self._parts: list[tuple[str, bool, JsonObject]] = []
        self._projects: dict[str, JsonObject] = {}
        self._unplaced: list[tuple[str, str, Any]] = []
        self._current = ""
        self.only: str | None = None
        """The session of all pieces, if the place of the source decides it."""

    def add(self, value: Any, kind: str) -> None:
        """Add a piece of some kind, as `classify_piece` returns it.

        A piece of another or no kind is placed when all sessions are known.
        """
        if kind == "part":
            self._add_part(value)
        elif kind == "message":
            self._add_message(value)
        elif kind == "session":
            self._add_session(value)
        elif kind == "project":
            self._add_project(value)
        else:
            self._unplaced.append((kind, self._current, value))

    def add_row(self, table: str, row: JsonObject) -> None:
        """Add a row of another table to the session that it names, or else to the current one."""
        session_id = row.get("session_id") or row.get("aggregate_id")
        self._go_to_session(session_id).rows.append((table, row))

    def _add_part(self, part: JsonObject) -> None:
        """Add a part; it finds its message when all messages are known."""
        session_id = part.get("sessionID")
        self._go_to_session(session_id)
        self._parts.append((self._current, type(session_id) is str, part))

    def _add_message(self, info: JsonObject) -> None:
        """Add a message; a second one with the same id is kept as a loose value."""
        self._go_to_session(info.get("sessionID"))
        identity = info["id"]
        if (self._current, identity) in self._messages:
            self._unplaced.append(("", self._current, info))
            return
        self._messages[self._current, identity] = OpenCodeMessage(info)
        self._order.setdefault(self._current, []).append((_get_created_time(info), identity))

    def _add_session(self, info: JsonObject) -> None:
        """Add the description of a session; a second one is kept as a loose value."""
        conversation = self._go_to_session(info.get("id"))
        if conversation.info is None:
            conversation.info = info
        else:
            conversation.loose.append(info)

    def _add_project(self, project: JsonObject) -> None:
        """Add a project, unless its id is known already: then it is kept as a loose value."""
        if self._projects.setdefault(project["id"], project) is not project:
            self._unplaced.append(("", self._current, project))

    def _go_to_session(self, session_id: Any) -> OpenCodeConversation:
        """Make the session that a piece names the current one; without a name it stays."""
        if self.only is not None:
            self._current = self.only
        elif type(session_id) is str:
            self._current = session_id
        conversation = self._sessions.get(self._current)
        if conversation is None:
            conversation = self._sessions[self._current] = OpenCodeConversation()
        return conversation

    def collect_conversations(self) -> list[tuple[str, OpenCodeConversation]]:
        """Return the sessions with their ids, in the order of their first pieces.

        A value that belongs to no session goes to the nearest one.
        """
        self._add_parts_to_messages()
        for session_id, conversation in self._sessions.items():
            for _, identity in sorted(self._order.get(session_id, ())):
                message = self._messages[session_id, identity]
                message.parts = sorted(message.parts or (), key=_get_part_id)
                conversation.messages.append(message)
        placed_projects = self._place_projects()
        for identity, project in self._projects.items():
            if identity not in placed_projects:
                self._unplaced.append(("project", self._current, project))
        self._assign_shares()
        for kind, session_id, value in self._unplaced:
            self._place_value(kind, session_id, value)
        return [
            (session_id, conversation)
            for session_id, conversation in self._sessions.items()
            if session_id or conversation != OpenCodeConversation()
        ]

    def _add_parts_to_messages(self) -> None:
        """Add each part to its message.

        A part that names no session may go to a message of another session that has the id.
        """
        first_messages: dict[str, OpenCodeMessage] = {}
        for (_, message_id), message in self._messages.items():
            first_messages.setdefault(message_id, message)
        for session_id, names_session, part in self._parts:
            owner = self._messages.get((session_id, part["messageID"]))
            if owner is None and not names_session:
                owner = first_messages.get(part["messageID"])
            if owner is None or owner.parts is None:
                self._sessions[session_id].loose.append(part)
            else:
                owner.parts.append(part)

    def _place_projects(self) -> set[str]:
        """Add each project to its sessions; return the ids of the projects that have one."""
        holders: dict[str, str] = {}
        for session_id, conversation in self._sessions.items():
            info = conversation.info or {}
            identity = info.get("projectID", info.get("project_id"))
            if type(identity) is str and identity in self._projects:
                project = self._projects[identity]
                if (
                    identity in holders
                    and len(encode_canonical_json(project)) > MAX_SHARED_PROJECT_BYTES
                ):
                    project = make_project_reference(identity, holders[identity])
                conversation.extras["project"] = project
                holders.setdefault(identity, session_id)
        return set(holders)

    def _assign_shares(self) -> None:
        """Find the sessions of shares: the id of a share is the end of the session's id."""
        reversed_ids = sorted(session_id[::-1] for session_id in self._sessions)
        for position, (kind, _, value) in enumerate(self._unplaced):
            ending = value["id"][::-1] if kind == "session_share" else ""
            nearest = bisect_left(reversed_ids, ending)
            if ending and nearest < len(reversed_ids) and reversed_ids[nearest].startswith(ending):
                self._unplaced[position] = kind, reversed_ids[nearest][::-1], value

    def _place_value(self, kind: str, session_id: str, value: Any) -> None:
        """Add a value to the session it was found with, or else to the first one.

        The first value of a `kind` becomes an extra of that name; any other is loose.
        """
        if not session_id and self._sessions:
            session_id = next(iter(self._sessions))
        conversation = self._sessions.setdefault(session_id, OpenCodeConversation())
        if kind and kind not in conversation.extras:
            conversation.extras[kind] = value
        else:
            conversation.loose.append(value)


def _get_created_time(info: JsonObject) -> int:
    """Return the time of a message for sorting; messages without one come first."""
    times = info.get("time")
    created = times.get("created") if type(times) is dict else info.get("time_created")
    return created if type(created) is int else -1


def _get_part_id(part: JsonObject) -> str:
    """Return the id of a part for sorting; empty if it has none."""
    return part["id"] if type(part.get("id")) is str else ""


def make_project_reference(project_id: Any, session_id: str) -> JsonObject:
    """Return the value that stands for a large project, and names the session that has it."""
    return {"id": project_id, "kept-with-session": session_id}


def classify_piece(value: Any) -> str:
    """Return the kind of a value that stands by itself, or an empty text if it is unknown."""
    if type(value) is list:
        return _classify_list(value)
    if type(value) is not dict or type(value.get("id")) is not str:
        return ""
    if type(value.get("messageID")) is str and "type" in value:
        return "part"
    if "role" in value and ("sessionID" in value or value["id"].startswith("msg")):
        return "message"
    if "worktree" in value:
        return "project"
    if "secret" in value and "url" in value:
        return "session_share"
    if value.get("directory") is not None and (
        "projectID" in value or "project_id" in value or value["id"].startswith("ses")
    ):
        return "session"
    return ""


def _classify_list(items: list[Any]) -> str:
    """Return `session_diff` or `todo` for a list of such objects.

    Return an empty text for an empty list, and for a list of other items.
    """
    if not items or not all(type(item) is dict for item in items):
        return ""
    if all("file" in item and "additions" in item for item in items):
        return "session_diff"
    return "todo" if all("content" in item and "status" in item for item in items) else ""


# --- Rows of the database ---


def add_database_row(table: str, row: JsonObject, pieces: PieceCollector) -> None:
    """Add a row of a database export to the pieces."""
    if table in OPENCODE_REQUIRED_MEMBERS:
        if table in OPENCODE_ID_COLUMNS:
            piece = _restore_row_ids(row, OPENCODE_ID_COLUMNS[table])
        else:
            piece = _parse_columns(row, OPENCODE_JSON_COLUMNS[table])
        has_id = type(piece.get(OPENCODE_REQUIRED_MEMBERS[table])) is str
        if has_id or (table == "session" and pieces.only is not None):
            pieces.add(piece, table)
            return
    pieces.add_row(table, {name: value for name, value in row.items() if value is not None})


def _restore_row_ids(row: JsonObject, columns: dict[str, str]) -> JsonObject:
    """Put the ids back into the JSON of a row; if they contradict it, keep the text of the JSON.

    `columns` maps the columns with ids to the members they become.
    """
    rest = {name: value for name, value in row.items() if name not in columns and name != "data"}
    ids = {member: row[column] for column, member in columns.items() if row.get(column) is not None}
    data = parse_json_text(row.get("data"))
    outer = rest | ids
    if type(data) is not dict or any(
        member in data and data[member] != value for member, value in outer.items()
    ):
        return outer | {"data": row.get("data")}
    return data | outer


def _parse_columns(row: JsonObject, json_columns: frozenset[str]) -> JsonObject:
    """Return the columns of a row that have a value, with JSON columns parsed."""
    return {
        name: parse_json_text(value) if name in json_columns else value
        for name, value in row.items()
        if value is not None
    }


def make_row_entries(
    conversation: OpenCodeConversation, session: SessionBuilder
) -> list[JsonObject]:
    """Turn the rows of other tables into members of the session, or entries.

    Return the entries; the members are added to `session.native`.
    """
    entries: list[JsonObject] = []
    for table, row in conversation.rows:
        if table in OPENCODE_SINGLE_ROW_TABLES and table not in session.native:
            session.native[table] = row
        elif table in OPENCODE_LIST_TABLES and type(session.native.setdefault(table, [])) is list:
            session.native[table].append(row)
        elif table in OPENCODE_LATER_MESSAGE_TABLES and not conversation.messages:
            entries.append(_make_later_message_entry(row, session))
        else:
            if table == OPENCODE_DAMAGE_TABLE:
                message = (
                    f"the table {row['table']} is damaged, rows of it may be missing: "
                    f"{row['reason']}"
                )
                session.notices.append(SourceNotice(message))
            entries.append({"type": "system-event", "event-type": table, "data": row})
    return entries


def _make_later_message_entry(row: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a row of the later model into a message, or an event named by the row's type."""
    data = parse_json_text(row.pop("data", None))
    kind = row.get("type")
    is_message = is_one_of(kind, OPENCODE_MESSAGE_TYPES) and type(data) is dict
    entry: JsonObject = {"type": kind if is_message else "system-event"}
    OPENCODE_ROW_MOVES.apply(row, entry)
    if type(data) is dict:
        lift_timestamp(data, "created", entry)
    if not is_message:
        entry["event-type"] = row.pop("type") if type(kind) is str else "session_message"
        return entry | {"data": row | {"data": data}}
    del row["type"]
    own_children: list[JsonObject] = []
    order: list[tuple[str, int]] = []
    if kind == "user":
        entry["content"] = data.pop("text", None)
    else:
        own_children, order = _take_assistant_content(data, entry, session)
    session.embedded += own_children
    views = build_child_entries(entry["content"], session.drift.types, session.drift.members)
    if children := views + own_children:
        entry["children"] = children
    if order != sorted(order, key=lambda place: place[0] == "children"):
        first = {"content": 0, "children": len(views)}
        get_writable_marks(entry)["order"] = [
            f"{member}/{first[member] + number}" for member, number in order
        ]
    keep_native_members(entry, {"row": row})
    return add_remaining_members(entry, data)


def _take_assistant_content(
    data: JsonObject, entry: JsonObject, session: SessionBuilder
) -> tuple[list[JsonObject], list[tuple[str, int]]]:
    """Move an assistant's texts into the entry; return its tool calls and reasoning as entries.

    Return also where each block went, in the native order: `("content", 0)`, `("children", 0)`.
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
        return [], []
    content: list[Any] = []
    children: list[JsonObject] = []
    order: list[tuple[str, int]] = []
    for block in blocks:
        is_reasoning = type(block) is dict and block.get("type") == "reasoning" and "text" in block
        if is_reasoning or _is_tool_block(block):
            order.append(("children", len(children)))
        else:
            order.append(("content", len(content)))
        if _is_tool_block(block):
            children += _make_block_tool_entries(block, session)
        elif is_reasoning:
            children.append(_make_block_reasoning(block))
        else:
            content.append(block)
    entry["content"] = content
    return children, order


def _is_tool_block(block: Any) -> bool:
    """Return whether a block is a tool call with a name and a state."""
    if type(block) is not dict or block.get("type") != "tool":
        return False
    return type(block.get("name")) is str and type(block.get("state")) is dict


def _make_block_tool_entries(block: JsonObject, session: SessionBuilder) -> list[JsonObject]:
    """Turn a tool block of the later model into a call and a result."""
    block["tool"], block["callID"] = block.pop("name"), block.pop("id", None)
    state = block["state"]
    is_finished = is_one_of(state.get("status"), ("completed", "error"))
    if is_finished and "output" not in state and "error" not in state:
        state["output"] = state.pop("content", None)
    return make_tool_entries(block, session)


def _make_block_reasoning(block: JsonObject) -> JsonObject:
    """Turn a block with reasoning into an entry."""
    entry: JsonObject = {"type": block.pop("type"), "content": block.pop("text")}
    copy_encrypted_reasoning(block.get("providerMetadata"), entry)
    return add_remaining_members(entry, {"block": block})
