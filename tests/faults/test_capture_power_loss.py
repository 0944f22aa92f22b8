"""Loss of power during capture: durable content is neither lost nor doubled."""

import copy
import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from tests.capture.watching import Machine
from tests.conftest import ROOT
from tests.faults.captured import DurableReports, check_again, check_left
from tests.faults.disk import Chance, Disk
from tests.faults.test_power_loss import compute_digest, filter_disk_calls
from tests.faults.tracing import need_strace
from tests.faults.writelog import Replay, build_strace_options, parse_calls


@pytest.fixture
def machine(tmp_path):
    """Return a machine whose state folder is on its own disk, and does not exist yet."""
    need_strace()
    found = Machine(tmp_path)
    found.disk = tmp_path / "disk"
    found.disk.mkdir()
    found.state = found.disk / "new" / "state"
    return found


def trace_stage(machine, stage, output, *injected):
    """Run a stage, and return its system calls."""
    command = [
        sys.executable,
        "-m",
        "tests.faults.capture_scenario",
        stage,
        str(machine.home),
        str(machine.state),
    ]
    quick = [] if injected else ["--seccomp-bpf"]
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        "strace",
        "-f",
        "-qq",
        *quick,
        "-o",
        str(output),
        *build_strace_options(),
        *injected,
        *command,
    ]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=settings)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert injected or done.returncode == 0, done.stderr.decode()
    return parse_calls(output)


def test_power_loss_loses_or_doubles_nothing(machine, tmp_path, some, many):
    disk = Disk(machine.disk)
    calls = trace_stage(machine, "whole", tmp_path / "trace")
    asked = filter_disk_calls(disk, calls)
    points = some(asked, 10)
    count = lose_power(machine, disk, calls, points, many(1, 2))
    print(f"{count} states of the disk, at {len(points)} of {len(asked)} calls")


def test_event_read_before_its_sync_survives(machine, tmp_path, some, many):
    """Its spool must not become shorter than the offset in the journal."""
    disk = Disk(machine.disk)
    calls = trace_stage(machine, "hooks", tmp_path / "trace")
    read = min(
        at for at, call in enumerate(calls) if call[0] == "writev" and b"journaled" in call[1][0]
    )
    asked = [at for at in filter_disk_calls(disk, calls) if at > read]
    assert lose_power(machine, disk, calls, [*asked[:2], *some(asked[2:], 3)], many(0, 2))


@pytest.mark.parametrize("fault", ["signal=SIGKILL", "error=EIO"])
def test_power_loss_after_a_disturbed_watcher_loses_nothing(machine, fault, tmp_path, some, many):
    """The next watcher must sync the writes of the disturbed one before it builds on them."""
    disk = Disk(machine.disk)
    calls = trace_stage(machine, "hooks", tmp_path / "trace")
    syncs = Counter(
        call[0] for call in calls if call[5] == calls[0][5] and call[0] in ("fsync", "fdatasync")
    )
    for call, number in some(
        [(name, at + 1) for name, count in syncs.items() for at in range(count)][:: many(1, 2)],
        1,
        fault,
    ):
        for folder in (machine.disk, machine.home):
            shutil.rmtree(folder)
            folder.mkdir()
        first = trace_stage(
            machine, "hooks", tmp_path / "trace", "-e", f"inject={call}:{fault}:when={number}"
        )
        calls = [*first, *trace_stage(machine, "hooks", tmp_path / "trace")]
        asked = [at for at in filter_disk_calls(disk, calls) if at >= len(first)]
        points = asked[:: -(-len(asked) // many(3, 6))]
        count = lose_power(machine, disk, calls, points, many(0, 1))
        print(f"{fault} at {call} {number}: {count} states of the disk, at {len(points)} calls")


def lose_power(machine, disk, calls, points, chances):
    """Replay a run up to each point, and check the disk with no, all, or some unsynced writes."""
    replay, seen = Replay(disk.copy(), DurableReports()), set()
    for at, call in enumerate(calls):
        replay.do(call)
        if at not in points:
            continue
        for chance in [Chance(), None, *map(Chance, range(at * 100, at * 100 + chances))]:
            shutil.rmtree(machine.disk)
            replay.disk.write_to(machine.disk, chance)
            state = (compute_digest(machine.disk), repr(replay.handed))
            if state not in seen:
                seen.add(state)
                where = f"power lost after call {at}, {call[0]} of {call[3][-60:]}, {chance}"
                check_left(machine, replay.handed, where)
                check_again(machine, copy.deepcopy(replay.handed), where)
    return len(seen)
