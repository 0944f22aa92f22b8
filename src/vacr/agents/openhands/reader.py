"""OpenHands: the events of a conversation, in the forms of both generations.

Since version 1, a conversation is a folder: `base_state.json`, and a file for each event. The same
events are also passed on as lines. Earlier versions keep events with an `action` or an
`observation`: as a list, or as the `history` of a task in the output of a benchmark.

An action becomes a message of the assistant with a call, an observation the result of a call. The
times of events are local times without a zone. They stay in `vacr.native`.

>>> import json
>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.openhands.reader import read
>>> action = {"id": "e1", "kind": "ActionEvent", "source": "agent", "tool_name": "terminal"}
>>> action |= {"tool_call_id": "c1", "action": {"command": "ls", "kind": "TerminalAction"}}
>>> seen = {"id": "e2", "kind": "ObservationEvent", "source": "environment"}
>>> seen |= {"tool_call_id": "c1", "tool_name": "terminal", "observation": {"content": "a.py"}}
>>> lines = "".join(json.dumps(event) + chr(10) for event in (action, seen))
>>> [reading] = read(Source((SourcePart("events.jsonl", lines.encode()),)))
>>> action, seen = reading.record["session"]["entries"]
>>> action["children"][0]["input"], seen["type"], seen["output"], seen["call-id"]
({'command': 'ls', 'kind': 'TerminalAction'}, 'tool-result', 'a.py', 'c1')
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import FileLister, RepairedValue, UndecodableBytes, parse_json_text
from vacr.agents.json_sessions import JsonSession, derive_session_id, read_json_sessions
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    is_number,
    is_one_of,
    make_typed_event,
    parse_names,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject
from vacr.record import build_child_entries, canonicalize_number, is_timestamp

name = "openhands"
OPENHANDS_EVENTS_FORMAT, OPENHANDS_HISTORY_FORMAT = "openhands-events", "openhands-history"
formats = (OPENHANDS_EVENTS_FORMAT, OPENHANDS_HISTORY_FORMAT)
STORES = (SessionStore(("conversations/*",), "~/.openhands", "OPENHANDS_PERSISTENCE_DIR"),)
BASE_STATE_FILE = "base_state.json"
CONVERSATION_ID = "conversation"
"""The name of the only session in a folder; the record has the id of the conversation."""

OPENHANDS_RESULT_KINDS = {
    "ObservationEvent": "observation",
    "UserRejectObservation": "rejection_reason",
    "AgentErrorEvent": "error",
}
"""Kind of an event that answers a call → the member that holds the output."""
OPENHANDS_EVENT_KINDS = parse_names(
    """
    ACPToolCallEvent Condensation CondensationRequest CondensationSummaryEvent
    ConversationErrorEvent ConversationStateUpdateEvent HookExecutionEvent InterruptEvent
    LLMCompletionLogEvent PauseEvent StreamingDeltaEvent SystemPromptEvent TokenEvent
    """
)
OPENHANDS_RESERVED_EVENT_TYPES = parse_names("attached-file base-state undecodable unknown")
OPENHANDS_USAGE_EVENT = "model-usage"
"""The type of the events that count the tokens of a model."""
USAGE_FROM_TOTAL = "total"
_COST_DIGITS = 12
OPENHANDS_USAGE_SUMS = UsageSums(
    ("input", ("prompt_tokens",)),
    ("output", ("completion_tokens",)),
    ("cached", ("cache_read_tokens",)),
    ("reasoning", ("reasoning_tokens",)),
)
OPENHANDS_ACTION_MEMBERS = parse_names(
    "action action_risk cause id is_confirmed llm_metrics message source thought timestamp "
    "tool_call_metadata"
)
"""Members of an early action that are not its arguments."""
_SOURCES = ("user", "agent", "environment", "hook")


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is OpenHands'; 0 if it is empty."""
    return sum(map(_is_openhands_value, sample)) / len(sample) if sample else 0.0


def _is_openhands_value(value: Any) -> bool:
    """Return whether a value is an event, a list of events, or a task with a history of events."""
    if type(value) is dict and type(value.get("history")) is list and "instruction" in value:
        return _is_event_list(value["history"])
    return _is_event_list(value) if type(value) is list else is_event(value)


def _is_event_list(values: list[Any]) -> bool:
    """Return whether a list begins with an event."""
    return bool(values) and is_event(values[0])


