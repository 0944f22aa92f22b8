"""Droid, the agent of Factory.

`reader` turns sessions and streams into records; `tools` knows what results show, how a call ended,
and who wrote a message.

    >>> from vacr.agents import find_agent
    >>> find_agent("droid").tools["ApplyPatch"].value
    'patch'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.droid import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Droid(Agent):
    """Factory's Droid."""

    name = reader.name
    title = "Droid"
    formats = reader.formats
    stores = reader.STORES
    attached = reader.ATTACHED
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "Read": ToolEffect.READ,
        "Create": ToolEffect.WRITE,
        "Edit": ToolEffect.REPLACE,
        "MultiEdit": ToolEffect.REPLACE,
        "ApplyPatch": ToolEffect.PATCH,
        "Execute": ToolEffect.SHELL,
        "Shell": ToolEffect.SHELL,
        "LS": ToolEffect.NONE,
        "Grep": ToolEffect.NONE,
        "Glob": ToolEffect.NONE,
        "TodoWrite": ToolEffect.NONE,
        "Task": ToolEffect.NONE,
        "WebSearch": ToolEffect.NONE,
        "FetchUrl": ToolEffect.NONE,
        "ExitSpecMode": ToolEffect.NONE,
        "AskUser": ToolEffect.NONE,
        "Skill": ToolEffect.NONE,
        "TaskOutput": ToolEffect.NONE,
        "TaskStop": ToolEffect.NONE,
        "ToolSearch": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Droid's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of a session or a stream."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, without the host's reminders."""
        speaker: Speaker = load_function("vacr.agents.droid.tools", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the words of the result."""
        outcome: Outcome = load_function("vacr.agents.droid.tools", "classify_outcome")(result)
        return outcome

    def observations(self, entry: dict[str, Any]) -> Iterable[FileAction]:
        """Yield the files that a prompt names, as the host shows them after it."""
        from vacr.agents.anthropic_blocks import list_block_texts
        from vacr.agents.droid.tools import parse_shown_files

        if entry.get("type") == "user":
            for text in list_block_texts(entry.get("content")):
                yield from parse_shown_files(text)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the file that a read showed, if it is whole."""
        from vacr.agents.droid.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is stated."""
        from vacr.agents.droid.tools import strip_exit_notes
        from vacr.agents.file_tools import ShellOutput

        text, code = strip_exit_notes(call.output)
        return ShellOutput(text, code=code)


AGENT = Droid()
