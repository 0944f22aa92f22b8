"""The members of Codex CLI's payloads that are known. Step: read.

Seen in versions 0.39 to 0.146. A member that is missing here costs nothing but a count in the
record's `vacr.drift`; a type of payload that is missing altogether is not looked into.
"""

from __future__ import annotations

_STATES = {
    "compacted": (
        "first_window_id message previous_window_id replacement_history window_id window_number"
    ),
    "inter_agent_communication_metadata": "trigger_turn",
    "session_meta": (
        "agent_nickname agent_path agent_role base_instructions cli_version context_window cwd "
        "dynamic_tools "
        "forked_from_id git history_base history_mode id instructions memory_mode model_provider "
        "multi_agent_version originator parent_thread_id session_id source "
        "subagent_history_start_ordinal "
        "thread_source timestamp"
    ),
    "turn_context": (
        "active_permission_profile approval_policy approvals_reviewer base_instructions "
        "collaboration_mode "
        "comp_hash current_date cwd developer_instructions effort file_system_sandbox_policy "
        "final_output_json_schema model model_provider multi_agent_mode multi_agent_version "
        "network "
        "permission_profile personality realtime_active sandbox_cwd sandbox_policy summary "
        "timezone "
        "truncation_policy turn_id user_instructions workspace_roots"
    ),
    "world_state": "full state",
}

_EVENTS = {
    "account/rateLimits/updated": "rate_limits",
    "agent_message": "memory_citation message phase",
    "agent_reasoning": "text",
    "codex/event/raw_item": "payload",
    "collab_agent_interaction_end": (
        "call_id prompt receiver_agent_nickname receiver_agent_role receiver_thread_id "
        "sender_thread_id status"
    ),
    "collab_agent_spawn_end": (
        "call_id model new_agent_nickname new_agent_role new_thread_id prompt reasoning_effort "
        "sender_thread_id status"
    ),
    "collab_close_end": (
        "call_id receiver_agent_nickname receiver_agent_role "
        "receiver_thread_id sender_thread_id status"
    ),
    "collab_waiting_end": "agent_statuses call_id sender_thread_id statuses",
    "context_compacted": "",
    "dynamic_tool_call_request": "arguments callId namespace tool turnId",
    "dynamic_tool_call_response": (
        "arguments call_id content_items duration error namespace success tool turn_id"
    ),
    "entered_review_mode": "item_id prompt target turn_id user_facing_hint",
    "error": "codex_error_info error message",
    "exec_command_end": (
        "aggregated_output call_id command cwd duration exit_code formatted_output "
        "interaction_input "
        "parsed_cmd process_id source status stderr stdout turn_id"
    ),
    "exited_review_mode": "item_id review_output turn_id",
    "guardian_assessment": (
        "action decision_source id rationale risk_level status "
        "target_item_id turn_id user_authorization"
    ),
    "image_generation_end": "call_id result revised_prompt saved_path status",
    "item_completed": "completed_at_ms item started_at_ms thread_id turn_id",
    "mcp_tool_call_end": (
        "action_name app_name call_id connector_id duration invocation link_id plugin_id "
        "read_only_hint result"
    ),
    "patch_apply_end": "call_id changes status stderr stdout success turn_id",
    "sub_agent_activity": "agent_path agent_thread_id event_id kind occurred_at_ms",
    "task_complete": (
        "completed_at duration_ms error last_agent_message started_at "
        "time_to_first_token_ms turn_id"
    ),
    "task_started": "collaboration_mode_kind model_context_window started_at trace_id turn_id",
    "thread_goal_updated": "goal threadId turnId",
    "thread_name_updated": "thread_id thread_name",
    "thread_rolled_back": "num_turns",
    "thread_settings_applied": "thread_settings",
    "token_count": "info rate_limits",
    "turn.completed": "message usage",
    "turn_aborted": "completed_at duration_ms reason started_at turn_id",
    "undo_completed": "message success",
    "user_message": "audio client_id images kind local_audio local_images message text_elements",
    "view_image_tool_call": "call_id path",
    "web_search_end": "action call_id query results",
}

MEMBERS = {
    kind: frozenset(names.split()) | {"type"}
    for table in (_STATES, _EVENTS)
    for kind, names in table.items()
}
"""The members of a payload, by the type of the payload, or of the envelope where it has none."""
