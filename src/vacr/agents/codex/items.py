"""How Codex CLI's response items become entries. Step: read. docs/mapping/codex-cli.md is made of
these tables.

What only a whole Codex rollout tells: whose session it is, which model spoke, what it cost.
Step: read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from vacr.agents.documents import MAX_NATIVE_DEPTH
from vacr.agents.lift import UNKNOWN, Lift, Move, SessionBuilder, get_writable_marks, is_count
from vacr.model import TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import is_timestamp, measure_depth, parse_json_number

_decode_arguments = msgspec.json.Decoder(float_hook=parse_json_number).decode


class CodexItem(NamedTuple):
    """One type of response item: the entry it becomes, its moves, and what is special about it."""

    entry_type: str
    lift: Lift
    tool: str | None = None
    """The tool's name, where the item's type implies it."""
    result: str | None = None
    """The member with the result, where the item holds both: it becomes a child of the call."""
    parsed: bool = False
    """Whether text arguments stand for an object."""


_CALL_ID_MOVES = (Move("call_id", "call-id"), Move("id", "id"))

CODEX_MESSAGE_MOVES = Lift(Move("content", "content", None), Move("id", "id"))
CODEX_REASONING_MOVES = Lift(Move("encrypted_content", "encrypted"), Move("id", "id"))
CODEX_TOOL_ITEMS = {
    "function_call": CodexItem(
        "tool-call",
        Lift(Move("name", "name"), Move("arguments", "input", None), *_CALL_ID_MOVES),
        parsed=True,
    ),
    "custom_tool_call": CodexItem(
        "tool-call", Lift(Move("name", "name"), Move("input", "input", None), *_CALL_ID_MOVES)
    ),
    "tool_call": CodexItem(
        "tool-call", Lift(Move("name", "name"), Move("arguments", "input", None), *_CALL_ID_MOVES)
    ),
    "local_shell_call": CodexItem(
        "tool-call", Lift(Move("action", "input", None), *_CALL_ID_MOVES), "local_shell"
    ),
    "web_search_call": CodexItem(
        "tool-call", Lift(Move("action", "input", None), *_CALL_ID_MOVES), "web_search"
    ),
    "tool_search_call": CodexItem(
        "tool-call", Lift(Move("arguments", "input", None), *_CALL_ID_MOVES), "tool_search"
    ),
    "image_generation_call": CodexItem(
        "tool-call",
        Lift(Move("revised_prompt", "input", None), *_CALL_ID_MOVES),
        "image_generation",
        "result",
    ),
    "function_call_output": CodexItem(
        "tool-result", Lift(Move("output", "output", None), *_CALL_ID_MOVES)
    ),
    "custom_tool_call_output": CodexItem(
        "tool-result", Lift(Move("output", "output", None), *_CALL_ID_MOVES)
    ),
    "tool_search_output": CodexItem(
        "tool-result", Lift(Move("tools", "output", None), *_CALL_ID_MOVES)
    ),
    "function_result": CodexItem(
        "tool-result", Lift(Move("result", "output", None), *_CALL_ID_MOVES)
    ),
    "tool_result": CodexItem("tool-result", Lift(Move("result", "output", None), *_CALL_ID_MOVES)),
}

# Members that any response item may have beside its own.
CODEX_COMMON_ITEM_MEMBERS = frozenset(
    (
        "type",
        "id",
        "status",
        "metadata",
        "internal_chat_message_metadata_passthrough",
        "phase",
        "end_turn",
    )
)
_TOOL_ITEM_MEMBERS = CODEX_COMMON_ITEM_MEMBERS | frozenset(
    ("namespace", "execution", "summary", "content", "function", "name", "result")
)
CODEX_LIFTED_ITEM_MEMBERS = {
    kind: frozenset(move.native for move in item.lift.moves) | _TOOL_ITEM_MEMBERS
    for kind, item in CODEX_TOOL_ITEMS.items()
} | {"reasoning": CODEX_COMMON_ITEM_MEMBERS | {"summary", "content", "encrypted_content"}}


def lift_codex_call(item: CodexItem, native: JsonObject, entry: JsonObject) -> bool:
    """Move a call's or a result's members into an entry; tell whether the entry has all that its
    type must have.
    """
    if item.entry_type == "tool-result":
        item.lift.apply(native, entry)
        entry["type"] = "tool-result"
        entry.setdefault("output", None)
        return True
    name = item.tool if item.tool is not None else native.get("name")
    if type(name) is not str:
        name = get_function_name(native)
        if type(name) is not str:
            return False
        get_writable_marks(entry)["name-from"] = "function"
    item.lift.apply(native, entry)
    entry["type"], entry["name"] = "tool-call", name
    if type(entry.setdefault("input", None)) is str and item.parsed:
        parse_codex_arguments(entry, native)
    if item.tool == "local_shell" and "call-id" not in entry and "id" in entry:
        # Where such a call has no call id, its result names it by its own.
        entry["call-id"] = entry["id"]
        get_writable_marks(entry)["call-id-from"] = "id"
    if item.result is not None and item.result in native:
        entry["children"] = [{"type": "tool-result", "output": native.pop(item.result)}]
    return True


def get_function_name(native: JsonObject) -> Any:
    """Give the name of the function in the older form of a call."""
    function = native.get("function")
    return function.get("name") if type(function) is dict else function


def parse_codex_arguments(entry: JsonObject, native: JsonObject) -> None:
    """Give a call's arguments as the object their text stands for; the text itself stays where it
    was.
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
    """Move reasoning: its content, or else its summary, or else nothing readable."""
    CODEX_REASONING_MOVES.apply(native, entry)
    entry["type"] = "reasoning"
    if native.get("content"):
        entry["content"] = native.pop("content")
        get_writable_marks(entry)["content-from"] = "content"
    else:
        entry["content"] = native.pop("summary") if native.get("summary") else ""