def is_event(value: Any) -> bool:
    """Return whether a value is an event of either generation."""
    if type(value) is not dict:
        return False
    kind, source = value.get("kind"), value.get("source")
    if type(kind) is str and source in _SOURCES:
        return (
            kind in OPENHANDS_EVENT_KINDS
            or kind in OPENHANDS_RESULT_KINDS
            or kind in ("ActionEvent", "MessageEvent")
        )
    if type(value.get("action")) is str:
        return source in _SOURCES or "wait_for_response" in value or "is_confirmed" in value
    return type(value.get("observation")) is str and (source in _SOURCES or "content" in value)


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each conversation in a source."""
    values = source.main.sample(1)
    if (
        FOLDER.holds(source)
        or not values
        or (type(values[0]) is dict and "history" not in values[0])
    ):
        with pause_garbage_collector():
            reading = _read_events(source)
        yield reading
        return

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Begin the record of a task or of a list of events."""
        session = _History(SessionBuilder(OPENHANDS_HISTORY_FORMAT, name))
        if messages:
            # A file has many tasks; the first events of a task stay the same while it goes on.
            first = [header.get("instruction"), header.get("instance_id"), messages[:3]]
            session.session.session_id = derive_session_id(first)
        if header:
            # A benchmark runs without a person.
            session.session.mode = "autonomous"
        return session

    yield from read_json_sessions(source, begin, "history", _is_event_list)


def _read_events(source: Source) -> Reading:
    """Return the record of the events in the lines of a file, or in the files of a folder."""
    session = SessionBuilder(OPENHANDS_EVENTS_FORMAT, name)
    events = EventReader(session)
    states: list[tuple[JsonObject, Any]] = []
    is_folder = FOLDER.holds(source)
    for part in source.parts if is_folder else source.parts[:1]:
        for line, batch in part.documents():
            for document in batch:
                value = document
                if type(document) is RepairedValue:
                    session.repaired.append(document.reason)
                    value = document.value
                if type(value) is not dict:
                    where = part.name if is_folder and type(value) is UndecodableBytes else ""
                    session.entries.append(session.make_unusual_event(line, value, where))
                elif is_folder and part.name == BASE_STATE_FILE:
                    session.entries.append(events.make_state_event(value))
                    states.append((session.entries[-1], value.get("stats")))
                else:
                    session.entries.append(events.make_entry(value))
    # The state has the totals of the whole conversation, so that it counts last.
    for entry, stats in states:
        events.count_tokens(entry, stats)
    session.tidy()
    return session.reading(source, attached=not is_folder)


