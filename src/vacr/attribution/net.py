"""What is left of a session's work, compared with the base. Step: attribute.

Lines that a session made and that are the base's lines again are given back: a revert leaves no trace. The gross history keeps it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from vacr.attribution.chunks import Chunk
from vacr.attribution.diff import NEW, origins
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
            _give_back(file, chunk, at, stop, range(before + 1, after))
            at = stop


def _give_back(file: SparseFile, chunk: Chunk, at: int, stop: int, displaced: range) -> None:
    numbers = [number for number in displaced if number in file.base] if len(displaced) < len(file.base) else [n for n in file.base if n in displaced]
    if not numbers:
        return
    for i, origin in enumerate(origins([file.base[number] for number in numbers], chunk.lines[at:stop]), at):
        if origin != NEW:
            chunk.marks[i] = numbers[origin]


def runs(file: SparseFile) -> Iterator[Run]:
    """Give the runs of lines that the base does not have."""
    for chunk in file.chunks:
        at = 0
        while at < len(chunk.marks):
            maker, stop = chunk.marks[at], at + 1
            while stop < len(chunk.marks) and chunk.marks[stop] == maker:
                stop += 1
            if maker < 0:
                yield Run(chunk.first + at, chunk.first + stop - 1, maker, "".join(chunk.lines[at:stop]), chunk.fresh)
            at = stop if maker < 0 else at + 1
