"""Sessions of Crush: the rows of `.crush/crush.db` as a record.

A message is a row whose `parts` are a list of JSON objects `{"type", "data"}`. Texts and images are
the content of its entry. Every other part becomes a child: a call, a result, reasoning, or an
event. Times are seconds since 1970, although Crush's own schema says milliseconds; the entry has
both. The versions of files that Crush keeps are events after the messages.

>>> from vacr.agents.crush.reader import make_message_entry
>>> from vacr.agents.lift import SessionBuilder
>>> text = '[{"type":"text","data":{"text":"Reading."}},{"type":"tool_call","data":{"id":"c1",'
>>> text += '"name":"view","input":"{\\\\"file_path\\\\": \\\\"a.py\\\\"}","finished":true}}]'
>>> row = {"id": "m1", "role": "assistant", "parts": text, "created_at": 1754315290}
>>> entry = make_message_entry(row, SessionBuilder("crush-sqlite", "crush"))
>>> entry["type"], entry["content"], entry["timestamp"]
('assistant', [{'type': 'text', 'text': 'Reading.'}], 1754315290000)
>>> [call] = entry["children"]
>>> call["type"], call["call-id"], call["input"], call["finished"]
('tool-call', 'c1', {'file_path': 'a.py'}, True)

docs/mapping/crush.md is generated from the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import is_export_head, parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    add_remaining_members,
    is_one_of,
    parse_names,
)
from vacr.agents.session_tables import (
    SessionTables,
    add_session_rows,
    make_row_event,
    seconds_to_milliseconds,
)
from vacr.model import JsonObject
from vacr.record import NameCounts

name = "crush"
CRUSH_FORMAT = "crush-sqlite"
formats = (CRUSH_FORMAT,)
STORES = (SessionStore(("crush.db",), ".", under=".crush"),)
CRUSH_DATABASE = SessionTables(
    CRUSH_FORMAT,
    signs=frozenset(("sessions", "messages.parts", "files.content", "files.version")),
    order={
        "messages": ("created_at",),
        "files": ("path", "version", "created_at"),
        "read_files": ("read_at", "path"),
    },
    weighed=("parts", "content", "todos"),
    shared=frozenset(("goose_db_version",)),
    columns={
        "title": "title",
        "start": "created_at",
        "end": "updated_at",
        "parent": "parent_session_id",
    },
)
DATABASES = (CRUSH_DATABASE,)

# --- Known members ---

CRUSH_SESSION_MEMBERS = parse_names(
    """
    completion_tokens cost created_at id message_count parent_session_id prompt_tokens
    summary_message_id title todos updated_at
    """
)
CRUSH_MESSAGE_MEMBERS = parse_names(
    """
    created_at finished_at id is_summary_message model parts provider role session_id updated_at
    """
)
CRUSH_PART_MEMBERS = {
    kind: parse_names(members)
    for kind, members in {
        "text": "text",
        "image_url": "detail url",
        "binary": "Data MIMEType Path",
        "reasoning": "finished_at responses_data signature started_at thinking thought_signature "
        "tool_id",
        "tool_call": "finished id input name provider_executed type",
        "tool_result": "content data is_error metadata mime_type name tool_call_id",
        "finish": "details message reason time",
        "shell_command": "command exit_code output",
    }.items()
}
CRUSH_CONTENT_TYPES = frozenset(("text", "image_url", "binary"))
"""The parts that are the content of a message; all others become children."""
CRUSH_ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}
"""Role of a message → the type of its entry."""

# --- Moves ---

CRUSH_MESSAGE_MOVES = Lift(Move("id", "id"))
CRUSH_CALL_MOVES = Lift(Move("id", "call-id"), Move("name", "name"))
CRUSH_RESULT_MOVES = Lift(Move("content", "output", None), Move("tool_call_id", "call-id"))
CRUSH_REASONING_MOVES = Lift(Move("thinking", "content"))


def recognises(sample: Sequence[Any]) -> float:
    """Return 1 for an export of Crush's database, else 0."""
    return float(bool(sample) and is_export_head(sample[0], CRUSH_FORMAT))


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of one session."""
    with pause_garbage_collector():
        reading = _read_session(source)
    yield reading


def _read_session(source: Source) -> Reading:
    """Return the record of the rows of a session."""
    session = SessionBuilder(CRUSH_FORMAT, name)
    add_session_rows(source, session, _learn_session, make_message_entry, _make_event)
    providers: NameCounts = defaultdict(int)
    for entry in session.entries:
        provider = entry.get("provider")
        if entry["type"] == "assistant" and provider and type(provider) is str:
            providers[provider] += 1
    if providers:
        session.provider = max(providers, key=providers.__getitem__)
    session.tidy()
    return session.reading(source)


def _learn_session(row: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session; its other columns become members of the session."""
    session.drift.count_members("session", row, CRUSH_SESSION_MEMBERS)
    del row["id"]
    session.start = seconds_to_milliseconds(row.get("created_at"))
    session.end = seconds_to_milliseconds(row.get("updated_at"))
    parent = row.get("parent_session_id")
    if parent and type(parent) is str:
        session.parent, session.mode = parent, "autonomous"
    session.native = row


