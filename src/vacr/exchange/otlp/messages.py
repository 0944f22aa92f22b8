"""What was said, thought and called, as the messages that the GenAI conventions put into
attributes. Step: export.
"""

from __future__ import annotations

from collections.abc import Iterable

from vacr.exchange.steps import Step, instructions
from vacr.model import Native
from vacr.viewer.parts import Image, Part, Text
from vacr.viewer.rows import REASONING, TOOL, Row
from vacr.viewer.values import told


def said(role: str, parts: Iterable[Part]) -> Native:
    """Give something said as a message."""
    return {"role": role, "parts": [_part(part) for part in parts]}


def answer(step: Step) -> Native:
    """Give what a model said, thought and called in one step."""
    parts: list[Native] = []
    for row in step.rows:
        if row.kind == REASONING:
            parts += [{"type": "reasoning", "content": text}] if (text := _text(row.parts)) else []
        elif row.kind == TOOL:
            if row.tool:
                parts.append(
                    {
                        "type": "tool_call",
                        "id": call_id(row),
                        "name": row.tool,
                        "arguments": row.entry.get("input"),
                    }
                )
        else:
            parts += map(_part, row.parts)
    return {"role": "assistant", "parts": parts}


def results(step: Step) -> list[Native]:
    """Give what came of the calls of a step, as messages to the model."""
    found = [
        row for row in step.rows if row.kind == TOOL and (row.result is not None or not row.tool)
    ]
    return [
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": call_id(row), "response": response(row)}
            ],
        }
        for row in found
    ]


def instructed(step: Step) -> list[Native]:
    """Give instructions as parts."""
    return [_part(part) for row in step.rows for part in instructions(row) or ()]


def response(row: Row) -> str:
    """Give what came of a call as a text."""
    return _text((row.result or row).parts)


def _text(parts: list[Part]) -> str:
    return "\n".join(part.text if isinstance(part, Text) else told(_part(part)) for part in parts)


def call_id(row: Row) -> str:
    """Name a call; one without a name has its place."""
    came = row.entry if row.tool or row.result is None else row.result.entry
    return str(came.get("call-id", row.place))


def _part(part: Part) -> Native:
    if isinstance(part, Text):
        return {"type": "text", "content": part.text}
    if isinstance(part, Image):
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
