"""The hooks, run by pre-commit, in a repository with records."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.attribution.working_agent import Agent, commit, git, repository
from tests.conftest import ROOT

HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
NEEDED = ("src", "docs", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


@pytest.fixture
def published(tmp_path):
    """Return a repository with this package, and its commit."""
    folder = repository(tmp_path / "published")
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder, commit(folder)


@pytest.fixture
def repo(vacr, tmp_path):
    """Return a repository with two signed records and the key that signed them."""
    folder = repository(tmp_path / "repo")
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    shutil.copy(tmp_path / "keys/signing.pub.pem", folder / "team.pem")
    for name in ("one", "two"):
        session = (
            Agent(folder, name)
            .asked("Sum up")
            .write(f"{name}.py", f"{name} = 'the sum of all'\n")
            .save(tmp_path / "sessions")
        )
        assert (
            vacr("seal", session, "--key", "keys/signing.pem", "-o", folder / "records").returncode
            == 0
        )
    return folder


class PreCommit:
    """pre-commit, with the hooks of this package."""

    def __init__(self, repo: Path, published: tuple[Path, str]):
        self.repo = repo
        settings = {"vacr-verify": {"args": ["--trust", "team.pem", "--"]}}
        hooks = [{"id": hook["id"], **settings.get(hook["id"], {})} for hook in HOOKS]
        config = {"repos": [{"repo": str(published[0]), "rev": published[1], "hooks": hooks}]}
        (repo / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "VACR_"))
        }
        self.environment |= {
            "PRE_COMMIT_HOME": str(repo.parent / "kept"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def run(self, *arguments):
        command = [sys.executable, "-m", "pre_commit", *arguments]
        return subprocess.run(
            command, cwd=self.repo, env=self.environment, capture_output=True, text=True
        )

    def run_hooks(self):
        """Stage everything, run the hooks, and return the verdict of each and the whole output."""
        git(self.repo, "add", "-A")
        done = self.run("run", "--color=never")
        verdicts = re.findall(r"(Passed|Failed|Skipped)$", done.stdout, re.MULTILINE)
        assert done.returncode == ("Failed" in verdicts), done.stdout + done.stderr
        return verdicts, done.stdout


def test_hooks_report_each_bad_record(vacr, repo, published, tmp_path):
    """Test everything at once, because the environment takes long to build."""
    pre_commit = PreCommit(repo, published)
    done = pre_commit.run("install-hooks")
    if done.returncode and "No matching distribution" in done.stdout:
        pytest.skip("needs a package index")
    assert done.returncode == 0, done.stdout
    one = repo / "records/session-one.acr.json"
    good = one.read_bytes()
    assert pre_commit.run_hooks()[0] == ["Passed"] * 3

    commit(repo)
    one.write_bytes(good.replace(b"Sum up", b"Add up"))
    verdicts, output = pre_commit.run_hooks()
    assert verdicts == ["Failed"] * 3
    assert "records/session-one.acr.json: invalid, 1 finding" in output
    assert "the file changed after it was signed" in output
    assert "records/session-one.acr.json: the record was modified" in output
    assert "session-two" not in output

    # If only a statement is committed, its record is verified.
    one.write_bytes(good)
    statement = one.with_name(f"{one.name}.cose")
    kept = statement.read_bytes()
    assert vacr("key", "generate", "-o", "others").returncode == 0
    done = vacr("sign", one, "--key", "others/signing.pem", "-o", statement, "--overwrite")
    assert done.returncode == 0, done.err
    assert pre_commit.run_hooks()[0] == ["Skipped", "Failed", "Skipped"]
    statement.write_bytes(kept)

    # Unsigned and unreadable records are reported one by one.
    for name in ("--trust=x.acr.json", "::error::\n$(touch trap).acr.json"):
        (repo / name).write_bytes(good)
    (repo / "none.acr.json").write_text("{")
    verdicts, output = pre_commit.run_hooks()
    assert verdicts == ["Failed"] * 3
    assert "--trust=x.acr.json: valid" in output
    assert "none.acr.json: unreadable" in output
    assert output.count("not signed: there is no ") == 3
    assert "--trust=x.acr.json: attribution recomputed, identical" in output
    assert not list(tmp_path.rglob("trap"))


def test_file_names_cannot_pass_for_options():
    assert {hook["args"][-1] for hook in HOOKS} == {"--"}
    page = (ROOT / "docs/how-to/pre-commit.md").read_text("utf-8")
    config = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    shown = config["repos"][0]["hooks"]
    assert {hook["id"] for hook in shown} == {hook["id"] for hook in HOOKS}
    assert all(hook["args"][-1] == "--" for hook in shown if "args" in hook)
