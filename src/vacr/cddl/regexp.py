r"""The regular expressions of `.regexp` and `.pcre`.

`.regexp` uses the patterns of XML Schema (RFC 8610 section 3.8.3, XML Schema Part 2 appendix F).
They differ from Python's: they match the whole text, `^` and `$` are ordinary characters, and a
class may be subtracted from another:

    >>> from vacr.cddl.regexp import compile_pattern
    >>> matches = compile_pattern(r"[a-z-[aeiou]]+\$")
    >>> bool(matches("xyz$")), bool(matches("xaz$"))
    (True, False)

A pattern is parsed into a tree; the instance generator reads it too. Python's `re` runs the tree
when that cannot take long. When it could, because of a nested or ambiguous repetition or of many
open ones, an automaton runs it, which reads every character once. So no pattern makes a validator
hang.

`.pcre` is parsed the same way as far as it uses only what both languages share, with PCRE's meaning
of `^`, `$`, `\d` and `\w`. A pattern with more than that (look-around, back references) goes to
Python's `re`, and then a text longer than `MAX_BACKTRACKING_LENGTH` does not match.

`\p{Is…}` knows only the Unicode blocks listed here, as Python has no table of blocks.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn, TypeAlias

from vacr.cddl.values import WorkLimitError

# A set of characters: a sorted tuple of inclusive ranges of code points.
CharacterRanges: TypeAlias = tuple[tuple[int, int], ...]

MAX_BACKTRACKING_LENGTH = 1000
MAX_AUTOMATON_STATES = 20_000
_MAX_REPEAT_COUNT = 10_000
_MAX_PATTERN_DEPTH = 40
# Patterns within these limits go to Python's `re`, the others to the automaton.
_MAX_PATHS = 4096
_MAX_OPEN_REPEATS = 2
_PATH_SHIFT_PER_REPEAT = 4
# A repetition with more choices than this costs about as much as one without limit.
_MAX_CLOSED_CHOICES = 16
# Limits of the automaton's memory, and of the states it may visit on one text.
_MAX_KEPT_STEPS = 2_000
_MAX_KEPT_STATES = 500_000
_MAX_TEXT_WORK = 15_000_000


class PatternError(ValueError):
    """Raised when a pattern cannot be parsed or compiled."""


@dataclass(frozen=True, slots=True)
class PatternCharacters:
    """One character of a set."""

    ranges: CharacterRanges


@dataclass(frozen=True, slots=True)
class PatternSequence:
    """One part after the other."""

    parts: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class PatternChoice:
    """One of several branches."""

    branches: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class PatternRepeat:
    """A part, `least` to `most` times (None: without limit)."""

    part: PatternNode
    least: int
    most: int | None

    @property
    def is_open(self) -> bool:
        """Return whether the count has no limit, or a range so wide that it costs as much."""
        return self.most is None or self.most - self.least > _MAX_CLOSED_CHOICES


PatternNode: TypeAlias = PatternCharacters | PatternSequence | PatternChoice | PatternRepeat


def compile_pattern(pattern: str, *, pcre: bool = False) -> Callable[[str], object]:
    """Return a function whose result is true for a text that matches the pattern as a whole.

    The pattern is of XML Schema, or with `pcre` of PCRE. The function raises `WorkLimitError` for a
    text that would take too long. A PCRE that only Python's `re` can run never matches a text
    longer than `MAX_BACKTRACKING_LENGTH`.

    Raises:
        PatternError: when the pattern cannot be parsed, or needs too many states.
    """
    try:
        tree = parse_pattern(pattern, pcre=pcre)
    except PatternError:
        if not pcre:
            raise
        return _compile_bounded_pattern(pattern)
    try:
        # Every path through the branches may be tried with every length of every open repetition.
        open_repeats = _count_open_repeats(tree)
        max_paths = _MAX_PATHS >> min(_PATH_SHIFT_PER_REPEAT * open_repeats, 64)
        if _is_ambiguous(tree) or _count_paths(tree) > max_paths:
            return Automaton(tree).matches
        fullmatch = re.compile(_format_python_pattern(tree)).fullmatch
        if open_repeats <= 1:
            return fullmatch
        automaton = Automaton(tree)
    except (re.error, PatternTooLargeError, RecursionError, OverflowError) as error:
        raise PatternError(str(error)) from error
    return lambda text: (
        fullmatch(text) if len(text) <= MAX_BACKTRACKING_LENGTH else automaton.matches(text)
    )


def _compile_bounded_pattern(pattern: str) -> Callable[[str], object]:
    """Return a function that matches a pattern which only Python's `re` can run.

    Its result is false for a text longer than `MAX_BACKTRACKING_LENGTH`.

    Raises:
        PatternError: Python cannot compile the pattern.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fullmatch = re.compile(pattern).fullmatch
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(str(error)) from error
    return lambda text: len(text) <= MAX_BACKTRACKING_LENGTH and fullmatch(text)


