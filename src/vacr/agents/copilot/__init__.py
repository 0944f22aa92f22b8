"""GitHub Copilot CLI: event logs in ~/.copilot/session-state, one JSON object a line.

`copilot_events` turns a log into a record; `speakers` and `outcomes` label it; `tools` knows what
its tools do to files.

    >>> from vacr.agents.copilot import AGENT
    >>> AGENT.name, AGENT.tools["create"].name
    ('copilot', 'WRITE')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CallReports, SessionStore, Source, load_function
from vacr.agents.tool_calls import EDITOR_COMMANDS, ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, RunShell, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class Copilot(Agent):
    """GitHub Copilot CLI, and programs made with its SDK."""

    name = "copilot"
    title = "GitHub Copilot CLI"
    formats = ("copilot-jsonl",)
    separate_call_formats = formats
    stores = (
        SessionStore(
            ("session-state/*/events.jsonl", "session-state/*.jsonl"), "~/.copilot", "COPILOT_HOME"
        ),
    )
    attached = (
        "workspace.yaml",
        "rewind-snapshots/index.json",
        "rewind-snapshots/backups/*",
        "rewind-file-snapshots/*",
        "checkpoints/*.md",
    )
    part_name = re.compile(r"[0-9a-f-]{36}/events\.jsonl$")
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "view": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "create": ToolEffect.WRITE,
        "apply_patch": ToolEffect.PATCH,
        "bash": ToolEffect.SHELL,
        "powershell": ToolEffect.SHELL,
        "shell": ToolEffect.SHELL,
        "local_shell": ToolEffect.SHELL,
        "grep": ToolEffect.SEARCH,
        "rg": ToolEffect.SEARCH,
        "glob": ToolEffect.NONE,
        "read_bash": ToolEffect.NONE,
        "write_bash": ToolEffect.NONE,
        "stop_bash": ToolEffect.NONE,
        "list_bash": ToolEffect.NONE,
        "read_powershell": ToolEffect.NONE,
        "write_powershell": ToolEffect.NONE,
        "stop_powershell": ToolEffect.NONE,
        "list_powershell": ToolEffect.NONE,
        "ask_user": ToolEffect.NONE,
        "exit_plan_mode": ToolEffect.NONE,
        "fetch_copilot_cli_documentation": ToolEffect.NONE,
        "list_agents": ToolEffect.NONE,
        "read_agent": ToolEffect.NONE,
        "write_agent": ToolEffect.NONE,
        "report_intent": ToolEffect.NONE,
        "session_store_sql": ToolEffect.NONE,
        "skill": ToolEffect.NONE,
        "sql": ToolEffect.NONE,
        "store_memory": ToolEffect.NONE,
        "task": ToolEffect.NONE,
        "task_complete": ToolEffect.NONE,
        "think": ToolEffect.NONE,
        "update_todo": ToolEffect.NONE,
        "vote_memory": ToolEffect.NONE,
        "web_fetch": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }
    tool_commands: ClassVar[Mapping[str, Mapping[str, ToolEffect]]] = {
        "str_replace_editor": {**EDITOR_COMMANDS, "edit": ToolEffect.REPLACE}
    }
    """Older versions have one tool with commands."""
    chain_members = (("agentId",), ("data", "parentToolCallId"))
    """The id of the sub-agent or, in older versions, of the call that started it."""

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Copilot CLI's, from 0 to 1."""
        if not any(type(value) is dict and "parentId" in value for value in sample):
            return 0.0
        share: float = load_function("vacr.agents.copilot_events", "recognise_event_log")(
            sample, by_editor=False
        )
        return share

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the one conversation in a log, without labels."""
        from vacr.agents.copilot.reader import read

        return read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by its stated origin."""
        speaker: Speaker = load_function("vacr.agents.copilot.speakers", "classify_speaker")(
            entry, record
        )
        return speaker

    def has_own_text(self, entry: dict[str, Any]) -> bool:
        """Return whether a message has text, typed or written by the host for the model."""
        has_text: bool = load_function("vacr.agents.copilot.speakers", "has_own_text")(entry)
        return has_text

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown without evidence."""
        outcome: Outcome = load_function("vacr.agents.copilot.outcomes", "classify_outcome")(result)
        return outcome

    def task_notice(self, entry: dict[str, Any]) -> Outcome:
        """Return how a background task ended, if an entry is Copilot's notice of its end."""
        outcome: Outcome = load_function("vacr.agents.copilot.outcomes", "parse_task_notice")(entry)
        return outcome

    def missing_result(self, call: dict[str, Any], message: dict[str, Any]) -> str:
        """Return `denied` if the session states a refusal of the call, else `no-result`."""
        from vacr.agents.labels import DENIED, NO_RESULT

        del message
        return DENIED if dict_or_empty(call.get("vacr")).get("permission") else NO_RESULT

    # --- files ---

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text of a file before and after a call, by its request for permission."""
        from vacr.agents.copilot.tools import build_file_report

        return build_file_report(call)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in the result of an edit."""
        from vacr.agents.copilot.tools import get_detail, parse_edit_diff

        del spelled
        return parse_edit_diff(get_detail(call))

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction]:
        """Return the lines of a file that a call showed."""
        from vacr.agents.copilot.tools import parse_shown_file

        return parse_shown_file(call, path)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Return the lines of files that a search shows."""
        from vacr.agents.copilot.tools import list_search_results

        return list_search_results(call)

    def shell_run(self, call: ToolCall) -> RunShell | None:
        """Return the script that a call ran, or `None` if it ran in a named shell.

        A named shell may be in another folder, where an earlier call left it.
        """
        if "shellId" in dict_or_empty(call.input):
            return None
        return super().shell_run(call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.copilot.tools import parse_shell_output

        return parse_shell_output(call)

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the requests for permission, and the refusals, of a session."""
        from vacr.agents.copilot.tools import PermissionReports

        return PermissionReports(entries)

    # --- the session around the calls ---

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the folder that a start, a resumption or a change of folder states, or None."""
        kind = entry.get("event-type")
        if kind not in ("session.start", "session.resume", "session.context_changed"):
            return None
        data = dict_or_empty(entry.get("data"))
        context = data if kind == "session.context_changed" else dict_or_empty(data.get("context"))
        folder = context.get("cwd")
        return folder if type(folder) is str else None


AGENT = Copilot()
