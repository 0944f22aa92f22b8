"""Goose: the database `sessions.db`, and the session files of older versions.

`reader` turns a session into a record; `labels` knows who wrote a message and how a call ended;
`tools` knows what its tools do to files.

    >>> from vacr.agents import find_agent
    >>> find_agent("goose").tools["edit"].value
    'replace'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.goose import reader
from vacr.agents.tool_calls import EDITOR_COMMANDS, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, RunShell, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Goose(Agent):
    """Block's agent Goose."""

    name = reader.name
    title = "Goose"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    databases = reader.DATABASES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "developer__text_editor": ToolEffect.REPLACE,
        "edit": ToolEffect.REPLACE,
        "write": ToolEffect.WRITE,
        "shell": ToolEffect.SHELL,
        "developer__shell": ToolEffect.SHELL,
        "analyze": ToolEffect.NONE,
        "delegate": ToolEffect.NONE,
        "developer__analyze": ToolEffect.NONE,
        "developer__image_processor": ToolEffect.NONE,
        "developer__list_windows": ToolEffect.NONE,
        "developer__screen_capture": ToolEffect.NONE,
        "load": ToolEffect.NONE,
        "platform__manage_extensions": ToolEffect.NONE,
        "platform__search_available_extensions": ToolEffect.NONE,
        "todo__todo_read": ToolEffect.NONE,
        "todo__todo_write": ToolEffect.NONE,
        "tree": ToolEffect.NONE,
    }
    tool_commands: ClassVar[Mapping[str, Mapping[str, ToolEffect]]] = {
        "developer__text_editor": {
            **EDITOR_COMMANDS,
            "write": ToolEffect.WRITE,
            "edit_file": ToolEffect.UNPLACED_EDIT,
        }
    }
    """The older editor has commands."""

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Goose's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the session in an export or a file."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: a person, a parent agent, or Goose itself."""
        speaker: Speaker = load_function("vacr.agents.goose.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the flags of its result and the code of its command."""
        outcome: Outcome = load_function("vacr.agents.goose.labels", "classify_outcome")(result)
        return outcome

    def tool_effect(self, call: ToolCall) -> ToolEffect | None:
        """Return the effect of a call; a diff or another model decides some replacements."""
        from vacr.agents.goose.tools import EDITOR_TOOL, has_unstated_edit

        if call.name == EDITOR_TOOL and has_unstated_edit(call):
            return ToolEffect.UNPLACED_EDIT
        return super().tool_effect(call)

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions, by its arguments and the result that the model sees."""
        from vacr.agents.goose.tools import simplify_call

        return super().file_actions(simplify_call(call))

    def shell_run(self, call: ToolCall) -> RunShell | None:
        """Return the script that a shell call ran, with the result that the model sees."""
        from vacr.agents.goose.tools import simplify_call

        return super().shell_run(simplify_call(call))

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text that a call wrote, and whether the file is new."""
        from vacr.agents.goose.tools import build_file_report

        return build_file_report(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the lines that a view showed."""
        from vacr.agents.goose.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.goose.tools import parse_shell_output

        return parse_shell_output(call)


AGENT = Goose()
