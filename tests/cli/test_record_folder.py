"""Whole folders: every session is recorded with the same bytes as alone, and a second run
continues.
"""

import json
import os
import re
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
"""More sessions than the workers get at once."""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with sessions of every agent, and other files."""
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


def list_records(folder):
    """Return the records below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.acr.*"))
    }


@pytest.mark.usefixtures("folder")
def test_records_have_the_tree_of_their_folder(vacr, tmp_path):
    done = vacr("record", "in", "-o", "out/")
    assert done.returncode == 0, done.err
    records = list_records(tmp_path / "out")
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


def test_number_of_processes_does_not_change_the_bytes(vacr, tmp_path, folder):
    for jobs in (1, 2):
        assert vacr("record", "in", "-o", f"out{jobs}/", "--jobs", jobs).returncode == 0
    records = list_records(tmp_path / "out1")
    assert records == list_records(tmp_path / "out2")
    for path in EXAMPLES.iterdir():
        vacr("record", folder / path.name, "-o", "single/", "--no-sub-agents")
    singles = list_records(tmp_path / "single")
    assert len(singles) == 5
    assert {name: records[name] for name in singles} == singles


def test_second_run_records_only_changes(vacr, tmp_path, folder):
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


def test_second_run_does_not_depend_on_the_spelling_of_paths(vacr, tmp_path, folder):
    assert vacr("record", "in", "-o", "out/").returncode == 0
    (tmp_path / "out").rename(tmp_path / "moved")
    for path in (tmp_path / "moved").rglob("*.acr.json"):
        path.chmod(0o444)
    done = vacr("record", folder, "-o", tmp_path / "moved", "--format", "json", cwd="/")
    records = json.loads(done.out)["records"]
    assert {record["state"] for record in records} == {"unchanged"}
    assert all(record["output"].startswith(str(tmp_path / "moved")) for record in records)


def test_bad_file_is_reported_and_does_not_stop_the_others(vacr, tmp_path, folder):
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
def test_json_lines_end_with_a_summary(vacr):
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
def test_details_are_shown_on_request(vacr):
    quiet, loud = vacr("record", "in", "-o", "out/"), vacr("record", "in", "-o", "loud/", "-v")
    assert "notes.txt" not in quiet.err
    assert "notes.txt" in loud.err
    assert "loud/claude-code.acr.json: claude-code" in loud.out
    assert vacr("record", "in", "-o", "silent/", "-q").out == ""
    assert vacr("record", "in", "-o", "strict/", "--strict").returncode == 5


def test_folders_and_files_can_be_recorded_together(vacr, tmp_path, folder):
    shutil.copytree(folder, tmp_path / "second")
    done = vacr("record", "in", "second", EXAMPLES / "cursor.jsonl", "-o", "out/")
    assert done.returncode == 0, done.err
    records = list_records(tmp_path / "out")
    assert {"cursor.acr.json", "in/cursor.acr.json", "second/cursor.acr.json"} <= records.keys()
    (tmp_path / "x" / "in").mkdir(parents=True)
    assert vacr("record", "in", "x/in", "-o", "out/").returncode == 2


