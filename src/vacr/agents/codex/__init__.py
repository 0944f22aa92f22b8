"""Codex CLI: rollouts in ~/.codex/sessions, one JSON object a line.

`reader` and `rollout` turn a rollout into a record; `outcomes` and `speakers` label it; `tools`
knows what its tools do to files.

    >>> from vacr.agents.codex import AGENT
    >>> AGENT.name, AGENT.hooks.file, AGENT.mcp.file
    ('codex-cli', 'hooks.json', 'config.toml')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import (
    Agent,
    CallReports,
    HookLayout,
    HookSettings,
    McpSettings,
    SessionStore,
    Source,
    load_function,
)
from vacr.agents.codex import reader, speakers
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Codex(Agent):
    """OpenAI's Codex CLI."""

    name = reader.name
    title = "Codex"
    short_name = "codex"
    formats: Sequence[str] = reader.formats
    stores: Sequence[SessionStore] = reader.STORES
    json_outputs = True
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "apply_patch": ToolEffect.PATCH,
        "shell": ToolEffect.SHELL,
        "shell_command": ToolEffect.SHELL,
        "exec_command": ToolEffect.SHELL,
        "local_shell": ToolEffect.SHELL,
        "container.exec": ToolEffect.SHELL,
        "exec": ToolEffect.SCRIPT,
        "read_file": ToolEffect.READ,
        "list_dir": ToolEffect.NONE,
        "grep_files": ToolEffect.NONE,
        "view_image": ToolEffect.NONE,
        "update_plan": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Codex's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the one conversation in a rollout, without labels."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, whether that is stated, and the person's part of it."""
        return speakers.classify_speaker(entry, record)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown without evidence."""
        outcome: Outcome = load_function("vacr.agents.codex.outcomes", "classify_outcome")(result)
        return outcome

    def prompt_text(self, entry: dict[str, Any]) -> str:
        """Return the text that a person wrote in an entry, or an empty text."""
        return speakers.get_person_text(entry)

    def file_actions(self, call: ToolCall) -> Iterator[FileAction]:
        """Yield the changes that Codex reports of a call, or else the requested changes."""
        from vacr.agents.codex.tools import derive_script_actions, parse_reported_changes
        from vacr.agents.file_tools import derive_file_actions

        effect, changes = self.tool_effect(call), call.native.get("changes")
        can_change = effect in (ToolEffect.SHELL, ToolEffect.PATCH, ToolEffect.SCRIPT)
        is_done = call.state == CALL_DONE
        if can_change and is_done and isinstance(changes, dict) and changes:
            yield from parse_reported_changes(changes)
        elif effect is ToolEffect.SCRIPT and is_done:
            yield from derive_script_actions(call)
        else:
            yield from derive_file_actions(self, call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.codex.tools import parse_shell_output

        return parse_shell_output(call)

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the reports about calls in the events of a session."""
        from vacr.agents.codex.tools import EventReports

        return EventReports(entries)

    def model_of(self, entry: dict[str, Any]) -> str | None:
        """Return the model that an entry, or the context of its turn, names, or None."""
        model = self._turn_context(entry).get("model")
        return model if isinstance(model, str) else super().model_of(entry)

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the working folder of a turn, or None if the entry does not state it."""
        folder = self._turn_context(entry).get("cwd")
        return folder if isinstance(folder, str) else None

    @staticmethod
    def _turn_context(entry: dict[str, Any]) -> dict[str, Any]:
        """Return the data of an entry with the context of a turn; empty for other entries."""
        data = entry.get("data") if entry.get("event-type") == "turn_context" else None
        return data if isinstance(data, dict) else {}

    # --- capture ---

    hooks: HookSettings | None = HookSettings(
        base="~/.codex",
        under="",
        file="hooks.json",
        project=".codex/hooks.json",
        programs=("codex",),
        variable="CODEX_HOME",
        # Codex warns about a longer timeout at the last events of every session.
        layout=HookLayout(handler=(("timeout", 3),)),
        events=(
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PreCompact",
            "PostCompact",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "Interrupt",
        ),
        notice="Codex runs hooks only after you trust them: type /hooks in Codex, and review them.",
    )

    mcp: McpSettings | None = McpSettings(
        base="~/.codex",
        under="",
        file="config.toml",
        project=".codex/config.toml",
        programs=("codex",),
        variable="CODEX_HOME",
        members=("mcp_servers",),
        is_toml=True,
        notice="Restart Codex, and type /mcp to see the server.",
    )


AGENT = Codex()
