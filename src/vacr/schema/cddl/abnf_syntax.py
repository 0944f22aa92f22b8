"""Read ABNF into its parts. Step: validate.

Follows RFC 5234 and RFC 7405 (`%s`, `%i`); a single linefeed ends a line, and a rule ends where the
next one begins.

Left out on purpose: prose values (`<…>`), which no machine can match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

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


class Reader:
    """A recursive descent over the tokens of a grammar."""

    def __init__(self, text: str) -> None:
        """Cut a grammar into tokens.

        Raises:
            BadGrammar: when a character starts no token.

        """
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
        while self._peek()[0] in {"name", "repeat", "text", "value"} or self._peek()[1] in {
            "(",
            "[",
        }:
            # The rules follow the element without a mark of their own: a name before `=` is the
            # next rule.
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
                return self._fail(f"expected an element, found {text!r}")

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
    forms = (
        {character} if exact or not character.isascii() else {character.lower(), character.upper()}
    )
    return tuple((ord(form), ord(form)) for form in sorted(forms))
