"""Looks that hold only of some files. Step: attribute."""

from collections.abc import Sequence
from dataclasses import replace

from vacr.attribution.events import Observe
from vacr.attribution.sparse import SparseFile
from vacr.attribution.text import bare

MOST = 10  # looks at one file that wait for another one
_NEAR = 20  # empty lines that may be missing before a look; nobody writes more


def settled(file: SparseFile, look: Observe) -> Observe | None:
    """Give a look as it holds of a file; `None` when that is not certain."""
    if look.least and not _reaches(file, look.least):
        return None
    if not look.slack:
        return look
    for fresh in (True, False):
        fits = [by for by in range(min(look.slack, _NEAR) + 1) if _fits(file, look.first, by, look.lines, fresh=fresh)]
        if len(fits) == 1:
            return replace(look, first=look.first + fits[0], slack=0)
    return replace(look, slack=0) if look.first == 1 else None  # hardly a file begins with an empty line


def _reaches(file: SparseFile, number: int) -> bool:
    return any(chunk.fresh and chunk.next > number for chunk in file.chunks)


def _fits(file: SparseFile, start: int, by: int, lines: Sequence[str], *, fresh: bool) -> bool:
    """Tell whether known lines say that lines stand after so many empty ones, and none says they do not."""
    same, first = 0, start + by
    for chunk in [chunk for chunk in file.chunks if chunk.fresh is fresh]:
        for number in range(max(chunk.first, first), min(chunk.next, first + len(lines))):
            known, seen = bare(chunk.lines[number - chunk.first]), bare(lines[number - first])
            if known != seen:
                return False
            same += bool(seen.strip())
        if any(bare(chunk.lines[number - chunk.first]) for number in range(max(chunk.first, start), min(chunk.next, first))):
            return False
    return same > 0
