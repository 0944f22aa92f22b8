r"""Wire files of Kimi CLI: what happened in a session, in order.

The first line states the version of the protocol. Each other line has a time, in seconds, and a
message with a type and a payload; it becomes one entry. The time of the entry is in milliseconds,
and `vacr.native.timestamp` keeps the seconds.

The arguments of a call may come in pieces: `ToolCallPart` lines after the call.

>>> import json
>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.kimi_cli.wire import read
>>> function = {"name": "ReadFile", "arguments": '{"path": '}
>>> call = {"type": "ToolCall", "payload": {"id": "c1", "function": function}}
>>> piece = {"type": "ToolCallPart", "payload": {"arguments_part": '"a.py"}'}}
>>> lines = [{"timestamp": 1769755979.25, "message": message} for message in (call, piece)]
>>> data = "\n".join(map(json.dumps, lines)).encode()
>>> record = read(Source((SourcePart("wire.jsonl", data),))).record
>>> entry = record["session"]["entries"][0]
>>> entry["name"], entry["input"], entry["timestamp"]
('ReadFile', {'path': 'a.py'}, 1769755979250)

Events of a sub-agent come wrapped, as a `SubagentEvent`. They become children of such an event,
with the sub-agent's name in `vacr.sub-agent`.
"""

from __future__ import annotations

import math
import re
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    is_count,
    keep_native_members,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

KIMI_WIRE_EVENT_TYPES = parse_names(
    """
    ApprovalRequest ApprovalResponse BtwBegin BtwEnd CompactionBegin CompactionEnd HookRequest
    HookResolved HookTriggered MCPLoadingBegin MCPLoadingEnd Notification PlanDisplay
    QuestionRequest StatusUpdate StepBegin StepInterrupted StepRetry SubagentEvent ToolCallPart
    ToolCallRequest TurnEnd
    """
)
_PLAIN_TYPES = frozenset(("metadata", "unknown"))
"""Types of events that keep a whole line; a message with such a type stays in its line."""
KIMI_PROMPT_TYPES = frozenset(("TurnBegin", "SteerInput"))
"""Types of messages that hold a prompt."""
KIMI_WIRE_PROMPT_MOVES = Lift(Move("user_input", "content", None))
KIMI_WIRE_CALL_MOVES = Lift(Move("id", "call-id"))
KIMI_WIRE_NAME_MOVES = Lift(Move("name", "name"))
KIMI_WIRE_RESULT_MOVES = Lift(Move("tool_call_id", "call-id"))
KIMI_WIRE_OUTPUT_MOVES = Lift(Move("output", "output", None))
KIMI_WIRE_THOUGHT_MOVES = Lift(Move("think", "content"), Move("encrypted", "encrypted"))
KIMI_WIRE_USAGE_SUMS = UsageSums(
    ("input", ("input_other", "input_cache_read", "input_cache_creation")),
    ("output", ("output",)),
    ("cached", ("input_cache_read",)),
)
"""Canonical counter → the native ones that it sums: `input_other` leaves the cache out."""
_MAX_SECONDS = 2**53 / 1000
_HASH = re.compile(r"[0-9a-f]{32}")


def read(source: Source) -> Reading:
    """Return the record of one wire file."""
    with pause_garbage_collector():
        return _WireReader().read(source)


