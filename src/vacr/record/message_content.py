"""The content of messages: the entries inside its blocks, and the title that it gives a session.

Agents put tool calls, tool results and reasoning inside the content of a message, in the shapes of
several model APIs. The content stays verbatim; the message gets children, which are typed views of
those blocks. Readers build them here, and validation builds them again to compare.

    >>> from vacr.record import build_child_entries
    >>> text = {"type": "text", "text": "Let me look."}
    >>> call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}
    >>> build_child_entries([text, call])
    [{'type': 'tool-call', 'name': 'Read', 'input': {'path': 'a.py'}, 'call-id': 't1'}]

Lists of sessions show a title for each: the agent's own title, or else the user's first request.

    >>> from vacr.record import find_session_title
    >>> injected = {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"}
    >>> request = {"type": "text", "text": "Fix the parser,\\nplease."}
    >>> find_session_title({"entries": [{"type": "user", "content": [injected, request]}]})
    'Fix the parser, please.'
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from vacr.model import JsonObject

NameCounts = defaultdict[str, int]
"""How often each name occurred. A `Counter` takes several times as long to create."""


class BlockView(NamedTuple):
    """How one type of block becomes an entry."""

    entry_type: str
    members: tuple[tuple[str, str, type | None], ...]
    """The entry's member, the block's member it comes from, and its type if only one is valid."""
    required: tuple[str, ...] = ()
    """The entry's members without which the block is not an entry."""


_TOOL_CALL_VIEW = BlockView(
    "tool-call",
    (("name", "name", str), ("input", "input", None), ("call-id", "id", str)),
    ("name",),
)
_TOOL_RESULT_VIEW = BlockView(
    "tool-result",
    (("output", "content", None), ("call-id", "tool_use_id", str), ("is-error", "is_error", bool)),
)

# The view of each block type, by API: Anthropic's, OpenAI's Responses, and the AI SDK.
BLOCK_VIEWS = {
    "tool_use": _TOOL_CALL_VIEW,
    "server_tool_use": _TOOL_CALL_VIEW,
    "mcp_tool_use": _TOOL_CALL_VIEW,
    "tool_call": _TOOL_CALL_VIEW,
    "tool_result": _TOOL_RESULT_VIEW,
    "server_tool_result": _TOOL_RESULT_VIEW,
    "mcp_tool_result": _TOOL_RESULT_VIEW,
    "web_search_tool_result": _TOOL_RESULT_VIEW,
    "web_fetch_tool_result": _TOOL_RESULT_VIEW,
    "code_execution_tool_result": _TOOL_RESULT_VIEW,
    "bash_code_execution_tool_result": _TOOL_RESULT_VIEW,
    "text_editor_code_execution_tool_result": _TOOL_RESULT_VIEW,
    "tool_search_tool_result": _TOOL_RESULT_VIEW,
    "thinking": BlockView("reasoning", (("content", "thinking", None),)),
    "redacted_thinking": BlockView("reasoning", (("encrypted", "data", str),)),
    "reasoning": BlockView(
        "reasoning", (("content", "content", None), ("encrypted", "encrypted_content", str))
    ),
    "function_call": BlockView(
        "tool-call",
        (("name", "name", str), ("input", "arguments", None), ("call-id", "call_id", str)),
        ("name",),
    ),
    "function_call_output": BlockView(
        "tool-result", (("output", "output", None), ("call-id", "call_id", str))
    ),
    "tool-call": BlockView(
        "tool-call",
        (("name", "toolName", str), ("input", "args", None), ("call-id", "toolCallId", str)),
        ("name",),
    ),
    "tool-result": BlockView(
        "tool-result",
        (("output", "result", None), ("call-id", "toolCallId", str), ("is-error", "isError", bool)),
    ),
    "redacted-reasoning": BlockView("reasoning", (("encrypted", "data", str),)),
}

_PART_CALL_VIEW = BlockView(
    "tool-call", (("name", "name", str), ("input", "args", None), ("call-id", "id", str)), ("name",)
)
_PART_RESPONSE_VIEW = BlockView(
    "tool-result", (("output", "response", None), ("call-id", "id", str))
)

