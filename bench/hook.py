"""What a hook costs an agent beside a Python that does nothing."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from vacr.capture import hook as script

_RUNS = 100
_EVENT = (
    b'{"session_id":"0198f0d2-0000-7000-8000-000000000000","hook_event_name":"PostToolUse","x":"%s"}'
    % (b"y" * 3000)
)


def hook() -> None:
    """Compare a hook, to the disk, with an empty start of the same Python; in turns, so that both
    meet the same machine.
    """
    empty = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {"VACR_STATE": folder, "PATH": os.environ["PATH"]}
        command = [sys.executable, "-I", "-S", script.__file__, "claude-code"]
        times = [(_timed(empty, environment), _timed(command, environment)) for _ in range(_RUNS)]
    least, work = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"hook                {work / least:5.2f} x an empty Python ({work * 1000:.1f} ms, "
        f"median of {_RUNS}; at most 2)"
    )


def _timed(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, input=_EVENT, env=environment, check=True)
    return time.perf_counter() - start
