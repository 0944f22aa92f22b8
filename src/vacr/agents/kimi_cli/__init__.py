"""Kimi CLI (the Python program before Kimi Code): sessions in ~/.kimi, as wire files and contexts.

A wire file has everything that happened; a context has only the messages that the model sees.
`wire` and `context` turn them into records, and `tools` reads the results of tools.

    >>> from vacr.agents.kimi_cli import AGENT
    >>> AGENT.recognises([{"type": "metadata", "protocol_version": "1.3"}])
    1.0
    >>> AGENT.recognises([{"role": "_checkpoint", "id": 0}, {"role": "user", "content": "Hi"}])
    1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CallReports, SessionStore, Source, load_function
from vacr.agents.labels import (
    INFERRED_HOST,
    STATED_PARENT_AGENT,
    Speaker,
)
from vacr.agents.tool_calls import ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk

name = "kimi-cli"
formats = ("kimi-wire", "kimi-context")
STORES = (SessionStore(("sessions/*/*/wire.jsonl",), "~/.kimi", "KIMI_SHARE_DIR"),)
# The folders name the working folder, by its MD5, and the session; a sub-agent has one more.
NAMED = re.compile(r"[0-9a-f]{32}/[^/]+/(?:subagents/[^/]+/)?(?:wire|context)[^/]*\.jsonl$")

_CONTEXT_MARKS = frozenset(("_checkpoint", "_usage", "_system_prompt"))
_REMINDER = re.compile(r"\s*<(system-reminder|system)>.*</\1>\s*", re.DOTALL)


def is_wire_line(value: Any) -> bool:
    """Return whether a value has the form of a line of a wire file."""
    if type(value) is not dict:
        return False
    if value.get("type") == "metadata":
        return "protocol_version" in value and "created_at" not in value
    message = value.get("message")
    if type(message) is not dict or message.keys() != {"type", "payload"}:
        return False
    return "timestamp" in value and type(message["type"]) is str


def is_context_mark(value: Any) -> bool:
    """Return whether a value is a line that only a context has."""
    role = value.get("role") if type(value) is dict else None
    return type(role) is str and role in _CONTEXT_MARKS


def _is_context_line(value: Any) -> bool:
    """Return whether a value may be a line of a context."""
    return is_context_mark(value) or (type(value) is dict and "role" in value)


class KimiCli(Agent):
    """Moonshot's Kimi CLI."""

    name = name
    title = "Kimi CLI"
    short_name = ""
    formats = formats
    separate_call_formats = formats
    stores = STORES
    part_name = NAMED
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "ReadFile": ToolEffect.READ,
        "StrReplaceFile": ToolEffect.REPLACE,
        "WriteFile": ToolEffect.WRITE,
        "Shell": ToolEffect.SHELL,
        "Bash": ToolEffect.SHELL,
        "CMD": ToolEffect.SHELL,
        "Grep": ToolEffect.SEARCH,
        "Agent": ToolEffect.NONE,
        "AskUserQuestion": ToolEffect.NONE,
        "CreateSubagent": ToolEffect.NONE,
        "EnterPlanMode": ToolEffect.NONE,
        "ExitPlanMode": ToolEffect.NONE,
        "FetchURL": ToolEffect.NONE,
        "Glob": ToolEffect.NONE,
        "ReadMediaFile": ToolEffect.NONE,
        "SearchWeb": ToolEffect.NONE,
        "SendDMail": ToolEffect.NONE,
        "SetTodoList": ToolEffect.NONE,
        "Task": ToolEffect.NONE,
        "TaskList": ToolEffect.NONE,
        "TaskOutput": ToolEffect.NONE,
        "TaskStop": ToolEffect.NONE,
        "Think": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Kimi CLI's, from 0 to 1."""
        if any(map(is_context_mark, sample)):
            return sum(map(_is_context_line, sample)) / len(sample)
        return sum(map(is_wire_line, sample)) / len(sample) if sample else 0.0

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of one wire file, or of one context."""
        is_context = any(map(_is_context_line, source.main.sample(4)))
        module = "context" if is_context else "wire"
        yield load_function(f"vacr.agents.kimi_cli.{module}", "read")(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message; a reminder in it is the host's."""
        content = entry.get("content")
        blocks = content if type(content) is list else [content]
        texts = [block.get("text") if type(block) is dict else block for block in blocks]
        if texts and all(type(text) is str and _REMINDER.fullmatch(text) for text in texts):
            return INFERRED_HOST
        if "sub-agent" in entry.get("vacr", ()):
            return STATED_PARENT_AGENT
        return super().speaker(entry, record)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by its flag, its message, and the answer to its request."""
        outcome: Outcome = load_function("vacr.agents.kimi_cli.tools", "classify_outcome")(result)
        return outcome

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the answers of the user to requests for a permission."""
        return _Approvals(entries)

    def tool_effect(self, call: ToolCall) -> ToolEffect | None:
        """Return the effect of a call's tool; a write may append to a file."""
        effect = super().tool_effect(call)
        if effect is ToolEffect.WRITE and dict_or_empty(call.input).get("mode") == "append":
            return ToolEffect.UNPLACED_EDIT
        return effect

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; the arguments of an edit have names of their own."""
        from vacr.agents.kimi_cli.tools import rename_edits

        return super().file_actions(rename_edits(call))

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff that the screen showed."""
        from vacr.agents.kimi_cli.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def hunk_readings(self, call: ToolCall) -> list[list[Hunk]]:
        """Return the hunks of a write that appends, whose arguments do not state the place."""
        if self.tool_effect(call) is not ToolEffect.UNPLACED_EDIT:
            return []
        hunks = self.recorded_hunks(call, ())
        return [hunks] if hunks else []

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the numbered lines that a read showed."""
        from vacr.agents.kimi_cli.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is stated."""
        from vacr.agents.kimi_cli.tools import parse_shell_output

        return parse_shell_output(call)

    def chain_of(self, entry: dict[str, Any]) -> str:
        """Return the sub-agent whose call this is, or an empty text."""
        agent = dict_or_empty(entry.get("vacr")).get("sub-agent")
        return agent if isinstance(agent, str) else ""

    def project_folder(self, record: dict[str, Any]) -> str:
        """Return the folder of a session; Kimi CLI records only its MD5."""
        from vacr.agents.gemini.tools import find_hashed_folder

        session = record["session"]
        digest = session.get("workDirHash")
        folder = super().project_folder(record)
        if folder or not isinstance(digest, str):
            return folder
        return find_hashed_folder(digest, session.get("entries"), "md5")


class _Approvals(CallReports):
    """The answers to requests for a permission, by call."""

    def __init__(self, entries: Sequence[Any]) -> None:
        """Collect the last answer for each call."""
        self._answers: dict[str, str] = {}
        requests: dict[Any, Any] = {}
        for entry in entries:
            if entry.get("event-type") not in ("ApprovalRequest", "ApprovalResponse"):
                continue
            payload = dict_or_empty(dict_or_empty(entry.get("data")).get("payload"))
            if entry["event-type"] == "ApprovalRequest":
                if isinstance(payload.get("id"), str):
                    requests[payload["id"]] = payload.get("tool_call_id")
                continue
            request = payload.get("request_id")
            call_id = requests.get(request) if isinstance(request, str) else None
            if isinstance(call_id, str) and isinstance(payload.get("response"), str):
                self._answers[call_id] = payload["response"]

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the answer about a call; empty if nobody was asked."""
        del result
        answer = self._answers.get(call_id)
        return {} if answer is None else {"answer": answer}


AGENT = KimiCli()
