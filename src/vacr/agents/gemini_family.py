"""Gemini CLI and its descendants: one set of tools, and results of one form.

Qwen Code and iFlow began as copies of Gemini CLI. They keep sessions in their own ways, but what
their calls prove about files has the same form; `vacr.agents.gemini.tools` parses it.

    >>> from vacr.agents import find_agent
    >>> from vacr.agents.gemini_family import GeminiFamily
    >>> [isinstance(find_agent(name), GeminiFamily) for name in ("gemini-cli", "qwen-code")]
    [True, True]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.edits import FileAction, Hunk

_HASHED_FOLDER = re.compile("[0-9a-f]{64}")


class GeminiFamily(Agent):
    """An agent with Gemini CLI's tools and results."""

    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        "replace": ToolEffect.REPLACE,
        "edit": ToolEffect.REPLACE,
        "edit_file": ToolEffect.REPLACE,
        "write_file": ToolEffect.WRITE,
        "run_shell_command": ToolEffect.SHELL,
        "glob": ToolEffect.NONE,
        "grep_search": ToolEffect.SEARCH,
        "search_file_content": ToolEffect.SEARCH,
        "list_directory": ToolEffect.NONE,
        "google_web_search": ToolEffect.NONE,
        "web_fetch": ToolEffect.NONE,
        "write_todos": ToolEffect.NONE,
        "read_many_files": ToolEffect.READ_MANY,
    }

    def file_actions(self, call: ToolCall) -> Iterator[FileAction]:
        """Yield a call's file actions; a read of many files has a form of its own."""
        from vacr.agents.file_tools import derive_file_actions
        from vacr.agents.gemini.tools import parse_many_files

        if self.tool_effect(call) is ToolEffect.READ_MANY and call.state == CALL_DONE:
            yield from parse_many_files(call)
        else:
            yield from derive_file_actions(self, call)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the report in `resultDisplay` about the file of a call."""
        from vacr.agents.gemini.tools import build_file_report

        return build_file_report(call)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in `resultDisplay`."""
        from vacr.agents.gemini.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the file that a read showed, or the part of it that a note names.

        Return None if the read shows numbered lines.
        """
        from vacr.agents.gemini.tools import parse_shown_file

        return parse_shown_file(call, path)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.gemini.tools import parse_search_results

        results = parse_search_results(call)
        return super().search_results(call) if results is None else results

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.gemini.tools import parse_shell_output

        return parse_shell_output(call)

    def is_user_modified(self, call: ToolCall) -> bool:
        """Return whether the user changed the proposal before it was applied."""
        from vacr.agents.gemini.tools import is_user_modified

        return is_user_modified(call)

    def project_folder(self, record: dict[str, Any]) -> str:
        """Return the folder of a session; a chat may record only its SHA-256.

        Then it is the folder above a file of a call with that digest, or empty if none has it.
        """
        from vacr.agents.gemini.tools import find_hashed_folder

        session = record["session"]
        folder, digest = super().project_folder(record), session.get("projectHash")
        if folder or not isinstance(digest, str):
            return folder
        return find_hashed_folder(digest, session.get("entries"))

    def project_of_store_folder(self, folder: str) -> str:
        """Return the project; older versions name the folder by a hash, which says nothing."""
        return "" if _HASHED_FOLDER.fullmatch(folder) else folder