class _WireReader:
    """One wire file on its way into a record."""

    def __init__(self) -> None:
        """Start without lines."""
        self.session = SessionBuilder("kimi-wire", "kimi-cli")
        self.last_calls: dict[Any, JsonObject] = {}
        """The last call of each agent: the main one under None."""
        self.pieces: dict[int, tuple[JsonObject, list[str]]] = {}
        """The calls whose arguments came in pieces, with all the pieces."""

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole wire file."""
        session = self.session
        session.add_lines(source, self.make_entry)
        for call, pieces in self.pieces.values():
            call["input"] = parse_json_text("".join(pieces))
        name_kimi_session(session, source.main.name)
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry, an event if its message is of no other kind."""
        message = line.get("message")
        if type(message) is not dict or type(message.get("type")) is not str:
            return self.make_plain_event(line)
        if message["type"] in _PLAIN_TYPES:
            return self.make_plain_event(line)
        entry = self.make_message_entry(message, None)
        if entry is None:
            entry = self.make_message_event(line.pop("message"))
        _move_time(line, entry)
        return add_remaining_members(entry, line)

    def make_plain_event(self, line: JsonObject) -> JsonObject:
        """Turn a line without a message into an event: the metadata, or an unknown line."""
        kind = line.get("type")
        if kind != "metadata":
            self.session.drift.count_type(kind)
        return {
            "type": "system-event",
            "event-type": "metadata" if kind == "metadata" else "unknown",
            "data": line,
        }

    def make_message_event(self, message: JsonObject) -> JsonObject:
        """Turn any other message into an event, with its usage, or a sub-agent's entry as child."""
        kind, payload = message["type"], message.get("payload")
        if kind not in KIMI_WIRE_EVENT_TYPES:
            self.session.drift.count_type(kind)
        entry: JsonObject = {"type": "system-event", "event-type": kind, "data": message}
        if type(payload) is not dict:
            return entry
        if kind == "StatusUpdate":
            _add_usage(payload, entry)
        elif kind == "ToolCallPart":
            self.add_piece(payload, None)
        elif kind == "SubagentEvent" and type(payload.get("event")) is dict:
            self.unfold_sub_agent(payload, entry)
        return entry

    def unfold_sub_agent(self, payload: JsonObject, entry: JsonObject) -> None:
        """Move an action of a sub-agent to a child of its event; the rest stays in the data."""
        inner = payload["event"]
        names = [payload.get(name) for name in ("agent_id", "parent_tool_call_id")]
        names.append(payload.get("task_tool_call_id"))
        agent = next((name for name in names if type(name) is str), "sub-agent")
        if type(inner.get("type")) is not str:
            return
        child = self.make_message_entry(inner, agent)
        if child is not None:
            get_writable_marks(child)["sub-agent"] = agent
            entry["children"] = [child]
            child["message"] = payload.pop("event")
            self.session.embedded.append(child)
        elif type(inner.get("payload")) is dict:
            if inner["type"] == "StatusUpdate":
                _add_usage(inner["payload"], entry)
            elif inner["type"] == "ToolCallPart":
                self.add_piece(inner["payload"], agent)

    def add_piece(self, payload: JsonObject, agent: str | None) -> None:
        """Add a piece to the arguments of the last call of an agent."""
        call, piece = self.last_calls.get(agent), payload.get("arguments_part")
        if call is not None and type(piece) is str:
            _, pieces = self.pieces.setdefault(id(call), (call, [_get_arguments(call)]))
            pieces.append(piece)

    def make_message_entry(self, message: JsonObject, agent: str | None) -> JsonObject | None:
        """Turn a message into an entry, or return None if it is an event.

        The message of the main agent stays in the entry; `agent` names a sub-agent.
        """
        kind, payload = message["type"], message.get("payload")
        if type(payload) is not dict:
            return None
        entry: JsonObject | None = None
        if kind in KIMI_PROMPT_TYPES and "user_input" in payload:
            entry = {"type": "user"}
            KIMI_WIRE_PROMPT_MOVES.apply(payload, entry)
            _add_views(entry)
        elif kind == "ContentPart":
            entry = _make_part_entry(message, payload)
        elif kind == "ToolCall" and type(payload.get("function")) is dict:
            entry = self.make_call_entry(payload, agent)
        elif kind == "ToolResult" and type(payload.get("return_value")) is dict:
            entry = {"type": "tool-result", "output": None}
            KIMI_WIRE_RESULT_MOVES.apply(payload, entry)
            KIMI_WIRE_OUTPUT_MOVES.apply(payload["return_value"], entry)
        if entry is not None and agent is not None:
            entry["message"] = message
        return entry

    def make_call_entry(self, payload: JsonObject, agent: str | None) -> JsonObject | None:
        """Turn a call into an entry, or return None for a call without a name.

        The text of its arguments stays in the message, because it may be cut.
        """
        function = payload["function"]
        if type(function.get("name")) is not str:
            return None
        entry: JsonObject = {"type": "tool-call"}
        KIMI_WIRE_NAME_MOVES.apply(function, entry)
        KIMI_WIRE_CALL_MOVES.apply(payload, entry)
        entry["input"] = parse_json_text(function.get("arguments"))
        entry["message"] = {"type": "ToolCall", "payload": payload}
        self.last_calls[agent] = entry
        return entry


def _get_arguments(call: JsonObject) -> str:
    """Return the first piece of a call's arguments; empty without one."""
    arguments = call["message"]["payload"]["function"].get("arguments")
    return arguments if type(arguments) is str else ""


def _make_part_entry(message: JsonObject, payload: JsonObject) -> JsonObject:
    """Return the entry of a piece of an answer: a thought, or a message with the piece."""
    if payload.get("type") == "think" and type(payload.get("think")) is str:
        entry: JsonObject = {"type": "reasoning"}
        KIMI_WIRE_THOUGHT_MOVES.apply(payload, entry)
        return entry
    entry = {"type": "assistant", "content": [message.pop("payload")]}
    _add_views(entry)
    return entry


def _add_views(entry: JsonObject) -> None:
    """Add the views of blocks in a message's content as its children."""
    if children := build_child_entries(entry["content"]):
        entry["children"] = children


def _move_time(line: JsonObject, entry: JsonObject) -> None:
    """Move the time of a line to its entry, in milliseconds; `vacr.native` keeps the seconds."""
    seconds = line.get("timestamp")
    if type(seconds) is bool or not isinstance(seconds, int | float):
        return
    if math.isfinite(seconds) and 0 <= seconds < _MAX_SECONDS:
        entry["timestamp"] = round(seconds * 1000)
        keep_native_members(entry, {"timestamp": line.pop("timestamp")})


def _add_usage(payload: JsonObject, entry: JsonObject) -> None:
    """Add the canonical counters of a status to its event."""
    usage = payload.get("token_usage")
    counters = KIMI_WIRE_USAGE_SUMS.compute(usage) if type(usage) is dict else {}
    if {"input", "output"} <= counters.keys() and is_count(counters["input"] + counters["output"]):
        counters["total"] = counters["input"] + counters["output"]
    if counters:
        entry["token-usage"] = counters


def name_kimi_session(session: SessionBuilder, name: str) -> None:
    """Name a session after its folders; the first is the MD5 of the working folder.

    The session of a sub-agent is named by its parent's and its own name.
    """
    folders = name.replace("\\", "/").split("/")[:-1]
    agent = ""
    if folders[-2:-1] == ["subagents"]:
        *folders, _, agent = folders
    if len(folders) < len(("hash", "session")) or not _HASH.fullmatch(folders[-2]):
        return
    session.session_id = folders[-1]
    session.native["workDirHash"] = folders[-2]
    if agent:
        session.session_id, session.parent = f"{folders[-1]}/{agent}", folders[-1]
        session.mode = "autonomous"
