"""ABNF grammars, for `.abnf` and `.abnfb`.

The controller of these operators is one ABNF element, followed by the rules it needs (RFC 9165
section 3). A string matches when the element can be read on the whole of it:

    >>> from vacr.cddl.abnf import AbnfGrammar
    >>> grammar = AbnfGrammar('host ["." 2*3ALPHA]' + chr(10) + 'host = 1*ALPHA')
    >>> [grammar.matches(text.encode()) for text in ("localhost", "example.org", "a.x")]
    [True, True, False]

The syntax follows RFC 5234 and RFC 7405 (`%s`, `%i`), without prose values (`<…>`). A single
linefeed ends a line, and a rule ends where the next one begins. The core rules of RFC 5234 are
there unless the grammar defines its own.

The matcher follows every way through a grammar at once, and each part once from each position; the
cost of an ambiguous grammar beyond that is bounded. A left-recursive rule is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from vacr.cddl.values import WorkLimitError

_MAX_NESTING = 40
_MAX_REPEATS = 10_000
_MAX_MATCH_WORK = 40_000_000
_MAX_KEPT_POSITIONS = 4_000_000
# A call takes about as long as joining so many positions.
_CALL_COST = 15

_ABNF_TOKEN_PATTERN = re.compile(
    r"""
      (?P<space>(?:[ \t]|;[^\n]*|\r?\n(?=[ \t\r\n;]|$))+)
    | (?P<line>\r?\n)
    | (?P<name>[A-Za-z][A-Za-z0-9-]*)
    | (?P<repeat>[0-9]*\*[0-9]*|[0-9]+)
    | (?P<text>(?:%[siSI])?"[^"\r\n]*")
    | (?P<value>%[bdxBDX][0-9A-Fa-f]+(?:-[0-9A-Fa-f]+|(?:\.[0-9A-Fa-f]+)+)?)
    | (?P<mark>=/|[=/()\[\]])
    """,
    re.VERBOSE,
)
_NUMBER_BASES = {"b": 2, "d": 10, "x": 16}
_CLOSING_MARKS = {"(": ")", "[": "]"}
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


class AbnfSyntaxError(ValueError):
    """Raised when a text is not ABNF, or its rules cannot be used."""


@dataclass(frozen=True, slots=True)
class AbnfCharacters:
    """Characters in order, each from one range, or from two for a letter of either case."""

    ranges: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class AbnfRuleName:
    """A reference to a rule by its name, in lower case."""

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
    """A part, `least` to `most` times (None: without limit)."""

    part: AbnfNode
    least: int
    most: int | None


AbnfNode: TypeAlias = AbnfCharacters | AbnfRuleName | AbnfSequence | AbnfChoice | AbnfRepeat


class AbnfGrammar:
    """An element with the rules it needs."""

    def __init__(self, text: str) -> None:
        """Parse a grammar.

        Raises:
            AbnfSyntaxError: when the text is not ABNF, a rule is missing or starts with itself.

        """
        self.rules = _AbnfParser(_CORE_RULES).parse_rules()
        parser = _AbnfParser(text)
        self.start = parser.parse_element()
        self.rules.update(parser.parse_rules())
        used = self._list_used_rules()
        self._check_no_left_recursion(used)

    def matches(self, text: Sequence[int]) -> bool:
        """Return whether a whole sequence of characters or bytes matches the grammar.

        Raises:
            WorkLimitError: when the grammar has too many readings of this text.

        """
        return len(text) in _GrammarMatcher(self.rules, text).find_ends(self.start, 0)

    def _list_used_rules(self) -> set[str]:
        """Return the names of all rules that the element needs, directly or through others.

        Raises:
            AbnfSyntaxError: when one of them is not defined.

        """
        used: set[str] = set()
        waiting = [self.start]
        while waiting:
            for name in _list_rule_names(waiting.pop()):
                if name not in self.rules:
                    raise AbnfSyntaxError(f"ABNF rule {name!r} is not defined")
                if name not in used:
                    used.add(name)
                    waiting.append(self.rules[name])
        return used

    def _check_no_left_recursion(self, used: set[str]) -> None:
        """Refuse a rule that may come back to itself before it reads a character.

        Raises:
            AbnfSyntaxError: one of the `used` rules does so.
        """
        empty = self._find_empty_rules(used)
        for name in used:
            waiting, seen = [name], set[str]()
            while waiting:
                for first in _list_first_rules(self.rules[waiting.pop()], empty):
                    if first == name:
                        raise AbnfSyntaxError(f"ABNF rule {name!r} starts with itself")
                    if first not in seen:
                        seen.add(first)
                        waiting.append(first)

    def _find_empty_rules(self, used: set[str]) -> set[str]:
        """Return the names of the used rules that match the empty text."""
        empty: set[str] = set()
        grown = True
        while grown:
            known = empty
            empty = {name for name in used if _may_be_empty(self.rules[name], known)}
            grown = empty != known
        return empty


def _list_rule_names(part: AbnfNode) -> Iterator[str]:
    """Yield the names of the rules that a part refers to, without following them."""
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


def _list_first_rules(part: AbnfNode, empty: set[str]) -> Iterator[str]:
    """Yield the names of the rules that a part may enter before it reads a character.

    `empty` has the names of the rules that match the empty text.
    """
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


def _may_be_empty(part: AbnfNode, empty: set[str]) -> bool:
    """Return whether a part matches the empty text, if the rules in `empty` do."""
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


class _GrammarMatcher:
    """Matches one text, and remembers where each part can end from each position."""

    def __init__(self, rules: dict[str, AbnfNode], text: Sequence[int]) -> None:
        """Prepare to match a text with these rules, by name in lower case."""
        self._rules = rules
        self._text = text
        self._known: dict[tuple[int, int], frozenset[int]] = {}
        self._work = 0
        self._kept = 0

    def find_ends(self, part: AbnfNode, at: int) -> frozenset[int]:
        """Return every position where a part may end that starts at `at`; empty without a match.

        Raises:
            WorkLimitError: when the grammar has too many readings of this text.

        """
        if isinstance(part, AbnfCharacters):
            return self._compute_ends(part, at)
        # The grammar keeps its parts alive, so the identity of one is never given to another.
        key = (id(part), at)
        ends = self._known.get(key)
        if ends is None:
            ends = self._known[key] = self._compute_ends(part, at)
            self._kept += len(ends)
        return ends

    def _compute_ends(self, part: AbnfNode, at: int) -> frozenset[int]:
        """Return the result of `find_ends` for a part that is not remembered yet."""
        match part:
            case AbnfCharacters(ranges=ranges):
                end = at + len(ranges)
                matches = end <= len(self._text) and all(
                    any(low <= self._text[at + index] <= high for low, high in options)
                    for index, options in enumerate(ranges)
                )
                return frozenset({end}) if matches else frozenset()
            case AbnfRuleName(name=name):
                return self.find_ends(self._rules[name], at)
            case AbnfSequence(parts=parts):
                reached = frozenset({at})
                for inner in parts:
                    reached = self._advance(inner, reached)
                return reached
            case AbnfChoice(parts=parts):
                ends: set[int] = set()
                for inner in parts:
                    ends |= self.find_ends(inner, at)
                return frozenset(ends)
            case AbnfRepeat():
                return self._find_repeat_ends(part, at)

    def _advance(self, part: AbnfNode, starts: Iterable[int]) -> frozenset[int]:
        """Return every position where a part may end, from any of these start positions.

        Raises:
            WorkLimitError: when the grammar has too many readings of this text.

        """
        # A loop and not a generator inside a call, which would use the interpreter's own stack.
        reached: set[int] = set()
        for start in starts:
            ends = self.find_ends(part, start)
            reached |= ends
            self._work += _CALL_COST + len(ends)
        self._work += _CALL_COST
        if self._work > _MAX_MATCH_WORK or self._kept > _MAX_KEPT_POSITIONS:
            raise WorkLimitError(
                "a string that the ABNF grammar can read in too many ways to be checked"
            )
        return frozenset(reached)

    def _find_repeat_ends(self, repeat: AbnfRepeat, at: int) -> frozenset[int]:
        """Return every position where the repetition of a part may end, from `at` on."""
        reached = frozenset({at})
        ends: set[int] = set()
        count = 0
        while reached:
            if count >= repeat.least:
                if reached <= ends:
                    break
                reached -= ends
                ends |= reached
            if count == repeat.most:
                break
            following = self._advance(repeat.part, reached)
            count += 1
            if following == reached and count < repeat.least:
                # Another step leads to the same positions, and so does every one after it.
                count = repeat.least
            reached = following
        return frozenset(ends)


class _AbnfParser:
    """A recursive descent over the tokens of a grammar."""

    def __init__(self, text: str) -> None:
        """Cut a grammar into tokens.

        Raises:
            AbnfSyntaxError: when a character starts no token.

        """
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._depth = 0
        at = 0
        while at < len(text):
            match = _ABNF_TOKEN_PATTERN.match(text, at)
            if match is None:
                raise AbnfSyntaxError(f"unexpected {text[at]!r} in ABNF")
            if match.lastgroup != "space":
                self._tokens.append((match.lastgroup or "", match.group()))
            at = match.end()

    def parse_element(self) -> AbnfNode:
        """Parse the element before the rules: a choice of sequences.

        Raises:
            AbnfSyntaxError: the text does not start with an element.
        """
        self._skip_line_ends()
        return self._parse_choice()

    def parse_rules(self) -> dict[str, AbnfNode]:
        """Parse all rules up to the end, and return them by name in lower case.

        `=/` adds an alternative to an earlier rule of the same name; a second `=` replaces it.

        Raises:
            AbnfSyntaxError: the rest of the text does not consist of rules.
        """
        rules: dict[str, AbnfNode] = {}
        self._skip_line_ends()
        while self._peek()[0] != "end":
            (kind, text), (_, assign) = self._peek(), self._peek(1)
            if kind != "name" or assign not in {"=", "=/"}:
                self._fail(f"expected a rule, found {text!r}")
            self._at += 2
            part = self._parse_choice()
            name = text.lower()
            known = rules.get(name)
            rules[name] = AbnfChoice((known, part)) if assign == "=/" and known else part
            self._skip_line_ends()
        return rules

    def _fail(self, message: str) -> NoReturn:
        """Raise an AbnfSyntaxError with this message."""
        raise AbnfSyntaxError(f"{message} in ABNF")

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        """Return kind and text of the next token, or of one further ahead; `end` at the end."""
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else ("end", "")

    def _skip_line_ends(self) -> None:
        """Skip all line ends that are next, if any."""
        while self._peek()[0] == "line":
            self._at += 1

    def _parse_choice(self) -> AbnfNode:
        """Parse sequences separated by `/`; a single one is not wrapped in a choice.

        Raises:
            AbnfSyntaxError: a sequence is malformed, or nested too deeply.
        """
        self._depth += 1
        if self._depth > _MAX_NESTING:
            self._fail("nested too deeply")
        parts = [self._parse_sequence()]
        while self._peek() == ("mark", "/"):
            self._at += 1
            parts.append(self._parse_sequence())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else AbnfChoice(tuple(parts))

    def _parse_sequence(self) -> AbnfNode:
        """Parse one or more elements; a single one is not wrapped in a sequence.

        Raises:
            AbnfSyntaxError: there is no element, or it is malformed.
        """
        parts: list[AbnfNode] = []
        while self._starts_element():
            parts.append(self._parse_repeat())
        if not parts:
            self._fail(f"expected an element, found {self._peek()[1]!r}")
        return parts[0] if len(parts) == 1 else AbnfSequence(tuple(parts))

    def _starts_element(self) -> bool:
        """Return whether the next token begins another element of the sequence."""
        kind, text = self._peek()
        if kind == "name":
            # No mark separates the element from the rules: a name before `=` is the next rule.
            return self._peek(1)[1] not in {"=", "=/"}
        return kind in {"repeat", "text", "value"} or text in _CLOSING_MARKS

    def _parse_repeat(self) -> AbnfNode:
        """Parse an element, with the repetition before it if there is one, such as `2*3ALPHA`.

        Raises:
            AbnfSyntaxError: the element is malformed, or the count is too large.
        """
        kind, text = self._peek()
        if kind != "repeat":
            return self._parse_unit()
        self._at += 1
        low, star, high = text.partition("*")
        least = int(low[:9]) if low else 0
        most: int | None = least
        if star:
            most = int(high[:9]) if high else None
        if least > _MAX_REPEATS or (most or 0) > _MAX_REPEATS:
            self._fail(f"repetition of more than {_MAX_REPEATS} times")
        return AbnfRepeat(self._parse_unit(), least, most)

    def _parse_unit(self) -> AbnfNode:
        """Parse a rule name, a string, a character value, `(…)` or the optional `[…]`.

        Raises:
            AbnfSyntaxError: another token is next, or a bracket is not closed.
        """
        kind, text = self._peek()
        self._at += 1
        match kind, text:
            case "name", _:
                return AbnfRuleName(text.lower())
            case "text", _:
                return _parse_quoted_text(text)
            case "value", _:
                return self._parse_value(text)
            case "mark", ("(" | "["):
                inner = self._parse_choice()
                if self._peek()[1] != _CLOSING_MARKS[text]:
                    self._fail(f"missing {_CLOSING_MARKS[text]!r}")
                self._at += 1
                return inner if text == "(" else AbnfRepeat(inner, 0, 1)
            case _:
                return self._fail(f"expected an element, found {text!r}")

    def _parse_value(self, text: str) -> AbnfNode:
        """Parse `%x41`, `%x41-5A` or `%x41.42`, in base 2, 10 or 16.

        Raises:
            AbnfSyntaxError: the digits are not numbers of that base.
        """
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
    """Parse a quoted string, which ignores case unless it starts with `%s` (RFC 7405)."""
    exact = text.lower().startswith("%s")
    characters = text[text.index('"') + 1 : -1]
    return AbnfCharacters(
        tuple(_list_letter_cases(character, exact=exact) for character in characters)
    )


def _list_letter_cases(character: str, *, exact: bool) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a character, unless `exact` of both cases of an ASCII letter."""
    forms = {character}
    if character.isascii() and not exact:
        forms = {character.lower(), character.upper()}
    return tuple((ord(form), ord(form)) for form in sorted(forms))
