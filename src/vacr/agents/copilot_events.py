r"""Copilot's event log, one JSON object a line: GitHub Copilot CLI, its SDK, and VS Code.

Every line has a type, an id, a time, the id of the line before it, and `data`. A call and its
result are lines of their own. A sub-agent's lines stand in the same file, marked with the id of
the sub-agent or of the call that started it. The reader moves the members that have a place in a
record; everything else stays in `data`.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.copilot_events import CopilotEventReader
>>> lines = b'''{"type":"session.start","data":{"sessionId":"s-1"},"id":"e1","parentId":null}
... {"type":"user.message","data":{"content":"Hi"},"id":"e2","parentId":"e1"}
... {"type":"assistant.message","data":{"content":"Hello","model":"m"},"id":"e3","parentId":"e2"}
... '''
>>> source = Source((SourcePart("events.jsonl", lines),))
>>> session = CopilotEventReader("copilot-jsonl", "copilot").read(source).record["session"]
>>> [(entry["type"], entry.get("content")) for entry in session["entries"]]
[('system-event', None), ('user', 'Hi'), ('assistant', 'Hello')]

docs/mapping/copilot.md is generated from the tables. They hold the names of versions up to 1.0.102.
A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import Source
from vacr.agents.copilot_members import EVENT_DATA_MEMBERS
from vacr.agents.copilot_usage import assign_models, count_tokens, get_text
from vacr.agents.documents import parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    describe_json_kind,
    drop_nulls,
    keep_native_members,
    parse_names,
    set_members_aside,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, JsonObject
from vacr.record import build_child_entries, is_timestamp

PRODUCER = "copilot-agent"
EVENT_LINE_MEMBERS = parse_names("agentId data ephemeral id parentId timestamp type")
_CLASHING_MEMBERS = CANONICAL_ENTRY_MEMBERS - {"id", "timestamp", "parent-id", "data", "type"}

EVENT_ENTRY_TYPES = {
    "user.message": "user",
    "assistant.message": "assistant",
    "assistant.reasoning": "reasoning",
    "tool.execution_start": "tool-call",
    "tool.execution_complete": "tool-result",
}
"""Type of an event → entry type; all other events are system events."""

_TYPE_MARKS = {kind: {"native": {"type": kind}} for kind in EVENT_ENTRY_TYPES}
EVENT_LINE_MOVES = Lift(Move("parentId", "parent-id"))
EVENT_DATA_MOVES = {
    "user.message": Lift(Move("content", "content", None)),
    "assistant.message": Lift(Move("content", "content", None), Move("model", "model-id")),
    "assistant.reasoning": Lift(Move("content", "content", None)),
    "tool.execution_start": Lift(
        Move("toolCallId", "call-id"), Move("toolName", "name"), Move("arguments", "input", None)
    ),
    "tool.execution_complete": Lift(Move("toolCallId", "call-id")),
}
REASONING_MEMBERS = ("reasoningOpaque", "encryptedContent")
"""The members of a message with encrypted reasoning; the first that is a text is moved."""
_NULLABLE_MOVES = (("content", "content"), ("input", "arguments"))
"""Moves of any value; a null stays in the data."""
_VCS_MEMBERS = (("revision", "headCommit"), ("branch", "branch"), ("repository", "repository"))
_NON_INTERACTIVE = "You are running in non-interactive mode"
_DENIED_PREFIX = "denied"


def is_event_line(value: Any) -> bool:
    """Return whether a value has the form of a line of the event log."""
    return (
        type(value) is dict
        and type(value.get("type")) is str
        and type(value.get("data")) is dict
        and "parentId" in value
        and "id" in value
    )


def recognise_event_log(sample: Sequence[Any], *, by_editor: bool) -> float:
    """Return the share of event lines in a sample, if the log is the editor's, or the CLI's.

    The first line states the program. In a log without that line, the known types decide, and it
    counts as the CLI's.
    """
    if not sample:
        return 0.0
    lines = [value for value in sample if is_event_line(value)]
    starts = [line["data"] for line in lines if line["type"] == "session.start"]
    if starts and starts[0].get("producer") != PRODUCER:
        return 0.0
    if by_editor != any("vscodeVersion" in start for start in starts):
        return 0.0
    known = sum(1 for line in lines if line["type"] in EVENT_DATA_MEMBERS)
    return known / len(sample) if known else 0.0


class CopilotEventReader:
    """One event log on its way into a record."""

    def __init__(self, format_id: str, agent: str, provider: str = UNKNOWN) -> None:
        """Start without lines."""
        self.session = SessionBuilder(format_id, agent, provider=provider)
        self._start: JsonObject | None = None
        self._messages: list[JsonObject] = []
        self._calls: list[JsonObject] = []
        self._results: list[JsonObject] = []
        self._reasoning: list[JsonObject] = []
        self._timeline: list[JsonObject] = []
        """Messages, and the events that change the model or state tokens, in their order."""
        self._denials: dict[str, str] = {}

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole log."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self._settle()
        session.tidy()
        return session.reading(source)

    # --- lines ---

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        kind, data = line.get("type"), line.get("data")
        if type(kind) is not str or type(data) is not dict:
            return self._make_bare_event(line)
        known = EVENT_DATA_MEMBERS.get(kind)
        if known is None:
            self.session.drift.count_type(kind)
        elif not known.issuperset(data):
            self.session.drift.count_members(kind, data, known)
        if not EVENT_LINE_MEMBERS.issuperset(line):
            self.session.drift.count_members("line", line, EVENT_LINE_MEMBERS)
            set_members_aside(line, _CLASHING_MEMBERS | {"parent-id"})
        EVENT_LINE_MOVES.apply(line, line)
        if type(line.get("id", "")) is not str:
            set_members_aside(line, frozenset(("id",)))
        drop_nulls(line)
        make = _MAKERS.get(kind)
        if make is None:
            self._make_event(line, kind, data)
        else:
            line["type"] = EVENT_ENTRY_TYPES[kind]
            # Entries without other marks share the object that names their native type.
            if "vacr" in line:
                keep_native_members(line, {"type": kind})
            else:
                line["vacr"] = _TYPE_MARKS[kind]
            if kind in EVENT_DATA_MOVES:
                EVENT_DATA_MOVES[kind].apply(data, line)
            for name, native in _NULLABLE_MOVES:
                if name in line and line[name] is None:
                    data[native] = line.pop(name)
            make(self, line, data)
        return line

    def _make_bare_event(self, line: JsonObject) -> JsonObject:
        """Make the event that keeps a line without a type or data."""
        kind = line.get("type")
        self.session.drift.count_type(
            f"bare/{kind}" if type(kind) is str else describe_json_kind(line)
        )
        return {
            "type": "system-event",
            "event-type": UNKNOWN,
            "data": line,
            "vacr": {"bare": True},
        }

    def _make_event(self, entry: JsonObject, kind: str, data: JsonObject) -> None:
        """Make an entry an event of its native type, and learn from it."""
        entry["type"] = "system-event"
        entry["event-type"] = kind
        learn = _LEARNERS.get(kind)
        if learn is not None:
            learn(self, entry, data)

    def make_message(self, entry: JsonObject, data: JsonObject) -> None:
        """Finish a message of the user or the assistant; reasoning becomes its child."""
        children = self._build_views(entry)
        if entry["type"] == "assistant":
            if type(entry.get("content")) is not list:
                children += _take_reasoning(data)
            self._messages.append(entry)
            self._timeline.append(entry)
        if children:
            entry["children"] = children

    def _build_views(self, entry: JsonObject) -> list[JsonObject]:
        """Return the children that repeat the content of a message; Copilot's is a text."""
        content = entry.get("content")
        if type(content) is not list:
            return []
        return build_child_entries(content, self.session.drift.types, self.session.drift.members)

    def make_reasoning(self, entry: JsonObject, data: JsonObject) -> None:
        """Finish an entry of reasoning."""
        del data
        entry.setdefault("content", None)
        self._reasoning.append(entry)

    def make_call(self, entry: JsonObject, data: JsonObject) -> None:
        """Finish a call; arguments that are a text of JSON are parsed, and the text stays."""
        given = entry.setdefault("input", None)
        parsed = parse_json_text(given)
        if parsed is not given:
            entry["input"] = parsed
            data["arguments"] = given
        if "name" not in entry:
            entry["name"] = UNKNOWN
            get_writable_marks(entry)["name-from"] = "none"
        self._calls.append(entry)

    def make_result(self, entry: JsonObject, data: JsonObject) -> None:
        """Finish a result; its output is the text for the model, or the message of the error."""
        entry["output"] = None
        for name, member in (("result", "content"), ("error", "message")):
            holder = data.get(name)
            if type(holder) is dict and type(holder.get(member)) is str:
                entry["output"] = holder.pop(member)
                if name != "result":
                    get_writable_marks(entry)["output-from"] = name
                break
        self._results.append(entry)

    # --- the session ---

    def learn_start(self, entry: JsonObject, data: JsonObject) -> None:
        """Learn about the session from its first start; a later one is a note."""
        self._timeline.append(entry)
        if self._start is not None:
            return
        self._start = data
        session = self.session
        session.session_id = get_text(data.get("sessionId"))
        session.cli_version = get_text(data.get("copilotVersion"))
        session.parent = get_text(data.get("detachedFromSpawningParentSessionId"))
        if is_timestamp(data.get("startTime")):
            session.start = data["startTime"]
        context = data.get("context")
        if type(context) is dict:
            session.working_dir = get_text(context.get("cwd"))
            session.vcs = {
                name: context[native]
                for name, native in _VCS_MEMBERS
                if get_text(context.get(native))
            }

    def learn_timed(self, entry: JsonObject, data: JsonObject) -> None:
        """Note an event that changes the model or states tokens.

        With a key of the user's own, the provider is not known.
        """
        self._timeline.append(entry)
        usage = data.get("usage")
        if type(usage) is dict and usage.get("isByok") is True:
            self.session.provider = UNKNOWN

    def learn_prompt(self, entry: JsonObject, data: JsonObject) -> None:
        """Learn from the system prompt whether a person can answer."""
        content = data.get("content")
        if "agentId" not in entry and type(content) is str and _NON_INTERACTIVE in content:
            self.session.mode = "autonomous"

    def learn_permission(self, entry: JsonObject, data: JsonObject) -> None:
        """Note the refusal of a call."""
        del entry
        result, call_id = data.get("result"), data.get("toolCallId")
        kind = result.get("kind") if type(result) is dict else None
        if type(kind) is str and kind.startswith(_DENIED_PREFIX) and type(call_id) is str:
            self._denials[call_id] = kind

    # --- what needs the whole log ---

    def _settle(self) -> None:
        """Decide what needs the whole log: calls that never ran, models, tokens, repetitions."""
        started = {call["call-id"] for call in self._calls if "call-id" in call}
        for message in self._messages:
            _add_unstarted_calls(message, started)
        assign_models(self.session, self._timeline, self._results)
        count_tokens(self._timeline)
        self._mark_repeated_reasoning()
        if self._denials:
            for call in self._calls:
                if call.get("call-id") in self._denials:
                    get_writable_marks(call)["permission"] = self._denials[call["call-id"]]

    def _mark_repeated_reasoning(self) -> None:
        """Mark entries of reasoning whose text a message has as well."""
        if not self._reasoning:
            return
        texts = {
            child["content"]
            for message in self._messages
            for child in message.get("children", ())
            if child["type"] == "reasoning" and type(child["content"]) is str
        }
        for entry in self._reasoning:
            if type(entry["content"]) is str and entry["content"] in texts:
                get_writable_marks(entry)["repeats"] = True


