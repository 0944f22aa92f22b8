"""Run a regular expression in time that grows with the text alone. Step: validate.

The tree becomes a nondeterministic automaton (Thompson's construction); the sets of states met
while reading a text are remembered with where each character leads, so a text is read at one
look-up a character. What is remembered is bounded, and so is the work on one text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl.characters import contains
from vacr.schema.cddl.limits import TooMuchWork
from vacr.schema.cddl.pattern import Characters, Either, Repeat, Run

if TYPE_CHECKING:
    from vacr.schema.cddl.characters import Ranges
    from vacr.schema.cddl.pattern import Tree

MOST_STATES = 20_000
_MOST_REMEMBERED = 2_000
_MOST_KEPT = 500_000
_MOST_WORK = 15_000_000


class TooLarge(ValueError):  # noqa: N818 - says what it is
    """A pattern whose counts multiply to more states than are kept."""


class Automaton:
    """A regular expression as states with edges."""

    def __init__(self, tree: Tree) -> None:
        """Build the states.

        Raises:
            TooLarge: when the pattern needs more than `MOST_STATES`.

        """
        self._free: list[list[int]] = []
        self._edges: list[tuple[Ranges, int] | None] = []
        self._final = self._state()
        self._start = self._closure({self._build(tree, self._final)})
        self._kept = 0
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        """Tell whether the whole text matches.

        Raises:
            TooMuchWork: when the pattern has too many states for a text so long.

        """
        states = self._start
        work = 0
        for character in text:
            following = self._steps.get((states, character))
            if following is None:
                following = self._step(states, character)
                work += len(states) + len(following)
                if work > _MOST_WORK:
                    raise TooMuchWork(
                        "a text that takes too long to be compared with the regular expression"
                    )
            states = following
            if not states:
                return False
        return self._final in states

    def _step(self, states: frozenset[int], character: str) -> frozenset[int]:
        """Find where a character leads, and remember it."""
        code = ord(character)
        targets: set[int] = set()
        for state in states:
            edge = self._edges[state]
            if edge is not None and contains(edge[0], code):
                targets.add(edge[1])
        found = self._closure(targets)
        self._kept += len(states) + len(found)
        if len(self._steps) >= _MOST_REMEMBERED or self._kept > _MOST_KEPT:
            self._steps.clear()
            self._kept = len(states) + len(found)
        self._steps[states, character] = found
        return found

    def _closure(self, states: set[int]) -> frozenset[int]:
        """Add the states reached without reading anything."""
        found = set(states)
        waiting = list(states)
        while waiting:
            for state in self._free[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return frozenset(found)

    def _state(self, edge: tuple[Ranges, int] | None = None, free: list[int] | None = None) -> int:
        if len(self._edges) >= MOST_STATES:
            raise TooLarge(f"the pattern needs more than {MOST_STATES} states")
        self._edges.append(edge)
        self._free.append(free or [])
        return len(self._edges) - 1

    def _build(self, tree: Tree, following: int) -> int:
        """Build the states of a tree that lead on to `following`; give the first."""
        match tree:
            case Characters(ranges=ranges):
                return self._state((ranges, following))
            case Run(parts=parts):
                for part in reversed(parts):
                    following = self._build(part, following)
                return following
            case Either(branches=branches):
                return self._state(free=[self._build(branch, following) for branch in branches])
            case Repeat():
                return self._repeat(tree.part, tree.least, tree.most, following)

    def _repeat(self, part: Tree, least: int, most: int | None, following: int) -> int:
        if most is None:
            loop = self._state()
            self._free[loop] = [self._build(part, loop), following]
            following = loop
        else:
            end = following
            for _ in range(most - least):
                following = self._state(free=[self._build(part, following), end])
        for _ in range(least):
            following = self._build(part, following)
        return following
