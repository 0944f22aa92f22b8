"""What a tool call asks to be changed in files, as diffs. Step: show. Follows the table of tools
that attribution has.

It is what was asked for, whether it was done or not; what became of the files is in the file
attribution.

What a content or an output says, part by part, whatever shape it has. Step: show.

Agents write a text, a list of blocks, an object, or nothing. What is known is a text or an image;
all else is kept as the value it is, to be shown as JSON. Blocks that have entries of their own
(calls, results, reasoning) are left to those.

A value as JSON for people, whatever it holds. Step: show.

A record in CBOR may hold what JSON cannot: bytes, tags, keys that are no text. They are spelled
here as the page spells them, so that one of them keeps nobody from seeing the rest. It is for
reading alone.

A tool call in one line. Step: show.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vacr.agents import (
    COMMAND_ARGUMENTS,
    CONTENT_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolEffect,
    find_tool_effect,
    get_text_argument,
    parse_requested_edits,
)
from vacr.edits import FilePatch, parse_apply_patch
from vacr.errors import InvalidRecord
from vacr.record import BLOCK_VIEWS, GEMINI_PART_VIEWS, encode_canonical_json

_CONTEXT_LINES = 3
_MAX_COMPARED_PAIRS = 4_000_000
"""How many pairs of lines are compared: finding what is alike may take the square of that, and an
edit may be of any length.
"""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Lines of one file with their first letters: `+`, `-`, a blank, or `@` where something is left
    out.
    """

    path: str
    what: str
    """`edit`, `write`, `add`, `delete`, or `move`."""
    lines: list[str]

    @property
    def added(self) -> int:
        """How many lines come."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines go."""
        return sum(line.startswith("-") for line in self.lines)


def build_diffs(agent: str, tool: str, given: Any) -> list[FileDiff]:
    """Give what a call asks to be changed; nothing for a tool that changes no file by its
    arguments.
    """
    kind = find_tool_effect(agent, tool, given)
    path = get_text_argument(given, PATH_ARGUMENTS)
    if kind is ToolEffect.PATCH:
        text = given if isinstance(given, str) else get_text_argument(given, PATCH_ARGUMENTS)
        return [_build_patch_diff(file) for file in parse_apply_patch(text or "")]
    if path is None or not isinstance(given, dict):
        return []
    if kind is ToolEffect.REPLACE:
        lines = [
            line
            for edit in parse_requested_edits(given) or ()
            for line in _diff_texts(edit.old, edit.new)
        ]
        return [FileDiff(path, "edit", lines)] if lines else []
    if (
        kind in (ToolEffect.WRITE, ToolEffect.UNPLACED_EDIT)
        and (text := get_text_argument(given, CONTENT_ARGUMENTS)) is not None
    ):
        return [FileDiff(path, "write", [f"+{line}" for line in text.splitlines()])]
    return [FileDiff(path, "delete", [])] if kind is ToolEffect.DELETE else []


def _build_patch_diff(file: FilePatch) -> FileDiff:
    if file.kind == "add":
        return FileDiff(file.path, "add", [f"+{line}" for line in file.text.splitlines()])
    lines = []
    for part in file.parts:
        lines.append(f"@@ {part.anchor}".rstrip())
        lines += list(_diff_texts("\n".join(part.old), "\n".join(part.new)))[1:]
    to = f"{file.path} → {file.to}" if file.to else file.path
    return FileDiff(
        to,
        "delete" if file.kind == "delete" else "move" if file.to and not lines else "edit",
        lines,
    )


def _diff_texts(old: str, new: str) -> Iterator[str]:
    """Give the lines of a diff of two texts, after one that begins it."""
    yield "@@"
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        before, after = _trim_common_lines(before, after)
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    found = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    for line in list(found)[2:]:
        if not line.startswith("@@"):
            yield line


