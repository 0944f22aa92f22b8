"""The content of messages: the entries inside content blocks, and the title of a session.

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
    """How one type of content block becomes an entry."""

    entry_type: str
    members: tuple[tuple[str, str, type | None], ...]
    """For each member: its name in the entry, its name in the block, and its type if restricted."""
    required: tuple[str, ...] = ()
    """Members of the entry that must be present; without one, the block gives no entry."""


_TOOL_CALL_VIEW = BlockView(
    "tool-call",
    (("name", "name", str), ("input", "input", None), ("call-id", "id", str)),
    ("name",),
)
_TOOL_RESULT_VIEW = BlockView(
    "tool-result",
    (("output", "content", None), ("call-id", "tool_use_id", str), ("is-error", "is_error", bool)),
)

# The view of each block type, by API: Anthropic's, OpenAI's Responses, the AI SDK, and pi-ai.
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
    "toolCall": BlockView(
        "tool-call",
        (("name", "name", str), ("input", "arguments", None), ("call-id", "id", str)),
        ("name",),
    ),
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
        "file",
        "imageUrl",
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
        # pi-ai
        "mimeType",
        "partialJson",
        "redacted",
        "textSignature",
        "thinkingSignature",
        "thoughtSignature",
        # several of them
        "function",
        "summary",
        "status",
        "id",
        "content",
        "tool_name",
        "server_name",
        "complete",
        "durationMs",
        "finalTime",
        "imageUrl",
        "input_audio",
        "path",
        "provider",
        "reasoning_details",
        "run",
        "signatureProvider",
        "startTime",
        "toolUseID",
    )
)
KNOWN_BLOCK_MEMBERS = _EXTRA_BLOCK_MEMBERS.union(
    *((native for _, native, _ in view.members) for view in BLOCK_VIEWS.values())
)
"""Every member that is known to occur in some block."""

_TEXT_BLOCK_MEMBER_COUNT = 2
_SIGNATURE_MEMBERS = ("signature", "thinkingSignature")
"""The members of a thinking block that hold the provider's signature."""

TITLE_MEMBERS = ("title", "name", "summary", "customTitle", "aiTitle", "thread_name", "chatTitle")
"""Native members that contain a title, in the session or in an event."""
PLACEHOLDER_TITLES = frozenset(("Untitled Session", "New Session"))
"""Titles that say nothing: the agent gave the session no other."""
TITLE_EVENTS = frozenset(
    ("custom-title", "ai-title", "summary", "thread_name_updated", "session_info")
)
INJECTED_TEXT_PREFIXES = ("<", "# AGENTS.md instructions", "Caveat: ")
"""The beginnings of texts that agents insert in the name of the user."""
_HOST_MESSAGE_FLAG = "isMeta"
"""The native member that marks a message of the host in the name of the user."""
_FAILED_ANSWER_FLAG = "isApiErrorMessage"
"""The native member that marks an answer as the error of a provider."""
_SIDE_CHAIN_FLAG, _SIDE_CHAIN_NAME = "isSidechain", "agentId"
"""The native members that mark an entry of a sub-agent, and name the sub-agent."""
PROMPTING_SPEAKERS = frozenset(("human", "unknown"))
"""The values of the label `vacr.speaker` whose messages are prompts."""
_MAX_TITLE_LENGTH = 200
_ESCAPED_PARAGRAPH = re.compile(r"[^\s\"'`\\]\\n\\n[^\s\"'`]")
"""An empty line between two words as JSON writes it; a text about such line ends quotes them."""
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_BARE_COMMAND = re.compile(r"/[\w:.-]*")
_MARKUP_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


# The entries inside content blocks.


def build_child_entries(
    content: Any, types: NameCounts | None = None, members: NameCounts | None = None
) -> list[JsonObject]:
    """Return an entry for each tool call, tool result and reasoning in a message's content.

    Return an empty list for content that is not a list. Unknown block types and block members are
    counted in `types` and `members`, unless these are None.
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
        if (
            members is not None
            and type(block) is dict
            and not KNOWN_BLOCK_MEMBERS.issuperset(block)
        ):
            for name in block.keys() - KNOWN_BLOCK_MEMBERS:
                members[f"content/{kind}.{name}"] += 1
    return children


def _is_untyped_part(block: JsonObject) -> bool:
    """Return whether a block is a part of Google's API: no type, but a known member."""
    return "type" not in block and not _UNTYPED_PART_MEMBERS.isdisjoint(block)


