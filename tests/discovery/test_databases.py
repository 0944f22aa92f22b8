"""Databases that are being written, locked, damaged, or read-only."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.discovery import writer
from tests.discovery.opencode_database import SESSION, OpenCode, conversation
from tests.discovery.recorded import read_all_sessions, records
from vacr.cli import run_command_line
from vacr.discovery.opening import read_sessions
from vacr.discovery.places import walk_places
from vacr.discovery.session_stores import DatabaseFile
from vacr.errors import UnreadableInput
from vacr.files import sqlite

pytestmark = pytest.mark.component


@pytest.fixture
def store(tmp_path):
    """Return a database with one session without messages, in a folder of its own."""
    (tmp_path / "store").mkdir()
    return empty(tmp_path / "store" / "opencode.db")


def empty(path, journal="wal"):
    database = OpenCode(path, "first", journal)
    database.add_session(title="0")
    return database.close()


@contextmanager
def agent(work, path, journal="wal"):
    """Run an agent in another process, which ends with the block at the latest."""
    process = subprocess.Popen(
        [sys.executable, writer.__file__, work, path, journal], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def crashed(work, path, journal="wal"):
    """Leave the files of an agent that was killed while it worked."""
    with agent(work, path, journal):
        pass


def state(folder):
    """Return everything about the files of a folder."""
    return {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode)
        for file in folder.iterdir()
    }


def numbers(record):
    """Return three counts: messages that a record claims, messages with a part, all messages."""
    entries = record["session"]["entries"]
    whole = [
        number
        for number, entry in enumerate(entries, 1)
        if entry["content"][0]["text"].startswith(f"words {number} ")
    ]
    return {int(record["session"]["title"]), len(whole), len(entries)}


@pytest.mark.component
@pytest.mark.parametrize(
    ("work", "journal"),
    [
        ("writing", "wal"),
        ("writing", "delete"),
        ("coming_and_going", "wal"),
        ("coming_and_going", "delete"),
    ],
)
def test_record_shows_one_moment_while_an_agent_writes(tmp_path, work, journal):
    path = empty(tmp_path / "opencode.db", journal)
    seen = set()
    with agent(work, path, journal) as process:
        for _ in range(25):
            ((_, record),) = records(path).items()
            moment = numbers(record)
            assert len(moment) == 1
            seen |= moment
        assert process.poll() is None
    assert len(seen) > 1


LEFT = {
    "nothing": lambda _: None,
    "a log and its index": lambda path: crashed("idle", path),
    "a log without its index": lambda path: (crashed("idle", path), Path(f"{path}-shm").unlink()),
    "a log with an unfinished transaction": lambda path: crashed("unfinished", path),
    "a log that is empty": lambda path: Path(f"{path}-wal").touch(),
    "a journal to be rolled back": lambda path: crashed("unfinished", path, "delete"),
    "a journal that is done": lambda path: crashed("idle", path, "persist"),
    "a journal that is empty": lambda path: crashed("idle", path, "truncate"),
}


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
def test_database_after_a_crash_is_read_unchanged(store, leave):
    leave(store)
    before = state(store.parent)
    (record,) = records(store).values()
    assert state(store.parent) == before
    assert numbers(record) == (
        {1} if len(before) > 1 and before.get("opencode.db-wal", "x")[0] else {0}
    )


@pytest.mark.parametrize(
    ("work", "journal"),
    [("idle", "wal"), ("unfinished", "wal"), ("exclusive", "wal"), ("idle", "delete")],
)
def test_database_in_use_is_read_unchanged(store, work, journal):
    with agent(work, store, journal):
        before = state(store.parent)
        (record,) = records(store).values()
        assert state(store.parent) == before
    assert numbers(record) == ({0} if work == "exclusive" else {1})


@pytest.mark.parametrize("work", ["exclusive", "unfinished"])
def test_locked_database_is_reported_and_hides_nothing_else(
    tmp_path, store, monkeypatch, capsys, work
):
    monkeypatch.setattr(sqlite, "_LOCK_TIMEOUT_SECONDS", 0.01)
    other = OpenCode(store.with_name("other.db"))
    conversation(other)
    other.close()
    with agent(work, store, "delete"):
        with pytest.raises(UnreadableInput) as caught:
            list(read_sessions(store))
        assert caught.value.message == "locked by another program"
        assert "Try again" in caught.value.hint
        assert (
            run_command_line(
                ["record", str(store.parent), "-o", str(tmp_path / "out"), "--jobs", "1"]
            )
            == 3
        )
    assert f"vacr: {store}: locked by another program" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "out").glob("*.json")] == [
        f"other.{SESSION}.acr.json"
    ]


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path, start, stop):
    data = bytearray(path.read_bytes())
    data[start:stop] = b"\xa5" * (stop - start)
    path.write_bytes(data)


DAMAGE = {
    "empty": (lambda path: path.write_bytes(b""), "the file is empty"),
    "cut off": (cut, "a damaged database"),
    "only the first words": (lambda path: os.truncate(path, 16), "a damaged database"),
    "garbage after the first words": (lambda path: overwrite(path, 16, 4096), "a damaged database"),
    "garbage after the header": (lambda path: overwrite(path, 100, 4096), "a damaged database"),
    "of a later SQLite": (lambda path: overwrite(path, 18, 20), "database"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_database_is_reported(store, damage, message):
    damage(store)
    before = state(store.parent)
    with pytest.raises(UnreadableInput, match=message) as caught:
        list(read_sessions(store))
    assert caught.value.where.endswith("opencode.db")
    assert state(store.parent) == before


def test_computed_columns_are_refused(store):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("ALTER TABLE session ADD COLUMN big TEXT AS (hex(zeroblob(99999999)))")
    with pytest.raises(UnreadableInput, match="a table has computed columns"):
        list(read_sessions(store))


def test_wrong_header_is_not_called_another_kind_of_file(store):
    overwrite(store, 16, 4096)
    with pytest.raises(UnreadableInput, match="a damaged database: its header is invalid"):
        list(read_sessions(store))


def test_other_columns_are_not_called_damage(tmp_path):
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE meta (a)")
        connection.execute("CREATE TABLE blobs (b)")
    with pytest.raises(UnreadableInput, match="cannot read the database: no such column"):
        list(read_sessions(path))


@pytest.mark.parametrize("name", [b"\xff\xfeQ", b"Q\xffQ"])
def test_table_names_that_are_not_text_are_damage(store, name):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("ALTER TABLE session ADD COLUMN QQQ")
    store.write_bytes(store.read_bytes().replace(b"QQQ", name))
    (failed,) = read_sessions(store)
    assert failed.message.startswith("a damaged database: 'utf-8' codec can't decode byte 0xff")
    assert failed.where == str(store)


def test_side_files_must_be_regular_files(store):
    for suffix in ("-journal", "-wal", "-shm"):
        os.mkfifo(f"{store}{suffix}")
        with pytest.raises(
            UnreadableInput, match=f"opencode.db{suffix} is a folder, pipe or device"
        ):
            list(read_sessions(store))
        Path(f"{store}{suffix}").unlink()


@pytest.mark.parametrize("writers", [0, 1, 2, 3])
def test_header_decides_whether_the_log_is_read(store, writers):
    """SQLite looks for a log if the header's read version is 2, for any write version."""
    data = bytearray(store.read_bytes())
    data[18:20] = bytes((writers, 2))
    store.write_bytes(data)
    before = state(store.parent)
    assert len(records(store)) == 1
    assert state(store.parent) == before


