"""Zed's own agent: the threads in its database.

`database` reads the rows, `reader` turns a thread into a record, and `tools` knows how a call ended
and what it did to files.

    >>> from vacr.agents import find_agent
    >>> find_agent("zed").tools["write_file"].value
    'sketch'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect
from vacr.agents.zed import reader

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, RunShell, ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Zed(Agent):
    """The agent of the editor Zed."""

    name = reader.name
    title = "Zed"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    databases = reader.DATABASES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        # The result has the whole text of the file, whatever the arguments are.
        "edit_file": ToolEffect.UNPLACED_EDIT,
        "write_file": ToolEffect.UNPLACED_EDIT,
        "apply_code_action": ToolEffect.NONE,
        "ask_user": ToolEffect.NONE,
        "create_directory": ToolEffect.NONE,
        "delete_path": ToolEffect.DELETE,
        "diagnostics": ToolEffect.NONE,
        "fetch": ToolEffect.NONE,
        "find_path": ToolEffect.NONE,
        "find_references": ToolEffect.NONE,
        "go_to_definition": ToolEffect.NONE,
        "grep": ToolEffect.NONE,
        "list_directory": ToolEffect.NONE,
        "now": ToolEffect.NONE,
        "open": ToolEffect.NONE,
        "skill": ToolEffect.NONE,
        "spawn_agent": ToolEffect.NONE,
        "terminal": ToolEffect.SHELL,
        "thinking": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return 1 for an export of Zed's database, else 0."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the thread in an export."""
        return reader.read(source)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by its flag and the host's words around the output."""
        outcome: Outcome = load_function("vacr.agents.zed.tools", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; a path may begin with the name of the project's folder."""
        from vacr.agents.zed.tools import simplify_call
        from vacr.edits import FileMove

        simple = simplify_call(call)
        if call.name != "move_path":
            return super().file_actions(simple)
        moved = simple.input if type(simple.input) is dict else {}
        source, target = moved.get("source_path"), moved.get("destination_path")
        if call.state != CALL_DONE or type(source) is not str or type(target) is not str:
            return ()
        return (FileMove(source, target),)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text of a file before and after an edit."""
        from vacr.agents.zed.tools import build_file_report

        return build_file_report(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the numbered lines that a read showed."""
        from vacr.agents.zed.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_run(self, call: ToolCall) -> RunShell | None:
        """Return the script that a call ran, in the folder that the call names; None for none."""
        from vacr.agents.zed.tools import resolve_path, simplify_call

        run = super().shell_run(simplify_call(call))
        folder = call.input.get("cd") if type(call.input) is dict else None
        if run is None or type(folder) is not str:
            return run
        return replace(run, folder=resolve_path(folder, call.top))

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.zed.tools import parse_shell_output

        return parse_shell_output(call)


AGENT = Zed()
