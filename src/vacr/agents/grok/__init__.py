"""Grok's command line agent: chat histories in ~/.grok/sessions.

`reader` turns a history into a record, with the facts in the files next to it; `labels` knows who
wrote a message and how a call ended.

    >>> from vacr.agents import find_agent
    >>> find_agent("grok").tools["run_terminal_command"].value
    'shell'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from vacr.agents.agent import Agent, CallReports, SessionStore, Source, load_function
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

TYPED_LINES = frozenset(
    ("system", "user", "assistant", "reasoning", "tool_result", "backend_tool_call")
)
_FOREIGN_MEMBERS = frozenset(("message", "payload", "uuid", "timestamp", "sessionId", "session_id"))
"""Members that no line of Grok has, but lines of other agents with the same types."""
_LINE_NUMBER = re.compile(r" *\d{1,9}→")
_ROLES = frozenset(("system", "user", "assistant", "tool"))


class Grok(Agent):
    """xAI's Grok in the terminal."""

    name = "grok"
    title = "Grok"
    formats = ("grok-jsonl",)
    separate_call_formats = formats
    stores = (SessionStore(("*/*/chat_history.jsonl",), "~/.grok", "GROK_HOME", "sessions"),)
    attached = (
        "summary.json",
        "signals.json",
        "events.jsonl",
        "usage.json",
        "updates.jsonl",
        "rewind_points.jsonl",
        "subagents/*/meta.json",
    )
    described_by = "summary.json"
    parent_note = "*/subagents/{folder}/meta.json"
    sub_agent_sign = b'"subagent"'
    part_name = re.compile(r"[0-9a-f-]{36}/chat_history\.jsonl$")
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        "run_terminal_command": ToolEffect.SHELL,
        "run_terminal_cmd": ToolEffect.SHELL,
        "search_replace": ToolEffect.REPLACE,
        "write": ToolEffect.WRITE,
        "ask_user_question": ToolEffect.NONE,
        "enter_plan_mode": ToolEffect.NONE,
        "exit_plan_mode": ToolEffect.NONE,
        "get_command_or_subagent_output": ToolEffect.NONE,
        "grep": ToolEffect.NONE,
        "kill_command_or_subagent": ToolEffect.NONE,
        "list_dir": ToolEffect.NONE,
        "scheduler_create": ToolEffect.NONE,
        "scheduler_delete": ToolEffect.NONE,
        "scheduler_list": ToolEffect.NONE,
        "search_tool": ToolEffect.NONE,
        "send_feedback": ToolEffect.NONE,
        "spawn_subagent": ToolEffect.NONE,
        "todo_write": ToolEffect.NONE,
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
        speaker: Speaker = load_function("vacr.agents.grok.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the events next to the history, or the words of a result."""
        outcome: Outcome = load_function("vacr.agents.grok.labels", "classify_outcome")(result)
        return outcome

    def task_notice(self, entry: dict[str, Any]) -> Outcome:
        """Return how a command in the background ended, if an entry is the notice of its end."""
        outcome: Outcome = load_function("vacr.agents.grok.labels", "parse_task_notice")(entry)
        return outcome

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the outcomes of calls in the events next to the history."""
        from vacr.agents.grok.labels import ToolEvents

        return ToolEvents(entries)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return whether a write created its file, by the words of its result."""
        from vacr.agents.file_tools import FileReport

        is_write = call.name == "write" and call.output.startswith("The file ")
        created = is_write and call.output.endswith(" has been created.")
        return FileReport(created=True if created else None)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the numbered lines that a read showed; nothing where only some have numbers."""
        del path
        lines = call.output.removesuffix("\n").split("\n")
        return None if all(map(_LINE_NUMBER.match, lines)) else []

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is stated."""
        from vacr.agents.grok.labels import parse_shell_output

        return parse_shell_output(call)


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
