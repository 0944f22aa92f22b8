"""Run a process under strace: count its disk calls, inject faults, and record its writes."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import cbor2
import pytest

from tests.conftest import ROOT
from tests.faults.handed import Handed

CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "mkdir")
"""The system calls of the log that change the disk."""
_CALL = re.compile(r"(\d+) +(\w+)\(.*\) += (-?\d+)")


def need_strace():
    """Skip a test if strace is missing or does not work."""
    if shutil.which("strace") is None:
        pytest.skip("NO STRACE HERE: faults of the disk are not tested; apt-get install strace")
    tried = subprocess.run(
        ["strace", "-f", "-qq", "-o", os.devnull, "true"], capture_output=True, text=True
    )
    if tried.returncode:
        pytest.skip(
            "STRACE IS NOT ALLOWED HERE: faults of the disk are not tested; allow ptrace: "
            f"{tried.stderr.strip()}"
        )


def run_stage(stage, path, statements, *options, output=None):
    """Run a stage, with options under strace; return its exit code and the issued receipts."""
    command = [sys.executable, "-m", "tests.faults.scenario", stage, str(path)]
    if options:
        # --seccomp-bpf is faster, but it cannot inject signals.
        quick = [] if any("signal=" in option for option in options) else ["--seccomp-bpf"]
        command = [
            "strace",
            "-f",
            "-qq",
            *quick,
            "-o",
            str(output or os.devnull),
            *options,
            *command,
        ]
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, input=cbor2.dumps(statements), capture_output=True, cwd=ROOT, env=settings
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, Handed().read(done.stdout)


def count_calls(stage, path, statements, output, *, calls=CALLS, only=()):
    """Run a stage without a fault; return the numbers of the calls to disturb, from 1."""
    code, handed = run_stage(
        stage, path, statements, *only, "-e", f"trace={','.join(calls)}", output=output
    )
    assert (code, handed.failures) == (0, [])
    seen, found = Counter(), set()
    for line in join_interrupted_lines(output):
        matched = _CALL.match(line)
        if matched is None:
            continue
        thread, name, result = matched.groups()
        seen[thread, name] += 1
        if int(result) >= 0:
            found.add((name, seen[thread, name]))
    return sorted(found, key=lambda point: (calls.index(point[0]), point[1]))


def join_interrupted_lines(output):
    """Return the calls in order of completion, with interrupted ones joined."""
    begun = {}
    for line in Path(output).read_text().splitlines():
        thread, _, rest = line.partition(" ")
        if rest.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>").rstrip()
        elif "<... " in rest[:8]:
            yield begun.pop(thread) + rest.partition(" resumed>")[2]
        else:
            yield line
