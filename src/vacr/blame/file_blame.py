"""Files and commits of a repository, joined to records. Step: blame."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from vacr.attribution import BaseFiles
from vacr.blame.claims import gather_claims
from vacr.blame.git import (
    FileAdditions,
    Repository,
    RepositoryFile,
    list_additions_since,
    list_commit_additions,
    read_work_tree_file,
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

_BINARY_PROBE_SIZE = 8000


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line: the commit that added it, its path and number there, and what is known of it. A
    commit of zeros is none yet.
    """

    commit: str
    path: str
    number: int
    text: str
    found: LineBlame | None

    @property
    def type(self) -> str:
        """Who made it."""
        return self.found.type if self.found is not None else "unknown"


@dataclass(frozen=True, slots=True)
class AddedLines:
    """The lines that a commit added, by files; or a range of commits, of which `since` is the last
    one before it.

    `no_text` are the names of what it added to and that has no lines to be told of: files with NUL
    bytes, links and submodules.
    """

    commit: str
    since: str | None
    commits: list[str]
    """Those of the range, the oldest first."""
    files: list[tuple[str, list[BlamedLine]]]
    no_text: list[str]


def blame_commit(
    repository: Repository, revision: str, records: Sequence[dict[str, Any]]
) -> AddedLines:
    """Give the lines that a commit added. A range of commits is taken as one: what it added is what
    is new at its end.

    Raises:
        UnreadableInput: there is no such commit or range.
    """
    since, commit = (
        repository.span(revision) if ".." in revision else (None, repository.commit(revision))
    )
    files = (
        list_commit_additions(repository, [commit])[commit]
        if since is None
        else list_additions_since(repository, since, commit)
    )
    read = [(file.path, _read_version(repository, file)) for file in files if file.lines]
    versions = [version for _, version in read if version is not None]
    answers = _build_joiner(repository, records, versions).join(versions)
    found = [
        (
            version.path,
            [
                _make_blamed_line(commit, version, number, answer)
                for number in sorted(version.added)
            ],
        )
        for version, answer in zip(versions, answers, strict=True)
    ]
    commits = [commit] if since is None else repository.between(since, commit)
    return AddedLines(
        commit, since, commits, found, [path for path, version in read if version is None]
    )


def _make_blamed_line(
    commit: str, version: FileVersion, number: int, answer: BlameByLine
) -> BlamedLine:
    return BlamedLine(commit, version.path, number, version.bare[number - 1], answer.get(number))


def _read_version(repository: Repository, file: FileAdditions) -> FileVersion | None:
    """Read a file of a commit; `None` for one that is no text."""
    if not file.is_file:
        return None
    data = repository.blob(file.blob)
    return (
        None
        if b"\0" in data[:_BINARY_PROBE_SIZE]
        else _make_version(file.path, data, file.lines, {file.before} - {""})
    )


def _make_version(
    path: str, data: bytes, numbers: frozenset[int], names: Collection[str]
) -> FileVersion:
    return FileVersion(
        path,
        split_keeping_ends(decode_file_text(data)),
        numbers,
        hashlib.sha256(data).hexdigest(),
        names,
    )


def _build_joiner(
    repository: Repository, records: Sequence[dict[str, Any]], versions: Sequence[FileVersion]
) -> ClaimJoiner:
    bases: dict[str, BaseFiles | None] = {}

    def base(revision: str) -> BaseFiles | None:
        if revision not in bases:
            try:
                bases[revision] = repository.base(revision)
            except UnreadableInput:
                bases[revision] = None
        return bases[revision]

    return ClaimJoiner(gather_claims(records, base, {version.digest for version in versions}))


