"""Claims about lines, carried from old commits to the commits that replace them.

A rebase, squash, amend or cherry-pick makes new commits with the same lines at other places. A
claim moves with its line by content alone. Equal lines are aligned by a diff. A claim is carried
only inside a block of consecutive equal lines with at least one line that is unique in both files;
so a lone brace never takes the claim of another one. A line that an old commit added without a
claim takes none, even if an older commit claimed the same text.

    >>> from vacr.blame.carry import CarriedFile, carry_claims
    >>> lines = ["def total(lines):", "    return sum(lines)", ""]
    >>> old = CarriedFile("total.py", lines, {1, 2, 3}, {1: "ai", 2: "ai"})
    >>> carry_claims([old], "total.py", ["import os", "", *lines], {1, 2, 3, 4, 5})
    {3: 'ai', 4: 'ai'}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from vacr.blame.line_text import count_characters, count_letters
from vacr.edits import NO_ORIGIN, find_line_origins

Claim = TypeVar("Claim")

# How much text the unique line of a block needs, and how much a block needs in another file.
_MIN_ANCHOR_LETTERS = 4
_MIN_BLOCK_CHARACTERS = 20
# A diff keeps the order of lines. Further ones find blocks that moved.
_MAX_PASSES = 3


@dataclass(frozen=True, slots=True)
class CarriedFile(Generic[Claim]):
    """A file in an old commit, and the claims about its lines."""

    path: str
    lines: Sequence[str]
    """All lines without their ends."""
    added: Collection[int]
    """The numbers of the lines that the old commit added."""
    claims: Mapping[int, Claim]
    """The claims about added lines, by number."""


def carry_claims(
    olds: Sequence[CarriedFile[Claim]],
    path: str,
    lines: Sequence[str],
    added: Collection[int],
    *,
    stated: bool = True,
) -> dict[int, Claim]:
    """Return the claims about the lines that a new commit added to a file, by number.

    `olds` are files of the commits that it replaces, the oldest first. `stated` if git says that it
    replaces them. Otherwise, and for a file with another name, a block needs more text.
    """
    carried: dict[int, Claim] = {}
    for old in olds:
        is_weak = not stated or old.path != path
        for old_number, number, is_sure in _align_lines(old, lines, is_weak=is_weak):
            if number not in added or old_number not in old.added:
                continue
            claim = old.claims.get(old_number)
            if claim is None:
                carried.pop(number, None)
            elif is_sure:
                carried[number] = claim
    return dict(sorted(carried.items()))


def _align_lines(
    old: CarriedFile[Claim], lines: Sequence[str], *, is_weak: bool
) -> Iterator[tuple[int, int, bool]]:
    """Yield the numbers of equal lines in an old and a new file, and whether they are the same.

    With `is_weak`, blocks need more text.
    """
    if list(old.lines) == list(lines) and not is_weak:
        yield from ((number, number, True) for number in range(1, len(lines) + 1))
        return
    old_counts, new_counts = Counter(old.lines), Counter(lines)
    claimed_counts = Counter(old.lines[number - 1] for number in old.claims)
    for block in _find_equal_blocks(old.lines, lines):
        texts = [lines[number - 1] for _, number in block]
        is_anchored = any(
            old_counts[text] == 1
            and new_counts[text] == 1
            and count_letters(text) >= _MIN_ANCHOR_LETTERS
            for text in texts
        )
        if is_weak:
            is_anchored = is_anchored and count_characters(texts) >= _MIN_BLOCK_CHARACTERS
        for (old_number, number), text in zip(block, texts, strict=True):
            # Every old line with this text has a claim, and the new file has no more of them.
            is_always_claimed = (
                not is_weak
                and old_counts[text] == claimed_counts[text]
                and new_counts[text] <= old_counts[text]
            )
            yield old_number, number, is_anchored or is_always_claimed


def _find_equal_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[list[tuple[int, int]]]:
    """Yield blocks of consecutive equal lines: pairs of an old and a new number.

    Each line is in one block at most.
    """
    old_left, new_left = list(range(1, len(old) + 1)), list(range(1, len(new) + 1))
    for _ in range(_MAX_PASSES):
        origins = find_line_origins(
            [old[number - 1] for number in old_left], [new[number - 1] for number in new_left]
        )
        pairs = [
            (old_left[origin], number)
            for origin, number in zip(origins, new_left, strict=True)
            if origin != NO_ORIGIN
        ]
        if not pairs:
            return
        block = [pairs[0]]
        for pair in pairs[1:]:
            if pair != (block[-1][0] + 1, block[-1][1] + 1):
                yield block
                block = []
            block.append(pair)
        yield block
        old_used, new_used = {number for number, _ in pairs}, {number for _, number in pairs}
        old_left = [number for number in old_left if number not in old_used]
        new_left = [number for number in new_left if number not in new_used]
