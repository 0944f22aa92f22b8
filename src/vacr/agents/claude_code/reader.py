"""Claude Code transcripts: project JSONL files, main sessions and sub-agents.

One line becomes one entry. Lines refer to each other by `parent-id`, so branches, compaction and
sidechains stay as they were written. The reader does not follow a session into other files;
`vacr.discovery` finds the files that belong together.

>>> from pathlib import Path
>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.claude_code.reader import read
>>> data = Path("examples/claude-code.jsonl").read_bytes()
>>> (reading,) = read(Source((SourcePart("claude-code.jsonl", data),)))
>>> entries = reading.record["session"]["entries"]
>>> [entry.get("event-type", entry["type"]) for entry in entries[:3]]
['file-history-snapshot', 'permission-change', 'user']
>>> [entry["token-usage"]["output"] for entry in entries if "token-usage" in entry][0]
187

docs/mapping/claude-code.md is generated from the tables. They hold the names seen in versions 1.0
to 2.1. A name that is missing here is kept like any other, and counted in the record's
`vacr.drift`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    drop_nulls,
    get_writable_marks,
    is_count,
    is_one_of,
    keep_native_members,
    parse_names,
    set_members_aside,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import build_child_entries

name = "claude-code"
formats = ("claude-jsonl",)

_SESSION_PATTERNS = ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl")
STORES = (
    SessionStore(_SESSION_PATTERNS, "~/.claude", "CLAUDE_CONFIG_DIR"),
    SessionStore(
        _SESSION_PATTERNS, "~/.config", "XDG_CONFIG_HOME", "claude", unless="CLAUDE_CONFIG_DIR"
    ),
)
# The files that lie around a session's own.
ATTACHED = ("{stem}/tool-results/*", "{stem}.meta.json")
SUB_SESSIONS = ("{stem}/subagents/agent-*.jsonl", "agent-*.jsonl")

# --- Moves ---

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
CLAUDE_INPUT_COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
CLAUDE_AUTONOMOUS_ENTRYPOINTS = frozenset(("sdk-cli",))
CLAUDE_INTERACTIVE_ENTRYPOINTS = frozenset(
    ("cli", "claude-desktop", "claude-vscode", "claude-jetbrains", "claude-web")
)

# --- Known names ---

CLAUDE_MESSAGE_TYPES = frozenset(("user", "assistant"))
CLAUDE_ENVELOPE_MEMBERS = parse_names(
    """
    agentId cwd entrypoint gitBranch isSidechain sessionId sessionKind session_id slug teamName
    userType version
    """
)
"""Members of every line that place it in the session; an event keeps them next to `data`."""
CLAUDE_COMMON_MEMBERS = CLAUDE_ENVELOPE_MEMBERS | parse_names(
    """
    agentName forkedFrom isMeta logicalParentUuid parentSessionId parentUuid promptId timestamp uuid
    """
)
CLAUDE_MESSAGE_LINE_MEMBERS = CLAUDE_COMMON_MEMBERS | parse_names(
    """
    apiErrorStatus attributionAgent attributionMcpServer attributionMcpTool attributionPlugin
    attributionSkill classifierMetaLines effort error errorDetails imagePasteIds
    interruptedByShutdown interruptedMessageId isAbortedMidStream isApiErrorMessage isCompactSummary
    isReplay isVisibleInTranscriptOnly mcpMeta message origin permissionMode planContent project
    promptSource requestId sourceToolAssistantUUID sourceToolUseID supersedesUuids thinking
    thinkingMetadata todos toolDenialKind toolEndsTurn toolUseResult turnCompanion
    """
)
CLAUDE_MESSAGE_MEMBERS = parse_names(
    """
    container content context_management diagnostics id model role stop_details stop_reason
    stop_sequence type usage
    """
)
CLAUDE_USAGE_MEMBERS = parse_names(
    """
    cache_creation cache_creation_input_tokens cache_read_input_tokens inference_geo input_tokens
    iterations output_tokens output_tokens_details server_tool_use service_tier speed
    """
)
CLAUDE_EVENT_OWN_MEMBERS = {
    "system": parse_names(
        """
        apiRefusalCategory apiRefusalExplanation budgetTokens cause commands compactMetadata content
        direction durationMs error fallbackModel hasOutput hookAdditionalContext hookCount
        hookErrors hookInfos level maxRetries messageCount microcompactMetadata originalModel
        pendingBackgroundAgentCount preTokens preventedContinuation refusedUserMessageUuid requestId
        retractedMessageUuids retryAttempt retryInMs scope source stopReason subtype toolUseID
        trigger url
        """
    ),
    "progress": parse_names("data parentToolUseID toolUseID"),
    "attachment": parse_names("attachment"),
    "file-history-snapshot": parse_names("isSnapshotUpdate messageId snapshot"),
    "file-history-delta": parse_names("backup messageId snapshotMessageId trackingPath"),
    "last-prompt": parse_names("lastPrompt leafUuid message"),
    "permission-mode": parse_names("permissionMode"),
    "mode": parse_names("mode"),
    "ai-title": parse_names("aiTitle message"),
    "custom-title": parse_names("customTitle"),
    "agent-name": parse_names("agentName"),
    "agent-color": parse_names("agentColor"),
    "agent-setting": parse_names("agentSetting"),
    "tag": parse_names("tag"),
    "summary": parse_names("leafUuid summary"),
    "pr-link": parse_names("prNumber prRepository prUrl"),
    "bridge-session": parse_names(
        "bridgeSessionId lastSequenceNum ownerAccountUuid ownerOrganizationUuid"
    ),
    "frame-link": parse_names("frameUrl path title"),
    "queue-operation": parse_names("content operation"),
    "worktree-state": parse_names("worktreeSession"),
    "relocated": parse_names("relocatedCwd"),
    "atis-latch": parse_names("atis"),
    "started": parse_names("key"),
    "result": parse_names("key result"),
    "content-replacement": parse_names("replacements"),
    "speculation-accept": parse_names("timeSavedMs"),
    "marble-origami-commit": parse_names("collapseId firstArchivedUuid summaryContent summaryUuid"),
}
"""Line type → the members that are its own."""
CLAUDE_EVENT_MEMBERS = {
    kind: members | CLAUDE_COMMON_MEMBERS for kind, members in CLAUDE_EVENT_OWN_MEMBERS.items()
}
CLAUDE_EVENT_SUBTYPES = {
    "system": (
        "",
        parse_names(
            """
            agents_killed api_error api_refusal away_summary bridge_status compact_boundary error
            hook_summary informational init local_command memory_saved microcompact_boundary
            model_refusal_fallback scheduled_task_fire session_start stop_hook_summary turn_duration
            """
        ),
    ),
    "progress": (
        "data",
        parse_names(
            """
            agent_progress bash_progress hook_progress mcp_progress powershell_progress query_update
            search_results_received skill_progress waiting_for_task
            """
        ),
    ),
    "attachment": (
        "attachment",
        parse_names(
            """
            agent_listing_delta agent_mention already_read_file async_hook_response auto_mode
            auto_mode_exit batching_reminder_sent budget_usd command_permissions
            compact_file_reference compaction_reminder context_efficiency critical_system_reminder
            date_change deferred_tools_delta diagnostics directory dynamic_skill edited_image_file
            edited_text_file file hook_additional_context hook_blocking_error hook_cancelled
            hook_error_during_execution hook_non_blocking_error hook_permission_decision
            hook_stopped_continuation hook_success hook_system_message invoked_skills
            max_turns_reached mcp_instructions_delta mcp_resource nested_memory opened_file_in_ide
            output_style output_token_usage pdf_reference plan_file_reference plan_mode
            plan_mode_exit plan_mode_reentry queued_command read_truncation_notice relevant_memories
            selected_lines_in_ide silent_turn_reminder skill_discovery skill_listing
            structured_output task_reminder task_status team_context teammate_mailbox todo_reminder
            token_usage total_tokens_reminder ultra_effort_enter ultra_effort_exit ultrathink_effort
            verify_plan_reminder
            """
        ),
    ),
}
"""Line type → the member that holds the subtype (empty: the line itself), and the subtypes."""

_MEMBERS_BESIDE_DATA = CLAUDE_ENVELOPE_MEMBERS | parse_names(
    "event-type id parent-id timestamp type vacr"
)
_CLASHING_MEMBERS = CANONICAL_ENTRY_MEMBERS - {"timestamp"}
_EVENT_CLASHING_MEMBERS = frozenset(("id", "parent-id", "event-type", "vacr"))
_IFLOW_SESSION_ID = re.compile(r"session-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Claude Code's.

    A line of a similar format counts against it twice.
    """
    own_lines = sum(map(_is_claude_line, sample))
    if not own_lines:
        return 0.0
    return (own_lines - 2 * sum(map(_is_lookalike_line, sample))) / len(sample)


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


