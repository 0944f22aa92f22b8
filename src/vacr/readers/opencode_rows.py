"""The rows of OpenCode's database as pieces of a conversation. Step: read.

`message` and `part` rows hold JSON without the ids, which are columns. Rows of `session_message`,
the later model, are entries of their own where a session has no other messages; else they repeat
them and are kept as events.
"""

from __future__ import annotations

from typing import Any

from vacr.content import children
from vacr.model import Native
from vacr.readers.assemble import Notice, Session
from vacr.readers.lift import Lift, Move, fill, is_one_of, keep_native
from vacr.readers.lines import exact
from vacr.readers.opencode_database import DAMAGED
from vacr.readers.opencode_parts import lift_time, tool_entries
from vacr.readers.opencode_pieces import Conversation, Pieces
from vacr.readers.opencode_usage import lift_usage

COLUMNS = {
    "message": {"id": "id", "session_id": "sessionID"},
    "part": {"id": "id", "message_id": "messageID", "session_id": "sessionID"},
}
"""Table → the columns that OpenCode leaves out of the JSON, and the members they are."""
NEEDED = {"session": "id", "project": "id", "message": "id", "part": "messageID"}
"""Table → what a row must have to be put where it belongs."""
JSON = {
    "session": frozenset(("summary_diffs", "revert", "permission", "model", "metadata")),
    "project": frozenset(("sandboxes", "commands")),
}
"""Table → its columns that hold JSON; any other text is a text, whatever it looks like."""
MODEL_2 = frozenset(("session_message", "session_entry"))
MESSAGES = frozenset(("user", "assistant"))
ROW = Lift(Move("id", "id"))
ASSISTANT = Lift(Move("finish", "stop-reason"))
ONE_A_SESSION = frozenset(("session_share",))
LISTED = frozenset(("todo",))


def from_row(table: str, row: Native, pieces: Pieces) -> None:
    """Take one row of the export."""
    if table in NEEDED:
        found = _joined(row, COLUMNS[table]) if table in COLUMNS else _columns(row, JSON[table])
        if type(found.get(NEEDED[table])) is str or (
            table == "session" and pieces.only is not None
        ):
            pieces.add(found, table)
            return
    pieces.add_row(table, {name: value for name, value in row.items() if value is not None})


def _columns(row: Native, json_columns: frozenset[str]) -> Native:
    """Read the columns of a row; those without a value say nothing."""
    return {
        name: _parsed(value) if name in json_columns else value
        for name, value in row.items()
        if value is not None
    }


def _joined(row: Native, columns: dict[str, str]) -> Native:
    """Put the ids back into the JSON of a row. What the JSON says about them otherwise is kept as
    it is.
    """
    rest = {name: value for name, value in row.items() if name not in columns and name != "data"}
    ids = {member: row[column] for column, member in columns.items() if row.get(column) is not None}
    data = _parsed(row.get("data"))
    if type(data) is not dict or any(
        member in data and data[member] != value for member, value in (rest | ids).items()
    ):
        return rest | ids | {"data": row.get("data")}
    return data | rest | ids


def _parsed(value: Any) -> Any:
    """Read JSON that a column holds as text, if it is an object or an array and nothing of it is
    lost.
    """
    if type(value) is str and value[:1] in ("{", "["):
        return next(iter(exact(value.encode())), value)
    return value


def row_entries(conversation: Conversation, session: Session) -> list[Native]:
    """Turn the rows of other tables into what they say: about the session, or entries."""
    found = []
    for table, row in conversation.rows:
        if table in ONE_A_SESSION and table not in session.native:
            session.native[table] = row
        elif table in LISTED and type(session.native.setdefault(table, [])) is list:
            session.native[table].append(row)
        elif table == DAMAGED:
            session.notices.append(
                Notice(
                    f"the table {row['table']} is damaged, rows of it may be missing: "
                    f"{row['reason']}"
                )
            )
            found.append({"type": "system-event", "event-type": table, "data": row})
        elif table in MODEL_2 and not conversation.messages:
            found.append(_message(row, session))
        else:
            found.append({"type": "system-event", "event-type": table, "data": row})
    return found


def _message(row: Native, session: Session) -> Native:
    """Turn a row of the later model into an entry: a message, or an event that is named by the
    row's type.
    """
    data = _parsed(row.pop("data", None))
    kind = row.get("type")
    entry: Native = {
        "type": kind if is_one_of(kind, MESSAGES) and type(data) is dict else "system-event"
    }
    ROW.apply(row, entry)
    if type(data) is dict:
        lift_time(data, "created", entry)
    if entry["type"] == "system-event":
        entry["event-type"] = row.pop("type") if type(kind) is str else "session_message"
        return entry | {"data": row | {"data": data}}
    del row["type"]
    if kind == "user":
        entry["content"], beside = data.pop("text", None), []
    else:
        beside = _assistant(data, entry, session)
    session.embedded += beside
    if found := children(entry["content"], session.drift.types, session.drift.members) + beside:
        entry["children"] = found
    keep_native(entry, {"row": row})
    return fill(entry, data)


def _assistant(data: Native, entry: Native, session: Session) -> list[Native]:
    """Take what an assistant of the later model said apart; give what was not said but done or
    thought.
    """
    ASSISTANT.apply(data, entry)
    lift_usage(data, entry)
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
        if _is_tool(block):
            beside += _tool(block, session)
        elif type(block) is dict and block.get("type") == "reasoning" and "text" in block:
            beside.append(_reasoning(block))
        else:
            entry["content"].append(block)
    return beside


def _is_tool(block: Any) -> bool:
    is_one = type(block) is dict and block.get("type") == "tool" and type(block.get("name")) is str
    return is_one and type(block.get("state")) is dict


def _tool(block: Native, session: Session) -> list[Native]:
    """See a tool of the later model as a call and a result."""
    block["tool"], block["callID"] = block.pop("name"), block.pop("id", None)
    state = block["state"]
    if (
        is_one_of(state.get("status"), ("completed", "error"))
        and "output" not in state
        and "error" not in state
    ):
        state["output"] = state.pop("content", None)
    return tool_entries(block, session)


def _reasoning(block: Native) -> Native:
    entry: Native = {"type": block.pop("type"), "content": block.pop("text")}
    return fill(entry, {"block": block})
