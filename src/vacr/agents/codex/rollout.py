"""A Codex rollout: its response items as entries, and the facts that only the whole of it shows.

Messages, calls, results and reasoning are items of OpenAI's Responses API. The tables map each type
of item to an entry; docs/mapping/codex-cli.md is generated from them.

    >>> from vacr.agents.codex.rollout import CODEX_TOOL_ITEMS, lift_codex_call
    >>> item = {"type": "function_call", "name": "shell", "call_id": "c-1", "arguments": '{"n":1}'}
    >>> entry = {}
    >>> lift_codex_call(CODEX_TOOL_ITEMS["function_call"], item, entry)
    True
    >>> entry
    {'name': 'shell', 'input': {'n': 1}, 'call-id': 'c-1', 'type': 'tool-call'}

The members that no move names stay in the item, and so does the text of the arguments:

    >>> item
    {'type': 'function_call', 'arguments': '{"n":1}'}

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

from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from vacr.agents.codex.speakers import get_session_source
from vacr.agents.documents import MAX_NATIVE_DEPTH
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    SessionBuilder,
    UsageSums,
    parse_names,
)
from vacr.model import TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import get_epoch_milliseconds, is_timestamp, measure_depth, parse_json_number

# --- Items ---

_decode_arguments = msgspec.json.Decoder(float_hook=parse_json_number).decode


class CodexItem(NamedTuple):
    """A type of tool item: the entry it becomes, its moves, and its peculiarities."""

    entry_type: str
    lift: Lift
    tool: str | None = None
    """The tool's name, where the item's type implies it."""
    result: str | None = None
    """The member with the result, where the item holds both: it becomes a child of the call."""
    parsed: bool = False
    """Whether text arguments stand for an object."""


_CALL_ID_MOVES = (Move("call_id", "call-id"), Move("id", "id"))


def _make_call(*moves: Move, tool: str | None = None, **options: Any) -> CodexItem:
    """Return a type of item that becomes a tool call; the moves of the call id are added."""
    return CodexItem("tool-call", Lift(*moves, *_CALL_ID_MOVES), tool, **options)


def _make_result(output_member: str) -> CodexItem:
    """Return a type of item that becomes a tool result; `output_member` has its output."""
    return CodexItem("tool-result", Lift(Move(output_member, "output", None), *_CALL_ID_MOVES))


CODEX_MESSAGE_MOVES = Lift(Move("content", "content", None), Move("id", "id"))
CODEX_REASONING_MOVES = Lift(Move("encrypted_content", "encrypted"), Move("id", "id"))
CODEX_TOOL_ITEMS = {
    "function_call": _make_call(
        Move("name", "name"), Move("arguments", "input", None), parsed=True
    ),
    "custom_tool_call": _make_call(Move("name", "name"), Move("input", "input", None)),
    "tool_call": _make_call(Move("name", "name"), Move("arguments", "input", None)),
    "local_shell_call": _make_call(Move("action", "input", None), tool="local_shell"),
    "web_search_call": _make_call(Move("action", "input", None), tool="web_search"),
    "tool_search_call": _make_call(Move("arguments", "input", None), tool="tool_search"),
    "image_generation_call": _make_call(
        Move("revised_prompt", "input", None), tool="image_generation", result="result"
    ),
    "function_call_output": _make_result("output"),
    "custom_tool_call_output": _make_result("output"),
    "tool_search_output": _make_result("tools"),
    "function_result": _make_result("result"),
    "tool_result": _make_result("result"),
}

CODEX_COMMON_ITEM_MEMBERS = parse_names(
    "end_turn id internal_chat_message_metadata_passthrough metadata phase status type"
)
"""Members that an item of any type may have."""
_TOOL_ITEM_MEMBERS = CODEX_COMMON_ITEM_MEMBERS | parse_names(
    "content execution function name namespace result summary"
)
CODEX_LIFTED_ITEM_MEMBERS = {
    kind: frozenset(move.native for move in item.lift.moves) | _TOOL_ITEM_MEMBERS
    for kind, item in CODEX_TOOL_ITEMS.items()
} | {"reasoning": CODEX_COMMON_ITEM_MEMBERS | {"summary", "content", "encrypted_content"}}
CODEX_EVENT_ITEM_MEMBERS = {
    "message": parse_names("content role"),
    "agent_message": parse_names("author content recipient"),
    "ghost_snapshot": parse_names("ghost_commit"),
    "compaction": parse_names("encrypted_content"),
    "compaction_summary": parse_names("encrypted_content"),
    "context_compaction": parse_names("encrypted_content"),
    "compaction_trigger": parse_names(""),
    "additional_tools": parse_names("role tools"),
}
"""Items that can stay events, with their own members."""
CODEX_ITEM_MEMBERS = CODEX_LIFTED_ITEM_MEMBERS | {
    kind: own | CODEX_COMMON_ITEM_MEMBERS for kind, own in CODEX_EVENT_ITEM_MEMBERS.items()
}


def lift_codex_call(item: CodexItem, native: JsonObject, entry: JsonObject) -> bool:
    """Move the members of a call or a result into an entry.

    Return whether it could: a call without a name cannot be an entry of its type.
    """
    if item.entry_type == "tool-result":
        item.lift.apply(native, entry)
        entry["type"] = "tool-result"
        entry.setdefault("output", None)
        return True
    name = item.tool if item.tool is not None else native.get("name")
    if type(name) is not str:
        name = _get_function_name(native)
        if type(name) is not str:
            return False
        get_writable_marks(entry)["name-from"] = "function"
    item.lift.apply(native, entry)
    entry["type"], entry["name"] = "tool-call", name
    if type(entry.setdefault("input", None)) is str and item.parsed:
        _parse_arguments(entry, native)
    if item.tool == "local_shell" and "call-id" not in entry and "id" in entry:
        # The result of a call without a call id refers to the call by its own id.
        entry["call-id"] = entry["id"]
        get_writable_marks(entry)["call-id-from"] = "id"
    if item.result is not None and item.result in native:
        entry["children"] = [{"type": "tool-result", "output": native.pop(item.result)}]
    return True


def _get_function_name(native: JsonObject) -> Any:
    """Return the name of the function in the older form of a call.

    It is the name in the member `function`, or that member itself, of any type.
    """
    function = native.get("function")
    return function.get("name") if type(function) is dict else function


def _parse_arguments(entry: JsonObject, native: JsonObject) -> None:
    """Replace the text of a call's arguments by its object; the text goes back to the item.

    Text that is not a JSON object stays in the entry.
    """
    text = entry["input"]
    try:
        arguments = _decode_arguments(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return
    if type(arguments) is dict and (
        len(text) < MAX_NATIVE_DEPTH
        or measure_depth(arguments, MAX_NATIVE_DEPTH) <= MAX_NATIVE_DEPTH
    ):
        entry["input"] = arguments
        native["arguments"] = text


def lift_codex_reasoning(native: JsonObject, entry: JsonObject) -> None:
    """Move reasoning into an entry: its content, or else its summary, or else an empty text."""
    CODEX_REASONING_MOVES.apply(native, entry)
    entry["type"] = "reasoning"
    if native.get("content"):
        entry["content"] = native.pop("content")
        get_writable_marks(entry)["content-from"] = "content"
    else:
        entry["content"] = native.pop("summary") if native.get("summary") else ""


# --- Lines copied from a parent ---

NotedEntries = list[tuple[int, JsonObject]]
"""Entries that the reader noted on the way, with their positions."""

CODEX_USAGE_SUMS = UsageSums(
    ("input", ("input_tokens",)),
    ("cached", ("cached_input_tokens",)),
    ("output", ("output_tokens",)),
    ("reasoning", ("reasoning_output_tokens",)),
    ("total", ("total_tokens",)),
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


def find_inherited_entries(
    entries: list[JsonObject], metas: NotedEntries, turns: NotedEntries
) -> frozenset[int]:
    """Return the positions of the entries that the session copied from its parent; often none."""
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
    """Return the ordinal of the first own line, or None if the session does not state it."""
    base = meta.get("history_base")
    for value in (
        meta.get("subagent_history_start_ordinal"),
        base.get("end_ordinal_exclusive") if type(base) is dict else None,
    ):
        if type(value) is int:
            return value
    return None


def _get_session_id(meta: JsonObject) -> Any:
    """Return the id in the entry of a session's header, or None."""
    return meta["data"].get("id") or meta["data"].get("session_id")