class _History(JsonSession):
    """The record of a list of events."""

    list_member = "history"

    def __init__(self, session: SessionBuilder) -> None:
        """Start without events."""
        super().__init__(session)
        self.events = EventReader(session)

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn an event into an entry."""
        return self.events.make_entry(message)


class EventReader:
    """The events of one conversation on their way into entries."""

    def __init__(self, session: SessionBuilder) -> None:
        """Start before the first event."""
        self.session = session
        self.calls = 0
        self.waiting: list[str] = []
        """The ids of early actions that have no observation yet."""
        self.counted: dict[str, JsonObject] = {}
        """Use of a model → the totals that were counted so far."""

    def make_entry(self, event: JsonObject) -> JsonObject:
        """Turn an event of either generation into an entry."""
        kind = event.get("kind")
        if type(kind) is not str and type(event.get("action")) is str:
            entry = self.make_early_action(event)
        elif type(kind) is not str and type(event.get("observation")) is str:
            entry = self.make_early_observation(event)
        elif kind == "MessageEvent" and type(event.get("llm_message")) is dict:
            entry = self.make_message(event)
        elif kind == "ActionEvent" and type(event.get("tool_name")) is str:
            entry = self.make_action(event)
        elif is_one_of(kind, OPENHANDS_RESULT_KINDS) and (
            event.get(OPENHANDS_RESULT_KINDS[kind]) is not None
        ):
            entry = self.make_result(event, OPENHANDS_RESULT_KINDS[kind])
        else:
            return self.make_event(event)
        if type(event.get("id")) is str:
            entry["id"] = event.pop("id")
        if type(event.get("parent_id")) is str:
            entry["parent-id"] = event.pop("parent_id")
        stamp = event.get("timestamp")
        if type(stamp) is str and is_timestamp(stamp):
            entry["timestamp"] = event.pop("timestamp")
        return add_remaining_members(entry, event)

    def make_event(self, event: JsonObject) -> JsonObject:
        """Make the event that keeps a native one without a part in the talk."""
        kind = event.get("kind")
        if type(kind) is not str or kind not in OPENHANDS_EVENT_KINDS:
            self.session.drift.count_type(kind)
        stats = event.get("value") if event.get("key") == "stats" else None
        event.pop("kind", None)
        entry = make_typed_event(event, kind, OPENHANDS_RESERVED_EVENT_TYPES)
        self.count_tokens(entry, stats)
        return entry

    def count_tokens(self, entry: JsonObject, stats: Any) -> None:
        """Count the tokens of statistics in their event, and learn the models.

        The statistics are totals so far, for each use of a model. The event gets their sum, and a
        child for each use with the tokens that were not counted yet.
        """
        uses = dict_or_empty(stats).get("usage_to_metrics")
        if not uses or type(uses) is not dict:
            return
        totals: JsonObject = {}
        children: list[JsonObject] = []
        for use, value in uses.items():
            metric = dict_or_empty(value)
            model = metric.get("model_name")
            tokens = metric.get("accumulated_token_usage")
            usage = OPENHANDS_USAGE_SUMS.compute(tokens) if type(tokens) is dict else {}
            for counter, count in usage.items():
                totals[counter] = totals.get(counter, 0) + count
            if type(model) is str and any(usage.values()):
                self.session.models[model] += 1
            if growth := self.count_growth(use, usage, metric.get("accumulated_cost")):
                child: JsonObject = {"type": "system-event", "event-type": OPENHANDS_USAGE_EVENT}
                if type(model) is str:
                    child["model-id"] = model
                child["token-usage"] = growth
                child["vacr"] = {"usage-from": USAGE_FROM_TOTAL}
                children.append(child)
        if totals:
            get_writable_marks(entry)["usage"] = totals
        if children:
            entry["children"] = children

    def count_growth(self, use: str, usage: JsonObject, cost: Any) -> JsonObject:
        """Return the growth of the counters of a use since its last statistics, if any grew."""
        if is_number(cost) and 0 < cost < math.inf:
            usage = {**usage, "cost": cost}
        counted = self.counted.setdefault(use, {})
        growth = {}
        for counter, total in usage.items():
            grown = total - counted.get(counter, 0)
            if counter == "cost":
                if grown >= 0:
                    growth[counter] = canonicalize_number(round(grown, _COST_DIGITS))
            else:
                growth[counter] = max(0, grown)
        counted.update(usage)
        return growth if any(growth.values()) else {}

    def make_state_event(self, state: JsonObject) -> JsonObject:
        """Make the event of the state of a conversation, and learn about the session."""
        session = self.session
        if type(state.get("id")) is str and state["id"]:
            session.session_id = state["id"]
        model = dict_or_empty(dict_or_empty(state.get("agent")).get("llm")).get("model")
        if type(model) is str and model:
            session.models[model] += 1
        folder = dict_or_empty(state.get("workspace")).get("working_dir")
        if type(folder) is str and folder:
            session.working_dir = folder
        return {"type": "system-event", "event-type": "base-state", "data": state}

    def make_message(self, event: JsonObject) -> JsonObject:
        """Turn a message into an entry."""
        message = event["llm_message"]
        role = "assistant" if event.get("source") == "agent" else "user"
        entry: JsonObject = {"type": role}
        if message.get("content") is not None:
            entry["content"] = message.pop("content")
            if views := build_child_entries(entry["content"]):
                entry["children"] = views
        if not message:
            del event["llm_message"]
        return entry

    def make_action(self, event: JsonObject) -> JsonObject:
        """Turn an action into a message with its call."""
        entry: JsonObject = {"type": "assistant"}
        children: list[JsonObject] = []
        if type(event.get("thought")) is list:
            entry["content"] = event.pop("thought")
            children += build_child_entries(entry["content"])
        if event.get("reasoning_content") and type(event["reasoning_content"]) is str:
            children.append({"type": "reasoning", "content": event.pop("reasoning_content")})
        call: JsonObject = {"type": "tool-call", "name": event.pop("tool_name")}
        if type(event.get("tool_call_id")) is str:
            call["call-id"] = event.pop("tool_call_id")
        if event.get("action") is not None:
            call["input"] = event.pop("action")
        else:
            # The action was not valid, so that only the model's own words are left.
            spelled = dict_or_empty(event.get("tool_call")).get("arguments")
            call["input"] = parse_json_text(spelled)
            get_writable_marks(call)["from"] = "tool_call"
        entry["children"] = [*children, call]
        return entry

    def make_result(self, event: JsonObject, member: str) -> JsonObject:
        """Turn an observation, a refusal or an error into the result of a call."""
        entry: JsonObject = {"type": "tool-result"}
        observation = event[member]
        if type(observation) is dict and observation.get("content") is not None:
            entry["output"] = observation.pop("content")
            get_writable_marks(entry)["from"] = "content"
        else:
            entry["output"] = event.pop(member)
        if type(event.get("tool_call_id")) is str:
            entry["call-id"] = event.pop("tool_call_id")
        if type(event.get("tool_name")) is str:
            entry["name"] = event.pop("tool_name")
        return entry

    # --- early events ---

    def make_early_action(self, event: JsonObject) -> JsonObject:
        """Turn an early action into a message, or into a message with its call."""
        action = event["action"]
        arguments = event.get("args")
        holder = arguments if type(arguments) is dict else event
        if action == "message" and holder.get("content") is not None:
            is_agents = event.get("source") == "agent" or ("source" not in event and self.calls > 0)
            entry: JsonObject = {"type": "assistant" if is_agents else "user"}
            entry["content"] = holder.pop("content")
            if views := build_child_entries(entry["content"]):
                entry["children"] = views
            if holder is arguments:
                get_writable_marks(entry)["from"] = "args"
            return entry
        entry = {"type": "assistant"}
        if type(holder.get("thought")) is str:
            entry["content"] = holder.pop("thought")
        self.calls += 1
        identity = event.get("id")
        call_id = f"event-{identity}" if type(identity) is int else f"action-{self.calls}"
        self.waiting.append(call_id)
        call: JsonObject = {"type": "tool-call", "name": event.pop("action"), "call-id": call_id}
        if holder is event:
            names = [name for name in event if name not in OPENHANDS_ACTION_MEMBERS]
            call["input"] = {name: event.pop(name) for name in names}
            call["vacr"] = {"from": "event"}
        else:
            call["input"] = event.pop("args")
        entry["children"] = [call]
        return entry

    def make_early_observation(self, event: JsonObject) -> JsonObject:
        """Turn an early observation into the result of the action that it names or follows.

        An observation of no action becomes an event.
        """
        cause = event.get("cause")
        call_id = f"event-{cause}" if type(cause) is int else ""
        if not call_id and "cause" not in event and self.waiting:
            call_id = self.waiting[-1]
        if call_id not in self.waiting or event.get("content") is None:
            entry: JsonObject = {"type": "system-event", "event-type": event.pop("observation")}
            get_writable_marks(entry)["early"] = True
            return entry
        self.waiting.remove(call_id)
        entry = {"type": "tool-result", "call-id": call_id, "output": event.pop("content")}
        entry["name"] = event.pop("observation")
        return entry


# --- The folder of a conversation ---

_EVENT_FILE = re.compile(r"events/event-(\d{5,})-[0-9a-fA-F-]{8,}\.json\Z")


class _ConversationFolder:
    """The folder of one conversation: its state, and a file for each event."""

    marks = frozenset(("events", "base_state.json"))
    """Never both folders: the signs alone show a conversation."""
    signs = ("events/event-*.json",)
    pieces = frozenset(("events",))

    def holds(self, source: Source) -> bool:
        """Return whether a source was made of such a folder."""
        return source.main.name == BASE_STATE_FILE or bool(_EVENT_FILE.match(source.main.name))

    def sessions(self, files: FileLister) -> list[str]:
        """Return the name of the only session, in a list; an empty list without events."""
        return [CONVERSATION_ID] if files("events/*.json") else []

    def glimpse(self, files: FileLister, session_id: str) -> list[str]:
        """Return the state and the first few events of the conversation."""
        return self.parts(files, session_id)[:5]

    def parts(self, files: FileLister, session_id: str) -> list[str]:
        """Return the state and the events in their order, for the only session."""
        if session_id != CONVERSATION_ID:
            return []
        events = [path for path in files("events/*.json") if _EVENT_FILE.match(path)]
        return files(BASE_STATE_FILE) + sorted(events, key=_get_event_number)


def _get_event_number(path: str) -> tuple[int, str]:
    """Return the number in the name of an event's file, and the name."""
    match = _EVENT_FILE.match(path)
    return (int(match[1]) if match else 0, path)


FOLDER = _ConversationFolder()
