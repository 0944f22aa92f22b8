r"""Sets of characters, as the regular expressions of XML Schema name them. Step: validate.

Follows appendix F of XML Schema Part 2 (XSD), which RFC 8610 section 3.8.3 refers to. A set is a
sorted tuple of inclusive ranges of code points. Unicode categories are read from the interpreter's
own tables, once, when a pattern first names one.

Left out on purpose: `\p{Is…}` for blocks other than the few listed here, as the interpreter has no
table of blocks.

The tree of a regular expression, and how it is read. Step: validate.

Follows appendix F of XML Schema Part 2. `regexp` and `automaton` run the tree, the generator makes
texts of it. With `pcre`, what PCRE and XML Schema have in common is read, with PCRE's meaning of
`^`, `$`, `\d` and `\w`.

Run a regular expression in time that grows with the text alone. Step: validate.

The tree becomes a nondeterministic automaton (Thompson's construction); the sets of states met
while reading a text are remembered with where each character leads, so a text is read at one
look-up a character. What is remembered is bounded, and so is the work on one text.

The regular expressions of `.regexp` and `.pcre`. Step: validate.

`.regexp` is that of XML Schema (RFC 8610 section 3.8.3): anchored at both ends, `^` and `$` are
ordinary characters, classes may be subtracted from. A pattern is parsed into a tree; the generator
reads it too. The tree is run by Python's `re` when that cannot take long, and by an automaton that
reads every character once when it could: a nested or ambiguous repetition, or many open ones. So
there is no pattern that makes a validator hang.

`.pcre` is read the same way, also anchored, where it only uses what both have in common. What it
has beyond (look-around, back references) goes to Python's `re`, and then a text longer than
`LONGEST_BACKTRACKING` does not match.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from vacr.cddl.limits import WorkLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable

CharacterRanges: TypeAlias = tuple[tuple[int, int], ...]

LAST_CODE_POINT = 0x10FFFF
SPACE_RANGES: CharacterRanges = ((9, 10), (13, 13), (32, 32))
DIGIT_RANGES: CharacterRanges = ((48, 57),)
WORD_RANGES: CharacterRanges = ((48, 57), (65, 90), (95, 95), (97, 122))
# NameStartChar and the additions of NameChar of XML 1.0, which \i and \c stand for.
NAME_START_RANGES: CharacterRanges = (
    *(
        (58, 58),
        (65, 90),
        (95, 95),
        (97, 122),
        (0xC0, 0xD6),
        (0xD8, 0xF6),
        (0xF8, 0x2FF),
        (0x370, 0x37D),
    ),
    *((0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF)),
    *((0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
)
NAME_EXTRA_RANGES: CharacterRanges = (
    (45, 46),
    (48, 57),
    (0xB7, 0xB7),
    (0x300, 0x36F),
    (0x203F, 0x2040),
)
UNICODE_BLOCKS: dict[str, CharacterRanges] = {
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


def unite_ranges(parts: Iterable[tuple[int, int]]) -> CharacterRanges:
    """Join ranges into a set."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def invert_ranges(ranges: CharacterRanges) -> CharacterRanges:
    """Give the characters that are not in a set."""
    found: list[tuple[int, int]] = []
    following = 0
    for low, high in ranges:
        if following < low:
            found.append((following, low - 1))
        following = high + 1
    if following <= LAST_CODE_POINT:
        found.append((following, LAST_CODE_POINT))
    return tuple(found)


def subtract_ranges(ranges: CharacterRanges, taken: CharacterRanges) -> CharacterRanges:
    """Take one set out of another."""
    return invert_ranges(unite_ranges((*invert_ranges(ranges), *taken)))


def contains_character(ranges: CharacterRanges, character: int) -> bool:
    """Tell whether a character is in a set."""
    index = bisect_right(ranges, (character, LAST_CODE_POINT + 1)) - 1
    return index >= 0 and ranges[index][1] >= character


@lru_cache(maxsize=1)
def _build_category_ranges() -> dict[str, CharacterRanges]:
    """Read the general category of every code point."""
    runs: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category(chr(0))
    for code in range(1, LAST_CODE_POINT + 2):
        category = unicodedata.category(chr(code)) if code <= LAST_CODE_POINT else ""
        if category != current:
            runs.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    return {name: tuple(ranges) for name, ranges in runs.items()}


