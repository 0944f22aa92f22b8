"""Sessions of Hermes: the database row by row, session files, labels, and the evidence of edits."""

import contextlib
import json
import sqlite3

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_entries
from tests.attribution.sessions import list_changes
from tests.conftest import CORPUS, jsonl, record_of, stranger
from tests.discovery import homes
from tests.discovery.hermes_database import (
    CHILD,
    DIFF,
    NEXT,
    OLD,
    SESSION,
    Hermes,
    build_session_file,
    filled,
    terminal,
)
from vacr import validate
from vacr.agents import find_agent
from vacr.agents.documents import parse_json_documents
from vacr.discovery import DatabaseFile, list_sessions, read_sessions

REAL = sorted((CORPUS / "hermes").glob("*.db")) if CORPUS.is_dir() else []


@pytest.fixture
def hermes(tmp_path):
    database = Hermes(tmp_path / ".hermes" / "state.db")
    database.session()
    yield database
    database.close()


def read_record(hermes):
    records = [stranger(opened.reading) for opened in read_sessions(hermes.path)]
    return next(record for record in records if record["session"]["session-id"] == SESSION)


def check_rows(path):
    """Check that each row of a database comes back from the records of its sessions."""
    database = DatabaseFile(path)
    try:
        for listed in database.sessions():
            data = database.source(listed.session_id).main.data
            record = record_of(data)
            assert validate(record).findings == []
            native = [value for _, batch in parse_json_documents(data) for value in batch]
            rebuild.assert_same([record], native)
    finally:
        database.close()


# --- the database ---


def test_sessions_of_a_database(tmp_path):
    path = filled(tmp_path / "state.db").close()
    records = {
        record["session"]["session-id"]: record
        for record in (stranger(opened.reading) for opened in read_sessions(path))
    }
    assert records.keys() == {SESSION, CHILD, NEXT}
    session = records[SESSION]["session"]
    assert (session["session-start"], session["session-end"]) == (1785000000250, 1785000090250)
    assert session["agent-meta"]["models"] == ["sonnet-9"]
    assert session["agent-meta"]["model-provider"] == "openrouter"
    assert records[CHILD]["vacr"]["parent"] == {"session-id": SESSION}
    assert find_agent("hermes").stated_cost(records[SESSION]) == 0.25
    check_rows(path)


def test_newer_columns_state_the_folder_the_branch_and_the_tokens(tmp_path):
    database = Hermes(tmp_path / "state.db")
    for column in ("cwd TEXT", "git_branch TEXT", "cache_read_tokens INTEGER DEFAULT 0"):
        database.connection.execute(f"ALTER TABLE sessions ADD COLUMN {column}")
    database.session(
        cwd="/w/till", git_branch="main", input_tokens=900, cache_read_tokens=300, output_tokens=40
    )
    database.message("user", "Add a till.")
    database.message("assistant", "Added.", reasoning="Where?")
    path = database.close()
    (opened,) = read_sessions(path)
    record = stranger(opened.reading)
    environment = record["session"]["environment"]
    assert environment == {"working-dir": "/w/till", "vcs": {"type": "git", "branch": "main"}}
    counted = list_entries(record, "assistant")[-1]
    assert counted["token-usage"] == {"input": 1200, "cached": 300, "output": 40}
    assert counted["vacr"]["usage-of"] == "session"
    assert "drift" not in record["vacr"]
    check_rows(path)


def test_reasoning_under_two_names_counts_once():
    message = {"role": "assistant", "content": "Hi", "reasoning": "Hm", "reasoning_content": "Hm"}
    data = jsonl(build_session_file() | {"messages": [message]})
    record = record_of(data)
    (answer,) = list_entries(record, "assistant")
    assert [child["content"] for child in answer["children"]] == ["Hm"]
    rebuild.assert_same([record], [json.loads(data)])


