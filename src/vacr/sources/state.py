"""Where vacr keeps what has to outlast a command: the spool of the hooks, the journal, the outbox.

`hook.py` finds the same folder by itself, for it runs without the package; a test holds both to the
same answers.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError

VARIABLE = "VACR_STATE"

_REASONS = {
    errno.ENOENT: "no folder can be made there",
    errno.EEXIST: "there is a file, and no folder",
    errno.ENOTDIR: "something on the way to it is a file, and no folder",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "nothing can be written there",
    errno.ENOSPC: "the disk is full",
}


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
    home = home_folder(environment)
    if not home:
        raise UsageError(
            "there is no home folder to keep state in", hint=f"Name a folder with {VARIABLE}."
        )
    return Path(home) / ".local" / "state" / "vacr"


def home_folder(environment: Mapping[str, str]) -> str:
    """Give the user's home: the one that HOME names, or else that of the account; nothing where
    there is none.
    """
    named = environment.get("HOME", "")
    if os.path.isabs(named):  # noqa: PTH117 - a path from a variable
        return named
    if sys.platform == "win32":
        return os.path.expanduser("~")  # noqa: PTH111 - which does not raise where there is no home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def unusable(folder: Path, error: OSError) -> UnreadableInput:
    """Make the error that says why state cannot be kept in a folder."""
    told = _REASONS.get(error.errno or 0, error.strerror or str(error))
    hint = f"State is kept there; the variable {VARIABLE} names another folder."
    return UnreadableInput(told, where=os.fsdecode(error.filename or folder), hint=hint)
