r"""Following one session: bringing its journal up to the files or the store it is in.

A transcript that only grows is read from where the last read ended. Everything else is compared
with the captured bytes: stores are exported, and files that an agent rewrites are read whole.

>>> from pathlib import Path
>>> from vacr.agents import load_agents
>>> from vacr.capture.following import follow_session
>>> from vacr.capture.session_journal import SessionJournal
>>> from vacr.capture.session_places import SessionPlace
>>> agent, *_ = load_agents()
>>> path = Path("abc.jsonl")
>>> journal, place = SessionJournal("abc", Path("abc.frames")), SessionPlace(agent, path)
>>> for content in (b"one\n", b"one\ntwo\n", b"one\n2\n"):
...     _ = path.write_bytes(content)
...     print(follow_session(journal, place, {}), journal.read_part(journal.state.parts[0]))
4 b'one\n'
4 b'one\ntwo\n'
1 b'one\n2\n'
>>> journal.close()
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.agents import ListedSession, SourcePart, load_agents
from vacr.capture.line_changes import find_splices
from vacr.capture.session_journal import CapturedPart, SessionJournal, SessionState
from vacr.capture.session_places import SessionPlace
from vacr.discovery import (
    SQLITE_SIDE_SUFFIXES,
    DatabaseFile,
    find_folder_store,
    is_database,
    list_attached_files,
)
from vacr.errors import UnreadableInput
from vacr.files import describe_file_error, format_path, read_bytes
from vacr.record import flatten_to_line, get_epoch_milliseconds

_READ_CHUNK_SIZE = 1 << 23
"""The most bytes that are read and made durable at once."""
_REWRITTEN_SUFFIXES = (".json",)
_FILE_CLOCK_TICK_NS = 20_000_000
"""Two writes within this time may leave a file with the same modification time."""
_SAFE_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The size and the modification time of a file, in nanoseconds, at the last look."""

    size: int
    changed: int


def follow_session(
    journal: SessionJournal, place: SessionPlace, stamps: dict[Path, FileStamp]
) -> int:
    """Bring a journal up to the current state of its session, and return how many bytes are new.

    `stamps` remembers the files between calls, so that unchanged ones are not read again.

    Raises:
        UnreadableInput: the session cannot be read.
        UnwritableJournal: the journal cannot be written; earlier captures stay in it.
    """
    if not journal.head.frames:
        journal.begin(place.agent, place.path, place.session)
    if place.session:
        return sum(
            _capture_splices(
                journal, journal.open_part(part.name, place.path, rewritten=True), part.data
            )
            for part in export_store_parts(place)
        )
    reader = load_agents()[place.agent]
    folder = place.path.parent
    new_bytes = _follow_file(journal, place.path, format_path(place.path.name), stamps)
    for path in list_attached_files(place.path, reader):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            continue
        name = format_path(path.relative_to(folder).as_posix())
        new_bytes += _follow_file(journal, path, name, stamps)
    return new_bytes


# --- files ---


def is_transcript_unchanged(place: SessionPlace, stamps: dict[Path, FileStamp]) -> bool:
    """Return whether the files of a transcript are as they were at the last look."""
    try:
        files = [place.path, *list_attached_files(place.path, load_agents()[place.agent])]
        return all(stamps.get(path) == _stamp_file(path) for path in files)
    except OSError:
        return False


def _stamp_file(path: Path) -> FileStamp:
    status = path.stat()
    return FileStamp(status.st_size, status.st_mtime_ns)


def _follow_file(
    journal: SessionJournal, path: Path, name: str, stamps: dict[Path, FileStamp]
) -> int:
    """Capture the new bytes of one of the session's files, and return their number."""
    now = time.time_ns()
    last_stamp = stamps.pop(path, None)
    try:
        handle = _open_regular_file(path)
    except FileNotFoundError:
        for part in journal.state.parts:
            if part.name == name:
                journal.note_removal(part)
        return 0
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error
    try:
        status = os.fstat(handle)
        stamp = FileStamp(status.st_size, status.st_mtime_ns)
        if not stat.S_ISREG(status.st_mode):
            return 0
        part = journal.open_part(name, path, rewritten=path.suffix in _REWRITTEN_SUFFIXES)
        new_bytes = _capture_new_bytes(journal, part, handle, stamp, last_stamp, now)
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error
    finally:
        os.close(handle)
    # A file that was written just now may be written again within the same clock tick.
    if abs(now - stamp.changed) > _FILE_CLOCK_TICK_NS:
        stamps[path] = stamp
    return new_bytes


