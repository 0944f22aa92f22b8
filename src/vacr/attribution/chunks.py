"""A long text that is changed here and there. Step: attribute.

It is kept in pages of whole lines, so that a change at one place neither copies what is before and
after nor counts its lines.

Consecutive lines of a file, each with its maker and its place among all lines that the file ever
had. Step: attribute.

A maker is the negative number of an agent's call, or 0 for a line that no agent made. Places grow
from line to line; a line that is put between two others gets a place between theirs, so that what
was taken away keeps its place among what came later.

The lines of a file that no agent made, by their places among all that it ever had. Step:
attribute.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from vacr.edits import (
    NO_ORIGIN,
    drop_byte_order_mark,
    find_line_origins,
    find_local_origins,
    normalize_line_ends,
    split_keeping_ends,
    strip_line_end,
)

_PAGE_SIZE = 1 << 14


class PagedText:
    """A text, in pages, and for each page how many lines end in it."""

    __slots__ = ("_ends", "_pages", "_whole")

    def __init__(self, text: str) -> None:
        """Part it only when it is asked about places."""
        self._whole: str | None = text
        self._pages: list[str] = []
        self._ends: list[int] = []

    @property
    def text(self) -> str:
        """The whole text."""
        if self._whole is None:
            self._whole = "".join(self._pages)
        return self._whole

    def replace(self, start: int, stop: int, new: str) -> tuple[int, str, str]:
        """Replace the text between two offsets.

        Gives how many lines are before those that this changes, and these as they were and as they
        are.
        """
        if not self._pages:
            self._pages = _split_pages(self.text)
            self._ends = [page.count("\n") for page in self._pages]
        first, at = self._page_at(start, 0, 0)
        last, _ = self._page_at(stop, first, at)
        near = self._pages[first] if first == last else "".join(self._pages[first : last + 1])
        start, stop = start - at, stop - at
        opening = near.rfind("\n", 0, start) + 1
        closing = near.find("\n", stop) + 1 or len(near)
        before = sum(self._ends[:first]) + near.count("\n", 0, opening)
        old, new = near[opening:closing], near[opening:start] + new + near[stop:closing]
        pages = _split_pages(near[:opening] + new + near[closing:])
        self._pages[first : last + 1] = pages
        self._ends[first : last + 1] = [page.count("\n") for page in pages]
        self._whole = None
        return before, old, new

    def _page_at(self, offset: int, number: int, at: int) -> tuple[int, int]:
        """Give the page that an offset is in, and where it starts, from a page on; the last one for
        the end of the text.
        """
        last = len(self._pages) - 1
        while number < last and at + len(self._pages[number]) <= offset:
            at += len(self._pages[number])
            number += 1
        return number, at


def _split_pages(text: str) -> list[str]:
    """Part a text at line ends; a line that is longer than a page is not parted."""
    pages, at = [], 0
    while len(text) - at > 2 * _PAGE_SIZE:
        stop = text.find("\n", at + _PAGE_SIZE) + 1 or len(text)
        pages.append(text[at:stop])
        at = stop
    pages.append(text[at:])
    return pages


LineRanges = list[tuple[int, int]]

# The room between two lines that were there from the beginning: as often as it can be halved,
# something can be put between them.
PLACE_SPACING = 1 << 128
# How far a change is compared with what follows it, before all that follows is taken.
_LOOKAHEAD_LINES = 32


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
            if known != line and strip_line_end(known) != strip_line_end(line):
                return False
        return True

    def rewrite(self, start: int, stop: int, new: str, maker: int) -> LineRanges:
        """Replace the text between two offsets. Gives the numbers of the lines that this makes."""
        paged = self._paged
        at, before, after = paged.replace(start, stop, new)
        ranges = self.splice(
            at, at + len(split_keeping_ends(before)), split_keeping_ends(after), maker
        )
        self._text = paged
        return ranges

    def splice(self, at: int, stop: int, new: Sequence[str], maker: int) -> LineRanges:
        """Replace lines: those that differ are the maker's, the others stay as they are. Gives the
        numbers of the maker's.
        """
        rest = self.lines[stop : stop + _LOOKAHEAD_LINES]
        after = [*new, *rest]
        near = len(rest) == _LOOKAHEAD_LINES
        found = (
            find_local_origins(
                drop_byte_order_mark(self.lines[at : stop + _LOOKAHEAD_LINES]),
                drop_byte_order_mark(after),
                len(rest),
            )
            if near
            else None
        )
        if found is None:
            rest = self.lines[stop:]
            after = [*new, *rest]
            found = find_line_origins(
                drop_byte_order_mark(self.lines[at:]), drop_byte_order_mark(after), len(rest)
            )
        stop += len(rest) - (len(after) - len(found))
        self._put(
            at, stop, after[: len(found)], [i if i == NO_ORIGIN else i + at for i in found], maker
        )
        return group_line_ranges(
            [self.first + at + i for i, origin in enumerate(found) if origin == NO_ORIGIN]
        )

    def apply(self, first: int, signed: Sequence[str], maker: int) -> LineRanges:
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
                found.append(NO_ORIGIN if line[:1] == "+" else at - 1)
        self._put(start, at, lines, found, maker)
        return group_line_ranges(
            [first + i for i, origin in enumerate(found) if origin == NO_ORIGIN]
        )

    def _put(
        self, at: int, stop: int, lines: Sequence[str], found: Sequence[int], maker: int
    ) -> None:
        """Put lines in the place of others; each is the one it was found to be, or the maker's."""
        low = self.places[at - 1] if at else self.place_first - PLACE_SPACING
        high = self.places[stop] if stop < len(self.places) else self.place_next
        makers = [maker if i == NO_ORIGIN else self.makers[i] for i in found]
        places = fill_missing_places(
            [0 if i == NO_ORIGIN else self.places[i] for i in found], low, high
        )
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


