"""Every kind of damage to a log is found."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import entries, statements
from vacr.errors import VacrError
from vacr.log.folder import create_log
from vacr.log.fsck import run_fsck
from vacr.log.publishing import read_published_size


@pytest.fixture
def log(tmp_path):
    """Return a log with some tiles, several heads and published files."""
    folder = create_log(str(tmp_path / "log"))
    with closing(folder.ledger()) as ledger:
        ledger.append(entries(300))
        ledger.append(entries(5))
    with Running(folder.path) as service:
        for statement in statements(2):
            service.post(statement)
    assert run_fsck(folder).findings.problems == []
    return folder


DAMAGE = {
    "an entry is changed": (
        "UPDATE entries SET entry = x'00' WHERE position = 77",
        "entry 77 was changed",
    ),
    "an entry is missing": ("DELETE FROM entries WHERE position = 200", "entries are missing"),
    "two entries are swapped": (
        (
            "UPDATE entries SET entry = (SELECT entry FROM entries o WHERE o.position = 7 - "
            "entries.position) WHERE position = 3"
        ),
        "entry 3 was changed",
    ),
    "the last entry is missing": (
        "DELETE FROM entries WHERE position = 307",
        "entries are missing",
    ),
    "an extra entry": (
        "INSERT INTO entries VALUES (308, x'00')",
        "the database has 309 entries instead of 308",
    ),
    "a tile is changed": (
        "UPDATE tiles SET hashes = zeroblob(8192) WHERE place = 0",
        "entry 0 was changed",
    ),
    "the last tile is cut": (
        "UPDATE tiles SET hashes = substr(hashes, 1, 32) WHERE place = 1",
        "tile 0/1 does not match",
    ),
    "a tile of a higher level is missing": (
        "DELETE FROM tiles WHERE place > 1000",
        "tile 1/0 does not match",
    ),
    "an extra tile": (
        "INSERT INTO tiles VALUES (9, x'00')",
        "the database has 4 tiles instead of 3",
    ),
    "the index lacks an entry": (
        "DELETE FROM new_leaves WHERE position = 5",
        "entry 5 is not in the index",
    ),
    "the index has an extra entry": (
        "INSERT INTO new_leaves VALUES (1, 5)",
        "the database has 309 leaves instead of 308",
    ),
    "a root is replaced": (
        "UPDATE heads SET root = zeroblob(32) WHERE size = 301",
        "the root signed for size 301",
    ),
    "a signature is replaced": (
        "UPDATE heads SET signature = zeroblob(64) WHERE size = 301",
        "the head of size 301",
    ),
    "a header is replaced": (
        "UPDATE heads SET protected = x'a0' WHERE size = 306",
        "the head of size 306",
    ),
    "a time is replaced": (
        "UPDATE heads SET time = time + 1 WHERE size = 306",
        "the head of size 306",
    ),
    "a head is missing": (
        "DELETE FROM heads WHERE size = (SELECT size FROM head)",
        "the current tree head is missing",
    ),
    "an extra head": (
        (
            "INSERT INTO heads SELECT 400, root, protected, signature, time, description FROM "
            "heads WHERE size = 301"
        ),
        "a head of size 400 was signed",
    ),
    "the head is older": (
        "UPDATE head SET size = 301",
        "was signed, but the log has only 301 entries",
    ),
    "the description of another log": (
        "UPDATE heads SET description = 3 WHERE size = 306",
        "not a valid description of the log",
    ),
    "the first entry is replaced": (
        "UPDATE entries SET entry = x'00' WHERE position = 0",
        "not the log's description",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_in_the_database_is_detected(log, name):
    statement, problem = DAMAGE[name]
    with closing(sqlite3.connect(log.path / "log.db")) as database, database:
        database.execute(statement)
    found = run_fsck(log).findings.problems
    assert any(problem in finding for finding in found), found


def test_flipped_bytes_of_the_database_are_detected(log):
    """Flip bytes all over the database file: each is detected, or lies in unused space."""
    path = log.path / "log.db"
    whole = path.read_bytes()
    found = 0
    for at in range(5000, len(whole), len(whole) // 40):
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        path.write_bytes(bytes(changed))
        try:
            found += bool(run_fsck(log).findings.problems)
        except VacrError:  # the file is not a database any more
            found += 1
    assert found > 25


FILES = {
    "a tile": "public/tile/0/000",
    "a bundle": "public/tile/entries/000",
    "the checkpoint": "public/checkpoint",
    "the keys": "receipt-keys.pem",
}


@pytest.mark.parametrize("name", FILES)
def test_damage_in_files_is_detected(log, name):
    path = log.path / FILES[name]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x01
    path.write_bytes(bytes(data))
    done = vacr("log", "fsck", log.path, "--format", "json", cwd=log.path)
    assert done.returncode == 1
    assert any(path.name in finding for finding in json.loads(done.stdout)["findings"])


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs the file /proc/self/mem")
def test_unreadable_tile_is_a_finding(log):
    tile = log.path / "public/tile/0/000"
    tile.unlink()
    tile.symlink_to("/proc/self/mem")  # reading fails, as on a damaged disk
    (log.path / "receipt-keys.pem").write_text("damaged")
    done = vacr("log", "fsck", log.path, "--format", "json", cwd=log.path)
    assert done.returncode == 1
    findings = json.loads(done.stdout)["findings"]
    assert sum(str(tile) in finding for finding in findings) == 1
    assert any("receipt-keys.pem" in finding for finding in findings)


def test_missing_log_is_reported(tmp_path):
    done = vacr("log", "fsck", tmp_path, cwd=tmp_path)
    assert done.returncode == 3
    assert "vacr log init" in done.stderr
    create_log(str(tmp_path / "log"))
    (tmp_path / "log" / "log.db").unlink()
    done = vacr("log", "fsck", "log/", cwd=tmp_path)
    assert (done.returncode, "log.db: the log's database file is missing" in done.stderr) == (
        3,
        True,
    )
    assert "vacr log init" not in done.stderr


def test_missing_head_of_a_published_tree_is_detected(tmp_path):
    folder = create_log(str(tmp_path / "log"))
    with Running(folder.path) as service:
        for number, statement in enumerate(statements(3)):
            service.post(statement)
            while read_published_size(folder.public) < number + 2:
                time.sleep(0.05)
    assert run_fsck(folder).findings.problems == []
    with closing(sqlite3.connect(folder.path / "log.db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM heads WHERE size = 3")
    (problem,) = run_fsck(folder).findings.problems
    assert (
        "published a tree of 3 entries, but the database has no signed head of that size" in problem
    )


def test_missing_keys_are_not_damage(log):
    for path in (log.path / "keys").iterdir():
        path.unlink()
    done = vacr("log", "fsck", log.path, "--format", "json", cwd=log.path)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["clean"], found["findings"]) == (True, [])
    assert ["receipt key" in found["remarks"][0], "checkpoint key" in found["remarks"][1]] == [
        True,
        True,
    ]
    assert "can be verified here, but not extended" in done.stderr


def test_database_without_a_log_is_reported(database, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tests.log.commands.ENVIRONMENT", {"XDG_DATA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    )
    for verb in (("fsck",), ("prove", "--entry", 1), ("rotate",)):
        done = vacr("log", *verb, "--database", database, cwd=tmp_path)
        assert (done.returncode, "this database does not contain a log" in done.stderr) == (
            3,
            True,
        ), done.stderr
        assert "vacr log init" in done.stderr


def test_concurrent_publishing_is_not_damage(log):
    done = []
    with Running(log.path) as service:

        def progress(*_):
            if not done:
                done.append(service.post(statements(1)[0])[0])
                while read_published_size(log.public) < 309:
                    time.sleep(0.05)

        found = run_fsck(log, progress)
    assert (found.size, found.findings.problems, done) == (308, [], [201])
