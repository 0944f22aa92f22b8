"""Continue: the editor extension, and the command line `cn`.

`reader` turns sessions into records; `tools` reads the diffs in results; `outcomes` labels how a
call ended.

    >>> from vacr.agents import find_agent
    >>> find_agent("continue").tools["MultiEdit"].value
    'replace'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.continue_dev import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk

_BUILT_IN_PREFIX = "builtin_"


class Continue(Agent):
    """Continue, in editors and on the command line."""

    name = reader.name
    title = "Continue"
    formats = reader.formats
    separate_call_formats = (reader.SESSION_FORMAT,)
    stores = reader.STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        # the command line
        "Read": ToolEffect.READ,
        "Write": ToolEffect.WRITE,
        "Edit": ToolEffect.REPLACE,
        "MultiEdit": ToolEffect.REPLACE,
        "Bash": ToolEffect.SHELL,
        "Search": ToolEffect.NONE,
        "List": ToolEffect.NONE,
        "Fetch": ToolEffect.NONE,
        "Checklist": ToolEffect.NONE,
        "AskQuestion": ToolEffect.NONE,
        "Diff": ToolEffect.NONE,
        "Exit": ToolEffect.NONE,
        "ReportFailure": ToolEffect.NONE,
        "Skills": ToolEffect.NONE,
        "Status": ToolEffect.NONE,
        "Subagent": ToolEffect.NONE,
        "UploadArtifact": ToolEffect.NONE,
        # the editor
        "read_file": ToolEffect.READ,
        "create_new_file": ToolEffect.WRITE,
        "edit_existing_file": ToolEffect.UNPLACED_EDIT,
        "single_find_and_replace": ToolEffect.REPLACE,
        "multi_edit": ToolEffect.REPLACE,
        "run_terminal_command": ToolEffect.SHELL,
        "read_currently_open_file": ToolEffect.NONE,
        "grep_search": ToolEffect.NONE,
        "file_glob_search": ToolEffect.NONE,
        "ls": ToolEffect.NONE,
        "view_diff": ToolEffect.NONE,
        "view_repo_map": ToolEffect.NONE,
        "view_subdirectory": ToolEffect.NONE,
        "fetch_url_content": ToolEffect.NONE,
        "search_web": ToolEffect.NONE,
        "codebase": ToolEffect.NONE,
        "request_rule": ToolEffect.NONE,
        "create_rule_block": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Continue's, from 0 to 1."""
        return reader.recognises(sample)

    def unread_form(self, sample: Sequence[Any]) -> str:
        """Return that a sample is a session of 2023, whose steps are in `history.timeline`."""
        return reader.describe_unread_form(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the sessions in a file."""
        return reader.read(source)

    def tool_effect(self, call: ToolCall) -> ToolEffect | None:
        """Return the effect of a tool; earlier releases prefixed the editor's own tools."""
        return self.tools.get(call.name.removeprefix(_BUILT_IN_PREFIX))

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by its status and the exit code in its text."""
        outcome: Outcome = load_function("vacr.agents.continue_dev.outcomes", "classify_outcome")(
            result
        )
        return outcome

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the total cost that the command line states for a session."""
        usage = record["session"].get("usage")
        cost = usage.get("totalCost") if isinstance(usage, dict) else None
        if isinstance(cost, int | float) and not isinstance(cost, bool):
            return float(cost)
        return None

    # --- files ---

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in the result of an edit."""
        from vacr.agents.continue_dev.tools import parse_result_hunks

        del spelled
        return parse_result_hunks(call)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text before a write, as its diff shows it."""
        from vacr.agents.continue_dev.tools import build_file_report

        return build_file_report(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the file that a read showed; nothing where it was cut."""
        from vacr.agents.continue_dev.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, without a leading `Error (exit code N): ` of the host."""
        from vacr.agents.continue_dev.tools import parse_shell_output

        return parse_shell_output(call)


AGENT = Continue()
