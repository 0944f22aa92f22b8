"""What a message of OpenCode's used: tokens and money. Step: read."""

from __future__ import annotations

from vacr.model import Native
from vacr.readers.lift import token_usage

USAGE = (
    ("input", ("input", "cache.read", "cache.write")),
    ("output", ("output", "reasoning")),
    ("cached", ("cache.read",)),
    ("reasoning", ("reasoning",)),
    ("total", ("total",)),
)
"""Canonical counter → the native ones that it is the sum of; the first must be there."""


def lift_usage(info: Native, entry: Native) -> None:
    """Give the canonical counters of a message; OpenCode counts cached input and reasoning beside
    input and output.
    """
    usage: Native = {}
    tokens = info.get("tokens")
    if type(tokens) is dict:
        cache = tokens["cache"] if type(tokens.get("cache")) is dict else {}
        usage = token_usage(
            tokens | {"cache.read": cache.get("read"), "cache.write": cache.get("write")}, USAGE
        )
    if isinstance(info.get("cost"), int | float) and type(info["cost"]) is not bool:
        usage["cost"] = info.pop("cost")
    if usage:
        entry["token-usage"] = usage
