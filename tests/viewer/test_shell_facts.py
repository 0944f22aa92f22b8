"""Test runs and commits that the page finds in shell calls."""

import pytest

from tests.viewer.browser import build_record
from tests.viewer.in_node import LIMIT_CPU_TIME, NEEDS_NODE, Viewer
from tests.viewer.shell_facts import CASES, HOSTILE_COMMANDS, HOSTILE_TEXTS, build_call
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


def test_page_finds_the_same_test_runs_and_commits(viewer):
    for case in CASES:
        replies = viewer.open_records(encode(build_record(*build_call(case))))
        story, row = replies["overview"]["overview"]["story"], replies["rows"][0]
        assert row["tests"] == case["tests"], case
        commits = [row["commit"]] if row["commit"] else []
        assert [commit["id"] for commit in commits] == case["commits"], case
        assert [commit["subject"] for commit in commits] == [case.get("subject")] * len(commits), (
            case
        )
        assert story["tests"] == (0 if case["tests"] else -1), case
        assert story["commits"] == [0] * len(commits), case
        assert story["unclearCommit"] == (0 if case["isUnclear"] else -1), case


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


def test_long_hostile_text_is_read_quickly():
    """Each text makes a careless pattern take minutes."""
    viewer = Viewer(limits=LIMIT_CPU_TIME)
    for text in ("1" * 300_000, "1 " * 150_000, "<<a " * 50_000, "-a " * 100_000, "A=" * 100_000):
        assert open_call(viewer, f"pytest {text}", text)["tests"]["program"] == "pytest"
        assert open_call(viewer, f"timeout {text}", text)["tests"] is None
        assert open_call(viewer, f"make {text}", text)["tests"] is None
    for command in HOSTILE_COMMANDS:
        calls = build_call({"command": command, "output": "", "exitCode": 1}) * 30
        assert len(viewer.open_records(encode(build_record(*calls)))["rows"]) == 30
    folder = "/" * 200_000
    for text in HOSTILE_TEXTS:
        call = {"type": "tool-call", "name": "Write", "input": {"file_path": text, "content": text}}
        answer = {"type": "assistant", "content": text}
        record = build_record(answer, *build_call({"command": "pytest", "output": text}), call)
        record["session"]["environment"] = {"working-dir": f"{folder}x{folder}"}
        assert len(viewer.open_records(encode(record))["rows"]) == 3
    viewer.close()
