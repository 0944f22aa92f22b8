"""Retention: deleted journals do not come back, and waiting records reach the log."""

import subprocess
import sys

import pytest

from tests.capture.hooks import run_hook
from tests.capture.watching import add, lines
from tests.log.running import Running
from vacr.log.folder import create_log

pytestmark = pytest.mark.component


def test_deleted_journal_does_not_come_back(machine):
    path = machine.transcript()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(4))
    event = b'{"session_id":"%s","transcript_path":"%s","hook_event_name":"Stop"}' % (
        path.stem.encode(),
        str(path).encode(),
    )
    run_hook(machine.state, "claude-code", stdin=event)
    machine.once("--quiet-after", "0", "--keep", "0")
    sealed = machine.sealed()
    assert len(sealed) == 1
    for _ in range(3):
        machine.once("--quiet-after", "0", "--keep", "0")
    assert machine.sealed() == sealed
    assert machine.names() == []
    run_hook(machine.state, "claude-code", stdin=event)  # it goes on
    path.write_bytes(lines(5))
    machine.once("--quiet-after", "0")
    assert len(machine.sealed()) == 2
    assert machine.check_intact()
    for record in machine.sealed():
        assert record.stat().st_mode & 0o077 == 0
    assert machine.state.stat().st_mode & 0o077 == 0


def test_records_are_registered_once_the_log_is_back(machine, tmp_path):
    log = create_log(str(tmp_path / "log"))
    with Running(log.path) as service:
        url, port = service.url, service.url.rpartition(":")[2].strip("/")
    path = machine.transcript()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(4))
    machine.once("--quiet-after", "0", "--service", url, "--patience", "0")
    (record,) = machine.sealed()
    verify = (
        "verify",
        record,
        "--trust",
        machine.state / "keys" / "signing.pub.pem",
        "--log-key",
        log.path,
    )
    assert machine.run(*verify).returncode == 1
    again = subprocess.Popen(
        [sys.executable, "-m", "vacr", "log", "serve", str(log.path), "--port", port],
        stdout=subprocess.PIPE,
    )
    try:
        assert again.stdout.readline()
        machine.once("--service", url)
    finally:
        again.terminate()
        again.communicate()
    assert machine.run(*verify).returncode == 0
    assert (
        machine.run("journal", "verify", "--record", record, "--log-key", log.path).returncode == 0
    )


def test_unknown_agent_is_refused(machine):
    done = machine.run("watch", "--once", "--agent", "claude")
    assert (done.returncode, "Known agents: claude-code" in done.err) == (2, True)


def test_missing_anchor_is_reported(machine, tmp_path):
    machine.once()
    log = create_log(str(tmp_path / "log"))
    assert machine.check_intact("--log-key", log.path)["notices"] == [
        "no checkpoint is anchored in a log; use vacr watch --service"
    ]


def test_empty_capture_is_reported(machine):
    assert "To capture older sessions, add --all." in machine.once().err
    add(machine.transcript(), lines(2))
    assert "To capture older sessions, add --all." not in machine.once().err
