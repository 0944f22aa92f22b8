"""Pages that are made from something else are current, and it is found out when they are not, or
name what does not exist.
"""

import json
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.component

FOLDERS = ["mapping", "reference", "spec-coverage"]
CLAUSES = """title = "A document"
about = "Of one clause."

[[section]]
title = "Only"
clauses = {rows}
"""
GOOD = [
    "it is so",
    "record/encoding.py::compute_record_id record/v3.cddl::entry",
    "record/test_identity.py::test_any_change_changes_the_id",
]
BAD = {
    "a module": ["it is so", "nowhere.py", GOOD[2]],
    "a function": ["it is so", "record/encoding.py::nothing", GOOD[2]],
    "a method": ["it is so", "agents/lift.py::SessionBuilder.nothing", GOOD[2]],
    "a rule": ["it is so", "record/v3.cddl::nothing", GOOD[2]],
    "a test": ["it is so", GOOD[1], "record/test_identity.py::test_nothing"],
    "a file of tests": [
        "it is so",
        GOOD[1],
        "record/test_nowhere.py::test_any_change_changes_the_id",
    ],
    "no function that is a test": ["it is so", GOOD[1], "conftest.py::record_of"],
}
UNSAID = {
    "no test": ["it is so", GOOD[1], ""],
    "no code": ["it is so", "", GOOD[2]],
    "no reason": ["it is so", GOOD[1], GOOD[2], "otherwise: "],
    "another status": ["it is so", GOOD[1], GOOD[2], "perhaps: who knows"],
}


def generate(folder, *arguments):
    command = [sys.executable, "-B", str(folder / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def coverage(tmp_path):
    """Give a copy of the coverage, beside the same code and tests."""
    (tmp_path / "docs").mkdir()
    for path in (ROOT / "docs").iterdir():
        if path.name != "spec-coverage":
            (tmp_path / "docs" / path.name).symlink_to(path)
    for name in ("src", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(
        ROOT / "docs" / "spec-coverage", tmp_path / "docs" / "spec-coverage", ignore=ignored
    )


def put(folder, rows):
    (folder / "samples.toml").write_text(CLAUSES.format(rows=json.dumps(rows)), "utf-8")
    return generate(folder)


@pytest.mark.parametrize("name", FOLDERS)
def test_pages_are_current(name):
    done = generate(ROOT / "docs" / name, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_page_that_is_not_current_is_found_out(coverage):
    assert generate(coverage, "--check").returncode == 0
    page = coverage / "draft.md"
    page.write_text(page.read_text("utf-8").replace("done", "half done", 1), "utf-8")
    done = generate(coverage, "--check")
    assert (done.returncode, "draft.md" in done.stderr) == (1, True)
    assert generate(coverage).returncode == 0
    assert generate(coverage, "--check").returncode == 0


def test_a_clause_may_be_so(coverage):
    assert (
        put(
            coverage,
            [
                GOOD,
                [*GOOD, "otherwise: for a reason"],
                ["it is so", "", "", "out of scope: for a reason"],
            ],
        ).returncode
        == 0
    )
    assert "| 3 | 1 | 1 | 1 |" in (coverage / "README.md").read_text("utf-8")


@pytest.mark.parametrize("row", BAD.values(), ids=BAD)
def test_what_a_clause_names_has_to_exist(coverage, row):
    done = put(coverage, [GOOD, row])
    assert (done.returncode, done.stderr.count("there is no such thing")) == (1, 1)


@pytest.mark.parametrize("row", UNSAID.values(), ids=UNSAID)
def test_a_clause_says_what_it_has_to(coverage, row):
    assert put(coverage, [GOOD, row]).returncode != 0
