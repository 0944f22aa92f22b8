"""What is left of a session's work, compared with the base. Step: attribute.

Lines that a session made and that are the base's lines again are given back: a revert leaves no trace. The gross history keeps it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from vacr.attribution.chunks import Chunk
from vacr.attribution.diff import NEW, origins

if TYPE_CHECKING:
    from vacr.attribution.sparse import SparseFile


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive lines of one maker."""

    first: int
    last: int
    maker: int
    text: str
    fresh: bool


def settle(file: SparseFile) -> None:
    """Give back the lines that are the base's again."""
    numbers = file.order
    for chunk in file.chunks:
        before, at = chunk.base_first - 1, 0
        while at < len(chunk.marks):
            if chunk.marks[at] > 0:
                before, at = chunk.marks[at], at + 1
                continue
            stop = at
            while stop < len(chunk.marks) and chunk.marks[stop] <= 0:
                stop += 1
            after = chunk.marks[stop] if stop < len(chunk.marks) else chunk.base_next
            _give_back(file, chunk, at, stop, numbers[bisect_right(numbers, before) : bisect_left(numbers, after)])
            at = stop


def _give_back(file: SparseFile, chunk: Chunk, at: int, stop: int, numbers: Sequence[int]) -> None:
    if not numbers:
        return
    for i, origin in enumerate(origins([file.base[number] for number in numbers], chunk.lines[at:stop]), at):
        if origin != NEW:
            chunk.marks[i] = numbers[origin]


def runs(file: SparseFile) -> Iterator[Run]:
    """Give the runs of lines that the base does not have, each of one maker."""
    for chunk in file.chunks:
        makers = [mark if mark < 0 else file.outside.get(mark, 0) for mark in chunk.marks]
        at = 0
        for maker, same in groupby(makers):
            stop = at + sum(1 for _ in same)
            if maker:
                yield Run(chunk.first + at, chunk.first + stop - 1, maker, "".join(chunk.lines[at:stop]), chunk.fresh)
            at = stop
