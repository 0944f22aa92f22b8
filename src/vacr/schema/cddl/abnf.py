"""Match strings against ABNF, for `.abnf` and `.abnfb`. Step: validate.

Follows RFC 9165 section 3: the controller is one element, then the rules it needs. The core rules
of RFC 5234 are there unless they are defined anew. Every way through a grammar is followed at once
and each part is followed once from each position; what an ambiguous grammar may cost beyond that is
bounded. A left-recursive rule is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl.abnf_syntax import (
    BadGrammar,
    Letters,
    Named,
    Options,
    Part,
    Reader,
    Series,
    Times,
)
from vacr.schema.cddl.limits import TooMuchWork

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_WORK = 40_000_000
_MOST_KEPT = 4_000_000
_CALL = 15
_CORE = """
ALPHA = %x41-5A / %x61-7A
BIT = "0" / "1"
CHAR = %x01-7F
CR = %x0D
CRLF = CR LF
CTL = %x00-1F / %x7F
DIGIT = %x30-39
DQUOTE = %x22
HEXDIG = DIGIT / "A" / "B" / "C" / "D" / "E" / "F"
HTAB = %x09
LF = %x0A
LWSP = *(WSP / CRLF WSP)
OCTET = %x00-FF
SP = %x20
VCHAR = %x21-7E
WSP = SP / HTAB
"""


class Grammar:
    """An element with the rules it needs."""

    def __init__(self, text: str) -> None:
        """Read a grammar.

        Raises:
            BadGrammar: when the text is not ABNF, a rule is missing, or a rule starts with itself.

        """
        self.rules = Reader(_CORE).rules({})
        reader = Reader(text)
        self.start = reader.element()
        self.rules.update(reader.rules({}))
        self._check()

    def _check(self) -> None:
        """Refuse missing rules and left recursion among the rules that are used."""
        waiting, used = [self.start], set[str]()
        while waiting:
            for name in _names(waiting.pop()):
                if name not in self.rules:
                    raise BadGrammar(f"ABNF rule {name!r} is not defined")
                if name not in used:
                    used.add(name)
                    waiting.append(self.rules[name])
        empty = self._empty(used)
        for name in used:
            first, seen = [name], set[str]()
            while first:
                for other in _first(self.rules[first.pop()], empty):
                    if other == name:
                        raise BadGrammar(f"ABNF rule {name!r} starts with itself")
                    if other not in seen:
                        seen.add(other)
                        first.append(other)

    def _empty(self, used: set[str]) -> set[str]:
        """Find the rules that match the empty text."""
        empty: set[str] = set()
        grown = True
        while grown:
            found = {name for name in used if _may_be_empty(self.rules[name], empty)}
            grown = found != empty
            empty = found
        return empty

    def matches(self, text: Sequence[int]) -> bool:
        """Tell whether the whole sequence of characters or bytes matches."""
        return len(text) in _Run(self.rules, text).ends(self.start, 0)


class _Run:
    """One text being matched; remembers where each part led from each position."""

    def __init__(self, rules: dict[str, Part], text: Sequence[int]) -> None:
        self._rules = rules
        self._text = text
        self._known: dict[tuple[int, int], frozenset[int]] = {}
        self._work = 0
        self._kept = 0

    def ends(self, part: Part, at: int) -> frozenset[int]:
        """Give every position where a part that starts here may end.

        Raises:
            TooMuchWork: when the grammar has too many readings of this text.

        """
        if isinstance(part, Letters):
            return self._ends(part, at)
        # The grammar keeps its parts, so the identity of one stays its own.
        key = (id(part), at)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._ends(part, at)
            self._kept += len(found)
        return found

    def _ends(self, part: Part, at: int) -> frozenset[int]:
        match part:
            case Letters(ranges=ranges):
                end = at + len(ranges)
                inside = end <= len(self._text) and all(
                    any(low <= self._text[at + index] <= high for low, high in options)
                    for index, options in enumerate(ranges)
                )
                return frozenset({end}) if inside else frozenset()
            case Named(name=name):
                return self.ends(self._rules[name], at)
            case Series(parts=parts):
                reached = frozenset({at})
                for inner in parts:
                    reached = self._step(inner, reached)
                return reached
            case Options(parts=parts):
                options: set[int] = set()
                for inner in parts:
                    options |= self.ends(inner, at)
                return frozenset(options)
            case Times():
                return self._times(part, at)

    def _step(self, part: Part, starts: Iterable[int]) -> frozenset[int]:
        # A loop and not a generator inside a call: those would take the stack of the interpreter
        # itself.
        found: set[int] = set()
        for start in starts:
            ends = self.ends(part, start)
            found |= ends
            # A call takes about as long as joining so many positions does.
            self._work += _CALL + len(ends)
        self._work += _CALL
        if self._work > _MOST_WORK or self._kept > _MOST_KEPT:
            raise TooMuchWork(
                "a string that the ABNF grammar can be read on in too many ways to be checked"
            )
        return frozenset(found)

    def _times(self, part: Times, at: int) -> frozenset[int]:
        reached = frozenset({at})
        found: set[int] = set()
        count = 0
        while reached:
            if count >= part.least:
                if reached <= found:
                    break
                reached -= found
                found |= reached
            if count == part.most:
                break
            following = self._step(part.part, reached)
            count += 1
            if following == reached and count < part.least:
                # Another step leads to the same places, and so does every one after it.
                count = part.least
            reached = following
        return frozenset(found)


def _names(part: Part) -> Iterable[str]:
    match part:
        case Named(name=name):
            yield name
        case Series(parts=parts) | Options(parts=parts):
            for inner in parts:
                yield from _names(inner)
        case Times(part=inner):
            yield from _names(inner)
        case _:
            pass


def _may_be_empty(part: Part, empty: set[str]) -> bool:
    match part:
        case Letters(ranges=ranges):
            return not ranges
        case Named(name=name):
            return name in empty
        case Series(parts=parts):
            return all(_may_be_empty(inner, empty) for inner in parts)
        case Options(parts=parts):
            return any(_may_be_empty(inner, empty) for inner in parts)
        case Times():
            return part.least == 0 or _may_be_empty(part.part, empty)


def _first(part: Part, empty: set[str]) -> Iterable[str]:
    """Give the rules that may be entered before any character is read."""
    match part:
        case Named(name=name):
            yield name
        case Options(parts=parts):
            for inner in parts:
                yield from _first(inner, empty)
        case Times(part=inner):
            yield from _first(inner, empty)
        case Series(parts=parts):
            for inner in parts:
                yield from _first(inner, empty)
                if not _may_be_empty(inner, empty):
                    break
        case _:
            pass
