"""Measure the watcher's processor use and delay, and how fast a journal is verified."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from sessions import compare

from vacr.capture.journal import Journal
from vacr.capture.journal_checks import check_journal
from vacr.capture.session_journal import get_session_journal_path, list_session_journals
from vacr.capture.session_sources import TranscriptPlace, follow_session

_SESSIONS = 10
_SECONDS = 20.0
_PAUSE = 0.2
"""Seconds between two lines of a session."""
_LARGE_JOURNAL = 200_000_000


def capture() -> None:
    """Run `vacr watch` on ten busy sessions, then on an idle machine."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        folder = home / ".claude" / "projects" / "-home-nora"
        folder.mkdir(parents=True)
        environment = {"HOME": str(home), "VACR_STATE": f"{name}/state", "PATH": os.environ["PATH"]}
        command = [sys.executable, "-m", "vacr", "watch", "--no-ui", "--quiet"]
        watcher = subprocess.Popen(command, env=environment)
        try:
            _measure_busy_watcher(folder, Path(name) / "state" / "journal", watcher.pid)
            before = _read_cpu_seconds(watcher.pid)
            time.sleep(_SECONDS / 2)
            idle = (_read_cpu_seconds(watcher.pid) - before) / (_SECONDS / 2)
            print(f"watcher idle        {idle:5.1%} of a core (target: near 0)")
        finally:
            watcher.send_signal(signal.SIGTERM)
            watcher.wait()


def _measure_busy_watcher(folder: Path, journal: Path, process: int) -> None:
    """Append lines to all sessions in turn, and measure when they reach their journals."""
    paths = [folder / f"session-{number}.jsonl" for number in range(_SESSIONS)]
    for path in paths:
        path.write_bytes(_build_line(0))
    journals = [
        get_session_journal_path(journal, TranscriptPlace("claude-code", path).name)
        for path in paths
    ]
    while not all(path.exists() and path.stat().st_size for path in journals):
        time.sleep(0.01)
    time.sleep(1.0)
    cpu_before = _read_cpu_seconds(process)
    line_count = byte_count = 0
    pending: list[list[float]] = [[] for _ in paths]
    """For each session: when the lines were written that are not yet in its journal."""
    sizes = [path.stat().st_size for path in journals]
    delays = []
    start = time.monotonic()
    while time.monotonic() - start < _SECONDS or any(pending):
        elapsed = time.monotonic() - start
        if line_count < elapsed * _SESSIONS / _PAUSE and elapsed < _SECONDS:
            line = _build_line(line_count)
            with paths[line_count % _SESSIONS].open("ab", buffering=0) as file:
                file.write(line)
            pending[line_count % _SESSIONS].append(time.perf_counter())
            line_count, byte_count = line_count + 1, byte_count + len(line)
        for number, path in enumerate(journals):
            # A frame is about as large as its lines, so its size shows how many there are.
            size = path.stat().st_size
            new_lines = round((size - sizes[number]) / len(line))
            delays += [time.perf_counter() - written for written in pending[number][:new_lines]]
            del pending[number][:new_lines]
            sizes[number] = size
        time.sleep(0.002)
    duration = time.monotonic() - start
    cpu_used = _read_cpu_seconds(process) - cpu_before
    delays.sort()
    print(
        f"watcher             {cpu_used / duration:5.1%} of a core for {_SESSIONS} sessions, "
        f"{line_count / duration:.0f} lines a second "
        f"({cpu_used / line_count * 1e3:.2f} ms a line, {cpu_used / byte_count * 1e6:.1f} s a MB)"
    )
    median, p99 = statistics.median(delays), delays[int(len(delays) * 0.99)]
    print(
        f"capture delay       {median * 1e3:5.0f} ms from a line to its frame (median), "
        f"{p99 * 1e3:.0f} ms p99 (target: under 250)"
    )


def _build_line(number: int) -> bytes:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": f"{number} " + "word " * 300}],
    }
    line = {"type": "assistant", "uuid": str(number), "sessionId": "s", "message": message}
    return json.dumps(line).encode() + b"\n"


def _read_cpu_seconds(process: int) -> float:
    """Return how many seconds of a core a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def journal_verify() -> None:
    """Compare verifying a journal with hashing it: one large frame, and many frames of a line."""
    with tempfile.TemporaryDirectory() as name:
        for kind, data, piece_size in (
            ("large frames", os.urandom(_LARGE_JOURNAL), _LARGE_JOURNAL),
            ("frames of a line", _build_line(1) * 20_000, 1700),
        ):
            folder = Path(name) / kind
            folder.mkdir()
            _write_journal(folder, data, piece_size)
            hashing, verifying = compare(
                partial(_hash_journal, folder / "journal"),
                partial(check_journal, folder / "journal"),
                3,
            )
            path = get_session_journal_path(folder / "journal", "claude-code/x")
            rate = path.stat().st_size / verifying / 1e6
            print(
                f"journal verify      {hashing / verifying:5.2f} x the speed of SHA-256, {kind} "
                f"({rate:.0f} MB/s; target: at least 0.5 for large frames)"
            )


def _write_journal(folder: Path, data: bytes, piece_size: int) -> None:
    """Write a session piece by piece, and its journal with a frame for each piece."""
    path = folder / "x.jsonl"
    journal = Journal(folder / "journal")
    session = journal.session("claude-code/x")
    for first in range(0, len(data), piece_size):
        piece = data[first : first + piece_size]
        with path.open("ab") as file:
            file.write(piece)
        if first == 0:
            follow_session(session, TranscriptPlace("claude-code", path), {})
        else:
            session.note_changes(session.state.parts[0], (first, 0, piece))
    journal.checkpoint()
    journal.close()


def _hash_journal(folder: Path) -> None:
    for name in list_session_journals(folder):
        with get_session_journal_path(folder, name).open("rb") as file:
            hashlib.file_digest(file, "sha256")
