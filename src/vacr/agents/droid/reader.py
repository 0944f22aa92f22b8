"""Factory's Droid: session files, and the stream that `droid exec -o stream-json` prints.

A session file has a line for each message, with Anthropic's blocks. Model and tokens are only in
the settings next to it (`ID.settings.json`). They are the tokens of the whole session, so they
count at the last answer, marked `vacr.usage-of: "session"`.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.droid.reader import read
>>> data = b'''{"type": "session_start", "id": "d-1", "title": "Hello", "version": 2, "cwd": "/w"}
... {"type": "message", "id": "m-1", "message": {"role": "user", "content": "Hello"}}
... '''
>>> (reading,) = read(Source((SourcePart("d-1.jsonl", data),)))
>>> session = reading.record["session"]
>>> session["session-id"], [entry["type"] for entry in session["entries"]]
('d-1', ['system-event', 'user'])

docs/mapping/droid.md is generated from the tables. They hold the names seen in versions up to 0.81.
A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.anthropic_blocks import BLOCK_ROLES, add_block_views, list_block_texts
from vacr.agents.documents import parse_json_documents
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    NativeShape,
    Reading,
    SessionBuilder,
    UsageSums,
    add_session_usage,
    drop_nulls,
    keep_native_members,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject

name = "droid"
formats = ("droid-jsonl", "droid-stream")
SESSION_FORMAT, STREAM_FORMAT = formats
STORES = (SessionStore(("sessions/*.jsonl", "sessions/*/*.jsonl"), "~/.factory"),)
ATTACHED = ("{stem}.settings.json",)

# --- Known members ---

DROID_MESSAGE_LINE_MEMBERS = parse_names("compactionSummaryId id message parentId timestamp tokens")
DROID_MESSAGE_MEMBERS = parse_names(
    """
    apiProvider chatCompletionReasoningContent chatCompletionReasoningField content
    geminiThoughtSignature hiddenFromUserViews hookCommands hookEventName hookMatcher hookOrder
    hookParentId hookPreventedAction hookResults hookStatus hookToolCallId interactionMode isError
    isUserVisible modelId openaiEncryptedContent openaiMessageId openaiPhase openaiReasoningId
    openaiReasoningSummary reasoningEffort role routerId userMessageSource visibility
    """
)
DROID_EVENT_TYPES = parse_names(
    "agent_turn_outcome compaction_state session_end session_start todo_state"
)
DROID_STREAM_MEMBERS = parse_names(
    """
    id isError messageId parameters role sessionId session_id text timestamp toolCallId toolId
    toolName value
    """
)
DROID_STREAM_EVENT_TYPES = parse_names("completion error system")

# --- Moves ---

DROID_LINE_SHAPE = NativeShape(
    DROID_MESSAGE_LINE_MEMBERS,
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("parentId", "parent-id"),
)
DROID_CONTENT_MOVES = Lift(Move("content", "content", None), Move("modelId", "model-id"))
DROID_EVENT_MOVES = Lift(Move("id", "id"), Move("timestamp", "timestamp", None))
DROID_STREAM_MESSAGE_SHAPE = NativeShape(
    DROID_STREAM_MEMBERS,
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("text", "content"),
)
DROID_STREAM_CALL_SHAPE = NativeShape(
    DROID_STREAM_MEMBERS,
    Move("timestamp", "timestamp", None),
    Move("toolName", "name"),
    Move("parameters", "input", None),
    Move("id", "id"),
    Move("toolCallId", "call-id"),
)
DROID_STREAM_RESULT_SHAPE = NativeShape(
    DROID_STREAM_MEMBERS,
    Move("timestamp", "timestamp", None),
    Move("value", "output", None),
    Move("id", "id"),
    Move("toolCallId", "call-id"),
)
DROID_USAGE_SUMS = UsageSums(
    ("input", ("inputTokens", "cacheCreationTokens", "cacheReadTokens")),
    ("cached", ("cacheReadTokens",)),
    ("output", ("outputTokens",)),
    ("reasoning", ("thinkingTokens",)),
)
DROID_STREAM_USAGE_SUMS = UsageSums(
    ("input", ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")),
    ("cached", ("cache_read_input_tokens",)),
    ("output", ("output_tokens",)),
)
_STREAM_LINE_MEMBERS = {
    "message": {"role", "text"},
    "tool_call": {"toolName", "parameters"},
    "tool_result": {"value"},
    "completion": {"finalText"},
}
_MESSAGE_TYPE = {"type": "message"}
_RESERVED_EVENT_TYPES = parse_names("attached-file undecodable unknown")
_MODEL_HINT = re.compile(r"^Model: ([^\n]{1,100})$", re.MULTILINE)
_BRANCH_HINT = re.compile(r"^% git rev-parse --abbrev-ref HEAD\n([^\s]{1,200})$", re.MULTILINE)
_HINT_START = "<system-reminder>"
_MODEL_START, _BRANCH_START = "\nModel: ", "\n% git rev-parse "


# --- Recognition ---


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Droid's; 0 if it is empty.

    The lines of a session count only with its first line, because others have the same form. The
    first line of a stream counts only with others.
    """
    if any(map(_is_session_start, sample)):
        return sum(map(_is_session_line, sample)) / len(sample)
    if any(map(_is_stream_line, sample)):
        count = sum(_is_stream_line(value) or _is_stream_event(value) for value in sample)
        return count / len(sample)
    return 0.0


