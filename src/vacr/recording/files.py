"""How a file is written without losing another: whole or not at all, and never over what is being read."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.sources import STDIN

Pieces = Iterable[bytes | memoryview]

_unfinished: set[str] = set()


def refuse_input(path: Path, files: tuple[str, ...]) -> None:
    """Refuse to write over what is being read.

    Raises:
        UsageError: the output is one of the inputs.
    """
    for name in files:
        with suppress(OSError, ValueError):
            if name != STDIN and path.exists() and path.samefile(name):
                raise UsageError(f"{path} is the input itself", hint="Say where to write with -o.")


def same(path: Path, pieces: list[bytes | memoryview]) -> bool:
    """Tell whether a file holds just these bytes."""
    if path.stat().st_size != sum(len(piece) for piece in pieces):
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest(pieces)


def digest(pieces: Pieces) -> str:
    """Give the SHA-256 of bytes in pieces."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return whole.hexdigest()


def write(path: Path, pieces: Pieces) -> None:
    """Write a file whole or not at all: an interruption leaves what was there before. Pipes and devices are written to.

    Raises:
        UnreadableInput: the file cannot be written.
    """
    try:
        path = Path(os.path.realpath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                file.writelines(pieces)
            return
        _replace(path, pieces)
    except OSError as error:
        raise UnreadableInput(f"cannot be written: {error.strerror or error}", where=str(path)) from error


def discard_unfinished() -> None:
    """Remove what was being written, for a process that ends without going back."""
    for name in list(_unfinished):
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave


def _replace(path: Path, pieces: Pieces) -> None:
    handle, name = tempfile.mkstemp(prefix=".vacr-", dir=path.parent)
    _unfinished.add(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
        os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101 - a path that mkstemp gave
        os.replace(name, path)  # noqa: PTH105 - a path that mkstemp gave
    except BaseException:
        os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave
        raise
    finally:
        _unfinished.discard(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
