"""The documentation builds as a web site, and a link without a target stops the build."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.component

PROGRAM = ROOT / ".venv-site" / "bin" / "zensical"


@pytest.fixture
def build(tmp_path):
    """Return a function that builds the site of a copy of the documentation."""
    if not PROGRAM.exists():
        pytest.skip("NO SITE BUILDER HERE: make site installs it")
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "docs", copy / "docs")
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy)
    for name in ("src/vacr/record/LICENSE-cddl.txt", "tests/vectors/README.md"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)

    def run(page="", text=""):
        if page:
            with (copy / "docs" / page).open("a") as file:
                file.write(text)
        command = [sys.executable, copy / "docs/site.py", tmp_path / "site", PROGRAM]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def test_site_has_every_page(build, tmp_path):
    done = build()
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    for page in (ROOT / "docs").rglob("*.md"):
        path = page.relative_to(ROOT).with_suffix(".html")
        name = "index.html" if path.name == "README.html" else path.name
        assert (site / path.parent / name).exists(), path


def test_links_without_a_target_stop_the_build(build):
    done = build("settings.md", "\n[gone](gone.md) and [gone](signing.md#gone)\n")
    assert done.returncode != 0, done.stdout
    assert "2 issues found" in done.stdout + done.stderr
