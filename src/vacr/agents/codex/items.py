"""Codex response items as entries.

Messages, calls, results and reasoning of a rollout are items of OpenAI's Responses API. The tables
map each type of item to an entry; docs/mapping/codex-cli.md is generated from them.

>>> from vacr.agents.codex.items import CODEX_TOOL_ITEMS, lift_codex_call
>>> item = {"type": "function_call", "name": "shell", "call_id": "c-1", "arguments": '{"cmd":"ls"}'}
>>> entry = {}
>>> lift_codex_call(CODEX_TOOL_ITEMS["function_call"], item, entry)
True
>>> entry
{'name': 'shell', 'input': {'cmd': 'ls'}, 'call-id': 'c-1', 'type': 'tool-call'}

The members that no move names stay in the item, and so does the text of the arguments:

>>> item
{'type': 'function_call', 'arguments': '{"cmd":"ls"}'}
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from vacr.agents.documents import MAX_NATIVE_DEPTH
from vacr.agents.lift import Lift, Move, get_writable_marks, parse_names
from vacr.model import JsonObject
from vacr.record import measure_depth, parse_json_number

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
    return CodexItem("tool-call", Lift(*moves, *_CALL_ID_MOVES), tool, **options)


def _make_result(output_member: str) -> CodexItem:
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

# --- Known members of items ---

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
    """Return the name of the function in the older form of a call."""
    function = native.get("function")
    return function.get("name") if type(function) is dict else function


def _parse_arguments(entry: JsonObject, native: JsonObject) -> None:
    """Replace the text of a call's arguments by its object; the text goes back to the item."""
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
