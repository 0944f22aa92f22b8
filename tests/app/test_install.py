"""The step that installs vacr from this checkout with pinned dependencies."""

import os
import subprocess
import sys

import pytest

from tests.app.github import Runner
from tests.conftest import ROOT


def test_action_installs_vacr_and_audits(pull, tmp_path):
    """Run the whole action on a machine that has only Python, in a repository with hostile modules."""
    if subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "-d",
            tmp_path / "wheels",
            "click",
        ]
    ).returncode:
        pytest.skip("needs a package index")
    pull.add_by_agent()
    for name in ("venv", "pip", "ensurepip", "vacr", "sys", "encodings", "sitecustomize"):
        pull.add_by_hand(f"open('{tmp_path}/trap', 'w')\n", f"{name}.py")
    kept = {
        name: os.environ[name]
        for name in os.environ
        if name.startswith("PIP_") or name in ("PATH", "SSL_CERT_FILE")
    }
    runner = Runner(
        pull.repo,
        tmp_path / "temporary",
        kept | {"HOME": os.environ["HOME"], "PYTHONPATH": str(pull.repo)},
    )
    inputs = {
        "records": "records",
        "trust": "keys/team.pem",
        "python": getattr(sys, "_base_executable", sys.executable),
    }
    ran = runner.run("action.yml", inputs, pull.event)
    assert (ran.code, ran.outputs["verdict"], ran.outputs["ai-lines"]) == (0, "unknown", "5"), (
        ran.log
    )
    assert not (tmp_path / "trap").exists()
    installed = tmp_path / "temporary/vacr"
    freeze = subprocess.run(
        [installed / "bin/pip", "freeze"], capture_output=True, check=True, text=True
    ).stdout
    assert f"vacr @ {ROOT.as_uri()}" in freeze
    # A second run reuses the installation.
    (installed / "pyvenv.cfg").rename(installed / "moved.cfg")
    assert (
        subprocess.run(
            ["bash", ROOT / "action/install.sh"],
            env=runner.environment | {"RUNNER_TEMP": tmp_path / "temporary"},
        ).returncode
        == 0
    )
    assert not (installed / "pyvenv.cfg").exists()


def test_old_python_is_rejected(pull, tmp_path):
    """Use a Python that reports to be too old."""
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    runner = Runner(pull.repo, tmp_path / "temporary", {"PATH": os.environ["PATH"]})
    for action in ("action.yml", "seal/action.yml"):
        ran = runner.run(action, {"python": str(old)})
        assert (
            ran.code,
            "vacr needs Python 3.11 or newer" in ran.list_annotations("error")[0][1],
        ) == (2, True)
