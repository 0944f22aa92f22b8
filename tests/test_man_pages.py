"""The man pages match the commands, and a formatter of man pages accepts them."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from vacr.cli import group

pytestmark = pytest.mark.component

FOLDER = ROOT / "docs" / "man"
PAGES = sorted((FOLDER / "man1").glob("*.1"))


def run_generator(folder, *arguments):
    command = [sys.executable, "-B", str(folder / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pages_are_current():
    done = run_generator(FOLDER, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_verb_has_a_page():
    assert {page.stem for page in PAGES} == {"vacr", *(f"vacr-{verb}" for verb in group.verbs)}


def test_stale_page_is_reported_and_written_again(tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / "man")
    (folder / "man1/vacr-list.1").write_text("old")
    (folder / "man1/vacr-gone.1").write_text("of a removed verb")
    assert run_generator(folder, "--check").returncode == 1
    assert run_generator(folder).returncode == 0
    assert run_generator(folder, "--check").returncode == 0
    assert not (folder / "man1/vacr-gone.1").exists()


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_formatter_has_no_complaint():
    for page in PAGES:
        command = ["groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), page.name


def test_sub_verbs_are_in_the_page_of_their_verb():
    text = (FOLDER / "man1/vacr-trust.1").read_text()
    assert '.SH "VACR TRUST ADD"' in text
    assert "VACR_TRUST_ADD_KEY" in text
