"""Blocks of lines that a file and a written text share.

A file in a commit and the pieces of text that calls wrote are compared line by line. The longest
common blocks with lines that the commit added are the candidates for a claim. Line ends do not
matter.

    >>> from vacr.blame.blocks import FileVersion, find_shared_blocks
    >>> version = FileVersion("a.py", ["import os\\n", "x = 1\\n", "y = 2\\n"], {2, 3}, digest="")
    >>> [block] = find_shared_blocks([version], [["x = 1", "y = 2"]], {"x = 1": [(0, 0)]})
    >>> block.first, block.numbers
    (2, (2, 3))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, overload

from vacr.blame.claims import LineClaim
from vacr.blame.generated_files import GENERATED_HEADER_LINES, is_generated
from vacr.blame.git import CommitTimes
from vacr.edits import decode_file_text, split_keeping_ends, strip_line_end

# A line that is in more places than this does not help to find a block.
_MAX_LINE_PLACES = 64
_MAX_SLIDE = 8

PiecePlace = tuple[int, int]
"""The number of a piece, and the index of a line in it."""
FilePlace = tuple[int, int]
"""The number of a file, and the number of a line in it."""


class TextLines(Sequence[str]):
    """The lines of a text with their ends; the text is split when a line is first needed."""

    def __init__(self, data: bytes) -> None:
        """Keep the bytes of the text, and decode nothing yet."""
        self.data = data

    @property
    def text(self) -> str:
        """The whole text."""
        return decode_file_text(self.data)

    def decode_first_lines(self, count: int) -> list[str]:
        """Return the first lines without their line feeds, without decoding the others."""
        return decode_file_text(b"\n".join(self.data.split(b"\n", count)[:count])).split("\n")

    @cached_property
    def _lines(self) -> list[str]:
        """All lines."""
        return split_keeping_ends(self.text)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return one line, or a list of lines."""
        return self._lines[index]

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._lines)


class MovedLine(NamedTuple):
    """A line in the parent of a commit that moved it."""

    parent: str
    path: str
    number: int


@dataclass(slots=True)
class FileVersion:
    """A file in one commit, and the numbers of the lines that the commit added."""

    path: str
    lines: Sequence[str]
    added: Collection[int]
    """The numbers of the lines that the commit added."""
    digest: str
    """The SHA-256 of the file."""
    names: Collection[str] = ()
    """Other names that the file had."""
    wanted: Collection[int] | None = None
    """The added lines that matter to the caller; `None` for all."""
    times: CommitTimes | None = None
    """The times of the commit; `None` for the work tree, which is newer than all calls."""
    line_times: Mapping[int, CommitTimes] = field(default_factory=dict)
    """The times of lines that are older than the commit, because it only moved them."""
    moved: Mapping[int, MovedLine] = field(default_factory=dict)
    """Where the lines that the commit only moved were before."""
    shown: Mapping[int, str] = field(default_factory=dict)
    """Lines without their ends that are known without splitting the text, by their numbers."""
    is_generated: bool = False
    """Whether a program usually writes the file."""
    split: list[str] | None = None
    """The lines without their ends, once they are needed."""

    def __post_init__(self) -> None:
        """Find out who writes the file."""
        if isinstance(self.lines, TextLines):
            first_lines = self.lines.decode_first_lines(GENERATED_HEADER_LINES)
        else:
            first_lines = list(self.lines[:GENERATED_HEADER_LINES])
        self.is_generated = is_generated(self.path, first_lines)

    @property
    def bare(self) -> list[str]:
        """All lines without their ends, for comparisons."""
        if self.split is None:
            text = self.lines.text if isinstance(self.lines, TextLines) else "".join(self.lines)
            if "\r" in text:
                self.split = [strip_line_end(line) for line in self.lines]
            else:
                self.split = text.removesuffix("\n").split("\n") if text else []
        return self.split

    def get_line(self, number: int) -> str:
        """Return a line without its end; one that a diff showed needs no look at the others."""
        line = self.shown.get(number)
        return self.bare[number - 1] if line is None else line

    def list_added_lines(self) -> Iterator[str]:
        """Yield the added lines without their ends."""
        return map(self.get_line, self.added)

    def is_named(self, path: str | None) -> bool:
        """Return whether the file has or had this path in the repository."""
        return path is not None and (path == self.path or path in self.names)

    def is_wanted(self, number: int) -> bool:
        """Return whether a line matters to the caller."""
        return self.wanted is None or number in self.wanted

    def allows_call(self, number: int, claim: LineClaim) -> bool:
        """Return whether a call may have written a line: it is not later than the commit.

        A program that updates dependencies wrote the lines of its commits itself.
        """
        times = self.line_times.get(number, self.times)
        if times is None:
            return True
        return not times.is_update and claim.is_possible_at(times.committed)

    def is_removed_before(self, number: int, until: int | None) -> bool:
        """Return whether a session had removed a line before it was committed.

        `until` is when the session removed it; `None` if it did not. The work tree is later.
        """
        if until is None:
            return False
        times = self.line_times.get(number, self.times)
        return times is None or until <= min(times.authored, times.committed)

    def allows(self, number: int, claim: LineClaim, until: int | None) -> bool:
        """Return whether a call may have written a line that the session removed at `until`."""
        return self.allows_call(number, claim) and not self.is_removed_before(number, until)

    def find_neighbour(self, number: int, step: int) -> str:
        """Return the first line with letters or digits, from `number` itself in steps of 1 or -1.

        Return an empty text if all lines from there on are empty.
        """
        while 1 <= number <= len(self.bare):
            if any(map(str.isalnum, self.bare[number - 1])):
                return self.bare[number - 1]
            number += step
        return ""


