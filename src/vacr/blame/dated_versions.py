"""Versions of files, with the times when their lines were written.

A line is usually as old as the commit that added it. A line that the commit only moved or
re-indented is older: it was in the parent, and `git blame` of the parent finds the commit that
added it there. That commit may have moved it too, so claimed lines are followed until a commit
really added them.

    >>> from vacr.blame.dated_versions import make_version
    >>> version = make_version("total.py", b"one\\ntwo\\n", frozenset({2}), ())
    >>> version.added, version.line_times
    (frozenset({2}), {})
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from vacr.blame.additions import (
    FileAdditions,
    list_commit_additions,
    list_parents,
)
from vacr.blame.blocks import FileVersion, MovedLine, TextLines
from vacr.blame.commit_diff import read_changed_files
from vacr.blame.git import CommitTimes, Repository
from vacr.blame.git_blame import BlameSelection, LineOrigin, run_git_blame
from vacr.blame.join import BlameByLine
from vacr.blame.moves import ChangedLines, find_moved_lines
from vacr.edits import decode_file_text, split_keeping_ends, strip_line_end
from vacr.errors import UnreadableInput

# Like git, a file with a NUL among these first bytes counts as binary.
_BINARY_PROBE_SIZE = 8000

# So many ranges of lines fit into a command line on every system.
_RANGES_PER_CALL = 500

_LFS_POINTER_START = "version https://git-lfs.github.com/spec/v1"

OLDER_THAN_ANY_CALL = CommitTimes(authored=0, committed=0)
"""The times of lines whose commit is unknown."""

VersionKey = tuple[str, str]
"""A commit, and the path of the file in it."""


def date_moved_lines(
    versions: Sequence[FileVersion],
    changes: Sequence[ChangedLines],
    old_paths: Sequence[str],
    parent: str,
    times: CommitTimes,
) -> None:
    """Set the times of lines that a commit only moved to those of its parent.

    `changes` has the change of each version, in the same order. After them, it may have changes of
    other files that the lines came from. `old_paths` are the paths of all these before the commit.
    """
    for version, moved in zip(versions, find_moved_lines(changes), strict=False):
        version.line_times = {**version.line_times, **dict.fromkeys(moved, times)}
        version.moved = {
            **version.moved,
            **{
                number: MovedLine(parent, old_paths[source], origin)
                for number, (source, origin) in moved.items()
            },
        }


def date_by_origins(
    repository: Repository, versions: Iterable[FileVersion], blames: Iterable[BlameByLine]
) -> bool:
    """Set the times of claimed lines that were moved to those of the commit that added them.

    The parent of a commit that moved a line may be much newer than the line. A line that the commit
    found by `git blame` only moved too counts as moved from there. A line whose history is missing
    is older than any call. Return whether any line got a new time or place.
    """
    wanted = [
        (version, version.moved.keys() & blame.keys())
        for version, blame in zip(versions, blames, strict=True)
    ]
    places = {version.moved[number] for version, numbers in wanted for number in numbers}
    origins, missing = _find_origins(repository, places)
    times = read_line_times(repository, {origin.commit for origin in origins.values()})
    earlier = _find_earlier_places(repository, {origin[:2] for origin in origins.values()})
    is_changed = False
    for version, numbers in wanted:
        line_times, moved = dict(version.line_times), dict(version.moved)
        for number in numbers:
            place = moved.pop(number)
            origin = origins.get(place)
            if origin is None and place not in missing:  # The line keeps the time of the parent.
                continue
            time = OLDER_THAN_ANY_CALL if origin is None else times[origin.commit]
            is_changed |= line_times.get(number) != time
            line_times[number] = time
            old_place = origin and earlier.get(origin[:2], {}).get(origin.number)
            if old_place:
                moved[number] = old_place
                is_changed = True
        version.line_times, version.moved = line_times, moved
    return is_changed


def _find_origins(
    repository: Repository, places: Iterable[MovedLine]
) -> tuple[dict[MovedLine, LineOrigin], set[MovedLine]]:
    """Return where `git blame` finds each line, by its place in the parent of a commit.

    Also return the places whose history the repository does not have.
    """
    numbers: dict[tuple[str, str], list[int]] = {}
    for place in places:
        numbers.setdefault((place.parent, place.path), []).append(place.number)
    origins: dict[MovedLine, LineOrigin] = {}
    missing: set[MovedLine] = set()
    for (parent, path), own in numbers.items():
        runs = [f"{first},{last}" for first, last in _list_runs(own)]
        for start in range(0, len(runs), _RANGES_PER_CALL):
            selection = BlameSelection(parent, ranges=tuple(runs[start : start + _RANGES_PER_CALL]))
            try:
                found = run_git_blame(repository, path, selection)
            except UnreadableInput:  # A partial clone lacks an older version of the file.
                missing |= {MovedLine(parent, path, number) for number in own}
                break
            origins |= {MovedLine(parent, path, line.line): line for line in found.lines}
    return origins, missing


def date_lines_of_other_files(
    repository: Repository, versions: Mapping[VersionKey, FileVersion]
) -> bool:
    """Set the times of lines that commits moved from other files into versions of a file.

    Return whether any line got a new time.
    """
    commits = list(dict.fromkeys(commit for commit, _ in versions))
    parents = {
        commit: own[0] for commit, own in list_parents(repository, commits).items() if len(own) == 1
    }
    changes_by_commit = read_changed_files(repository, list(parents.items()), finds_renames=False)
    several = [
        commit for commit, changes in zip(parents, changes_by_commit, strict=True) if changes[1:]
    ]
    times = repository.read_commit_times({parents[commit] for commit in several})
    is_changed = False
    for commit, files in _list_readable_additions(repository, several):
        for version in (versions[key] for key in versions if key[0] == commit):
            before, parent = version.line_times, parents[commit]
            moves = _find_moves(version, files, parent)
            version.moved = {**version.moved, **moves}
            version.line_times = {**before, **dict.fromkeys(moves, times[parent])}
            is_changed = is_changed or version.line_times != before
    return is_changed


def _find_earlier_places(
    repository: Repository, keys: Collection[VersionKey]
) -> dict[VersionKey, Mapping[int, MovedLine]]:
    """Return where the lines were that commits only moved into files, by their numbers now."""
    parents = list_parents(repository, sorted({commit for commit, _ in keys}))
    times = repository.read_commit_times(parents)
    places: dict[VersionKey, Mapping[int, MovedLine]] = {}
    moving = [commit for commit, own in parents.items() if len(own) == 1]
    for commit, files in _list_readable_additions(repository, moving):
        for file in files:
            if (commit, file.path) not in keys or not file.hunks:
                continue
            version = read_version(repository, file, times[commit])
            if version is not None:
                places[commit, file.path] = _find_moves(version, files, parents[commit][0])
    return places


def _find_moves(
    version: FileVersion, files: Sequence[FileAdditions], parent: str
) -> dict[int, MovedLine]:
    """Return where the lines were that a commit moved into a version, by their numbers now.

    `files` are all that the commit changed in comparison with its parent.
    """
    own = [file for file in files if file.path == version.path and file.hunks]
    if not own:
        return {}
    others = [
        file
        for file in files
        if file.path != version.path and any(removed for _, removed, _, _ in file.hunks)
    ]
    changes = [read_change(own[0], version), *map(read_removed_lines, others)]
    old_paths = [file.before or file.path for file in (own[0], *others)]
    return {
        number: MovedLine(parent, old_paths[source], origin)
        for number, (source, origin) in find_moved_lines(changes)[0].items()
    }


def _list_readable_additions(
    repository: Repository, commits: Sequence[str]
) -> Iterator[tuple[str, list[FileAdditions]]]:
    """Yield the files that each commit changed; leave out commits with missing objects."""
    if not commits:
        return
    try:
        yield from list_commit_additions(repository, commits).items()
    except UnreadableInput:  # A partial clone lacks other files of these commits.
        for commit in commits if len(commits) > 1 else ():
            yield from _list_readable_additions(repository, [commit])


def _list_runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def read_line_times(repository: Repository, commits: Collection[str]) -> dict[str, CommitTimes]:
    """Return the times of the lines that commits added.

    The first commit of a shallow clone seems to add all lines. They may be older than any call.
    """
    times = repository.read_commit_times(commits)
    cut = repository.list_shallow_commits() & times.keys()
    return {**times, **dict.fromkeys(cut, OLDER_THAN_ANY_CALL)}


def list_files_with_removals(files: Iterable[FileAdditions]) -> list[FileAdditions]:
    """Return the files that only lost lines or were deleted; the lines may be moved away."""
    return [file for file in files if file.is_file and file.hunks and not file.lines]


def read_removed_lines(file: FileAdditions) -> ChangedLines:
    """Return the lines that a commit removed from a file, without those that it added."""
    hunks = [(first, count, 0, 0) for first, count, _, _ in file.hunks]
    return ChangedLines(_decode_removed_lines(file), {}, hunks)


def read_change(file: FileAdditions, version: FileVersion) -> ChangedLines:
    """Return the lines of a file before and after a commit; a new file has no lines before."""
    new = {number: version.get_line(number) for number in file.lines}
    if not file.old_blob.strip("0"):
        return ChangedLines({}, new, [(0, 0, number, 1) for number in file.lines])
    return ChangedLines(_decode_removed_lines(file), new, file.hunks)


def _decode_removed_lines(file: FileAdditions) -> dict[int, str]:
    """Return the lines that a commit removed from a file, by their numbers."""
    return {number: decode_file_text(line) for number, line in file.removed.items()}


def read_versions(
    repository: Repository, files: Iterable[tuple[FileAdditions, CommitTimes]]
) -> Iterator[FileVersion | None]:
    """Yield the versions of files with the times of their commits, as `read_version` does."""
    listed = list(files)
    blobs = repository.read_blobs([file.blob for file, _ in listed if file.is_file])
    for file, times in listed:
        yield _make_read_version(file, next(blobs), times) if file.is_file else None


def read_version(
    repository: Repository, file: FileAdditions, times: CommitTimes
) -> FileVersion | None:
    """Read a file of a commit; return `None` for a binary file, a link or a submodule."""
    return next(read_versions(repository, [(file, times)]))


def _make_read_version(file: FileAdditions, data: bytes, times: CommitTimes) -> FileVersion | None:
    """Return the version of a file with the bytes of its blob; `None` for a binary file."""
    if is_binary(data):
        return None
    return make_version(file.path, data, file.lines, {file.before} - {""}, times, file.added)


def make_version(
    path: str,
    data: bytes,
    added: frozenset[int],
    names: Collection[str],
    times: CommitTimes | None = None,
    shown: Mapping[int, bytes] = MappingProxyType({}),
) -> FileVersion:
    """Return the version of a file with these bytes; `added` are its added lines.

    `shown` has lines that a diff showed, without their line feeds.
    """
    digest = hashlib.sha256(data).hexdigest()
    bare = {number: strip_line_end(decode_file_text(line)) for number, line in shown.items()}
    return FileVersion(path, TextLines(data), added, digest, names, times=times, shown=bare)


def is_binary(data: bytes) -> bool:
    """Return whether a file is not text, by the same rule as git."""
    return b"\0" in data[:_BINARY_PROBE_SIZE]


def is_lfs_pointer(version: FileVersion) -> bool:
    """Return whether git stores only a pointer: Git LFS has the text, and made these lines."""
    return version.lines[:1] == [_LFS_POINTER_START + "\n"]


def decode_lines(data: bytes) -> list[str]:
    """Return the lines of a file with their ends."""
    return split_keeping_ends(decode_file_text(data))
