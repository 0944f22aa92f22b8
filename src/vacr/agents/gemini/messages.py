"""Messages of Gemini CLI sessions and turns of saved chats, as entries.

A message becomes one entry. Its thoughts and tool calls are taken out and become its children: a
call and its result are an entry each.

>>> from vacr.agents.gemini.messages import make_gemini_message_entry
>>> from vacr.agents.lift import SessionBuilder
>>> call = {"id": "ls-1", "name": "ls", "args": {}, "status": "success", "result": ["a.py"]}
>>> message = {"type": "gemini", "id": "m-1", "content": "Looking.", "toolCalls": [call]}
>>> entry = make_gemini_message_entry(message, SessionBuilder("gemini-json", "gemini-cli"))
>>> entry["type"], entry["content"], [child["type"] for child in entry["children"]]
('assistant', 'Looking.', ['tool-call', 'tool-result'])

docs/mapping/gemini-cli.md is generated from the tables. They hold the names seen in versions up to
0.61. A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

from typing import Any

from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    NativeShape,
    SessionBuilder,
    UsageSums,
    is_one_of,
    keep_native_members,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

FATE_REPLACED, FATE_REWOUND, FATE_DROPPED = "replaced", "rewound", "dropped"
"""Why a conversation no longer holds a message: it was written again under its id; a rewind took it
back; it was removed, or missing when all messages were replaced.
"""

# --- Known members ---

GEMINI_SESSION_MEMBERS = parse_names(
    """
    activeExtensionName directories kind lastUpdated memoryScratchpad messages projectHash
    sessionId startTime summary
    """
)
GEMINI_CHECKPOINT_MEMBERS = parse_names(
    "authType clientHistory commitHash history messageId toolCall"
)
"""The members of a saved chat."""
GEMINI_TURN_MEMBERS = parse_names("finishReason id parts role sessionId timestamp")
GEMINI_MESSAGE_MEMBERS = parse_names("content displayContent id timestamp")
GEMINI_ANSWER_MEMBERS = GEMINI_MESSAGE_MEMBERS | parse_names("model thoughts tokens toolCalls")
GEMINI_THOUGHT_MEMBERS = parse_names("description subject timestamp")
GEMINI_CALL_MEMBERS = parse_names(
    """
    agentId approvalMode args description displayName id kind name parentCallId
    renderOutputAsMarkdown result resultDisplay
    """
)
GEMINI_CALL_END_MEMBERS = ("status", "timestamp")
"""The members of a call that are about its end."""
GEMINI_TOKEN_MEMBERS = parse_names("cached input output thoughts tool total")

# --- Moves ---

GEMINI_EVENT_TYPES = frozenset(("info", "error", "warning"))
GEMINI_ENTRY_TYPES = {
    "user": "user",
    "gemini": "assistant",
    "qwen": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "function": "user",
    "tool": "user",
}
"""The type of a message, or the role of a saved turn → entry type."""

_MESSAGE_MOVES = (
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("content", "content", None),
)
GEMINI_USER_SHAPE = NativeShape(GEMINI_MESSAGE_MEMBERS, *_MESSAGE_MOVES)
GEMINI_ANSWER_SHAPE = NativeShape(GEMINI_ANSWER_MEMBERS, *_MESSAGE_MOVES, Move("model", "model-id"))
GEMINI_REPLACED_SHAPE = NativeShape(GEMINI_ANSWER_MEMBERS, *_MESSAGE_MOVES)
"""A message that was written again: model, calls and tokens count at the later one."""
GEMINI_THOUGHT_SHAPE = NativeShape(
    GEMINI_THOUGHT_MEMBERS,
    Move("description", "content", None),
    Move("subject", "subject"),
    Move("timestamp", "timestamp", None),
)
GEMINI_CALL_SHAPE = NativeShape(
    GEMINI_CALL_MEMBERS,
    Move("id", "call-id"),
    Move("name", "name"),
    Move("args", "input", None),
)
GEMINI_RESULT_MOVES = Lift(
    Move("result", "output", None),
    Move("status", "status", None),
    Move("timestamp", "timestamp", None),
    Move("resultDisplay", "resultDisplay", None),
)
"""Gemini writes a call down when it ended: status and time are those of the result."""
GEMINI_TURN_SHAPE = NativeShape(
    GEMINI_TURN_MEMBERS,
    Move("parts", "content", None),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("finishReason", "stop-reason"),
)
GEMINI_USAGE_SUMS = UsageSums(
    ("input", ("input", "tool")),
    ("output", ("output", "thoughts")),
    ("cached", ("cached",)),
    ("reasoning", ("thoughts",)),
    ("total", ("total",)),
)
"""Canonical counter → the native ones that it sums; the first must be present."""
GEMINI_EVENT_MOVES = Lift(Move("id", "id"), Move("timestamp", "timestamp", None))
GEMINI_RESERVED_EVENT_TYPES = parse_names(
    "attached-file message-patch metadata-update rewind session-metadata undecodable unknown"
)
"""Names of events that have no native type; a native type of such a name goes to `vacr.native`."""

_NATIVE_TYPE_MARKS = {kind: {"native": {"type": kind}} for kind in GEMINI_ENTRY_TYPES}


def make_gemini_message_entry(
    message: Any, session: SessionBuilder, fate: str | None = None
) -> JsonObject:
    """Turn a message into an entry of its type.

    `fate` is the reason why the conversation no longer holds it, if that is so.
    """
    if type(message) is not dict:
        return session.make_value_event(message)
    kind = message.pop("type", None)
    entry_type = GEMINI_ENTRY_TYPES.get(kind) if type(kind) is str else None
    if entry_type is None:
        return _make_event(message, kind, session, fate)
    if "content" not in message and type(message.get("parts")) is list:
        return _make_entry_from_parts(message, kind, session, fate)
    children: list[JsonObject] = []
    if fate == FATE_REPLACED:
        entry = GEMINI_REPLACED_SHAPE.make_entry(entry_type, message, session.drift, kind)
    elif entry_type == "user":
        entry = GEMINI_USER_SHAPE.make_entry(entry_type, message, session.drift, kind)
    else:
        usage = _build_usage(message, session)
        children = _take_thoughts_and_calls(message, session)
        entry = GEMINI_ANSWER_SHAPE.make_entry(entry_type, message, session.drift, kind)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        if usage is not None:
            entry["token-usage"] = usage
    if kind != entry_type:
        # Entries without other marks share the object that names their native type.
        if "vacr" in entry:
            keep_native_members(entry, {"type": kind})
        else:
            entry["vacr"] = _NATIVE_TYPE_MARKS[kind]
    if fate is not None:
        _mark_superseded(entry, fate)
    _add_children(entry, children, session)
    return entry


def _make_event(
    message: JsonObject, kind: Any, session: SessionBuilder, fate: str | None
) -> JsonObject:
    """Turn a notice to the user, or a message of an unknown type, into an event.

    An unknown type is counted as drift. `fate` is the reason why the conversation lost the message,
    or None.
    """
    if not is_one_of(kind, GEMINI_EVENT_TYPES):
        session.drift.count_type(kind)
    entry = make_typed_event(message, kind, GEMINI_RESERVED_EVENT_TYPES, GEMINI_EVENT_MOVES)
    if fate is not None:
        _mark_superseded(entry, fate)
    return entry


def _make_entry_from_parts(
    message: JsonObject, kind: str, session: SessionBuilder, fate: str | None
) -> JsonObject:
    """Turn a message with `parts` instead of content, like a saved turn, into an entry.

    `fate` has the same meaning as in `make_gemini_message_entry`.
    """
    message["content"], message["type"] = message.pop("parts"), kind
    entry = make_gemini_message_entry(message, session, fate)
    get_writable_marks(entry)["content-from"] = "parts"
    return entry


def _mark_superseded(entry: JsonObject, fate: str) -> None:
    """Mark a message that the conversation no longer holds.

    `fate` is the reason, one of the constants `FATE_…`. If a later copy replaced the message, the
    copy keeps the id, and here the id moves to `vacr.repeats`.
    """
    marks = get_writable_marks(entry)
    marks["superseded"] = fate
    if fate == FATE_REPLACED:
        marks["repeats"] = entry.pop("id")


def _add_children(
    entry: JsonObject, own_children: list[JsonObject], session: SessionBuilder
) -> None:
    """Add the children of a message: the views of its content, then its thoughts and calls."""
    content = entry.get("content")
    children = own_children
    if type(content) is list:
        views = build_child_entries(content, session.drift.types, session.drift.members)
        children = views + own_children
    elif content is None:
        entry.pop("content", None)
    if children:
        entry["children"] = children


def _take_thoughts_and_calls(message: JsonObject, session: SessionBuilder) -> list[JsonObject]:
    """Take thoughts and calls out of a message, as a list of entries; other lists stay."""
    entries: list[JsonObject] = []
    thoughts, calls = message.get("thoughts"), message.get("toolCalls")
    if thoughts and type(thoughts) is list and _all_have_member(thoughts, "description", None):
        del message["thoughts"]
        entries += [
            GEMINI_THOUGHT_SHAPE.make_entry("reasoning", thought, session.drift, "thoughts")
            for thought in thoughts
        ]
    if calls and type(calls) is list and _all_have_member(calls, "name", str):
        del message["toolCalls"]
        for call in calls:
            _add_call_entries(call, session, entries)
    session.embedded += entries
    return entries


def _all_have_member(items: list[Any], member: str, kind: type | None) -> bool:
    """Return whether all items are objects with a member, of a type if one is given."""
    for item in items:
        if (
            type(item) is not dict
            or member not in item
            or (kind and type(item[member]) is not kind)
        ):
            return False
    return True


def _add_call_entries(call: JsonObject, session: SessionBuilder, entries: list[JsonObject]) -> None:
    """Add the entries of a tool call: the call, and its result if it has one."""
    result: JsonObject | None = None
    ended: JsonObject = {}
    if call.get("result") is not None:
        result = {"type": "tool-result"}
        GEMINI_RESULT_MOVES.apply(call, result)
    else:
        ended = {name: call.pop(name) for name in GEMINI_CALL_END_MEMBERS if name in call}
    entry = GEMINI_CALL_SHAPE.make_entry("tool-call", call, session.drift, "toolCalls")
    if "input" not in entry:
        entry["input"] = None
    if ended := {name: value for name, value in ended.items() if value is not None}:
        keep_native_members(entry, ended)
    entries.append(entry)
    if result is not None:
        if "call-id" in entry:
            result["call-id"] = entry["call-id"]
        entries.append(result)


def mark_repeated_children(session: SessionBuilder) -> None:
    """Mark the calls and results that a session has twice, in `vacr.repeats`.

    Newer versions write each result with its call, and again as a message to the model. When the
    history is compressed, the calls are in the content of a message as well.
    """
    own = {id(entry) for entry in session.embedded}
    # In most sessions, only the members of messages are calls and results, and nothing repeats.
    messages = [
        entry
        for entry in session.entries
        if "children" in entry and not own.issuperset(map(id, entry["children"]))
    ]
    if not messages:
        return
    known = {
        (entry["type"], entry["call-id"]): entry
        for entry in session.embedded
        if type(entry.get("call-id")) is str
    }
    # A copy that the conversation still holds comes before one that it lost.
    messages.sort(key=lambda entry: "superseded" in entry.get("vacr", ()))
    for child in (child for entry in messages for child in entry["children"]):
        call_id = child.get("call-id")
        if id(child) in own or type(call_id) is not str:
            continue
        first = known.setdefault((child["type"], call_id), child)
        # In saved chats, different calls may share an id.
        if first is not child and (id(first) in own or _are_same(first, child)):
            get_writable_marks(child)["repeats"] = call_id


def _are_same(first: JsonObject, second: JsonObject) -> bool:
    """Return whether two calls or results have the same name, input and output."""
    return all(first.get(name) == second.get(name) for name in ("name", "input", "output"))


def _build_usage(message: JsonObject, session: SessionBuilder) -> JsonObject | None:
    """Return the canonical counters of a message, or None if it has none.

    Gemini counts thoughts apart from the output, and the prompts of tools apart from the input. So
    the output and the input here include them. Unknown counters are reported as drift of `session`.
    """
    tokens = message.get("tokens")
    if type(tokens) is not dict:
        return None
    session.drift.count_members("tokens", tokens, GEMINI_TOKEN_MEMBERS)
    return GEMINI_USAGE_SUMS.compute(tokens) or None


# --- Turns of saved chats ---


def is_gemini_turn(value: Any) -> bool:
    """Return whether a value is a turn of a saved chat: a known role, and a list of parts."""
    return (
        type(value) is dict
        and type(value.get("parts")) is list
        and is_one_of(value.get("role"), GEMINI_ENTRY_TYPES)
    )


def make_turn_entry(turn: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a saved turn into a message whose content is its parts."""
    if session.session_id is None and type(turn.get("sessionId")) is str:
        session.session_id = turn["sessionId"]
    entry_type = GEMINI_ENTRY_TYPES[turn["role"]]
    if turn["role"] == entry_type:
        del turn["role"]
    entry = GEMINI_TURN_SHAPE.make_entry(entry_type, turn, session.drift, "history")
    _add_children(entry, [], session)
    return entry
