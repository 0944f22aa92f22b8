"""Measure `vacr show` on a record of 70 MB: time to the first row, time to the last, and memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, cast

from page import build_long_record
from processes import VACR, measure_peak_memory

SIZE = 70_000_000
SAMPLE = 1000
DECODE_SCRIPT = (
    "import sys, pathlib, vacr; vacr.decode(pathlib.Path(sys.argv[1]).read_bytes()); print()"
)
RUNS = 5


def show() -> None:
    """Compare showing a record with decoding it in another process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.acr.json"
        sample_size = len(build_long_record(SAMPLE))
        path.write_bytes(build_long_record(SAMPLE * SIZE // sample_size))
        size = path.stat().st_size
        show_command = (VACR, "show", str(path))
        decode_command = (sys.executable, "-c", DECODE_SCRIPT, str(path))
        runs = [(_time_output(*show_command), _time_output(*decode_command)) for _ in range(RUNS)]
        first_row = min(first for (first, _), _ in runs)
        last_row = min(last for (_, last), _ in runs)
        decoding = min(last for _, (_, last) in runs)
        peak_memory = measure_peak_memory(*show_command)
    print(
        f"show                {first_row / decoding:5.2f} x decoding until the first row "
        f"(a record of {size / 1e6:.0f} MB, decoded in {decoding:.2f} s)"
    )
    print(f"                    {last_row / decoding:5.2f} x decoding until the last row")
    print(f"  memory            {peak_memory / size:5.2f} x the record")


def _time_output(*command: str) -> tuple[float, float]:
    """Return the seconds until the first byte of output, and until the end."""
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
