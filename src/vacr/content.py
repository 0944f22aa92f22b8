"""What the content blocks of a message say, as typed entries. Step: read, and validate.

Agents put tool calls, tool results and reasoning inside the content of a message. The content stays
verbatim; the children of the message are views of these blocks. Readers make them here and
validation makes them again to compare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from vacr.model import Native

Counts = defaultdict[str, int]
"""How often each name was seen; a `Counter` takes several times as long to make."""


class View(NamedTuple):
    """How one type of block is seen: as which type of entry, and where the entry's members come
    from.
    """

    entry_type: str
    members: tuple[tuple[str, str, type | None], ...]
    required: tuple[str, ...] = ()


_CALL = View(
    "tool-call",
    (("name", "name", str), ("input", "input", None), ("call-id", "id", str)),
    ("name",),
)
_RESULT = View(
    "tool-result",
    (("output", "content", None), ("call-id", "tool_use_id", str), ("is-error", "is_error", bool)),
)

# Block type → view. Anthropic's blocks first, then those of OpenAI's Responses, then those of the
# AI SDK, which Cursor has.
VIEWS = {
    "tool_use": _CALL,
    "server_tool_use": _CALL,
    "mcp_tool_use": _CALL,
    "tool_call": _CALL,
    "tool_result": _RESULT,
    "server_tool_result": _RESULT,
    "mcp_tool_result": _RESULT,
    "web_search_tool_result": _RESULT,
    "web_fetch_tool_result": _RESULT,
    "code_execution_tool_result": _RESULT,
    "bash_code_execution_tool_result": _RESULT,
    "text_editor_code_execution_tool_result": _RESULT,
    "tool_search_tool_result": _RESULT,
    "thinking": View("reasoning", (("content", "thinking", None),)),
    "redacted_thinking": View("reasoning", (("encrypted", "data", str),)),
    "reasoning": View(
        "reasoning", (("content", "content", None), ("encrypted", "encrypted_content", str))
    ),
    "function_call": View(
        "tool-call",
        (("name", "name", str), ("input", "arguments", None), ("call-id", "call_id", str)),
        ("name",),
    ),
    "function_call_output": View(
        "tool-result", (("output", "output", None), ("call-id", "call_id", str))
    ),
    "tool-call": View(
        "tool-call",
        (("name", "toolName", str), ("input", "args", None), ("call-id", "toolCallId", str)),
        ("name",),
    ),
    "tool-result": View(
        "tool-result",
        (("output", "result", None), ("call-id", "toolCallId", str), ("is-error", "isError", bool)),
    ),
    "redacted-reasoning": View("reasoning", (("encrypted", "data", str),)),
}

_FUNCTION_CALL = View(
    "tool-call", (("name", "name", str), ("input", "args", None), ("call-id", "id", str)), ("name",)
)
_FUNCTION_RESPONSE = View("tool-result", (("output", "response", None), ("call-id", "id", str)))

# Gemini's parts have no type: the member they have tells what they are. It holds what the view
# takes.
PARTS = {
    "functionCall": _FUNCTION_CALL,
    "function_call": _FUNCTION_CALL,
    "functionResponse": _FUNCTION_RESPONSE,
    "function_response": _FUNCTION_RESPONSE,
}
THOUGHT = View("reasoning", (("content", "text", None),))
SAID_PARTS = frozenset(
    (
        "text",
        "inlineData",
        "inline_data",
        "fileData",
        "file_data",
        "executableCode",
        "codeExecutionResult",
        "videoMetadata",
    )
)
_PART_MEMBERS = SAID_PARTS.union(PARTS)

BESIDE = frozenset(
    (
        "gemini-json",
        "gemini-jsonl",
        "opencode-json",
        "opencode-export",
        "opencode-sqlite",
        "cursor-vscdb",
        "atif",
    )
)
"""The trace formats that have calls and reasoning beside the content of a message too: there, more
children follow the views.
"""

# Blocks that are part of what was said, and have no view of their own.
SAID = frozenset(
    (
        "text",
        "image",
        "document",
        "fallback",
        "search_result",
        "container_upload",
        "tool_reference",
        "connector_text",
    )
    + (
        "input_text",
        "output_text",
        "input_image",
        "input_audio",
        "input_file",
        "refusal",
        "encrypted_content",
    )
)


# What blocks have beside the members that their views take.
_EXTRAS: tuple[str, ...] = (
    "type",
    "cache_control",
    "citations",
    "caller",
    "signature",
    "text",
    "source",
    "from",
    "to",
    "title",
    "context",
)
_EXTRAS += (
    "image_url",
    "detail",
    "file_id",
    "file_data",
    "filename",
    "annotations",
    "logprobs",
    "refusal",
    "encrypted_content",
)
_EXTRAS += ("providerOptions", "experimental_content")
_EXTRAS += (
    "function",
    "summary",
    "status",
    "id",
    "content",
    "tool_name",
    "server_name",
    "input_audio",
)
MEMBERS = frozenset(_EXTRAS).union(
    *((native for _, native, _ in view.members) for view in VIEWS.values())
)
"""Every member that some block is known to have."""

_TYPE_AND_TEXT = 2


def children(
    content: Any, types: Counts | None = None, members: Counts | None = None
) -> list[Native]:
    """Make the typed entries that the blocks of a content stand for; count the types and members
    that no table names.
    """
    if type(content) is not list:
        return []
    found = []
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind == "text" and len(block) == _TYPE_AND_TEXT and "text" in block:
            continue
        if type(kind) is not str:
            if type(block) is dict and _is_part(block):
                found += _part_children(block)
                continue
            kind = f"({type(block).__name__})"
        view = VIEWS.get(kind)
        if view is None:
            if types is not None and kind not in SAID:
                types[f"content/{kind}"] += 1
                continue
        elif (child := _child(block, view)) is not None:
            found.append(child)
        if members is not None and type(block) is dict and not block.keys() <= MEMBERS:
            for name in block.keys() - MEMBERS:
                members[f"content/{kind}.{name}"] += 1
    return found


def all_entries(entries: Iterable[Any]) -> Iterator[Native]:
    """Give entries, each before its children."""
    for entry in entries:
        yield entry
        yield from all_entries(entry.get("children", ()))


def _is_part(block: Native) -> bool:
    """Tell whether a block is one of Gemini's parts."""
    return "type" not in block and not _PART_MEMBERS.isdisjoint(block)


