"""The rows of OpenCode's database as pieces of a conversation. Step: read.

`message` and `part` rows hold JSON without the ids, which are columns. Rows of `session_message`, the later model, are
entries of their own where a session has no other messages; else they repeat them and are kept as events.
"""

from __future__ import annotations

from typing import Any

from vacr.content import children
from vacr.model import Native
from vacr.readers.assemble import Session
from vacr.readers.lift import Lift, Move, fill, keep_native
from vacr.readers.lines import exact
from vacr.readers.opencode_parts import lift_time, tool_entries
from vacr.readers.opencode_pieces import Conversation, Pieces

COLUMNS = {
    "message": {"id": "id", "session_id": "sessionID"},
    "part": {"id": "id", "message_id": "messageID", "session_id": "sessionID"},
}
"""Table → the columns that OpenCode leaves out of the JSON, and the members they are."""
MODEL_2 = frozenset(("session_message", "session_entry"))
ASSISTANT = Lift(Move("finish", "stop-reason"))
ONE_A_SESSION = frozenset(("session_share",))
LISTED = frozenset(("todo",))


def from_row(table: str, row: Native, pieces: Pieces) -> None:
    """Take one row of the export."""
    if table in COLUMNS:
        pieces.add(_joined(row, COLUMNS[table]))
    elif table in ("session", "project"):
        pieces.add({name: _parsed(value) for name, value in row.items() if value is not None})
    else:
        pieces.add_row(table, {name: value for name, value in row.items() if value is not None})


def _joined(row: Native, columns: dict[str, str]) -> Native:
    """Put the ids back into the JSON of a row. What the JSON says about them otherwise is kept as it is."""
    rest = {name: value for name, value in row.items() if name not in columns and name != "data"}
    ids = {member: row[column] for column, member in columns.items() if row.get(column) is not None}
    data = _parsed(row.get("data"))
    if type(data) is not dict or any(member in data and data[member] != value for member, value in (rest | ids).items()):
        return rest | ids | {"data": row.get("data")}
    return data | rest | ids


def _parsed(value: Any) -> Any:
    """Read JSON that a column holds as text, if it is an object or an array and nothing of it is lost."""
    if type(value) is str and value[:1] in ("{", "["):
        return next(iter(exact(value.encode())), value)
    return value


def row_entries(conversation: Conversation, session: Session) -> list[Native]:
    """Turn the rows of other tables into what they say: about the session, or entries."""
    found = []
    for table, row in conversation.rows:
        if table in ONE_A_SESSION and table not in session.native:
            session.native[table] = row
        elif table in LISTED:
            session.native.setdefault(table, []).append(row)
        elif table in MODEL_2 and not conversation.messages:
            found.append(_message(row, session))
        else:
            found.append({"type": "system-event", "event-type": table, "data": row})
    return found


def _message(row: Native, session: Session) -> Native:
    """Turn a row of the later model into an entry."""
    data = _parsed(row.pop("data", None))
    kind = row.pop("type") if type(row.get("type")) is str else None
    if type(data) is not dict or kind not in ("user", "assistant") or type(row.get("id")) is not str:
        entry: Native = {"type": "system-event", "event-type": "session_message" if kind is None else kind}
        return entry | {"data": row | {"data": data}}
    entry = {"type": kind, "id": row.pop("id")}
    lift_time(data, "created", entry)
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
    """Take what an assistant of the later model said apart; give what was not said but done or thought."""
    ASSISTANT.apply(data, entry)
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
        if (
            type(block) is dict
            and block.get("type") == "tool"
            and type(block.get("name")) is str
            and type(block.get("state")) is dict
        ):
            beside += _tool(block, session)
        elif type(block) is dict and block.get("type") == "reasoning" and "text" in block:
            beside.append(_reasoning(block))
        else:
            entry["content"].append(block)
    return beside


def _tool(block: Native, session: Session) -> list[Native]:
    """See a tool of the later model as a call and a result."""
    block["tool"], block["callID"] = block.pop("name"), block.pop("id", None)
    state = block["state"]
    if state.get("status") in ("completed", "error") and "output" not in state and "error" not in state:
        state["output"] = state.pop("content", None)
    return tool_entries(block, session)


def _reasoning(block: Native) -> Native:
    entry: Native = {"type": block.pop("type"), "content": block.pop("text")}
    return fill(entry, {"block": block})
