"""The commits of a range, each joined to the claims of records."""

from collections import Counter

import pytest

from tests.attribution.working_agent import Agent, git, repository
from tests.blame.history_world import RandomHistory, commit_on_day
from vacr import read
from vacr.blame import Repository, blame_commit, blame_commits, list_range_commits
from vacr.blame.commit_diff import read_changed_files
from vacr.errors import UnreadableInput

pytestmark = pytest.mark.component

BODY = """def total(lines):
    result = 0
    for line in lines:
        result += line.price * line.count
    return result
"""


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text("import os\n")
    commit_on_day(folder, 0)
    return folder


def write_and_read(agent, tmp_path):
    return list(read(str(agent.save(tmp_path / "records"))))


def count_types(added):
    return Counter(line.type for _, lines in added.files for line in lines)


def list_names(repo, text):
    return [commit.name for commit in list_range_commits(Repository(repo), text)]


def test_range_has_the_commits_of_its_end_that_its_beginning_lacks(repo):
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "-b", "side")
    second = commit_on_day(repo, 1)
    third = commit_on_day(repo, 2)
    assert list_names(repo, "main..side") == [second, third]
    assert list_names(repo, "main..") == [second, third]
    assert list_names(repo, "main...side") == [second, third]
    assert list_names(repo, "side") == [first, second, third]
    assert list_names(repo, "side..main") == []
    with pytest.raises(UnreadableInput, match="no such commit: nowhere"):
        list_names(repo, "nowhere..HEAD")
    for text in ("--all", "nowhere", "main side", "main\nside"):
        with pytest.raises(UnreadableInput, match="no such commit"):
            list_names(repo, text)


def test_commit_has_its_time_and_the_author_of_the_mailmap(repo):
    (repo / ".mailmap").write_text("Mira Lind <mira@lind.example> <m@example.org>\n")
    commit_on_day(repo, 1, author="M")
    *_, commit = list_range_commits(Repository(repo), "HEAD")
    assert commit.author == "Mira Lind <mira@lind.example>"
    assert commit.time - list_range_commits(Repository(repo), "HEAD")[0].time == 24 * 60 * 60


def test_each_commit_is_joined_on_its_own(repo, tmp_path):
    agent = Agent(repo).asked("Add a sum").write("sum.py", BODY)
    first = commit_on_day(repo, 1)
    (repo / "sum.py").write_text(BODY.replace("result = 0", "result = 0.0"))
    second = commit_on_day(repo, 2)
    (repo / "sum.py").unlink()
    third = commit_on_day(repo, 3)
    records = write_and_read(agent, tmp_path)
    found = Repository(repo)
    counts = {
        added.commit: count_types(added)
        for added in blame_commits(found, [first, second, third], records)
    }
    assert counts[first] == {"ai": 5}
    assert counts[second].total() == 1
    assert counts[second]["ai"] == 0
    assert counts[third] == {}


@pytest.mark.parametrize("seed", range(3))
def test_many_commits_are_joined_as_each_alone(tmp_path, monkeypatch, seed):
    monkeypatch.setattr("vacr.blame.history._BATCH_SIZE", 4)
    folder = RandomHistory(tmp_path / "repo", seed, steps=8).folder
    agent = Agent(folder).asked("Write").write("f0.txt", BODY)
    commit_on_day(folder, 300)
    agent.write("new.txt", BODY * 2).edit("f0.txt", "    result = 0\n", "    result = None\n")
    commit_on_day(folder, 301)
    records = write_and_read(agent, tmp_path)
    found = Repository(folder)
    names = list_names(folder, "HEAD")
    many = list(blame_commits(found, names, records))
    assert [added.commit for added in many] == names
    assert many == [blame_commit(found, name, records) for name in names]
    assert sum((count_types(added) for added in many), Counter())["ai"] > 5


def test_line_of_a_person_is_found_by_exclusion(repo, tmp_path):
    agent = Agent(repo, start=9 * 3600 + 60).asked("Look").read("app.py")
    (repo / "app.py").write_text("import os\nimport_by_hand = os.environ\n")
    agent.read("app.py").write("sum.py", BODY)
    name = commit_on_day(repo, 1)
    records = write_and_read(agent, tmp_path)
    found = Repository(repo)
    (added,) = blame_commits(found, [name], records)
    assert count_types(added) == {"ai": 5, "human": 1}
    assert added == blame_commit(found, name, records)


def test_merge_adds_only_lines_that_no_parent_has(repo, tmp_path):
    git(repo, "checkout", "-q", "-b", "side")
    agent = Agent(repo).asked("Add a sum").write("sum.py", BODY)
    side = commit_on_day(repo, 1)
    git(repo, "checkout", "-q", "main")
    (repo / "main.py").write_text("by = 'hand'\n")
    main = commit_on_day(repo, 2)
    git(repo, "merge", "-q", "--no-commit", "side")
    (repo / "main.py").write_text("by = 'hand'\nmerged = True\n")
    merge = commit_on_day(repo, 3)
    counts = {
        added.commit: dict(count_types(added))
        for added in blame_commits(
            Repository(repo), list_names(repo, "HEAD"), write_and_read(agent, tmp_path)
        )
    }
    assert counts[side] == {"ai": 5}
    assert counts[main].keys() == counts[merge].keys() == {"unknown"}
    assert (counts[main]["unknown"], counts[merge]["unknown"]) == (1, 1)


def test_progress_counts_commits(repo, tmp_path):
    agent = Agent(repo).asked("Add a sum").write("sum.py", BODY)
    commit_on_day(repo, 1)
    steps = []
    names = list_names(repo, "HEAD")
    list(
        blame_commits(
            Repository(repo),
            names,
            write_and_read(agent, tmp_path),
            progress=lambda done, total: steps.append((done, total)),
        )
    )
    assert steps == [(0, 2), (1, 2), (2, 2)]


def test_file_with_a_missing_object_is_reported_and_the_others_counted(repo, tmp_path):
    agent = Agent(repo).asked("Add a sum").write("sum.py", BODY)
    (repo / "large.txt").write_text("large\n" * 100)
    (repo / "gone.txt").write_text("gone\n" * 100)
    name = commit_on_day(repo, 1)
    blob = git(repo, "rev-parse", "HEAD:large.txt")
    (repo / "gone.txt").unlink()
    (repo / "app.py").write_text("import os\nimport re\n")
    after = commit_on_day(repo, 2)
    path = repo / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.unlink()
    lost = []
    found = Repository(repo)
    first, second, third = blame_commits(
        found,
        list_names(repo, "HEAD"),
        write_and_read(agent, tmp_path),
        report_unreadable=lost.append,
    )
    assert [(file.commit, file.path) for file in lost] == [(name, "large.txt")]
    assert count_types(first) == {"unknown": 1}
    assert {path: len(lines) for path, lines in second.files} == {"sum.py": 5, "gone.txt": 100}
    assert count_types(second)["ai"] == 5
    assert third.commit == after
    assert count_types(third).total() == 1
    (files,) = read_changed_files(found, [(name, git(repo, "rev-parse", f"{name}^"))])
    assert {file.path for file in files} == {"gone.txt", "large.txt", "sum.py"}
