"""OpenClaw: its database, commands in the background, and messages that state their source."""

import sqlite3
from contextlib import closing

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_entries
from tests.agents.test_pi import HEADER, line, session
from tests.conftest import jsonl, record_of, stranger
from tests.discovery.openclaw_database import CHILD, FOLDER, SESSION, OpenClaw, filled
from vacr import validate
from vacr.agents.documents import parse_json_documents
from vacr.discovery import DatabaseFile, read_sessions


@pytest.fixture
def path(tmp_path):
    """Return the path of a filled database."""
    path = tmp_path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    filled(path).close()
    return path


def read_records(path):
    records = [stranger(opened.reading) for opened in read_sessions(path)]
    return {record["session"]["session-id"]: record for record in records}


def list_results(*calls):
    return list_entries(record_of(session(*calls), "openclaw"), "tool-result")


# --- the database ---


def test_each_row_comes_back_from_the_record_of_its_session(path):
    with closing(DatabaseFile(path)) as database:
        ids = [listed.session_id for listed in database.sessions()]
        for session_id in ids:
            data = database.source(session_id).main.data
            record = record_of(data)
            assert validate(record).findings == []
            native = [value for _, batch in parse_json_documents(data) for value in batch]
            rebuild.assert_same([record], native)
    assert ids == [SESSION, CHILD]


def test_sessions_of_a_database_are_listed_with_the_persons_words(path):
    with closing(DatabaseFile(path)) as database:
        first, child = database.sessions()
    assert (first.title, first.project) == ("Round the total of the till.", FOLDER)
    assert first.start == 1_795_000_000_000
    assert (child.parent, child.title) == (SESSION, "Look at it.")


def test_lines_in_rows_are_entries_like_those_of_a_file(path):
    record = read_records(path)[SESSION]
    result = list_entries(record, "tool-result")[1]
    (prompt,) = list_entries(record, "user")
    assert record["vacr"]["source"]["format"] == "openclaw-sqlite"
    assert prompt["vacr"]["prompt"] == "Round the total of the till."
    assert (result["status"], result["vacr"]["exit-code"]) == ("error", 3)
    assert result["vacr"]["event-row"].keys() == {"seq", "created_at", "event_utf8_bytes"}
    assert record["session"]["environment"]["working-dir"] == FOLDER


def test_compressed_lines_are_read_and_damaged_ones_kept(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "openclaw-agent.sqlite"
    claw = OpenClaw(path)
    claw.session()
    claw.message("user", content="Old words.", pack=zstandard.ZstdCompressor().compress)
    claw.message("user", content="Lost words.", pack=lambda text: b"\x28\xb5" + text[:5])
    claw.close()
    record = read_records(path)[SESSION]
    assert [entry["content"] for entry in list_entries(record, "user")] == ["Old words."]
    kept = [
        entry["data"]
        for entry in record["session"]["entries"]
        if entry.get("event-type") == "transcript_events"
    ]
    assert [sorted(row["event_zstd"]) for row in kept] == [["base64"]]


@pytest.mark.parametrize("table", ["session_nodes", "session_windows", "transcript_events"])
def test_a_database_with_an_emptied_table_is_read(path, table):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - the test's own name
        connection.commit()
    for record in read_records(path).values():
        assert validate(record).findings == []


# --- outcomes ---


def test_a_command_in_the_background_is_resolved_by_the_look_that_saw_its_end():
    running = {"status": "running", "sessionId": "calm-coral"}
    ended = {"status": "failed", "sessionId": "calm-coral", "exitCode": 1}
    began, looked, saw = list_results(
        ("exec", {"command": "make"}, "Command still running", running, False),
        ("process", {"action": "poll", "sessionId": "calm-coral"}, "", running, False),
        ("process", {"action": "poll", "sessionId": "calm-coral"}, "", ended, False),
    )
    assert (began["status"], began["vacr"]["resolved-by"]) == ("running", saw["call-id"])
    assert looked["status"] == "running"
    assert (saw["status"], saw["vacr"]["exit-code"]) == ("error", 1)


@pytest.mark.parametrize(
    ("details", "text", "flag", "status"),
    [
        (
            {"status": "error", "error": "Command timed out after 5 seconds."},
            "{}",
            False,
            "timeout",
        ),
        ({"status": "failed", "exitReason": "overall-timeout"}, "", False, "timeout"),
        ({"status": "failed", "noOutputTimedOut": True, "exitCode": 1}, "", False, "timeout"),
        ({}, "Command aborted by signal SIGTERM", True, "interrupted"),
        ({"status": "failed", "exitReason": "signal"}, "", False, "interrupted"),
        ({"status": "completed", "exitCode": 2}, "", False, "error"),
        ({"status": "completed", "exitCode": 0}, "", False, "success"),
        ({"status": "approval-pending"}, "Approval required", False, None),
        ({"status": "forbidden"}, "not allowed", False, "denied"),
    ],
)
def test_the_end_of_a_command_is_told_by_details_and_text(details, text, flag, status):
    (result,) = list_results(("exec", {"command": "make"}, text, details, flag))
    assert result.get("status") == status


def test_a_request_to_stop_a_process_succeeds():
    text = "Termination requested for session calm-coral."
    (result,) = list_results(
        (
            "process",
            {"action": "kill", "sessionId": "calm-coral"},
            text,
            {"status": "failed"},
            False,
        )
    )
    assert result["status"] == "success"


# --- speakers ---


@pytest.mark.parametrize(
    ("kind", "speaker"),
    [
        ("inter_session", ("parent-agent", "stated")),
        ("internal_system", ("host", "stated")),
        ("external_user", ("human", "inferred")),
    ],
)
def test_the_provenance_of_a_message_names_its_speaker(kind, speaker):
    message = line(1, "user", content="Look at it.", provenance={"kind": kind})
    (prompt,) = list_entries(record_of(jsonl(HEADER, message), "openclaw"), "user")
    assert (prompt["vacr"]["speaker"], prompt["vacr"]["speaker-basis"]) == speaker


@pytest.mark.parametrize("odd", [{}, [], 7])
def test_a_tool_name_of_an_odd_type_is_no_tool(odd):
    details = {"status": "completed", "exitCode": 0}
    result = line(1, "toolResult", content=[], toolCallId="c1", toolName=odd, details=details)
    (entry,) = list_entries(record_of(jsonl(HEADER, result), "openclaw"), "tool-result")
    assert entry["status"] == "success"


def test_the_id_of_a_session_is_the_one_of_its_rows(tmp_path):
    claw = OpenClaw(tmp_path / "openclaw-agent.sqlite")
    claw.session()
    claw.line({"type": "session", "version": 4, "id": "another", "cwd": FOLDER})
    claw.close()
    assert [*read_records(tmp_path / "openclaw-agent.sqlite")] == [SESSION]