def test_folder_without_sessions_is_reported(vacr, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("buy milk")
    done = vacr("record", "in", "-o", "out/")
    assert done.returncode == 1
    assert "no sessions found" in done.err
    assert vacr("record", "gone", "-o", "out/").returncode == 3


def test_records_written_into_the_folder_itself_are_not_recorded(vacr, folder):
    assert vacr("record", "in", "-o", "in/records/").returncode == 0
    before = list_records(folder)
    assert vacr("record", "in", "-o", "in/records/").returncode == 0
    assert list_records(folder) == before


@pytest.mark.usefixtures("folder")
def test_sealed_sources_of_a_folder_are_restored(vacr, tmp_path):
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
def gated_folder(tmp_path):
    """Return a folder of sessions that wait at a gate, and a function that starts recording it."""
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


def wait_until_reached(tmp_path):
    """Wait until a session is being read."""
    end = time.monotonic() + WAIT
    while not (tmp_path / "gate.reached").exists():
        assert time.monotonic() < end, "no session was started"
        time.sleep(0.01)


@pytest.mark.parametrize("jobs", [1, 2])
def test_next_run_continues_after_ctrl_c(tmp_path, gated_folder, jobs):
    run = gated_folder("-o", "out/", "--jobs", str(jobs), start_new_session=True)
    wait_until_reached(tmp_path)
    os.killpg(run.pid, signal.SIGINT)
    assert b"stopping after the current sessions" in run.stderr.readline()
    (tmp_path / "gate").touch()
    out, err = run.communicate(timeout=WAIT)
    assert run.returncode == 130
    assert b"run the same command again" in err
    assert b"Traceback" not in err
    begun = list_records(tmp_path / "out")
    assert 0 < len(begun) < SESSIONS
    assert out
    again = gated_folder("-o", "out/", "--format", "json")
    document = json.loads(again.communicate(timeout=WAIT)[0])
    assert sum(record["state"] == "written" for record in document["records"]) == SESSIONS - len(
        begun
    )
    gated_folder("-o", "whole/").communicate(timeout=WAIT)
    assert list_records(tmp_path / "out") == list_records(tmp_path / "whole")


def test_second_ctrl_c_ends_at_once_and_leaves_nothing_behind(tmp_path, gated_folder):
    run = gated_folder("-o", "out/", "--jobs", "2", start_new_session=True)
    wait_until_reached(tmp_path)
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
def test_answer_to_ctrl_c_starts_a_new_line_on_a_terminal(tmp_path, gated_folder):
    mine, its = os.openpty()
    run = gated_folder("-o", "out/", "--jobs", "2", start_new_session=True, stderr=its, stdout=its)
    os.close(its)
    shown = b""
    wait_until_reached(tmp_path)
    os.killpg(run.pid, signal.SIGINT)
    # After the last output, reading from a closed terminal is an error.
    with suppress(OSError):
        while more := os.read(mine, 1 << 16):
            shown += more
            if b"stopping after" in shown:
                (tmp_path / "gate").touch()
    os.close(mine)
    assert run.wait(WAIT) == 130
    # The progress bar, if it was shown, has left its line.
    assert re.search(rb"(\r\n|\x1b\[2K)vacr: stopping after the current sessions", shown)


def test_workers_end_when_the_run_is_killed(tmp_path, gated_folder):
    run = gated_folder("-o", "out/", "--jobs", "2", start_new_session=True)
    wait_until_reached(tmp_path)
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


def test_file_that_kills_its_worker_is_reported_and_does_not_stop_the_others(
    tmp_path, gated_folder
):
    (tmp_path / "gate").touch()
    for number in (3, 40):
        path = tmp_path / "in" / f"{number:03}.jsonl"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"kill": True}) + "\n")
    out, err = gated_folder("-o", "out/", "--jobs", "2", "--format", "json").communicate(
        timeout=WAIT
    )
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
def test_folder_is_recorded_if_no_process_can_be_started(vacr, tmp_path, fault):
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults" / "sitecustomize.py").write_text(IN_FORKSERVER + fault)
    done = vacr("record", "in", "-o", "out/", "--jobs", "2", PYTHONPATH=str(tmp_path / "faults"))
    assert done.returncode == 0, done.err
    assert done.err.count("cannot start more processes") == 1
    assert vacr("record", "in", "-o", "whole/", "--jobs", "1").returncode == 0
    assert list_records(tmp_path / "out") == list_records(tmp_path / "whole")


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.usefixtures("folder")
def test_worker_that_dies_at_its_start_does_not_block_the_run(vacr, tmp_path, number):
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
    assert list_records(tmp_path / "out") == list_records(tmp_path / "whole")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a memory limit")
@pytest.mark.usefixtures("folder")
def test_folder_is_recorded_if_no_thread_can_be_started(tmp_path):
    command = f'ulimit -v 52000; exec "{sys.executable}" -m vacr record in -o out/ --jobs 2'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    # The memory needed to start varies. The run fails, or it writes records.
    assert done.returncode != 0 or len(list_records(tmp_path / "out")) > 10


def write_codex_session(path, session):
    """Write a new session."""
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
def test_every_session_of_a_folder_gets_a_record(vacr, tmp_path, options):
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
        write_codex_session(tmp_path / "in" / name, f"file{number}")
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


def test_every_file_of_a_folder_is_recorded_or_named(vacr, tmp_path):
    write_codex_session(tmp_path / "in" / "p" / "session" / "s.jsonl", "one")
    write_codex_session(tmp_path / "in" / "p" / "real.jsonl", "two")
    write_codex_session(tmp_path / "in" / "notes.meta.json", "three")
    write_codex_session(tmp_path / "in" / "real" / "tool-results" / "x.jsonl", "four")
    write_codex_session(tmp_path / "in" / "work-journal", "five")
    write_codex_session(tmp_path / "in" / "real.jsonl", "six")
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


def test_folders_of_any_depth_are_recorded(vacr, deep):
    write_codex_session(deep / "in" / "a.jsonl", "a")
    make_folder_tree(Path(f"{deep}/in" + "/d" * 1100))
    write_codex_session(Path(f"{deep}/in" + "/d" * 1100 + "/x.jsonl"), "deep")
    done = vacr("record", "in", "-o", "out/", "--format", "json", cwd=deep)
    assert {record["session-id"] for record in json.loads(done.out)["records"]} == {"a", "deep"}


def test_names_of_any_bytes_are_reported_in_every_run(vacr, tmp_path):
    (tmp_path / "in").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/n\xff.txt")).write_text("buy milk")
    for form in ("json", "jsonl", "text"):
        for _ in range(2):
            done = vacr("record", "in", "-o", f"{form}/", "--format", form, "-v")
            assert done.returncode == 1, done.err
            assert "n�.txt" in done.err


def test_folder_in_place_of_a_record_is_reported(vacr, tmp_path, folder):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "cursor.acr.json")
    done = vacr("record", "in", "-o", "out/", "--format", "json")
    assert done.returncode == 2
    assert [error["source"] for error in json.loads(done.out)["errors"]] == [
        f"{folder.name}/cursor.jsonl"
    ]


def test_folder_and_extra_files_do_not_share_record_names(vacr, tmp_path, folder):
    write_codex_session(tmp_path / "cursor.jsonl", "mine")
    done = vacr("record", "in", "cursor.jsonl", "-o", "out/", "--overwrite")
    assert done.returncode == 0
    assert {"cursor.acr.json", f"{folder.name}/cursor.acr.json"} <= list_records(
        tmp_path / "out"
    ).keys()
