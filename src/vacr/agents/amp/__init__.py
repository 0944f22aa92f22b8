"""Amp, the agent of Sourcegraph.

`reader` turns threads into records; `tools` knows what results show, and how a call ended.

    >>> from vacr.agents import find_agent
    >>> find_agent("amp").tools["edit_file"].value
    'replace'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.amp import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class Amp(Agent):
    """Amp, on the command line and in editors."""

    name = reader.name
    title = "Amp"
    formats = reader.formats
    stores = reader.STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "Read": ToolEffect.READ,
        "edit_file": ToolEffect.REPLACE,
        "create_file": ToolEffect.WRITE,
        "undo_edit": ToolEffect.UNPLACED_EDIT,
        "format_file": ToolEffect.UNPLACED_EDIT,
        "Bash": ToolEffect.SHELL,
        "Grep": ToolEffect.NONE,
        "glob": ToolEffect.NONE,
        "finder": ToolEffect.NONE,
        "list_directory": ToolEffect.NONE,
        "Task": ToolEffect.NONE,
        "oracle": ToolEffect.NONE,
        "librarian": ToolEffect.NONE,
        "read_web_page": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
        "todo_read": ToolEffect.NONE,
        "todo_write": ToolEffect.NONE,
        "get_diagnostics": ToolEffect.NONE,
        "mermaid": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Amp's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the threads in a file."""
        return reader.read(source)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the status of its run."""
        outcome: Outcome = load_function("vacr.agents.amp.tools", "classify_outcome")(result)
        return outcome

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in the result of an edit."""
        from vacr.agents.amp.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the lines that a read showed."""
        from vacr.agents.amp.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code."""
        from vacr.agents.amp.tools import get_exit_code
        from vacr.agents.file_tools import ShellOutput

        return ShellOutput(call.output, code=get_exit_code(call))


AGENT = Amp()
