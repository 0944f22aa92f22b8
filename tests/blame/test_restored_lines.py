"""Attacks: old lines of a person come back, and an agent has written the same ones elsewhere."""

import re

import pytest

import vacr
from tests.attribution.working_agent import Agent, commit, git, repository
from tests.blame.test_moved_lines import AFTER, BEFORE, LATER, REST, TOTAL, list_agent_lines
from vacr.blame import Repository, blame_commit
from vacr.blame.restored_lines import find_named_commits

EVENING = "2026-03-13T19:00:00Z"


@pytest.fixture
def repo(tmp_path):
    """Return a repository whose last commit removed a person's function from util.py."""
    repo = repository(tmp_path / "repo")
    (repo / "util.py").write_text(f"import os\n\n{TOTAL}\n\n{REST}")
    (repo / "a.py").write_text("import sys\n\nx = 1\n")
    commit(repo, "Start", date=BEFORE)
    (repo / "util.py").write_text(f"import os\n\n{REST}")
    commit(repo, "Remove total", date=EVENING)
    return repo


def write_to_a_file_that_is_lost(repo):
    agent = Agent(repo).write("scratch.py", TOTAL)
    (repo / "scratch.py").unlink()
    return agent


def write_to_the_file_and_discard(repo):
    agent = Agent(repo).read("util.py").edit("util.py", "import os\n", f"import os\n\n{TOTAL}")
    git(repo, "checkout", "-q", "--", "util.py")  # In a terminal that no session shows.
    return agent


@pytest.mark.parametrize("write", [write_to_a_file_that_is_lost, write_to_the_file_and_discard])
def test_reverted_removal_does_not_give_old_lines_to_a_copy(repo, write):
    agent = write(repo)
    git(repo, "revert", "--no-edit", "HEAD", date=AFTER)
    assert list_agent_lines(repo, agent, "util.py") == ([], [])
    git(repo, "mv", "util.py", "moved.py")
    commit(repo, date=LATER)
    assert list_agent_lines(repo, agent, "moved.py") == ([], [])


def test_agents_lines_stay_its_own_after_two_reverts(repo):
    agent = Agent(repo).read("a.py").edit("a.py", "x = 1\n", f"x = 1\n\n\n{TOTAL}")
    commit(repo, date=AFTER)
    for _ in range(2):
        git(repo, "revert", "--no-edit", "HEAD", date=LATER)
    own = TOTAL.rstrip("\n").split("\n")
    for lines in list_agent_lines(repo, agent):
        assert list(filter(None, lines)) == own


def test_picked_commit_of_a_person_is_as_old_as_its_source(repo):
    git(repo, "checkout", "-q", "-b", "side")
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{TOTAL}")
    commit(repo, "Add total", date=EVENING)
    git(repo, "checkout", "-q", "main")
    agent = write_to_a_file_that_is_lost(repo)
    git(repo, "cherry-pick", "-x", "side", date=AFTER)
    assert list_agent_lines(repo, agent) == ([], [])


@pytest.mark.parametrize("part", ["all", "some"])
def test_copy_of_another_file_is_not_an_agents(repo, part):
    git(repo, "revert", "--no-edit", "HEAD", date=EVENING)
    agent = write_to_a_file_that_is_lost(repo)
    text = (repo / "util.py").read_text()
    (repo / "b.py").write_text(text if part == "all" else f"import re\n\n\n{TOTAL}\nprint(1)\n")
    commit(repo, date=AFTER)
    assert list_agent_lines(repo, agent, "b.py") == ([], [])


def test_copy_of_an_agents_file_is_its_own(repo):
    agent = Agent(repo).write("total.py", TOTAL)
    commit(repo, date=AFTER)
    (repo / "b.py").write_text(f"import re\n\n\n{TOTAL}\nprint(1)\n")
    commit(repo, date=LATER)
    assert list_agent_lines(repo, agent, "b.py")[1] == TOTAL.rstrip("\n").split("\n")


def test_message_cannot_make_a_line_newer(repo):
    """A commit that claims to revert a later one keeps its own time."""
    (repo / "b.py").write_text(f"import re\n\n\n{TOTAL}")
    commit(repo, "Add total", date=EVENING)
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "rm", "-q", "b.py")
    commit(repo, "Remove total again", date=LATER)
    later = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", first)
    message = f"Add\n\nThis reverts commit {later}.\n"
    git(repo, "commit", "-q", "--amend", "-m", message, date=EVENING)
    agent = write_to_a_file_that_is_lost(repo)
    records = list(vacr.read(agent.save(repo.parent / "s")))
    [(_, lines)] = blame_commit(Repository(repo), "HEAD", records).files
    assert {line.type for line in lines} == {"unknown"}


class CountingRepository(Repository):
    """A repository that counts the processes of git besides `git blame`."""

    def __init__(self, path):
        self.calls = 0
        super().__init__(path)

    def run_git(self, *arguments, **options):
        self.calls += "blame" not in arguments
        return super().run_git(*arguments, **options)


def test_named_commit_is_read_once_for_all_files(tmp_path):
    def count_calls(count):
        repo = repository(tmp_path / f"repo-{count}")
        words = re.compile("total|amounts|line|currency|price|count|Money")
        totals = [words.sub(rf"\g<0>_{number}", TOTAL) for number in range(count)]
        for number, total in enumerate(totals):
            (repo / f"util_{number}.py").write_text(f"import os\n\n{total}\n\n{REST}")
        commit(repo, "Start", date=BEFORE)
        for number in range(count):
            (repo / f"util_{number}.py").write_text(f"import os\n\n{REST}")
        commit(repo, "Remove totals", date=EVENING)
        agent = Agent(repo)
        for number, total in enumerate(totals):
            agent.write(f"scratch_{number}.py", total)
            (repo / f"scratch_{number}.py").unlink()
        git(repo, "revert", "--no-edit", "HEAD", date=AFTER)
        records = list(vacr.read(agent.save(tmp_path / f"s-{count}")))
        counting = CountingRepository(repo)
        added = blame_commit(counting, "HEAD", records)
        assert len(added.files) == count
        assert {line.type for _, lines in added.files for line in lines} == {"unknown"}
        return counting.calls

    assert count_calls(12) == count_calls(3)


def test_commits_that_a_message_names():
    assert find_named_commits("Say that this reverts commit abc1234") == []
    assert find_named_commits("This reverts commit zzzzzzz.") == []
    picked = "Add\n\n(cherry picked from commit 1f2e3d4c)\n(cherry picked from commit abcdef0)"
    assert find_named_commits(picked) == [("1f2e3d4c", False), ("abcdef0", False)]
