"""Wire files of Kimi Code: what happened in a session, in order, one record a line.

Each line becomes one entry. Pieces of an answer are entries of their own, and so are calls and
results. A prompt is written twice, as the turn's and as a message of the context: the message is
the user's entry, and the other stays an event.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.kimi_code.reader import read
>>> lines = b'''{"type":"metadata","protocol_version":"1.5","created_at":1779256791085}
... {"type":"context.append_message","message":{"role":"user","content":"Hi","toolCalls":[]},\
"time":1779256800001}
... {"type":"context.append_loop_event","event":{"type":"content.part","uuid":"p-1",\
"part":{"type":"text","text":"Hello"}},"time":1779256800200}
... '''
>>> name = "session_1/agents/main/wire.jsonl"
>>> reading = read(Source((SourcePart(name, lines),)))
>>> reading.record["session"]["session-id"]
'session_1'
>>> for entry in reading.record["session"]["entries"]:
...     print(entry["type"], entry.get("content"), entry.get("event"))
system-event None None
user Hi None
assistant [{'type': 'text', 'text': 'Hello'}] {'type': 'content.part'}

Tokens are written twice as well, with the end of each step and in `usage.record`. The latter
counts, because it also has the tokens of compactions; a file without any counts the former.

docs/mapping/kimi-code.md is generated from the tables. They hold the names of versions up to 2.1.
A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import parse_json_text
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    drop_nulls,
    is_count,
    is_one_of,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import NameCounts, build_child_entries, is_timestamp

KIMI_MESSAGE_TYPE = "context.append_message"
KIMI_LOOP_TYPE = "context.append_loop_event"
KIMI_TYPES = parse_names(
    """
    agent.message.appended agent.turn.ended agent.turn.started config.update
    context.append_loop_event context.append_message context.apply_compaction context.clear
    context.undo file_history.checkpoint file_history.tracked forked full_compaction.begin
    full_compaction.complete full_compaction.cancel goal.clear goal.create goal.update
    llm.request llm.tools_snapshot metadata permission.record_approval_result permission.set_mode
    plan_mode.cancel plan_mode.enter plan_mode.exit plugin.session_start profile.bind
    prompt.aborted prompt.completed runtime.set_binding subagent.completed subagent.failed
    subagent.spawned subagent.started swarm_mode.enter swarm_mode.exit task.started task.terminated
    token_counting.measured token_counting.turn_recorded tools.set_active_tools
    tools.update_store turn.cancel turn.ended turn.prompt turn.steer turn.step.interrupted
    usage.record
    """
)
KIMI_LOOP_TYPES = parse_names("content.part step.begin step.end tool.call tool.result")
KIMI_MESSAGE_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool-result"}
KIMI_STATE_EVENT = "session-state"
KIMI_RESERVED_EVENT_TYPES = parse_names("attached-file session-state undecodable unknown")
"""Names of events that have no native type; a native type of such a name goes to `vacr.native`."""

KIMI_MESSAGE_MOVES = Lift(Move("content", "content", None))
KIMI_RESULT_MESSAGE_MOVES = Lift(Move("content", "output", None), Move("toolCallId", "call-id"))
KIMI_CALL_MOVES = Lift(
    Move("uuid", "id"),
    Move("name", "name"),
    Move("args", "input", None),
    Move("toolCallId", "call-id"),
)
KIMI_RESULT_MOVES = Lift(Move("parentUuid", "parent-id"), Move("toolCallId", "call-id"))
KIMI_OUTPUT_MOVES = Lift(Move("output", "output", None))
KIMI_PART_MOVES = Lift(Move("uuid", "id"))
KIMI_USAGE_SUMS = UsageSums(
    ("input", ("inputOther", "inputCacheRead", "inputCacheCreation")),
    ("output", ("output",)),
    ("cached", ("inputCacheRead",)),
)
"""Canonical counter → the native ones that it sums: `inputOther` leaves the cache out."""
_MESSAGE_MARKS = {"native": {"type": KIMI_MESSAGE_TYPE}}
_LOOP_MARKS = {"native": {"type": KIMI_LOOP_TYPE}}
"""Marks that many entries share."""


def read(source: Source) -> Reading:
    """Return the record of one wire file."""
    with pause_garbage_collector():
        return _WireReader().read(source)


class _WireReader:
    """One wire file on its way into a record."""

    def __init__(self) -> None:
        """Start without lines."""
        self.session = SessionBuilder("kimi-code-jsonl", "kimi-code")
        self.providers = NameCounts(int)
        self.requested = NameCounts(int)
        self.used = NameCounts(int)
        """How many requests named a provider and a model, and how many counts of tokens a model."""
        self.chosen: str | None = None
        self.step_ends: list[tuple[JsonObject, JsonObject]] = []
        self.usages: list[tuple[JsonObject, JsonObject]] = []
        """The events with counts of tokens, and these counts."""

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole wire file."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle(source.main.name)
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry, an event if it is not a message, a call or a result."""
        kind = line.get("type")
        entry: JsonObject | None = None
        if kind == KIMI_MESSAGE_TYPE:
            entry = self.make_message_entry(line)
        elif kind == KIMI_LOOP_TYPE:
            entry = self.make_loop_entry(line)
        return self.make_event(line) if entry is None else entry

    def make_message_entry(self, line: JsonObject) -> JsonObject | None:
        """Turn a message of the context into an entry, or return None if it is not one."""
        message = line.get("message")
        if type(message) is not dict or not is_one_of(message.get("role"), KIMI_MESSAGE_ROLES):
            return None
        del line["type"]
        entry_type = KIMI_MESSAGE_ROLES[message["role"]]
        entry: JsonObject = {"type": entry_type}
        if entry_type == "tool-result":
            KIMI_RESULT_MESSAGE_MOVES.apply(message, entry)
            entry.setdefault("output", None)
        else:
            KIMI_MESSAGE_MOVES.apply(message, entry)
            children = build_child_entries(entry.get("content"))
            if children := children + _view_calls(message.get("toolCalls")):
                entry["children"] = children
        drop_nulls(message)
        return self.finish(entry, line, _MESSAGE_MARKS)

    def make_loop_entry(self, line: JsonObject) -> JsonObject | None:
        """Turn an event of the agent's loop into an entry, or return None if it stays an event."""
        event = line.get("event")
        if type(event) is not dict:
            return None
        kind = event.get("type")
        if not is_one_of(kind, KIMI_LOOP_TYPES):
            self.session.drift.count_type(f"{KIMI_LOOP_TYPE}/{kind}")
        entry: JsonObject | None = None
        if kind == "content.part" and type(event.get("part")) is dict:
            entry = _make_part_entry(event)
        elif kind == "tool.call" and type(event.get("name")) is str:
            entry = {"type": "tool-call", "input": None}
            KIMI_CALL_MOVES.apply(event, entry)
        elif kind == "tool.result" and type(event.get("result")) is dict:
            entry = {"type": "tool-result", "output": None}
            KIMI_RESULT_MOVES.apply(event, entry)
            KIMI_OUTPUT_MOVES.apply(event["result"], entry)
            drop_nulls(event["result"])
        if entry is None:
            return None
        del line["type"]
        drop_nulls(event)
        return self.finish(entry, line, _LOOP_MARKS)

    def finish(self, entry: JsonObject, line: JsonObject, marks: JsonObject) -> JsonObject:
        """Add the rest of a line to its entry, and the marks that name the type of the line."""
        _move_time(line, entry)
        entry["vacr"] = marks
        return add_remaining_members(entry, line)

    def make_event(self, line: JsonObject) -> JsonObject:
        """Turn any other line into an event, and learn about the session from it."""
        kind = line.pop("type", None)
        if kind is None and type(line.get("agents")) is dict:
            drop_nulls(line)
            return {"type": "system-event", "event-type": KIMI_STATE_EVENT, "data": line}
        if not is_one_of(kind, KIMI_TYPES):
            self.session.drift.count_type(kind)
        self.learn_from_event(kind, line)
        entry = make_typed_event(line, kind, KIMI_RESERVED_EVENT_TYPES)
        _move_time(line, entry)
        if "data" in entry:
            drop_nulls(entry["data"])
            if not entry["data"]:
                del entry["data"]
        event = line.get("event")
        if kind == "usage.record" and type(line.get("usage")) is dict:
            self.usages.append((entry, line["usage"]))
        elif kind == KIMI_LOOP_TYPE and type(event) is dict and type(event.get("usage")) is dict:
            self.step_ends.append((entry, event["usage"]))
        return entry

    def learn_from_event(self, kind: Any, line: JsonObject) -> None:
        """Learn the start, the folder, the models and the provider from an event."""
        session = self.session
        if kind == "metadata" and session.start is None and is_timestamp(line.get("created_at")):
            session.start = line["created_at"]
        disclosure = line.get("environmentDisclosure")
        for holder in (line, disclosure):
            folder = holder.get("cwd") if type(holder) is dict else None
            if session.working_dir is None and type(folder) is str and kind != "metadata":
                session.working_dir = folder
        if kind == "llm.request":
            for member, counts in (("model", self.requested), ("provider", self.providers)):
                if type(line.get(member)) is str:
                    counts[line[member]] += 1
        elif kind == "usage.record" and type(line.get("model")) is str:
            self.used[line["model"]] += 1
        if type(line.get("modelAlias")) is str:
            self.chosen = line["modelAlias"]

    def settle(self, name: str) -> None:
        """Decide everything that needs the whole file: models, tokens, and whose session it is."""
        session = self.session
        models = self.requested or self.used
        if not models and self.chosen is not None:
            models[self.chosen] += 1
        for model, count in models.items():
            session.models[model] += count
        session.provider = (
            max(self.providers, key=self.providers.__getitem__) if self.providers else UNKNOWN
        )
        for entry, usage in self.usages or self.step_ends:
            if counters := build_kimi_usage(usage):
                entry["token-usage"] = counters
        self.name_session(name.replace("\\", "/").split("/"))

    def name_session(self, folders: list[str]) -> None:
        """Name the session after its folder; a sub-agent's is its parent's and its own name."""
        if len(folders) < len(("session", "agents", "main", "wire.jsonl")):
            return
        session_id, agents, agent, _ = folders[-4:]
        if agents != "agents" or not session_id or not agent:
            return
        session = self.session
        session.session_id = session_id
        if agent != "main":
            session.session_id, session.parent = f"{session_id}/{agent}", session_id
            session.mode = "autonomous"


