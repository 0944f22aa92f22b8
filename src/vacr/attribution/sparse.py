"""What is known of one file while its sessions are replayed. Step: attribute.

A session shows parts of a file: a window of lines, a hunk, a whole text. What is known is kept as chunks at known places; nothing is assumed of
the lines between them. A look that contradicts what is known makes all that it does not show stale: still the best guess, no longer a proof.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution import drift, net
from vacr.attribution.chunks import Chunk, Ranges, ranges_of
from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare, lines_of

# Between two lines of the base there is room for others, because a number may turn out to be another line's.
STEP = 1 << 20


@dataclass(slots=True)
class SparseFile:
    """The known chunks of a file in order; `length` is the number of its lines where that is known."""

    chunks: list[Chunk] = field(default_factory=list)
    length: int | None = None
    base: dict[int, str] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    """The numbers of the lines of the base that are known, in their order."""
    outside: dict[int, int] = field(default_factory=dict)
    """The lines that somebody outside put among those of the base, with their makers."""
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
        base_next = self.chunks[-1].base_next if self.chunks else STEP
        self._whole(text, lines, [maker if i == NEW else known[i][1] for i in found], base_next)
        return ranges_of([number for number, i in enumerate(found, 1) if i == NEW])

    def _whole(self, text: str, lines: list[str], marks: list[int], base_next: int) -> None:
        self.chunks = [Chunk(1, lines, marks, STEP, base_next, True, text)] if lines else []
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
        """Add lines of the base to a chunk."""
        if seen:
            after = next((other.base_first for other in self.chunks if other.first >= chunk.next + len(seen)), None)
            marks = self._base_lines(seen, chunk.base_next - STEP, after)
            chunk.lines += seen
            chunk.marks += marks
            chunk.base_next = marks[-1] + STEP

    def _base_lines(self, lines: Sequence[str], low: int, high: int | None) -> list[int]:
        """Number lines of the base between two numbers: as the base has them, where it is known to; else between their neighbours."""
        known = self.order[bisect_right(self.order, low) : len(self.order) if high is None else bisect_left(self.order, high)]
        marks = [known[i] if i != NEW else 0 for i in origins([self.base[number] for number in known], lines)] if known else [0] * len(lines)
        at = 0
        while at < len(marks):
            stop = at
            while stop < len(marks) and not marks[stop]:
                stop += 1
            if stop > at:
                below = marks[at - 1] if at else low
                above = marks[stop] if stop < len(marks) else high
                self._insert(marks, lines, at, stop, below, above)
            at = stop + 1
        return marks

    def _insert(self, marks: list[int], lines: Sequence[str], at: int, stop: int, below: int, above: int | None) -> None:
        step = STEP if above is None else max(1, min(STEP, (above - below) // (stop - at + 1)))
        for i in range(at, stop):
            below += step
            while below in self.base:
                below += 1
            marks[i] = below
            self.base[below] = lines[i]
            if not self.order or below > self.order[-1]:
                self.order.append(below)
            else:
                insort(self.order, below)

    def _base_at(self, number: int) -> int:
        before = [chunk for chunk in self.chunks if chunk.next <= number]
        return before[-1].base_next + (number - before[-1].next) * STEP if before else number * STEP

    def _realign(self, first: int, seen: Sequence[str], maker: int) -> None:
        """Put lines in the place of the stale ones that they contradict, which keep their marks where they are the same."""
        net.settle(self)  # what was reverted is the base's again, before its neighbours change
        stale = [chunk for chunk in self.chunks if not chunk.fresh]
        known = [(chunk.first + i, chunk.lines[i], chunk.marks[i]) for chunk in stale for i in range(len(chunk.lines))]
        found = drift.aligned([line for _, line, _ in known], seen)
        marks = self._numbered([known[i][2] if i != NEW else 0 for i in found], seen, self._base_at(first) - STEP)
        self.outside |= {marks[at]: maker for at in drift.outside(found, _apart(known), len(known))}
        fresh = [chunk for chunk in self.chunks if chunk.fresh]
        window = Chunk(first, list(seen), marks, 0, 0)
        for chunk in fresh:
            start, stop = max(chunk.first, first), min(chunk.next, window.next)
            if start < stop:
                window.marks[start - first : stop - first] = chunk.marks[start - chunk.first : stop - chunk.first]
        window.base_first, window.base_next = _ends(window.marks, self._base_at(first))
        self.chunks = _joined([chunk for chunk in fresh if chunk.next >= first and chunk.first <= window.next], window) + [
            chunk for chunk in fresh if chunk.next < first or chunk.first > window.next
        ]
        self._keep(known, [(i, origin) for i, origin in enumerate(found) if origin != NEW], first, first + len(seen))

    def _numbered(self, marks: list[int], seen: Sequence[str], low: int) -> list[int]:
        """Number the lines without a mark between those of the base around them."""
        at = 0
        while at < len(marks):
            if marks[at]:
                low, at = max(low, marks[at]), at + 1
                continue
            stop = at
            while stop < len(marks) and not marks[stop]:
                stop += 1
            marks[at:stop] = self._base_lines(seen[at:stop], low, next((mark for mark in marks[stop:] if mark > low), None))
            at = stop
        return marks

    def forget(self, number: int) -> None:
        """Take back that a line is the base's."""
        del self.base[number]
        del self.order[bisect_left(self.order, number)]

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
            pieces[-1].base_next = max(pieces[-1].base_next, mark + STEP)
        self._put(self.chunks + pieces)


def _ends(marks: Sequence[int], base: int) -> tuple[int, int]:
    """Give the base's numbers at both ends of some lines."""
    kept = [mark for mark in marks if mark > 0]
    return (kept[0], kept[-1] + STEP) if kept else (base, base)


def _joined(chunks: Sequence[Chunk], window: Chunk) -> list[Chunk]:
    """Join a window with the chunks that agree with it."""
    first, last = window, window
    for chunk in chunks:
        if chunk.first < first.first:
            first = chunk
        if chunk.next > last.next:
            last = chunk
    before, after = window.first - first.first, last.next - window.next
    lines = first.lines[:before] + window.lines + (last.lines[-after:] if after else [])
    marks = first.marks[:before] + window.marks + (last.marks[-after:] if after else [])
    return [Chunk(first.first, lines, marks, first.base_first, last.base_next)]


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