def test_database_is_copied_once_for_all_its_sessions(tmp_path, monkeypatch):
    database = OpenCode(tmp_path / "opencode.db", "first", "delete")
    for number in range(4):
        conversation(database, f"ses_{number}", f"x{number}_")
    database.close()
    LEFT["a log without its index"](database.path)
    copied = []

    def copy(source, target):
        shutil.copyfile(source, target)
        copied.append(Path(source).name)

    monkeypatch.setattr(sqlite, "shutil", SimpleNamespace(copyfile=copy))
    tasks = [place for place in walk_places(tmp_path) if place.session is not None]
    copied.clear()
    for place in tasks:
        assert len(read_all_sessions(place.path, session=place.session)) == 1
    assert len(tasks) == 5
    assert copied == ["opencode.db", "opencode.db-wal"]


def test_run_leaves_no_copy_behind(tmp_path, vacr):
    for name in ("one", "two"):
        (tmp_path / "stores" / name).mkdir(parents=True)
        LEFT["a log without its index"](empty(tmp_path / "stores" / name / "opencode.db"))
    with tempfile.TemporaryDirectory() as copies:
        for jobs in ("1", "2"):
            done = vacr(
                "record", tmp_path / "stores", "-o", f"out{jobs}/", "--jobs", jobs, TMPDIR=copies
            )
            assert done.returncode == 0
        assert list(Path(copies).glob("vacr-*")) == []


