"""Sessions of Goose: the database row by row, older files, labels, and the evidence of edits."""

import json

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_last_lines, list_typed
from tests.conftest import CORPUS, jsonl, record_of, stranger
from tests.discovery import homes
from tests.discovery.goose_database import (
    CHILD,
    DECLINED,
    FOLDER,
    SESSION,
    SUMMARY,
    TIMED,
    Goose,
    build_session_file,
    filled,
    for_both,
    ran,
)
from vacr import validate
from vacr.agents.documents import parse_json_documents
from vacr.discovery import DatabaseFile, list_sessions, read_sessions

REAL = sorted((CORPUS / "goose").glob("*.db")) if CORPUS.is_dir() else []
EDITOR = "developer__text_editor"
TAX = f"{FOLDER}/tax.py"


@pytest.fixture
def goose(tmp_path):
    database = Goose(tmp_path / "sessions.db")
    database.session()
    yield database
    database.close()


def read_record(goose, session=SESSION):
    records = [stranger(opened.reading) for opened in read_sessions(goose.path)]
    return next(record for record in records if record["session"]["session-id"] == session)


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
    path = filled(tmp_path / "sessions.db").close()
    records = {
        record["session"]["session-id"]: record
        for record in (stranger(opened.reading) for opened in read_sessions(path))
    }
    assert records.keys() == {SESSION, CHILD, TIMED}
    session = records[SESSION]["session"]
    assert (session["session-start"], session["session-end"]) == (1785000000000, 1785000060000)
    assert session["agent-meta"]["models"] == ["sonnet-9"]
    assert session["agent-meta"]["model-provider"] == "anthropic"
    assert session["environment"]["working-dir"] == FOLDER
    assert session["entries"][0]["id"] == "msg_1"
    check_rows(path)


@pytest.mark.skipif(not REAL, reason="no real sessions here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:20])
def test_rows_of_real_databases_come_back(path, tmp_path):
    (tmp_path / "sessions.db").write_bytes(path.read_bytes())
    check_rows(tmp_path / "sessions.db")


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("linux", ".local/share/goose/sessions"),
        ("darwin", ".local/share/goose/sessions"),
        ("darwin", "Library/Application Support/Block/goose/sessions"),
        ("win32", "AppData/Roaming/Block/goose/data/sessions"),
    ],
)
def test_sessions_are_listed(tmp_path, system, folder):
    (tmp_path / folder).mkdir(parents=True)
    homes.goose(tmp_path / folder)
    found = list(list_sessions("goose", homes.variables(tmp_path, system), system))
    assert {session.session_id for session in found} >= {SESSION, CHILD, TIMED}
    assert len(found) == 4


def test_root_can_be_moved(tmp_path):
    (tmp_path / "elsewhere/data/sessions").mkdir(parents=True)
    homes.goose(tmp_path / "elsewhere/data/sessions")
    moved = {"GOOSE_PATH_ROOT": str(tmp_path / "elsewhere")}
    variables = homes.variables(tmp_path, "linux") | moved
    assert len(list(list_sessions("goose", variables, "linux"))) == 4


def test_rows_without_an_id_of_their_own_have_their_number(goose):
    goose.message("user", "Hello", message_id=None)
    (entry,) = list_typed(read_record(goose), "user")
    assert entry["id"] == "1"


# --- older files ---


def test_session_file():
    lines = build_session_file()
    record = record_of(jsonl(*lines), name="20260725_184500.jsonl")
    session = record["session"]
    assert validate(record).findings == []
    assert session["session-id"] == "20260725_184500"
    assert session["environment"]["working-dir"] == FOLDER
    rebuild.assert_same([record], lines)
    statuses = [entry.get("status") for entry in list_typed(record, "tool-result")]
    assert statuses == ["success", "success", "success", None]


def test_session_file_without_a_name_is_read():
    record = record_of(jsonl(*build_session_file()), name="old.jsonl")
    assert record["session"]["session-id"] == record["vacr"]["source"]["parts"][0]["sha-256"]


# --- labels ---


