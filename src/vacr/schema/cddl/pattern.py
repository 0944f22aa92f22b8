"""The tree of a regular expression. Step: validate.

`regexp` reads a pattern into it, `automaton` runs it, and the generator makes texts of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from vacr.schema.cddl.characters import Ranges


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Run:
    """One part after the other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several branches."""

    branches: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part, `least` to `most` times (None: without end)."""

    part: Tree
    least: int
    most: int | None

    @property
    def open_end(self) -> bool:
        """Tell whether it may take long to try all counts."""
        return self.most is None or self.most - self.least > 16  # noqa: PLR2004 - from here on it is like no end


Tree: TypeAlias = Characters | Run | Either | Repeat
