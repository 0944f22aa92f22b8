"""The title of a session: the agent's own title, or else the user's first request, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TITLE_MEMBERS = ("title", "name", "summary", "customTitle", "aiTitle", "thread_name", "chatTitle")
"""Native members that name a session, in the session or in an event."""
TITLE_EVENTS = frozenset(("custom-title", "ai-title", "summary", "thread_name_updated"))
INJECTED_TEXT_PREFIXES = ("<", "# AGENTS.md instructions", "Caveat: ")
"""How texts begin that agents insert in the user's name."""
_MAX_TITLE_LENGTH = 200
_MARKUP_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def find_session_title(trace: Mapping[str, Any]) -> str:
    """Return the title of a session, or an empty text."""
    return shorten_title(_find_native_title(trace) or _find_first_request(trace))


def flatten_to_line(text: str) -> str:
    """Return a text as one line that every terminal and file can encode."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def shorten_title(line: str) -> str:
    """Cut a line to the length that a list shows; the record has all of it."""
    return line if len(line) <= _MAX_TITLE_LENGTH else f"{line[: _MAX_TITLE_LENGTH - 1]}…"


def _find_native_title(trace: Mapping[str, Any]) -> str:
    """Return the title that the agent gave the session; the latest event counts."""
    events = [
        entry.get("data") for entry in trace["entries"] if entry.get("event-type") in TITLE_EVENTS
    ]
    for holder in (trace, *reversed(events)):
        for member in TITLE_MEMBERS if isinstance(holder, dict) else ():
            if isinstance(holder.get(member), str) and (title := flatten_to_line(holder[member])):
                return title
    return ""


def _find_first_request(trace: Mapping[str, Any]) -> str:
    """Return the first text that the user typed, on one line."""
    texts = [
        text
        for entry in trace["entries"]
        if entry["type"] == "user" and not entry.get("isMeta")
        for text in _list_message_texts(entry)
    ]
    requests = (
        flatten_to_line(query)
        for query in map(_extract_user_query, texts)
        if not query.lstrip().startswith(INJECTED_TEXT_PREFIXES)
    )
    # Without a text of the user alone, one without the agent's markup is better than nothing.
    unmarked = (flatten_to_line(_MARKUP_TAG.sub(" ", text)) for text in texts)
    return _find_first_nonempty(requests) or _find_first_nonempty(unmarked)


def _find_first_nonempty(lines: Iterator[str]) -> str:
    return next(filter(None, lines), "")


def _list_message_texts(entry: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message."""
    content = entry.get("content")
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
    else:
        texts = [content]
    return [text for text in texts if isinstance(text, str)]


def _extract_user_query(text: str) -> str:
    """Return the part of a text that the agent marks as typed by the user, or all of it."""
    if "<user_query>" not in text:
        return text
    return text.partition("<user_query>")[2].partition("</user_query>")[0]
