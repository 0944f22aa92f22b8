"""The files around a session's file: attached outputs, and the sessions of sub-agents.

A session may be more than its transcript: large outputs lie beside, and sub-agents write files of
their own. Readers say by patterns where (`ATTACHED`, `SUB_SESSIONS`); here they are found.

The two ends of a file: as much of it as tells what session it holds, however large it is.

A file of lines gives its first and last lines. A file that is one JSON value gives its beginning,
closed where it was cut, so that it is a value again. None of it is evidence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from vacr.agents import Reader, SourcePart, is_multiline_json, parse_json_documents
from vacr.errors import UnreadableInput
from vacr.files import describe_file_error, format_path, read_bytes


def make_part_name(path: Path, reader: Reader | None = None) -> str:
    """Name a part by its file; where the folder says whose session it is, with the folder."""
    named = getattr(reader, "NAMED", None)
    found = named.search(path.absolute().as_posix()) if named else None
    return format_path(found[0] if found else path.name)


def read_attached_parts(
    path: Path, reader: Reader, left_out: list[UnreadableInput], files: list[Path]
) -> Iterator[SourcePart]:
    """Give the files that belong to a session beside its transcript, and tell which they are and
    which were left out.
    """
    for file in list_attached_files(path, reader):
        try:
            yield SourcePart(
                format_path(file.relative_to(path.parent).as_posix()),
                read_companion_file(file, path),
            )
            files.append(file)
        except UnreadableInput as error:
            left_out.append(error)


def list_attached_files(path: Path, reader: Reader) -> Iterator[Path]:
    """Name the files that belong to a session beside its transcript."""
    yield from _list_pattern_files(reader, "ATTACHED", path)


def find_sub_agent_files(path: Path, reader: Reader, sessions: set[Any]) -> Iterator[Path]:
    """Give the files of the sub-agents that belong to a session's file."""
    for file in _list_pattern_files(reader, "SUB_SESSIONS", path, sessions):
        if file == path:
            continue
        # A file in the session's own folder is its; one beside it must say so.
        if file.parent != path.parent or _belongs_to_sessions(file, path, sessions):
            yield file


def _list_pattern_files(
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


def read_companion_file(file: Path, path: Path) -> bytes:
    """Read a file that lies around a session's file.

    Raises:
        UnreadableInput: it cannot be read, or is a link to something that is not the agent's.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(path.parent)):
        raise UnreadableInput("a link that leads out of the session's folder", where=str(file))
    return read_bytes(file)


def _belongs_to_sessions(file: Path, path: Path, sessions: set[Any]) -> bool:
    """Tell whether a file is of one of the sessions: its first object that names a session does."""
    try:
        data = read_companion_file(file, path)
    except UnreadableInput:
        # It may be one of theirs; whoever reads it tells why it cannot be.
        return True
    for _, batch in parse_json_documents(data):
        for value in batch:
            if isinstance(value, dict) and isinstance(value.get("sessionId"), str):
                return value["sessionId"] in sessions
    return False


_HEAD_SIZE = 1 << 17
_TAIL_SIZES = (1 << 14, 1 << 18, 1 << 22)
_MAX_LINE_SIZE = 1 << 22

_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSING_BRACKETS = {b"{": b"}", b"[": b"]"}


def read_file_ends(path: Path) -> bytes:
    """Read the ends of a file, or all of it where it is small.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD_SIZE)
            if len(head) < size and b"\n" not in head:
                head += file.read(_MAX_LINE_SIZE - _HEAD_SIZE)
            if len(head) >= size:
                return head
            if b"\n" not in head or is_multiline_json(head):
                return _close_cut_json(head[:_HEAD_SIZE])
            return head[: head.rfind(b"\n") + 1] + _read_last_lines(file, len(head), size)
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def _read_last_lines(file: BinaryIO, start: int, size: int) -> bytes:
    """Read the last lines of a file, at least one that is whole, unless it is longer than any
    should be.
    """
    for reach in _TAIL_SIZES:
        file.seek(max(start, size - reach))
        lines = file.read()
        begin = lines.find(b"\n") + 1
        if 0 < begin < len(lines):
            return lines[begin:]
    return b""


def _close_cut_json(text: bytes) -> bytes:
    """Cut a JSON text after its last whole member, and close what is open there."""
    closing: list[bytes] = []
    whole = text
    for found in _JSON_TOKEN.finditer(text):
        token = found[0]
        if token in _CLOSING_BRACKETS:
            closing.append(_CLOSING_BRACKETS[token])
        elif token in (b"}", b"]"):
            closing = closing[:-1]
        elif token == b",":
            whole = text[: found.start()] + b"".join(reversed(closing))
    return whole
