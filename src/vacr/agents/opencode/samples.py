"""Samples of OpenCode: chats in the form of OpenAI's messages, with a head about the agent.

People pass such files around. A message has a text, `tool_calls` and `tool_responses`; both become
its children.

>>> from vacr.agents.lift import SessionBuilder
>>> from vacr.agents.opencode.samples import is_opencode_sample, make_sample_entry, split_sample
>>> function = {"name": "ls", "arguments": "{}"}
>>> message = {"role": "assistant", "tool_calls": [{"id": "call_1", "function": function}]}
>>> sample = {"agent": "opencode", "messages": [message]}
>>> is_opencode_sample(sample)
True
>>> conversation = split_sample(sample)
>>> conversation.chat_from
'/messages'
>>> entry = make_sample_entry(conversation.chat[0], SessionBuilder("opencode-json", "opencode"))
>>> entry["type"], entry["children"][0]["type"], entry["children"][0]["input"]
('assistant', 'tool-call', {})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr.agents.documents import decode_exact_json
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    add_remaining_members,
    is_one_of,
    keep_native_members,
)
from vacr.agents.opencode.pieces import OpenCodeConversation
from vacr.model import JsonObject
from vacr.record import build_child_entries

SAMPLE_MESSAGE_LISTS = ("messages", "conversation", "entries")
"""The members that may hold the messages."""
SAMPLE_HEAD_MEMBERS = ("meta", "metadata", "session", "info")
SAMPLE_ID_MEMBERS = ("session_id", "sessionId", "sessionID", "id")
SAMPLE_ROLES = frozenset(("user", "assistant", "system", "tool"))
SAMPLE_FAILED_STATUSES = frozenset(("error", "failed", "failure"))

SAMPLE_MESSAGE_MOVES = Lift(
    Move("content", "content", None), Move("id", "id"), Move("timestamp", "timestamp", None)
)
SAMPLE_METADATA_MOVES = Lift(Move("finish_reason", "stop-reason"))
SAMPLE_CALL_MOVES = Lift(Move("id", "call-id"))
SAMPLE_RESPONSE_MOVES = Lift(
    Move("output", "output", None), Move("tool_call_id", "call-id"), Move("status", "status")
)
SAMPLE_TOOL_MESSAGE_MOVES = Lift(
    Move("content", "output", None),
    Move("tool_call_id", "call-id"),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
)


def is_opencode_sample(value: Any) -> bool:
    """Return whether a value is a sample of OpenCode.

    Its head mentions OpenCode, or its messages have tool calls and OpenCode's times in
    milliseconds.
    """
    _, messages = _find_messages(value)
    if not messages or not _is_sample_message(messages[0]):
        return False
    # Most lists of messages are another agent's, so the cheapest evidence comes first.
    is_named = type(value) is dict and any(
        _mentions_opencode(value.get(name)) for name in (*SAMPLE_HEAD_MEMBERS, "agent", "source")
    )
    return (is_named or _has_calls_and_times(messages)) and all(map(_is_sample_message, messages))


def _has_calls_and_times(messages: list[Any]) -> bool:
    """Return whether messages have tool calls, and only times in milliseconds."""
    objects = [message for message in messages if type(message) is dict]
    if not any("tool_calls" in message for message in objects):
        return False
    times = [message["timestamp"] for message in objects if "timestamp" in message]
    return bool(times) and all(type(time) is int for time in times)


def _is_sample_message(value: Any) -> bool:
    """Return whether a value is a message of a sample: a known role, or tool responses."""
    if type(value) is not dict or "parts" in value or "info" in value:
        return False
    return is_one_of(value.get("role"), SAMPLE_ROLES) or "tool_responses" in value


def _mentions_opencode(value: Any) -> bool:
    """Return whether a text, or a text in an object, contains the name of OpenCode."""
    if type(value) is dict:
        return any(type(item) is str and "opencode" in item.lower() for item in value.values())
    return type(value) is str and "opencode" in value.lower()


def split_sample(value: Any) -> OpenCodeConversation:
    """Take the messages out of a sample; the rest describes the session."""
    pointer, messages = _find_messages(value)
    if pointer:
        holder = value["session"] if pointer.startswith("/session/") else value
        del holder[pointer.rpartition("/")[2]]
    return OpenCodeConversation(value if pointer else {}, chat=messages, chat_from=pointer)


def _find_messages(value: Any) -> tuple[str, list[Any]]:
    """Return the JSON Pointer of the messages in a native value, and the messages.

    The pointer starts at the value; if the value itself is the list, the pointer is empty. Without
    messages, return an empty pointer and list.
    """
    if type(value) is list:
        return "", value
    if type(value) is not dict:
        return "", []
    session = value.get("session")
    for pointer, holder in (("", value), ("/session", session if type(session) is dict else {})):
        for name in SAMPLE_MESSAGE_LISTS:
            if type(holder.get(name)) is list:
                return f"{pointer}/{name}", holder[name]
    return "", []


def find_sample_session_id(head: Any) -> str:
    """Return the session id in the head of a sample, or an empty text."""
    if type(head) is not dict:
        return ""
    for holder in (head, *(head.get(name) for name in SAMPLE_HEAD_MEMBERS)):
        if type(holder) is dict:
            for name in SAMPLE_ID_MEMBERS:
                if type(holder.get(name)) is str:
                    session_id: str = holder[name]
                    return session_id
    return ""


def make_sample_entry(message: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a message of a sample into an entry; one without a known role counts as the user's."""
    role = message.get("role")
    if role == "tool" and "content" in message:
        return _make_result_entry(message, SAMPLE_TOOL_MESSAGE_MOVES)
    if role == "system":
        return {"type": "system-event", "event-type": message.pop("role"), "data": message}
    entry: JsonObject = {"type": role if role in ("user", "assistant") else "user"}
    if entry["type"] == role:
        del message["role"]
    else:
        get_writable_marks(entry)["untyped"] = True
    SAMPLE_MESSAGE_MOVES.apply(message, entry)
    _learn_model(message, entry, session)
    drift = session.drift
    children = build_child_entries(entry.get("content"), drift.types, drift.members)
    thoughts = _take_metadata(message, entry)
    first_call = len(children) + len(thoughts)
    children += thoughts
    for call in _take_items(message, "tool_calls", _is_tool_call):
        children.append(_make_call_entry(call))
    for response in _take_items(message, "tool_responses", _is_tool_response):
        children.append(_make_result_entry(response, SAMPLE_RESPONSE_MOVES))
    if children:
        entry["children"] = children
    if thoughts and entry.get("content"):
        places = [f"children/{number}" for number in range(len(children))]
        get_writable_marks(entry)["order"] = [*places[:first_call], "content", *places[first_call:]]
    return add_remaining_members(entry, message)