def test_speakers(tmp_path):
    goose = filled(tmp_path / "sessions.db")
    speakers = {
        session: [
            (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"])
            for entry in list_typed(read_record(goose, session), "user")
            if "speaker" in entry.get("vacr", ())
        ]
        for session in (SESSION, CHILD, TIMED)
    }
    goose.close()
    assert speakers == {
        SESSION: [("human", "inferred"), ("host", "stated")],
        CHILD: [("parent-agent", "stated")],
        TIMED: [("unknown", "inferred")],
    }


def test_message_that_a_summary_replaced_is_the_persons(goose):
    goose.message("user", "Old request", visible={"userVisible": False, "agentVisible": False})
    goose.message("user", "Summary", visible=SUMMARY)
    speakers = [entry["vacr"]["speaker"] for entry in list_typed(read_record(goose), "user")]
    assert speakers == ["human", "host"]


@pytest.mark.parametrize(
    ("tool", "blocks", "more", "expected"),
    [
        ("shell", "ok", {"structured": ran(0, "ok")}, ("success", 0)),
        ("shell", "no", {"is_error": True, "structured": ran(2)}, ("error", 2)),
        # The program printed what looks like the host's words.
        ("shell", DECLINED, {"structured": ran(0, DECLINED)}, ("success", 0)),
        ("shell", "late", {"is_error": True, "structured": {"timed_out": True}}, ("timeout", None)),
        ("shell", "Command cannot be empty.", {"is_error": True}, ("error", None)),
        ("shell", DECLINED, {"is_error": True}, ("denied", None)),
        ("developer__shell", for_both("1 failed"), {}, (None, None)),
        ("developer__shell", for_both(DECLINED), {}, ("denied", None)),
        ("edit", "No match found for the specified text.", {"is_error": True}, ("error", None)),
        ("shop__query", "1", {}, ("success", None)),
    ],
)
def test_outcome_of_a_call(goose, tool, blocks, more, expected):
    goose.call("c1", tool, {}, blocks, **more)
    (result,) = list_typed(read_record(goose), "tool-result")
    assert (result.get("status"), result.get("vacr", {}).get("exit-code")) == expected


def test_call_without_result_is_marked(goose):
    goose.call("c1", "tree", {"path": "."}, None)
    (call,) = list_typed(read_record(goose), "tool-call")
    assert call["vacr"]["status"] == "no-result"


# --- attribution ---


def test_edit_after_a_write(goose):
    written = {"path": "till/tax.py", "content": "RATE = 7\nLOW = 5\n"}
    goose.call("c1", "write", written, "Created till/tax.py (2 lines)")
    edit = {"path": "till/tax.py", "before": "LOW = 5", "after": "LOW = 6"}
    goose.call("c2", "edit", edit, "Edited till/tax.py (1 lines -> 1 lines)")
    assert list_last_lines(read_record(goose)) == {"till/tax.py": [[2, 2]]}


def test_edit_after_the_shell_showed_the_file(goose):
    shown = "RATE = 7\nLOW = 5"
    goose.call("c1", "shell", {"command": "cat tax.py"}, shown, structured=ran(0, shown))
    edit = {"path": "tax.py", "before": "LOW = 5", "after": "LOW = 6"}
    goose.call("c2", "edit", edit, "Edited tax.py (1 lines -> 1 lines)")
    assert list_last_lines(read_record(goose)) == {"tax.py": [[2, 2]]}


def test_older_editor():
    record = record_of(jsonl(*build_session_file()))
    assert list_last_lines(record) == {"tax.py": [[1, 1]], "rates.txt": [[1, 1]]}


def test_replacement_by_another_model_is_not_attributed(goose):
    shown = f"### {TAX}\n```python\n1: RATE = 7\n```\n"
    goose.call("c1", EDITOR, {"command": "view", "path": TAX}, for_both(shown))
    replaced = {"command": "str_replace", "path": TAX, "old_str": "RATE = 7", "new_str": "RATE = 8"}
    told = f"Successfully replaced text in {TAX}."
    goose.call("c2", EDITOR, replaced, for_both(told))
    assert list_last_lines(read_record(goose)) == {}


@pytest.mark.parametrize(
    ("tool", "arguments", "blocks", "more"),
    [
        ("write", {"path": "a.py", "content": "a\n"}, "Failed to write a.py", {"is_error": True}),
        ("write", {"path": "a.py", "content": "a\n"}, DECLINED, {"is_error": True}),
        ("write", {"path": "a.py", "content": "a\n"}, None, {}),
        (EDITOR, {"command": "undo_edit", "path": "a.py"}, for_both("Undid the last edit"), {}),
    ],
)
def test_change_without_evidence_is_not_attributed(goose, tool, arguments, blocks, more):
    goose.call("c1", tool, arguments, blocks, **more)
    assert list_last_lines(read_record(goose)) == {}


# --- damage ---


@pytest.mark.parametrize("blocks", ["[", "{}", "[1]", '[{"type":"toolRequest","id":"c1"}]', "null"])
def test_blocks_of_another_form_are_kept(blocks):
    row = {"id": 1, "role": "assistant", "content_json": blocks, "created_timestamp": 1}
    head = {"vacr-export": "goose-sqlite", "session": "s1"}
    data = jsonl(head, {"table": "messages", "row": row})
    record = record_of(data)
    assert validate(record).findings == []
    rebuild.assert_same([record], [json.loads(line) for line in data.splitlines()])


def test_unknown_columns_are_counted():
    row = {"id": 1, "role": "user", "content_json": "[]", "mood": "proud"}
    head = {"vacr-export": "goose-sqlite", "session": "s1"}
    record = record_of(jsonl(head, {"table": "messages", "row": row}))
    assert record["session"]["entries"][0]["mood"] == "proud"
    assert "mood" in json.dumps(record["vacr"]["drift"])
