"""Traces of GitHub Copilot in Visual Studio (OTLP in JSON, one export a line) → records.

Each line stays as an event. Its spans become the children of the event: a call of a tool with its
result, or an answer of the model with its tokens. They are views: the spans stay in the line. One
file may hold several conversations, and each gets a record.

    >>> from vacr.agents.visualstudio_copilot.reader import convert_nanoseconds
    >>> convert_nanoseconds("1781293600000000000")
    1781293600000
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue, parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Reading,
    SessionBuilder,
    describe_json_kind,
    is_count,
    parse_names,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject

name = "visualstudio-copilot"
formats = ("visualstudio-otlp",)
SERVICE = "vs-copilot"
TRACE_EVENT = "trace"
SPAN_OPERATIONS = parse_names("chat execute_tool invoke_agent")
TOOL_ATTRIBUTES = (
    ("call-id", "gen_ai.tool.call.id"),
    ("name", "gen_ai.tool.name"),
    ("input", "gen_ai.tool.call.arguments"),
    ("output", "gen_ai.tool.call.result"),
)
USAGE_ATTRIBUTES = (
    ("input", "gen_ai.usage.input_tokens"),
    ("cached", "gen_ai.usage.cache_read.input_tokens"),
    ("output", "gen_ai.usage.output_tokens"),
)
MODEL_ATTRIBUTES = ("gen_ai.response.model", "gen_ai.request.model")
CONVERSATION_ATTRIBUTE = "gen_ai.conversation.id"
PROVIDER_ATTRIBUTE = "gen_ai.provider.name"
SpanList = list[tuple[JsonObject, JsonObject]]
"""Spans, each with its attributes as plain values."""
_SPAN_FROM = "resourceSpans"
_ERROR_STATUSES = (2, "STATUS_CODE_ERROR")
_OK_STATUSES = (1, "STATUS_CODE_OK")


def recognise(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is a trace of this program; 0 if it is empty."""
    if not sample:
        return 0.0
    return sum(map(_is_trace, sample)) / len(sample)


def _is_trace(value: Any) -> bool:
    """Return whether a value is an export of spans that states this service."""
    return type(value) is dict and any(
        get_attributes(dict_or_empty(resource.get("resource"))).get("service.name") == SERVICE
        for resource in _list_objects(value, "resourceSpans")
    )


def _list_objects(holder: JsonObject, member: str) -> list[JsonObject]:
    """Return the objects in a list of an object; empty without a list."""
    items = holder.get(member)
    return [item for item in items if type(item) is dict] if type(items) is list else []


def get_attributes(holder: JsonObject) -> JsonObject:
    """Return the attributes of a span or a resource, with plain values."""
    found = {}
    for attribute in _list_objects(holder, "attributes"):
        key, value = attribute.get("key"), attribute.get("value")
        if type(key) is str and type(value) is dict and len(value) == 1:
            [(kind, plain)] = value.items()
            if kind == "intValue" and type(plain) is str and plain.isdecimal():
                plain = int(plain[:20])
            found[key] = plain
    return found


def convert_nanoseconds(stamp: Any) -> int | None:
    """Return a time in nanoseconds, a text or a number, in milliseconds; None without one."""
    text = str(stamp) if type(stamp) in (str, int) else ""
    if not text.isascii() or not text.isdecimal() or len(text) > _MAX_DIGITS:
        return None
    return int(text) // 1_000_000 or None


