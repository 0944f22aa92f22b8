"""Parts of Google's API, as Gemini CLI and agents that descend from it write them.

A message is a list of parts: text, thoughts, calls, responses. The content stays as it is, and the
calls, responses and thoughts in it become children of the message.

>>> from vacr.agents.gemini_parts import build_api_usage
>>> usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5}
>>> build_api_usage({**usage, "totalTokenCount": 120})
{'input': 100, 'output': 20, 'reasoning': 5, 'total': 120}

Google counts thoughts apart from the candidates; endpoints in OpenAI's form count them within. The
total shows which it was:

>>> build_api_usage({**usage, "totalTokenCount": 125})
{'input': 100, 'output': 25, 'reasoning': 5, 'total': 125}
"""

from __future__ import annotations

from vacr.agents.lift import SessionBuilder, is_count, sum_token_usage
from vacr.model import JsonObject
from vacr.record import build_child_entries

API_USAGE_SUMS = (
    ("input", ("promptTokenCount",)),
    ("output", ("candidatesTokenCount",)),
    ("cached", ("cachedContentTokenCount",)),
    ("reasoning", ("thoughtsTokenCount",)),
    ("total", ("totalTokenCount",)),
)
"""Canonical counter → the one in `usageMetadata`."""


def build_api_usage(usage: JsonObject) -> JsonObject:
    """Return the canonical counters of an answer's `usageMetadata`; empty without counters."""
    counters = sum_token_usage(usage, API_USAGE_SUMS)
    thoughts = usage.get("thoughtsTokenCount")
    if not is_count(thoughts) or not {"input", "output", "total"} <= counters.keys():
        return counters
    if counters["input"] + counters["output"] + thoughts == counters["total"]:
        counters["output"] += thoughts
    return counters


def add_part_children(entry: JsonObject, session: SessionBuilder) -> None:
    """Add the views of the calls, responses and thoughts in a message's parts as its children."""
    content = entry.get("content")
    if type(content) is list and (
        views := build_child_entries(content, session.drift.types, session.drift.members)
    ):
        entry["children"] = views
