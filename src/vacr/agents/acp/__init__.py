"""Agents that speak the Agent Client Protocol, recorded by `vacr acp`.

The protocol names the kind of each call (`edit`, `execute`, …) instead of the agent's tool, and
shows changes of files as old and new text. So one description serves all agents that speak it:

    >>> from vacr.agents import find_agent
    >>> find_agent("acp").tools["execute"].value
    'shell'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.acp import reader
from vacr.agents.agent import Agent, CallReports, Source, load_function
from vacr.agents.labels import DENIED, NO_RESULT
from vacr.agents.tool_calls import (
    CONTENT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATCH_ARGUMENTS,
    ToolCall,
    ToolEffect,
    get_text_argument,
)

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class AgentClientProtocol(Agent):
    """Any agent behind `vacr acp`."""

    name = reader.name
    formats = (reader.FORMAT,)
    is_relay = True
    stores = reader.STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read": ToolEffect.READ,
        "edit": ToolEffect.UNPLACED_EDIT,
        "delete": ToolEffect.DELETE,
        "move": ToolEffect.UNPLACED_EDIT,
        "execute": ToolEffect.SHELL,
        "search": ToolEffect.NONE,
        "think": ToolEffect.NONE,
        "fetch": ToolEffect.NONE,
        "switch_mode": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is lines of a transcript, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a transcript."""
        return reader.read(source)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by its status, its exit code and the answer of a person."""
        outcome: Outcome = load_function("vacr.agents.acp.calls", "classify_outcome")(result)
        return outcome

    def missing_result(self, call: dict[str, Any], message: dict[str, Any]) -> str:
        """Return `denied` for a call that a person rejected, else `no-result`."""
        del message
        permission = call.get("vacr", {}).get(reader.PERMISSION_MARK)
        return DENIED if permission == "rejected" else NO_RESULT

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the changes of files that calls and their updates show."""
        reports: CallReports = load_function("vacr.agents.acp.calls", "collect_reports")(entries)
        return reports

    def tool_effect(self, call: ToolCall) -> ToolEffect | None:
        """Return the effect of a kind of call, for an edit by its arguments; None if unknown."""
        effect = self.tools.get(call.name)
        if call.name != "edit":
            return effect
        if get_text_argument(call.input, OLD_TEXT_ARGUMENTS) is not None:
            return ToolEffect.REPLACE
        if get_text_argument(call.input, PATCH_ARGUMENTS) is not None:
            return ToolEffect.PATCH
        if get_text_argument(call.input, CONTENT_ARGUMENTS) is not None:
            return ToolEffect.WRITE
        return effect

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the changes that the protocol shows, or else those in the arguments."""
        from vacr.agents.acp.calls import parse_shown_changes

        changes = parse_shown_changes(call)
        return super().file_actions(call) if changes is None else changes

    def observations(self, entry: dict[str, Any]) -> Iterable[FileAction]:
        """Yield the file that the editor showed to the agent."""
        from vacr.agents.acp.calls import parse_editor_read

        return parse_editor_read(entry)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where the agent states it."""
        from vacr.agents.acp.calls import parse_shell_output

        return parse_shell_output(call)


AGENT = AgentClientProtocol()
