"""What is known of one file while its sessions are replayed. Step: attribute.

A session shows parts of a file: a window of lines, a hunk, a whole text. What is known is kept as chunks of consecutive lines at known
places, each line with a mark that tells where it comes from: the number of the line it was in the base (counted from 1), or the
negative number of a maker. Nothing is assumed of the lines between chunks.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare, lines_of

Ranges = list[tuple[int, int]]


@dataclass(slots=True)
class Chunk:
    """Consecutive lines of a file, from the line numbered `first`."""

    first: int
    lines: list[str]
    marks: list[int]
    base_first: int
    base_next: int
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
        """Replace the text between two offsets; the lines that changes are the maker's. Gives their numbers."""
        text = self.text
        at = text.count("\n", 0, start)
        count = text.count("\n", start, stop) + 1
        opening = text.rfind("\n", 0, start) + 1
        closing = text.find("\n", stop) + 1 or len(text)
        lines = lines_of(text[opening:start] + new + text[stop:closing])
        ranges = self.splice(at, min(at + count, len(self.lines)), lines, maker)
        self._text = text[:start] + new + text[stop:]
        return ranges

    def splice(self, at: int, stop: int, new: Sequence[str], maker: int) -> Ranges:
        """Replace lines; those that differ are the maker's, the others keep their marks. Gives the numbers of the maker's lines."""
        rest = self.lines[stop:]
        old, marks = self.lines[at:], self.marks[at:]
        after = [*new, *rest]
        found = origins(old, after, len(rest))
        same = len(after) - len(found)
        self.marks[at:] = [maker if i == NEW else marks[i] for i in found] + marks[len(marks) - same :]
        self.lines[at:] = after
        self._text = None
        return _ranges(found, self.first + at)


def _signed(chunk: Chunk, first: int, signed: Sequence[str], old: int, maker: int) -> Ranges:
    at = first - chunk.first
    lines, marks, found = [], [], []
    for line in signed:
        if line[:1] == "+":
            lines.append(line[1:])
            marks.append(maker)
            found.append(NEW)
        else:
            if line[:1] != "-":
                lines.append(chunk.lines[at])
                marks.append(chunk.marks[at])
                found.append(at)
            at += 1
    start = first - chunk.first
    chunk.lines[start : start + old] = lines
    chunk.marks[start : start + old] = marks
    chunk._text = None
    return _ranges(found, first)


def _ranges(found: Sequence[int], first: int) -> Ranges:
    ranges: Ranges = []
    for number, origin in enumerate(found, first):
        if origin == NEW:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1] = (ranges[-1][0], number)
            else:
                ranges.append((number, number))
    return ranges


