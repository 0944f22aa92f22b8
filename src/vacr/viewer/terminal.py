"""Rows as lines for a terminal. Step: show. Each line is a text and how it looks; whoever prints it
knows the colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vacr.record import format_timestamp
from vacr.viewer.parts import ContentPart, FileDiff, ImagePart, TextPart, format_json
from vacr.viewer.rows import (
    ASSISTANT_ROW,
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    Row,
    list_input_texts,
    list_row_bodies,
    make_text_matcher,
    make_visible,
    make_visible_line,
)

BRIEF_DETAIL, NORMAL_DETAIL, FULL_DETAIL = "brief", "normal", "full"
DETAIL_LEVELS = (BRIEF_DETAIL, NORMAL_DETAIL, FULL_DETAIL)

_ROW_HEADINGS = {
    USER_ROW: "User",
    ASSISTANT_ROW: "Assistant",
    REASONING_ROW: "Thought",
    EVENT_ROW: "·",
}
_MAX_SHOWN_LINES = {BRIEF_DETAIL: 0, NORMAL_DETAIL: 12, FULL_DETAIL: None}
"""How many lines of a diff, an output or a thought are shown."""
_MAX_MATCH_LINES = 3
_MATCH_CONTEXT_LENGTH = 60
"""How much is shown of where a text was found: how many lines, and how many characters before and
behind.
"""


class TerminalLine(NamedTuple):
    """A line, and how it looks: `head`, `text`, `dim`, `error`, `added`, `removed`, or `call`."""

    text: str
    look: str = "text"


@dataclass(frozen=True, slots=True)
class RowFormatter:
    """Shows rows in one detail."""

    detail: str = NORMAL_DETAIL
    events: bool = False
    sought: str = ""
    """A text that rows were chosen by, which is shown where it was found."""
    places: bool = False
    """Whether it is told where in the record each row is."""

    def lines(self, row: Row) -> Iterator[TerminalLine]:
        """Give the lines of a row; those that are not shown in this detail give none."""
        if row.kind == EVENT_ROW:
            if self.events or (row.is_error and self.detail != BRIEF_DETAIL):
                yield TerminalLine(
                    f"· {make_visible_line(row.summary)}{_format_row_time(row)}{self._place(row)}",
                    "error" if row.is_error else "dim",
                )
                if self.detail == FULL_DETAIL:
                    yield from self._json(row.entry.get("data"), "  ")
        elif row.kind == TOOL_ROW:
            yield from self._tool(row)
        elif row.kind == REASONING_ROW:
            # Of a thought that its maker sealed there is nothing to read.
            if self.detail == FULL_DETAIL or (row.parts and self.detail != BRIEF_DETAIL):
                yield from self._said(row, "dim")
        elif row.parts:
            yield from self._said(row, "text")

    def _said(self, row: Row, look: str) -> Iterator[TerminalLine]:
        model = f" ({make_visible_line(row.model)})" if row.model and row.kind != USER_ROW else ""
        agent = f" [{make_visible_line(row.agent)}]" if row.agent else ""
        gone = f" ({make_visible_line(row.superseded)})" if row.superseded else ""
        injected = " (from the agent)" if row.is_injected else ""
        yield TerminalLine("")
        head = f"{_ROW_HEADINGS[row.kind]}{agent}{model}{injected}{gone}{_format_row_time(row)}{self._place(row)}"
        yield TerminalLine(head, "head" if row.kind != REASONING_ROW else "dim")
        lines = [line for part in row.parts for line in self._part(part)]
        yield from (
            self._some(lines, "  ", look)
            if row.kind == REASONING_ROW
            else (TerminalLine(f"  {line}", look) for line in lines)
        )

    def _tool(self, row: Row) -> Iterator[TerminalLine]:
        failed = " ✗" if row.is_error else ""
        agent = f"[{make_visible_line(row.agent)}] " if row.agent else ""
        what = (
            f"{make_visible_line(row.tool)} {make_visible_line(row.summary)}".strip()
            if row.tool
            else "a result without its call"
        )
        counts = "".join(f" (+{diff.added} -{diff.removed})" for diff in row.diffs[:1])
        pending = "" if row.result is not None or not row.tool else " …"
        yield TerminalLine(
            f"  → {agent}{what}{counts}{failed}{pending}", "error" if row.is_error else "call"
        )
        if self.places:
            yield TerminalLine(
                f"      {f'{_format_row_time(row)}{self._place(row)}'.strip()}", "dim"
            )
        if self.detail == BRIEF_DETAIL:
            return
        yield from self._given(row) if self.detail == FULL_DETAIL else self._found(row)
        for diff in row.diffs:
            yield from self._diff(diff, named=len(row.diffs) > 1)
        printed = row.result.parts if row.result is not None else row.parts
        if self.detail == FULL_DETAIL or row.is_error:
            yield from self._some(
                [line for part in printed for line in self._part(part)], "      ", "dim"
            )

    def _given(self, row: Row) -> Iterator[TerminalLine]:
        """Give what a call was given, but for what its line or its diffs say."""
        for name, text in () if row.diffs else list_input_texts(row.entry.get("input")):
            if text != row.summary:
                for number, line in enumerate(make_visible(text).strip("\n").split("\n")):
                    yield TerminalLine(
                        f"      {f'{make_visible_line(name)}: ' if name and not number else ''}{line}",
                        "dim",
                    )

    def _found(self, row: Row) -> Iterator[TerminalLine]:
        """Give the lines in which the text was found, where the line of the call does not
        say it.
        """
        found = make_text_matcher(self.sought)
        if found is None or found(f"{row.tool} {row.summary}"):
            return
        lines = dict.fromkeys(
            line for text in list_row_bodies(row) for line in text.splitlines() if found(line)
        )
        for line in list(lines)[:_MAX_MATCH_LINES]:
            yield TerminalLine(
                f"      {make_visible_line(_cut_around_match(line, self.sought))}", "dim"
            )
        yield from _format_hidden_lines(len(lines), _MAX_MATCH_LINES, "      ")

    def _place(self, row: Row) -> str:
        return f"  {make_visible_line(row.place)}" if self.places else ""

    def _diff(self, diff: FileDiff, *, named: bool) -> Iterator[TerminalLine]:
        if named:
            yield TerminalLine(
                f"      {make_visible_line(diff.path)} (+{diff.added} -{diff.removed})", "dim"
            )
        looks = {"+": "added", "-": "removed", "@": "dim"}
        most = _MAX_SHOWN_LINES[self.detail]
        lines = diff.lines[1:] if diff.lines[:1] == ["@@"] else diff.lines
        for line in lines[:most]:
            yield TerminalLine(f"      {make_visible_line(line)}", looks.get(line[:1], "dim"))
        yield from _format_hidden_lines(len(lines), most, "      ")

    def _some(self, lines: list[str], indent: str, look: str) -> Iterator[TerminalLine]:
        most = _MAX_SHOWN_LINES[self.detail]
        for line in lines[:most]:
            yield TerminalLine(f"{indent}{line}", look)
        yield from _format_hidden_lines(len(lines), most, indent)

    def _part(self, part: ContentPart) -> list[str]:
        if isinstance(part, TextPart):
            return make_visible(part.text).strip("\n").split("\n")
        if isinstance(part, ImagePart):
            return [
                (
                    "[image "
                    f"{make_visible_line(part.name or part.media_type or 'of no type')}{_format_image_size(part)}]"
                )
            ]
        return [f"[{make_visible_line(part.kind)}] {make_visible_line(format_json(part.value))}"]

    def _json(self, value: object, indent: str) -> Iterator[TerminalLine]:
        if value not in (None, {}):
            yield TerminalLine(f"{indent}{make_visible_line(format_json(value))}", "dim")


def _cut_around_match(line: str, sought: str) -> str:
    """Give what is before and behind a text in a line."""
    at = max(0, line.lower().find(sought.lower()))
    start, end = max(0, at - _MATCH_CONTEXT_LENGTH), at + len(sought) + _MATCH_CONTEXT_LENGTH
    return f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}"


def _format_image_size(image: ImagePart) -> str:
    return f", {len(image.data) * 3 // 4} bytes" if image.data else ""


def _format_hidden_lines(count: int, most: int | None, indent: str) -> Iterator[TerminalLine]:
    if most and count > most:
        yield TerminalLine(f"{indent}… {count - most} more lines", "dim")


def _format_row_time(row: Row) -> str:
    said = format_timestamp(row.time) if row.time is not None else None
    return f"  {said[:19].replace('T', ' ')}" if said else ""
