"""Codex CLI rollouts: enveloped JSONL of all versions, paginated ones, and the older bare form.

One line becomes one entry. Messages, calls, results and reasoning come from response items. Codex
also writes events for its screen (`event_msg`); they stay events, so that nothing is said or
counted twice. A fork starts with lines copied from its parent: they are kept and marked
`inherited`. The reader does not follow a fork into other files.

>>> from pathlib import Path
>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.codex.reader import read
>>> data = Path("examples/codex-cli.jsonl").read_bytes()
>>> (reading,) = read(Source((SourcePart("codex-cli.jsonl", data),)))
>>> session = reading.record["session"]
>>> session["agent-meta"]["model-id"], session["environment"]["working-dir"]
('gpt-5.5', '/home/mira/invoice')
>>> sorted({entry["type"] for entry in session["entries"]})
['assistant', 'reasoning', 'system-event', 'tool-call', 'tool-result', 'user']

docs/mapping/codex-cli.md is generated from the tables. They hold the names seen in versions 0.39
to 0.169. A name that is missing here is kept like any other, and counted in the record's
`vacr.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.codex.rollout import (
    CODEX_EVENT_ITEM_MEMBERS,
    CODEX_ITEM_MEMBERS,
    CODEX_MESSAGE_MOVES,
    CODEX_TOOL_ITEMS,
    NotedEntries,
    assign_codex_models,
    count_codex_tokens,
    find_inherited_entries,
    learn_codex_session,
    lift_codex_call,
    lift_codex_reasoning,
    set_codex_provider,
)
from vacr.agents.codex.speakers import TYPED_KINDS, join_message_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Reading,
    SessionBuilder,
    describe_json_kind,
    drop_nulls,
    is_one_of,
    keep_native_members,
    parse_names,
    set_members_aside,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, JsonObject
from vacr.record import build_child_entries, is_timestamp

name = "codex-cli"
formats = ("codex-jsonl",)
STORES = (
    SessionStore(("sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"), "~/.codex", "CODEX_HOME"),
)

CODEX_LINE_MEMBERS = parse_names("metadata ordinal payload timestamp type")
CODEX_STATE_ENVELOPES = parse_names(
    """
    compacted inter_agent_communication inter_agent_communication_metadata security_risk_score
    session_meta token_usage_record turn_context world_state
    """
)
"""Envelope types whose payload has no type of its own."""
CODEX_ENVELOPE_TYPES = CODEX_STATE_ENVELOPES | {"response_item", "event_msg"}
CODEX_EVENT_TYPES = parse_names(
    """
    account/rateLimits/updated agent_message agent_reasoning agent_reasoning_raw_content
    agent_reasoning_section_break background_event codex/event/raw_item
    collab_agent_interaction_begin collab_agent_interaction_end collab_agent_spawn_begin
    collab_agent_spawn_end collab_close_begin collab_close_end collab_resume_begin
    collab_resume_end collab_waiting_begin collab_waiting_end context_compacted
    deprecation_notice dynamic_tool_call_request dynamic_tool_call_response entered_review_mode
    error exec_command_begin exec_command_end exited_review_mode guardian_assessment
    guardian_warning hook_completed hook_started image_generation_begin image_generation_end
    item_completed item_started mcp_tool_call_begin mcp_tool_call_end model_reroute
    patch_apply_begin patch_apply_end patch_apply_updated plan_update session_configured
    shutdown_complete stream_error sub_agent_activity task_complete task_started
    terminal_interaction thread_goal_updated thread_name_updated thread_rolled_back
    thread_settings_applied token_count turn.completed turn_aborted turn_complete turn_diff
    turn_started undo_completed undo_started user_message view_image_tool_call warning
    web_search_begin web_search_end
    """
)

_STATE_PAYLOAD_MEMBERS = {
    "compacted": """
        compaction_response_id first_window_id latest_token_usage_record message previous_window_id
        replacement_history replacement_history_metadata resume_metadata retained_context window_id
        window_number
    """,
    "inter_agent_communication_metadata": "trigger_turn",
    "session_meta": """
        account_scoped agent_nickname agent_path agent_role base_instructions cli_version
        context_window cwd dynamic_tools forked_from_id git history_base history_mode id
        instructions memory_mode model_provider multi_agent_version originator parent_thread_id
        runtime_workspace_roots session_id source subagent_history_start_ordinal thread_source
        timestamp
    """,
    "turn_context": """
        active_permission_profile approval_policy approvals_reviewer base_instructions
        collaboration_mode comp_hash current_date cwd developer_instructions disabled_plugin_ids
        effort file_system_sandbox_policy final_output_json_schema model model_provider
        multi_agent_mode multi_agent_version network permission_profile personality realtime_active
        root_turn_id sandbox_cwd sandbox_policy summary timezone truncation_policy turn_id
        user_instructions workspace_roots
    """,
    "world_state": "full state",
}
_EVENT_PAYLOAD_MEMBERS = {
    "account/rateLimits/updated": "rate_limits",
    "agent_message": "memory_citation message phase",
    "agent_reasoning": "text",
    "codex/event/raw_item": "payload",
    "collab_agent_interaction_end": """
        call_id prompt receiver_agent_nickname receiver_agent_role receiver_thread_id
        sender_thread_id status
    """,
    "collab_agent_spawn_end": """
        call_id model new_agent_nickname new_agent_role new_thread_id prompt reasoning_effort
        sender_thread_id status
    """,
    "collab_close_end": """
        call_id receiver_agent_nickname receiver_agent_role receiver_thread_id sender_thread_id
        status
    """,
    "collab_waiting_end": "agent_statuses call_id sender_thread_id statuses",
    "context_compacted": "",
    "dynamic_tool_call_request": "arguments callId namespace tool turnId",
    "dynamic_tool_call_response": """
        arguments call_id content_items duration error namespace success tool turn_id
    """,
    "entered_review_mode": "item_id prompt target turn_id user_facing_hint",
    "error": "codex_error_info error message",
    "exec_command_end": """
        aggregated_output call_id command cwd duration exit_code formatted_output interaction_input
        parsed_cmd process_id source status stderr stdout turn_id
    """,
    "exited_review_mode": "item_id review_output turn_id",
    "guardian_assessment": """
        action decision_source id rationale risk_level status target_item_id turn_id
        user_authorization
    """,
    "image_generation_end": "call_id result revised_prompt saved_path status",
    "item_completed": "completed_at_ms item started_at_ms thread_id turn_id",
    "mcp_tool_call_end": """
        action_name app_name call_id connector_id duration invocation link_id plugin_id
        read_only_hint result
    """,
    "patch_apply_end": "call_id changes status stderr stdout success turn_id",
    "sub_agent_activity": "agent_path agent_thread_id event_id kind occurred_at_ms",
    "task_complete": """
        completed_at duration_ms error last_agent_message root_turn_id started_at
        time_to_first_token_ms turn_id
    """,
    "task_started": """
        collaboration_mode_kind model_context_window root_turn_id started_at trace_id
        turn_attribution turn_id
    """,
    "thread_goal_updated": "goal threadId turnId",
    "thread_name_updated": "thread_id thread_name",
    "thread_rolled_back": "num_turns",
    "thread_settings_applied": "thread_id thread_settings",
    "token_count": "info rate_limits",
    "turn.completed": "message usage",
    "turn_aborted": "completed_at duration_ms reason started_at turn_id",
    "undo_completed": "message success",
    "user_message": "audio client_id images kind local_audio local_images message text_elements",
    "view_image_tool_call": "call_id path",
    "web_search_end": "action call_id query results",
}
CODEX_PAYLOAD_MEMBERS = {
    kind: parse_names(members) | {"type"}
    for kind, members in (_STATE_PAYLOAD_MEMBERS | _EVENT_PAYLOAD_MEMBERS).items()
}
"""The members of a payload, by the type of the payload, or of the envelope where it has none."""

CODEX_MESSAGE_ROLES = frozenset(("user", "assistant"))
CODEX_EVENT_NAMES = {"session_meta": "session-start", "token_count": "token-count"}
CODEX_ECHO_EVENTS = {
    "user_message": ("message", "user"),
    "agent_message": ("message", "assistant"),
    "agent_reasoning": ("text", "reasoning"),
}
"""Events that repeat response items → the member with the text, and the type of those items."""

_ENVELOPE_MARKS = {envelope: {"native": {"type": envelope}} for envelope in CODEX_ENVELOPE_TYPES}
_TEXT_BLOCK_TYPES = frozenset(("input_text", "output_text"))
_CLASHING_MEMBERS = CANONICAL_ENTRY_MEMBERS - {"timestamp"}


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Codex CLI's.

    Other agents write bare items, too: alone they count as none.
    """
    return 0.0 if any(map(is_trae_line, sample)) else measure_share(sample)


