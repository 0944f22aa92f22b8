"""Session files of Pi, and of programs that are built on it: a tree of entries, one a line.

The first line is the header. It states the session's id, its start and its folder. Each later line
is an entry with an id and the id of its parent, so branches stay as they were written. The message
of an entry has the shape of Pi's model library: the user's, the assistant's with its calls, the
result of a call, or a command that the user ran.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.pi_entries import read_pi_session
>>> lines = b'''{"type":"session","version":3,"id":"s-1","cwd":"/src"}
... {"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"Hello"}}
... {"type":"message","id":"a2","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1",\
"toolName":"bash","content":[],"isError":false}}
... '''
>>> reading = read_pi_session(Source((SourcePart("a.jsonl", lines),)), "pi-jsonl", "pi")
>>> for entry in reading.record["session"]["entries"]:
...     print(entry["type"], entry.get("parent-id"), entry.get("message"))
system-event None None
user None None
tool-result a1 {'role': 'toolResult', 'toolName': 'bash', 'isError': False}

A fork is a session with a parent. Its file begins with copies of the parent's entries. They are
older than the header, and are marked `vacr.inherited`, so that nothing of them counts twice.

The pages of docs/mapping are generated from the tables. They hold the names of versions up to 0.74.
A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

import math
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    NativeShape,
    Reading,
    SessionBuilder,
    UsageSums,
    drop_nulls,
    is_one_of,
    keep_native_members,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import NameCounts, build_child_entries, get_epoch_milliseconds, is_timestamp

# --- Known names ---

PI_HEADER_TYPE = "session"
PI_HEADER_MEMBERS = parse_names(
    "branchedFrom cwd id modelId parentSession provider thinkingLevel timestamp version"
)
PI_ENTRY_MEMBERS = parse_names("id parentId timestamp")
PI_EVENT_MEMBERS = {
    PI_HEADER_TYPE: PI_HEADER_MEMBERS,
    "model_change": PI_ENTRY_MEMBERS | parse_names("modelId provider"),
    "thinking_level_change": PI_ENTRY_MEMBERS | parse_names("thinkingLevel"),
    "compaction": PI_ENTRY_MEMBERS
    | parse_names("details firstKeptEntryId firstKeptEntryIndex fromHook summary tokensBefore"),
    "branch_summary": PI_ENTRY_MEMBERS | parse_names("details fromHook fromId summary"),
    "custom": PI_ENTRY_MEMBERS | parse_names("customType data"),
    "label": PI_ENTRY_MEMBERS | parse_names("label targetId"),
    "session_info": PI_ENTRY_MEMBERS | parse_names("name"),
}
"""Type of a line that becomes an event → its members."""
PI_MESSAGE_TYPE = "message"
PI_CUSTOM_MESSAGE_TYPE = "custom_message"
PI_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool-result",
    "bashExecution": "user",
    "custom": "user",
    "hookMessage": "user",
}
"""Role of a message → entry type."""
PI_COMMAND_ROLE = "bashExecution"
PI_EXTENSION_ROLES = frozenset(("custom", "hookMessage"))
"""The roles of messages that an extension wrote."""
PI_MESSAGE_MEMBERS = {
    "user": parse_names("__openclaw content idempotencyKey provenance role timestamp"),
    "assistant": parse_names(
        """
        __openclaw api content diagnostics errorMessage idempotencyKey model openclawAbort
        openclawDelivery provider responseId responseModel role stopReason timestamp usage
        """
    ),
    "toolResult": parse_names(
        "__openclaw content details isError role timestamp toolCallId toolName"
    ),
    "bashExecution": parse_names(
        """
        cancelled command excludeFromContext exitCode fullOutputPath output role timestamp
        truncated
        """
    ),
    "custom": parse_names("content customType details display role timestamp"),
    "hookMessage": parse_names("content customType details display role timestamp"),
}
"""Role → the members of such a message, with those that OpenClaw adds."""
PI_USAGE_MEMBERS = parse_names(
    "cacheRead cacheWrite cost input output reasoning reasoningTokens totalTokens"
)

# --- Moves ---

_ENTRY_MOVES = (
    Move("id", "id"),
    Move("parentId", "parent-id"),
    Move("timestamp", "timestamp", None),
)
PI_LINE_SHAPE = NativeShape(PI_ENTRY_MEMBERS | {"message"}, *_ENTRY_MOVES)
PI_CUSTOM_MESSAGE_SHAPE = NativeShape(
    PI_ENTRY_MEMBERS | parse_names("content customType details display"),
    *_ENTRY_MOVES,
    Move("content", "content", None),
)
PI_EVENT_MOVES = Lift(*_ENTRY_MOVES)
PI_HEADER_MOVES = Lift(Move("timestamp", "timestamp", None))
"""The id of the header is the session's, so it is not the id of an entry."""
PI_ROLE_MOVES = {
    "user": Lift(Move("content", "content", None)),
    "assistant": Lift(
        Move("content", "content", None),
        Move("model", "model-id"),
        Move("stopReason", "stop-reason"),
    ),
    "toolResult": Lift(
        Move("content", "output", None),
        Move("toolCallId", "call-id"),
    ),
    "bashExecution": Lift(Move("command", "content", None)),
    "custom": Lift(Move("content", "content", None)),
    "hookMessage": Lift(Move("content", "content", None)),
}
"""Role → the moves from a message into its entry; the rest stays in `message`.

The flag `isError` stays as well: the label `is-error` may differ from it.
"""
_IMPLIED_ROLES = frozenset(("user", "assistant"))
"""The roles that the type of the entry states."""
_LINE_MARKS = {
    kind: {"native": {"type": kind}} for kind in (PI_MESSAGE_TYPE, PI_CUSTOM_MESSAGE_TYPE)
}
"""Type of a line → the marks that all its entries share."""
PI_USAGE_SUMS = UsageSums(
    ("input", ("input", "cacheRead", "cacheWrite")),
    ("output", ("output",)),
    ("cached", ("cacheRead",)),
    ("total", ("totalTokens",)),
)
"""Canonical counter → the native ones that it sums: Pi's input leaves the cache out."""
PI_RESERVED_EVENT_TYPES = parse_names("attached-file undecodable unknown")
"""Names of events that have no native type; a native type of such a name goes to `vacr.native`."""