def _learn_model(message: JsonObject, entry: JsonObject, session: SessionBuilder) -> None:
    """Copy the model from the message or its metadata to the entry, and count it."""
    metadata = message.get("metadata")
    model = message.get("model")
    if type(model) is not str and type(metadata) is dict:
        model = metadata.get("model")
    if type(model) is str:
        entry["model-id"] = model
        session.models[model] += 1


def _take_metadata(message: JsonObject, entry: JsonObject) -> list[JsonObject]:
    """Move the stop reason out of a message's metadata; return its thinking as entries."""
    metadata = message.get("metadata")
    if type(metadata) is not dict:
        return []
    had_members = bool(metadata)
    SAMPLE_METADATA_MOVES.apply(metadata, entry)
    children: list[JsonObject] = []
    if "thinking" in metadata:
        children.append({"type": "reasoning", "content": metadata.pop("thinking")})
    if had_members and not metadata:
        del message["metadata"]
    return children


def _take_items(
    message: JsonObject, member: str, is_expected: Callable[[Any], bool]
) -> list[JsonObject]:
    """Take a list out of a message, if it has items and all of them are as expected.

    Otherwise leave it there, and return an empty list.
    """
    items = message.get(member)
    if type(items) is not list or not items or not all(map(is_expected, items)):
        return []
    del message[member]
    return items


def _is_tool_call(value: Any) -> bool:
    """Return whether a value is a call of a function with a name."""
    function = value.get("function") if type(value) is dict else None
    return type(function) is dict and type(function.get("name")) is str


def _is_tool_response(value: Any) -> bool:
    """Return whether a value is an object with an output."""
    return type(value) is dict and value.get("output") is not None


def _make_call_entry(call: JsonObject) -> JsonObject:
    """Turn a call into an entry; the text of arguments that were parsed stays as well."""
    entry: JsonObject = {"type": "tool-call"}
    SAMPLE_CALL_MOVES.apply(call, entry)
    function = call["function"]
    entry["name"] = function.pop("name")
    text = function.get("arguments")
    parsed = decode_exact_json(text.encode()) if type(text) is str else []
    entry["input"] = parsed[0] if parsed else function.pop("arguments", None)
    if not function:
        del call["function"]
    if call.get("type") is not None:
        keep_native_members(entry, {"type": call.pop("type")})
    return add_remaining_members(entry, call)


def _make_result_entry(response: JsonObject, moves: Lift) -> JsonObject:
    """Turn a tool response into an entry, by these moves; failed ones get `is-error`."""
    entry: JsonObject = {"type": "tool-result"}
    moves.apply(response, entry)
    if is_one_of(entry.get("status"), SAMPLE_FAILED_STATUSES):
        entry["is-error"] = True
    return add_remaining_members(entry, response)
