"""Which files have changed: told by the system where it can, and looked for now and then in any
case.

The sessions that a watcher follows, and which of them have ended. What is known of them is known
without their journals.

Following a session: what is new at its place goes into its journal.

A transcript that only grows is read from where it was read last. All else is compared with what was
seen: stores are exported, and files that an agent writes anew are read whole.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.agents import ListedSession, SourcePart, load_readers
from vacr.capture.frames import EMPTY_CHAIN_HEAD, ChainHead
from vacr.capture.journal import CapturedPart, SessionJournal, SessionState
from vacr.capture.rewrites import find_splices
from vacr.capture.session_places import SessionPlace
from vacr.capture.spool import ends_session
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

WatchFunction = Callable[..., Iterator[set[tuple[Any, str]]]]

_DEBOUNCE_STEP_MS = 20
"""Milliseconds in which changes that follow each other are told together."""
_DEBOUNCE_MS = 80
_FOLDER_CHECK_SECONDS = 0.5
"""Seconds between two looks for folders that are not there yet."""
_POLL_SECONDS = 2.0
_RESCAN_SECONDS = 60.0
"""Seconds after which all is looked at, though the system tells."""
_BLIND_RESCAN_SECONDS = 10.0


class FileChanges:
    """Waits for changes below the folders of agents; what changed is a path, or all of them."""

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        polling: bool,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Watch folders; where the system cannot tell, or with `polling`, all that is there is
        looked at every few seconds.
        """
        self._folders, self._tell = folders, tell
        self._stop = threading.Event()
        self._watching = None if polling else _load_watch_function()
        self._every = _POLL_SECONDS if self._watching is None else _RESCAN_SECONDS
        self._is_blind = False
        """Whether there are folders of which the system does not tell."""

    def stop(self) -> None:
        """End the waiting."""
        self._stop.set()

    def __iter__(self) -> Iterator[set[Path] | None]:
        """Give the paths that have changed, again and again; nothing stands for: look at all of
        them.
        """
        yield None
        while not self._stop.is_set():
            folders = self._there()
            if self._watching is None or not folders:
                self._stop.wait(self._every if self._watching is None else _FOLDER_CHECK_SECONDS)
                yield None
                continue
            yield from self._told(self._watching, folders)

    def _there(self) -> dict[Path, tuple[int, int]]:
        """Give the folders that are there, and by what each is known: one of the same name may have
        come in its place.
        """
        found = {}
        for path in self._folders:
            with suppress(OSError):
                status = path.stat()
                folder = path if stat.S_ISDIR(status.st_mode) else path.parent
                found[folder] = (status.st_dev, status.st_ino)
        return {
            path: found[path]
            for path in sorted(found)
            if not any(other in path.parents for other in found)
        }

    def _told(
        self, watching: WatchFunction, folders: dict[Path, tuple[int, int]]
    ) -> Iterator[set[Path] | None]:
        """Give what the system tells, until there are other folders to be watched."""
        # What was written before the system began to tell is looked for when it does.
        last = -self._every
        is_begun = False
        try:
            for told in watching(
                *folders,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_DEBOUNCE_STEP_MS,
                rust_timeout=int(_FOLDER_CHECK_SECONDS * 1000),
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=self._is_blind,
            ):
                is_begun = True
                yield {Path(path) for _, path in told}
                if time.monotonic() - last > self._every:
                    last = time.monotonic()
                    yield None
                if self._there() != folders:
                    return
        except PermissionError:
            # With such folders left out, it leaves out as well those that the system has no more to
            # give for.
            self._is_blind, self._every = True, _BLIND_RESCAN_SECONDS
        except (OSError, RuntimeError):
            if is_begun:
                # It cannot name what changed, as where a name is no text: all is looked at when it
                # begins again.
                self._stop.wait(_FOLDER_CHECK_SECONDS)
                return
            # The system has no more to give to watch so many folders; the library has an error of
            # its own for it.
            self._watching, self._every = None, _POLL_SECONDS
            self._tell(
                "the system cannot tell what changes in so many folders: they are looked at "
                f"every {_POLL_SECONDS:.0f} seconds"
            )


