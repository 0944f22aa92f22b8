r"""How a file changed between two looks at it: by lines for people, by splices for the journal.

Transcripts have up to hundreds of megabytes, and an adversary may choose their lines. So lines are
compared in bounded time: the best match is sought as long as that takes few steps, and a rough one
after that. Every result is correct; a rough one names more lines than necessary.

>>> from vacr.capture.line_changes import find_line_changes, find_splices
>>> seen, now = b"one\ntwo\nthree\n", b"one\n2\nthree\nfour\n"
>>> [str(change) for change in find_line_changes(seen, now)]  # appending is not a change
['line 2 changed']
>>> find_splices(seen, now)  # at offset 4, nine bytes became twelve
[(4, 9, b'2\nthree\nfour')]
"""

from __future__ import annotations

import bisect
import difflib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_MAX_COMPARISON_STEPS = 1 << 23
"""The most steps that are spent on finding the best match."""
_MIN_DIFF_SIZE = 1 << 12
"""In a change of fewer bytes, common lines are not worth finding."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """A change of captured lines; line numbers count from 1, as first seen."""

    first: int
    last: int
    """The number of the last line, inclusive."""
    description: str
    """What happened to the lines, such as "vanished"."""

    def __str__(self) -> str:
        """Describe the change, such as "lines 2 to 3 vanished"."""
        is_single = self.first == self.last
        lines = f"line {self.first}" if is_single else f"lines {self.first} to {self.last}"
        return f"{lines} {self.description}"


def find_line_changes(seen: bytes, now: bytes) -> Iterator[LineChange]:
    """Yield the captured lines that have changed, vanished, or have new lines before them.

    Lines added at the end are not a change, nor is the rest of a line that was half written.
    """
    if now.startswith(seen):
        return
    old, new = split_lines(seen), split_lines(now)
    is_last_half_written = not old[-1].endswith(b"\n")
    if is_last_half_written and len(new) >= len(old) and new[len(old) - 1].startswith(old[-1]):
        old.pop()
    for hunk in find_hunks(old, new):
        new_count = hunk.new_end - hunk.new_start
        if hunk.old_start == hunk.old_end and hunk.old_start < len(old):
            next_line = hunk.old_start + 1
            lines = "line" if new_count == 1 else "lines"
            yield LineChange(next_line, next_line, f"has {new_count} new {lines} before it")
        changed_end = min(hunk.old_end, hunk.old_start + new_count)
        if changed_end > hunk.old_start:
            yield LineChange(hunk.old_start + 1, changed_end, "changed")
        if hunk.old_end > changed_end:
            yield LineChange(changed_end + 1, hunk.old_end, "vanished")


def find_appended_bytes(seen: bytes, now: bytes) -> bytes:
    """Return the lines that `now` has after the captured lines, even if captured lines changed.

    For example, from `a b` to `a x c` (a letter for a line), `c` was appended. Return empty bytes
    if none was.
    """
    if now.startswith(seen):
        return now[len(seen) :]
    old, new = split_lines(seen), split_lines(now)
    *_, last = find_hunks(old, new)
    if last.old_end < len(old):
        return b""
    replaced_count = last.old_end - last.old_start
    return b"".join(new[last.new_start + replaced_count : last.new_end])


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines of some bytes, each with its newline; the last may have none."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


# --- splices ---


def find_splices(old: bytes, new: bytes) -> list[tuple[int, int, bytes]]:
    """Return splices that turn `old` into `new`: offset, number of bytes to cut, replacement.

    They are ordered from the last to the first, so that applying one does not move the offset of
    the next. A small change is one splice; a large one is divided by lines. Equal bytes give one
    splice that changes nothing.
    """
    whole = find_splice(old, new)
    _, cut, data = whole
    if cut <= _MIN_DIFF_SIZE or len(data) <= _MIN_DIFF_SIZE:
        return [whole]
    old_lines, new_lines = split_lines(old), split_lines(new)
    starts = [0, *itertools.accumulate(map(len, old_lines))]
    splices = []
    for hunk in find_hunks(old_lines, new_lines):
        hunk_start = starts[hunk.old_start]
        at, cut, data = find_splice(
            old[hunk_start : starts[hunk.old_end]],
            b"".join(new_lines[hunk.new_start : hunk.new_end]),
        )
        splices.append((hunk_start + at, cut, data))
    return splices[::-1]


def find_splice(old: bytes, new: bytes) -> tuple[int, int, bytes]:
    """Return the one splice that turns `old` into `new`: offset, bytes to cut, replacement.

    For equal bytes, it cuts and adds nothing.
    """
    front, back = _measure_common_ends(old, new)
    return front, len(old) - front - back, new[front : len(new) - back]


def _measure_common_ends(
    old: bytes | Sequence[bytes], new: bytes | Sequence[bytes]
) -> tuple[int, int]:
    """Return the lengths of the common start and of the common end.

    For example, `abcx` and `abyx` have 2 and 1 in common.
    """
    shorter = min(len(old), len(new))
    front = _find_common_length(shorter, lambda low, high: old[low:high] == new[low:high])
    back = _find_common_length(
        shorter - front,
        lambda low, high: (
            old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
        ),
    )
    return front, back


def _find_common_length(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return the greatest length, up to `most`, at which two sequences are the same.

    `is_same(low, high)` compares one range of both. Bisection compares each range at most once.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


# --- hunks ---


class HunkRanges(NamedTuple):
    """The old lines [old_start:old_end], and the new lines [new_start:new_end] in their place.

    Either range may be empty: lines were only added, or only removed.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int