def _get_start_time(meta: JsonObject) -> int | None:
    """Return the start of a session in milliseconds since 1970, from its id or else its timestamp.

    Return None if neither has a time.
    """
    start_time = _get_uuid_time(_get_session_id(meta))
    if start_time is not None:
        return start_time
    stamp = meta["data"].get("timestamp") or meta.get("timestamp")
    return get_epoch_milliseconds(stamp) if isinstance(stamp, str | int) else None


def _is_own_turn(turn: JsonObject, start_time: int | None) -> bool:
    """Return whether a turn began after its session did; True if that is unknown."""
    if start_time is None:
        return True
    turn_time = _get_uuid_time(turn["data"].get("turn_id"))
    if turn_time is not None:
        return turn_time >= start_time
    return _is_written_later(turn, start_time)


def _is_prompt(entry: JsonObject) -> bool:
    """Return whether an entry is a user message, or the event of a message."""
    return entry["type"] == "user" or entry.get("event-type") in ("user_message", "message")


def _is_written_later(entry: JsonObject, start_time: int | None) -> bool:
    """Return whether a line has no time, or a time after the copied lines.

    Copied lines are written within a short time after the start of the session.
    """
    stamp = entry.get("timestamp")
    written = get_epoch_milliseconds(stamp) if isinstance(stamp, str | int) else None
    if start_time is None or written is None:
        return True
    return written > start_time + _MAX_COPY_MILLISECONDS