@dataclass(frozen=True, slots=True)
class SharedBlock:
    """Consecutive lines that a file and a piece have in common."""

    file: int
    """The index of the file."""
    piece: int
    """The index of the piece."""
    first: int
    """The number of the first line in the file."""
    offset: int
    """The index of the first line in the piece."""
    numbers: tuple[int, ...]
    """The numbers of the lines that the commit added."""

    def get_offset(self, number: int) -> int:
        """Return the index in the piece for a line number of the file."""
        return self.offset + number - self.first

    def select_lines(self, bare: Sequence[str]) -> tuple[str, ...]:
        """Return the added lines of the block; `bare` are all lines of the file without ends."""
        return tuple(bare[number - 1] for number in self.numbers)


def find_shared_blocks(
    files: Sequence[FileVersion],
    pieces: Sequence[Sequence[str]],
    index: Mapping[str, Sequence[PiecePlace]],
) -> Iterator[SharedBlock]:
    """Yield the longest blocks with added lines that each file shares with each piece.

    `index` has the places of each line in the pieces; a line with too many places begins no block.
    """
    for file_number, file in enumerate(files):
        # Where the newest block on each diagonal of file and piece ends.
        stops: dict[PiecePlace, int] = {}
        for number in sorted(file.added):
            hits = index.get(file.get_line(number), ())
            if len(hits) > _MAX_LINE_PLACES:
                continue
            for piece, offset in hits:
                if stops.get((piece, number - offset), 0) > number:
                    continue
                first, stop = _grow_block(file.bare, pieces[piece], number, offset)
                stops[piece, number - offset] = stop
                first_offset = offset - (number - first)
                start, numbers = _slide_block(file, first, stop - first)
                if numbers:
                    yield SharedBlock(file_number, piece, start, first_offset, numbers)


def _grow_block(
    bare: Sequence[str], piece: Sequence[str], number: int, offset: int
) -> tuple[int, int]:
    """Return the first number of the longest block around a line, and the number after its last.

    The line has this number in the file, and the index `offset` in the piece.
    """
    first, stop = number, number + 1
    low, high = offset, offset + 1
    while low > 0 and first > 1 and bare[first - 2] == piece[low - 1]:
        first, low = first - 1, low - 1
    while high < len(piece) and stop <= len(bare) and bare[stop - 1] == piece[high]:
        stop, high = stop + 1, high + 1
    return first, stop


def _slide_block(file: FileVersion, first: int, count: int) -> tuple[int, tuple[int, ...]]:
    """Move a block up or down over equal lines to where the commit added most of its lines.

    Diffs differ on whether the empty line of a new function comes before or after it. Return the
    new first number, and the numbers of the added lines in the block.
    """
    best = _list_added_numbers(file, first, count)
    start = first
    for step in (-1, 1):
        place = first
        for _ in range(_MAX_SLIDE):
            if len(best) == count:
                break
            entering = place - 1 if step < 0 else place + count
            leaving = place + count - 1 if step < 0 else place
            if not 1 <= entering <= len(file.bare):
                break
            if file.bare[entering - 1] != file.bare[leaving - 1]:
                break
            place += step
            numbers = _list_added_numbers(file, place, count)
            if len(numbers) > len(best):
                best, start = numbers, place
    return start, best


def _list_added_numbers(file: FileVersion, first: int, count: int) -> tuple[int, ...]:
    """Return the numbers of the added lines among `count` lines from number `first` on."""
    return tuple(number for number in range(first, first + count) if number in file.added)


def count_occurrences(
    versions: Sequence[FileVersion],
    places: set[FilePlace],
    lines: tuple[str, ...],
    *,
    one_file: bool,
) -> int:
    """Return how often the versions in `places` have these lines, added by the commit or not.

    `places` are the places where a commit added them, and must not be empty. Other versions do not
    count. For versions of `one_file`, return the number
    of places, or the highest count in one version if that is greater.
    """
    files = Counter(file for file, _ in places)
    earlier = {file: _count_earlier_occurrences(versions[file], lines) for file in files}
    if one_file:  # a later version still has the lines that an earlier commit added
        return max(len(places), *(count + earlier[file] for file, count in files.items()))
    return len(places) + sum(earlier.values())


def _count_earlier_occurrences(version: FileVersion, lines: tuple[str, ...]) -> int:
    """Return how often a file has these lines at a place where the commit did not add them."""
    count, index = 0, -1
    while True:
        try:
            index = version.bare.index(lines[0], index + 1)
        except ValueError:
            return count
        is_equal = tuple(version.bare[index : index + len(lines)]) == lines
        if is_equal and index + 1 not in version.added:
            count += 1
