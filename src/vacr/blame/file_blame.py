"""Blame: the lines of a commit or a file of a repository, each with the claim of a record.

For a commit, all lines that it added are joined to the claims. For a file, `git blame` names the
commit that added each line, and each of these commits is joined; lines of the work tree that are
not committed yet belong to a commit of zeros.

    >>> import subprocess, tempfile, vacr
    >>> from vacr.blame import blame_file, find_repository_file
    >>> records = list(vacr.read("examples/claude-code.jsonl"))
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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from vacr.attribution import BaseFiles
from vacr.blame.claims import gather_claims
from vacr.blame.git import Repository, RepositoryFile, read_work_tree_file
from vacr.blame.git_additions import (
    FileAdditions,
    LineOrigin,
    list_additions_since,
    list_commit_additions,
    run_git_blame,
)
from vacr.blame.join import BlameByLine, ClaimJoiner, FileVersion, LineBlame
from vacr.edits import (
    NO_ORIGIN,
    decode_file_text,
    find_line_origins,
    split_keeping_ends,
    strip_line_end,
)
from vacr.errors import UnreadableInput

# Like git, a file with a NUL among these first bytes counts as binary.
_BINARY_PROBE_SIZE = 8000

_VersionKey = tuple[str, str]
"""A commit, and the path of the file in it."""


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line, the commit that added it, and who wrote it."""

    commit: str
    """Zeros for a line that is not committed yet."""
    path: str
    number: int
    text: str
    found: LineBlame | None

    @property
    def type(self) -> str:
        """Who wrote the line: `ai`, `human`, `mixed` or `unknown`."""
        return self.found.type if self.found is not None else "unknown"


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
    """Return the lines that a commit added.

    A range of commits counts as one commit: it added the lines that are new at its end.

    Raises:
        UnreadableInput: there is no such commit or range.
    """
    if ".." in revision:
        since, commit = repository.resolve_range(revision)
        commits = repository.list_commits(since, commit)
        files = list_additions_since(repository, since, commit)
    else:
        since, commit = None, repository.commit(revision)
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
    place: RepositoryFile, revision: str | None, records: Sequence[dict[str, Any]]
) -> list[BlamedLine]:
    """Return the lines of a file in the work tree, or at a revision.

    Raises:
        UnreadableInput: there is no such file or revision.
    """
    repository, path = place.repository, place.path
    commit = repository.commit("HEAD" if revision is None else revision)
    tree = repository.tree(commit)
    blob = tree.get(path)
    from_work_tree = revision is None and _has_work_tree(repository)
    work_tree_data = read_work_tree_file(place) if from_work_tree else None
    if blob is None and work_tree_data is None:
        raise UnreadableInput(
            f"there is no file {path} at {commit[:12]}",
            where=str(repository.path),
            hint=_format_path_hint(path, tree),
        )
    lines: list[LineOrigin] = []
    names: set[str] = set()
    versions: dict[_VersionKey, FileVersion] = {}
    if blob is not None:
        origin = run_git_blame(repository, commit, path)
        lines, names = origin.lines, origin.paths
        versions = _read_blamed_versions(repository, lines, names)
    if work_tree_data is not None:
        if b"\0" in work_tree_data[:_BINARY_PROBE_SIZE]:
            raise UnreadableInput("this is no text", where=str(repository.path / path))
        committed = _split_data(repository.blob(blob)) if blob is not None else []
        uncommitted = "0" * len(commit), path
        lines = _trace_work_tree_lines(committed, _split_data(work_tree_data), lines, uncommitted)
        new = frozenset(number for name, _, number in lines if not name.strip("0"))
        versions[uncommitted] = _make_version(path, work_tree_data, new, names)
    joiner = _build_joiner(repository, records, list(versions.values()))
    joined = joiner.join(list(versions.values()), one_file=True)
    blames = dict(zip(versions, joined, strict=True))
    return [
        _make_blamed_line(name, versions[name, old_path], number, blames[name, old_path])
        for name, old_path, number in lines
    ]


