"""`vacr watch` as a real process, with sessions in databases and folders that agents write to."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import pytest

from tests.conftest import FIXTURES, ROOT
from tests.discovery import cursor_databases, homes, writer
from tests.discovery.opencode_database import CHILD, SESSION, filled
from tests.discovery.test_cursor_editor import CID, FORMS
from vacr.capture.session_sources import TranscriptPlace, export_store_parts, list_stored_sessions

pytestmark = pytest.mark.component


def export_now(path, agent, session):
    """Return the parts of a session, exported directly from its store."""
    return {
        part.name: part.data for part in export_store_parts(TranscriptPlace(agent, path, session))
    }


@contextmanager
def run_writer(how, path):
    command = [sys.executable, "-m", writer.__name__, how, str(path), "wal"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", ["writing", "coming_and_going"])
def test_database_is_captured_while_it_is_written(machine, how):
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    filled(path).close()
    watching = machine.watch("--all")

    def count_frames():
        state = machine.state_of(machine.name_of(path, "opencode", SESSION))
        return state.frames if state is not None else 0

    with run_writer(how, path):
        first = count_frames()
        watching.wait_until(lambda: count_frames() > first + 3)
    watching.wait_until(
        lambda: (
            machine.last_seen(path, "opencode", SESSION) == export_now(path, "opencode", SESSION)
        )
    )
    assert machine.last_seen(path, "opencode", CHILD) == export_now(path, "opencode", CHILD)
    watching.stop()
    (data,) = machine.last_seen(path, "opencode", SESSION).values()
    rows = [json.loads(row) for row in data.splitlines()]
    titles = {row["row"]["title"] for row in rows if row.get("table") == "session"}
    messages = [
        row
        for row in rows
        if row.get("table") == "message" and row["row"]["id"].startswith("msg_0")
    ]
    assert titles == {str(len(messages))}, "title and messages are from different moments"
    assert machine.check_intact()["notices"] == []


def test_change_not_shown_in_the_session_list_is_captured(machine):
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    filled(path).close()
    watching = machine.watch("--all")
    watching.wait_until(
        lambda: (
            machine.last_seen(path, "opencode", SESSION) == export_now(path, "opencode", SESSION)
        )
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE part SET data = replace(data, 'it is done', 'it is undone')")
        connection.commit()
    watching.wait_until(
        lambda: b"it is undone" in b"".join(machine.last_seen(path, "opencode", SESSION).values())
    )
    watching.stop()


_LATER = (
    "UPDATE part SET data = replace(data, 'it is done', 'it is undone'), time_updated = "
    "time_updated + 1 WHERE session_id = ?"
)
_MORE = (
    "INSERT INTO part SELECT id || 'x', message_id, session_id, time_created, "
    "time_updated, data FROM part WHERE session_id = ?"
)
_LESS = "DELETE FROM part WHERE session_id = ? AND data LIKE '%it is done%'"


@pytest.mark.parametrize("change", [_LATER, _MORE, _LESS], ids=["changed", "added", "removed"])
def test_hidden_change_of_a_quiet_session_is_captured(machine, change):
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    filled(path).close()
    watching = machine.watch("--all", "--quiet-after", 0, "--no-seal")
    for session in (SESSION, CHILD):
        watching.wait_until(
            lambda session=session: (
                machine.last_seen(path, "opencode", session)
                == export_now(path, "opencode", session)
            )
        )
    before, other = (
        export_now(path, "opencode", SESSION),
        machine.state_of(machine.name_of(path, "opencode", CHILD)).frames,
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change, [SESSION])
        connection.commit()
    assert before != export_now(path, "opencode", SESSION)
    watching.wait_until(
        lambda: (
            machine.last_seen(path, "opencode", SESSION) == export_now(path, "opencode", SESSION)
        )
    )
    watching.stop()
    assert machine.state_of(machine.name_of(path, "opencode", CHILD)).frames == other


def test_rewritten_bubble_of_a_quiet_cursor_conversation_is_captured(machine):
    rows = {key.replace(CID, "other"): value for key, value in FORMS["headers"].items()} | FORMS[
        "headers"
    ]
    path = machine.home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb"
    path.parent.mkdir(parents=True)
    cursor_databases.editor(path, rows)
    watching = machine.watch("--all", "--quiet-after", 0, "--no-seal")
    watching.wait_until(
        lambda: machine.last_seen(path, "cursor", CID) == export_now(path, "cursor", CID)
    )
    for number in range(2):
        # The last row of the table, too, gets another number.
        with closing(sqlite3.connect(path)) as connection:
            key, value = (
                list(rows)[-1],
                json.dumps(list(rows.values())[-1] | {"text": f"written again {number}"}),
            )
            assert key.startswith(f"bubbleId:{CID}")
            connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", [key, value])
            connection.commit()
        watching.wait_until(
            lambda: machine.last_seen(path, "cursor", CID) == export_now(path, "cursor", CID)
        )
        assert f"written again {number}".encode() in b"".join(
            machine.last_seen(path, "cursor", CID).values()
        )
    watching.stop()


def test_cursor_chat_is_as_new_as_its_file(machine):
    """It states only its start; the times of the file and its write-ahead log count."""
    homes.cursor_chats(machine.home / ".cursor")
    path = machine.home / ".cursor" / "chats" / "0f" / "1" / "store.db"
    (session,) = list_stored_sessions(path, "cursor")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE IF NOT EXISTS written (it)")
        connection.commit()
        log = path.with_name("store.db-wal")
        assert log.stat().st_size
        long_ago = time.time() - 30 * 86_400
        for file in (path, log):
            os.utime(file, (long_ago, long_ago))
        machine.once("--no-seal")
        assert machine.last_seen(path, "cursor", session) == {}
        os.utime(log)
        machine.once("--no-seal")
        assert machine.last_seen(path, "cursor", session) == export_now(path, "cursor", session)


def test_cursor_databases_are_captured(machine, ways):
    homes.cursor_chats(machine.home / ".cursor")
    homes.cursor_editor(machine.home / ".config" / "Cursor")
    chat = machine.home / ".cursor" / "chats" / "0f" / "1" / "store.db"
    editor = machine.home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb"
    (session,) = list_stored_sessions(chat, "cursor")
    watching = machine.watch("--all", *ways)
    for path, name in ((chat, session), (editor, CID)):
        watching.wait_until(
            lambda path=path, name=name: (
                machine.last_seen(path, "cursor", name) == export_now(path, "cursor", name)
            )
        )
    with closing(sqlite3.connect(editor)) as connection:
        key, value = (
            f"bubbleId:{CID}:b9",
            cursor_databases.stored({"bubbleId": "b9", "type": 1, "text": "one more"}),
        )
        connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", [key, value])
        connection.commit()
    watching.wait_until(
        lambda: b"one more" in b"".join(machine.last_seen(editor, "cursor", CID).values())
    )
    assert machine.last_seen(editor, "cursor", CID) == export_now(editor, "cursor", CID)
    watching.stop()
    machine.check_intact()


def test_folder_store_is_captured(machine, ways):
    path = machine.home / ".local" / "share" / "opencode" / "storage"
    shutil.copytree(FIXTURES / "opencode" / "storage", path)
    session = "ses_1e8f3c2b1a0ffeMiraInvoiceFix1"
    watching = machine.watch("--all", *ways)
    watching.wait_until(
        lambda: (
            machine.last_seen(path, "opencode", session) == export_now(path, "opencode", session)
        )
    )
    message = {"id": "msg_f1", "sessionID": session, "role": "user", "time": {"created": 1}}
    (path / "message" / session / "msg_f1.json").write_text(json.dumps(message))
    watching.wait_until(
        lambda: (
            machine.last_seen(path, "opencode", session) == export_now(path, "opencode", session)
        )
    )
    assert any(
        name.endswith("msg_f1.json") for name in machine.last_seen(path, "opencode", session)
    )
    watching.stop()
    machine.check_intact()


def test_unreadable_session_does_not_stop_others(machine):
    path = machine.home / ".local" / "share" / "opencode" / "storage"
    shutil.copytree(FIXTURES / "opencode" / "storage", path)
    bad, good = "ses_1e8f3c2b1a0ffeChildSession01", "ses_1e8f3c2b1a0ffeMiraInvoiceFix1"
    (file,) = (path / "message" / bad).iterdir()
    file.unlink()
    file.mkdir()
    machine.once("--all", "--no-seal")
    assert machine.last_seen(path, "opencode", good) == export_now(path, "opencode", good)


def test_stores_are_sealed(machine):
    homes.fill(machine.home)
    shutil.copytree(
        FIXTURES / "opencode" / "storage",
        machine.home / ".local" / "share" / "opencode" / "storage",
    )
    output = machine.once("--all", "--quiet-after", 0).err
    assert "not sealed" not in output
    assert output.count("sealed: ") == len(machine.sealed())
    trust = machine.state / "keys" / "signing.pub.pem"
    done = machine.run("verify", machine.state / "sealed", "--trust", trust)
    assert done.returncode == 0, done.out + done.err
    formats = {
        json.loads(path.read_bytes())["vacr"]["source"]["format"] for path in machine.sealed()
    }
    assert formats >= {
        "claude-jsonl",
        "opencode-sqlite",
        "cursor-vscdb",
        "cursor-store",
        "gemini-json",
    }, formats
    assert machine.check_intact()["notices"] == []
    again = machine.once("--all", "--quiet-after", 0).err
    assert "sealed: " not in again


def test_watch_shows_sessions_like_list(machine):
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    filled(path).close()
    homes.cursor_chats(machine.home / ".cursor")
    chats = machine.home / ".gemini" / "tmp" / "till" / "chats"
    chats.mkdir(parents=True)
    chat = {
        "sessionId": "s",
        "projectHash": "p",
        "startTime": "2026-07-25T10:00:00.000Z",
        "messages": [],
    }
    chat["messages"] = [
        {"id": str(number), "type": "user", "content": f"question {number}"} for number in range(3)
    ]
    (chats / "session-1.json").write_text(json.dumps(chat, indent=2))
    shown = json.loads(machine.once("--all", "--quiet-after", 0, "--format", "json").out)[
        "sessions"
    ]
    listed = json.loads(machine.run("list", "--format", "json").out)["sessions"]
    projects = {(session["path"], session["session"]): session["project"] for session in shown}
    assert len(listed) >= 3
    assert {
        (session["path"], session["session"]): session["project"] for session in listed
    }.items() <= projects.items()
    records = [json.loads(record.read_bytes()) for record in machine.sealed()]
    assert sorted(session["entries"] for session in shown) == sorted(
        len(record["session"]["entries"]) for record in records
    )


def test_unreadable_database_sets_the_exit_code(machine):
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)
    assert "damaged" in machine.once("--all", code=3).err
    path.unlink()
    machine.once("--all")
