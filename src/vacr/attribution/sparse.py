"""What is known of one file while its sessions are replayed. Step: attribute.

A session shows parts of a file: a window of lines, a hunk, a whole text. What is known is kept as chunks at known places; nothing is assumed of
the lines between them. A look that contradicts what is known makes all that it does not show stale: still the best guess, no longer a proof.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution import drift
from vacr.attribution.chunks import Chunk, Ranges, ranges_of
from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare, lines_of


@dataclass(slots=True)
class SparseFile:
    """The known chunks of a file in order; `length` is the number of its lines where that is known."""

    chunks: list[Chunk] = field(default_factory=list)
    length: int | None = None
    base: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> "SparseFile":
        """Make a file that is known whole, as its base has it."""
        file = cls()
        file.observe_whole(text, NEW)
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
                joined[-1] = Chunk(last.first, last.lines + chunk.lines, last.marks + chunk.marks, last.base_first, chunk.base_next)
                joined[-1].fresh = last.fresh or chunk.fresh  # the fresh one holds the other in its place
            else:
                joined.append(chunk)
        self.chunks = joined

    def apply(self, first: int, signed: Sequence[str], maker: int) -> Ranges | None:
        """Apply a hunk whose old lines begin at a known place; `None` when lines there are not known."""
        old = sum(line[:1] != "+" for line in signed)
        for chunk in self.chunks:
            if chunk.first <= first and first + old <= chunk.next:
                return self.change(chunk, lambda: chunk.apply(first, signed, maker))
        if not self.chunks and self.length == 0 and not old:
            return self.write("".join(line[1:] for line in signed), maker)
        return None

    def write(self, text: str, maker: int) -> Ranges:
        """Replace the whole file; lines that were known before keep their marks."""
        known = [pair for chunk in self.chunks for pair in zip(chunk.lines, chunk.marks, strict=True)]
        lines = lines_of(text)
        found = origins([line for line, _ in known], lines)
        base_next = self.chunks[-1].base_next if self.chunks else 1
        self._whole(text, lines, [maker if i == NEW else known[i][1] for i in found], base_next)
        return ranges_of([number for number, i in enumerate(found, 1) if i == NEW])

    def _whole(self, text: str, lines: list[str], marks: list[int], base_next: int) -> None:
        self.chunks = [Chunk(1, lines, marks, 1, base_next, True, text)] if lines else []
        self.length = len(lines)

    def observe(self, first: int, seen: Sequence[str], maker: int) -> bool:
        """Take in lines that a session showed, from the line numbered `first`; what does not fit is the maker's.

        Gives whether all of it fitted.
        """
        if not seen:
            return True
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
        if self.text == text:
            return True
        lines = lines_of(text)
        fits = self.length in (None, len(lines)) and all(chunk.next <= len(lines) + 1 and _agrees(chunk, 1, lines) for chunk in self.chunks)
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
            self._whole(text, lines, chunk.marks, chunk.base_next)
        self.length = len(lines)
        return fits

    def _fill(self, first: int, seen: Sequence[str]) -> Chunk:
        """Join the chunks that the lines touch, with the lines between them as the base has them."""
        stop = first + len(seen)
        touching = [chunk for chunk in self.chunks if chunk.first <= stop and chunk.next >= first]
        if len(touching) == 1 and touching[0].first <= first and touching[0].next >= stop:
            touching[0].fresh = True
            return touching[0]
        base = self._base_at(first)
        merged = Chunk(first, [], [], base, base)
        for chunk in touching:
            if chunk.first < first:
                merged.first, merged.base_first = chunk.first, chunk.base_first
            else:
                self._append(merged, seen[merged.next - first : chunk.first - first])
            merged.lines += chunk.lines
            merged.marks += chunk.marks
            merged.base_next = chunk.base_next
        if merged.next < stop:
            self._append(merged, seen[merged.next - first :])
        self._put([chunk for chunk in self.chunks if not any(chunk is other for other in touching)] + [merged])
        return merged

    def _put(self, chunks: list[Chunk]) -> None:
        self.chunks = sorted(chunks, key=lambda chunk: chunk.first)

    def _append(self, chunk: Chunk, seen: Sequence[str]) -> None:
        for line in seen:
            chunk.lines.append(line)
            chunk.marks.append(chunk.base_next)
            self.base.setdefault(chunk.base_next, line)
            chunk.base_next += 1

    def _base_at(self, number: int) -> int:
        before = [chunk for chunk in self.chunks if chunk.next <= number]
        return before[-1].base_next + number - before[-1].next if before else number

    def _realign(self, first: int, seen: Sequence[str], maker: int) -> None:
        """Put lines in the place of the stale ones that they contradict, which keep their marks where they are the same."""
        stale = [chunk for chunk in self.chunks if not chunk.fresh]
        known = [(chunk.first + i, chunk.lines[i], chunk.marks[i]) for chunk in stale for i in range(len(chunk.lines))]
        found = drift.aligned([line for _, line, _ in known], seen)
        theirs = set(drift.outside(found, _apart(known), len(known)))
        self.chunks = [chunk for chunk in self.chunks if chunk.fresh]
        certain = {number for chunk in self.chunks for number in range(max(chunk.first, first), min(chunk.next, first + len(seen)))}
        window = self._fill(first, seen)
        for i, origin in enumerate(found):
            if first + i not in certain:
                at = first + i - window.first
                if origin != NEW:
                    window.marks[at] = known[origin][2]
                elif i in theirs:
                    window.marks[at] = maker
        self._keep(known, [(i, origin) for i, origin in enumerate(found) if origin != NEW], first, first + len(seen))

    def _keep(self, known: Sequence[tuple[int, str, int]], matched: Sequence[tuple[int, int]], first: int, stop: int) -> None:
        """Keep the stale lines around a window, moved as its edges have moved."""
        low, high, up, down = 0, 0, 0, 0
        if matched:
            (top, low), (bottom, high) = matched[0], matched[-1]
            up, down, high = first + top - known[low][0], first + bottom - known[high][0], high + 1
        else:
            low = high = sum(number < first for number, _, _ in known)
        around = [(number + up, line, mark) for number, line, mark in known[:low]] + [(n + down, line, mark) for n, line, mark in known[high:]]
        free = [entry for entry in around if entry[0] > 0 and not any(chunk.first <= entry[0] < chunk.next for chunk in self.chunks)]
        pieces: list[Chunk] = []
        for number, line, mark in free:
            if not pieces or pieces[-1].next != number:
                base = mark if mark > 0 else self._base_at(number)
                pieces.append(Chunk(number, [], [], base, base, fresh=False))
            pieces[-1].lines.append(line)
            pieces[-1].marks.append(mark)
            pieces[-1].base_next = max(pieces[-1].base_next, mark + 1)
        self._put(self.chunks + pieces)


def _agrees(chunk: Chunk, first: int, seen: Sequence[str]) -> bool:
    for number in range(max(chunk.first, first), min(chunk.next, first + len(seen))):
        known, line = chunk.lines[number - chunk.first], seen[number - first]
        if known != line and bare(known) != bare(line):
            return False
    return True


def _apart(known: Sequence[tuple[int, str, int]]) -> Callable[[int, int], bool]:
    """Give what tells whether unknown lines may lie between two known ones."""
    numbers = [number for number, _, _ in known]

    def apart(low: int, high: int) -> bool:
        if low < 0 or high >= len(numbers):
            return True
        return numbers[high] - numbers[low] != high - low

    return apart
