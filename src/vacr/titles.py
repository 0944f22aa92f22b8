"""What a session is about, in one line: what the agent calls it, or else what it was
first asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MEMBERS = ("title", "name", "summary", "customTitle", "aiTitle", "thread_name", "chatTitle")
"""Native members that name a session, in a session or in an event."""
EVENTS = frozenset(("custom-title", "ai-title", "summary", "thread_name_updated"))
NOT_ASKED = ("<", "# AGENTS.md instructions", "Caveat: ")
"""Beginnings of what agents put into a user's mouth."""
_LONGEST = 200
_MARK = re.compile(r"</?[A-Za-z][^<>]*>")


def title_of(trace: Mapping[str, Any]) -> str:
    """Find the title of a session."""
    events = [entry.get("data") for entry in trace["entries"] if entry.get("event-type") in EVENTS]
    for holder in (trace, *reversed(events)):
        for member in MEMBERS if isinstance(holder, dict) else ():
            if isinstance(holder.get(member), str) and (title := line_of(holder[member])):
                return short(title)
    said = [
        text
        for entry in trace["entries"]
        if entry["type"] == "user" and not entry.get("isMeta")
        for text in _texts(entry)
    ]
    asked = (line_of(text) for text in map(_query, said) if not text.lstrip().startswith(NOT_ASKED))
    # Where the user said nothing alone, what stands between the marks that agents set is better
    # than nothing.
    return short(
        next(filter(None, asked), "")
        or next(filter(None, (line_of(_MARK.sub(" ", text)) for text in said)), "")
    )


def _texts(entry: Mapping[str, Any]) -> list[str]:
    """Give the texts of a message."""
    content = entry.get("content")
    texts = (
        [block.get("text") for block in content if isinstance(block, dict)]
        if isinstance(content, list)
        else [content]
    )
    return [text for text in texts if isinstance(text, str)]


def _query(text: str) -> str:
    """Give what the user typed, where it is marked in a text."""
    return (
        text.partition("<user_query>")[2].partition("</user_query>")[0]
        if "<user_query>" in text
        else text
    )


def line_of(text: str) -> str:
    """Make one line of a text, of which any terminal and any file can take all characters."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def short(line: str) -> str:
    """Give as much of a line as a list needs; the record has the whole."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
