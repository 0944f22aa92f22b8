"""What a session is about, in one line: what the agent calls it, or else what it was
first asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

TITLE_MEMBERS = ("title", "name", "summary", "customTitle", "aiTitle", "thread_name", "chatTitle")
"""Native members that name a session, in a session or in an event."""
TITLE_EVENTS = frozenset(("custom-title", "ai-title", "summary", "thread_name_updated"))
INJECTED_TEXT_PREFIXES = ("<", "# AGENTS.md instructions", "Caveat: ")
"""Beginnings of what agents put into a user's mouth."""
_MAX_TITLE_LENGTH = 200
_MARKUP_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def find_session_title(trace: Mapping[str, Any]) -> str:
    """Find the title of a session."""
    events = [
        entry.get("data") for entry in trace["entries"] if entry.get("event-type") in TITLE_EVENTS
    ]
    for holder in (trace, *reversed(events)):
        for member in TITLE_MEMBERS if isinstance(holder, dict) else ():
            if isinstance(holder.get(member), str) and (title := flatten_to_line(holder[member])):
                return shorten_title(title)
    said = [
        text
        for entry in trace["entries"]
        if entry["type"] == "user" and not entry.get("isMeta")
        for text in _list_message_texts(entry)
    ]
    asked = (
        flatten_to_line(text)
        for text in map(_extract_user_query, said)
        if not text.lstrip().startswith(INJECTED_TEXT_PREFIXES)
    )
    # Where the user said nothing alone, what stands between the marks that agents set is better
    # than nothing.
    return shorten_title(
        next(filter(None, asked), "")
        or next(filter(None, (flatten_to_line(_MARKUP_TAG.sub(" ", text)) for text in said)), "")
    )


def _list_message_texts(entry: Mapping[str, Any]) -> list[str]:
    """Give the texts of a message."""
    content = entry.get("content")
    texts = (
        [block.get("text") for block in content if isinstance(block, dict)]
        if isinstance(content, list)
        else [content]
    )
    return [text for text in texts if isinstance(text, str)]


def _extract_user_query(text: str) -> str:
    """Give what the user typed, where it is marked in a text."""
    return (
        text.partition("<user_query>")[2].partition("</user_query>")[0]
        if "<user_query>" in text
        else text
    )


def flatten_to_line(text: str) -> str:
    """Make one line of a text, of which any terminal and any file can take all characters."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def shorten_title(line: str) -> str:
    """Give as much of a line as a list needs; the record has the whole."""
    return line if len(line) <= _MAX_TITLE_LENGTH else f"{line[: _MAX_TITLE_LENGTH - 1]}…"
