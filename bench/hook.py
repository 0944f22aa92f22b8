"""Measure how long a hook delays an agent, against starting Python."""

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
    """Compare a hook that stores its event on disk with starting the same Python for nothing.

    The two take turns, so that both run under the same conditions.
    """
    empty = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {"VACR_STATE": folder, "PATH": os.environ["PATH"]}
        command = [sys.executable, "-I", "-S", script.__file__, "claude-code"]
        times = [
            (_time_command(empty, environment), _time_command(command, environment))
            for _ in range(_RUNS)
        ]
    start_up, with_hook = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"hook                {with_hook / start_up:5.2f} x starting Python "
        f"({with_hook * 1000:.1f} ms, median of {_RUNS}; target: at most 2)"
    )


def _time_command(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, input=_EVENT, env=environment, check=True)
    return time.perf_counter() - start
