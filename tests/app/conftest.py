"""Fixtures: a repository with a pull request of an agent, and a runner for actions."""

import os
import sys
from pathlib import Path

import pytest

from tests.app.github import Runner
from tests.attribution.working_agent import Agent, commit, git, repository
from tests.cli.conftest import vacr  # noqa: F401 - a fixture
from tests.conftest import ROOT

SUM = (
    "def total(lines):\n    result = 0\n    for line in lines:\n        result += line.price "
    "* line.count\n    return result\n"
)


@pytest.fixture
def runner(tmp_path):
    """Return a runner with vacr installed, as the action leaves it."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (temporary / "vacr").symlink_to(sys.prefix)
    (temporary / "vacr.from").write_text(str(ROOT))
    return Runner(
        tmp_path / "repo", temporary, {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    )


class Pull:
    """A pull request."""

    def __init__(self, vacr, folder):  # noqa: F811
        self.vacr, self.folder = vacr, folder
        self.repo = repository(folder / "repo")
        assert vacr("key", "generate", "-o", "keys").returncode == 0
        (self.repo / "keys").mkdir()
        (self.repo / "keys/team.pem").write_bytes((folder / "keys/signing.pub.pem").read_bytes())
        (self.repo / "app.py").write_text("def first():\n    return 1\n")
        self.base = commit(self.repo, "Start")
        git(self.repo, "checkout", "-q", "-b", "topic")

    def add_by_agent(
        self,
        path="sums.py",
        name="one",
        model="claude-opus-4-6",
        prompt="Sum up an order",
        key="keys/signing.pem",
        *,
        seal_source=False,
    ):
        """Write a file as an agent, seal its session, and commit both."""
        agent = Agent(self.repo, name, model).asked(prompt).write(path, SUM)
        session = agent.save(self.folder / "sessions")
        options = ["--seal-source"] if seal_source else []
        done = self.vacr("seal", session, "--key", key, "-o", self.repo / "records", *options)
        assert done.returncode == 0, done.err
        commit(self.repo, "Add it")
        return self.repo / "records" / f"{session.stem}.acr.json"

    def add_by_hand(self, text="written = 'by hand, without a record'\n", path="hand.py"):
        """Write a file by hand, and commit it."""
        (self.repo / path).write_text(text)
        commit(self.repo, "By hand")

    @property
    def event(self):
        """Return the event of the pull request, as GitHub describes it."""
        head = git(self.repo, "rev-parse", "HEAD")
        return {
            "event": {"pull_request": {"base": {"sha": self.base}, "head": {"sha": head}}},
            "sha": "not used",
        }


@pytest.fixture
def pull(vacr, tmp_path):  # noqa: F811
    return Pull(vacr, tmp_path)


@pytest.fixture
def audit(runner, pull):
    """Run the action on the pull request."""

    def run(event=None, **inputs):
        all_inputs = {"records": "records", "trust": "keys/team.pem"} | {
            name.replace("_", "-"): value for name, value in inputs.items()
        }
        return runner.run("action.yml", all_inputs, pull.event if event is None else event)

    return run


def list_files(folder: Path):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