def _open_regular_file(path: Path) -> int:
    """Open a regular file; opening a pipe could block, and opening a device could act."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnreadableInput("no file", where=str(path))
    return os.open(os.path.realpath(path), _SAFE_OPEN_FLAGS)


def _capture_new_bytes(
    journal: SessionJournal,
    part: CapturedPart,
    handle: int,
    stamp: FileStamp,
    last_stamp: FileStamp | None,
    now: int,
) -> int:
    """Capture the new bytes of an open file; read all of it unless it has only grown."""
    if stamp == last_stamp:
        return 0
    seen, tail = part.content.size, part.content.tail
    # A file of the same size may have been changed in place, unless it is older than its capture.
    is_untouched = (
        stamp.size == seen
        and last_stamp is None
        and stamp.changed < part.time - _FILE_CLOCK_TICK_NS
    )
    may_have_grown = stamp.size > seen or is_untouched
    is_growing = may_have_grown and not part.is_gone and not part.rewritten
    if not is_growing or os.pread(handle, len(tail), seen - len(tail)) != tail:
        with open(handle, "rb", closefd=False) as file:
            return _capture_splices(journal, part, file.read(stamp.size), now)
    at = seen
    while at < stamp.size:
        data = os.pread(handle, min(_READ_CHUNK_SIZE, stamp.size - at), at)
        if not data:
            break
        journal.note_changes(part, (at, 0, data), seen=now)
        at += len(data)
    return at - seen


def _capture_splices(
    journal: SessionJournal, part: CapturedPart, data: bytes, now: int | None = None
) -> int:
    """Capture how a part differs from its captured bytes, and return how many bytes are new."""
    captured = journal.read_part(part)
    if captured == data and not part.is_gone:
        return 0
    splices = find_splices(captured, data)
    journal.note_changes(part, *splices, seen=now)
    return sum(len(new_bytes) for _, _, new_bytes in splices)


# --- stores ---


def export_store_parts(place: SessionPlace) -> Iterator[SourcePart]:
    """Yield the parts of a session in a database or folder.

    Raises:
        UnreadableInput: the store cannot be read, or does not have the session.
    """
    if is_database(place.path):
        with closing(DatabaseFile(place.path, place.agent)) as database:
            yield from database.source(place.session).parts
        return
    store = find_folder_store(place.path)
    if store is None:
        raise UnreadableInput("there is no store any more", where=str(place.path))
    yield from store.source(place.session, []).parts


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a database or folder."""

    updated: int | None
    """When it was changed, in milliseconds."""
    sign: object
    """A value that differs after a change by the agent; other changes may not show."""
    project: str = ""
    """The agent's working folder, if the store lists it."""


def list_stored_sessions(path: Path, agent: str) -> dict[str, StoredSession]:
    """Return the sessions in a database or folder, by id.

    Raises:
        UnreadableInput: the store cannot be read.
    """
    try:
        return (
            _list_database_sessions(path, agent)
            if is_database(path)
            else _list_folder_sessions(path, agent)
        )
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def _list_database_sessions(path: Path, agent: str) -> dict[str, StoredSession]:
    with closing(DatabaseFile(path, agent)) as database:
        return {
            listed.session_id: StoredSession(
                _find_change_time(listed, path), (listed, sign), flatten_to_line(listed.project)
            )
            for listed, sign in database.signed_sessions()
        }


def _list_folder_sessions(path: Path, agent: str) -> dict[str, StoredSession]:
    store = find_folder_store(path)
    if store is None or store.reader.name != agent:
        return {}
    sessions = {}
    for session in store.sessions():
        stamps = [_stamp_file(file) for file in store.files(session)]
        if stamps:
            updated = max(stamp.changed for stamp in stamps) // 1_000_000
            sessions[session] = StoredSession(updated, stamps)
    return sessions


def stamp_database_files(path: Path) -> tuple[FileStamp | None, ...]:
    """Return the stamps of a database and its side files; any change makes them differ."""
    stamps: list[FileStamp | None] = []
    for suffix in ("", *SQLITE_SIDE_SUFFIXES):
        try:
            stamps.append(_stamp_file(Path(f"{path}{suffix}")))
        except OSError:
            stamps.append(None)
    return tuple(stamps)


def _find_change_time(listed: ListedSession, path: Path) -> int | None:
    """Return when a session was changed; if it is alone in a database, ask the files."""
    listed_time = _parse_milliseconds(listed.end or listed.start)
    if not listed.alone:
        return listed_time
    files = [Path(f"{path}{suffix}") for suffix in ("", "-wal")]
    file_times = [file.stat().st_mtime_ns // 1_000_000 for file in files if file.is_file()]
    return max([listed_time or 0, *file_times])


def _parse_milliseconds(stamp: Any) -> int | None:
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None


# --- the current content, for comparison with the journal ---


def read_current_parts(state: SessionState) -> dict[str, bytes | UnreadableInput]:
    """Return the current bytes of a session's parts by name, or the error of reading a part.

    A store may have parts that were not captured.
    """
    parts: dict[str, bytes | UnreadableInput] = {}
    if state.session:
        missing = UnreadableInput("it is not in the store any more")
        parts = dict.fromkeys((part.name for part in state.parts), missing)
        place = SessionPlace(state.agent, state.path, state.session)
        try:
            parts |= {part.name: part.data for part in export_store_parts(place)}
        except UnreadableInput as error:
            parts = dict.fromkeys(parts, error)
        return parts
    for part in state.parts:
        try:
            parts[part.name] = read_bytes(part.path)
        except UnreadableInput as error:
            parts[part.name] = error
    return parts