def test_damaged_session_hides_no_other(tmp_path):
    database = OpenCode(tmp_path / "opencode.db", "first", "delete")
    conversation(database)
    database.add_session("ses_z")
    database.add_message("msg_z", "ses_z", 1, {"role": "user", "text": "z" * 50_000})
    database.add_part("prt_z", "msg_z", "ses_z", {"type": "text", "text": "y"})
    path = database.close()
    data = path.read_bytes()
    middle = (data.index(b"z" * 4000) // 4096 + 2) * 4096
    # A page of a long value begins with the number of the next page.
    path.write_bytes(data[:middle] + b"\xff\xff\xff\xff" + data[middle + 4 :])
    good, bad = sorted(
        read_sessions(path), key=lambda session: isinstance(session, UnreadableInput)
    )
    assert good.label == SESSION
    assert "a damaged database" in bad.message


def test_rest_of_a_damaged_table_is_recorded_with_the_damage(tmp_path):
    database = OpenCode(tmp_path / "opencode.db", "first", "delete")
    for number in range(9):
        database.add_session(f"ses_{number}")
        database.add_message(f"msg_{number}", f"ses_{number}", 1, {"role": "user"})
        database.add_part(
            f"prt_{number}",
            f"msg_{number}",
            f"ses_{number}",
            {"type": "text", "text": f"said {number} " + "y" * 3000},
        )
    path = database.close()
    data = bytearray(path.read_bytes())
    # The first byte of a page is its type.
    data[data.index(b"said 4") // 4096 * 4096] = 0xFF
    path.write_bytes(data)
    made = list(read_sessions(path))
    (bad,) = [session for session in made if isinstance(session, UnreadableInput)]
    assert "a damaged database" in bad.message
    good = {session.label: session.reading for session in made if session is not bad}
    assert sorted(good) == [f"ses_{number}" for number in range(9) if number != 4]
    for label, reading in good.items():
        assert f"said {label[-1]}" in str(reading.record["session"])
        assert "the table part is damaged" in reading.notices[0].message
        (event,) = [
            entry
            for entry in reading.record["session"]["entries"]
            if entry.get("event-type") == "vacr-damaged"
        ]
        assert event["data"]["table"] == "part"


@contextmanager
def bound_by_permissions():
    """Become a user who is bound by permissions, unlike root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
def test_database_in_a_read_only_folder_is_read(leave):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = empty(folder / "opencode.db")
        leave(path)
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        before = state(folder)
        with bound_by_permissions():
            (record,) = records(path).values()
        assert state(folder) == before
        folder.chmod(0o755)
    assert record["session"]["session-id"] == SESSION


def test_database_without_permission_is_reported():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        path = empty(Path(name) / "opencode.db")
        path.chmod(0)
        with (
            bound_by_permissions(),
            pytest.raises(UnreadableInput, match="no permission to read it"),
        ):
            list(read_sessions(path))


def test_log_of_a_linked_database_is_read(tmp_path, store):
    (tmp_path / "link.db").symlink_to(store)
    with agent("idle", store):
        (record,) = records(tmp_path / "link.db").values()
    assert numbers(record) == {1}


@pytest.mark.parametrize(
    "name", [b"a b?c#d%41&immutable=1;x.db", "ü:☃.db".encode(), b"\xff\xfe.db", b"'\".db", b"-x.db"]
)
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_database_may_have_any_name(tmp_path, name, journal):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    empty(tmp_path / "x", journal).rename(path)
    (found,) = read_all_sessions(path)
    assert found.reading.record["session"]["session-id"] == SESSION
    assert list(tmp_path.iterdir()) == [path]


def test_agent_that_closes_during_a_read_leaves_the_database_as_it_is(store):
    count = "SELECT COUNT(*) AS count FROM message"

    def work(query):
        subprocess.run([sys.executable, writer.__file__, "once", store, "wal"], check=True)
        return [row["count"] for row in query(count)]

    with closing(DatabaseFile(store)) as database:
        assert database.snapshots.read(work) == [0]
        assert Path(f"{store}-wal").stat().st_size > 0
        assert database.snapshots.read(lambda query: [row["count"] for row in query(count)]) == [1]


def test_copy_is_repeated_if_the_database_changed(store, monkeypatch):
    LEFT["a journal to be rolled back"](store)
    copied = []

    def copy(source, target):
        shutil.copyfile(source, target)
        copied.append(Path(source).name)
        if len(copied) == 1:
            os.utime(source)

    monkeypatch.setattr(sqlite, "shutil", SimpleNamespace(copyfile=copy))
    (record,) = records(store).values()
    assert numbers(record) == {1}
    assert copied == ["opencode.db", "opencode.db-journal"] * 2


def test_database_that_keeps_changing_is_refused(store, monkeypatch):
    moments = iter(range(1000))
    monkeypatch.setattr(
        sqlite, "_read_database_state", lambda _: ((1, next(moments), 1), (0, 0, 0), (0, 0, 0))
    )
    with pytest.raises(UnreadableInput, match="it keeps changing"):
        list(read_sessions(store))


def test_unknown_database_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE places (url TEXT)")
    with pytest.raises(UnreadableInput, match="unrecognised database"):
        list(read_sessions(tmp_path / "x.db"))
    with pytest.raises(UnreadableInput, match="unrecognised database"):
        list(read_sessions(empty(tmp_path / "y.db"), agent="cursor"))


def test_unknown_database_with_messages_names_the_next_step(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE Messages (role TEXT, content TEXT)")
    with pytest.raises(UnreadableInput, match="table 'Messages' may hold messages") as caught:
        list(read_sessions(tmp_path / "x.db"))
    assert "SELECT * FROM Messages" in caught.value.hint
    assert "vacr record --agent generic" in caught.value.hint


def test_no_copy_stays(store, monkeypatch, tmp_path):
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    LEFT["a journal to be rolled back"](store)
    records(store)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DROP TABLE part")
    crashed_tables = store.with_name("x.db")
    store.rename(crashed_tables)
    with pytest.raises(UnreadableInput, match="unrecognised database"):
        list(read_sessions(crashed_tables))
    assert list((tmp_path / "copies").iterdir()) == []