def read_pi_session(source: Source, format_id: str, agent: str) -> Reading:
    """Return the record of one session, in a format and of an agent that the caller names."""
    with pause_garbage_collector():
        return PiReader(format_id, agent).read(source)


class PiReader:
    """One session on its way into a record."""

    def __init__(self, format_id: str, agent: str) -> None:
        """Start without lines."""
        self.session = SessionBuilder(format_id, agent)
        self.header: JsonObject | None = None
        self.providers = NameCounts(int)
        """How many answers each provider gave."""
        self.chosen: tuple[Any, Any] = (None, None)
        """The last model and provider that the user chose."""

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole session."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry: a message, a result, or an event for anything else."""
        kind = line.pop("type", None)
        message = line.get("message")
        if (
            kind == PI_MESSAGE_TYPE
            and type(message) is dict
            and is_one_of(message.get("role"), PI_ROLES)
        ):
            return self.make_message_entry(line, message)
        if kind == PI_CUSTOM_MESSAGE_TYPE:
            return self.make_custom_message_entry(line)
        return self.make_event(line, kind)

    def make_message_entry(self, line: JsonObject, message: JsonObject) -> JsonObject:
        """Turn a line with a message into an entry; the rest of the message stays in `message`."""
        session, role = self.session, message["role"]
        entry = PI_LINE_SHAPE.make_entry(PI_ROLES[role], line, session.drift, PI_MESSAGE_TYPE)
        if not PI_MESSAGE_MEMBERS[role].issuperset(message):
            session.drift.count_members(role, message, PI_MESSAGE_MEMBERS[role])
        PI_ROLE_MOVES[role].apply(message, entry)
        if role in _IMPLIED_ROLES:
            del message["role"]
        if role == "assistant":
            self.learn_answer(message, entry)
        elif role == "toolResult":
            entry.setdefault("output", None)
        drop_nulls(message)
        if not message:
            del entry["message"]
        _mark_line_type(entry, PI_MESSAGE_TYPE)
        self.add_children(entry)
        return entry

    def make_custom_message_entry(self, line: JsonObject) -> JsonObject:
        """Turn a line with the message of an extension into a user message."""
        entry = PI_CUSTOM_MESSAGE_SHAPE.make_entry(
            "user", line, self.session.drift, PI_CUSTOM_MESSAGE_TYPE
        )
        _mark_line_type(entry, PI_CUSTOM_MESSAGE_TYPE)
        self.add_children(entry)
        return entry

    def add_children(self, entry: JsonObject) -> None:
        """Add the views of a message's calls and thoughts; a result has none."""
        content, drift = entry.get("content"), self.session.drift
        if type(content) is list and (
            views := build_child_entries(content, drift.types, drift.members)
        ):
            entry["children"] = views

    def learn_answer(self, message: JsonObject, entry: JsonObject) -> None:
        """Learn the model, the provider and the usage of an answer."""
        if "model-id" in entry:
            self.session.models[entry["model-id"]] += 1
        if type(message.get("provider")) is str:
            self.providers[message["provider"]] += 1
        usage = message.get("usage")
        if type(usage) is dict:
            if not PI_USAGE_MEMBERS.issuperset(usage):
                self.session.drift.count_members("usage", usage, PI_USAGE_MEMBERS)
            if counters := build_pi_usage(usage):
                entry["token-usage"] = counters

    def make_event(self, line: JsonObject, kind: Any) -> JsonObject:
        """Turn any other line into an event; the first header describes the session."""
        members = PI_EVENT_MEMBERS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.count_type(kind)
        else:
            self.session.drift.count_members(kind, line, members)
        is_header = kind == PI_HEADER_TYPE
        if is_header and self.header is None:
            self.learn_header(line)
        if kind in ("model_change", PI_HEADER_TYPE) and type(line.get("modelId")) is str:
            self.chosen = line["modelId"], line.get("provider")
        lift = PI_HEADER_MOVES if is_header else PI_EVENT_MOVES
        entry = make_typed_event(line, kind, PI_RESERVED_EVENT_TYPES, lift)
        if "data" in entry:
            drop_nulls(entry["data"])
            if not entry["data"]:
                del entry["data"]
        return entry

    def learn_header(self, header: JsonObject) -> None:
        """Learn the session's id, folder and start from its header."""
        self.header = dict(header)
        session = self.session
        if header.get("id") and type(header["id"]) is str:
            session.session_id = header["id"]
        if type(header.get("cwd")) is str:
            session.working_dir = header["cwd"]
        if is_timestamp(header.get("timestamp")):
            session.start = header["timestamp"]

    def settle(self) -> None:
        """Decide everything that needs the whole session: the provider, and copies in a fork."""
        session = self.session
        model, provider = self.chosen
        if not session.models and model is not None:
            session.models[model] += 1
            if type(provider) is str:
                self.providers[provider] += 1
        if self.providers:
            session.provider = max(self.providers, key=self.providers.__getitem__)
        header = self.header or {}
        if "parentSession" in header or "branchedFrom" in header:
            self.mark_inherited_entries(header.get("timestamp"))

    def mark_inherited_entries(self, start: Any) -> None:
        """Mark the entries that are older than the session itself: copies of the parent's."""
        began = get_epoch_milliseconds(start) if is_timestamp(start) else None
        if began is None:
            return
        for entry in self.session.entries:
            stamp: Any = entry.get("timestamp")
            if entry.get("event-type") == PI_HEADER_TYPE or not is_timestamp(stamp):
                continue
            time = get_epoch_milliseconds(stamp)
            if time is not None and time < began:
                get_writable_marks(entry)["inherited"] = True
                self.session.inherits = True


def _mark_line_type(entry: JsonObject, kind: str) -> None:
    """Keep the type of an entry's line in `vacr.native`."""
    if "vacr" in entry:
        keep_native_members(entry, {"type": kind})
    else:
        entry["vacr"] = _LINE_MARKS[kind]


def build_pi_usage(usage: JsonObject) -> JsonObject:
    """Return the canonical counters of an answer; empty if it states none."""
    counters = PI_USAGE_SUMS.compute(usage)
    cost = usage.get("cost")
    amount = cost.get("total") if type(cost) is dict else None
    if isinstance(amount, int | float) and type(amount) is not bool and math.isfinite(amount):
        counters["cost"] = amount
    return counters
