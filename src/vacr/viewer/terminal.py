"""Rows as lines for a terminal. Step: show. Each line is a text and how it looks; whoever prints it knows the colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vacr.timestamps import as_text
from vacr.viewer.diffs import FileDiff
from vacr.viewer.parts import Image, Part, Text
from vacr.viewer.rows import ASSISTANT, EVENT, REASONING, TOOL, USER, Row
from vacr.viewer.values import told
from vacr.viewer.visible import visible, visible_line

BRIEF, NORMAL, FULL = "brief", "normal", "full"
DETAILS = (BRIEF, NORMAL, FULL)

_HEADS = {USER: "User", ASSISTANT: "Assistant", REASONING: "Thought", EVENT: "·"}
_SHOWN = {BRIEF: 0, NORMAL: 12, FULL: None}
"""How many lines of a diff, an output or a thought are shown."""


class Line(NamedTuple):
    """A line, and how it looks: `head`, `text`, `dim`, `error`, `added`, `removed`, or `call`."""

    text: str
    look: str = "text"


@dataclass(frozen=True, slots=True)
class Teller:
    """Shows rows in one detail."""

    detail: str = NORMAL
    events: bool = False

    def lines(self, row: Row) -> Iterator[Line]:
        """Give the lines of a row; those that are not shown in this detail give none."""
        if row.kind == EVENT:
            if self.events or (row.is_error and self.detail != BRIEF):
                yield Line(f"· {visible_line(row.summary)}{_when(row)}", "error" if row.is_error else "dim")
                if self.detail == FULL:
                    yield from self._json(row.entry.get("data"), "  ")
        elif row.kind == TOOL:
            yield from self._tool(row)
        elif row.kind == REASONING:
            if self.detail != BRIEF:
                yield from self._said(row, "dim")
        elif row.parts:
            yield from self._said(row, "text")

    def _said(self, row: Row, look: str) -> Iterator[Line]:
        model = f" ({visible_line(row.model)})" if row.model and row.kind != USER else ""
        agent = f" [{visible_line(row.agent)}]" if row.agent else ""
        gone = f" ({visible_line(row.superseded)})" if row.superseded else ""
        yield Line("")
        yield Line(f"{_HEADS[row.kind]}{agent}{model}{gone}{_when(row)}", "head" if row.kind != REASONING else "dim")
        lines = [line for part in row.parts for line in self._part(part)]
        yield from self._some(lines, "  ", look) if row.kind == REASONING else (Line(f"  {line}", look) for line in lines)

    def _tool(self, row: Row) -> Iterator[Line]:
        failed = " ✗" if row.is_error else ""
        agent = f"[{visible_line(row.agent)}] " if row.agent else ""
        what = f"{visible_line(row.tool)} {visible_line(row.summary)}".strip() if row.tool else "a result without its call"
        counts = "".join(f" (+{diff.added} -{diff.removed})" for diff in row.diffs[:1])
        pending = "" if row.result is not None or not row.tool else " …"
        yield Line(f"  → {agent}{what}{counts}{failed}{pending}", "error" if row.is_error else "call")
        if self.detail == BRIEF:
            return
        for diff in row.diffs:
            yield from self._diff(diff, named=len(row.diffs) > 1)
        printed = row.result.parts if row.result is not None else row.parts
        if self.detail == FULL or row.is_error:
            yield from self._some([line for part in printed for line in self._part(part)], "      ", "dim")

    def _diff(self, diff: FileDiff, *, named: bool) -> Iterator[Line]:
        if named:
            yield Line(f"      {visible_line(diff.path)} (+{diff.added} -{diff.removed})", "dim")
        looks = {"+": "added", "-": "removed", "@": "dim"}
        most = _SHOWN[self.detail]
        lines = diff.lines[1:] if diff.lines[:1] == ["@@"] else diff.lines
        for line in lines[:most]:
            yield Line(f"      {visible_line(line)}", looks.get(line[:1], "dim"))
        yield from _left_out(len(lines), most, "      ")

    def _some(self, lines: list[str], indent: str, look: str) -> Iterator[Line]:
        most = _SHOWN[self.detail]
        for line in lines[:most]:
            yield Line(f"{indent}{line}", look)
        yield from _left_out(len(lines), most, indent)

    def _part(self, part: Part) -> list[str]:
        if isinstance(part, Text):
            return visible(part.text).strip("\n").split("\n")
        if isinstance(part, Image):
            return [f"[image {visible_line(part.name or part.media_type or 'of no type')}{_bytes(part)}]"]
        return [f"[{visible_line(part.kind)}] {visible_line(told(part.value))}"]

    def _json(self, value: object, indent: str) -> Iterator[Line]:
        if value not in (None, {}):
            yield Line(f"{indent}{visible_line(told(value))}", "dim")


def _bytes(image: Image) -> str:
    return f", {len(image.data) * 3 // 4} bytes" if image.data else ""


def _left_out(count: int, most: int | None, indent: str) -> Iterator[Line]:
    if most and count > most:
        yield Line(f"{indent}… {count - most} more lines", "dim")


def _when(row: Row) -> str:
    said = as_text(row.time) if row.time is not None else None
    return f"  {said[:19].replace('T', ' ')}" if said else ""