def _make_event(table: str, row: JsonObject) -> JsonObject:
    """Make the event of any other row, with the time of its creation."""
    event = make_row_event(table, row)
    when = seconds_to_milliseconds(row.get("created_at", row.get("read_at")))
    if when is not None:
        event["timestamp"] = when
    return event


# --- Messages ---


def make_message_entry(row: JsonObject, session: SessionBuilder) -> JsonObject | None:
    """Turn a row of the messages into an entry.

    Return None, and leave the row as it is, if its role or its parts have another form.
    """
    role, parts = row.get("role"), parse_json_text(row.get("parts"))
    if not is_one_of(role, CRUSH_ROLES) or type(parts) is not list:
        session.drift.count_type("messages")
        return None
    session.drift.count_members("message", row, CRUSH_MESSAGE_MEMBERS)
    del row["parts"]
    entry: JsonObject = {"type": CRUSH_ROLES[role]}
    if role == entry["type"]:
        del row["role"]
    CRUSH_MESSAGE_MOVES.apply(row, entry)
    when = seconds_to_milliseconds(row.get("created_at"))
    if when is not None:
        entry["timestamp"] = when
    model = row.get("model")
    if model and type(model) is str:
        entry["model-id"] = row.pop("model")
        session.models[model] += 1
    _add_parts(parts, entry, session)
    return add_remaining_members(entry, row)


def _add_parts(parts: list[Any], entry: JsonObject, session: SessionBuilder) -> None:
    """Put the parts of a message into its content and its children.

    The native order is noted, unless the content comes first.
    """
    content: list[Any] = []
    children: list[JsonObject] = []
    order: list[str] = []
    is_ordered = True
    for part in parts:
        kind = part.get("type") if _is_part(part) else None
        if is_one_of(kind, CRUSH_CONTENT_TYPES) and "type" not in part["data"]:
            is_ordered = is_ordered and not children
            session.drift.count_members(kind, part["data"], CRUSH_PART_MEMBERS[kind])
            order.append(f"content/{len(content)}")
            content.append({"type": kind, **part["data"]})
        else:
            order.append(f"children/{len(children)}")
            children.append(_make_child(part, kind, entry, session))
    if not is_ordered:
        get_writable_marks(entry)["order"] = order
    entry["content"] = content
    if children:
        entry["children"] = children
        session.embedded += children


def _is_part(part: Any) -> bool:
    """Return whether a value has the form of a part: a type in text, and its data."""
    return (
        type(part) is dict
        and part.keys() == {"type", "data"}
        and type(part["type"]) is str
        and type(part["data"]) is dict
    )


def _make_child(
    part: Any, kind: str | None, entry: JsonObject, session: SessionBuilder
) -> JsonObject:
    """Turn a part that is not content into an entry; a part of another form stays whole."""
    if kind is None:
        return session.make_value_event(part)
    data = part["data"]
    if kind not in CRUSH_PART_MEMBERS:
        session.drift.count_type(f"part/{kind}")
        return _make_part_event(kind, data)
    session.drift.count_members(kind, data, CRUSH_PART_MEMBERS[kind])
    if kind == "tool_call" and type(data.get("name")) is str and "input" in data:
        return _make_call(data)
    if kind == "tool_result" and data.get("content") is not None:
        return _make_result(data)
    if kind == "reasoning" and type(data.get("thinking")) is str:
        return _make_reasoning(data)
    reason = data.get("reason")
    if kind == "finish" and entry["type"] == "assistant" and reason and type(reason) is str:
        entry["stop-reason"] = reason
    return _make_part_event(kind, data)


def _make_part_event(kind: str, data: JsonObject) -> JsonObject:
    """Make the event that keeps a part as it is, named by its type."""
    event: JsonObject = {"type": "system-event", "event-type": kind, "data": data}
    event["vacr"] = {"part": True}
    when = seconds_to_milliseconds(data.get("time"))
    if when is not None:
        event["timestamp"] = when
    return event


def _make_call(data: JsonObject) -> JsonObject:
    """Turn the data of a call into an entry; arguments in JSON are parsed, and their text stays."""
    call: JsonObject = {"type": "tool-call"}
    CRUSH_CALL_MOVES.apply(data, call)
    call["input"] = parse_json_text(data["input"])
    if call["input"] is data["input"]:
        del data["input"]
    return add_remaining_members(call, data)


def _make_result(data: JsonObject) -> JsonObject:
    """Turn the data of a result into an entry."""
    result: JsonObject = {"type": "tool-result"}
    CRUSH_RESULT_MOVES.apply(data, result)
    return add_remaining_members(result, data)


def _make_reasoning(data: JsonObject) -> JsonObject:
    """Turn the data of reasoning into an entry, with the time when it began."""
    entry: JsonObject = {"type": "reasoning"}
    if data.get("signature") and type(data["signature"]) is str:
        entry["encrypted"] = data.pop("signature")
    CRUSH_REASONING_MOVES.apply(data, entry)
    when = seconds_to_milliseconds(data.get("started_at"))
    if when is not None:
        entry["timestamp"] = when
    return add_remaining_members(entry, data)