def _load_watch_function() -> WatchFunction | None:
    try:
        from watchfiles import watch
    except ImportError:
        return None
    return watch


_TRANSCRIPT_SUFFIXES = (".jsonl", ".json", ".txt")


@dataclass
class FollowedSession:
    """A session that is followed."""

    place: SessionPlace
    journal: str
    """The name of its journal."""
    head: ChainHead = EMPTY_CHAIN_HEAD
    lines: int = 0
    """How many lines its transcript has."""
    unsealed: int = 0
    """How many frames hold something that no sealed record does."""
    has_parts: bool = False
    is_gone: bool = False
    """Whether its transcript is not there any more, and the journal says so."""
    changed: float = 0.0
    """When something was last captured of it."""
    sealed: ChainHead | None = None
    """Up to where it was last sealed."""
    ended: bool = False
    """Whether its agent said that it is over, and no record was sealed since."""
    project: str = ""
    looks_for_project: int = 20
    """How often its project is still looked for."""
    is_rewritten: bool = False
    """Whether its agent writes it anew, so that its lines are not its entries."""
    _event: int = -1

    def note(self, journal: SessionJournal) -> int:
        """Take what its journal says; gives how many frames are new."""
        state, new = (
            journal.state,
            journal.head.frames - (self.head.frames if journal.name == self.journal else 0),
        )
        self.journal, self.head, self.unsealed, self.has_parts = (
            journal.name,
            journal.head,
            state.unsealed,
            bool(state.parts),
        )
        self.is_gone = bool(state.parts) and state.parts[0].is_gone
        self.sealed = (
            ChainHead(state.sealed.frames, state.sealed.head) if state.sealed is not None else None
        )
        # What lies beside a transcript has no entries.
        self.lines = state.parts[0].content.lines if state.parts else 0
        self.is_rewritten = state.is_rewritten
        self._note_end(state)
        return new

    @property
    def to_seal(self) -> ChainHead:
        """Up to where there is something to be sealed: what was sealed already is the same record
        again.
        """
        return self.sealed if self.sealed is not None and not self.unsealed else self.head

    def _note_end(self, state: SessionState) -> None:
        if state.last_event is None:
            return
        frame, payload = state.last_event
        if state.sealed is not None and frame < state.sealed.frames:
            self.ended = False
        elif frame != self._event:
            self._event, self.ended = frame, ends_session(payload)


class FollowedSessions(dict[str, FollowedSession]):
    """The sessions that are followed, by the names of their places."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self._at: dict[Path, FollowedSession] = {}

    def of(self, place: SessionPlace, journal: str) -> FollowedSession:
        """Give the session of a place, which may be new."""
        found = self.get(place.name)
        if found is None:
            found = self[place.name] = FollowedSession(place, journal)
            if not place.session:
                self._at[place.path] = found
        return found

    def forget(self, journals: set[str]) -> None:
        """Follow some no longer, whose journals were deleted, unless they change."""
        for name in [name for name, one in self.items() if one.journal in journals]:
            self._at.pop(self.pop(name).place.path, None)

    def over(self, ended: float, quiet: float) -> Iterator[list[FollowedSession]]:
        """Give the sessions that have something to be sealed and have ended, or in which nothing
        has happened for long.

        Each comes with those of its sub-agents.
        """
        idle = [
            one
            for one in self.values()
            if one.unsealed and one.has_parts and _is_idle(one, ended, quiet)
        ]
        for main in {id(one): one for one in map(self._main, idle)}.values():
            if not main.has_parts or not _is_idle(main, ended, quiet):
                continue
            working = [
                one
                for one in self.values()
                if one is not main and one.has_parts and self._main(one) is main
            ]
            if all(_is_idle(one, ended, ended if main.ended else quiet) for one in working):
                yield [main, *working]

    def _main(self, one: FollowedSession) -> FollowedSession:
        """Give the session that a sub-agent works for, whose transcript lies in the folder of that
        one's; or else itself.
        """
        if one.place.session:
            return one
        found = one
        for folder in one.place.path.parents:
            for ending in _TRANSCRIPT_SUFFIXES:
                main = self._at.get(folder.with_name(folder.name + ending)) if folder.name else None
                if main is not None and main.place.agent == one.place.agent:
                    found = main
        return found


def _is_idle(one: FollowedSession, ended: float, quiet: float) -> bool:
    # A clock that was moved back must not keep a session from ending.
    return abs(time.time() - one.changed) >= (min(ended, quiet) if one.ended else quiet)


_READ_CHUNK_SIZE = 1 << 23
"""So many bytes are read and made durable at once, however many there are."""
_REWRITTEN_SUFFIXES = (".json",)
_FILE_CLOCK_TICK_NS = 20_000_000
"""Nanoseconds in which the time of a file may stay the same, though it was written."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a file was like when it was last looked at."""

    size: int
    changed: int


