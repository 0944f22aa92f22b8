"""Chats of Qwen Code: a tree of lines, which refer to each other by `parentUuid`.

One line becomes one entry. The parts of a message are its content, and the calls, responses and
thoughts in them become children. Lines of the type `system` are events, named by their subtype.
Most of them are telemetry that repeats tokens and calls: they stay in the record, but do
not count.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.qwen.reader import read
>>> lines = b'''{"uuid":"u-1","parentUuid":null,"sessionId":"s-1","type":"user",\
"message":{"role":"user","parts":[{"text":"Hello"}]}}
... {"uuid":"u-2","parentUuid":"u-1","sessionId":"s-1","type":"system","subtype":"custom_title",\
"systemPayload":{"customTitle":"Greeting"}}
... '''
>>> reading = read(Source((SourcePart("chat.jsonl", lines),)))
>>> for entry in reading.record["session"]["entries"]:
...     print(entry["id"], entry.get("content"), entry.get("event-type"), entry.get("data"))
u-1 [{'text': 'Hello'}] None None
u-2 None custom-title {'customTitle': 'Greeting'}

After a rewind, the next line continues from an earlier one. The lines in between are marked
`vacr.superseded`: they did take place, so their calls and tokens count.

Google counts thoughts apart from the candidates; endpoints in OpenAI's form count them within. The
total shows which it was:

>>> from vacr.agents.qwen.reader import sum_usage
>>> usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5}
>>> sum_usage({**usage, "totalTokenCount": 120})
{'input': 100, 'output': 20, 'reasoning': 5, 'total': 120}
>>> sum_usage({**usage, "totalTokenCount": 125})
{'input': 100, 'output': 25, 'reasoning': 5, 'total': 125}

docs/mapping/qwen-code.md is generated from the tables. They hold the names seen in versions up to
0.21. A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.gemini.messages import FATE_REWOUND
from vacr.agents.gemini.reader import ChatFormat, read_chats
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    NativeShape,
    Reading,
    SessionBuilder,
    UsageSums,
    drop_nulls,
    is_count,
    is_one_of,
    keep_native_members,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

QWEN_ENVELOPE_MEMBERS = parse_names(
    """
    agentColor agentId agentName backgroundTurn cwd gitBranch isSidechain parentUuid provenance
    sessionId timestamp uuid version
    """
)
"""Members of every line that place it in the chat."""
QWEN_LINE_MEMBERS = QWEN_ENVELOPE_MEMBERS | parse_names(
    """
    contextWindowSize externalInputKind message model subtype systemPayload toolCallResult
    toolCallsMetadata usageMetadata
    """
)
QWEN_MESSAGE_MEMBERS = parse_names("parts role")
QWEN_USAGE_MEMBERS = parse_names(
    """
    cachedContentTokenCount candidatesTokenCount candidatesTokensDetails promptTokenCount
    promptTokensDetails thoughtsTokenCount toolUsePromptTokenCount totalTokenCount trafficType
    """
)
QWEN_USAGE_SUMS = UsageSums(
    ("input", ("promptTokenCount",)),
    ("output", ("candidatesTokenCount",)),
    ("cached", ("cachedContentTokenCount",)),
    ("reasoning", ("thoughtsTokenCount",)),
    ("total", ("totalTokenCount",)),
)
"""Canonical counter → the one in `usageMetadata`."""
QWEN_ENTRY_TYPES = {"user": "user", "assistant": "assistant", "tool_result": "user"}
"""Type of a line → entry type; the responses in a tool result are children."""
QWEN_EVENT_TYPE = "system"
QWEN_EVENT_NAMES = {"custom_title": "custom-title"}
"""Subtype → event type, where they differ."""
QWEN_SUBTYPES = parse_names(
    """
    agent_bootstrap agent_launch_prompt agent_retry at_command attribution_snapshot
    branch_checkpoint chat_compression custom_title file_history_snapshot goal_state goal_terminal
    parent_session rewind session_artifact_event session_artifact_snapshot session_model
    session_source slash_command turn_result ui_telemetry user_text_elements
    """
)
_RESERVED_EVENT_TYPES = parse_names("attached-file custom-title system undecodable unknown")
_PLACE_MOVES = (
    Move("uuid", "id"),
    Move("parentUuid", "parent-id"),
    Move("timestamp", "timestamp", None),
)
QWEN_LINE_SHAPE = NativeShape(QWEN_LINE_MEMBERS, *_PLACE_MOVES, Move("model", "model-id"))
_EVENT_MOVES = Lift(*_PLACE_MOVES)
_EVENT_MARKS = {"native": {"type": QWEN_EVENT_TYPE}}
_RESULT_MARKS = {"native": {"type": "tool_result"}}
"""Marks that many entries share."""

EARLY_FORMAT = ChatFormat("qwen-json", "qwen-log", "qwen-code", UNKNOWN)
"""The form of early chats: Gemini CLI's, with another name for the model's messages."""


def read(source: Source) -> Reading:
    """Return the record of one chat."""
    with pause_garbage_collector():
        return _ChatReader().read(source)


def read_early_chats(source: Source) -> Iterator[Reading]:
    """Yield the record of each chat in a file of an early version."""
    return read_chats(source, EARLY_FORMAT)


class _ChatReader:
    """One chat on its way into a record."""

    def __init__(self) -> None:
        """Start without lines."""
        self.session = SessionBuilder("qwen-jsonl", "qwen-code")
        self.unlearned = ["sessionId", "cwd", "version", "gitBranch"]
        self.agent_ids: set[Any] = set()
        """The sub-agents that wrote the lines, and None if the main agent wrote some."""
        self.has_rewind = False

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole chat."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry, an event if its type is not one of a message."""
        kind = line.pop("type", None)
        if self.unlearned:
            self.learn_from_line(line)
        if is_one_of(kind, QWEN_ENTRY_TYPES):
            return self.make_message_entry(line, kind)
        if kind == QWEN_EVENT_TYPE:
            return self.make_system_event(line)
        self.session.drift.count_type(kind)
        return make_typed_event(line, kind, _RESERVED_EVENT_TYPES, _EVENT_MOVES)

    def learn_from_line(self, line: JsonObject) -> None:
        """Learn each fact about the session from the first line that states it."""
        session = self.session
        for member in [name for name in self.unlearned if type(line.get(name)) is str]:
            value = line[member]
            if not value:
                continue
            self.unlearned.remove(member)
            if member == "sessionId":
                session.session_id = value
            elif member == "cwd":
                session.working_dir = value
            elif member == "version":
                session.cli_version = value
            else:
                session.vcs["branch"] = value

    def make_message_entry(self, line: JsonObject, kind: str) -> JsonObject:
        """Turn a line with a message into an entry; the rest of the message stays in `message`."""
        session = self.session
        agent_id = line.get("agentId") if line.get("isSidechain") is True else None
        self.agent_ids.add(agent_id if type(agent_id) is str else None)
        entry = QWEN_LINE_SHAPE.make_entry(QWEN_ENTRY_TYPES[kind], line, session.drift, kind)
        if kind == "tool_result":
            if "vacr" in entry:
                keep_native_members(entry, {"type": kind})
            else:
                entry["vacr"] = _RESULT_MARKS
        message = entry.get("message")
        if type(message) is dict:
            self.lift_message(message, entry)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        usage = entry.get("usageMetadata")
        if type(usage) is dict:
            if not QWEN_USAGE_MEMBERS.issuperset(usage):
                session.drift.count_members("usageMetadata", usage, QWEN_USAGE_MEMBERS)
            if counters := sum_usage(usage):
                entry["token-usage"] = counters
        return entry

    def lift_message(self, message: JsonObject, entry: JsonObject) -> None:
        """Move the parts of a message into the content of its entry, with views as children."""
        if not QWEN_MESSAGE_MEMBERS.issuperset(message):
            self.session.drift.count_members("message", message, QWEN_MESSAGE_MEMBERS)
        if type(message.get("parts")) is list:
            entry["content"] = message.pop("parts")
            _add_part_children(entry, self.session)
        drop_nulls(message)
        if not message and "content" in entry:
            del entry["message"]

    def make_system_event(self, line: JsonObject) -> JsonObject:
        """Turn a `system` line of the host into an event whose type is the subtype of the line.

        It is `system` if the line has no subtype, or a reserved one.
        """
        entry = QWEN_LINE_SHAPE.make_entry(
            "system-event", line, self.session.drift, QWEN_EVENT_TYPE
        )
        subtype: Any = entry.get("subtype")
        if not is_one_of(subtype, QWEN_SUBTYPES):
            self.session.drift.count_type(f"{QWEN_EVENT_TYPE}/{subtype}")
        self.has_rewind = self.has_rewind or subtype == "rewind"
        event_type = QWEN_EVENT_TYPE
        if type(subtype) is str and subtype not in _RESERVED_EVENT_TYPES:
            event_type = QWEN_EVENT_NAMES.get(subtype, subtype)
            if event_type == subtype:
                del entry["subtype"]
        entry["event-type"] = event_type
        if "vacr" in entry:
            keep_native_members(entry, {"type": QWEN_EVENT_TYPE})
        else:
            entry["vacr"] = _EVENT_MARKS
        if type(entry.get("systemPayload")) is dict:
            entry["data"] = entry.pop("systemPayload")
        return entry

    def settle(self) -> None:
        """Decide everything that needs the whole chat: a sub-agent, and rewound lines."""
        session = self.session
        agents = self.agent_ids - {None}
        if len(self.agent_ids) == 1 and agents and session.session_id is not None:
            # The lines of a sub-agent name the session of its parent.
            session.parent, session.mode = session.session_id, "autonomous"
            session.session_id = f"{session.parent}/{agents.pop()}"
        if self.has_rewind:
            self.mark_rewound_entries()

    def mark_rewound_entries(self) -> None:
        """Mark the messages that the last line does not descend from."""
        entries = self.session.entries
        by_id = {entry["id"]: entry for entry in entries if "id" in entry}
        live: set[str] = set()
        identity: Any = next((entry["id"] for entry in reversed(entries) if "id" in entry), None)
        while type(identity) is str and identity in by_id and identity not in live:
            live.add(identity)
            identity = by_id[identity].get("parent-id")
        for entry in entries:
            if entry["type"] != "system-event" and entry.get("id") not in live | {None}:
                get_writable_marks(entry)["superseded"] = FATE_REWOUND


def sum_usage(usage: JsonObject) -> JsonObject:
    """Return the canonical counters of an answer's `usageMetadata`; empty without counters."""
    counters = QWEN_USAGE_SUMS.compute(usage)
    thoughts = usage.get("thoughtsTokenCount")
    if not is_count(thoughts) or not {"input", "output", "total"} <= counters.keys():
        return counters
    if counters["input"] + counters["output"] + thoughts == counters["total"]:
        counters["output"] += thoughts
    return counters


def _add_part_children(entry: JsonObject, session: SessionBuilder) -> None:
    """Add the views of the calls, responses and thoughts in a message's parts as its children."""
    content = entry.get("content")
    if type(content) is list and (
        views := build_child_entries(content, session.drift.types, session.drift.members)
    ):
        entry["children"] = views
