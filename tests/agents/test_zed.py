"""Threads of Zed's agent: the compressed rows, labels, and the evidence of edits."""

import json
import subprocess
import sys

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_last_lines, list_typed
from tests.attribution.sessions import list_changes
from tests.conftest import jsonl, record_of, stranger
from tests.discovery import homes
from tests.discovery.zed_database import (
    CHILD,
    DENIED,
    FOLDER,
    NEW,
    OLD,
    PLAIN,
    THREAD,
    Zed,
    agent,
    call,
    edited,
    filled,
    thread,
    user,
)
from vacr import validate
from vacr.agents.documents import parse_json_documents
from vacr.discovery import DatabaseFile, list_sessions, read_sessions

TOTAL = "till/till/total.py"


@pytest.fixture
def zed(tmp_path):
    database = Zed(tmp_path / "threads.db")
    yield database
    database.close()


def read_records(path):
    records = [stranger(opened.reading) for opened in read_sessions(path)]
    return {record["session"]["session-id"]: record for record in records}


def talk(zed, *messages, **more):
    """Return the record of a thread."""
    zed.add(thread(user(1, "Go."), *messages, **more))
    return read_records(zed.path)[THREAD]


# --- the database ---


def test_threads_of_a_database(tmp_path):
    path = filled(tmp_path / "threads.db").close()
    records = read_records(path)
    assert records.keys() == {THREAD, CHILD, PLAIN}
    session = records[THREAD]["session"]
    assert session["session-start"] == "2026-07-25T17:20:00.250+00:00"
    assert session["agent-meta"]["models"] == ["sonnet-9"]
    assert session["agent-meta"]["model-provider"] == "anthropic"
    assert session["environment"]["working-dir"] == FOLDER
    assert records[THREAD]["vcs"]["branch"] == "main"
    assert records[THREAD]["vcs"]["revision"].startswith("0f1e2d3c")
    assert session["entries"][0]["id"] == "u-1"
    assert records[CHILD]["vacr"]["parent"] == {"session-id": THREAD}


def test_rows_come_back(tmp_path):
    path = filled(tmp_path / "threads.db").close()
    database = DatabaseFile(path)
    for listed in database.sessions():
        data = database.source(listed.session_id).main.data
        record = record_of(data)
        assert validate(record).findings == []
        native = [value for _, batch in parse_json_documents(data) for value in batch]
        rebuild.assert_same([record], native)
    database.close()


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("linux", ".local/share/zed"),
        ("darwin", "Library/Application Support/Zed"),
        ("win32", "AppData/Local/Zed"),
    ],
)
def test_threads_are_listed(tmp_path, system, folder):
    homes.zed(tmp_path / folder)
    found = list(list_sessions("zed", homes.variables(tmp_path, system), system))
    assert {session.session_id for session in found} >= {THREAD, PLAIN}


def test_flatpak_has_a_folder_of_its_own(tmp_path):
    homes.zed(tmp_path / "data" / "zed")
    flatpak = {"FLATPAK_XDG_DATA_HOME": str(tmp_path / "data")}
    variables = homes.variables(tmp_path, "linux") | flatpak
    assert list(list_sessions("zed", variables, "linux"))


@pytest.mark.parametrize("data", [b"", b"\x28\xb5\x2f\xfd\x00", b"no frame", b"\xff\xfe"])
@pytest.mark.parametrize("kind", ["zstd", "json"])
def test_damaged_thread_stays_in_its_row(zed, data, kind):
    zed.add(data, data_type=kind)
    record = read_records(zed.path)[THREAD]
    (event,) = record["session"]["entries"]
    assert event["event-type"] == "threads"
    assert "data" in event["data"]


def test_too_large_thread_stays_in_its_row(zed, monkeypatch):
    monkeypatch.setattr("vacr.agents.zed.database.MAX_THREAD_BYTES", 100)
    zed.add(thread(user(1, "a" * 200)))
    (event,) = read_records(zed.path)[THREAD]["session"]["entries"]
    assert "base64" in event["data"]["data"]


