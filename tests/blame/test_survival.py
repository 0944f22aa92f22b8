"""Lines that are followed through later commits, compared with `git blame`."""

import os

import pytest

from tests.attribution.working_agent import git, repository
from tests.blame.history_world import RandomHistory, commit_on_day, format_day
from vacr.blame import Commit, Repository, count_survivors, list_range_commits
from vacr.blame.additions import list_commit_additions
from vacr.blame.git_blame import BlameSelection, run_git_blame
from vacr.blame.survival import list_states, map_line_numbers

SEEDS = int(os.environ.get("VACR_FUZZ_SEEDS", "12"))
DAY = 24 * 60 * 60
DAYS = (7, 30, 90)


@pytest.mark.parametrize(
    ("hunks", "expected"),
    [
        ([], [1, 2, 3, 4]),
        ([(2, 1, 2, 1)], [1, None, 3, 4]),
        ([(0, 0, 1, 2)], [3, 4, 5, 6]),
        ([(2, 0, 3, 2)], [1, 2, 5, 6]),
        ([(1, 2, 0, 0)], [None, None, 1, 2]),
        ([(1, 1, 1, 3), (3, 2, 4, 0)], [None, 4, None, None]),
        ([(4, 0, 5, 1)], [1, 2, 3, 4]),
    ],
)
def test_line_numbers_follow_hunks(hunks, expected):
    assert map_line_numbers([1, 2, 3, 4], hunks) == expected


def make_commits(*rows):
    return [Commit(name, tuple(parents.split()), int(day * DAY), "") for name, parents, day in rows]


def test_state_is_the_last_commit_before_the_time_has_passed():
    commits = make_commits(("a", "", 0), ("b", "a", 6.9), ("c", "b", 7), ("d", "c", 7.1))
    assert list_states(commits, ["a", "d"], DAYS) == {
        "a": ["c", None, None],
        "d": [None, None, None],
    }


def test_side_branch_goes_on_through_the_merge_that_brought_it_in():
    commits = make_commits(
        ("a", "", 0), ("side", "a", 1), ("b", "a", 2), ("m", "b side", 20), ("end", "m", 40)
    )
    # Seven days later the branch was not merged, and was as the commit left it.
    assert list_states(commits, ["side"], (7, 30)) == {"side": ["side", "m"]}
    assert list_states(commits, ["a"], (7, 30)) == {"a": ["b", "m"]}


def test_commit_of_two_merges_belongs_to_the_older_one():
    commits = make_commits(
        ("a", "", 0),
        ("x", "a", 1),
        ("m1", "a x", 2),
        ("y", "x", 3),
        ("m2", "m1 y", 50),
    )
    assert list_states(commits, ["x"], (7,)) == {"x": ["m1"]}


def test_wrong_clock_in_between_stops_only_what_came_before():
    commits = make_commits(("a", "", 0), ("b", "a", 90_000), ("c", "b", 8), ("d", "c", 40))
    assert list_states(commits, ["a", "c"], (7, 30)) == {"a": ["a", "a"], "c": ["c", "c"]}


def track_all_lines(repo, commits):
    """Return all lines that each commit added; the cohort is the number of the commit."""
    additions = list_commit_additions(repo, [commit.name for commit in commits])
    tracked = {}
    for cohort, commit in enumerate(commits):
        files = {
            file.path: dict.fromkeys(file.lines, cohort)
            for file in additions[commit.name]
            if file.lines
        }
        if files:
            tracked[commit.name] = files
    return tracked


def count_by_git_blame(repo, commit, state):
    """Return how many lines of a state `git blame` attributes to a commit."""
    return sum(
        origin.commit == commit
        for path in repo.list_files(state)
        for origin in run_git_blame(repo, path, BlameSelection(state)).lines
    )


@pytest.mark.component
@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_are_those_of_git_blame(tmp_path, monkeypatch, seed):
    monkeypatch.setattr("vacr.blame.survival._BATCH_SIZE", 4)
    repo = Repository(RandomHistory(tmp_path / "repo", seed).folder)
    commits = list_range_commits(repo, "HEAD")
    tracked = track_all_lines(repo, commits)
    survivors = count_survivors(repo, commits, tracked, DAYS)
    states = list_states(commits, list(tracked), DAYS)
    cohorts = {commit.name: cohort for cohort, commit in enumerate(commits)}
    for name, moments in states.items():
        # A merge may keep two copies of a line; it survived once.
        added = sum(map(len, tracked[name].values()))
        expected = [min(added, count_by_git_blame(repo, name, state)) for state in moments]
        assert survivors[cohorts[name]] == expected, (name, moments)
    repo.close()


@pytest.mark.component
def test_lines_are_followed_through_a_rename_and_a_merge(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "a.txt").write_text("".join(f"old {n}\n" for n in range(20)))
    commit_on_day(folder, 0)
    git(folder, "checkout", "-q", "-b", "side")
    with (folder / "a.txt").open("a") as file:
        file.write("one\ntwo\nthree\n")
    name = commit_on_day(folder, 1)
    git(folder, "checkout", "-q", "main")
    (folder / "a.txt").rename(folder / "b.txt")
    commit_on_day(folder, 2)
    git(folder, "merge", "-q", "-m", "Merge", "side", date=format_day(3))
    text = (folder / "b.txt").read_text()
    assert text.endswith("one\ntwo\nthree\n")
    (folder / "b.txt").write_text(text.replace("two\n", "2\n"))
    commit_on_day(folder, 20)
    commit_on_day(folder, 200)
    repo = Repository(folder)
    commits = list_range_commits(repo, "HEAD")
    tracked = {name: {"a.txt": {21: 0, 22: 0, 23: 0}}}
    assert count_survivors(repo, commits, tracked, DAYS) == {0: [3, 2, 2]}
    repo.close()


@pytest.mark.component
def test_restored_lines_belong_to_the_commit_that_restored_them(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "a.txt").write_text("first\n")
    commit_on_day(folder, 0)
    (folder / "a.txt").write_text("first\nsecond\n")
    name = commit_on_day(folder, 1)
    (folder / "a.txt").write_text("first\n")
    commit_on_day(folder, 2)
    (folder / "a.txt").write_text("first\nsecond\n")
    commit_on_day(folder, 3)
    commit_on_day(folder, 10)
    repo = Repository(folder)
    commits = list_range_commits(repo, "HEAD")
    assert count_survivors(repo, commits, {name: {"a.txt": {2: 0}}}, (7,)) == {0: [0]}
    repo.close()
