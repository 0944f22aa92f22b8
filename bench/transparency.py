"""Measure a log: how many statements it registers durably, and how that changes as it grows.

The rate depends on the machine and on its other work. The processor time of a registration depends
on them less, so it is measured as well: of the log, of the clients that run on the same cores, and
of a bare server that only verifies signatures (`floor.py`) and gets the same requests in turn.
Compare versions by the ratio of the log to that server.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

from load import write_statements

from tests.log.postgresql import PostgreSQL, binaries
from tests.log.running import Running
from vacr.log.folder import LogFolder, create_log
from vacr.log.keyring import read_log_descriptions
from vacr.signing.cose import parse_sign1, verify_signature
from vacr.signing.keys import KeySigner, generate_key, parse_cose_key
from vacr.signing.statement import StatementClaims, sign
from vacr.transparency.receipt import build_log_entry
from vacr.verification.receipts import check_receipt

_STATEMENTS_PER_RUN = 12_000
_GROWTH_STATEMENTS = 4_000
_CONNECTIONS = 128
_REPEATS = 3
_SIGNERS = 50
_LOG_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_SINGLE_STATEMENTS = 200
"""How many statements a single client sends, each after the receipt of the one before."""
_LOAD_SCRIPT = Path(__file__).with_name("load.py")
_FLOOR_SCRIPT = Path(__file__).with_name("floor.py")
_TARGET_RATE = 2_000
"""Statements that a log must register each second, with SQLite and ES256."""
_TARGET_P99 = 0.25
"""Seconds within which 99 of 100 statements must be registered."""
_TARGET_RECEIPT_RATE = 2_000
"""Receipts that must be verified each second."""
_CONFIGURATION_WITH_TARGET = ("es256", "embedded")
_FILE_SYSTEMS_IN_MEMORY = ("tmpfs", "ramfs")


def transparency() -> None:
    """Register statements over HTTP; the clients run on the same cores."""
    with _open_work_folder() as place:
        for kind in ("es256", "eddsa"):
            count = _STATEMENTS_PER_RUN * _REPEATS + _SINGLE_STATEMENTS
            statements = _sign_statements(kind, count)
            verification_rate = _measure_verification_rate(statements)
            for storage in ("embedded", "postgresql"):
                _measure_registration(place, kind, storage, statements, verification_rate)
        _measure_receipts(place)


def log_growth() -> None:
    """Compare the cost of an entry and the memory of the service at growing sizes of the log."""
    with _open_work_folder() as place:
        log = create_log(str(place / "log"))
        statements = iter(_sign_statements("es256", 2 * len(_LOG_SIZES) * _GROWTH_STATEMENTS))
        first = (0.0, 0.0, 0.0)
        for size in _LOG_SIZES:
            append_cpu, append_time = _grow_log(log, size)
            with Running(log.path) as service:
                server, url = service.process, service.url
                _measure_load(place, server, url, list(islice(statements, _GROWTH_STATEMENTS)))
                _await_publication(service, size + _GROWTH_STATEMENTS)
                result = _measure_load(
                    place, server, url, list(islice(statements, _GROWTH_STATEMENTS))
                )
                cpu = result["server_cpu"]
                memory = _read_memory(service.process.pid)
            first = first if first[0] else (append_cpu, append_time, cpu)
            print(
                f"log growth          {size:>9} entries: appending one takes "
                f"{append_cpu * 1e6:3.0f} µs of a core ({append_cpu / first[0]:.2f} x), "
                f"{append_time * 1e6:3.0f} µs by the clock ({append_time / first[1]:.2f} x); "
                f"registering one {cpu * 1e6:3.0f} µs of a core ({cpu / first[2]:.2f} x), "
                f"{result['rate']:5.0f} a second "
                f"{_judge_rate(result['rate'], _TARGET_RATE)}, p99 {result['p99'] * 1000:.0f} ms "
                f"{_judge_delay(result['p99'], _TARGET_P99)}, "
                f"memory {memory:.0f} MB"
            )


@contextmanager
def _open_work_folder() -> Iterator[Path]:
    """Yield a temporary folder, and warn if it is in memory, where syncing costs nothing."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if _find_file_system(place) in _FILE_SYSTEMS_IN_MEMORY:
            print(
                f"NOT DURABLE         {place.parent} IS IN MEMORY, so these figures do not count. "
                "Set TMPDIR to a folder on a disk."
            )
        yield place


