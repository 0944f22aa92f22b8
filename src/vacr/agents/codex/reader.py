"""Which lines of a Codex rollout were copied from its parent. Step: read.

A fork or a sub-agent writes its own `session_meta` first, then a copy of its parent's lines, among
them the parent's `session_meta`, then its own turns. Newer versions say where their own lines
begin; for older ones the turns tell: turn ids are UUIDs that hold their time, and a copied turn
began before this session did.

The line and item types of Codex CLI that are known, and their members. Step: read.

Seen in versions 0.39 to 0.146, and named in its rollout policy. A name that is missing here costs
nothing but a count in the record's `vacr.drift`.

The members of Codex CLI's payloads that are known. Step: read.

Seen in versions 0.39 to 0.146. A member that is missing here costs nothing but a count in the
record's `vacr.drift`; a type of payload that is missing altogether is not looked into.

Codex CLI rollouts: enveloped JSONL of all versions, paginated ones, and the older bare form.
Step: read.

One line becomes one entry. Messages, calls, results and reasoning come from response items; what
Codex writes beside them for its screen (`event_msg`) stays an event, so that nothing is said or
counted twice. A fork starts with lines that it copied from its parent: they are kept and marked
`inherited`. Left out on purpose: following a fork into other files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.codex.items import (
    CODEX_COMMON_ITEM_MEMBERS,
    CODEX_LIFTED_ITEM_MEMBERS,
    CODEX_MESSAGE_MOVES,
    CODEX_TOOL_ITEMS,
    assign_codex_models,
    count_codex_tokens,
    learn_codex_session,
    lift_codex_call,
    lift_codex_reasoning,
    set_codex_provider,
)
from vacr.agents.lift import (
    Reading,
    SessionBuilder,
    describe_json_kind,
    drop_nulls,
    get_writable_marks,
    is_one_of,
    keep_native_members,
    set_members_aside,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, JsonObject
from vacr.record import build_child_entries, get_epoch_milliseconds, is_timestamp

# Copied lines are stamped when they are copied, within moments of the session's start.
_MAX_COPY_MILLISECONDS = 1000


def find_inherited_entries(
    entries: list[JsonObject],
    metas: list[tuple[int, JsonObject]],
    turns: list[tuple[int, JsonObject]],
) -> frozenset[int]:
    """Give the positions of the entries that the session took over from its parent."""
    if not metas:
        return frozenset()
    first, own = metas[0][0], metas[0][1]
    boundary = _get_first_own_ordinal(own["data"])
    if boundary is not None:
        return frozenset(
            index
            for index, entry in enumerate(entries)
            if index > first and type(entry.get("ordinal")) is int and entry["ordinal"] < boundary
        )
    began = _get_start_time(own)
    first_own = next(
        (index for index, turn in turns if index > first and _is_own_turn(turn, began)),
        len(entries),
    )
    if not any(
        first < index < first_own and _get_session_id(meta) != _get_session_id(own)
        for index, meta in metas
    ):
        return frozenset()
    # Older versions write what the user said before the turn that answers it.
    while (
        first_own > first + 1
        and _is_prompt(entries[first_own - 1])
        and _is_written_later(entries[first_own - 1], began)
    ):
        first_own -= 1
    return frozenset(range(first + 1, first_own))


def _get_first_own_ordinal(meta: JsonObject) -> int | None:
    """Give the ordinal of the first own line, where the session says it."""
    base = meta.get("history_base")
    for value in (
        meta.get("subagent_history_start_ordinal"),
        base.get("end_ordinal_exclusive") if type(base) is dict else None,
    ):
        if type(value) is int:
            return value
    return None


def _get_session_id(meta: JsonObject) -> Any:
    return meta["data"].get("id") or meta["data"].get("session_id")


def _get_start_time(meta: JsonObject) -> int | None:
    """Give the time at which a session began, from its id where that holds one."""
    when = _get_uuid_time(_get_session_id(meta))
    stamp = meta["data"].get("timestamp") or meta.get("timestamp")
    return (
        when
        if when is not None
        else get_epoch_milliseconds(stamp)
        if isinstance(stamp, str | int)
        else None
    )


def _is_own_turn(turn: JsonObject, began: int | None) -> bool:
    """Tell whether a turn began after its session did."""
    if began is None:
        return True
    when = _get_uuid_time(turn["data"].get("turn_id"))
    if when is not None:
        return when >= began
    return _is_written_later(turn, began)


def _is_prompt(entry: JsonObject) -> bool:
    return entry["type"] == "user" or entry.get("event-type") in ("user_message", "message")


def _is_written_later(entry: JsonObject, began: int | None) -> bool:
    """Tell whether a line was written after those that were copied, or does not say when."""
    stamp = entry.get("timestamp")
    written = get_epoch_milliseconds(stamp) if isinstance(stamp, str | int) else None
    return began is None or written is None or written > began + _MAX_COPY_MILLISECONDS


def _get_uuid_time(text: Any) -> int | None:
    """Give the milliseconds in a UUIDv7."""
    if type(text) is not str:
        return None
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None  # noqa: PLR2004 - the UUID version that holds a time


CODEX_LINE_MEMBERS = frozenset(("timestamp", "type", "payload", "ordinal"))

# Envelope types whose payload has no type of its own.
CODEX_STATE_ENVELOPES = frozenset(
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
CODEX_ENVELOPE_TYPES = CODEX_STATE_ENVELOPES | {"response_item", "event_msg"}

# Response items that stay events, with their members.
CODEX_EVENT_ITEM_MEMBERS = {
    "message": frozenset(("role", "content")),
    "agent_message": frozenset(("author", "recipient", "content")),
    "ghost_snapshot": frozenset(("ghost_commit",)),
    "compaction": frozenset(("encrypted_content",)),
    "compaction_summary": frozenset(("encrypted_content",)),
    "context_compaction": frozenset(("encrypted_content",)),
    "compaction_trigger": frozenset[str](),
    "additional_tools": frozenset(("tools", "role")),
}

CODEX_EVENT_TYPES = frozenset(
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


_STATE_PAYLOAD_MEMBERS = {
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

_EVENT_PAYLOAD_MEMBERS = {
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

CODEX_PAYLOAD_MEMBERS = {
    kind: frozenset(names.split()) | {"type"}
    for table in (_STATE_PAYLOAD_MEMBERS, _EVENT_PAYLOAD_MEMBERS)
    for kind, names in table.items()
}
"""The members of a payload, by the type of the payload, or of the envelope where it has none."""


name = "codex-cli"
formats = ("codex-jsonl",)

# Where Codex CLI keeps its sessions.
STORES = (
    SessionStore(("sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"), "~/.codex", "CODEX_HOME"),
)

CODEX_MESSAGE_ROLES = frozenset(("user", "assistant"))
CODEX_EVENT_NAMES = {"session_meta": "session-start", "token_count": "token-count"}

# Events that repeat what response items say: the member with the text, and the entry they are where
# no item says it.
CODEX_ECHO_EVENTS = {
    "user_message": ("message", "user"),
    "agent_message": ("message", "assistant"),
    "agent_reasoning": ("text", "reasoning"),
}
CODEX_ITEM_MEMBERS = CODEX_LIFTED_ITEM_MEMBERS | {
    kind: own | CODEX_COMMON_ITEM_MEMBERS for kind, own in CODEX_EVENT_ITEM_MEMBERS.items()
}
_ENVELOPE_MARKS = {envelope: {"native": {"type": envelope}} for envelope in CODEX_ENVELOPE_TYPES}
_CODEX_TEXT_BLOCKS = frozenset(("input_text", "output_text"))
_CLASHING_MEMBERS = CANONICAL_ENTRY_MEMBERS - {"timestamp"}


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Codex CLI's; bare items alone, which others
    write too, are not.
    """
    if not any(map(_is_codex_line, sample)) or any(map(_is_trae_line, sample)):
        return 0.0
    return sum(1 for value in sample if _is_codex_line(value) or _may_be_codex_line(value)) / len(
        sample
    )


