"""Files that know the writer of each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import count

BASE, HUMAN, SHELL = "base", "human", "shell"
OTHERS = frozenset([BASE, HUMAN, SHELL])

Line = tuple[str, str]

_versions = count(1)


@dataclass
class File:
    """A file: lines with their writers, line ends, and a byte order mark."""

    lines: list[Line]
    end: str = "\n"
    last_end: bool = True
    mark: str = ""
    sure: bool = True  # whether agents saw all changes by others
    relaid: bool = False  # whether it was formatted, unobserved
    version: int = field(default_factory=lambda: next(_versions))

    def text(self) -> str:
        """Return the text on disk; bytes that are not UTF-8 are lone surrogates."""
        text = self.end.join(line for line, _ in self.lines)
        return self.mark + (text + self.end if self.last_end and self.lines else text)

    def data(self) -> bytes:
        """Return the bytes on disk."""
        return self.text().encode("utf-8", "surrogateescape")

    def printed(self) -> str:
        """Return the text as a command prints it."""
        return self.data().decode("utf-8", "replace")

    def shown(self) -> str:
        """Return the text as a host shows it: with plain line ends, and without a mark."""
        return self.printed().replace("\r\n", "\n").removeprefix("\ufeff")

    @property
    def plain(self) -> bool:
        """Whether a host shows exactly the text on disk."""
        return self.shown() == self.text()

    def copy(self) -> File:
        """Return an independent copy."""
        return File(
            list(self.lines),
            self.end,
            self.last_end,
            self.mark,
            self.sure,
            self.relaid,
            self.version,
        )

    def become(self, lines: Sequence[Line], *, sure: bool) -> None:
        """Replace the lines."""
        self.lines, self.version = list(lines), next(_versions)
        self.sure = self.sure and sure
        if self.lines and not self.last_end and not self.lines[-1][0]:
            self.lines.pop()  # an empty line that does not end is none
            self.last_end = True

    def same(self, other: File) -> bool:
        """Return whether two files have the same bytes."""
        return self.data() == other.data()


def diff(old: str, new: str, context: int = 3) -> list[str]:
    """Return the hunks of a unified diff, as lines without their ends."""
    lines: list[str] = []
    for line in list(unified_diff(_ended(old), _ended(new), n=context))[2:]:
        lines += [line[:-1]] if line.endswith("\n") else [line, "\\ No newline at end of file"]
    return lines


def _ended(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)
