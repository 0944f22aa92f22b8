"""Sessions of Goose: the rows of `sessions.db`, or the lines of an older session file, as a record.

A message has a list of blocks. Texts and images are the content of its entry. Every other block
becomes a child: a call, a result, reasoning, or an event. A result is in a message of the user.
A row has the blocks as text with JSON, and its time in seconds since 1970.

>>> from vacr.agents.goose.reader import make_row_entry
>>> from vacr.agents.lift import SessionBuilder
>>> blocks = '[{"type": "text", "text": "Done."}, {"type": "toolRequest", "id": "c1", "toolCall": '
>>> blocks += '{"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}}}]'
>>> row = {"id": 4, "message_id": "msg_4", "role": "assistant", "created_timestamp": 1785000000}
>>> entry = make_row_entry(row | {"content_json": blocks}, SessionBuilder("goose-sqlite", "goose"))
>>> entry["type"], entry["content"], entry["id"], entry["timestamp"]
('assistant', [{'type': 'text', 'text': 'Done.'}], 'msg_4', 1785000000000)
>>> [call] = entry["children"]
>>> call["call-id"], call["name"], call["input"], call["toolCall"]
('c1', 'shell', {'command': 'ls'}, {'status': 'success'})

docs/mapping/goose.md is generated from the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import is_export_head, parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
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
    seconds_to_milliseconds,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject

name = "goose"
GOOSE_DATABASE_FORMAT = "goose-sqlite"
GOOSE_LINES_FORMAT = "goose-jsonl"
formats = (GOOSE_DATABASE_FORMAT, GOOSE_LINES_FORMAT)

_FILES = ("sessions.db", "*.jsonl")
_ROOT = "GOOSE_PATH_ROOT"
STORES = (
    SessionStore(_FILES, "", _ROOT, "data/sessions"),
    SessionStore(_FILES, "~/.local/share", "XDG_DATA_HOME", "goose/sessions", unless=_ROOT),
    SessionStore(
        _FILES,
        "",
        under="Block/goose/sessions",
        systems={"darwin": "~/Library/Application Support"},
        unless=_ROOT,
    ),
    SessionStore(
        _FILES,
        "",
        under="Block/goose/data/sessions",
        systems={"win32": "~/AppData/Roaming"},
        variables={"win32": "APPDATA"},
        unless=_ROOT,
    ),
)


def parse_database_time(value: Any) -> int | None:
    """Return a time of SQLite, in UTC without a zone, as milliseconds since 1970.

    Return None for any other value.
    """
    try:
        when = datetime.fromisoformat(value) if type(value) is str else None
    except ValueError:
        return None
    if when is None:
        return None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


GOOSE_DATABASE = SessionTables(
    GOOSE_DATABASE_FORMAT,
    signs=frozenset(("sessions.working_dir", "sessions.extension_data", "messages.content_json")),
    order={"messages": ("created_timestamp",)},
    weighed=("content_json", "metadata_json"),
    shared=frozenset(("schema_version",)),
    columns={
        "title": "name",
        "project": "working_dir",
        "start": "created_at",
        "end": "updated_at",
    },
    parse_time=parse_database_time,
)
DATABASES = (GOOSE_DATABASE,)

# --- Known members ---

GOOSE_SESSION_MEMBERS = parse_names(
    """
    accumulated_input_tokens accumulated_output_tokens accumulated_total_tokens created_at
    description extension_data goose_mode id input_tokens model_config_json name output_tokens
    provider_name recipe_json schedule_id session_type total_tokens updated_at
    user_recipe_values_json user_set_name working_dir
    """
)
GOOSE_HEADER_MEMBERS = GOOSE_SESSION_MEMBERS | parse_names(
    "message_count model_config project_id recipe user_recipe_values"
)
"""The members of the first line of a session file."""
GOOSE_ROW_MEMBERS = parse_names(
    """
    content_json created_timestamp id message_id metadata_json role session_id timestamp tokens
    """
)
GOOSE_LINE_MEMBERS = parse_names("content created id metadata role")
GOOSE_BLOCK_MEMBERS = {
    kind: parse_names(f"type {members}")
    for kind, members in {
        "text": "_meta annotations text",
        "image": "_meta annotations data mimeType",
        "toolRequest": "_meta id metadata toolCall",
        "toolResponse": "id metadata toolResult",
        "toolConfirmationRequest": "arguments id prompt toolName",
        "actionRequired": "data",
        "frontendToolRequest": "id toolCall",
        "thinking": "signature thinking",
        "redactedThinking": "data",
        "systemNotification": "data msg notificationType",
        "reasoning": "text",
        "conversationCompacted": "msg",
        "summarizationRequested": "msg",
        "contextLengthExceeded": "msg",
    }.items()
}
GOOSE_CONTENT_TYPES = frozenset(("text", "image"))
"""The blocks that are the content of a message; all others become children."""
GOOSE_CALL_TYPES = frozenset(("toolRequest", "frontendToolRequest"))
GOOSE_ROLES = frozenset(("user", "assistant"))
SUB_AGENT_TYPE = "sub_agent"
AUTONOMOUS_TYPES = frozenset((SUB_AGENT_TYPE, "scheduled"))
"""The types of sessions that begin without a person."""
_HEADER_SIGNS = frozenset(("description", "message_count"))

# --- Moves ---

GOOSE_CALL_MOVES = Lift(Move("id", "call-id"))
GOOSE_REASONING_MEMBERS = {"thinking": "thinking", "reasoning": "text", "redactedThinking": "data"}
"""Type of a block → its member with the reasoning, as text or encrypted."""


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is Goose's: 1 for an export, 0 for an empty sample."""
    if sample and is_export_head(sample[0], GOOSE_DATABASE_FORMAT):
        return 1.0
    return sum(map(_is_session_line, sample)) / len(sample) if sample else 0.0