def measure_share(sample: Sequence[Any]) -> float:
    """Return the share of a sample that has the form of a rollout."""
    if not any(map(_is_codex_line, sample)):
        return 0.0
    lines = sum(1 for value in sample if _is_codex_line(value) or _may_be_codex_line(value))
    return lines / len(sample)


def _is_codex_line(value: Any) -> bool:
    """Return whether a line can only be Codex CLI's: enveloped, or peculiar to the older form."""
    if type(value) is not dict:
        return False
    if "payload" in value:
        return is_one_of(value.get("type"), CODEX_ENVELOPE_TYPES)
    if value.get("type") == "message" and type(value.get("content")) is list:
        return any(
            type(block) is dict and is_one_of(block.get("type"), _TEXT_BLOCK_TYPES)
            for block in value["content"]
        )
    return value.get("record_type") == "state" or _is_bare_header(value)


def is_trae_line(value: Any) -> bool:
    """Return whether a line is of Trae's command line, which writes Codex CLI's format."""
    payload = value.get("payload") if type(value) is dict else None
    return type(payload) is dict and payload.get("model_provider") == "trae"


def _may_be_codex_line(value: Any) -> bool:
    """Return whether a line has a type or a role of Codex, which other agents may use too."""
    return type(value) is dict and (
        is_one_of(value.get("type"), CODEX_ITEM_MEMBERS)
        or is_one_of(value.get("role"), CODEX_MESSAGE_ROLES)
    )


