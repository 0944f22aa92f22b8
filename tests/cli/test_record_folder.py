"""Whole folders: all that is there, the same bytes as one by one, and a second run that goes on
where the first stopped.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.cli import gate
from tests.conftest import EXAMPLES, FIXTURES
from vacr.files.writing import make_folder_tree

pytestmark = pytest.mark.component

WAIT = 60
SESSIONS = 240
"""More than are handed out at once."""


@pytest.fixture
def folder(tmp_path):
    """Give a folder with sessions of every agent, and other things."""
    place = tmp_path / "in"
    place.mkdir()
    for path in EXAMPLES.iterdir():
        shutil.copy(path, place)
    for name in ("claude/project", "opencode/storage", "gemini", "cursor"):
        shutil.copytree(FIXTURES / name, place / "deep" / name)
    (place / "notes.txt").write_text("buy milk\n")
    (place / "picture.png").write_bytes(b"\x89PNG\r\n\0\0\0")
    (place / "empty.jsonl").write_bytes(b"")
    return place


def tree(folder):
    """Give the records below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.acr.*"))
    }


@pytest.mark.usefixtures("folder")
def test_a_folder_is_recorded_whole_and_its_tree_is_that_of_the_records(vacr, tmp_path):
    done = vacr("record", "in", "-o", "out/")
    assert done.returncode == 0, done.err
    records = tree(tmp_path / "out")
    assert {
        "claude-code.acr.json",
        "codex-cli.acr.json",
        "gemini-cli.acr.json",
        "opencode.acr.json",
    } <= records.keys()
    assert (
        "deep/claude/project/3c9e7b10-5d42-4f6a-8b1e-7a2c4d6e8f01/subagents/agent-a1b2c3d.acr.json"
        in records
    )
    assert sum("ses_" in name for name in records) >= 2
    for agent in ("claude-code", "codex-cli", "cursor", "gemini-cli", "opencode"):
        assert agent in done.out
    assert "3 files skipped: not a session" in done.out
    assert vacr("validate", *sorted((tmp_path / "out").rglob("*.acr.json"))).returncode == 0


def test_the_bytes_are_those_of_one_by_one_and_of_any_number_of_processes(vacr, tmp_path, folder):
    for jobs in (1, 2):
        assert vacr("record", "in", "-o", f"out{jobs}/", "--jobs", jobs).returncode == 0
    records = tree(tmp_path / "out1")
    assert records == tree(tmp_path / "out2")
    for path in EXAMPLES.iterdir():
        vacr("record", folder / path.name, "-o", "single/", "--no-sub-agents")
    singles = tree(tmp_path / "single")
    assert len(singles) == 5
    assert {name: records[name] for name in singles} == singles


def test_a_second_run_does_only_what_is_new_changed_or_gone(vacr, tmp_path, folder):
    assert vacr("record", "in", "-o", "other/").returncode == 0
    later = json.loads(vacr("record", "in", "-o", "other/", "--format", "json").out)
    first = json.loads(vacr("record", "in", "-o", "out/", "--format", "json").out)
    assert {record["state"] for record in first["records"]} == {"written"}
    assert sorted(record["sha-256"] for record in later["records"]) == sorted(
        record["sha-256"] for record in first["records"]
    )
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.acr.json")}
    again = json.loads(vacr("record", "in", "-o", "out/", "--format", "json").out)
    assert {record["state"] for record in again["records"]} == {"unchanged"}
    assert len(again["records"]) == len(first["records"])
    assert again["summary"]["agents"].keys() == first["summary"]["agents"].keys()
    assert sorted(again["skipped"], key=str) == sorted(first["skipped"], key=str)
    with (folder / "cursor.jsonl").open("ab") as file:
        file.write(b'{"type":"turn_ended","status":"success"}\n')
    shutil.copy(EXAMPLES / "codex-cli.jsonl", folder / "newer.jsonl")
    (tmp_path / "out" / "opencode.acr.json").unlink()
    third = json.loads(vacr("record", "in", "-o", "out/", "--format", "json").out)
    states = {
        record["output"]: record["state"]
        for record in third["records"]
        if record["state"] != "unchanged"
    }
    assert states == {
        "out/cursor.acr.json": "replaced",
        "out/newer.acr.json": "written",
        "out/opencode.acr.json": "written",
    }
    untouched = {
        path: path.stat().st_mtime_ns
        for path in stamps
        if f"out/{path.relative_to(tmp_path / 'out')}" not in states
    }
    assert untouched == {path: stamps[path] for path in untouched}


