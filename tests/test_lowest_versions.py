"""vacr works with the lowest versions of its dependencies that pyproject.toml allows."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest

from tests.conftest import EXAMPLES, ROOT

PYTHON = ROOT / ".venv-lowest" / "bin" / "python"
MINIMUM = re.compile(r"([a-z0-9-]+)(?:\[[a-z]+\])?>=([0-9.]+)")
ALGORITHMS = ["eddsa", "es256", "es384", "es512", "ps256", "ml-dsa-44", "ml-dsa-65", "ml-dsa-87"]

needs_environment = pytest.mark.skipif(
    not PYTHON.exists(), reason="NO LOWEST VERSIONS HERE: make check installs them for Python 3.11"
)


def read_minimums():
    """Return the lowest declared version of each dependency, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = project["dependencies"] + [
        dependency for name, extra in extras.items() if name != "all" for dependency in extra
    ]
    return dict(MINIMUM.match(dependency).groups() for dependency in declared)


def pad_version(version):
    """Return a version with three parts: 6.2 becomes 6.2.0."""
    return ".".join((version.split(".") + ["0", "0"])[:3])


def test_lock_file_pins_the_lowest_declared_versions():
    lock = (ROOT / "requirements" / "lowest.txt").read_text("utf-8")
    pinned = dict(re.findall(r"^([a-z0-9-]+)==([0-9.]+)", lock, re.MULTILINE))
    minimums = read_minimums()
    assert {name: pad_version(pinned[name]) for name in minimums} == {
        name: pad_version(version) for name, version in minimums.items()
    }


def test_extra_named_all_has_every_other_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    others = sorted(name for name in extras if name != "all")
    assert everything == f"vacr[{','.join(others)}]"


@pytest.fixture
def command(tmp_path):
    """Return a clone of the demo's folder, whose `.venv/bin/vacr` uses the lowest versions."""
    for name in ("Makefile", "examples", "requirements", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(PYTHON)
    launcher = programs / "vacr"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}/src" exec "{PYTHON}" -m vacr "$@"\n')
    launcher.chmod(0o755)
    (tmp_path / ".venv" / "run.stamp").touch()
    return launcher


@needs_environment
@pytest.mark.component
@pytest.mark.usefixtures("command")
def test_demo_passes(tmp_path):
    make = shutil.which("make")
    run = subprocess.run(
        [make, "demo"], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ)
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "All steps passed" in run.stdout


@needs_environment
@pytest.mark.component
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_signs_and_verifies(command, tmp_path, algorithm):
    def run_vacr(*arguments):
        return subprocess.run(
            [command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    run_vacr("record", EXAMPLES / "codex-cli.jsonl", "-o", "record.acr.json")
    run_vacr("key", "generate", "--alg", algorithm, "-o", "keys")
    run_vacr("sign", "record.acr.json", "--key", "keys/signing.pem")
    verdict = run_vacr("verify", "record.acr.json", "--trust", "keys/signing.pub.pem")
    assert "verified" in verdict
