"""What a call was given, as texts. Step: show. A summary is one line of it; who looks for a command
wants all of it.

A record as rows, in the order of the conversation. Step: show.

A row is what a person sees as one thing: something said, something thought, a call with its result,
an event. Terminal, page and exports show the same rows.

Which rows are shown. Step: show, view, export: all of them take the same filters.

Text of others, made safe to be shown. Step: show.

What drives a terminal (escape sequences), or turns the order of letters round (bidi controls), is
shown as what it is and does nothing. Line ends and tabs are kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.model import JsonObject, Timestamp
from vacr.viewer.parts import (
    ContentPart,
    FileDiff,
    OtherPart,
    TextPart,
    build_diffs,
    format_json,
    list_content_parts,
    list_output_parts,
    summarise_tool_call,
)


def list_input_texts(given: Any) -> Iterator[tuple[str, str]]:
    """Give the members of an input by their names; one that is no object has a single text without
    a name.
    """
    if not isinstance(given, dict):
        if given is not None:
            yield "", _format_value(given)
        return
    for name, value in given.items():
        yield _format_value(name), _format_value(value)


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else format_json(value)


USER_ROW, ASSISTANT_ROW, REASONING_ROW, TOOL_ROW, EVENT_ROW = (
    "user",
    "assistant",
    "reasoning",
    "tool",
    "event",
)
ROW_KINDS = (USER_ROW, ASSISTANT_ROW, REASONING_ROW, TOOL_ROW, EVENT_ROW)


@dataclass(slots=True)
class Row:
    """One thing in a conversation."""

    kind: str
    place: str
    """The JSON Pointer of its entry."""
    name: str
    """The entry's own id, or else the pointer."""
    entry: JsonObject
    depth: int = 0
    time: Timestamp | None = None
    model: str = ""
    agent: str = ""
    """The sub-agent whose it is, where the record holds those, too."""
    parts: list[ContentPart] = field(default_factory=list)
    tool: str = ""
    summary: str = ""
    """A line about a call or an event."""
    diffs: list[FileDiff] = field(default_factory=list)
    result: Row | None = None
    """What came of a call."""
    is_error: bool = False
    is_inherited: bool = False
    """Whether it was said in the session that this one was forked from."""
    is_injected: bool = False
    """Whether the agent put it into the user's mouth, and says so."""
    is_repeated: bool = False
    """Whether it says once more what another entry does."""
    superseded: str = ""
    """What became of it, where the session went on without it."""


def build_rows(record: JsonObject) -> Iterator[Row]:
    """Give the rows of a record."""
    session = record["session"]
    agent = str(session.get("agent-meta", {}).get("cli-name", ""))
    entries = list(_flatten_entries(session.get("entries"), "/session/entries", 0, None))
    results: dict[str, tuple[str, JsonObject, JsonObject | None]] = {}
    for place, entry, _, parent in entries:
        if entry.get("type") == "tool-result" and (call := entry.get("call-id")) is not None:
            results.setdefault(str(call), (place, entry, parent))
    calls = {
        str(entry["call-id"])
        for _, entry, _, _ in entries
        if entry.get("type") == "tool-call" and "call-id" in entry
    }
    for place, entry, depth, parent in entries:
        kind = entry.get("type")
        if kind == "tool-result":
            call = str(entry.get("call-id"))
            if call not in calls or call not in results or results[call][1] is not entry:
                yield _make_result_row(place, entry, depth, parent)
        elif kind == "tool-call":
            row = _make_row(TOOL_ROW, place, entry, depth, parent)
            row.tool, given = str(entry.get("name", "")), entry.get("input")
            row.summary, row.diffs = (
                summarise_tool_call(row.tool, given),
                build_diffs(agent, row.tool, given),
            )
            if (found := results.get(str(entry.get("call-id")))) is not None:
                row.result = _make_result_row(found[0], found[1], depth, found[2])
                row.is_error = row.result.is_error
            yield row
        elif kind in (USER_ROW, ASSISTANT_ROW, REASONING_ROW):
            row = _make_row(kind, place, entry, depth, parent)
            row.parts = list_content_parts(entry.get("content"))
            if row.parts or not entry.get("children"):
                yield row
        else:
            row = _make_row(EVENT_ROW, place, entry, depth, parent)
            row.summary = str(entry.get("event-type", kind))
            row.is_error = "error" in row.summary.lower()
            yield row


