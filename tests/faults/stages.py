"""The log that each stage of the scenario starts with, and the checks after a disturbance."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.faults.audit import audit, publish
from tests.faults.handed import Handed
from tests.log.statements import entries
from vacr.errors import UnreadableInput, UsageError
from vacr.log.folder import create_log, open_log_folder

STAGES = ("append", "simple", "rotate", "init")


def create_stage_log(stage, path):
    """Create the log that a stage starts with."""
    if stage == "init":
        path.parent.mkdir()
        return
    folder = create_log(str(path))
    with closing(folder.ledger()) as ledger:
        ledger.append(entries(2))
        if (
            stage == "simple"
        ):  # remains of a killed process: its commits are only in the write-ahead log
            with closing(sqlite3.connect(path / "log.db")) as other:
                other.execute("SELECT count(*) FROM head").fetchall()
                ledger.append(entries(2))
                shutil.copytree(path, path.parent / "left")
    if stage == "append":
        publish(folder)
        folder.ledger().close()  # removes the write-ahead log, so that a new one is needed
    if stage == "simple":
        shutil.rmtree(path)
        (path.parent / "left").rename(path)
        (path / "log.db-shm").unlink()
        assert (path / "log.db-wal").stat().st_size


def check_stage(stage, place, handed, where):
    """Check the log after a stage, or the remains of a stage that creates one."""
    if stage == "init":
        audit_creation(place, handed, where)
    else:
        audit(place, handed, where=where)


def audit_creation(place, handed, where):
    """Check that the log is complete, or missing and can be created."""
    if (place / "log.json").exists():
        with pytest.raises(UsageError, match="already contains a log"):
            create_log(str(place))
    else:
        assert "made" not in handed.others, where
        with pytest.raises(UnreadableInput, match="does not contain a log"):
            open_log_folder(str(place))
        create_log(str(place))
    audit(place, Handed(), where=where)