def fill_missing_places(places: list[int], low: int, high: int | None) -> list[int]:
    """Fill in the places that are 0: evenly between their neighbours, or one step after the other
    where there is no end.
    """
    for at, stop in find_unplaced_runs(places):
        below = places[at - 1] if at else low
        above = places[stop] if stop < len(places) else high
        step = (
            PLACE_SPACING
            if above is None
            else min(PLACE_SPACING, max(above - below, 0) // (stop - at + 1))
        )
        places[at:stop] = [below + step * i for i in range(1, stop - at + 1)]
    return places


def find_unplaced_runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
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


def group_line_ranges(numbers: Sequence[int]) -> LineRanges:
    """Gather ascending numbers into ranges."""
    ranges: LineRanges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


@dataclass
class PlacedLines:
    """Lines by their places, and the places in order."""

    lines: dict[int, str] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)

    def copy(self) -> "PlacedLines":
        """Give another one that can be changed."""
        return PlacedLines(self.lines.copy(), self.order[:])

    def between(self, low: int, high: int | None) -> list[int]:
        """Give the places after one and before another, if that is known."""
        stop = len(self.order) if high is None else bisect_left(self.order, high)
        return self.order[bisect_right(self.order, low) : stop]

    def settled(
        self, places: list[int], lines: Sequence[str], low: int, high: int | None
    ) -> list[int]:
        """Give lines without a place, which no agent made, one between their neighbours: the one
        that they had before, if any.
        """
        for at, stop in find_unplaced_runs(places):
            below = places[at - 1] if at else low
            above = places[stop] if stop < len(places) else high
            known = self.between(below, above)
            if known:
                found = find_line_origins(
                    normalize_line_ends(self.lines[place] for place in known),
                    normalize_line_ends(lines[at:stop]),
                )
                places[at:stop] = [0 if i == NO_ORIGIN else known[i] for i in found]
            places[at:stop] = fill_missing_places(places[at:stop], below, above)
            for i in range(at, stop):
                self._keep(places, i, lines[i])
        return places

    def _keep(self, places: list[int], i: int, line: str) -> None:
        while (known := self.lines.get(places[i])) is not None and normalize_line_ends(
            [known]
        ) != normalize_line_ends([line]):
            places[i] += 1
        if known is None:
            self.lines[places[i]] = line
            if not self.order or places[i] > self.order[-1]:
                self.order.append(places[i])
            else:
                insort(self.order, places[i])

    def before(self, place: int) -> int:
        """Give the place before one."""
        at = bisect_left(self.order, place)
        return self.order[at - 1] if at else place - PLACE_SPACING

    def forget(self, place: int) -> None:
        """Take back that a line is one that no agent made."""
        del self.lines[place]
        del self.order[bisect_left(self.order, place)]