def test_going_on_does_not_depend_on_how_the_folders_are_named(vacr, tmp_path, folder):
    assert vacr("record", "in", "-o", "out/").returncode == 0
    (tmp_path / "out").rename(tmp_path / "moved")
    for path in (tmp_path / "moved").rglob("*.acr.json"):
        path.chmod(0o444)
    done = vacr("record", folder, "-o", tmp_path / "moved", "--format", "json", cwd="/")
    records = json.loads(done.out)["records"]
    assert {record["state"] for record in records} == {"unchanged"}
    assert all(record["output"].startswith(str(tmp_path / "moved")) for record in records)


def test_a_bad_file_stops_no_other_and_is_told(vacr, tmp_path, folder):
    (folder / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
    signed = tmp_path / "out" / "codex-cli.acr.json"
    signed.parent.mkdir()
    signed.write_text("mine")
    done = vacr("record", "in", "-o", "out/", "--format", "json")
    assert done.returncode == 3
    document = json.loads(done.out)
    assert {Path(error["source"]).name for error in document["errors"]} == {
        "broken.db",
        "codex-cli.jsonl",
    }
    assert document["summary"]["failed"] == 2
    assert signed.read_text() == "mine"
    assert len(document["records"]) > 10
    assert "broken.db" in done.err


@pytest.mark.usefixtures("folder")
def test_lines_come_as_they_are_done(vacr):
    done = vacr("record", "in", "-o", "out/", "--format", "jsonl")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert {line["kind"] for line in lines} == {"record", "skipped", "summary"}
    assert lines[-1]["kind"] == "summary"
    assert sum(counts["records"] for counts in lines[-1]["agents"].values()) == sum(
        line["kind"] == "record" for line in lines
    )
    assert all(line["schema_version"] == "1" for line in lines)
    assert all(len(line["sha-256"]) == 64 for line in lines if line["kind"] == "record")


@pytest.mark.usefixtures("folder")
def test_what_there_is_to_see_in_detail_is_told_when_asked_for(vacr):
    quiet, loud = vacr("record", "in", "-o", "out/"), vacr("record", "in", "-o", "loud/", "-v")
    assert "notes.txt" not in quiet.err
    assert "notes.txt" in loud.err
    assert "loud/claude-code.acr.json: claude-code" in loud.out
    assert vacr("record", "in", "-o", "silent/", "-q").out == ""
    assert vacr("record", "in", "-o", "strict/", "--strict").returncode == 5


def test_folders_and_files_together(vacr, tmp_path, folder):
    shutil.copytree(folder, tmp_path / "second")
    done = vacr("record", "in", "second", EXAMPLES / "cursor.jsonl", "-o", "out/")
    assert done.returncode == 0, done.err
    records = tree(tmp_path / "out")
    assert {"cursor.acr.json", "in/cursor.acr.json", "second/cursor.acr.json"} <= records.keys()
    (tmp_path / "x" / "in").mkdir(parents=True)
    assert vacr("record", "in", "x/in", "-o", "out/").returncode == 2


def test_a_folder_without_sessions(vacr, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("buy milk")
    done = vacr("record", "in", "-o", "out/")
    assert done.returncode == 1
    assert "no sessions found" in done.err
    assert vacr("record", "gone", "-o", "out/").returncode == 3


def test_records_written_into_the_folder_itself_are_not_recorded(vacr, folder):
    assert vacr("record", "in", "-o", "in/records/").returncode == 0
    before = tree(folder)
    assert vacr("record", "in", "-o", "in/records/").returncode == 0
    assert tree(folder) == before


@pytest.mark.usefixtures("folder")
def test_sealed_sources_of_a_folder_come_back(vacr, tmp_path):
    assert vacr("record", "in", "-o", "out/", "--seal-source").returncode == 0
    record = next((tmp_path / "out" / "deep" / "opencode").rglob("ses_*Fix1.acr.json"))
    assert vacr("restore", record, "-o", "back/").returncode == 0
    native = {path.relative_to(tmp_path / "back") for path in (tmp_path / "back").rglob("*.json")}
    assert len(native) > 15
    for path in native:
        assert (tmp_path / "back" / path).read_bytes() == (
            FIXTURES / "opencode" / "storage" / path
        ).read_bytes()


@pytest.fixture
def gated(tmp_path):
    """Give a folder of sessions that wait at a gate, and the way to start recording it."""
    gate.install(tmp_path / "plugins")
    (tmp_path / "in").mkdir()
    for number in range(SESSIONS):
        line = {"gate": str(tmp_path / "gate"), "id": f"s{number}"}
        (tmp_path / "in" / f"{number:03}.jsonl").write_text(json.dumps(line) + "\n")

    def start(*arguments, **options):
        command = [sys.executable, "-m", "vacr", "record", "in", *arguments]
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path / "plugins"), "TERM": "xterm"},
            **{"stderr": subprocess.PIPE, "stdout": subprocess.PIPE} | options,
        )

    return start


