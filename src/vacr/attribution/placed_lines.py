"""The lines of a file that no agent made, by their places among all that it ever had. Step:
attribute.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacr.attribution.chunks import STEP, between, unplaced
from vacr.attribution.diff import NEW, origins
from vacr.attribution.text import level


@dataclass
class PlacedLines:
    """Lines by their places, and the places in order."""

    lines: dict[int, str] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)

    def copy(self) -> "PlacedLines":
        """Give another one that can be changed."""
        return PlacedLines(self.lines.copy(), self.order[:])

    def between(self, low: int, high: int | None) -> list[int]:
        """Give the places after one and before another, if that is known."""
        stop = len(self.order) if high is None else bisect_left(self.order, high)
        return self.order[bisect_right(self.order, low) : stop]

    def settled(
        self, places: list[int], lines: Sequence[str], low: int, high: int | None
    ) -> list[int]:
        """Give lines without a place, which no agent made, one between their neighbours: the one
        that they had before, if any.
        """
        for at, stop in unplaced(places):
            below = places[at - 1] if at else low
            above = places[stop] if stop < len(places) else high
            known = self.between(below, above)
            if known:
                found = origins(level(self.lines[place] for place in known), level(lines[at:stop]))
                places[at:stop] = [0 if i == NEW else known[i] for i in found]
            places[at:stop] = between(places[at:stop], below, above)
            for i in range(at, stop):
                self._keep(places, i, lines[i])
        return places

    def _keep(self, places: list[int], i: int, line: str) -> None:
        while (known := self.lines.get(places[i])) is not None and level([known]) != level([line]):
            places[i] += 1
        if known is None:
            self.lines[places[i]] = line
            if not self.order or places[i] > self.order[-1]:
                self.order.append(places[i])
            else:
                insort(self.order, places[i])

    def before(self, place: int) -> int:
        """Give the place before one."""
        at = bisect_left(self.order, place)
        return self.order[at - 1] if at else place - STEP

    def forget(self, place: int) -> None:
        """Take back that a line is one that no agent made."""
        del self.lines[place]
        del self.order[bisect_left(self.order, place)]