def _build_part_children(part: JsonObject) -> list[JsonObject]:
    """Return the entries for a part of Google's API: calls, responses, or a thought.

    Return an empty list for other parts, such as text.
    """
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
    """Return the entry for a block that has a view, or None for a call without a name."""
    entry_type, members, required = view
    child: JsonObject = {"type": entry_type}
    for canonical, native, kind in members:
        value = block.get(native)
        if kind is None or type(value) is kind:
            child[canonical] = value
    for name in required:
        if name not in child:
            return _name_call_by_function(block, child)
    if entry_type == "reasoning":
        _fill_reasoning_content(block, child)
    elif entry_type == "tool-result" and child.get("output") is None:
        child["output"] = block.get("content")
        if type(block.get("run")) is dict:
            _fill_run_result(block, child)
    return child


def _fill_run_result(block: JsonObject, child: JsonObject) -> None:
    """Add the output and the id of a result whose block describes the run of the call."""
    run = block["run"]
    child["output"] = run.get("result", run)
    if "call-id" not in child and type(block.get("toolUseID")) is str:
        child["call-id"] = block["toolUseID"]


def _name_call_by_function(block: JsonObject, child: JsonObject) -> JsonObject | None:
    """Return the call `child` with the name in the member `function` of older OpenAI calls.

    Return None if that has no name, either.
    """
    function = block.get("function")
    name = function.get("name") if isinstance(function, dict) else function
    return {**child, "name": name} if isinstance(name, str) else None


def _fill_reasoning_content(block: JsonObject, child: JsonObject) -> None:
    """Add missing `content` to a reasoning entry: the block's text, or an empty text.

    If the content is empty and the block has a signature, the signature becomes `encrypted`.
    """
    if child.get("content") is None:
        # The AI SDK's blocks have their content in `text`.
        has_text = block.get("type") == "reasoning" and "text" in block
        child["content"] = block["text"] if has_text else ""
    if child["content"] == "":
        for name in _SIGNATURE_MEMBERS:
            if type(block.get(name)) is str:
                child["encrypted"] = block[name]


def walk_entries(entries: Iterable[Any]) -> Iterator[JsonObject]:
    """Yield the entries and their children at every depth, each entry before its children.

    A valid record must contain them.
    """
    for entry in entries:
        yield entry
        if "children" in entry:
            yield from walk_entries(entry["children"])


# The title of a session.


def find_session_title(trace: Mapping[str, Any]) -> str:
    """Return the agent's title of a session, or else the user's first request, on one line.

    The title is cut to 200 characters. Return an empty text if the session has neither.
    """
    return shorten_title(_find_native_title(trace) or _find_first_request(trace))


def flatten_to_line(text: str) -> str:
    """Return a text as one line, with single spaces, and without spaces at both ends.

    Lone surrogates become `?`.
    """
    return " ".join(text.encode("utf-8", "replace").decode().split())


def shorten_title(line: str) -> str:
    """Return a line cut to 200 characters, with an ellipsis at the end if it was longer.

    Programs that pass a prompt as JSON leave its line ends as `\\n`: they become spaces, and the
    tags around parts of such a prompt are dropped.
    """
    if _ESCAPED_PARAGRAPH.search(line):
        line = flatten_to_line(_MARKUP_TAG.sub(" ", _ESCAPED_SPACE.sub(" ", line.strip('"'))))
    return line if len(line) <= _MAX_TITLE_LENGTH else f"{line[: _MAX_TITLE_LENGTH - 1]}…"


def _find_native_title(trace: Mapping[str, Any]) -> str:
    """Return the agent's own title of a session, or an empty text.

    A title of the session itself comes first, then the one in the latest title event.
    """
    events = [
        entry.get("data") for entry in trace["entries"] if entry.get("event-type") in TITLE_EVENTS
    ]
    for holder in (trace, *reversed(events)):
        for member in TITLE_MEMBERS if isinstance(holder, dict) else ():
            title = flatten_to_line(holder[member]) if isinstance(holder.get(member), str) else ""
            if title and title not in PLACEHOLDER_TITLES:
                return title
    return ""


