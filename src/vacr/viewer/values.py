"""A value as JSON for people, whatever it holds. Step: show.

A record in CBOR may hold what JSON cannot: bytes, tags, keys that are no text. They are spelled
here as the page spells them, so that one of them keeps nobody from seeing the rest. It is for
reading alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vacr.codec import canonical_json
from vacr.errors import InvalidRecord


def told(value: Any) -> str:
    """Give a value as a line of JSON."""
    try:
        return canonical_json.encode(value).decode()
    except InvalidRecord:
        return canonical_json.encode(_spelled(value)).decode()


def _spelled(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return f"h'{value.hex()}'"
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else told(key): _spelled(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if hasattr(value, "tag"):
        return {"tag": value.tag, "value": _spelled(value.value)}
    # What is left is CBOR's `undefined`, and its simple values.
    return None
