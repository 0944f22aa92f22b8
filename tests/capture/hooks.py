"""How tests run the hook: as agents do."""

import os
import subprocess
import sys
from pathlib import Path

from vacr.capture import hook as script
from vacr.capture.spool import HookEvent, list_spools, read_hook_events

HOOK = str(Path(script.__file__))
COMMAND = [sys.executable, "-I", "-S", HOOK]


def build_environment(state: Path, **more: str) -> dict[str, str]:
    """Return the environment of a hook with this state folder."""
    return {"PATH": os.environ["PATH"], "VACR_STATE": str(state), **more}


def run_hook(state: Path, *arguments: str, stdin: bytes = b"", **more) -> None:
    """Run the hook; it must print nothing and exit with 0 for any input."""
    settings = {"env": build_environment(state)} | more
    done = subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def read_spools(state: Path) -> dict[tuple[str, str], list[bytes]]:
    """Return the payloads of all spools, by agent and session."""
    return {
        (spool.agent, spool.session): [event.payload for event in read_all_events(spool.path)]
        for spool in list_spools(state)
    }


def read_all_events(path: Path) -> list[HookEvent]:
    """Read a spool to its end."""
    events, offset = [], 0
    while True:
        found, offset = read_hook_events(path, offset)
        if not found:
            return events
        events += found
