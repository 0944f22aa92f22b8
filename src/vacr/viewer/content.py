"""The content of entries, ready to show: its parts, JSON of any value, and text without controls.

Agents write a content as a text, a list of blocks, an object, or nothing. `list_content_parts`
finds the texts and images in all these shapes, and keeps every other value, to be shown as JSON.
A report in an object, such as `{"query": "ls", "result": "a.py"}`, becomes its text.
It omits blocks that have entries of their own: tool calls, results and reasoning.

    >>> from vacr.viewer import format_json, list_content_parts, make_visible
    >>> list_content_parts([
    ...     {"type": "text", "text": "Fixed."},
    ...     {"type": "tool_use", "name": "Edit"},     # has an entry of its own
    ...     {"type": "input_image", "image_url": "data:image/png;base64,iVBO"},
    ... ])
    [TextPart(text='Fixed.'), ImagePart(media_type='image/png', data='iVBO', address='', name='')]

Content is untrusted. `make_visible` escapes the characters that control a terminal or reverse the
order of letters. `format_json` also writes values that only CBOR has: bytes, tags, other keys.

    >>> print(make_visible("red: " + chr(27) + "[31m"))
    red: \\x1b[31m
    >>> print(format_json({"digest": bytes([1, 255])}))
    {"digest":"h'01ff'"}
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vacr.errors import InvalidRecord
from vacr.record import BLOCK_VIEWS, UNTYPED_PART_VIEWS, encode_canonical_json

TEXT_BLOCK_TYPES = frozenset(
    (
        "text",
        "input_text",
        "output_text",
        "summary_text",
        "reasoning_text",
        "refusal",
        "connector_text",
    )
)
_OUTPUT_MEMBERS = {"output", "error", "stdout", "stderr", "exitCode", "exit_code"}
WRAPPED_TEXTS = ("content", "result", "output", "diff", "error")
"""Members of a tool's output that may have its text."""
WRAPPER_LABELS = ("path", "absolutePath", "query")
"""Members that name the file or the operation that such a text belongs to."""
WRAPPER_MEMBERS = frozenset(
    (
        *WRAPPED_TEXTS,
        *WRAPPER_LABELS,
        "description",
        "directoryEntries",
        "duration",
        "editable",
        "editing",
        "hidden",
        "icon",
        "id",
        "isDirectory",
        "lineRange",
        "name",
        "status",
        "success",
        "type",
        "uri",
    )
)
"""All members of an object that is shown as its text; any other object is shown as JSON."""
RESPONSE_MEMBERS = ("responseParts",)
"""Members of an output that hold the blocks that the model sees."""
_MAX_PLAIN_MEMBERS = 2  # a type and a text
_TAB_WIDTH = 4
_ZERO_WIDTH_JOINER = "\u200d"  # needed by emoji, and harmless


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text of a message, or of the output of a tool."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image: its bytes in base64 in `data`, or its `address`; unknown members are empty."""

    media_type: str = ""
    data: str = ""
    address: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class OtherPart:
    """A value that is neither text nor image; `kind` is the agent's name for it, or its type."""

    kind: str
    value: Any


ContentPart = TextPart | ImagePart | OtherPart


def list_content_parts(content: Any) -> list[ContentPart]:
    """Return the parts of an entry's content, without blocks that have entries of their own.

    The content may be a text, a block or a list of blocks; for `None`, return an empty list.
    """
    return [
        part
        for block in _list_blocks(content)
        if not has_own_entry(block)
        for part in _parse_block(block)
    ]


def list_output_parts(output: Any, *, is_json: bool = False) -> list[ContentPart]:
    """Return the parts of a tool's output: a text, an object or a list; empty for `None`.

    With `is_json`, a text may be the JSON of an object with the words of the tool:

        >>> list_output_parts('{"content": "x = 1", "total_lines": 1}', is_json=True)
        [TextPart(text='x = 1')]
    """
    if is_json and isinstance(output, str):
        reports = _parse_json_reports(output)
        if reports is not None:
            return [part for report in reports for part in _parse_report(report)]
    return [part for block in _list_blocks(output) for part in _parse_block(block)]


def _parse_json_reports(text: str) -> list[dict[str, Any]] | None:
    """Return the objects of a JSON text if each of them has words of a tool, else `None`."""
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    reports = _list_blocks(value)
    return reports if reports and all(map(_has_wrapped_text, reports)) else None


def _refuse_constant(name: str) -> None:
    """Refuse a number such as `NaN`, which JSON does not have.

    Raises:
        ValueError: always.
    """
    message = f"{name} is not JSON"
    raise ValueError(message)


