"""Sessions of Hermes: the rows of `state.db`, or one JSON file per session, as a record.

Both hold messages of the OpenAI chat format. In the database, a message is a row, its calls are
text with JSON, and its time is in seconds since 1970 with a fraction. The file has no times of
messages; its own times are local ones without a zone, so they stay under their native names.

>>> from vacr.agents.hermes.reader import make_row_entry
>>> from vacr.agents.lift import SessionBuilder
>>> calls = '[{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}}]'
>>> row = {"id": 7, "role": "assistant", "content": "Up!", "tool_calls": calls, "timestamp": 1.5e9}
>>> entry = make_row_entry(row, SessionBuilder("hermes-sqlite", "hermes"))
>>> entry["id"], entry["timestamp"], entry["children"][0]["name"]
('7', 1500000000000, 'terminal')

docs/mapping/hermes.md is generated from the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import is_export_head, parse_json_text
from vacr.agents.json_sessions import JsonSession, read_json_sessions
from vacr.agents.lift import (
    Reading,
    SessionBuilder,
    UsageSums,
    add_session_usage,
    is_one_of,
    parse_names,
)
from vacr.agents.openai_chat import CHAT_MEMBERS, make_chat_entry
from vacr.agents.session_tables import (
    SessionTables,
    add_session_rows,
    seconds_to_milliseconds,
)
from vacr.model import JsonObject

name = "hermes"
HERMES_DATABASE_FORMAT = "hermes-sqlite"
HERMES_JSON_FORMAT = "hermes-json"
formats = (HERMES_DATABASE_FORMAT, HERMES_JSON_FORMAT)
STORES = (
    SessionStore(("state.db",), "~/.hermes", "HERMES_HOME"),
    SessionStore(("sessions/session_*.json",), "~/.hermes", "HERMES_HOME"),
)
HERMES_DATABASE = SessionTables(
    HERMES_DATABASE_FORMAT,
    signs=frozenset(
        (
            "sessions.source",
            "sessions.system_prompt",
            "sessions.end_reason",
            "messages.tool_calls",
            "messages.finish_reason",
        )
    ),
    # Several rows of one turn may be written in the wrong order of time, so numbers sort them.
    order={"messages": ("id",)},
    weighed=("content", "tool_calls", "reasoning", "end_reason"),
    shared=frozenset(("schema_version",)),
    columns={
        "title": "title",
        "project": "cwd",
        "start": "started_at",
        "end": "ended_at",
        "parent": "parent_session_id",
    },
)
DATABASES = (HERMES_DATABASE,)

# --- Known members ---

HERMES_SESSION_MEMBERS = parse_names(
    """
    actual_cost_usd api_call_count archived billing_base_url billing_mode billing_provider
    cache_read_tokens cache_write_tokens chat_id chat_type compression_failure_cooldown_until
    compression_failure_error compression_fallback_streak cost_source cost_status cwd display_name
    end_reason ended_at estimated_cost_usd expiry_finalized git_branch git_repo_root handoff_error
    handoff_platform handoff_state id input_tokens message_count model model_config origin_json
    output_tokens parent_session_id pricing_version profile_name reasoning_tokens rewind_count
    session_key source started_at system_prompt thread_id title tool_call_count user_id
    """
)
HERMES_HEADER_MEMBERS = parse_names(
    """
    base_url last_updated message_count messages model platform session_id session_start
    system_prompt tools
    """
)
HERMES_MESSAGE_MEMBERS = CHAT_MEMBERS | parse_names(
    """
    active api_content codex_message_items codex_reasoning_items compacted effect_disposition
    finish_reason id observed platform_message_id reasoning_details session_id timestamp token_count
    tool_name
    """
)
HERMES_USAGE_SUMS = UsageSums(
    ("input", ("input_tokens", "cache_read_tokens", "cache_write_tokens")),
    ("cached", ("cache_read_tokens",)),
    ("output", ("output_tokens",)),
    ("reasoning", ("reasoning_tokens",)),
)
"""Canonical counter → the columns of the session that it sums; the first must be present."""
HERMES_IDENTIFYING_MEMBERS = parse_names("base_url messages session_id session_start")
"""The members that a session file always has, and files of other agents do not."""
SUB_AGENT_START = "You are a focused subagent working on a specific delegated task."
"""The beginning of the system prompt of a sub-agent."""
AUTONOMOUS_SOURCES = frozenset(("cron",))
"""Where sessions begin without a person."""


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is Hermes's: 1 for an export, 0 for an empty sample."""
    if sample and is_export_head(sample[0], HERMES_DATABASE_FORMAT):
        return 1.0
    return sum(map(_is_session_file, sample)) / len(sample) if sample else 0.0


