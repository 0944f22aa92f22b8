"""Faults at every write, sync, rename, creation and removal: kill, error, dead disk, full disk."""

import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from tests.capture.watching import Machine, add, line, lines
from tests.conftest import ROOT
from tests.faults.capturing import OPTIONS, audit, create_machine, reset_machine
from tests.faults.test_disk_errors import FAULTS, GROWING
from tests.faults.test_full_disk import fill, small_disk
from tests.faults.tracing import _CALL, CALLS, join_interrupted_lines, need_strace


def run_disturbed_watcher(machine, *options, output=os.devnull):
    """Run a watcher under strace, and return its exit code."""
    quick = [] if any("signal=" in option for option in options) else ["--seccomp-bpf"]
    command = [
        "strace",
        "-f",
        "-qq",
        *quick,
        "-o",
        str(output),
        *options,
        sys.executable,
        "-m",
        "vacr",
        "watch",
        *OPTIONS,
    ]
    done = subprocess.run(
        command, env=machine.variables(PYTHONDONTWRITEBYTECODE="1"), capture_output=True, cwd=ROOT
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode


def list_disturbable_calls(machine, output):
    """Return the system calls that can be disturbed, counted from 1 in each thread."""
    assert run_disturbed_watcher(machine, "-e", f"trace={','.join(CALLS)}", output=output) == 0
    seen, found = Counter(), set()
    for text in join_interrupted_lines(output):
        matched = _CALL.match(text)
        if matched is not None:
            thread, name, result = matched.groups()
            seen[thread, name] += 1
            if int(result) >= 0:
                found.add((name, seen[thread, name]))
    return sorted(found, key=lambda fault: (CALLS.index(fault[0]), fault[1]))


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_at_any_call_loses_or_doubles_nothing(fault, tmp_path, some):
    need_strace()
    machine = create_machine(tmp_path)
    origin = tmp_path / "origin"
    for name in ("home", "state"):
        shutil.copytree(tmp_path / name, origin / name)
    found = list_disturbable_calls(machine, tmp_path / "trace")
    assert {name for name, _ in found} >= {"pwrite64", "fdatasync", "fsync", "rename", "ftruncate"}
    audit(machine, "nothing")
    sealed = [path.name for path in machine.sealed()]
    assert len(sealed) == 6
    chosen = some([point for point in found if fault != "full" or point[0] in GROWING], 3)
    print(f"{fault}: {len(chosen)} of {len(found)} calls")
    for name, number in chosen:
        where = f"{fault} at {name} {number}"
        reset_machine(machine, origin)
        code = run_disturbed_watcher(
            machine, "-e", f"trace={name}", "-e", f"inject={name}:{FAULTS[fault].format(number)}"
        )
        assert code in ((-9, 137) if fault == "killed" else (0, 1, 2, 3, 4)), (
            f"{where}: ended by {code}"
        )
        audit(machine, where, sealed)


def test_full_disk_is_reported_and_capture_continues(tmp_path):
    """Failed writes are reported and repeated when there is room; captured content stays."""
    with small_disk(tmp_path / "small") as disk:
        machine = Machine(tmp_path / "machine")
        machine.state = disk / "state"
        path = machine.transcript()
        add(path, lines(5))
        watching = machine.watch("--no-seal")
        watching.wait_until_captured(path)
        for turn in range(2):
            before = path.read_bytes()
            fill(disk / "filler")
            add(path, line(turn, text="x" * 100_000))
            watching.wait_until(lambda turn=turn: watching.output.count("No space left") > turn)
            assert machine.captured(path) == before
            (disk / "filler").unlink()
            watching.wait_until_captured(path)
        watching.stop()
        assert machine.first_seen(path) == {path.name: path.read_bytes()}
        machine.check_intact()