def _make_blamed_line(
    commit: str, version: FileVersion, number: int, blame: BlameByLine
) -> BlamedLine:
    return BlamedLine(commit, version.path, number, version.bare[number - 1], blame.get(number))


def _read_version(repository: Repository, file: FileAdditions) -> FileVersion | None:
    """Read a file of a commit; `None` if it is not text."""
    if not file.is_file:
        return None
    data = repository.blob(file.blob)
    if b"\0" in data[:_BINARY_PROBE_SIZE]:
        return None
    return _make_version(file.path, data, file.lines, {file.before} - {""})


def _make_version(
    path: str, data: bytes, added: frozenset[int], names: Collection[str]
) -> FileVersion:
    return FileVersion(path, _split_data(data), added, hashlib.sha256(data).hexdigest(), names)


def _split_data(data: bytes) -> list[str]:
    return split_keeping_ends(decode_file_text(data))


def _build_joiner(
    repository: Repository, records: Sequence[dict[str, Any]], versions: Sequence[FileVersion]
) -> ClaimJoiner:
    bases: dict[str, BaseFiles | None] = {}

    def find_base(revision: str) -> BaseFiles | None:
        if revision not in bases:
            try:
                bases[revision] = repository.base(revision)
            except UnreadableInput:
                bases[revision] = None
        return bases[revision]

    return ClaimJoiner(gather_claims(records, find_base, {version.digest for version in versions}))


def _has_work_tree(repository: Repository) -> bool:
    return repository.run("rev-parse", "--is-inside-work-tree").strip() == b"true"


def _format_path_hint(path: str, names: Iterable[str]) -> str:
    """Suggest the file that was likely meant: a sibling, or a file of this name elsewhere."""
    folder, _, name = path.rpartition("/")
    near = []
    for candidate in names:
        candidate_folder, _, candidate_name = candidate.rpartition("/")
        if candidate_folder == folder or candidate_name == name:
            near.append(candidate)
    same = [candidate for candidate in near if candidate.endswith(f"/{name}") or candidate == name]
    close = same[:1] or get_close_matches(path, near, 1)
    return f"Did you mean {close[0]}?" if close else "git ls-files shows which there are."


def _read_blamed_versions(
    repository: Repository, lines: Sequence[LineOrigin], names: Collection[str]
) -> dict[_VersionKey, FileVersion]:
    """Read the file as it is in each commit that added one of its lines."""
    commits = list(dict.fromkeys(commit for commit, _, _ in lines))
    additions: Mapping[str, list[FileAdditions]] = list_commit_additions(repository, commits, names)
    blamed: dict[_VersionKey, set[int]] = {}
    for commit, path, number in lines:
        blamed.setdefault((commit, path), set()).add(number)
    versions = {}
    for (commit, path), numbers in blamed.items():
        file = next((one for one in additions[commit] if one.path == path and one.is_file), None)
        if file is None:
            file = FileAdditions(path, repository.tree(commit)[path], frozenset())
        version = _read_version(repository, replace(file, lines=file.lines | numbers))
        if version is None:
            raise UnreadableInput("this is no text", where=f"{commit[:12]}:{path}")
        version.names, version.wanted = names, numbers
        versions[commit, path] = version
    return versions


def _trace_work_tree_lines(
    committed: Sequence[str],
    current: Sequence[str],
    lines: Sequence[LineOrigin],
    uncommitted: _VersionKey,
) -> list[LineOrigin]:
    """Return where each line of the work tree comes from: from a commit, or from none yet."""
    origins = find_line_origins(
        [strip_line_end(line) for line in committed], [strip_line_end(line) for line in current]
    )
    return [
        (*uncommitted, number) if origin == NO_ORIGIN else lines[origin]
        for number, origin in enumerate(origins, 1)
    ]
