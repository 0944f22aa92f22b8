"""Continue's sessions: one JSON value each, from the editor extension and from the command line.

An item of the history is a message with what belongs to it: context, calls, the log of the prompt.
Calls and their results stand in `toolCallStates` of the message that asked for them. Each becomes a
call and a result, as children; the message's own list of calls stays where it is.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.continue_dev.reader import read
>>> data = b'''{"sessionId": "s-1", "workspaceDirectory": "/w", "history": [
... {"message": {"role": "user", "content": "Hello"}, "contextItems": []}]}'''
>>> (reading,) = read(Source((SourcePart("s-1.json", data),)))
>>> reading.record["session"]["environment"], reading.record["session"]["entries"][0]["content"]
({'working-dir': '/w'}, 'Hello')

The messages have no times. The list of all sessions, `sessions.json`, has one for each session; it
can be recorded, too, and each of its sessions is an event.

docs/mapping/continue.md is generated from the tables. They hold the names seen in versions up to
1.5. A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source
from vacr.agents.documents import parse_json_text
from vacr.agents.json_sessions import JsonSession, read_json_sessions
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
    keep_native_members,
    parse_names,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject
from vacr.record import build_child_entries

name = "continue"
formats = ("continue-json", "continue-index")
SESSION_FORMAT, INDEX_FORMAT = formats

# The name of a session is a UUID; the list of all sessions lies in the same folder.
STORES = (SessionStore(("sessions/*-*.json",), "~/.continue", "CONTINUE_GLOBAL_DIR"),)

# --- Known members ---

CONTINUE_SESSION_MEMBERS = parse_names(
    "chatModelTitle history mode sessionId title usage workspaceDirectory"
)
CONTINUE_ITEM_MEMBERS = parse_names(
    """
    appliedDiff contextItems conversationSummary editorState isGatheringContext message
    modifiers promptLogs reasoning toolCallState toolCallStates
    """
)
CONTINUE_MESSAGE_MEMBERS = parse_names(
    """
    content id metadata reasoning_content reasoning_details redactedThinking role signature
    toolCallId toolCalls usage
    """
)
CONTINUE_STATE_MEMBERS = parse_names("mcpUiState parsedArgs processedArgs tool toolCall toolCallId")
"""The members of a call, without the ones that its result takes."""

# --- Moves ---

CONTINUE_ITEM_SHAPE = NativeShape(CONTINUE_ITEM_MEMBERS)
CONTINUE_MESSAGE_MOVES = Lift(Move("content", "content", None), Move("id", "id"))
CONTINUE_RESULT_MOVES = Lift(
    Move("content", "output", None), Move("id", "id"), Move("toolCallId", "call-id")
)
CONTINUE_CALL_SHAPE = NativeShape(
    CONTINUE_STATE_MEMBERS, Move("toolCallId", "call-id"), Move("parsedArgs", "input", None)
)
CONTINUE_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "thinking": "reasoning",
    "tool": "tool-result",
}
"""The role of a message → the type of its entry; other roles are events."""
CONTINUE_SINGLE_STATE = "toolCallState"
CONTINUE_STATE_LISTS = ("toolCallStates", CONTINUE_SINGLE_STATE)
"""The members with the calls of a message; earlier versions had one call."""
CONTINUE_USAGE_SUMS = UsageSums(("input", ("prompt_tokens",)), ("output", ("completion_tokens",)))
CONTINUE_CACHE_COUNTERS = ("cache_read_tokens", "cache_write_tokens")
"""Where a provider counts these, `prompt_tokens` leaves them out."""
_FILE_SCHEME = "file://"


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Continue's; 0 if it is empty."""
    if not sample:
        return 0.0
    return sum(map(_is_own_value, sample)) / len(sample)


def _is_own_value(value: Any) -> bool:
    """Return whether a value is a session or the list of all sessions."""
    if type(value) is dict:
        return {"sessionId", "history", "workspaceDirectory"} <= value.keys()
    return is_index(value)


