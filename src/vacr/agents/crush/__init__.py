"""Crush: the database in a project's `.crush` folder.

`reader` turns a session of the database into a record; `labels` knows who wrote a message and how a
call ended; `tools` knows what its tools do to files.

    >>> from vacr.agents import find_agent
    >>> find_agent("crush").tools["multiedit"].value
    'replace'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CallReports, ShellBehaviour, Source, load_function
from vacr.agents.crush import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class Crush(Agent):
    """Charm's agent Crush."""

    name = reader.name
    title = "Crush"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    databases = reader.DATABASES
    checks_files = True
    shell = ShellBehaviour(keeps_folder=True, reports_folder=True)
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "view": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "multiedit": ToolEffect.REPLACE,
        "write": ToolEffect.WRITE,
        "bash": ToolEffect.SHELL,
        "grep": ToolEffect.SEARCH,
        "download": ToolEffect.UNPLACED_EDIT,
        "agent": ToolEffect.NONE,
        "agentic_fetch": ToolEffect.NONE,
        "diagnostics": ToolEffect.NONE,
        "fetch": ToolEffect.NONE,
        "glob": ToolEffect.NONE,
        "job_kill": ToolEffect.NONE,
        "job_output": ToolEffect.NONE,
        "ls": ToolEffect.NONE,
        "sourcegraph": ToolEffect.NONE,
        "todos": ToolEffect.NONE,
        "web_fetch": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return 1 for an export of Crush's database, else 0."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the session in an export."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: a person, a parent agent, or Crush itself."""
        speaker: Speaker = load_function("vacr.agents.crush.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def has_own_text(self, entry: dict[str, Any]) -> bool:
        """Return whether a user message has text, an image, or a command that the user typed."""
        from vacr.agents.crush.labels import has_typed_command

        return super().has_own_text(entry) or has_typed_command(entry)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by its flag and the host's words around the output."""
        outcome: Outcome = load_function("vacr.agents.crush.labels", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; relative paths of file tools start from the project."""
        from vacr.agents.file_tools import derive_file_actions, is_absolute_path

        is_shell = self.tool_effect(call) is ToolEffect.SHELL
        for action in derive_file_actions(self, call):
            if is_shell or not call.top or is_absolute_path(action.path):
                yield action
            else:
                yield replace(action, path=f"{call.top}/{action.path}")

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the text of a file before and after a call, if Crush kept it."""
        from vacr.agents.crush.tools import build_file_report

        return build_file_report(call)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in the metadata."""
        from vacr.agents.crush.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the lines that a view showed."""
        from vacr.agents.crush.tools import parse_shown_file

        return parse_shown_file(call, path)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.crush.tools import parse_search_results

        return parse_search_results(call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.crush.tools import parse_shell_output

        return parse_shell_output(call)

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return reports with the text of a file before and after a call, from its versions."""
        from vacr.agents.crush.tools import StoredVersions

        return StoredVersions(entries)

    def project_folder(self, record: dict[str, Any]) -> str:
        """Return the folder that relative paths start from, if a result shows it."""
        from vacr.agents.crush.tools import find_project_folder

        return super().project_folder(record) or find_project_folder(
            record["session"].get("entries", ())
        )

    def provider_of(self, entry: dict[str, Any]) -> str | None:
        """Return the provider of the model that an entry names, or None."""
        provider = entry.get("provider")
        return provider if entry.get("model-id") and isinstance(provider, str) else None

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the cost of the session in dollars, or None if Crush states none."""
        cost = record["session"].get("cost")
        return cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the folder that the shell is in after a command, or None."""
        from vacr.agents.crush.tools import find_left_folder

        return find_left_folder(entry)


AGENT = Crush()
