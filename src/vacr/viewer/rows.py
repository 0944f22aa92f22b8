"""A record as rows, in the order of the conversation, and the filters that choose among them.

A row is a thing that a person sees as one: a message, a thought, a tool call with its result, an
event. Terminal, page and exports show the same rows, and `show`, `view` and `export` take the same
filters.

    >>> import vacr
    >>> from vacr.viewer import TOOL_ROW, RowFilter, build_rows
    >>> [record] = vacr.read("examples/claude-code.jsonl")
    >>> edits = RowFilter(kinds=frozenset({TOOL_ROW}), text="quantize")
    >>> for row in edits.chosen(build_rows(record)):
    ...     print(row.place, row.tool, row.summary)
    /session/entries/8/children/0 Edit /home/mira/invoice/total.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vacr.model import JsonObject, Timestamp
from vacr.viewer.parts import (
    ContentPart,
    OtherPart,
    TextPart,
    list_content_parts,
    list_output_parts,
)
from vacr.viewer.tool_calls import FileDiff, build_diffs, list_input_texts, summarise_tool_call

USER_ROW = "user"
ASSISTANT_ROW = "assistant"
REASONING_ROW = "reasoning"
TOOL_ROW = "tool"
EVENT_ROW = "event"
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
    """The sub-agent that it belongs to, if the record includes sub-agents."""
    parts: list[ContentPart] = field(default_factory=list)
    tool: str = ""
    summary: str = ""
    """A line about a call or an event."""
    diffs: list[FileDiff] = field(default_factory=list)
    result: Row | None = None
    """The result of a call."""
    is_error: bool = False
    is_inherited: bool = False
    """Whether it comes from the session that this one was forked from."""
    is_injected: bool = False
    """Whether the agent inserted it as a user's message, and marks it so."""
    is_repeated: bool = False
    """Whether it repeats another entry."""
    superseded: str = ""
    """Why the session went on without it, if it did."""


class _PlacedEntry(NamedTuple):
    """An entry, and where it is in the record."""

    place: str
    entry: JsonObject
    depth: int
    parent: JsonObject | None


def build_rows(record: JsonObject) -> Iterator[Row]:
    """Yield the rows of a record."""
    session = record["session"]
    agent = str(session.get("agent-meta", {}).get("cli-name", ""))
    entries = list(_flatten_entries(session.get("entries"), "/session/entries", 0, None))
    results: dict[str, _PlacedEntry] = {}
    calls: set[str] = set()
    for placed in entries:
        kind = placed.entry.get("type")
        if kind == "tool-result" and placed.entry.get("call-id") is not None:
            results.setdefault(str(placed.entry["call-id"]), placed)
        elif kind == "tool-call" and "call-id" in placed.entry:
            calls.add(str(placed.entry["call-id"]))
    for placed in entries:
        entry = placed.entry
        kind = entry.get("type")
        if kind == "tool-result":
            # The first result of a call is part of the call's row.
            call = str(entry.get("call-id"))
            if call not in calls or call not in results or results[call].entry is not entry:
                yield _make_result_row(placed, placed.depth)
        elif kind == "tool-call":
            yield _make_call_row(placed, agent, results.get(str(entry.get("call-id"))))
        elif kind in (USER_ROW, ASSISTANT_ROW, REASONING_ROW):
            row = _make_row(kind, placed, placed.depth)
            row.parts = list_content_parts(entry.get("content"))
            if row.parts or not entry.get("children"):
                yield row
        else:
            row = _make_row(EVENT_ROW, placed, placed.depth)
            row.summary = str(entry.get("event-type", kind))
            row.is_error = "error" in row.summary.lower()
            yield row


def _flatten_entries(
    entries: Any, place: str, depth: int, parent: JsonObject | None
) -> Iterator[_PlacedEntry]:
    """Yield entries, each before its children."""
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield _PlacedEntry(f"{place}/{number}", entry, depth, parent)
            yield from _flatten_entries(
                entry.get("children"), f"{place}/{number}/children", depth + 1, entry
            )


def _make_call_row(placed: _PlacedEntry, agent: str, result: _PlacedEntry | None) -> Row:
    row = _make_row(TOOL_ROW, placed, placed.depth)
    row.tool, arguments = str(placed.entry.get("name", "")), placed.entry.get("input")
    row.summary = summarise_tool_call(row.tool, arguments)
    row.diffs = build_diffs(agent, row.tool, arguments)
    if result is not None:
        row.result = _make_result_row(result, placed.depth)
        row.is_error = row.result.is_error
    return row


def _make_result_row(placed: _PlacedEntry, depth: int) -> Row:
    row = _make_row(TOOL_ROW, placed, depth)
    row.parts = list_output_parts(placed.entry.get("output"))
    status = placed.entry.get("status")
    row.is_error = placed.entry.get("is-error") is True or status in ("error", "failed")
    return row


def _make_row(kind: str, placed: _PlacedEntry, depth: int) -> Row:
    """Begin a row; members that an entry lacks come from its parent."""
    entry, parent = placed.entry, placed.parent or {}
    metadata = entry.get("vacr")
    marks = metadata if isinstance(metadata, dict) else {}
    name = entry.get("id")
    return Row(
        kind,
        placed.place,
        name if isinstance(name, str) and name else placed.place,
        entry,
        depth,
        entry.get("timestamp", parent.get("timestamp")),
        str(entry.get("model-id", parent.get("model-id", ""))),
        _get_sub_agent(entry) or _get_sub_agent(parent),
        is_inherited=bool(marks.get("inherited")),
        is_injected=kind == USER_ROW and entry.get("isMeta") is True,
        is_repeated=bool(marks.get("repeats")),
        superseded=str(marks.get("superseded", "")),
    )


def _get_sub_agent(entry: JsonObject) -> str:
    """Return the name of the sub-agent that made an entry of its parent's session, or nothing."""
    return str(entry.get("agentId") or "sub-agent") if entry.get("isSidechain") is True else ""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows to show; an empty criterion accepts every row."""

    kinds: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    text: str = ""
    errors: bool = False
    names: frozenset[str] = frozenset()
    """Ids or pointers of entries."""
    repeated: bool = False
    """Whether to show rows that repeat other entries."""

    def chosen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows that meet all criteria."""
        matches = make_text_matcher(self.text)
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
            if matches is not None and not any(map(matches, _list_row_texts(row))):
                continue
            yield row


def make_text_matcher(text: str) -> Callable[[str], object] | None:
    """Return a function that finds a text, ignoring case; `None` for an empty text."""
    return re.compile(re.escape(text), re.IGNORECASE).search if text else None


def _list_row_texts(row: Row) -> Iterator[str]:
    """Yield the texts to search in a row.

    The whole input of a call is among them, because the summary may be cut.
    """
    yield row.tool
    yield row.summary
    yield from list_row_bodies(row)
    for diff in row.diffs:
        yield diff.path
        yield from diff.lines


def list_row_bodies(row: Row) -> Iterator[str]:
    """Yield the texts of a message, or of a call's input and result."""
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
