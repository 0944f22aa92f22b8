"""Claude Code transcripts: project JSONL files, main sessions and sub-agents.

One line becomes one entry. Lines refer to each other by `parent-id`, so branches, compaction and
sidechains stay as they were written. The reader does not follow a session into other files;
`vacr.discovery` finds the files that belong together.

A prompt that was typed while the agent worked is an attachment, `queued_command`. It becomes a user
message at its place: the prompt is the content, and `attachment` keeps the rest. Notices that
Claude Code queues in the same way stay events, and so does a prompt that a user line repeats.

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
from vacr.agents.claude_code.speakers import is_queued_prompt
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    drop_nulls,
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
    apiBlockIndex apiErrorStatus attributionAgent attributionMcpServer attributionMcpTool
    attributionPlugin attributionSkill classifierMetaLines effort error errorDetails handedOff
    imagePasteIds interruptedByShutdown interruptedMessageId isAbortedMidStream isApiErrorMessage
    isCompactSummary isReplay isVirtual isVisibleInTranscriptOnly madeBy mcpMeta message origin
    ownWord perTurnEffort permissionDecision permissionMode persist planContent project
    promptCacheRequested promptSource queueSkipAttachments queueTranscriptOnly remoteToolDenialKind
    replacesSpan requestId requestRef requestedModel sandboxed scheduledTaskId
    sourceToolAssistantUUID sourceToolUseID supersedesUuids textNotTyped thinking thinkingMetadata
    todos toolDenialEndsTurn toolDenialKind toolEndsTurn toolInputStreamMs toolUseResult
    turnCompanion turnOrigin turnPosition verifiedSlackHumanTurn wakeupSource
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
    cache_creation cache_creation_input_tokens cache_read_input_tokens fallback_credit inference_geo
    input_tokens iterations output_tokens output_tokens_details server_tool_use service_tier speed
    """
)
CLAUDE_EVENT_OWN_MEMBERS = {
    "system": parse_names(
        """
        apiRefusalCategory apiRefusalExplanation briefHiddenCount budgetLimit budgetNudges
        budgetTokens cause commandRun commands compactMetadata content direction durationMs error
        fallbackModel hasOutput highlight hookAdditionalContext hookCount hookErrors hookInfos
        hookLabel level maxRetries messageCount microcompactMetadata originalModel
        pendingBackgroundAgentCount pendingWorkflowCount preTokens preventedContinuation
        refusedUserMessageUuid requestId retractedMessageUuids retryAttempt retryInMs scope source
        stopReason subtype toolUseID totalDurationMs trigger url
        """
    ),
    "progress": parse_names("data parentToolUseID toolUseID"),
    "attachment": parse_names(
        "attachment rendered renderedBesideToolResult renderedInHumanTurn renderedRole"
    ),
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
    "queue-operation": parse_names("commandUuid content deliveryId operation reason"),
    "worktree-state": parse_names("worktreeSession"),
    "relocated": parse_names("relocatedCwd"),
    "atis-latch": parse_names("atis"),
    "started": parse_names("key"),
    "result": parse_names("key result"),
    "content-replacement": parse_names("replacements"),
    "speculation-accept": parse_names("timeSavedMs"),
    "api-request": parse_names(
        "base cacheControl id keep params querySource requestDigest shapeHash tail"
    ),
    "api-request-blob": parse_names("hash message"),
    "api-request-shape": parse_names("shape shapeHash"),
    "cost-state": parse_names(
        """
        hasUnknownModelCost modelUsage startTime totalAPIDuration totalAPIDurationWithoutRetries
        totalCostUSD totalDuration totalLinesAdded totalLinesRemoved totalToolDuration
        """
    ),
    "history-suppression": parse_names("cause ts vetoedAgainstAccountUuid"),
    "repl-mode": parse_names("replMode"),
    "resume-head-vouch": parse_names("sum"),
    "tools-used": parse_names("tools"),
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
            agents_killed api_error api_refusal away_summary bridge_status checkpoint_done
            compact_boundary error file_attachments_missing file_snapshot hook_summary informational
            init instruction_size_warning late_allow_not_run local_command memory_recall
            memory_saved microcompact_boundary model_consent_fallback model_fallback
            model_refusal_fallback model_refusal_no_fallback notification permission_denied
            permission_retry post_turn_summary rewind_stand_in scheduled_task_fire session_start
            session_writes_lost start_folder stop_hook_summary task_notification task_progress
            task_started task_summary task_updated turn_duration turn_handoff_available
            turn_preempted vcs_state_changed voice_call_talk
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
            account_memory_recall advisor_stripped advisor_tool agent_listing_delta agent_mention
            already_read_file artifact_opening_prefetch async_hook_response
            async_hook_response_batch at_mention_reference attention_budget auto_mode auto_mode_exit
            bash_output_audience_note batching_reminder batching_reminder_sent budget_usd
            claude_app_notice command_permissions compact_file_reference compaction_reminder
            context_efficiency context_sections coordinator_context cowork_memory_context
            credential_org critical_system_reminder date date_change deferred_tools_delta
            deferred_tools_record diagnostics dir_sync_notice directory dynamic_skill
            edited_image_file edited_text_file elapsed_time_reminder environment file fork_briefing
            goal_status goals hook_additional_context hook_blocking_error hook_cancelled
            hook_deferred_tool hook_error_during_execution hook_non_blocking_error
            hook_permission_decision hook_plugin_listing hook_stopped_continuation hook_success
            hook_system_message inlined_image_paths instruction_files_not_loaded instructions
            invoked_skills language linked_plugin_tools_note max_turns_reached
            mcp_dropped_tools_delta mcp_instructions_delta mcp_resource memory_update
            message_pdf_reads model nested_memory opened_file_in_ide output_limit_note output_style
            output_style_instructions output_token_usage pdf_reference peer_mention
            plan_file_reference plan_mode plan_mode_exit plan_mode_reentry plugin_note poll_events
            prefix_delta proactivity project_doc_reads projects_thread_ask prompt_as_file
            prompt_render_point prompt_snapshot queued_command read_truncation_notice
            relevant_memories remote_session_change repl_mcp_needs_auth sandbox_instructions
            secondary_reminder secondary_reminder_sent selected_lines_in_diff selected_lines_in_ide
            session_context session_cron_carry silent_turn_reminder skill_discovery skill_listing
            skill_mention structured_output task_reminder task_status team_context teammate_mailbox
            teammate_shutdown_batch thinking_drop thinking_stripped thread_state todo_reminder
            token_usage tool_host_result_lines tool_hosts_correction tool_hosts_notice
            tool_results_cut tool_search_usage_reminder total_tokens_reminder ultra_effort_enter
            ultra_effort_exit ultrathink_effort unknown_command_fallback verify_plan_reminder
            whole_texts_withdrawn widget_context_hint withheld_memory workflow_keyword_request
            workflow_size_guideline_change
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

    A line of a similar format counts against it twice; the result is never below 0.
    """
    own_lines = sum(map(_is_claude_line, sample))
    if not own_lines:
        return 0.0
    score = (own_lines - 2 * sum(map(_is_lookalike_line, sample))) / len(sample)
    return max(0.0, score)


def _is_claude_line(value: Any) -> bool:
    """Return whether a value has the form of one of Claude Code's lines."""
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
    """Yield the record of one transcript."""
    yield read_transcript(source, formats[0], name, "anthropic")


def read_transcript(source: Source, format_id: str, agent: str, provider: str) -> Reading:
    """Return the record of one transcript; the caller names its format, agent and provider."""
    with pause_garbage_collector():
        return _TranscriptReader(format_id, agent, provider).read(source)


class _TranscriptReader:
    """One transcript on its way into a record."""

    def __init__(self, format_id: str, agent: str, provider: str) -> None:
        """Start without lines."""
        self.session = SessionBuilder(format_id, agent, provider=provider)
        self.usage_entries: dict[Any, JsonObject] = {}
        """API message → the entry whose usage counts."""
        self.agent_ids: set[Any] = set()
        self.queued_prompts: list[JsonObject] = []
        """Events that are prompts, unless a user line repeats them."""
        self.sidechain_only = True
        self.unlearned = ["sessionId", "cwd", "version", "gitBranch", "entrypoint"]

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole transcript."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry, an event if its type is not one of a message or a call."""
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
        """Store a fact about the session, by the name of the line's member."""
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
        if not CLAUDE_MESSAGE_LINE_MEMBERS.issuperset(entry):
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
        if not CLAUDE_MESSAGE_MEMBERS.issuperset(message):
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
        if not CLAUDE_USAGE_MEMBERS.issuperset(usage):
            self.session.drift.count_members("usage", usage, CLAUDE_USAGE_MEMBERS)
        best = self.usage_entries.get(key)
        if best is None or _get_output_tokens(usage) >= _get_output_tokens(
            best["message"]["usage"]
        ):
            self.usage_entries[key] = entry

    def make_tool_entry(self, entry: JsonObject, kind: str) -> JsonObject:
        """Turn a line that is itself a call or a result into that entry.

        A call whose name is not a text becomes an event.
        """
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
            elif kind == "attachment":
                attachment = data.get("attachment")
                if type(attachment) is dict and is_queued_prompt(attachment):
                    self.queued_prompts.append(entry)
        drop_nulls(entry)
        return entry

    def count_unknown_names(self, entry: JsonObject, kind: Any) -> None:
        """Count the type, members and subtype of an event that no table names."""
        members = CLAUDE_EVENT_MEMBERS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.count_type(kind)
            return
        if not members.issuperset(entry):
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
            child = self.make_typed_entry(embedded)
            if child["type"] == "user":
                get_writable_marks(child)["sub-agent"] = True
            entry["children"] = [child]
            self.session.embedded.append(child)

    def make_queued_prompts(self) -> None:
        """Turn the prompts that no user line repeats into user messages, in place.

        A line repeats a prompt if it has the id that the prompt refers to, or is a replay of it.
        """
        if not self.queued_prompts:
            return
        users = [entry for entry in self.session.entries if entry["type"] == "user"]
        user_ids = {entry.get("id") for entry in users}
        replayed = [entry.get("content") for entry in users if entry.get("isReplay") is True]
        for entry in self.queued_prompts:
            attachment = entry["data"]["attachment"]
            source_id = attachment.get("source_uuid")
            is_repeated = type(source_id) is str and source_id in user_ids
            if not is_repeated and attachment["prompt"] not in replayed:
                self.make_prompt_entry(entry)

    def make_prompt_entry(self, entry: JsonObject) -> None:
        """Turn the event of a queued prompt into a user message, in place."""
        data = entry.pop("data")
        clashing = {name: data.pop(name) for name in _CLASHING_MEMBERS.intersection(data)}
        del entry["event-type"]
        entry |= {"type": "user", "content": data["attachment"].pop("prompt"), **data}
        keep_native_members(entry, {"type": "attachment", **clashing})
        drop_nulls(entry)
        drift = self.session.drift
        content = entry["content"]
        if type(content) is list and (
            views := build_child_entries(content, drift.types, drift.members)
        ):
            entry["children"] = views

    def settle(self) -> None:
        """Decide everything that needs the whole transcript: usage, sub-agent, provider."""
        self.make_queued_prompts()
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

    Anthropic's input leaves cached tokens out; the canonical input includes them. If the usage has
    a member with a canonical name, return only the counters, and keep the usage in the `message` of
    the entry.
    """
    counts: JsonObject = {}
    if type(usage.get(CLAUDE_INPUT_COUNTERS[0])) is int:
        total = 0
        for member in CLAUDE_INPUT_COUNTERS:
            counter = usage.get(member)
            if type(counter) is int and counter > 0:
                total += counter
        counts["input"] = total
    if type(usage.get("cache_read_input_tokens")) is int:
        counts["cached"] = usage["cache_read_input_tokens"]
    if type(usage.get("output_tokens")) is int:
        counts["output"] = usage["output_tokens"]
    details = usage.get("output_tokens_details")
    if type(details) is dict:
        for member in ("thinking_tokens", "reasoning_tokens"):
            if type(details.get(member)) is int:
                counts["reasoning"] = details[member]
    if not all(map(is_count, counts.values())):
        counts = {member: count for member, count in counts.items() if is_count(count)}
    if TOKEN_USAGE_MEMBERS.isdisjoint(usage):
        return usage | counts
    entry["message"]["usage"] = usage
    return counts


def _get_message_role(line: JsonObject) -> Any:
    """Return the role of the message in a line, or None without a message."""
    message = line.get("message")
    return message.get("role") if type(message) is dict else None


def _get_output_tokens(usage: JsonObject) -> int:
    """Return the output tokens of a usage, or 0 if it does not state them."""
    tokens = usage.get("output_tokens")
    return tokens if type(tokens) is int else 0


def _get_session_mode(entrypoint: Any) -> str | None:
    """Return `autonomous` or `interactive` for an entrypoint, or None for an unknown one."""
    if entrypoint in CLAUDE_AUTONOMOUS_ENTRYPOINTS:
        return "autonomous"
    return "interactive" if entrypoint in CLAUDE_INTERACTIVE_ENTRYPOINTS else None
