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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

from vacr.attribution import BaseFiles
from vacr.blame.additions import (
    FileAdditions,
    list_additions_since,
    list_commit_additions,
    list_parents,
)
from vacr.blame.blocks import FileVersion, MovedLine
from vacr.blame.claim_index import IndexedRecords
from vacr.blame.dated_versions import (
    OLDER_THAN_ANY_CALL,
    VersionKey,
    date_by_origins,
    date_lines_of_other_files,
    date_moved_lines,
    decode_lines,
    is_binary,
    is_lfs_pointer,
    list_files_with_removals,
    make_version,
    read_change,
    read_line_times,
    read_removed_lines,
    read_version,
    read_versions,
)
from vacr.blame.frequency import count_repository_lines
from vacr.blame.git import (
    CommitTimes,
    Repository,
    RepositoryFile,
    read_work_tree_file,
)
from vacr.blame.git_blame import (
    BlameSelection,
    GitBlame,
    LineOrigin,
    find_blamed_commit,
    run_git_blame,
)
from vacr.blame.join import BlameByLine, ClaimJoiner, LineBlame
from vacr.blame.locality import PlacedSession, SessionPlacer
from vacr.blame.restored_lines import date_restored_lines
from vacr.edits import strip_line_end
from vacr.errors import UnreadableInput

BlameRecords = Sequence[dict[str, Any]] | IndexedRecords
"""Records, or records whose claims an index knows."""


class BlamedLine(NamedTuple):
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
    """Paths without lines: files with NUL bytes, links, submodules and pointers of Git LFS."""


def blame_commit(repository: Repository, revision: str, records: BlameRecords) -> AddedLines:
    """Return the lines that a commit, or a range `A..B`, added, each with its writer.

    A range counts as one commit: it added the lines that are new at its end. The time of a line is
    that of the commit in the range that added it.

    Raises:
        UnreadableInput: there is no such commit or range.
    """
    if ".." in revision:
        since, commit = repository.resolve_range(revision)
        commits = repository.list_commits(since, commit)
        additions = CommitAdditions(
            commit,
            list_additions_since(repository, since, commit),
            [since],
            repository.read_commit_times({commit, since, *commits}),
            since=since,
            commits=commits,
        )
    else:
        commit = repository.resolve_commit(revision)
        parents = list_parents(repository, [commit])[commit]
        additions = CommitAdditions(
            commit,
            list_commit_additions(repository, [commit])[commit],
            parents,
            repository.read_commit_times({commit, *parents}),
            repository.read_authors([commit])[commit],
        )
    read = read_added_files(repository, additions)
    claims = gather_placed_claims(repository, records, read.versions, commit, everything=True)
    return blame_added_files(repository, read, claims)


@dataclass(frozen=True, slots=True)
class CommitAdditions:
    """The files that a commit, or a range of commits, added lines to."""

    commit: str
    """The commit, or the end of the range."""
    files: Sequence[FileAdditions]
    parents: Sequence[str]
    """The commits that it is compared with: its parents, or the last commit before the range."""
    times: Mapping[str, CommitTimes]
    """The times of all these commits."""
    author: str = ""
    """The name of the commit's author; empty for a range."""
    since: str | None = None
    """The last commit before the range; `None` for a single commit."""
    commits: Sequence[str] = ()
    """The commits of the range, the oldest first; empty for a single commit."""


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """The files of additions, read from the repository."""

    additions: CommitAdditions
    versions: list[FileVersion]
    no_text: list[str]
    """Paths without lines: files with NUL bytes, links, submodules and pointers of Git LFS."""


def read_added_files(repository: Repository, additions: CommitAdditions) -> AddedFiles:
    """Read the files with added lines, and find the times of lines that are older than the commit.

    Raises:
        UnreadableInput: the repository lacks an object.
    """
    versions, changes, old_paths, no_text = [], [], [], []
    times = additions.times[additions.commit]
    if not additions.parents:
        times = read_line_times(repository, [additions.commit])[additions.commit]
    for file in additions.files:
        if not file.lines:
            continue
        version = read_version(repository, file, times)
        if version is None or is_lfs_pointer(version):
            no_text.append(file.path)
            continue
        if additions.since is not None:
            version.line_times = _find_range_times(repository, file.path, additions)
            version.moved = {  # A commit of the range may have moved the line.
                number: MovedLine(additions.commit, file.path, number) for number in version.added
            }
        versions.append(version)
        changes.append(read_change(file, version))
        old_paths.append(file.before or file.path)
    if len(additions.parents) == 1:
        removals = list_files_with_removals(additions.files)
        changes += map(read_removed_lines, removals)
        old_paths += [file.before or file.path for file in removals]
        parent = additions.parents[0]
        date_moved_lines(versions, changes, old_paths, parent, additions.times[parent])
    return AddedFiles(additions, versions, no_text)