@lru_cache(maxsize=64)
def find_named_characters(name: str) -> CharacterRanges | None:
    """Give the characters of a category (`L`, `Nd`) or of a block (`IsBasicLatin`)."""
    if name.startswith("Is"):
        return UNICODE_BLOCKS.get(name[2:])
    found = [
        ranges for category, ranges in _build_category_ranges().items() if category.startswith(name)
    ]
    return unite_ranges(pair for ranges in found for pair in ranges) if found and name else None


def find_escaped_characters(letter: str) -> CharacterRanges | None:
    r"""Give the characters of `\s`, `\i`, `\c`, `\d` or `\w`; of the rest when the letter is a
    capital.
    """
    if letter.isupper():
        inner = find_escaped_characters(letter.lower())
        return None if inner is None else invert_ranges(inner)
    match letter:
        case "s":
            return SPACE_RANGES
        case "i":
            return NAME_START_RANGES
        case "c":
            return unite_ranges((*NAME_START_RANGES, *NAME_EXTRA_RANGES))
        case "d":
            return find_named_characters("Nd")
        case "w":
            parts = (find_named_characters(category) or () for category in "PZC")
            return invert_ranges(unite_ranges(pair for part in parts for pair in part))
        case _:
            return None


if TYPE_CHECKING:
    pass

_MAX_REPEAT_COUNT = 10_000
_MAX_PATTERN_DEPTH = 40
_CONTROL_ESCAPES = {"n": 10, "r": 13, "t": 9}
_COUNT_PATTERN = re.compile(r"\{([0-9]{1,6})(,([0-9]{1,6})?)?\}")
_PROPERTY_PATTERN = re.compile(r"\{(\^?)([A-Za-z0-9-]+)\}")


class PatternError(ValueError):
    """A pattern that cannot be read."""


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
    """A part, `least` to `most` times (None: without end)."""

    part: PatternNode
    least: int
    most: int | None

    @property
    def open_end(self) -> bool:
        """Tell whether it may take long to try all counts."""
        return self.most is None or self.most - self.least > 16  # noqa: PLR2004 - from here on it is like no end


PatternNode: TypeAlias = PatternCharacters | PatternSequence | PatternChoice | PatternRepeat


def parse_pattern(pattern: str, *, pcre: bool = False) -> PatternNode:
    """Parse a pattern.

    Raises:
        BadPattern: when it is not one of XML Schema (or, with `pcre`, goes beyond what both forms
            share).
    """
    return _PatternParser(pattern, pcre=pcre).whole()


