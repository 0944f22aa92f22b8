"""How common a line is: idioms prove nothing, a rare line does.

`if err != nil {`, `from __future__ import annotations` and the header of a licence are in many
files, so finding one in a commit does not show who wrote it. A line counts as common if it is in
several files of the repository, or if sessions wrote it into several files.

    >>> from vacr.blame.frequency import LineFrequency, LineRarity
    >>> idiom, rare = "if err != nil {", "total := price * amount"
    >>> frequency = LineFrequency({"a.go": [idiom, rare], "b.go": [idiom], "c.go": [idiom]})
    >>> frequency.count_files(idiom, "d.go") > frequency.count_files(rare, "d.go")
    True
    >>> LineRarity(frequency).count_rare_letters([idiom, rare], "d.go", seen=())
    16
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from vacr.blame.git import Repository
from vacr.blame.line_text import count_characters, count_letters, count_lines_with_letters
from vacr.edits import decode_file_text
from vacr.errors import UnreadableInput

# Lines that any programmer writes; a small repository does not show how common they are.
_IDIOM = re.compile(
    r"(?:from\s+[\w.]+\s+)?import\b|#\s*include\b|using\s+[\w.]+;|package\s+\w+;?$|require\("
    r"|(?:return|raise|throw|panic|break|continue|else|try|finally|pass)\b[\s\w.()!:;{},&]{0,24}$"
    r"|if\s*\(?\s*(?:err|error|e|ok|!ok|__name__)\b|#!|<!DOCTYPE|'use strict'|\"use strict\""
    r"|.*\b(?:copyright|licen[sc]ed?|SPDX-License-Identifier)\b",
    re.IGNORECASE,
)

# From this many other files on, a line is common.
_COMMON_FILES = 2
_MAX_SAMPLED_FILES = 300
_MAX_SAMPLED_BYTES = 8_000_000
_MAX_COUNTED_FILES = 8


# A run of common lines needs this many, and this many letters after each line was weighed.
_MIN_COMMON_LINES = 10
_MIN_WEIGHED_LETTERS = 40
_FREQUENCY_WEIGHT = 4
# How much lines need in another file, or if their session is not tied to the repository.
_MIN_LINES_ELSEWHERE = 3
_MIN_CHARACTERS_ELSEWHERE = 50
_MIN_RARE_LETTERS_ELSEWHERE = 40
# How much they need if the session removed them before they were committed.
_MIN_LINES_BROUGHT_BACK = 8
_MIN_LETTERS_BROUGHT_BACK = 160


class LineFrequency:
    """Counts the files that a line is in."""

    def __init__(self, files: Mapping[str, Iterable[str]] | None = None) -> None:
        """Count the lines of files, given by path; blanks around a line do not matter."""
        # Most lines are in one file only. Then its path stands for the set, which takes longer.
        self._paths: dict[str, str | set[str]] = {}
        for path, lines in (files or {}).items():
            self.add_file(path, lines)

    def add_file(self, path: str, lines: Iterable[str]) -> None:
        """Count the lines of one more file."""
        for line in {line.strip() for line in lines}:
            paths = self._paths.setdefault(line, path)
            if isinstance(paths, str):
                if paths != path:
                    self._paths[line] = {paths, path}
            elif len(paths) < _MAX_COUNTED_FILES:
                paths.add(path)

    def count_files(self, line: str, path: str) -> int:
        """Return how many files other than `path` have a line, up to a limit.

        An idiom counts as in the most files.
        """
        bare = line.strip()
        if _IDIOM.match(bare):
            return _MAX_COUNTED_FILES
        paths = self._paths.get(bare, ())
        if isinstance(paths, str):
            return int(paths != path)
        return len(paths) - (path in paths)

    def is_in_another(self, line: str, *paths: str) -> bool:
        """Return whether a file other than these has a line."""
        found = self._paths.get(line.strip(), set())
        return not ({found} if isinstance(found, str) else found) <= {*paths}


class LineRarity:
    """How rare lines are, by the files of a repository and the files that sessions wrote.

    In each question, `path` is the file with the lines, and `seen` are the lines that it had before
    the call: these prove nothing.
    """

    def __init__(self, repository: LineFrequency) -> None:
        """Use the frequency of lines in a repository; no session wrote anything yet."""
        self._repository = repository
        self.written = LineFrequency()

    def count_rare_letters(self, lines: Iterable[str], path: str, seen: Collection[str]) -> int:
        """Return the number of letters and digits in lines that are not common."""
        return sum(
            count_letters(line)
            for line in lines
            if line not in seen and self._count_files(line, path) < _COMMON_FILES
        )

    def is_long_run(self, lines: Sequence[str], path: str, seen: Collection[str]) -> bool:
        """Return whether common lines are so many that all of them together are rare.

        The more files have a line, the less its letters weigh.
        """
        weighed = sum(
            count_letters(line) / max(1, _FREQUENCY_WEIGHT * self._count_files(line, path))
            for line in lines
            if line not in seen
        )
        is_long = count_lines_with_letters(lines) >= _MIN_COMMON_LINES
        return is_long and weighed >= _MIN_WEIGHED_LETTERS

    def is_distinctive_elsewhere(
        self, lines: Sequence[str], path: str, seen: Collection[str], written_to: str
    ) -> bool:
        """Return whether lines are enough to recognize them in another file or repository.

        A line that a third file of the repository has may be copied from there: it does not count.
        `written_to` is the file that the call wrote to.
        """
        known = {line for line in lines if self._repository.is_in_another(line, path, written_to)}
        return (
            count_lines_with_letters(lines) >= _MIN_LINES_ELSEWHERE
            and count_characters(lines) >= _MIN_CHARACTERS_ELSEWHERE
            and self.count_rare_letters(lines, path, known.union(seen))
            >= _MIN_RARE_LETTERS_ELSEWHERE
        )

    def is_too_long_to_retype(self, lines: Sequence[str], path: str, seen: Collection[str]) -> bool:
        """Return whether lines are so many and so rare that they were brought back, not typed."""
        return (
            count_lines_with_letters(lines) >= _MIN_LINES_BROUGHT_BACK
            and self.count_rare_letters(lines, path, seen) >= _MIN_LETTERS_BROUGHT_BACK
        )

    def _count_files(self, line: str, path: str) -> int:
        """Return how many other files have a line, in the repository or among written ones."""
        return max(self._repository.count_files(line, path), self.written.count_files(line, path))


def count_repository_lines(
    repository: Repository, tree: Mapping[str, str], paths: Collection[str]
) -> LineFrequency:
    """Count the lines of a sample of a repository: files with the endings of some paths.

    `tree` has the blob of each file. Files near the paths are sampled first.
    """
    frequency = LineFrequency()
    suffixes = {PurePosixPath(path).suffix for path in paths}
    folders = {path.rpartition("/")[0] for path in paths}
    similar = [path for path in tree if PurePosixPath(path).suffix in suffixes]
    similar.sort(key=lambda path: (path.rpartition("/")[0] not in folders, path))
    size = 0
    for path in similar[:_MAX_SAMPLED_FILES]:
        try:
            data = repository.read_blob(tree[path])
        except UnreadableInput:  # A partial clone lacks it.
            continue
        size += len(data)
        if size > _MAX_SAMPLED_BYTES:
            break
        frequency.add_file(path, decode_file_text(data).split("\n"))
    return frequency
