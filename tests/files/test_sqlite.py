"""Readings of a SQLite database each show one moment."""

import sqlite3
from contextlib import closing

import pytest

from vacr.files import SqliteSnapshots, sqlite


def count_rows(query):
    return len(list(query("SELECT id FROM session")))


def count_rows_twice(query):
    """Return the remembered number of rows, and the number in this transaction."""
    return query.once(count_rows), count_rows(query)


@pytest.fixture
def writer(tmp_path):
    """Return a connection that has written to the log of a database."""
    with closing(sqlite3.connect(tmp_path / "agent.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE session (id)")
        connection.execute("INSERT INTO session VALUES (1)")
        yield connection


@pytest.fixture
def snapshots(writer, tmp_path, monkeypatch):  # noqa: ARG001 - the writer makes the database
    """Return snapshots that always see unchanged files.

    So they do when an agent has written its log, but not yet committed.
    """
    reader = SqliteSnapshots(tmp_path / "agent.db")
    with closing(reader):
        state = sqlite._read_database_state(reader.path)
        monkeypatch.setattr(sqlite, "_read_database_state", lambda _: state)
        monkeypatch.setattr(sqlite, "_compute_change_age", lambda _: 10**12)
        yield reader


def test_commit_is_noticed_although_the_files_seem_unchanged(writer, snapshots):
    assert snapshots.read(count_rows_twice) == (1, 1)
    assert snapshots.read(count_rows_twice) == (1, 1)
    writer.execute("INSERT INTO session VALUES (2)")
    assert snapshots.read(count_rows_twice) == (2, 2)


def test_commit_during_a_reading_repeats_it(writer, snapshots):
    assert snapshots.read(count_rows_twice) == (1, 1)
    commits = iter([2])

    def count_while_the_agent_writes(query):
        for number in commits:
            writer.execute("INSERT INTO session VALUES (?)", [number])
        return count_rows_twice(query)

    assert snapshots.read(count_while_the_agent_writes) == (2, 2)


def test_reading_is_repeated_while_a_writer_repairs_the_log(snapshots):
    failures = [sqlite3.SQLITE_READONLY_RECOVERY, sqlite3.SQLITE_READONLY]

    def fail_twice(query):
        if failures:
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = failures.pop()
            raise error
        return count_rows(query)

    assert snapshots.read(fail_twice) == 1