def parse_pattern(pattern: str, *, pcre: bool = False) -> PatternNode:
    """Parse a pattern of XML Schema, or with `pcre` of PCRE, into its tree.

    Raises:
        PatternError: when the pattern is malformed, or a PCRE uses more than both languages share.

    """
    return _PatternParser(pattern, pcre=pcre).parse()


# How long a pattern may take to match.


def _count_open_repeats(tree: PatternNode) -> int:
    """Count the repetitions in a tree that are open: without limit, or with a wide range."""
    match tree:
        case PatternCharacters():
            return 0
        case PatternSequence(parts=parts) | PatternChoice(branches=parts):
            return sum(map(_count_open_repeats, parts))
        case PatternRepeat():
            return tree.is_open + _count_open_repeats(tree.part)


def _is_ambiguous(tree: PatternNode) -> bool:
    """Return whether repetitions are nested or many, so that backtracking could take for ever."""
    return _has_nested_repeat(tree) or _count_open_repeats(tree) > _MAX_OPEN_REPEATS


def _has_nested_repeat(tree: PatternNode) -> bool:
    """Return whether a repetition contains a choice or a variable count, as in `(a*)*`."""
    match tree:
        case PatternCharacters():
            return False
        case PatternSequence(parts=parts) | PatternChoice(branches=parts):
            return any(map(_has_nested_repeat, parts))
        case PatternRepeat():
            repeats_variable = tree.most != 1 and _is_variable(tree.part)
            return repeats_variable or _has_nested_repeat(tree.part)


def _is_variable(tree: PatternNode) -> bool:
    """Return whether a tree has a choice, or a repetition without a fixed count."""
    match tree:
        case PatternCharacters():
            return False
        case PatternSequence(parts=parts):
            return any(map(_is_variable, parts))
        case PatternChoice():
            return True
        case PatternRepeat():
            return tree.least != tree.most or _is_variable(tree.part)


def _count_paths(tree: PatternNode) -> int:
    """Count the paths through the branches, up to `_MAX_PATHS` + 1.

    Backtracking may have to try them one by one.
    """
    match tree:
        case PatternCharacters():
            return 1
        case PatternSequence(parts=parts):
            count = 1
            for part in parts:
                count = min(count * _count_paths(part), _MAX_PATHS + 1)
            return count
        case PatternChoice(branches=branches):
            return min(sum(map(_count_paths, branches)), _MAX_PATHS + 1)
        case PatternRepeat():
            choices = 1 if tree.is_open else (tree.most or 0) - tree.least + 1
            return min(choices * _count_paths(tree.part), _MAX_PATHS + 1)


def _format_python_pattern(tree: PatternNode) -> str:
    """Return the pattern for Python's `re` that matches the same texts as a tree."""
    match tree:
        case PatternCharacters(ranges=()):
            return "(?!)"
        case PatternCharacters(ranges=((low, high),)) if low == high:
            return re.escape(chr(low))
        case PatternCharacters(ranges=ranges):
            return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
        case PatternSequence(parts=parts):
            return "".join(map(_format_python_pattern, parts))
        case PatternChoice(branches=branches):
            return f"(?:{'|'.join(map(_format_python_pattern, branches))})"
        case PatternRepeat():
            most = "" if tree.most is None else tree.most
            return f"(?:{_format_python_pattern(tree.part)}){{{tree.least},{most}}}"


# The automaton.


class PatternTooLargeError(ValueError):
    """A pattern whose counts multiply to more states than are allowed."""


