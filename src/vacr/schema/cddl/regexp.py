"""The regular expressions of `.regexp` and `.pcre`. Step: validate.

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
import warnings
from typing import TYPE_CHECKING

from vacr.schema.cddl.automaton import Automaton, TooLarge
from vacr.schema.cddl.pattern import BadPattern, Characters, Either, Repeat, Run, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.schema.cddl.pattern import Tree

LONGEST_BACKTRACKING = 1000
_MOST_PATHS = 4096
_MOST_OPEN = 2
_FEWER_EACH = 4


def matcher(pattern: str, *, pcre: bool = False) -> Callable[[str], object]:
    """Give a function that tells whether a whole text matches.

    Raises:
        BadPattern: when the pattern cannot be read.

    """
    try:
        tree = parse(pattern, pcre=pcre)
    except BadPattern:
        if not pcre:
            raise
        return _bounded(pattern)
    try:
        # Every way through the branches may be tried with every length of every open repetition.
        open_ends = _open_ends(tree)
        if _ambiguous(tree) or _paths(tree) > _MOST_PATHS >> min(_FEWER_EACH * open_ends, 64):
            return Automaton(tree).matches
        fullmatch = re.compile(_python(tree)).fullmatch
        if open_ends <= 1:
            return fullmatch
        automaton = Automaton(tree)
    except (re.error, TooLarge, RecursionError, OverflowError) as error:
        raise BadPattern(str(error)) from error
    return lambda text: (
        fullmatch(text) if len(text) <= LONGEST_BACKTRACKING else automaton.matches(text)
    )


def _bounded(pattern: str) -> Callable[[str], object]:
    """Run a pattern that only Python's `re` can, on texts of bounded length."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fullmatch = re.compile(pattern).fullmatch
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(str(error)) from error
    return lambda text: len(text) <= LONGEST_BACKTRACKING and fullmatch(text)


# --- how long may it take?
# ----------------------------------------------------------------------------


def _open_ends(tree: Tree) -> int:
    """Count the repetitions without an end."""
    match tree:
        case Characters():
            return 0
        case Run(parts=parts) | Either(branches=parts):
            return sum(map(_open_ends, parts))
        case Repeat():
            return tree.open_end + _open_ends(tree.part)


def _ambiguous(tree: Tree) -> bool:
    """Tell whether one repetition is inside another, or there are many: backtracking could take for
    ever.
    """

    def variable(part: Tree) -> bool:
        match part:
            case Characters():
                return False
            case Run(parts=parts):
                return any(map(variable, parts))
            case Either():
                return True
            case Repeat():
                return part.least != part.most or variable(part.part)

    def nested(part: Tree) -> bool:
        match part:
            case Characters():
                return False
            case Run(parts=parts) | Either(branches=parts):
                return any(map(nested, parts))
            case Repeat():
                return (part.most != 1 and variable(part.part)) or nested(part.part)

    return nested(tree) or _open_ends(tree) > _MOST_OPEN


def _paths(tree: Tree) -> int:
    """Count the ways through the branches, which backtracking may have to try one by one."""
    match tree:
        case Characters():
            return 1
        case Run(parts=parts):
            count = 1
            for part in parts:
                count = min(count * _paths(part), _MOST_PATHS + 1)
            return count
        case Either(branches=branches):
            return min(sum(map(_paths, branches)), _MOST_PATHS + 1)
        case Repeat():
            choices = 1 if tree.open_end else (tree.most or 0) - tree.least + 1
            return min(choices * _paths(tree.part), _MOST_PATHS + 1)


def _python(tree: Tree) -> str:
    """Write a tree as a pattern of Python's `re`."""
    match tree:
        case Characters(ranges=ranges):
            if not ranges:
                return "(?!)"
            if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                return re.escape(chr(ranges[0][0]))
            return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
        case Run(parts=parts):
            return "".join(map(_python, parts))
        case Either(branches=branches):
            return f"(?:{'|'.join(map(_python, branches))})"
        case Repeat():
            most = "" if tree.most is None else tree.most
            return f"(?:{_python(tree.part)}){{{tree.least},{most}}}"
