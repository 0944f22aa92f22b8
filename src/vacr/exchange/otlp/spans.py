"""Spans as OTLP/JSON writes them. Step: export. Follows the JSON mapping of OTLP: ids in
hexadecimal, 64-bit numbers as texts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from vacr.exchange.otlp.names import OPERATION, SPAN_KIND, SPAN_KINDS
from vacr.model import Native

_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_NANOSECONDS = 1_000_000
_INT64 = 2**63
LAST = (2**64 - 1) // _NANOSECONDS
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
    attributes: Native = field(default_factory=dict)
    failed: bool = False

    def written(self, digest: str) -> Native:
        """Give the span as JSON; `digest` is that of the record, which makes all ids."""
        made: Native = {
            "traceId": trace_id(digest),
            "spanId": self.id(digest),
            "name": f"{self.operation} {self.subject}".rstrip(),
            "kind": _CLIENT if self.operation == "chat" else _INTERNAL,
            "startTimeUnixNano": str(self.start * _NANOSECONDS),
            "endTimeUnixNano": str(max(self.start, self.end) * _NANOSECONDS),
            "attributes": attributes(
                {
                    OPERATION: self.operation,
                    SPAN_KIND: SPAN_KINDS[self.operation],
                    **self.attributes,
                }
            ),
        }
        if self.parent is not None:
            made["parentSpanId"] = self.parent.id(digest)
        if self.failed:
            made["status"] = {"code": _ERROR}
        return made

    def id(self, digest: str) -> str:
        """Give the id, the same in every export of the record."""
        return _named(f"{digest} {self.operation} {self.place}", 16)


def trace_id(digest: str) -> str:
    """Give the id of the trace of a record."""
    return _named(digest, 32)


def attributes(members: Native) -> list[Native]:
    """Give attributes; what is not known is left out."""
    return [
        {"key": name, "value": _value(value)}
        for name, value in members.items()
        if value is not None and value != ""
    ]


def _value(value: Any) -> Native:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _named(text: str, length: int) -> str:
    """Make an id of a text; one of zeros alone means none, and no digest in reach has that many."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]