def reached(tmp_path):
    """Wait until a session is being read."""
    end = time.monotonic() + WAIT
    while not (tmp_path / "gate.reached").exists():
        assert time.monotonic() < end, "nothing was begun"
        time.sleep(0.01)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_loses_nothing_and_the_next_run_goes_on(tmp_path, gated, jobs):
    run = gated("-o", "out/", "--jobs", str(jobs), start_new_session=True)
    reached(tmp_path)
    os.killpg(run.pid, signal.SIGINT)
    assert b"stopping after the current sessions" in run.stderr.readline()
    (tmp_path / "gate").touch()
    out, err = run.communicate(timeout=WAIT)
    assert run.returncode == 130
    assert b"run the same command again" in err
    assert b"Traceback" not in err
    begun = tree(tmp_path / "out")
    assert 0 < len(begun) < SESSIONS
    assert out
    again = gated("-o", "out/", "--format", "json")
    document = json.loads(again.communicate(timeout=WAIT)[0])
    assert sum(record["state"] == "written" for record in document["records"]) == SESSIONS - len(
        begun
    )
    gated("-o", "whole/").communicate(timeout=WAIT)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_a_second_ctrl_c_ends_at_once_and_leaves_no_process_and_no_half_file(tmp_path, gated):
    run = gated("-o", "out/", "--jobs", "2", start_new_session=True)
    reached(tmp_path)
    os.killpg(run.pid, signal.SIGINT)
    run.stderr.readline()
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=WAIT)
    assert run.returncode == 130
    assert b"Traceback" not in err
    assert b"resource_tracker" not in err
    assert_gone(run.pid)
    assert [path.name for path in (tmp_path / "out").rglob("*")] == []


@pytest.mark.usefixtures("terminals")
def test_on_a_terminal_the_answer_to_ctrl_c_has_a_line_of_its_own(tmp_path, gated):
    mine, its = os.openpty()
    run = gated("-o", "out/", "--jobs", "2", start_new_session=True, stderr=its, stdout=its)
    os.close(its)
    shown = b""
    reached(tmp_path)
    os.killpg(run.pid, signal.SIGINT)
    # A terminal that is gone is told as an error, once all that was written is read.
    with suppress(OSError):
        while more := os.read(mine, 1 << 16):
            shown += more
            if b"stopping after" in shown:
                (tmp_path / "gate").touch()
    os.close(mine)
    assert run.wait(WAIT) == 130
    assert b"\r\nvacr: stopping after the current sessions" in shown


