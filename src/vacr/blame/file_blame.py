"""Blame: the lines of a commit or a file of a repository, each with the claim of a record.

For a commit, all lines that it added are joined to the claims. For a file, `git blame` names the
commit that added each line, and each of these commits is joined. Lines of the work tree that are
not committed yet belong to a commit of zeros.

Git reports which commit added which lines. Renames are found in one way, without regard to the
user's configuration: a file that is half the same is the same file, and a copy is a new file. A
merge added only the lines that none of its parents has.

    >>> import subprocess, tempfile, vacr
    >>> from vacr.blame import blame_file, find_repository_file
    >>> records = list(vacr.read("session.jsonl"))
    >>> folder = tempfile.TemporaryDirectory()
    >>> git = ["git", "-C", folder.name, "-c", "user.name=mira", "-c", "user.email=mira@app"]
    >>> for command in ["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "-m", "start"]:
    ...     _ = subprocess.run([*git, *command], check=True)
    >>> with open(f"{folder.name}/total.py", "w") as file:
    ...     _ = file.write('from decimal import Decimal\\n\\nCENT = Decimal("0.01")\\n# Done.\\n')
    >>> place = find_repository_file(f"{folder.name}/total.py")
    >>> [line.type for line in blame_file(place, None, records)]
    ['ai', 'ai', 'ai', 'unknown']
    >>> folder.cleanup()
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from vacr.attribution import BaseFiles
from vacr.blame.claims import gather_claims
from vacr.blame.git import (
    REGULAR_FILE_MODES,
    Repository,
    RepositoryFile,
    decode_git_name,
    read_work_tree_file,
)
from vacr.blame.git_blame import (
    BlameSelection,
    GitBlame,
    LineOrigin,
    find_blamed_commit,
    run_git_blame,
)
from vacr.blame.join import BlameByLine, ClaimJoiner, FileVersion, LineBlame
from vacr.edits import decode_file_text, split_keeping_ends, strip_line_end
from vacr.errors import UnreadableInput

# Like git, a file with a NUL among these first bytes counts as binary.
_BINARY_PROBE_SIZE = 8000

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

_VersionKey = tuple[str, str]
"""A commit, and the path of the file in it."""


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line, the commit that added it, its path and number in that commit, and who wrote it."""

    commit: str
    """Zeros for a line that is not committed yet."""
    path: str
    number: int
    text: str
    """The line without its end."""
    blame: LineBlame | None
    """Who wrote the line, or `None` if no record claims it."""
    line: int = 0
    """The number of the line in the file that was blamed; 0 for a line of a commit."""

    @property
    def type(self) -> str:
        """Who wrote the line: `ai`, `human`, `mixed` or `unknown`."""
        return self.blame.type if self.blame is not None else "unknown"


@dataclass(frozen=True, slots=True)
class AddedLines:
    """The lines that a commit or a range of commits added, by file."""

    commit: str
    since: str | None
    """The last commit before the range; `None` for a single commit."""
    commits: list[str]
    """The commits of the range, the oldest first."""
    files: list[tuple[str, list[BlamedLine]]]
    no_text: list[str]
    """Paths without lines: files with NUL bytes, links and submodules."""


def blame_commit(
    repository: Repository, revision: str, records: Sequence[dict[str, Any]]
) -> AddedLines:
    """Return the lines that a commit, or a range `A..B`, added, each with its writer.

    A range counts as one commit: it added the lines that are new at its end.

    Raises:
        UnreadableInput: there is no such commit or range.
    """
    if ".." in revision:
        since, commit = repository.resolve_range(revision)
        commits = repository.list_commits(since, commit)
        files = list_additions_since(repository, since, commit)
    else:
        since, commit = None, repository.resolve_commit(revision)
        commits = [commit]
        files = list_commit_additions(repository, commits)[commit]
    versions, no_text = [], []
    for file in files:
        if not file.lines:
            continue
        version = _read_version(repository, file)
        if version is None:
            no_text.append(file.path)
        else:
            versions.append(version)
    blames = _build_joiner(repository, records, versions).join(versions)
    blamed = [
        (
            version.path,
            [_make_blamed_line(commit, version, number, blame) for number in sorted(version.added)],
        )
        for version, blame in zip(versions, blames, strict=True)
    ]
    return AddedLines(commit, since, commits, blamed, no_text)