def _find_file_system(place: Path) -> str:
    """Return the type of the file system that a folder is on."""
    rows = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    types = {Path(row[1].encode().decode("unicode_escape")): row[2] for row in rows}
    folder = place.resolve()
    return next(types[path] for path in (folder, *folder.parents) if path in types)


def _judge_rate(rate: float, target: float) -> str:
    return f"(target: at least {target:,}: {'ok' if rate >= target else 'MISSED'})"


def _judge_delay(seconds: float, target: float) -> str:
    return f"(target: at most {target * 1000:.0f}: {'ok' if seconds <= target else 'MISSED'})"


def _sign_statements(kind: str, count: int) -> list[bytes]:
    """Return distinct statements by several signers."""
    signers = [KeySigner(generate_key(kind)) for _ in range(_SIGNERS)]
    claims = StatementClaims(issued_at=int(time.time()))
    return [
        sign(os.urandom(500), signers[number % _SIGNERS], claims=claims) for number in range(count)
    ]


def _measure_verification_rate(statements: list[bytes]) -> float:
    """Return how many signatures a second all cores can verify if they do nothing else."""
    messages = [parse_sign1(statement) for statement in statements[:2000]]
    arguments = [
        (
            message.protected[1],
            _get_carried_key(message.unprotected),
            message.signature,
            message.to_be_signed(message.payload or b""),
        )
        for message in messages
    ]
    best = 0.0
    for _ in range(_REPEATS):
        children = [_fork_verifier(arguments) for _ in range(os.cpu_count() or 1)]
        rate = 0.0
        for child, pipe in children:
            rate += float(os.read(pipe, 100))
            os.close(pipe)
            os.waitpid(child, 0)
        best = max(best, rate)
    return best


