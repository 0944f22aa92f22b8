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
from vacr.readers.lines import documents
from vacr.readers.registry import Reader, reader_for
from vacr.readers.source import Part, Source

STDIN = "-"

_HEAD = 1 << 16

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
    if on_disk and sub_agents:
        main = Source((*main.parts, *_attached(Path(path), reader)))
    readings = list(reader.read(main))
    sessions = {reading.record["session"]["session-id"] for reading in readings}
    kept = main if keep_source else None
    del main
    while readings:
        yield Found(name, readings.pop(0), reader, kept)
    if on_disk and sub_agents:
        for source in _sub_sessions(Path(path), reader, sessions, {os.path.realpath(one) for one in named}):
            for reading in reader.read(source):
                yield Found(source.main.name, reading, reader, source if keep_source else None, sub_agent=True)


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
            # Links are not followed: what they lead to is not the agent's.
            yield from sorted(found for found in (path.parent / folder).glob(name) if found.is_file() and not found.is_symlink())
        except (OSError, ValueError):
            continue


def _attached(path: Path, reader: Reader) -> Iterator[Part]:
    for file in _patterns(reader, "ATTACHED", path):
        yield Part(_name(file.relative_to(path.parent)), read_bytes(file))


def _sub_sessions(path: Path, reader: Reader, sessions: set[Any], named: set[str]) -> Iterator[Source]:
    """Give the sub-agents' files that belong to a session, each with what is said about it beside."""
    for file in _patterns(reader, "SUB_SESSIONS", path):
        if file == path or os.path.realpath(file) in named or not _mentions(file, sessions):
            continue
        beside = file.with_suffix(".meta.json")
        names = [file, beside] if beside.is_file() else [file]
        yield Source(tuple(Part(_name(Path(name.name)), read_bytes(name)) for name in names))


def _mentions(file: Path, sessions: set[Any]) -> bool:
    """Tell whether a file is of one of the sessions; a folder of their own says so already, else its first lines do."""
    if file.parent.name == "subagents":
        return True
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError:
        return False
    lines = head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1]
    return any(_session(value) in sessions for _, batch in documents(lines) for value in batch)


def _session(value: Any) -> Any:
    session = value.get("sessionId") if isinstance(value, dict) else None
    return session if isinstance(session, str) else None
