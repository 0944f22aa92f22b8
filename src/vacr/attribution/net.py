"""What is left of a session's work, compared with the base. Step: attribute.

Lines that a session made and that are again what was there before are given back: a revert leaves
no trace but in the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from vacr.attribution.chunks import STEP, Chunk, between
from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare, level, unmarked

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
    mixed_with: int = 0
    """The agent's call that wrote the lines as they were before their maker changed them."""


def settle(file: SparseFile, *, ended: bool = True) -> None:
    """Give back the lines that are again what they were before an agent changed them; `ended` when
    their ends are known.
    """
    for chunk in file.chunks:
        _give_back_in_place(file, chunk, ended=ended)
        low, at = chunk.place_first - STEP, 0
        ordered = not any(chunk.makers) or all(one < other for one, other in pairwise(chunk.places))
        while at < len(chunk.makers):
            if not chunk.makers[at]:
                low, at = chunk.places[at], at + 1
                continue
            stop = at
            while stop < len(chunk.makers) and chunk.makers[stop]:
                stop += 1
            high = chunk.places[stop] if stop < len(chunk.places) else chunk.place_next
            # Where lines have moved, their places tell nothing.
            known = file.base.between(low, high) if ordered else file.base.order
            if known:
                _give_back(file, chunk, at, stop, known, ended=ended)
            at = stop


def _give_back_in_place(file: SparseFile, chunk: Chunk, *, ended: bool) -> None:
    """Give back the lines that are in the very places where they were."""
    for i, maker in enumerate(chunk.makers):
        known = file.base.lines.get(chunk.places[i]) if maker else None
        if known is not None and _same(known, chunk.lines[i], ended=ended):
            chunk.makers[i] = 0


def _same(known: str, line: str, *, ended: bool) -> bool:
    return known == line or (
        level([known]) == level([line]) if ended else bare(known) == bare(line)
    )


def _give_back(
    file: SparseFile, chunk: Chunk, at: int, stop: int, known: Sequence[int], *, ended: bool
) -> None:
    places = [0] * (stop - at)
    before, after = level(file.base.lines[place] for place in known), level(chunk.lines[at:stop])
    if not ended:
        before, after = [bare(line) for line in before], [bare(line) for line in after]
    for i, origin in enumerate(origins(unmarked(before), unmarked(after))):
        if origin != NEW:
            places[i], chunk.makers[at + i] = known[origin], 0
    low = chunk.places[at - 1] if at else chunk.place_first - STEP
    chunk.places[at:stop] = between(
        places, low, chunk.places[stop] if stop < len(chunk.places) else chunk.place_next
    )


def runs(file: SparseFile) -> Iterator[Run]:
    """Give the runs of lines that the base does not have, each of one maker."""
    for chunk in file.chunks:
        makers = [
            (maker or file.outside.get(place, 0), 0 if maker else file.mixed.get(place, 0))
            for maker, place in zip(chunk.makers, chunk.places, strict=True)
        ]
        at = 0
        for (maker, mixed_with), same in groupby(makers):
            stop = at + sum(1 for _ in same)
            if maker:
                yield Run(
                    chunk.first + at,
                    chunk.first + stop - 1,
                    maker,
                    "".join(chunk.lines[at:stop]),
                    chunk.fresh,
                    mixed_with,
                )
            at = stop
