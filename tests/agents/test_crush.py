"""Sessions of Crush: a live database row by row, labels, and the evidence of its edits."""

import json

import pytest

from tests.agents import rebuild
from tests.attribution.sessions import list_changes
from tests.conftest import CORPUS, jsonl, record_of, stranger
from tests.discovery import homes
from tests.discovery.crush_database import CHILD, NEW, OLD, ROOT, SESSION, Crush, filled
from vacr import validate
from vacr.agents import find_agent
from vacr.agents.documents import parse_json_documents
from vacr.attribution.attribute import replay_records
from vacr.discovery import DatabaseFile, list_sessions, read_sessions
from vacr.errors import NotASession

REAL = sorted((CORPUS / "crush").glob("*.db")) if CORPUS.is_dir() else []


@pytest.fixture
def crush(tmp_path):
    database = Crush(tmp_path / "run" / ".crush" / "crush.db")
    database.session()
    yield database
    database.close()


def read_records(path):
    return [stranger(opened.reading) for opened in read_sessions(path)]


def main_record(crush, tmp_path):
    live = crush.copy_live(tmp_path / "copy" / "crush.db")
    return next(r for r in read_records(live) if r["session"]["session-id"] == SESSION)


def list_results(record):
    return {
        child["call-id"]: child
        for entry in record["session"]["entries"]
        for child in entry.get("children", ())
        if child["type"] == "tool-result"
    }


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


def test_session_that_is_only_in_the_log_is_read(tmp_path):
    crush = filled(tmp_path / "run" / "crush.db")
    live = crush.copy_live(tmp_path / "copy" / "crush.db")
    crush.close()
    assert live.stat().st_size == 4096
    main, child = sorted(read_records(live), key=lambda record: "parent" in record["vacr"])
    assert main["session"]["session-id"] == SESSION
    assert (main["session"]["session-start"], main["session"]["cost"]) == (1_785_000_000_000, 0.25)
    assert main["session"]["agent-meta"]["models"] == ["sonnet-9"]
    assert main["session"]["agent-meta"]["model-provider"] == "anthropic"
    assert child["vacr"]["parent"] == {"session-id": SESSION}
    assert child["session"]["format"] == "autonomous"
    check_rows(live)


