"""Read ABNF into its parts. Step: validate.

Follows RFC 5234 and RFC 7405 (`%s`, `%i`); a single linefeed ends a line, and a rule ends where the
next one begins.

Left out on purpose: prose values (`<…>`), which no machine can match.

Match strings against ABNF, for `.abnf` and `.abnfb`. Step: validate.

Follows RFC 9165 section 3: the controller is one element, then the rules it needs. The core rules
of RFC 5234 are there unless they are defined anew. Every way through a grammar is followed at once
and each part is followed once from each position; what an ambiguous grammar may cost beyond that is
bounded. A left-recursive rule is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from vacr.cddl.limits import WorkLimitError

_ABNF_TOKEN_PATTERN = re.compile(
    r"""(?P<space>(?:[ \t]|;[^\n]*|\r?\n(?=[ \t\r\n;]|$))+)|(?P<line>\r?\n)|(?P<name>[A-Za-z][A-Za-z0-9-]*)
    |(?P<repeat>[0-9]*\*[0-9]*|[0-9]+)|(?P<text>(?:%[siSI])?"[^"\r\n]*")
    |(?P<value>%[bdxBDX][0-9A-Fa-f]+(?:-[0-9A-Fa-f]+|(?:\.[0-9A-Fa-f]+)+)?)|(?P<mark>=/|[=/()\[\]])""",
    re.VERBOSE,
)
_NUMBER_BASES = {"b": 2, "d": 10, "x": 16}
_MAX_NESTING = 40
_MAX_REPEATS = 10_000


class AbnfSyntaxError(ValueError):
    """A text that is not ABNF."""


@dataclass(frozen=True, slots=True)
class AbnfCharacters:
    """Characters in order, each one of a range (of two, for a letter of either case)."""

    ranges: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class AbnfRuleName:
    """A rule."""

    name: str


@dataclass(frozen=True, slots=True)
class AbnfSequence:
    """One part after the other."""

    parts: tuple[AbnfNode, ...]


@dataclass(frozen=True, slots=True)
class AbnfChoice:
    """One of several parts."""

    parts: tuple[AbnfNode, ...]


@dataclass(frozen=True, slots=True)
class AbnfRepeat:
    """A part, repeated."""

    part: AbnfNode
    least: int
    most: int | None


AbnfNode: TypeAlias = AbnfCharacters | AbnfRuleName | AbnfSequence | AbnfChoice | AbnfRepeat


class AbnfParser:
    """A recursive descent over the tokens of a grammar."""

    def __init__(self, text: str) -> None:
        """Cut a grammar into tokens.

        Raises:
            BadGrammar: when a character starts no token.

        """
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _ABNF_TOKEN_PATTERN.match(text, at)
            if match is None:
                raise AbnfSyntaxError(f"unexpected {text[at]!r} in ABNF")
            if match.lastgroup != "space":
                self._tokens.append((match.lastgroup or "", match.group()))
            at = match.end()
        self._at = 0
        self._depth = 0

    def _fail(self, message: str) -> NoReturn:
        raise AbnfSyntaxError(f"{message} in ABNF")

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else ("end", "")

    def _lines(self) -> None:
        while self._peek()[0] == "line":
            self._at += 1

    def element(self) -> AbnfNode:
        """Read the element that comes before the rules."""
        self._lines()
        return self._options()

    def rules(self, found: dict[str, AbnfNode]) -> dict[str, AbnfNode]:
        """Read the rules, to the end."""
        self._lines()
        while self._peek()[0] != "end":
            (kind, name), (_, assign) = self._peek(), self._peek(1)
            if kind != "name" or assign not in {"=", "=/"}:
                self._fail(f"expected a rule, found {name!r}")
            self._at += 2
            part = self._options()
            known = found.get(name.lower())
            found[name.lower()] = AbnfChoice((known, part)) if assign == "=/" and known else part
            self._lines()
        return found

    def _options(self) -> AbnfNode:
        self._depth += 1
        if self._depth > _MAX_NESTING:
            self._fail("nested too deeply")
        parts = [self._series()]
        while self._peek() == ("mark", "/"):
            self._at += 1
            parts.append(self._series())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else AbnfChoice(tuple(parts))

    def _series(self) -> AbnfNode:
        parts: list[AbnfNode] = []
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
        return parts[0] if len(parts) == 1 else AbnfSequence(tuple(parts))

    def _repetition(self) -> AbnfNode:
        kind, text = self._peek()
        if kind != "repeat":
            return self._unit()
        self._at += 1
        low, star, high = text.partition("*")
        least = int(low[:9]) if low else 0
        most = (int(high[:9]) if high else None) if star else least
        if least > _MAX_REPEATS or (most or 0) > _MAX_REPEATS:
            self._fail("a repetition out of range")
        return AbnfRepeat(self._unit(), least, most)

    def _unit(self) -> AbnfNode:
        kind, text = self._peek()
        self._at += 1
        match kind, text:
            case "name", _:
                return AbnfRuleName(text.lower())
            case "text", _:
                return _parse_quoted_text(text)
            case "value", _:
                return self._value(text)
            case "mark", ("(" | "["):
                inner = self._options()
                if self._peek()[1] != {"(": ")", "[": "]"}[text]:
                    self._fail("a group that is not closed")
                self._at += 1
                return inner if text == "(" else AbnfRepeat(inner, 0, 1)
            case _:
                return self._fail(f"expected an element, found {text!r}")

    def _value(self, text: str) -> AbnfNode:
        """Read `%x41`, `%x41-5A` or `%x41.42`."""
        base, digits = _NUMBER_BASES[text[1].lower()], text[2:]
        try:
            if "-" in digits:
                low, high = (int(part, base) for part in digits.split("-"))
                return AbnfCharacters((((low, high),),))
            codes = [int(part, base) for part in digits.split(".")]
        except ValueError:
            self._fail(f"malformed {text!r}")
        return AbnfCharacters(tuple(((code, code),) for code in codes))


def _parse_quoted_text(text: str) -> AbnfCharacters:
    """Read a quoted string: of either case, unless it says `%s` (RFC 7405)."""
    exact = text.lower().startswith("%s")
    characters = text[text.index('"') + 1 : -1]
    return AbnfCharacters(
        tuple(_list_letter_cases(character, exact=exact) for character in characters)
    )


def _list_letter_cases(character: str, *, exact: bool) -> tuple[tuple[int, int], ...]:
    forms = (
        {character} if exact or not character.isascii() else {character.lower(), character.upper()}
    )
    return tuple((ord(form), ord(form)) for form in sorted(forms))


if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_MATCH_WORK = 40_000_000
_MAX_KEPT_POSITIONS = 4_000_000
_CALL_COST = 15
_CORE_RULES = """
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