def _is_session_line(value: Any) -> bool:
    """Return whether a value is a line of a session file: its header, or a message."""
    if type(value) is not dict:
        return False
    if "role" not in value:
        return is_header(value)
    blocks = value.get("content")
    return (
        type(value.get("created")) is int
        and type(blocks) is list
        and all(
            is_one_of(dict_or_empty(block).get("type"), GOOSE_BLOCK_MEMBERS) for block in blocks
        )
    )


def is_header(line: JsonObject) -> bool:
    """Return whether a line of a session file describes the session."""
    return "role" not in line and "working_dir" in line and not _HEADER_SIGNS.isdisjoint(line)


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of an export, or of a session file."""
    sample = source.main.sample(1)
    with pause_garbage_collector():
        is_export = bool(sample) and is_export_head(sample[0], GOOSE_DATABASE_FORMAT)
        reading = _read_rows(source) if is_export else _read_lines(source)
    yield reading


def _read_rows(source: Source) -> Reading:
    """Return the record of the rows of a session."""
    session = SessionBuilder(GOOSE_DATABASE_FORMAT, name)
    add_session_rows(source, session, _learn_row, make_row_entry)
    session.tidy()
    return session.reading(source)


def _read_lines(source: Source) -> Reading:
    """Return the record of a session file; its header becomes an event."""
    session = SessionBuilder(GOOSE_LINES_FORMAT, name)

    def make_entry(line: JsonObject) -> JsonObject:
        """Turn a line into an entry."""
        if is_header(line):
            session.drift.count_members("session", line, GOOSE_HEADER_MEMBERS)
            _learn_session(line, session)
            return {"type": "system-event", "event-type": "session", "data": line}
        return _make_line_entry(line, session)

    session.add_lines(source, make_entry)
    if session.session_id is None:
        # The name of the file is the id of its session.
        stem = source.main.name.rpartition("/")[2].removesuffix(".jsonl")
        session.session_id = stem if stem[:8].isdigit() else None
    session.tidy()
    return session.reading(source)


def _learn_row(row: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session from its row; its other columns become members of the session."""
    session.drift.count_members("session", row, GOOSE_SESSION_MEMBERS)
    del row["id"]
    _learn_session(row, session)
    session.native = row


