"""Consecutive lines of a file, each with its maker and its place among all lines that the file ever
had. Step: attribute.

A maker is the negative number of an agent's call, or 0 for a line that no agent made. Places grow
from line to line; a line that is put between two others gets a place between theirs, so that what
was taken away keeps its place among what came later.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vacr.attribution.diff import NEW, near_origins, origins
from vacr.attribution.paged import PagedText
from vacr.attribution.text import bare, lines_of, unmarked

Ranges = list[tuple[int, int]]

# The room between two lines that were there from the beginning: as often as it can be halved,
# something can be put between them.
STEP = 1 << 128
# How far a change is compared with what follows it, before all that follows is taken.
_AHEAD = 32


@dataclass(slots=True)
class Chunk:
    """Lines from the line numbered `first` on; `fresh` while nothing has made them or their number
    uncertain.

    `place_next` is the place that the line after the last one has or would have.
    """

    first: int
    lines: list[str]
    makers: list[int]
    places: list[int]
    place_next: int
    fresh: bool = True
    _text: PagedText | None = None

    @property
    def next(self) -> int:
        """The number of the line after the last one."""
        return self.first + len(self.lines)

    @property
    def text(self) -> str:
        """The lines as one text."""
        return self._paged.text

    @property
    def _paged(self) -> PagedText:
        if self._text is None:
            self._text = PagedText("".join(self.lines))
        return self._text

    def agrees(self, first: int, seen: Sequence[str]) -> bool:
        """Tell whether lines from a number on are as they are here, but for how they end."""
        for number in range(max(self.first, first), min(self.next, first + len(seen))):
            known, line = self.lines[number - self.first], seen[number - first]
            if known != line and bare(known) != bare(line):
                return False
        return True

    def rewrite(self, start: int, stop: int, new: str, maker: int) -> Ranges:
        """Replace the text between two offsets. Gives the numbers of the lines that this makes."""
        paged = self._paged
        at, before, after = paged.replace(start, stop, new)
        ranges = self.splice(at, at + len(lines_of(before)), lines_of(after), maker)
        self._text = paged
        return ranges

    def splice(self, at: int, stop: int, new: Sequence[str], maker: int) -> Ranges:
        """Replace lines: those that differ are the maker's, the others stay as they are. Gives the
        numbers of the maker's.
        """
        rest = self.lines[stop : stop + _AHEAD]
        after = [*new, *rest]
        near = len(rest) == _AHEAD
        found = (
            near_origins(unmarked(self.lines[at : stop + _AHEAD]), unmarked(after), len(rest))
            if near
            else None
        )
        if found is None:
            rest = self.lines[stop:]
            after = [*new, *rest]
            found = origins(unmarked(self.lines[at:]), unmarked(after), len(rest))
        stop += len(rest) - (len(after) - len(found))
        self._put(at, stop, after[: len(found)], [i if i == NEW else i + at for i in found], maker)
        return ranges_of([self.first + at + i for i, origin in enumerate(found) if origin == NEW])

    def apply(self, first: int, signed: Sequence[str], maker: int) -> Ranges:
        """Apply the lines of a hunk, with their signs, at a line's number. Gives the numbers of the
        lines it adds.
        """
        start = at = first - self.first
        lines, found = [], []
        for line in signed:
            if line[:1] != "+":
                at += 1
            if line[:1] != "-":
                lines.append(line[1:] if line[:1] == "+" else self.lines[at - 1])
                found.append(NEW if line[:1] == "+" else at - 1)
        self._put(start, at, lines, found, maker)
        return ranges_of([first + i for i, origin in enumerate(found) if origin == NEW])

    def _put(
        self, at: int, stop: int, lines: Sequence[str], found: Sequence[int], maker: int
    ) -> None:
        """Put lines in the place of others; each is the one it was found to be, or the maker's."""
        low = self.places[at - 1] if at else self.place_first - STEP
        high = self.places[stop] if stop < len(self.places) else self.place_next
        makers = [maker if i == NEW else self.makers[i] for i in found]
        places = between([0 if i == NEW else self.places[i] for i in found], low, high)
        self.lines[at:stop], self.makers[at:stop], self.places[at:stop] = lines, makers, places
        self._text = None

    def cut(self, count: int) -> None:
        """Keep only so many lines."""
        self.place_next = self.places[count]
        del self.lines[count:], self.makers[count:], self.places[count:]
        self._text = None

    def confirmed(self, first: int, stop: int) -> "list[Chunk]":
        """Give the chunk in pieces, of which only the lines between two numbers are fresh."""
        cuts = [0, first - self.first, stop - self.first, len(self.lines)]
        pieces = []
        for low, high in pairwise(cuts):
            if low < high:
                after = self.places[high] if high < len(self.places) else self.place_next
                lines, makers, places = (
                    self.lines[low:high],
                    self.makers[low:high],
                    self.places[low:high],
                )
                pieces.append(
                    Chunk(self.first + low, lines, makers, places, after, fresh=low == cuts[1])
                )
        return pieces

    def spell(self, i: int, line: str) -> None:
        """Spell a line in another way; it stays whose it is."""
        self.lines[i] = line
        self._text = None

    @property
    def place_first(self) -> int:
        """The place of the first line."""
        return self.places[0] if self.places else self.place_next


def between(places: list[int], low: int, high: int | None) -> list[int]:
    """Fill in the places that are 0: evenly between their neighbours, or one step after the other
    where there is no end.
    """
    for at, stop in unplaced(places):
        below = places[at - 1] if at else low
        above = places[stop] if stop < len(places) else high
        step = STEP if above is None else min(STEP, max(above - below, 0) // (stop - at + 1))
        places[at:stop] = [below + step * i for i in range(1, stop - at + 1)]
    return places


def unplaced(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give where each run of lines without a place begins and ends; it may be filled in before the
    next is asked for.
    """
    at = 0
    while at < len(places):
        stop = at
        while stop < len(places) and not places[stop]:
            stop += 1
        if stop > at:
            yield at, stop
        at = stop + 1


def ranges_of(numbers: Sequence[int]) -> Ranges:
    """Gather ascending numbers into ranges."""
    ranges: Ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
