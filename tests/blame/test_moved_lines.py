"""Lines that a commit moved are as old as the commit that added them first."""

from dataclasses import replace

import pytest

import vacr
from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.blame import Repository, blame_commit, blame_file, dated_versions, find_repository_file
from vacr.blame.blocks import MovedLine
from vacr.blame.dated_versions import _list_runs

TOTAL = (
    "def total_price(lines, currency):\n"
    "    amounts = [line.price * line.count for line in lines]\n"
    "    return Money(sum(amounts), currency)\n"
)
REST = "class Basket:\n    def __init__(self, owner):\n        self.owner = owner\n"
BEFORE, MORNING, NOON, AFTER, LATER = (
    "2026-03-13T09:00:00Z",
    "2026-03-14T10:00:00Z",
    "2026-03-14T12:00:00Z",
    "2026-03-15T09:00:00Z",
    "2026-03-16T09:00:00Z",
)


@pytest.fixture
def repo(tmp_path):
    """Return a repository with a person's function in util.py."""
    repo = repository(tmp_path / "repo")
    (repo / "util.py").write_text(f"import os\n\n{TOTAL}\n\n{REST}")
    (repo / "a.py").write_text("import sys\n\nx = 1\n")
    commit(repo, date=BEFORE)
    return repo


def list_agent_lines(repo, agent, path="a.py"):
    """Return the lines of a file that are an agent's, once by the file and once by HEAD."""
    records = list(vacr.read(agent.save(repo.parent / "s")))
    place = find_repository_file(str(repo / path))
    in_file = [line.text for line in blame_file(place, None, records) if line.type == "ai"]
    added = dict(blame_commit(Repository(str(repo)), "HEAD", records).files)
    return in_file, [line.text for line in added.get(path, []) if line.type == "ai"]


def test_moved_lines_are_older_than_the_parent_of_the_commit(repo):
    """An agent moves lines on a branch, and a squash puts them on a newer commit."""
    git(repo, "checkout", "-q", "-b", "move")
    agent = Agent(repo).read("a.py").edit("a.py", "x = 1\n", f"x = 1\n\n\n{TOTAL}y = x + 1000\n")
    agent.edit("util.py", TOTAL, "")
    commit(repo, date=MORNING)
    git(repo, "checkout", "-q", "main")
    (repo / "other.py").write_text("z = 1\n")
    commit(repo, date=NOON)
    git(repo, "merge", "-q", "--squash", "move")
    commit(repo, date=AFTER)
    in_file, in_commit = list_agent_lines(repo, agent)
    assert not {*in_file, *in_commit} & set(TOTAL.rstrip().split("\n"))


def test_lines_that_a_person_moves_do_not_become_those_of_a_copy(repo):
    agent = Agent(repo).write("copy.py", f"{TOTAL}\nprint('copy')\n")
    commit(repo, date=MORNING)
    (repo / "util.py").write_text(f"import os\n\n{REST}")
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{TOTAL}")
    commit(repo, date=AFTER)
    assert list_agent_lines(repo, agent) == ([], [])


def test_moved_lines_with_a_missing_history_are_unknown(repo):
    """A partial clone may lack an old version of the file that the lines were in."""
    old_blob = git(repo, "rev-parse", "HEAD:util.py").strip()
    (repo / "util.py").write_text(f"import os\nimport re\n\n{TOTAL}\n\n{REST}")
    commit(repo, date=BEFORE)
    agent = Agent(repo).write("copy.py", f"{TOTAL}\nprint('copy')\n")
    commit(repo, date=MORNING)
    (repo / "util.py").write_text(f"import os\nimport re\n\n{REST}")
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{TOTAL}")
    commit(repo, date=AFTER)
    (repo / ".git/objects" / old_blob[:2] / old_blob[2:]).unlink()
    assert list_agent_lines(repo, agent) == ([], [])


def test_many_places_of_moved_lines_are_asked_in_parts(repo, monkeypatch):
    monkeypatch.setattr(dated_versions, "_RANGES_PER_CALL", 2)
    lines = [f"value_{number} = compute_value({number})\n" for number in range(9)]
    (repo / "b.py").write_text("\n".join(lines))
    commit(repo, date=BEFORE)
    places = [MovedLine("HEAD", "b.py", number) for number in range(1, 18, 2)]
    origins, missing = dated_versions._find_origins(Repository(str(repo)), places)
    assert missing == set()
    assert [origins[place].text + "\n" for place in places] == lines


