r"""Who wrote a user message of Cursor.

Cursor sends a prompt to the model as `<user_query>`, after elements of its own: attached files,
open files, reminders, search results. Transcripts and the command line's database keep all of it.

    >>> from vacr.agents.cursor.speakers import classify_speaker
    >>> record = {"session": {"entries": []}}
    >>> def say(text):
    ...     return classify_speaker({"type": "user", "content": text}, record)
    >>> say("<attached_files>\na.py\n</attached_files>\n<user_query>\nFix it.\n</user_query>")
    Speaker(who='human', basis='stated', prompt='Fix it.')
    >>> say("<user_info>\nOS: linux\n</user_info>")
    Speaker(who='host', basis='inferred', prompt=None)

Elements count only at the beginning of a text, and the query ends at its last end tag. Without a
query, an element has lines of its own. So a person may quote both:

    >>> say("What is <user_query>?")
    Speaker(who='human', basis='inferred', prompt=None)
    >>> say("<user_query>\nWhy does </user_query> end it?\n</user_query>").prompt
    'Why does </user_query> end it?'
    >>> say("<rules>Be nice</rules> is not enough.")
    Speaker(who='human', basis='inferred', prompt=None)

The editor's database has the words without elements, in bubbles of the type 1. In the conversation
of a sub-agent they are the parent agent's.
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.labels import (
    HOOK,
    HOST,
    HUMAN,
    INFERRED,
    STATED,
    STATED_HOST,
    STATED_PARENT_AGENT,
    Speaker,
    infer_speaker,
)
from vacr.agents.lift import parse_names

_HOST_ELEMENTS = parse_names(
    """
    additional_data agent_skills agent_transcripts attached_files available_subagent_models
    available_subagent_types communication cursor_commands cursor_rules custom_instructions
    dynamic_tools external_links git_status image_files linter_errors manually_attached_skills
    mcp_file_system mcp_meta_tool_servers mcp_meta_tools mcp_instructions
    open_and_recently_viewed_files open_files plugin_info project_context project_layout
    recently_viewed_files rules system-reminder system_notification system_reminder terminal_files
    terminal_files_information terminal_state timestamp user_info user_rules
    """
)
"""Names of the elements that Cursor writes around a query."""
_HOOK_ELEMENT = "hooks_context"
_TIMESTAMP = "timestamp"
"""The element that Cursor writes on one line, and only before others."""
_HOST_FLAGS = ("isSummary", "loopReminder")
"""Cursor's notes about a message that it wrote itself."""
_OPENING_TAG = re.compile(r"\s*<([a-z][a-z_-]*)(?: [^<>\n]*)?>")
_QUERY, _QUERY_START, _QUERY_END = "user_query", "<user_query>", "</user_query>"
_NEXT_QUERY = re.compile(r"\n</user_query>\s*<user_query>\n")


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    if _is_flagged(entry):
        return STATED_HOST
    content = entry.get("content")
    blocks = content if type(content) is list else [content]
    texts = [block.get("text") if type(block) is dict else block for block in blocks]
    words: list[str] = []
    authors: set[str] = set()
    is_stated = False
    for text in texts:
        if type(text) is not str:
            continue
        own, is_query = _take_own_text(text, authors)
        is_stated = is_stated or is_query
        if own.strip():
            words.append(own)
    if authors and not words:
        return Speaker(HOOK if authors == {HOOK} else HOST, INFERRED)
    if "parent" in record.get("vacr", ()):
        return STATED_PARENT_AGENT
    speaker = infer_speaker(record)
    if not authors and not is_stated:
        return speaker
    basis = STATED if is_stated and speaker.who == HUMAN else speaker.basis
    return Speaker(speaker.who, basis, "\n".join(words))


def _is_flagged(entry: dict[str, Any]) -> bool:
    """Return whether Cursor notes that it wrote a message itself."""
    options = entry.get("providerOptions")
    notes = options.get("cursor") if type(options) is dict else None
    return type(notes) is dict and any(notes.get(flag) for flag in _HOST_FLAGS)


def _take_own_text(text: str, authors: set[str]) -> tuple[str, bool]:
    """Return the text of the author without Cursor's elements, and whether it is a query.

    The authors of the elements are added to `authors`.
    """
    if not text.lstrip().startswith("<"):
        return text, False
    names, place, is_block_form = _skip_elements(text, 0)
    found = {HOOK if name == _HOOK_ELEMENT else HOST for name in names}
    opening = _OPENING_TAG.match(text, place)
    if opening and opening[1] == _QUERY:
        authors |= found
        return _take_query(text, opening.end(), authors), True
    rest = text[place:]
    if place and f"\n{_QUERY_START}\n" in rest and rest.rstrip().endswith(_QUERY_END):
        # An attached file had the end tag of its element in it.
        authors |= found
        query = rest[rest.index(f"\n{_QUERY_START}\n") + 1 + len(_QUERY_START) :]
        return query[: query.rindex(_QUERY_END)].strip(), True
    if not is_block_form or set(names) <= {_TIMESTAMP}:
        return text, False
    authors |= found
    return rest.strip(), False


def _skip_elements(text: str, place: int) -> tuple[list[str], int, bool]:
    """Skip Cursor's elements from a place on.

    Return their names, where they end, and whether each has lines of its own.
    """
    names: list[str] = []
    is_block_form = True
    while opening := _OPENING_TAG.match(text, place):
        name = opening[1]
        end_tag = f"</{name}>"
        end = text.find(end_tag, opening.end())
        if (name != _HOOK_ELEMENT and name not in _HOST_ELEMENTS) or end < 0:
            break
        names.append(name)
        place = end + len(end_tag)
        has_lines = name == _TIMESTAMP or text.startswith("\n", opening.end())
        is_block_form = is_block_form and has_lines and text[place : place + 1] in ("", "\n")
    return names, place, is_block_form


def _take_query(text: str, start: int, authors: set[str]) -> str:
    """Return the query that starts at a place, and the words after it on a new line.

    The authors of elements between them are added to `authors`.
    """
    end = text.rfind(_QUERY_END)
    if end < start:
        return text[start:].strip()
    query = _NEXT_QUERY.sub("\n", text[start:end].strip())
    place = end + len(_QUERY_END)
    if place == len(text):
        return query
    names, place, _ = _skip_elements(text, place)
    authors |= {HOOK if name == _HOOK_ELEMENT else HOST for name in names}
    words = text[place:].strip()
    return f"{query}\n{words}" if words else query
