"""A record as an OTLP/JSON trace with the GenAI attributes of OpenTelemetry, for trace viewers.

The trace has a span for the agent, and below it one for each call of a model and of a tool; the
spans of a sub-agent are below a span of its own. Ids are derived from the record's digest, so the
same record always gives the same trace.

The attributes of GenAI come from `open-telemetry/semantic-conventions-genai`. They are still in
development, and no package has them yet. The attributes of OpenInference are added for viewers that
know only those. Numbers and ids follow the JSON mapping of OTLP: ids are hexadecimal, and 64-bit
numbers are texts.

    >>> import json, vacr
    >>> from vacr.exchange import EXCHANGE_FORMATS, ExportRequest
    >>> [record] = vacr.read("session.jsonl")
    >>> exported = EXCHANGE_FORMATS["otlp"].export(record, ExportRequest(digest="00" * 32))
    >>> spans = json.loads(exported.data)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    >>> [span["name"].split()[0] for span in spans[:3]]
    ['invoke_agent', 'chat', 'execute_tool']
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vacr.agents import UNKNOWN
from vacr.errors import InvalidRecord
from vacr.exchange.export import (
    AGENT_SOURCE,
    PROMPT_SOURCE,
    ConversationStep,
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_encrypted_reasoning,
    count_lost_events,
    count_lost_members,
    filter_steps,
    get_instructions,
    group_rows_into_steps,
    select_rows,
    sum_usages,
)
from vacr.model import JsonObject, Timestamp
from vacr.record import encode, get_epoch_milliseconds
from vacr.version import __version__
from vacr.viewer import (
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    ContentPart,
    ImagePart,
    Row,
    TextPart,
    format_json,
)

# Attributes of GenAI.
_OPERATION = "gen_ai.operation.name"
_PROVIDER = "gen_ai.provider.name"
_CONVERSATION = "gen_ai.conversation.id"
_AGENT_ID = "gen_ai.agent.id"
_AGENT_NAME = "gen_ai.agent.name"
_AGENT_VERSION = "gen_ai.agent.version"
_REQUEST_MODEL = "gen_ai.request.model"
_RESPONSE_MODEL = "gen_ai.response.model"
_FINISH_REASONS = "gen_ai.response.finish_reasons"
_INSTRUCTIONS = "gen_ai.system_instructions"
_INPUT_MESSAGES = "gen_ai.input.messages"
_OUTPUT_MESSAGES = "gen_ai.output.messages"
_TOOL_NAME = "gen_ai.tool.name"
_TOOL_TYPE = "gen_ai.tool.type"
_CALL_ID = "gen_ai.tool.call.id"
_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
_CALL_RESULT = "gen_ai.tool.call.result"
_ERROR_TYPE = "error.type"
_USAGE_ATTRIBUTES = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
    "cost": "vacr.usage.cost",
}

_INVOKE_AGENT = "invoke_agent"
_CHAT = "chat"
_EXECUTE_TOOL = "execute_tool"

# Attributes of OpenInference.
_SESSION = "session.id"
_SPAN_KIND = "openinference.span.kind"
_SPAN_KINDS = {_INVOKE_AGENT: "AGENT", _CHAT: "LLM", _EXECUTE_TOOL: "TOOL"}
_TOKEN_COUNT_ATTRIBUTES = {
    "input": "llm.token_count.prompt",
    "output": "llm.token_count.completion",
    "total": "llm.token_count.total",
}

# GenAI's names of providers, where they differ from ours.
_PROVIDER_NAMES = {"google": "gcp.gemini"}

_SPAN_INTERNAL, _SPAN_CLIENT = 1, 3
_STATUS_ERROR = 2
_NANOSECONDS_PER_MILLISECOND = 1_000_000
_MAX_SPAN_MILLISECONDS = (2**64 - 1) // _NANOSECONDS_PER_MILLISECOND
_INT64_LIMIT = 2**63

_LOST_ENTRY_MEMBERS = ("id", "parent-id", "status", "subject")
_EXPORTED_SESSION_MEMBERS = frozenset(
    ("session-start", "session-end", "cli-name", "cli-version", "model-id", "model-provider")
)


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a record as an OpenTelemetry trace (OTLP JSON).

    Raises:
        InvalidRecord: the record has no times, or no row matches the filters.
    """
    losses: ExportLosses = Counter()
    every, kept, left_out = select_rows(record, request.chosen, losses)
    events = (row for row in kept if row.kind == EVENT_ROW and get_instructions(row) is None)
    count_lost_events(events, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *_LOST_ENTRY_MEMBERS, about=_EXPORTED_SESSION_MEMBERS)
    steps = filter_steps(group_rows_into_steps(every, record), kept)
    spans = _TraceBuilder(record, request.digest, losses).build_spans(steps)
    meta = record["session"].get("agent-meta", {})
    service = {
        "service.name": meta.get("cli-name", UNKNOWN),
        "service.version": meta.get("cli-version"),
    }
    scope_spans = {
        "scope": {"name": "vacr", "version": __version__},
        "spans": [_encode_span(span, request.digest) for span in spans],
    }
    resource_spans = {
        "resource": {"attributes": _encode_attributes(service)},
        "scopeSpans": [scope_spans],
    }
    document = {"resourceSpans": [resource_spans]}
    return ExportedDocument(encode(document) + b"\n", losses, left_out)


