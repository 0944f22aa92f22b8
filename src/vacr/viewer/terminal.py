"""Rows as lines for a terminal. Step: show. Each line is a text and how it looks; whoever prints it
knows the colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vacr.timestamps import as_text
from vacr.viewer.diffs import FileDiff
from vacr.viewer.filters import bodies_of, searching
from vacr.viewer.inputs import inputs_of
from vacr.viewer.parts import Image, Part, Text
from vacr.viewer.rows import ASSISTANT, EVENT, REASONING, TOOL, USER, Row
from vacr.viewer.values import told
from vacr.viewer.visible import visible, visible_line

BRIEF, NORMAL, FULL = "brief", "normal", "full"
DETAILS = (BRIEF, NORMAL, FULL)

_HEADS = {USER: "User", ASSISTANT: "Assistant", REASONING: "Thought", EVENT: "·"}
_SHOWN = {BRIEF: 0, NORMAL: 12, FULL: None}
"""How many lines of a diff, an output or a thought are shown."""
_MATCHES = 3
_AROUND = 60
"""How much is shown of where a text was found: how many lines, and how many characters before and
behind.
"""


class Line(NamedTuple):
    """A line, and how it looks: `head`, `text`, `dim`, `error`, `added`, `removed`, or `call`."""

    text: str
    look: str = "text"


@dataclass(frozen=True, slots=True)
class Teller:
    """Shows rows in one detail."""

    detail: str = NORMAL
    events: bool = False
    sought: str = ""
    """A text that rows were chosen by, which is shown where it was found."""
    places: bool = False
    """Whether it is told where in the record each row is."""

    def lines(self, row: Row) -> Iterator[Line]:
        """Give the lines of a row; those that are not shown in this detail give none."""
        if row.kind == EVENT:
            if self.events or (row.is_error and self.detail != BRIEF):
                yield Line(
                    f"· {visible_line(row.summary)}{_when(row)}{self._place(row)}",
                    "error" if row.is_error else "dim",
                )
                if self.detail == FULL:
                    yield from self._json(row.entry.get("data"), "  ")
        elif row.kind == TOOL:
            yield from self._tool(row)
        elif row.kind == REASONING:
            # Of a thought that its maker sealed there is nothing to read.
            if self.detail == FULL or (row.parts and self.detail != BRIEF):
                yield from self._said(row, "dim")
        elif row.parts:
            yield from self._said(row, "text")

    def _said(self, row: Row, look: str) -> Iterator[Line]:
        model = f" ({visible_line(row.model)})" if row.model and row.kind != USER else ""
        agent = f" [{visible_line(row.agent)}]" if row.agent else ""
        gone = f" ({visible_line(row.superseded)})" if row.superseded else ""
        injected = " (from the agent)" if row.is_injected else ""
        yield Line("")
        head = f"{_HEADS[row.kind]}{agent}{model}{injected}{gone}{_when(row)}{self._place(row)}"
        yield Line(head, "head" if row.kind != REASONING else "dim")
        lines = [line for part in row.parts for line in self._part(part)]
        yield from (
            self._some(lines, "  ", look)
            if row.kind == REASONING
            else (Line(f"  {line}", look) for line in lines)
        )

    def _tool(self, row: Row) -> Iterator[Line]:
        failed = " ✗" if row.is_error else ""
        agent = f"[{visible_line(row.agent)}] " if row.agent else ""
        what = (
            f"{visible_line(row.tool)} {visible_line(row.summary)}".strip()
            if row.tool
            else "a result without its call"
        )
        counts = "".join(f" (+{diff.added} -{diff.removed})" for diff in row.diffs[:1])
        pending = "" if row.result is not None or not row.tool else " …"
        yield Line(
            f"  → {agent}{what}{counts}{failed}{pending}", "error" if row.is_error else "call"
        )
        if self.places:
            yield Line(f"      {f'{_when(row)}{self._place(row)}'.strip()}", "dim")
        if self.detail == BRIEF:
            return
        yield from self._given(row) if self.detail == FULL else self._found(row)
        for diff in row.diffs:
            yield from self._diff(diff, named=len(row.diffs) > 1)
        printed = row.result.parts if row.result is not None else row.parts
        if self.detail == FULL or row.is_error:
            yield from self._some(
                [line for part in printed for line in self._part(part)], "      ", "dim"
            )

    def _given(self, row: Row) -> Iterator[Line]:
        """Give what a call was given, but for what its line or its diffs say."""
        for name, text in () if row.diffs else inputs_of(row.entry.get("input")):
            if text != row.summary:
                for number, line in enumerate(visible(text).strip("\n").split("\n")):
                    yield Line(
                        f"      {f'{visible_line(name)}: ' if name and not number else ''}{line}",
                        "dim",
                    )

    def _found(self, row: Row) -> Iterator[Line]:
        """Give the lines in which the text was found, where the line of the call does not
        say it.
        """
        found = searching(self.sought)
        if found is None or found(f"{row.tool} {row.summary}"):
            return
        lines = dict.fromkeys(
            line for text in bodies_of(row) for line in text.splitlines() if found(line)
        )
        for line in list(lines)[:_MATCHES]:
            yield Line(f"      {visible_line(_around(line, self.sought))}", "dim")
        yield from _left_out(len(lines), _MATCHES, "      ")

    def _place(self, row: Row) -> str:
        return f"  {visible_line(row.place)}" if self.places else ""

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
            return [
                (
                    "[image "
                    f"{visible_line(part.name or part.media_type or 'of no type')}{_bytes(part)}]"
                )
            ]
        return [f"[{visible_line(part.kind)}] {visible_line(told(part.value))}"]

    def _json(self, value: object, indent: str) -> Iterator[Line]:
        if value not in (None, {}):
            yield Line(f"{indent}{visible_line(told(value))}", "dim")


def _around(line: str, sought: str) -> str:
    """Give what is before and behind a text in a line."""
    at = max(0, line.lower().find(sought.lower()))
    start, end = max(0, at - _AROUND), at + len(sought) + _AROUND
    return f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}"


def _bytes(image: Image) -> str:
    return f", {len(image.data) * 3 // 4} bytes" if image.data else ""


def _left_out(count: int, most: int | None, indent: str) -> Iterator[Line]:
    if most and count > most:
        yield Line(f"{indent}… {count - most} more lines", "dim")


def _when(row: Row) -> str:
    said = as_text(row.time) if row.time is not None else None
    return f"  {said[:19].replace('T', ' ')}" if said else ""