def _is_session_start(value: Any) -> bool:
    """Return whether a value is the first line of a session."""
    return (
        type(value) is dict
        and value.get("type") == "session_start"
        and {"id", "title", "cwd"} <= value.keys()
    )


def _is_session_line(value: Any) -> bool:
    """Return whether a value has the form of a line of a session."""
    if type(value) is not dict:
        return False
    kind = value.get("type")
    if kind == "message":
        return type(value.get("message")) is dict and "id" in value
    return type(kind) is str and kind in DROID_EVENT_TYPES


def _is_stream_line(value: Any) -> bool:
    """Return whether a value is a message, a call or a result of a stream."""
    if type(value) is not dict or not ("session_id" in value or "sessionId" in value):
        return False
    kind = value.get("type")
    members = _STREAM_LINE_MEMBERS.get(kind) if type(kind) is str else None
    return members is not None and members <= value.keys()


def _is_stream_event(value: Any) -> bool:
    """Return whether a value is an event of a stream."""
    kind = value.get("type") if type(value) is dict else None
    return type(kind) is str and kind in DROID_STREAM_EVENT_TYPES


# --- Sessions ---


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of one session or stream."""
    with pause_garbage_collector():
        is_stream = any(map(_is_stream_line, source.main.sample(4)))
        reader = _StreamReader() if is_stream else _SessionReader()
        reading = reader.read(source)
    yield reading


class _SessionReader:
    """One session on its way into a record."""

    format_id = SESSION_FORMAT

    def __init__(self) -> None:
        """Start without lines."""
        self.session = SessionBuilder(self.format_id, name)
        self.model_hint: str | None = None

    def read(self, source: Source) -> Reading:
        """Return the record of a source."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle(source)
        session.tidy()
        return session.reading(source)

    def settle(self, source: Source) -> None:
        """Learn model and tokens from the settings next to the session, or from a reminder."""
        for part in source.parts[1:]:
            for _, batch in parse_json_documents(part.data):
                for value in batch:
                    if type(value) is dict:
                        self.learn_settings(value)
        if self.model_hint is not None and not self.session.models:
            self.session.models[self.model_hint] += 1

    def learn_settings(self, settings: JsonObject) -> None:
        """Learn the model, and the tokens of the whole session, from the settings."""
        if type(settings.get("model")) is str and settings["model"]:
            self.session.models[settings["model"]] += 1
        if type(settings.get("tokenUsage")) is dict:
            usage = DROID_USAGE_SUMS.compute(settings["tokenUsage"])
            add_session_usage(self.session.entries, usage)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        kind = line.pop("type", None)
        message = line.get("message")
        role = message.get("role") if type(message) is dict else None
        if kind == "message" and type(role) is str and role in BLOCK_ROLES:
            return self.make_message_entry(line, message, role)
        if type(kind) is not str or kind not in DROID_EVENT_TYPES:
            self.session.drift.count_type(kind)
        elif kind == "session_start":
            self.learn_session(line)
        return make_typed_event(line, kind, _RESERVED_EVENT_TYPES, DROID_EVENT_MOVES)

    def make_message_entry(self, line: JsonObject, message: Any, role: str) -> JsonObject:
        """Turn a line with a message into a message."""
        drift = self.session.drift
        drift.count_members("message", message, DROID_MESSAGE_MEMBERS)
        entry = DROID_LINE_SHAPE.make_entry(role, line, drift, "line")
        keep_native_members(entry, _MESSAGE_TYPE)
        del message["role"]
        DROID_CONTENT_MOVES.apply(message, entry)
        drop_nulls(message)
        if not message:
            del entry["message"]
        add_block_views(entry, self.session)
        if role == "user" and self.model_hint is None:
            self.learn_hints(entry)
        if "model-id" in entry:
            self.session.models[entry["model-id"]] += 1
        return entry

    def learn_session(self, line: JsonObject) -> None:
        """Learn about the session from its first line."""
        session = self.session
        if session.session_id is None and type(line.get("id")) is str and line["id"]:
            session.session_id = line["id"]
        if session.working_dir is None and type(line.get("cwd")) is str:
            session.working_dir = line["cwd"]
        if type(line.get("callingSessionId")) is str and line["callingSessionId"]:
            session.parent = line["callingSessionId"]
        if type(line.get("version")) is str:
            session.cli_version = line["version"]

    def learn_hints(self, entry: JsonObject) -> None:
        """Learn the model and the branch from a reminder in the first prompt."""
        for text in list_block_texts(entry.get("content")):
            if not text.startswith(_HINT_START):
                continue
            if _MODEL_START in text and (hint := _MODEL_HINT.search(text)):
                self.model_hint = hint[1]
            if _BRANCH_START in text and (branch := _BRANCH_HINT.search(text)):
                self.session.vcs.setdefault("branch", branch[1])


