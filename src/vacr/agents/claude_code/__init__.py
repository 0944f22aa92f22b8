"""Claude Code: transcripts in ~/.claude/projects, one JSON object a line.

`reader` turns a transcript into a record; `speakers` and `outcomes` label it; `tools` knows what
its tools do to files. This module answers each question that vacr asks an agent:

    >>> from vacr.agents.claude_code import AGENT
    >>> AGENT.name, AGENT.tools["MultiEdit"].name, AGENT.hooks.file
    ('claude-code', 'REPLACE', 'settings.json')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import (
    Agent,
    CacheWrites,
    HookLayout,
    HookSettings,
    McpSettings,
    Retention,
    ShellBehaviour,
    Source,
)
from vacr.agents.claude_code import outcomes, reader, speakers
from vacr.agents.labels import CallResult, Outcome, Speaker
from vacr.agents.tool_calls import ToolCall, ToolEffect, get_count

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class ClaudeCode(Agent):
    """Anthropic's Claude Code."""

    name = reader.name
    title = "Claude Code"
    short_name = "claude"
    formats = reader.formats
    stores = reader.STORES
    attached = reader.ATTACHED
    sub_sessions = reader.SUB_SESSIONS
    checks_files = True
    reports_changes = True
    shell = ShellBehaviour(
        keeps_folder=True,
        reports_folder=True,
        lenient_commands=frozenset(["grep", "egrep", "fgrep", "rg", "find", "diff", "test", "["]),
        reset_message="Shell cwd was reset to ",
    )
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "Read": ToolEffect.READ,
        "Edit": ToolEffect.REPLACE,
        "MultiEdit": ToolEffect.REPLACE,
        "Write": ToolEffect.WRITE,
        "NotebookEdit": ToolEffect.UNPLACED_EDIT,
        "Bash": ToolEffect.SHELL,
        "PowerShell": ToolEffect.SHELL,
        "Grep": ToolEffect.SEARCH,
        "Glob": ToolEffect.NONE,
        "LS": ToolEffect.NONE,
        "NotebookRead": ToolEffect.NONE,
        "LSP": ToolEffect.NONE,
        "KillShell": ToolEffect.NONE,
        "AskUserQuestion": ToolEffect.NONE,
        "BashOutput": ToolEffect.NONE,
        "EnterPlanMode": ToolEffect.NONE,
        "ExitPlanMode": ToolEffect.NONE,
        "Skill": ToolEffect.NONE,
        "TaskCreate": ToolEffect.NONE,
        "TaskGet": ToolEffect.NONE,
        "TaskList": ToolEffect.NONE,
        "TaskOutput": ToolEffect.NONE,
        "TaskUpdate": ToolEffect.NONE,
        "TodoRead": ToolEffect.NONE,
        "TodoWrite": ToolEffect.NONE,
        "ToolSearch": ToolEffect.NONE,
        "WebFetch": ToolEffect.NONE,
        "WebSearch": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Claude Code's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the one conversation in a transcript, without labels."""
        return reader.read(source)

    def belongs_to_session(self, value: Any, sessions: Collection[Any]) -> bool | None:
        """Return whether a sub-agent's line names one of the sessions; None without an id."""
        session = value.get("sessionId") if isinstance(value, dict) else None
        return session in sessions if isinstance(session, str) else None

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, the basis for that, and the person's part of the text.

        The basis is `stated` or `inferred`. The part is None if the person wrote all or none of it.
        """
        return speakers.classify_speaker(entry, record)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown without evidence."""
        return outcomes.classify_outcome(result)

    def task_notice(self, entry: dict[str, Any]) -> Outcome:
        """Return how a background task ended, if an entry is Claude Code's notice of its end."""
        return outcomes.parse_task_notice(entry)

    def prompt_text(self, entry: dict[str, Any]) -> str:
        """Return the words of the person in an entry, or an empty text."""
        return speakers.get_person_text(entry)

    def has_failed(self, call: ToolCall, result: dict[str, Any], report: dict[str, Any]) -> bool:
        """Return whether Claude Code reports a failure.

        It does not where the exit code only has a meaning, such as "No matches found".
        """
        if result.get("vacr", {}).get("native", {}).get("is-error") is False:
            return False
        if outcomes.is_refusal(call.name, call.output, call.native.get("toolUseResult")):
            return True
        return super().has_failed(call, result, report)

    def file_actions(self, call: ToolCall) -> Iterator[FileAction]:
        """Yield a call's file actions, and the change that a reminder in its result reports."""
        from vacr.agents.claude_code.tools import parse_final_reminder
        from vacr.agents.file_tools import derive_file_actions

        yield from derive_file_actions(self, call)
        if self.tool_effect(call) is not ToolEffect.SHELL and "<system-reminder>" in call.output:
            yield from parse_final_reminder(call.output)

    def observations(self, entry: dict[str, Any]) -> Iterator[FileAction]:
        """Yield the observations of files in reminders of a user message, or in an attachment."""
        from vacr.agents.claude_code.tools import parse_attachment, parse_message_reminders

        if entry.get("type") == "user":
            yield from parse_message_reminders(entry.get("content"))
            return
        data = entry.get("data")
        attachment = data.get("attachment") if isinstance(data, dict) else None
        if isinstance(attachment, dict):
            yield from parse_attachment(attachment)

    def shown_text(self, entry: dict[str, Any]) -> str:
        """Return the texts of a user message, or of an attachment such as selected lines."""
        data = entry.get("data")
        attachment = data.get("attachment") if isinstance(data, dict) else None
        if not isinstance(attachment, dict):
            return super().shown_text(entry)
        texts = (attachment.get(name) for name in ("content", "prompt", "snippet"))
        return "\n".join(text for text in texts if isinstance(text, str))

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the report in `toolUseResult` about the file of a call."""
        from vacr.agents.claude_code.tools import build_file_report

        return build_file_report(call)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of `toolUseResult.structuredPatch`; empty without it."""
        from vacr.agents.claude_code.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the file that Claude Code stores, or else the lines that it shows; never None."""
        from vacr.agents.claude_code.tools import parse_read_listing, parse_shown_file

        shown = parse_shown_file(call.native.get("toolUseResult"), path)
        if shown is None:
            return parse_read_listing(path, call.output, call.input.get("limit"))
        return [shown]

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.claude_code.tools import parse_shell_output

        return parse_shell_output(call)

    def is_user_modified(self, call: ToolCall) -> bool:
        """Return whether the user changed the proposal before it was applied."""
        from vacr.agents.claude_code.tools import is_user_modified

        return is_user_modified(call)

    def chain_of(self, entry: dict[str, Any]) -> str:
        """Return the sub-agent whose entry this is: a side chain of the conversation.

        Return an empty text for the main conversation, and `sub-agent` for one without an id.
        """
        if entry.get("isSidechain") is not True:
            return ""
        return str(entry.get("agentId", "sub-agent"))

    def cache_writes(self, entry: dict[str, Any]) -> CacheWrites:
        """Return the tokens written to the cache; the API's usage counts them by duration."""
        usage = entry.get("token-usage", {})
        total = get_count(usage, "cache_creation_input_tokens")
        details = usage.get("cache_creation")
        hour = get_count(details, "ephemeral_1h_input_tokens") if isinstance(details, dict) else 0
        return CacheWrites(max(0, total - hour), hour)

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the total of the last `cost-state` line, which counts from the session's start.

        It is in dollars. Return None without such a line.
        """
        for entry in reversed(record["session"]["entries"]):
            data = entry.get("data") if entry.get("event-type") == "cost-state" else None
            cost = data.get("totalCostUSD") if isinstance(data, dict) else None
            if isinstance(cost, int | float) and not isinstance(cost, bool):
                return float(cost)
        return None

    def is_summary(self, entry: dict[str, Any]) -> bool:
        """Return whether an entry sums up the session that this one continues."""
        return entry.get("isCompactSummary") is True

    def restarts_shell(self, entry: dict[str, Any]) -> bool:
        """Return whether a prompt put the shell back, as the desktop application does."""
        if self.is_summary(entry) or entry.get("entrypoint") != "claude-desktop":
            return False
        if "attachment" in entry:
            return False  # typed while the agent worked
        return bool(self.prompt_text(entry))

    def pull_request_url(self, entry: dict[str, Any]) -> str | None:
        """Return the address of the pull request that Claude Code tied to the session.

        Return `None` if the entry is not such a link.
        """
        data = entry.get("data") if entry.get("event-type") == "pr-link" else None
        url = data.get("prUrl") if isinstance(data, dict) else None
        return url if isinstance(url, str) else None

    # --- capture ---

    # Left out: hooks at WorktreeCreate and WorktreeRemove replace the action, and a hook at
    # MessageDisplay delays every piece of an answer.
    hooks = HookSettings(
        base="~/.claude",
        under="",
        file="settings.json",
        project=".claude/settings.json",
        programs=("claude",),
        variable="CLAUDE_CONFIG_DIR",
        local=".claude/settings.local.json",
        layout=HookLayout(handler=(("timeout", 10),)),
        events=(
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Notification",
            "Stop",
            "SubagentStop",
            "PreCompact",
        ),
        newer_events=(
            "PostToolUseFailure",
            "PostToolBatch",
            "UserPromptExpansion",
            "StopFailure",
            "SubagentStart",
            "PostCompact",
            "PermissionRequest",
            "PermissionDenied",
            "Setup",
            "TeammateIdle",
            "TaskCreated",
            "TaskCompleted",
            "Elicitation",
            "ElicitationResult",
            "ConfigChange",
            "InstructionsLoaded",
            "CwdChanged",
        ),
        # Older versions ignore the whole settings file if it has an unknown event.
        tolerant_version=(2, 1, 101),
    )

    retention = Retention(30, ("cleanupPeriodDays",))
    mcp = McpSettings(
        base="~",
        under="",
        file=".claude.json",
        project=".mcp.json",
        programs=("claude",),
        variable="CLAUDE_CONFIG_DIR",
        first=(("type", "stdio"),),
        notice="Restart Claude Code, and type /mcp to see the server.",
    )


AGENT = ClaudeCode()
