r"""Where the sessions of agents are, and how their bytes get into a journal.

A place is a transcript, or a session in a database or folder that holds several sessions. Its name
is the name of its journal, so it has to be stable, unique and readable.

>>> from pathlib import Path
>>> from vacr.capture.session_sources import TranscriptPlace, follow_session
>>> TranscriptPlace("some-agent", Path("/home/nora/chats/fix the bug.jsonl")).name
'some-agent/fix-the-bug-163e9ddc502323a5'

The file system reports changes of any file. `AgentRoot.find_holder` maps it to its place:

| changed file | place |
|---|---|
| `chats/abc.jsonl` | `chats/abc.jsonl` |
| `chats/abc/subagents/1.meta` | `chats/abc.jsonl` |
| `store.db-wal` | `store.db` |
| `store/session/abc/message.json` | `store`, if a pattern names that folder |

`follow_session` brings a journal up to date. A transcript that only grows is read from where the
last read ended. Everything else is compared with the captured bytes: stores are exported, and files
that an agent rewrites are read whole.

>>> from vacr.agents import load_agents
>>> from vacr.capture.session_journal import SessionJournal
>>> agent, *_ = load_agents()
>>> path = Path("abc.jsonl")
>>> journal, place = SessionJournal("abc", Path("abc.frames")), TranscriptPlace(agent, path)
>>> for content in (b"one\n", b"one\ntwo\n", b"one\n2\n"):
...     _ = path.write_bytes(content)
...     print(follow_session(journal, place, {}), journal.read_part(journal.state.parts[0]))
4 b'one\n'
4 b'one\ntwo\n'
1 b'one\n2\n'
>>> journal.close()
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vacr.agents import Agent, ListedSession, SourcePart, load_agents
from vacr.capture.line_changes import find_splices
from vacr.capture.session_journal import CapturedPart, SessionJournal, SessionState
from vacr.discovery import (
    SQLITE_SIDE_SUFFIXES,
    DatabaseFile,
    find_folder_store,
    find_project_folder,
    is_database,
    is_inside_session_folder,
    list_attached_files,
    list_store_roots,
    make_attached_name,
    read_folder_session_summary,
    read_session_summary,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import describe_file_error, format_path, read_bytes
from vacr.record import flatten_to_line, get_epoch_milliseconds

_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_MAX_STEM_LENGTH = 60
_NAME_DIGEST_DIGITS = 16
_COMPANION_SUFFIXES = (".jsonl", ".json")
"""A folder next to a transcript, with the same name but for this suffix, belongs to it."""
_READ_CHUNK_SIZE = 1 << 23
"""The most bytes that are read and made durable at once."""
_REWRITTEN_SUFFIXES = (".json",)
_FILE_CLOCK_TICK_NS = 20_000_000
"""Two writes within this time may leave a file with the same modification time."""
_SAFE_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


# --- places ---


@dataclass(frozen=True)
class TranscriptPlace:
    """A transcript, or a session in a database or folder that holds several."""

    agent: str
    """The name of the agent."""
    path: Path
    session: str = ""
    """The id of the session, if the path holds several; else empty."""

    @cached_property
    def name(self) -> str:
        """The name of the session's journal: readable, and different for every place."""
        session_bytes = self.session.encode("utf-8", "replace")
        digest = hashlib.sha256(b"\0".join([os.fsencode(self.path), session_bytes])).hexdigest()
        stem = _UNSAFE_CHARACTERS.sub("-", format_path(self.session or self.path.stem))
        return f"{self.agent}/{stem[:_MAX_STEM_LENGTH]}-{digest[:_NAME_DIGEST_DIGITS]}"


@dataclass(frozen=True)
class AgentRoot:
    """A folder of an agent, and the glob patterns of the sessions in it."""

    agent: Agent
    path: Path
    patterns: tuple[str, ...]
    """Relative to the folder; an empty pattern stands for the folder itself."""

    def list_places(self) -> Iterator[Path]:
        """Yield the existing files, databases and folders below the root that match a pattern."""
        for pattern in self.patterns:
            try:
                yield from self.path.glob(pattern) if pattern else [self.path]
            except (OSError, ValueError, NotImplementedError):
                continue

    def find_holder(self, path: Path) -> Path | None:
        """Return the transcript, database or folder that a changed file belongs to.

        For example, `store.db-wal` belongs to `store.db`, and `a/agent-1.jsonl` may belong to
        `a.jsonl`; a transcript belongs to itself. Return None if the file does not belong to a
        session below this root.
        """
        try:
            relative = path.relative_to(self.path).as_posix()
        except ValueError:
            return None
        if ".." in path.parts:
            return None
        for suffix in SQLITE_SIDE_SUFFIXES:
            if self._matches_pattern(relative.removesuffix(suffix)):
                return Path(str(path).removesuffix(suffix))
        for folder in path.parents:
            if folder == self.path or not folder.is_relative_to(self.path):
                break
            if self._is_session_path(folder) and folder.is_dir():
                return folder
            for suffix in _COMPANION_SUFFIXES:
                transcript = folder.with_name(folder.name + suffix)
                if self._is_session_path(transcript) and transcript.is_file():
                    return transcript
        return None

    def _is_session_path(self, path: Path) -> bool:
        """Return whether a path below the root matches one of the patterns."""
        return self._matches_pattern(path.relative_to(self.path).as_posix())

    def contains(self, path: Path) -> bool:
        """Return whether a path lies in the root folder once all links are resolved."""
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path))

    def find_project(self, path: Path) -> str:
        """Return the name of the folder above a session that is named after its project.

        It is the first folder below the root that a wildcard of the matching pattern stands for.
        Return an empty string if there is none, or no pattern matches the path.
        """
        if not path.is_relative_to(self.path):
            return ""
        relative = path.relative_to(self.path).as_posix()
        for pattern in self.patterns:
            if _compile_path_pattern(pattern or ".").fullmatch(relative):
                return find_project_folder(path, self.path, pattern)
        return ""

    def _matches_pattern(self, relative: str) -> bool:
        """Return whether a path, relative to the root, matches one of the patterns."""
        return any(pattern.fullmatch(relative) for pattern in self._compiled_patterns)

    @cached_property
    def _compiled_patterns(self) -> list[re.Pattern[str]]:
        """The patterns as regular expressions for paths relative to the root."""
        return [_compile_path_pattern(pattern or ".") for pattern in self.patterns]