def _find_range_times(
    repository: Repository, path: str, additions: CommitAdditions
) -> dict[int, CommitTimes]:
    """Return the times of the commits of a range that added the lines of a file, by line number.

    A line of a commit outside the range was there before it.
    """
    before = additions.times[additions.parents[0]]
    selection = BlameSelection(f"{additions.since}..{additions.commit}")
    return {
        origin.line: additions.times.get(origin.commit, before)
        for origin in run_git_blame(repository, path, selection).lines
    }


def blame_added_files(repository: Repository, read: AddedFiles, claims: PlacedClaims) -> AddedLines:
    """Return the added lines of files that were read, each with its writer."""
    additions = read.additions
    commit, parents = additions.commit, additions.parents
    versions = {(commit, version.path): version for version in read.versions}
    daters = (date_restored_lines,) if additions.since is None else ()
    blames = _join_dated_versions(repository, claims.joiner, versions, daters)
    if additions.since is None and len(parents) == 1:
        from vacr.blame.exclusion import CommitWindow, blame_people

        window = CommitWindow(commit, parents[0], additions.author, additions.times)
        blame_people(repository, window, read.versions, blames, claims.sessions)
    blamed = [
        (
            version.path,
            [_make_blamed_line(commit, version, number, blame) for number in sorted(version.added)],
        )
        for version, blame in zip(read.versions, blames, strict=True)
    ]
    commits = list(additions.commits) if additions.since is not None else [commit]
    return AddedLines(commit, additions.since, commits, blamed, read.no_text)