class _PatternParser:
    """A recursive descent over the characters of a pattern."""

    def __init__(self, text: str, *, pcre: bool) -> None:
        self._text = text
        self._pcre = pcre
        self._at = 0
        self._end = len(text)
        self._depth = 0

    def _fail(self, message: str) -> NoReturn:
        raise PatternError(f"{message} at character {self._at + 1} of the pattern")

    @property
    def _here(self) -> str:
        return self._text[self._at] if self._at < self._end else ""

    def _accept(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._at, self._end)
        self._at += len(mark) * found
        return found

    def whole(self) -> PatternNode:
        """Read the whole pattern; the anchors that a PCRE may carry say nothing new."""
        if self._pcre:
            self._at += self._text.startswith("^")
            if self._text.endswith("$") and not self._text.endswith("\\$"):
                self._end -= 1
        tree = self._either()
        if self._here:
            self._fail("unexpected ')'")
        return tree

    def _either(self) -> PatternNode:
        self._depth += 1
        if self._depth > _MAX_PATTERN_DEPTH:
            self._fail("nested too deeply")
        branches = [self._run()]
        while self._accept("|"):
            branches.append(self._run())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else PatternChoice(tuple(branches))

    def _run(self) -> PatternNode:
        parts: list[PatternNode] = []
        while self._here and self._here not in "|)":
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else PatternSequence(tuple(parts))

    def _quantified(self, atom: PatternNode) -> PatternNode:
        simple = {"?": (0, 1), "*": (0, None), "+": (1, None)}
        if self._here and self._here in simple:
            least, most = simple[self._here]
            self._at += 1
        elif self._here == "{":
            found = _COUNT_PATTERN.match(self._text, self._at, self._end)
            if found is None:
                self._fail("a malformed count")
            least = int(found[1])
            most = int(found[3]) if found[3] else None if found[2] else least
            if max(least, most or 0) > _MAX_REPEAT_COUNT or (most is not None and most < least):
                self._fail("a count out of range")
            self._at = found.end()
        else:
            return atom
        if self._here and self._here in "?*+{":
            self._fail("a repetition of a repetition")
        return PatternRepeat(atom, least, most)

    def _atom(self) -> PatternNode:
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
            return PatternCharacters(self._class())
        if here == ".":
            self._at += 1
            return PatternCharacters(
                invert_ranges(((10, 10),) if self._pcre else ((10, 10), (13, 13)))
            )
        if here == "\\":
            return PatternCharacters(self._escape())
        if here in "?*+{}]" or (self._pcre and here in "^$"):
            self._fail(f"unexpected {here!r}")
        self._at += 1
        return PatternCharacters(((ord(here), ord(here)),))

    def _escape(self) -> CharacterRanges:
        """Read what follows a backslash."""
        self._at += 1
        letter = self._here
        self._at += 1
        if letter in {"p", "P"}:
            found = _PROPERTY_PATTERN.match(self._text, self._at, self._end)
            ranges = find_named_characters(found[2]) if found and not found[1] else None
            if found is None or ranges is None:
                self._fail("an unknown character property")
            self._at = found.end()
            return invert_ranges(ranges) if letter == "P" else ranges
        if letter in _CONTROL_ESCAPES:
            return ((_CONTROL_ESCAPES[letter], _CONTROL_ESCAPES[letter]),)
        if self._pcre and letter in set("dDwW"):
            inner = DIGIT_RANGES if letter in "dD" else WORD_RANGES
            return invert_ranges(inner) if letter.isupper() else inner
        found_class = (
            find_escaped_characters(letter)
            if letter in set("sSdDwW" if self._pcre else "sSiIcCdDwW")
            else None
        )
        if found_class is not None:
            return found_class
        if not letter or letter.isalnum():
            self._fail(f"an unknown escape \\{letter}")
        return ((ord(letter), ord(letter)),)

    def _class(self) -> CharacterRanges:
        """Read a class in brackets, with what is subtracted from it."""
        self._depth += 1
        if self._depth > _MAX_PATTERN_DEPTH:
            self._fail("nested too deeply")
        negative = self._accept("^")
        found: list[tuple[int, int]] = []
        taken: CharacterRanges = ()
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
        ranges = unite_ranges(found)
        return subtract_ranges(invert_ranges(ranges) if negative else ranges, taken)

    def _class_part(self) -> CharacterRanges:
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

    def _class_character(self) -> CharacterRanges:
        if self._here == "\\":
            return self._escape()
        if self._here == "[":
            self._fail("unexpected '['")
        self._at += 1
        code = ord(self._text[self._at - 1])
        return ((code, code),)


if TYPE_CHECKING:
    pass

MAX_AUTOMATON_STATES = 20_000
_MAX_KEPT_STEPS = 2_000
_MAX_KEPT_STATES = 500_000
_MAX_TEXT_WORK = 15_000_000


class PatternTooLargeError(ValueError):
    """A pattern whose counts multiply to more states than are kept."""