def describe_unread_form(sample: Sequence[Any]) -> str:
    """Return what a session of 2023 is, for an error message; empty for anything else."""
    history = dict_or_empty(dict_or_empty(sample[0] if sample else None).get("history"))
    steps = history.get("timeline")
    is_timeline = type(steps) is list and all(type(step) is dict for step in steps)
    return "a session of Continue from 2023 (history.timeline)" if is_timeline else ""


def is_index(value: Any) -> bool:
    """Return whether a value is the list of all sessions."""
    return (
        type(value) is list
        and bool(value)
        and all(
            type(item) is dict and {"sessionId", "dateCreated", "title"} <= item.keys()
            for item in value
        )
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each session in a file, or of the list of all sessions."""

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Return the reader for one value of the file."""
        if not header and is_index(messages):
            return _Index(SessionBuilder(INDEX_FORMAT, name))
        return _Session(SessionBuilder(SESSION_FORMAT, name))

    return read_json_sessions(source, begin, "history", is_index)


class _Index(JsonSession):
    """The list of all sessions."""

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a listed session into an event."""
        return {"type": "system-event", "event-type": "listed-session", "data": message}


class _Session(JsonSession):
    """A session with its history."""

    def learn_header(self, header: JsonObject) -> None:
        """Learn about the session from the members around the history."""
        session = self.session
        session.drift.count_members("session", header, CONTINUE_SESSION_MEMBERS)
        if header.get("sessionId") and type(header["sessionId"]) is str:
            session.session_id = header.pop("sessionId")
        folder = header.get("workspaceDirectory")
        if type(folder) is str and folder:
            session.working_dir = folder.removeprefix(_FILE_SCHEME)

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn an item of the history into an entry of the type that its role names."""
        inner = message.get("message")
        role = inner.get("role") if type(inner) is dict else None
        kind = CONTINUE_ROLES.get(role) if type(role) is str else None
        if type(inner) is not dict or kind is None or _lacks_content(inner, kind):
            self.session.drift.count_type(role)
            return {"type": "system-event", "event-type": "item", "data": message}
        if role == kind:
            del inner["role"]
        drift = self.session.drift
        drift.count_members("message", inner, CONTINUE_MESSAGE_MEMBERS)
        children = self.take_calls(message) if kind == "assistant" else []
        entry = CONTINUE_ITEM_SHAPE.make_entry(kind, message, drift, "item")
        moves = CONTINUE_RESULT_MOVES if kind == "tool-result" else CONTINUE_MESSAGE_MOVES
        moves.apply(inner, entry)
        if kind == "tool-result":
            entry.setdefault("output", None)
        elif kind == "assistant":
            self.learn_model(inner, entry)
        drop_nulls(inner)
        if not inner:
            del entry["message"]
        self.add_children(entry, children)
        return entry

    def add_children(self, entry: JsonObject, calls: list[JsonObject]) -> None:
        """Add the views of the content, the reasoning, and the calls of a message."""
        drift = self.session.drift
        content = entry.get("content")
        children = build_child_entries(content, drift.types, drift.members)
        if content is None:
            entry.pop("content", None)
        reasoning = entry.get("reasoning")
        if (
            entry["type"] == "assistant"
            and type(reasoning) is dict
            and type(reasoning.get("text")) is str
        ):
            del entry["reasoning"]
            thought = {"type": "reasoning", "content": reasoning.pop("text")}
            if is_count(reasoning.get("startAt")):
                thought["timestamp"] = reasoning.pop("startAt")
            if reasoning:
                keep_native_members(thought, reasoning)
            children.append(thought)
        children += calls
        if children:
            entry["children"] = children

    def learn_model(self, message: JsonObject, entry: JsonObject) -> None:
        """Add the model and the tokens of an answer to its entry."""
        session, usage = self.session, message.get("usage")
        model = usage.get("model") if type(usage) is dict else None
        if type(usage) is dict:
            counts = build_usage(usage)
            if counts:
                entry["token-usage"] = counts
        logs = entry.get("promptLogs")
        log = logs[-1] if type(logs) is list and logs else None
        if type(log) is dict:
            options = log.get("completionOptions")
            if type(model) is not str and type(options) is dict:
                model = options.get("model")
            provider = log.get("modelProvider")
            if session.provider == UNKNOWN and type(provider) is str:
                session.provider = provider
        if type(model) is str and model:
            entry["model-id"] = model
            session.models[model] += 1

    def take_calls(self, item: JsonObject) -> list[JsonObject]:
        """Take the calls and their results out of an item, and return them as entries.

        If the item has no states of calls, return entries of the calls in its message, which stay
        there. Lists of anything else stay, too.
        """
        for member in CONTINUE_STATE_LISTS:
            states = item.get(member)
            if member == CONTINUE_SINGLE_STATE:
                states = [states]
            if type(states) is list and states and all(map(_is_state, states)):
                del item[member]
                entries: list[JsonObject] = []
                for state in states:
                    self.add_call_entries(state, member, entries)
                return entries
        calls = item["message"].get("toolCalls")
        if type(calls) is not list:
            return []
        return [_view_call(call) for call in calls if _is_call(call)]

    def add_call_entries(self, state: JsonObject, member: str, entries: list[JsonObject]) -> None:
        """Add the entries of a call: the call, and its result if it has one.

        `member` is the native list that the state comes from.
        """
        function = state["toolCall"]["function"]
        result: JsonObject | None = None
        ended: JsonObject = {}
        output = state.pop("output", None)
        if output is not None:
            result = {"type": "tool-result", "output": output}
            if type(state.get("status")) is str:
                result["status"] = state.pop("status")
        elif "status" in state:
            ended = {"status": state.pop("status")}
        is_parsed = state.get("parsedArgs") is not None
        entry = CONTINUE_CALL_SHAPE.make_entry("tool-call", state, self.session.drift, "state")
        entry["name"] = function.pop("name")
        if not is_parsed:
            entry["input"] = parse_json_text(function.get("arguments"))
            get_writable_marks(entry)["input-from"] = "arguments"
        if member != CONTINUE_STATE_LISTS[0]:
            get_writable_marks(entry)["from"] = member
        if ended.get("status") is not None:
            keep_native_members(entry, ended)
        entries.append(entry)
        if result is not None:
            if "call-id" in entry:
                result["call-id"] = entry["call-id"]
            entries.append(result)

    def settle(self, source: Source) -> None:
        """Mark the messages that repeat a result, and note the entries inside messages."""
        del source
        entries = self.session.entries
        children = [child for entry in entries for child in entry.get("children", ())]
        self.session.embedded += [child for child in children if "timestamp" in child]
        answered = {
            child.get("call-id") for child in children if child["type"] == "tool-result"
        } - {None}
        for entry in entries:
            if entry["type"] == "tool-result" and entry.get("call-id") in answered:
                get_writable_marks(entry)["repeats"] = entry["call-id"]


def _lacks_content(message: JsonObject, kind: str) -> bool:
    """Return whether a message is reasoning without a content, which no entry may lack."""
    return kind == "reasoning" and message.get("content") is None


def build_usage(usage: JsonObject) -> JsonObject:
    """Return the canonical counters of an answer."""
    counts = CONTINUE_USAGE_SUMS.compute(usage)
    details = usage.get("prompt_tokens_details")
    if type(details) is not dict:
        return counts
    if is_count(details.get("cached_tokens")):
        counts["cached"] = details["cached_tokens"]
    if "input" in counts:
        counts["input"] += sum(
            details[counter]
            for counter in CONTINUE_CACHE_COUNTERS
            if is_count(details.get(counter))
        )
        if not is_count(counts["input"]):
            del counts["input"]
    return counts


def _is_state(state: Any) -> bool:
    """Return whether a value is the state of a call with a name."""
    return type(state) is dict and _is_call(state.get("toolCall"))


def _is_call(call: Any) -> bool:
    """Return whether a value is a call with a name."""
    function = call.get("function") if type(call) is dict else None
    return type(function) is dict and type(function.get("name")) is str


def _view_call(call: JsonObject) -> JsonObject:
    """Return the entry of a call that stays in its message."""
    function = call["function"]
    entry = {
        "type": "tool-call",
        "name": function["name"],
        "input": parse_json_text(function.get("arguments")),
        "vacr": {"from": "toolCalls"},
    }
    if type(call.get("id")) is str:
        entry["call-id"] = call["id"]
    return entry
