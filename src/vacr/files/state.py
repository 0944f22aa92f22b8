"""The state folder: where vacr keeps the spool of the hooks, the journal and the outbox.

`hook.py` finds the same folder by itself, because it runs without the package; a test compares
both.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError

STATE_VARIABLE = "VACR_STATE"

_FOLDER_ERROR_REASONS = {
    errno.ENOENT: "no folder can be made there",
    errno.EEXIST: "there is a file, and no folder",
    errno.ENOTDIR: "something on the way to it is a file, and no folder",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "nothing can be written there",
    errno.ENOSPC: "the disk is full",
}


def find_state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder that VACR_STATE names, or the usual one for a user's state.

    Raises:
        UsageError: the variable has no absolute path, or no folder can be derived.
    """
    named = environment.get(STATE_VARIABLE, "")
    if named and not _is_absolute(named):
        hint = "Hooks run in the folders of other programs, and must find the same one."
        raise UsageError(f"{STATE_VARIABLE} is no absolute path: {named}", hint=hint)
    if named:
        return Path(named)
    state = environment.get("XDG_STATE_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    if _is_absolute(state):
        return Path(state) / "vacr"
    home = find_home_folder(environment)
    if not home:
        raise UsageError(
            "there is no home folder to keep state in", hint=f"Name a folder with {STATE_VARIABLE}."
        )
    return Path(home) / ".local" / "state" / "vacr"


def find_home_folder(environment: Mapping[str, str]) -> str:
    """Return the user's home, from HOME or else from the account, or an empty text."""
    named = environment.get("HOME", "")
    if _is_absolute(named):
        return named
    if sys.platform == "win32":
        return os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def make_state_folder_error(folder: Path, error: OSError) -> UnreadableInput:
    """Return the error that says why a folder cannot be used for state."""
    reason = _FOLDER_ERROR_REASONS.get(error.errno or 0, error.strerror or str(error))
    hint = f"State is kept there; the variable {STATE_VARIABLE} names another folder."
    return UnreadableInput(reason, where=os.fsdecode(error.filename or folder), hint=hint)


def _is_absolute(path: str) -> bool:
    return os.path.isabs(path)  # noqa: PTH117 - must decide as hook.py does, which has no Path