def _is_bare_header(line: JsonObject) -> bool:
    """Return whether a line is the first one of the older bare form."""
    return "id" in line and "timestamp" in line and ("instructions" in line or "git" in line)


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of one rollout."""
    yield read_rollout(source, formats[0], name)


def read_rollout(source: Source, format_id: str, agent: str) -> Reading:
    """Return the record of one rollout, in a format and of an agent that the caller names."""
    with pause_garbage_collector():
        return _RolloutReader(format_id, agent).read(source)


class _RolloutReader:
    """One rollout on its way into a record."""

    def __init__(self, format_id: str, agent: str) -> None:
        """Start without lines."""
        self.session = SessionBuilder(format_id, agent)
        self.metas: NotedEntries = []
        self.turns: NotedEntries = []
        self.assistants: NotedEntries = []
        self.token_counts: NotedEntries = []
        self.noted_by_kind = {
            "session_meta": self.metas,
            "turn_context": self.turns,
            "task_started": self.turns,
            "token_count": self.token_counts,
        }
        self.echoes: NotedEntries = []
        self.users: list[JsonObject] = []
        self.typed_texts: set[str] = set()
        self.item_contents: dict[str, list[Any]] = {"user": [], "assistant": [], "reasoning": []}

    def read(self, source: Source) -> Reading:
        """Return the record of a source, a whole rollout."""
        session = self.session
        session.add_lines(source, self.make_entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry, with an envelope or, from the oldest versions, without.

        A line that is neither a message nor a call, a result or reasoning becomes an event.
        """
        payload, envelope = line.get("payload"), line.get("type")
        if type(payload) is not dict or type(envelope) is not str:
            return self.make_bare_entry(line)
        del line["payload"], line["type"]
        if not CODEX_LINE_MEMBERS.issuperset(line):
            self.session.drift.count_members("line", line, CODEX_LINE_MEMBERS)
            set_members_aside(line, _CLASHING_MEMBERS)
        if envelope != "response_item" or not self.lift_item(line, payload):
            self.fill_event(line, envelope, payload)
        if line.get("event-type") != envelope:
            # Entries without other marks share the object that names their envelope.
            if "vacr" in line or envelope not in _ENVELOPE_MARKS:
                keep_native_members(line, {"type": envelope})
            else:
                line["vacr"] = _ENVELOPE_MARKS[envelope]
        return line

    def lift_item(self, entry: JsonObject, payload: JsonObject) -> bool:
        """Turn a response item into a typed entry; the rest of it stays in `payload`.

        Return whether that was possible.
        """
        kind: Any = payload.get("type")
        members = CODEX_ITEM_MEMBERS.get(kind) if type(kind) is str else None
        if members is None or not members.issuperset(payload):
            self.count_unknown_item(payload)
        item = CODEX_TOOL_ITEMS.get(kind) if members is not None else None
        if not (
            lift_codex_call(item, payload, entry)
            if item is not None
            else self.lift_typed(payload, entry)
        ):
            return False
        drop_nulls(payload)
        entry["payload"] = payload
        return True

    def count_unknown_item(self, payload: JsonObject) -> None:
        """Count response items and members that no table names, as drift."""
        kind = payload.get("type")
        if kind is None and "role" in payload:
            kind = "message"
        members = CODEX_ITEM_MEMBERS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.count_type(f"response_item/{_get_payload_kind(payload)}")
        else:
            self.session.drift.count_members(f"response_item/{kind}", payload, members)

    def lift_typed(self, native: JsonObject, entry: JsonObject) -> bool:
        """Turn an item into a message, a call, a result or reasoning; return whether it is one."""
        kind = native.get("type")
        if kind == "message" or (kind is None and "role" in native):
            return self.lift_message(native, entry)
        if kind == "reasoning":
            lift_codex_reasoning(native, entry)
            self.item_contents["reasoning"].append(entry["content"])
            return True
        if is_one_of(kind, CODEX_TOOL_ITEMS):
            return lift_codex_call(CODEX_TOOL_ITEMS[kind], native, entry)
        return False

    def lift_message(self, native: JsonObject, entry: JsonObject) -> bool:
        """Turn an item into a message of the user or the assistant, and return whether it is one.

        Items of other roles are events.
        """
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
        self.item_contents[role].append(entry.get("content"))
        if role == "assistant":
            self.assistants.append((len(self.session.entries), entry))
        else:
            self.users.append(entry)
        return True

    def fill_event(self, entry: JsonObject, envelope: str, payload: JsonObject) -> None:
        """Make an entry an event with the payload as its data.

        `envelope` is the type of the line around the payload.
        """
        kind: Any = envelope
        if envelope not in CODEX_STATE_ENVELOPES:
            kind = payload.get("type")
            if type(kind) is not str:
                kind = envelope
            if kind not in CODEX_EVENT_TYPES and envelope != "response_item":
                is_event = envelope == "event_msg"
                self.session.drift.count_type(
                    f"{envelope}/{_get_payload_kind(payload)}" if is_event else envelope
                )
        members = CODEX_PAYLOAD_MEMBERS.get(kind) if envelope != "response_item" else None
        if members is not None and not members.issuperset(payload):
            self.session.drift.count_members(kind, payload, members)
        entry["type"] = "system-event"
        entry["event-type"] = CODEX_EVENT_NAMES.get(kind, kind)
        entry["data"] = payload
        if kind in self.noted_by_kind:
            self.noted_by_kind[kind].append((len(self.session.entries), entry))
        elif kind == "item_completed":
            item = payload.get("item")
            if type(item) is dict and item.get("type") == "UserMessage":
                self.typed_texts.add(join_message_text(item.get("content")))
        elif (
            kind in CODEX_ECHO_EVENTS
            and envelope == "event_msg"
            and type(payload.get(CODEX_ECHO_EVENTS[kind][0])) is str
        ):
            self.echoes.append((len(self.session.entries), entry))
            if kind == "user_message" and payload.get("kind") in TYPED_KINDS:
                self.typed_texts.add(payload["message"])

    def make_bare_entry(self, line: JsonObject) -> JsonObject:
        """Turn a line without an envelope, as the oldest versions write it, into an entry."""
        kind = line.get("type")
        known_members = CODEX_ITEM_MEMBERS.get(kind) if type(kind) is str else None
        if known_members is not None and not line.keys() <= known_members | {"timestamp"}:
            self.session.drift.count_members(f"bare/{kind}", line, known_members | {"timestamp"})
        entry: JsonObject = {}
        if not self.lift_typed(line, entry):
            return self.make_bare_event(line, kind)
        native: JsonObject = {}
        clashing: JsonObject = {}
        for member, value in line.items():
            (clashing if member in CANONICAL_ENTRY_MEMBERS else native)[member] = value
        if is_timestamp(clashing.get("timestamp")):
            entry["timestamp"] = clashing.pop("timestamp")
        if clashing:
            keep_native_members(entry, clashing)
        drop_nulls(native)
        return native | entry

    def make_bare_event(self, line: JsonObject, kind: Any) -> JsonObject:
        """Turn a bare line into an event: the session's header, a state, or an unknown type."""
        entry: JsonObject = {"type": "system-event", "data": line, "vacr": {"bare": True}}
        if is_timestamp(line.get("timestamp")):
            entry["timestamp"] = line.pop("timestamp")
        native_type = kind if type(kind) is str else line.get("record_type")
        if not self.metas and _is_bare_header(line | entry):
            entry["event-type"] = "session-start"
            self.metas.append((len(self.session.entries), entry))
            return entry
        entry["event-type"] = native_type if type(native_type) is str else "unknown"
        if native_type != "state" and not is_one_of(kind, CODEX_EVENT_ITEM_MEMBERS):
            is_named = type(native_type) is str
            self.session.drift.count_type(
                f"bare/{native_type}" if is_named else describe_json_kind(kind)
            )
        return entry

    def settle(self) -> None:
        """Decide everything that needs the whole rollout: copies, echoes, models and tokens."""
        entries = self.session.entries
        copied = find_inherited_entries(entries, self.metas, self.turns)
        self.session.inherits = bool(copied)
        for index in copied:
            get_writable_marks(entries[index])["inherited"] = True
        if self.metas:
            learn_codex_session(self.session, self.metas[0][1]["data"])
        item_texts = {
            entry_type: _collect_texts(contents)
            for entry_type, contents in self.item_contents.items()
        }
        for index, entry in self.echoes:
            self.settle_echo(index, entry, item_texts)
        if self.typed_texts:
            for entry in self.users:
                if join_message_text(entry.get("content")) in self.typed_texts:
                    get_writable_marks(entry)["echoed"] = True
        assign_codex_models(self.session, self.turns, self.assistants, copied)
        set_codex_provider(self.session)
        count_codex_tokens(self.token_counts, copied)

    def settle_echo(self, index: int, entry: JsonObject, item_texts: dict[str, set[str]]) -> None:
        """Mark an event that repeats an item; without such items, make it the message itself.

        A prompt that no item repeats is a message as well, because nothing else shows it. `index`
        is the entry's position, and `item_texts` has the texts of items by type of entry.
        """
        payload = entry["data"]
        member, entry_type = CODEX_ECHO_EVENTS[payload["type"]]
        if self.item_contents[entry_type]:
            texts = item_texts[entry_type]
            if payload[member] in texts:
                get_writable_marks(entry)["repeats"] = True
                return
            if not _is_lost_prompt(payload, texts):
                return
        del entry["event-type"], entry["data"]
        entry |= {"type": entry_type, "content": payload.pop(member), "payload": payload}
        if entry_type == "assistant":
            self.assistants.append((index, entry))
        drop_nulls(payload)


def _is_lost_prompt(payload: JsonObject, texts: set[str]) -> bool:
    """Return whether an event is a prompt that is in none of the texts of items.

    An item may have other blanks around the prompt, or a context of its own before it.
    """
    if payload["type"] != "user_message" or payload.get("kind") not in TYPED_KINDS:
        return False
    words = payload["message"].strip()
    return bool(words) and not any(
        text.strip() == words or text.rstrip().endswith(f"\n{words}") for text in texts
    )


def _get_payload_kind(payload: JsonObject) -> str:
    """Return the type of a payload, or a description such as a JSON kind if it is not a text."""
    kind = payload.get("type")
    return kind if type(kind) is str else describe_json_kind(kind)


def _collect_texts(contents: list[Any]) -> set[str]:
    """Collect the texts of contents, block by block and as a whole."""
    collected: set[str] = set()
    for content in contents:
        if type(content) is str:
            collected.add(content)
        elif type(content) is list:
            texts = [
                block["text"]
                for block in content
                if type(block) is dict and type(block.get("text")) is str
            ]
            collected.update(texts)
            collected.add("".join(texts))
    return collected
