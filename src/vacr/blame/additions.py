"""The lines that commits added.

A merge added only the lines that none of its parents has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vacr.blame.commit_diff import (
    ChangedFile,
    FileHunks,
    HunksByBlobs,
    read_changed_files,
    read_hunks,
)
from vacr.blame.git import Repository
from vacr.blame.moves import LineHunk

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
    removed: Mapping[int, bytes] = field(default_factory=dict, compare=False)
    """The lines that the commit removed from that blob, by their numbers."""
    added: Mapping[int, bytes] = field(default_factory=dict, compare=False)
    """The text of added lines, as far as a diff showed them, by their numbers."""


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
    repository: Repository, parents: Mapping[str, Sequence[str]], paths: Collection[str]
) -> dict[str, list[FileAdditions]]:
    """Return the files that each commit added lines to, compared with its parents.

    Git runs twice for all commits: for the lines, and for the names of files.
    """
    pairs = [(commit, parent) for commit, own in parents.items() for parent in own or ("",)]
    hunks_by_blobs = read_hunks(repository, pairs, paths)
    by_parent: dict[str, list[dict[str, FileAdditions]]] = {commit: [] for commit in parents}
    changes = read_changed_files(repository, pairs, paths)
    for (commit, _), files in zip(pairs, changes, strict=True):
        by_parent[commit].append(
            {
                file.path: _add_lines(file, hunks_by_blobs)
                for file in files
                if file.blob or file.old_blob or file.is_new_link
            }
        )
    return {commit: _keep_common_additions(additions) for commit, additions in by_parent.items()}


def _add_lines(file: ChangedFile, hunks_by_blobs: HunksByBlobs) -> FileAdditions:
    """Return a changed file with the numbers of its added lines; a link or submodule has one."""
    if file.is_new_link:
        return FileAdditions(file.path, "", _FIRST_LINE_ONLY, file.old_path, is_file=False)
    zeros = "0" * len(file.blob or file.old_blob)
    old_blob, blob = file.old_blob or zeros, file.blob or zeros
    patch = hunks_by_blobs.get((old_blob, blob)) or FileHunks()
    lines = frozenset(
        number for _, _, first, count in patch.hunks for number in range(first, first + count)
    )
    return FileAdditions(
        file.path,
        blob,
        lines,
        file.old_path,
        old_blob=old_blob,
        hunks=tuple(patch.hunks),
        removed=patch.removed,
        added=patch.added,
    )


def _keep_common_additions(by_parent: Sequence[Mapping[str, FileAdditions]]) -> list[FileAdditions]:
    """Return the files of a commit with the lines that it added in comparison with every parent.

    `by_parent` has the additions in comparison with each parent, by path; a first commit is
    compared with the empty tree. Return an empty list if the commit equals one of its parents.
    """
    if len(by_parent) == 1:
        return list(by_parent[0].values())
    common = []
    for path, file in by_parent[0].items():
        if all(path in files for files in by_parent):
            added_lines = (files[path].lines for files in by_parent)
            lines = frozenset.intersection(*added_lines)
            common.append(replace(file, lines=lines, old_blob="", hunks=()))
    return common