_MAKERS = {
    "user.message": CopilotEventReader.make_message,
    "assistant.message": CopilotEventReader.make_message,
    "assistant.reasoning": CopilotEventReader.make_reasoning,
    "tool.execution_start": CopilotEventReader.make_call,
    "tool.execution_complete": CopilotEventReader.make_result,
}
_LEARNERS = {
    "session.start": CopilotEventReader.learn_start,
    "session.resume": CopilotEventReader.learn_timed,
    "session.model_change": CopilotEventReader.learn_timed,
    "session.usage_record": CopilotEventReader.learn_timed,
    "session.shutdown": CopilotEventReader.learn_timed,
    "system.message": CopilotEventReader.learn_prompt,
    "permission.completed": CopilotEventReader.learn_permission,
}


def _take_reasoning(data: JsonObject) -> list[JsonObject]:
    """Move the reasoning of a message into an entry, and return it in a list."""
    text = data.get("reasoningText")
    encrypted = next((name for name in REASONING_MEMBERS if get_text(data.get(name))), None)
    if not get_text(text) and encrypted is None:
        return []
    child: JsonObject = {"type": "reasoning", "content": ""}
    if get_text(text):
        child["content"] = data.pop("reasoningText")
    if encrypted is not None:
        child["encrypted"] = data.pop(encrypted)
        if encrypted != REASONING_MEMBERS[0]:
            child["vacr"] = {"encrypted-from": encrypted}
    return [child]


def _add_unstarted_calls(message: JsonObject, started: set[str]) -> None:
    """Add the calls that a message asks for and that never started, as its children."""
    requests = message["data"].get("toolRequests")
    for request in requests if type(requests) is list else ():
        call_id = request.get("toolCallId") if type(request) is dict else None
        if type(call_id) is not str or call_id in started or type(request.get("name")) is not str:
            continue
        call = {
            "type": "tool-call",
            "call-id": call_id,
            "name": request["name"],
            "input": parse_json_text(request.get("arguments")),
            "vacr": {"from": "toolRequests"},
        }
        message.setdefault("children", []).append(call)


def read_event_log(
    source: Source, format_id: str, agent: str, provider: str = UNKNOWN
) -> Iterator[Reading]:
    """Yield the record of one event log, without labels."""
    yield CopilotEventReader(format_id, agent, provider).read(source)