def _compile_path_pattern(pattern: str) -> re.Pattern[str]:
    """Return a glob pattern with `*` and `**/` as a regular expression for whole paths."""
    wildcards = {"**/": r"(?:[^/]+/)*", "*": r"[^/]*"}
    pieces = re.split(r"(\*\*/|\*)", pattern)
    return re.compile("".join(wildcards.get(piece) or re.escape(piece) for piece in pieces))


def list_agent_roots(
    agents: tuple[str, ...] = (),
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
) -> list[AgentRoot]:
    """Return the folders where agents keep sessions on this machine, whether they exist or not.

    `agents` are names of agents; without any, all agents count. `environment` and `system` (a value
    of `sys.platform`) decide where the folders are.

    Raises:
        UsageError: no agent has one of the names.
    """
    for name in agents:
        if name not in load_agents():
            raise UsageError(
                f"unknown agent {name!r}", hint=f"Known agents: {', '.join(load_agents())}."
            )
    return [
        AgentRoot(agent, path, store.sessions)
        for agent in load_agents().values()
        if not agents or agent.name in agents
        for path, store in list_store_roots(agent, environment, system)
    ]


def find_session_project(
    place: TranscriptPlace, roots: Iterable[AgentRoot] = ()
) -> tuple[str, bool]:
    """Return a session's project, as `vacr list` shows it, and whether the session states it.

    The project is the agent's working folder, if the start or end of the transcript has it, or
    else the name of a folder above the session. It is an empty string if both are unknown.
    """
    agent = load_agents()[place.agent]
    summary = (
        read_folder_session_summary(place.path, place.session, agent)
        if place.session
        else read_session_summary(place.path, agent)
    )
    if summary is not None and summary.project:
        return summary.project, True
    for root in roots:
        if root.agent is agent and (project := root.find_project(place.path)):
            return project, False
    return "", False


def is_store(path: Path) -> bool:
    """Return whether a path is a folder or a database, and so may hold several sessions.

    Return False if it does not exist or cannot be read.
    """
    try:
        return path.is_dir() or is_database(path)
    except UnreadableInput:
        return False


# --- following a session ---


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The size and the modification time of a file, in nanoseconds, at the last look."""

    size: int
    changed: int


def follow_session(
    journal: SessionJournal, place: TranscriptPlace, stamps: dict[Path, FileStamp]
) -> int:
    """Append the changes of a session to its journal, and return how many bytes are new.

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
    agent = load_agents()[place.agent]
    new_bytes = _follow_file(journal, place.path, format_path(place.path.name), stamps)
    for path in list_attached_files(place.path, agent):
        if is_inside_session_folder(path, place.path):
            name = make_attached_name(path, place.path)
            new_bytes += _follow_file(journal, path, name, stamps)
    return new_bytes


# --- following files ---


def is_transcript_unchanged(place: TranscriptPlace, stamps: dict[Path, FileStamp]) -> bool:
    """Return whether a transcript and its attached files all have the stamps of the last look.

    Return False if a file cannot be examined.
    """
    try:
        files = [place.path, *list_attached_files(place.path, load_agents()[place.agent])]
        return all(stamps.get(path) == _stamp_file(path) for path in files)
    except OSError:
        return False


def _stamp_file(path: Path) -> FileStamp:
    """Return the size and modification time of a file, or raise OSError."""
    status = path.stat()
    return FileStamp(status.st_size, status.st_mtime_ns)


