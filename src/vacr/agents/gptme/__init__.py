"""gptme: the conversations in its folder of logs.

`reader` turns a conversation into a record, `text_calls` finds the calls in the text of an answer,
and `labels` knows who wrote a message and how a call ended.

    >>> from vacr.agents import find_agent
    >>> find_agent("gptme").tools["patch"].value
    'replace'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, ShellBehaviour, Source, load_function
from vacr.agents.gptme import reader
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

_EDIT = re.compile(r"<<<<<<< ORIGINAL\n(.*?)\n=======\n(?:(.*?)\n)?>>>>>>> UPDATED", re.DOTALL)
_PLACEHOLDER = re.compile(r'^[ \t]*(?:#|//|") ?\.\.\. ?.*$', re.MULTILINE)
_FILE_TOOLS = frozenset(("save", "append", "patch"))


class Gptme(Agent):
    """gptme in the terminal."""

    name = reader.name
    title = "gptme"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    attached = (reader.CONFIG_FILE,)
    described_by = reader.CONFIG_FILE
    part_name = re.compile(r"[^/]+/conversation\.jsonl$")
    shell = ShellBehaviour(keeps_folder=True)
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "save": ToolEffect.WRITE,
        "append": ToolEffect.WRITE,
        "patch": ToolEffect.REPLACE,
        "shell": ToolEffect.SHELL,
        "browser": ToolEffect.NONE,
        "chats": ToolEffect.NONE,
        "choice": ToolEffect.NONE,
        "complete": ToolEffect.NONE,
        "form": ToolEffect.NONE,
        "lessons": ToolEffect.NONE,
        "memory": ToolEffect.NONE,
        "rag": ToolEffect.NONE,
        "recall": ToolEffect.NONE,
        "screenshot": ToolEffect.NONE,
        "todo": ToolEffect.NONE,
        "todoread": ToolEffect.NONE,
        "todowrite": ToolEffect.NONE,
        "vent": ToolEffect.NONE,
        "vision": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is gptme's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of a conversation."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: gptme itself, or a person."""
        speaker: Speaker = load_function("vacr.agents.gptme.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the words of gptme in its result."""
        outcome: Outcome = load_function("vacr.agents.gptme.labels", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; a change needs a result that states it.

        If the user changed the text, or its end is not certain, the place of the change is unknown.
        """
        from vacr.edits import FileWrite, UnplacedEdit

        if call.name not in _FILE_TOOLS or type(call.input) is not dict:
            return super().file_actions(call)
        path, state = call.input.get("path"), call.native.get("status")
        if call.state != CALL_DONE or state != "success" or type(path) is not str:
            return ()
        marks = dict_or_empty(call.native.get("vacr"))
        if marks.get("edited") or marks.get("uncertain"):
            return (UnplacedEdit(path),)
        if call.name == "append":
            text = str(call.input.get("content"))
            return (FileWrite(path, text if text.endswith("\n") else f"{text}\n", append=True),)
        if call.name == "patch":
            edits = parse_edits(call.input.get("patch"))
            if edits is None:
                return (UnplacedEdit(path),)
            return super().file_actions(replace(call, input={"path": path, "edits": edits}))
        return super().file_actions(call)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text that a call wrote: gptme ends it with a line end."""
        from vacr.agents.file_tools import FileReport

        text = call.input.get("content")
        if call.name != "save" or type(text) is not str:
            return FileReport()
        existed = "(overwritten)" in call.output.partition("\n")[0]
        created = False if existed else None
        return FileReport(written=text if text.endswith("\n") else f"{text}\n", created=created)

    def is_user_modified(self, call: ToolCall) -> bool:
        """Return whether the user changed the text of a call before it ran."""
        return bool(dict_or_empty(call.native.get("vacr")).get("edited"))

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its return code."""
        from vacr.agents.gptme.labels import parse_shell_output

        return parse_shell_output(call)


def parse_edits(patch: Any) -> list[dict[str, str]] | None:
    """Return the edits of a patch with markers of a conflict, or None if it is not exact.

    gptme leaves out parts of a patch with a placeholder, such as `# ...`.
    """
    if type(patch) is not str or _PLACEHOLDER.search(patch):
        return None
    edits = [{"old_str": old, "new_str": new} for old, new in _EDIT.findall(patch)]
    return edits if edits and len(edits) == patch.count("<<<<<<< ORIGINAL\n") else None


AGENT = Gptme()
