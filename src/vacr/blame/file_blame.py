"""Blame: the lines of a commit or a file of a repository, each with the claim of a record.

For a commit, all lines that it added are joined to the claims. For a file, `git blame` names the
commit that added each line, and each of these commits is joined. Lines of the work tree that are
not committed yet belong to a commit of zeros.

A line that a commit only moved or re-indented is older than the commit: a call that wrote it must
be older than the parent.

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
    >>> _ = subprocess.run([*git, "remote", "add", "origin", "https://example.org/mira/invoice"])
    >>> records[0]["vcs"] = {"type": "git", "repository": "git@example.org:mira/invoice.git"}
    >>> [line.type for line in blame_file(place, None, records)]
    ['ai', 'ai', 'ai', 'unknown']
    >>> folder.cleanup()
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from vacr.attribution import BaseFiles
from vacr.blame.additions import (
    FileAdditions,
    list_additions_since,
    list_commit_additions,
    list_parents,
)
from vacr.blame.blocks import FileVersion
from vacr.blame.exclusion import CommitWindow, blame_people
from vacr.blame.frequency import count_repository_lines
from vacr.blame.git import (
    CommitTimes,
    Repository,
    RepositoryFile,
    decode_git_name,
    read_work_tree_file,
)
from vacr.blame.join import BlameByLine, ClaimJoiner, LineBlame
from vacr.blame.locality import Locality, PlacedSession
from vacr.blame.moves import ChangedLines, find_moved_lines
from vacr.blame.session_claims import gather_claims
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

    A range counts as one commit: it added the lines that are new at its end. The time of a line is
    that of the commit in the range that added it.

    Raises:
        UnreadableInput: there is no such commit or range.
    """
    if ".." in revision:
        since, commit = repository.resolve_range(revision)
        commits = repository.list_commits(since, commit)
        files = list_additions_since(repository, since, commit)
        parents = [since]
    else:
        since, commit = None, repository.resolve_commit(revision)
        commits = [commit]
        files = list_commit_additions(repository, commits)[commit]
        parents = list_parents(repository, commits)[commit]
    times = repository.read_commit_times({commit, *commits, *parents})
    versions, changes, no_text = [], [], []
    for file in files:
        if not file.lines:
            continue
        version = _read_version(repository, file, times[commit])
        if version is None:
            no_text.append(file.path)
            continue
        if since is not None:
            origin = run_git_blame(repository, f"{since}..{commit}", file.path).lines
            # A line of a commit outside the range was there before it.
            version.line_times = {
                number: times.get(name, times[since])
                for number, (name, _, _) in enumerate(origin, 1)
            }
        versions.append(version)
        changes.append(_read_change(repository, file, version))
    if len(parents) == 1:
        date_moved_lines(versions, changes, times[parents[0]])
    joiner = build_joiner(repository, records, versions, commit)
    blames = joiner.join(versions)
    if since is None and len(parents) == 1:
        author = repository.read_author(commit)
        window = CommitWindow(commit, parents[0], author, times)
        blame_people(repository, window, versions, blames, joiner.sessions)
    blamed = [
        (
            version.path,
            [_make_blamed_line(commit, version, number, blame) for number in sorted(version.added)],
        )
        for version, blame in zip(versions, blames, strict=True)
    ]
    return AddedLines(commit, since, commits, blamed, no_text)


def date_moved_lines(
    versions: Sequence[FileVersion], changes: Sequence[ChangedLines], parent: CommitTimes
) -> None:
    """Give the lines that a commit only moved the times of its parent."""
    for version, moved in zip(versions, find_moved_lines(changes), strict=True):
        version.line_times = {**version.line_times, **dict.fromkeys(moved, parent)}


def _read_change(repository: Repository, file: FileAdditions, version: FileVersion) -> ChangedLines:
    """Return the lines of a file before and after a commit; no hunks if there was no file."""
    if not file.old_blob.strip("0"):
        return ChangedLines([], version.bare, [(0, 0, number, 1) for number in file.lines])
    old = _decode_lines(repository.read_blob(file.old_blob))
    return ChangedLines([strip_line_end(line) for line in old], version.bare, file.hunks)


