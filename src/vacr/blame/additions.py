"""The lines that commits added, as git reports them.

Renames are found in one way, without regard to the user's configuration: a file that is half the
same is the same file, and a copy is a new file. A merge added only the lines that none of its
parents has. No program of the repository runs.

    >>> from vacr.blame.additions import parse_hunks
    >>> patch = b"index 12..34\\n--- a/a.py\\n+++ b/a.py\\n@@ -7,2 +7 @@\\n-x\\n-y\\n+z\\n"
    >>> parse_hunks(patch)
    {('12', '34'): [(7, 2, 7, 1)]}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.blame.git import REGULAR_FILE_MODES, Repository, decode_git_name
from vacr.blame.moves import LineHunk

_DIFF_TREE_COMMAND = ["diff-tree", "--stdin", "-m", "-r", "--root", "--find-renames=50%", "-l1000"]
_RAW_OPTIONS = ["--raw", "-z", "--no-abbrev", "--ignore-submodules=none"]
_PATCH_OPTIONS = [
    "--no-commit-id",
    "--patch",
    "--unified=0",
    "--inter-hunk-context=0",
    "--full-index",
    "--text",
    "--no-color",
    # No program of the repository runs, and no setting changes the diff.
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--ignore-submodules=all",
]
_DELETED_MODE = "000000"
_INDEX_LINE = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_HUNK_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

_FIRST_LINE_ONLY = frozenset({1})


@dataclass(frozen=True, slots=True)
class FileAdditions:
    """A file that a commit changed, and the lines that the commit added to it.

    A link or a submodule that a commit added or changed counts as one line. A deleted file has no
    added lines.
    """

    path: str
    blob: str
    """The name of the blob in the repository; zeros for a deleted file."""
    lines: frozenset[int]
    """The numbers of the added lines."""
    before: str = ""
    """The path that the file had before; empty if unknown."""
    is_file: bool = True
    """Whether the path is a file, not a link or a submodule."""
    old_blob: str = ""
    """The name of the blob before the commit; zeros or empty if there was none, or several."""
    hunks: tuple[LineHunk, ...] = ()
    """The changes of lines in comparison with that blob; a merge has none."""


def list_commit_additions(
    repository: Repository, commits: Sequence[str], paths: Collection[str] = ()
) -> dict[str, list[FileAdditions]]:
    """Return the files that each commit added lines to, by commit; with paths, only these files.

    A merge added only the lines that none of its parents has.
    """
    return _collect_additions(repository, list_parents(repository, commits), paths)


def list_additions_since(repository: Repository, since: str, commit: str) -> list[FileAdditions]:
    """Return the files that have lines at a commit which they did not have at commit `since`."""
    return _collect_additions(repository, {commit: [since]}, ())[commit]


def list_parents(repository: Repository, commits: Sequence[str]) -> dict[str, list[str]]:
    """Return the parents of each commit; an empty list for a first commit."""
    stdin = "".join(commit + "\n" for commit in commits).encode()
    output = repository.run_git(
        "rev-list", "--parents", "--no-walk=unsorted", "--stdin", stdin=stdin
    )
    return {words[0]: words[1:] for words in map(str.split, output.decode().splitlines())}


def _collect_additions(
    repository: Repository, parents: dict[str, list[str]], paths: Collection[str]
) -> dict[str, list[FileAdditions]]:
    """Return the files that each commit added lines to, compared with its parents.

    Git runs twice for all commits: the raw diff names files and blobs, the patch has the lines;
    blobs connect the two.
    """
    pairs = [f"{commit} {parent}" for commit in parents for parent in parents[commit]]
    pairs += [commit for commit in parents if not parents[commit]]
    stdin = "".join(pair + "\n" for pair in pairs).encode()
    only = ["--", *sorted(paths)] if paths else []
    patch = repository.run_git(*_DIFF_TREE_COMMAND, *_PATCH_OPTIONS, *only, stdin=stdin)
    hunks_by_blobs = parse_hunks(patch)
    raw = repository.run_git(*_DIFF_TREE_COMMAND, *_RAW_OPTIONS, *only, stdin=stdin)
    by_parent: dict[str, list[dict[str, FileAdditions]]] = {commit: [] for commit in parents}
    for commit, files in _parse_raw_diff(raw):
        by_parent[commit].append({file.path: _add_lines(file, hunks_by_blobs) for file in files})
    return {
        commit: _keep_common_additions(additions, len(parents[commit]))
        for commit, additions in by_parent.items()
    }


@dataclass(frozen=True, slots=True)
class _ChangedFile:
    """A file in a raw diff of two commits."""

    old_blob: str
    blob: str
    old_path: str
    path: str
    is_file: bool


HunksByBlobs = dict[tuple[str, str], list[LineHunk]]
"""The hunks of a patch, by the blobs before and after."""


def _add_lines(file: _ChangedFile, hunks_by_blobs: HunksByBlobs) -> FileAdditions:
    """Return a changed file with the numbers of its added lines; a link or submodule has one."""
    if not file.is_file:
        return FileAdditions(file.path, file.blob, _FIRST_LINE_ONLY, file.old_path, is_file=False)
    hunks = tuple(hunks_by_blobs.get((file.old_blob, file.blob), ()))
    lines = frozenset(
        number for _, _, first, count in hunks for number in range(first, first + count)
    )
    return FileAdditions(
        file.path, file.blob, lines, file.old_path, old_blob=file.old_blob, hunks=hunks
    )


def _keep_common_additions(
    by_parent: list[dict[str, FileAdditions]], parent_count: int
) -> list[FileAdditions]:
    """Return the files of a commit with the lines that it added in comparison with every parent.

    `by_parent` has the additions in comparison with each parent, by path. Return an empty list if
    the commit equals one of its parents.
    """
    if not by_parent or len(by_parent) < parent_count:
        return []
    if len(by_parent) == 1:
        return list(by_parent[0].values())
    common = []
    for path, file in by_parent[0].items():
        if all(path in files for files in by_parent):
            added_lines = (files[path].lines for files in by_parent)
            lines = frozenset.intersection(*added_lines)
            common.append(replace(file, lines=lines, old_blob="", hunks=()))
    return common


def _parse_raw_diff(output: bytes) -> Iterator[tuple[str, list[_ChangedFile]]]:
    """Yield each commit of a raw diff, once per parent, with its changed files.

    Links and submodules count as files; those that were deleted are left out.
    """
    commit = ""
    files: list[_ChangedFile] = []
    words = iter(output.split(b"\0"))
    for word in words:
        if not word.startswith(b":"):
            if commit:
                yield commit, files
            commit, files = word.decode(), []
            continue
        old_mode, mode, old_blob, blob, status = word[1:].decode().split(" ")
        path = old_path = next(words)
        if status[0] in "RC":
            path = next(words)
        is_deleted = mode == _DELETED_MODE and old_mode in REGULAR_FILE_MODES
        is_file = mode in REGULAR_FILE_MODES or is_deleted
        if is_file or (mode != _DELETED_MODE and (old_mode, old_blob) != (mode, blob)):
            if old_mode not in REGULAR_FILE_MODES:
                old_blob = "0" * len(old_blob)
            names = decode_git_name(old_path), decode_git_name(path)
            files.append(_ChangedFile(old_blob, blob, *names, is_file))
    if commit:
        yield commit, files


def parse_hunks(patch: bytes) -> HunksByBlobs:
    """Return the hunks of a patch, by the names of the blobs before and after.

    The patch needs index lines with full names of blobs.
    """
    hunks_by_blobs: HunksByBlobs = {}
    hunks: list[LineHunk] = []
    for line in patch.split(b"\n"):
        if line.startswith(b"index ") and (blobs := _INDEX_LINE.match(line)):
            hunks = hunks_by_blobs[blobs[1].decode(), blobs[2].decode()] = []
        elif line.startswith(b"@@ ") and (header := _HUNK_HEADER.match(line)):
            old_first, old_count, first, count = header.groups(default=b"1")
            hunks.append((int(old_first), int(old_count), int(first), int(count)))
    return hunks_by_blobs
