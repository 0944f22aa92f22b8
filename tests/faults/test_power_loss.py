"""A power cut may lose, tear or reorder unsynced data, but never loses an issued receipt."""

import copy
import hashlib
import shutil

import pytest

from tests.faults.disk import Chance, Disk
from tests.faults.stages import STAGES, check_stage, create_stage_log
from tests.faults.tracing import count_calls, need_strace
from tests.faults.writelog import Replay, record
from tests.log.statements import statements


@pytest.fixture(autouse=True)
def _strace():
    need_strace()


@pytest.mark.parametrize("stage", STAGES)
def test_power_loss_loses_nothing(stage, tmp_path, some, many):
    origin = tmp_path / "disk"
    create_stage_log(stage, origin / "log")
    place = origin / ("new/folder/log" if stage == "init" else "log")
    disk = Disk(origin)
    calls = record(stage, place, statements(7), tmp_path / "trace")
    asked = filter_disk_calls(disk, calls)
    points = some(asked, 8)
    count = lose_power(
        stage, disk, calls, points, place.relative_to(origin), tmp_path / "crashed", many(1, 12)
    )
    print(f"{stage}: {count} states of the disk, at {len(points)} of {len(asked)} calls")


@pytest.mark.parametrize("stage", ["append", "simple", "rotate"])
def test_power_loss_after_a_failed_sync_loses_nothing(stage, tmp_path, some, many):
    """After a failed sync, the kernel returns the data but never writes it: syncing again is not
    enough.
    """
    create_stage_log(stage, tmp_path / "origin" / "log")
    given = statements(7)
    shutil.copytree(tmp_path / "origin", tmp_path / "disk")
    syncs = [
        number
        for name, number in count_calls(stage, tmp_path / "disk/log", given, tmp_path / "trace")
        if name == "fdatasync"
    ]
    for number in some(syncs, 1):
        shutil.rmtree(tmp_path / "disk")
        shutil.copytree(tmp_path / "origin", tmp_path / "disk")
        disk = Disk(tmp_path / "disk")
        injected = ("-e", f"inject=fdatasync:error=EIO:when={number}")
        calls = record(stage, tmp_path / "disk/log", given, tmp_path / "trace", *injected)
        failed = min(at for at, call in enumerate(calls) if call[0] == "fdatasync" and call[4] < 0)
        points = some([at for at in filter_disk_calls(disk, calls) if at > failed], 4)
        count = lose_power(f"{stage}", disk, calls, points, "log", tmp_path / "crashed", many(1, 2))
        print(f"{stage}, sync {number} failed: {count} states of the disk, at {len(points)} calls")


def test_power_loss_after_a_failed_sync_and_a_restart_loses_nothing(tmp_path, some, many):
    """The next process finds data that was never synced, and must rewrite it before it issues a
    receipt.
    """
    create_stage_log("rotate", tmp_path / "disk" / "log")
    disk, given = Disk(tmp_path / "disk"), statements(3)
    # A thread syncs the new write-ahead log, its name and the first batch. The fourth sync, of the
    # second batch, fails.
    calls = record(
        "relapse",
        tmp_path / "disk/log",
        given,
        tmp_path / "trace",
        "-e",
        "inject=fdatasync:error=EIO:when=4",
    )
    asked = filter_disk_calls(disk, calls)
    assert lose_power(
        "relapse", disk, calls, some(asked, 15), "log", tmp_path / "crashed", many(0, 5)
    )
    replay = Replay(disk)
    for call in calls:
        replay.do(call)
    assert {statement for statement, _ in replay.handed.receipts} == set(given)


def lose_power(stage, disk, calls, points, place, crashed, chances):
    """Replay a run up to each point, and check the disk with no, all, or random unsynced writes."""
    replay, seen = Replay(disk.copy()), set()
    for at, call in enumerate(calls):
        replay.do(call)
        if at not in points:
            continue
        for chance in [Chance(), None, *map(Chance, range(at * 100, at * 100 + chances))]:
            replay.disk.write_to(crashed, chance)
            handed = replay.handed
            state = (
                compute_digest(crashed),
                len(handed.receipts),
                len(handed.checkpoints),
                len(handed.others),
            )
            if state not in seen:
                seen.add(state)
                where = (
                    f"{stage}: power lost after call {at}, {call[0]} of {call[3][-60:]}, {chance}"
                )
                check_stage(stage, crashed / place, copy.deepcopy(handed), where)
            shutil.rmtree(crashed)
    return len(seen)


def filter_disk_calls(disk, calls):
    """Return the calls that change the disk."""
    replay = Replay(disk.copy())
    return [at for at, call in enumerate(calls) if replay.do(call)]


def compute_digest(folder):
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return found.digest()
