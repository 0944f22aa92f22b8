"""The command that an agent runs at an event, and how ours is told from others'."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from vacr.capture import hook

MARK = "vacr/capture/hook.py"
"""What every command of ours has in it, wherever vacr is installed, and whichever version wrote it.
"""
SCRIPT = str(Path(hook.__file__).resolve())


def command_for(agent: str, answer: str = "") -> str:
    """Give the command of an agent, which a shell runs; some agents want an answer, in JSON.

    Once Python or vacr is gone from where it was, the command still succeeds and says nothing. A
    script that is not there would give exit code 2, by which agents are told to stop, and what is
    on standard error some show to the user.
    """
    run = f"{shlex.join([sys.executable, '-I', '-S', SCRIPT, agent])} 2>/dev/null"
    return f"{run}; echo {shlex.quote(answer)}" if answer else f"{run} || true"


def is_ours(command: Any) -> bool:
    """Tell whether a command is one of ours."""
    return isinstance(command, str) and MARK in command.replace("\\", "/")


def missing(command: str) -> str:
    """Name the file that a command of ours needs and that is not there, if there is one."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    needed = words[:1] + [word for word in words if word.endswith(MARK)][:1]
    return next((path for path in needed if not Path(path).exists()), "")