def _fork_verifier(arguments: list[tuple[Any, ...]]) -> tuple[int, int]:
    """Start a process that verifies signatures, and return its id and the pipe for its rate."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        start = time.perf_counter()
        for signature in arguments:
            verify_signature(*signature)
        os.write(write_end, str(len(arguments) / (time.perf_counter() - start)).encode())
        os._exit(0)
    os.close(write_end)
    return child, read_end


def _get_carried_key(unprotected: dict[object, object]) -> object:
    return parse_cose_key(unprotected[14][8][1])  # type: ignore[index]


def _measure_registration(
    place: Path, kind: str, storage: str, statements: list[bytes], verification_rate: float
) -> None:
    with _create_log_in(storage, place) as log:
        if log is None:
            print(
                f"register            {kind}, {storage}: not measured: PostgreSQL is not installed"
            )
            return
        log_runs, floor_runs = [], []
        with Running(log.path) as service, _run_floor(kind) as (floor, floor_url):
            single = _measure_load(
                place, service.process, service.url, statements[:_SINGLE_STATEMENTS], connections=1
            )
            for first in range(_SINGLE_STATEMENTS, len(statements), _STATEMENTS_PER_RUN):
                part = statements[first : first + _STATEMENTS_PER_RUN]
                log_runs.append(_measure_load(place, service.process, service.url, part))
                floor_runs.append(_measure_load(place, floor, floor_url, part))
    low, median, high = sorted(run["rate"] for run in log_runs)
    p99 = max(run["p99"] for run in log_runs)
    rate_verdict = delay_verdict = ""
    if (kind, storage) == _CONFIGURATION_WITH_TARGET:
        rate_verdict = f" {_judge_rate(median, _TARGET_RATE)}"
        delay_verdict = f" {_judge_delay(p99, _TARGET_P99)}"
    server_cpu = _find_median(log_runs, "server_cpu")
    floor_cpu = _find_median(floor_runs, "server_cpu")
    print(
        f"register            {kind}, {storage}: {median:.0f} a second [{low:.0f}–{high:.0f}]"
        f"{rate_verdict}, p50 {_find_median(log_runs, 'p50') * 1000:.0f} ms, "
        f"p99 {p99 * 1000:.0f} ms{delay_verdict}, "
        f"{median / verification_rate:.2f} x the rate of only verifying signatures on all cores; "
        f"a single client waits {single['p50'] * 1000:.1f} ms (p99 {single['p99'] * 1000:.1f} ms)"
    )
    print(
        f"processor time      {kind}, {storage}: {server_cpu * 1e6:.0f} µs of the log for each "
        f"statement, {_find_median(log_runs, 'cpu') * 1e6:.0f} µs of the clients; "
        f"{server_cpu / floor_cpu:.2f} x a bare server that verifies one signature for each "
        f"request ({floor_cpu * 1e6:.0f} µs)"
    )


def _find_median(runs: list[dict[str, float]], name: str) -> float:
    return sorted(run[name] for run in runs)[len(runs) // 2]


@contextmanager
def _run_floor(kind: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the process and the URL of a bare server, and stop it afterwards."""
    command = [sys.executable, str(_FLOOR_SCRIPT), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, json.loads(process.stdout.readline())["url"]  # type: ignore[union-attr]
        finally:
            process.terminate()


@contextmanager
def _create_log_in(storage: str, place: Path) -> Iterator[LogFolder | None]:
    """Yield a new log, or None if its database is not installed; remove it afterwards."""
    folder = place / "log"
    if storage == "embedded":
        yield create_log(str(folder))
    elif binaries() is None:
        yield None
    else:
        server = PostgreSQL()
        try:
            yield create_log(str(folder), database=server.database("log"))
        finally:
            server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _measure_load(
    place: Path,
    server: subprocess.Popen[str],
    url: str,
    statements: list[bytes],
    connections: int = _CONNECTIONS,
) -> dict[str, float]:
    """Register statements from another process, and return its measurements.

    `server_cpu` is the processor time of the server for each statement, in seconds, and `cpu` the
    processor time of the clients.
    """
    path = place / "statements"
    write_statements(path, statements)
    command = [sys.executable, str(_LOAD_SCRIPT), url, str(path), str(connections)]
    before = _read_cpu_seconds(server.pid)
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    server_cpu = _read_cpu_seconds(server.pid) - before
    result = json.loads(output)
    if result["statuses"] != {"201": len(statements)}:
        raise SystemExit(f"Some statements were not registered: {result}")
    return {**result, "server_cpu": server_cpu / len(statements)}


def _grow_log(log: LogFolder, size: int) -> tuple[float, float]:
    """Grow a log to a size, and return processor and clock seconds for each of the last entries."""
    cpu_seconds = clock_seconds = 0.0
    with closing(log.ledger()) as ledger:
        missing = size - (ledger.head.head.size if ledger.head else 0)
        measured = min(missing, 10_240)
        for first in range(0, missing, 256):
            count = min(256, missing - first)
            entries = [hashlib.sha512(os.urandom(16)).digest() * 5 for _ in range(count)]
            cpu_start, clock_start = time.process_time(), time.perf_counter()
            ledger.append(entries)
            if first >= missing - measured:
                cpu_seconds += time.process_time() - cpu_start
                clock_seconds += time.perf_counter() - clock_start
    return cpu_seconds / max(1, measured), clock_seconds / max(1, measured)


def _await_publication(service: Running, size: int) -> None:
    """Wait until the service has published a tree of this size, so that this is not measured."""
    while True:
        status, _, note = service.get("/checkpoint")
        if status == HTTPStatus.OK and int(note.split(b"\n")[1]) >= size:
            return
        time.sleep(0.2)


def _read_memory(process: int) -> float:
    """Return the memory of a process, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def _read_cpu_seconds(process: int) -> float:
    """Return how many seconds of a core a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _measure_receipts(place: Path) -> None:
    """Measure how many receipts are verified each second."""
    log = create_log(str(place / "log"))
    statements = _sign_statements("es256", 2000)
    with closing(log.ledger()) as ledger:
        entries = [build_log_entry(parse_sign1(statement)) for statement in statements]
        placed = ledger.append(entries)
        descriptions = read_log_descriptions(ledger.storage)
        keys = [description.receipt_key for description in descriptions]
    now = datetime.now(UTC)
    best = 0.0
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for statement, entry in zip(statements, placed, strict=True):
            check_receipt(parse_sign1(statement), entry.receipt, keys, now)
        best = max(best, len(statements) / (time.perf_counter() - start))
    print(
        f"receipts            {best:.0f} verified a second on one core "
        f"{_judge_rate(best, _TARGET_RECEIPT_RATE)}"
    )
