"""Qwen Code: chats in ~/.qwen, one JSON object a line; early versions wrote one JSON value.

`reader` turns a chat into a record. An early chat has the form of Gemini CLI's, so the reader of
that agent reads it. `tools` and `labels` know what differs from Gemini CLI.

    >>> from vacr.agents.qwen import AGENT
    >>> line = {"uuid": "u-1", "sessionId": "s-1", "type": "user", "message": {"parts": []}}
    >>> AGENT.recognises([line])
    1.0
    >>> message = {"id": "m-1", "type": "qwen", "timestamp": "2025-11-01T00:00:00Z"}
    >>> AGENT.recognises([{"sessionId": "s-1", "messages": [message]}])
    1.0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import CallReports, SessionStore, Source, load_function
from vacr.agents.gemini_family import GeminiFamily
from vacr.agents.tool_calls import ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk

name = "qwen-code"
formats = ("qwen-jsonl", "qwen-json", "qwen-log")
_SESSION_PATTERNS = (
    "projects/*/chats/*.jsonl",
    "projects/*/subagents/*/agent-*.jsonl",
    "tmp/*/chats/*.json",
)
STORES = (
    SessionStore(_SESSION_PATTERNS, "~/.qwen", "QWEN_HOME", unless="QWEN_RUNTIME_DIR"),
    SessionStore(_SESSION_PATTERNS, "", "QWEN_RUNTIME_DIR"),
)
_LINE_TYPES = frozenset(("user", "assistant", "tool_result", "system"))
_EARLY_ANSWER_TYPE = "qwen"


def is_qwen_line(value: Any) -> bool:
    """Return whether a value has the form of a line of Qwen Code."""
    if type(value) is not dict or "uuid" not in value or "sessionId" not in value:
        return False
    kind, message = value.get("type"), value.get("message")
    if type(kind) is not str or kind not in _LINE_TYPES:
        return False
    if type(message) is dict:
        return type(message.get("parts")) is list
    return kind == "system" and ("systemPayload" in value or "subtype" in value)


def is_early_qwen_value(value: Any) -> bool:
    """Return whether a value is a chat of an early version, or a message of one."""
    if type(value) is not dict:
        return False
    if value.get("type") == _EARLY_ANSWER_TYPE:
        return "timestamp" in value and "id" in value
    messages = value.get("messages")
    return (
        "sessionId" in value and type(messages) is list and any(map(is_early_qwen_value, messages))
    )


def _is_early_value(value: Any) -> bool:
    """Return whether a value is of an early version, also if the model never answered."""
    is_chat = type(value) is dict and "sessionId" in value and type(value.get("messages")) is list
    return is_chat or is_early_qwen_value(value)


class QwenCode(GeminiFamily):
    """Qwen Code, a descendant of Gemini CLI."""

    name = name
    title = "Qwen Code"
    short_name = "qwen"
    formats = formats
    separate_call_formats = formats[1:]
    stores = STORES
    attached = ("{stem}.meta.json",)
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "replace": ToolEffect.REPLACE,
        "write_file": ToolEffect.WRITE,
        "notebook_edit": ToolEffect.UNPLACED_EDIT,
        "run_shell_command": ToolEffect.SHELL,
        "grep_search": ToolEffect.SEARCH,
        "search_file_content": ToolEffect.SEARCH,
        "read_many_files": ToolEffect.READ_MANY,
        "agent": ToolEffect.NONE,
        "ask_user_question": ToolEffect.NONE,
        "exit_plan_mode": ToolEffect.NONE,
        "glob": ToolEffect.NONE,
        "list_directory": ToolEffect.NONE,
        "lsp": ToolEffect.NONE,
        "save_memory": ToolEffect.NONE,
        "skill": ToolEffect.NONE,
        "task": ToolEffect.NONE,
        "todo_write": ToolEffect.NONE,
        "web_fetch": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Qwen Code's, from 0 to 1."""
        if not sample:
            return 0.0
        lines = sum(is_qwen_line(value) or is_early_qwen_value(value) for value in sample)
        return lines / len(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of a chat, or of each chat in a file of an early version."""
        if any(map(_is_early_value, source.main.sample(4))):
            yield from load_function("vacr.agents.qwen.reader", "read_early_chats")(source)
        else:
            yield load_function("vacr.agents.qwen.reader", "read")(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by its subtype and its parts."""
        speaker: Speaker = load_function("vacr.agents.qwen.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the host's report and the status."""
        outcome: Outcome = load_function("vacr.agents.qwen.labels", "classify_outcome")(result)
        return outcome

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the reports about calls: `toolCallResult`, which lies next to a result."""
        return _ToolCallReports(entries)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the report in `resultDisplay` about the file of a call."""
        from vacr.agents.qwen.tools import build_file_report

        return build_file_report(call)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in `resultDisplay`."""
        from vacr.agents.qwen.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the file that a read showed, or the part of it that a note names."""
        from vacr.agents.qwen.tools import parse_shown_file

        return parse_shown_file(call, path)


class _ToolCallReports(CallReports):
    """The reports that lie next to the results, in the entries that hold them."""

    def __init__(self, entries: Sequence[Any]) -> None:
        """Collect the report of each call; the first about a call counts."""
        self._reports: dict[str, dict[str, Any]] = {}
        for entry in entries:
            report = dict_or_empty(entry.get("toolCallResult"))
            call_id = report.get("callId")
            if isinstance(call_id, str):
                self._reports.setdefault(call_id, report)

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the report about a call; empty without one."""
        del result
        return self._reports.get(call_id, {})


AGENT = QwenCode()
