"""How Codex CLI's response items become entries. Step: read. docs/mapping/codex-cli.md is made of
these tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from vacr.codec import numbers
from vacr.codec.depth import depth
from vacr.model import Native
from vacr.readers.lift import Lift, Move, mark
from vacr.readers.lines import NATIVE_DEPTH

_decode = msgspec.json.Decoder(float_hook=numbers.number).decode


class Item(NamedTuple):
    """One type of response item: the entry it becomes, its moves, and what is special about it."""

    entry_type: str
    lift: Lift
    tool: str | None = None
    """The tool's name, where the item's type implies it."""
    result: str | None = None
    """The member with the result, where the item holds both: it becomes a child of the call."""
    parsed: bool = False
    """Whether text arguments stand for an object."""


_CALL = (Move("call_id", "call-id"), Move("id", "id"))

MESSAGE = Lift(Move("content", "content", None), Move("id", "id"))
REASONING = Lift(Move("encrypted_content", "encrypted"), Move("id", "id"))
ITEMS = {
    "function_call": Item(
        "tool-call",
        Lift(Move("name", "name"), Move("arguments", "input", None), *_CALL),
        parsed=True,
    ),
    "custom_tool_call": Item(
        "tool-call", Lift(Move("name", "name"), Move("input", "input", None), *_CALL)
    ),
    "tool_call": Item(
        "tool-call", Lift(Move("name", "name"), Move("arguments", "input", None), *_CALL)
    ),
    "local_shell_call": Item(
        "tool-call", Lift(Move("action", "input", None), *_CALL), "local_shell"
    ),
    "web_search_call": Item("tool-call", Lift(Move("action", "input", None), *_CALL), "web_search"),
    "tool_search_call": Item(
        "tool-call", Lift(Move("arguments", "input", None), *_CALL), "tool_search"
    ),
    "image_generation_call": Item(
        "tool-call",
        Lift(Move("revised_prompt", "input", None), *_CALL),
        "image_generation",
        "result",
    ),
    "function_call_output": Item("tool-result", Lift(Move("output", "output", None), *_CALL)),
    "custom_tool_call_output": Item("tool-result", Lift(Move("output", "output", None), *_CALL)),
    "tool_search_output": Item("tool-result", Lift(Move("tools", "output", None), *_CALL)),
    "function_result": Item("tool-result", Lift(Move("result", "output", None), *_CALL)),
    "tool_result": Item("tool-result", Lift(Move("result", "output", None), *_CALL)),
}

# Members that any response item may have beside its own.
COMMON = frozenset(
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
_ITEM_MEMBERS = COMMON | frozenset(
    ("namespace", "execution", "summary", "content", "function", "name", "result")
)
KNOWN_MEMBERS = {
    kind: frozenset(move.native for move in item.lift.moves) | _ITEM_MEMBERS
    for kind, item in ITEMS.items()
} | {"reasoning": COMMON | {"summary", "content", "encrypted_content"}}


def lift_call(item: Item, native: Native, entry: Native) -> bool:
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
        name = function_name(native)
        if type(name) is not str:
            return False
        mark(entry)["name-from"] = "function"
    item.lift.apply(native, entry)
    entry["type"], entry["name"] = "tool-call", name
    if type(entry.setdefault("input", None)) is str and item.parsed:
        parse_arguments(entry, native)
    if item.tool == "local_shell" and "call-id" not in entry and "id" in entry:
        # Where such a call has no call id, its result names it by its own.
        entry["call-id"] = entry["id"]
        mark(entry)["call-id-from"] = "id"
    if item.result is not None and item.result in native:
        entry["children"] = [{"type": "tool-result", "output": native.pop(item.result)}]
    return True


def function_name(native: Native) -> Any:
    """Give the name of the function in the older form of a call."""
    function = native.get("function")
    return function.get("name") if type(function) is dict else function


def parse_arguments(entry: Native, native: Native) -> None:
    """Give a call's arguments as the object their text stands for; the text itself stays where it
    was.
    """
    text = entry["input"]
    try:
        arguments = _decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return
    if type(arguments) is dict and (
        len(text) < NATIVE_DEPTH or depth(arguments, NATIVE_DEPTH) <= NATIVE_DEPTH
    ):
        entry["input"] = arguments
        native["arguments"] = text


def lift_reasoning(native: Native, entry: Native) -> None:
    """Move reasoning: its content, or else its summary, or else nothing readable."""
    REASONING.apply(native, entry)
    entry["type"] = "reasoning"
    if native.get("content"):
        entry["content"] = native.pop("content")
        mark(entry)["content-from"] = "content"
    else:
        entry["content"] = native.pop("summary") if native.get("summary") else ""
