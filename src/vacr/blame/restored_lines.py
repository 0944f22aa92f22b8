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
from collections.abc import Collection, Mapping

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
    sources = _read_sources(repository, {commit for commit, _ in versions})
    for (commit, _), version in versions.items():
        for source, is_revert in sources.get(commit, ()):
            found = _find_source_lines(repository, source, version, is_revert=is_revert)
            if found is None:
                continue
            places, times = found
            if version.times is None or times.committed > version.times.committed:
                continue
            new = {
                number: places[text]
                for number in version.added
                if number not in version.moved
                and count_letters(text := version.get_line(number))
                and text in places
            }
            version.moved = {**version.moved, **new}
            version.line_times = {**version.line_times, **dict.fromkeys(new, times)}
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


def _find_source_lines(
    repository: Repository, source: str, version: FileVersion, *, is_revert: bool
) -> tuple[dict[str, MovedLine], CommitTimes] | None:
    """Return where the lines of a file were that a commit removed or added, and the time there.

    Return `None` if the repository lacks the commit, or it has not exactly one parent.
    """
    try:
        commit = repository.resolve_commit(source)
        parents = list_parents(repository, [commit])[commit]
        if len(parents) != 1:
            return None
        place = parents[0] if is_revert else commit
        files = list_commit_additions(repository, [commit])[commit]
        times = repository.read_commit_times([place])[place]
    except UnreadableInput:
        return None
    found: dict[str, MovedLine] = {}
    for file in files:
        path = (file.before or file.path) if is_revert else file.path
        if version.is_named(file.path) or version.is_named(path):
            for number, line in _list_source_lines(file, is_revert=is_revert).items():
                text = strip_line_end(decode_file_text(line))
                found.setdefault(text, MovedLine(place, path, number))
    return found, times


def _list_source_lines(file: FileAdditions, *, is_revert: bool) -> Mapping[int, bytes]:
    """Return the lines that a commit removed from a file, or those that it added."""
    return file.removed if is_revert else file.added
