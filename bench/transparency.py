"""How many statements a log takes, end to end and durable, what that is beside verifying their
signatures, and how it grows.
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
from pathlib import Path

from load import write

from tests.log.postgresql import PostgreSQL, binaries
from tests.log.running import Running
from vacr.log.folder import LogFolder, create_log
from vacr.log.keyring import read_log_descriptions
from vacr.signing.cose import parse_sign1, verify_signature
from vacr.signing.keys import KeySigner, generate_key, parse_cose_key
from vacr.signing.statement import StatementClaims, sign
from vacr.transparency.receipt import build_log_entry
from vacr.verification.receipts import check_receipt

_COUNT = 12_000
_FEW = 4_000
_CONNECTIONS = 128
_REPEATS = 3
_SIGNERS = 50
_DECADES = (1_000, 10_000, 100_000, 1_000_000)
_LOAD = Path(__file__).with_name("load.py")
_RATE, _P99, _RECEIPTS = 2_000, 0.25, 2_000
"""What a log has to do: statements a second, embedded and with ES256, and how long 99 in 100 wait;
receipts verified a second.
"""
_WANTED = ("es256", "embedded")
_IN_MEMORY = ("tmpfs", "ramfs")


def transparency() -> None:
    """Register real statements over HTTP, on the cores that also make the load."""
    with _folder() as place:
        for kind in ("es256", "eddsa"):
            given = _statements(kind, _COUNT * _REPEATS)
            alone = _verifications(given)
            for storage in ("embedded", "postgresql"):
                _register(place, kind, storage, given, alone)
        _receipts(place)


def log_growth() -> None:
    """Compare the cost of an entry and the memory of a service in logs of a thousand to a million
    entries.
    """
    with _folder() as place:
        log = create_log(str(place / "log"))
        given = _statements("es256", 2 * len(_DECADES) * _FEW)
        first = (0.0, 0.0, 0.0)
        for number, size in enumerate(_DECADES):
            append, wall = _grow(log, size)
            with Running(log.path) as service:
                _load(place, service.url, given[2 * number * _FEW : (2 * number + 1) * _FEW])
                _await_published(service, size + _FEW)
                before = _processor(service.process.pid)
                result = _load(
                    place, service.url, given[(2 * number + 1) * _FEW : (2 * number + 2) * _FEW]
                )
                used = (_processor(service.process.pid) - before) / _FEW
                memory = _memory(service.process.pid)
            first = first if first[0] else (append, wall, used)
            print(
                f"log growth          {size:>9} entries: to add one "
                f"{append * 1e6:3.0f} µs of a core ({append / first[0]:.2f} x), "
                f"{wall * 1e6:3.0f} µs by the clock ({wall / first[1]:.2f} x); "
                f"registering {used * 1e6:3.0f} µs of a core ({used / first[2]:.2f} x), "
                f"{result['rate']:5.0f} a second "
                f"{_least(result['rate'], _RATE)}, p99 {result['p99'] * 1000:.0f} ms "
                f"{_most(result['p99'], _P99)}, "
                f"service {memory:.0f} MB"
            )


@contextmanager
def _folder() -> Iterator[Path]:
    """Give a folder to measure in, and say it loudly where that is in memory: nothing is durable
    there, and syncing is free.
    """
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if _filesystem(place) in _IN_MEMORY:
            print(
                f"NOT DURABLE         {place.parent} IS IN MEMORY: these figures do not count. "
                "Set TMPDIR to a folder on a disk."
            )
        yield place


def _filesystem(place: Path) -> str:
    """Give the kind of file system that a folder is on."""
    rows = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    mounted = {Path(row[1].encode().decode("unicode_escape")): row[2] for row in rows}
    return next(
        mounted[one] for one in (place.resolve(), *place.resolve().parents) if one in mounted
    )


def _least(found: float, target: float) -> str:
    return f"(at least {target:,}: {'ok' if found >= target else 'MISSED'})"


def _most(seconds: float, target: float) -> str:
    return f"(at most {target * 1000:.0f}: {'ok' if seconds <= target else 'MISSED'})"


def _statements(kind: str, count: int) -> list[bytes]:
    """Sign distinct statements, by some signers."""
    signers = [KeySigner(generate_key(kind)) for _ in range(_SIGNERS)]
    claims = StatementClaims(issued_at=int(time.time()))
    return [
        sign(os.urandom(500), signers[number % _SIGNERS], claims=claims) for number in range(count)
    ]


def _verifications(given: list[bytes]) -> float:
    """Give how many signatures a second are verified on all cores when nothing else is done."""
    some = [parse_sign1(one) for one in given[:2000]]
    work = [
        (
            one.protected[1],
            _key(one.unprotected),
            one.signature,
            one.to_be_signed(one.payload or b""),
        )
        for one in some
    ]
    best = 0.0
    for _ in range(_REPEATS):
        children = []
        for _ in range(os.cpu_count() or 1):
            reading, writing = os.pipe()
            if not (child := os.fork()):
                start = time.perf_counter()
                for one in work:
                    verify_signature(*one)
                os.write(writing, str(len(work) / (time.perf_counter() - start)).encode())
                os._exit(0)
            os.close(writing)
            children.append((child, reading))
        rate = 0.0
        for child, reading in children:
            rate += float(os.read(reading, 100))
            os.close(reading)
            os.waitpid(child, 0)
        best = max(best, rate)
    return best


def _key(unprotected: dict[object, object]) -> object:
    return parse_cose_key(unprotected[14][8][1])  # type: ignore[index]


def _register(place: Path, kind: str, storage: str, given: list[bytes], alone: float) -> None:
    with _log(place, storage) as log:
        if log is None:
            print(
                f"register            {kind}, {storage}: not measured, there is no PostgreSQL here"
            )
            return
        found = []
        with Running(log.path) as service:
            for number in range(_REPEATS):
                found.append(
                    _load(place, service.url, given[number * _COUNT : (number + 1) * _COUNT])
                )
        rates = sorted(one["rate"] for one in found)
        slowest = max(one["p99"] for one in found)
        print(
            (
                f"register            {kind}, {storage}: "
                f"{_measured(rates, slowest, wanted=(kind, storage) == _WANTED)}, "
            ),
            end="",
        )
        print(f"{rates[1] / alone:.2f} x verifying their signatures alone on all cores")


def _measured(rates: list[float], slowest: float, *, wanted: bool) -> str:
    """Say how many there were a second and how long they waited, beside what there is to be where
    something is asked of them.
    """
    rate, range_ = f"{rates[1]:.0f} a second", f"[{rates[0]:.0f}–{rates[-1]:.0f}]"
    if not wanted:
        return f"{rate} {range_}, p99 {slowest * 1000:.0f} ms"
    return (
        f"{rate} {range_} {_least(rates[1], _RATE)}, p99 {slowest * 1000:.0f} ms "
        f"{_most(slowest, _P99)}"
    )


@contextmanager
def _log(place: Path, storage: str) -> Iterator[LogFolder | None]:
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


def _load(place: Path, url: str, given: list[bytes]) -> dict[str, float]:
    write(place / "statements", given)
    command = [sys.executable, str(_LOAD), url, str(place / "statements"), str(_CONNECTIONS)]
    result: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    if result["statuses"] != {"201": len(given)}:
        raise SystemExit(f"not all were registered: {result}")
    return result


def _grow(log: LogFolder, size: int) -> tuple[float, float]:
    """Grow a log to a size; gives the time of a core that the last entries took each, and that by
    the clock.
    """
    used = took = 0.0
    with closing(log.ledger()) as ledger:
        left = size - (ledger.head.head.size if ledger.head else 0)
        measured = min(left, 10_240)
        for first in range(0, left, 256):
            entries = [
                hashlib.sha512(os.urandom(16)).digest() * 5 for _ in range(min(256, left - first))
            ]
            start, began = time.process_time(), time.perf_counter()
            ledger.append(entries)
            if first >= left - measured:
                used += time.process_time() - start
                took += time.perf_counter() - began
    return used / max(1, measured), took / max(1, measured)


def _await_published(service: Running, size: int) -> None:
    """Wait until the files for what was added without a service are written: they are not what is
    measured.
    """
    while (answer := service.get("/checkpoint"))[0] != 200 or int(answer[2].split(b"\n")[1]) < size:  # noqa: PLR2004
        time.sleep(0.2)


def _memory(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def _processor(process: int) -> float:
    """Give the seconds of a core that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _receipts(place: Path) -> None:
    log = create_log(str(place / "log"))
    given = _statements("es256", 2000)
    with closing(log.ledger()) as ledger:
        placed = ledger.append([build_log_entry(parse_sign1(one)) for one in given])
        known = [one.receipt_key for one in read_log_descriptions(ledger.storage)]
    now, best = datetime.now(UTC), 0.0
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for statement, one in zip(given, placed, strict=True):
            check_receipt(parse_sign1(statement), one.receipt, known, now)
        best = max(best, len(given) / (time.perf_counter() - start))
    print(f"receipts            {best:.0f} verified a second on one core {_least(best, _RECEIPTS)}")
