"""Files that outlast a loss of power: whole or not at all, and on the disk before this goes on. Step: register."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from vacr.errors import UnreadableInput

_SUFFIX = ".vacr-new"


def write_durably(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file in place of what is there, and see it to the disk.

    Raises:
        UnreadableInput: it cannot be written; what was there is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UnreadableInput(f"cannot be written: {error.strerror or error}", where=str(path)) from error


def sync_folder(folder: Path) -> None:
    """See the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_left_over(path: Path) -> bool:
    """Tell whether a file is one that was being written when its process ended."""
    return path.name.startswith(".") and path.name.endswith(_SUFFIX)
