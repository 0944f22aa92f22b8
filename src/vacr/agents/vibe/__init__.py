"""Mistral Vibe: the sessions in its folder of logs.

`reader` turns a session into a record; `labels` knows who wrote a message and how a call ended;
`tools` knows what its tools do to files.

    >>> from vacr.agents import find_agent
    >>> find_agent("vibe").tools["search_replace"].value
    'replace'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect
from vacr.agents.vibe import facts, reader

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

_CHANGING_TOOLS = frozenset(("write_file", "edit", "search_replace"))


class Vibe(Agent):
    """Mistral's agent Vibe."""

    name = facts.name
    title = "Mistral Vibe"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    attached = (reader.META_FILE, "journal/*.jsonl")
    described_by = reader.META_FILE
    part_name = re.compile(rf"(?:[^/]+/{reader.SUB_AGENT_FOLDER}/)?[^/]+/messages\.jsonl$")
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read": ToolEffect.READ,
        "read_file": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "search_replace": ToolEffect.REPLACE,
        "write_file": ToolEffect.WRITE,
        "bash": ToolEffect.SHELL,
        "grep": ToolEffect.SEARCH,
        "ask_user_question": ToolEffect.NONE,
        "exit_plan_mode": ToolEffect.NONE,
        "skill": ToolEffect.NONE,
        "task": ToolEffect.NONE,
        "todo": ToolEffect.NONE,
        "webfetch": ToolEffect.NONE,
        "websearch": ToolEffect.NONE,
        "search_tool_functions": ToolEffect.NONE,
        "unified_harness_scratchpad": ToolEffect.NONE,
        "wait": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Vibe's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the sessions in a source."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: a person, a parent agent, or Vibe itself."""
        speaker: Speaker = load_function("vacr.agents.vibe.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the text of its result."""
        outcome: Outcome = load_function("vacr.agents.vibe.labels", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; a change needs a result that states it."""
        from vacr.agents.vibe.tools import parse_edits
        from vacr.edits import UnplacedEdit

        if call.name not in _CHANGING_TOOLS or type(call.input) is not dict:
            return super().file_actions(call)
        if call.state != CALL_DONE or call.native.get("status") != "success":
            return ()
        path = call.input.get("file_path")
        if call.name == "search_replace" and type(path) is str:
            edits = parse_edits(call)
            if edits is None:
                return (UnplacedEdit(path),)
            call = replace(call, input={"path": path, "edits": edits})
        return super().file_actions(call)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return whether a write created its file, if a journal states it."""
        from vacr.agents.file_tools import FileReport
        from vacr.agents.vibe.tools import get_structured_result

        existed = get_structured_result(call).get("file_existed")
        return FileReport(created=True if existed is False else None)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the lines that a read showed."""
        from vacr.agents.vibe.tools import parse_shown_file

        return parse_shown_file(call, path)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.vibe.tools import parse_found_lines

        return parse_found_lines(call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its return code."""
        from vacr.agents.vibe.tools import parse_shell_output

        return parse_shell_output(call)

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the cost of the session in dollars, or None if Vibe states none."""
        from vacr.agents.vibe.labels import find_stats

        cost = find_stats(record).get("session_cost")
        return cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None


AGENT = Vibe()