def follow_session(
    journal: SessionJournal, place: SessionPlace, looks: dict[Path, FileStamp]
) -> int:
    """Bring a journal up to what is at its place now; gives how many bytes were new.

    Raises:
        UnreadableInput: the place cannot be read.
        NotWritten: the journal cannot be added to; what was captured stays.
    """
    if not journal.head.frames:
        journal.begin(place.agent, place.path, place.session)
    if place.session:
        return sum(
            _capture_splices(journal, journal.part(one.name, place.path, rewritten=True), one.data)
            for one in export_store_parts(place)
        )
    reader = load_readers()[place.agent]
    new = _follow_file(journal, place.path, format_path(place.path.name), looks)
    for path in list_attached_files(place.path, reader):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place.path.parent)):
            continue
        new += _follow_file(
            journal, path, format_path(path.relative_to(place.path.parent).as_posix()), looks
        )
    return new


def export_store_parts(place: SessionPlace) -> Iterator[SourcePart]:
    """Give what a store holds of a session.

    Raises:
        UnreadableInput: it cannot be read, or holds no such session.
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
    """A session in a store."""

    updated: int | None
    """When it was changed, in milliseconds."""
    sign: object
    """What is another after a change. Not every change of a session in a database shows so, but
    those do that its agent makes.
    """
    project: str = ""
    """The folder that its agent worked in, where the list of the store tells."""


def list_stored_sessions(path: Path, agent: str) -> dict[str, StoredSession]:
    """List the sessions of a store.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        if is_database(path):
            with closing(DatabaseFile(path, agent)) as database:
                return {
                    one.session_id: StoredSession(
                        _find_change_time(one, path), (one, sign), flatten_to_line(one.project)
                    )
                    for one, sign in database.signed_sessions()
                }
        store = find_folder_store(path)
        if store is None or store.reader.name != agent:
            return {}
        looked = {
            session: [_stamp_file(file) for file in store.files(session)]
            for session in store.sessions()
        }
        newest = {
            session: max(one.changed for one in looks) // 1_000_000
            for session, looks in looked.items()
            if looks
        }
        return {
            session: StoredSession(updated, looked[session]) for session, updated in newest.items()
        }
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def stamp_database_files(path: Path) -> tuple[FileStamp | None, ...]:
    """Give what is another after any change of a database."""
    found: list[FileStamp | None] = []
    for ending in ("", *SQLITE_SIDE_SUFFIXES):
        try:
            found.append(_stamp_file(Path(f"{path}{ending}")))
        except OSError:
            found.append(None)
    return tuple(found)


