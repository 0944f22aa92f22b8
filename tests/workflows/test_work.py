"""Recording one file: the work grows linearly, and a failing session does not stop the others."""

import json

import pytest

from vacr.files.inputs import format_path
from vacr.workflows import record
from vacr.workflows.record import RecordingOptions, RecordingTask, record_place

pytestmark = pytest.mark.component


def write_sessions(path, count):
    """Write a file with several sessions, and return the task to record it."""
    sessions = (
        {"id": f"ses_{number}", "directory": "/a", "projectID": "p"} for number in range(count)
    )
    path.write_text("".join(json.dumps(session) + "\n" for session in sessions))
    return RecordingTask(str(path), str(path.with_suffix("")), RecordingOptions())


def test_work_grows_linearly_with_the_sessions(tmp_path, monkeypatch):
    calls = []
    as_text = format_path
    monkeypatch.setattr(record, "format_path", lambda path: calls.append(path) or as_text(path))
    counts = {}
    for count in (20, 80):
        calls.clear()
        assert (
            len(record_place(write_sessions(tmp_path / f"{count}.jsonl", count)).records) == count
        )
        counts[count] = len(calls)
    assert counts[80] <= 5 * counts[20]


def test_unwritable_record_does_not_stop_the_others(tmp_path):
    (tmp_path / "a.ses_1.acr.json").mkdir()
    outcome = record_place(write_sessions(tmp_path / "a.jsonl", 3))
    assert [record["session-id"] for record in outcome.records] == ["ses_0", "ses_2"]
    (error,) = outcome.errors
    assert "a.ses_1.acr.json" in error["error"]