def test_when_the_run_is_killed_its_workers_end(tmp_path, gated):
    run = gated("-o", "out/", "--jobs", "2", start_new_session=True)
    reached(tmp_path)
    run.kill()
    run.communicate(timeout=WAIT)
    assert_gone(run.pid)


def assert_gone(group):
    """Wait until no process of a session is left."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("processes were left behind")


def test_a_file_that_kills_its_process_is_told_and_stops_no_other(tmp_path, gated):
    (tmp_path / "gate").touch()
    for number in (3, 40):
        path = tmp_path / "in" / f"{number:03}.jsonl"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"kill": True}) + "\n")
    out, err = gated("-o", "out/", "--jobs", "2", "--format", "json").communicate(timeout=WAIT)
    document = json.loads(out)
    assert {error["source"] for error in document["errors"]} == {"in/003.jsonl", "in/040.jsonl"}
    assert all("was killed" in error["error"] for error in document["errors"])
    assert len(document["records"]) == SESSIONS - 2
    assert b"Traceback" not in err


IN_FORKSERVER = (
    "import os, signal, sys\nif any('forkserver' in word for word in sys.orig_argv):\n    "
)
CANNOT_START = {
    "no process starts": "os._exit(1)",
    "every process dies as it starts": (
        "os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGKILL))"
    ),
}


@pytest.mark.parametrize("fault", CANNOT_START.values(), ids=CANNOT_START)
@pytest.mark.usefixtures("folder")
def test_where_no_process_can_be_started_the_work_is_done_without(vacr, tmp_path, fault):
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults" / "sitecustomize.py").write_text(IN_FORKSERVER + fault)
    done = vacr("record", "in", "-o", "out/", "--jobs", "2", PYTHONPATH=str(tmp_path / "faults"))
    assert done.returncode == 0, done.err
    assert done.err.count("cannot start more processes") == 1
    assert vacr("record", "in", "-o", "whole/", "--jobs", "1").returncode == 0
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.usefixtures("folder")
def test_a_process_that_dies_as_it_starts_holds_nothing_up(vacr, tmp_path, number):
    (tmp_path / "faults").mkdir()
    fault = (
        "made = []\n"
        "    os.register_at_fork(before=lambda: made.append(1))\n"
        f"    os.register_at_fork(after_in_child=lambda: len(made) == {number} and "
        "os.kill(os.getpid(), signal.SIGKILL))"
    )
    (tmp_path / "faults" / "sitecustomize.py").write_text(IN_FORKSERVER + fault)
    done = vacr("record", "in", "-o", "out/", "--jobs", "3", PYTHONPATH=str(tmp_path / "faults"))
    assert done.returncode == 0, done.err
    assert vacr("record", "in", "-o", "whole/", "--jobs", "1").returncode == 0
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@pytest.mark.skipif(sys.platform != "linux", reason="no limit of memory that binds")
@pytest.mark.usefixtures("folder")
def test_where_no_thread_can_be_started_the_work_is_done_without(tmp_path):
    command = f'ulimit -v 45000; exec "{sys.executable}" -m vacr record in -o out/ --jobs 2'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    # How much memory there must be to begin at all differs; there is never a quiet end without
    # records.
    assert done.returncode != 0 or len(tree(tmp_path / "out")) > 10


def codex(path, session):
    """Write a session of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "timestamp": "2026-01-01T00:00:00Z",
                "type": "session_meta",
                "payload": {"id": session},
            }
        )
        + "\n"
    )


