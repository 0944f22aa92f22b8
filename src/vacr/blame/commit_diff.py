"""The differences between commits and their parents, as git reports them.

Renames are found in one way, without regard to the user's configuration: a file that is half the
same is the same file, and a copy is a new file. No program of the repository runs. A raw diff names
files and blobs, a patch has the lines, and blobs connect the two.

    >>> from vacr.blame.commit_diff import parse_hunks
    >>> patch = b"index 12..34\\n--- a/a.py\\n+++ b/a.py\\n@@ -7,2 +7 @@\\n-x\\n-y\\n+z\\n"
    >>> file = parse_hunks(patch)["12", "34"]
    >>> file.hunks, file.removed, file.added
    ([(7, 2, 7, 1)], {7: b'x', 8: b'y'}, {7: b'z'})
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.blame.git import REGULAR_FILE_MODES, Repository, decode_git_name
from vacr.blame.moves import LineHunk
from vacr.errors import UnreadableInput

_DIFF_TREE_COMMAND = ["diff-tree", "--stdin", "-m", "-r", "--root"]
_FIND_RENAMES = ["--find-renames=50%", "-l1000"]
_RAW_OPTIONS = ["--always", "--raw", "-z", "--no-abbrev", "--ignore-submodules=none"]
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

CommitPair = tuple[str, str]
"""A commit and one of its parents; an empty parent stands for the empty tree."""


@dataclass(slots=True)
class FileHunks:
    """The hunks of one file in a patch."""

    hunks: list[LineHunk] = field(default_factory=list)
    removed: dict[int, bytes] = field(default_factory=dict)
    """The removed lines without their line feeds, by their numbers before the commit."""
    added: dict[int, bytes] = field(default_factory=dict)
    """The added lines without their line feeds, by their numbers after the commit."""


HunksByBlobs = dict[tuple[str, str], FileHunks]
"""The hunks of a patch, by the blobs before and after."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs between a commit and one of its parents."""

    old_path: str
    path: str
    """The path in the commit; for a deleted file, the old one."""
    old_blob: str
    """The name of the blob before; empty for a new file, a link or a submodule."""
    blob: str
    """The name of the blob after; empty for a deleted file, a link or a submodule."""
    is_new_link: bool = False
    """Whether the commit added or changed a link or a submodule with this path."""


def read_changed_files(
    repository: Repository,
    pairs: Sequence[CommitPair],
    paths: Collection[str] = (),
    *,
    finds_renames: bool = True,
) -> Iterator[list[ChangedFile]]:
    """Yield the changed files of each pair, in the order of the pairs.

    With `paths`, only these files count. The list of a pair without changes is empty.

    Raises:
        UnreadableInput: there is no such commit, or git fails.
    """
    # Git reads files to find renames. If it cannot read one, that pair has no renames.
    renames = _FIND_RENAMES if finds_renames else ["--no-renames"]
    try:
        output = _run_diff_tree(repository, [*renames, *_RAW_OPTIONS], pairs, paths)
    except UnreadableInput:
        if not finds_renames:
            raise
        middle = len(pairs) // 2
        if not middle:
            yield from read_changed_files(repository, pairs, paths, finds_renames=False)
        else:
            yield from read_changed_files(repository, pairs[:middle], paths)
            yield from read_changed_files(repository, pairs[middle:], paths)
        return
    yield from _parse_raw_diff(output)


def read_hunks(
    repository: Repository, pairs: Sequence[CommitPair], paths: Collection[str] = ()
) -> HunksByBlobs:
    """Return the hunks of all changed files of the pairs; with paths, only of these files.

    Raises:
        UnreadableInput: an object is missing, or git fails otherwise.
    """
    return parse_hunks(_run_diff_tree(repository, [*_FIND_RENAMES, *_PATCH_OPTIONS], pairs, paths))


def _run_diff_tree(
    repository: Repository,
    options: Sequence[str],
    pairs: Sequence[CommitPair],
    paths: Collection[str],
) -> bytes:
    """Return the output of `git diff-tree` for some pairs; with paths, only about these files.

    Raises:
        UnreadableInput: git fails.
    """
    stdin = "".join(f"{commit} {parent}".rstrip() + "\n" for commit, parent in pairs).encode()
    only = ["--", *sorted(paths)] if paths else []
    return repository.run_git(*_DIFF_TREE_COMMAND, *options, *only, stdin=stdin)


def _parse_raw_diff(output: bytes) -> Iterator[list[ChangedFile]]:
    """Yield the files of each pair in a raw diff that names every commit."""
    words = iter(output.split(b"\0"))
    files: list[ChangedFile] | None = None
    for word in words:
        if not word.startswith(b":"):  # A commit, or the end.
            if files is not None:
                yield files
            files = []
            continue
        old_mode, mode, old_blob, blob, status = word[1:].decode().split(" ")
        old_path = path = decode_git_name(next(words))
        if status[0] in "RC":
            path = decode_git_name(next(words))
        is_file = mode in REGULAR_FILE_MODES
        is_changed = mode != _DELETED_MODE and (old_mode, old_blob) != (mode, blob)
        if files is not None:
            files.append(
                ChangedFile(
                    old_path,
                    path,
                    old_blob if old_mode in REGULAR_FILE_MODES else "",
                    blob if is_file else "",
                    is_new_link=not is_file and is_changed,
                )
            )


def parse_hunks(patch: bytes) -> HunksByBlobs:
    """Return the hunks of a patch, by the names of the blobs before and after.

    The patch needs index lines with full names of blobs. A new file has zeros for the blob before.
    """
    hunks_by_blobs: HunksByBlobs = {}
    file = FileHunks()
    # The numbers of the next removed and the next added line, and those after the last ones.
    old = old_stop = new = new_stop = 0
    for line in patch.split(b"\n"):
        if line.startswith(b"+"):
            if new < new_stop:
                file.added[new] = line[1:]
                new += 1
        elif line.startswith(b"-"):
            if old < old_stop:
                file.removed[old] = line[1:]
                old += 1
        elif line.startswith(b"@@ ") and (header := _HUNK_HEADER.match(line)):
            old_first, old_count, first, count = map(int, header.groups(default=b"1"))
            file.hunks.append((old_first, old_count, first, count))
            old, old_stop = old_first, old_first + old_count
            new, new_stop = first, first + count
        elif line.startswith(b"index ") and (blobs := _INDEX_LINE.match(line)):
            file = hunks_by_blobs[blobs[1].decode(), blobs[2].decode()] = FileHunks()
            old = old_stop = new = new_stop = 0
    return hunks_by_blobs