class AbnfGrammar:
    """An element with the rules it needs."""

    def __init__(self, text: str) -> None:
        """Read a grammar.

        Raises:
            BadGrammar: when the text is not ABNF, a rule is missing, or a rule starts with itself.

        """
        self.rules = AbnfParser(_CORE_RULES).rules({})
        reader = AbnfParser(text)
        self.start = reader.element()
        self.rules.update(reader.rules({}))
        self._check()

    def _check(self) -> None:
        """Refuse missing rules and left recursion among the rules that are used."""
        waiting, used = [self.start], set[str]()
        while waiting:
            for name in _list_rule_names(waiting.pop()):
                if name not in self.rules:
                    raise AbnfSyntaxError(f"ABNF rule {name!r} is not defined")
                if name not in used:
                    used.add(name)
                    waiting.append(self.rules[name])
        empty = self._empty(used)
        for name in used:
            first, seen = [name], set[str]()
            while first:
                for other in _list_first_rules(self.rules[first.pop()], empty):
                    if other == name:
                        raise AbnfSyntaxError(f"ABNF rule {name!r} starts with itself")
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
        return len(text) in _GrammarMatcher(self.rules, text).ends(self.start, 0)


class _GrammarMatcher:
    """One text being matched; remembers where each part led from each position."""

    def __init__(self, rules: dict[str, AbnfNode], text: Sequence[int]) -> None:
        self._rules = rules
        self._text = text
        self._known: dict[tuple[int, int], frozenset[int]] = {}
        self._work = 0
        self._kept = 0

    def ends(self, part: AbnfNode, at: int) -> frozenset[int]:
        """Give every position where a part that starts here may end.

        Raises:
            TooMuchWork: when the grammar has too many readings of this text.

        """
        if isinstance(part, AbnfCharacters):
            return self._ends(part, at)
        # The grammar keeps its parts, so the identity of one stays its own.
        key = (id(part), at)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._ends(part, at)
            self._kept += len(found)
        return found

    def _ends(self, part: AbnfNode, at: int) -> frozenset[int]:
        match part:
            case AbnfCharacters(ranges=ranges):
                end = at + len(ranges)
                inside = end <= len(self._text) and all(
                    any(low <= self._text[at + index] <= high for low, high in options)
                    for index, options in enumerate(ranges)
                )
                return frozenset({end}) if inside else frozenset()
            case AbnfRuleName(name=name):
                return self.ends(self._rules[name], at)
            case AbnfSequence(parts=parts):
                reached = frozenset({at})
                for inner in parts:
                    reached = self._step(inner, reached)
                return reached
            case AbnfChoice(parts=parts):
                options: set[int] = set()
                for inner in parts:
                    options |= self.ends(inner, at)
                return frozenset(options)
            case AbnfRepeat():
                return self._times(part, at)

    def _step(self, part: AbnfNode, starts: Iterable[int]) -> frozenset[int]:
        # A loop and not a generator inside a call: those would take the stack of the interpreter
        # itself.
        found: set[int] = set()
        for start in starts:
            ends = self.ends(part, start)
            found |= ends
            # A call takes about as long as joining so many positions does.
            self._work += _CALL_COST + len(ends)
        self._work += _CALL_COST
        if self._work > _MAX_MATCH_WORK or self._kept > _MAX_KEPT_POSITIONS:
            raise WorkLimitError(
                "a string that the ABNF grammar can be read on in too many ways to be checked"
            )
        return frozenset(found)

    def _times(self, part: AbnfRepeat, at: int) -> frozenset[int]:
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


