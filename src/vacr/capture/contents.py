"""What a part of a session has held: its bytes after every change, and the lines that were first seen."""

from __future__ import annotations

import bisect
import difflib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_TAIL = 1 << 12
_COMPARABLE = 1 << 23
"""So many steps are taken to find the best way in which lines became others."""
_LITTLE = 1 << 12
"""So many bytes are not worth looking for what is the same in them."""


def splice(old: bytes, new: bytes) -> tuple[int, int, bytes]:
    """Say how bytes became others: from where on, how many were cut, and what came for them."""
    shorter = min(len(old), len(new))
    front = _common(shorter, lambda low, high: old[low:high] == new[low:high])
    back = _common(
        shorter - front, lambda low, high: old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
    )
    return front, len(old) - front - back, new[front : len(new) - back]


def splices(old: bytes, new: bytes) -> list[tuple[int, int, bytes]]:
    """Say how bytes became others, with few that stay the same: changes from the last to the first, to be made in that order."""
    whole = splice(old, new)
    if whole[1] <= _LITTLE or len(whole[2]) <= _LITTLE:
        return [whole]
    before, after = lines_of(old), lines_of(new)
    starts = [0, *itertools.accumulate(map(len, before))]
    found = []
    for hunk in hunks(before, after):
        at, cut, data = splice(old[starts[hunk.first] : starts[hunk.end]], b"".join(after[hunk.begins : hunk.stops]))
        found.append((starts[hunk.first] + at, cut, data))
    return found[::-1]


def _common(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Give the largest size up to which something is the same, by halves; each is compared once."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


class Content:
    """The bytes of a part as they were last seen, without the bytes themselves where those only ever grew."""

    def __init__(self, size: int = 0, lines: int = 0, tail: bytes = b"", held: bytearray | None = None) -> None:
        """Begin with what was seen."""
        self.size, self.tail = size, tail
        """How many there are, and the last of them, by which a file is known again."""
        self._lines: int | None = lines
        self._held = held
        self._added: list[bytes] = []
        """What came after the bytes that are held: putting it there takes longer than reading it did."""

    @property
    def held(self) -> bytearray | None:
        """The bytes, if they are held."""
        if self._held is not None and self._added:
            self._held += b"".join(self._added)
            self._added = []
        return self._held

    @held.setter
    def held(self, held: bytearray | None) -> None:
        self._lines = self.lines
        self._held, self._added = held, []

    @property
    def lines(self) -> int:
        """How many lines there are."""
        if self._lines is None:
            self._lines = (self.held or b"").count(b"\n")
        return self._lines

    def replace(self, held: bytearray) -> None:
        """Note that all of it is something else now."""
        self.size, self.tail = len(held), bytes(held[-_TAIL:])
        self._held, self._added, self._lines = held, [], None

    def change(self, at: int, cut: int, data: bytes) -> None:
        """Note a change; the bytes have to be held, unless it is at the end."""
        if (at, cut) == (self.size, 0):
            self.size += len(data)
            self.tail = (self.tail + data[-_TAIL:])[-_TAIL:]
            if self._held is None:
                self._lines = self.lines + data.count(b"\n")
            else:
                self._added.append(data)
                self._lines = None
            return
        held = self.held
        held = held if held is not None else bytearray()
        held[at : at + cut] = data
        self.replace(held)


@dataclass(frozen=True, slots=True)
class Change:
    """Lines that were seen, and later were others or gone, or that others came before; numbered from one, as first seen."""

    first: int
    last: int
    what: str

    def __str__(self) -> str:
        """Name the lines."""
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{lines} {self.what}"


def changes(seen: bytes, now: bytes) -> Iterator[Change]:
    """Tell which lines that were seen are others now, or gone, or have others before them that were not there.

    What was added after them is no change, nor is the rest of a line that was half written when it was seen.
    """
    if now.startswith(seen):
        return
    old, new = lines_of(seen), lines_of(now)
    if not old[-1].endswith(b"\n") and new[len(old) - 1 : len(old)] and new[len(old) - 1].startswith(old[-1]):
        old.pop()
    for hunk in hunks(old, new):
        if hunk.first == hunk.end and hunk.first < len(old):
            yield Change(hunk.first + 1, hunk.first + 1, f"has {hunk.stops - hunk.begins} new before it")
        changed = min(hunk.end, hunk.first + hunk.stops - hunk.begins)
        if changed > hunk.first:
            yield Change(hunk.first + 1, changed, "changed")
        if hunk.end > changed:
            yield Change(changed + 1, hunk.end, "vanished")


class Hunk(NamedTuple):
    """Lines from `first` to before `end`, for which others stand now, from `begins` to before `stops`."""

    first: int
    end: int
    begins: int
    stops: int


def hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Hunk]:
    """Compare lines; very many that differ are compared roughly, for the best way would take long."""
    shorter = min(len(old), len(new))
    front = _common(shorter, lambda low, high: old[low:high] == new[low:high])
    back = _common(
        shorter - front, lambda low, high: old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
    )
    first, begins = front, front
    for at, found, size in [*_same(old, new, front, back), (len(old) - back, len(new) - back, 0)]:
        if first < at or begins < found:
            yield Hunk(first, at, begins, found)
        first, begins = at + size, found + size


def _same(old: Sequence[bytes], new: Sequence[bytes], front: int, back: int) -> Iterator[tuple[int, int, int]]:
    """Give lines that are the same, each with its two places; between those that are there once, others are looked for."""
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


def _anchors(old: Sequence[bytes], new: Sequence[bytes], front: int, back: int) -> list[tuple[int, int]]:
    """Give as many as can be of the lines that are there once, and stand in the same order."""
    before, after = Counter(old[front : len(old) - back]), Counter(new[front : len(new) - back])
    places = {line: at for at, line in enumerate(old[front : len(old) - back], front) if before[line] == after[line] == 1}
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
    """A line that is there once, before and now, and the one before it in the longest chain of such lines."""

    at: int
    found: int
    before: _Anchor | None


def _best_matching(old: Sequence[bytes], new: Sequence[bytes]) -> Iterable[tuple[int, int, int]]:
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()


def _matching(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int]]:
    """Give lines that are the same, each with its two places: the next that is found, be there better ones or not."""
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


def lines_of(data: bytes) -> list[bytes]:
    """Take bytes apart into lines, each with its end."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def added(seen: bytes, now: bytes) -> bytes:
    """Give what was added after the lines that were seen, whatever became of those."""
    if now.startswith(seen):
        return now[len(seen) :]
    old, new = lines_of(seen), lines_of(now)
    *_, last = hunks(old, new)
    if last.end < len(old):
        return b""
    return b"".join(new[last.begins + last.end - last.first : last.stops])
