"""The line and item types of Codex CLI that are known, and their members. Step: read.

Seen in versions 0.39 to 0.146, and named in its rollout policy. A name that is missing here costs
nothing but a count in the record's `vacr.drift`.
"""

from __future__ import annotations

LINE = frozenset(("timestamp", "type", "payload", "ordinal"))

# Envelope types whose payload has no type of its own.
STATES = frozenset(
    (
        "session_meta",
        "turn_context",
        "compacted",
        "world_state",
        "security_risk_score",
        "token_usage_record",
    )
    + ("inter_agent_communication", "inter_agent_communication_metadata")
)
ENVELOPES = STATES | {"response_item", "event_msg"}

# Response items that stay events, with their members.
ITEM_EVENTS = {
    "message": frozenset(("role", "content")),
    "agent_message": frozenset(("author", "recipient", "content")),
    "ghost_snapshot": frozenset(("ghost_commit",)),
    "compaction": frozenset(("encrypted_content",)),
    "compaction_summary": frozenset(("encrypted_content",)),
    "context_compaction": frozenset(("encrypted_content",)),
    "compaction_trigger": frozenset[str](),
    "additional_tools": frozenset(("tools", "role")),
}

EVENTS = frozenset(
    (
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
    )
    + (
        "patch_apply_begin",
        "patch_apply_end",
        "patch_apply_updated",
        "token_count",
        "thread_goal_updated",
    )
    + (
        "context_compacted",
        "entered_review_mode",
        "exited_review_mode",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
    )
    + (
        "thread_rolled_back",
        "turn_aborted",
        "task_started",
        "task_complete",
        "turn_started",
        "turn_complete",
    )
    + (
        "turn.completed",
        "web_search_begin",
        "web_search_end",
        "image_generation_begin",
        "image_generation_end",
    )
    + (
        "sub_agent_activity",
        "item_started",
        "item_completed",
        "error",
        "warning",
        "stream_error",
        "guardian_warning",
    )
    + (
        "guardian_assessment",
        "exec_command_begin",
        "exec_command_end",
        "view_image_tool_call",
        "thread_name_updated",
    )
    + (
        "collab_agent_spawn_begin",
        "collab_agent_spawn_end",
        "collab_agent_interaction_begin",
        "undo_completed",
    )
    + (
        "collab_agent_interaction_end",
        "collab_waiting_begin",
        "collab_waiting_end",
        "collab_close_begin",
    )
    + (
        "collab_close_end",
        "collab_resume_begin",
        "collab_resume_end",
        "dynamic_tool_call_request",
        "undo_started",
    )
    + (
        "dynamic_tool_call_response",
        "thread_settings_applied",
        "model_reroute",
        "turn_diff",
        "plan_update",
    )
    + (
        "background_event",
        "session_configured",
        "account/rateLimits/updated",
        "codex/event/raw_item",
    )
    + (
        "terminal_interaction",
        "deprecation_notice",
        "hook_started",
        "hook_completed",
        "shutdown_complete",
    )
)
