"""How lines became others: which stayed, and which came for which, in bounded time."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

_COMPARABLE = 1 << 23
"""So many steps are taken to find the best way in which lines became others."""


class Hunk(NamedTuple):
    """Lines from `first` to before `end`, for which others stand now, from `begins` to before
    `stops`.
    """

    first: int
    end: int
    begins: int
    stops: int


def hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Hunk]:
    """Compare lines; very many that differ are compared roughly, for the best way would
    take long.
    """
    shorter = min(len(old), len(new))
    front = common(shorter, lambda low, high: old[low:high] == new[low:high])
    back = common(
        shorter - front,
        lambda low, high: (
            old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
        ),
    )
    first, begins = front, front
    for at, found, size in [*_same(old, new, front, back), (len(old) - back, len(new) - back, 0)]:
        if first < at or begins < found:
            yield Hunk(first, at, begins, found)
        first, begins = at + size, found + size


def _same(
    old: Sequence[bytes], new: Sequence[bytes], front: int, back: int
) -> Iterator[tuple[int, int, int]]:
    """Give lines that are the same, each with its two places; between those that are there once,
    others are looked for.
    """
    steps = _COMPARABLE
    first = begins = front
    end, stops = len(old) - back, len(new) - back
    whole = _steps(old[front:end], new[front:stops])
    anchors = _anchors(old, new, front, back) if whole > steps else []
    for at, found in [*anchors, (end, stops)]:
        rest, now = old[first:at], new[begins:found]
        cost = _steps(rest, now) if rest and now else 0
        matching = _best_matching if cost <= steps else _matching
        steps -= min(cost, steps)
        for one, other, size in matching(rest, now):
            yield first + one, begins + other, size
        if at < end:
            yield at, found, 1
        first, begins = at + 1, found + 1


def _steps(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """Tell how many steps the best way may take at most."""
    before, after = Counter(old), Counter(new)
    return sum(count * after[line] for line, count in before.items()) * min(len(old), len(new))


def _anchors(
    old: Sequence[bytes], new: Sequence[bytes], front: int, back: int
) -> list[tuple[int, int]]:
    """Give as many as can be of the lines that are there once, and stand in the same order."""
    before, after = Counter(old[front : len(old) - back]), Counter(new[front : len(new) - back])
    places = {
        line: at
        for at, line in enumerate(old[front : len(old) - back], front)
        if before[line] == after[line] == 1
    }
    ends: list[int] = []
    chains: list[_Anchor] = []
    for found, line in enumerate(new[front : len(new) - back], front):
        if (at := places.get(line)) is not None:
            length = bisect.bisect_left(ends, at)
            one = _Anchor(at, found, chains[length - 1] if length else None)
            ends[length : length + 1], chains[length : length + 1] = [at], [one]
    result = []
    last = chains[-1] if chains else None
    while last is not None:
        result.append((last.at, last.found))
        last = last.before
    return result[::-1]


class _Anchor(NamedTuple):
    """A line that is there once, before and now, and the one before it in the longest chain of such
    lines.
    """

    at: int
    found: int
    before: _Anchor | None


def _best_matching(old: Sequence[bytes], new: Sequence[bytes]) -> Iterable[tuple[int, int, int]]:
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()


def _matching(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int]]:
    """Give lines that are the same, each with its two places: the next that is found, be there
    better ones or not.
    """
    places: dict[bytes, list[int]] = {}
    for at, line in enumerate(old):
        places.setdefault(line, []).append(at)
    after = 0
    for found, line in enumerate(new):
        there = places.get(line, ())
        at = bisect.bisect_left(there, after)
        if at < len(there):
            yield there[at], found, 1
            after = there[at] + 1


def common(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Give the largest size up to which something is the same, by halves; each is compared once."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