def test_missing_package_is_named(tmp_path):
    path = filled(tmp_path / "threads.db").close()
    code = "import sys; sys.modules['zstandard'] = None; from vacr.__main__ import main; main()"
    command = [sys.executable, "-c", code, "record", str(path), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if sys.version_info < (3, 14):
        assert done.returncode == 3
        assert "pip install 'vacr[zed]'" in done.stderr


# --- labels ---


def test_speakers(tmp_path):
    records = read_records(filled(tmp_path / "threads.db").close())
    speakers = {
        name: [entry["vacr"]["speaker"] for entry in list_typed(record, "user")]
        for name, record in records.items()
    }
    assert speakers == {THREAD: ["human"], CHILD: ["parent-agent"], PLAIN: ["human"]}


@pytest.mark.parametrize(
    ("tool", "text", "is_error", "expected"),
    [
        ("terminal", "```\nok\n```", False, ("success", 0)),
        ("terminal", "Command executed successfully.", False, ("success", 0)),
        ("terminal", 'Command "make" failed with exit code 2.', False, ("error", 2)),
        # The program printed what looks like the host's words.
        (
            "terminal",
            '```\nCommand "make" failed with exit code 2.\n```',
            False,
            ("success", 0),
        ),
        ("terminal", 'Command "make" timed out. No output', False, ("timeout", None)),
        ("terminal", "The user stopped this command. No output", False, ("interrupted", None)),
        ("terminal", "Command terminated unexpectedly.", False, (None, None)),
        ("terminal", DENIED, True, ("denied", None)),
        ("grep", "Tool canceled by user", True, ("interrupted", None)),
        ("grep", "bad pattern", True, ("error", None)),
        ("grep", "none", False, ("success", None)),
    ],
)
def test_outcome_of_a_call(zed, tool, text, is_error, expected):
    arguments = {"command": "make", "cd": "till"}
    record = talk(zed, call("c1", tool, arguments, text, is_error=is_error))
    (found,) = list_typed(record, "tool-result")
    assert (found.get("status"), found.get("vacr", {}).get("exit-code")) == expected


def test_call_without_result_is_marked(zed):
    record = talk(zed, call("c1", "grep", {"regex": "x"}, None))
    (found,) = list_typed(record, "tool-call")
    assert found["vacr"]["status"] == "no-result"


# --- attribution ---


def test_edit_is_recorded(zed):
    arguments = {"path": TOTAL, "display_description": "Round", "mode": "edit"}
    record = talk(zed, call("c1", "edit_file", arguments, "Edited", output=edited(OLD, NEW)))
    assert list_changes([record]) == [("till/total.py", [[2, 2]], "recorded")]


def test_new_file_is_recorded(zed):
    arguments = {"path": "till/a.py", "content": "a\n"}
    output = edited("", "a\n", "till/a.py")
    record = talk(zed, call("c1", "write_file", arguments, "Edited", output=output))
    assert list_changes([record]) == [("a.py", [[1, 1]], "recorded")]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("Edited", {}),
        (DENIED, {"is_error": True, "output": {"error": DENIED}}),
        (None, {}),
    ],
)
def test_edit_without_texts_is_not_attributed(zed, text, more):
    record = talk(zed, call("c1", "edit_file", {"path": TOTAL}, text, **more))
    assert list_last_lines(record) == {}


def test_input_of_older_versions(zed):
    message = call("c1", "write_file", {"path": "till/a.py"}, "Edited", output=edited("", "a\n"))
    message["Agent"]["content"][0]["ToolUse"]["input"] = {"path": "till/a.py"}
    assert list_last_lines(talk(zed, message)) == {"a.py": [[1, 1]]}


def test_shell_starts_in_the_named_folder(zed):
    arguments = {"command": "echo a > a.txt", "cd": "till"}
    record = talk(zed, call("c1", "terminal", arguments, "Command executed successfully."))
    assert list_last_lines(record) == {"a.txt": [[1, 1]]}


# --- damage ---


@pytest.mark.parametrize(
    "message",
    [
        7,
        "Pause",
        {"User": {"content": "text"}},
        {"Agent": {"content": [7, {"ToolUse": {}}], "tool_results": {"c1": 7}}},
        {"role": "user", "segments": []},
    ],
)
def test_messages_of_another_form_are_kept(message):
    row = {"id": THREAD, "data": json.dumps({"messages": [message]})}
    head = {"vacr-export": "zed-sqlite", "session": THREAD}
    data = jsonl(head, {"table": "threads", "row": row})
    record = record_of(data)
    assert validate(record).findings == []
    rebuild.assert_same([record], [json.loads(line) for line in data.splitlines()])


def test_unknown_members_are_counted(zed):
    record = talk(zed, agent("Hi."), mood="proud")
    assert record["session"]["mood"] == "proud"
    assert "mood" in json.dumps(record["vacr"]["drift"])
