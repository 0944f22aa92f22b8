"""The text of lines, compared: letters, layout, and the part that an edit kept.

>>> from vacr.blame.line_text import count_letters, is_partly_kept
>>> count_letters("  total += 1;")
6
>>> is_partly_kept("return sum(lines)", "return sum(lines, start)")
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_QUOTES = str.maketrans({"'": '"', "`": '"'})
_PLACEHOLDER = re.compile(r"(?<![A-Za-z])REDACTED(?![A-Za-z])|[\[<(*{]\s*[Rr]edacted\b")


def remove_blanks(line: str) -> str:
    """Return a line without blanks, inside and around it."""
    return "".join(line.split())


def normalize_layout(line: str) -> str:
    """Return a line without blanks and its last comma, and with one kind of quotes.

    Two lines that differ only by a formatter become the same.
    """
    return remove_blanks(line).translate(_QUOTES).rstrip(",;")


def is_redacted(line: str) -> bool:
    """Return whether a placeholder such as `[REDACTED]` stands for a part of a line.

    Many lines become the same one by it, so it shows nothing about the line that was written.
    """
    return _PLACEHOLDER.search(line) is not None


def count_letters(line: str) -> int:
    """Return the number of letters and digits in a line."""
    return sum(map(str.isalnum, line))


def count_characters(lines: Sequence[str]) -> int:
    """Return the number of characters in lines, without blanks."""
    return sum(len(remove_blanks(line)) for line in lines)


def count_lines_with_letters(lines: Sequence[str]) -> int:
    """Return the number of lines that have a letter or a digit."""
    return sum(any(map(str.isalnum, line)) for line in lines)


def is_partly_kept(written: str, committed: str) -> bool:
    """Return whether two lines share a beginning and an end that make up half of the longer one.

    Blanks do not count.
    """
    first, second = remove_blanks(written), remove_blanks(committed)
    if not first or not second:
        return False
    shorter, longer = sorted((len(first), len(second)))
    front = 0
    while front < shorter and first[front] == second[front]:
        front += 1
    back = 0
    while back < shorter - front and first[-1 - back] == second[-1 - back]:
        back += 1
    common = front + back
    return 2 * common >= longer and common > 1


def split_consecutive_numbers(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the runs of consecutive numbers: `[3, 4, 7]` becomes `[3, 4]` and `[7]`."""
    start = 0
    for stop in range(1, len(numbers) + 1):
        if stop == len(numbers) or numbers[stop] != numbers[stop - 1] + 1:
            yield numbers[start:stop]
            start = stop
