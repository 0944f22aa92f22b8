"""Where results go: a file, a folder or standard output; and how a file is written without losing another."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vacr.cli.options import silence_stdout
from vacr.errors import UnreadableInput, UsageError
from vacr.sources import STDIN

Pieces = Iterable[bytes | memoryview]


def is_folder(output: str | None) -> bool:
    """Tell whether an output is a folder: the current one by default, one that exists, or a name that ends in a slash."""
    return output is None or (output != STDIN and (output.endswith("/") or os.path.isdir(output)))  # noqa: PTH112


def refuse_one_file_for_many(files: tuple[str, ...], output: str | None) -> None:
    """Refuse to write several results into one file.

    Raises:
        UsageError: there are several, and the output is neither a folder nor standard output.
    """
    if len(files) > 1 and not is_folder(output) and output != STDIN:
        raise UsageError(f"several results cannot go into one file, {output}", hint="End the name in / for a folder.")


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


def _replace(path: Path, pieces: Pieces) -> None:
    handle, name = tempfile.mkstemp(prefix=".vacr-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
        os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101 - a path that mkstemp gave
        os.replace(name, path)  # noqa: PTH105 - a path that mkstemp gave
    except BaseException:
        os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave
        raise


def write_stdout(pieces: Pieces) -> None:
    """Write bytes to standard output as they are.

    Raises:
        UnreadableInput: there is no room for them.
        BrokenPipeError: nobody reads them any more.
    """
    try:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence_stdout()
        raise UnreadableInput(f"cannot be written: {error.strerror or error}", where="standard output") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