def _find_change_time(listed: ListedSession, path: Path) -> int | None:
    """Tell when a session of a database was changed; of one that is alone in it, the files tell."""
    said = _parse_milliseconds(listed.end or listed.start)
    if not listed.alone:
        return said
    files = [
        file.stat().st_mtime_ns
        for ending in ("", "-wal")
        if (file := Path(f"{path}{ending}")).is_file()
    ]
    return max([said or 0, *(stamp // 1_000_000 for stamp in files)])


def _parse_milliseconds(stamp: Any) -> int | None:
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None


def _stamp_file(path: Path) -> FileStamp:
    status = path.stat()
    return FileStamp(status.st_size, status.st_mtime_ns)


def is_transcript_unchanged(place: SessionPlace, looks: dict[Path, FileStamp]) -> bool:
    """Tell whether the files of a transcript are as they were when they were last looked at."""
    try:
        files = [place.path, *list_attached_files(place.path, load_readers()[place.agent])]
        return all(looks.get(path) == _stamp_file(path) for path in files)
    except OSError:
        return False


def _follow_file(
    journal: SessionJournal, path: Path, name: str, looks: dict[Path, FileStamp]
) -> int:
    now = time.time_ns()
    before = looks.pop(path, None)
    try:
        handle = _open_regular_file(path)
    except FileNotFoundError:
        for part in journal.state.parts:
            if part.name == name:
                journal.gone(part)
        return 0
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error
    try:
        status = os.fstat(handle)
        look = FileStamp(status.st_size, status.st_mtime_ns)
        if not stat.S_ISREG(status.st_mode):
            return 0
        new = _capture_new_bytes(
            journal,
            journal.part(name, path, rewritten=path.suffix in _REWRITTEN_SUFFIXES),
            handle,
            look,
            before,
            now,
        )
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error
    finally:
        os.close(handle)
    # A file that has just been written may be written again before its time tells.
    if abs(now - look.changed) > _FILE_CLOCK_TICK_NS:
        looks[path] = look
    return new


def _open_regular_file(path: Path) -> int:
    """Open a file, and nothing that waits for somebody or does something when it is opened."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnreadableInput("no file", where=str(path))
    return os.open(
        os.path.realpath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    )


def _capture_new_bytes(
    journal: SessionJournal,
    part: CapturedPart,
    handle: int,
    look: FileStamp,
    before: FileStamp | None,
    now: int,
) -> int:
    """Capture what is new in a file; one that does not go on from where it was read last is
    compared whole.
    """
    if look == before:
        return 0
    seen, tail = part.content.size, part.content.tail
    # One that was touched and has not grown was changed where nobody would look.
    untouched = (
        look.size == seen and before is None and look.changed < part.time - _FILE_CLOCK_TICK_NS
    )
    goes_on = (look.size > seen or untouched) and not part.is_gone and not part.rewritten
    if not goes_on or os.pread(handle, len(tail), seen - len(tail)) != tail:
        with open(handle, "rb", closefd=False) as file:
            return _capture_splices(journal, part, file.read(look.size), now)
    at = seen
    while at < look.size:
        data = os.pread(handle, min(_READ_CHUNK_SIZE, look.size - at), at)
        if not data:
            break
        journal.change(part, (at, 0, data), seen=now)
        at += len(data)
    return at - seen


def _capture_splices(
    journal: SessionJournal, part: CapturedPart, found: bytes, now: int | None = None
) -> int:
    """Capture how a part differs from what was seen of it."""
    seen = journal.content(part)
    if seen == found and not part.is_gone:
        return 0
    changes = find_splices(seen, found)
    journal.change(part, *changes, seen=now)
    return sum(len(data) for _, _, data in changes)


def read_current_parts(state: SessionState) -> dict[str, bytes | UnreadableInput]:
    """Give the bytes that the parts of a session have now, by name, or why there are none; a store
    may have more parts.
    """
    found: dict[str, bytes | UnreadableInput] = {}
    if state.session:
        found = dict.fromkeys(
            (part.name for part in state.parts), UnreadableInput("it is not in the store any more")
        )
        try:
            found |= {
                part.name: part.data
                for part in export_store_parts(SessionPlace(state.agent, state.path, state.session))
            }
        except UnreadableInput as error:
            found = dict.fromkeys(found, error)
        return found
    for part in state.parts:
        try:
            found[part.name] = read_bytes(part.path)
        except UnreadableInput as error:
            found[part.name] = error
    return found
