"""OTLP/JSON traces with the GenAI attributes of OpenTelemetry, for tools that show traces.

What was said, thought and called, as the messages that the GenAI conventions put into
attributes. Step: export.

The names that traces of agents use. Step: export.

Those of GenAI are the ones of `open-telemetry/semantic-conventions-genai`, which is still in
development: they are kept here, because no package has them. Those of OpenInference stand beside
them for tools that know only these.

Spans as OTLP/JSON writes them. Step: export. Follows the JSON mapping of OTLP: ids in
hexadecimal, 64-bit numbers as texts.

A record as an OTLP/JSON trace. Step: export. Follows the GenAI conventions of OpenTelemetry, in
development.

A span for the agent, and below it one for each call of a model and one for each call of a tool; a
sub-agent's are below a span of its own. Ids are made of the record's digest, so that the same
record always gives the same trace.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vacr.errors import InvalidRecord
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_encrypted_reasoning,
    count_lost_events,
    count_lost_members,
    select_rows,
)
from vacr.exchange.steps import (
    AGENT_SOURCE,
    PROMPT_SOURCE,
    ConversationStep,
    filter_steps,
    get_instructions,
    group_rows_into_steps,
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


def build_message(role: str, parts: Iterable[ContentPart]) -> JsonObject:
    """Give something said as a message."""
    return {"role": role, "parts": [_build_part(part) for part in parts]}


def build_answer(step: ConversationStep) -> JsonObject:
    """Give what a model said, thought and called in one step."""
    parts: list[JsonObject] = []
    for row in step.rows:
        if row.kind == REASONING_ROW:
            parts += (
                [{"type": "reasoning", "content": text}] if (text := _join_parts(row.parts)) else []
            )
        elif row.kind == TOOL_ROW:
            if row.tool:
                parts.append(
                    {
                        "type": "tool_call",
                        "id": get_call_id(row),
                        "name": row.tool,
                        "arguments": row.entry.get("input"),
                    }
                )
        else:
            parts += map(_build_part, row.parts)
    return {"role": "assistant", "parts": parts}


def build_result_messages(step: ConversationStep) -> list[JsonObject]:
    """Give what came of the calls of a step, as messages to the model."""
    found = [
        row
        for row in step.rows
        if row.kind == TOOL_ROW and (row.result is not None or not row.tool)
    ]
    return [
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_call_response",
                    "id": get_call_id(row),
                    "response": get_response_text(row),
                }
            ],
        }
        for row in found
    ]


def build_instructions(step: ConversationStep) -> list[JsonObject]:
    """Give instructions as parts."""
    return [_build_part(part) for row in step.rows for part in get_instructions(row) or ()]


def get_response_text(row: Row) -> str:
    """Give what came of a call as a text."""
    return _join_parts((row.result or row).parts)


def _join_parts(parts: list[ContentPart]) -> str:
    return "\n".join(
        part.text if isinstance(part, TextPart) else format_json(_build_part(part))
        for part in parts
    )


def get_call_id(row: Row) -> str:
    """Name a call; one without a name has its place."""
    came = row.entry if row.tool or row.result is None else row.result.entry
    return str(came.get("call-id", row.place))


def _build_part(part: ContentPart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "text", "content": part.text}
    if isinstance(part, ImagePart):
        modality = part.media_type.partition("/")[0] or "image"
        if part.data:
            return {
                "type": "blob",
                "mime_type": part.media_type,
                "modality": modality,
                "content": part.data,
            }
        return {
            "type": "uri",
            "mime_type": part.media_type,
            "modality": modality,
            "uri": part.address,
        }
    return {"type": part.kind, "content": part.value}


OPERATION_ATTRIBUTE = "gen_ai.operation.name"
INVOKE_AGENT_OPERATION, CHAT_OPERATION, EXECUTE_TOOL_OPERATION = (
    "invoke_agent",
    "chat",
    "execute_tool",
)

PROVIDER_ATTRIBUTE = "gen_ai.provider.name"
CONVERSATION_ATTRIBUTE = "gen_ai.conversation.id"
AGENT_ID_ATTRIBUTE = "gen_ai.agent.id"
AGENT_NAME_ATTRIBUTE = "gen_ai.agent.name"
AGENT_VERSION_ATTRIBUTE = "gen_ai.agent.version"
REQUEST_MODEL_ATTRIBUTE = "gen_ai.request.model"
RESPONSE_MODEL_ATTRIBUTE = "gen_ai.response.model"
FINISH_REASONS_ATTRIBUTE = "gen_ai.response.finish_reasons"
INSTRUCTIONS_ATTRIBUTE = "gen_ai.system_instructions"
INPUT_MESSAGES_ATTRIBUTE = "gen_ai.input.messages"
OUTPUT_MESSAGES_ATTRIBUTE = "gen_ai.output.messages"
TOOL_NAME_ATTRIBUTE = "gen_ai.tool.name"
TOOL_TYPE_ATTRIBUTE = "gen_ai.tool.type"
CALL_ID_ATTRIBUTE = "gen_ai.tool.call.id"
CALL_ARGUMENTS_ATTRIBUTE = "gen_ai.tool.call.arguments"
CALL_RESULT_ATTRIBUTE = "gen_ai.tool.call.result"
ERROR_TYPE_ATTRIBUTE = "error.type"

USAGE_ATTRIBUTES = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
    "cost": "vacr.usage.cost",
}
TOKEN_COUNT_ATTRIBUTES = {
    "input": "llm.token_count.prompt",
    "output": "llm.token_count.completion",
    "total": "llm.token_count.total",
}
SPAN_KIND_ATTRIBUTE = "openinference.span.kind"
SPAN_KINDS = {
    INVOKE_AGENT_OPERATION: "AGENT",
    CHAT_OPERATION: "LLM",
    EXECUTE_TOOL_OPERATION: "TOOL",
}
SESSION_ATTRIBUTE = "session.id"

PROVIDER_NAMES = {"google": "gcp.gemini"}
"""Providers that have another name there."""


_SPAN_INTERNAL, _SPAN_CLIENT = 1, 3
_STATUS_ERROR = 2
_NANOSECONDS_PER_MILLISECOND = 1_000_000
_INT64_LIMIT = 2**63
MAX_SPAN_MILLISECONDS = (2**64 - 1) // _NANOSECONDS_PER_MILLISECOND
"""The last millisecond that a span can have."""


@dataclass
class Span:
    """Something that took time, from millisecond to millisecond."""

    operation: str
    subject: str
    """What the operation is of; both together are the name."""
    place: str
    """What makes its id."""
    parent: Span | None
    start: int
    end: int
    attributes: JsonObject = field(default_factory=dict)
    failed: bool = False

    def written(self, digest: str) -> JsonObject:
        """Give the span as JSON; `digest` is that of the record, which makes all ids."""
        made: JsonObject = {
            "traceId": make_trace_id(digest),
            "spanId": self.id(digest),
            "name": f"{self.operation} {self.subject}".rstrip(),
            "kind": _SPAN_CLIENT if self.operation == "chat" else _SPAN_INTERNAL,
            "startTimeUnixNano": str(self.start * _NANOSECONDS_PER_MILLISECOND),
            "endTimeUnixNano": str(max(self.start, self.end) * _NANOSECONDS_PER_MILLISECOND),
            "attributes": build_attributes(
                {
                    OPERATION_ATTRIBUTE: self.operation,
                    SPAN_KIND_ATTRIBUTE: SPAN_KINDS[self.operation],
                    **self.attributes,
                }
            ),
        }
        if self.parent is not None:
            made["parentSpanId"] = self.parent.id(digest)
        if self.failed:
            made["status"] = {"code": _STATUS_ERROR}
        return made

    def id(self, digest: str) -> str:
        """Give the id, the same in every export of the record."""
        return _derive_id(f"{digest} {self.operation} {self.place}", 16)


def make_trace_id(digest: str) -> str:
    """Give the id of the trace of a record."""
    return _derive_id(digest, 32)


def build_attributes(members: JsonObject) -> list[JsonObject]:
    """Give attributes; what is not known is left out."""
    return [
        {"key": name, "value": _build_attribute_value(value)}
        for name, value in members.items()
        if value is not None and value != ""
    ]


def _build_attribute_value(value: Any) -> JsonObject:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64_LIMIT <= value < _INT64_LIMIT:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_build_attribute_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _derive_id(text: str, length: int) -> str:
    """Make an id of a text; one of zeros alone means none, and no digest in reach has that many."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


