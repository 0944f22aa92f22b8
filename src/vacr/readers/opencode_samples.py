"""Chats in the form of OpenAI's messages with a head about the agent, as samples of OpenCode are
passed around. Step: read.

A message has text, `tool_calls` and `tool_responses`; both become its children.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr.content import children
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
    Move("content", "content", None), Move("id", "id"), Move("timestamp", "timestamp", None)
)
METADATA = Lift(Move("finish_reason", "stop-reason"))
CALL = Lift(Move("id", "call-id"))
RESPONSE = Lift(
    Move("output", "output", None), Move("tool_call_id", "call-id"), Move("status", "status")
)
TOOL_MESSAGE = Lift(
    Move("content", "output", None),
    Move("tool_call_id", "call-id"),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
)


def is_sample(value: Any) -> bool:
    """Tell whether a value is such a chat: its messages are, and it says that it is OpenCode's or
    shows it by its times.
    """
    _, messages = _messages(value)
    if not messages or not all(map(_is_message, messages)):
        return False
    if type(value) is dict and any(
        _names_opencode(value.get(name)) for name in (*HEADS, "agent", "source")
    ):
        return True
    times = [message["timestamp"] for message in messages if "timestamp" in message]
    return (
        bool(times)
        and all(type(time) is int for time in times)
        and any("tool_calls" in message for message in messages)
    )


def _messages(value: Any) -> tuple[str, list[Any]]:
    """Find the messages, and where they stand."""
    if type(value) is list:
        return "", value
    if type(value) is not dict:
        return "", []
    inner = value.get("session")
    for place, holder in (("", value), ("/session", inner if type(inner) is dict else {})):
        for name in LISTS:
            if type(holder.get(name)) is list:
                return f"{place}/{name}", holder[name]
    return "", []


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
    place, messages = _messages(value)
    if place:
        holder = value["session"] if place.startswith("/session/") else value
        del holder[place.rpartition("/")[2]]
    return Conversation(value if place else {}, chat=messages, chat_from=place)


def session_id(head: Any) -> str:
    """Find the id of the session in the head."""
    holders = (head, *(head.get(name) for name in HEADS)) if type(head) is dict else ()
    names = ("session_id", "sessionId", "sessionID", "id")
    found = (
        holder[name]
        for holder in holders
        if type(holder) is dict
        for name in names
        if type(holder.get(name)) is str
    )
    return next(found, "")


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
    _learn(message, entry, session)
    found = children(entry.get("content"), session.drift.types, session.drift.members)
    found += _from_metadata(message, entry)
    found += [_call(call) for call in _taken(message, "tool_calls", _is_call)]
    found += [
        _result(response, RESPONSE) for response in _taken(message, "tool_responses", _is_response)
    ]
    if found:
        entry["children"] = found
    return fill(entry, message)


def _learn(message: Native, entry: Native, session: Session) -> None:
    """Learn which model spoke; the message or its metadata say it, and go on saying it."""
    metadata = message.get("metadata")
    model = message.get("model")
    if type(model) is not str and type(metadata) is dict:
        model = metadata.get("model")
    if type(model) is str:
        entry["model-id"] = model
        session.models[model] += 1


def _from_metadata(message: Native, entry: Native) -> list[Native]:
    """Take stop reason and thinking out of a message's metadata."""
    metadata = message.get("metadata")
    if type(metadata) is not dict:
        return []
    said = len(metadata)
    METADATA.apply(metadata, entry)
    found: list[Native] = (
        [{"type": "reasoning", "content": metadata.pop("thinking")}]
        if "thinking" in metadata
        else []
    )
    if said and not metadata:
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
    return (
        type(value) is dict
        and type(value.get("function")) is dict
        and type(value["function"].get("name")) is str
    )


def _is_response(value: Any) -> bool:
    return type(value) is dict and value.get("output") is not None


def _call(call: Native) -> Native:
    """Turn a call into an entry; the text of its arguments stays where it was when it could be
    read.
    """
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