def blame_file(
    place: RepositoryFile,
    revision: str | None,
    records: Sequence[dict[str, Any]],
    selection: BlameSelection | None = None,
) -> list[BlamedLine]:
    """Return the lines of a file, each with the commit that added it and its writer.

    Without a revision, read the file from the work tree, or from HEAD if it is not there.
    A `selection` has its own revision, and further flags of `git blame`.

    Raises:
        UnreadableInput: there is no such file, revision or line, or the file is binary.
        UsageError: the revision has three dots.
    """
    selection = selection or BlameSelection(revision)
    repository, path = place.repository, place.path
    commit = find_blamed_commit(repository, selection.revision)
    tree = repository.list_files(commit)
    data = selection.contents
    if data is None and selection.revision is None and _has_work_tree(repository):
        data = read_work_tree_file(place)
    if data is not None and b"\0" in data[:_BINARY_PROBE_SIZE]:
        raise UnreadableInput(
            "the file is binary: it contains NUL bytes", where=str(repository.path / path)
        )
    if data is None:
        if path not in tree:
            raise UnreadableInput(
                f"no file {path} at commit {commit[:12]}",
                where=str(repository.path),
                hint=_format_path_hint(path, tree),
            )
        if selection.revision is None:  # The work tree lacks the file.
            selection = replace(selection, revision="HEAD")
    if path in tree or repository.has_index_entry(path):
        origins = run_git_blame(repository, path, replace(selection, ranges=()))
    else:
        origins = _blame_new_file(path, "0" * len(commit), data or b"")
    blames = _blame_versions(
        repository, records, _read_blamed_versions(repository, path, origins, selection, data)
    )
    lines = origins.lines
    if selection.ranges:
        shown = {origin.line for origin in run_git_blame(repository, path, selection).lines}
        lines = [origin for origin in lines if origin.line in shown]
    return [
        BlamedLine(
            origin.commit,
            origin.path,
            origin.number,
            origin.text,
            blames[origin.commit, origin.path].get(origin.number),
            origin.line,
        )
        for origin in lines
    ]


def _blame_new_file(path: str, commit: str, data: bytes) -> GitBlame:
    """Return the lines of a file that git does not know; all have the commit of zeros."""
    lines = [
        LineOrigin(commit, path, number, number, strip_line_end(line))
        for number, line in enumerate(_decode_lines(data), 1)
    ]
    return GitBlame(lines, {path})


def _blame_versions(
    repository: Repository,
    records: Sequence[dict[str, Any]],
    versions: dict[_VersionKey, FileVersion],
) -> dict[_VersionKey, BlameByLine]:
    """Return the blame of each version of one file."""
    joiner = _build_joiner(repository, records, list(versions.values()))
    joined = joiner.join(list(versions.values()), one_file=True)
    return dict(zip(versions, joined, strict=True))


def _make_blamed_line(
    commit: str, version: FileVersion, number: int, blame: BlameByLine
) -> BlamedLine:
    """Return the line of a version with this number, with its blame if it has one."""
    return BlamedLine(commit, version.path, number, version.bare[number - 1], blame.get(number))


def _read_version(repository: Repository, file: FileAdditions) -> FileVersion | None:
    """Read a file of a commit; return `None` for a binary file, a link or a submodule."""
    if not file.is_file:
        return None
    data = repository.read_blob(file.blob)
    if b"\0" in data[:_BINARY_PROBE_SIZE]:
        return None
    return _make_version(file.path, data, file.lines, {file.before} - {""})


