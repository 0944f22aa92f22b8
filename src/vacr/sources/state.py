"""Where vacr keeps what has to outlast a command: the spool of the hooks, the journal, the outbox.

`hook.py` finds the same folder by itself, for it runs without the package; a test holds both to the same answers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from vacr.errors import UsageError

VARIABLE = "VACR_STATE"


def state_folder(environment: Mapping[str, str]) -> Path:
    """Give the folder: the one that VACR_STATE names, or the usual one for a user's state.

    Raises:
        UsageError: the variable has no absolute path, or there is nothing to find the folder by.
    """
    named = environment.get(VARIABLE, "")
    if named and not os.path.isabs(named):  # noqa: PTH117 - a path from a variable
        hint = "Hooks run in the folders of other programs, and must find the same one."
        raise UsageError(f"{VARIABLE} is no absolute path: {named}", hint=hint)
    if named:
        return Path(named)
    state = environment.get("XDG_STATE_HOME", "")
    # By the specification of these folders, a path that is not absolute is to be ignored.
    if os.path.isabs(state):  # noqa: PTH117 - a path from a variable
        return Path(state) / "vacr"
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - which does not raise where there is no home
    if not os.path.isabs(home):  # noqa: PTH117
        raise UsageError("there is no home folder to keep state in", hint=f"Name a folder with {VARIABLE}.")
    return Path(home) / ".local" / "state" / "vacr"
