r"""Sets of characters, as the regular expressions of XML Schema name them. Step: validate.

Follows appendix F of XML Schema Part 2 (XSD), which RFC 8610 section 3.8.3 refers to. A set is a
sorted tuple of inclusive ranges of code points. Unicode categories are read from the interpreter's
own tables, once, when a pattern first names one.

Left out on purpose: `\p{Is…}` for blocks other than the few listed here, as the interpreter has no
table of blocks.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Ranges: TypeAlias = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
SPACE: Ranges = ((9, 10), (13, 13), (32, 32))
DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
# NameStartChar and the additions of NameChar of XML 1.0, which \i and \c stand for.
NAME_START: Ranges = (
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
NAME_MORE: Ranges = ((45, 46), (48, 57), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040))
BLOCKS: dict[str, Ranges] = {
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


def union(parts: Iterable[tuple[int, int]]) -> Ranges:
    """Join ranges into a set."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Give the characters that are not in a set."""
    found: list[tuple[int, int]] = []
    following = 0
    for low, high in ranges:
        if following < low:
            found.append((following, low - 1))
        following = high + 1
    if following <= LAST:
        found.append((following, LAST))
    return tuple(found)


def minus(ranges: Ranges, taken: Ranges) -> Ranges:
    """Take one set out of another."""
    return complement(union((*complement(ranges), *taken)))


def contains(ranges: Ranges, character: int) -> bool:
    """Tell whether a character is in a set."""
    index = bisect_right(ranges, (character, LAST + 1)) - 1
    return index >= 0 and ranges[index][1] >= character


@lru_cache(maxsize=1)
def _categories() -> dict[str, Ranges]:
    """Read the general category of every code point."""
    runs: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category(chr(0))
    for code in range(1, LAST + 2):
        category = unicodedata.category(chr(code)) if code <= LAST else ""
        if category != current:
            runs.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    return {name: tuple(ranges) for name, ranges in runs.items()}


@lru_cache(maxsize=64)
def named(name: str) -> Ranges | None:
    """Give the characters of a category (`L`, `Nd`) or of a block (`IsBasicLatin`)."""
    if name.startswith("Is"):
        return BLOCKS.get(name[2:])
    found = [ranges for category, ranges in _categories().items() if category.startswith(name)]
    return union(pair for ranges in found for pair in ranges) if found and name else None


def escaped(letter: str) -> Ranges | None:
    r"""Give the characters of `\s`, `\i`, `\c`, `\d` or `\w`; of the rest when the letter is a
    capital.
    """
    if letter.isupper():
        inner = escaped(letter.lower())
        return None if inner is None else complement(inner)
    match letter:
        case "s":
            return SPACE
        case "i":
            return NAME_START
        case "c":
            return union((*NAME_START, *NAME_MORE))
        case "d":
            return named("Nd")
        case "w":
            parts = (named(category) or () for category in "PZC")
            return complement(union(pair for part in parts for pair in part))
        case _:
            return None