_UNKNOWN = "unknown"
_EXPORTED_SESSION_MEMBERS = frozenset(
    ("session-start", "session-end", "cli-name", "cli-version", "model-id", "model-provider")
)


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give a record as a trace.

    Raises:
        InvalidRecord: there is no time in it, which spans need.
    """
    losses: ExportLosses = Counter()
    every, kept, left_out = select_rows(record, asked.chosen, losses)
    count_lost_events(
        (row for row in kept if row.kind == EVENT_ROW and get_instructions(row) is None), losses
    )
    count_encrypted_reasoning(kept, losses)
    count_lost_members(
        record, losses, "id", "parent-id", "status", "subject", about=_EXPORTED_SESSION_MEMBERS
    )
    found = filter_steps(group_rows_into_steps(every, record), kept)
    spans = _TraceWriter(record, asked, losses).spans(found)
    meta = record["session"].get("agent-meta", {})
    service = {
        "service.name": meta.get("cli-name", _UNKNOWN),
        "service.version": meta.get("cli-version"),
    }
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": build_attributes(service)},
                "scopeSpans": [
                    {
                        "scope": {"name": "vacr", "version": __version__},
                        "spans": [span.written(asked.digest) for span in spans],
                    }
                ],
            }
        ]
    }
    return ExportedDocument(encode(document) + b"\n", losses, left_out)


class _TraceWriter:
    """The export of one record."""

    def __init__(self, record: JsonObject, asked: ExportRequest, losses: ExportLosses) -> None:
        self.record = record
        self.session = record["session"]
        self.asked = asked
        self.losses = losses
        self.meta = self.session.get("agent-meta", {})
        provider = self.meta.get("model-provider", _UNKNOWN)
        self.provider = PROVIDER_NAMES.get(provider, provider)
        self.now = self._began()
        self.timeless: set[str] = set()

    def _began(self) -> int:
        stamps = [
            self.session.get("session-start"),
            *(entry.get("timestamp") for entry in self.session["entries"]),
        ]
        for stamp in stamps:
            if (moment := _get_span_time(stamp)) is not None:
                return moment
        hint = "Its agent keeps no times. Other formats can hold it: atif, markdown, html."
        raise InvalidRecord("there is no time in it, and a trace is made of times", hint=hint)

    def spans(self, found: list[ConversationStep]) -> list[Span]:
        """Give all spans, each after its parent."""
        root = self._agent("", str(self.meta.get("cli-name", "agent")), None)
        root.attributes |= {
            "vacr.record.id": self.record["id"],
            "vacr.record.sha256": self.asked.digest,
        }
        agents, spans = {"": root}, [root]
        pending: dict[str, list[JsonObject]] = {}
        for step in found:
            if step.agent not in agents:
                agents[step.agent] = self._agent(step.agent, step.agent, root)
                spans.append(agents[step.agent])
            parent, waiting = agents[step.agent], pending.setdefault(step.agent, [])
            if step.source == AGENT_SOURCE:
                spans += self._step(step, parent, waiting)
                pending[step.agent] = build_result_messages(step)
            elif step.source == PROMPT_SOURCE:
                self._moment(step.rows[0])
                waiting += [build_message("user", row.parts) for row in step.rows]
            else:
                _add_attribute_items(parent, INSTRUCTIONS_ATTRIBUTE, build_instructions(step))
        for name, waiting in pending.items():
            # What was asked last may have had no answer.
            _add_attribute_items(
                agents[name],
                INPUT_MESSAGES_ATTRIBUTE,
                [one for one in waiting if one["role"] == "user"],
            )
        for span in reversed(spans):
            if span.parent is not None:
                span.parent.end = max(span.parent.end, span.end)
        for span in agents.values():
            _encode_messages(span)
        root.end = max(root.end, _get_span_time(self.session.get("session-end")) or 0)
        if self.timeless:
            self.losses["rows without a time, which have that of the row before"] = len(
                self.timeless
            )
        _add_usage(root, _sum_usages([step.usage(self.record) for step in found]))
        return spans

    def _agent(self, place: str, name: str, parent: Span | None) -> Span:
        said = {
            AGENT_NAME_ATTRIBUTE: name,
            AGENT_VERSION_ATTRIBUTE: self.meta.get("cli-version"),
            AGENT_ID_ATTRIBUTE: place,
        }
        said |= self._common() | {
            REQUEST_MODEL_ATTRIBUTE: _get_known_name(self.meta.get("model-id"))
        }
        return Span(INVOKE_AGENT_OPERATION, name, place, parent, self.now, self.now, said)

    def _common(self) -> JsonObject:
        name = self.session["session-id"]
        text = name.hex() if isinstance(name, bytes) else str(name)
        return {
            PROVIDER_ATTRIBUTE: self.provider,
            CONVERSATION_ATTRIBUTE: text,
            SESSION_ATTRIBUTE: text,
        }

    def _step(self, step: ConversationStep, parent: Span, waiting: list[JsonObject]) -> list[Span]:
        """Give the spans of one call of a model, and of the tools that it called."""
        rows = step.rows
        model = next(
            (row.model for row in rows if _get_known_name(row.model)),
            _get_known_name(self.meta.get("model-id")),
        )
        start = self._moment(rows[0])
        chat = Span(
            CHAT_OPERATION, model or "", rows[0].place, parent, start, start, self._common()
        )
        chat.end = max(self._moment(row) for row in rows)
        chat.attributes |= {REQUEST_MODEL_ATTRIBUTE: model, RESPONSE_MODEL_ATTRIBUTE: model}
        reasons = [
            row.entry["stop-reason"]
            for row in rows
            if isinstance(row.entry.get("stop-reason"), str)
        ]
        chat.attributes[FINISH_REASONS_ATTRIBUTE] = reasons[-1:] or None
        spoken = build_answer(step)
        _add_attribute_items(
            parent, INPUT_MESSAGES_ATTRIBUTE, [one for one in waiting if one["role"] == "user"]
        )
        _add_attribute_items(
            parent, OUTPUT_MESSAGES_ATTRIBUTE, [spoken, *build_result_messages(step)]
        )
        _add_attribute_items(chat, INPUT_MESSAGES_ATTRIBUTE, waiting)
        _add_attribute_items(chat, OUTPUT_MESSAGES_ATTRIBUTE, [spoken])
        _encode_messages(chat)
        _add_usage(chat, step.usage(self.record))
        return [chat, *(self._tool(row, parent) for row in rows if row.kind == TOOL_ROW)]

    def _tool(self, row: Row, parent: Span) -> Span:
        start = self._moment(row)
        end = self._moment(row.result) if row.result is not None else start
        span = Span(
            EXECUTE_TOOL_OPERATION,
            row.tool or _UNKNOWN,
            row.place,
            parent,
            start,
            end,
            self._common(),
            row.is_error,
        )
        span.attributes |= {
            TOOL_NAME_ATTRIBUTE: row.tool or _UNKNOWN,
            TOOL_TYPE_ATTRIBUTE: "function",
            CALL_ID_ATTRIBUTE: get_call_id(row),
            CALL_ARGUMENTS_ATTRIBUTE: encode(row.entry["input"]).decode()
            if "input" in row.entry
            else None,
            CALL_RESULT_ATTRIBUTE: get_response_text(row)
            if row.result is not None or not row.tool
            else None,
            ERROR_TYPE_ATTRIBUTE: "tool_error" if row.is_error else None,
        }
        return span

    def _moment(self, row: Row) -> int:
        """Give the time of a row; one that is not known is that of what came before."""
        moment = _get_span_time(row.time)
        if moment is None:
            self.timeless.add(row.place)
        else:
            self.now = moment
        return self.now


def _get_span_time(stamp: Timestamp | None) -> int | None:
    """Give a time in milliseconds; nothing for one that no span can have."""
    moment = get_epoch_milliseconds(stamp) if stamp is not None else None
    return moment if moment is not None and 0 <= moment <= MAX_SPAN_MILLISECONDS else None


def _add_attribute_items(span: Span, name: str, more: list[JsonObject]) -> None:
    if more:
        span.attributes.setdefault(name, []).extend(more)


def _encode_messages(span: Span) -> None:
    """Write messages as JSON, which is how they stand in attributes."""
    for name in (INSTRUCTIONS_ATTRIBUTE, INPUT_MESSAGES_ATTRIBUTE, OUTPUT_MESSAGES_ATTRIBUTE):
        if isinstance(span.attributes.get(name), list):
            span.attributes[name] = encode(span.attributes[name]).decode()


def _add_usage(span: Span, usage: JsonObject) -> None:
    for table in (USAGE_ATTRIBUTES, TOKEN_COUNT_ATTRIBUTES):
        span.attributes |= {other: usage[name] for name, other in table.items() if name in usage}


def _sum_usages(usages: list[JsonObject]) -> JsonObject:
    total: Counter[str] = Counter()
    for usage in usages:
        total.update(usage)
    return dict(total)


def _get_known_name(name: Any) -> str | None:
    return str(name) if name and name != _UNKNOWN else None