_MAX_DIGITS = 20


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each conversation in a file of traces, without labels."""
    with pause_garbage_collector():
        conversations = _ConversationSplitter()
        for number, batch in source.main.documents():
            for document in batch:
                conversations.add_value(number, document)
        sessions = conversations.finish()
    while sessions:
        with pause_garbage_collector():
            session = sessions.pop(0)
            session.tidy()
            reading = session.reading(source)
        yield reading


class _ConversationSplitter:
    """The conversations of a file: a line without an id belongs to the one before it."""

    def __init__(self) -> None:
        """Start without conversations."""
        self._sessions: dict[str | None, SessionBuilder] = {}
        self._current: str | None = None

    def add_value(self, number: int, document: Any) -> None:
        """Add one value of the file to its conversation."""
        if isinstance(document, RepairedValue):
            session, entry = self._make_entry(document.value)
            get_writable_marks(entry)["repaired"] = document.reason
        elif type(document) is dict:
            session, entry = self._make_entry(document)
        else:
            session = self._choose([])
            entry = session.make_unusual_event(number, document)
        session.entries.append(entry)

    def _make_entry(self, value: Any) -> tuple[SessionBuilder, JsonObject]:
        """Make the entry of a value, and return it with its session."""
        if type(value) is not dict:
            session = self._choose([])
            return session, session.make_value_event(value)
        spans = [(span, get_attributes(span)) for span in _list_spans(value)]
        session = self._choose(spans)
        return session, _make_entry(session, value, spans)

    def _choose(self, spans: SpanList) -> SessionBuilder:
        """Return the session of a line, by the first conversation that its spans name."""
        for _, attributes in spans:
            identity = attributes.get(CONVERSATION_ATTRIBUTE)
            if type(identity) is str and identity:
                self._current = identity
                break
        session = self._sessions.get(self._current)
        if session is None:
            session = SessionBuilder(formats[0], name)
            first = self._sessions.pop(None, None)
            if first is not None:
                session = first  # The lines before the first id belong to that conversation.
            session.session_id = self._current
            self._sessions[self._current] = session
        return session

    def finish(self) -> list[SessionBuilder]:
        """Return the sessions, at least one."""
        self._choose([])
        return list(self._sessions.values())


def _list_spans(line: JsonObject) -> list[JsonObject]:
    """Return the spans of an export."""
    return [
        span
        for resource in _list_objects(line, "resourceSpans")
        for scope in _list_objects(resource, "scopeSpans")
        for span in _list_objects(scope, "spans")
    ]


def _make_entry(session: SessionBuilder, line: JsonObject, spans: SpanList) -> JsonObject:
    """Make the event of a line, with the views of its spans as children."""
    entry: JsonObject = {"type": "system-event", "event-type": TRACE_EVENT, "data": line}
    if type(line.get("resourceSpans")) is not list:
        session.drift.count_type(f"line/{describe_json_kind(line)}")
        entry["event-type"] = UNKNOWN
        return entry
    for resource in _list_objects(line, "resourceSpans") if session.cli_version is None else ():
        version = get_attributes(dict_or_empty(resource.get("resource"))).get("service.version")
        if type(version) is str and version:
            session.cli_version = version
    children = [
        child for span, attributes in spans for child in _make_views(session, span, attributes)
    ]
    first = spans[0][0] if spans else {}
    _set_time(entry, first.get("startTimeUnixNano"))
    if len(spans) == 1 and type(first.get("spanId")) is str and first["spanId"]:
        entry["id"] = first["spanId"]
        if type(first.get("parentSpanId")) is str and first["parentSpanId"]:
            entry["parent-id"] = first["parentSpanId"]
    if children:
        entry["children"] = children
        session.embedded += children
    return entry


def _make_views(
    session: SessionBuilder, span: JsonObject, attributes: JsonObject
) -> list[JsonObject]:
    """Return the entries that a span stands for: a call with its result, or an answer."""
    operation = attributes.get("gen_ai.operation.name")
    if operation == "execute_tool":
        return _make_call(span, attributes)
    if type(operation) is str and operation not in SPAN_OPERATIONS:
        session.drift.count_type(f"span/{operation}")
    model = next(
        (attributes[key] for key in MODEL_ATTRIBUTES if type(attributes.get(key)) is str), None
    )
    if model:
        session.models[model] += 1
        if session.provider == UNKNOWN and type(attributes.get(PROVIDER_ATTRIBUTE)) is str:
            session.provider = attributes[PROVIDER_ATTRIBUTE]
    if operation != "chat":
        return []
    usage = {
        counter: attributes[key]
        for counter, key in USAGE_ATTRIBUTES
        if is_count(attributes.get(key))
    }
    answer: JsonObject = {"type": "assistant", "vacr": {"from": _SPAN_FROM}}
    if model:
        answer["model-id"] = model
    if usage:
        answer["token-usage"] = usage
    _set_time(answer, span.get("endTimeUnixNano"))
    return [answer]


def _make_call(span: JsonObject, attributes: JsonObject) -> list[JsonObject]:
    """Return the call of a span, and its result where the span has ended."""
    values = {member: attributes.get(key) for member, key in TOOL_ATTRIBUTES}
    tool = values["name"]
    call: JsonObject = {
        "type": "tool-call",
        "name": tool if type(tool) is str else UNKNOWN,
        "input": parse_json_text(values["input"]),
        "vacr": {"from": _SPAN_FROM},
    }
    result: JsonObject = {
        "type": "tool-result",
        "output": values["output"],
        "vacr": {"from": _SPAN_FROM},
    }
    if type(values["call-id"]) is str:
        call["call-id"] = result["call-id"] = values["call-id"]
    _set_time(call, span.get("startTimeUnixNano"))
    _set_time(result, span.get("endTimeUnixNano"))
    code = dict_or_empty(span.get("status")).get("code")
    if code in _ERROR_STATUSES or "error.type" in attributes:
        result["status"] = "error"
    elif code in _OK_STATUSES and type(code) is not bool:
        result["status"] = "ok"
    return [call, result]


def _set_time(entry: JsonObject, stamp: Any) -> None:
    """Set the time of an entry, if a span states one."""
    milliseconds = convert_nanoseconds(stamp)
    if milliseconds is not None:
        entry["timestamp"] = milliseconds
