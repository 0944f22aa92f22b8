"""Chats in the form of OpenAI's messages with a head about the agent, as samples of OpenCode are passed around. Step: read.

A message has text, `tool_calls` and `tool_responses`; both become its children.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr.model import Native
from vacr.readers.assemble import Session
from vacr.readers.lift import Lift, Move, fill, is_one_of, keep_native, mark
from vacr.readers.lines import exact
from vacr.readers.opencode_pieces import Conversation

LISTS = ("messages", "conversation", "entries")
"""The members that may hold the messages."""
HEADS = ("meta", "metadata", "session", "info")
ROLES = frozenset(("user", "assistant", "system", "tool"))
FAILED = frozenset(("error", "failed", "failure"))

MESSAGE = Lift(
    Move("content", "content", None), Move("id", "id"), Move("timestamp", "timestamp", None), Move("model", "model-id")
)
METADATA = Lift(Move("model", "model-id"), Move("finish_reason", "stop-reason"))
CALL = Lift(Move("id", "call-id"))
RESPONSE = Lift(Move("output", "output", None), Move("tool_call_id", "call-id"), Move("status", "status"))
TOOL_MESSAGE = Lift(
    Move("content", "output", None),
    Move("tool_call_id", "call-id"),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
)


def is_sample(value: Any) -> bool:
    """Tell whether a value is such a chat: its messages are, and it says that it is OpenCode's or shows it by its times."""
    messages = _messages(value)
    if not messages or not all(map(_is_message, messages)):
        return False
    if type(value) is dict and any(_names_opencode(value.get(name)) for name in (*HEADS, "agent", "source")):
        return True
    times = [message["timestamp"] for message in messages if "timestamp" in message]
    return bool(times) and all(type(time) is int for time in times) and any("tool_calls" in message for message in messages)


def _messages(value: Any) -> list[Any]:
    if type(value) is list:
        return value
    if type(value) is not dict:
        return []
    for holder in (value, value.get("session")):
        if type(holder) is dict:
            for name in LISTS:
                if type(holder.get(name)) is list:
                    found: list[Any] = holder[name]
                    return found
    return []


def _is_message(value: Any) -> bool:
    if type(value) is not dict or "parts" in value or "info" in value:
        return False
    return is_one_of(value.get("role"), ROLES) or "tool_responses" in value


def _names_opencode(value: Any) -> bool:
    if type(value) is dict:
        return any(type(item) is str and "opencode" in item.lower() for item in value.values())
    return type(value) is str and "opencode" in value.lower()


def conversation(value: Any) -> Conversation:
    """Take such a chat apart."""
    messages = _messages(value)
    if type(value) is list:
        return Conversation({}, chat=messages)
    for holder in (value, value.get("session")):
        for name in LISTS if type(holder) is dict else ():
            if holder.get(name) is messages:
                del holder[name]
    return Conversation(_with_id(value), chat=messages)


def _with_id(head: Native) -> Native:
    """Find the id of the session in the head."""
    for holder in (head, *(head[name] for name in HEADS if type(head.get(name)) is dict)):
        for name in ("session_id", "sessionId", "sessionID", "id"):
            if type(holder.get(name)) is str:
                return {"id": holder.pop(name)} | head
    return head


def chat_entry(message: Native, session: Session) -> Native:
    """Turn a message of such a chat into an entry."""
    role = message.get("role")
    if role == "tool" and "content" in message:
        return _result(message, TOOL_MESSAGE)
    if role == "system":
        return {"type": "system-event", "event-type": message.pop("role"), "data": message}
    entry: Native = {"type": role if role in ("user", "assistant") else "user"}
    if entry["type"] == role:
        del message["role"]
    else:
        mark(entry)["untyped"] = True
    MESSAGE.apply(message, entry)
    children = _from_metadata(message, entry)
    if "model-id" in entry:
        session.models[entry["model-id"]] += 1
    for call in _taken(message, "tool_calls", _is_call):
        children += [_call(call)]
    for response in _taken(message, "tool_responses", _is_response):
        children += [_result(response, RESPONSE)]
    if children:
        entry["children"] = children
    return fill(entry, message)


def _from_metadata(message: Native, entry: Native) -> list[Native]:
    """Take model, stop reason and thinking out of a message's metadata."""
    metadata = message.get("metadata")
    if type(metadata) is not dict:
        return []
    METADATA.apply(metadata, entry)
    found: list[Native] = [{"type": "reasoning", "content": metadata.pop("thinking")}] if "thinking" in metadata else []
    if not metadata:
        del message["metadata"]
    return found


def _taken(message: Native, member: str, fits: Callable[[Any], bool]) -> list[Native]:
    """Take the items of a list out of a message, if there are any and all of them fit."""
    items = message.get(member)
    if type(items) is not list or not items or not all(map(fits, items)):
        return []
    del message[member]
    return items


def _is_call(value: Any) -> bool:
    return type(value) is dict and type(value.get("function")) is dict and type(value["function"].get("name")) is str


def _is_response(value: Any) -> bool:
    return type(value) is dict and value.get("output") is not None


def _call(call: Native) -> Native:
    """Turn a call into an entry; the text of its arguments stays where it was when it could be read."""
    entry: Native = {"type": "tool-call"}
    CALL.apply(call, entry)
    function = call["function"]
    entry["name"] = function.pop("name")
    text = function.get("arguments")
    found = exact(text.encode()) if type(text) is str else []
    entry["input"] = found[0] if found else function.pop("arguments", None)
    if not function:
        del call["function"]
    if call.get("type") is not None:
        keep_native(entry, {"type": call.pop("type")})
    return fill(entry, call)


def _result(response: Native, moves: Lift) -> Native:
    entry: Native = {"type": "tool-result"}
    moves.apply(response, entry)
    if is_one_of(entry.get("status"), FAILED):
        entry["is-error"] = True
    return fill(entry, response)