def _part_children(part: Native) -> list[Native]:
    """See one of Gemini's parts as entries: a call, a response or a thought."""
    if part.get("thought") is True and "text" in part:
        views = [(part, THOUGHT)]
    else:
        views = [(part[name], view) for name, view in PARTS.items() if type(part.get(name)) is dict]
    return [child for held, view in views if (child := _child(held, view)) is not None]


def _child(block: Native, view: View) -> Native | None:
    """See one block as an entry; a call without a name is none."""
    child: Native = {"type": view.entry_type}
    for canonical, native, kind in view.members:
        value = block.get(native)
        if kind is None or type(value) is kind:
            child[canonical] = value
    for name in view.required:
        if name not in child:
            return _named_by_function(block, child)
    if view.entry_type == "reasoning":
        _as_reasoning(block, child)
    elif view.entry_type == "tool-result" and child["output"] is None:
        child["output"] = block.get("content")
    return child


def _named_by_function(block: Native, child: Native) -> Native | None:
    """Name a call by its `function`, as the older form of OpenAI's calls does."""
    function = block.get("function")
    name = function.get("name") if isinstance(function, dict) else function
    return {**child, "name": name} if isinstance(name, str) else None


def _as_reasoning(block: Native, child: Native) -> None:
    """Give reasoning the content it must have; where only a sealed form was kept, that is what the
    content hides.
    """
    if child.get("content") is None:
        # The AI SDK's blocks say it as text.
        child["content"] = (
            block["text"] if block.get("type") == "reasoning" and "text" in block else ""
        )
    if child["content"] == "" and type(block.get("signature")) is str:
        child["encrypted"] = block["signature"]
