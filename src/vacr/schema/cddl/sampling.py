"""Random strings: plain, from a regular expression, and from ABNF. Step: validate (for making
instances).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl import abnf_syntax, pattern

if TYPE_CHECKING:
    from vacr.schema.cddl import abnf
    from vacr.schema.cddl.characters import Ranges
    from vacr.schema.cddl.generate import Random

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_./:~éß漢🙂"
_ASCII = (32, 126)
_SURROGATES = (0xD800, 0xDFFF)
_MORE = 3
_DEEPEST = 30


class NoSample(ValueError):  # noqa: N818 - says what it is
    """There is no string to be had."""


def text(random: Random, longest: int = 12) -> str:
    """Make a short text."""
    return "".join(random.choice(_ALPHABET) for _ in range(random.randint(0, longest)))


def text_of_size(random: Random, size: int) -> str:
    """Make a text of so many bytes."""
    return "".join(random.choice(_ALPHABET[:62]) for _ in range(size))


def from_pattern(random: Random, tree: pattern.Tree) -> str:
    """Make a text that a regular expression matches.

    Raises:
        NoSample: when a set of characters is empty.

    """
    match tree:
        case pattern.Characters(ranges=ranges):
            return chr(_character(random, ranges))
        case pattern.Run(parts=parts):
            return "".join(from_pattern(random, part) for part in parts)
        case pattern.Either(branches=branches):
            return from_pattern(random, random.choice(branches))
        case pattern.Repeat():
            return "".join(
                from_pattern(random, tree.part)
                for _ in range(_count(random, tree.least, tree.most))
            )


def from_grammar(random: Random, grammar: abnf.Grammar) -> list[int]:
    """Make a sequence of characters or bytes that ABNF matches.

    Raises:
        NoSample: when the grammar goes too deep.

    """
    return _from_part(random, grammar, grammar.start, 0)


def _from_part(
    random: Random, grammar: abnf.Grammar, part: abnf_syntax.Part, depth: int
) -> list[int]:
    if depth > _DEEPEST:
        raise NoSample("the grammar goes too deep")
    match part:
        case abnf_syntax.Letters(ranges=ranges):
            return [_character(random, options) for options in ranges]
        case abnf_syntax.Named(name=name):
            return _from_part(random, grammar, grammar.rules[name], depth + 1)
        case abnf_syntax.Series(parts=parts):
            return [
                code for inner in parts for code in _from_part(random, grammar, inner, depth + 1)
            ]
        case abnf_syntax.Options(parts=parts):
            return _from_part(random, grammar, random.choice(parts), depth + 1)
        case abnf_syntax.Times():
            most = part.least if depth > _DEEPEST // 2 else part.most
            times = range(_count(random, part.least, most))
            return [
                code for _ in times for code in _from_part(random, grammar, part.part, depth + 1)
            ]


def _count(random: Random, least: int, most: int | None) -> int:
    high = least + _MORE if most is None else min(most, least + _MORE)
    return random.randint(least, high)


def _character(random: Random, ranges: Ranges) -> int:
    """Pick a character, a printable one of ASCII if there is one, never a surrogate."""
    for low, high in (_ASCII, (0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, 0x10FFFF)):
        inside = [(max(low, a), min(high, b)) for a, b in ranges if a <= high and b >= low]
        if inside:
            return random.randint(*random.choice(inside))
    raise NoSample("no character fits")
