"""The export of a session: the same bytes wherever its rows are, and the same record again."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.discovery import cursor_databases as cursor
from tests.discovery.opencode_database import SCHEMAS, filled
from tests.discovery.recorded import read_all_sessions, record_bytes
from tests.discovery.test_cursor_chats import CHATS
from tests.discovery.test_cursor_command_line import BESIDE, MESSAGES, META, ROOT
from tests.discovery.test_cursor_editor import CID, FORMS, composer
from tests.discovery.test_opencode_database import SESSION, add_v2
from vacr.record.canonical_json import decode_json, encode_canonical_json


def opencode_later(path):
    database = filled(path)
    database.connection.execute("DELETE FROM message")
    add_v2(database, "session_message")
    database.connection.execute(
        "CREATE TABLE session_note (session_id TEXT, note TEXT COLLATE NOCASE)"
    )
    notes = [[SESSION, note] for note in ("b", "B", "a", None, b"\xff", 5, "b")]
    database.connection.executemany("INSERT INTO session_note VALUES (?, ?)", notes)
    return database.close()


def editor(path):
    rows = FORMS["headers"] | {
        "composerData:c2": composer(
            composerId="c2", conversation=[{"type": 1, "text": "of c2", "n": 1.0}]
        )
    }
    rows |= {f"checkpointId:{CID}:k{number}": {"number": number} for number in range(9)} | {
        f"codeBlockDiff:{CID}:x": b"\xff"
    }
    return cursor.editor(
        path, rows, {"workbench.panel.aichat.view.aichat.chatdata": CHATS}, [(CID, 0, "{}")]
    )


STORES = {
    **{
        f"OpenCode, {name}": (lambda path, name=name: filled(path, name).close())
        for name in SCHEMAS
    },
    "OpenCode, later model": opencode_later,
    "Cursor's editor": editor,
    "Cursor's command line": lambda path: cursor.command_line(
        path, META, [*MESSAGES, *BESIDE], ROOT
    ),
}


@pytest.fixture(params=STORES.values(), ids=STORES)
def store(request, tmp_path):
    return request.param(tmp_path / "store.db")


def exports(path):
    return {found.label: found.source.main.data for found in read_all_sessions(path)}


def rewritten(path, target):
    """Write all rows again in another order, with other numbers, page size and encoding."""
    with (
        closing(sqlite3.connect(path)) as old,
        closing(sqlite3.connect(target, isolation_level=None)) as new,
    ):
        old.text_factory = bytes
        new.execute("PRAGMA page_size = 512")
        new.execute("PRAGMA encoding = 'UTF-16le'")
        for name, statement in old.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name DESC"
        ):
            table = name.decode()
            new.execute(statement.decode())
            for number, row in enumerate(
                old.execute(f'SELECT * FROM "{table}" ORDER BY rowid DESC')  # noqa: S608
            ):
                values = [
                    value.decode() if isinstance(value, bytes) and is_text(value) else value
                    for value in row
                ]
                marks = ", ".join("?" * len(row))
                new.execute(f'INSERT INTO "{table}" VALUES ({marks})', values)  # noqa: S608 - the test's own names
                if number % 2:
                    new.execute("CREATE TABLE IF NOT EXISTS _filler (x)")
                    new.execute("INSERT INTO _filler VALUES (zeroblob(3000))")
        new.execute("DROP TABLE IF EXISTS _filler")
    return target


def is_text(value):
    try:
        return value.decode() is not None
    except UnicodeDecodeError:
        return False


def test_export_does_not_depend_on_the_place_of_rows(store, tmp_path):
    before = exports(store)
    (tmp_path / "again").mkdir()
    assert exports(rewritten(store, tmp_path / "again" / "store.db")) == before
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("VACUUM")
    assert exports(store) == before


def test_every_line_is_canonical_and_the_first_names_the_session(store):
    for label, data in exports(store).items():
        lines = data.splitlines()
        assert data.endswith(b"\n")
        assert json.loads(lines[0])["session"] == label
        assert all(encode_canonical_json(decode_json(line)) == line for line in lines)


def test_restored_export_yields_the_record_of_the_database(store, tmp_path):
    for found in read_all_sessions(store):
        (part,) = found.source.parts
        file = tmp_path / "restored" / part.name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(part.data)
        (again,) = read_all_sessions(file)
        assert record_bytes(again) == record_bytes(found)
        assert again.source.manifest() == found.source.manifest()


def test_two_exports_in_one_file_are_two_sessions(tmp_path):
    found = {
        session.label: session
        for session in read_all_sessions(filled(tmp_path / "opencode.db").close())
    }
    (tmp_path / "both.jsonl").write_bytes(
        b"".join(session.source.main.data for session in found.values())
    )
    again = {
        session.label: session.reading.record["session"]
        for session in read_all_sessions(tmp_path / "both.jsonl")
    }
    for label, session in again.items():
        # The shared project is kept with each export, and again where it is repeated.
        assert session["entries"][:3] == found[label].reading.record["session"]["entries"][:3]
    assert sorted(again) == sorted(found)


def test_seal_and_restore_by_command(vacr, tmp_path):
    path = filled(tmp_path / "opencode.db").close()
    assert vacr("record", path, "--seal-source", "-o", "out/").returncode == 0
    record = tmp_path / "out" / f"opencode.{SESSION}.acr.json"
    assert vacr("restore", record, "-o", "back/").returncode == 0
    (restored,) = (tmp_path / "back").iterdir()
    assert vacr("record", restored, "-o", "again.json").returncode == 0
    assert (tmp_path / "again.json").read_bytes() == record.read_bytes()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_database_from_standard_input_is_read(vacr, tmp_path, journal):
    path = filled(tmp_path / "opencode.db", journal=journal).close()
    shutil.copy(path, tmp_path / "stdin.db")
    assert vacr("record", tmp_path / "stdin.db", "-o", "out/").returncode == 0
    assert vacr("record", "-", "-o", "piped/", stdin=path.read_bytes()).returncode == 0
    files = {
        folder: {file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()}
        for folder in ("out", "piped")
    }
    assert files["out"] == files["piped"]
    assert len(files["out"]) == 3