def _get_uuid_time(text: Any) -> int | None:
    """Return the time in a UUIDv7, in milliseconds since 1970, or None for any other value."""
    if type(text) is not str:
        return None
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == _TIMED_UUID_VERSION else None


# --- The session ---


def learn_codex_session(session: SessionBuilder, meta: JsonObject) -> None:
    """Learn about the session from its own `session_meta`; members of another type are ignored."""
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
    origin = get_session_source(meta)
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
    """Set the model of each assistant message; learn models and folders from the turns.

    The turns at the positions in `copied` come from the parent, and count only if there are no
    others.
    """
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
    """Set the provider to OpenAI if the session names none and all models look like OpenAI's.

    A session without a model keeps an unknown provider.
    """
    has_openai_models = bool(session.models) and all(
        model.startswith(_OPENAI_MODEL_PREFIXES) for model in session.models
    )
    if session.provider == UNKNOWN and has_openai_models:
        session.provider = "openai"


def count_codex_tokens(token_counts: NotedEntries, copied: frozenset[int]) -> None:
    """Add the tokens of each response once: Codex repeats a count when its limits change.

    The usage of a response is the last usage, as long as the total grew by the same. After it
    compacts a conversation, Codex states an estimate of the new context as the last usage, and only
    the total grows by the tokens of the compaction. Then the growth of the total counts. Counts at
    the positions in `copied` come from the parent, and are left out.
    """
    total: Any = None
    total_counts: JsonObject | None = None
    for index, entry in token_counts:
        info = entry["data"].get("info")
        if type(info) is not dict or type(info.get("last_token_usage")) is not dict:
            continue
        earlier, total = total, info.get("total_token_usage")
        if earlier == total and total is not None:
            get_writable_marks(entry)["repeats"] = True
            continue
        earlier_counts = total_counts
        total_counts = CODEX_USAGE_SUMS.compute(total) if type(total) is dict else None
        if index not in copied:
            usage = info["last_token_usage"]
            counts = CODEX_USAGE_SUMS.compute(usage)
            growth = _measure_growth(earlier_counts, total_counts)
            if growth is None and not counts.get("input") and not counts.get("output"):
                continue  # an estimate of the context, where the total begins anew
            if growth is not None and not _has_grown_by(growth, counts):
                counts = growth
                get_writable_marks(entry)["usage-from"] = "total"
            elif TOKEN_USAGE_MEMBERS.isdisjoint(usage):
                counts |= info.pop("last_token_usage")
            entry["token-usage"] = counts


def _measure_growth(before: JsonObject | None, after: JsonObject | None) -> JsonObject | None:
    """Return by how much a total grew, or None if it shrank, is missing or has other members."""
    if before is None or after is None or before.keys() != after.keys():
        return None
    growth = {name: count - before[name] for name, count in after.items()}
    return growth if not growth or min(growth.values()) >= 0 else None


def _has_grown_by(growth: JsonObject, counts: JsonObject) -> bool:
    """Return whether a total grew by these counts; a counter that they lack counts as 0."""
    return growth == counts or all(growth[name] == counts.get(name, 0) for name in growth)


def _get_text(value: Any) -> str | None:
    """Return a text that is not empty, or None for any other value."""
    return value if type(value) is str and value else None


def _get_position(noted: tuple[int, JsonObject]) -> int:
    """Return the position of a noted entry, for sorting."""
    return noted[0]
