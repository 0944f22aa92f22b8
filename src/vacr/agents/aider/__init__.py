"""Aider: the chat history in a project, with the histories of inputs and of requests.

`history` splits the Markdown, `edits` finds the edits in an answer, and `reader` makes a record of
each run.

    >>> from vacr.agents import find_agent
    >>> find_agent("aider").tools["whole-file"].value
    'write'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source
from vacr.agents.aider import reader
from vacr.agents.labels import (
    FAILED,
    STATED_HOST,
    SUCCEEDED,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
)
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Aider(Agent):
    """The open-source agent Aider."""

    name = reader.name
    title = "Aider"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    attached = reader.ATTACHED
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "search-replace": ToolEffect.REPLACE,
        "udiff": ToolEffect.REPLACE,
        "whole-file": ToolEffect.WRITE,
        "patch": ToolEffect.PATCH,
        "edit": ToolEffect.UNPLACED_EDIT,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return 1 for the text of one of Aider's histories, else 0."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of each run in a history."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote an input: Aider repeats an answer for the rest of a group."""
        content = entry.get("content")
        text = content[0].get("text") if isinstance(content, list) and content else ""
        if isinstance(text, str) and reader.AIDER_ANSWER.fullmatch(text):
            return STATED_HOST
        return super().speaker(entry, record)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how an edit ended, by Aider's messages about it."""
        failed = result.entry.get("failed")
        if failed is None:
            return UNKNOWN_OUTCOME
        return FAILED if failed else SUCCEEDED

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the changes of an edit that Aider applied.

        A block without a text to search creates a file, or adds to the end of one.
        """
        from vacr.agents.file_tools import derive_file_actions
        from vacr.edits import FileWrite

        arguments = dict_or_empty(call.input)
        is_addition = call.name == "search-replace" and arguments.get("old_string") == ""
        if call.state != CALL_DONE or not is_addition:
            return derive_file_actions(self, call)
        created = call.native.get("created") is True
        text = str(arguments.get("new_string"))
        write = FileWrite(
            str(arguments.get("path")), text, created=created or None, append=not created
        )
        return (write,)


AGENT = Aider()
