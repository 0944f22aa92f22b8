"""Kimi Code: wire files in ~/.kimi-code/sessions, one JSON object a line.

`reader` turns a wire file into a record, and `tools` reads the results of its tools.

    >>> from vacr.agents.kimi_code import AGENT
    >>> AGENT.recognises([{"type": "metadata", "protocol_version": "1.5", "created_at": 1}])
    1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CallReports, SessionStore, Source, load_function
from vacr.agents.labels import (
    HOOK,
    HOST,
    STATED,
    STATED_HUMAN,
    STATED_PARENT_AGENT,
    Speaker,
)
from vacr.agents.tool_calls import ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

name = "kimi-code"
formats = ("kimi-code-jsonl",)
STORES = (SessionStore(("sessions/*/*/agents/*/wire.jsonl",), "~/.kimi-code", "KIMI_CODE_HOME"),)
# Only the folders of a wire file name the session, and the sub-agent.
NAMED = re.compile(r"[^/]+/agents/[^/]+/wire\.jsonl$")

_LINE_TYPE = re.compile(
    r"(?:agent|config|context|cron|file_history|forked|full_compaction|goal|llm|permission"
    r"|plan_mode|plugin|profile|prompt|runtime|subagent|swarm_mode|task|token_counting|tools|turn"
    r"|usage)"
    r"(?:\.[a-z_]+)+"
)
_HUMAN_ORIGINS = frozenset(("user",))
_HOOK_ORIGINS = frozenset(("hook", "hook_result"))
_SUB_AGENT_TRIGGER = "subagent"


def is_kimi_code_line(value: Any) -> bool:
    """Return whether a value has the form of a line of a wire file."""
    if type(value) is not dict:
        return False
    kind = value.get("type")
    if type(kind) is not str:
        return _is_state(value)
    if kind == "metadata":
        return "protocol_version" in value and "created_at" in value
    return _LINE_TYPE.fullmatch(kind) is not None and "timestamp" not in value


def _is_state(value: dict[str, Any]) -> bool:
    """Return whether a value is the state of a session, a file next to its wire files."""
    agents = value.get("agents")
    return type(agents) is dict and "main" in agents and "createdAt" in value


class KimiCode(Agent):
    """Moonshot's Kimi Code."""

    name = name
    title = "Kimi Code"
    short_name = ""
    formats = formats
    separate_call_formats = formats
    stores = STORES
    part_name = NAMED
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "Read": ToolEffect.READ,
        "Edit": ToolEffect.REPLACE,
        "Write": ToolEffect.WRITE,
        "Bash": ToolEffect.SHELL,
        "Grep": ToolEffect.SEARCH,
        "Agent": ToolEffect.NONE,
        "AgentSwarm": ToolEffect.NONE,
        "AskUserQuestion": ToolEffect.NONE,
        "CreateGoal": ToolEffect.NONE,
        "CronCreate": ToolEffect.NONE,
        "CronDelete": ToolEffect.NONE,
        "CronList": ToolEffect.NONE,
        "EnterPlanMode": ToolEffect.NONE,
        "ExitPlanMode": ToolEffect.NONE,
        "FetchURL": ToolEffect.NONE,
        "GetGoal": ToolEffect.NONE,
        "Glob": ToolEffect.NONE,
        "ReadMediaFile": ToolEffect.NONE,
        "SetGoalBudget": ToolEffect.NONE,
        "Skill": ToolEffect.NONE,
        "TaskList": ToolEffect.NONE,
        "TaskOutput": ToolEffect.NONE,
        "TaskStop": ToolEffect.NONE,
        "TodoList": ToolEffect.NONE,
        "UpdateGoal": ToolEffect.NONE,
        "WebSearch": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Kimi Code's, from 0 to 1."""
        return sum(map(is_kimi_code_line, sample)) / len(sample) if sample else 0.0

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of one wire file."""
        yield load_function("vacr.agents.kimi_code.reader", "read")(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by the origin that the message states."""
        origin = dict_or_empty(dict_or_empty(entry.get("message")).get("origin"))
        kind = origin.get("kind")
        if not isinstance(kind, str):
            return super().speaker(entry, record)
        if kind in _HUMAN_ORIGINS:
            return STATED_HUMAN
        if origin.get("name") == _SUB_AGENT_TRIGGER:
            return STATED_PARENT_AGENT
        return Speaker(HOOK if kind in _HOOK_ORIGINS else HOST, STATED)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by its flag, its text, and the answer to its request."""
        outcome: Outcome = load_function("vacr.agents.kimi_code.tools", "classify_outcome")(result)
        return outcome

    def task_notice(self, entry: dict[str, Any]) -> Outcome:
        """Return how a command in the background ended, if an entry is the event of its end."""
        outcome: Outcome = load_function("vacr.agents.kimi_code.tools", "parse_task_notice")(entry)
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

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the numbered lines that a read showed."""
        from vacr.agents.kimi_code.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is stated."""
        from vacr.agents.kimi_code.tools import parse_shell_output

        return parse_shell_output(call)

    def model_of(self, entry: dict[str, Any]) -> str | None:
        """Return the model that a request names, or None; the entries after it have the same."""
        model = self._get_request(entry).get("model")
        return model if isinstance(model, str) else super().model_of(entry)

    def provider_of(self, entry: dict[str, Any]) -> str | None:
        """Return the provider that a request names, or None."""
        provider = self._get_request(entry).get("provider")
        return provider if isinstance(provider, str) else None

    @staticmethod
    def _get_request(entry: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a request to the model; empty for any other entry."""
        is_request = entry.get("event-type") == "llm.request"
        return dict_or_empty(entry.get("data")) if is_request else {}


class _Approvals(CallReports):
    """The answers to requests for a permission, by call."""

    def __init__(self, entries: Sequence[Any]) -> None:
        """Collect the last answer for each call."""
        self._answers: dict[str, dict[str, Any]] = {}
        for entry in entries:
            if entry.get("event-type") != "permission.record_approval_result":
                continue
            data = dict_or_empty(entry.get("data"))
            if isinstance(data.get("toolCallId"), str):
                self._answers[data["toolCallId"]] = dict_or_empty(data.get("result"))

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the decision about a call; empty if nobody was asked."""
        del result
        decision = self._answers.get(call_id, {}).get("decision")
        return {} if decision is None else {"decision": decision}


AGENT = KimiCode()
