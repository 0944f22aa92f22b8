r"""Which commit added which lines, as git reports it.

Renames are found in one way, without regard to the user's configuration: a file that is half the
same is the same file, and a copy is a new file. A merge added only the lines that none of its
parents has.

    >>> from vacr.blame.git_additions import parse_added_lines
    >>> patch = b"index 83db48f..bf269f4 100644\n@@ -1,0 +2,3 @@\n+a\n+b\n+c\n"
    >>> [(blobs, sorted(lines)) for blobs, lines in parse_added_lines(patch).items()]
    [(('83db48f', 'bf269f4'), [2, 3, 4])]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from vacr.blame.git import REGULAR_FILE_MODES, Repository, decode_git_name
from vacr.errors import UnreadableInput

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
_HUNK_HEADER = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")

_NO_LINES = frozenset[int]()
_FIRST_LINE_ONLY = frozenset({1})

_QUOTED_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPE_BYTES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}

LineOrigin = tuple[str, str, int]
"""The commit that added a line, and the line's path and number there."""


@dataclass(frozen=True, slots=True)
class FileAdditions:
    """A file that a commit added lines to.

    A link or a submodule that a commit added or changed counts as one line.
    """

    path: str
    blob: str
    lines: frozenset[int]
    """The numbers of the added lines."""
    before: str = ""
    """The name that the file had before."""
    is_file: bool = True
    """Whether it is a file, not a link or a submodule."""


@dataclass(slots=True)
class GitBlame:
    """The origin of each line of a file."""

    lines: list[LineOrigin] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    """Every name that the file had."""


def list_commit_additions(
    repository: Repository, commits: Sequence[str], paths: Collection[str] = ()
) -> dict[str, list[FileAdditions]]:
    """Return the files that each commit added lines to; with paths, only these files."""
    return _collect_additions(repository, _list_parents(repository, commits), paths)


def list_additions_since(repository: Repository, since: str, commit: str) -> list[FileAdditions]:
    """Return the files with lines at a commit that they did not have at an earlier one."""
    return _collect_additions(repository, {commit: [since]}, ())[commit]


def _list_parents(repository: Repository, commits: Sequence[str]) -> dict[str, list[str]]:
    stdin = "".join(commit + "\n" for commit in commits).encode()
    output = repository.run("rev-list", "--parents", "--no-walk=unsorted", "--stdin", stdin=stdin)
    return {words[0]: words[1:] for words in map(str.split, output.decode().splitlines())}


def _collect_additions(
    repository: Repository, parents: dict[str, list[str]], paths: Collection[str]
) -> dict[str, list[FileAdditions]]:
    """Compare each commit with its parents, in two runs of git for all of them.

    The raw diff names files and blobs, the patch has the lines; blobs connect the two.
    """
    pairs = [f"{commit} {parent}" for commit in parents for parent in parents[commit]]
    pairs += [commit for commit in parents if not parents[commit]]
    stdin = "".join(pair + "\n" for pair in pairs).encode()
    only = ["--", *sorted(paths)] if paths else []
    patch = repository.run(*_DIFF_TREE_COMMAND, *_PATCH_OPTIONS, *only, stdin=stdin)
    lines_by_blobs = parse_added_lines(patch)
    raw = repository.run(*_DIFF_TREE_COMMAND, *_RAW_OPTIONS, *only, stdin=stdin)
    by_parent: dict[str, list[dict[str, FileAdditions]]] = {commit: [] for commit in parents}
    for commit, files in _parse_raw_diff(raw):
        by_parent[commit].append({file.path: _add_lines(file, lines_by_blobs) for file in files})
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


_LinesByBlobs = dict[tuple[str, str], frozenset[int]]
"""The numbers of added lines, by the blobs before and after."""


def _add_lines(file: _ChangedFile, lines_by_blobs: _LinesByBlobs) -> FileAdditions:
    if file.is_file:
        lines = lines_by_blobs.get((file.old_blob, file.blob), _NO_LINES)
    else:
        lines = _FIRST_LINE_ONLY
    return FileAdditions(file.path, file.blob, lines, file.old_path, file.is_file)


def _keep_common_additions(
    by_parent: list[dict[str, FileAdditions]], parent_count: int
) -> list[FileAdditions]:
    """Keep the lines that differ from every parent."""
    if not by_parent or len(by_parent) < parent_count:
        return []
    return [
        replace(file, lines=frozenset.intersection(*(files[path].lines for files in by_parent)))
        for path, file in by_parent[0].items()
        if all(path in files for files in by_parent)
    ]


def _parse_raw_diff(output: bytes) -> Iterator[tuple[str, list[_ChangedFile]]]:
    """Yield each commit, once per parent, with its files, links and submodules."""
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
        is_file = mode in REGULAR_FILE_MODES
        if is_file or (mode != _DELETED_MODE and (old_mode, old_blob) != (mode, blob)):
            if old_mode not in REGULAR_FILE_MODES:
                old_blob = "0" * len(old_blob)
            names = decode_git_name(old_path), decode_git_name(path)
            files.append(_ChangedFile(old_blob, blob, *names, is_file))
    if commit:
        yield commit, files


def parse_added_lines(patch: bytes) -> _LinesByBlobs:
    """Parse the numbers of added lines from a patch with full index lines."""
    lines_by_blobs: dict[tuple[str, str], set[int]] = {}
    lines: set[int] = set()
    for line in patch.split(b"\n"):
        if line.startswith(b"index ") and (blobs := _INDEX_LINE.match(line)):
            lines = lines_by_blobs[blobs[1].decode(), blobs[2].decode()] = set()
        elif line.startswith(b"@@ ") and (hunk := _HUNK_HEADER.match(line)):
            first, count = int(hunk[1]), int(hunk[2]) if hunk[2] is not None else 1
            lines.update(range(first, first + count))
    return {blobs: frozenset(numbers) for blobs, numbers in lines_by_blobs.items()}


def run_git_blame(repository: Repository, commit: str, path: str) -> GitBlame:
    """Return the origin of each line of a file at a commit.

    Raises:
        UnreadableInput: the commit has no such file.
    """
    output = repository.run("blame", "--porcelain", "--no-textconv", commit, "--", path)
    blame, path_by_commit = GitBlame(paths={path}), {commit: path}
    current, number = "", 0
    expects_header = True
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            blame.lines.append((current, path_by_commit[current], number))
            expects_header = True
        elif expects_header and line:
            current, first = line.decode().split(" ")[:2]
            number, expects_header = int(first), False
        elif line.startswith(b"filename "):
            path_by_commit[current] = unquote_git_name(line.removeprefix(b"filename "))
            blame.paths.add(path_by_commit[current])
        elif line.startswith(b"previous "):
            blame.paths.add(unquote_git_name(line.split(b" ", 2)[2]))
    if not expects_header:
        raise UnreadableInput("git blame ended too early", where=path)
    return blame


def unquote_git_name(name: bytes) -> str:
    """Decode a name that git may have put in quotation marks."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _QUOTED_ESCAPE.sub(lambda escape: _decode_escape(escape[1]), name[1:-1])
    return decode_git_name(name)


def _decode_escape(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) > 1 else _ESCAPE_BYTES.get(escape, escape)
