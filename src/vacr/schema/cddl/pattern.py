r"""The tree of a regular expression, and how it is read. Step: validate.

Follows appendix F of XML Schema Part 2. `regexp` and `automaton` run the tree, the generator makes
texts of it. With `pcre`, what PCRE and XML Schema have in common is read, with PCRE's meaning of
`^`, `$`, `\d` and `\w`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from vacr.schema.cddl import characters

if TYPE_CHECKING:
    from vacr.schema.cddl.characters import Ranges

_MOST_COUNT = 10_000
_DEEPEST = 40
_SINGLE = {"n": 10, "r": 13, "t": 9}
_COUNT = re.compile(r"\{([0-9]{1,6})(,([0-9]{1,6})?)?\}")
_PROPERTY = re.compile(r"\{(\^?)([A-Za-z0-9-]+)\}")


class BadPattern(ValueError):  # noqa: N818 - says what it is
    """A pattern that cannot be read."""


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


def parse(pattern: str, *, pcre: bool = False) -> Tree:
    """Parse a pattern.

    Raises:
        BadPattern: when it is not one of XML Schema (or, with `pcre`, goes beyond what both forms
            share).
    """
    return _Parser(pattern, pcre=pcre).whole()


class _Parser:
    """A recursive descent over the characters of a pattern."""

    def __init__(self, text: str, *, pcre: bool) -> None:
        self._text = text
        self._pcre = pcre
        self._at = 0
        self._end = len(text)
        self._depth = 0

    def _fail(self, message: str) -> NoReturn:
        raise BadPattern(f"{message} at character {self._at + 1} of the pattern")

    @property
    def _here(self) -> str:
        return self._text[self._at] if self._at < self._end else ""

    def _accept(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._at, self._end)
        self._at += len(mark) * found
        return found

    def whole(self) -> Tree:
        """Read the whole pattern; the anchors that a PCRE may carry say nothing new."""
        if self._pcre:
            self._at += self._text.startswith("^")
            if self._text.endswith("$") and not self._text.endswith("\\$"):
                self._end -= 1
        tree = self._either()
        if self._here:
            self._fail("unexpected ')'")
        return tree

    def _either(self) -> Tree:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("nested too deeply")
        branches = [self._run()]
        while self._accept("|"):
            branches.append(self._run())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def _run(self) -> Tree:
        parts: list[Tree] = []
        while self._here and self._here not in "|)":
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else Run(tuple(parts))

    def _quantified(self, atom: Tree) -> Tree:
        simple = {"?": (0, 1), "*": (0, None), "+": (1, None)}
        if self._here and self._here in simple:
            least, most = simple[self._here]
            self._at += 1
        elif self._here == "{":
            found = _COUNT.match(self._text, self._at, self._end)
            if found is None:
                self._fail("a malformed count")
            least = int(found[1])
            most = int(found[3]) if found[3] else None if found[2] else least
            if max(least, most or 0) > _MOST_COUNT or (most is not None and most < least):
                self._fail("a count out of range")
            self._at = found.end()
        else:
            return atom
        if self._here and self._here in "?*+{":
            self._fail("a repetition of a repetition")
        return Repeat(atom, least, most)

    def _atom(self) -> Tree:
        here = self._here
        if here == "(":
            self._at += 1
            if self._pcre and self._here == "?" and not self._accept("?:"):
                self._fail("a special group")
            inner = self._either()
            if not self._accept(")"):
                self._fail("a group that is not closed")
            return inner
        if here == "[":
            self._at += 1
            return Characters(self._class())
        if here == ".":
            self._at += 1
            return Characters(
                characters.complement(((10, 10),) if self._pcre else ((10, 10), (13, 13)))
            )
        if here == "\\":
            return Characters(self._escape())
        if here in "?*+{}]" or (self._pcre and here in "^$"):
            self._fail(f"unexpected {here!r}")
        self._at += 1
        return Characters(((ord(here), ord(here)),))

    def _escape(self) -> Ranges:
        """Read what follows a backslash."""
        self._at += 1
        letter = self._here
        self._at += 1
        if letter in {"p", "P"}:
            found = _PROPERTY.match(self._text, self._at, self._end)
            ranges = characters.named(found[2]) if found and not found[1] else None
            if found is None or ranges is None:
                self._fail("an unknown character property")
            self._at = found.end()
            return characters.complement(ranges) if letter == "P" else ranges
        if letter in _SINGLE:
            return ((_SINGLE[letter], _SINGLE[letter]),)
        if self._pcre and letter in set("dDwW"):
            inner = characters.DIGITS if letter in "dD" else characters.WORD
            return characters.complement(inner) if letter.isupper() else inner
        found_class = (
            characters.escaped(letter)
            if letter in set("sSdDwW" if self._pcre else "sSiIcCdDwW")
            else None
        )
        if found_class is not None:
            return found_class
        if not letter or letter.isalnum():
            self._fail(f"an unknown escape \\{letter}")
        return ((ord(letter), ord(letter)),)

    def _class(self) -> Ranges:
        """Read a class in brackets, with what is subtracted from it."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("nested too deeply")
        negative = self._accept("^")
        found: list[tuple[int, int]] = []
        taken: Ranges = ()
        first = True
        while first or self._here != "]":
            if not self._here:
                self._fail("a class that is not closed")
            if not first and self._accept("-["):
                taken = self._class()
                if self._here != "]":
                    self._fail("something after a subtraction")
                break
            found += self._class_part()
            first = False
        self._at += 1
        self._depth -= 1
        ranges = characters.union(found)
        return characters.minus(characters.complement(ranges) if negative else ranges, taken)

    def _class_part(self) -> Ranges:
        """Read one character, escape or range of a class."""
        low = self._class_character()
        following = self._text[self._at + 1 : self._at + 2]
        if self._here != "-" or following in {"]", "", "["} or low[0][0] != low[-1][1]:
            return low
        self._at += 1
        high = self._class_character()
        if high[0][0] != high[-1][1] or high[0][0] < low[0][0]:
            self._fail("a range out of order")
        return ((low[0][0], high[0][0]),)

    def _class_character(self) -> Ranges:
        if self._here == "\\":
            return self._escape()
        if self._here == "[":
            self._fail("unexpected '['")
        self._at += 1
        code = ord(self._text[self._at - 1])
        return ((code, code),)
