"""The line types, members and subtypes of Claude Code that are known. Step: read.

Seen in versions 1.0 to 2.1. A name that is missing here costs nothing but a count in the record's
`vacr.drift`.

Claude Code transcripts: project JSONL files, main sessions and sub-agents. Step: read.

One line becomes one entry; lines are related by `parent-id`, and branches, compaction and
sidechains stay as they are written. What the tables below name is moved;
docs/mapping/claude-code.md is made of them. Left out on purpose: following a session into other
files (`vacr.sources` finds those that belong together).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    drop_nulls,
    get_writable_marks,
    is_count,
    is_one_of,
    keep_native_members,
    set_members_aside,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import build_child_entries

CLAUDE_MESSAGE_TYPES = frozenset(("user", "assistant"))

CLAUDE_COMMON_MEMBERS = frozenset(
    (
        "isSidechain",
        "userType",
        "cwd",
        "sessionId",
        "version",
        "gitBranch",
        "entrypoint",
        "slug",
        "agentId",
    )
    + (
        "sessionKind",
        "session_id",
        "teamName",
        "agentName",
        "uuid",
        "parentUuid",
        "timestamp",
        "isMeta",
        "promptId",
    )
    + ("logicalParentUuid", "forkedFrom", "parentSessionId")
)

CLAUDE_MESSAGE_LINE_MEMBERS = CLAUDE_COMMON_MEMBERS | frozenset(
    (
        "message",
        "requestId",
        "toolUseResult",
        "sourceToolAssistantUUID",
        "sourceToolUseID",
        "effort",
    )
    + (
        "isApiErrorMessage",
        "apiErrorStatus",
        "error",
        "errorDetails",
        "isAbortedMidStream",
        "supersedesUuids",
    )
    + (
        "attributionSkill",
        "attributionPlugin",
        "attributionAgent",
        "attributionMcpServer",
        "attributionMcpTool",
    )
    + (
        "isCompactSummary",
        "isVisibleInTranscriptOnly",
        "todos",
        "thinkingMetadata",
        "permissionMode",
        "promptSource",
    )
    + (
        "imagePasteIds",
        "origin",
        "toolDenialKind",
        "interruptedMessageId",
        "interruptedByShutdown",
        "toolEndsTurn",
    )
    + (
        "mcpMeta",
        "classifierMetaLines",
        "turnCompanion",
        "project",
        "isReplay",
        "thinking",
        "planContent",
    )
)

CLAUDE_MESSAGE_MEMBERS = frozenset(
    (
        "role",
        "content",
        "id",
        "type",
        "model",
        "usage",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "diagnostics",
    )
    + ("context_management", "container")
)

CLAUDE_USAGE_MEMBERS = frozenset(
    (
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cache_creation",
    )
    + (
        "service_tier",
        "server_tool_use",
        "inference_geo",
        "iterations",
        "speed",
        "output_tokens_details",
    )
)
CLAUDE_INPUT_COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

# Line type → the members that are its own.
CLAUDE_EVENT_OWN_MEMBERS = {
    "system": frozenset(
        (
            "subtype",
            "content",
            "level",
            "toolUseID",
            "hookCount",
            "hookInfos",
            "hookErrors",
            "hookAdditionalContext",
        )
        + (
            "preventedContinuation",
            "stopReason",
            "hasOutput",
            "durationMs",
            "messageCount",
            "budgetTokens",
        )
        + (
            "pendingBackgroundAgentCount",
            "compactMetadata",
            "microcompactMetadata",
            "trigger",
            "originalModel",
        )
        + (
            "fallbackModel",
            "direction",
            "scope",
            "requestId",
            "apiRefusalCategory",
            "apiRefusalExplanation",
        )
        + (
            "retractedMessageUuids",
            "refusedUserMessageUuid",
            "error",
            "cause",
            "retryInMs",
            "retryAttempt",
        )
        + ("maxRetries", "source", "url", "commands", "preTokens")
    ),
    "progress": frozenset(("data", "toolUseID", "parentToolUseID")),
    "attachment": frozenset(("attachment",)),
    "file-history-snapshot": frozenset(("messageId", "snapshot", "isSnapshotUpdate")),
    "file-history-delta": frozenset(("messageId", "snapshotMessageId", "trackingPath", "backup")),
    "last-prompt": frozenset(("lastPrompt", "leafUuid", "message")),
    "permission-mode": frozenset(("permissionMode",)),
    "mode": frozenset(("mode",)),
    "ai-title": frozenset(("aiTitle", "message")),
    "custom-title": frozenset(("customTitle",)),
    "agent-name": frozenset(("agentName",)),
    "agent-color": frozenset(("agentColor",)),
    "agent-setting": frozenset(("agentSetting",)),
    "tag": frozenset(("tag",)),
    "summary": frozenset(("summary", "leafUuid")),
    "pr-link": frozenset(("prNumber", "prUrl", "prRepository")),
    "bridge-session": frozenset(
        ("bridgeSessionId", "lastSequenceNum", "ownerAccountUuid", "ownerOrganizationUuid")
    ),
    "frame-link": frozenset(("path", "frameUrl", "title")),
    "queue-operation": frozenset(("operation", "content")),
    "worktree-state": frozenset(("worktreeSession",)),
    "relocated": frozenset(("relocatedCwd",)),
    "atis-latch": frozenset(("atis",)),
    "started": frozenset(("key",)),
    "result": frozenset(("key", "result")),
    "content-replacement": frozenset(("replacements",)),
    "speculation-accept": frozenset(("timeSavedMs",)),
    "marble-origami-commit": frozenset(
        ("collapseId", "summaryUuid", "summaryContent", "firstArchivedUuid")
    ),
}

CLAUDE_EVENT_MEMBERS = {
    kind: members | CLAUDE_COMMON_MEMBERS for kind, members in CLAUDE_EVENT_OWN_MEMBERS.items()
}

# Line type → the member that holds the subtype (none: the line itself) and the subtypes.
CLAUDE_EVENT_SUBTYPES = {
    "system": (
        "",
        frozenset(
            (
                "stop_hook_summary",
                "turn_duration",
                "away_summary",
                "local_command",
                "compact_boundary",
                "bridge_status",
            )
            + (
                "microcompact_boundary",
                "api_error",
                "informational",
                "model_refusal_fallback",
                "api_refusal",
                "error",
            )
            + (
                "session_start",
                "init",
                "hook_summary",
                "memory_saved",
                "agents_killed",
                "scheduled_task_fire",
            )
        ),
    ),
    "progress": (
        "data",
        frozenset(
            (
                "bash_progress",
                "hook_progress",
                "agent_progress",
                "mcp_progress",
                "waiting_for_task",
                "query_update",
            )
            + ("search_results_received", "skill_progress", "powershell_progress")
        ),
    ),
    "attachment": (
        "attachment",
        frozenset(
            (
                "hook_success",
                "task_reminder",
                "edited_text_file",
                "queued_command",
                "file",
                "nested_memory",
            )
            + (
                "plan_mode",
                "plan_mode_exit",
                "plan_mode_reentry",
                "skill_listing",
                "deferred_tools_delta",
            )
            + (
                "agent_listing_delta",
                "async_hook_response",
                "auto_mode",
                "auto_mode_exit",
                "batching_reminder_sent",
            )
            + (
                "budget_usd",
                "command_permissions",
                "compact_file_reference",
                "date_change",
                "dynamic_skill",
            )
            + (
                "hook_additional_context",
                "hook_blocking_error",
                "hook_non_blocking_error",
                "hook_system_message",
            )
            + (
                "invoked_skills",
                "mcp_instructions_delta",
                "read_truncation_notice",
                "silent_turn_reminder",
            )
            + (
                "task_status",
                "todo_reminder",
                "total_tokens_reminder",
                "ultra_effort_enter",
                "ultra_effort_exit",
            )
            + (
                "directory",
                "diagnostics",
                "opened_file_in_ide",
                "selected_lines_in_ide",
                "plan_file_reference",
            )
            + (
                "output_style",
                "ultrathink_effort",
                "context_efficiency",
                "edited_image_file",
                "pdf_reference",
            )
            + (
                "already_read_file",
                "mcp_resource",
                "agent_mention",
                "teammate_mailbox",
                "team_context",
            )
            + (
                "hook_cancelled",
                "hook_error_during_execution",
                "hook_stopped_continuation",
                "hook_permission_decision",
            )
            + (
                "critical_system_reminder",
                "verify_plan_reminder",
                "max_turns_reached",
                "token_usage",
            )
            + (
                "output_token_usage",
                "skill_discovery",
                "relevant_memories",
                "compaction_reminder",
                "structured_output",
            )
        ),
    ),
}


name = "claude-code"
formats = ("claude-jsonl",)

# Where Claude Code keeps its sessions, and what lies around a session's file there.
_SESSION_PATTERNS = ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl")
STORES = (
    SessionStore(_SESSION_PATTERNS, "~/.claude", "CLAUDE_CONFIG_DIR"),
    SessionStore(
        _SESSION_PATTERNS, "~/.config", "XDG_CONFIG_HOME", "claude", unless="CLAUDE_CONFIG_DIR"
    ),
)
ATTACHED = ("{stem}/tool-results/*", "{stem}.meta.json")
SUB_SESSIONS = ("{stem}/subagents/agent-*.jsonl", "agent-*.jsonl")

CLAUDE_LINE_MOVES = Lift(Move("uuid", "id"), Move("parentUuid", "parent-id"))
CLAUDE_MESSAGE_MOVES = Lift(
    Move("content", "content", None), Move("model", "model-id"), Move("stop_reason", "stop-reason")
)
CLAUDE_SYNTHETIC_MESSAGE_MOVES = Lift(
    *(move for move in CLAUDE_MESSAGE_MOVES.moves if move.canonical != "model-id")
)
CLAUDE_EVENT_NAMES = {"permission-mode": "permission-change"}
CLAUDE_TOOL_LINES = {
    "tool_use": ("tool-call", ("name", "input")),
    "tool_result": ("tool-result", ("output",)),
}
CLAUDE_SYNTHETIC_MODEL = "<synthetic>"

# Members of every line that say where it belongs, not what happened; on an event they stay beside
# `data`.
CLAUDE_ENVELOPE_MEMBERS = frozenset(
    (
        "isSidechain",
        "userType",
        "cwd",
        "sessionId",
        "version",
        "gitBranch",
        "entrypoint",
        "slug",
        "agentId",
    )
    + ("sessionKind", "session_id", "teamName")
)

_MEMBERS_BESIDE_DATA = CLAUDE_ENVELOPE_MEMBERS | {
    "id",
    "parent-id",
    "timestamp",
    "type",
    "event-type",
    "vacr",
}
_CLASHING_MEMBERS = CANONICAL_ENTRY_MEMBERS - {"timestamp"}
_EVENT_CLASHING_MEMBERS = frozenset(("id", "parent-id", "event-type", "vacr"))
_MESSAGE_TYPES = CLAUDE_MESSAGE_TYPES
CLAUDE_AUTONOMOUS_ENTRYPOINTS = frozenset(("sdk-cli",))
CLAUDE_INTERACTIVE_ENTRYPOINTS = frozenset(
    ("cli", "claude-desktop", "claude-vscode", "claude-jetbrains", "claude-web")
)


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Claude Code's; a line of a kindred format makes
    it none of it.
    """
    ours = sum(map(_is_claude_line, sample))
    return (ours - 2 * sum(map(_is_lookalike_line, sample))) / len(sample) if ours else 0.0


