"""Match text against ABNF, for `.abnf` and `.abnfb`. Step: validate.

Follows RFC 5234 and RFC 7405 (`%s`, `%i`) as RFC 9165 section 3 embeds them: the controller is one element, then the rules it
needs. A single linefeed ends a line; the core rules are there unless they are defined anew. Every way through a grammar
is followed at once and each is followed once, so an ambiguous grammar costs no more than the length of the text times
its own size; a left-recursive rule is refused.

Left out on purpose: prose values (`<…>`), which no machine can match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t]|;[^\n]*|\r?\n(?=[ \t\r\n;]|$))+)|(?P<line>\r?\n)|(?P<name>[A-Za-z][A-Za-z0-9-]*)
    |(?P<repeat>[0-9]*\*[0-9]*|[0-9]+)|(?P<text>(?:%[siSI])?"[^"\r\n]*")
    |(?P<value>%[bdxBDX][0-9A-Fa-f]+(?:-[0-9A-Fa-f]+|(?:\.[0-9A-Fa-f]+)+)?)|(?P<mark>=/|[=/()\[\]])""",
    re.VERBOSE,
)
_BASES = {"b": 2, "d": 10, "x": 16}
_DEEPEST = 40
_MOST_REPEATS = 10_000


class BadGrammar(ValueError):  # noqa: N818 - says what it is
    """A text that is not ABNF."""


@dataclass(frozen=True, slots=True)
class Letters:
    """Characters in order, each one of a range (of two, for a letter of either case)."""

    ranges: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A rule."""

    name: str


@dataclass(frozen=True, slots=True)
class Series:
    """One part after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """One of several parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """A part, repeated."""

    part: Part
    least: int
    most: int | None


Part: TypeAlias = Letters | Named | Series | Options | Times


class Grammar:
    """An element with the rules it needs."""

    def __init__(self, text: str) -> None:
        """Read a grammar.

        Raises:
            BadGrammar: when the text is not ABNF, a rule is missing, or a rule starts with itself.

        """
        self.rules = _Reader(_CORE).rules({})
        reader = _Reader(text)
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
    """One text being matched; remembers where each rule led from each position."""

    def __init__(self, rules: dict[str, Part], text: Sequence[int]) -> None:
        self._rules = rules
        self._text = text
        self._known: dict[tuple[str, int], frozenset[int]] = {}

    def ends(self, part: Part, at: int) -> frozenset[int]:
        """Give every position where a part that starts here may end."""
        match part:
            case Letters(ranges=ranges):
                end = at + len(ranges)
                inside = end <= len(self._text) and all(
                    any(low <= self._text[at + index] <= high for low, high in options)
                    for index, options in enumerate(ranges)
                )
                return frozenset({end}) if inside else frozenset()
            case Named(name=name):
                if (name, at) not in self._known:
                    self._known[name, at] = self.ends(self._rules[name], at)
                return self._known[name, at]
            case Series(parts=parts):
                reached = frozenset({at})
                for inner in parts:
                    reached = self._step(inner, reached)
                return reached
            case Options(parts=parts):
                return frozenset().union(*(self.ends(inner, at) for inner in parts))
            case Times():
                return self._times(part, at)

    def _step(self, part: Part, starts: Iterable[int]) -> frozenset[int]:
        return frozenset().union(*(self.ends(part, start) for start in starts))

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
            reached = self._step(part.part, reached)
            count += 1
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


class _Reader:
    """A recursive descent over the tokens of a grammar."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise BadGrammar(f"unexpected {text[at]!r} in ABNF")
            if match.lastgroup != "space":
                self._tokens.append((match.lastgroup or "", match.group()))
            at = match.end()
        self._at = 0
        self._depth = 0

    def _fail(self, message: str) -> NoReturn:
        raise BadGrammar(f"{message} in ABNF")

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else ("end", "")

    def _lines(self) -> None:
        while self._peek()[0] == "line":
            self._at += 1

    def element(self) -> Part:
        """Read the element that comes before the rules."""
        self._lines()
        return self._options()

    def rules(self, found: dict[str, Part]) -> dict[str, Part]:
        """Read the rules, to the end."""
        self._lines()
        while self._peek()[0] != "end":
            (kind, name), (_, assign) = self._peek(), self._peek(1)
            if kind != "name" or assign not in {"=", "=/"}:
                self._fail(f"expected a rule, found {name!r}")
            self._at += 2
            part = self._options()
            known = found.get(name.lower())
            found[name.lower()] = Options((known, part)) if assign == "=/" and known else part
            self._lines()
        return found

    def _options(self) -> Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("nested too deeply")
        parts = [self._series()]
        while self._peek() == ("mark", "/"):
            self._at += 1
            parts.append(self._series())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Options(tuple(parts))

    def _series(self) -> Part:
        parts: list[Part] = []
        while self._peek()[0] in {"name", "repeat", "text", "value"} or self._peek()[1] in {"(", "["}:
            # The rules follow the element without a mark of their own: a name before `=` is the next rule.
            if self._peek()[0] == "name" and self._peek(1)[1] in {"=", "=/"}:
                break
            parts.append(self._repetition())
        if not parts:
            self._fail(f"expected an element, found {self._peek()[1]!r}")
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def _repetition(self) -> Part:
        kind, text = self._peek()
        if kind != "repeat":
            return self._unit()
        self._at += 1
        low, star, high = text.partition("*")
        least = int(low[:9]) if low else 0
        most = (int(high[:9]) if high else None) if star else least
        if least > _MOST_REPEATS or (most or 0) > _MOST_REPEATS:
            self._fail("a repetition out of range")
        return Times(self._unit(), least, most)

    def _unit(self) -> Part:
        kind, text = self._peek()
        self._at += 1
        match kind, text:
            case "name", _:
                return Named(text.lower())
            case "text", _:
                return _quoted(text)
            case "value", _:
                return self._value(text)
            case "mark", ("(" | "["):
                inner = self._options()
                if self._peek()[1] != {"(": ")", "[": "]"}[text]:
                    self._fail("a group that is not closed")
                self._at += 1
                return inner if text == "(" else Times(inner, 0, 1)
            case _:
                self._fail(f"expected an element, found {text!r}")

    def _value(self, text: str) -> Part:
        """Read `%x41`, `%x41-5A` or `%x41.42`."""
        base, digits = _BASES[text[1].lower()], text[2:]
        try:
            if "-" in digits:
                low, high = (int(part, base) for part in digits.split("-"))
                return Letters((((low, high),),))
            codes = [int(part, base) for part in digits.split(".")]
        except ValueError:
            self._fail(f"malformed {text!r}")
        return Letters(tuple(((code, code),) for code in codes))


def _quoted(text: str) -> Letters:
    """Read a quoted string: of either case, unless it says `%s` (RFC 7405)."""
    exact = text.lower().startswith("%s")
    characters = text[text.index('"') + 1 : -1]
    return Letters(tuple(_cases(character, exact=exact) for character in characters))


def _cases(character: str, *, exact: bool) -> tuple[tuple[int, int], ...]:
    forms = {character} if exact or not character.isascii() else {character.lower(), character.upper()}
    return tuple((ord(form), ord(form)) for form in sorted(forms))
