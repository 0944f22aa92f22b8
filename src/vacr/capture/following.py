"""Following a session: what is new at its place goes into its journal.

A transcript that only grows is read from where it was read last. All else is compared with what was
seen: stores are exported, and files that an agent writes anew are read whole.
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

from vacr.capture.places import Place
from vacr.capture.rewrites import splices
from vacr.capture.session_journal import CapturedPart, SessionJournal, State
from vacr.errors import UnreadableInput
from vacr.readers.export import Listed
from vacr.readers.registry import readers
from vacr.readers.source import Part
from vacr.sources.databases import SIDE_FILES, DatabaseFile, is_database
from vacr.sources.companions import attached_files
from vacr.sources.files import as_text, read_bytes, reason_of
from vacr.sources.folders import folder_store
from vacr.timestamps import milliseconds
from vacr.titles import line_of

_SLICE = 1 << 23
"""So many bytes are read and made durable at once, however many there are."""
_WRITTEN_ANEW = (".json",)
_TICK = 20_000_000
"""Nanoseconds in which the time of a file may stay the same, though it was written."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a file was like when it was last looked at."""

    size: int
    changed: int


def follow(journal: SessionJournal, place: Place, looks: dict[Path, Look]) -> int:
    """Bring a journal up to what is at its place now; gives how many bytes were new.

    Raises:
        UnreadableInput: the place cannot be read.
        NotWritten: the journal cannot be added to; what was captured stays.
    """
    if not journal.head.frames:
        journal.begin(place.agent, place.path, place.session)
    if place.session:
        return sum(
            _compared(journal, journal.part(one.name, place.path, rewritten=True), one.data)
            for one in exported(place)
        )
    reader = readers()[place.agent]
    new = _follow_file(journal, place.path, as_text(place.path.name), looks)
    for path in attached_files(place.path, reader):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place.path.parent)):
            continue
        new += _follow_file(
            journal, path, as_text(path.relative_to(place.path.parent).as_posix()), looks
        )
    return new


def exported(place: Place) -> Iterator[Part]:
    """Give what a store holds of a session.

    Raises:
        UnreadableInput: it cannot be read, or holds no such session.
    """
    if is_database(place.path):
        with closing(DatabaseFile(place.path, place.agent)) as database:
            yield from database.source(place.session).parts
        return
    store = folder_store(place.path)
    if store is None:
        raise UnreadableInput("there is no store any more", where=str(place.path))
    yield from store.source(place.session, []).parts


@dataclass(frozen=True, slots=True)
class Stored:
    """A session in a store."""

    updated: int | None
    """When it was changed, in milliseconds."""
    sign: object
    """What is another after a change. Not every change of a session in a database shows so, but
    those do that its agent makes.
    """
    project: str = ""
    """The folder that its agent worked in, where the list of the store tells."""


def sessions_at(path: Path, agent: str) -> dict[str, Stored]:
    """List the sessions of a store.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        if is_database(path):
            with closing(DatabaseFile(path, agent)) as database:
                return {
                    one.session_id: Stored(_changed(one, path), (one, sign), line_of(one.project))
                    for one, sign in database.signed_sessions()
                }
        store = folder_store(path)
        if store is None or store.reader.name != agent:
            return {}
        looked = {
            session: [_look(file) for file in store.files(session)] for session in store.sessions()
        }
        newest = {
            session: max(one.changed for one in looks) // 1_000_000
            for session, looks in looked.items()
            if looks
        }
        return {session: Stored(updated, looked[session]) for session, updated in newest.items()}
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(path)) from error


def state_of(path: Path) -> tuple[Look | None, ...]:
    """Give what is another after any change of a database."""
    found: list[Look | None] = []
    for ending in ("", *SIDE_FILES):
        try:
            found.append(_look(Path(f"{path}{ending}")))
        except OSError:
            found.append(None)
    return tuple(found)


def _changed(listed: Listed, path: Path) -> int | None:
    """Tell when a session of a database was changed; of one that is alone in it, the files tell."""
    said = _milliseconds(listed.end or listed.start)
    if not listed.alone:
        return said
    files = [
        file.stat().st_mtime_ns
        for ending in ("", "-wal")
        if (file := Path(f"{path}{ending}")).is_file()
    ]
    return max([said or 0, *(stamp // 1_000_000 for stamp in files)])


def _milliseconds(stamp: Any) -> int | None:
    return milliseconds(stamp) if type(stamp) in (str, int) else None


def _look(path: Path) -> Look:
    status = path.stat()
    return Look(status.st_size, status.st_mtime_ns)


def is_as_seen(place: Place, looks: dict[Path, Look]) -> bool:
    """Tell whether the files of a transcript are as they were when they were last looked at."""
    try:
        files = [place.path, *attached_files(place.path, readers()[place.agent])]
        return all(looks.get(path) == _look(path) for path in files)
    except OSError:
        return False


def _follow_file(journal: SessionJournal, path: Path, name: str, looks: dict[Path, Look]) -> int:
    now = time.time_ns()
    before = looks.pop(path, None)
    try:
        handle = _opened(path)
    except FileNotFoundError:
        for part in journal.state.parts:
            if part.name == name:
                journal.gone(part)
        return 0
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(path)) from error
    try:
        status = os.fstat(handle)
        look = Look(status.st_size, status.st_mtime_ns)
        if not stat.S_ISREG(status.st_mode):
            return 0
        new = _captured(
            journal,
            journal.part(name, path, rewritten=path.suffix in _WRITTEN_ANEW),
            handle,
            look,
            before,
            now,
        )
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(path)) from error
    finally:
        os.close(handle)
    # A file that has just been written may be written again before its time tells.
    if abs(now - look.changed) > _TICK:
        looks[path] = look
    return new


def _opened(path: Path) -> int:
    """Open a file, and nothing that waits for somebody or does something when it is opened."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnreadableInput("no file", where=str(path))
    return os.open(
        os.path.realpath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    )


def _captured(
    journal: SessionJournal,
    part: CapturedPart,
    handle: int,
    look: Look,
    before: Look | None,
    now: int,
) -> int:
    """Capture what is new in a file; one that does not go on from where it was read last is
    compared whole.
    """
    if look == before:
        return 0
    seen, tail = part.content.size, part.content.tail
    # One that was touched and has not grown was changed where nobody would look.
    untouched = look.size == seen and before is None and look.changed < part.time - _TICK
    goes_on = (look.size > seen or untouched) and not part.is_gone and not part.rewritten
    if not goes_on or os.pread(handle, len(tail), seen - len(tail)) != tail:
        with open(handle, "rb", closefd=False) as file:
            return _compared(journal, part, file.read(look.size), now)
    at = seen
    while at < look.size:
        data = os.pread(handle, min(_SLICE, look.size - at), at)
        if not data:
            break
        journal.change(part, (at, 0, data), seen=now)
        at += len(data)
    return at - seen


def _compared(
    journal: SessionJournal, part: CapturedPart, found: bytes, now: int | None = None
) -> int:
    """Capture how a part differs from what was seen of it."""
    seen = journal.content(part)
    if seen == found and not part.is_gone:
        return 0
    changes = splices(seen, found)
    journal.change(part, *changes, seen=now)
    return sum(len(data) for _, _, data in changes)


def current(state: State) -> dict[str, bytes | UnreadableInput]:
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
                for part in exported(Place(state.agent, state.path, state.session))
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
