"""Lines that a commit only moved or re-indented.

Git reports a moved line twice: as a removed and as an added line. Like `git blame -w -M -C`,
this module pairs them: a line that changed only in its blanks, a block of 20 letters and digits
that moved within its file, and one of 40 that came from another file of the commit.

    >>> from vacr.blame.moves import ChangedLines, find_moved_lines
    >>> change = ChangedLines(
    ...     removed={1: "total = compute(first, second)"},
    ...     new={2: "if y:", 3: "    total = compute(first, second)"},
    ...     hunks=[(1, 1, 1, 0), (3, 0, 2, 2)],
    ... )
    >>> find_moved_lines([change])
    [{3: (0, 1)}]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vacr.blame.line_text import count_letters, remove_blanks
from vacr.edits import NO_ORIGIN, find_line_origins

LineHunk = tuple[int, int, int, int]
"""First line and count of the old side, then of the new side, as in the header of a hunk."""

MovedFrom = tuple[int, int]
"""The index of the change that removed a line, and the number of that line before the commit."""

_MIN_LETTERS_IN_FILE = 20
_MIN_LETTERS_FROM_FILE = 40
# A removed line that is in more places than this begins no block.
_MAX_PLACES = 64


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """The lines of a file that a commit changed, without their ends, and the hunks between."""

    removed: Mapping[int, str]
    """The removed lines, by their numbers before the commit."""
    new: Mapping[int, str]
    """The added lines, by their numbers after the commit."""
    hunks: Sequence[LineHunk]


def find_moved_lines(changes: Sequence[ChangedLines]) -> list[dict[int, MovedFrom]]:
    """Return for each changed file of a commit the lines that only moved, by their numbers.

    Each maps to the change that removed it, and its old number.
    """
    files = [_MovedFile(index, change) for index, change in enumerate(changes)]
    for file in files:
        file.pair_reindented_lines()
    for file in files:
        file.take_blocks(file, _MIN_LETTERS_IN_FILE)
    for file in files:
        for other in files:
            if other is not file and file.has_open_lines:
                file.take_blocks(other, _MIN_LETTERS_FROM_FILE)
    return [file.moved for file in files]


class _MovedFile:
    """One file of a commit, while its added lines are paired with removed ones."""

    def __init__(self, index: int, change: ChangedLines) -> None:
        self.index, self.change = index, change
        self.moved: dict[int, MovedFrom] = {}
        self.removed = {
            number for first, count, _, _ in change.hunks for number in range(first, first + count)
        }
        self.added = {
            number for _, _, first, count in change.hunks for number in range(first, first + count)
        }
        # The changed lines without blanks, by their numbers.
        self.old = {number: remove_blanks(change.removed[number]) for number in self.removed}
        self.new = {number: remove_blanks(change.new[number]) for number in self.added}

    @property
    def has_open_lines(self) -> bool:
        """Whether added lines are left that did not move."""
        return len(self.added) > len(self.moved)

    def pair_reindented_lines(self) -> None:
        """Pair the lines of each hunk that differ only in blanks."""
        for old_first, old_count, first, count in self.change.hunks:
            old = [self.old[number] for number in range(old_first, old_first + old_count)]
            new = [self.new[number] for number in range(first, first + count)]
            if not old or not new:
                continue
            for at, origin in enumerate(find_line_origins(old, new)):
                if origin != NO_ORIGIN and count_letters(new[at]):
                    self.moved[first + at] = self.index, old_first + origin
                    self.removed.discard(old_first + origin)

    def take_blocks(self, source: _MovedFile, min_letters: int) -> None:
        """Pair blocks of added lines with removed lines of a file that have enough letters."""
        places: dict[str, list[int]] = defaultdict(list)
        for number in source.removed:
            places[source.old[number]].append(number)
        open_lines = self.added - self.moved.keys()
        beginnings = [number for number in open_lines if self.new[number] in places]
        for first in sorted(beginnings):
            if first in self.moved or len(places[self.new[first]]) > _MAX_PLACES:
                continue
            blocks = (
                list(self._grow_block(first, number, source)) for number in places[self.new[first]]
            )
            best = max(blocks, key=self._count_block_letters, default=[])
            if self._count_block_letters(best) >= min_letters:
                for number, origin in best:
                    self.moved[number] = source.index, origin
                    source.removed.discard(origin)

    def _grow_block(self, first: int, origin: int, source: _MovedFile) -> Iterator[tuple[int, int]]:
        """Yield the pairs of added and removed lines that are equal from two lines on."""
        number = first
        while (
            number in self.added
            and number not in self.moved
            and origin in source.removed
            and self.new[number] == source.old[origin]
        ):
            yield number, origin
            number, origin = number + 1, origin + 1

    def _count_block_letters(self, block: Sequence[tuple[int, int]]) -> int:
        """Return the number of letters and digits in a block of paired lines."""
        return sum(count_letters(self.new[number]) for number, _ in block)