_Match = tuple[int, int, int]
"""Lines that are the same in both versions: their old place, new place, and number."""


def find_hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[HunkRanges]:
    """Yield each difference between the lines of `old` and `new`, in order."""
    front, back = _measure_common_ends(old, new)
    old_start = new_start = front
    end = (len(old) - back, len(new) - back, 0)
    for old_match, new_match, size in [*_find_matches(old, new, front, back), end]:
        if old_start < old_match or new_start < new_match:
            yield HunkRanges(old_start, old_match, new_start, new_match)
        old_start, new_start = old_match + size, new_match + size


def _find_matches(
    old: Sequence[bytes], new: Sequence[bytes], front: int, back: int
) -> Iterator[_Match]:
    """Yield the matching lines of both versions, in order, between their common ends.

    `front` and `back` are the lengths of the common ends. If the best match would take too many
    steps, lines that occur once in both versions divide the problem into smaller ones.
    """
    steps_left = _MAX_COMPARISON_STEPS
    old_start = new_start = front
    old_end, new_end = len(old) - back, len(new) - back
    all_steps = _estimate_steps(old[front:old_end], new[front:new_end])
    anchors = _match_unique_lines(old, new, front, back) if all_steps > steps_left else []
    for old_anchor, new_anchor in [*anchors, (old_end, new_end)]:
        old_gap, new_gap = old[old_start:old_anchor], new[new_start:new_anchor]
        steps = _estimate_steps(old_gap, new_gap) if old_gap and new_gap else 0
        match_gap = _match_optimally if steps <= steps_left else _match_greedily
        steps_left -= min(steps, steps_left)
        for old_offset, new_offset, size in match_gap(old_gap, new_gap):
            yield old_start + old_offset, new_start + new_offset, size
        if old_anchor < old_end:
            yield old_anchor, new_anchor, 1
        old_start, new_start = old_anchor + 1, new_anchor + 1


def _estimate_steps(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """Return an upper bound for the steps that finding the best match of two versions takes."""
    old_counts, new_counts = Counter(old), Counter(new)
    pairs = sum(count * new_counts[line] for line, count in old_counts.items())
    return pairs * min(len(old), len(new))


class _UniqueLine(NamedTuple):
    """A line that occurs once in both versions, and its predecessor in the longest chain."""

    old: int
    new: int
    before: _UniqueLine | None


def _match_unique_lines(
    old: Sequence[bytes], new: Sequence[bytes], front: int, back: int
) -> list[tuple[int, int]]:
    """Return the old and new places of lines that occur once in both versions.

    It is the longest list in which both places ascend; `front` and `back` are the lengths of the
    common ends. This is patience sorting: `chains[n]` ends the chain of n + 1 lines whose old
    place is least.
    """
    old_middle, new_middle = old[front : len(old) - back], new[front : len(new) - back]
    old_counts, new_counts = Counter(old_middle), Counter(new_middle)
    old_places = {
        line: at
        for at, line in enumerate(old_middle, front)
        if old_counts[line] == new_counts[line] == 1
    }
    ends: list[int] = []
    chains: list[_UniqueLine] = []
    for new_at, line in enumerate(new_middle, front):
        if (old_at := old_places.get(line)) is not None:
            length = bisect.bisect_left(ends, old_at)
            unique = _UniqueLine(old_at, new_at, chains[length - 1] if length else None)
            ends[length : length + 1] = [old_at]
            chains[length : length + 1] = [unique]
    pairs = []
    last = chains[-1] if chains else None
    while last is not None:
        pairs.append((last.old, last.new))
        last = last.before
    return pairs[::-1]


def _match_optimally(old: Sequence[bytes], new: Sequence[bytes]) -> Iterable[_Match]:
    """Return the matching lines that `difflib` finds, which may take long."""
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()


def _match_greedily(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Match]:
    """Yield a match of each new line with the next equal old line; fast, but seldom the best."""
    places: dict[bytes, list[int]] = {}
    for at, line in enumerate(old):
        places.setdefault(line, []).append(at)
    next_old = 0
    for new_at, line in enumerate(new):
        candidates = places.get(line, ())
        index = bisect.bisect_left(candidates, next_old)
        if index < len(candidates):
            yield candidates[index], new_at, 1
            next_old = candidates[index] + 1
