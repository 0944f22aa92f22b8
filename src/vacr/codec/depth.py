"""How deep values may nest. Step: encode.

One limit for every codec, well under what the C decoders and the interpreter's stack allow, so that
the same input is accepted or refused on every machine.
"""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 400

_NOT_OPENING = bytes(byte for byte in range(256) if byte not in b"{[")


def is_deeper_than(limit: int, value: Any, data: bytes) -> bool:
    """Tell whether a value nests deeper than a limit; `data` is its text, whose length and brackets
    rule most values out.
    """
    return len(data) > 2 * limit and openings(data) > limit and depth(value, limit) > limit


def openings(data: bytes) -> int:
    """Count the brackets that open, those in strings too."""
    return len(data.translate(None, _NOT_OPENING))


def depth(value: Any, limit: int) -> int:
    """Give the depth of a value's nesting, or a number above the limit."""
    items, reached = [value], 0
    while reached <= limit:
        containers = [item for item in items if type(item) is dict or type(item) is list]
        if not containers:
            break
        reached += 1
        items = [
            item for held in containers for item in (held.values() if type(held) is dict else held)
        ]
    return reached
