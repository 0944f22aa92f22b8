"""Files that are there, whole, after the machine lost its power: written beside their place,
synced, and moved there.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from vacr.errors import UnreadableInput
from vacr.recording.files import sync_folder

_PUBLIC = 0o644
_PIECE = 1 << 20


def write(path: Path, data: bytes, mode: int = _PUBLIC) -> None:
    """Write a file, or replace it, so that there is the old one or the new one at any moment.

    Raises:
        UnreadableInput: it cannot be written; what was there before is there.
    """
    name = ""
    try:
        handle, name = tempfile.mkstemp(".tmp", f".{path.name}-", path.parent)
        with os.fdopen(handle, "wb") as file:
            os.chmod(name, mode)  # noqa: PTH101 - a path that mkstemp gave
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.replace(name, path)  # noqa: PTH105 - a path that mkstemp gave
        sync_folder(path.parent)
    except OSError as error:
        raise UnreadableInput(
            f"cannot be written: {error.strerror or error}", where=str(path)
        ) from error
    finally:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave; gone where all went well


def write_again(path: Path) -> None:
    """Write what is in a file over itself and sync it, if there is one: what an earlier sync may
    have lost is on the disk then.

    Raises:
        OSError: that failed.
    """
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        at = 0
        while data := os.pread(handle, _PIECE, at):
            at += os.pwrite(handle, data, at)
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path, within: Path) -> None:
    """Make a folder, and those above it as far as one that has to be there, so that their names
    stay.

    Raises:
        OSError: it cannot be made.
    """
    if path == within or path.is_dir():
        return
    make_folder(path.parent, within)
    path.mkdir(exist_ok=True)
    try:
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            path.rmdir()  # so that it is made and synced again
        raise
