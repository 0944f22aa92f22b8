"""Addresses of services that a user names.

Where vacr keeps what has to outlast a command: the spool of the hooks, the journal, the outbox.

`hook.py` finds the same folder by itself, for it runs without the package; a test holds both to the
same answers.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from vacr.errors import UnreadableInput, UsageError


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where a service is: the path is what a request asks for, or what its paths begin with."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def is_local(self) -> bool:
        """Whether nobody else can listen on the way there."""
        return self.host in ("localhost", "127.0.0.1", "::1")


def parse_service_address(url: str, whose: str, example: str) -> ServiceAddress:
    """Read the address of a service.

    Raises:
        UsageError: it is none, or holds a name or a password.
    """
    try:
        place = urlsplit(url)
        port = place.port
    except ValueError as error:
        raise UsageError(f"the address of the {whose} cannot be read", hint=example) from error
    # A password would be told in messages, and never to the service.
    if "@" in place.netloc:
        raise UsageError(
            f"names and passwords in the address of a service are not used: that of the {whose}",
            hint=example,
        )
    if place.scheme not in ("http", "https") or not place.hostname:
        raise UsageError(f"{url} is no address of a service", hint=example)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url} is no address: some letters have to be escaped", hint=example)
    return ServiceAddress(
        place.scheme,
        place.hostname,
        port,
        (place.path or "/") + (f"?{place.query}" if place.query else ""),
    )


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
    """Give the folder: the one that VACR_STATE names, or the usual one for a user's state.

    Raises:
        UsageError: the variable has no absolute path, or there is nothing to find the folder by.
    """
    named = environment.get(STATE_VARIABLE, "")
    if named and not os.path.isabs(named):  # noqa: PTH117 - a path from a variable
        hint = "Hooks run in the folders of other programs, and must find the same one."
        raise UsageError(f"{STATE_VARIABLE} is no absolute path: {named}", hint=hint)
    if named:
        return Path(named)
    state = environment.get("XDG_STATE_HOME", "")
    # By the specification of these folders, a path that is not absolute is to be ignored.
    if os.path.isabs(state):  # noqa: PTH117 - a path from a variable
        return Path(state) / "vacr"
    home = find_home_folder(environment)
    if not home:
        raise UsageError(
            "there is no home folder to keep state in", hint=f"Name a folder with {STATE_VARIABLE}."
        )
    return Path(home) / ".local" / "state" / "vacr"


def find_home_folder(environment: Mapping[str, str]) -> str:
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


def make_state_folder_error(folder: Path, error: OSError) -> UnreadableInput:
    """Make the error that says why state cannot be kept in a folder."""
    told = _FOLDER_ERROR_REASONS.get(error.errno or 0, error.strerror or str(error))
    hint = f"State is kept there; the variable {STATE_VARIABLE} names another folder."
    return UnreadableInput(told, where=os.fsdecode(error.filename or folder), hint=hint)