def _is_codex_line(value: Any) -> bool:
    """Tell whether a line can only be Codex CLI's: in its envelope, or one of the older
    form's own.
    """
    if type(value) is not dict:
        return False
    if "payload" in value:
        return is_one_of(value.get("type"), CODEX_ENVELOPE_TYPES)
    if value.get("type") == "message" and type(value.get("content")) is list:
        return any(
            type(block) is dict and is_one_of(block.get("type"), _CODEX_TEXT_BLOCKS)
            for block in value["content"]
        )
    return value.get("record_type") == "state" or _is_bare_header(value)


def _is_trae_line(value: Any) -> bool:
    """Return whether a line is of Trae's command line, which writes Codex CLI's format."""
    payload = value.get("payload") if type(value) is dict else None
    return type(payload) is dict and payload.get("model_provider") == "trae"


def _may_be_codex_line(value: Any) -> bool:
    return type(value) is dict and (
        is_one_of(value.get("type"), CODEX_ITEM_MEMBERS)
        or is_one_of(value.get("role"), CODEX_MESSAGE_ROLES)
    )


def _is_bare_header(line: JsonObject) -> bool:
    """Tell whether a line is the first one of the older bare form."""
    return "id" in line and "timestamp" in line and ("instructions" in line or "git" in line)