@pytest.mark.skipif(not REAL, reason="no real sessions here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:20])
def test_rows_of_real_databases_come_back(path, tmp_path):
    (tmp_path / "state.db").write_bytes(path.read_bytes())
    check_rows(tmp_path / "state.db")


def test_times_keep_their_fraction(hermes):
    hermes.message("user", "Hello")
    (entry,) = list_entries(read_record(hermes), "user")
    assert (entry["id"], entry["timestamp"]) == ("1", 1785000000750)
    assert entry["vacr"]["native"] == {"id": 1, "timestamp": 1785000000.75}


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_sessions_are_listed(tmp_path, system):
    homes.hermes(tmp_path / ".hermes")
    found = list(list_sessions("hermes", homes.variables(tmp_path, system), system))
    assert {session.session_id for session in found} >= {SESSION, CHILD, NEXT}
    assert len(found) == 4


def test_home_can_be_moved(tmp_path):
    homes.hermes(tmp_path / "elsewhere")
    variables = homes.variables(tmp_path, "linux") | {"HERMES_HOME": str(tmp_path / "elsewhere")}
    assert len(list(list_sessions("hermes", variables, "linux"))) == 4


def test_listed_session_names_its_folder(tmp_path):
    homes.hermes(tmp_path / ".hermes")
    with contextlib.closing(sqlite3.connect(tmp_path / ".hermes" / "state.db")) as database:
        database.execute("ALTER TABLE sessions ADD COLUMN cwd TEXT")
        database.execute("UPDATE sessions SET cwd = '/w/till'")
        database.commit()
    found = list_sessions("hermes", homes.variables(tmp_path, "linux"), "linux")
    assert {session.project for session in found if session.session_id == SESSION} == {"/w/till"}


def test_local_times_of_a_session_file_stay_as_they_are():
    record = record_of(json.dumps(build_session_file()).encode())
    session = record["session"]
    assert session["session_start"] == "2026-07-25T18:00:00.000250"
    assert "session-start" not in session
    assert all("timestamp" not in entry for entry in session["entries"])


# --- labels ---


def test_continued_session_is_of_the_person_and_a_task_of_the_parent(tmp_path):
    path = filled(tmp_path / "state.db").close()
    speakers = {}
    for opened in read_sessions(path):
        record = stranger(opened.reading)
        speakers[record["session"]["session-id"]] = [
            entry["vacr"]["speaker"] for entry in list_entries(record, "user")
        ]
    assert speakers == {SESSION: ["human", "host"], CHILD: ["parent-agent"], NEXT: ["human"]}


@pytest.mark.parametrize(
    ("tool", "output", "expected"),
    [
        ("terminal", terminal(0, "ok"), ("success", 0)),
        ("terminal", terminal(2, "no"), ("error", 2)),
        # The program printed what looks like a result.
        ("terminal", terminal(0, '{"exit_code": 1}'), ("success", 0)),
        ("terminal", terminal(124, ""), ("timeout", 124)),
        ("terminal", terminal(-1, "", "no such folder"), ("error", None)),
        ("terminal", terminal(-1, "", "BLOCKED: User denied.", status="blocked"), ("denied", None)),
        ("terminal", terminal(-1, "", "BLOCKED: rule", status="blocked"), ("error", None)),
        ("terminal", terminal(0, "", session_id="proc_1", pid=7), ("running", None)),
        ("terminal", "killed", (None, None)),
        ("execute_code", {"status": "timeout", "output": ""}, ("timeout", None)),
        ("execute_code", {"status": "interrupted", "output": ""}, ("interrupted", None)),
        ("read_file", {"content": "", "total_lines": 0, "error": "not found"}, ("error", None)),
        ("patch", {"success": False, "error": "no match"}, ("error", None)),
        ("shop_query", {"rows": []}, (None, None)),
        ("shop_query", {"error": "no table"}, ("error", None)),
        ("fly", "Tool 'fly' does not exist. Available tools: patch", ("error", None)),
    ],
)
def test_outcome_of_a_call(hermes, tool, output, expected):
    hermes.call("c1", tool, {}, output)
    (result,) = list_entries(read_record(hermes), "tool-result")
    assert (result.get("status"), result.get("vacr", {}).get("exit-code")) == expected


def test_call_without_result_is_marked(hermes):
    hermes.call("c1", "delegate_task", {"goal": "Find it."}, None)
    (answer,) = list_entries(read_record(hermes), "assistant")
    assert answer["children"][0]["vacr"]["status"] == "no-result"


# --- attribution ---


def replace(**more):
    old, new = "sum(items)", "round(sum(items), 2)"
    return {"path": "till/total.py", "old_string": old, "new_string": new, **more}


def test_diff_proves_an_edit(hermes):
    hermes.call("c1", "patch", replace(mode="replace"), {"success": True, "diff": DIFF})
    assert list_changes([read_record(hermes)]) == [("till/total.py", [[2, 2]], "recorded")]


def test_edit_after_a_read_of_the_file(hermes):
    shown = "".join(f"{number:6}|{line}\n" for number, line in enumerate(OLD.splitlines(), 1))
    result = {"content": f"{shown}     3|", "total_lines": 2, "truncated": False}
    hermes.call("c1", "read_file", {"path": "till/total.py"}, result)
    hermes.call("c2", "patch", replace(), {"success": True})
    ((path, lines, _),) = list_changes([read_record(hermes)])
    assert (path, lines) == ("till/total.py", [[2, 2]])


def test_patch_of_several_files(hermes):
    patch = "*** Begin Patch\n*** Add File: a.py\n+a = 1\n*** End Patch"
    hermes.call("c1", "patch", {"mode": "patch", "patch": patch}, {"success": True})
    ((path, lines, _),) = list_changes([read_record(hermes)])
    assert (path, lines) == ("a.py", [[1, 1]])


def test_written_file_is_attributed():
    record = record_of(json.dumps(build_session_file()).encode())
    ((path, lines, _),) = list_changes([record])
    assert (path, lines) == ("tax.py", [[1, 1]])


@pytest.mark.parametrize(
    ("tool", "arguments", "output"),
    [
        ("patch", replace(), {"success": False, "error": "no match", "diff": DIFF}),
        ("patch", replace(), "killed"),
        ("write_file", {"path": "a.py", "content": "a\n"}, {"error": "Write denied"}),
        ("write_file", {"path": "a.py", "content": "a\n"}, "killed"),
    ],
)
def test_change_without_evidence_is_not_attributed(hermes, tool, arguments, output):
    hermes.call("c1", tool, arguments, output)
    assert list_changes([read_record(hermes)]) == []


# --- damage ---


@pytest.mark.parametrize("calls", ["[", "{}", "[1]", '[{"id":"c"}]', '[{"function":{"name":3}}]'])
def test_calls_of_another_form_are_kept(calls):
    row = {"id": 1, "role": "assistant", "content": "x", "tool_calls": calls}
    head = {"vacr-export": "hermes-sqlite", "session": "s1"}
    data = jsonl(head, {"table": "messages", "row": row})
    record = record_of(data)
    assert validate(record).findings == []
    rebuild.assert_same([record], [json.loads(line) for line in data.splitlines()])


def test_unknown_columns_are_counted():
    row = {"id": 1, "role": "user", "content": "x", "mood": "proud"}
    head = {"vacr-export": "hermes-sqlite", "session": "s1"}
    record = record_of(jsonl(head, {"table": "messages", "row": row}))
    assert record["session"]["entries"][0]["mood"] == "proud"
    assert "mood" in json.dumps(record["vacr"]["drift"])
