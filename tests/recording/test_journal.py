"""The journal of a folder: what is done is not done again, and nothing else is taken for done."""

import pytest

from vacr.recording.journal import NAME, Journal
from vacr.recording.tasks import Outcome, Task, Wish


@pytest.fixture
def done(tmp_path):
    """Give a task that is done and journalled, and its record's file."""
    output = tmp_path / "abc.acr.json"
    output.write_text("{}")
    task = Task("abc.jsonl", str(tmp_path / "abc"), Wish(), state="s1")
    record = {"output": str(output), "state": "written", "sealed": None, "notices": [], "drift": {}, "left-out": []}
    journal = Journal(tmp_path)
    journal.write(Outcome(task, [record]))
    journal.close()
    return task, output


def again(folder, task):
    return Journal(folder).done(task)


def test_what_is_done_is_known(tmp_path, done):
    task, output = done
    outcome = again(tmp_path, task)
    assert [(record["output"], record["state"]) for record in outcome.records] == [(str(output), "unchanged")]


@pytest.mark.parametrize(
    "other",
    [
        Task("abc.jsonl", "OUT", Wish(), state="s2"),
        Task("abc.jsonl", "OUT", Wish(cbor=True), state="s1"),
        Task("abc.jsonl", "OUT", Wish(seal=True), state="s1"),
        Task("abc.jsonl", "OUT", Wish(agent="codex-cli"), state="s1"),
        Task("abc.jsonl", "OUT", Wish(), state="s1", session="x"),
        Task("abd.jsonl", "OUT", Wish(), state="s1"),
        Task("abc.jsonl", "ELSEWHERE", Wish(), state="s1"),
        Task("abc.jsonl", "OUT", Wish()),
    ],
)
def test_another_task_is_not_done(tmp_path, done, other):
    task, _ = done
    changed = Task(**(vars(other) | {"output": task.output if other.output == "OUT" else other.output}))
    assert again(tmp_path, changed) is None


def test_a_record_that_changed_or_is_gone_is_made_again(tmp_path, done):
    task, output = done
    output.write_text("other")
    assert again(tmp_path, task) is None
    output.unlink()
    assert again(tmp_path, task) is None


def test_a_line_that_was_cut_short_counts_for_nothing_and_harms_no_other(tmp_path, done):
    task, output = done
    path = tmp_path / NAME
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert again(tmp_path, task) is None or length == len(whole) - 1
    path.write_bytes(whole[:20])
    journal = Journal(tmp_path)
    record = {"output": str(output), "state": "written", "sealed": None, "notices": [], "drift": {}, "left-out": []}
    journal.write(Outcome(task, [record]))
    journal.close()
    assert again(tmp_path, task) is not None


def test_what_failed_is_tried_again(tmp_path):
    task = Task("abc.jsonl", str(tmp_path / "abc"), Wish(), state="s1")
    journal = Journal(tmp_path)
    journal.write(Outcome(task, errors=[{"error": "x"}]))
    journal.close()
    assert again(tmp_path, task) is None


def test_what_is_no_session_is_not_looked_at_again(tmp_path):
    task = Task("notes.txt", str(tmp_path / "notes"), Wish(), state="s1")
    journal = Journal(tmp_path)
    journal.write(Outcome(task, errors=[{"error": "x"}], skipped="not a session"))
    journal.close()
    assert again(tmp_path, task).skipped == "not a session"
