"""What following sessions costs, how soon a line is safe, and how fast a journal is verified."""

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
from vacr.capture.session_sources import SessionPlace, follow_session

_SESSIONS = 10
_SECONDS = 20.0
_PAUSE = 0.2
"""Seconds between two lines of a session."""
_LARGE = 200_000_000


def capture() -> None:
    """Follow ten busy sessions, and a machine on which nothing happens, by a real process."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        folder = home / ".claude" / "projects" / "-home-nora"
        folder.mkdir(parents=True)
        environment = {"HOME": str(home), "VACR_STATE": f"{name}/state", "PATH": os.environ["PATH"]}
        command = [sys.executable, "-m", "vacr", "watch", "--no-ui", "--quiet"]
        watching = subprocess.Popen(command, env=environment)
        try:
            _busy(folder, Path(name) / "state" / "journal", watching.pid)
            before = _processor(watching.pid)
            time.sleep(_SECONDS / 2)
            idle = (_processor(watching.pid) - before) / (_SECONDS / 2)
            print(f"watcher idle        {idle:5.1%} of a core (near 0)")
        finally:
            watching.send_signal(signal.SIGTERM)
            watching.wait()


def _busy(folder: Path, journal: Path, process: int) -> None:
    paths = [folder / f"session-{number}.jsonl" for number in range(_SESSIONS)]
    for path in paths:
        path.write_bytes(_line(0))
    kept = [
        get_session_journal_path(journal, SessionPlace("claude-code", path).name) for path in paths
    ]
    while not all(one.exists() and one.stat().st_size for one in kept):
        time.sleep(0.01)
    time.sleep(1.0)
    before, written, turn = _processor(process), 0, 0
    sent: list[list[float]] = [[] for _ in paths]
    sizes = [one.stat().st_size for one in kept]
    delays = []
    start = time.monotonic()
    while time.monotonic() - start < _SECONDS or any(sent):
        if (
            turn < (time.monotonic() - start) * _SESSIONS / _PAUSE
            and time.monotonic() - start < _SECONDS
        ):
            line = _line(turn)
            with paths[turn % _SESSIONS].open("ab", buffering=0) as file:
                file.write(line)
            sent[turn % _SESSIONS].append(time.perf_counter())
            turn, written = turn + 1, written + len(line)
        for number, one in enumerate(kept):
            # A frame is little more than the lines in it, so its size tells how many those are.
            more = round(((size := one.stat().st_size) - sizes[number]) / len(line))
            delays += [time.perf_counter() - then for then in sent[number][:more]]
            del sent[number][:more]
            sizes[number] = size
        time.sleep(0.002)
    lasted = time.monotonic() - start
    used = _processor(process) - before
    delays.sort()
    print(
        f"watcher             {used / lasted:5.1%} of a core for {_SESSIONS} sessions, "
        f"{turn / lasted:.0f} lines a second "
        f"({used / turn * 1e3:.2f} ms a line, {used / written * 1e6:.1f} s a MB)"
    )
    middle, late = statistics.median(delays), delays[int(len(delays) * 0.99)]
    print(
        f"capture delay       {middle * 1e3:5.0f} ms from a line to its frame (median), "
        f"{late * 1e3:.0f} ms p99 (under 250)"
    )


def _line(number: int) -> bytes:
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": f"{number} " + "word " * 300}],
    }
    return (
        json.dumps(
            {"type": "assistant", "uuid": str(number), "sessionId": "s", "message": said}
        ).encode()
        + b"\n"
    )


def _processor(process: int) -> float:
    """Give how many seconds of a core a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def journal_verify() -> None:
    """Compare verifying a journal with SHA-256 alone of its bytes: large frames, and those of a
    session that grew by lines.
    """
    with tempfile.TemporaryDirectory() as name:
        for kind, data, piece in (
            ("large frames", os.urandom(_LARGE), _LARGE),
            ("frames of a line", _line(1) * 20_000, 1700),
        ):
            folder = Path(name) / kind
            path = folder / "x.jsonl"
            folder.mkdir()
            journal = Journal(folder / "journal")
            session = journal.session("claude-code/x")
            for first in range(0, len(data), piece):
                with path.open("ab") as file:
                    file.write(data[first : first + piece])
                if first == 0:
                    follow_session(session, SessionPlace("claude-code", path), {})
                else:
                    session.note_changes(
                        session.state.parts[0], (first, 0, data[first : first + piece])
                    )
            journal.checkpoint()
            journal.close()
            least, work = compare(
                partial(_hashed, folder / "journal"), partial(check_journal, folder / "journal"), 3
            )
            rate = (
                get_session_journal_path(folder / "journal", "claude-code/x").stat().st_size
                / work
                / 1e6
            )
            print(
                f"journal verify      {least / work:5.2f} x SHA-256 alone, {kind} ({rate:.0f} "
                "MB/s; at least 0.5 when large)"
            )


def _hashed(folder: Path) -> None:
    for name in list_session_journals(folder):
        with get_session_journal_path(folder, name).open("rb") as file:
            hashlib.file_digest(file, "sha256")
