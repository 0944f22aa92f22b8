"""Blame over history: the lines that each commit of a range added, with their writers.

The claims of all records are gathered once, and each commit is joined on its own, as `vacr blame
--commit` does it. Git runs for many commits at once. If objects are missing, as in a partial clone,
only the files that need them are left out, and reported.

    >>> import subprocess, tempfile, vacr
    >>> from vacr.blame import Repository, blame_commits, list_range_commits
    >>> records = list(vacr.read("session.jsonl"))
    >>> folder = tempfile.TemporaryDirectory()
    >>> git = ["git", "-C", folder.name, "-c", "user.name=mira", "-c", "user.email=mira@app"]
    >>> with open(f"{folder.name}/total.py", "w") as file:
    ...     _ = file.write('from decimal import Decimal\\n\\nCENT = Decimal("0.01")\\n# Done.\\n')
    >>> for command in ["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Add total"]:
    ...     _ = subprocess.run([*git, *command], check=True)
    >>> remote = ["remote", "add", "origin", "https://example.org/mira/invoice"]
    >>> _ = subprocess.run([*git, *remote], check=True)
    >>> records[0]["vcs"] = {"type": "git", "repository": "git@example.org:mira/invoice.git"}
    >>> repository = Repository(folder.name)
    >>> [commit] = list_range_commits(repository, "HEAD")
    >>> commit.author
    'mira <mira@app>'
    >>> [added] = blame_commits(repository, [commit.name], records)
    >>> [(path, [line.type for line in lines]) for path, lines in added.files]
    [('total.py', ['ai', 'ai', 'ai', 'unknown'])]
    >>> repository.close(); folder.cleanup()
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from vacr.blame.additions import FileAdditions, list_commit_additions, list_parents
from vacr.blame.blocks import FileVersion
from vacr.blame.commit_diff import read_changed_files
from vacr.blame.file_blame import (
    AddedLines,
    BlameRecords,
    CommitAdditions,
    PlacedClaims,
    blame_added_files,
    gather_placed_claims,
    read_added_files,
)
from vacr.blame.git import Repository, parse_commit_time
from vacr.errors import UnreadableInput

# Git gets this many commits at once: few processes, and a patch that fits into memory.
_BATCH_SIZE = 200
_MISSING_MESSAGE = "the repository lacks an object of this file"
_COMMIT_FORMAT = "--format=%H%x00%P%x00%ct%x00%aN <%aE>"

ProgressCallback = Callable[[int, int], None]
"""Takes the number of steps done, and of all steps."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a range."""

    name: str
    parents: tuple[str, ...]
    time: int
    """When it was committed, in seconds since 1970; 0 if that is malformed."""
    author: str
    """Name and email of its author, such as `Mira <mira@example.org>`, corrected by `.mailmap`."""


def list_range_commits(repository: Repository, text: str) -> list[Commit]:
    """Return the commits of a range, parents before children; the last one is its end.

    `A..B` are the commits of `B` that `A` lacks. An empty side means HEAD, and `A...B` means the
    same. A single revision stands for its whole history. Return an empty list if `A` has all
    commits of `B`.

    Raises:
        UnreadableInput: there is no such commit.
    """
    before, dots, after = text.partition("..")
    after = after.removeprefix(".") if dots else before
    end = repository.resolve_commit(after or "HEAD")
    wanted = f"{end}\n^{repository.resolve_commit(before or 'HEAD')}\n" if dots else f"{end}\n"
    output = repository.run_git(
        *("rev-list", "--topo-order", "--reverse", "--no-commit-header", "--encoding=UTF-8"),
        *(_COMMIT_FORMAT, "--stdin"),
        stdin=wanted.encode(),
    )
    commits = []
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        if line:
            name, parents, time, author = line.split("\0")
            commits.append(Commit(name, tuple(parents.split()), parse_commit_time(time), author))
    return commits


