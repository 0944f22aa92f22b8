"""What a content or an output says, part by part, whatever shape it has. Step: show.

Agents write a text, a list of blocks, an object, or nothing. What is known is a text or an image;
all else is kept as the value it is, to be shown as JSON. Blocks that have entries of their own
(calls, results, reasoning) are left to those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.content import PARTS, VIEWS

_TEXTS = frozenset(
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
class Text:
    """Something said or printed."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes in base64, or where they are said to be."""

    media_type: str = ""
    data: str = ""
    address: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Other:
    """A value that is neither, and what its agent calls it."""

    kind: str
    value: Any


Part = Text | Image | Other


def parts_of(content: Any) -> list[Part]:
    """Give what the content of an entry says."""
    return [part for block in _blocks(content) if not _has_entry(block) for part in _part(block)]


def outputs_of(output: Any) -> list[Part]:
    """Give what the output of a tool says."""
    return [part for block in _blocks(output) for part in _part(block)]


def text_of(parts: list[Part]) -> str:
    """Give the text of what was said, without pictures."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _has_entry(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if isinstance(kind, str):
        return kind in VIEWS
    return block.get("thought") is True or any(isinstance(block.get(name), dict) for name in PARTS)


def _part(block: Any) -> Iterator[Part]:
    if isinstance(block, str):
        if block:
            yield Text(block)
        return
    if not isinstance(block, dict):
        yield Other(type(block).__name__, block)
        return
    kind = block.get("type")
    response = next(
        (block[name].get("response") for name in PARTS if isinstance(block.get(name), dict)), None
    )
    if response is not None:
        yield from _printed(response)
    elif (image := _image(block)) is not None:
        yield image
    elif isinstance(text := _said(block), str) and (
        not isinstance(kind, str) or kind in _TEXTS or len(block) <= 2  # noqa: PLR2004
    ):
        if text:
            yield Text(text)
    else:
        yield from _printed(block)


def _said(block: dict[str, Any]) -> Any:
    return block.get("text", block.get("refusal"))


def _printed(value: Any) -> Iterator[Part]:
    """Give what a tool printed, of an object that has it under a usual name."""
    if not isinstance(value, dict):
        yield from outputs_of(value)
        return
    if value.keys() <= {"output", "error", "stdout", "stderr", "exitCode", "exit_code"}:
        for name in ("output", "stdout", "error", "stderr"):
            if value.get(name) not in (None, ""):
                yield from outputs_of(value[name])
        code = value.get("exitCode", value.get("exit_code"))
        if code is not None:
            yield Text(f"exit code {code}")
        return
    yield Other(str(value.get("type", "object")), value)


def _image(block: dict[str, Any]) -> Image | None:
    """See a block as a picture, in the ways in which agents write one."""
    source = block.get("source")
    if block.get("type") == "image" and isinstance(source, dict):
        return Image(_word(source, "media_type"), _word(source, "data"), _word(source, "url"))
    if block.get("type") == "input_image":
        return _addressed(_word(block, "image_url"))
    held = block.get("inlineData", block.get("inline_data"))
    if isinstance(held, dict):
        return Image(_word(held, "mimeType") or _word(held, "mime_type"), _word(held, "data"))
    if block.get("type") == "file" and _word(block, "mime").startswith("image/"):
        return _addressed(_word(block, "url"), _word(block, "mime"), _word(block, "filename"))
    return None


def _addressed(address: str, media_type: str = "", name: str = "") -> Image:
    head, comma, data = address.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Image(head[5:-7] or media_type, data, "", name)
    return Image(media_type, "", address, name)


def _word(block: dict[str, Any], name: str) -> str:
    value = block.get(name)
    return value if isinstance(value, str) else ""
