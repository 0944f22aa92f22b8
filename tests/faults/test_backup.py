"""Copies of a log: a documented backup goes on; an outdated copy is detected before it forks."""

import os
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from tests.conftest import ROOT
from tests.faults.audit import audit, publish
from tests.faults.handed import Handed
from tests.faults.load import Load
from tests.log.statements import entries, statements
from vacr.log.folder import create_log, open_log_folder, rotate_log_keys
from vacr.log.fsck import run_fsck
from vacr.log.storage import LogDamaged, StorageFailed
from vacr.signing.cose import parse_sign1
from vacr.transparency.receipt import build_log_entry


def read_documented_commands():
    """Return the commands from the documentation."""
    text = (ROOT / "docs" / "running-a-log.md").read_text()
    return text.partition("## Backup and restore")[2].split("```")[1].strip()


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "mylog"))


def vacr(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "vacr", *arguments], capture_output=True, text=True
    )


def register(log, count):
    given = statements(count)
    with closing(log.ledger()) as ledger:
        placed = ledger.append([build_log_entry(parse_sign1(statement)) for statement in given])
    publish(log)
    return [(statement, place.receipt) for statement, place in zip(given, placed, strict=True)]


def test_backup_of_a_served_log_is_complete(log, serve, tmp_path):
    if shutil.which("sqlite3") is None:
        pytest.skip(
            "NO SQLITE3 HERE: backups are not tested as they are documented; apt-get install "
            "sqlite3"
        )
    service = serve(log.path)
    with Load(service) as load:
        load.more(100)
        before = Handed(load.handed.receipts[:])
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # noqa: PTH120 - the tested vacr
        done = subprocess.run(
            ["sh", "-ec", read_documented_commands()],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": path},
        )
        assert done.returncode == 0, done.stderr
        load.more(10)
    assert service.stop() == (0, "")
    audit(log.path, load.handed)
    size = audit(tmp_path / "backup", before)
    restored = serve(tmp_path / "backup")
    assert (restored.announced["identity"], restored.announced["size"]) == (
        service.announced["identity"],
        size,
    )
    assert restored.stop() == (0, "")


def test_copy_of_a_stopped_log_is_complete(log, tmp_path):
    handed = Handed(register(log, 20))
    shutil.copytree(log.path, tmp_path / "copy")
    audit(tmp_path / "copy", handed)


@pytest.mark.parametrize("rotated", [False, True])
def test_an_older_database_is_not_served(log, tmp_path, rotated):
    register(log, 5)
    shutil.copytree(log.path, tmp_path / "older")
    newer = register(log, 3)
    if rotated:
        rotate_log_keys(log)
        shutil.copytree(tmp_path / "older" / "keys", log.path / "keys", dirs_exist_ok=True)
        newer += register(log, 1)
        shutil.copytree(tmp_path / "older" / "keys", log.path / "keys", dirs_exist_ok=True)
    shutil.copy(log.path / "log.db", tmp_path / "newest.db")
    shutil.copy(tmp_path / "older" / "log.db", log.path / "log.db")
    expected = (
        "the database may be an older copy"
        if rotated
        else "it has 6 entries, but 9 were already published"
    )
    assert any(expected in told for told in run_fsck(log).findings.problems)
    for verb in (["serve", "--port", "0"], ["rotate"]):
        done = vacr("log", *verb, str(log.path))
        assert (done.returncode, done.stdout) == (1, "")
        assert expected in done.stderr
        assert "Restore the newest copy of the database" in done.stderr
        assert "Traceback" not in done.stderr
    shutil.copy(tmp_path / "newest.db", log.path / "log.db")
    if not rotated:
        audit(log.path, Handed(newer))


def test_forked_log_is_not_served(log, tmp_path):
    shutil.copytree(log.path, tmp_path / "other")
    register(log, 5)
    register(open_log_folder(str(tmp_path / "other")), 5)
    shutil.copy(tmp_path / "other" / "log.db", log.path / "log.db")
    with pytest.raises(LogDamaged, match="belongs to a different log"):
        log.ledger()


def test_database_rolled_back_while_in_use_is_detected(log, tmp_path):
    shutil.copy(log.path / "log.db", tmp_path / "older.db")
    with closing(log.ledger()) as ledger:
        ledger.append(entries(5))
        ledger.storage.close()
        shutil.copy(log.path / "log.db", tmp_path / "newest.db")
        shutil.copy(tmp_path / "older.db", log.path / "log.db")
        with pytest.raises(StorageFailed):
            ledger.append(entries(1))
        for _ in range(2):
            with pytest.raises(LogDamaged, match="the log had 6 entries, and some are missing now"):
                ledger.append(entries(1))
        ledger.storage.close()
        shutil.copy(tmp_path / "newest.db", log.path / "log.db")
        with pytest.raises(StorageFailed):
            ledger.append(entries(1))
        assert [entry.position for entry in ledger.append(entries(1))] == [6]
    audit(log.path, Handed())