NotedEntries = list[tuple[int, JsonObject]]
"""Entries that were noted on the way, with their positions."""

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
_OPENAI_MODEL_PREFIXES = ("gpt-", "o1", "o3", "o4", "codex", "chatgpt")


def learn_codex_session(session: SessionBuilder, meta: JsonObject) -> None:
    """Learn about the session from its own first line."""
    for member in ("id", "session_id"):
        if session.session_id is None and type(meta.get(member)) is str:
            session.session_id = meta[member]
    session.start = meta.get("timestamp") if is_timestamp(meta.get("timestamp")) else None
    session.working_dir = _get_text(meta.get("cwd"))
    session.cli_version = _get_text(meta.get("cli_version"))
    session.provider = _get_text(meta.get("model_provider")) or UNKNOWN
    git = meta.get("git")
    if type(git) is dict:
        names = (
            ("revision", "commit_hash"),
            ("branch", "branch"),
            ("repository", "repository_url"),
        )
        session.vcs = {
            member: git[native] for member, native in names if type(git.get(native)) is str
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


def assign_codex_models(
    session: SessionBuilder, turns: NotedEntries, assistants: NotedEntries, copied: frozenset[int]
) -> None:
    """Give each assistant message the model of its turn."""
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
    sandboxes: dict[str, None] = {}
    own = [context for index, context in contexts if index not in copied] or [
        context for _, context in contexts
    ]
    for context in own:
        if _get_text(context.get("model")):
            session.models[context["model"]] += 1
        session.working_dir = session.working_dir or _get_text(context.get("cwd"))
        policy = context.get("sandbox_policy")
        roots = policy.get("writable_roots") if type(policy) is dict else None
        sandboxes.update(
            dict.fromkeys(root for root in roots if type(root) is str)
            if type(roots) is list
            else {}
        )
    session.sandboxes = list(sandboxes)


def set_codex_provider(session: SessionBuilder) -> None:
    """Name the provider where the session does not: Codex CLI's own, unless the models are not of
    its kind.
    """
    if session.provider == UNKNOWN and all(
        model.startswith(_OPENAI_MODEL_PREFIXES) for model in session.models
    ):
        session.provider = "openai"


def count_codex_tokens(token_counts: NotedEntries, copied: frozenset[int]) -> None:
    """Count each response's tokens once: Codex writes the same count again whenever its limits
    change.
    """
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
