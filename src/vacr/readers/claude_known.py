"""The line types, members and subtypes of Claude Code that are known. Step: read.

Seen in versions 1.0 to 2.1. A name that is missing here costs nothing but a count in the record's
`vacr.drift`.
"""

from __future__ import annotations

MESSAGES = frozenset(("user", "assistant"))

COMMON = frozenset(
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

MESSAGE_LINE = COMMON | frozenset(
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

MESSAGE = frozenset(
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

USAGE = frozenset(
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
INPUT_COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

# Line type → the members that are its own.
OWN = {
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

EVENTS = {kind: members | COMMON for kind, members in OWN.items()}

# Line type → the member that holds the subtype (none: the line itself) and the subtypes.
SUBTYPES = {
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
