"""A record as rows, in the order of the conversation. Step: show.

A row is what a person sees as one thing: something said, something thought, a call with its result,
an event. Terminal, page and exports show the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.model import Native, Timestamp
from vacr.viewer.diffs import FileDiff, diffs_of
from vacr.viewer.parts import Part, outputs_of, parts_of
from vacr.viewer.summaries import summary_of

USER, ASSISTANT, REASONING, TOOL, EVENT = "user", "assistant", "reasoning", "tool", "event"
KINDS = (USER, ASSISTANT, REASONING, TOOL, EVENT)


@dataclass(slots=True)
class Row:
    """One thing in a conversation."""

    kind: str
    place: str
    """The JSON Pointer of its entry."""
    name: str
    """The entry's own id, or else the pointer."""
    entry: Native
    depth: int = 0
    time: Timestamp | None = None
    model: str = ""
    agent: str = ""
    """The sub-agent whose it is, where the record holds those, too."""
    parts: list[Part] = field(default_factory=list)
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


def rows(record: Native) -> Iterator[Row]:
    """Give the rows of a record."""
    session = record["session"]
    agent = str(session.get("agent-meta", {}).get("cli-name", ""))
    entries = list(_flat(session.get("entries"), "/session/entries", 0, None))
    results: dict[str, tuple[str, Native, Native | None]] = {}
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
                yield _result(place, entry, depth, parent)
        elif kind == "tool-call":
            row = _row(TOOL, place, entry, depth, parent)
            row.tool, given = str(entry.get("name", "")), entry.get("input")
            row.summary, row.diffs = summary_of(row.tool, given), diffs_of(agent, row.tool, given)
            if (found := results.get(str(entry.get("call-id")))) is not None:
                row.result = _result(found[0], found[1], depth, found[2])
                row.is_error = row.result.is_error
            yield row
        elif kind in (USER, ASSISTANT, REASONING):
            row = _row(kind, place, entry, depth, parent)
            row.parts = parts_of(entry.get("content"))
            if row.parts or not entry.get("children"):
                yield row
        else:
            row = _row(EVENT, place, entry, depth, parent)
            row.summary = str(entry.get("event-type", kind))
            row.is_error = "error" in row.summary.lower()
            yield row


def _flat(
    entries: Any, place: str, depth: int, parent: Native | None
) -> Iterator[tuple[str, Native, int, Native | None]]:
    """Give entries, each before its children, with the entry that holds it."""
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{place}/{number}", entry, depth, parent
            yield from _flat(entry.get("children"), f"{place}/{number}/children", depth + 1, entry)


def _row(kind: str, place: str, entry: Native, depth: int, parent: Native | None) -> Row:
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
        _agent(entry) or _agent(above),
        is_inherited=bool(marks.get("inherited")),
        is_injected=kind == USER and entry.get("isMeta") is True,
        is_repeated=bool(marks.get("repeats")),
        superseded=str(marks.get("superseded", "")),
    )


def _result(place: str, entry: Native, depth: int, parent: Native | None) -> Row:
    row = _row(TOOL, place, entry, depth, parent)
    row.parts = outputs_of(entry.get("output"))
    row.is_error = entry.get("is-error") is True or entry.get("status") in ("error", "failed")
    return row


def _agent(entry: Native) -> str:
    """Name the sub-agent whose entry it is, where Claude Code keeps those in one file."""
    return str(entry.get("agentId") or "sub-agent") if entry.get("isSidechain") is True else ""
