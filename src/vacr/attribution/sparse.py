"""What is known of one file while its sessions are replayed. Step: attribute.

A session shows parts of a file: a window of lines, a hunk, a whole text. What is known is kept as
chunks; nothing is assumed of the lines between them. A look that contradicts what is known makes
all that it does not show stale: still the best guess, no longer a proof.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution import net
from vacr.attribution.chunks import STEP, Chunk, Ranges, between, ranges_of
from vacr.attribution.diff import NEW, origins
from vacr.attribution.paged import PagedText
from vacr.attribution.placed_lines import PlacedLines
from vacr.attribution.realign import lay_out, realign
from vacr.attribution.text import as_shown, bare, level, lines_of, unmarked


@dataclass(slots=True)
class SparseFile:
    """The known chunks of a file in order; `length` is the number of its lines where that
    is known.
    """

    chunks: list[Chunk] = field(default_factory=list)
    length: int | None = None
    base: PlacedLines = field(default_factory=PlacedLines)
    """The lines that no agent made."""
    outside: dict[int, int] = field(default_factory=dict)
    """The places of those that somebody outside put there since, with their makers."""
    mixed: dict[int, int] = field(default_factory=dict)
    """The places of those that were an agent's and that somebody outside changed, with the agent's
    call.
    """
    crlf: bool = False  # hosts show CR LF as LF; a base shows what it is
    odd: bool = False  # hosts show neither a byte order mark nor bytes that are not UTF-8 nor different line ends
    exact: bool = False  # what was there before is known from a base
    shaken: bool = (
        False  # whether something happened at an unknown place, and not all of it was seen since
    )
    doubted: bool = (
        False  # whether it may be another one altogether since it was last seen as a whole
    )
    ending: str = ""  # the last line, when it was last known which one that is

    @classmethod
    def of(cls, text: str) -> "SparseFile":
        """Make a file that is known whole, as its base has it."""
        file = cls()
        file.observe_whole(text, NEW)
        file.crlf = 2 * text.count("\r\n") > text.count("\n")
        file.odd = as_shown(text) != (
            text.replace("\r\n", "\n") if text.count("\r") == text.count("\n") else text
        )
        file.exact = True
        return file

    @property
    def text(self) -> str | None:
        """The whole text, or `None` while a part is not known."""
        if not self.is_whole:
            return None
        return self.chunks[0].text if self.chunks else ""

    @property
    def is_whole(self) -> bool:
        """Whether all of it is known."""
        if not self.chunks:
            return self.length == 0
        chunk = self.chunks[0]
        return (
            len(self.chunks) == 1
            and chunk.fresh
            and chunk.first == 1
            and len(chunk.lines) == self.length
        )

    @property
    def is_unseen(self) -> bool:
        """Whether nothing is known of it, not even that it is empty."""
        return not self.chunks and self.length is None

    def line(self, number: int) -> str | None:
        """Give a line by its number, if it is known."""
        for chunk in self.chunks:
            if chunk.first <= number < chunk.next:
                return chunk.lines[number - chunk.first]
        return None

    def spelled(self, text: str) -> str:
        """Give a text with the line ends that the file has, as hosts write it there."""
        return text.replace("\r\n", "\n").replace("\n", "\r\n") if self.crlf else text

    def find(self, text: str) -> Iterator[tuple[Chunk, int]]:
        """Give each place where the known lines hold a text."""
        for chunk in self.chunks:
            at = chunk.text.find(text)
            while at >= 0:
                yield chunk, at
                at = chunk.text.find(text, at + len(text))

    def change(self, chunk: Chunk, act: Callable[[], Ranges]) -> Ranges:
        """Change one chunk and move what follows it."""
        before = len(chunk.lines)
        ranges = act()
        moved = len(chunk.lines) - before
        if moved:
            for other in self.chunks[self.chunks.index(chunk) + 1 :]:
                other.first += moved
            if self.length is not None:
                self.length += moved
        if not chunk.lines:
            self.chunks = [other for other in self.chunks if other is not chunk]
        return ranges

    def shake(self) -> None:
        """Take all that is known as stale, because something happened at an unknown place."""
        if self.chunks and self.length is not None and self.chunks[-1].next > self.length:
            self.ending = self.chunks[-1].lines[-1]
        self.length, self.shaken = None, True
        for chunk in self.chunks:
            chunk.fresh = False

    def join(self) -> None:
        """Make one chunk of chunks that meet."""
        joined: list[Chunk] = []
        for chunk in self.chunks:
            if joined and joined[-1].next == chunk.first:
                last = joined[-1]
                lines, makers, places = (
                    last.lines + chunk.lines,
                    last.makers + chunk.makers,
                    last.places + chunk.places,
                )
                # The fresh one holds the other in its place.
                fresh = last.fresh and chunk.fresh if self.doubted else last.fresh or chunk.fresh
                joined[-1] = Chunk(last.first, lines, makers, places, chunk.place_next, fresh)
            else:
                joined.append(chunk)
        self.chunks = joined

    def apply(self, first: int, signed: Sequence[str], maker: int) -> Ranges | None:
        """Apply a hunk whose old lines begin at a known place; `None` when lines there are not
        known.
        """
        old = sum(line[:1] != "+" for line in signed)
        if not any(line.endswith("\r\n") for line in signed):  # else it shows how each line ends
            signed = [self.spelled(line) for line in signed]
        for chunk in self.chunks:
            if chunk.first <= first and first + old <= chunk.next:
                return self.change(chunk, lambda: chunk.apply(first, signed, maker))  # noqa: B023 - called at once
        if not self.chunks and self.length == 0 and not old:
            return self.write("".join(line[1:] for line in signed), maker)
        return None

    def write(self, text: str, maker: int) -> Ranges:
        """Replace the whole file; lines that were known before stay what they are."""
        known = [(chunk, i) for chunk in self.chunks for i in range(len(chunk.lines))]
        lines = lines_of(text)
        found = origins(
            unmarked(level(chunk.lines[i] for chunk, i in known)), unmarked(level(lines))
        )
        kept = [None if origin == NEW else known[origin] for origin in found]
        makers = [maker if one is None else one[0].makers[one[1]] for one in kept]
        place_next = self.chunks[-1].place_next if self.chunks else STEP
        places = between(
            [0 if one is None else one[0].places[one[1]] for one in kept],
            0,
            place_next if self.chunks else None,
        )
        self._whole(
            text, lines, makers, places, place_next if self.chunks else len(lines) * STEP + STEP
        )
        return ranges_of([number for number, i in enumerate(found, 1) if i == NEW])

    def _whole(
        self, text: str, lines: list[str], makers: list[int], places: list[int], place_next: int
    ) -> None:
        self.chunks = (
            [Chunk(1, lines, makers, places, place_next, _text=PagedText(text))] if lines else []
        )
        self.length, self.shaken, self.doubted = len(lines), False, False

    def observe(self, first: int, seen: Sequence[str], maker: int) -> bool:
        """Take in lines that a session showed, from the line numbered `first`; what does not fit is
        the maker's.

        Gives whether all of it fitted.
        """
        if not seen:
            return True
        seen = self._ended(seen)
        fits, whole = self.agrees(first, seen), self.is_whole
        low, high = self._near(first, first + len(seen))
        if not fits:
            self.shake()
        if fits and all(chunk.agrees(first, seen) for chunk in self.chunks[low:high]):
            self._fill(first, seen)
        else:
            realign(self, first, seen, maker, whole=whole)
        return fits

    def agrees(self, first: int, seen: Sequence[str]) -> bool:
        """Tell whether nothing that is certain contradicts lines that were shown."""
        past = self.length is not None and first + len(seen) - 1 > self.length
        low, high = self._near(first, first + len(seen))
        return not past and all(
            chunk.agrees(first, seen) for chunk in self.chunks[low:high] if chunk.fresh
        )

    def observe_whole(self, text: str, maker: int) -> bool:
        """Take in the text of the whole file; what does not fit is the maker's. Gives whether all
        of it fitted.
        """
        lines = self._ended(lines_of(text))
        if self.crlf or self.odd:
            text = "".join(lines)
        if self.text == text:
            return True
        fits = self.length in (None, len(lines)) and all(
            chunk.next <= len(lines) + 1 and chunk.agrees(1, lines) for chunk in self.chunks
        )
        whole = self.is_whole
        if not lines:
            self.chunks = []
        elif fits:
            self._fill(1, lines)
        else:
            self.shake()
            realign(self, 1, lines, maker, whole=whole)
            self.chunks = self.chunks[:1]
        if lines:  # a listing does not show how the last line ends; the whole text does
            chunk = self.chunks[0]
            if chunk.lines[-1] != lines[-1]:
                net.settle(self, ended=False)
            if not chunk.makers[-1] and self.base.lines.get(chunk.places[-1]) != lines[-1]:
                lay_out(self, chunk, len(lines) - 1, lines[-1])
            self._whole(text, lines, chunk.makers, chunk.places, chunk.place_next)
        self.length = len(lines)
        return fits

    def end_at(self, number: int, *, whole: bool, ended: bool) -> None:
        """Take in that no line follows the one of this number; `whole` when all lines up to it were
        seen.

        A listing seldom shows the end of the last line. While that is the line that it was, it ends
        as it did, if it is `ended`.
        """
        for chunk in self.chunks:
            keep = max(0, number + 1 - chunk.first)
            if keep < len(chunk.lines):
                chunk.cut(keep)
        self.chunks = [chunk for chunk in self.chunks if chunk.lines]
        if self.length is not None or (whole and ended and self._ends_as_before(number)):
            self.length = number
        if whole:
            self.shaken = self.doubted = False

    def _ends_as_before(self, number: int) -> bool:
        """Tell whether the last line is the one that it was, and had an end."""
        last = self.line(number)
        return last is not None and self.ending.endswith("\n") and bare(last) == bare(self.ending)

    def _ended(self, seen: Sequence[str]) -> list[str]:
        """Give lines that a host showed as they are in the file, as far as that is known."""
        if self.odd:
            known = [line for chunk in self.chunks for line in chunk.lines]
            found = origins([as_shown(line) for line in known], [as_shown(line) for line in seen])
            return [
                self.spelled(line) if i == NEW else known[i]
                for line, i in zip(seen, found, strict=True)
            ]
        return [self.spelled(line) for line in seen] if self.crlf else list(seen)

    def _part(self, first: int, stop: int) -> None:
        """Part stale lines that were seen again from those that were not."""
        pieces: list[Chunk] = []
        for chunk in self.chunks:
            low, high = max(first, chunk.first), min(stop, chunk.next)
            pieces += [chunk] if chunk.fresh or low >= high else chunk.confirmed(low, high)
        self.chunks = pieces

    def _fill(self, first: int, seen: Sequence[str]) -> None:
        """Join the chunks that the lines touch, with the lines between them as the base
        has them.
        """
        stop = first + len(seen)
        if self.doubted:
            self._part(first, stop)
        low, high = self._near(first, stop)
        # Stale lines that only meet these may have moved.
        touching = [
            one
            for one in self.chunks[low:high]
            if one.first < stop + one.fresh and one.next > first - one.fresh
        ]
        if len(touching) == 1 and touching[0].first <= first and touching[0].next >= stop:
            touching[0].fresh = True  # unless all is doubted, they hold the others in their places
            return
        merged = Chunk(first, [], [], [], self.place_at(first))
        for chunk in touching:
            if chunk.first < first:
                merged.first = chunk.first
            else:
                self._append(
                    merged, seen[merged.next - first : chunk.first - first], chunk.place_first
                )
            merged.lines += chunk.lines
            merged.makers += chunk.makers
            merged.places += chunk.places
            merged.place_next = chunk.place_next
        if merged.next < stop:
            following = next(
                (one.place_first for one in self.chunks[low : high + 1] if one.first >= stop), None
            )
            self._append(merged, seen[merged.next - first :], following)
        kept = [one for one in self.chunks[low:high] if not any(one is other for other in touching)]
        self.chunks[low:high] = sorted([*kept, merged], key=lambda chunk: chunk.first)

    def _near(self, first: int, stop: int) -> tuple[int, int]:
        """Give where the chunks begin and end that hold lines between two numbers, or meet them."""
        low = bisect_left(self.chunks, first, key=lambda chunk: chunk.next)
        return low, bisect_right(self.chunks, stop, lo=low, key=lambda chunk: chunk.first)

    def put(self, chunks: list[Chunk]) -> None:
        """Keep chunks in order, but for those that have become empty."""
        self.chunks = sorted(
            (chunk for chunk in chunks if chunk.lines), key=lambda chunk: chunk.first
        )

    def _append(self, chunk: Chunk, seen: Sequence[str], high: int | None) -> None:
        """Add lines that no agent made to a chunk."""
        if seen:
            chunk.places += self.base.settled([0] * len(seen), seen, chunk.place_next - STEP, high)
            chunk.makers += [0] * len(seen)
            chunk.lines += seen
            chunk.place_next = chunk.places[-1] + STEP

    def place_at(self, number: int) -> int:
        """Count the place of a line that nothing is known of."""
        before = bisect_right(self.chunks, number, key=lambda chunk: chunk.next)
        last = self.chunks[before - 1] if before else None
        return number * STEP if last is None else last.place_next + (number - last.next) * STEP

    def place_before(self, number: int, following: int | None) -> int:
        """Give a place that what is put before a line comes after, and the line that follows too,
        if its place is known.
        """
        place = self.place_at(number) - STEP
        if following is None or place < following:
            return place
        return self.base.before(following)
