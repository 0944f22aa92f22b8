"""A reader's shell: types the commands of a page one after the other, in one folder, and stops at
the first that fails.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import Step

PORTS = ("8080", "8090")
SHOWN_HOME = "/home/mira"
_MARK = "\x1dended with"
_PATIENCE = 60


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    step: Step
    printed: str
    exit: int


def run(page: Iterable[Step], home: Path, clone: Path, *, goes_on: bool = False) -> list[Done]:
    """Run the commands of a page, and end what they left running."""
    typed = list(page)
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    script = "".join(
        f"{_swapped(step.command, ports)}\n_ended{' ' * goes_on}{'go' * goes_on}\n"
        for step in typed
    )
    shell = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", _BEGIN + script],
        cwd=clone,
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        output, _ = shell.communicate()
    said = _swapped(
        output.decode("utf-8").replace(str(home), SHOWN_HOME),
        {port: shown for shown, port in ports.items()},
    )
    pieces = said.split(_MARK)
    ends = [int(piece.split("\n", 1)[0]) for piece in pieces[1:]]
    printed = [pieces[0], *(piece.split("\n", 1)[1] for piece in pieces[1:])]
    # What did not come to its end, because the shell was ended or could not read it, has failed.
    ends += [-1] if len(ends) < len(typed) and not any(ends) else []
    return [Done(step, text, end) for step, text, end in zip(typed, printed, ends, strict=False)]


_BEGIN = f"""
trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT
_ended() {{
    local code=$?
    printf '%s %d\\n' '{_MARK}' $code
    [ $code = 0 ] || [ "$1" = go ] || exit $code
}}
"""


def _environment(home: Path) -> dict[str, str]:
    """Give what a reader's shell has, and nothing of the machine's own agents and settings."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}


def _swapped(text: str, names: dict[str, str]) -> str:
    for name, other in names.items():
        text = text.replace(f"--port {name}", f"--port {other}").replace(
            f"127.0.0.1:{name}", f"127.0.0.1:{other}"
        )
    return text


def _free_ports(count: int) -> list[str]:
    """Find ports that nobody listens at."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [str(server.getsockname()[1]) for server in taken]
    finally:
        for server in taken:
            server.close()
