"""A record as an OTLP/JSON trace. Step: export. Follows the GenAI conventions of OpenTelemetry, in
development.

A span for the agent, and below it one for each call of a model and one for each call of a tool; a
sub-agent's are below a span of its own. Ids are made of the record's digest, so that the same
record always gives the same trace.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from vacr import codec
from vacr.errors import InvalidRecord
from vacr.exchange import steps as stepping
from vacr.exchange.exported import (
    Asked,
    Exported,
    Losses,
    lose_events,
    lose_sealed,
    lose_the_rest,
    sifted,
)
from vacr.exchange.otlp import messages, names
from vacr.exchange.otlp.spans import LAST, Span, attributes
from vacr.exchange.steps import AGENT, PROMPT, Step, instructions
from vacr.model import Native, Timestamp
from vacr.timestamps import milliseconds
from vacr.version import __version__
from vacr.viewer.rows import EVENT, TOOL, Row

_UNKNOWN = "unknown"
_ABOUT = frozenset(
    ("session-start", "session-end", "cli-name", "cli-version", "model-id", "model-provider")
)


def export(record: Native, asked: Asked) -> Exported:
    """Give a record as a trace.

    Raises:
        InvalidRecord: there is no time in it, which spans need.
    """
    losses: Losses = Counter()
    every, kept, left_out = sifted(record, asked.chosen, losses)
    lose_events((row for row in kept if row.kind == EVENT and instructions(row) is None), losses)
    lose_sealed(kept, losses)
    lose_the_rest(record, losses, "id", "parent-id", "status", "subject", about=_ABOUT)
    found = stepping.only(stepping.steps(every, record), kept)
    spans = _Tracing(record, asked, losses).spans(found)
    meta = record["session"].get("agent-meta", {})
    service = {
        "service.name": meta.get("cli-name", _UNKNOWN),
        "service.version": meta.get("cli-version"),
    }
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(service)},
                "scopeSpans": [
                    {
                        "scope": {"name": "vacr", "version": __version__},
                        "spans": [span.written(asked.digest) for span in spans],
                    }
                ],
            }
        ]
    }
    return Exported(codec.encode(document) + b"\n", losses, left_out)


class _Tracing:
    """The export of one record."""

    def __init__(self, record: Native, asked: Asked, losses: Losses) -> None:
        self.record = record
        self.session = record["session"]
        self.asked = asked
        self.losses = losses
        self.meta = self.session.get("agent-meta", {})
        provider = self.meta.get("model-provider", _UNKNOWN)
        self.provider = names.PROVIDERS.get(provider, provider)
        self.now = self._began()
        self.timeless: set[str] = set()

    def _began(self) -> int:
        stamps = [
            self.session.get("session-start"),
            *(entry.get("timestamp") for entry in self.session["entries"]),
        ]
        for stamp in stamps:
            if (moment := _known_moment(stamp)) is not None:
                return moment
        hint = "Its agent keeps no times. Other formats can hold it: atif, markdown, html."
        raise InvalidRecord("there is no time in it, and a trace is made of times", hint=hint)

    def spans(self, found: list[Step]) -> list[Span]:
        """Give all spans, each after its parent."""
        root = self._agent("", str(self.meta.get("cli-name", "agent")), None)
        root.attributes |= {
            "vacr.record.id": self.record["id"],
            "vacr.record.sha256": self.asked.digest,
        }
        agents, spans = {"": root}, [root]
        pending: dict[str, list[Native]] = {}
        for step in found:
            if step.agent not in agents:
                agents[step.agent] = self._agent(step.agent, step.agent, root)
                spans.append(agents[step.agent])
            parent, waiting = agents[step.agent], pending.setdefault(step.agent, [])
            if step.source == AGENT:
                spans += self._step(step, parent, waiting)
                pending[step.agent] = messages.results(step)
            elif step.source == PROMPT:
                self._moment(step.rows[0])
                waiting += [messages.said("user", row.parts) for row in step.rows]
            else:
                _add(parent, names.INSTRUCTIONS, messages.instructed(step))
        for name, waiting in pending.items():
            # What was asked last may have had no answer.
            _add(
                agents[name],
                names.INPUT_MESSAGES,
                [one for one in waiting if one["role"] == "user"],
            )
        for span in reversed(spans):
            if span.parent is not None:
                span.parent.end = max(span.parent.end, span.end)
        for span in agents.values():
            _write_messages(span)
        root.end = max(root.end, _known_moment(self.session.get("session-end")) or 0)
        if self.timeless:
            self.losses["rows without a time, which have that of the row before"] = len(
                self.timeless
            )
        _use(root, _sum([step.usage(self.record) for step in found]))
        return spans

    def _agent(self, place: str, name: str, parent: Span | None) -> Span:
        said = {
            names.AGENT_NAME: name,
            names.AGENT_VERSION: self.meta.get("cli-version"),
            names.AGENT_ID: place,
        }
        said |= self._common() | {names.REQUEST_MODEL: _known(self.meta.get("model-id"))}
        return Span(names.INVOKE_AGENT, name, place, parent, self.now, self.now, said)

    def _common(self) -> Native:
        name = self.session["session-id"]
        text = name.hex() if isinstance(name, bytes) else str(name)
        return {names.PROVIDER: self.provider, names.CONVERSATION: text, names.SESSION: text}

    def _step(self, step: Step, parent: Span, waiting: list[Native]) -> list[Span]:
        """Give the spans of one call of a model, and of the tools that it called."""
        rows = step.rows
        model = next(
            (row.model for row in rows if _known(row.model)), _known(self.meta.get("model-id"))
        )
        start = self._moment(rows[0])
        chat = Span(names.CHAT, model or "", rows[0].place, parent, start, start, self._common())
        chat.end = max(self._moment(row) for row in rows)
        chat.attributes |= {names.REQUEST_MODEL: model, names.RESPONSE_MODEL: model}
        reasons = [
            row.entry["stop-reason"]
            for row in rows
            if isinstance(row.entry.get("stop-reason"), str)
        ]
        chat.attributes[names.FINISH_REASONS] = reasons[-1:] or None
        spoken = messages.answer(step)
        _add(parent, names.INPUT_MESSAGES, [one for one in waiting if one["role"] == "user"])
        _add(parent, names.OUTPUT_MESSAGES, [spoken, *messages.results(step)])
        _add(chat, names.INPUT_MESSAGES, waiting)
        _add(chat, names.OUTPUT_MESSAGES, [spoken])
        _write_messages(chat)
        _use(chat, step.usage(self.record))
        return [chat, *(self._tool(row, parent) for row in rows if row.kind == TOOL)]

    def _tool(self, row: Row, parent: Span) -> Span:
        start = self._moment(row)
        end = self._moment(row.result) if row.result is not None else start
        span = Span(
            names.EXECUTE_TOOL,
            row.tool or _UNKNOWN,
            row.place,
            parent,
            start,
            end,
            self._common(),
            row.is_error,
        )
        span.attributes |= {
            names.TOOL_NAME: row.tool or _UNKNOWN,
            names.TOOL_TYPE: "function",
            names.CALL_ID: messages.call_id(row),
            names.CALL_ARGUMENTS: codec.encode(row.entry["input"]).decode()
            if "input" in row.entry
            else None,
            names.CALL_RESULT: messages.response(row)
            if row.result is not None or not row.tool
            else None,
            names.ERROR_TYPE: "tool_error" if row.is_error else None,
        }
        return span

    def _moment(self, row: Row) -> int:
        """Give the time of a row; one that is not known is that of what came before."""
        moment = _known_moment(row.time)
        if moment is None:
            self.timeless.add(row.place)
        else:
            self.now = moment
        return self.now


def _known_moment(stamp: Timestamp | None) -> int | None:
    """Give a time in milliseconds; nothing for one that no span can have."""
    moment = milliseconds(stamp) if stamp is not None else None
    return moment if moment is not None and 0 <= moment <= LAST else None


def _add(span: Span, name: str, more: list[Native]) -> None:
    if more:
        span.attributes.setdefault(name, []).extend(more)


def _write_messages(span: Span) -> None:
    """Write messages as JSON, which is how they stand in attributes."""
    for name in (names.INSTRUCTIONS, names.INPUT_MESSAGES, names.OUTPUT_MESSAGES):
        if isinstance(span.attributes.get(name), list):
            span.attributes[name] = codec.encode(span.attributes[name]).decode()


def _use(span: Span, usage: Native) -> None:
    for table in (names.USAGE, names.TOKEN_COUNTS):
        span.attributes |= {other: usage[name] for name, other in table.items() if name in usage}


def _sum(usages: list[Native]) -> Native:
    total: Counter[str] = Counter()
    for usage in usages:
        total.update(usage)
    return dict(total)


def _known(name: Any) -> str | None:
    return str(name) if name and name != _UNKNOWN else None