def _move_time(line: JsonObject, entry: JsonObject) -> None:
    """Move the time of a line, in milliseconds, to its entry; another value stays."""
    if is_timestamp(line.get("time")):
        entry["timestamp"] = line.pop("time")


def _make_part_entry(event: JsonObject) -> JsonObject:
    """Return the entry of a piece of an answer: a thought, or a message with the piece."""
    part = event["part"]
    if part.get("type") == "think" and type(part.get("think")) is str:
        entry: JsonObject = {"type": "reasoning", "content": part.pop("think")}
    else:
        entry = {"type": "assistant", "content": [event.pop("part")]}
        if children := build_child_entries(entry["content"]):
            entry["children"] = children
    KIMI_PART_MOVES.apply(event, entry)
    return entry


def _view_calls(calls: Any) -> list[JsonObject]:
    """Return a call entry for each call of a message; the message keeps them as well."""
    entries: list[JsonObject] = []
    for call in calls if type(calls) is list else ():
        function = call.get("function", call) if type(call) is dict else None
        if type(function) is not dict or type(function.get("name")) is not str:
            continue
        entry: JsonObject = {"type": "tool-call", "name": function["name"]}
        entry["input"] = parse_json_text(function.get("arguments"))
        if type(call.get("id")) is str:
            entry["call-id"] = call["id"]
        entries.append(entry)
    return entries


def build_kimi_usage(usage: JsonObject) -> JsonObject:
    """Return the canonical counters of a step; empty if it states none."""
    counters = KIMI_USAGE_SUMS.compute(usage)
    if {"input", "output"} <= counters.keys() and is_count(counters["input"] + counters["output"]):
        counters["total"] = counters["input"] + counters["output"]
    return counters