def _learn_session(members: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session from its row or its header."""
    if type(members.get("id")) is str and members["id"]:
        session.session_id = members["id"]
    if type(members.get("working_dir")) is str and members["working_dir"]:
        session.working_dir = members["working_dir"]
    session.start = parse_database_time(members.get("created_at"))
    session.end = parse_database_time(members.get("updated_at")) if session.start else None
    provider = members.get("provider_name")
    if type(provider) is str and provider:
        session.provider = provider
    config = parse_json_text(members.get("model_config_json", members.get("model_config")))
    model = dict_or_empty(config).get("model_name")
    if type(model) is str and model:
        session.models[model] += 1
    if is_one_of(members.get("session_type"), AUTONOMOUS_TYPES):
        session.mode = "autonomous"


# --- Messages ---


def make_row_entry(row: JsonObject, session: SessionBuilder) -> JsonObject | None:
    """Turn a row of the messages into an entry.

    Return None, and leave the row as it is, if its role or its blocks have another form.
    """
    blocks = parse_json_text(row.get("content_json"))
    if not is_one_of(row.get("role"), GOOSE_ROLES) or type(blocks) is not list:
        session.drift.count_type("messages")
        return None
    session.drift.count_members("message", row, GOOSE_ROW_MEMBERS)
    del row["content_json"]
    number, identity = row.get("id"), row.get("message_id")
    if type(identity) is not str or not identity:
        identity = str(number) if type(number) is int else ""
    return _make_message_entry(row, blocks, identity, "created_timestamp", session)


def _make_line_entry(line: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a line into the entry of a message, or an event if it has another form."""
    blocks = line.get("content")
    if not is_one_of(line.get("role"), GOOSE_ROLES) or type(blocks) is not list:
        session.drift.count_type("line")
        return {"type": "system-event", "event-type": "line", "data": line}
    session.drift.count_members("message", line, GOOSE_LINE_MEMBERS)
    del line["content"]
    identity = line.get("id")
    return _make_message_entry(
        line, blocks, identity if type(identity) is str else "", "created", session
    )


def _make_message_entry(
    message: JsonObject, blocks: list[Any], identity: str, time: str, session: SessionBuilder
) -> JsonObject:
    """Make the entry of a message without its blocks; `time` is the member with its time."""
    entry: JsonObject = {"type": message.pop("role")}
    if identity:
        entry["id"] = identity
    when = seconds_to_milliseconds(message.get(time))
    if when is not None:
        entry["timestamp"] = when
    _add_blocks(blocks, entry, session)
    return add_remaining_members(entry, message)


def _add_blocks(blocks: list[Any], entry: JsonObject, session: SessionBuilder) -> None:
    """Put the blocks of a message into its content and its children.

    The native order is noted, unless the content comes first.
    """
    content: list[Any] = []
    children: list[JsonObject] = []
    order: list[str] = []
    is_ordered = True
    for block in blocks:
        kind = block.get("type") if type(block) is dict else None
        if is_one_of(kind, GOOSE_BLOCK_MEMBERS):
            session.drift.count_members(kind, block, GOOSE_BLOCK_MEMBERS[kind])
        elif type(block) is dict:
            session.drift.count_type(f"content/{kind}" if type(kind) is str else kind)
        if is_one_of(kind, GOOSE_CONTENT_TYPES):
            is_ordered = is_ordered and not children
            order.append(f"content/{len(content)}")
            content.append(block)
        else:
            order.append(f"children/{len(children)}")
            children.append(_make_child(block, kind, session))
    if not is_ordered:
        get_writable_marks(entry)["order"] = order
    entry["content"] = content
    if children:
        entry["children"] = children


def _make_child(block: Any, kind: Any, session: SessionBuilder) -> JsonObject:
    """Turn a block that is not content into an entry; a block of another form stays whole."""
    if type(block) is not dict:
        return session.make_value_event(block)
    child = None
    if is_one_of(kind, GOOSE_CALL_TYPES):
        child = _make_call(block)
    elif kind == "toolResponse":
        child = _make_result(block)
    elif is_one_of(kind, GOOSE_REASONING_MEMBERS):
        child = _make_reasoning(block)
    if child is not None:
        return child
    return {
        "type": "system-event",
        "event-type": kind if type(kind) is str else UNKNOWN,
        "data": block,
        "vacr": {"block": True},
    }


def _make_call(block: JsonObject) -> JsonObject | None:
    """Turn a call into an entry; return None for one without a name, such as damaged JSON."""
    value = dict_or_empty(dict_or_empty(block.get("toolCall")).get("value"))
    if type(value.get("name")) is not str:
        return None
    marks: JsonObject = {"from": block.pop("type")}
    if "arguments" not in value:
        marks["implied"] = ["input"]
    call: JsonObject = {"type": "tool-call", "vacr": marks}
    call["name"] = value.pop("name")
    call["input"] = value.pop("arguments", {})
    if not value:
        del block["toolCall"]["value"]
    GOOSE_CALL_MOVES.apply(block, call)
    return add_remaining_members(call, block)


def _make_result(block: JsonObject) -> JsonObject | None:
    """Turn a result into an entry; return None for one of another form."""
    stated = dict_or_empty(block.get("toolResult"))
    value = stated.get("value")
    if type(value) is dict and value.get("content") is not None:
        place, output = "value.content", value.pop("content")
    elif type(value) is list:
        place, output = "value", stated.pop("value")
    elif type(stated.get("error")) is str:
        place, output = "error", stated.pop("error")
    else:
        return None
    marks = {"from": block.pop("type"), "member": place}
    result: JsonObject = {"type": "tool-result", "output": output, "vacr": marks}
    GOOSE_CALL_MOVES.apply(block, result)
    return add_remaining_members(result, block)


def _make_reasoning(block: JsonObject) -> JsonObject | None:
    """Turn reasoning into an entry; return None for one without a text."""
    kind = block["type"]
    member = GOOSE_REASONING_MEMBERS[kind]
    if type(block.get(member)) is not str:
        return None
    del block["type"]
    entry: JsonObject = {"type": "reasoning", "vacr": {"from": kind}}
    if kind == "redactedThinking":
        entry["content"], entry["encrypted"] = "", block.pop(member)
    else:
        entry["content"] = block.pop(member)
    if type(block.get("signature")) is str and block["signature"] and "encrypted" not in entry:
        entry["encrypted"] = block.pop("signature")
    return add_remaining_members(entry, block)
