"""Changes that nobody's call explains. Step: attribute.

A look at a file that does not fit what is known is aligned with it. Lines that are there still stay what they are; so do lines
that only a formatter changed, whose tokens are the same; lines between them are the work of somebody outside.
"""

import re
from collections.abc import Callable, Sequence

from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import bare

_WORD = re.compile(r"\w+|[^\w\s]")


def aligned(known: Sequence[str], seen: Sequence[str]) -> list[int]:
    """Give for each line seen the index of the known line that it is, or `NEW`."""
    found = origins([bare(line) for line in known], [bare(line) for line in seen])
    for at, stop, low, high in _gaps(found, len(known)):
        if low < high:
            found[at:stop] = _same_tokens(known[low:high], seen[at:stop], low)
    return found


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
        gaps.append((at, stop, found[at - 1] + 1 if at else 0, found[stop] if stop < len(found) else count))
        at = stop
    return gaps


def _same_tokens(known: Sequence[str], seen: Sequence[str], shift: int) -> list[int]:
    """Match lines whose tokens are the same, laid out in another way."""
    if "".join("".join(known).split()) != "".join("".join(seen).split()):
        found = origins(["".join(line.split()) for line in known], ["".join(line.split()) for line in seen])
        return [NEW if i == NEW or not known[i].strip() else i + shift for i in found]
    ends, total = [], 0
    for line in known:
        total += len("".join(line.split()))
        ends.append(total)
    matched, at, position = [], 0, 0
    for line in seen:
        while at < len(ends) - 1 and ends[at] <= position:
            at += 1
        matched.append(at + shift)
        position += len("".join(line.split()))
    return matched


def outside(found: Sequence[int], apart: Callable[[int, int], bool], count: int) -> dict[int, range]:
    """Give the new lines that took the place of known ones, with those: where nothing unknown lies between their neighbours."""
    gaps = [gap for gap in _gaps(found, count) if not apart(gap[2] - 1, gap[3])]
    return {i: range(low, high) for at, stop, low, high in gaps for i in range(at, stop)}


def alike(before: str, after: str) -> bool:
    """Tell whether a line is another one with a part changed: more than half of its words are that one's."""
    old, new = set(_WORD.findall(before)), set(_WORD.findall(after))
    return bool(new) and 2 * len(old & new) > len(new)
