"""Known lines of a file: chunks of consecutive lines, with the maker and the place of each.

A session rarely shows a whole file, so a file is a list of chunks with unknown lines between them.
Each line has two companions:

- its maker: the negative number of an agent's call, or 0 for a line that no agent made;
- its place among all lines that the file ever had. Places grow from line to line, and a line put
  between two others gets a place between theirs. So a deleted line keeps its place among the lines
  that came later, and is recognised when it comes back.

    >>> from vacr.attribution.chunks import Chunk, PLACE_SPACING
    >>> places = [PLACE_SPACING, 2 * PLACE_SPACING]
    >>> chunk = Chunk(1, ["a = 1\\n", "b = 2\\n"], [0, 0], places, 3 * PLACE_SPACING)
    >>> chunk.rewrite(4, 5, "7", maker=-1)      # call 1 changes the 1 of the first line
    [(1, 1)]
    >>> chunk.lines, chunk.makers
    (['a = 7\\n', 'b = 2\\n'], [-1, 0])
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
    """A long text in pages of whole lines, with the number of lines that end in each page.

    A change at one place neither copies the text before and after it nor counts its lines.
    """

    __slots__ = ("_ends", "_pages", "_whole")

    def __init__(self, text: str) -> None:
        """Keep the text whole until the first replacement."""
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
        """Replace the text from offset `start` up to `stop`.

        Return how many lines come before the changed lines, the old text of the changed lines, and
        their new text.
        """
        if not self._pages:
            self._pages = _split_pages(self.text)
            self._ends = [page.count("\n") for page in self._pages]
        first, at = self._find_page(start, 0, 0)
        last, _ = self._find_page(stop, first, at)
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

    def _find_page(self, offset: int, number: int, at: int) -> tuple[int, int]:
        """Return the number of the page with an offset, and the offset where that page starts.

        The search begins at page `number`, which starts at offset `at`.
        """
        last = len(self._pages) - 1
        while number < last and at + len(self._pages[number]) <= offset:
            at += len(self._pages[number])
            number += 1
        return number, at


def _split_pages(text: str) -> list[str]:
    """Split a text into pages of whole lines; a line longer than a page stays whole."""
    pages, at = [], 0
    while len(text) - at > 2 * _PAGE_SIZE:
        stop = text.find("\n", at + _PAGE_SIZE) + 1 or len(text)
        pages.append(text[at:stop])
        at = stop
    pages.append(text[at:])
    return pages


LineRanges = list[tuple[int, int]]
"""Ranges of lines: the numbers of the first and the last line of each."""

# The distance between two original lines. Each line put between them halves it at most, so 128
# lines fit even in the worst order.
PLACE_SPACING = 1 << 128
# A change is compared with so many lines after it, before it is compared with all of them.
_LOOKAHEAD_LINES = 32


@dataclass(slots=True)
class Chunk:
    """Consecutive lines from the line numbered `first` on.

    `makers` has the number of each line's maker: negative for an agent's call, or 0. `places` has
    the place of each line among all lines that the file ever had. `fresh` while the lines and their
    numbers are certain. `place_next` is the place of the line after the last one, which need not be
    known.
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
        """The lines as a text in pages, built when first needed after a change."""
        if self._text is None:
            self._text = PagedText("".join(self.lines))
        return self._text

    def agrees(self, first: int, seen: Sequence[str]) -> bool:
        """Return whether shown lines, numbered from `first` on, equal the known lines.

        Line ends are not compared. Shown lines outside of the chunk always agree.
        """
        for number in range(max(self.first, first), min(self.next, first + len(seen))):
            known, line = self.lines[number - self.first], seen[number - first]
            if known != line and strip_line_end(known) != strip_line_end(line):
                return False
        return True

    def rewrite(self, start: int, stop: int, new: str, maker: int) -> LineRanges:
        """Replace the text from offset `start` up to `stop` by `new`; return the changed ranges.

        They are ranges of line numbers; the changed lines get `maker`.
        """
        paged = self._paged
        at, before, after = paged.replace(start, stop, new)
        ranges = self.splice(
            at, at + len(split_keeping_ends(before)), split_keeping_ends(after), maker
        )
        self._text = paged
        return ranges

    def splice(self, at: int, stop: int, new: Sequence[str], maker: int) -> LineRanges:
        """Replace the lines from index `at` up to `stop`; return the ranges of changed lines.

        Changed lines get the maker. A new line that equals a replaced one keeps its maker.
        """
        rest = self.lines[stop : stop + _LOOKAHEAD_LINES]
        after = [*new, *rest]
        near = len(rest) == _LOOKAHEAD_LINES
        origins = None
        if near:
            origins = find_local_origins(
                drop_byte_order_mark(self.lines[at : stop + _LOOKAHEAD_LINES]),
                drop_byte_order_mark(after),
                len(rest),
            )
        if origins is None:
            rest = self.lines[stop:]
            after = [*new, *rest]
            origins = find_line_origins(
                drop_byte_order_mark(self.lines[at:]), drop_byte_order_mark(after), len(rest)
            )
        stop += len(rest) - (len(after) - len(origins))
        moved_origins = [i if i == NO_ORIGIN else i + at for i in origins]
        self._replace_lines(at, stop, after[: len(origins)], moved_origins, maker)
        return group_line_ranges(
            [self.first + at + i for i, origin in enumerate(origins) if origin == NO_ORIGIN]
        )

    def apply_hunk(self, first: int, signed: Sequence[str], maker: int) -> LineRanges:
        """Apply a hunk at the line number `first`; return the ranges of the added lines.

        Each line of `signed` begins with `+`, `-` or a space. The added lines get `maker`.
        """
        start = at = first - self.first
        lines, origins = [], []
        for line in signed:
            if line[:1] != "+":
                at += 1
            if line[:1] != "-":
                lines.append(line[1:] if line[:1] == "+" else self.lines[at - 1])
                origins.append(NO_ORIGIN if line[:1] == "+" else at - 1)
        self._replace_lines(start, at, lines, origins, maker)
        return group_line_ranges(
            [first + i for i, origin in enumerate(origins) if origin == NO_ORIGIN]
        )

    def _replace_lines(
        self, at: int, stop: int, lines: Sequence[str], origins: Sequence[int], maker: int
    ) -> None:
        """Replace the lines from index `at` up to `stop`.

        `origins` has the earlier index of each line, which keeps its maker and its place, or
        NO_ORIGIN for a new line of `maker`.
        """
        low = self.places[at - 1] if at else self.place_first - PLACE_SPACING
        high = self.places[stop] if stop < len(self.places) else self.place_next
        makers = [maker if i == NO_ORIGIN else self.makers[i] for i in origins]
        known_places = [0 if i == NO_ORIGIN else self.places[i] for i in origins]
        places = fill_missing_places(known_places, low, high)
        self.lines[at:stop], self.makers[at:stop], self.places[at:stop] = lines, makers, places
        self._text = None

    def keep_first(self, count: int) -> None:
        """Keep only the first `count` lines; the chunk has more lines than that."""
        self.place_next = self.places[count]
        del self.lines[count:], self.makers[count:], self.places[count:]
        self._text = None

    def split_confirmed(self, first: int, stop: int) -> "list[Chunk]":
        """Return the chunk in up to three parts, where only the middle one is fresh.

        The middle part has the lines from number `first` up to `stop`. Empty parts are left out.
        """
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

    def replace_line(self, i: int, line: str) -> None:
        """Replace the text of the line at index `i` without changing its maker."""
        self.lines[i] = line
        self._text = None

    @property
    def place_first(self) -> int:
        """The place of the first line, or of the next one if there are no lines."""
        return self.places[0] if self.places else self.place_next


