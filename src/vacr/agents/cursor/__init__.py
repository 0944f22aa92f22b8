"""Cursor: transcripts, and the databases of the editor and of its agent.

`reader` and `databases` turn them into records; `stores` finds sessions in the databases; `tools`
knows what its tools do to files; `speakers` and `outcomes` label who wrote a message and how a call
ended.

    >>> from vacr.agents.cursor import AGENT
    >>> AGENT.name, AGENT.records_results, AGENT.hooks.file
    ('cursor', False, 'hooks.json')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import (
    Agent,
    CallReports,
    HookLayout,
    HookSettings,
    McpSettings,
    ShellBehaviour,
    Source,
    load_function,
)
from vacr.agents.cursor import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class Cursor(Agent):
    """The editor Cursor and its command-line agent."""

    name = reader.name
    title = "Cursor"
    formats = reader.formats
    separate_call_formats = ("cursor-vscdb",)
    stores = reader.STORES
    sub_sessions = reader.SUB_SESSIONS
    part_name = reader.NAMED
    databases = reader.DATABASES
    records_results = False
    shell = ShellBehaviour(keeps_folder=True)
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "Read": ToolEffect.READ,
        "read_file": ToolEffect.READ,
        "read_file_v2": ToolEffect.READ,
        "Write": ToolEffect.WRITE,
        "write": ToolEffect.WRITE,
        "StrReplace": ToolEffect.REPLACE,
        "search_replace": ToolEffect.REPLACE,
        "MultiStrReplace": ToolEffect.REPLACE,
        "edit_file": ToolEffect.UNPLACED_EDIT,
        "edit_file_v2": ToolEffect.UNPLACED_EDIT,
        "EditNotebook": ToolEffect.UNPLACED_EDIT,
        "edit_notebook": ToolEffect.UNPLACED_EDIT,
        "ApplyPatch": ToolEffect.PATCH,
        "apply_patch": ToolEffect.PATCH,
        "Delete": ToolEffect.DELETE,
        "delete_file": ToolEffect.DELETE,
        "Shell": ToolEffect.SHELL,
        "Bash": ToolEffect.SHELL,
        "run_terminal_cmd": ToolEffect.SHELL,
        "run_terminal_command": ToolEffect.SHELL,
        "run_terminal_command_v2": ToolEffect.SHELL,
        "Grep": ToolEffect.NONE,
        "Glob": ToolEffect.NONE,
        "LS": ToolEffect.NONE,
        "grep": ToolEffect.NONE,
        "list_dir": ToolEffect.NONE,
        "file_search": ToolEffect.NONE,
        "glob_file_search": ToolEffect.NONE,
        "ReadLints": ToolEffect.NONE,
        "read_lints": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Cursor's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a transcript or a database."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by the elements that Cursor puts around a query."""
        speaker: Speaker = load_function("vacr.agents.cursor.speakers", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown unless one of the databases states it."""
        outcome: Outcome = load_function("vacr.agents.cursor.outcomes", "classify_outcome")(result)
        return outcome

    def missing_result(self, call: dict[str, Any], message: dict[str, Any]) -> str:
        """Return `denied` if the user refused a call of the editor, else `no-result`."""
        from vacr.agents.cursor.tools import is_call_refused
        from vacr.agents.labels import DENIED, NO_RESULT

        del call
        return DENIED if is_call_refused(message) else NO_RESULT

    def expects_results(self, record: dict[str, Any]) -> bool:
        """Return whether a session is from a database: transcripts have no results."""
        return record["vacr"]["source"]["format"] in ("cursor-vscdb", "cursor-store")

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the editor's report about the file of a call."""
        from vacr.agents.cursor.tools import build_file_report

        return build_file_report(call)

    def hunk_readings(self, call: ToolCall) -> list[list[Hunk]]:
        """Return the ways to read the chunks of a diff."""
        from vacr.agents.cursor.tools import parse_hunk_readings

        return parse_hunk_readings(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the part of a file that a result keeps, or None if it keeps none."""
        from vacr.agents.cursor.tools import parse_shown_file

        return parse_shown_file(call, path)

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return reports with the text of a file before and after a call, if the session has it."""
        from vacr.agents.cursor.tools import StoredTexts

        return StoredTexts(entries)

    def has_failed(self, call: ToolCall, result: dict[str, Any], report: dict[str, Any]) -> bool:
        """Return whether a call failed, or the user threw its edit away."""
        from vacr.agents.cursor.tools import is_edit_rejected

        return super().has_failed(call, result, report) or is_edit_rejected(call.native)

    # --- capture ---

    # Left out: preToolUse, subagentStart and other events named before… ask for a permission, and
    # granting it would be a decision.
    hooks = HookSettings(
        base="~/.cursor",
        under="",
        file="hooks.json",
        project=".cursor/hooks.json",
        programs=("cursor", "cursor-agent"),
        layout=HookLayout(nested=False, opening=(("version", 1),)),
        events=(
            "sessionStart",
            "sessionEnd",
            "beforeSubmitPrompt",
            "postToolUse",
            "postToolUseFailure",
            "subagentStop",
            "afterShellExecution",
            "afterMCPExecution",
            "afterFileEdit",
            "afterAgentResponse",
            "afterAgentThought",
            "preCompact",
            "stop",
            "afterTabFileEdit",
        ),
        answer="{}",
        answers={"beforeSubmitPrompt": '{"continue":true}'},
    )

    mcp = McpSettings(
        base="~/.cursor",
        under="",
        file="mcp.json",
        project=".cursor/mcp.json",
        programs=("cursor", "cursor-agent"),
        notice="Restart Cursor, and switch the server on in its settings.",
    )


AGENT = Cursor()
