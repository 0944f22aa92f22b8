"""What a message of OpenCode's used: tokens and money. Step: read."""

from __future__ import annotations

from vacr.model import Native
from vacr.readers.lift import is_count

USAGE = (("output", "output"), ("reasoning", "reasoning"), ("total", "total"))


def lift_usage(info: Native, entry: Native) -> None:
    """Give the canonical counters of a message; OpenCode counts cached input and reasoning beside input and output."""
    usage: Native = {}
    tokens = info.get("tokens")
    if type(tokens) is dict:
        usage = {name: tokens[native] for name, native in USAGE if is_count(tokens.get(native))}
        cache = tokens["cache"] if type(tokens.get("cache")) is dict else {}
        counted = [tokens.get("input"), cache.get("read"), cache.get("write")]
        if is_count(counted[0]):
            usage["input"] = sum(count for count in counted if is_count(count))
        if is_count(cache.get("read")):
            usage["cached"] = cache["read"]
    if type(info.get("cost")) in (int, float):
        usage["cost"] = info.pop("cost")
    if usage:
        entry["token-usage"] = usage
