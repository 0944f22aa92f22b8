"""Published tiles and checkpoints, also after failures, and never an older one."""

import shutil
import time
from contextlib import closing

import pytest

from tests.log.running import Running
from tests.log.statements import entries, statement
from vacr.log.folder import create_log, rotate_log_keys
from vacr.log.fsck import run_fsck
from vacr.log.publishing import Publisher, ReaderPool, read_published_size


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"))


def add(log, count):
    with closing(log.ledger()) as ledger:
        return ledger.append(entries(count))


def test_publishing_is_retried_until_it_succeeds(log):
    readers = ReaderPool(log.reader)
    publisher = Publisher(readers, log.keyring, log.public, pause=0, interval=0.01)
    log.public.write_text("in the way of a folder")
    publisher.start()
    while publisher.failure is None:
        time.sleep(0.01)
    assert "File exists" in str(publisher.failure) or "Not a directory" in str(publisher.failure)
    log.public.unlink()
    while publisher.failure is not None:
        time.sleep(0.01)
    assert read_published_size(log.public) == publisher.size == 1
    publisher.close()
    readers.close()
    assert run_fsck(log).findings.problems == []


def test_entries_of_other_processes_are_published(log):
    with Running(log.path) as service:
        service.post(statement())
        rotate_log_keys(log)
        while read_published_size(log.public) < 3:
            time.sleep(0.05)
    assert run_fsck(log).findings.problems == []


def test_missing_tiles_are_detected_and_republished(log):
    add(log, 300)
    with Running(log.path):
        while read_published_size(log.public) < 301:
            time.sleep(0.05)
    assert run_fsck(log).findings.problems == []
    for name in ("0/000", "entries/001.p/45", "1/000.p/1"):
        (log.public / "tile" / name).rename(log.public / "kept")
        (problem,) = run_fsck(log).findings.problems
        assert f"tile/{name} is missing" in problem
        (log.public / "kept").rename(log.public / "tile" / name)
    shutil.rmtree(log.public / "tile")  # as if only the checkpoint was restored
    with Running(log.path) as service:
        service.post(statement())
        while read_published_size(log.public) < 302:
            time.sleep(0.05)
    assert run_fsck(log).findings.problems == []
    shutil.rmtree(log.public)
    with Running(log.path):
        while read_published_size(log.public) < 302:
            time.sleep(0.05)
    assert run_fsck(log).findings.problems == []
