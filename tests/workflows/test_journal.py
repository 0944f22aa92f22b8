"""The journal of a folder: finished tasks are not repeated, and everything else is."""

import json
import os
from pathlib import Path

import pytest

from vacr.errors import UsageError
from vacr.workflows.record import RecordingOptions, RecordingOutcome, RecordingTask
from vacr.workflows.run_journal import RUN_JOURNAL_NAME, RunJournal


def describe_record(output):
    """Describe a record like a run does."""
    return {
        "source": "abc.jsonl",
        "output": str(output),
        "state": "written",
        "id": "1",
        "session-id": "s",
        "parent": None,
        "agent": "codex-cli",
        "cli-version": None,
        "models": ["m"],
        "entries": 1,
        "bytes": 2,
        "sealed": None,
        "notices": [{"line": 1, "message": "odd"}],
        "left-out": [],
        "secrets": [],
        "drift": {"types": {"new": 1}},
    }


def write_journal(folder, outcome):
    journal = RunJournal(folder)
    journal.write(outcome)
    journal.close()
    return journal


@pytest.fixture
def finished_task(tmp_path):
    """Return a task that the journal lists as finished, and its record file."""
    output = tmp_path / "abc.acr.json"
    output.write_text("{}")
    task = RecordingTask("abc.jsonl", str(tmp_path / "abc"), RecordingOptions(), state="s1")
    write_journal(tmp_path, RecordingOutcome(task, [describe_record(output)]))
    return task, output


def look_up(folder, task):
    return RunJournal(folder).done(task)


def test_finished_task_is_known(tmp_path, finished_task):
    task, output = finished_task
    outcome = look_up(tmp_path, task)
    assert [(record["output"], record["state"]) for record in outcome.records] == [
        (str(output), "unchanged")
    ]


@pytest.mark.parametrize(
    "other",
    [
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(), state="s2"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(cbor=True), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(keep_source=True), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(agent="codex-cli"), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(), state="s1", session="x"),
        RecordingTask("abd.jsonl", "OUT", RecordingOptions(), state="s1"),
        RecordingTask("abc.jsonl", "ELSEWHERE", RecordingOptions(), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions()),
    ],
)
def test_another_task_is_not_done(tmp_path, finished_task, other):
    task, _ = finished_task
    changed = RecordingTask(
        **(vars(other) | {"output": task.output if other.output == "OUT" else other.output})
    )
    assert look_up(tmp_path, changed) is None


def test_changed_or_missing_record_is_recorded_again(tmp_path, finished_task):
    task, output = finished_task
    output.write_text("other")
    assert look_up(tmp_path, task) is None
    output.unlink()
    assert look_up(tmp_path, task) is None


def test_incomplete_line_is_ignored(tmp_path, finished_task):
    task, output = finished_task
    path = tmp_path / RUN_JOURNAL_NAME
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert look_up(tmp_path, task) is None or length == len(whole) - 1
    path.write_bytes(whole[:20])
    write_journal(tmp_path, RecordingOutcome(task, [describe_record(output)]))
    assert look_up(tmp_path, task) is not None


def forge_line(**members):
    return lambda line: json.dumps(line | members)


def forge_record(**members):
    return lambda line: json.dumps(line | {"records": [line["records"][0] | members]})


FORGED = {
    "no records": forge_line(records=[]),
    "records as a number": forge_line(records=5),
    "records that are empty": forge_line(records=[{}]),
    "null as the reason": forge_line(skipped=None),
    "records and a reason": forge_line(skipped="x"),
    "no agent": lambda line: json.dumps(
        line | {"records": [{k: v for k, v in line["records"][0].items() if k != "agent"}]}
    ),
    "a drift of numbers": forge_record(drift=[1]),
    "a drift that counts nothing": forge_record(drift={"types": {"x": "y"}}),
    "models that are numbers": forge_record(models=[5]),
    "a number as text": forge_record(bytes="x"),
    "an invalid path as the output": forge_record(output="a\0b"),
    "no output": forge_record(output=None),
    "an unrequested sealed source": forge_record(sealed="abc.acr.source.zip"),
    "a depth": lambda _: "[" * 100_000,
    "a long number": lambda line: json.dumps(line).replace("s1", "1" * 5000),
    "a list as the state": forge_line(state=["s1"]),
    "a list": lambda _: "[]",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_forged_line_is_ignored(tmp_path, finished_task, forge):
    task, _ = finished_task
    path = tmp_path / RUN_JOURNAL_NAME
    line = json.loads(path.read_text())
    path.write_text(forge(line) + "\n")
    assert look_up(tmp_path, task) is None


def test_record_of_another_task_does_not_count(tmp_path, finished_task):
    task, _ = finished_task
    path, other = tmp_path / RUN_JOURNAL_NAME, tmp_path / "other.acr.json"
    other.write_text("{}")
    status = other.stat()
    line = json.loads(path.read_text())
    for named in ("other.acr.json", str(other), "../" + tmp_path.name + "/other.acr.json"):
        path.write_text(
            forge_record(output=named, seen=[status.st_size, status.st_mtime_ns])(line) + "\n"
        )
        assert look_up(tmp_path, task) is None


def test_failed_task_is_repeated(tmp_path):
    task = RecordingTask("abc.jsonl", str(tmp_path / "abc"), RecordingOptions(), state="s1")
    write_journal(tmp_path, RecordingOutcome(task, errors=[{"error": "x"}]))
    assert look_up(tmp_path, task) is None


def test_skipped_file_is_not_read_again(tmp_path):
    task = RecordingTask("notes.txt", str(tmp_path / "notes"), RecordingOptions(), state="s1")
    write_journal(
        tmp_path, RecordingOutcome(task, errors=[{"error": "x"}], skipped="not a session")
    )
    assert look_up(tmp_path, task).skipped == "not a session"


@pytest.mark.parametrize(
    "put",
    [lambda path: path.symlink_to("precious"), os.mkfifo, Path.mkdir],
    ids=["link", "pipe", "folder"],
)
def test_journal_must_be_a_regular_file(tmp_path, put):
    (tmp_path / "precious").write_text("precious")
    put(tmp_path / RUN_JOURNAL_NAME)
    with pytest.raises(UsageError, match="is not a regular file"):
        RunJournal(tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


def test_unwritable_journal_does_not_stop_the_run(tmp_path):
    task = RecordingTask("notes.txt", str(tmp_path / "notes"), RecordingOptions(), state="s1")
    journal = RunJournal(tmp_path)
    (tmp_path / RUN_JOURNAL_NAME).symlink_to("elsewhere")
    journal.write(RecordingOutcome(task, skipped="not a session"))
    journal.close()
    assert journal.failed
    assert not (tmp_path / "elsewhere").exists()
