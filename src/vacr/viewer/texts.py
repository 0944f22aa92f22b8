"""Foreign values as texts for people: any value as JSON, and any text without hidden characters.

A record in CBOR may hold values that JSON lacks: bytes, tags, keys that are not text. They are
spelled as the HTML page spells them. Characters that drive a terminal (escape sequences) or reverse
the order of letters (bidi controls) become visible and lose their effect.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from vacr.errors import InvalidRecord
from vacr.record import encode_canonical_json

_TAB_WIDTH = 4
_ZERO_WIDTH_JOINER = "\u200d"  # needed by emoji, and harmless


def format_json(value: Any) -> str:
    """Return a value as a line of JSON, for reading only: CBOR values are respelled."""
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
    # CBOR's `undefined` and its simple values remain.
    return None


def format_value(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else format_json(value)


def make_visible(text: str) -> str:
    """Return a text with every control character escaped; line ends stay, tabs become blanks."""
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
    if character.isprintable() or character == _ZERO_WIDTH_JOINER:
        return character
    is_space = unicodedata.category(character) == "Zs"
    return character if is_space else ascii(character)[1:-1]
