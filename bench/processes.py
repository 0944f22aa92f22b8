"""Measure the command line: memory for a large session, whole folders, and start-up."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from sessions import AGENTS, ROOT, compare, load_sessions

VACR = str(Path(sys.executable).with_name("vacr"))

# The peak memory of a child counts from the size of its parent, so a small process starts it. The
# memory of all its descendants is added up.
PEAK_SCRIPT = """
import os, subprocess, sys, time
from pathlib import Path
def add_up_memory(root):
    parents, sizes = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines = Path(f"/proc/{name}/status").read_text().splitlines()
            status = dict(line.split(":", 1) for line in lines if ":" in line)
            parents[int(name)] = int(status["PPid"])
            sizes[int(name)] = int(status.get("VmRSS", "0 kB").split()[0])
        except (OSError, ValueError, KeyError):
            continue
    family = {root}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(sizes.get(process, 0) for process in family)
child, peak = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL), 0
while child.poll() is None:
    peak = max(peak, add_up_memory(child.pid))
    time.sleep(0.01)
print(peak * 1024)
sys.exit(child.returncode)
"""


def measure_peak_memory(*command: str) -> int:
    """Run a command, and return the peak memory of all its processes, in bytes."""
    return int(subprocess.check_output([sys.executable, "-c", PEAK_SCRIPT, *command]))


def memory() -> None:
    """Compare the memory for recording a session of 70 MB, mostly one line, with its size."""
    line = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z"}
    text = "y" * 67_000_000
    result = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
    for label, content in (("text", text), ("a tool's result", result)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.jsonl"
            lines = [line | {"message": {"role": "user", "content": "x" * 3000}}] * 1000
            lines.append(line | {"message": {"role": "user", "content": content}})
            texts = [json.dumps(entry, separators=(",", ":")) + "\n" for entry in lines]
            path.write_text("".join(texts))
            size = path.stat().st_size
            peak = measure_peak_memory(VACR, "record", str(path), "-o", f"{folder}/out.json", "-q")
        print(
            f"memory              {peak / size:5.2f} x a session of {size / 1e6:.0f} MB with a "
            f"67 MB line, {label} (target: at most 5)"
        )


def folders() -> None:
    """Compare recording a folder with one process and with two, and the memory for 100 and 10,000
    files.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_session_files(folder / "real")
        one_process, two_processes = compare(
            partial(_record_into, folder / "real", folder, 1),
            partial(_record_into, folder / "real", folder, 2),
            3,
        )
        print(
            f"folder              {one_process / two_processes:5.2f} x as fast with two processes "
            "as with one (target: more than 1)"
        )
        peaks = []
        for count in (100, 10_000):
            source = folder / f"many{count}"
            _write_example_files(source, count)
            start = time.perf_counter()
            peaks.append(measure_peak_memory(*_record_command(source, folder / f"out{count}", 2)))
            first_run = time.perf_counter() - start
        start = time.perf_counter()
        _record(folder / "many10000", folder / "out10000", 2)
        second_run = time.perf_counter() - start
        print(
            f"folder memory       {peaks[1] / peaks[0]:5.2f} x the memory for 100 files "
            f"({peaks[0] / 1e6:.0f} MB), with 10,000 files"
        )
        print(
            f"folder again        {second_run / first_run:5.2f} x the time of the first run, when "
            "nothing has changed"
        )


def _write_session_files(folder: Path) -> None:
    """Write the sessions of all agents to a folder, each four times."""
    for agent in AGENTS:
        for index, session in enumerate(load_sessions(agent) * 4):
            suffix = "jsonl" if session.data[1:2] != b"\n" else "json"
            path = folder / agent / f"{index:04}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(session.data)


def _write_example_files(folder: Path, count: int) -> None:
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
    subprocess.run(_record_command(source, output, jobs), check=True)


def _record_command(source: Path, output: Path, jobs: int) -> list[str]:
    return [VACR, "record", str(source), "-o", f"{output}/", "-q", "--jobs", str(jobs)]


def listing() -> None:
    """Measure the processor time of `vacr list` for 10,000 sessions of four agents.

    The first run reads all sessions; later ones read those that have changed.
    """
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for number in range(10_000 // len(_LISTED_SESSIONS)):
            for folder, native_id, target in _LISTED_SESSIONS:
                other_id = f"{native_id[:-4]}{number:04}"
                _copy_session(
                    ROOT / "tests" / "fixtures" / folder,
                    home / target.format(project=number % 25, id=other_id),
                    (native_id, other_id),
                )
        environment = {"HOME": str(home), "PATH": os.environ.get("PATH", "")}
        times = []
        time.sleep(_SETTLING_SECONDS)
        for _ in range(4):
            before = _measure_children()
            subprocess.run([VACR, "list"], stdout=subprocess.DEVNULL, check=True, env=environment)
            times.append(_measure_children() - before)
    print(
        f"listing             {min(times[1:]):5.2f} s of processor time for 10,000 sessions "
        f"(target: at most 1), {times[0]:.2f} s the first time"
    )


_SETTLING_SECONDS = 3
"""vacr reads a file again that was written less than two seconds ago."""

_LISTED_SESSIONS = (
    (
        "droid/sessions/-home-nora-till",
        "7d0f1e2d-0000-4000-8000-00000000d01d",
        ".factory/sessions/-home-p{project}",
    ),
    (
        "grok/session",
        "019f7000-0000-7000-8000-000000000001",
        ".grok/sessions/%2Fhome%2Fp{project}/{id}",
    ),
    (
        "vibe/session_20260725_172000_5e0a7f1c",
        "5e0a7f1c",
        ".vibe/logs/session/session_20260725_172000_{id}",
    ),
    (
        "kimi-cli/eebe15ef5af9cd65080c47fca0e56fa2/0c9d",
        "0c9d0000",
        ".kimi/sessions/eebe15ef5af9cd65080c47fca0e56fa2/{id}",
    ),
)
"""For each agent: the folder of a session, an id, and the folder for a session with another id."""


def _copy_session(source: Path, target: Path, ids: tuple[str, str]) -> None:
    """Copy the files at the top of a folder, with another id in their names and texts."""
    target.mkdir(parents=True, exist_ok=True)
    native_id, other_id = ids
    for file in source.iterdir():
        if file.is_file():
            text = file.read_bytes().replace(native_id.encode(), other_id.encode())
            (target / file.name.replace(native_id, other_id)).write_bytes(text)


def _measure_children() -> float:
    """Return the seconds of processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start() -> None:
    """Compare `vacr --version` and `vacr --help` with starting Python for nothing."""
    empty = partial(_run, [sys.executable, "-c", "pass"])
    start_up, version = compare(empty, partial(_run, [VACR, "--version"]), 15)
    _, help_page = compare(empty, partial(_run, [VACR, "--help"]), 7)
    print(
        f"start               {version / start_up:5.2f} x starting Python for vacr --version, "
        f"{help_page / start_up:.2f} x for vacr --help"
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
