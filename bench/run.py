"""Speed and memory of records, printed as ratios of one run: `make bench`.

The machine's own speed cancels out: each figure is compared with the least that any implementation must do, measured a
moment before on the same bytes. Real sessions are taken from ../shared/corpus where it exists, else the examples.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
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

PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def sessions(folder: str, example: str) -> list[bytes]:
    """Give real sessions, or ones made of the example, as long as real ones and with lines as long as theirs."""
    if (CORPUS / folder).is_dir():
        return [path.read_bytes() for path in sorted((CORPUS / folder).iterdir())]
    data = (ROOT / "examples" / example).read_bytes()
    # Real lines are 2.2 kB long on average with Claude Code, and 1.3 kB with Codex CLI.
    missing = (2200 if folder == "claude" else 1300) * data.count(b"\n") - len(data)
    data = data.replace(b"return sum(", b"# a longer file\\n" * (missing // data.count(b"return sum(") // 18) + b"return sum(")
    turns = [
        data.replace(b"-1111-4222-", f"-{number:04x}-4222-".encode()).replace(b"msg_", b"msg_%d" % number) for number in range(20)
    ]
    return [b"".join(turns)] * 20


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
        least, work = compare(partial(_each, floor, files), partial(_each, partial(ours, reader), files))
        ratio, speeds = work / least, f"{size / work:.0f} MB/s, floor {size / least:.0f} MB/s"
        print(f"record {name:7} {ratio:5.2f} x the floor (at most 2.5)   {speeds}")


def growth() -> None:
    """Show that the cost grows with the size and no faster: compared with the floor at the same size."""
    for name, reader, example in AGENTS:
        data = max(sessions(name, example), key=len)
        data = data if data.endswith(b"\n") else data + b"\n"
        ratios = []
        for factor in (1, 2, 4, 8):
            least, work = compare(partial(floor, data * factor), partial(ours, reader, data * factor), 3)
            ratios.append(f"{work / least:.2f}")
        print(f"growth {name:7} x the floor at 1, 2, 4, 8 times the size: {'  '.join(ratios)}")


def validation() -> None:
    """Time validation per entry, on decoded records."""
    records = [
        json.loads(b"".join(identify(reading.record)))
        for name, reader, example in AGENTS
        for data in sessions(name, example)
        for reading in reader.read(Source((Part("session.jsonl", data),)))
    ]
    entries = sum(len(record["session"]["entries"]) for record in records)
    checker = schema_for("3").checker("verifiable-agent-record", json=True)
    schema, whole = compare(partial(_each, checker.matches, records), partial(_each, validate, records))
    schema, whole = schema / entries * 1e6, whole / entries * 1e6
    print(f"validate       {schema:5.2f} µs an entry by the schema (at most 5), {whole:.2f} with the checks above it")


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
            path.write_bytes(b"".join(_encode(one) + b"\n" for one in lines))
            size = path.stat().st_size
            command = [sys.executable, "-m", "vacr", "record", str(path), "-o", f"{folder}/out.json", "-q"]
            # A child's peak starts at its parent's size, so a small process starts it, not this one.
            peak = int(subprocess.check_output([sys.executable, "-c", PEAK, *command]))
        print(f"memory         {peak / size:5.2f} x a session of {size / 1e6:.0f} MB with one line of 67 MB, {label} (at most 5)")


def start() -> None:
    """Compare `vacr --version` with a Python that does nothing."""
    vacr = str(Path(sys.executable).with_name("vacr"))
    nothing = partial(_run, [sys.executable, "-c", "pass"])
    least, work = compare(nothing, partial(_run, [vacr, "--version"]), 15)
    _, helped = compare(nothing, partial(_run, [vacr, "--help"]), 7)
    print(f"start          {work / least:5.2f} x an empty Python for vacr --version, {helped / least:.2f} x for vacr --help")


def _each(function: Callable[[Any], Any], items: list[Any]) -> None:
    for item in items:
        function(item)


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = "real sessions" if CORPUS.is_dir() else "examples"
    print(f"vacr on Python {sys.version.split()[0]}, {where}; best of {ROUNDS}")
    for part in (recording, growth, validation, memory, start):
        part()
