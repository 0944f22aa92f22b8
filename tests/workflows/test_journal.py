"""The journal of a folder: what is done is not done again, and nothing else is taken for done."""

import json
import os
from pathlib import Path

import pytest

from vacr.errors import UsageError
from vacr.workflows.record import RecordingOptions, RecordingOutcome, RecordingTask
from vacr.workflows.record_many import RUN_JOURNAL_NAME, RunJournal


def described(output):
    """Describe a record as a run does."""
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


def journalled(folder, outcome):
    journal = RunJournal(folder)
    journal.write(outcome)
    journal.close()
    return journal


@pytest.fixture
def done(tmp_path):
    """Give a task that is done and journalled, and its record's file."""
    output = tmp_path / "abc.acr.json"
    output.write_text("{}")
    task = RecordingTask("abc.jsonl", str(tmp_path / "abc"), RecordingOptions(), state="s1")
    journalled(tmp_path, RecordingOutcome(task, [described(output)]))
    return task, output


def again(folder, task):
    return RunJournal(folder).done(task)


def test_what_is_done_is_known(tmp_path, done):
    task, output = done
    outcome = again(tmp_path, task)
    assert [(record["output"], record["state"]) for record in outcome.records] == [
        (str(output), "unchanged")
    ]


@pytest.mark.parametrize(
    "other",
    [
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(), state="s2"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(cbor=True), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(seal=True), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(agent="codex-cli"), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions(), state="s1", session="x"),
        RecordingTask("abd.jsonl", "OUT", RecordingOptions(), state="s1"),
        RecordingTask("abc.jsonl", "ELSEWHERE", RecordingOptions(), state="s1"),
        RecordingTask("abc.jsonl", "OUT", RecordingOptions()),
    ],
)
def test_another_task_is_not_done(tmp_path, done, other):
    task, _ = done
    changed = RecordingTask(
        **(vars(other) | {"output": task.output if other.output == "OUT" else other.output})
    )
    assert again(tmp_path, changed) is None


def test_a_record_that_changed_or_is_gone_is_made_again(tmp_path, done):
    task, output = done
    output.write_text("other")
    assert again(tmp_path, task) is None
    output.unlink()
    assert again(tmp_path, task) is None


def test_a_line_that_was_cut_short_counts_for_nothing_and_harms_no_other(tmp_path, done):
    task, output = done
    path = tmp_path / RUN_JOURNAL_NAME
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert again(tmp_path, task) is None or length == len(whole) - 1
    path.write_bytes(whole[:20])
    journalled(tmp_path, RecordingOutcome(task, [described(output)]))
    assert again(tmp_path, task) is not None


def forged(**members):
    return lambda line: json.dumps(line | members)


def forged_record(**members):
    return lambda line: json.dumps(line | {"records": [line["records"][0] | members]})


FORGED = {
    "no records": forged(records=[]),
    "records that are none": forged(records=5),
    "records that are empty": forged(records=[{}]),
    "nothing as the reason": forged(skipped=None),
    "records and a reason": forged(skipped="x"),
    "no agent": lambda line: json.dumps(
        line | {"records": [{k: v for k, v in line["records"][0].items() if k != "agent"}]}
    ),
    "a drift of numbers": forged_record(drift=[1]),
    "a drift that counts nothing": forged_record(drift={"types": {"x": "y"}}),
    "models that are numbers": forged_record(models=[5]),
    "a number as text": forged_record(bytes="x"),
    "an output that is no path": forged_record(output="a\0b"),
    "no output": forged_record(output=None),
    "a sealed source that was not asked for": forged_record(sealed="abc.acr.source.zip"),
    "a depth": lambda _: "[" * 100_000,
    "a long number": lambda line: json.dumps(line).replace("s1", "1" * 5000),
    "a list as the state": forged(state=["s1"]),
    "a list": lambda _: "[]",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_line_that_nobody_wrote_so_counts_for_nothing(tmp_path, done, forge):
    task, _ = done
    path = tmp_path / RUN_JOURNAL_NAME
    line = json.loads(path.read_text())
    path.write_text(forge(line) + "\n")
    assert again(tmp_path, task) is None


def test_the_record_of_another_is_not_this_ones(tmp_path, done):
    task, _ = done
    path, other = tmp_path / RUN_JOURNAL_NAME, tmp_path / "other.acr.json"
    other.write_text("{}")
    status = other.stat()
    line = json.loads(path.read_text())
    for named in ("other.acr.json", str(other), "../" + tmp_path.name + "/other.acr.json"):
        path.write_text(
            forged_record(output=named, seen=[status.st_size, status.st_mtime_ns])(line) + "\n"
        )
        assert again(tmp_path, task) is None


def test_what_failed_is_tried_again(tmp_path):
    task = RecordingTask("abc.jsonl", str(tmp_path / "abc"), RecordingOptions(), state="s1")
    journalled(tmp_path, RecordingOutcome(task, errors=[{"error": "x"}]))
    assert again(tmp_path, task) is None


def test_what_is_no_session_is_not_looked_at_again(tmp_path):
    task = RecordingTask("notes.txt", str(tmp_path / "notes"), RecordingOptions(), state="s1")
    journalled(tmp_path, RecordingOutcome(task, errors=[{"error": "x"}], skipped="not a session"))
    assert again(tmp_path, task).skipped == "not a session"


@pytest.mark.parametrize(
    "put",
    [lambda path: path.symlink_to("precious"), os.mkfifo, Path.mkdir],
    ids=["link", "pipe", "folder"],
)
def test_what_is_not_a_file_is_no_journal(tmp_path, put):
    (tmp_path / "precious").write_text("precious")
    put(tmp_path / RUN_JOURNAL_NAME)
    with pytest.raises(UsageError, match="is not a file"):
        RunJournal(tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path):
    task = RecordingTask("notes.txt", str(tmp_path / "notes"), RecordingOptions(), state="s1")
    journal = RunJournal(tmp_path)
    (tmp_path / RUN_JOURNAL_NAME).symlink_to("elsewhere")
    journal.write(RecordingOutcome(task, skipped="not a session"))
    journal.close()
    assert journal.failed
    assert not (tmp_path / "elsewhere").exists()
