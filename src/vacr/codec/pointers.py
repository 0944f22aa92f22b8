"""JSON pointers (RFC 6901) of places in a value. Step: encode, and validate.

A place is a chain of steps back to the root, so that going down costs nothing; the text is made
when somebody asks.
"""

from __future__ import annotations

from typing import Any

Place = tuple[Any, Any] | None
"""The parent's place and the key or index under it; nothing for the root."""


def escape(name: str) -> str:
    """Escape a member's name for a pointer."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def pointer(place: Place) -> str:
    """Write the pointer of a place."""
    steps = []
    while place is not None:
        place, key = place
        steps.append(f"/{escape(str(key))}")
    return "".join(reversed(steps))
