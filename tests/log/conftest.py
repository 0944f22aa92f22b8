"""Logs to test with, in SQLite and, where it is installed, in a real PostgreSQL."""

import itertools

import pytest

from tests.log.postgresql import PostgreSQL, binaries
from vacr.log.folder import create_log

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgresql():
    if binaries() is None:
        pytest.skip(
            "NO POSTGRESQL HERE: logs in a PostgreSQL are not tested; apt-get install postgresql"
        )
    server = PostgreSQL()
    yield server
    server.stop()


@pytest.fixture
def database(postgresql):
    """Yield an empty database."""
    return postgresql.database(f"log{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def folder(request, tmp_path):
    """Return a new log."""
    address = request.getfixturevalue("database") if request.param == "postgresql" else None
    return create_log(str(tmp_path / "log"), database=address)