@dataclass(slots=True)
class SparseFile:
    """The known chunks of a file, in order and apart from each other; `length` is the number of its lines where that is known."""

    chunks: list[Chunk] = field(default_factory=list)
    length: int | None = None
    base: dict[int, str] = field(default_factory=dict)
    base_complete: bool = False

    @classmethod
    def of(cls, text: str) -> "SparseFile":
        """Make a file that is known whole, as its base has it."""
        lines = lines_of(text)
        chunk = Chunk(1, lines, list(range(1, len(lines) + 1)), 1, len(lines) + 1, text)
        return cls([chunk], len(lines), dict(enumerate(lines, 1)), base_complete=True)

    @property
    def text(self) -> str | None:
        """The whole text, or `None` while a part is not known."""
        if self.length is None:
            return None
        if self.length == 0:
            return ""
        whole = len(self.chunks) == 1 and self.chunks[0].first == 1 and len(self.chunks[0].lines) == self.length
        return self.chunks[0].text if whole else None

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

    def apply(self, first: int, signed: Sequence[str], maker: int) -> Ranges | None:
        """Apply a hunk whose old lines begin at a known place; `None` when they are not known to be there."""
        old = sum(line[:1] != "+" for line in signed)
        for chunk in self.chunks:
            if chunk.first <= first and first + old <= chunk.next:
                return self.change(chunk, lambda: _signed(chunk, first, signed, old, maker))
        return None

    def write(self, text: str, maker: int) -> Ranges:
        """Replace the whole file; lines that were known before keep their marks."""
        known = [(chunk.first, line, mark) for chunk in self.chunks for line, mark in zip(chunk.lines, chunk.marks, strict=True)]
        lines = lines_of(text)
        found = origins([line for _, line, _ in known], lines)
        marks = [maker if i == NEW else known[i][2] for i in found]
        base_next = self.chunks[-1].base_next if self.chunks else 1
        self.chunks = [Chunk(1, lines, marks, 1, base_next, text)] if lines else []
        self.length = len(lines)
        return _ranges(found, 1)

    def observe(self, first: int, seen: Sequence[str], maker: int) -> bool:
        """Take in lines that a session showed, from the line numbered `first`; what does not fit is the maker's.

        Gives whether all of it fitted.
        """
        if not seen:
            return True
        touching = self._touching(first, first + len(seen))
        if self._fits(touching, first, seen):
            self._fill(touching, first, seen)
            return True
        self._realign(first, seen, maker)
        return False

    def observe_whole(self, text: str, maker: int) -> bool:
        """Take in the text of the whole file; what does not fit is the maker's."""
        if self.text == text:
            return True
        lines = lines_of(text)
        fits = self.length in (None, len(lines)) and self._fits(self.chunks, 1, lines) and (not self.chunks or self.chunks[-1].next <= len(lines) + 1)
        if fits:
            self._fill(self.chunks[:], 1, lines)
        else:
            self.write(text, maker)
        self.length = len(lines)
        if not lines:
            self.chunks = []
        return fits

    def _touching(self, first: int, stop: int) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk.first <= stop and chunk.next >= first]

    def _fits(self, touching: Sequence[Chunk], first: int, seen: Sequence[str]) -> bool:
        if self.length is not None and first + len(seen) - 1 > self.length:
            return False
        for chunk in touching:
            start, stop = max(chunk.first, first), min(chunk.next, first + len(seen))
            for number in range(start, stop):
                a, b = chunk.lines[number - chunk.first], seen[number - first]
                if a != b and bare(a) != bare(b):
                    return False
        return True

    def _fill(self, touching: Sequence[Chunk], first: int, seen: Sequence[str]) -> None:
        if len(touching) == 1 and touching[0].first <= first and touching[0].next >= first + len(seen):
            return
        stop = first + len(seen)
        merged = Chunk(first, [], [], self._base_at(first), 0)
        merged.base_next = merged.base_first
        for chunk in touching:
            if chunk.first < first:
                merged.first, merged.base_first = chunk.first, chunk.base_first
            else:
                self._append(merged, seen[merged.next - first : chunk.first - first])
            merged.lines += chunk.lines
            merged.marks += chunk.marks
            merged.base_next = chunk.base_next
        self._append(merged, seen[merged.next - first : stop - first] if merged.next < stop else ())
        at = self.chunks.index(touching[0]) if touching else bisect_right([c.first for c in self.chunks], first)
        self.chunks[at : at + len(touching)] = [merged]

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
        """Put lines that do not fit in the place of those they overlap."""
        stop = first + len(seen)
        known = [(chunk.first + i, line, mark) for chunk in self.chunks for i, (line, mark) in enumerate(zip(chunk.lines, chunk.marks, strict=True))]
        found = origins([bare(line) for _, line, _ in known], [bare(line) for line in seen])
        matched = [i for i in found if i != NEW]
        marks = [maker if i == NEW else known[i][2] for i in found]
        lines = [line if i == NEW else known[i][1] for i, line in zip(found, seen, strict=True)]
        head = [entry for entry in known[: matched[0]] if entry[0] < first] if matched else [entry for entry in known if entry[0] < first]
        tail, shift = [], 0
        if matched:
            last = max(y for y, i in enumerate(found) if i != NEW)
            shift = first + last - known[matched[-1]][0]
            tail = [(number + shift, line, mark) for number, line, mark in known[matched[-1] + 1 :] if number + shift >= stop]
            top = first + found.index(matched[0]) - known[matched[0]][0]
            if top:
                head = []
        else:
            tail = [entry for entry in known if entry[0] >= stop]
        placed = head + [(first + i, line, mark) for i, (line, mark) in enumerate(zip(lines, marks, strict=True))] + tail
        self.chunks = _chunks(placed)
        if self.length is not None:
            self.length = max(self.length + shift, self.chunks[-1].next - 1)


def _chunks(placed: Sequence[tuple[int, str, int]]) -> list[Chunk]:
    chunks: list[Chunk] = []
    for number, line, mark in placed:
        if not chunks or chunks[-1].next != number:
            before = chunks[-1] if chunks else None
            base = before.base_next + number - before.next if before else number
            if mark > 0:
                base = mark
            chunks.append(Chunk(number, [], [], base, base))
        chunk = chunks[-1]
        chunk.lines.append(line)
        chunk.marks.append(mark)
        if mark > 0:
            chunk.base_next = mark + 1
    return chunks
