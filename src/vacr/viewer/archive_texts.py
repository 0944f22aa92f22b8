"""The texts of conversations for the search in the index of an archive.

The index is a file without a server, so the texts travel in it: compressed, and only what people
look for. That is prompts, answers, the inputs of tools, and the output of failed calls.

    >>> import vacr
    >>> from vacr.viewer import list_search_texts
    >>> [record] = vacr.read("session.jsonl")
    >>> place, label, is_error, text = next(list_search_texts([record]))
    >>> place, label, is_error, text[:17]
    ('0:/session/entries/2', 'User', 0, 'The invoice total')
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence

from vacr.model import JsonObject
from vacr.viewer.content import OtherPart, TextPart, list_input_texts
from vacr.viewer.rows import ASSISTANT_ROW, TOOL_ROW, USER_ROW, Row, build_rows

SearchText = tuple[str, str, int, str]
"""The link to an entry, who speaks or the tool, 1 for a failed call, and the words."""

_MAX_TEXT = 4_000
_MAX_CONVERSATION = 200_000
"""Characters of a conversation; the rest cannot be found in the index, but in its own page."""


def list_search_texts(records: Sequence[JsonObject]) -> Iterator[SearchText]:
    """Yield the texts of a conversation: of the session, then of its sub-agents."""
    left = _MAX_CONVERSATION
    for number, record in enumerate(records):
        for row in build_rows(record):
            text = "\n".join(_list_texts(row))[:_MAX_TEXT].strip()
            if not text or row.is_repeated or row.is_inherited:
                continue
            left -= len(text)
            if left < 0:
                return
            yield f"{number}:{row.place}", _name_row(row), int(row.is_error), text


def _list_texts(row: Row) -> Iterator[str]:
    """Yield the words of a prompt or an answer, or the inputs and the error of a call."""
    parts = row.shown_parts if row.kind in (USER_ROW, ASSISTANT_ROW) else []
    if row.kind == USER_ROW and not row.is_prompt:
        return
    if row.kind == TOOL_ROW:
        for _, text in list_input_texts(row.entry.get("input"), only_words=True):
            yield text
        if row.is_error and row.result is not None:
            parts = row.result.parts
    for part in parts:
        if isinstance(part, TextPart):
            yield part.text
        elif isinstance(part, OtherPart):
            yield str(part.value)


def _name_row(row: Row) -> str:
    """Return the tool of a call, or who speaks."""
    if row.kind == TOOL_ROW:
        return row.tool
    return row.speaker_name if row.kind == USER_ROW else "Answer"


def pack_search_texts(texts: Iterable[Sequence[SearchText]]) -> bytes:
    """Return the texts of all conversations for the index: JSON, as gzip in base64.

    The same texts give the same bytes.
    """
    data = json.dumps([list(own) for own in texts], ensure_ascii=True, separators=(",", ":"))
    return base64.b64encode(gzip.compress(data.encode(), 6, mtime=0))
