"""How common a line is: idioms prove nothing, a rare line does.

`if err != nil {`, `from __future__ import annotations` and the header of a licence are in many
files, so finding one in a commit does not show who wrote it. A line counts as common if it is in
several files of the repository, or if sessions wrote it into several files.

    >>> from vacr.blame.frequency import LineFrequency
    >>> idiom, rare = "if err != nil {", "total := price * amount"
    >>> frequency = LineFrequency({"a.go": [idiom, rare], "b.go": [idiom], "c.go": [idiom]})
    >>> frequency.is_common(idiom, "d.go"), frequency.is_common(rare, "d.go")
    (True, False)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from vacr.blame.git import Repository
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


class LineFrequency:
    """Counts the files that a line is in."""

    def __init__(self, files: Mapping[str, Iterable[str]] | None = None) -> None:
        """Count the lines of files, given by path; blanks around a line do not matter."""
        self._paths: dict[str, set[str]] = {}
        for path, lines in (files or {}).items():
            self.add_file(path, lines)

    def add_file(self, path: str, lines: Iterable[str]) -> None:
        """Count the lines of one more file."""
        for line in {line.strip() for line in lines}:
            paths = self._paths.setdefault(line, set())
            if len(paths) < _MAX_COUNTED_FILES:
                paths.add(path)

    def is_common(self, line: str, path: str) -> bool:
        """Return whether a line is an idiom, or is in several files other than `path`."""
        bare = line.strip()
        if _IDIOM.match(bare):
            return True
        paths = self._paths.get(bare, ())
        return len(paths) - (path in paths) >= _COMMON_FILES


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
