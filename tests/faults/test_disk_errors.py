"""A process killed, a call refused, a disk that dies: at every write, sync, rename, creation and removal of a log."""

import shutil

import pytest

from tests.faults.stages import STAGES, check_stage, template
from tests.faults.tracing import counted, need_strace, scenario
from tests.log.statements import statements

FAULTS = {
    "killed": "signal=SIGKILL:when={}",
    "refused": "error=EIO:when={}",
    "dead": "error=EIO:when={}+",
    "full": "error=ENOSPC:when={}+",
}
GROWING = ("pwrite64", "write", "ftruncate", "mkdir")
"""The calls that a full disk refuses."""


@pytest.fixture(autouse=True)
def _strace():
    need_strace()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost(stage, fault, tmp_path, some):
    origin = tmp_path / "origin" / "log"
    template(stage, origin)
    given = statements(7)
    place = tmp_path / "run" / "log"
    shutil.copytree(origin.parent, place.parent)
    points = counted(stage, place, given, tmp_path / "trace")
    assert {name for name, _ in points} >= {"pwrite64", "fdatasync", "rename", "fsync", "write"}
    chosen = some([point for point in points if fault != "full" or point[0] in GROWING], 2)
    print(f"{stage}, {fault}: {len(chosen)} calls")
    for name, number in chosen:
        shutil.rmtree(place.parent)
        shutil.copytree(origin.parent, place.parent)
        told = f"{stage}: {fault} at {name} {number}"
        injected = f"inject={name}:{FAULTS[fault].format(number)}"
        code, handed = scenario(stage, place, given, "-e", f"trace={name}", "-e", injected)
        assert code in ((-9, 137) if fault == "killed" else (0, 1, 2, 3, 4)), f"{told}: ended by {code}"
        check_stage(stage, place, handed, told)