def _make_version(
    path: str, data: bytes, added: frozenset[int], names: Collection[str]
) -> FileVersion:
    """Return the version of a file with these bytes; `added` are its added lines."""
    return FileVersion(path, _decode_lines(data), added, hashlib.sha256(data).hexdigest(), names)


def _decode_lines(data: bytes) -> list[str]:
    """Return the lines of a file with their ends."""
    return split_keeping_ends(decode_file_text(data))


def _build_joiner(
    repository: Repository, records: Sequence[dict[str, Any]], versions: Sequence[FileVersion]
) -> ClaimJoiner:
    """Gather the claims of records, and return the joiner for them.

    The repository provides the bases; a revision that it does not have counts as missing.
    """
    bases: dict[str, BaseFiles | None] = {}

    def find_base(revision: str) -> BaseFiles | None:
        """Return the files of a revision, from a cache; `None` if the repository lacks it."""
        if revision not in bases:
            try:
                bases[revision] = repository.load_base(revision)
            except UnreadableInput:
                bases[revision] = None
        return bases[revision]

    return ClaimJoiner(gather_claims(records, find_base, {version.digest for version in versions}))


def _has_work_tree(repository: Repository) -> bool:
    """Return whether the path of the repository is inside a work tree, not bare."""
    return repository.run_git("rev-parse", "--is-inside-work-tree").strip() == b"true"


def _format_path_hint(path: str, names: Iterable[str]) -> str:
    """Return a hint for a path that does not exist, from the names of existing files.

    Suggest a file with the same name in another folder, or with a similar name in the same folder,
    or else how to list the files.
    """
    folder, _, name = path.rpartition("/")
    near = []
    for candidate in names:
        candidate_folder, _, candidate_name = candidate.rpartition("/")
        if candidate_folder == folder or candidate_name == name:
            near.append(candidate)
    same = [candidate for candidate in near if candidate.endswith(f"/{name}") or candidate == name]
    close = same[:1] or get_close_matches(path, near, 1)
    return f"Did you mean {close[0]}?" if close else "List the files with: git ls-files"


def _read_blamed_versions(
    repository: Repository,
    path: str,
    origins: GitBlame,
    selection: BlameSelection,
    data: bytes | None,
) -> dict[_VersionKey, FileVersion]:
    """Read the file in each commit that added one of its lines, by commit and path.

    `data` are the bytes of the file if it does not come from a commit.

    Raises:
        UnreadableInput: the file is binary in one of the commits.
    """
    names = origins.paths
    if any(flag.startswith("-C") for flag in selection.flags):
        # Lines may come from other files, whose names the file never had.
        plain = tuple(flag for flag in selection.flags if not flag.startswith("-C"))
        names = run_git_blame(repository, path, replace(selection, flags=plain, ranges=())).paths
    blamed: dict[_VersionKey, set[int]] = {}
    uncommitted: dict[_VersionKey, set[int]] = {}
    for origin in origins.lines:
        numbers_by_version = blamed if origin.is_committed else uncommitted
        numbers_by_version.setdefault((origin.commit, origin.path), set()).add(origin.number)
    commits = list(dict.fromkeys(commit for commit, _ in blamed))
    additions: Mapping[str, list[FileAdditions]] = list_commit_additions(
        repository, commits, origins.paths
    )
    versions = {}
    for (commit, old_path), numbers in blamed.items():
        file = next(
            (added for added in additions[commit] if added.path == old_path and added.is_file), None
        )
        if file is None:
            file = FileAdditions(old_path, repository.list_files(commit)[old_path], frozenset())
        version = _read_version(repository, replace(file, lines=file.lines | numbers))
        if version is None:
            raise UnreadableInput(
                "the file is binary: it contains NUL bytes", where=f"{commit[:12]}:{old_path}"
            )
        if old_path in names:
            version.names = names
        version.wanted = numbers
        versions[commit, old_path] = version
    for key, numbers in uncommitted.items():
        versions[key] = _make_version(path, data or b"", frozenset(numbers), names)
    return versions