@dataclass
class _Span:
    """An operation with its start and end, in milliseconds since 1970."""

    operation: str
    subject: str
    """The agent, model or tool; operation and subject together are the span's name."""
    place: str
    """The pointer of the entry, or the sub-agent; the span's id is derived from it."""
    parent: _Span | None
    start: int
    end: int
    attributes: JsonObject = field(default_factory=dict)
    failed: bool = False

    def add_items(self, attribute: str, items: list[JsonObject]) -> None:
        """Extend a list attribute; without items, do not create it."""
        if items:
            self.attributes.setdefault(attribute, []).extend(items)

    def add_usage(self, usage: JsonObject) -> None:
        """Add a token usage with the attribute names of GenAI and of OpenInference."""
        for table in (_USAGE_ATTRIBUTES, _TOKEN_COUNT_ATTRIBUTES):
            self.attributes |= {
                attribute: usage[name] for name, attribute in table.items() if name in usage
            }

    def encode_messages(self) -> None:
        """Encode the lists of messages in the attributes as JSON text, as GenAI requires."""
        for name in (_INSTRUCTIONS, _INPUT_MESSAGES, _OUTPUT_MESSAGES):
            if isinstance(self.attributes.get(name), list):
                self.attributes[name] = encode(self.attributes[name]).decode()