def _is_claude_line(value: Any) -> bool:
    if type(value) is not dict or "payload" in value:
        return False
    kind, message = value.get("type"), value.get("message")
    if type(kind) is str:
        if kind in CLAUDE_MESSAGE_TYPES:
            return type(message) is dict or "toolUseResult" in value
        if kind in CLAUDE_EVENT_MEMBERS:
            return "sessionId" in value or not CLAUDE_EVENT_OWN_MEMBERS[kind].isdisjoint(value)
    return "uuid" in value and type(message) is dict


_IFLOW_SESSION_ID = re.compile(r"session-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _is_lookalike_line(value: Any) -> bool:
    """Return whether a line only looks like Claude Code's.

    Messages of Qwen Code have parts, lines of Cursor have a role, and a session id of iFlow is
    `session-` with a UUID.
    """
    if type(value) is not dict:
        return False
    message, session = value.get("message"), value.get("sessionId")
    if type(session) is str and _IFLOW_SESSION_ID.fullmatch(session):
        return True
    return (
        "systemPayload" in value
        or "role" in value
        or (type(message) is dict and "parts" in message)
    )


def read(source: Source) -> Iterator[Reading]:
    """Read one transcript."""
    with pause_garbage_collector():
        reading = _TranscriptReader().read(source)
    yield reading


class _TranscriptReader:
    """One transcript on its way into a record."""

    def __init__(self) -> None:
        self.session = SessionBuilder("claude-jsonl", "claude-code", provider="anthropic")
        self.usages: dict[Any, JsonObject] = {}
        self.agents: set[Any] = set()
        self.sidechain_only = True
        self.unlearned = ["sessionId", "cwd", "version", "gitBranch", "entrypoint"]

    def read(self, source: Source) -> Reading:
        session = self.session
        session.add_lines(source, self.entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def context(self, line: JsonObject) -> None:
        """Learn about the session from the first line that says something."""
        for member in [
            member for member in self.unlearned if type(line.get(member)) is str and line[member]
        ]:
            self.unlearned.remove(member)
            self.learn(member, line[member])
        if self.sidechain_only and "message" in line:
            self.sidechain_only = line.get("isSidechain") is True
            self.agents.add(line.get("agentId") if type(line.get("agentId")) is str else None)

    def learn(self, member: str, value: str) -> None:
        """Take over what a line says about the session."""
        session = self.session
        match member:
            case "sessionId":
                session.session_id = value
            case "cwd":
                session.working_dir = value
            case "version":
                session.cli_version = value
            case "gitBranch":
                session.vcs["branch"] = value
            case "entrypoint":
                session.mode = _get_session_mode(value)

    def entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        self.context(line)
        return self.typed(line)

    def typed(self, line: JsonObject) -> JsonObject:
        """Turn a line, or a message that a line holds, into an entry of its type."""
        kind = line.pop("type", None)
        if type(kind) is str:
            if kind in _MESSAGE_TYPES:
                return self.message(line, kind)
            if kind in CLAUDE_TOOL_LINES and all(
                member in line for member in CLAUDE_TOOL_LINES[kind][1]
            ):
                return self.tool(line, kind)
        elif kind is None and is_one_of(_get_message_role(line), _MESSAGE_TYPES):
            entry = self.message(line, _get_message_role(line))
            get_writable_marks(entry)["untyped"] = True
            return entry
        return self.event(line, kind)

    def message(self, entry: JsonObject, kind: str) -> JsonObject:
        """Turn a user's or an assistant's line into a message entry with its children."""
        if not entry.keys() <= CLAUDE_MESSAGE_LINE_MEMBERS:
            self.session.drift.count_members(kind, entry, CLAUDE_MESSAGE_LINE_MEMBERS)
            set_members_aside(entry, _CLASHING_MEMBERS)
        CLAUDE_LINE_MOVES.apply(entry, entry)
        entry["type"] = kind
        message = entry.get("message")
        if type(message) is dict:
            self.lift_message(message, entry)
        drop_nulls(entry)
        return entry

    def lift_message(self, message: JsonObject, entry: JsonObject) -> None:
        """Move what the API's message says into the entry, and see its blocks as children."""
        drift = self.session.drift
        if not message.keys() <= CLAUDE_MESSAGE_MEMBERS:
            drift.count_members("message", message, CLAUDE_MESSAGE_MEMBERS)
        if message.get("model") == CLAUDE_SYNTHETIC_MODEL:
            get_writable_marks(entry)["synthetic"] = True
            CLAUDE_SYNTHETIC_MESSAGE_MOVES.apply(message, entry)
        else:
            CLAUDE_MESSAGE_MOVES.apply(message, entry)
            if "usage" in message:
                self.count(message, entry)
            if "model-id" in entry:
                self.session.models[entry["model-id"]] += 1
        drop_nulls(message)
        if not message and entry.get("content") is not None:
            del entry["message"]
        content = entry.get("content")
        if type(content) is list and (
            views := build_child_entries(content, drift.types, drift.members)
        ):
            entry["children"] = views

    def count(self, message: JsonObject, entry: JsonObject) -> None:
        """Remember the fullest usage of an API message: its lines repeat it, the last ones with the
        final numbers.
        """
        usage, identity = message["usage"], message.get("id")
        if type(usage) is not dict:
            return
        key: Any = identity if type(identity) in (str, int) else id(entry), type(identity)
        if not usage.keys() <= CLAUDE_USAGE_MEMBERS:
            self.session.drift.count_members("usage", usage, CLAUDE_USAGE_MEMBERS)
        best = self.usages.get(key)
        if best is None or _get_output_tokens(usage) >= _get_output_tokens(
            best["message"]["usage"]
        ):
            self.usages[key] = entry

    def tool(self, entry: JsonObject, kind: str) -> JsonObject:
        """Turn a line that is itself a call or a result into that entry."""
        entry_type, members = CLAUDE_TOOL_LINES[kind]
        if type(entry.get("name", "")) is not str:
            return self.event(entry, kind)
        kept = {member: entry.pop(member) for member in members}
        set_members_aside(entry, _CLASHING_MEMBERS)
        keep_native_members(entry, {"type": kind})
        CLAUDE_LINE_MOVES.apply(entry, entry)
        drop_nulls(entry)
        return entry | kept | {"type": entry_type}

    def event(self, entry: JsonObject, kind: Any) -> JsonObject:
        """Turn any other line into an event whose payload is in `data`."""
        self.see_event(entry, kind)
        if not _EVENT_CLASHING_MEMBERS.isdisjoint(entry):
            set_members_aside(entry, _EVENT_CLASHING_MEMBERS)
        CLAUDE_LINE_MOVES.apply(entry, entry)
        data = {
            member: entry.pop(member)
            for member in list(entry)
            if member not in _MEMBERS_BESIDE_DATA
        }
        entry["type"] = "system-event"
        entry["event-type"] = CLAUDE_EVENT_NAMES.get(kind, kind) if type(kind) is str else "unknown"
        if entry["event-type"] != kind and kind is not None:
            keep_native_members(entry, {"type": kind})
        if data:
            entry["data"] = data
            if kind == "progress":
                self.unfold(data, entry)
        drop_nulls(entry)
        return entry

    def see_event(self, entry: JsonObject, kind: Any) -> None:
        """Count what no table names about an event."""
        members = CLAUDE_EVENT_MEMBERS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.count_type(kind)
            return
        if not entry.keys() <= members:
            self.session.drift.count_members(kind, entry, members)
        if kind in CLAUDE_EVENT_SUBTYPES:
            holder, subtypes = CLAUDE_EVENT_SUBTYPES[kind]
            inner = entry.get(holder) if holder else entry
            subtype = (
                inner.get("subtype" if kind == "system" else "type")
                if type(inner) is dict
                else None
            )
            if not is_one_of(subtype, subtypes):
                self.session.drift.count_type(f"{kind}/{subtype}")

    def unfold(self, data: JsonObject, entry: JsonObject) -> None:
        """Take the sub-agent's message out of a progress line: it is an entry of its own, inside
        the event.
        """
        inner = data.get("data")
        embedded = inner.get("message") if type(inner) is dict else None
        if (
            type(embedded) is dict
            and is_one_of(embedded.get("type"), CLAUDE_MESSAGE_TYPES)
            and type(embedded.get("message")) is dict
        ):
            del data["data"]["message"]
            entry["children"] = [self.typed(embedded)]
            self.session.embedded += entry["children"]

    def settle(self) -> None:
        """Decide what only the whole transcript tells: usage counted once, and whose session this
        is.
        """
        for entry in self.usages.values():
            entry["token-usage"] = build_claude_usage(entry["message"].pop("usage"), entry)
            if not entry["message"]:
                del entry["message"]
        session = self.session
        agents = self.agents - {None}
        if self.sidechain_only and len(agents) == 1 and session.session_id is not None:
            session.parent, session.mode = session.session_id, "autonomous"
            session.session_id = f"{session.parent}/{agents.pop()}"
        if session.models and not any(
            "claude" in model or "anthropic" in model for model in session.models
        ):
            session.provider = "unknown"


def build_claude_usage(usage: JsonObject, entry: JsonObject) -> JsonObject:
    """Give Anthropic's usage with the canonical counters beside it: their input leaves cached
    tokens out, ours does not.
    """
    counters = [usage.get(member) for member in CLAUDE_INPUT_COUNTERS]
    result: JsonObject = {}
    if type(counters[0]) is int:
        result["input"] = sum(
            counter for counter in counters if type(counter) is int and counter > 0
        )
    if type(usage.get("cache_read_input_tokens")) is int:
        result["cached"] = usage["cache_read_input_tokens"]
    if type(usage.get("output_tokens")) is int:
        result["output"] = usage["output_tokens"]
    details = usage.get("output_tokens_details")
    if type(details) is dict:
        for member in ("thinking_tokens", "reasoning_tokens"):
            if type(details.get(member)) is int:
                result["reasoning"] = details[member]
    result = {member: count for member, count in result.items() if is_count(count)}
    if TOKEN_USAGE_MEMBERS.isdisjoint(usage):
        return usage | result
    entry["message"]["usage"] = usage
    return result


def _get_message_role(line: JsonObject) -> Any:
    message = line.get("message")
    return message.get("role") if type(message) is dict else None


def _get_output_tokens(usage: JsonObject) -> int:
    tokens = usage.get("output_tokens")
    return tokens if type(tokens) is int else 0


def _get_session_mode(entrypoint: Any) -> str | None:
    if entrypoint in CLAUDE_AUTONOMOUS_ENTRYPOINTS:
        return "autonomous"
    return "interactive" if entrypoint in CLAUDE_INTERACTIVE_ENTRYPOINTS else None
