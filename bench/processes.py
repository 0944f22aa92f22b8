"""Speed and memory of the command: one large session, whole folders, and how it starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from sessions import AGENTS, ROOT, compare, sessions

VACR = str(Path(sys.executable).with_name("vacr"))

# A child's peak starts at its parent's size, so a small process starts it, not this one. All
# processes below it are summed up.
PEAK = """
import os, subprocess, sys, time
from pathlib import Path
def kin(root):
    parents, sizes = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines = Path(f"/proc/{name}/status").read_text().splitlines()
            status = dict(line.split(":", 1) for line in lines if ":" in line)
            parents[int(name)] = int(status["PPid"])
            sizes[int(name)] = int(status.get("VmRSS", "0 kB").split()[0])
        except (OSError, ValueError, KeyError):
            continue
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(sizes.get(one, 0) for one in found)
child, peak = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL), 0
while child.poll() is None:
    peak = max(peak, kin(child.pid))
    time.sleep(0.01)
print(peak * 1024)
sys.exit(child.returncode)
"""


def peak(*command: str) -> int:
    """Give the most memory that a command and all it starts had."""
    return int(subprocess.check_output([sys.executable, "-c", PEAK, *command]))


def memory() -> None:
    """Record one session of 70 MB with a line of 67 MB, and compare the memory with its size."""
    line = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z"}
    text = "y" * 67_000_000
    result = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
    for label, content in (("text", text), ("a tool's result", result)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.jsonl"
            lines = [line | {"message": {"role": "user", "content": "x" * 3000}}] * 1000
            lines.append(line | {"message": {"role": "user", "content": content}})
            path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))
            size = path.stat().st_size
            most = peak(VACR, "record", str(path), "-o", f"{folder}/out.json", "-q")
        print(
            f"memory              {most / size:5.2f} x a session of {size / 1e6:.0f} MB with a "
            f"67 MB line, {label} (at most 5)"
        )


def folders() -> None:
    """Compare two processes with one on a folder of real sessions, and the memory for 100 files
    with that for 10,000.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for agent in AGENTS:
            for index, session in enumerate(sessions(agent) * 4):
                suffix = "jsonl" if session.data[1:2] != b"\n" else "json"
                path = folder / "real" / agent / f"{index:04}.{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(session.data)
        once = partial(_record_into, folder / "real", folder, 1)
        one, two = compare(once, partial(_record_into, folder / "real", folder, 2), 3)
        print(
            f"folder              {one / two:5.2f} x as fast with two processes as with one "
            "(more than 1)"
        )
        peaks = []
        for count in (100, 10_000):
            _fill(folder / f"many{count}", count)
            start = time.perf_counter()
            command = (
                VACR,
                "record",
                str(folder / f"many{count}"),
                "-o",
                f"{folder}/out{count}/",
                "-q",
                "--jobs",
                "2",
            )
            peaks.append(peak(*command))
            last = time.perf_counter() - start
        start = time.perf_counter()
        _record(folder / "many10000", folder / "out10000", 2)
        again = time.perf_counter() - start
        print(
            f"folder memory       {peaks[1] / peaks[0]:5.2f} x for 10,000 files of that for "
            "100 "
            f"({peaks[0] / 1e6:.0f} MB)"
        )
        print(f"folder again        {again / last:5.2f} of the time when nothing changed")


def _fill(folder: Path, count: int) -> None:
    """Fill a folder with copies of the examples."""
    examples = [(path.suffix, path.read_bytes()) for path in sorted((ROOT / "examples").iterdir())]
    for number in range(count):
        suffix, data = examples[number % len(examples)]
        path = folder / f"{number // 100:03}" / f"{number:05}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _record_into(source: Path, folder: Path, jobs: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as output:
        _record(source, Path(output), jobs)


def _record(source: Path, output: Path, jobs: int) -> None:
    subprocess.run(
        [VACR, "record", str(source), "-o", f"{output}/", "-q", "--jobs", str(jobs)], check=True
    )


def start() -> None:
    """Compare `vacr --version` with a Python that does nothing."""
    nothing = partial(_run, [sys.executable, "-c", "pass"])
    least, work = compare(nothing, partial(_run, [VACR, "--version"]), 15)
    _, helped = compare(nothing, partial(_run, [VACR, "--help"]), 7)
    print(
        f"start               {work / least:5.2f} x an empty Python for vacr --version, "
        f"{helped / least:.2f} x for vacr --help"
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