def blame_file(
    place: RepositoryFile, revision: str | None, records: Sequence[dict[str, Any]]
) -> list[BlamedLine]:
    """Give the lines of a file as it is in the work tree, or at a revision.

    Raises:
        UnreadableInput: there is no such file or revision.
    """
    repository = place.repository
    commit = repository.commit("HEAD" if revision is None else revision)
    tree = repository.tree(commit)
    blob = tree.get(place.path)
    here = (
        None
        if revision is not None or not _has_work_tree(repository)
        else read_work_tree_file(place)
    )
    if blob is None and here is None:
        hint = _format_path_hint(place.path, tree)
        raise UnreadableInput(
            f"there is no file {place.path} at {commit[:12]}", where=str(repository.path), hint=hint
        )
    origin = run_git_blame(repository, commit, place.path) if blob is not None else None
    told = origin.lines if origin is not None else []
    commits = list(dict.fromkeys(commit for commit, _, _ in told))
    names = origin.paths if origin is not None else set()
    versions = _read_blamed_versions(
        repository, told, list_commit_additions(repository, commits, names) if names else {}, names
    )
    lines = told
    if here is not None:
        if b"\0" in here[:_BINARY_PROBE_SIZE]:
            raise UnreadableInput("this is no text", where=str(repository.path / place.path))
        before = (
            split_keeping_ends(decode_file_text(repository.blob(blob))) if blob is not None else []
        )
        lines = _trace_work_tree_lines(
            before,
            split_keeping_ends(decode_file_text(here)),
            told,
            (("0" * len(commit)), place.path),
        )
        new = frozenset(number for name, _, number in lines if not name.strip("0"))
        versions["0" * len(commit), place.path] = _make_version(place.path, here, new, names)
    joiner = _build_joiner(repository, records, list(versions.values()))
    answers = dict(zip(versions, joiner.join(list(versions.values()), one_file=True), strict=True))
    return [_find_blamed_line(versions, answers, one) for one in lines]


def _format_path_hint(path: str, names: Iterable[str]) -> str:
    """Name the file that was likely meant: one beside it, or one of its name elsewhere."""
    folder, _, name = path.rpartition("/")
    near = [
        one for one in names if one.rpartition("/")[0] == folder or one.rpartition("/")[2] == name
    ]
    same = [one for one in near if one.endswith(f"/{name}") or one == name]
    close = same[:1] or get_close_matches(path, near, 1)
    return f"Did you mean {close[0]}?" if close else "git ls-files shows which there are."


def _has_work_tree(repository: Repository) -> bool:
    return repository.run("rev-parse", "--is-inside-work-tree").strip() == b"true"


def _read_blamed_versions(
    repository: Repository,
    told: Sequence[tuple[str, str, int]],
    files: dict[str, list[FileAdditions]],
    names: Collection[str],
) -> dict[tuple[str, str], FileVersion]:
    """Read the file as each commit has it that added a line which is still there."""
    blamed: dict[tuple[str, str], set[int]] = {}
    for commit, path, number in told:
        blamed.setdefault((commit, path), set()).add(number)
    versions = {}
    for (commit, path), numbers in blamed.items():
        file = next((one for one in files[commit] if one.path == path and one.is_file), None)
        if file is None:
            file = FileAdditions(path, repository.tree(commit)[path], frozenset())
        version = _read_version(repository, replace(file, lines=file.lines | numbers))
        if version is None:
            raise UnreadableInput("this is no text", where=f"{commit[:12]}:{path}")
        version.names, version.left = names, numbers
        versions[commit, path] = version
    return versions


def _trace_work_tree_lines(
    before: Sequence[str],
    now: Sequence[str],
    told: Sequence[tuple[str, str, int]],
    new: tuple[str, str],
) -> list[tuple[str, str, int]]:
    """Say where the lines of the work tree come from: from the commit, or from none yet."""
    found = find_line_origins(
        [strip_line_end(line) for line in before], [strip_line_end(line) for line in now]
    )
    return [
        (*new, number) if origin == NO_ORIGIN else told[origin]
        for number, origin in enumerate(found, 1)
    ]


def _find_blamed_line(
    versions: dict[tuple[str, str], FileVersion],
    answers: dict[tuple[str, str], BlameByLine],
    line: tuple[str, str, int],
) -> BlamedLine:
    commit, path, number = line
    return _make_blamed_line(
        commit, versions[commit, path], number, answers.get((commit, path), {})
    )
