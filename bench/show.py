"""`vacr show` of a record of 70 MB: when the first row is there, when the last, and the memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, cast

from page import long_record
from processes import VACR, peak

SIZE = 70_000_000
SAMPLE = 1000
DECODING = "import sys, pathlib, vacr; vacr.decode(pathlib.Path(sys.argv[1]).read_bytes()); print()"
RUNS = 5


def show() -> None:
    """Print how long it takes, in times of what it takes another process to decode the record."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.acr.json"
        path.write_bytes(long_record(SAMPLE * SIZE // len(long_record(SAMPLE))))
        size = path.stat().st_size
        command, floor = (VACR, "show", str(path)), (sys.executable, "-c", DECODING, str(path))
        runs = [(_timed(*command), _timed(*floor)) for _ in range(RUNS)]
        decoding = min(last for _, (_, last) in runs)
        first, last = (min(times[which] for times, _ in runs) for which in (0, 1))
        most = peak(*command)
    print(
        f"show                {first / decoding:5.2f} x decoding a record of {size / 1e6:.0f} "
        "MB until the first row is there"
    )
    print(
        f"                    {last / decoding:5.2f} x until the last ({decoding:.2f} s for "
        "decoding)"
    )
    print(f"  memory            {most / size:5.2f} x the record")


def _timed(*command: str) -> tuple[float, float]:
    """Give the times until the first byte of output, and until the end."""
    begun = time.perf_counter()
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
        cast("IO[bytes]", process.stdout) as output,
    ):
        output.read(1)
        first = time.perf_counter() - begun
        while output.read(1 << 20):
            pass
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return first, time.perf_counter() - begun
