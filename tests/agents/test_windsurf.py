"""Windsurf's transcripts, and stores that only their program can read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import natives
from tests.agents.entries import UNMARKED_LINES, list_typed
from tests.agents.test_way_back import check
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES, record_of, records_of
from tests.record.value_strategies import OPAQUE_JSON as JSON
from tests.record.value_strategies import TEXT
from vacr.agents.registry import find_agent
from vacr.discovery import list_sessions

TRANSCRIPT = (FIXTURES / "windsurf" / "steps.jsonl").read_bytes()
WINDSURF = record_of(TRANSCRIPT)


def test_messages_and_steps():
    assert [entry.get("content") for entry in list_typed(WINDSURF, "user", "assistant")] == [
        "Name the tax in @[notes.md]",
        "I read the notes.",
        None,
        "The test fails.",
    ]
    calls = list_typed(WINDSURF, "tool-call")
    assert [call["name"] for call in calls][:3] == ["view_file", "code_action", "code_action"]
    assert calls[4]["input"] == {"command": "make test", "cwd": "/home/mira/invoice"}
    assert calls[4]["children"][0]["output"] == "failed\n"
    assert WINDSURF["session"]["environment"] == {"working-dir": "/home/mira/invoice"}


def test_outcomes():
    results = [
        (entry.get("status"), entry["vacr"].get("exit-code"))
        for entry in list_typed(WINDSURF, "tool-result")
    ]
    assert results == [
        ("success", None),
        ("success", None),
        ("denied", None),
        ("success", None),
        ("error", 2),
        ("denied", None),
        ("success", None),
        ("error", None),
        ("success", None),
    ]


def test_failed_command_with_exit_code_0_is_not_a_success():
    data = TRANSCRIPT.replace(b'"exit_code":2', b'"exit_code":0')
    (line,) = [
        line for line in data.splitlines() if b'"exit_code":0' in line and b"make test" in line
    ]
    assert b'"status":"done"' in line
    record = record_of(data.replace(line, line.replace(b'"status":"done"', b'"status":"error"')))
    result = list_typed(record, "tool-call")[4]["children"][0]
    assert (result["status"], result["vacr"]["exit-code"]) == ("error", 0)


def test_drift_is_counted():
    assert WINDSURF["vacr"]["drift"] == {
        "members": {"line.content": 1, "line.mood": 1, "user_input.images": 1},
        "types": {"browser_step": 1, "planner_response": 1},
    }


def test_changes_that_the_user_accepted_are_attributed(tmp_path):
    assert list_changes(read_records(tmp_path, TRANSCRIPT, "t.jsonl")) == [
        ("notes.md", [[2, 2]], "windowed"),
        ("new file.md", [[1, 2]], "recorded"),
    ]


STEP = natives.objects(
    {"type": natives.some("user_input", "planner_response", "run_command", "odd", "status", 3)},
    status=natives.some("done", "error", None, 7),
    user_input=st.dictionaries(natives.some("user_response", "more"), TEXT | JSON),
    planner_response=st.dictionaries(natives.some("response", "more"), TEXT | JSON) | JSON,
    run_command=st.dictionaries(
        natives.some("command", "cwd", "exit_code", "output", "content", "user_rejected"),
        TEXT | JSON | st.sampled_from([0, True]),
    ),
    odd=st.dictionaries(TEXT, JSON, max_size=2) | JSON,
)


@settings(max_examples=100)
@given(st.lists(STEP, min_size=1, max_size=4))
def test_steps_come_back(native):
    check(native, "windsurf")


@pytest.mark.parametrize("value", UNMARKED_LINES)
def test_other_lines_are_not_recognised(value):
    assert find_agent("windsurf").recognises([value]) == 0.0


def test_truncated_file_keeps_its_last_line():
    events = [
        entry.get("event-type")
        for record in records_of(TRANSCRIPT[:-9])
        for entry in record["session"]["entries"]
    ]
    assert "undecodable" in events


# --- encrypted stores ---


def test_encrypted_sessions_are_listed_as_unreadable(tmp_path):
    for name in (".codeium/windsurf/cascade/1.pb", ".codeium/windsurf/cascade/2.pb"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x80\x01")
    (tmp_path / ".gemini/antigravity/conversations").mkdir(parents=True)
    (tmp_path / ".gemini/antigravity/conversations/3.pb").write_bytes(b"\x80")
    failed = []
    assert list(list_sessions(None, {"HOME": str(tmp_path)}, "linux", failed)) == []
    assert [(error.message, error.where) for error in failed] == [
        (
            "2 sessions of Windsurf Cascade, encrypted by the program; vacr cannot read them",
            str(tmp_path / ".codeium/windsurf"),
        ),
        (
            "1 session of Antigravity, encrypted by the program; vacr cannot read them",
            str(tmp_path / ".gemini/antigravity"),
        ),
    ]