def fill_missing_places(places: list[int], low: int, high: int | None) -> list[int]:
    """Replace each place that is 0, and return the same list.

    New places lie evenly between their neighbours; `low` is the place before the first line, and
    `high` the place after the last. Without `high`, new places at the end have the usual spacing.
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
    """Yield the start and stop index of each run of places that are 0.

    Callers may fill a run before they ask for the next one.
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
    """Group ascending line numbers into ranges: `[3, 4, 7]` becomes `[(3, 4), (7, 7)]`."""
    ranges: LineRanges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


@dataclass
class PlacedLines:
    """The lines of a file that no agent made, by their places, and the places in order."""

    lines: dict[int, str] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)

    def copy(self) -> "PlacedLines":
        """Return a copy that can be changed independently."""
        return PlacedLines(self.lines.copy(), self.order[:])

    def between(self, low: int, high: int | None) -> list[int]:
        """Return the known places after `low`; with `high`, only those before `high`."""
        stop = len(self.order) if high is None else bisect_left(self.order, high)
        return self.order[bisect_right(self.order, low) : stop]

    def settle_places(
        self, places: list[int], lines: Sequence[str], low: int, high: int | None
    ) -> list[int]:
        """Replace each 0 in the places of lines that no agent made, and return the same list.

        A line that was known before between its neighbours gets its earlier place. Any other line
        gets a new place there, and is stored. `low` and `high` bound the places.
        """
        for at, stop in find_unplaced_runs(places):
            below = places[at - 1] if at else low
            above = places[stop] if stop < len(places) else high
            known = self.between(below, above)
            if known:
                origins = find_line_origins(
                    normalize_line_ends(self.lines[place] for place in known),
                    normalize_line_ends(lines[at:stop]),
                )
                places[at:stop] = [0 if i == NO_ORIGIN else known[i] for i in origins]
            places[at:stop] = fill_missing_places(places[at:stop], below, above)
            for i in range(at, stop):
                self._store_line(places, i, lines[i])
        return places

    def _store_line(self, places: list[int], i: int, line: str) -> None:
        """Store a line at `places[i]`, or at the next place without a different line."""
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
        """Return the last known place before this one, or a lower place if none is known."""
        at = bisect_left(self.order, place)
        return self.order[at - 1] if at else place - PLACE_SPACING

    def forget(self, place: int) -> None:
        """Forget the line at a known place, because an agent made it after all."""
        del self.lines[place]
        del self.order[bisect_left(self.order, place)]
