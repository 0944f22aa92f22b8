"""The power fails: of what was not synced, anything may be lost, torn or in another order. Nothing that was handed out is."""

import copy
import hashlib
import shutil

import pytest

from tests.faults.disk import Chance, Disk
from tests.faults.stages import STAGES, check_stage, template
from tests.faults.tracing import need_strace
from tests.faults.writelog import Replay, record
from tests.log.statements import statements


@pytest.fixture(autouse=True)
def _strace():
    need_strace()


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_lost(stage, tmp_path, some, many):
    origin = tmp_path / "disk"
    template(stage, origin / "log")
    place = origin / ("new/folder/log" if stage == "init" else "log")
    disk = Disk(origin)
    calls = record(stage, place, statements(7), tmp_path / "trace")
    asked = asking(disk, calls)
    points = set(some(asked, 12))
    replay, seen, count = Replay(disk.copy()), set(), 0
    for at, call in enumerate(calls):
        replay.do(call)
        if at not in points:
            continue
        chances = [Chance(), None, *map(Chance, range(at * 100, at * 100 + many(1, 12)))]
        for chance in chances:
            crashed = tmp_path / "crashed"
            replay.disk.write_to(crashed, chance)
            state = (digest(crashed), len(replay.handed.receipts), len(replay.handed.checkpoints), len(replay.handed.others))
            if state not in seen:
                seen.add(state)
                told = f"{stage}: power lost after call {at}, {call[0]} of {call[3][-60:]}, {chance}"
                check_stage(stage, crashed / place.relative_to(origin), copy.deepcopy(replay.handed), told)
                count += 1
            shutil.rmtree(crashed)
    print(f"{stage}: {count} states of the disk, at {len(points)} of {len(asked)} calls")


def asking(disk, calls):
    """Give which calls ask something of the disk."""
    replay = Replay(disk.copy())
    return [at for at, call in enumerate(calls) if replay.do(call)]


def digest(folder):
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return found.digest()
