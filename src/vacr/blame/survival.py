"""Survival: how many lines of a commit a branch still has some days later.

Lines are followed from commit to commit, as `git blame` follows them back: through renames, and
through merges to the first parent that has them. A line that is moved or changed ends. The state of
a branch at some time, as seen from a commit, is the last commit on the way from there to the end of
the branch that was made until then.

    >>> from vacr.blame.survival import list_states, map_line_numbers
    >>> map_line_numbers([1, 2, 3, 9], [(2, 1, 2, 0), (4, 0, 4, 5)])    # line 2 ends
    [1, None, 2, 13]
    >>> from vacr.blame import Commit
    >>> day = 24 * 60 * 60
    >>> commits = [Commit("a", (), 0, ""), Commit("b", ("a",), 9 * day, "")]
    >>> list_states(commits, ["a"], [7, 30])    # after 30 days, the branch had ended
    {'a': ['a', None]}
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from vacr.blame.commit_diff import (
    ChangedFile,
    CommitPair,
    HunksByBlobs,
    read_changed_files,
    read_hunks,
)
from vacr.blame.git import Repository
from vacr.blame.history import Commit
from vacr.blame.moves import LineHunk
from vacr.errors import UnreadableInput

_BATCH_SIZE = 200
_SECONDS_PER_DAY = 24 * 60 * 60

Cohort = int
"""The number of a group of lines that are counted together."""
TrackedLines = Mapping[str, Mapping[str, Mapping[int, Cohort]]]
"""The lines to follow: by commit, by path, the cohort of each line number."""


def count_survivors(
    repository: Repository,
    commits: Sequence[Commit],
    tracked: TrackedLines,
    days: Sequence[int],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[Cohort, list[int | None]]:
    """Return how many lines of each cohort the branch has after each number of days.

    `None` means that the branch ended before. `commits` is a range as `list_range_commits` returns
    it; its last commit is the end of the branch. The lines of a cohort have one commit.

    Raises:
        UnreadableInput: git fails.
    """
    if not tracked:
        return {}
    states = list_states(commits, list(tracked), days)
    # What to count at which commit: the commit of the lines, and the index of the days.
    due: dict[str, list[tuple[str, int]]] = defaultdict(list)
    survivors: dict[Cohort, list[int | None]] = {}
    cohorts = {
        commit: Counter(cohort for numbers in files.values() for cohort in numbers.values())
        for commit, files in tracked.items()
    }
    for commit, moments in states.items():
        survivors |= {cohort: [None] * len(days) for cohort in cohorts[commit]}
        for index, state in enumerate(moments):
            if state is not None:
                due[state].append((commit, index))
    for name, live in _trace_lines(repository, commits, tracked, progress):
        for commit, index in due.pop(name, ()):
            for cohort, count in cohorts[commit].items():
                # A merge may keep two copies of a line, of a file that one side renamed.
                survivors[cohort][index] = min(live.get(cohort, 0), count)
    return survivors


def list_states(
    commits: Sequence[Commit], wanted: Iterable[str], days: Sequence[int]
) -> dict[str, list[str | None]]:
    """Return the state of the branch some days after each wanted commit, as the name of a commit.

    It is `None` if the end of the branch is older than that.
    """
    by_name = {commit.name: commit for commit in commits}
    following = _list_following_commits(commits)
    states: dict[str, list[str | None]] = {}
    for name in wanted:
        moments: list[str | None] = []
        state = name
        for count in days:
            limit = by_name[name].time + count * _SECONDS_PER_DAY
            if commits[-1].time < limit:
                moments.append(None)
                continue
            while (later := following.get(state)) is not None and by_name[later].time <= limit:
                state = later
            moments.append(state)
        states[name] = moments
    return states


def _list_following_commits(commits: Sequence[Commit]) -> dict[str, str]:
    """Return the next commit on the way from each commit to the end of the branch.

    The way follows first parents where it can: from a side branch through the merge that brought it
    in, and on along the branch that it was merged into.
    """
    by_name = {commit.name: commit for commit in commits}
    following: dict[str, str] = {}
    seen: set[str] = set()
    # The tips of branches, and the merges that brought them in; the oldest merge is taken first.
    tips = [(commits[-1].name, "")]
    while tips:
        name, later = tips.pop()
        chain = []
        while name in by_name and name not in seen:
            seen.add(name)
            chain.append(by_name[name])
            if later:
                following[name] = later
            parents = by_name[name].parents
            name, later = (parents[0] if parents else ""), name
        for commit in chain:
            tips += [(parent, commit.name) for parent in reversed(commit.parents[1:])]
    return following


# --- the lines in each commit ---


class _FileLines(NamedTuple):
    """The tracked lines of a file: their numbers in ascending order, and their cohorts."""

    numbers: list[int]
    cohorts: list[Cohort]


@dataclass(slots=True)
class _State:
    """The tracked lines that a commit has."""

    files: dict[str, _FileLines] = field(default_factory=dict)
    live: Counter[Cohort] = field(default_factory=Counter)
    """How many lines of each cohort there are."""


def _trace_lines(
    repository: Repository,
    commits: Sequence[Commit],
    tracked: TrackedLines,
    progress: Callable[[int, int], None],
) -> Iterator[tuple[str, Mapping[Cohort, int]]]:
    """Yield each commit with the number of tracked lines of each cohort that it has."""
    children = Counter(parent for commit in commits for parent in commit.parents)
    states: dict[str, _State] = {}
    empty = _State()
    progress(0, len(commits))
    for done, (commit, changes, hunks) in enumerate(
        _read_relevant_changes(repository, commits, tracked), 1
    ):
        parents = [states.get(parent, empty) for parent in commit.parents]
        state = _advance_state(parents, changes, hunks, tracked.get(commit.name, {}))
        yield commit.name, state.live
        states[commit.name] = state
        for parent in commit.parents:
            children[parent] -= 1
            if not children[parent]:
                states.pop(parent, None)
        progress(done, len(commits))


def _advance_state(
    parents: Sequence[_State],
    changes: Sequence[Sequence[ChangedFile]],
    hunks: HunksByBlobs,
    own: Mapping[str, Mapping[int, Cohort]],
) -> _State:
    """Return the tracked lines of a commit: of its parents, and its own.

    `changes` are the changed files in comparison with each parent, as far as they matter.
    """
    first = parents[0] if parents else _State()
    if not own and not (changes and changes[0]):
        return first
    files = _follow_files(parents, changes, hunks)
    for path, numbers in own.items():
        known = files.get(path, _FileLines([], []))
        both = sorted([*zip(*known, strict=True), *numbers.items()])
        files[path] = _FileLines([number for number, _ in both], [cohort for _, cohort in both])
    live = first.live.copy()
    for path in first.files.keys() | files.keys():
        before, after = first.files.get(path), files.get(path)
        if before is not after:
            live.subtract(before.cohorts if before is not None else ())
            live.update(after.cohorts if after is not None else ())
    return _State(files, +live)


def _follow_files(
    parents: Sequence[_State], changes: Sequence[Sequence[ChangedFile]], hunks: HunksByBlobs
) -> dict[str, _FileLines]:
    """Return the tracked lines of parents that a commit still has, by path.

    A file that is the same in a parent has only the lines of that parent, as in `git blame`.
    """
    changed = [{file.path: file for file in files} for files in changes]
    renamed = [{file.old_path for file in files if file.path != file.old_path} for files in changes]
    followed: dict[str, _FileLines] = {}
    for number, parent in enumerate(parents):
        for path, lines in parent.files.items():
            is_same = path not in changed[number] and path not in renamed[number]
            if is_same and all(path in files for files in changed[:number]):
                followed[path] = lines
    for path, file in changed[0].items() if changed else ():
        if file.blob and all(path in files for files in changed):
            lines = _follow_changed_file(parents, [files[path] for files in changed], hunks)
            if lines.numbers:
                followed[path] = lines
    return followed


def _follow_changed_file(
    parents: Sequence[_State], versions: Sequence[ChangedFile], hunks: HunksByBlobs
) -> _FileLines:
    """Return the tracked lines of a file that no parent has in the same form.

    A line that several parents have belongs to the first of them.
    """
    found: dict[int, Cohort] = {}
    # The lines that no parent so far has.
    added: set[int] | None = None
    for parent, version in zip(parents, versions, strict=True):
        patch = hunks.get((version.old_blob, version.blob))
        edits = None if patch is None else patch.hunks
        if version.old_blob == version.blob:
            edits = []
        lines = parent.files.get(version.old_path)
        if lines is not None and edits is not None:
            moved = map_line_numbers(lines.numbers, edits)
            found |= {
                number: cohort
                for number, cohort in zip(moved, lines.cohorts, strict=True)
                if number is not None and (added is None or number in added)
            }
        if len(parents) > 1 and edits is not None:
            new = {number for _, _, start, count in edits for number in range(start, start + count)}
            added = new if added is None else added & new
    numbers = sorted(found)
    return _FileLines(numbers, [found[number] for number in numbers])


def map_line_numbers(numbers: Sequence[int], hunks: Sequence[LineHunk]) -> list[int | None]:
    """Return the new number of each line after these hunks, or `None` if the line ends.

    Numbers and hunks are in ascending order.
    """
    mapped: list[int | None] = []
    shift = index = 0
    for number in numbers:
        is_replaced = False
        while index < len(hunks):
            old_start, old_count, _, count = hunks[index]
            # A hunk without old lines comes after the line that it names.
            if number < old_start + max(old_count, 1):
                is_replaced = old_count > 0 and number >= old_start
                break
            shift += count - old_count
            index += 1
        mapped.append(None if is_replaced else number + shift)
    return mapped


# --- the changes in git ---


def _read_relevant_changes(
    repository: Repository, commits: Sequence[Commit], tracked: TrackedLines
) -> Iterator[tuple[Commit, list[list[ChangedFile]], HunksByBlobs]]:
    """Yield each commit with its changes to files that have tracked lines, for each parent.

    The hunks of these changes come with them.
    """
    # Every path that tracked lines had so far.
    paths: set[str] = set()
    for start in range(0, len(commits), _BATCH_SIZE):
        batch = commits[start : start + _BATCH_SIZE]
        pairs = [(commit.name, parent) for commit in batch for parent in commit.parents or ("",)]
        changed = iter(read_changed_files(repository, pairs))
        relevant: list[list[list[ChangedFile]]] = []
        for commit in batch:
            paths |= tracked.get(commit.name, {}).keys()
            changes = [next(changed) for _ in commit.parents or ("",)]
            # In a merge, a file may have its new name in one parent already.
            paths |= {file.path for files in changes for file in files if file.old_path in paths}
            relevant.append(
                [
                    [file for file in files if file.path in paths or file.old_path in paths]
                    for files in changes
                ]
            )
        hunks = _read_present_hunks(repository, pairs, [files for own in relevant for files in own])
        for commit, own in zip(batch, relevant, strict=True):
            yield commit, own if commit.parents else [], hunks


def _read_present_hunks(
    repository: Repository,
    pairs: Sequence[CommitPair],
    changes: Sequence[Sequence[ChangedFile]],
) -> HunksByBlobs:
    """Return the hunks of these changes, by the blobs before and after.

    If an object is missing, the file that needs it has no hunks.
    """
    needed = [
        (pair, files)
        for pair, files in zip(pairs, changes, strict=True)
        if any(file.old_blob and file.blob and file.old_blob != file.blob for file in files)
    ]
    if not needed:
        return {}
    try:
        return read_hunks(repository, [pair for pair, _ in needed])
    except UnreadableInput:
        hunks: HunksByBlobs = {}
        for pair, files in needed:
            with suppress(UnreadableInput):
                paths = {path for file in files for path in (file.old_path, file.path)}
                hunks |= read_hunks(repository, [pair], paths)
        return hunks