# --- the lines that commits added ---


@dataclass(frozen=True, slots=True)
class FileAdditions:
    """A file that a commit added lines to.

    A link or a submodule that a commit added or changed counts as one line.
    """

    path: str
    blob: str
    """The name of the blob in the repository."""
    lines: frozenset[int]
    """The numbers of the added lines."""
    before: str = ""
    """The path that the file had before; empty if unknown."""
    is_file: bool = True
    """Whether the path is a file, not a link or a submodule."""


def list_commit_additions(
    repository: Repository, commits: Sequence[str], paths: Collection[str] = ()
) -> dict[str, list[FileAdditions]]:
    """Return the files that each commit added lines to, by commit; with paths, only these files.

    A merge added only the lines that none of its parents has.
    """
    return _collect_additions(repository, _list_parents(repository, commits), paths)


def list_additions_since(repository: Repository, since: str, commit: str) -> list[FileAdditions]:
    """Return the files that have lines at a commit which they did not have at commit `since`."""
    return _collect_additions(repository, {commit: [since]}, ())[commit]


def _list_parents(repository: Repository, commits: Sequence[str]) -> dict[str, list[str]]:
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
    lines_by_blobs = parse_added_lines(patch)
    raw = repository.run_git(*_DIFF_TREE_COMMAND, *_RAW_OPTIONS, *only, stdin=stdin)
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
    """Return a changed file with the numbers of its added lines; a link or submodule has one."""
    if file.is_file:
        lines = lines_by_blobs.get((file.old_blob, file.blob), _NO_LINES)
    else:
        lines = _FIRST_LINE_ONLY
    return FileAdditions(file.path, file.blob, lines, file.old_path, file.is_file)


def _keep_common_additions(
    by_parent: list[dict[str, FileAdditions]], parent_count: int
) -> list[FileAdditions]:
    """Return the files of a commit with the lines that it added in comparison with every parent.

    `by_parent` has the additions in comparison with each parent, by path. Return an empty list if
    the commit equals one of its parents.
    """
    if not by_parent or len(by_parent) < parent_count:
        return []
    common = []
    for path, file in by_parent[0].items():
        if all(path in files for files in by_parent):
            added_lines = (files[path].lines for files in by_parent)
            common.append(replace(file, lines=frozenset.intersection(*added_lines)))
    return common


def _parse_raw_diff(output: bytes) -> Iterator[tuple[str, list[_ChangedFile]]]:
    """Yield each commit of a raw diff, once per parent, with its changed files.

    Links and submodules count as files; deleted files are left out.
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
        is_file = mode in REGULAR_FILE_MODES
        if is_file or (mode != _DELETED_MODE and (old_mode, old_blob) != (mode, blob)):
            if old_mode not in REGULAR_FILE_MODES:
                old_blob = "0" * len(old_blob)
            names = decode_git_name(old_path), decode_git_name(path)
            files.append(_ChangedFile(old_blob, blob, *names, is_file))
    if commit:
        yield commit, files


def parse_added_lines(patch: bytes) -> _LinesByBlobs:
    """Return the numbers of added lines in a patch, by the names of the blobs before and after.

    The patch needs index lines with full names of blobs.
    """
    lines_by_blobs: dict[tuple[str, str], set[int]] = {}
    lines: set[int] = set()
    for line in patch.split(b"\n"):
        if line.startswith(b"index ") and (blobs := _INDEX_LINE.match(line)):
            lines = lines_by_blobs[blobs[1].decode(), blobs[2].decode()] = set()
        elif line.startswith(b"@@ ") and (hunk := _HUNK_HEADER.match(line)):
            first, count = int(hunk[1]), int(hunk[2]) if hunk[2] is not None else 1
            lines.update(range(first, first + count))
    return {blobs: frozenset(numbers) for blobs, numbers in lines_by_blobs.items()}
