"""Contexts of Kimi CLI: the messages that the model sees, one a line, in OpenAI's form.

A line becomes one entry. The calls of an answer are its children, and stay in the entry as well.
Lines whose role begins with `_` are the host's marks: they are events. A context has no times.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.kimi_cli.context import read
>>> lines = b'''{"role":"_checkpoint","id":0}
... {"role":"assistant","content":"I look.","tool_calls":[{"type":"function","id":"c1",\
"function":{"name":"Glob","arguments":"{}"}}]}
... {"role":"tool","content":"a.py","tool_call_id":"c1"}
... '''
>>> record = read(Source((SourcePart("context.jsonl", lines),))).record
>>> for entry in record["session"]["entries"]:
...     print(entry["type"], entry.get("call-id"), len(entry.get("children", ())))
system-event None 0
assistant None 1
tool-result c1 0
"""

from __future__ import annotations

from functools import partial
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import parse_json_text
from vacr.agents.kimi_cli.wire import name_kimi_session
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    add_remaining_members,
    is_one_of,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

KIMI_CONTEXT_MARKS = parse_names("_checkpoint _system_prompt _usage")
"""Roles of the host's marks."""
KIMI_CONTEXT_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool-result"}
KIMI_CONTEXT_MOVES = Lift(Move("content", "content", None))
KIMI_CONTEXT_RESULT_MOVES = Lift(Move("content", "output", None), Move("tool_call_id", "call-id"))
KIMI_CONTEXT_MEMBERS = parse_names("content id role token_count tool_call_id tool_calls")
_TOOL_MARKS = {"native": {"role": "tool"}}


def read(source: Source) -> Reading:
    """Return the record of one context."""
    session = SessionBuilder("kimi-context", "kimi-cli")
    with pause_garbage_collector():
        session.add_lines(source, partial(_make_entry, session))
        name_kimi_session(session, source.main.name)
        session.tidy()
        return session.reading(source)


def _make_entry(session: SessionBuilder, line: JsonObject) -> JsonObject:
    """Turn one line into one entry, an event if it is a mark or has an unknown role."""
    role = line.get("role")
    session.drift.count_members(str(role), line, KIMI_CONTEXT_MEMBERS)
    entry_type = KIMI_CONTEXT_ROLES.get(role) if type(role) is str else None
    if entry_type is None:
        if not is_one_of(role, KIMI_CONTEXT_MARKS):
            session.drift.count_type(role)
        event_type = role if is_one_of(role, KIMI_CONTEXT_MARKS) else "unknown"
        return {"type": "system-event", "event-type": event_type, "data": line}
    del line["role"]
    entry: JsonObject = {"type": entry_type}
    if role == "tool":
        KIMI_CONTEXT_RESULT_MOVES.apply(line, entry)
        entry.setdefault("output", None)
        entry["vacr"] = _TOOL_MARKS
    else:
        KIMI_CONTEXT_MOVES.apply(line, entry)
        content = entry.get("content")
        children = build_child_entries(content) + _view_thoughts(content)
        if children := children + _view_calls(line.get("tool_calls")):
            entry["children"] = children
    return add_remaining_members(entry, line)


def _view_thoughts(content: Any) -> list[JsonObject]:
    """Return a reasoning entry for each thought in a message's content."""
    entries: list[JsonObject] = []
    for part in content if type(content) is list else ():
        if type(part) is dict and part.get("type") == "think" and type(part.get("think")) is str:
            entry: JsonObject = {"type": "reasoning", "content": part["think"]}
            if type(part.get("encrypted")) is str:
                entry["encrypted"] = part["encrypted"]
            entries.append(entry)
    return entries


def _view_calls(calls: Any) -> list[JsonObject]:
    """Return a call entry for each call of a message."""
    entries: list[JsonObject] = []
    for call in calls if type(calls) is list else ():
        function = call.get("function") if type(call) is dict else None
        if type(function) is dict and type(function.get("name")) is str:
            arguments = parse_json_text(function.get("arguments"))
            entry: JsonObject = {"type": "tool-call", "name": function["name"], "input": arguments}
            if type(call.get("id")) is str:
                entry["call-id"] = call["id"]
            entries.append(entry)
    return entries