def _list_rule_names(part: AbnfNode) -> Iterable[str]:
    match part:
        case AbnfRuleName(name=name):
            yield name
        case AbnfSequence(parts=parts) | AbnfChoice(parts=parts):
            for inner in parts:
                yield from _list_rule_names(inner)
        case AbnfRepeat(part=inner):
            yield from _list_rule_names(inner)
        case _:
            pass


def _may_be_empty(part: AbnfNode, empty: set[str]) -> bool:
    match part:
        case AbnfCharacters(ranges=ranges):
            return not ranges
        case AbnfRuleName(name=name):
            return name in empty
        case AbnfSequence(parts=parts):
            return all(_may_be_empty(inner, empty) for inner in parts)
        case AbnfChoice(parts=parts):
            return any(_may_be_empty(inner, empty) for inner in parts)
        case AbnfRepeat():
            return part.least == 0 or _may_be_empty(part.part, empty)


def _list_first_rules(part: AbnfNode, empty: set[str]) -> Iterable[str]:
    """Give the rules that may be entered before any character is read."""
    match part:
        case AbnfRuleName(name=name):
            yield name
        case AbnfChoice(parts=parts):
            for inner in parts:
                yield from _list_first_rules(inner, empty)
        case AbnfRepeat(part=inner):
            yield from _list_first_rules(inner, empty)
        case AbnfSequence(parts=parts):
            for inner in parts:
                yield from _list_first_rules(inner, empty)
                if not _may_be_empty(inner, empty):
                    break
        case _:
            pass