def _has_wrapped_text(value: Any) -> bool:
    """Return whether a value is an object with a text, or blocks, of a tool; never a file."""
    return (
        isinstance(value, dict)
        and value.get("type") != "file"
        and any(isinstance(value.get(name), str | list) for name in WRAPPED_TEXTS)
    )


def _parse_report(report: dict[str, Any]) -> Iterator[ContentPart]:
    """Yield the parts of an object with words of a tool: its label first, then its texts."""
    if report.keys() <= _OUTPUT_MEMBERS:
        yield from _parse_tool_output(report)
        return
    label = next(filter(None, (_get_text_member(report, name) for name in WRAPPER_LABELS)), "")
    if label:
        yield TextPart(label)
    shown: list[Any] = []
    for name in WRAPPED_TEXTS:
        value = report.get(name)
        if isinstance(value, str | list) and value not in shown:
            shown.append(value)
            yield from list_output_parts(value)


def join_texts(parts: list[ContentPart]) -> str:
    """Return the texts of parts, one per line, without images and other values; empty if none."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _list_blocks(content: Any) -> list[Any]:
    """Return a list as it is, a single value as a list of one, and `None` as an empty list."""
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def has_own_entry(block: Any) -> bool:
    """Return whether a block is a tool call, a result or a thought: these are entries, too."""
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if isinstance(kind, str):
        return kind in BLOCK_VIEWS
    if block.get("thought") is True:
        return True
    return any(isinstance(block.get(name), dict) for name in UNTYPED_PART_VIEWS)


def _parse_block(block: Any) -> Iterator[ContentPart]:
    """Yield the parts of a block; nothing for an empty text."""
    if isinstance(block, str):
        if block:
            yield TextPart(block)
        return
    if not isinstance(block, dict):
        yield OtherPart(type(block).__name__, block)
        return
    response = _find_part_response(block)
    if response is not None:
        yield from _parse_tool_output(response)
    elif block.get("type") == "content" and isinstance(block.get("content"), dict):
        # A part of a call's content in the Agent Client Protocol.
        yield from _parse_block(block["content"])
    elif is_shown_diff(block):
        yield TextPart(block["path"])
    elif (image := _parse_image(block)) is not None:
        yield image
    elif (text := _get_block_text(block)) is not None:
        if text:
            yield TextPart(text)
    else:
        yield from _parse_tool_output(block)


def is_shown_diff(block: Any) -> bool:
    """Return whether a block shows a change, as in the Agent Client Protocol."""
    return (
        isinstance(block, dict)
        and block.get("type") == "diff"
        and isinstance(block.get("path"), str)
        and isinstance(block.get("newText"), str)
    )


def _find_part_response(block: dict[str, Any]) -> Any:
    """Return the response in an untyped block of Google's API, or `None`."""
    for name in UNTYPED_PART_VIEWS:
        if isinstance(block.get(name), dict):
            return block[name].get("response")
    return None


def _get_block_text(block: dict[str, Any]) -> str | None:
    """Return the text of a block; `None` if it has none, or also has members worth showing."""
    text = block.get("text", block.get("refusal"))
    if not isinstance(text, str):
        return None
    kind = block.get("type")
    is_plain = len(block) <= _MAX_PLAIN_MEMBERS
    return text if not isinstance(kind, str) or kind in TEXT_BLOCK_TYPES or is_plain else None


def _parse_tool_output(value: Any) -> Iterator[ContentPart]:
    """Yield the parts of a tool's output, such as `{"stdout": "a", "exitCode": 0}`.

    An object with the members of a report becomes its text. An object with any other members, and
    an attached file, is one part.
    """
    if not isinstance(value, dict):
        yield from list_output_parts(value)
        return
    if not value.keys() <= _OUTPUT_MEMBERS:
        responses = [value[name] for name in RESPONSE_MEMBERS if _is_filled(value.get(name))]
        if responses:
            yield from list_output_parts(responses[0])
        elif value.keys() <= WRAPPER_MEMBERS and _has_wrapped_text(value):
            yield from _parse_report(value)
        else:
            yield OtherPart(str(value.get("type", "object")), value)
        return
    for name in ("output", "stdout", "error", "stderr"):
        if value.get(name) not in (None, ""):
            yield from list_output_parts(value[name])
    code = value.get("exitCode", value.get("exit_code"))
    if code is not None:
        yield TextPart(f"exit code {code}")


def _is_filled(value: Any) -> bool:
    """Return whether a value is a text, a list or an object that is not empty."""
    return isinstance(value, str | list | dict) and len(value) > 0