def _trim_common_lines(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Leave out the lines that two texts begin and end alike with, but for some around what
    differs.
    """
    shortest = min(len(before), len(after))
    start = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    rest = shortest - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    first, last = max(0, start - _CONTEXT_LINES), max(0, end - _CONTEXT_LINES)
    return before[first : len(before) - last], after[first : len(after) - last]


_TEXT_BLOCK_TYPES = frozenset(
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


@dataclass(frozen=True, slots=True)
class TextPart:
    """Something said or printed."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture: its bytes in base64, or where they are said to be."""

    media_type: str = ""
    data: str = ""
    address: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class OtherPart:
    """A value that is neither, and what its agent calls it."""

    kind: str
    value: Any


ContentPart = TextPart | ImagePart | OtherPart


def list_content_parts(content: Any) -> list[ContentPart]:
    """Give what the content of an entry says."""
    return [
        part
        for block in _list_blocks(content)
        if not _has_own_entry(block)
        for part in _parse_block(block)
    ]


def list_output_parts(output: Any) -> list[ContentPart]:
    """Give what the output of a tool says."""
    return [part for block in _list_blocks(output) for part in _parse_block(block)]


def join_texts(parts: list[ContentPart]) -> str:
    """Give the text of what was said, without pictures."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _list_blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _has_own_entry(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if isinstance(kind, str):
        return kind in BLOCK_VIEWS
    return block.get("thought") is True or any(
        isinstance(block.get(name), dict) for name in GEMINI_PART_VIEWS
    )


def _parse_block(block: Any) -> Iterator[ContentPart]:
    if isinstance(block, str):
        if block:
            yield TextPart(block)
        return
    if not isinstance(block, dict):
        yield OtherPart(type(block).__name__, block)
        return
    kind = block.get("type")
    response = next(
        (
            block[name].get("response")
            for name in GEMINI_PART_VIEWS
            if isinstance(block.get(name), dict)
        ),
        None,
    )
    if response is not None:
        yield from _parse_tool_output(response)
    elif (image := _parse_image(block)) is not None:
        yield image
    elif isinstance(text := _get_block_text(block), str) and (
        not isinstance(kind, str) or kind in _TEXT_BLOCK_TYPES or len(block) <= 2  # noqa: PLR2004
    ):
        if text:
            yield TextPart(text)
    else:
        yield from _parse_tool_output(block)


def _get_block_text(block: dict[str, Any]) -> Any:
    return block.get("text", block.get("refusal"))


def _parse_tool_output(value: Any) -> Iterator[ContentPart]:
    """Give what a tool printed, of an object that has it under a usual name."""
    if not isinstance(value, dict):
        yield from list_output_parts(value)
        return
    if value.keys() <= {"output", "error", "stdout", "stderr", "exitCode", "exit_code"}:
        for name in ("output", "stdout", "error", "stderr"):
            if value.get(name) not in (None, ""):
                yield from list_output_parts(value[name])
        code = value.get("exitCode", value.get("exit_code"))
        if code is not None:
            yield TextPart(f"exit code {code}")
        return
    yield OtherPart(str(value.get("type", "object")), value)


def _parse_image(block: dict[str, Any]) -> ImagePart | None:
    """See a block as a picture, in the ways in which agents write one."""
    source = block.get("source")
    if block.get("type") == "image" and isinstance(source, dict):
        return ImagePart(
            _get_text_member(source, "media_type"),
            _get_text_member(source, "data"),
            _get_text_member(source, "url"),
        )
    if block.get("type") == "input_image":
        return _parse_image_address(_get_text_member(block, "image_url"))
    held = block.get("inlineData", block.get("inline_data"))
    if isinstance(held, dict):
        return ImagePart(
            _get_text_member(held, "mimeType") or _get_text_member(held, "mime_type"),
            _get_text_member(held, "data"),
        )
    if block.get("type") == "file" and _get_text_member(block, "mime").startswith("image/"):
        return _parse_image_address(
            _get_text_member(block, "url"),
            _get_text_member(block, "mime"),
            _get_text_member(block, "filename"),
        )
    return None


def _parse_image_address(address: str, media_type: str = "", name: str = "") -> ImagePart:
    head, comma, data = address.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return ImagePart(head[5:-7] or media_type, data, "", name)
    return ImagePart(media_type, "", address, name)


def _get_text_member(block: dict[str, Any], name: str) -> str:
    value = block.get(name)
    return value if isinstance(value, str) else ""


def format_json(value: Any) -> str:
    """Give a value as a line of JSON."""
    try:
        return encode_canonical_json(value).decode()
    except InvalidRecord:
        return encode_canonical_json(_make_json_safe(value)).decode()


def _make_json_safe(value: Any) -> Any:
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
    # What is left is CBOR's `undefined`, and its simple values.
    return None


_SEARCH_ARGUMENTS = ("pattern", "query", "url")
_DESCRIPTIVE_ARGUMENTS = (
    "description",
    "title",
    "subject",
    "prompt",
    "message",
    "question",
    "objective",
    "skill",
    "name",
    "text",
)
_MAX_SUMMARY_LENGTH = 200


def summarise_tool_call(tool: str, given: Any) -> str:
    """Say in one line what a call asks for: the command, the file, the pattern, or else its
    arguments.
    """
    said = _choose_summary(tool, given)
    line = " ".join(said.split())
    return line if len(line) <= _MAX_SUMMARY_LENGTH else f"{line[: _MAX_SUMMARY_LENGTH - 1]}…"


def _choose_summary(tool: str, given: Any) -> str:
    if "patch" in tool.lower():
        text = given if isinstance(given, str) else get_text_argument(given, PATCH_ARGUMENTS)
        return ", ".join(file.to or file.path for file in parse_apply_patch(text or "")) or (
            text or ""
        )
    if isinstance(given, str):
        return given
    if not isinstance(given, dict) or not given:
        return ""
    for names in (COMMAND_ARGUMENTS, _SEARCH_ARGUMENTS, PATH_ARGUMENTS):
        if (text := get_text_argument(given, names)) is not None:
            return text
    for name in COMMAND_ARGUMENTS:
        if isinstance(given.get(name), list):
            return " ".join(str(word) for word in given[name])
    if (text := get_text_argument(given, _DESCRIPTIVE_ARGUMENTS)) is not None:
        return text
    return format_json(given)
