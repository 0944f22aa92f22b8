"""What the README shows is what a user gets."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, ROOT

BLOCKS = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
SHOWN = [
    (command, output)
    for block in BLOCKS
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    if output.strip()
]


def test_the_readme_shows_the_main_job():
    assert [command.split()[1] for command, _ in SHOWN if command.startswith("vacr")][:2] == ["record", "validate"]


def test_commands_print_what_the_readme_says(tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    skipped = [command for command, _ in SHOWN if "jq" in command and not shutil.which("jq")]
    for command, output in SHOWN:
        if command not in skipped:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=os.environ | {"PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.stdout.strip() == output.strip(), command
    if skipped:
        pytest.skip(f"no jq for: {skipped[0]}")


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))], ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