@pytest.mark.parametrize(
    "options", [(), ("--overwrite",), ("--jobs", "3"), ("--cbor", "--seal-source", "--overwrite")]
)
def test_every_session_of_a_folder_has_a_record_of_its_own(vacr, tmp_path, options):
    sessions = ["ses_1", "x/y", "x-y", "a" * 300, "a" * 301, ".."]
    (tmp_path / "in").mkdir()
    with closing(sqlite3.connect(tmp_path / "in" / "a.db")) as database, database:
        database.execute("CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        database.executemany(
            "INSERT INTO session VALUES (?, 'x')", [(session,) for session in sessions]
        )
    for number, name in enumerate(
        ("a.json", "a.jsonl", "a.json.jsonl", "a.ses_1.jsonl", "a.db.ses_1.jsonl", "b.x.jsonl")
    ):
        codex(tmp_path / "in" / name, f"file{number}")
    for _ in range(2):
        document = json.loads(vacr("record", "in", "-o", "out/", "--format", "json", *options).out)
        assert document["errors"] == []
        found = {(record["session-id"], record["output"]) for record in document["records"]}
        assert len(found) == len({output for _, output in found}) == len(sessions) + 6
        assert {session for session, _ in found} == set(sessions) | {
            f"file{number}" for number in range(6)
        }
    assert {"out/b.x.acr.cbor" if "--cbor" in options else "out/b.x.acr.json"} <= {
        output for _, output in found
    }


def test_all_that_is_in_a_folder_is_recorded_or_named(vacr, tmp_path):
    codex(tmp_path / "in" / "p" / "session" / "s.jsonl", "one")
    codex(tmp_path / "in" / "p" / "real.jsonl", "two")
    codex(tmp_path / "in" / "notes.meta.json", "three")
    codex(tmp_path / "in" / "real" / "tool-results" / "x.jsonl", "four")
    codex(tmp_path / "in" / "work-journal", "five")
    codex(tmp_path / "in" / "real.jsonl", "six")
    (tmp_path / "in" / "notes.txt").write_text("buy milk")
    (tmp_path / "in" / "p" / "message").mkdir()
    (tmp_path / "in" / "gone.jsonl").symlink_to("nowhere")
    os.mkfifo(tmp_path / "in" / "pipe.jsonl")
    document = json.loads(vacr("record", "in", "-o", "out/", "--format", "json").out)
    assert {record["session-id"] for record in document["records"]} == {
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
    }
    assert {Path(skipped["source"]).name for skipped in document["skipped"]} == {
        "notes.txt",
        "gone.jsonl",
        "pipe.jsonl",
    }
    assert document["summary"]["skipped"] == 3


def test_folders_may_be_as_deep_as_they_like(vacr, deep):
    codex(deep / "in" / "a.jsonl", "a")
    make_folder_tree(Path(f"{deep}/in" + "/d" * 1100))
    codex(Path(f"{deep}/in" + "/d" * 1100 + "/x.jsonl"), "deep")
    done = vacr("record", "in", "-o", "out/", "--format", "json", cwd=deep)
    assert {record["session-id"] for record in json.loads(done.out)["records"]} == {"a", "deep"}


def test_names_of_any_bytes_are_told_in_every_run(vacr, tmp_path):
    (tmp_path / "in").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/n\xff.txt")).write_text("buy milk")
    for form in ("json", "jsonl", "text"):
        for _ in range(2):
            done = vacr("record", "in", "-o", f"{form}/", "--format", form, "-v")
            assert done.returncode == 1, done.err
            assert "n�.txt" in done.err


def test_what_is_no_file_where_a_record_would_be_is_told(vacr, tmp_path, folder):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "cursor.acr.json")
    done = vacr("record", "in", "-o", "out/", "--format", "json")
    assert done.returncode == 2
    assert [error["source"] for error in json.loads(done.out)["errors"]] == [
        f"{folder.name}/cursor.jsonl"
    ]


def test_a_folder_and_files_named_beside_it_do_not_share_names(vacr, tmp_path, folder):
    codex(tmp_path / "cursor.jsonl", "mine")
    done = vacr("record", "in", "cursor.jsonl", "-o", "out/", "--overwrite")
    assert done.returncode == 0
    assert {"cursor.acr.json", f"{folder.name}/cursor.acr.json"} <= tree(tmp_path / "out").keys()
