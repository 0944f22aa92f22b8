"""Lines that a commit took from another commit, as its message says.

`git revert` brings back the lines that a commit removed, and `git cherry-pick -x` repeats the lines
that a commit added. Both write the name of that commit into the message, so the lines are as old as
there.

    >>> from vacr.blame.restored_lines import find_named_commits
    >>> find_named_commits("Revert \\"Add total\\"\\n\\nThis reverts commit 1f2e3d4c5b6a.\\n")
    [('1f2e3d4c5b6a', True)]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from vacr.blame.additions import FileAdditions, list_commit_additions, list_parents
from vacr.blame.blocks import FileVersion, MovedLine
from vacr.blame.git import CommitTimes, Repository
from vacr.blame.line_text import count_letters
from vacr.edits import decode_file_text, strip_line_end
from vacr.errors import UnreadableInput

_NAMED_COMMIT = re.compile(
    r"^This reverts commit (?P<reverted>[0-9a-f]{7,64})\b"
    r"|\(cherry picked from commit (?P<picked>[0-9a-f]{7,64})\)",
    re.MULTILINE,
)
_GREP = "reverts commit|cherry picked from"


def find_named_commits(message: str) -> list[tuple[str, bool]]:
    """Return the commits that a message names as its sources, and whether each was reverted."""
    return [
        (found["reverted"] or found["picked"], found["reverted"] is not None)
        for found in _NAMED_COMMIT.finditer(message)
    ]


def date_restored_lines(
    repository: Repository, versions: Mapping[tuple[str, str], FileVersion]
) -> bool:
    """Set the times of lines that commits restored or picked, by the commits that they name.

    `versions` are given by commit and path. Return whether any line got a new time.
    """
    is_changed = False
    named = _read_sources(repository, {commit for commit, _ in versions})
    sources = _SourceReader(repository)
    for (commit, _), version in versions.items():
        for name, is_revert in named.get(commit, ()):
            source = sources.read_source(name, is_revert=is_revert)
            if source is None:
                continue
            if version.times is None or source.times.committed > version.times.committed:
                continue
            places = source.find_lines(version)
            new = {
                number: places[text]
                for number in version.added
                if number not in version.moved
                and count_letters(text := version.get_line(number))
                and text in places
            }
            version.moved = {**version.moved, **new}
            version.line_times = {**version.line_times, **dict.fromkeys(new, source.times)}
            is_changed = is_changed or bool(new)
    return is_changed


def _read_sources(
    repository: Repository, commits: Collection[str]
) -> dict[str, list[tuple[str, bool]]]:
    """Return the commits that the messages of commits name, by commit."""
    if not commits:
        return {}
    output = repository.run_git(
        *("log", "--no-walk=unsorted", "--no-show-signature", "--encoding=UTF-8", "--stdin", "-z"),
        *("--extended-regexp", f"--grep={_GREP}", "--format=%H%n%B"),
        stdin="".join(f"{commit}\n" for commit in sorted(commits)).encode(),
    )
    rows = (row.partition("\n") for row in output.decode("utf-8", "replace").split("\0") if row)
    return {commit: find_named_commits(message) for commit, _, message in rows}


class _Source(NamedTuple):
    """What a commit removed or added, and the time when the lines were there."""

    place: str
    """The commit that has the lines: the parent of a reverted commit."""
    times: CommitTimes
    files: Sequence[FileAdditions]
    is_revert: bool

    def find_lines(self, version: FileVersion) -> dict[str, MovedLine]:
        """Return where each line was that the commit removed from a file or added to it."""
        found: dict[str, MovedLine] = {}
        for file in self.files:
            path = (file.before or file.path) if self.is_revert else file.path
            if version.is_named(file.path) or version.is_named(path):
                lines = file.removed if self.is_revert else file.added
                for number, line in lines.items():
                    text = strip_line_end(decode_file_text(line))
                    found.setdefault(text, MovedLine(self.place, path, number))
        return found


class _SourceReader:
    """The commits that messages name, each read once."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.known: dict[tuple[str, bool], _Source | None] = {}

    def read_source(self, name: str, *, is_revert: bool) -> _Source | None:
        """Return what a commit removed, if it was reverted, or what it added.

        Return `None` if the repository lacks the commit, or it has not exactly one parent.
        """
        key = name, is_revert
        if key not in self.known:
            try:
                self.known[key] = self._load_source(name, is_revert=is_revert)
            except UnreadableInput:
                self.known[key] = None
        return self.known[key]

    def _load_source(self, name: str, *, is_revert: bool) -> _Source | None:
        """Read a source from the repository; return `None` unless it has exactly one parent."""
        commit = self.repository.resolve_commit(name)
        parents = list_parents(self.repository, [commit])[commit]
        if len(parents) != 1:
            return None
        place = parents[0] if is_revert else commit
        files = list_commit_additions(self.repository, [commit])[commit]
        times = self.repository.read_commit_times([place])[place]
        return _Source(place, times, files, is_revert)
