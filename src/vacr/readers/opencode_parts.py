"""The parts of an OpenCode message as entries. Step: read.

Texts and files are what the message says and stay in its content as they are; everything else
becomes a child: a tool part a call and a result, reasoning a reasoning entry, the rest events.
"""

from __future__ import annotations

import itertools
from typing import Any

from vacr.model import Native
from vacr.readers import opencode_known as known
from vacr.readers.assemble import Session
from vacr.readers.lift import Lift, Move, fill, is_one_of, kind_of, mark, typed_event
from vacr.timestamps import is_timestamp

REASONING = Lift(Move("text", "content", None), Move("id", "id"))
CALL = Lift(Move("tool", "name"), Move("callID", "call-id"), Move("id", "id"))
EVENT = Lift(Move("id", "id"))
OURS = frozenset(("unknown", "message", "undecodable", "attached-file"))
"""What events are called that have no native type; a native type of such a name is kept beside."""
OUTPUTS = ("output", "error")
"""What a tool gave, or why it failed; one of them is the output of the result."""


def take_parts(parts: list[Any], entry: Native, session: Session) -> None:
    """Put the parts of a message into its content and its children."""
    content: list[Any] = []
    found: list[Native] = []
    order = []
    # The ids are looked at before the parts are taken apart.
    in_order = _in_order_of_ids(parts)
    for part in parts:
        if type(part) is dict and is_one_of(part.get("type"), known.SAID):
            session.drift.see_members(part["type"], part, known.SAID[part["type"]])
            order.append(f"content/{len(content)}")
            content.append(part)
        else:
            order.append(f"children/{len(found)}")
            found += part_entries(part, session)
    if not in_order:
        mark(entry)["order"] = order
    if content or not found:
        entry["content"] = content
    if found:
        entry["children"] = found
        session.embedded += found


def _in_order_of_ids(parts: list[Any]) -> bool:
    """Tell whether the ids of parts say in which order they stand, as OpenCode's own do."""
    ids = [part["id"] for part in parts if type(part) is dict and type(part.get("id")) is str]
    return len(ids) == len(parts) and all(one < two for one, two in itertools.pairwise(ids))


def part_entries(part: Any, session: Session) -> list[Native]:
    """Turn a part that is not said into entries."""
    if type(part) is not dict:
        return [session.other(part)]
    kind = part.get("type")
    if kind == "tool" and type(part.get("tool")) is str and type(part.get("state")) is dict:
        return tool_entries(part, session)
    if kind == "reasoning" and "text" in part:
        return [reasoning(part, session)]
    return [event(part, session)]


def reasoning(part: Native, session: Session) -> Native:
    """Turn a reasoning part into a reasoning entry."""
    session.drift.see_members("reasoning", part, known.REASONING)
    entry: Native = {"type": part.pop("type")}
    REASONING.apply(part, entry)
    lift_time(part, "start", entry)
    return fill(entry, part)


def tool_entries(part: Native, session: Session) -> list[Native]:
    """Part a tool's call from its result; what the state says beside the input belongs to the
    result, if there is one.
    """
    state = part["state"]
    session.drift.see_members("tool", part, known.TOOL)
    session.drift.see_members("tool.state", state, known.STATE)
    call: Native = {"type": "tool-call", "vacr": {"native": {"type": part.pop("type")}}}
    CALL.apply(part, call)
    call["input"] = state.pop("input", None)
    lift_time(state, "start", call)
    given = next((name for name in OUTPUTS if state.get(name) is not None), None)
    if given is None:
        if not state:
            del part["state"]
        return [fill(call, part)]
    del part["state"]
    result: Native = {"type": "tool-result", "output": state.pop(given)}
    if "call-id" in call:
        result["call-id"] = call["call-id"]
    if given == "error":
        result["is-error"] = True
    if type(state.get("status")) is str:
        result["status"] = state.pop("status")
    lift_time(state, "end", result)
    if state:
        result["state"] = state
    return [fill(call, part), result]


def event(part: Native, session: Session) -> Native:
    """Turn any other part into an event."""
    kind = part.pop("type", None)
    if is_one_of(kind, known.EVENTS):
        session.drift.see_members(kind, part, known.EVENTS[kind])
    elif not is_one_of(kind, known.SAID):
        session.drift.see_type(f"part/{kind if type(kind) is str else kind_of(kind)}")
    return typed_event(part, kind, OURS, EVENT)


def lift_time(holder: Native, member: str, entry: Native) -> None:
    """Move one of the times of a native object to the entry's timestamp."""
    times = holder.get("time")
    if type(times) is dict and type(times.get(member)) is int and is_timestamp(times[member]):
        entry["timestamp"] = times.pop(member)
        if not times:
            del holder["time"]