def blame_file(
    place: RepositoryFile,
    revision: str | None,
    records: BlameRecords,
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
    if data is not None and is_binary(data):
        raise UnreadableInput(
            "the file is binary: it contains NUL bytes",
            where=str(repository.path / path),
            hint="Name a text file.",
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
        origins = _list_new_lines(path, "0" * len(commit), data or b"")
    versions = _read_blamed_versions(repository, path, origins, selection, data)
    if data is not None and any(not origin.is_committed for origin in origins.lines):
        _date_filtered_lines(repository, path, versions)
    claims = gather_placed_claims(repository, records, list(versions.values()), commit, tree)
    daters = (date_lines_of_other_files, date_restored_lines)
    joined = _join_dated_versions(repository, claims.joiner, versions, daters, one_file=True)
    blames = dict(zip(versions, joined, strict=True))
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


def _list_new_lines(path: str, commit: str, data: bytes) -> GitBlame:
    """Return the lines of a file that git does not know; all have the commit of zeros."""
    lines = [
        LineOrigin(commit, path, number, number, strip_line_end(line))
        for number, line in enumerate(decode_lines(data), 1)
    ]
    return GitBlame(lines, {path})


def _make_blamed_line(
    commit: str, version: FileVersion, number: int, blame: BlameByLine
) -> BlamedLine:
    """Return the line of a version with this number, with its blame if it has one."""
    return BlamedLine(commit, version.path, number, version.bare[number - 1], blame.get(number))


@dataclass(frozen=True, slots=True)
class PlacedClaims:
    """The claims of records, seen from a repository, and the sessions that worked in it."""

    joiner: ClaimJoiner
    sessions: Sequence[PlacedSession]


def gather_placed_claims(
    repository: Repository,
    records: BlameRecords,
    versions: Sequence[FileVersion],
    commit: str,
    tree: Mapping[str, str] | None = None,
    *,
    everything: bool = False,
) -> PlacedClaims:
    """Gather the claims of records about files, and find the place of each session.

    Records that say nothing about the versions may be left out, unless `everything` is needed. The
    repository provides the bases; a revision that it does not have counts as missing. `tree` has
    the files of the commit; without it, they are listed here.
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

    loaders: dict[str, Callable[[], dict[str, Any]]]
    if isinstance(records, IndexedRecords):
        claims = records.gather_claims(find_base, versions, everything=everything)
        loaders = {name: handle.load for name, handle in records.gathered.items()}
    else:
        from vacr.blame.session_claims import gather_claims

        claims = gather_claims(records, find_base, {version.digest for version in versions})
        loaders = {str(record.get("id", "")): partial(dict, record) for record in records}
    tree = repository.list_files(commit) if tree is None else tree
    names = {*tree, *(name for version in versions for name in (version.path, *version.names))}
    placer = SessionPlacer(repository, commit, names)
    places = [placer.place_session(own.facts) for own in claims]
    paths = {version.path for version in versions}
    joiner = ClaimJoiner(claims, places, count_repository_lines(repository, tree, paths))
    sessions = [
        PlacedSession(loaders[own.facts.record], own.facts, place)
        for own, place in zip(claims, places, strict=True)
        if place is not None
    ]
    return PlacedClaims(joiner, sessions)


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
) -> dict[VersionKey, FileVersion]:
    """Read the file in each commit that added one of its lines, by commit and path.

    `data` are the bytes of the file if it does not come from a commit.

    Raises:
        UnreadableInput: the file is binary in one of the commits.
    """
    names = _find_own_names(repository, path, origins, selection)
    blamed: dict[VersionKey, set[int]] = {}
    uncommitted: dict[VersionKey, set[int]] = {}
    for origin in origins.lines:
        numbers_by_version = blamed if origin.is_committed else uncommitted
        numbers_by_version.setdefault((origin.commit, origin.path), set()).add(origin.number)
    commits = list(dict.fromkeys(commit for commit, _ in blamed))
    additions: Mapping[str, list[FileAdditions]] = list_commit_additions(
        repository, commits, origins.paths
    )
    parents = list_parents(repository, commits)
    times = read_line_times(
        repository, {*commits, *(parent for own in parents.values() for parent in own)}
    )
    files = {}
    for (commit, old_path), numbers in blamed.items():
        file = next(
            (added for added in additions[commit] if added.path == old_path and added.is_file), None
        )
        if file is None:
            file = FileAdditions(old_path, repository.list_files(commit)[old_path], frozenset())
        files[commit, old_path] = replace(file, lines=file.lines | numbers)
    versions = {}
    read = read_versions(repository, [(file, times[commit]) for (commit, _), file in files.items()])
    for ((commit, old_path), file), version in zip(files.items(), read, strict=True):
        if version is None:
            raise UnreadableInput(
                "the file is binary: it contains NUL bytes", where=f"{commit[:12]}:{old_path}"
            )
        if old_path in names:
            version.names = names
        version.wanted = blamed[commit, old_path]
        if len(parents[commit]) == 1 and file.hunks:
            change, parent = read_change(file, version), parents[commit][0]
            before = file.before or file.path
            date_moved_lines([version], [change], [before], parent, times[parent])
        versions[commit, old_path] = version
    for key, numbers in uncommitted.items():
        versions[key] = make_version(path, data or b"", frozenset(numbers), names)
    return versions


def _date_filtered_lines(
    repository: Repository, path: str, versions: Mapping[VersionKey, FileVersion]
) -> None:
    """Make lines that git does not know older than any call if a filter converts the file.

    No filter runs here, so git takes every line that the filter converts for a new one. It may
    have been committed long ago.
    """
    if repository.find_filter(path):
        for (commit, _), version in versions.items():
            if not commit.strip("0"):
                version.times = OLDER_THAN_ANY_CALL


_LineDater = Callable[[Repository, Mapping[VersionKey, FileVersion]], bool]
"""Sets the times of lines that are older than their commits; returns whether any is new."""


def _join_dated_versions(
    repository: Repository,
    joiner: ClaimJoiner,
    versions: Mapping[VersionKey, FileVersion],
    daters: Sequence[_LineDater],
    *,
    one_file: bool = False,
) -> list[BlameByLine]:
    """Join versions, without claims about lines that are older than their commits.

    A commit may have moved a line from another file, or restored it; a call after that line was
    first committed did not write it. To find such lines is slow, so the `daters` look only at
    versions with claimed lines, and the versions are joined again after they found some.

    This ends: the daters see each version once, and `date_by_origins` follows every line to
    earlier and earlier commits. `one_file` states that the versions are of one file.
    """
    dated: set[VersionKey] = set()
    while True:
        blames = joiner.join(list(versions.values()), one_file=one_file)
        claimed = {
            key: version
            for (key, version), blame in zip(versions.items(), blames, strict=True)
            if blame and key not in dated and version.times is not None
        }
        dated |= claimed.keys()
        changes = [date_lines(repository, claimed) for date_lines in daters if claimed]
        changes.append(date_by_origins(repository, versions.values(), blames))
        if not any(changes):
            return blames


def _find_own_names(
    repository: Repository, path: str, origins: GitBlame, selection: BlameSelection
) -> set[str]:
    """Return the names that a file had, without the names of files that lines were copied from."""
    plain = tuple(flag for flag in selection.flags if not flag.startswith("-C"))
    if plain == selection.flags:
        return origins.paths
    return run_git_blame(repository, path, replace(selection, flags=plain, ranges=())).paths