class Automaton:
    """A regular expression as a nondeterministic automaton (Thompson's construction).

    The sets of states met while reading a text are remembered with where each character leads, so
    reading mostly takes one look-up a character. Both the memory and the work on one text are
    bounded.
    """

    def __init__(self, tree: PatternNode) -> None:
        """Build the states.

        Raises:
            PatternTooLargeError: when the pattern needs more than `MAX_AUTOMATON_STATES`.

        """
        self._free: list[list[int]] = []
        self._edges: list[tuple[CharacterRanges, int] | None] = []
        self._final = self._add_state()
        self._start = self._follow_free_edges({self._build(tree, self._final)})
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._kept = 0

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches.

        Raises:
            WorkLimitError: when the pattern has too many states for a text of this length.

        """
        states = self._start
        work = 0
        for character in text:
            following = self._steps.get((states, character))
            if following is None:
                following = self._step(states, character)
                work += len(states) + len(following)
                if work > _MAX_TEXT_WORK:
                    raise WorkLimitError(
                        "a text that takes too long to be compared with the regular expression"
                    )
            states = following
            if not states:
                return False
        return self._final in states

    def _step(self, states: frozenset[int], character: str) -> frozenset[int]:
        """Return the set of states after one more character, and remember it."""
        code = ord(character)
        targets: set[int] = set()
        for state in states:
            edge = self._edges[state]
            if edge is not None and _contains_character(edge[0], code):
                targets.add(edge[1])
        following = self._follow_free_edges(targets)
        self._kept += len(states) + len(following)
        if len(self._steps) >= _MAX_KEPT_STEPS or self._kept > _MAX_KEPT_STATES:
            self._steps.clear()
            self._kept = len(states) + len(following)
        self._steps[states, character] = following
        return following

    def _follow_free_edges(self, states: set[int]) -> frozenset[int]:
        """Return these states and all states reached from them without reading a character."""
        reached = set(states)
        waiting = list(states)
        while waiting:
            for state in self._free[waiting.pop()]:
                if state not in reached:
                    reached.add(state)
                    waiting.append(state)
        return frozenset(reached)

    def _add_state(
        self, edge: tuple[CharacterRanges, int] | None = None, free: list[int] | None = None
    ) -> int:
        """Add a state and return its number.

        `edge` has the characters that lead to another state; `free` lists the states that follow
        without a character.

        Raises:
            PatternTooLargeError: there are `MAX_AUTOMATON_STATES` states already.
        """
        if len(self._edges) >= MAX_AUTOMATON_STATES:
            raise PatternTooLargeError(f"the pattern needs more than {MAX_AUTOMATON_STATES} states")
        self._edges.append(edge)
        self._free.append(free or [])
        return len(self._edges) - 1

    def _build(self, tree: PatternNode, following: int) -> int:
        """Add the states of a tree, which end at the state `following`; return the first."""
        match tree:
            case PatternCharacters(ranges=ranges):
                return self._add_state((ranges, following))
            case PatternSequence(parts=parts):
                for part in reversed(parts):
                    following = self._build(part, following)
                return following
            case PatternChoice(branches=branches):
                return self._add_state(free=[self._build(branch, following) for branch in branches])
            case PatternRepeat():
                return self._build_repeat(tree, following)

    def _build_repeat(self, repeat: PatternRepeat, following: int) -> int:
        """Add the states of a repetition, which end at the state `following`; return the first.

        It is a loop without limit, or else one copy for each count.
        """
        if repeat.most is None:
            loop = self._add_state()
            self._free[loop] = [self._build(repeat.part, loop), following]
            following = loop
        else:
            end = following
            for _ in range(repeat.most - repeat.least):
                following = self._add_state(free=[self._build(repeat.part, following), end])
        for _ in range(repeat.least):
            following = self._build(repeat.part, following)
        return following


# The parser.

_SHORT_REPEATS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_CONTROL_ESCAPES = {"n": 10, "r": 13, "t": 9}
_COUNT_PATTERN = re.compile(r"\{([0-9]{1,6})(,([0-9]{1,6})?)?\}")
_PROPERTY_PATTERN = re.compile(r"\{(\^?)([A-Za-z0-9-]+)\}")


class _PatternParser:
    """A recursive descent over the characters of a pattern."""

    def __init__(self, text: str, *, pcre: bool) -> None:
        """Start at the beginning of a pattern of XML Schema, or of PCRE."""
        self._text = text
        self._pcre = pcre
        self._at = 0
        self._end = len(text)
        self._depth = 0

    def parse(self) -> PatternNode:
        """Parse the whole pattern; skip `^` at the start and `$` at the end of a PCRE.

        Raises:
            PatternError: the pattern is malformed, or has parts that are not supported.
        """
        if self._pcre:
            self._at += self._text.startswith("^")
            if self._text.endswith("$") and not self._text.endswith("\\$"):
                self._end -= 1
        tree = self._parse_branches()
        if self._here:
            self._fail("unexpected ')'")
        return tree

    def _fail(self, message: str) -> NoReturn:
        """Raise a PatternError with this message and the place in the pattern."""
        raise PatternError(f"{message} at character {self._at + 1} of the pattern")

    @property
    def _here(self) -> str:
        """Return the next character, or an empty text at the end."""
        return self._text[self._at] if self._at < self._end else ""

    def _accept(self, mark: str) -> bool:
        """Skip this mark if it is next, and return whether it was."""
        is_next = self._text.startswith(mark, self._at, self._end)
        self._at += len(mark) * is_next
        return is_next

    def _enter(self) -> None:
        """Count one more level of nesting.

        Raises:
            PatternError: there are more than `_MAX_PATTERN_DEPTH` levels.
        """
        self._depth += 1
        if self._depth > _MAX_PATTERN_DEPTH:
            self._fail("nested too deeply")

    def _parse_branches(self) -> PatternNode:
        """Parse branches separated by `|`; a single branch is not wrapped in a choice."""
        self._enter()
        branches = [self._parse_sequence()]
        while self._accept("|"):
            branches.append(self._parse_sequence())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else PatternChoice(tuple(branches))

    def _parse_sequence(self) -> PatternNode:
        """Parse atoms with their quantifiers up to `|`, `)` or the end; there may be none."""
        parts: list[PatternNode] = []
        while self._here and self._here not in "|)":
            parts.append(self._parse_repeat(self._parse_atom()))
        return parts[0] if len(parts) == 1 else PatternSequence(tuple(parts))

    def _parse_repeat(self, atom: PatternNode) -> PatternNode:
        """Return the atom repeated by the quantifier after it, or the atom itself without one.

        Raises:
            PatternError: the quantifier is malformed, or two follow each other.
        """
        if self._here in _SHORT_REPEATS:
            least, most = _SHORT_REPEATS[self._here]
            self._at += 1
        elif self._here == "{":
            least, most = self._parse_counts()
        else:
            return atom
        if self._here and self._here in "?*+{":
            self._fail("two repetition signs in a row")
        return PatternRepeat(atom, least, most)

    def _parse_counts(self) -> tuple[int, int | None]:
        """Parse `{2}`, `{2,}` or `{2,5}` into the least and the most count (None: no limit).

        Raises:
            PatternError: the text has another form, or a count is too large or below the least.
        """
        match = _COUNT_PATTERN.match(self._text, self._at, self._end)
        if match is None:
            self._fail("expected a count such as {2}, {2,} or {2,5}")
        least = int(match[1])
        most: int | None = least
        if match[2]:
            most = int(match[3]) if match[3] else None
        if max(least, most or 0) > _MAX_REPEAT_COUNT or (most is not None and most < least):
            self._fail(f"count above {_MAX_REPEAT_COUNT}, or minimum above maximum")
        self._at = match.end()
        return least, most

    def _parse_atom(self) -> PatternNode:
        """Parse one character, escape, `.`, class in brackets or group in parentheses.

        Raises:
            PatternError: the next character cannot begin one.
        """
        here = self._here
        if here == "(":
            return self._parse_group()
        if here == "[":
            self._at += 1
            return PatternCharacters(self._parse_class())
        if here == ".":
            self._at += 1
            line_ends = ((10, 10),) if self._pcre else ((10, 10), (13, 13))
            return PatternCharacters(_invert_ranges(line_ends))
        if here == "\\":
            return PatternCharacters(self._parse_escape())
        if here in "?*+{}]" or (self._pcre and here in "^$"):
            self._fail(f"unexpected {here!r}")
        self._at += 1
        return PatternCharacters(((ord(here), ord(here)),))

    def _parse_group(self) -> PatternNode:
        """Parse `(…)`, or `(?:…)` in a PCRE, and return the tree inside.

        Raises:
            PatternError: the group is not closed, or has another form such as `(?=…)`.
        """
        self._at += 1
        if self._pcre and self._here == "?" and not self._accept("?:"):
            self._fail("unsupported group (?…)")
        inner = self._parse_branches()
        if not self._accept(")"):
            self._fail("missing ')'")
        return inner

    def _parse_escape(self) -> CharacterRanges:
        r"""Parse an escape, such as `\d`, `\n` or `\.`, into the characters it stands for.

        Raises:
            PatternError: the escape is unknown.
        """
        self._at += 1
        letter = self._here
        self._at += 1
        if letter in {"p", "P"}:
            return self._parse_property(inverted=letter == "P")
        if letter in _CONTROL_ESCAPES:
            return ((_CONTROL_ESCAPES[letter], _CONTROL_ESCAPES[letter]),)
        if self._pcre and letter in set("dDwW"):
            ranges = _DIGIT_RANGES if letter in "dD" else _WORD_RANGES
            return _invert_ranges(ranges) if letter.isupper() else ranges
        if letter in set("sSdDwW" if self._pcre else "sSiIcCdDwW"):
            return _find_escaped_characters(letter)
        if not letter or letter.isalnum():
            self._fail(f"unknown escape \\{letter}")
        return ((ord(letter), ord(letter)),)

    def _parse_property(self, *, inverted: bool) -> CharacterRanges:
        r"""Parse `{Lu}` after `\p` or (inverted) `\P` into the characters with this property.

        Raises:
            PatternError: the property is unknown.
        """
        match = _PROPERTY_PATTERN.match(self._text, self._at, self._end)
        ranges = _find_named_characters(match[2]) if match and not match[1] else None
        if match is None or ranges is None:
            self._fail("unknown character property")
        self._at = match.end()
        return _invert_ranges(ranges) if inverted else ranges

    def _parse_class(self) -> CharacterRanges:
        """Parse a class after its `[`, such as `a-z-[aeiou]]`, into its characters.

        Raises:
            PatternError: the class is not closed, or a part of it is malformed.
        """
        self._enter()
        inverted = self._accept("^")
        parts: list[tuple[int, int]] = []
        subtracted: CharacterRanges = ()
        first = True
        while first or self._here != "]":
            if not self._here:
                self._fail("missing ']'")
            if not first and self._accept("-["):
                subtracted = self._parse_class()
                if self._here != "]":
                    self._fail("expected ']' after the subtracted class")
                break
            parts += self._parse_class_part()
            first = False
        self._at += 1
        self._depth -= 1
        ranges = _unite_ranges(parts)
        return _subtract_ranges(_invert_ranges(ranges) if inverted else ranges, subtracted)

    def _parse_class_part(self) -> CharacterRanges:
        """Parse one character, escape or range of a class.

        Raises:
            PatternError: it is malformed, or the range does not ascend.
        """
        low = self._parse_class_character()
        following = self._text[self._at + 1 : self._at + 2]
        if self._here != "-" or following in {"]", "", "["} or not _is_one_character(low):
            return low
        self._at += 1
        high = self._parse_class_character()
        if not _is_one_character(high) or high[0][0] < low[0][0]:
            self._fail("the range does not end with a later character")
        return ((low[0][0], high[0][0]),)

    def _parse_class_character(self) -> CharacterRanges:
        """Parse one character or escape inside a class.

        Raises:
            PatternError: it is a `[`, or an unknown escape.
        """
        if self._here == "\\":
            return self._parse_escape()
        if self._here == "[":
            self._fail("unexpected '['")
        self._at += 1
        code = ord(self._text[self._at - 1])
        return ((code, code),)


# Sets of characters.

_LAST_CODE_POINT = 0x10FFFF
_SPACE_RANGES: CharacterRanges = ((9, 10), (13, 13), (32, 32))
_DIGIT_RANGES: CharacterRanges = ((48, 57),)
_WORD_RANGES: CharacterRanges = ((48, 57), (65, 90), (95, 95), (97, 122))
# NameStartChar of XML 1.0 and the additions of NameChar, for \i and \c.
_NAME_START_RANGES: CharacterRanges = (
    *((58, 58), (65, 90), (95, 95), (97, 122), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF)),
    *((0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F), (0x2C00, 0x2FEF)),
    *((0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
)
_NAME_EXTRA_RANGES: CharacterRanges = (
    *((45, 46), (48, 57), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)),
)
_UNICODE_BLOCKS: dict[str, CharacterRanges] = {
    "BasicLatin": ((0, 0x7F),),
    "Latin-1Supplement": ((0x80, 0xFF),),
    "LatinExtended-A": ((0x100, 0x17F),),
    "LatinExtended-B": ((0x180, 0x24F),),
    "Greek": ((0x370, 0x3FF),),
    "GreekandCoptic": ((0x370, 0x3FF),),
    "Cyrillic": ((0x400, 0x4FF),),
    "Hebrew": ((0x590, 0x5FF),),
    "Arabic": ((0x600, 0x6FF),),
    "GeneralPunctuation": ((0x2000, 0x206F),),
    "CJKUnifiedIdeographs": ((0x4E00, 0x9FFF),),
    "PrivateUse": ((0xE000, 0xF8FF),),
}


def _unite_ranges(parts: Iterable[tuple[int, int]]) -> CharacterRanges:
    """Return ranges in any order as a sorted set, with touching ranges merged."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _invert_ranges(ranges: CharacterRanges) -> CharacterRanges:
    """Return the characters that are not in a set."""
    inverted: list[tuple[int, int]] = []
    following = 0
    for low, high in ranges:
        if following < low:
            inverted.append((following, low - 1))
        following = high + 1
    if following <= _LAST_CODE_POINT:
        inverted.append((following, _LAST_CODE_POINT))
    return tuple(inverted)


