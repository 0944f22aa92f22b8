"""Facts that only a whole Codex rollout shows: its session, its own lines, models and tokens.

A fork or a sub-agent writes its own `session_meta` first, then a copy of its parent's lines, among
them the parent's `session_meta`, then its own turns. Newer versions state where their own lines
begin. For older ones the turns show it: a turn id is a UUID that holds its time, and a copied turn
began before this session did.

>>> from vacr.agents.codex.rollout import find_inherited_entries
>>> own = {"type": "system-event", "data": {"id": "s-2", "subagent_history_start_ordinal": 2}}
>>> parent = {"type": "system-event", "data": {"id": "s-1"}, "ordinal": 1}
>>> prompt = {"type": "user", "content": "Go on.", "ordinal": 2}
>>> find_inherited_entries([own, parent, prompt], metas=[(0, own), (1, parent)], turns=[])
frozenset({1})
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from vacr.agents.lift import UNKNOWN, SessionBuilder, get_writable_marks, is_count
from vacr.model import TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import get_epoch_milliseconds, is_timestamp

NotedEntries = list[tuple[int, JsonObject]]
"""Entries that the reader noted on the way, with their positions."""

CODEX_USAGE_COUNTERS = (
    ("input", "input_tokens"),
    ("cached", "cached_input_tokens"),
    ("output", "output_tokens"),
    ("reasoning", "reasoning_output_tokens"),
    ("total", "total_tokens"),
)
CODEX_SESSION_MODES = {
    "cli": "interactive",
    "vscode": "interactive",
    "exec": "autonomous",
    "mcp": "autonomous",
}
_VCS_MEMBERS = (
    ("revision", "commit_hash"),
    ("branch", "branch"),
    ("repository", "repository_url"),
)
_OPENAI_MODEL_PREFIXES = ("gpt-", "o1", "o3", "o4", "codex", "chatgpt")
# Copied lines are stamped when they are copied, within moments of the session's start.
_MAX_COPY_MILLISECONDS = 1000
_TIMED_UUID_VERSION = 7


# --- Lines copied from a parent ---


def find_inherited_entries(
    entries: list[JsonObject], metas: NotedEntries, turns: NotedEntries
) -> frozenset[int]:
    """Return the positions of the entries that the session copied from its parent."""
    if not metas:
        return frozenset()
    first, own_meta = metas[0]
    first_ordinal = _get_first_own_ordinal(own_meta["data"])
    if first_ordinal is not None:
        return frozenset(
            index
            for index, entry in enumerate(entries)
            if index > first
            and type(entry.get("ordinal")) is int
            and entry["ordinal"] < first_ordinal
        )
    start_time = _get_start_time(own_meta)
    own_turns = (index for index, turn in turns if index > first and _is_own_turn(turn, start_time))
    first_own = next(own_turns, len(entries))
    if not any(
        first < index < first_own and _get_session_id(meta) != _get_session_id(own_meta)
        for index, meta in metas
    ):
        return frozenset()
    # Older versions write a prompt before the turn that answers it.
    while (
        first_own > first + 1
        and _is_prompt(entries[first_own - 1])
        and _is_written_later(entries[first_own - 1], start_time)
    ):
        first_own -= 1
    return frozenset(range(first + 1, first_own))


def _get_first_own_ordinal(meta: JsonObject) -> int | None:
    """Return the ordinal of the first own line, if the session states it."""
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
    """Return the start of a session in milliseconds, from its id or else its timestamp."""
    start_time = _get_uuid_time(_get_session_id(meta))
    if start_time is not None:
        return start_time
    stamp = meta["data"].get("timestamp") or meta.get("timestamp")
    return get_epoch_milliseconds(stamp) if isinstance(stamp, str | int) else None


def _is_own_turn(turn: JsonObject, start_time: int | None) -> bool:
    """Return whether a turn began after its session did."""
    if start_time is None:
        return True
    turn_time = _get_uuid_time(turn["data"].get("turn_id"))
    if turn_time is not None:
        return turn_time >= start_time
    return _is_written_later(turn, start_time)


def _is_prompt(entry: JsonObject) -> bool:
    return entry["type"] == "user" or entry.get("event-type") in ("user_message", "message")


def _is_written_later(entry: JsonObject, start_time: int | None) -> bool:
    """Return whether a line has no time, or a time after the copied lines."""
    stamp = entry.get("timestamp")
    written = get_epoch_milliseconds(stamp) if isinstance(stamp, str | int) else None
    if start_time is None or written is None:
        return True
    return written > start_time + _MAX_COPY_MILLISECONDS


def _get_uuid_time(text: Any) -> int | None:
    """Return the milliseconds in a UUIDv7."""
    if type(text) is not str:
        return None
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == _TIMED_UUID_VERSION else None


# --- The session ---


def learn_codex_session(session: SessionBuilder, meta: JsonObject) -> None:
    """Learn about the session from its own `session_meta`."""
    for member in ("id", "session_id"):
        if session.session_id is None and type(meta.get(member)) is str:
            session.session_id = meta[member]
    session.start = meta.get("timestamp") if is_timestamp(meta.get("timestamp")) else None
    session.working_dir = _get_text(meta.get("cwd"))
    session.cli_version = _get_text(meta.get("cli_version"))
    session.provider = _get_text(meta.get("model_provider")) or UNKNOWN
    git = meta.get("git")
    if type(git) is dict:
        session.vcs = {
            member: git[native] for member, native in _VCS_MEMBERS if type(git.get(native)) is str
        }
    _learn_session_origin(session, meta)


def _learn_session_origin(session: SessionBuilder, meta: JsonObject) -> None:
    """Learn who started the session: a person, a program, or another session."""
    origin = meta.get("source")
    if type(origin) is str:
        session.mode = CODEX_SESSION_MODES.get(origin)
    parent = meta.get("parent_thread_id")
    if type(origin) is dict and "subagent" in origin:
        session.mode = "autonomous"
        spawn = origin["subagent"].get("thread_spawn") if type(origin["subagent"]) is dict else None
        parent = parent or (spawn.get("parent_thread_id") if type(spawn) is dict else None)
    session.parent = _get_text(parent) or _get_text(meta.get("forked_from_id"))


# --- Models and tokens ---


def assign_codex_models(
    session: SessionBuilder, turns: NotedEntries, assistants: NotedEntries, copied: frozenset[int]
) -> None:
    """Set the model of each assistant message; learn models and folders from the turns."""
    contexts = [
        (index, entry["data"]) for index, entry in turns if entry["event-type"] == "turn_context"
    ]
    position, model = 0, None
    for index, entry in sorted(assistants, key=_get_position):
        while position < len(contexts) and contexts[position][0] < index:
            model = _get_text(contexts[position][1].get("model")) or model
            position += 1
        if model is not None:
            entry["model-id"] = model
    own = [context for index, context in contexts if index not in copied]
    sandboxes: dict[str, None] = {}
    for context in own or [context for _, context in contexts]:
        if _get_text(context.get("model")):
            session.models[context["model"]] += 1
        session.working_dir = session.working_dir or _get_text(context.get("cwd"))
        policy = context.get("sandbox_policy")
        roots = policy.get("writable_roots") if type(policy) is dict else None
        if type(roots) is list:
            sandboxes.update(dict.fromkeys(root for root in roots if type(root) is str))
    session.sandboxes = list(sandboxes)


def set_codex_provider(session: SessionBuilder) -> None:
    """Set the provider to OpenAI if the session names none and all models look like OpenAI's."""
    if session.provider == UNKNOWN and all(
        model.startswith(_OPENAI_MODEL_PREFIXES) for model in session.models
    ):
        session.provider = "openai"


def count_codex_tokens(token_counts: NotedEntries, copied: frozenset[int]) -> None:
    """Add the tokens of each response once: Codex repeats a count when its limits change."""
    total: Any = None
    for index, entry in token_counts:
        info = entry["data"].get("info")
        if type(info) is not dict or type(info.get("last_token_usage")) is not dict:
            continue
        repeats, total = info.get("total_token_usage") == total, info.get("total_token_usage")
        if repeats and total is not None:
            get_writable_marks(entry)["repeats"] = True
        elif index not in copied:
            usage = info["last_token_usage"]
            counts = {
                member: count
                for member, native in CODEX_USAGE_COUNTERS
                if is_count(count := usage.get(native))
            }
            if TOKEN_USAGE_MEMBERS.isdisjoint(usage):
                counts |= info.pop("last_token_usage")
            entry["token-usage"] = counts


def _get_text(value: Any) -> str | None:
    return value if type(value) is str and value else None


def _get_position(noted: tuple[int, JsonObject]) -> int:
    return noted[0]
