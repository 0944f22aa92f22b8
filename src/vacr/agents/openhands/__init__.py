"""OpenHands: conversations as folders of events, lists of events, and outputs of benchmarks.

`reader` turns events into a record; `labels` knows how a call ended, and the files around it.

    >>> from vacr.agents import find_agent
    >>> find_agent("openhands").tools["terminal"].value
    'shell'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, ShellBehaviour, Source, load_function
from vacr.agents.openhands import reader
from vacr.agents.tool_calls import EDITOR_COMMANDS, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading


class OpenHands(Agent):
    """The open-source agent OpenHands, and its software agent SDK."""

    name = reader.name
    title = "OpenHands"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    folder = reader.FOLDER
    shell = ShellBehaviour(keeps_folder=True, reports_folder=True)
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "terminal": ToolEffect.SHELL,
        "execute_bash": ToolEffect.SHELL,
        "run": ToolEffect.SHELL,
        "apply_patch": ToolEffect.PATCH,
        "browse": ToolEffect.NONE,
        "browse_interactive": ToolEffect.NONE,
        "finish": ToolEffect.NONE,
        "glob": ToolEffect.NONE,
        "grep": ToolEffect.NONE,
        "recall": ToolEffect.NONE,
        "task_tracker": ToolEffect.NONE,
        "think": ToolEffect.NONE,
    }
    tool_commands: ClassVar[Mapping[str, Mapping[str, ToolEffect]]] = dict.fromkeys(
        ("file_editor", "str_replace_editor", "edit"), EDITOR_COMMANDS
    )

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is OpenHands', from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a source."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by the source of its event."""
        speaker: Speaker = load_function("vacr.agents.openhands.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the observation that answers it."""
        outcome: Outcome = load_function("vacr.agents.openhands.labels", "classify_outcome")(result)
        return outcome

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text of the file before and after a call of the editor."""
        from vacr.agents.openhands.labels import build_file_report

        return build_file_report(call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.openhands.labels import parse_shell_output

        return parse_shell_output(call)

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the folder of the shell after a command, or None."""
        from vacr.agents.openhands.labels import get_left_folder

        return get_left_folder(entry)


AGENT = OpenHands()
