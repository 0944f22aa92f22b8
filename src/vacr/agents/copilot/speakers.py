"""Who wrote a user message of Copilot CLI.

The host states the origin of a message that nobody typed: a skill, another agent, or the loop of
autopilot. `content` has the text that the person typed, and `transformedContent` the text with the
additions of the host for the model.

    >>> from vacr.agents.copilot.speakers import classify_speaker
    >>> entry = {"type": "user", "content": "Go on.", "data": {"source": "skill-review"}}
    >>> classify_speaker(entry, {"session": {}}).who
    'host'
"""

from __future__ import annotations

from typing import Any

from vacr.agents.labels import (
    INFERRED_HOST,
    INFERRED_PARENT_AGENT,
    INFERRED_UNKNOWN,
    STATED_HOST,
    STATED_PARENT_AGENT,
    Speaker,
    infer_speaker,
)
from vacr.agents.tool_calls import dict_or_empty

_AGENT_SOURCE = "agent-"
_HOST_SOURCES = ("skill-", "system", "schedule", "autopilot", "hook", "notification")
_TYPED_SOURCES = ("user", "human", "cli")


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, by its stated origin or else by the kind of session."""
    data = dict_or_empty(entry.get("data"))
    source = data.get("source")
    if data.get("isAutopilotContinuation") is True:
        return STATED_HOST
    if type(source) is str and source:
        if source.startswith(_AGENT_SOURCE):
            return STATED_PARENT_AGENT
        if source.startswith(_HOST_SOURCES):
            return STATED_HOST
        if source not in _TYPED_SOURCES:
            return INFERRED_UNKNOWN
    if isinstance(entry.get("agentId"), str):
        return INFERRED_PARENT_AGENT
    if not entry.get("content"):
        # Nobody typed a word; the text for the model is the host's.
        return INFERRED_HOST
    return infer_speaker(record)


def has_own_text(entry: dict[str, Any]) -> bool:
    """Return whether a message has text, typed or written by the host for the model."""
    return bool(entry.get("content") or dict_or_empty(entry.get("data")).get("transformedContent"))