@pytest.mark.skipif(not REAL, reason="no real sessions here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:20])
def test_rows_of_real_databases_come_back(path, tmp_path):
    for suffix in ("", "-wal"):
        (tmp_path / f"crush.db{suffix}").write_bytes(
            path.with_name(path.name + suffix).read_bytes()
        )
    check_rows(tmp_path / "crush.db")


def test_times_in_seconds_become_milliseconds(tmp_path, crush):
    crush.ask("Hello")
    (entry,) = [
        entry
        for entry in main_record(crush, tmp_path)["session"]["entries"]
        if entry["type"] == "user"
    ]
    assert (entry["created_at"], entry["timestamp"]) == (1_785_000_001, 1_785_000_001_000)


def test_messages_of_one_second_keep_their_order(tmp_path, crush):
    for text in ("zeta", "alpha", "mu"):
        crush.ask(text)
        crush.now -= 1
    texts = [
        entry["content"][0]["text"]
        for entry in main_record(crush, tmp_path)["session"]["entries"]
        if entry["type"] == "user"
    ]
    assert texts == ["zeta", "alpha", "mu"]


def test_database_of_another_agent_with_the_same_tables_is_refused(tmp_path):
    import sqlite3

    connection = sqlite3.connect(tmp_path / "other.db")
    connection.executescript(
        "CREATE TABLE sessions (id); CREATE TABLE messages (session_id, body); CREATE TABLE files (x)"
    )
    connection.close()
    with pytest.raises(NotASession, match="unrecognised database"):
        read_records(tmp_path / "other.db")


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_database_of_the_current_project_is_listed(tmp_path, monkeypatch, system):
    homes.crush(tmp_path / "till" / ".crush")
    monkeypatch.chdir(tmp_path / "till")
    home = homes.variables(tmp_path / "home", system)
    found = {session.session_id: session for session in list_sessions("crush", home, system)}
    assert found.keys() == {SESSION, CHILD}
    assert found[CHILD].parent == SESSION
    assert found[SESSION].start == 1_785_000_000_000
    assert found[SESSION].title == f"Title of {SESSION}"


def test_change_within_a_second_changes_the_mark(crush):
    crush.ask("Hello")

    def mark():
        database = DatabaseFile(crush.path)
        try:
            return database.list_marked_sessions()
        finally:
            database.close()

    before = mark()
    crush.connection.execute("UPDATE messages SET parts = '[]'")
    assert mark() != before


# --- labels ---


@pytest.mark.parametrize(
    ("output", "error", "expected"),
    [
        (f"ok\n\n<cwd>{ROOT}</cwd>", False, ("success", None)),
        ("no output", False, ("success", None)),
        (f"no\n\nExit code 2\n\n<cwd>{ROOT}</cwd>", False, ("error", 2)),
        # The program printed the line, and the host did not add one.
        (f"Exit code 2\nfine\n\n<cwd>{ROOT}</cwd>", False, ("success", None)),
        (
            f"a\n\nCommand was aborted before completion\n\n<cwd>{ROOT}</cwd>",
            False,
            ("interrupted", None),
        ),
        ("something else", False, (None, None)),
        ("Permission denied", True, ("denied", None)),
        ("User denied permission", True, ("denied", None)),
        ("Tool execution canceled by user", True, ("interrupted", None)),
        ("missing command", True, ("error", None)),
        (
            "Background shell started with ID: 7\n\nUse job_output tool to view output",
            False,
            ("running", None),
        ),
    ],
)
def test_outcome_of_a_command(tmp_path, crush, output, error, expected):
    crush.call("c1", "bash", {"command": "make"}, output, error=error)
    result = list_results(main_record(crush, tmp_path))["c1"]
    assert (result.get("status"), result.get("vacr", {}).get("exit-code")) == expected


def test_call_without_result_is_marked(tmp_path, crush):
    call = {"id": "c1", "name": "view", "input": "{}", "finished": True}
    crush.message("assistant", ("tool_call", call), model="m", provider="p")
    entries = main_record(crush, tmp_path)["session"]["entries"]
    assert entries[0]["children"][0]["vacr"]["status"] == "no-result"


# --- attribution ---


def changes(crush, tmp_path):
    return list_changes([main_record(crush, tmp_path)])


def edit(old, new, path="till/total.py"):
    return {"file_path": path, "old_string": old, "new_string": new}


def done(path):
    return f"<result>\nContent replaced in file: {path}\n</result>\n"


def test_versions_prove_an_edit_of_a_relative_path(tmp_path, crush):
    path = f"{ROOT}/till/total.py"
    crush.call("c1", "edit", edit("sum(items)", "round(sum(items), 2)"), done(path))
    crush.versions(path, OLD, NEW)
    assert changes(crush, tmp_path) == [("till/total.py", [[2, 2]], "recorded")]


def test_metadata_prove_an_edit(tmp_path, crush):
    path = f"{ROOT}/till/total.py"
    texts = {"old_content": OLD, "new_content": NEW, "additions": 1, "removals": 1}
    crush.call("c1", "edit", edit("sum(items)", "round(sum(items), 2)"), done(path), metadata=texts)
    assert changes(crush, tmp_path) == [("till/total.py", [[2, 2]], "recorded")]


def test_version_that_the_call_does_not_explain_proves_nothing(tmp_path, crush):
    path = f"{ROOT}/till/total.py"
    crush.call("c1", "edit", edit("sum(items)", "round(sum(items), 2)"), done(path))
    crush.versions(path, OLD, "something = else\n")
    assert [change for change in changes(crush, tmp_path) if change[2] == "recorded"] == []


def test_empty_version_after_a_deletion_is_not_the_text_of_the_file(tmp_path, crush):
    path = f"{ROOT}/till/total.py"
    crush.call("c1", "edit", edit("    return sum(items)\n", ""), done(path))
    crush.versions(path, OLD, "")
    left = "def total(items):\n"
    crush.call("c2", "edit", edit(left, left + "    return 0\n"), done(path))
    crush.versions(path, left, left + "    return 0\n", first=2)
    replayed, *_ = replay_records([main_record(crush, tmp_path)])
    assert changes(crush, tmp_path)[-1] == ("till/total.py", [[2, 2]], "recorded")
    del replayed


def test_line_ends_of_windows_are_kept(tmp_path, crush):
    path = "C:\\till\\total.py"
    crush.call("c1", "edit", edit("sum(items)", "0", "total.py"), done(path))
    crush.versions(path, OLD, OLD.replace("sum(items)", "0").replace("\n", "\r\n"))
    assert changes(crush, tmp_path) == [("total.py", [[2, 2]], "recorded")]


def test_refused_edit_changes_nothing(tmp_path, crush):
    texts = {"old_content": OLD, "new_content": NEW}
    crush.call(
        "c1",
        "edit",
        edit("sum(items)", "0"),
        "User denied permission",
        error=True,
        metadata=texts,
    )
    assert changes(crush, tmp_path) == []


def test_written_file_is_new_if_its_first_version_is_empty(tmp_path, crush):
    path = f"{ROOT}/CRUSH.md"
    written = f"<result>\nFile successfully written: {path}\n</result>"
    crush.call("c1", "write", {"file_path": "CRUSH.md", "content": "# Till\n"}, written)
    crush.versions(path, "", "# Till\n")
    assert changes(crush, tmp_path) == [("CRUSH.md", [[1, 1]], "recorded")]


# --- damage ---


@pytest.mark.parametrize(
    "parts", ["[", "{}", "[1]", '[{"type":"text"}]', '[{"type":"text","data":3}]']
)
def test_parts_of_another_form_are_kept(parts):
    row = {"id": "m1", "role": "assistant", "parts": parts}
    data = jsonl(
        {"vacr-export": "crush-sqlite", "session": "s1"}, {"table": "messages", "row": row}
    )
    record = record_of(data)
    assert validate(record).findings == []
    rebuild.assert_same([record], [json.loads(line) for line in data.splitlines()])


def test_agent_is_light_to_ask():
    assert find_agent("crush").recognises([{"vacr-export": "crush-sqlite", "session": "s"}]) == 1
