"""What is known of one file while its sessions are replayed. Step: attribute.

A session shows parts of a file: a window of lines, a hunk, a whole text. What is known is kept as chunks; nothing is assumed of
the lines between them. A look that contradicts what is known makes all that it does not show stale: still the best guess, no
longer a proof.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution import drift, net
from vacr.attribution.chunks import STEP, Chunk, Ranges, between, ranges_of
from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare, lines_of


@dataclass(slots=True)
class SparseFile:
    """The known chunks of a file in order; `length` is the number of its lines where that is known."""

    chunks: list[Chunk] = field(default_factory=list)
    length: int | None = None
    base: dict[int, str] = field(default_factory=dict)
    """The lines that no agent made, by their places."""
    order: list[int] = field(default_factory=list)
    """Their places in order."""
    outside: dict[int, int] = field(default_factory=dict)
    """The places of those that somebody outside put there since, with their makers."""
    crlf: bool = False  # hosts show CR LF as LF; a base shows what it is

    @classmethod
    def of(cls, text: str) -> "SparseFile":
        """Make a file that is known whole, as its base has it."""
        file = cls()
        file.observe_whole(text, NEW)
        file.crlf = bool(file.chunks) and 2 * text.count("\r\n") > len(file.chunks[0].lines)
        return file

    @property
    def text(self) -> str | None:
        """The whole text, or `None` while a part is not known."""
        if not self.chunks:
            return "" if self.length == 0 else None
        chunk = self.chunks[0]
        whole = len(self.chunks) == 1 and chunk.fresh and chunk.first == 1 and len(chunk.lines) == self.length
        return chunk.text if whole else None

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
        return ranges

    def shake(self) -> None:
        """Take all that is known as stale, because something happened at an unknown place."""
        self.length = None
        for chunk in self.chunks:
            chunk.fresh = False

    def join(self) -> None:
        """Make one chunk of chunks that meet."""
        joined: list[Chunk] = []
        for chunk in self.chunks:
            if joined and joined[-1].next == chunk.first:
                last = joined[-1]
                lines, makers, places = last.lines + chunk.lines, last.makers + chunk.makers, last.places + chunk.places
                # The fresh one holds the other in its place.
                joined[-1] = Chunk(last.first, lines, makers, places, chunk.place_next, last.fresh or chunk.fresh)
            else:
                joined.append(chunk)
        self.chunks = joined

    def apply(self, first: int, signed: Sequence[str], maker: int) -> Ranges | None:
        """Apply a hunk whose old lines begin at a known place; `None` when lines there are not known."""
        old = sum(line[:1] != "+" for line in signed)
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
        found = origins([chunk.lines[i] for chunk, i in known], lines)
        kept = [None if origin == NEW else known[origin] for origin in found]
        makers = [maker if one is None else one[0].makers[one[1]] for one in kept]
        place_next = self.chunks[-1].place_next if self.chunks else STEP
        places = between([0 if one is None else one[0].places[one[1]] for one in kept], 0, place_next if self.chunks else None)
        self._whole(text, lines, makers, places, place_next if self.chunks else len(lines) * STEP + STEP)
        return ranges_of([number for number, i in enumerate(found, 1) if i == NEW])

    def _whole(self, text: str, lines: list[str], makers: list[int], places: list[int], place_next: int) -> None:
        self.chunks = [Chunk(1, lines, makers, places, place_next, _text=text)] if lines else []
        self.length = len(lines)

    def observe(self, first: int, seen: Sequence[str], maker: int) -> bool:
        """Take in lines that a session showed, from the line numbered `first`; what does not fit is the maker's.

        Gives whether all of it fitted.
        """
        if not seen:
            return True
        seen = self._ended(seen)
        past = self.length is not None and first + len(seen) - 1 > self.length
        contradicted = [chunk for chunk in self.chunks if not _agrees(chunk, first, seen)]
        fits = not past and not any(chunk.fresh for chunk in contradicted)
        if not fits:
            self.shake()
            contradicted = self.chunks
        if not contradicted:
            self._fill(first, seen)
        else:
            self._realign(first, seen, maker)
        return fits

    def observe_whole(self, text: str, maker: int) -> bool:
        """Take in the text of the whole file; what does not fit is the maker's. Gives whether all of it fitted."""
        lines = self._ended(lines_of(text))
        if self.crlf:
            text = "".join(lines)
        if self.text == text:
            return True
        fits = self.length in (None, len(lines)) and all(
            chunk.next <= len(lines) + 1 and _agrees(chunk, 1, lines) for chunk in self.chunks
        )
        if not lines:
            self.chunks = []
        elif fits:
            self._fill(1, lines)
        else:
            self.shake()
            self._realign(1, lines, maker)
            self.chunks = self.chunks[:1]
        if lines:  # a listing does not show how the last line ends; the whole text does
            chunk = self.chunks[0]
            self._whole(text, lines, chunk.makers, chunk.places, chunk.place_next)
        self.length = len(lines)
        return fits

    def _ended(self, seen: Sequence[str]) -> list[str]:
        if not self.crlf:
            return list(seen)
        return [line[:-1] + "\r\n" if line.endswith("\n") and not line.endswith("\r\n") else line for line in seen]

    def _fill(self, first: int, seen: Sequence[str]) -> Chunk:
        """Join the chunks that the lines touch, with the lines between them as the base has them."""
        stop = first + len(seen)
        touching = [chunk for chunk in self.chunks if chunk.first <= stop and chunk.next >= first]
        if len(touching) == 1 and touching[0].first <= first and touching[0].next >= stop:
            touching[0].fresh = True
            return touching[0]
        merged = Chunk(first, [], [], [], self._place_at(first))
        for chunk in touching:
            if chunk.first < first:
                merged.first = chunk.first
            else:
                self._append(merged, seen[merged.next - first : chunk.first - first], chunk.place_first)
            merged.lines += chunk.lines
            merged.makers += chunk.makers
            merged.places += chunk.places
            merged.place_next = chunk.place_next
        if merged.next < stop:
            following = next((chunk.place_first for chunk in self.chunks if chunk.first >= stop), None)
            self._append(merged, seen[merged.next - first :], following)
        self._put([chunk for chunk in self.chunks if not any(chunk is other for other in touching)] + [merged])
        return merged

    def _put(self, chunks: list[Chunk]) -> None:
        self.chunks = sorted(chunks, key=lambda chunk: chunk.first)

    def _append(self, chunk: Chunk, seen: Sequence[str], high: int | None) -> None:
        """Add lines that no agent made to a chunk."""
        if seen:
            chunk.places += self._settled([0] * len(seen), seen, chunk.place_next - STEP, high)
            chunk.makers += [0] * len(seen)
            chunk.lines += seen
            chunk.place_next = chunk.places[-1] + STEP

    def _settled(self, places: list[int], lines: Sequence[str], low: int, high: int | None) -> list[int]:
        """Give lines without a place, which no agent made, one between their neighbours: the one that they had before, if any."""
        at = 0
        while at < len(places):
            if places[at]:
                low, at = places[at], at + 1
                continue
            stop = at
            while stop < len(places) and not places[stop]:
                stop += 1
            above = places[stop] if stop < len(places) else high
            known = self.order[
                bisect_right(self.order, low) : len(self.order) if above is None else bisect_left(self.order, above)
            ]
            if known:
                found = origins([self.base[place] for place in known], lines[at:stop])
                places[at:stop] = [0 if i == NEW else known[i] for i in found]
            places[at:stop] = between(places[at:stop], low, above)
            for i in range(at, stop):
                self._keep_line(places, i, lines[i])
            low, at = places[stop - 1], stop
        return places

    def _keep_line(self, places: list[int], i: int, line: str) -> None:
        while self.base.get(places[i], line) != line:
            places[i] += 1
        if places[i] not in self.base:
            self.base[places[i]] = line
            if not self.order or places[i] > self.order[-1]:
                self.order.append(places[i])
            else:
                insort(self.order, places[i])

    def _place_at(self, number: int) -> int:
        """Count the place of a line that nothing is known of."""
        before = [chunk for chunk in self.chunks if chunk.next <= number]
        return before[-1].place_next + (number - before[-1].next) * STEP if before else number * STEP

    def forget(self, place: int) -> None:
        """Take back that a line is one that no agent made."""
        del self.base[place]
        del self.order[bisect_left(self.order, place)]

    def _realign(self, first: int, seen: Sequence[str], maker: int) -> None:
        """Put lines in the place of the stale ones that they contradict, which stay what they are where they are the same."""
        net.settle(self)  # what was reverted is nobody's again, before its neighbours change
        fresh = [chunk for chunk in self.chunks if chunk.fresh]
        known = [(chunk, i) for chunk in self.chunks if not chunk.fresh for i in range(len(chunk.lines))]
        numbers = [chunk.first + i for chunk, i in known]
        found = drift.aligned([chunk.lines[i] for chunk, i in known], seen, [chunk.makers[i] for chunk, i in known])
        window = Chunk(first, list(seen), [0] * len(seen), [0] * len(seen), 0)
        for at, origin in enumerate(found):
            if origin != NEW:
                chunk, i = known[origin]
                window.makers[at], window.places[at] = chunk.makers[i], chunk.places[i]
        theirs = drift.outside(found, _apart(numbers), len(known))
        for chunk in fresh:
            for number in range(max(chunk.first, first), min(chunk.next, window.next)):
                i, at = number - chunk.first, number - first
                window.makers[at], window.places[at] = chunk.makers[i], chunk.places[i]
        _ascend(window.places)
        after = [chunk.place_first for chunk in fresh if chunk.first >= window.next]
        window.places = self._settled(window.places, seen, self._place_at(first) - STEP, after[0] if after else None)
        self.outside |= {window.places[at]: maker for at in theirs if not window.makers[at]}
        window.place_next = window.places[-1] + STEP
        self._put([*_joined(fresh, window), *(chunk for chunk in fresh if chunk.next < first or chunk.first > window.next)])
        self._around(known, numbers, [(i, origin) for i, origin in enumerate(found) if origin != NEW], first)

    def _around(
        self, known: Sequence[tuple[Chunk, int]], numbers: Sequence[int], matched: Sequence[tuple[int, int]], first: int
    ) -> None:
        """Keep the stale lines around a window, moved as its edges have moved."""
        if matched:
            (top, low), (bottom, high) = matched[0], matched[-1]
            up, down, high = first + top - numbers[low], first + bottom - numbers[high], high + 1
        else:
            low = high = sum(number < first for number in numbers)
            up = down = 0
        moved = [(n + up, one) for n, one in zip(numbers[:low], known[:low], strict=True)]
        moved += [(n + down, one) for n, one in zip(numbers[high:], known[high:], strict=True)]
        pieces: list[Chunk] = []
        for number, (chunk, i) in moved:
            if number < 1 or any(other.first <= number < other.next for other in self.chunks):
                continue
            if not pieces or pieces[-1].next != number:
                pieces.append(Chunk(number, [], [], [], 0, fresh=False))
            pieces[-1].lines.append(chunk.lines[i])
            pieces[-1].makers.append(chunk.makers[i])
            pieces[-1].places.append(chunk.places[i])
            pieces[-1].place_next = chunk.places[i] + STEP
        self._put(self.chunks + pieces)


