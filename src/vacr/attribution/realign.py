"""A look at a file that contradicts what is known of it. Step: attribute.

The lines that are the same stay what they are; what took the place of others is the work of
somebody outside; what was unknown before is the base's. The lines around the look stay a guess,
moved as its edges have moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vacr.attribution import drift, net
from vacr.attribution.chunks import STEP, Chunk
from vacr.attribution.diff import NEW
from vacr.attribution.text import bare

if TYPE_CHECKING:
    from vacr.attribution.sparse import SparseFile


def realign(
    file: SparseFile, first: int, seen: Sequence[str], maker: int, *, whole: bool = False
) -> None:
    """Put lines in the place of the stale ones that they contradict, which stay what they are where
    they are the same.

    When the `whole` file was known, each line that it did not have is new.
    """
    net.settle(
        file, ended=False
    )  # what was reverted is nobody's again, before its neighbours change
    fresh = [chunk for chunk in file.chunks if chunk.fresh]
    known = [
        (chunk, i) for chunk in file.chunks if not chunk.fresh for i in range(len(chunk.lines))
    ]
    numbers = [chunk.first + i for chunk, i in known]
    found = drift.aligned(
        [chunk.lines[i] for chunk, i in known], seen, [chunk.makers[i] for chunk, i in known]
    )
    window = Chunk(first, list(seen), [0] * len(seen), [0] * len(seen), 0)
    laid_out: dict[int, int] = {}
    for at, origin in enumerate(found):
        if origin != NEW:
            chunk, i = known[origin]
            window.makers[at] = chunk.makers[i]
            if chunk.makers[i] or bare(chunk.lines[i]) == bare(seen[at]):
                window.places[at] = chunk.places[i]
            else:
                laid_out[at] = chunk.places[i]  # it stays nobody's, in either layout
    theirs = drift.outside(found, _never if whole else _apart(numbers), len(known))
    for chunk in fresh:
        for number in range(max(chunk.first, first), min(chunk.next, window.next)):
            i, at = number - chunk.first, number - first
            window.makers[at], window.places[at] = chunk.makers[i], chunk.places[i]
    _ascend(window.places)
    after = [chunk.place_first for chunk in fresh if chunk.first >= window.next]
    low = file.place_before(first, next((place for place in window.places if place), None))
    window.places = file.base.settled(window.places, seen, low, after[0] if after else None)
    for at, place in laid_out.items():
        if place in file.outside:
            file.outside[window.places[at]] = file.outside[place]
    for at, near in theirs.items():
        if not window.makers[at]:
            file.outside[window.places[at]] = maker
            _mix(file, window.places[at], seen[at], [known[i] for i in near])
    window.place_next = window.places[-1] + STEP
    file.put(
        [
            *_joined(fresh, window),
            *(chunk for chunk in fresh if chunk.next < first or chunk.first > window.next),
        ]
    )
    _around(
        file,
        known,
        numbers,
        [(i, origin) for i, origin in enumerate(found) if origin != NEW],
        first,
    )


def lay_out(file: SparseFile, chunk: Chunk, i: int, line: str) -> None:
    """Take in that somebody laid out a line; it stays whose it is."""
    if not chunk.makers[i]:
        place = chunk.places[i]
        above = chunk.places[i + 1] if i + 1 < len(chunk.places) else chunk.place_next
        (chunk.places[i],) = file.base.settled([0], [line], place, above)
        if place in file.outside:
            file.outside[chunk.places[i]] = file.outside[place]
    chunk.spell(i, line)


def _mix(file: SparseFile, place: int, line: str, before: Sequence[tuple[Chunk, int]]) -> None:
    """Keep whose line it was that somebody outside changed in part."""
    for chunk, i in before:
        if chunk.makers[i] and drift.alike(chunk.lines[i], line):
            file.mixed[place] = chunk.makers[i]
            return


def _around(
    file: SparseFile,
    known: Sequence[tuple[Chunk, int]],
    numbers: Sequence[int],
    matched: Sequence[tuple[int, int]],
    first: int,
) -> None:
    """Keep the stale lines around a window, moved as its edges have moved."""
    if matched:
        (top, low), (bottom, high) = matched[0], matched[-1]
        up, down, high = first + top - numbers[low], first + bottom - numbers[high], high + 1
    else:
        low = high = sum(number < first for number in numbers)
        up = down = 0
    moved = [(n + up, one) for n, one in zip(numbers[:low], known[:low], strict=True)]
    moved += [(n + down, one) for n, one in zip(numbers[high:], known[high:], strict=True)]
    pieces: list[Chunk] = []
    for number, (chunk, i) in moved:
        if number < 1 or any(other.first <= number < other.next for other in file.chunks):
            continue
        if not pieces or pieces[-1].next != number:
            pieces.append(Chunk(number, [], [], [], 0, fresh=False))
        pieces[-1].lines.append(chunk.lines[i])
        pieces[-1].makers.append(chunk.makers[i])
        pieces[-1].places.append(chunk.places[i])
        pieces[-1].place_next = chunk.places[i] + STEP
    file.put(file.chunks + pieces)


def _ascend(places: list[int]) -> None:
    """Let go of places that would not grow from line to line."""
    last = 0
    for i, place in enumerate(places):
        if place and place <= last:
            places[i] = 0
        last = max(last, place)


def _joined(fresh: Sequence[Chunk], window: Chunk) -> list[Chunk]:
    """Join a window with the chunks that it touches and agrees with."""
    before = next((chunk for chunk in fresh if chunk.first < window.first <= chunk.next), None)
    after = next((chunk for chunk in fresh if chunk.first <= window.next < chunk.next), None)
    cut = window.first - before.first if before else 0
    left = window.next - after.first if after else 0
    return [
        Chunk(
            before.first if before else window.first,
            [
                *(before.lines[:cut] if before else ()),
                *window.lines,
                *(after.lines[left:] if after else ()),
            ],
            [
                *(before.makers[:cut] if before else ()),
                *window.makers,
                *(after.makers[left:] if after else ()),
            ],
            [
                *(before.places[:cut] if before else ()),
                *window.places,
                *(after.places[left:] if after else ()),
            ],
            after.place_next if after else window.place_next,
        )
    ]


def _never(_low: int, _high: int) -> bool:
    return False


def _apart(numbers: Sequence[int]) -> Callable[[int, int], bool]:
    """Give what tells whether unknown lines may lie between two known ones."""

    def apart(low: int, high: int) -> bool:
        if low < 0 or high >= len(numbers):
            return True
        return numbers[high] - numbers[low] != high - low

    return apart
