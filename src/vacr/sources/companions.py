"""The files around a session's file: attached outputs, and the sessions of sub-agents.

A session may be more than its transcript: large outputs lie beside, and sub-agents write files of
their own. Readers say by patterns where (`ATTACHED`, `SUB_SESSIONS`); here they are found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput
from vacr.readers.documents import documents
from vacr.readers.registry import Reader
from vacr.readers.source import Part
from vacr.sources.files import as_text, read_bytes


def part_name(path: Path, reader: Reader | None = None) -> str:
    """Name a part by its file; where the folder says whose session it is, with the folder."""
    named = getattr(reader, "NAMED", None)
    found = named.search(path.absolute().as_posix()) if named else None
    return as_text(found[0] if found else path.name)


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
