"""A PostgreSQL killed under a service, and cut connections: no receipt lost, no entry twice."""

import itertools
from contextlib import closing, nullcontext

import pytest

from tests.faults.audit import audit, publish
from tests.faults.conftest import FULL
from tests.faults.cutting import LATE, LOST, UNANSWERED, UNSEEN, Cutting
from tests.faults.handed import Handed
from tests.faults.load import Load
from tests.log.statements import entries, statements
from vacr.errors import UsageError
from vacr.log.folder import create_log, open_log_folder
from vacr.log.storage import StorageFailed
from vacr.signing.cose import parse_sign1
from vacr.transparency.receipt import build_log_entry


def test_killed_server_loses_nothing(postgresql, database, tmp_path, serve, many):
    log = create_log(str(tmp_path / "log"), database=database)
    service = serve(log.path)
    with Load(service) as load:
        for _ in range(many(2, 12)):
            load.more(40)
            postgresql.kill()
            load.until_refused()
            postgresql.start()
        load.more(40)
    assert service.stop()[0] == 0
    audit(log.path, load.handed)


def test_interrupted_commits_lose_nothing(database, tmp_path, serve, many):
    log = create_log(str(tmp_path / "log"), database=database)
    hows = [None, LOST, None, UNANSWERED, None, UNSEEN, None, LATE] * many(2, 15)
    with closing(Cutting(database, iter(hows))) as way:
        service = serve(log.path, "--database", way.address)
        with Load(service) as load:
            while len(way.cut) < len(hows) // 2:
                load.more(1)
            load.more(30)
        assert service.stop()[0] == 0
    audit(log.path, load.handed)


@pytest.mark.parametrize("how", [LOST, UNANSWERED, UNSEEN, LATE])
def test_commit_with_an_unknown_outcome_is_resolved(database, tmp_path, how):
    log = create_log(str(tmp_path / "log"), database=database)
    with closing(Cutting(database, iter([how]))) as way:
        with closing(log.__class__(log.path, way.address).ledger()) as ledger:
            given = statements(3)
            with pytest.raises(StorageFailed):
                ledger.append([build_log_entry(parse_sign1(statement)) for statement in given])
            placed = ledger.append([build_log_entry(parse_sign1(statement)) for statement in given])
            assert [entry.position for entry in placed] == [1, 2, 3]
            assert {entry.new for entry in placed} == {how == LOST}
        assert way.cut == [how]
    audit(
        log.path,
        Handed(
            [(statement, place.receipt) for statement, place in zip(given, placed, strict=True)]
        ),
    )


@pytest.mark.parametrize("how", [LOST, UNANSWERED, UNSEEN])
def test_interrupted_creation_keeps_the_keys(database, tmp_path, how):
    """The keys stay: if the database has a log that names them, they cannot be replaced."""
    place = str(tmp_path / "log")
    with closing(Cutting(database, itertools.chain([how], itertools.repeat(None)))) as way:
        with pytest.raises(StorageFailed):
            create_log(place, database=way.address)
        already = pytest.raises(UsageError, match="this database already contains a log")
        with nullcontext() if how == LOST else already:
            create_log(place, database=database)
    with closing(open_log_folder(place, database).ledger()) as ledger:
        assert [entry.position for entry in ledger.append(entries(2))] == [1, 2]


def test_emptied_database_is_refused(postgresql, database, tmp_path):
    """The folder had a log, which must not be replaced by a new one."""
    log = create_log(str(tmp_path / "log"), database=database)
    publish(log)
    with pytest.raises(UsageError, match=r"already contains a log, but its database is empty"):
        create_log(
            str(log.path),
            database=postgresql.database(f"{log.path.parent.name.lower()}_empty"[-40:]),
        )


@pytest.mark.skipif(not FULL, reason="takes half a minute: make faults")
def test_hanging_writer_does_not_stop_the_others(database, tmp_path):
    log = create_log(str(tmp_path / "log"), database=database)
    with closing(log.ledger()) as hanging, closing(log.ledger()) as other:
        hung = hanging.storage.transaction()
        hung.__enter__()
        assert [entry.position for entry in other.append(entries(2))] == [1, 2]
        with pytest.raises(StorageFailed):
            hung.__exit__(None, None, None)
        with pytest.raises(StorageFailed):
            hanging.append(entries(1))
        assert [entry.position for entry in hanging.append(entries(1))] == [3]
    audit(log.path, Handed())
