"""Test runs and commits that the page finds in shell calls."""

import pytest

from tests.viewer.in_node import NEEDS_NODE, Viewer
from vacr.record.encoding import encode

pytestmark = [pytest.mark.component, NEEDS_NODE]


@pytest.fixture(scope="module")
def viewer():
    process = Viewer()
    yield process
    process.close()


def open_call(viewer, command, output, *, is_error=False, exit_code=None):
    """Return the row of a shell call."""
    call = {"type": "tool-call", "call-id": "x", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool-result", "call-id": "x", "output": output, "is-error": is_error}
    if exit_code is not None:
        result["vacr"] = {"exit-code": exit_code}
    meta = {"cli-name": "claude-code"}
    record = {"session": {"agent-meta": meta, "entries": [call, result]}}
    (row,) = viewer.open_records(encode(record))["rows"]
    return row


PASSED, FAILED, UNKNOWN = True, False, None


@pytest.mark.parametrize(
    ("command", "output", "program", "passed", "line"),
    [
        (
            "pytest -q",
            "====== 12 passed in 0.40s ======",
            "pytest",
            PASSED,
            "12 passed in 0.40s",
        ),
        ("cd a && uv run pytest", "1 failed, 3 passed", "pytest", FAILED, "1 failed, 3 passed"),
        (
            "python3 -m pytest | tail -5",
            "2 failed, 1 passed",
            "python3 -m pytest",
            FAILED,
            "2 failed, 1 passed",
        ),
        (".venv/bin/pytest tests", "3 passed", "pytest", PASSED, "3 passed"),
        (
            "CI=1 npm run test:unit",
            "Tests: 1 failed, 2 passed",
            "npm run test:unit",
            FAILED,
            "Tests: 1 failed, 2 passed",
        ),
        ("npx vitest run", "Tests  4 passed (4)", "vitest", PASSED, "Tests  4 passed (4)"),
        (
            "cargo test",
            "test result: ok. 3 passed; 0 failed",
            "cargo test",
            PASSED,
            "test result: ok. 3 passed; 0 failed",
        ),
        (
            "timeout 60 go test ./...",
            "--- FAIL: TestX\nFAIL\tpkg 0.1s",
            "go test",
            FAILED,
            "FAIL\tpkg 0.1s",
        ),
        ("go test ./... 2>&1", "ok  \tpkg\t0.1s", "go test", PASSED, "ok  \tpkg\t0.1s"),
        ("make -j2 test | tail -1", "done", "make test", UNKNOWN, ""),
        ("\x1b[1mjest", "", None, None, None),
        ("echo 'run pytest now'", "1 failed", None, None, None),
        ("cat pytest.ini", "x", None, None, None),
        (
            "pnpm --filter @a/b typecheck && pnpm --filter @a/b test",
            "Tests  18 passed (18)",
            "pnpm test",
            PASSED,
            "Tests  18 passed (18)",
        ),
        ("npm t", "1 passing", "npm t", PASSED, "1 passing"),
        ("pnpm typecheck", "", None, None, None),
        ("npm install", "added 3 packages", None, None, None),
        ("git log --grep test", "x", None, None, None),
    ],
)
def test_test_runs_and_their_results_are_recognised(viewer, command, output, program, passed, line):
    found = open_call(viewer, command, output)["tests"]
    if program is None:
        assert found is None
    else:
        assert found == {"program": program, "passed": passed, "line": line}


def test_exit_code_decides_if_the_tests_printed_no_result(viewer):
    assert open_call(viewer, "make test", "", exit_code=0)["tests"]["passed"] is True
    failed = open_call(viewer, "make test", "", is_error=True, exit_code=2)["tests"]
    assert failed["passed"] is False
    assert open_call(viewer, "make test | cat", "", exit_code=0)["tests"]["passed"] is None


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (
            'git commit -m "Fix; it"',
            "[main 4f2c1e9] Fix; it\n 1 file changed",
            {"id": "4f2c1e9", "subject": "Fix; it"},
        ),
        (
            "git -C a commit -am x",
            "[main (root-commit) 4f2c1e9] x",
            {"id": "4f2c1e9", "subject": "x"},
        ),
        (
            "git add . && git commit -F - <<'EOF'\nA & B\nEOF",
            "[a/b 4f2c1e9] A & B",
            {"id": "4f2c1e9", "subject": "A & B"},
        ),
        ("git commit -m x", "nothing to commit, working tree clean", None),
        ("git commit --dry-run", "[main 4f2c1e9] x", None),
        ("echo git commit", "[main 4f2c1e9] x", None),
        ("git log", "[main 4f2c1e9] x", None),
    ],
)
def test_commits_are_recognised_by_what_git_printed(viewer, command, output, expected):
    assert open_call(viewer, command, output)["commit"] == expected


def test_call_that_shows_the_end_of_a_command_has_its_facts(viewer):
    meta = {"cli-name": "claude-code"}
    call = {"type": "tool-call", "call-id": "x", "name": "Bash"}
    result = {"type": "tool-result", "call-id": "x", "output": "", "status": "running"}
    entries = [
        call | {"input": {"command": "pytest; git commit -m x"}},
        result | {"vacr": {"resolved-by": "y"}},
        {"type": "tool-call", "call-id": "y", "name": "BashOutput", "input": {}},
        {"type": "tool-result", "call-id": "y", "output": "3 passed\n[main 4f2c1e9] x"},
    ]
    record = {"session": {"agent-meta": meta, "entries": entries}}
    start, end = viewer.open_records(encode(record))["rows"]
    assert (start["tests"]["passed"], start["commit"]) == (None, None)
    assert end["tests"] == {"program": "pytest", "passed": True, "line": "3 passed"}
    assert end["commit"] == {"id": "4f2c1e9", "subject": "x"}


def test_long_hostile_text_is_read_quickly(viewer):
    """Each text makes a careless pattern take minutes."""
    for text in ("1" * 300_000, "1 " * 150_000, "<<a " * 50_000, "-a " * 100_000, "A=" * 100_000):
        assert open_call(viewer, f"pytest {text}", text)["tests"]["program"] == "pytest"
        assert open_call(viewer, f"timeout {text}", text)["tests"] is None
        assert open_call(viewer, f"make {text}", text)["tests"] is None
