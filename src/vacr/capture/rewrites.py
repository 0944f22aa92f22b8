"""How bytes became others: by which splices, which lines changed, and what was added after those
that were seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from vacr.capture.hunks import common, hunks

_LITTLE = 1 << 12
"""So many bytes are not worth looking for what is the same in them."""


def splice(old: bytes, new: bytes) -> tuple[int, int, bytes]:
    """Say how bytes became others: from where on, how many were cut, and what came for them."""
    shorter = min(len(old), len(new))
    front = common(shorter, lambda low, high: old[low:high] == new[low:high])
    back = common(
        shorter - front,
        lambda low, high: (
            old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
        ),
    )
    return front, len(old) - front - back, new[front : len(new) - back]


def splices(old: bytes, new: bytes) -> list[tuple[int, int, bytes]]:
    """Say how bytes became others, with few that stay the same: changes from the last to the first,
    to be made in that order.
    """
    whole = splice(old, new)
    if whole[1] <= _LITTLE or len(whole[2]) <= _LITTLE:
        return [whole]
    before, after = lines_of(old), lines_of(new)
    starts = [0, *itertools.accumulate(map(len, before))]
    found = []
    for hunk in hunks(before, after):
        at, cut, data = splice(
            old[starts[hunk.first] : starts[hunk.end]], b"".join(after[hunk.begins : hunk.stops])
        )
        found.append((starts[hunk.first] + at, cut, data))
    return found[::-1]


@dataclass(frozen=True, slots=True)
class Change:
    """Lines that were seen, and later were others or gone, or that others came before; numbered
    from one, as first seen.
    """

    first: int
    last: int
    what: str

    def __str__(self) -> str:
        """Name the lines."""
        lines = (
            f"line {self.first}"
            if self.first == self.last
            else f"lines {self.first} to {self.last}"
        )
        return f"{lines} {self.what}"


def changes(seen: bytes, now: bytes) -> Iterator[Change]:
    """Tell which lines that were seen are others now, or gone, or have others before them that were
    not there.

    What was added after them is no change, nor is the rest of a line that was half written when it
    was seen.
    """
    if now.startswith(seen):
        return
    old, new = lines_of(seen), lines_of(now)
    if (
        not old[-1].endswith(b"\n")
        and new[len(old) - 1 : len(old)]
        and new[len(old) - 1].startswith(old[-1])
    ):
        old.pop()
    for hunk in hunks(old, new):
        if hunk.first == hunk.end and hunk.first < len(old):
            yield Change(
                hunk.first + 1, hunk.first + 1, f"has {hunk.stops - hunk.begins} new before it"
            )
        changed = min(hunk.end, hunk.first + hunk.stops - hunk.begins)
        if changed > hunk.first:
            yield Change(hunk.first + 1, changed, "changed")
        if hunk.end > changed:
            yield Change(changed + 1, hunk.end, "vanished")


def added(seen: bytes, now: bytes) -> bytes:
    """Give what was added after the lines that were seen, whatever became of those."""
    if now.startswith(seen):
        return now[len(seen) :]
    old, new = lines_of(seen), lines_of(now)
    *_, last = hunks(old, new)
    if last.end < len(old):
        return b""
    return b"".join(new[last.begins + last.end - last.first : last.stops])


def lines_of(data: bytes) -> list[bytes]:
    """Take bytes apart into lines, each with its end."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])