def blame_file(
    place: RepositoryFile, revision: str | None, records: Sequence[dict[str, Any]]
) -> list[BlamedLine]:
    """Return all lines of a file, each with the commit that added it and its writer.

    Without a revision, read the file from the work tree, or from HEAD if it is not there.

    Raises:
        UnreadableInput: there is no such file or revision, or the file is binary.
    """
    repository, path = place.repository, place.path
    commit = repository.resolve_commit("HEAD" if revision is None else revision)
    tree = repository.list_files(commit)
    blob = tree.get(path)
    from_work_tree = revision is None and _has_work_tree(repository)
    work_tree_data = read_work_tree_file(place) if from_work_tree else None
    if blob is None and work_tree_data is None:
        raise UnreadableInput(
            f"no file {path} at commit {commit[:12]}",
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
            raise UnreadableInput(
                "the file is binary: it contains NUL bytes", where=str(repository.path / path)
            )
        committed = _decode_lines(repository.read_blob(blob)) if blob is not None else []
        uncommitted = "0" * len(commit), path
        lines = _trace_work_tree_lines(committed, _decode_lines(work_tree_data), lines, uncommitted)
        new = frozenset(number for name, _, number in lines if not name.strip("0"))
        versions[uncommitted] = _make_version(path, work_tree_data, new, names)
    joiner = build_joiner(repository, records, list(versions.values()), commit, tree)
    joined = joiner.join(list(versions.values()), one_file=True)
    blames = dict(zip(versions, joined, strict=True))
    return [
        _make_blamed_line(name, versions[name, old_path], number, blames[name, old_path])
        for name, old_path, number in lines
    ]


def _make_blamed_line(
    commit: str, version: FileVersion, number: int, blame: BlameByLine
) -> BlamedLine:
    """Return the line of a version with this number, with its blame if it has one."""
    return BlamedLine(commit, version.path, number, version.bare[number - 1], blame.get(number))


def _read_version(
    repository: Repository, file: FileAdditions, times: CommitTimes
) -> FileVersion | None:
    """Read a file of a commit; return `None` for a binary file, a link or a submodule."""
    if not file.is_file:
        return None
    data = repository.read_blob(file.blob)
    if b"\0" in data[:_BINARY_PROBE_SIZE]:
        return None
    return _make_version(file.path, data, file.lines, {file.before} - {""}, times)


def _make_version(
    path: str,
    data: bytes,
    added: frozenset[int],
    names: Collection[str],
    times: CommitTimes | None = None,
) -> FileVersion:
    """Return the version of a file with these bytes; `added` are its added lines."""
    digest = hashlib.sha256(data).hexdigest()
    return FileVersion(path, _decode_lines(data), added, digest, names, times=times)


def _decode_lines(data: bytes) -> list[str]:
    """Return the lines of a file with their ends."""
    return split_keeping_ends(decode_file_text(data))


def build_joiner(
    repository: Repository,
    records: Sequence[dict[str, Any]],
    versions: Sequence[FileVersion],
    commit: str,
    tree: Mapping[str, str] | None = None,
) -> ClaimJoiner:
    """Gather the claims of records, and return the joiner for them.

    The repository provides the bases; a revision that it does not have counts as missing. `tree`
    has the files of the commit; without it, they are listed here.
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

    claims = gather_claims(records, find_base, {version.digest for version in versions})
    tree = repository.list_files(commit) if tree is None else tree
    names = {*tree, *(name for version in versions for name in (version.path, *version.names))}
    locality = Locality(repository, commit, names)
    places = [locality.place_session(own.facts) for own in claims]
    paths = {version.path for version in versions}
    joiner = ClaimJoiner(claims, places, count_repository_lines(repository, tree, paths))
    by_id = {str(record.get("id", "")): record for record in records}
    joiner.sessions = [
        PlacedSession(by_id[own.facts.record], own.facts, place)
        for own, place in zip(claims, places, strict=True)
        if place is not None
    ]
    return joiner


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
    repository: Repository, lines: Sequence[LineOrigin], names: Collection[str]
) -> dict[_VersionKey, FileVersion]:
    """Read the file in each commit that added one of its lines, by commit and path.

    `names` are all names that the file had.

    Raises:
        UnreadableInput: the file is binary in one of the commits.
    """
    commits = list(dict.fromkeys(commit for commit, _, _ in lines))
    additions: Mapping[str, list[FileAdditions]] = list_commit_additions(repository, commits, names)
    parents = list_parents(repository, commits)
    times = repository.read_commit_times(
        {*commits, *(parent for own in parents.values() for parent in own)}
    )
    blamed: dict[_VersionKey, set[int]] = {}
    for commit, path, number in lines:
        blamed.setdefault((commit, path), set()).add(number)
    versions = {}
    for (commit, path), numbers in blamed.items():
        file = next(
            (added for added in additions[commit] if added.path == path and added.is_file), None
        )
        if file is None:
            file = FileAdditions(path, repository.list_files(commit)[path], frozenset())
        version = _read_version(
            repository, replace(file, lines=file.lines | numbers), times[commit]
        )
        if version is None:
            raise UnreadableInput(
                "the file is binary: it contains NUL bytes", where=f"{commit[:12]}:{path}"
            )
        version.names, version.wanted = names, numbers
        if len(parents[commit]) == 1 and file.hunks:
            change = _read_change(repository, file, version)
            date_moved_lines([version], [change], times[parents[commit][0]])
        versions[commit, path] = version
    return versions


def _trace_work_tree_lines(
    committed: Sequence[str],
    current: Sequence[str],
    lines: Sequence[LineOrigin],
    uncommitted: _VersionKey,
) -> list[LineOrigin]:
    """Return the origin of each line in the work tree.

    A line that equals a committed one has its origin, from `lines`. Any other line has the commit
    and path in `uncommitted`.
    """
    origins = find_line_origins(
        [strip_line_end(line) for line in committed], [strip_line_end(line) for line in current]
    )
    return [
        (*uncommitted, number) if origin == NO_ORIGIN else lines[origin]
        for number, origin in enumerate(origins, 1)
    ]


# --- the commit of each line ---


@dataclass(slots=True)
class GitBlame:
    """The origin of each line of a file."""

    lines: list[LineOrigin] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    """Every name that the file had."""


def run_git_blame(repository: Repository, commit: str, path: str) -> GitBlame:
    """Return the origin of each line of a file at a commit.

    Raises:
        UnreadableInput: the commit has no such file, or git stopped early.
    """
    output = repository.run_git("blame", "--porcelain", "--no-textconv", commit, "--", path)
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
        raise UnreadableInput(
            "git blame stopped unexpectedly",
            where=path,
            hint="Check the repository with: git fsck",
        )
    return blame


def unquote_git_name(name: bytes) -> str:
    r"""Decode the name of a file; if git has quoted it, `"a\tb"`, also replace its escapes."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _QUOTED_ESCAPE.sub(lambda escape: _decode_escape(escape[1]), name[1:-1])
    return decode_git_name(name)


def _decode_escape(escape: bytes) -> bytes:
    """Return the byte for an escape without its backslash: three octal digits, or a letter."""
    return bytes([int(escape, 8)]) if len(escape) > 1 else _ESCAPE_BYTES.get(escape, escape)
