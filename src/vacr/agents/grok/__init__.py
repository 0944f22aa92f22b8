"""Grok's command line agent: chat histories in ~/.grok/sessions.

`reader` turns a history into a record, with the facts in `summary.json` next to it.

    >>> from vacr.agents import find_agent
    >>> find_agent("grok").tools["run_terminal_cmd"].value
    'shell'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from vacr.agents.agent import Agent, SessionStore, Source, load_function
from vacr.agents.labels import HOST, HUMAN, STATED, Speaker, infer_speaker
from vacr.agents.tool_calls import ToolEffect

if TYPE_CHECKING:
    from vacr.agents.lift import Reading

TYPED_LINES = frozenset(
    ("system", "user", "assistant", "reasoning", "tool_result", "backend_tool_call")
)
_FOREIGN_MEMBERS = frozenset(("message", "payload", "uuid", "timestamp", "sessionId", "session_id"))
"""Members that no line of Grok has, but lines of other agents with the same types."""
_ROLES = frozenset(("system", "user", "assistant", "tool"))
_PERSONS_REASON = "interjection"
"""The `synthetic_reason` of a text that a person typed while the agent worked."""


class Grok(Agent):
    """xAI's Grok in the terminal."""

    name = "grok"
    title = "Grok"
    formats = ("grok-jsonl",)
    separate_call_formats = formats
    stores = (SessionStore(("*/*/chat_history.jsonl",), "~/.grok", "GROK_HOME", "sessions"),)
    attached = ("summary.json", "signals.json")
    part_name = re.compile(r"[0-9a-f-]{36}/chat_history\.jsonl$")
    # The names of the tools that change files are not known.
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        "run_terminal_cmd": ToolEffect.SHELL,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Grok's, from 0 to 1."""
        if any(map(_is_typical, sample)):
            return sum(map(_is_typed_line, sample)) / len(sample)
        if any(map(_is_old_answer, sample)):
            return sum(map(_is_old_line, sample)) / len(sample)
        return 0.0

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the conversation in a history."""
        readings: Iterator[Reading] = load_function("vacr.agents.grok.reader", "read")(source)
        return readings

    def project_of_store_folder(self, folder: str) -> str:
        """Return the project: a folder is named after its path, as in a URL."""
        return unquote(folder)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: the host states a reason for its own texts."""
        reason = entry.get("synthetic_reason")
        if reason is not None and reason != _PERSONS_REASON:
            return Speaker(HOST, STATED)
        inferred = infer_speaker(record)
        return Speaker(HUMAN, STATED) if reason is not None else inferred


def _is_typed_line(value: Any) -> bool:
    """Return whether a value may be a line of the current form."""
    return (
        type(value) is dict
        and type(value.get("type")) is str
        and value["type"] in TYPED_LINES
        and _FOREIGN_MEMBERS.isdisjoint(value)
    )


def _is_typical(value: Any) -> bool:
    """Return whether a value is a line that only Grok writes."""
    if not _is_typed_line(value):
        return False
    kind = value["type"]
    if kind == "assistant":
        return type(value.get("model_id")) is str and "content" in value
    if kind == "user":
        return "prompt_index" in value or "synthetic_reason" in value
    return (kind == "tool_result" and "tool_call_id" in value) or (
        kind == "backend_tool_call" and type(value.get("kind")) is dict
    )


def _is_old_line(value: Any) -> bool:
    """Return whether a value may be a line of the old form, a message of OpenAI chat."""
    return (
        type(value) is dict
        and type(value.get("role")) is str
        and value["role"] in _ROLES
        and "content" in value
        and _FOREIGN_MEMBERS.isdisjoint(value)
    )


def _is_old_answer(value: Any) -> bool:
    """Return whether a value is an answer of the old form: it names the model as `model_id`."""
    return (
        _is_old_line(value) and value["role"] == "assistant" and type(value.get("model_id")) is str
    )


AGENT = Grok()