class Automaton:
    """A regular expression as states with edges."""

    def __init__(self, tree: PatternNode) -> None:
        """Build the states.

        Raises:
            TooLarge: when the pattern needs more than `MOST_STATES`.

        """
        self._free: list[list[int]] = []
        self._edges: list[tuple[CharacterRanges, int] | None] = []
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
                if work > _MAX_TEXT_WORK:
                    raise WorkLimitError(
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
            if edge is not None and contains_character(edge[0], code):
                targets.add(edge[1])
        found = self._closure(targets)
        self._kept += len(states) + len(found)
        if len(self._steps) >= _MAX_KEPT_STEPS or self._kept > _MAX_KEPT_STATES:
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

    def _state(
        self, edge: tuple[CharacterRanges, int] | None = None, free: list[int] | None = None
    ) -> int:
        if len(self._edges) >= MAX_AUTOMATON_STATES:
            raise PatternTooLargeError(f"the pattern needs more than {MAX_AUTOMATON_STATES} states")
        self._edges.append(edge)
        self._free.append(free or [])
        return len(self._edges) - 1

    def _build(self, tree: PatternNode, following: int) -> int:
        """Build the states of a tree that lead on to `following`; give the first."""
        match tree:
            case PatternCharacters(ranges=ranges):
                return self._state((ranges, following))
            case PatternSequence(parts=parts):
                for part in reversed(parts):
                    following = self._build(part, following)
                return following
            case PatternChoice(branches=branches):
                return self._state(free=[self._build(branch, following) for branch in branches])
            case PatternRepeat():
                return self._repeat(tree.part, tree.least, tree.most, following)

    def _repeat(self, part: PatternNode, least: int, most: int | None, following: int) -> int:
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


if TYPE_CHECKING:
    from collections.abc import Callable


MAX_BACKTRACKING_LENGTH = 1000
_MAX_PATHS = 4096
_MAX_OPEN_REPEATS = 2
_PATH_SHIFT_PER_REPEAT = 4


def compile_pattern(pattern: str, *, pcre: bool = False) -> Callable[[str], object]:
    """Give a function that tells whether a whole text matches.

    Raises:
        BadPattern: when the pattern cannot be read.

    """
    try:
        tree = parse_pattern(pattern, pcre=pcre)
    except PatternError:
        if not pcre:
            raise
        return _compile_bounded_pattern(pattern)
    try:
        # Every way through the branches may be tried with every length of every open repetition.
        open_ends = _count_open_repeats(tree)
        if _is_ambiguous(tree) or _count_paths(tree) > _MAX_PATHS >> min(
            _PATH_SHIFT_PER_REPEAT * open_ends, 64
        ):
            return Automaton(tree).matches
        fullmatch = re.compile(_format_python_pattern(tree)).fullmatch
        if open_ends <= 1:
            return fullmatch
        automaton = Automaton(tree)
    except (re.error, PatternTooLargeError, RecursionError, OverflowError) as error:
        raise PatternError(str(error)) from error
    return lambda text: (
        fullmatch(text) if len(text) <= MAX_BACKTRACKING_LENGTH else automaton.matches(text)
    )


def _compile_bounded_pattern(pattern: str) -> Callable[[str], object]:
    """Run a pattern that only Python's `re` can, on texts of bounded length."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fullmatch = re.compile(pattern).fullmatch
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(str(error)) from error
    return lambda text: len(text) <= MAX_BACKTRACKING_LENGTH and fullmatch(text)


# --- how long may it take?
# ----------------------------------------------------------------------------


def _count_open_repeats(tree: PatternNode) -> int:
    """Count the repetitions without an end."""
    match tree:
        case PatternCharacters():
            return 0
        case PatternSequence(parts=parts) | PatternChoice(branches=parts):
            return sum(map(_count_open_repeats, parts))
        case PatternRepeat():
            return tree.open_end + _count_open_repeats(tree.part)


def _is_ambiguous(tree: PatternNode) -> bool:
    """Tell whether one repetition is inside another, or there are many: backtracking could take for
    ever.
    """

    def variable(part: PatternNode) -> bool:
        match part:
            case PatternCharacters():
                return False
            case PatternSequence(parts=parts):
                return any(map(variable, parts))
            case PatternChoice():
                return True
            case PatternRepeat():
                return part.least != part.most or variable(part.part)

    def nested(part: PatternNode) -> bool:
        match part:
            case PatternCharacters():
                return False
            case PatternSequence(parts=parts) | PatternChoice(branches=parts):
                return any(map(nested, parts))
            case PatternRepeat():
                return (part.most != 1 and variable(part.part)) or nested(part.part)

    return nested(tree) or _count_open_repeats(tree) > _MAX_OPEN_REPEATS


def _count_paths(tree: PatternNode) -> int:
    """Count the ways through the branches, which backtracking may have to try one by one."""
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
            choices = 1 if tree.open_end else (tree.most or 0) - tree.least + 1
            return min(choices * _count_paths(tree.part), _MAX_PATHS + 1)


def _format_python_pattern(tree: PatternNode) -> str:
    """Write a tree as a pattern of Python's `re`."""
    match tree:
        case PatternCharacters(ranges=ranges):
            if not ranges:
                return "(?!)"
            if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                return re.escape(chr(ranges[0][0]))
            return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
        case PatternSequence(parts=parts):
            return "".join(map(_format_python_pattern, parts))
        case PatternChoice(branches=branches):
            return f"(?:{'|'.join(map(_format_python_pattern, branches))})"
        case PatternRepeat():
            most = "" if tree.most is None else tree.most
            return f"(?:{_format_python_pattern(tree.part)}){{{tree.least},{most}}}"
