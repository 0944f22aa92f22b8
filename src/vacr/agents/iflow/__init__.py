"""iFlow: transcripts in ~/.iflow/projects, one JSON object a line.

The lines have the form of Claude Code's transcripts, and the tools are Gemini CLI's. So the readers
and the tools of these agents are used; `results` knows how iFlow wraps the results of calls.

    >>> from vacr.agents.iflow import AGENT
    >>> session = "session-1f0e77aa-3c52-4b8e-9d11-0a4c8e2f6b35"
    >>> AGENT.recognises([{"uuid": "u-1", "sessionId": session, "type": "user", "message": {}}])
    1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import SessionStore, Source, load_function
from vacr.agents.gemini_family import GeminiFamily
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

name = "iflow"
formats = ("iflow-jsonl",)
STORES = (SessionStore(("projects/*/*.jsonl",), "~/.iflow"),)
_SESSION_ID = re.compile(r"session-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_iflow_line(value: Any) -> bool:
    """Return whether a line has a session id in the form that only iFlow writes."""
    if type(value) is not dict or "uuid" not in value:
        return False
    session_id = value.get("sessionId")
    return type(session_id) is str and _SESSION_ID.fullmatch(session_id) is not None


class IFlow(GeminiFamily):
    """iFlow CLI, whose tools descend from Gemini CLI's."""

    name = name
    title = "iFlow"
    formats = formats
    stores = STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        **GeminiFamily.tools,
        "multi_edit": ToolEffect.REPLACE,
        "ask_user_question": ToolEffect.NONE,
        "exit_plan_mode": ToolEffect.NONE,
        "save_memory": ToolEffect.NONE,
        "task": ToolEffect.NONE,
        "todo_read": ToolEffect.NONE,
        "todo_write": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is iFlow's, from 0 to 1."""
        return sum(map(is_iflow_line, sample)) / len(sample) if sample else 0.0

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of one transcript."""
        reading = load_function("vacr.agents.claude_code.reader", "read_transcript")(
            source, formats[0], name, "unknown"
        )
        load_function("vacr.agents.iflow.results", "mark_repeated_calls")(reading.record)
        yield reading

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the status next to its result, and by the result."""
        outcome: Outcome = load_function("vacr.agents.iflow.results", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterator[FileAction]:
        """Yield a call's file actions, by the result inside iFlow's wrapper."""
        from vacr.agents.iflow.results import unwrap_call

        return super().file_actions(unwrap_call(call))


AGENT = IFlow()