def _flatten_entries(
    entries: Any, place: str, depth: int, parent: JsonObject | None
) -> Iterator[tuple[str, JsonObject, int, JsonObject | None]]:
    """Give entries, each before its children, with the entry that holds it."""
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{place}/{number}", entry, depth, parent
            yield from _flatten_entries(
                entry.get("children"), f"{place}/{number}/children", depth + 1, entry
            )


def _make_row(
    kind: str, place: str, entry: JsonObject, depth: int, parent: JsonObject | None
) -> Row:
    """Begin a row; what an entry does not say, the one that holds it does."""
    above = parent or {}
    said = entry.get("vacr")
    marks = said if isinstance(said, dict) else {}
    name = entry.get("id")
    return Row(
        kind,
        place,
        name if isinstance(name, str) and name else place,
        entry,
        depth,
        entry.get("timestamp", above.get("timestamp")),
        str(entry.get("model-id", above.get("model-id", ""))),
        _name_sub_agent(entry) or _name_sub_agent(above),
        is_inherited=bool(marks.get("inherited")),
        is_injected=kind == USER_ROW and entry.get("isMeta") is True,
        is_repeated=bool(marks.get("repeats")),
        superseded=str(marks.get("superseded", "")),
    )


def _make_result_row(place: str, entry: JsonObject, depth: int, parent: JsonObject | None) -> Row:
    row = _make_row(TOOL_ROW, place, entry, depth, parent)
    row.parts = list_output_parts(entry.get("output"))
    row.is_error = entry.get("is-error") is True or entry.get("status") in ("error", "failed")
    return row


def _name_sub_agent(entry: JsonObject) -> str:
    """Name the sub-agent whose entry it is, where Claude Code keeps those in one file."""
    return str(entry.get("agentId") or "sub-agent") if entry.get("isSidechain") is True else ""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """What is asked for; nothing asked for is everything."""

    kinds: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    text: str = ""
    errors: bool = False
    names: frozenset[str] = frozenset()
    """Entries by their ids or pointers."""
    repeated: bool = False
    """Whether what repeats other entries is shown, too."""

    def chosen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Give the rows that are asked for."""
        found = make_text_matcher(self.text)
        for row in rows:
            if row.is_repeated and not self.repeated and not self.names:
                continue
            if self.kinds and row.kind not in self.kinds:
                continue
            if self.tools and row.tool not in self.tools:
                continue
            if self.errors and not row.is_error:
                continue
            if self.names and not {row.name, row.place} & self.names:
                continue
            if found is not None and not any(map(found, list_row_texts(row))):
                continue
            yield row


def make_text_matcher(text: str) -> Callable[[str], object] | None:
    """Give what looks for a text in another, in any case of letters; nothing where no text is asked
    for.
    """
    return re.compile(re.escape(text), re.IGNORECASE).search if text else None


def list_row_texts(row: Row) -> Iterator[str]:
    """Give the texts in which a row is looked for: all of a call's input, of which its summary may
    be a part.
    """
    yield row.tool
    yield row.summary
    yield from list_row_bodies(row)
    for diff in row.diffs:
        yield diff.path
        yield from diff.lines


def list_row_bodies(row: Row) -> Iterator[str]:
    """Give what was said, or what a call was given and what came of it."""
    if row.kind == TOOL_ROW:
        for _, text in list_input_texts(row.entry.get("input")):
            yield text
    yield from _list_part_texts(row.parts)
    if row.result is not None:
        yield from _list_part_texts(row.result.parts)


def _list_part_texts(parts: Iterable[ContentPart]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, TextPart):
            yield part.text
        elif isinstance(part, OtherPart):
            yield str(part.value)


_ZERO_WIDTH_JOINER = "\u200d"
"""It joins emoji, and nothing else that could deceive."""
_TAB_WIDTH = 4


def make_visible(text: str) -> str:
    """Give a text in which every control character can be seen."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").expandtabs(_TAB_WIDTH).split("\n")
    return "\n".join(
        line if line.isprintable() else "".join(map(_escape_letter, line)) for line in lines
    )


def make_visible_line(text: str) -> str:
    """Give the same in one line."""
    return make_visible(text).replace("\n", "\\n")


def _escape_letter(letter: str) -> str:
    return (
        letter
        if letter.isprintable()
        or letter == _ZERO_WIDTH_JOINER
        or unicodedata.category(letter) == "Zs"
        else ascii(letter)[1:-1]
    )
