"""Messages of the OpenAI chat format as entries: what many agents send to a model, and keep.

A message has a `role` and a `content`. The assistant's calls are separate from the content, each
with its arguments as a string of JSON. A message with the role `tool` is the result of one call.
Agents add members of their own, which stay in the entry under their own names.

>>> from vacr.agents.lift import SessionBuilder
>>> from vacr.agents.openai_chat import make_chat_entry
>>> session = SessionBuilder("parrot-json", "parrot")
>>> function = {"name": "fly", "arguments": '{"to": "Oslo"}'}
>>> message = {"role": "assistant", "content": "Up!", "mood": "proud"}
>>> message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
>>> entry = make_chat_entry(message, session)
>>> entry["type"], entry["content"], entry["mood"]
('assistant', 'Up!', 'proud')
>>> [call] = entry["children"]
>>> call["call-id"], call["name"], call["input"]
('c1', 'fly', {'to': 'Oslo'})
>>> answer = {"role": "tool", "tool_call_id": "c1", "content": "landed"}
>>> make_chat_entry(answer, session)
{'role': 'tool', 'type': 'tool-result', 'output': 'landed', 'call-id': 'c1'}

Counters are sums of native ones, as `CHAT_USAGE_SUMS` has them: input includes tokens from a
cache, and output includes reasoning.
"""

from __future__ import annotations

from typing import Any

from vacr.agents.documents import parse_json_text
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    drop_nulls,
    parse_names,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, JsonObject
from vacr.record import build_child_entries

CHAT_MEMBERS = parse_names(
    "content name reasoning reasoning_content refusal role tool_call_id tool_calls"
)
CHAT_EVENT_ROLES = frozenset(("system", "developer"))
"""Roles of messages that nobody in the conversation wrote."""
CHAT_RESULT_MOVES = Lift(
    Move("content", "output", None), Move("tool_call_id", "call-id"), Move("name", "name")
)
CHAT_REASONING_MEMBERS = ("reasoning_content", "reasoning")
"""Members that may hold the model's reasoning as text."""
_MESSAGE_CLASHES = CANONICAL_ENTRY_MEMBERS - {"content"}
_RESULT_CLASHES = _MESSAGE_CLASHES - {"name"}
_CHILD_MEMBERS = frozenset((*CHAT_REASONING_MEMBERS, "tool_calls"))
"""The members that may become children."""
CHAT_USAGE_SUMS = UsageSums(
    ("input", ("prompt_tokens",)),
    ("output", ("completion_tokens",)),
    ("cached", ("prompt_tokens_details.cached_tokens",)),
    ("reasoning", ("completion_tokens_details.reasoning_tokens",)),
    ("total", ("total_tokens",)),
)
"""Canonical counter → the native ones that it sums; the first must be present."""


def make_chat_entry(
    message: JsonObject, session: SessionBuilder, known: frozenset[str] = CHAT_MEMBERS
) -> JsonObject:
    """Turn a message into an entry; one of a role without a part in the talk becomes an event.

    Members that are not `known` are counted as drift.
    """
    role = message.get("role")
    if role in ("user", "assistant"):
        drift = session.drift
        drift.count_members(role, message, known)
        content = message.get("content")
        children: list[JsonObject] = []
        if type(content) is list:
            children = build_child_entries(content, drift.types, drift.members)
        if not _CHILD_MEMBERS.isdisjoint(message):
            children += _take_children(message)
        if _MESSAGE_CLASHES.isdisjoint(message):
            # Nearly every message becomes its entry in place, without a copy.
            drop_nulls(message)
            entry = message
            entry["type"] = message.pop("role")
        else:
            entry = {"type": message.pop("role")}
            if content is not None:
                entry["content"] = message.pop("content")
            add_remaining_members(entry, message)
        if children:
            entry["children"] = children
        return entry
    if role == "tool" and message.get("content") is not None:
        session.drift.count_members(role, message, known)
        return make_chat_result(message)
    if type(role) is not str or role not in CHAT_EVENT_ROLES:
        session.drift.count_type(f"role/{role}" if type(role) is str else role)
    return make_chat_event(message)


def make_chat_result(message: JsonObject) -> JsonObject:
    """Turn a message that is the result of a call into an entry; the role stays in it."""
    if (
        message.get("content") is not None
        and type(message.get("name", "")) is str
        and _RESULT_CLASHES.isdisjoint(message)
    ):
        drop_nulls(message)
        message["type"] = "tool-result"
        message["output"] = message.pop("content")
        if type(message.get("tool_call_id")) is str:
            message["call-id"] = message.pop("tool_call_id")
        return message
    entry: JsonObject = {"type": "tool-result"}
    CHAT_RESULT_MOVES.apply(message, entry)
    return add_remaining_members(entry, message)


def make_chat_event(message: JsonObject) -> JsonObject:
    """Make the event that keeps a message as it is, named by its role."""
    role = message.get("role")
    name = role if type(role) is str else UNKNOWN
    event: JsonObject = {"type": "system-event", "event-type": name, "data": message}
    event["vacr"] = {"message": True}
    return event


def _take_children(message: JsonObject) -> list[JsonObject]:
    """Take reasoning and calls out of a message, and return them as entries; there may be none."""
    children: list[JsonObject] = []
    for name in CHAT_REASONING_MEMBERS:
        text = message.get(name)
        if not text or type(text) is not str:
            continue
        # Some agents keep the same reasoning under both names.
        if not any(child["content"] == text for child in children):
            del message[name]
            children.append({"type": "reasoning", "content": text, "vacr": {"member": name}})
    calls = message.get("tool_calls")
    if type(calls) is list and calls and all(map(_is_call, calls)):
        children += [_make_call(call) for call in message.pop("tool_calls")]
    return children


def _is_call(call: Any) -> bool:
    """Return whether a value is a call of a function with a name and arguments."""
    function = call.get("function") if type(call) is dict else None
    return type(function) is dict and type(function.get("name")) is str and "arguments" in function


def _make_call(call: JsonObject) -> JsonObject:
    """Turn a call into an entry; a string of JSON is parsed, and stays in its place, too."""
    function = call["function"]
    entry: JsonObject = {"type": "tool-call"}
    if type(call.get("id")) is str:
        entry["call-id"] = call.pop("id")
    entry["name"] = function.pop("name")
    entry["input"] = parse_json_text(function["arguments"])
    if entry["input"] is function["arguments"]:
        del function["arguments"]
    if not function:
        del call["function"]
    kind = call.pop("type", None)
    if kind is not None:
        entry["vacr"] = {"native": {"type": kind}}
    return add_remaining_members(entry, call)


def build_chat_usage(usage: Any) -> JsonObject:
    """Return the canonical counters of a response's `usage`; empty without usable counters."""
    return CHAT_USAGE_SUMS.compute(usage) if type(usage) is dict else {}
