"""Looks that hold only of some files. Step: attribute."""

from dataclasses import replace

from vacr.attribution.events import Observe
from vacr.attribution.sparse import SparseFile
from vacr.attribution.text import as_shown, bare

MOST = 10  # looks at one file that wait for another one
_NEAR = 20  # empty lines that may be missing before a look; nobody writes more


def settled(file: SparseFile, look: Observe) -> Observe | None:
    """Give a look as it holds of a file; `None` when that is not certain."""
    if look.least and not _reaches(file, look.least):
        return None
    if not look.slack:
        return _indented(file, look)
    for fresh in (True, False):
        fits = [
            by for by in range(min(look.slack, _NEAR) + 1) if _fits(file, look, by, fresh=fresh)
        ]
        if len(fits) == 1:
            return _indented(file, replace(look, first=look.first + fits[0], slack=0))
    return (
        _indented(file, replace(look, slack=0)) if look.first == 1 else None
    )  # hardly a file begins with an empty line


def counts_others(file: SparseFile, look: Observe) -> bool:
    """Tell whether a host counts other lines than those of a file that is known whole: then
    something happened to it.
    """
    text = file.text if look.total else None
    return text is not None and look.total != text.count("\n") + 1


def _indented(file: SparseFile, look: Observe) -> Observe:
    """Give a look with its first line indented as it is known to be; without it where that is not
    known.
    """
    if not look.trimmed or not look.lines:
        return look
    known = file.line(look.first)
    if known is not None and _shown(known).lstrip() == bare(look.lines[0]):
        return replace(look, lines=[known, *look.lines[1:]], trimmed=False)
    if (
        known is not None or look.first == 1
    ):  # it is another one; hardly a file begins with an indented line
        return replace(look, trimmed=False)
    return replace(look, first=look.first + 1, lines=look.lines[1:], trimmed=False)


def _shown(line: str) -> str:
    return bare(as_shown(line))


def _reaches(file: SparseFile, number: int) -> bool:
    return any(chunk.fresh and chunk.next > number for chunk in file.chunks)


def _fits(file: SparseFile, look: Observe, by: int, *, fresh: bool) -> bool:
    """Tell whether known lines say that lines stand after so many empty ones, and none says they do
    not.
    """
    start, lines = look.first, look.lines
    same, first = 0, start + by
    for chunk in [chunk for chunk in file.chunks if chunk.fresh is fresh]:
        for number in range(max(chunk.first, first), min(chunk.next, first + len(lines))):
            known, seen = _shown(chunk.lines[number - chunk.first]), bare(lines[number - first])
            if known != seen and not (look.trimmed and number == first and known.lstrip() == seen):
                return False
            same += bool(seen.strip())
        if any(
            bare(chunk.lines[number - chunk.first])
            for number in range(max(chunk.first, start), min(chunk.next, first))
        ):
            return False
    return same > 0
