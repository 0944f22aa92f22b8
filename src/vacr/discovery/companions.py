"""The files around a session's file: attached outputs, and the sessions of sub-agents.

A session may be more than its transcript. Agents write large outputs to files of their own, and so
do sub-agents. A reader says where by patterns (`ATTACHED`, `SUB_SESSIONS`); this module finds them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vacr.agents import Agent, SourcePart, parse_json_documents
from vacr.errors import UnreadableInput
from vacr.files import format_path, read_bytes


def make_part_name(path: Path, reader: Agent | None = None) -> str:
    """Return the name of a file as a part of a source.

    Where the folder identifies the session, the name includes the folder.
    """
    pattern = reader.part_name if reader is not None else None
    match = pattern.search(path.absolute().as_posix()) if pattern else None
    return format_path(match[0] if match else path.name)


def read_attached_parts(
    path: Path, reader: Agent, left_out: list[UnreadableInput], files: list[Path]
) -> Iterator[SourcePart]:
    """Yield the attached files of a session as parts.

    Add the files to `files`, and the errors of unreadable ones to `left_out`.
    """
    for file in list_attached_files(path, reader):
        try:
            data = read_companion_file(file, path)
        except UnreadableInput as error:
            left_out.append(error)
            continue
        yield SourcePart(format_path(file.relative_to(path.parent).as_posix()), data)
        files.append(file)


def list_attached_files(path: Path, reader: Agent) -> Iterator[Path]:
    """Yield the paths of the files that belong to a session besides its transcript."""
    yield from _list_pattern_files(reader.attached, path)


def find_sub_agent_files(path: Path, reader: Agent, sessions: set[Any]) -> Iterator[Path]:
    """Yield the paths of the sub-agents' files that belong to a session's file."""
    for file in _list_pattern_files(reader.sub_sessions, path, sessions):
        if file == path:
            continue
        # Files in the session's own folder belong to it; those next to it must name the session.
        if file.parent != path.parent or _belongs_to_sessions(file, path, sessions):
            yield file


def read_companion_file(file: Path, path: Path) -> bytes:
    """Read a file around the session's file at `path`.

    Raises:
        UnreadableInput: it cannot be read, or is a link that leads out of the session's folder.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(path.parent)):
        raise UnreadableInput("a link that leads out of the session's folder", where=str(file))
    return read_bytes(file)


def _list_pattern_files(
    patterns: Iterable[str], path: Path, sessions: Iterable[Any] = ()
) -> Iterator[Path]:
    """Yield the files that a reader's patterns match around a session's file, sorted by name."""
    for pattern in patterns:
        for session in sorted(sessions, key=str) if "{session}" in pattern else ("",):
            folder, _, name = pattern.format(stem=path.stem, session=session).rpartition("/")
            # This runs for every file of a large folder, so it avoids the slower Path.
            place = os.path.join(path.parent, folder)  # noqa: PTH118 - faster
            if "*" not in name:
                file = os.path.join(place, name)  # noqa: PTH118 - faster
                if os.path.isfile(file):  # noqa: PTH113 - faster
                    yield Path(file)
            elif os.path.isdir(place):  # noqa: PTH112 - faster
                yield from sorted(file for file in Path(place).glob(name) if file.is_file())


def _belongs_to_sessions(file: Path, path: Path, sessions: set[Any]) -> bool:
    """Return whether the first object of a file that names a session names one of these."""
    try:
        data = read_companion_file(file, path)
    except UnreadableInput:
        # It may be one of theirs; reading it later will report why it cannot be read.
        return True
    for _, batch in parse_json_documents(data):
        for value in batch:
            if isinstance(value, dict) and isinstance(value.get("sessionId"), str):
                return value["sessionId"] in sessions
    return False
