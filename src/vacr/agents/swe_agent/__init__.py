"""SWE-agent: trajectories of runs on a repository.

`reader` turns a trajectory into a record; `labels` knows how a call ended, and its effect on files.

    >>> from vacr.agents import find_agent
    >>> find_agent("swe-agent").shell.reports_folder
    True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, ShellBehaviour, Source, load_function
from vacr.agents.lift import is_number
from vacr.agents.swe_agent import reader
from vacr.agents.tool_calls import EDITOR_COMMANDS, ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class SweAgent(Agent):
    """SWE-agent of Princeton and Stanford."""

    name = reader.name
    title = "SWE-agent"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    shell = ShellBehaviour(keeps_folder=True, reports_folder=True)
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "bash": ToolEffect.SHELL,
        "edit": ToolEffect.UNPLACED_EDIT,
        "insert": ToolEffect.UNPLACED_EDIT,
        "create": ToolEffect.UNPLACED_EDIT,
        "exit_forfeit": ToolEffect.NONE,
        "filemap": ToolEffect.NONE,
        "find_file": ToolEffect.NONE,
        "goto": ToolEffect.NONE,
        "open": ToolEffect.NONE,
        "scroll_down": ToolEffect.NONE,
        "scroll_up": ToolEffect.NONE,
        "search_dir": ToolEffect.NONE,
        "search_file": ToolEffect.NONE,
        "submit": ToolEffect.NONE,
    }
    tool_commands: ClassVar[Mapping[str, Mapping[str, ToolEffect]]] = {
        "str_replace_editor": EDITOR_COMMANDS
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is SWE-agent's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the trajectories in a source."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: the task, or the host."""
        speaker: Speaker = load_function("vacr.agents.swe_agent.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown unless the editor says it."""
        outcome: Outcome = load_function("vacr.agents.swe_agent.labels", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; an edit must have succeeded by the host's words."""
        from vacr.agents.swe_agent.labels import derive_actions

        return derive_actions(self, call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command without the prompt that the host adds."""
        from vacr.agents.file_tools import ShellOutput
        from vacr.agents.swe_agent.labels import split_prompt

        return ShellOutput(split_prompt(call.output)[0].removeprefix("OBSERVATION:\n"))

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the folder of the shell after a call, or None."""
        from vacr.agents.swe_agent.labels import get_left_folder

        return get_left_folder(entry)

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the cost of the run in dollars, or None if it is not stated."""
        info = dict_or_empty(record["session"].get("info"))
        cost = dict_or_empty(info.get("model_stats")).get("instance_cost")
        return cost if is_number(cost) else None


AGENT = SweAgent()
