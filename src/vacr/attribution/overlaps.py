"""Blocks of lines that files and pieces of sessions have in common. Step: blame."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

# A line that stands in more places than this tells nothing about where a block is.
_COMMON = 64
_LONG = 20
_ENOUGH = 8
# What a block has to have in another file than the one that was written: enough to be no phrase
# that everybody writes.
_LINES_ELSEWHERE, _LONG_ELSEWHERE = 3, 50
_SLIDE = 8


class Lines(Protocol):
    """A file: its lines without their ends, and the numbers of those that are asked for."""

    bare: list[str]
    added: Collection[int]


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines that a file and a piece have in common; `numbers` are those that were asked
    for.
    """

    file: int
    piece: int
    first: int
    at: int
    numbers: tuple[int, ...]

    def place(self, number: int) -> int:
        """Give the place in the piece of a line of the file."""
        return self.at + number - self.first

    def lines(self, bare: Sequence[str]) -> tuple[str, ...]:
        """Give the lines that were asked for."""
        return tuple(bare[number - 1] for number in self.numbers)


def blocks_of(
    files: Sequence[Lines],
    pieces: Sequence[Sequence[str]],
    index: Mapping[str, Sequence[tuple[int, int]]],
) -> Iterator[Block]:
    """Give the longest blocks that each file has in common with each piece, as far as lines were
    asked for.
    """
    for name, file in enumerate(files):
        done: dict[tuple[int, int], int] = {}
        for number in sorted(file.added):
            hits = index.get(file.bare[number - 1], ())
            if len(hits) > _COMMON:
                continue
            for piece, at in hits:
                if done.get((piece, number - at), 0) > number:
                    continue
                first, stop = _grown(file.bare, pieces[piece], number, at)
                done[piece, number - at] = stop
                block = _slid(file, name, piece, first, at - (number - first), stop - first)
                if block.numbers:
                    yield block


def _grown(bare: Sequence[str], piece: Sequence[str], number: int, at: int) -> tuple[int, int]:
    first, stop = number, number + 1
    low, high = at, at + 1
    while low > 0 and first > 1 and bare[first - 2] == piece[low - 1]:
        first, low = first - 1, low - 1
    while high < len(piece) and stop <= len(bare) and bare[stop - 1] == piece[high]:
        stop, high = stop + 1, high + 1
    return first, stop


def _slid(file: Lines, name: int, piece: int, first: int, at: int, count: int) -> Block:
    """Move a block over equal lines to where the commit has it: what one diff puts before a
    function, another puts behind it.
    """
    best = _asked(file, first, count)
    start = first
    for step in (-1, 1):
        place = first
        for _ in range(_SLIDE):
            if len(best) == count:
                break
            edge = place - 1 if step < 0 else place + count
            other = place + count - 1 if step < 0 else place
            if not 1 <= edge <= len(file.bare) or file.bare[edge - 1] != file.bare[other - 1]:
                break
            place += step
            asked = _asked(file, place, count)
            if len(asked) > len(best):
                best, start = asked, place
    return Block(name, piece, start, at, best)


def _asked(file: Lines, first: int, count: int) -> tuple[int, ...]:
    return tuple(number for number in range(first, first + count) if number in file.added)


def telling(lines: Sequence[str], *, same_path: bool, whole: bool) -> bool:
    """Tell whether lines say enough to be known again."""
    letters = [sum(map(str.isalnum, line)) for line in lines]
    full = sum(len("".join(line.split())) for line in lines)
    said = sum(count > 0 for count in letters)
    if not same_path:
        return full >= _LONG_ELSEWHERE and said >= _LINES_ELSEWHERE
    if len(lines) == 1:
        return full >= _LONG and said > 0
    return sum(letters) >= _ENOUGH or (said > 1 and (whole or full >= _LONG))


def shares(ours: str, theirs: str) -> bool:
    """Tell whether a good part of a line is left in another: half of the longer, at its beginning
    and its end.
    """
    one, other = "".join(ours.split()), "".join(theirs.split())
    if not one or not other:
        return False
    shorter = min(len(one), len(other))
    front = 0
    while front < shorter and one[front] == other[front]:
        front += 1
    back = 0
    while back < shorter - front and one[-1 - back] == other[-1 - back]:
        back += 1
    return 2 * (front + back) >= max(len(one), len(other)) and front + back > 1
