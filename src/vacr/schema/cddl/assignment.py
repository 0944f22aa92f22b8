"""Give the members of a map to the entries of its group, when no short way is sure to be right.
Step: validate.

Follows RFC 8610 sections 2.1.1 and 3.5.4. Members that fit the same entries are alike and are
counted, not named, so the search is over as many kinds of members as there are and not over the
members. A group of several entries that repeats has one count for all of them: the numbers that fit
are tried.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.schema.cddl.limits import TooMuchWork

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Fits: TypeAlias = "tuple[int, ...]"
_MOST_STEPS = 5_000_000


@dataclass(frozen=True, slots=True)
class Share:
    """How many members an entry takes for each copy of the group it repeats with, and how many
    copies there may be.
    """

    least: int
    most: int | None
    fewest: int
    copies: int | None


@dataclass(frozen=True, slots=True)
class Limit:
    """How many members an entry takes, and whether it binds those whose key fits."""

    cut: bool
    least: int
    most: int | None
    share: Share | None = None


def assignable(
    members: dict[Any, Any],
    limits: list[Limit],
    keys: Sequence[Callable[[Any], bool]],
    tests: Sequence[Callable[[Any], bool]],
) -> bool:
    """Tell whether every member can be given to an entry, and every entry gets as many as it needs.

    Raises:
        TooMuchWork: when there are too many ways to do so.

    """
    if sum(limit.least for limit in limits) > len(members):
        return False
    fits: Counter[Fits] = Counter()
    for key, value in members.items():
        options: list[int] = []
        for index, limit in enumerate(limits):
            if keys[index](key):
                if tests[index](value):
                    options.append(index)
                if limit.cut:
                    break
        if not options:
            return False
        fits[tuple(options)] += 1
    return any(
        _filled(fits, limits, len(members), copies) for copies in _copies(limits, len(members))
    )


def _copies(limits: list[Limit], count: int) -> range:
    """Give the numbers of copies of the group that repeats which so many members allow."""
    shares = [limit.share for limit in limits if limit.share is not None]
    if not shares:
        return range(1)
    each = sum(share.least for share in shares)
    # Copies that need nothing only make more room, and no more of them than there are members can
    # be of use.
    most = count // each if each else max(count, shares[0].fewest)
    if shares[0].copies is not None:
        most = min(most, shares[0].copies)
    return range(shares[0].fewest, most + 1)


def _filled(fits: Counter[Fits], limits: list[Limit], count: int, copies: int) -> bool:
    """Tell whether the members can be placed with so many copies of the group that repeats."""
    required: list[int] = []
    room: list[int] = []
    for limit in limits:
        share = limit.share
        least, most = limit.least, limit.most
        if share is not None:
            least, most = share.least * copies, None if share.most is None else share.most * copies
        required.append(least)
        room.append(count if most is None else most)
        if share is not None and not copies:
            room[-1] = 0
    # A matching that fills what is required and one that places every member can always be joined
    # into one that does both (Mendelsohn and Dulmage), so the two questions are asked one by one.
    return _placed(fits, room) == count and _placed(fits, required) == sum(required)


def _placed(fits: Counter[Fits], room: list[int]) -> int:
    """Count how many members can be placed at once, moving those placed before where that helps."""
    left = list(room)
    held: list[Counter[Fits]] = [Counter() for _ in room]
    placed = 0
    steps = 0
    for options, count in fits.items():
        waiting = count
        while waiting:
            path, seen = _path(options, left, held)
            steps += seen
            if steps > _MOST_STEPS:
                raise TooMuchWork(
                    "a map whose members fit its entries in too many ways to be checked"
                )
            if not path:
                break
            # Each step puts members of a kind into an entry; all but the first take them from the
            # one before.
            moves = [(path[step - 1][1], path[step][0]) for step in range(1, len(path))]
            moved = min(waiting, left[path[-1][1]], *(held[entry][kind] for entry, kind in moves))
            for kind, entry in path:
                held[entry][kind] += moved
            for entry, kind in moves:
                held[entry][kind] -= moved
            left[path[-1][1]] -= moved
            waiting -= moved
            placed += moved
    return placed


def _path(
    options: Fits, left: list[int], held: list[Counter[Fits]]
) -> tuple[list[tuple[Fits, int]], int]:
    """Find the shortest chain of moves that makes room for one more member, empty when there is
    none, and the number of steps that took.
    """
    steps = 0
    came: dict[int, tuple[Fits, int | None]] = dict.fromkeys(options, (options, None))
    waiting = deque(options)
    while waiting:
        entry = waiting.popleft()
        if left[entry]:
            path: list[tuple[Fits, int]] = []
            at: int | None = entry
            while at is not None:
                kind, before = came[at]
                path.append((kind, at))
                at = before
            return path[::-1], steps
        for kind, count in held[entry].items():
            steps += len(kind)
            for other in kind if count else ():
                if other not in came:
                    came[other] = (kind, entry)
                    waiting.append(other)
    return [], steps