# Blocks of Google's API have no type: they are parts. Each has a member that identifies it, and the
# view applies to the value of that member.
UNTYPED_PART_VIEWS = {
    "functionCall": _PART_CALL_VIEW,
    "function_call": _PART_CALL_VIEW,
    "functionResponse": _PART_RESPONSE_VIEW,
    "function_response": _PART_RESPONSE_VIEW,
}
_THOUGHT_VIEW = BlockView("reasoning", (("content", "text", None),))
_PLAIN_PART_MEMBERS = frozenset(
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
_UNTYPED_PART_MEMBERS = _PLAIN_PART_MEMBERS.union(UNTYPED_PART_VIEWS)

# Blocks without a view: they are part of the message's text.
PLAIN_BLOCK_TYPES = frozenset(
    (
        # Anthropic
        "text",
        "image",
        "document",
        "fallback",
        "search_result",
        "container_upload",
        "tool_reference",
        "connector_text",
        # OpenAI
        "input_text",
        "output_text",
        "input_image",
        "input_audio",
        "input_file",
        "refusal",
        "encrypted_content",
    )
)

# Members of blocks that no view takes.
_EXTRA_BLOCK_MEMBERS = frozenset(
    (
        # Anthropic
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
        # OpenAI
        "image_url",
        "detail",
        "file_id",
        "file_data",
        "filename",
        "annotations",
        "logprobs",
        "refusal",
        "encrypted_content",
        # AI SDK
        "providerOptions",
        "experimental_content",
        # several of them
        "function",
        "summary",
        "status",
        "id",
        "content",
        "tool_name",
        "server_name",
        "input_audio",
    )
)
KNOWN_BLOCK_MEMBERS = _EXTRA_BLOCK_MEMBERS.union(
    *((native for _, native, _ in view.members) for view in BLOCK_VIEWS.values())
)
"""Every member that is known to occur in some block."""

_TEXT_BLOCK_MEMBER_COUNT = 2

TITLE_MEMBERS = ("title", "name", "summary", "customTitle", "aiTitle", "thread_name", "chatTitle")
"""Native members that contain a title, in the session or in an event."""
TITLE_EVENTS = frozenset(("custom-title", "ai-title", "summary", "thread_name_updated"))
INJECTED_TEXT_PREFIXES = ("<", "# AGENTS.md instructions", "Caveat: ")
"""The beginnings of texts that agents insert in the name of the user."""
_MAX_TITLE_LENGTH = 200
_MARKUP_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


# The entries inside content blocks.


def build_child_entries(
    content: Any, types: NameCounts | None = None, members: NameCounts | None = None
) -> list[JsonObject]:
    """Return the child entries for the blocks of a message's content.

    Block types and members that no table names are counted in `types` and `members`, if given.
    """
    if type(content) is not list:
        return []
    children = []
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind == "text" and len(block) == _TEXT_BLOCK_MEMBER_COUNT and "text" in block:
            continue
        if type(kind) is not str:
            if type(block) is dict and _is_untyped_part(block):
                children += _build_part_children(block)
                continue
            kind = f"({type(block).__name__})"
        view = BLOCK_VIEWS.get(kind)
        if view is None:
            if types is not None and kind not in PLAIN_BLOCK_TYPES:
                types[f"content/{kind}"] += 1
                continue
        elif (child := _build_child_entry(block, view)) is not None:
            children.append(child)
        if members is not None and type(block) is dict and not block.keys() <= KNOWN_BLOCK_MEMBERS:
            for name in block.keys() - KNOWN_BLOCK_MEMBERS:
                members[f"content/{kind}.{name}"] += 1
    return children


def walk_entries(entries: Iterable[Any]) -> Iterator[JsonObject]:
    """Yield entries at every depth, each before its children."""
    for entry in entries:
        yield entry
        yield from walk_entries(entry.get("children", ()))


def _is_untyped_part(block: JsonObject) -> bool:
    """Return whether a block has no type, but a member that identifies it."""
    return "type" not in block and not _UNTYPED_PART_MEMBERS.isdisjoint(block)


def _build_part_children(part: JsonObject) -> list[JsonObject]:
    """Return the entries for a part without a type: a call, a response or a thought."""
    if part.get("thought") is True and "text" in part:
        views = [(part, _THOUGHT_VIEW)]
    else:
        views = [
            (part[name], view)
            for name, view in UNTYPED_PART_VIEWS.items()
            if type(part.get(name)) is dict
        ]
    children = [_build_child_entry(block, view) for block, view in views]
    return [child for child in children if child is not None]


def _build_child_entry(block: JsonObject, view: BlockView) -> JsonObject | None:
    """Return the entry for one block, or None for a call without a name."""
    child: JsonObject = {"type": view.entry_type}
    for canonical, native, kind in view.members:
        value = block.get(native)
        if kind is None or type(value) is kind:
            child[canonical] = value
    for name in view.required:
        if name not in child:
            return _name_call_by_function(block, child)
    if view.entry_type == "reasoning":
        _fill_reasoning_content(block, child)
    elif view.entry_type == "tool-result" and child["output"] is None:
        child["output"] = block.get("content")
    return child


def _name_call_by_function(block: JsonObject, child: JsonObject) -> JsonObject | None:
    """Return a call with the name from `function`, where OpenAI's older calls have it."""
    function = block.get("function")
    name = function.get("name") if isinstance(function, dict) else function
    return {**child, "name": name} if isinstance(name, str) else None


def _fill_reasoning_content(block: JsonObject, child: JsonObject) -> None:
    """Add the content that a reasoning entry must have; a signature alone is its encrypted form."""
    if child.get("content") is None:
        # The AI SDK's blocks have it in `text`.
        has_text = block.get("type") == "reasoning" and "text" in block
        child["content"] = block["text"] if has_text else ""
    if child["content"] == "" and type(block.get("signature")) is str:
        child["encrypted"] = block["signature"]


# The title of a session.


def find_session_title(trace: Mapping[str, Any]) -> str:
    """Return the title of a session, or an empty text."""
    return shorten_title(_find_native_title(trace) or _find_first_request(trace))


def flatten_to_line(text: str) -> str:
    """Return a text as one line that every terminal and file can encode."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def shorten_title(line: str) -> str:
    """Cut a line to the length that a list shows; the record has all of it."""
    return line if len(line) <= _MAX_TITLE_LENGTH else f"{line[: _MAX_TITLE_LENGTH - 1]}…"


def _find_native_title(trace: Mapping[str, Any]) -> str:
    """Return the title that the agent gave the session; the latest event counts."""
    events = [
        entry.get("data") for entry in trace["entries"] if entry.get("event-type") in TITLE_EVENTS
    ]
    for holder in (trace, *reversed(events)):
        for member in TITLE_MEMBERS if isinstance(holder, dict) else ():
            if isinstance(holder.get(member), str) and (title := flatten_to_line(holder[member])):
                return title
    return ""


def _find_first_request(trace: Mapping[str, Any]) -> str:
    """Return the first text that the user typed, on one line."""
    texts = [
        text
        for entry in trace["entries"]
        if entry["type"] == "user" and not entry.get("isMeta")
        for text in _list_message_texts(entry)
    ]
    requests = (
        flatten_to_line(query)
        for query in map(_extract_user_query, texts)
        if not query.lstrip().startswith(INJECTED_TEXT_PREFIXES)
    )
    # Without a text of the user alone, one without the agent's markup is better than nothing.
    unmarked = (flatten_to_line(_MARKUP_TAG.sub(" ", text)) for text in texts)
    return _find_first_nonempty(requests) or _find_first_nonempty(unmarked)


def _find_first_nonempty(lines: Iterator[str]) -> str:
    return next(filter(None, lines), "")


def _list_message_texts(entry: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message."""
    content = entry.get("content")
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
    else:
        texts = [content]
    return [text for text in texts if isinstance(text, str)]


def _extract_user_query(text: str) -> str:
    """Return the part of a text that the agent marks as typed by the user, or all of it."""
    if "<user_query>" not in text:
        return text
    return text.partition("<user_query>")[2].partition("</user_query>")[0]
