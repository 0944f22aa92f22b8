"""Going through the entries of a session, children and all. Step: convert.

Without recursion: children may nest as deep as the codec reads, and an error must not depend on how
much stack is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vacr.codec.pointers import Place
from vacr.model import Native

ENTRIES: Place = ((None, "session"), "entries")

Change = Callable[[Native, Place], Native]
"""Gives an entry as another version has it, as a new dict whose children are still those of the old
version.
"""


def carried(entries: list[Native], change: Change) -> list[Native]:
    """Change all entries, at every depth."""
    result: list[Native] = []
    todo = [(entries, result, ENTRIES)]
    while todo:
        old, new, place = todo.pop()
        for index, entry in enumerate(old):
            changed = change(entry, (place, index))
            if "children" in changed:
                children: list[Native] = []
                todo.append((changed["children"], children, ((place, index), "children")))
                changed["children"] = children
            new.append(changed)
    return result


def each(entries: list[Native]) -> Iterator[tuple[Native, Place]]:
    """Give all entries, at every depth, with their places."""
    todo = [(entries, ENTRIES)]
    while todo:
        level, place = todo.pop()
        for index, entry in enumerate(level):
            yield entry, (place, index)
            if "children" in entry:
                todo.append((entry["children"], ((place, index), "children")))