def _find_first_request(trace: Mapping[str, Any]) -> str:
    """Return the first prompt of a session on one line, or an empty text.

    A session without one, such as a sub-agent's, is named by the first text of its messages,
    without the markup of the agent.
    """
    if request := _find_first_prompt(trace["entries"]):
        return request
    messages = [entry for entry in trace["entries"] if entry["type"] == "user"]
    unmarked = (
        flatten_to_line(_MARKUP_TAG.sub(" ", text))
        for entry in messages
        if not entry.get(_HOST_MESSAGE_FLAG)
        for text in list_message_texts(entry)
    )
    return next(filter(None, unmarked), "")


def _find_first_prompt(entries: Iterable[JsonObject]) -> str:
    """Return the first prompt on one line, or an empty text.

    A command such as `/model` on which the agent did nothing is no request if a prompt follows.
    """
    commands: list[str] = []
    for entry in entries:
        if entry["type"] == "user":
            prompt = flatten_to_line(get_prompt_text(entry))
            if prompt and not _BARE_COMMAND.fullmatch(prompt):
                return prompt
            commands += [prompt] if prompt else []
        elif commands and _is_act_of_agent(entry):
            return commands[-1]
    return commands[0] if commands else ""


def _is_act_of_agent(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry is a call, a thought, or an answer with a text or a call in it."""
    if entry["type"] == "assistant":
        return bool(entry.get("children")) or any(map(str.strip, list_message_texts(entry)))
    return entry["type"] in ("tool-call", "reasoning")


def has_labels(record: Mapping[str, Any]) -> bool:
    """Return whether a record has labels for speakers and outcomes, as vacr writes them since 0.2.

    A record without user messages and tool results needs none, and counts as labelled.
    """
    if "version" in record.get("vacr", ()):
        return True
    kinds = {entry.get("type") for entry in walk_entries(record["session"].get("entries", ()))}
    return kinds.isdisjoint(("user", "tool-result"))


def get_prompt_text(entry: Mapping[str, Any]) -> str:
    """Return the words that a person wrote in a message, or an empty text if nobody did.

    The label `vacr.speaker` decides. Where it is `unknown`, a person or a program started the
    session, and its text is a prompt as well. A message without a label, in a record of an earlier
    version, is judged by how its texts begin.
    """
    if entry.get("type") != "user":
        return ""
    marks = entry.get("vacr")
    speaker = marks.get("speaker") if isinstance(marks, dict) else None
    if not isinstance(speaker, str):
        return _guess_prompt_text(entry)
    if speaker not in PROMPTING_SPEAKERS:
        return ""
    prompt = marks.get("prompt") if isinstance(marks, dict) else None
    return prompt if isinstance(prompt, str) else "\n".join(list_message_texts(entry))


def _guess_prompt_text(entry: Mapping[str, Any]) -> str:
    """Return the texts of a message that do not begin like texts that agents insert, one per line.

    Return an empty text if no such text is left, or if the agent marked the message as its own.
    """
    if is_host_message(entry):
        return ""
    queries = map(_extract_user_query, list_message_texts(entry))
    return "\n".join(
        query
        for query in queries
        if query.strip() and not query.lstrip().startswith(INJECTED_TEXT_PREFIXES)
    )


def is_host_message(entry: Mapping[str, Any]) -> bool:
    """Return whether a native member marks a message as the host's, in a record without labels."""
    return entry.get(_HOST_MESSAGE_FLAG) is True


def is_failed_answer(entry: Mapping[str, Any]) -> bool:
    """Return whether the host wrote that the model gave no answer, or broke off, with an error."""
    return entry.get("stop-reason") == "error" or entry.get(_FAILED_ANSWER_FLAG) is True


def find_side_chain(entry: Mapping[str, Any]) -> str:
    """Return the sub-agent that native members name; `sub-agent` without a name.

    Return an empty text for an entry of the main agent.
    """
    if entry.get(_SIDE_CHAIN_FLAG) is not True:
        return ""
    return str(entry.get(_SIDE_CHAIN_NAME) or "sub-agent")


def list_message_texts(entry: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message: its content, or the text of each block; empty without text."""
    content = entry.get("content")
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
    else:
        texts = [content]
    return [text for text in texts if isinstance(text, str)]


def _extract_user_query(text: str) -> str:
    """Return the text between `<user_query>` tags, or all of the text if it has no such tag."""
    if "<user_query>" not in text:
        return text
    return text.partition("<user_query>")[2].partition("</user_query>")[0]
