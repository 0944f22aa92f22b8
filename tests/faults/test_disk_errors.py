"""A kill, a failed call or a dead disk at every write, sync, rename, creation and removal."""

import shutil

import pytest

from tests.faults.conftest import FULL
from tests.faults.stages import STAGES, check_stage, create_stage_log
from tests.faults.tracing import CALLS, count_calls, need_strace, run_stage
from tests.log.statements import SIGNER, statements
from vacr.signing.statement import sign

FAULTS = {
    "killed": "signal=SIGKILL:when={}",
    "refused": "error=EIO:when={}",
    "dead": "error=EIO:when={}+",
    "full": "error=ENOSPC:when={}+",
}
GROWING = ("pwrite64", "write", "ftruncate", "mkdir")
"""The calls that a full disk refuses."""
KINDS = (
    ("pwrite64", "write"),
    ("fdatasync", "fsync"),
    ("rename",),
    ("ftruncate", "unlink", "mkdir"),
)
"""Calls of one kind: in the short form every fault meets each kind in one of the stages."""


@pytest.fixture(autouse=True)
def _strace():
    need_strace()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_disk_errors_lose_nothing(stage, fault, tmp_path, some):
    given = statements(7)
    points = begin(stage, given, tmp_path)
    assert {name for name, _ in points} >= {"pwrite64", "fdatasync", "rename", "fsync", "write"}
    meant = [point for point in points if fault != "full" or point[0] in GROWING]
    chosen = (
        meant
        if FULL
        else some(
            [point for point in meant if point[0] in find_met_call(stage, fault)] or meant,
            1,
            f"{stage} {fault}",
        )
    )
    print(f"{stage}, {fault}: {len(chosen)} calls, the first {chosen[0]}")
    disturb(stage, fault, given, chosen, tmp_path)


def find_met_call(stage, fault):
    """Return the kind of call that a fault disturbs in a stage of the short form."""
    return KINDS[(STAGES.index(stage) + list(FAULTS).index(fault)) % len(KINDS)]


def test_short_form_disturbs_every_kind_of_call():
    assert {call for kind in KINDS for call in kind} == set(CALLS)
    for fault in FAULTS:
        assert {find_met_call(stage, fault) for stage in STAGES} == set(KINDS), fault


@pytest.mark.parametrize("fault", ["killed", "refused", "full"])
def test_batch_that_fills_the_write_ahead_log_is_safe(fault, tmp_path, many):
    """SQLite then checkpoints within the commit; if that fails, it reports a failed commit."""
    given = [sign(bytes([number]) * 60_000, SIGNER, profile="attached") for number in range(70)]
    points = begin("large", given, tmp_path)
    writes = [number for name, number in points if name == "pwrite64"]
    assert len(writes) > 2000
    # Some faults hit writes to the write-ahead log, most hit the checkpoint into the database.
    numbers = [*writes[:: len(writes) // many(1, 10)], *writes[-900 :: 900 // many(1, 20)]]
    syncs = (
        []
        if fault == "full"
        else [point for point in points if point[0] == "fdatasync"][:: many(2, 1)]
    )
    disturb(
        "large", fault, given, [*(("pwrite64", number) for number in numbers), *syncs], tmp_path
    )


@pytest.mark.parametrize("stage", ["append", "simple"])
def test_unopenable_files_lose_nothing(stage, tmp_path, some):
    given = statements(7)
    place = tmp_path / "run" / "log"
    only = [f"-P{place / name}" for name in ("log.db", "log.db-wal", "log.db-shm", "log.lock")]
    points = begin(stage, given, tmp_path, calls=("openat",), only=only)
    assert len(points) > 3
    disturb(stage, "refused", given, some(points, 2), tmp_path, only=only)


def begin(stage, given, folder, **which):
    """Create the log for a stage, run it without a fault, and return the calls to disturb."""
    create_stage_log(stage, folder / "origin" / "log")
    shutil.copytree(folder / "origin", folder / "run")
    return count_calls(stage, folder / "run" / "log", given, folder / "trace", **which)


def disturb(stage, fault, given, points, folder, only=()):
    """Run a stage once per point, inject the fault there, and check the remains."""
    for name, number in points:
        shutil.rmtree(folder / "run")
        shutil.copytree(folder / "origin", folder / "run")
        where = f"{stage}: {fault} at {name} {number}"
        injected = f"inject={name}:{FAULTS[fault].format(number)}"
        code, handed = run_stage(
            stage, folder / "run" / "log", given, *only, "-e", f"trace={name}", "-e", injected
        )
        assert code in ((-9, 137) if fault == "killed" else (0, 1, 2, 3, 4)), (
            f"{where}: ended by {code}"
        )
        check_stage(stage, folder / "run" / "log", handed, where)
