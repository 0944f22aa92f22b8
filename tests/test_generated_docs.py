"""Generated pages are current, and their generators report stale pages and missing names."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.component

FOLDERS = ["mapping", "reference", "spec-coverage"]
CLAUSES = """title = "A document"
about = "It has one section."

[[section]]
title = "The only section"
clauses = {rows}
"""
VALID_ROW = [
    "a clause",
    "record/encoding.py::compute_record_id record/v3.cddl::range.end-line",
    "record/test_identity.py::test_any_change_changes_the_id",
]
ROWS_WITH_MISSING_NAMES = {
    "missing module": ["a clause", "nowhere.py", VALID_ROW[2]],
    "missing function": ["a clause", "record/encoding.py::nothing", VALID_ROW[2]],
    "missing method": ["a clause", "agents/lift.py::SessionBuilder.nothing", VALID_ROW[2]],
    "missing rule": ["a clause", "record/v3.cddl::nothing", VALID_ROW[2]],
    "missing member": ["a clause", "record/v3.cddl::entry.nothing", VALID_ROW[2]],
    "missing test": ["a clause", VALID_ROW[1], "record/test_identity.py::test_nothing"],
    "missing test file": [
        "a clause",
        VALID_ROW[1],
        "record/test_nowhere.py::test_any_change_changes_the_id",
    ],
    "function that is not a test": ["a clause", VALID_ROW[1], "conftest.py::pytest_runtest_setup"],
}
INCOMPLETE_ROWS = {
    "no test": ["a clause", VALID_ROW[1], ""],
    "no code": ["a clause", "", VALID_ROW[2]],
    "no reason": ["a clause", VALID_ROW[1], VALID_ROW[2], "differently: "],
    "open without a reason": ["a clause", "", "", "open: "],
    "unknown status": ["a clause", VALID_ROW[1], VALID_ROW[2], "perhaps: for a reason"],
}


def run_generator(folder, *arguments):
    command = [sys.executable, "-B", str(folder / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def coverage(tmp_path):
    """Return a copy of the spec coverage, in a folder with the same code and tests."""
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


def generate_from_rows(folder, rows):
    """Write the pages of a document that has these clauses."""
    (folder / "samples.toml").write_text(CLAUSES.format(rows=json.dumps(rows)), "utf-8")
    return run_generator(folder)


@pytest.mark.parametrize("name", FOLDERS)
def test_pages_are_current(name):
    done = run_generator(ROOT / "docs" / name, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_stale_page_is_reported_and_written_again(coverage):
    assert run_generator(coverage, "--check").returncode == 0
    page = coverage / "draft.md"
    page.write_text(page.read_text("utf-8").replace("done", "half done", 1), "utf-8")
    done = run_generator(coverage, "--check")
    assert (done.returncode, "draft.md" in done.stderr) == (1, True)
    assert run_generator(coverage).returncode == 0
    assert run_generator(coverage, "--check").returncode == 0


def test_every_status_is_accepted_and_counted(coverage):
    assert (
        generate_from_rows(
            coverage,
            [
                VALID_ROW,
                [*VALID_ROW, "differently: for a reason"],
                ["a clause", "", "", "open: for a reason"],
                ["a clause", "", "", "out of scope: for a reason"],
            ],
        ).returncode
        == 0
    )
    assert "| 4 | 1 | 1 | 1 | 1 |" in (coverage / "README.md").read_text("utf-8")


@pytest.mark.parametrize("row", ROWS_WITH_MISSING_NAMES.values(), ids=ROWS_WITH_MISSING_NAMES)
def test_missing_name_in_a_clause_is_reported(coverage, row):
    done = generate_from_rows(coverage, [VALID_ROW, row])
    assert (done.returncode, done.stderr.count("does not exist")) == (1, 1)


@pytest.mark.parametrize("row", INCOMPLETE_ROWS.values(), ids=INCOMPLETE_ROWS)
def test_incomplete_clause_is_refused(coverage, row):
    assert generate_from_rows(coverage, [VALID_ROW, row]).returncode != 0