def read(source: Source) -> Iterator[Reading]:
    """Read one rollout."""
    with pause_garbage_collector():
        reading = _RolloutReader().read(source)
    yield reading


class _RolloutReader:
    """One rollout on its way into a record."""

    def __init__(self) -> None:
        self.session = SessionBuilder("codex-jsonl", "codex-cli")
        self.metas: list[tuple[int, JsonObject]] = []
        self.turns: list[tuple[int, JsonObject]] = []
        self.assistants: list[tuple[int, JsonObject]] = []
        self.token_counts: list[tuple[int, JsonObject]] = []
        self.noted = {
            "session_meta": self.metas,
            "turn_context": self.turns,
            "task_started": self.turns,
            "token_count": self.token_counts,
        }
        self.echoes: list[tuple[int, JsonObject]] = []
        self.heard: dict[str, list[Any]] = {"user": [], "assistant": [], "reasoning": []}

    def read(self, source: Source) -> Reading:
        session = self.session
        session.add_lines(source, self.entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        payload, envelope = line.get("payload"), line.get("type")
        if type(payload) is not dict or type(envelope) is not str:
            return self.bare(line)
        del line["payload"], line["type"]
        if not line.keys() <= CODEX_LINE_MEMBERS:
            self.session.drift.count_members("line", line, CODEX_LINE_MEMBERS)
            set_members_aside(line, _CLASHING_MEMBERS)
        if envelope != "response_item" or not self.item(line, payload):
            self.event(line, envelope, payload)
        if line.get("event-type") != envelope:
            # Entries with no other marks share the object that names their envelope.
            if "vacr" in line or envelope not in _ENVELOPE_MARKS:
                keep_native_members(line, {"type": envelope})
            else:
                line["vacr"] = _ENVELOPE_MARKS[envelope]
        return line

    def item(self, entry: JsonObject, payload: JsonObject) -> bool:
        """Make a typed entry of a response item, if it is one; what is left of the item stays in
        `payload`.
        """
        kind: Any = payload.get("type")
        members = CODEX_ITEM_MEMBERS.get(kind) if type(kind) is str else None
        if members is None or not payload.keys() <= members:
            self.see_item(payload)
        item = CODEX_TOOL_ITEMS.get(kind) if members is not None else None
        if not (
            lift_codex_call(item, payload, entry)
            if item is not None
            else self.typed(entry, payload)
        ):
            return False
        drop_nulls(payload)
        entry["payload"] = payload
        return True

    def event(self, entry: JsonObject, envelope: str, payload: JsonObject) -> None:
        """Make an event of any other payload, which is its data."""
        kind: Any = envelope
        if envelope not in CODEX_STATE_ENVELOPES:
            kind = payload.get("type")
            if type(kind) is not str:
                kind = envelope
            if kind not in CODEX_EVENT_TYPES and envelope != "response_item":
                self.session.drift.count_type(
                    f"{envelope}/{_get_payload_kind(payload)}"
                    if envelope == "event_msg"
                    else envelope
                )
        members = CODEX_PAYLOAD_MEMBERS.get(kind) if envelope != "response_item" else None
        if members is not None and not payload.keys() <= members:
            self.session.drift.count_members(kind, payload, members)
        entry["type"], entry["event-type"], entry["data"] = (
            "system-event",
            CODEX_EVENT_NAMES.get(kind, kind),
            payload,
        )
        if kind in self.noted:
            self.noted[kind].append((len(self.session.entries), entry))
        elif (
            kind in CODEX_ECHO_EVENTS
            and envelope == "event_msg"
            and type(payload.get(CODEX_ECHO_EVENTS[kind][0])) is str
        ):
            self.echoes.append((len(self.session.entries), entry))

    def bare(self, line: JsonObject) -> JsonObject:
        """Make an entry of a line without an envelope, as the oldest versions write them."""
        kind = line.get("type")
        entry: JsonObject = {}
        known_members = CODEX_ITEM_MEMBERS.get(kind) if type(kind) is str else None
        if known_members is not None and not line.keys() <= known_members | {"timestamp"}:
            self.session.drift.count_members(f"bare/{kind}", line, known_members | {"timestamp"})
        if not self.typed(entry, line):
            return self.bare_event(line, kind)
        native = {
            member: value for member, value in line.items() if member not in CANONICAL_ENTRY_MEMBERS
        }
        clash = {
            member: value for member, value in line.items() if member in CANONICAL_ENTRY_MEMBERS
        }
        if is_timestamp(clash.get("timestamp")):
            entry["timestamp"] = clash.pop("timestamp")
        if clash:
            keep_native_members(entry, clash)
        drop_nulls(native)
        return native | entry

    def bare_event(self, line: JsonObject, kind: Any) -> JsonObject:
        """Make an event of a bare line: the session's header, a state, or something unknown."""
        entry: JsonObject = {"type": "system-event", "data": line, "vacr": {"bare": True}}
        if is_timestamp(line.get("timestamp")):
            entry["timestamp"] = line.pop("timestamp")
        native = kind if type(kind) is str else line.get("record_type")
        if not self.metas and _is_bare_header(line | entry):
            entry["event-type"] = "session-start"
            self.metas.append((len(self.session.entries), entry))
            return entry
        entry["event-type"] = native if type(native) is str else "unknown"
        if native != "state" and not is_one_of(kind, CODEX_EVENT_ITEM_MEMBERS):
            self.session.drift.count_type(
                f"bare/{native}" if type(native) is str else describe_json_kind(kind)
            )
        return entry

    def see_item(self, payload: JsonObject) -> None:
        """Count response items and members that no table names."""
        kind = payload.get("type")
        if kind is None and "role" in payload:
            kind = "message"
        members = CODEX_ITEM_MEMBERS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.count_type(f"response_item/{_get_payload_kind(payload)}")
        else:
            self.session.drift.count_members(f"response_item/{kind}", payload, members)

    def typed(self, entry: JsonObject, native: JsonObject) -> bool:
        """Make a message, a call, a result or reasoning of a response item, if it is one."""
        kind = native.get("type")
        if kind == "message" or (kind is None and "role" in native):
            return self.message(entry, native)
        if kind == "reasoning":
            lift_codex_reasoning(native, entry)
            self.heard["reasoning"].append(entry["content"])
            return True
        if is_one_of(kind, CODEX_TOOL_ITEMS):
            return lift_codex_call(CODEX_TOOL_ITEMS[kind], native, entry)
        return False

    def message(self, entry: JsonObject, native: JsonObject) -> bool:
        """Make a message of what the user or the assistant said; what others say is an event."""
        role = native.get("role")
        if not is_one_of(role, CODEX_MESSAGE_ROLES):
            return False
        CODEX_MESSAGE_MOVES.apply(native, entry)
        if "content" not in entry and type(native.get("message")) is str:
            entry["content"] = native.pop("message")
            get_writable_marks(entry)["content-from"] = "message"
        del native["role"]
        entry["type"] = role
        drift = self.session.drift
        if views := build_child_entries(entry.get("content"), drift.types, drift.members):
            entry["children"] = views
        self.heard[role].append(entry.get("content"))
        if role == "assistant":
            self.assistants.append((len(self.session.entries), entry))
        return True

    def settle(self) -> None:
        """Decide what only the whole rollout tells."""
        entries = self.session.entries
        copied = find_inherited_entries(entries, self.metas, self.turns)
        self.session.inherits = bool(copied)
        for index in copied:
            get_writable_marks(entries[index])["inherited"] = True
        if self.metas:
            learn_codex_session(self.session, self.metas[0][1]["data"])
        said = {who: _collect_texts(contents) for who, contents in self.heard.items()}
        for index, entry in self.echoes:
            self.settle_echo(index, entry, said)
        assign_codex_models(self.session, self.turns, self.assistants, copied)
        set_codex_provider(self.session)
        count_codex_tokens(self.token_counts, copied)

    def settle_echo(self, index: int, entry: JsonObject, said: dict[str, set[str]]) -> None:
        """Mark an event that repeats a response item; make it the message it is where no item of
        its kind exists.
        """
        payload = entry["data"]
        member, entry_type = CODEX_ECHO_EVENTS[payload["type"]]
        if self.heard[entry_type]:
            if payload[member] in said[entry_type]:
                get_writable_marks(entry)["repeats"] = True
            return
        del entry["event-type"], entry["data"]
        entry |= {"type": entry_type, "content": payload.pop(member), "payload": payload}
        if entry_type == "assistant":
            self.assistants.append((index, entry))
        drop_nulls(payload)


def _get_payload_kind(payload: JsonObject) -> str:
    kind = payload.get("type")
    return kind if type(kind) is str else describe_json_kind(kind)


def _collect_texts(contents: list[Any]) -> set[str]:
    """Collect what contents say, block by block and as a whole."""
    said: set[str] = set()
    for content in contents:
        if type(content) is str:
            said.add(content)
        elif type(content) is list:
            texts = [
                block["text"]
                for block in content
                if type(block) is dict and type(block.get("text")) is str
            ]
            said.update(texts)
            said.add("".join(texts))
    return said
