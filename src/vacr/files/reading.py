"""Read the bytes of a file, or say in words why that is impossible."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from vacr.errors import UnreadableInput

STDIN = "-"

_READ_ERROR_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "its symbolic links go in a circle",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENXIO: "a socket, not a file",
}
_INHERITED_FILE_PREFIXES = ("/dev/", "/proc/")
"""Where a path stands for an open file of this process.

It may be standard input, or a pipe that a shell substitutes for a command.
"""


def read_bytes(path: str | Path, limit: int = -1) -> bytes:
    """Read a file, or standard input for `-`, as it is now; at most `limit` bytes, if given.

    Raises:
        UnreadableInput: with the reason and the path.
    """
    if str(path) == STDIN:
        if sys.stdin is None:
            raise UnreadableInput("standard input is closed", where=STDIN)
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                raise UnreadableInput(
                    "a device, not a file",
                    where=str(path),
                    hint="Name a file, or - for standard input.",
                )
            if stat.S_ISFIFO(status.st_mode):
                _check_not_named_pipe(path)
                os.set_blocking(file.fileno(), True)
            # An agent may be writing: the next reading takes later additions.
            size = status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else -1
            return file.read(size if limit < 0 else limit)
    except IsADirectoryError as error:
        hint = "Name the files in it."
        raise UnreadableInput("a folder, not a file", where=str(path), hint=hint) from error
    except (OSError, ValueError) as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def describe_file_error(error: OSError | ValueError) -> str:
    """Return the reason why a file cannot be read."""
    number = error.errno if isinstance(error, OSError) else None
    if not number:
        return str(error)
    return _READ_ERROR_REASONS.get(number) or os.strerror(number)


def format_path(path: str) -> str:
    """Return a path as text, even if its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_not_named_pipe(path: str | Path) -> None:
    """Check that this process inherited a pipe: reading any other might never end.

    Raises:
        UnreadableInput: it is a named pipe in a folder.
    """
    if not os.path.abspath(path).startswith(_INHERITED_FILE_PREFIXES):  # noqa: PTH100 - needs ".." resolved
        hint = "Give what it says on standard input: vacr … - < PIPE."
        raise UnreadableInput("a pipe, not a file", where=str(path), hint=hint)
