"""Run the commands of a page in one shell, and stop at the first that fails."""

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
_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class StepResult:
    """The output and the exit code of a command."""

    step: Step
    printed: str
    exit_code: int


def run_steps(
    page: Iterable[Step],
    home: Path,
    clone: Path,
    *,
    after_failures: bool = False,
    programs: Path = Path(sys.executable).parent,
) -> list[StepResult]:
    """Run the commands of a page, then end the processes that they left running.

    With `after_failures`, the shell continues after a command that fails. `programs` is the folder
    of the command `vacr`.
    """
    steps = list(page)
    ports = dict(zip(PORTS, _find_free_ports(len(PORTS)), strict=True))
    end_of_step = "_ended go" if after_failures else "_ended"
    script = "".join(f"{_replace_ports(step.command, ports)}\n{end_of_step}\n" for step in steps)
    shell = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", _BEGIN + script],
        cwd=clone,
        env=_build_environment(home, programs),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        output, _ = shell.communicate()
    shown_ports = {port: shown for shown, port in ports.items()}
    text = _replace_ports(output.decode("utf-8").replace(str(home), SHOWN_HOME), shown_ports)
    pieces = text.split(_MARK)
    exit_codes = [int(piece.split("\n", 1)[0]) for piece in pieces[1:]]
    outputs = [pieces[0], *(piece.split("\n", 1)[1] for piece in pieces[1:])]
    # A command without an exit code failed: it ended the shell, or the shell could not parse it.
    exit_codes += [-1] if len(exit_codes) < len(steps) and not any(exit_codes) else []
    return [
        StepResult(step, output, exit_code)
        for step, output, exit_code in zip(steps, outputs, exit_codes, strict=False)
    ]


_BEGIN = f"""
trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT
_ended() {{
    local code=$?
    printf '%s %d\\n' '{_MARK}' $code
    [ $code = 0 ] || [ "$1" = go ] || exit $code
}}
"""


def _build_environment(home: Path, programs: Path) -> dict[str, str]:
    """Return a reader's environment, without this machine's own agents and settings."""
    folders = (str(programs), str(Path(sys.executable).parent), os.environ["PATH"])
    path = os.pathsep.join(folders)
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}


def _replace_ports(text: str, ports: dict[str, str]) -> str:
    for old, new in ports.items():
        text = text.replace(f"--port {old}", f"--port {new}")
        text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
    return text


def _find_free_ports(count: int) -> list[str]:
    """Return ports that are not in use."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [str(server.getsockname()[1]) for server in servers]
    finally:
        for server in servers:
            server.close()