def _is_session_file(value: Any) -> bool:
    """Return whether a value is the content of a session file."""
    return (
        type(value) is dict
        and value.keys() >= HERMES_IDENTIFYING_MEMBERS
        and type(value["messages"]) is list
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of an export, or of each session in a file."""
    sample = source.main.sample(1)
    if not sample or not is_export_head(sample[0], HERMES_DATABASE_FORMAT):
        yield from read_json_sessions(source, _begin_file, "messages")
        return
    with pause_garbage_collector():
        reading = _read_rows(source)
    yield reading


# --- The database ---


def _read_rows(source: Source) -> Reading:
    """Return the record of the rows of a session."""
    session = SessionBuilder(HERMES_DATABASE_FORMAT, name)
    add_session_rows(source, session, _learn_session, make_row_entry)
    add_session_usage(session.entries, HERMES_USAGE_SUMS.compute(session.native))
    session.tidy()
    return session.reading(source)


def _learn_session(row: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session; its other columns become members of the session."""
    session.drift.count_members("session", row, HERMES_SESSION_MEMBERS)
    del row["id"]
    session.start = seconds_to_milliseconds(row.get("started_at"))
    session.end = seconds_to_milliseconds(row.get("ended_at"))
    _learn_model(row, session)
    provider = row.get("billing_provider")
    if provider and type(provider) is str:
        session.provider = provider
    parent = row.get("parent_session_id")
    if parent and type(parent) is str:
        session.parent = parent
    if type(row.get("cwd")) is str and row["cwd"]:
        session.working_dir = row["cwd"]
    if type(row.get("git_branch")) is str and row["git_branch"]:
        session.vcs["branch"] = row["git_branch"]
    if is_one_of(row.get("source"), AUTONOMOUS_SOURCES) or is_sub_agent(row):
        session.mode = "autonomous"
    session.native = row


def _learn_model(members: JsonObject, session: SessionBuilder) -> None:
    """Learn the model of a session; Hermes does not state it for single messages."""
    model = members.get("model")
    if model and type(model) is str:
        session.models[model] += 1


def is_sub_agent(members: JsonObject) -> bool:
    """Return whether a session belongs to a sub-agent, by its system prompt."""
    prompt = members.get("system_prompt")
    return type(prompt) is str and prompt.startswith(SUB_AGENT_START)


def make_row_entry(row: JsonObject, session: SessionBuilder) -> JsonObject | None:
    """Turn a row of the messages into an entry.

    Return None, and leave the row as it is, if its role has no part in the talk.
    """
    role = row.get("role")
    is_result = role == "tool" and row.get("content") is not None
    if role not in ("user", "assistant") and not is_result:
        session.drift.count_type("messages")
        return None
    if role == "assistant":
        row["tool_calls"] = parse_json_text(row.get("tool_calls"))
    number, when = row.get("id"), seconds_to_milliseconds(row.get("timestamp"))
    entry = _make_message_entry(row, session)
    if type(number) is int:
        entry["id"] = str(number)
    if when is not None:
        entry["timestamp"] = when
    return entry


def _make_message_entry(message: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a message into an entry, with the reason why the model stopped."""
    reason = message.get("finish_reason")
    entry = make_chat_entry(message, session, HERMES_MESSAGE_MEMBERS)
    if entry["type"] == "assistant" and reason and type(reason) is str:
        entry["stop-reason"] = reason
    session.embedded += entry.get("children", ())
    return entry


# --- Files ---


def _begin_file(header: JsonObject, messages: list[Any]) -> JsonSession:
    """Begin the record of a session file."""
    del header, messages
    return _SessionFile(SessionBuilder(HERMES_JSON_FORMAT, name))


class _SessionFile(JsonSession):
    """The session in one file on its way into a record."""

    list_member = "messages"

    def learn_header(self, header: JsonObject) -> None:
        """Learn the id and the model; local times stay among the members of the session."""
        self.session.drift.count_members("session", header, HERMES_HEADER_MEMBERS)
        if header.get("session_id") and type(header["session_id"]) is str:
            self.session.session_id = header.pop("session_id")
        _learn_model(header, self.session)
        if is_one_of(header.get("platform"), AUTONOMOUS_SOURCES) or is_sub_agent(header):
            self.session.mode = "autonomous"

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry."""
        return _make_message_entry(message, self.session)