class _StreamReader(_SessionReader):
    """One stream on its way into a record."""

    format_id = STREAM_FORMAT

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        session = self.session
        kind = line.pop("type", None)
        for member in ("session_id", "sessionId"):
            if session.session_id is None and type(line.get(member)) is str:
                session.session_id = line[member]
        role = line.get("role")
        if kind == "message" and type(role) is str and role in BLOCK_ROLES:
            del line["role"]
            entry = DROID_STREAM_MESSAGE_SHAPE.make_entry(role, line, session.drift, "line")
            keep_native_members(entry, _MESSAGE_TYPE)
            return entry
        if kind == "tool_call" and type(line.get("toolName")) is str and "parameters" in line:
            entry = DROID_STREAM_CALL_SHAPE.make_entry("tool-call", line, session.drift, "line")
            keep_native_members(entry, {"type": kind})
            return _name_by_id(entry)
        if kind == "tool_result" and line.get("value") is not None:
            entry = DROID_STREAM_RESULT_SHAPE.make_entry("tool-result", line, session.drift, "line")
            keep_native_members(entry, {"type": kind})
            return _name_by_id(entry)
        if type(kind) is not str or kind not in DROID_STREAM_EVENT_TYPES:
            session.drift.count_type(kind)
        elif kind == "system":
            self.learn_system(line)
        elif type(line.get("usage")) is dict:
            usage = DROID_STREAM_USAGE_SUMS.compute(line["usage"])
            add_session_usage(session.entries, usage)
        return make_typed_event(line, kind, _RESERVED_EVENT_TYPES, DROID_EVENT_MOVES)

    def learn_system(self, line: JsonObject) -> None:
        """Learn about the session from the first line of a stream."""
        session = self.session
        session.mode = "autonomous"
        if type(line.get("cwd")) is str:
            session.working_dir = line["cwd"]
        if type(line.get("model")) is str:
            session.models[line["model"]] += 1


def _name_by_id(entry: JsonObject) -> JsonObject:
    """Take the id of a call for its call id, where a version has only that."""
    if "call-id" not in entry and "id" in entry:
        entry["call-id"] = entry.pop("id")
        get_writable_marks(entry)["call-id-from"] = "id"
    return entry
