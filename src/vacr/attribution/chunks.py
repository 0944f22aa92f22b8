"""Consecutive lines of a file, each with a mark of where it comes from. Step: attribute.

A mark is the place of the line in the base, a number that grows from line to line, or the negative number of a maker.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import lines_of

Ranges = list[tuple[int, int]]


@dataclass(slots=True)
class Chunk:
    """Lines from the line numbered `first` on; `fresh` while nothing has made them or their place uncertain.

    `base_first` and `base_next` are the numbers that the first line, and the line after the last one, have or would have in the base.
    """

    first: int
    lines: list[str]
    marks: list[int]
    base_first: int
    base_next: int
    fresh: bool = True
    _text: str | None = None

    @property
    def next(self) -> int:
        """The number of the line after the last one."""
        return self.first + len(self.lines)

    @property
    def text(self) -> str:
        """The lines as one text."""
        if self._text is None:
            self._text = "".join(self.lines)
        return self._text

    def rewrite(self, start: int, stop: int, new: str, maker: int) -> Ranges:
        """Replace the text between two offsets. Gives the numbers of the lines that this makes."""
        text = self.text
        at = text.count("\n", 0, start)
        count = text.count("\n", start, stop) + 1
        opening = text.rfind("\n", 0, start) + 1
        closing = text.find("\n", stop) + 1 or len(text)
        lines = lines_of(text[opening:start] + new + text[stop:closing])
        ranges = self.splice(at, at + count, lines, maker)
        self._text = text[:start] + new + text[stop:]
        return ranges

    def splice(self, at: int, stop: int, new: Sequence[str], maker: int) -> Ranges:
        """Replace lines: those that differ are the maker's, the others keep their marks. Gives the numbers of the maker's lines."""
        rest = self.lines[stop:]
        marks, after = self.marks[at:], [*new, *rest]
        found = origins(self.lines[at:], after, len(rest))
        same = len(after) - len(found)
        self.lines[at:] = after
        self.marks[at:] = [maker if i == NEW else marks[i] for i in found] + marks[len(marks) - same :]
        self._text = None
        return ranges_of([self.first + at + i for i, origin in enumerate(found) if origin == NEW])

    def apply(self, first: int, signed: Sequence[str], maker: int) -> Ranges:
        """Apply the lines of a hunk, with their signs, at a line's number. Gives the numbers of the lines it adds."""
        start = at = first - self.first
        lines: list[str] = []
        marks: list[int] = []
        for line in signed:
            if line[:1] == "+":
                lines.append(line[1:])
                marks.append(maker)
                continue
            if line[:1] != "-":
                lines.append(self.lines[at])
                marks.append(self.marks[at])
            at += 1
        self.lines[start:at] = lines
        self.marks[start:at] = marks
        self._text = None
        return ranges_of([first + i for i, mark in enumerate(marks) if mark == maker])


def ranges_of(numbers: Sequence[int]) -> Ranges:
    """Gather ascending numbers into ranges."""
    ranges: Ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
