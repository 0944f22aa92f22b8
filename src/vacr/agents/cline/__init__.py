"""Cline, and its forks Roo Code and Kilo Code.

`reader` and `text_calls` turn sessions and tasks into records; `tools` knows what their tools do to
files; `speakers` and `outcomes` label who wrote a message and how a call ended.

    >>> from vacr.agents import find_agent
    >>> find_agent("cline").tools["write_to_file"].value, find_agent("roo-code").formats[0]
    ('write', 'cline-task')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CacheWrites, Source, load_function
from vacr.agents.cline import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Cline(Agent):
    """Cline: the SDK, the command line, and the editor extension."""

    name = reader.name
    title = "Cline"
    formats: Sequence[str] = reader.formats
    separate_call_formats = (reader.TASK_FORMAT,)
    stores = reader.STORES
    attached = reader.ATTACHED
    described_by = "{name}.json"
    sub_sessions = reader.SUB_SESSIONS
    part_name = reader.NAMED
    json_outputs = True
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        # the SDK
        "editor": ToolEffect.REPLACE,
        "apply_patch": ToolEffect.PATCH,
        "read_files": ToolEffect.READ_MANY,
        "run_commands": ToolEffect.SHELL,
        "search_codebase": ToolEffect.NONE,
        "fetch_web_content": ToolEffect.NONE,
        "ask_question": ToolEffect.NONE,
        "skills": ToolEffect.NONE,
        "spawn_agent": ToolEffect.NONE,
        "submit_and_exit": ToolEffect.NONE,
        # the extension
        "write_to_file": ToolEffect.WRITE,
        "replace_in_file": ToolEffect.REPLACE,
        "read_file": ToolEffect.READ,
        "execute_command": ToolEffect.SHELL,
        "list_files": ToolEffect.NONE,
        "search_files": ToolEffect.NONE,
        "list_code_definition_names": ToolEffect.NONE,
        "attempt_completion": ToolEffect.NONE,
        "ask_followup_question": ToolEffect.NONE,
        "plan_mode_respond": ToolEffect.NONE,
        "use_subagents": ToolEffect.NONE,
        "new_task": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Cline's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the sessions or tasks in a file."""
        return reader.read_sessions(source)

    def belongs_to_session(self, value: Any, sessions: Collection[Any]) -> bool | None:
        """Return whether a sub-agent's file names one of the sessions; None without an id."""
        session = value.get("sessionId") if isinstance(value, dict) else None
        if not isinstance(session, str):
            return None
        # The id of a sub-agent may continue the id of its session.
        return session in sessions or session.partition("__")[0] in sessions

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by the elements that the host puts around words."""
        speaker: Speaker = load_function("vacr.agents.cline.speakers", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the host's report in the result."""
        outcome: Outcome = load_function("vacr.agents.cline.outcomes", "classify_outcome")(result)
        return outcome

    def provider_of(self, entry: dict[str, Any]) -> str | None:
        """Return the provider in `modelInfo`."""
        info = entry.get("modelInfo")
        if not isinstance(info, dict):
            return None
        provider = info.get("provider", info.get("providerId"))
        return provider if isinstance(provider, str) else None

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the working folder in the editor's state that a prompt of the extension has."""
        if entry.get("type") != "user" or "modelInfo" in entry:
            return None
        return reader.find_working_folder(entry)

    def cache_writes(self, entry: dict[str, Any]) -> CacheWrites:
        """Return the tokens that an entry's call wrote to a cache."""
        metrics = entry.get("metrics")
        count = metrics.get("cacheWriteTokens") if isinstance(metrics, dict) else None
        return CacheWrites(short=count) if type(count) is int and count > 0 else CacheWrites()

    def project_folder(self, record: dict[str, Any]) -> str:
        """Return the folder of a session; a task may be moved, and its last folder counts."""
        for entry in reversed(record["session"]["entries"]):
            folder = self.folder_of(entry) if isinstance(entry, dict) else None
            if folder is not None:
                return folder
        return super().project_folder(record)

    # --- files ---

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's changes and observations of files, and its commands."""
        from vacr.agents.cline.tools import derive_file_actions

        return derive_file_actions(self, call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command of the extension, and its exit code where stated."""
        from vacr.agents.cline.tools import parse_command_output

        return parse_command_output(call)

    def is_user_modified(self, call: ToolCall) -> bool:
        """Return whether the user changed the proposal before it was saved."""
        from vacr.agents.cline.tools import is_user_modified

        return is_user_modified(call)

    def has_failed(self, call: ToolCall, result: dict[str, Any], report: dict[str, Any]) -> bool:
        """Return whether a call failed or was refused, by the host's report in the result."""
        from vacr.agents.cline.outcomes import is_failed_result

        return super().has_failed(call, result, report) or is_failed_result(result)


class RooCode(Cline):
    """Roo Code, and Kilo Code before version 5, in their tasks from source alone."""

    name = "roo-code"
    title = "Roo Code"
    formats = (reader.TASK_FORMAT, reader.UI_FORMAT)
    stores = reader.make_extension_stores("rooveterinaryinc.roo-cline", "kilocode.kilo-code")
    described_by = ""
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        **Cline.tools,
        "apply_diff": ToolEffect.REPLACE,
        "insert_content": ToolEffect.REPLACE,
        "search_and_replace": ToolEffect.UNPLACED_EDIT,
        "search_replace": ToolEffect.REPLACE,
        "edit": ToolEffect.REPLACE,
        "edit_file": ToolEffect.REPLACE,
        "codebase_search": ToolEffect.NONE,
        "fetch_instructions": ToolEffect.NONE,
        "switch_mode": ToolEffect.NONE,
        "update_todo_list": ToolEffect.NONE,
        "use_mcp_tool": ToolEffect.NONE,
        "access_mcp_resource": ToolEffect.NONE,
        "browser_action": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Roo Code's, from 0 to 1."""
        return reader.recognises(sample, is_fork=True)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the tasks in a file."""
        return reader.read_tasks(source, self.name)


AGENT = Cline()