class _TraceBuilder:
    """Builds the spans of one record."""

    def __init__(self, record: JsonObject, digest: str, losses: ExportLosses) -> None:
        """Prepare to build the spans; `digest` is the SHA-256 of the record's bytes.

        Raises:
            InvalidRecord: the record has no usable time.
        """
        self.record = record
        self.session = record["session"]
        self.digest = digest
        self.losses = losses
        self.meta = self.session.get("agent-meta", {})
        provider = self.meta.get("model-provider", UNKNOWN)
        self.provider = _PROVIDER_NAMES.get(provider, provider)
        self.now = self._find_start()
        self.places_without_time: set[str] = set()

    def _find_start(self) -> int:
        """Return the start of the session, or else the time of the first entry with one.

        Raises:
            InvalidRecord: the record has no usable time.
        """
        stamps = [self.session.get("session-start")]
        stamps += [entry.get("timestamp") for entry in self.session["entries"]]
        for stamp in stamps:
            moment = _get_span_time(stamp)
            if moment is not None:
                return moment
        hint = "Its agent stores no times. Use another format: atif, markdown or html."
        raise InvalidRecord("the record has no times, and an OTLP trace needs them", hint=hint)

    def build_spans(self, steps: list[ConversationStep]) -> list[_Span]:
        """Return all spans, each after its parent; the first is the main agent's."""
        root = self._build_agent_span("", str(self.meta.get("cli-name", "agent")), None)
        root.attributes |= {
            "vacr.record.id": self.record["id"],
            "vacr.record.sha256": self.digest,
        }
        agents, spans = {"": root}, [root]
        # The messages that the next call of each agent's model gets.
        pending: dict[str, list[JsonObject]] = {}
        for step in steps:
            if step.agent not in agents:
                agents[step.agent] = self._build_agent_span(step.agent, step.agent, root)
                spans.append(agents[step.agent])
            parent, messages = agents[step.agent], pending.setdefault(step.agent, [])
            if step.source == AGENT_SOURCE:
                spans += self._build_step_spans(step, parent, messages)
                pending[step.agent] = _build_result_messages(step)
            elif step.source == PROMPT_SOURCE:
                self._get_time(step.rows[0])
                messages += [_build_message("user", row.parts) for row in step.rows]
            else:
                parent.add_items(_INSTRUCTIONS, _build_instructions(step))
        for name, messages in pending.items():
            # The last prompt may have no answer.
            agents[name].add_items(_INPUT_MESSAGES, _select_prompts(messages))
        self._finish_spans(spans, list(agents.values()))
        root.add_usage(sum_usages([step.sum_usage(self.record) for step in steps]))
        return spans

    def _finish_spans(self, spans: list[_Span], agents: list[_Span]) -> None:
        """Extend parents to the end of their children, and encode the messages of agents."""
        for span in reversed(spans):
            if span.parent is not None:
                span.parent.end = max(span.parent.end, span.end)
        for span in agents:
            span.encode_messages()
        root = spans[0]
        root.end = max(root.end, _get_span_time(self.session.get("session-end")) or 0)
        if self.places_without_time:
            count = len(self.places_without_time)
            self.losses["rows without a time, which have that of the row before"] = count

    def _build_agent_span(self, place: str, name: str, parent: _Span | None) -> _Span:
        """Return the span of the main agent, without a parent, or of a sub-agent.

        `place` is the id of the sub-agent, or empty.
        """
        attributes = {
            _AGENT_NAME: name,
            _AGENT_VERSION: self.meta.get("cli-version"),
            _AGENT_ID: place,
            **self._get_common_attributes(),
            _REQUEST_MODEL: _get_known_name(self.meta.get("model-id")),
        }
        return _Span(_INVOKE_AGENT, name, place, parent, self.now, self.now, attributes)

    def _get_common_attributes(self) -> JsonObject:
        """Return the attributes of every span: the provider and the session's id."""
        session_id = self.session["session-id"]
        name = session_id.hex() if isinstance(session_id, bytes) else str(session_id)
        return {_PROVIDER: self.provider, _CONVERSATION: name, _SESSION: name}

    def _build_step_spans(
        self, step: ConversationStep, parent: _Span, messages: list[JsonObject]
    ) -> list[_Span]:
        """Return the spans of one call of a model, and of the tools that it called.

        `messages` are the input of the call: the prompts and tool results before it.
        """
        rows = step.rows
        default_model = _get_known_name(self.meta.get("model-id"))
        model = next((row.model for row in rows if _get_known_name(row.model)), default_model)
        start = self._get_time(rows[0])
        end = max(self._get_time(row) for row in rows)
        reasons = [row.entry.get("stop-reason") for row in rows]
        attributes = {
            **self._get_common_attributes(),
            _REQUEST_MODEL: model,
            _RESPONSE_MODEL: model,
            _FINISH_REASONS: [reason for reason in reasons if isinstance(reason, str)][-1:] or None,
        }
        chat = _Span(_CHAT, model or "", rows[0].place, parent, start, end, attributes)
        answer = _build_answer(step)
        parent.add_items(_INPUT_MESSAGES, _select_prompts(messages))
        parent.add_items(_OUTPUT_MESSAGES, [answer, *_build_result_messages(step)])
        chat.add_items(_INPUT_MESSAGES, messages)
        chat.add_items(_OUTPUT_MESSAGES, [answer])
        chat.encode_messages()
        chat.add_usage(step.sum_usage(self.record))
        return [chat, *(self._build_tool_span(row, parent) for row in rows if row.kind == TOOL_ROW)]

    def _build_tool_span(self, row: Row, parent: _Span) -> _Span:
        """Return the span of a tool call, from the call to its result."""
        start = self._get_time(row)
        end = self._get_time(row.result) if row.result is not None else start
        tool = row.tool or UNKNOWN
        attributes = {
            **self._get_common_attributes(),
            _TOOL_NAME: tool,
            _TOOL_TYPE: "function",
            _CALL_ID: _get_call_id(row),
        }
        if "input" in row.entry:
            attributes[_CALL_ARGUMENTS] = encode(row.entry["input"]).decode()
        if row.result is not None or not row.tool:
            attributes[_CALL_RESULT] = _get_response_text(row)
        if row.is_error:
            attributes[_ERROR_TYPE] = "tool_error"
        return _Span(_EXECUTE_TOOL, tool, row.place, parent, start, end, attributes, row.is_error)

    def _get_time(self, row: Row) -> int:
        """Return the time of a row, or the time of the row before if it has none.

        Remember the time for rows that follow.
        """
        moment = _get_span_time(row.time)
        if moment is None:
            self.places_without_time.add(row.place)
        else:
            self.now = moment
        return self.now


def _get_span_time(stamp: Timestamp | None) -> int | None:
    """Return a timestamp in milliseconds since 1970.

    Return None if it is missing, invalid, before 1970, or too late for OTLP's nanoseconds.
    """
    moment = get_epoch_milliseconds(stamp) if stamp is not None else None
    return moment if moment is not None and 0 <= moment <= _MAX_SPAN_MILLISECONDS else None


def _get_known_name(name: Any) -> str | None:
    """Return a name as text, or None if it is empty or UNKNOWN."""
    return str(name) if name and name != UNKNOWN else None


def _select_prompts(messages: list[JsonObject]) -> list[JsonObject]:
    """Return the messages with the role `user`."""
    return [message for message in messages if message["role"] == "user"]


# Messages, as the GenAI conventions put them into attributes


def _build_message(role: str, parts: Iterable[ContentPart]) -> JsonObject:
    """Return a message of GenAI with a role, such as `user`, and the parts."""
    return {"role": role, "parts": [_build_part(part) for part in parts]}


