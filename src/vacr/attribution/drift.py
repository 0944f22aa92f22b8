"""Changes that nobody's call explains. Step: attribute.

A look at a file that does not fit what is known is aligned with it. Lines that are there still stay
what they are; so do lines that only a formatter changed, whose tokens are the same; lines between
them are the work of somebody outside.
"""

import re
from collections.abc import Callable, Sequence
from itertools import chain

from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare

_TOKEN = re.compile(r"\w+|[^\w\s]")


def aligned(known: Sequence[str], seen: Sequence[str], makers: Sequence[int]) -> list[int]:
    """Give for each line seen the index of the known line that it is, or `NEW`; `makers` are those
    of the known lines.
    """
    old, new = [bare(line) for line in known], [bare(line) for line in seen]
    found = origins(old, new)
    _slide(found, old, new)
    for at, stop, low, high in _gaps(found, len(known)):
        if low < high:
            same = _same_tokens(known[low:high], seen[at:stop], makers[low:high])
            found[at:stop] = [NEW if i == NEW else i + low for i in same]
    return found


def _slide(found: list[int], old: Sequence[str], new: Sequence[str]) -> None:
    """Let lines that nothing before them holds be those next to the line after them: an empty line
    may be any empty line.
    """
    stop = len(found) - 1
    while stop >= 0:
        start = stop
        while start > 0 and found[start - 1] != NEW and found[start - 1] == found[start] - 1:
            start -= 1
        by = (
            found[stop + 1] - found[stop] - 1
            if stop + 1 < len(found) and NEW not in (found[stop], found[stop + 1])
            else 0
        )
        alone = start == 0 or found[start - 1] == NEW
        if (
            by > 0
            and alone
            and new[start : stop + 1] == old[found[start] + by : found[stop] + by + 1]
        ):
            found[start : stop + 1] = [i + by for i in found[start : stop + 1]]
        stop = start - 1


def _gaps(found: Sequence[int], count: int) -> list[tuple[int, int, int, int]]:
    """Give each run of new lines, and the known lines between its neighbours."""
    gaps, at = [], 0
    while at < len(found):
        if found[at] != NEW:
            at += 1
            continue
        stop = at
        while stop < len(found) and found[stop] == NEW:
            stop += 1
        gaps.append(
            (at, stop, found[at - 1] + 1 if at else 0, found[stop] if stop < len(found) else count)
        )
        at = stop
    return gaps


def _same_tokens(known: Sequence[str], seen: Sequence[str], makers: Sequence[int]) -> list[int]:
    """Match lines whose tokens are the same, laid out in another way."""
    old, new = [_tokens(line) for line in known], [_tokens(line) for line in seen]
    if list(chain.from_iterable(old)) == list(chain.from_iterable(new)):
        return _laid_out(old, new, makers)
    found = origins([" ".join(tokens) for tokens in old], [" ".join(tokens) for tokens in new])
    return [NEW if i == NEW or not old[i] else i for i in found]


def _tokens(line: str) -> list[str]:
    return _TOKEN.findall(line)


def _laid_out(
    old: Sequence[Sequence[str]], new: Sequence[Sequence[str]], makers: Sequence[int]
) -> list[int]:
    """Match lines of the same tokens; one that joins lines of several makers is nobody's, and so is
    an empty one that is new.
    """
    sources = [i for i, tokens in enumerate(old) for _ in tokens]
    empty: dict[int, list[int]] = {}
    position = 0
    for i, tokens in enumerate(old):
        if not tokens:
            empty.setdefault(position, []).append(i)
        position += len(tokens)
    matched, position = [], 0
    for tokens in new:
        if tokens:
            joined = sources[position : position + len(tokens)]
            matched.append(joined[0] if len({makers[i] for i in joined}) == 1 else NEW)
        else:
            matched.append(empty[position].pop(0) if empty.get(position) else NEW)
        position += len(tokens)
    return matched


def outside(
    found: Sequence[int], apart: Callable[[int, int], bool], count: int
) -> dict[int, range]:
    """Give the new lines that took the place of known ones, with those: where nothing unknown lies
    between their neighbours.
    """
    gaps = [gap for gap in _gaps(found, count) if not apart(gap[2] - 1, gap[3])]
    return {i: range(low, high) for at, stop, low, high in gaps for i in range(at, stop)}


def alike(before: str, after: str) -> bool:
    """Tell whether a line is another one with a part changed: more than half of its words are that
    one's.
    """
    old, new = set(_tokens(before)), set(_tokens(after))
    return bool(new) and 2 * len(old & new) > len(new)
