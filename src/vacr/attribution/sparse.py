"""What is known of one file while its sessions are replayed. Step: attribute.

A session shows parts of a file: a window of lines, a hunk, a whole text. What is known is kept as chunks at known places; nothing is assumed of
the lines between them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution import drift
from vacr.attribution.chunks import Chunk, Ranges, ranges_of
from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare, lines_of


@dataclass(slots=True)
class SparseFile:
    """The known chunks of a file, in order and apart; `length` is the number of its lines where that is known."""

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
        return chunk.text if len(self.chunks) == 1 and chunk.first == 1 and len(chunk.lines) == self.length else None

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
        """Take the places of all lines as uncertain, because a change happened at an unknown one."""
        self.length = None
        for chunk in self.chunks:
            chunk.sure = False

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
        marks = [maker if i == NEW else known[i][1] for i in found]
        base_next = self.chunks[-1].base_next if self.chunks else 1
        self.chunks = [Chunk(1, lines, marks, 1, base_next, True, text)] if lines else []
        self.length = len(lines)
        return ranges_of([number for number, i in enumerate(found, 1) if i == NEW])

    def observe(self, first: int, seen: Sequence[str], maker: int) -> bool:
        """Take in lines that a session showed, from the line numbered `first`; what does not fit is the maker's.

        Gives whether all of it fitted.
        """
        if not seen:
            return True
        touching = [chunk for chunk in self.chunks if chunk.first <= first + len(seen) and chunk.next >= first]
        fits = self._fits(touching, first, seen)
        if fits:
            self._fill(touching, first, seen)
        else:
            self._realign(first, seen, maker)
        return fits

    def observe_whole(self, text: str, maker: int) -> bool:
        """Take in the text of the whole file; what does not fit is the maker's. Gives whether all of it fitted."""
        if self.text == text:
            return True
        lines = lines_of(text)
        past = bool(self.chunks) and self.chunks[-1].next > len(lines) + 1
        fits = not past and self.length in (None, len(lines)) and self._fits(self.chunks, 1, lines)
        if lines and fits:
            self._fill(self.chunks[:], 1, lines)
        elif lines:
            self._realign(1, lines, maker, whole=True)
        else:
            self.chunks = []
        self.length = len(lines)
        if lines and self.chunks[0].lines[-1] != lines[-1]:  # a listing does not show how the last line ends; the whole text does
            self.chunks[0].lines[-1] = lines[-1]
            self.chunks[0]._text = None  # noqa: SLF001
        return fits

    def _fits(self, touching: Sequence[Chunk], first: int, seen: Sequence[str]) -> bool:
        if self.length is not None and first + len(seen) - 1 > self.length:
            return False
        for chunk in touching:
            for number in range(max(chunk.first, first), min(chunk.next, first + len(seen))):
                known, line = chunk.lines[number - chunk.first], seen[number - first]
                if known != line and bare(known) != bare(line):
                    return False
        return True

    def _fill(self, touching: Sequence[Chunk], first: int, seen: Sequence[str]) -> None:
        """Join the chunks that the lines touch, with the lines between them as the base has them."""
        stop = first + len(seen)
        if len(touching) == 1 and touching[0].first <= first and touching[0].next >= stop:
            touching[0].sure = True
            return
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
        self.chunks = sorted([*(chunk for chunk in self.chunks if chunk not in touching), merged], key=lambda chunk: chunk.first)

    def _append(self, chunk: Chunk, seen: Sequence[str]) -> None:
        for line in seen:
            chunk.lines.append(line)
            chunk.marks.append(chunk.base_next)
            self.base.setdefault(chunk.base_next, line)
            chunk.base_next += 1

    def _base_at(self, number: int) -> int:
        before = [chunk for chunk in self.chunks if chunk.next <= number]
        return before[-1].base_next + number - before[-1].next if before else number

    def _realign(self, first: int, seen: Sequence[str], maker: int, *, whole: bool = False) -> None:
        """Put lines that do not fit in the place of those they overlap."""
        known = [(chunk.first + i, chunk.lines[i], chunk.marks[i]) for chunk in self.chunks for i in range(len(chunk.lines))]
        found = drift.aligned([line for _, line, _ in known], seen)
        theirs = set(drift.outside(found, self._apart(known), len(known)))
        stop = first + len(seen)
        matched = [(y, i) for y, i in enumerate(found) if i != NEW]
        head = [entry for entry in known[: matched[0][1] if matched else None] if entry[0] < first]
        tail = [entry for entry in known if entry[0] >= stop] if not matched else []
        shift = 0
        if matched:
            (top, low), (bottom, high) = matched[0], matched[-1]
            shift = first + bottom - known[high][0]
            tail = [(number + shift, line, mark) for number, line, mark in known[high + 1 :] if number + shift >= stop]
            if first + top != known[low][0]:
                head = []
        placed = []
        for i, (origin, line) in enumerate(zip(found, seen, strict=True)):
            if origin != NEW:
                placed.append((first + i, line if line.strip() != known[origin][1].strip() else known[origin][1], known[origin][2]))
            else:
                placed.append((first + i, line, maker if i in theirs else 0))
        self._place(placed if whole else [*head, *placed, *tail])
        if self.length is not None:
            self.length = max(self.length + shift, self.chunks[-1].next - 1)

    def _apart(self, known: Sequence[tuple[int, str, int]]) -> Callable[[int, int], bool]:
        """Give what tells whether unknown lines lie between two known ones."""
        numbers = [0, *(number for number, _, _ in known)]
        numbers.append(self.length + 1 if self.length is not None else numbers[-1] + 2)

        def apart(low: int, high: int) -> bool:
            return numbers[high + 1] - numbers[low + 1] != high - low

        return apart

    def _place(self, placed: Sequence[tuple[int, str, int]]) -> None:
        """Make chunks of numbered lines; a line without a mark is one of the base that was not known before."""
        self.chunks = []
        for number, line, mark in placed:
            if not self.chunks or self.chunks[-1].next != number:
                base = self._base_at(number)
                self.chunks.append(Chunk(number, [], [], base, base))
            chunk = self.chunks[-1]
            if mark > 0:
                chunk.base_next = mark
            if mark >= 0:
                self._append(chunk, (line,))
            else:
                chunk.lines.append(line)
                chunk.marks.append(mark)