def _ascend(places: list[int]) -> None:
    """Let go of places that would not grow from line to line."""
    last = 0
    for i, place in enumerate(places):
        if place and place <= last:
            places[i] = 0
        last = max(last, place)


def _joined(fresh: Sequence[Chunk], window: Chunk) -> list[Chunk]:
    """Join a window with the chunks that it touches and agrees with."""
    before = next((chunk for chunk in fresh if chunk.first < window.first <= chunk.next), None)
    after = next((chunk for chunk in fresh if chunk.first <= window.next < chunk.next), None)
    cut = window.first - before.first if before else 0
    left = window.next - after.first if after else 0
    return [
        Chunk(
            before.first if before else window.first,
            [*(before.lines[:cut] if before else ()), *window.lines, *(after.lines[left:] if after else ())],
            [*(before.makers[:cut] if before else ()), *window.makers, *(after.makers[left:] if after else ())],
            [*(before.places[:cut] if before else ()), *window.places, *(after.places[left:] if after else ())],
            after.place_next if after else window.place_next,
        )
    ]


def _agrees(chunk: Chunk, first: int, seen: Sequence[str]) -> bool:
    for number in range(max(chunk.first, first), min(chunk.next, first + len(seen))):
        known, line = chunk.lines[number - chunk.first], seen[number - first]
        if known != line and bare(known) != bare(line):
            return False
    return True


def _apart(numbers: Sequence[int]) -> Callable[[int, int], bool]:
    """Give what tells whether unknown lines may lie between two known ones."""

    def apart(low: int, high: int) -> bool:
        if low < 0 or high >= len(numbers):
            return True
        return numbers[high] - numbers[low] != high - low

    return apart