def _follow_file(
    journal: SessionJournal, path: Path, name: str, stamps: dict[Path, FileStamp]
) -> int:
    """Append the changes of one of a session's files to its journal; return how many bytes are new.

    Note a deleted file as gone, and return 0. `name` is the name of the part.

    Raises:
        UnreadableInput: the file cannot be read.
    """
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
    """Open a regular file for reading, and return its descriptor.

    Opening a pipe could block, and opening a device could have an effect.

    Raises:
        UnreadableInput: the path is not a regular file.
        OSError: the file does not exist, or cannot be opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnreadableInput("not a regular file", where=str(path))
    return os.open(os.path.realpath(path), _SAFE_OPEN_FLAGS)


def _capture_new_bytes(
    journal: SessionJournal,
    part: CapturedPart,
    handle: int,
    stamp: FileStamp,
    last_stamp: FileStamp | None,
    now: int,
) -> int:
    """Append the changes of an open file to the journal, and return how many bytes are new.

    Read only the added bytes if the file has only grown, and all of it otherwise. `stamp` and
    `last_stamp` are its stamps now and at the last look; if they are equal, return 0. `now` is the
    time to note, in nanoseconds since 1970.
    """
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
    """Note how `data` differs from the captured bytes of a part; return how many bytes are new.

    `now` is the time to note, in nanoseconds since 1970; None takes the current time.
    """
    captured = journal.read_part(part)
    if captured == data and not part.is_gone:
        return 0
    splices = find_splices(captured, data)
    journal.note_changes(part, *splices, seen=now)
    return sum(len(new_bytes) for _, _, new_bytes in splices)


# --- following stores ---


def export_store_parts(place: TranscriptPlace) -> Iterator[SourcePart]:
    """Read a session from a database or folder store, and yield its parts.

    Raises:
        UnreadableInput: the store cannot be read, or does not have the session.
    """
    if is_database(place.path):
        with closing(DatabaseFile(place.path, place.agent)) as database:
            yield from database.source(place.session).parts
        return
    store = find_folder_store(place.path)
    if store is None:
        raise UnreadableInput(
            "the store is missing, or has a format that this version of vacr does not know",
            where=str(place.path),
        )
    yield from store.source(place.session, []).parts


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a database or folder."""

    updated: int | None
    """When the session was last changed, in milliseconds since 1970, or None if that is unknown."""
    change_mark: object
    """A value that differs after a change by the agent; other changes may not show."""
    project: str = ""
    """The agent's working folder, if the store lists it; else empty."""


def list_stored_sessions(path: Path, agent: str) -> dict[str, StoredSession]:
    """Return the sessions of an agent in a database or folder store, by id.

    Return an empty dict if a folder is not a store of that agent.

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
    """Return the sessions in a database of the named agent, by id."""
    with closing(DatabaseFile(path, agent)) as database:
        return {
            listed.session_id: StoredSession(
                _find_change_time(listed, path), (listed, mark), flatten_to_line(listed.project)
            )
            for listed, mark in database.list_marked_sessions()
        }


def _list_folder_sessions(path: Path, agent: str) -> dict[str, StoredSession]:
    """Return the sessions in a folder store, by id; empty if it is not the named agent's."""
    store = find_folder_store(path)
    if store is None or store.agent.name != agent:
        return {}
    sessions = {}
    for session in store.sessions():
        stamps = [_stamp_file(file) for file in store.files(session)]
        if stamps:
            updated = max(stamp.changed for stamp in stamps) // 1_000_000
            sessions[session] = StoredSession(updated, stamps)
    return sessions


def stamp_database_files(path: Path) -> tuple[FileStamp | None, ...]:
    """Return the stamps of a database and its side files; None for a file that does not exist.

    Any change of the database makes the stamps differ.
    """
    stamps: list[FileStamp | None] = []
    for suffix in ("", *SQLITE_SIDE_SUFFIXES):
        try:
            stamps.append(_stamp_file(Path(f"{path}{suffix}")))
        except OSError:
            stamps.append(None)
    return tuple(stamps)


def _find_change_time(listed: ListedSession, path: Path) -> int | None:
    """Return when a session in the database at `path` last changed, in milliseconds since 1970.

    If the session is alone in the database, the times of the files count, too. Return None if the
    time is unknown.
    """
    listed_time = _parse_milliseconds(listed.end or listed.start)
    if not listed.alone:
        return listed_time
    files = [Path(f"{path}{suffix}") for suffix in ("", "-wal")]
    file_times = [file.stat().st_mtime_ns // 1_000_000 for file in files if file.is_file()]
    return max([listed_time or 0, *file_times])


def _parse_milliseconds(stamp: Any) -> int | None:
    """Return a time as milliseconds since 1970; `stamp` is RFC 3339 text or already milliseconds.

    Return None for other text and for any other type.
    """
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None


# --- the current content, for comparison with the journal ---


def read_current_parts(state: SessionState) -> dict[str, bytes | UnreadableInput]:
    """Read the parts of a captured session again, and return their current bytes by name.

    A part that cannot be read has its error instead of bytes. Parts of a store that were not
    captured are included.
    """
    parts: dict[str, bytes | UnreadableInput] = {}
    if state.session:
        missing = UnreadableInput("the session no longer has this file")
        parts = dict.fromkeys((part.name for part in state.parts), missing)
        place = TranscriptPlace(state.agent, state.path, state.session)
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