def _build_answer(step: ConversationStep) -> JsonObject:
    """Return a message with the thoughts, texts and tool calls of a model in one step."""
    parts: list[JsonObject] = []
    for row in step.rows:
        if row.kind == REASONING_ROW:
            if text := _join_parts(row.parts):
                parts.append({"type": "reasoning", "content": text})
        elif row.kind != TOOL_ROW:
            parts += map(_build_part, row.parts)
        elif row.tool:
            call = {
                "type": "tool_call",
                "id": _get_call_id(row),
                "name": row.tool,
                "arguments": row.entry.get("input"),
            }
            parts.append(call)
    return {"role": "assistant", "parts": parts}


def _build_result_messages(step: ConversationStep) -> list[JsonObject]:
    """Return a message to the model for each result of a step's tool calls."""
    messages = []
    for row in step.rows:
        if row.kind == TOOL_ROW and (row.result is not None or not row.tool):
            response = {
                "type": "tool_call_response",
                "id": _get_call_id(row),
                "response": _get_response_text(row),
            }
            messages.append({"role": "tool", "parts": [response]})
    return messages


def _build_instructions(step: ConversationStep) -> list[JsonObject]:
    """Return the parts of a step's instructions to the model."""
    return [_build_part(part) for row in step.rows for part in get_instructions(row) or ()]


def _get_response_text(row: Row) -> str:
    """Return the output of a tool row as text; empty without output."""
    return _join_parts((row.result or row).parts)


def _join_parts(parts: list[ContentPart]) -> str:
    """Return parts as one text; a part that is not text becomes JSON."""
    return "\n".join(
        part.text if isinstance(part, TextPart) else format_json(_build_part(part))
        for part in parts
    )


def _get_call_id(row: Row) -> str:
    """Return the call id of a tool row, or else its pointer."""
    entry = row.entry if row.tool or row.result is None else row.result.entry
    return str(entry.get("call-id", row.place))


def _build_part(part: ContentPart) -> JsonObject:
    """Return a part of a message as GenAI writes it: text, blob, uri or another type."""
    if isinstance(part, TextPart):
        return {"type": "text", "content": part.text}
    if not isinstance(part, ImagePart):
        return {"type": part.kind, "content": part.value}
    modality = part.media_type.partition("/")[0] or "image"
    common = {"mime_type": part.media_type, "modality": modality}
    if part.data:
        return {"type": "blob", **common, "content": part.data}
    return {"type": "uri", **common, "uri": part.address}


# The JSON mapping of OTLP


def _encode_span(span: _Span, digest: str) -> JsonObject:
    """Return a span as OTLP/JSON; its ids are derived from the digest of the record."""
    attributes = {
        _OPERATION: span.operation,
        _SPAN_KIND: _SPAN_KINDS[span.operation],
        **span.attributes,
    }
    encoded: JsonObject = {
        "traceId": make_trace_id(digest),
        "spanId": _make_span_id(span, digest),
        "name": f"{span.operation} {span.subject}".rstrip(),
        "kind": _SPAN_CLIENT if span.operation == _CHAT else _SPAN_INTERNAL,
        "startTimeUnixNano": str(span.start * _NANOSECONDS_PER_MILLISECOND),
        "endTimeUnixNano": str(max(span.start, span.end) * _NANOSECONDS_PER_MILLISECOND),
        "attributes": _encode_attributes(attributes),
    }
    if span.parent is not None:
        encoded["parentSpanId"] = _make_span_id(span.parent, digest)
    if span.failed:
        encoded["status"] = {"code": _STATUS_ERROR}
    return encoded


def make_trace_id(digest: str) -> str:
    """Return the trace id, 32 hex digits, that is derived from the digest of a record."""
    return _derive_id(digest, 32)


def _make_span_id(span: _Span, digest: str) -> str:
    """Return the span id, 16 hex digits; the same record always gives the same one."""
    return _derive_id(f"{digest} {span.operation} {span.place}", 16)


def _derive_id(text: str, length: int) -> str:
    """Return the first `length` hex digits of a text's SHA-256."""
    # OTLP forbids an id of zeros; no digest will begin with that many.
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _encode_attributes(attributes: JsonObject) -> list[JsonObject]:
    """Return attributes as OTLP/JSON, without the ones that are None or empty text."""
    return [
        {"key": name, "value": _encode_attribute_value(value)}
        for name, value in attributes.items()
        if value is not None and value != ""
    ]


def _encode_attribute_value(value: Any) -> JsonObject:
    """Return a value as OTLP/JSON, under the name of its type; 64-bit integers are text.

    Larger integers and values of other types become strings.
    """
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64_LIMIT <= value < _INT64_LIMIT:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_encode_attribute_value(item) for item in value]}}
    return {"stringValue": str(value)}