# --- the lines of many commits ---


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that a commit changed and whose lines cannot be counted."""

    commit: str
    path: str
    message: str


def blame_commits(
    repository: Repository,
    commits: Sequence[str],
    records: BlameRecords,
    *,
    progress: ProgressCallback = lambda _done, _total: None,
    report_unreadable: Callable[[UnreadableFile], None] = lambda _: None,
) -> Iterator[AddedLines]:
    """Yield the lines that each commit added, each with its writer, in the order of the commits.

    A merge added only the lines that none of its parents has. `progress` counts commits.
    `report_unreadable` gets each file that is left out because the repository lacks an object.

    Raises:
        UnreadableInput: there is no such commit, or git fails.
    """
    if not commits:
        return
    claims = _gather_range_claims(repository, commits, records)
    progress(0, len(commits))
    found = _read_additions(repository, commits, report_unreadable)
    for done, additions in enumerate(found, 1):
        yield blame_added_files(repository, read_added_files(repository, additions), claims)
        progress(done, len(commits))


def _gather_range_claims(
    repository: Repository, commits: Sequence[str], records: BlameRecords
) -> PlacedClaims:
    """Return the claims of the records about all files of the commits.

    The lines of all files may not fit into memory, so an index cannot leave out records. The last
    commit shows which files the repository has, and which lines are common.
    """
    versions: dict[tuple[str, str], FileVersion] = {}
    for additions in _read_additions(repository, commits, lambda _: None):
        for file in additions.files:
            if file.is_file and file.lines and (file.path, file.blob) not in versions:
                digest = hashlib.sha256(repository.read_blob(file.blob)).hexdigest()
                # The lines are read again for the join: all of them may not fit into memory.
                version = FileVersion(file.path, (), (), digest, {file.before} - {""})
                versions[file.path, file.blob] = version
    return gather_placed_claims(
        repository, records, list(versions.values()), commits[-1], everything=True
    )


def _read_additions(
    repository: Repository,
    commits: Sequence[str],
    report_unreadable: Callable[[UnreadableFile], None],
) -> Iterator[CommitAdditions]:
    """Yield the additions of each commit, in the order of the commits.

    Leave out files whose objects are missing.
    """
    for start in range(0, len(commits), _BATCH_SIZE):
        batch = commits[start : start + _BATCH_SIZE]
        parents = list_parents(repository, batch)
        times = repository.read_commit_times({*batch, *chain.from_iterable(parents.values())})
        authors = repository.read_authors(batch)
        files_by_commit = dict(_read_batch(repository, batch, report_unreadable))
        missing = find_missing_objects(
            repository,
            {
                blob
                for files in files_by_commit.values()
                for file in files
                if file.is_file and file.lines
                for blob in (file.blob, file.old_blob)
            },
        )
        for commit in batch:
            files = []
            for file in files_by_commit[commit]:
                if file.is_file and not missing.isdisjoint((file.blob, file.old_blob)):
                    report_unreadable(UnreadableFile(commit, file.path, _MISSING_MESSAGE))
                else:
                    files.append(file)
            yield CommitAdditions(commit, files, parents[commit], times, authors[commit])


def _read_batch(
    repository: Repository,
    commits: Sequence[str],
    report_unreadable: Callable[[UnreadableFile], None],
) -> Iterator[tuple[str, list[FileAdditions]]]:
    """Yield each commit of a batch with the files that it added lines to.

    If git fails, halve the batch until the commit that it cannot read is alone.
    """
    try:
        additions = list_commit_additions(repository, commits)
    except UnreadableInput:
        if len(commits) == 1:
            files = _read_present_files(repository, commits[0], report_unreadable)
            yield commits[0], files
            return
        middle = len(commits) // 2
        yield from _read_batch(repository, commits[:middle], report_unreadable)
        yield from _read_batch(repository, commits[middle:], report_unreadable)
        return
    for commit in commits:
        yield commit, additions[commit]


def _read_present_files(
    repository: Repository, commit: str, report_unreadable: Callable[[UnreadableFile], None]
) -> list[FileAdditions]:
    """Return the files that a commit added lines to, without those whose objects are missing."""
    parents = list_parents(repository, [commit])[commit]
    pairs = [(commit, parent) for parent in parents or [""]]
    changes = [change for files in read_changed_files(repository, pairs) for change in files]
    missing = find_missing_objects(
        repository, {blob for change in changes for blob in (change.old_blob, change.blob)}
    )
    unreadable = [
        change for change in changes if not missing.isdisjoint((change.old_blob, change.blob))
    ]
    lost = {path for change in unreadable for path in (change.old_path, change.path)}
    # A deleted file adds no lines that could be missed.
    for path in sorted({change.path for change in unreadable if change.blob}):
        report_unreadable(UnreadableFile(commit, path, _MISSING_MESSAGE))
    present = {change.path for change in changes} | {change.old_path for change in changes}
    if not present - lost:
        return []
    return list_commit_additions(repository, [commit], present - lost)[commit]


def find_missing_objects(repository: Repository, names: set[str]) -> set[str]:
    """Return the objects that the repository lacks; empty names and zeros name no object."""
    wanted = {name for name in names if name.strip("0")}
    return wanted - repository.find_object_types(wanted).keys()
