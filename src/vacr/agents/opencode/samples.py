"""Chats in the form of OpenAI's messages with a head about the agent, as samples of OpenCode are
passed around. Step: read.

A message has text, `tool_calls` and `tool_responses`; both become its children.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr.agents.documents import decode_exact_json
from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    add_remaining_members,
    get_writable_marks,
    is_one_of,
    keep_native_members,
)
from vacr.agents.opencode.parts import OpenCodeConversation
from vacr.model import JsonObject
from vacr.record import build_child_entries

SAMPLE_MESSAGE_LISTS = ("messages", "conversation", "entries")
"""The members that may hold the messages."""
SAMPLE_HEAD_MEMBERS = ("meta", "metadata", "session", "info")
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
    """Tell whether a value is such a chat: its messages are, and it says that it is OpenCode's or
    shows it by its times.
    """
    _, messages = _find_messages(value)
    if not messages or not all(map(_is_sample_message, messages)):
        return False
    if type(value) is dict and any(
        _mentions_opencode(value.get(name)) for name in (*SAMPLE_HEAD_MEMBERS, "agent", "source")
    ):
        return True
    times = [message["timestamp"] for message in messages if "timestamp" in message]
    return (
        bool(times)
        and all(type(time) is int for time in times)
        and any("tool_calls" in message for message in messages)
    )


def _find_messages(value: Any) -> tuple[str, list[Any]]:
    """Find the messages, and where they stand."""
    if type(value) is list:
        return "", value
    if type(value) is not dict:
        return "", []
    inner = value.get("session")
    for place, holder in (("", value), ("/session", inner if type(inner) is dict else {})):
        for name in SAMPLE_MESSAGE_LISTS:
            if type(holder.get(name)) is list:
                return f"{place}/{name}", holder[name]
    return "", []


def _is_sample_message(value: Any) -> bool:
    if type(value) is not dict or "parts" in value or "info" in value:
        return False
    return is_one_of(value.get("role"), SAMPLE_ROLES) or "tool_responses" in value


def _mentions_opencode(value: Any) -> bool:
    if type(value) is dict:
        return any(type(item) is str and "opencode" in item.lower() for item in value.values())
    return type(value) is str and "opencode" in value.lower()


def split_sample(value: Any) -> OpenCodeConversation:
    """Take such a chat apart."""
    place, messages = _find_messages(value)
    if place:
        holder = value["session"] if place.startswith("/session/") else value
        del holder[place.rpartition("/")[2]]
    return OpenCodeConversation(value if place else {}, chat=messages, chat_from=place)


def find_sample_session_id(head: Any) -> str:
    """Find the id of the session in the head."""
    holders = (
        (head, *(head.get(name) for name in SAMPLE_HEAD_MEMBERS)) if type(head) is dict else ()
    )
    names = ("session_id", "sessionId", "sessionID", "id")
    found = (
        holder[name]
        for holder in holders
        if type(holder) is dict
        for name in names
        if type(holder.get(name)) is str
    )
    return next(found, "")


def make_sample_entry(message: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a message of such a chat into an entry."""
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
    found = build_child_entries(entry.get("content"), session.drift.types, session.drift.members)
    found += _take_metadata(message, entry)
    found += [_make_call_entry(call) for call in _take_items(message, "tool_calls", _is_tool_call)]
    found += [
        _make_result_entry(response, SAMPLE_RESPONSE_MOVES)
        for response in _take_items(message, "tool_responses", _is_tool_response)
    ]
    if found:
        entry["children"] = found
    return add_remaining_members(entry, message)


def _learn_model(message: JsonObject, entry: JsonObject, session: SessionBuilder) -> None:
    """Learn which model spoke; the message or its metadata say it, and go on saying it."""
    metadata = message.get("metadata")
    model = message.get("model")
    if type(model) is not str and type(metadata) is dict:
        model = metadata.get("model")
    if type(model) is str:
        entry["model-id"] = model
        session.models[model] += 1


def _take_metadata(message: JsonObject, entry: JsonObject) -> list[JsonObject]:
    """Take stop reason and thinking out of a message's metadata."""
    metadata = message.get("metadata")
    if type(metadata) is not dict:
        return []
    said = len(metadata)
    SAMPLE_METADATA_MOVES.apply(metadata, entry)
    found: list[JsonObject] = (
        [{"type": "reasoning", "content": metadata.pop("thinking")}]
        if "thinking" in metadata
        else []
    )
    if said and not metadata:
        del message["metadata"]
    return found


def _take_items(message: JsonObject, member: str, fits: Callable[[Any], bool]) -> list[JsonObject]:
    """Take the items of a list out of a message, if there are any and all of them fit."""
    items = message.get(member)
    if type(items) is not list or not items or not all(map(fits, items)):
        return []
    del message[member]
    return items


def _is_tool_call(value: Any) -> bool:
    return (
        type(value) is dict
        and type(value.get("function")) is dict
        and type(value["function"].get("name")) is str
    )


def _is_tool_response(value: Any) -> bool:
    return type(value) is dict and value.get("output") is not None


def _make_call_entry(call: JsonObject) -> JsonObject:
    """Turn a call into an entry; the text of its arguments stays where it was when it could be
    read.
    """
    entry: JsonObject = {"type": "tool-call"}
    SAMPLE_CALL_MOVES.apply(call, entry)
    function = call["function"]
    entry["name"] = function.pop("name")
    text = function.get("arguments")
    found = decode_exact_json(text.encode()) if type(text) is str else []
    entry["input"] = found[0] if found else function.pop("arguments", None)
    if not function:
        del call["function"]
    if call.get("type") is not None:
        keep_native_members(entry, {"type": call.pop("type")})
    return add_remaining_members(entry, call)


def _make_result_entry(response: JsonObject, moves: Lift) -> JsonObject:
    entry: JsonObject = {"type": "tool-result"}
    moves.apply(response, entry)
    if is_one_of(entry.get("status"), SAMPLE_FAILED_STATUSES):
        entry["is-error"] = True
    return add_remaining_members(entry, response)
