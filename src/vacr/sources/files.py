"""Native files: their bytes, their names, and what lies around them.

A session may be more than its transcript: large outputs lie beside, and sub-agents write files of
their own. Readers say by patterns where (`ATTACHED`, `SUB_SESSIONS`); here they are found.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput
from vacr.readers.documents import documents
from vacr.readers.registry import Reader
from vacr.readers.source import Part

STDIN = "-"

_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "its symbolic links go in a circle",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENXIO: "a socket, not a file",
}
_OPEN_ALREADY = ("/dev/", "/proc/")
"""Where a path stands for what this process has been given: standard input, or what a shell puts in
the place of a command.
"""


def read_bytes(path: str | Path, limit: int = -1) -> bytes:
    """Read a file, or standard input for `-`, as it is at this moment; no more of it than a limit,
    if there is one.

    Raises:
        UnreadableInput: with the reason, and the path it is about.
    """
    if str(path) == STDIN:
        if sys.stdin is None:
            raise UnreadableInput("standard input is closed", where=STDIN)
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb", opener=_open) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                raise UnreadableInput(
                    "a device, not a file",
                    where=str(path),
                    hint="Name a file, or - for standard input.",
                )
            if stat.S_ISFIFO(status.st_mode):
                _refuse_pipe_on_disk(path)
                os.set_blocking(file.fileno(), True)
            # An agent may be writing: what it adds from now on is for the next reading.
            size = status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else -1
            return file.read(size if limit < 0 else limit)
    except IsADirectoryError as error:
        hint = "Name the files in it."
        raise UnreadableInput("a folder, not a file", where=str(path), hint=hint) from error
    except (OSError, ValueError) as error:
        raise UnreadableInput(reason_of(error), where=str(path)) from error


def _open(path: str, flags: int) -> int:
    """Open a file without waiting for anybody, as one would at a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _refuse_pipe_on_disk(path: str | Path) -> None:
    """Refuse a pipe that lies in a folder, for nobody may ever write to it; one that is open
    already has somebody.

    Raises:
        UnreadableInput: it is not one that this process was given.
    """
    if not os.path.abspath(path).startswith(_OPEN_ALREADY):  # noqa: PTH100 - a path from a user
        hint = "Give what it says on standard input: vacr … - < PIPE."
        raise UnreadableInput("a pipe, not a file", where=str(path), hint=hint)


def reason_of(error: OSError | ValueError) -> str:
    """Say why a file cannot be read."""
    number = error.errno if isinstance(error, OSError) else None
    return _REASONS.get(number or 0) or (os.strerror(number) if number else str(error))


def part_name(path: Path, reader: Reader | None = None) -> str:
    """Name a part by its file; where the folder says whose session it is, with the folder."""
    named = getattr(reader, "NAMED", None)
    found = named.search(path.absolute().as_posix()) if named else None
    return as_text(found[0] if found else path.name)


def as_text(path: str) -> str:
    """Give a path as text, whatever bytes the file system has for it."""
    return os.fsencode(path).decode("utf-8", "replace")


def attached(
    path: Path, reader: Reader, left_out: list[UnreadableInput], files: list[Path]
) -> Iterator[Part]:
    """Give the files that belong to a session beside its transcript, and tell which they are and
    which were left out.
    """
    for file in attached_files(path, reader):
        try:
            yield Part(as_text(file.relative_to(path.parent).as_posix()), read_beside(file, path))
            files.append(file)
        except UnreadableInput as error:
            left_out.append(error)


def attached_files(path: Path, reader: Reader) -> Iterator[Path]:
    """Name the files that belong to a session beside its transcript."""
    yield from _patterns(reader, "ATTACHED", path)


def sub_sessions(path: Path, reader: Reader, sessions: set[Any]) -> Iterator[Path]:
    """Give the files of the sub-agents that belong to a session's file."""
    for file in _patterns(reader, "SUB_SESSIONS", path, sessions):
        if file == path:
            continue
        # A file in the session's own folder is its; one beside it must say so.
        if file.parent != path.parent or _mentions(file, path, sessions):
            yield file


def _patterns(
    reader: Reader, which: str, path: Path, sessions: Iterable[Any] = ()
) -> Iterator[Path]:
    """Give the files that a reader's patterns name around a session's file, in order of their
    names.
    """
    for pattern in getattr(reader, which, ()):
        for session in sorted(sessions, key=str) if "{session}" in pattern else ("",):
            folder, _, name = pattern.format(stem=path.stem, session=session).rpartition("/")
            place = os.path.join(path.parent, folder)  # noqa: PTH118 - for every file of a large folder, which Path is slow for
            if "*" not in name:
                if os.path.isfile(file := os.path.join(place, name)):  # noqa: PTH113, PTH118
                    yield Path(file)
            elif os.path.isdir(place):  # noqa: PTH112
                yield from sorted(found for found in Path(place).glob(name) if found.is_file())


def read_beside(file: Path, path: Path) -> bytes:
    """Read a file that lies around a session's file.

    Raises:
        UnreadableInput: it cannot be read, or is a link to something that is not the agent's.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(path.parent)):
        raise UnreadableInput("a link that leads out of the session's folder", where=str(file))
    return read_bytes(file)


def _mentions(file: Path, path: Path, sessions: set[Any]) -> bool:
    """Tell whether a file is of one of the sessions: its first object that names a session does."""
    try:
        data = read_beside(file, path)
    except UnreadableInput:
        # It may be one of theirs; whoever reads it tells why it cannot be.
        return True
    for _, batch in documents(data):
        for value in batch:
            if isinstance(value, dict) and isinstance(value.get("sessionId"), str):
                return value["sessionId"] in sessions
    return False