def _is_lookalike_line(value: Any) -> bool:
    """Return whether a line only looks like Claude Code's.

    Messages of Qwen Code have parts, lines of Cursor have a role, and a session id of iFlow is
    `session-` with a UUID.
    """
    if type(value) is not dict:
        return False
    message, session_id = value.get("message"), value.get("sessionId")
    if type(session_id) is str and _IFLOW_SESSION_ID.fullmatch(session_id):
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
        self.usage_entries: dict[Any, JsonObject] = {}
        """API message → the entry whose usage counts."""
        self.agent_ids: set[Any] = set()
        self.sidechain_only = True
        self.unlearned = ["sessionId", "cwd", "version", "gitBranch", "entrypoint"]

    def read(self, source: Source) -> Reading:
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        self.learn_from_line(line)
        return self.make_typed_entry(line)

    def learn_from_line(self, line: JsonObject) -> None:
        """Learn each fact about the session from the first line that states it."""
        for member in [
            member for member in self.unlearned if type(line.get(member)) is str and line[member]
        ]:
            self.unlearned.remove(member)
            self.learn_fact(member, line[member])
        if self.sidechain_only and "message" in line:
            self.sidechain_only = line.get("isSidechain") is True
            agent_id = line.get("agentId")
            self.agent_ids.add(agent_id if type(agent_id) is str else None)

    def learn_fact(self, member: str, value: str) -> None:
        """Store a fact about the session."""
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

    def make_typed_entry(self, line: JsonObject) -> JsonObject:
        """Turn a line, or a message inside a line, into an entry of its type."""
        kind = line.pop("type", None)
        if type(kind) is str:
            if kind in CLAUDE_MESSAGE_TYPES:
                return self.make_message_entry(line, kind)
            if kind in CLAUDE_TOOL_LINES and all(
                member in line for member in CLAUDE_TOOL_LINES[kind][1]
            ):
                return self.make_tool_entry(line, kind)
        elif kind is None and is_one_of(_get_message_role(line), CLAUDE_MESSAGE_TYPES):
            entry = self.make_message_entry(line, _get_message_role(line))
            get_writable_marks(entry)["untyped"] = True
            return entry
        return self.make_event(line, kind)

    def make_message_entry(self, entry: JsonObject, kind: str) -> JsonObject:
        """Turn a line of the user or the assistant into a message, in place."""
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
        """Move the members of the API's message into the entry, and view its blocks as children."""
        drift = self.session.drift
        if not message.keys() <= CLAUDE_MESSAGE_MEMBERS:
            drift.count_members("message", message, CLAUDE_MESSAGE_MEMBERS)
        if message.get("model") == CLAUDE_SYNTHETIC_MODEL:
            get_writable_marks(entry)["synthetic"] = True
            CLAUDE_SYNTHETIC_MESSAGE_MOVES.apply(message, entry)
        else:
            CLAUDE_MESSAGE_MOVES.apply(message, entry)
            if "usage" in message:
                self.note_usage(message, entry)
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

    def note_usage(self, message: JsonObject, entry: JsonObject) -> None:
        """Note the fullest usage of an API message.

        The lines of one API message repeat its usage, and only the last have the final numbers.
        """
        usage, identity = message["usage"], message.get("id")
        if type(usage) is not dict:
            return
        key: Any = identity if type(identity) in (str, int) else id(entry), type(identity)
        if not usage.keys() <= CLAUDE_USAGE_MEMBERS:
            self.session.drift.count_members("usage", usage, CLAUDE_USAGE_MEMBERS)
        best = self.usage_entries.get(key)
        if best is None or _get_output_tokens(usage) >= _get_output_tokens(
            best["message"]["usage"]
        ):
            self.usage_entries[key] = entry

    def make_tool_entry(self, entry: JsonObject, kind: str) -> JsonObject:
        """Turn a line that is itself a call or a result into that entry."""
        entry_type, members = CLAUDE_TOOL_LINES[kind]
        if type(entry.get("name", "")) is not str:
            return self.make_event(entry, kind)
        kept = {member: entry.pop(member) for member in members}
        set_members_aside(entry, _CLASHING_MEMBERS)
        keep_native_members(entry, {"type": kind})
        CLAUDE_LINE_MOVES.apply(entry, entry)
        drop_nulls(entry)
        return entry | kept | {"type": entry_type}

    def make_event(self, entry: JsonObject, kind: Any) -> JsonObject:
        """Turn any other line into an event, in place; its own members go to `data`."""
        self.count_unknown_names(entry, kind)
        if not _EVENT_CLASHING_MEMBERS.isdisjoint(entry):
            set_members_aside(entry, _EVENT_CLASHING_MEMBERS)
        CLAUDE_LINE_MOVES.apply(entry, entry)
        data = {
            member: entry.pop(member)
            for member in list(entry)
            if member not in _MEMBERS_BESIDE_DATA
        }
        entry["type"] = "system-event"
        entry["event-type"] = CLAUDE_EVENT_NAMES.get(kind, kind) if type(kind) is str else UNKNOWN
        if entry["event-type"] != kind and kind is not None:
            keep_native_members(entry, {"type": kind})
        if data:
            entry["data"] = data
            if kind == "progress":
                self.unfold_progress(data, entry)
        drop_nulls(entry)
        return entry

    def count_unknown_names(self, entry: JsonObject, kind: Any) -> None:
        """Count the type, members and subtype of an event that no table names."""
        members = CLAUDE_EVENT_MEMBERS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.count_type(kind)
            return
        if not entry.keys() <= members:
            self.session.drift.count_members(kind, entry, members)
        if kind in CLAUDE_EVENT_SUBTYPES:
            holder_name, subtypes = CLAUDE_EVENT_SUBTYPES[kind]
            holder = entry.get(holder_name) if holder_name else entry
            subtype_member = "subtype" if kind == "system" else "type"
            subtype = holder.get(subtype_member) if type(holder) is dict else None
            if not is_one_of(subtype, subtypes):
                self.session.drift.count_type(f"{kind}/{subtype}")

    def unfold_progress(self, data: JsonObject, entry: JsonObject) -> None:
        """Turn a sub-agent's message inside a progress line into a child of the event."""
        progress = data.get("data")
        embedded = progress.get("message") if type(progress) is dict else None
        if (
            type(embedded) is dict
            and is_one_of(embedded.get("type"), CLAUDE_MESSAGE_TYPES)
            and type(embedded.get("message")) is dict
        ):
            del data["data"]["message"]
            entry["children"] = [self.make_typed_entry(embedded)]
            self.session.embedded += entry["children"]

    def settle(self) -> None:
        """Decide everything that needs the whole transcript: usage, sub-agent, provider."""
        for entry in self.usage_entries.values():
            entry["token-usage"] = build_claude_usage(entry["message"].pop("usage"), entry)
            if not entry["message"]:
                del entry["message"]
        session = self.session
        agent_ids = self.agent_ids - {None}
        if self.sidechain_only and len(agent_ids) == 1 and session.session_id is not None:
            # A sub-agent's lines name the session of its parent.
            session.parent, session.mode = session.session_id, "autonomous"
            session.session_id = f"{session.parent}/{agent_ids.pop()}"
        if session.models and not any(
            "claude" in model or "anthropic" in model for model in session.models
        ):
            session.provider = UNKNOWN


def build_claude_usage(usage: JsonObject, entry: JsonObject) -> JsonObject:
    """Return Anthropic's usage together with the canonical counters.

    Anthropic's input leaves cached tokens out; the canonical input includes them.
    """
    counters = [usage.get(member) for member in CLAUDE_INPUT_COUNTERS]
    counts: JsonObject = {}
    if type(counters[0]) is int:
        counts["input"] = sum(
            counter for counter in counters if type(counter) is int and counter > 0
        )
    if type(usage.get("cache_read_input_tokens")) is int:
        counts["cached"] = usage["cache_read_input_tokens"]
    if type(usage.get("output_tokens")) is int:
        counts["output"] = usage["output_tokens"]
    details = usage.get("output_tokens_details")
    if type(details) is dict:
        for member in ("thinking_tokens", "reasoning_tokens"):
            if type(details.get(member)) is int:
                counts["reasoning"] = details[member]
    counts = {member: count for member, count in counts.items() if is_count(count)}
    if TOKEN_USAGE_MEMBERS.isdisjoint(usage):
        return usage | counts
    entry["message"]["usage"] = usage
    return counts


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