def _parse_image(block: dict[str, Any]) -> ImagePart | None:
    """Return the image in a block, in the notation of any agent; `None` if it is not an image."""
    kind = block.get("type")
    source = block.get("source")
    if kind == "image" and isinstance(source, dict):
        media_type = _get_text_member(source, "media_type")
        data, address = _get_text_member(source, "data"), _get_text_member(source, "url")
        return ImagePart(media_type, data, address)
    if kind == "image" and isinstance(block.get("url"), str):
        return _parse_image_address(block["url"])
    if kind == "input_image":
        return _parse_image_address(_get_text_member(block, "image_url"))
    inline = block.get("inlineData", block.get("inline_data"))
    if isinstance(inline, dict):
        media_type = _get_text_member(inline, "mimeType") or _get_text_member(inline, "mime_type")
        return ImagePart(media_type, _get_text_member(inline, "data"))
    media_type = _get_text_member(block, "mime")
    if kind == "file" and media_type.startswith("image/"):
        address, name = _get_text_member(block, "url"), _get_text_member(block, "filename")
        return _parse_image_address(address, media_type, name)
    return None


def _parse_image_address(address: str, media_type: str = "", name: str = "") -> ImagePart:
    """Return the image at an address; the bytes of a base64 `data:` address are extracted.

    Such an address may state its media type, which replaces `media_type`.
    """
    head, comma, data = address.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        stated_type = head.removeprefix("data:").removesuffix(";base64")
        return ImagePart(stated_type or media_type, data, "", name)
    return ImagePart(media_type, "", address, name)


def _get_text_member(block: dict[str, Any], name: str) -> str:
    """Return a member of a block; an empty text if it is missing or not a text."""
    value = block.get(name)
    return value if isinstance(value, str) else ""


# Untrusted values as text


def format_json(value: Any) -> str:
    """Return a value as a line of JSON, for display.

    Types that JSON lacks are converted: bytes become `h'01ff'`, a tag an object, others null.
    """
    try:
        return encode_canonical_json(value).decode()
    except InvalidRecord:
        return encode_canonical_json(_make_json_safe(value)).decode()


def _make_json_safe(value: Any) -> Any:
    """Return a value with JSON types only; an unknown type becomes `None`."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return f"h'{value.hex()}'"
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else format_json(key): _make_json_safe(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_make_json_safe(item) for item in value]
    if hasattr(value, "tag"):
        return {"tag": value.tag, "value": _make_json_safe(value.value)}
    return None  # CBOR's `undefined`, or another simple value


def format_value(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else format_json(value)


def list_input_texts(arguments: Any, *, only_words: bool = False) -> Iterator[tuple[str, str]]:
    """Yield name and text of each argument of a call.

    Arguments that are one value, not an object, have an empty name. With `only_words`, arguments
    that are a number, a boolean or null are left out.
    """
    items = arguments.items() if isinstance(arguments, dict) else [("", arguments)]
    for name, value in items:
        if only_words and isinstance(value, int | float | None):
            continue
        if value is not None or isinstance(arguments, dict):
            yield format_value(name), format_value(value)


def make_visible(text: str) -> str:
    """Return a text whose invisible characters are escaped, except line feeds and blanks.

    CR LF becomes LF. A tab becomes blanks up to the next multiple of 4 columns.
    """
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").expandtabs(_TAB_WIDTH).split("\n")
    return "\n".join(
        line if line.isprintable() else "".join(map(_escape_character, line)) for line in lines
    )


def make_visible_line(text: str) -> str:
    """Return a text as one line, with line ends and control characters escaped."""
    return make_visible(text).replace("\n", "\\n")


def _escape_character(character: str) -> str:
    r"""Return a control character as an escape such as `\x1b`; other characters stay."""
    if character.isprintable() or character == _ZERO_WIDTH_JOINER:
        return character
    is_space = unicodedata.category(character) == "Zs"
    return character if is_space else ascii(character)[1:-1]


_WRITTEN_THOUGHT = re.compile(
    r"\s*<(think(?:ing)?(?:-content-[0-9a-f]{1,64})?)>(.*?)(?:</\1>|\Z)", re.DOTALL
)


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the thoughts at the start of an answer, and the rest of it.

    Some models write their thoughts into the answer, between tags such as `<think>`.

        >>> split_thoughts("<think>A float?</think> Fixed.")
        ('A float?', 'Fixed.')
    """
    thoughts, end = [], 0
    while match := _WRITTEN_THOUGHT.match(text, end):
        thoughts.append(match[2].strip())
        end = match.end()
    return "\n\n".join(thoughts), text[end:].lstrip() if thoughts else text
