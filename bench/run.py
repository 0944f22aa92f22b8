"""Speed and memory of records, printed as ratios of one run: `make bench`.

The machine's own speed cancels out: each figure is compared with the least that any implementation must do, measured a
moment before on the same bytes. Real sessions are taken from ../shared/corpus where it exists, else the examples.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from vacr.identity import identify
from vacr.readers import claude_code, codex_cli
from vacr.readers.registry import Reader
from vacr.readers.source import Part, Source
from vacr.schema import schema_for, validate

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
ROUNDS = 7
AGENTS: tuple[tuple[str, Any, str], ...] = (("claude", claude_code, "claude-code.jsonl"), ("codex", codex_cli, "codex-cli.jsonl"))

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def sessions(folder: str, example: str) -> list[bytes]:
    """Give real sessions, or the example often enough to be measured."""
    if (CORPUS / folder).is_dir():
        return [path.read_bytes() for path in sorted((CORPUS / folder).iterdir())]
    return [(ROOT / "examples" / example).read_bytes() * 40] * 20


def floor(data: bytes) -> None:
    """Do the least: decode each line, encode all with sorted keys, hash."""
    values = []
    for line in data.split(b"\n"):
        try:
            values.append(_decode(line))
        except msgspec.DecodeError:
            continue
    hashlib.sha256(_encode(values)).digest()


def ours(reader: Reader, data: bytes) -> None:
    """Do all of it: native bytes → record → canonical JSON → SHA-256."""
    for reading in reader.read(Source((Part("session.jsonl", data),))):
        digest = hashlib.sha256()
        for piece in identify(reading.record):
            digest.update(piece)


def compare(least: Callable[[], Any], work: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, float]:
    """Time two things in turn, so that both meet the same machine; give the best of each."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for index, function in enumerate((least, work)):
            start = time.perf_counter()
            function()
            best[index] = min(best[index], time.perf_counter() - start)
    return best[0], best[1]


def recording() -> None:
    """Compare recording with the floor, for each agent."""
    for name, reader, example in AGENTS:
        files = sessions(name, example)
        size = sum(map(len, files)) / 1e6
        least, work = compare(lambda: [floor(data) for data in files], lambda: [ours(reader, data) for data in files])
        print(f"record {name:7} {work / least:5.2f} x the floor (at most 2.5)   {size / work:6.0f} MB/s, floor {size / least:.0f} MB/s")


def growth() -> None:
    """Show that the cost per byte stays the same as a session grows."""
    for name, reader, example in AGENTS:
        data = max(sessions(name, example), key=len)
        data = data if data.endswith(b"\n") else data + b"\n"
        times = []
        for factor in (1, 2, 4, 8):
            grown = data * factor
            start = min(_timed(lambda: ours(reader, grown)) for _ in range(3))
            times.append(start / factor)
        shown = "  ".join(f"{one / times[0]:.2f}" for one in times)
        print(f"growth {name:7} cost per byte at 1, 2, 4, 8 times the size: {shown} (linear is 1.00)")


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def validation() -> None:
    """Time validation per entry, on decoded records."""
    records = []
    for name, reader, example in AGENTS:
        for data in sessions(name, example):
            for reading in reader.read(Source((Part("session.jsonl", data),))):
                records.append(json.loads(b"".join(identify(reading.record))))
    entries = sum(len(record["session"]["entries"]) for record in records)
    checker = schema_for("3").checker("verifiable-agent-record", json=True)
    schema = min(_timed(lambda: [checker.matches(record) for record in records]) for _ in range(ROUNDS))
    whole = min(_timed(lambda: [validate(record) for record in records]) for _ in range(ROUNDS))
    print(f"validate       {schema / entries * 1e6:5.2f} µs an entry by the schema, {whole / entries * 1e6:.2f} with the checks above it (at most 5)")


def memory() -> None:
    """Record one session of 70 MB with a line of 67 MB, and compare the memory with its size."""
    line = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z"}
    small = json.dumps(line | {"message": {"role": "user", "content": "x" * 3000}}, separators=(",", ":")).encode() + b"\n"
    for label, block in (
        ("text", lambda text: {"role": "user", "content": text}),
        ("tool result", lambda text: {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.jsonl"
            large = json.dumps(line | {"message": block("y" * 67_000_000)}, separators=(",", ":")).encode() + b"\n"
            path.write_bytes(small * 1000 + large)
            size = path.stat().st_size
            del large
            process = subprocess.Popen([sys.executable, "-m", "vacr", "record", str(path), "-o", f"{folder}/out.json", "-q"])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        print(f"memory         {peak / size:5.2f} x the size of a {size / 1e6:.0f} MB session with a 67 MB line of {label} (at most 5)")


def start() -> None:
    """Compare `vacr --version` with a Python that does nothing."""
    nothing = [sys.executable, "-c", "pass"]
    command = [str(Path(sys.executable).with_name("vacr")), "--version"]
    quiet = {"stdout": subprocess.DEVNULL, "check": True}
    least, work = compare(lambda: subprocess.run(nothing, **quiet), lambda: subprocess.run(command, **quiet), 15)
    help_time = min(_timed(lambda: subprocess.run([command[0], "--help"], **quiet)) for _ in range(7))
    print(f"start          {work / least:5.2f} x an empty Python for vacr --version ({work * 1e3:.0f} ms), {help_time / least:.2f} x for --help")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = "real sessions" if CORPUS.is_dir() else "examples"
    print(f"vacr on Python {sys.version.split()[0]}, {where}; best of {ROUNDS}")
    for part in (recording, growth, validation, memory, start):
        part()