def _subtract_ranges(ranges: CharacterRanges, subtracted: CharacterRanges) -> CharacterRanges:
    """Return the characters of the first set that are not in the second."""
    return _invert_ranges(_unite_ranges((*_invert_ranges(ranges), *subtracted)))


def _contains_character(ranges: CharacterRanges, code: int) -> bool:
    """Return whether a code point is in a set."""
    index = bisect_right(ranges, (code, _LAST_CODE_POINT + 1)) - 1
    return index >= 0 and ranges[index][1] >= code


def _is_one_character(ranges: CharacterRanges) -> bool:
    """Return whether a set that is not empty has a single character."""
    return ranges[0][0] == ranges[-1][1]


def _find_escaped_characters(letter: str) -> CharacterRanges:
    r"""Return the characters of `\s`, `\i`, `\c`, `\d` or `\w`; a capital inverts them."""
    if letter.isupper():
        return _invert_ranges(_find_escaped_characters(letter.lower()))
    match letter:
        case "s":
            return _SPACE_RANGES
        case "i":
            return _NAME_START_RANGES
        case "c":
            return _unite_ranges((*_NAME_START_RANGES, *_NAME_EXTRA_RANGES))
        case "d":
            return _find_named_characters("Nd") or ()
        case _:
            # \w: everything but punctuation, separators and other characters.
            excluded = (_find_named_characters(category) or () for category in "PZC")
            return _invert_ranges(_unite_ranges(pair for ranges in excluded for pair in ranges))


@lru_cache(maxsize=64)
def _find_named_characters(name: str) -> CharacterRanges | None:
    """Return the characters of a category (`L`, `Nd`) or of a block (`IsBasicLatin`), or `None`."""
    if name.startswith("Is"):
        return _UNICODE_BLOCKS.get(name[2:])
    categories = [
        ranges for category, ranges in _build_category_ranges().items() if category.startswith(name)
    ]
    return _unite_ranges(pair for ranges in categories for pair in ranges) if categories else None


@lru_cache(maxsize=1)
def _build_category_ranges() -> dict[str, CharacterRanges]:
    """Return the ranges of code points of each general category, by its name, such as `Lu`.

    They are computed when a pattern first names a category.
    """
    runs: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category(chr(0))
    for code in range(1, _LAST_CODE_POINT + 2):
        category = unicodedata.category(chr(code)) if code <= _LAST_CODE_POINT else ""
        if category != current:
            runs.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    return {name: tuple(ranges) for name, ranges in runs.items()}
