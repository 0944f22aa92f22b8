"""Native files on this machine, as sources for the readers. The one place that reads sessions from disk.

A session may be more than its transcript: sub-agents write files of their own, and large outputs lie beside. Readers say
by patterns where (`ATTACHED`, `SUB_SESSIONS`); here they are found. A path that cannot be read is an error that says why.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput
from vacr.readers.assemble import Reading
from vacr.readers.documents import documents
from vacr.readers.registry import Reader, reader_for
from vacr.readers.source import Part, Source

STDIN = "-"

_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "its symbolic links go in a circle",
    errno.ENAMETOOLONG: "the name is too long",
}


@dataclass(frozen=True)
class Found:
    """A reading and where it comes from; the native bytes only where they are to be kept."""

    name: str
    reading: Reading
    reader: Reader
    source: Source | None = None
    sub_agent: bool = False
    left_out: tuple[UnreadableInput, ...] = ()
    """Files that belong to the session and could not be read."""


def read_bytes(path: str | Path) -> bytes:
    """Read a file, or standard input for `-`, as it is at this moment.

    Raises:
        UnreadableInput: with the reason, and the path it is about.
    """
    if str(path) == STDIN:
        if sys.stdin is None:
            raise UnreadableInput("standard input is closed", where=STDIN)
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path from a user may hold what Path refuses
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                raise UnreadableInput("a device, not a file", where=str(path))
            # An agent may be writing: what it adds from now on is for the next reading.
            return file.read(status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else -1)
    except IsADirectoryError as error:
        hint = "Name the files in it."
        raise UnreadableInput("a folder, not a file", where=str(path), hint=hint) from error
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        reason = _REASONS.get(number or 0) or (os.strerror(number) if number else str(error))
        raise UnreadableInput(reason, where=str(path)) from error


def read(
    path: str | Path,
    *,
    agent: str | None = None,
    sub_agents: bool = True,
    keep_source: bool = False,
    named: Iterable[str | Path] = (),
) -> Iterator[Found]:
    """Read the session in a file, then those of its sub-agents that have files of their own and are not named anyway.

    The native bytes are let go once they are read, for a session may be large, unless they are to be kept.

    Raises:
        UnreadableInput: the file cannot be read, or is of no agent that is known.
        UsageError: no reader has that name.
    """
    name = "stdin" if str(path) == STDIN else _name(Path(Path(path).name))
    main = Source((Part(name, read_bytes(path)),))
    try:
        reader = reader_for(main, agent)
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error
    on_disk = str(path) != STDIN
    left_out: list[UnreadableInput] = []
    if on_disk and sub_agents:
        main = Source((*main.parts, *_attached(Path(path), reader, left_out)))
    readings = list(reader.read(main))
    sessions = {reading.record["session"]["session-id"] for reading in readings}
    kept = main if keep_source else None
    del main
    while readings:
        yield Found(name, readings.pop(0), reader, kept, left_out=tuple(left_out))
    if on_disk and sub_agents:
        unreadable: list[UnreadableInput] = []
        for source in _sub_sessions(Path(path), reader, sessions, {os.path.realpath(one) for one in named}, unreadable):
            for reading in reader.read(source):
                yield Found(source.main.name, reading, reader, source if keep_source else None, sub_agent=True)
        for problem in unreadable:
            raise problem


def in_store(folder: Path, reader: Reader) -> bool:
    """Tell whether a folder lies in the agent's own store, where nothing of ours belongs."""
    variable, default = getattr(reader, "STORE", ("", ""))
    if not variable:
        return False
    store = Path(os.environ.get(variable) or Path.home() / default)
    return folder.resolve().is_relative_to(store.resolve())


def _name(path: Path) -> str:
    """Give the name of a part as text, whatever bytes the file system has for it."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _patterns(reader: Reader, which: str, path: Path) -> Iterator[Path]:
    """Give the files that a reader's patterns name around a session's file, in order of their names."""
    for pattern in getattr(reader, which, ()):
        folder, _, name = pattern.format(stem=path.stem).rpartition("/")
        try:
            yield from sorted(found for found in (path.parent / folder).glob(name) if found.is_file())
        except (OSError, ValueError):
            continue


def _read_beside(file: Path, path: Path) -> bytes:
    """Read a file that lies around a session's file.

    Raises:
        UnreadableInput: it cannot be read, or is a link to something that is not the agent's.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(path.parent)):
        raise UnreadableInput("a link that leads out of the session's folder", where=str(file))
    return read_bytes(file)


def _attached(path: Path, reader: Reader, left_out: list[UnreadableInput]) -> Iterator[Part]:
    for file in _patterns(reader, "ATTACHED", path):
        try:
            yield Part(_name(file.relative_to(path.parent)), _read_beside(file, path))
        except UnreadableInput as error:
            left_out.append(error)


def _sub_sessions(
    path: Path, reader: Reader, sessions: set[Any], named: set[str], unreadable: list[UnreadableInput]
) -> Iterator[Source]:
    """Give the sub-agents' files that belong to a session, each with what is said about it beside."""
    for file in _patterns(reader, "SUB_SESSIONS", path):
        if file == path or os.path.realpath(file) in named:
            continue
        try:
            data = _read_beside(file, path)
            if file.parent.name != "subagents" and not _mentions(data, sessions):
                continue
            beside = file.with_suffix(".meta.json")
            parts = [Part(_name(Path(file.name)), data)]
            if beside.is_file():
                parts.append(Part(_name(Path(beside.name)), _read_beside(beside, path)))
        except UnreadableInput as error:
            unreadable.append(error)
        else:
            yield Source(tuple(parts))


def _mentions(data: bytes, sessions: set[Any]) -> bool:
    """Tell whether a file is of one of the sessions: its first object that names a session does."""
    for _, batch in documents(data):
        for value in batch:
            if isinstance(value, dict) and isinstance(value.get("sessionId"), str):
                return value["sessionId"] in sessions
    return False