@pytest.mark.parametrize("moves", [1, 2])
def test_agents_own_lines_stay_its_own_when_they_move(repo, moves):
    mean = TOTAL.replace("total_price", "mean_price").replace("sum", "mean")
    agent = Agent(repo).read("util.py").edit("util.py", REST, f"{mean}\n\n{REST}")
    commit(repo, date=MORNING)
    (repo / "util.py").write_text(f"import os\n\n{TOTAL}\n\n{REST}")
    if moves == 2:
        (repo / "b.py").write_text(f"import re\n\n\n{mean}")
        commit(repo, date=NOON)
        (repo / "b.py").unlink()
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{mean}")
    commit(repo, date=AFTER)
    own = mean.rstrip("\n").split("\n")
    assert list_agent_lines(repo, agent) == (own, own)


@pytest.mark.parametrize("way", ["between files", "within a file", "after a new indent"])
def test_persons_lines_stay_older_than_a_copy_when_they_move_twice(repo, way):
    """An agent writes the same lines to a file that it deletes; then a person moves them twice."""
    rest = "".join(f"rate_{number} = {number}\n" for number in range(30))
    shown = "if fast:\n" + TOTAL.replace("    ", "  ") if way == "after a new indent" else TOTAL
    (repo / "util.py").write_text(shown + rest)
    commit(repo, date=BEFORE)
    agent = Agent(repo).write("scratch.py", TOTAL)
    (repo / "scratch.py").unlink()
    if way == "between files":
        (repo / "b.py").write_text(f"import re\n\n\n{TOTAL}")
        (repo / "util.py").write_text(rest)
    else:
        (repo / "util.py").write_text(rest + TOTAL if way == "within a file" else TOTAL + rest)
    commit(repo, date=AFTER)
    if way == "within a file":
        (repo / "util.py").write_text(TOTAL + rest)
    else:
        (repo / "util.py").write_text(rest)
        (repo / "b.py").unlink(missing_ok=True)
        (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{TOTAL}")
    commit(repo, date=LATER)
    path = "util.py" if way == "within a file" else "a.py"
    assert list_agent_lines(repo, agent, path) == ([], [])


@pytest.mark.parametrize("depth", [1, 2])
def test_lines_that_a_shallow_clone_begins_with_may_be_older_than_any_call(repo, depth):
    agent = Agent(repo).write("scratch.py", TOTAL)
    (repo / "scratch.py").unlink()
    (repo / "other.py").write_text("z = 1\n")
    commit(repo, date=AFTER)
    (repo / "util.py").write_text(f"import os\n\n{REST}")
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{TOTAL}")
    commit(repo, date=LATER)
    clone = repo.parent / "clone"
    git(repo.parent, "clone", "-q", f"--depth={depth}", f"file://{repo}", str(clone))
    assert list_agent_lines(clone, agent) == ([], [])


def test_consecutive_numbers_are_one_range():
    assert _list_runs({7, 3, 1, 2, 9, 8}) == [(1, 3), (7, 9)]
    assert _list_runs(()) == []


def test_moved_line_without_an_origin_keeps_the_time_of_the_parent(repo, monkeypatch):
    """A repository with fewer objects, such as a shallow one, may not name every origin."""
    mean = TOTAL.replace("total_price", "mean_price").replace("sum", "mean")
    agent = Agent(repo).read("util.py").edit("util.py", REST, f"{mean}\n\n{REST}")
    commit(repo, date=MORNING)
    (repo / "util.py").write_text(f"import os\n\n{TOTAL}\n\n{REST}")
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{mean}")
    commit(repo, date=AFTER)
    blame, asked = dated_versions.run_git_blame, []

    def omit_first_line(repository, path, selection):
        found = blame(repository, path, selection)
        if not selection.ranges:
            return found
        asked.append(selection.ranges)
        return replace(found, lines=found.lines[1:])

    monkeypatch.setattr(dated_versions, "run_git_blame", omit_first_line)
    own = mean.rstrip("\n").split("\n")
    assert list_agent_lines(repo, agent) == (own, own)
    assert [len(ranges) for ranges in asked] == [1] * len(asked) != []


def test_range_dates_a_line_by_the_commit_that_added_it_not_by_one_that_moved_it(repo):
    (repo / "b.py").write_text(f"import re\n\n\n{TOTAL}")
    (repo / "util.py").write_text("import os\n")
    commit(repo, date=BEFORE)
    mean = TOTAL.replace("total_price", "mean_price").replace("sum", "mean")
    (repo / "b.py").write_text(f"import re\n\n\n{mean}")
    commit(repo, date=BEFORE)
    agent = Agent(repo).write("scratch.py", mean)
    (repo / "scratch.py").unlink()
    (repo / "b.py").unlink()
    (repo / "a.py").write_text(f"import sys\n\nx = 1\n\n\n{mean}")
    commit(repo, date=AFTER)
    records = list(vacr.read(agent.save(repo.parent / "s")))
    added = dict(blame_commit(Repository(str(repo)), "HEAD~2..HEAD", records).files)
    assert [line.text for line in added["a.py"] if line.type == "ai"] == []
