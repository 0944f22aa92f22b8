"""The names of records: after what they record, and no two alike. They depend on names only, so
that every run gives the same.

A place's record has the name of the place; where a place holds several sessions, the session's
label follows, after a joint. All that could be two names at once is kept apart: by the ending of
the native file, by another joint, or by a digest.

The places in a folder: every file that may hold sessions, or else why it is passed over. Only
what must be is opened.

All that is in a folder is a place, belongs to one (a database's journal, a session's large
outputs), or is passed over and told.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vacr.agents import Reader, Source, SourcePart, find_reader, load_readers
from vacr.discovery.companions import list_attached_files, read_file_ends
from vacr.discovery.databases import SQLITE_SIDE_SUFFIXES, DatabaseFile, is_database
from vacr.discovery.folders import find_folder_store
from vacr.errors import UnreadableInput, VacrError
from vacr.files import describe_file_error

NATIVE_FILE_SUFFIXES = (".jsonl", ".json", ".ndjson", ".txt", ".db", ".vscdb", ".sqlite")
"""Endings of native files that a record's name leaves out."""
NAME_JOINT = "."

_RESERVED_NAMES = ("", ".", "..")
_MAX_NAME_BYTES = 240
"""As many bytes as leave room for our longest ending in what file systems allow."""
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_DIGEST_SUFFIX = re.compile(r"~[0-9a-f]{32}\Z")


def strip_native_suffix(name: str) -> str:
    """Give the name of a native file without its ending."""
    for suffix in NATIVE_FILE_SUFFIXES:
        if name.endswith(suffix) and name.removesuffix(suffix) not in _RESERVED_NAMES:
            return name.removesuffix(suffix)
    return name


def make_session_name(session_id: str) -> str:
    """Give a session's id as the name of a file; what means a folder everywhere means none here."""
    return f"~{session_id}~" if session_id in _RESERVED_NAMES else session_id


def assign_place_names(files: Collection[str], sessions: Iterable[str] = ()) -> dict[str, str]:
    """Name the files of one folder: without their endings, unless that would be the name of another
    of them, or of a session.

    Sessions that lie in the folder as many files have the names that they are given.
    """
    stems, whole, taken = Counter(map(strip_native_suffix, files)), set(files), set(sessions)
    named = {}
    for file in files:
        name = strip_native_suffix(file)
        alone = stems[name] == 1 and name not in taken and (name == file or name not in whole)
        named[file] = name if alone else file
    for file, given in named.items():
        name = given
        # Only a session can still have the name, for files are never named alike.
        while name in taken or (name != given and name in whole):
            name += "~"
        named[file] = name
        taken.add(name)
    return named


class NameJoints:
    """What joins the name of a place and the label of a session, given the names of all places in
    the folder.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Keep the names in order."""
        self._ordered = sorted(names)
        self._names = frozenset(self._ordered)

    def of(self, name: str, label: str | None = None) -> str:
        """Give the joint after a name: one that makes no other name, whatever the label, or with
        this label if it is known.
        """
        if label is None:
            clashes = self._begins(f"{name}{NAME_JOINT}")
        else:
            clashes = label.startswith("~") or self._is_anothers(
                f"{name}{NAME_JOINT}{label}", len(name) + 1
            )
        if not clashes:
            return NAME_JOINT
        number = 1
        while self._begins(f"{name}{NAME_JOINT}~{number}"):
            number += 1
        return f"{NAME_JOINT}~{number}{NAME_JOINT}"

    def _begins(self, text: str) -> bool:
        """Tell whether a name begins so."""
        position = bisect_left(self._ordered, text)
        return position < len(self._ordered) and self._ordered[position].startswith(text)

    def _is_anothers(self, text: str, start: int) -> bool:
        """Tell whether a name with a label is, or may be, that of another place: alone, or with a
        label of its own.
        """
        ends = [found.start() for found in re.finditer(re.escape(NAME_JOINT), text[start:])]
        return any(text[: start + end] in self._names for end in ends) or text in self._names


def make_record_name(name: str, joint: str, label: str) -> str:
    """Name a record, without ending: as plainly as a file can be named, else with a digest of what
    could not be said.
    """
    plain = f"{name}{joint}{label}" if label else name
    told = f"{name}{joint}{_UNSAFE_CHARACTERS.sub('-', label)}" if label else name
    if (
        told == plain
        and len(os.fsencode(plain)) <= _MAX_NAME_BYTES
        and not _DIGEST_SUFFIX.search(plain)
    ):
        return plain
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{os.fsencode(told)[: _MAX_NAME_BYTES - 33].decode('utf-8', 'ignore')}~{digest}"


VACR_FILE_SUFFIXES = (".acr.json", ".acr.cbor", ".acr.source.zip", ".cose")
VACR_FILE_PREFIX = ".vacr-"
SKIPPED_FOLDERS = frozenset((".git", "node_modules", "__pycache__", ".venv"))

_LINK_REASON = "a link, which is not followed"
_SPECIAL_FILE_REASON = "neither a file nor a folder"
_VACR_FILE_REASON = "written by vacr"
_SKIPPED_FOLDER_REASON = "a folder that is not entered"
_OUTPUT_FOLDER_REASON = "the folder that the records go to"


@dataclass(frozen=True)
class SessionPlace:
    """Where sessions may lie: a file, or one session of a database or a folder that holds
    several.
    """

    path: str
    name: str
    """The name of its record, relative to the folder."""
    session: str | None = None
    in_folder: bool = True
    """Whether it was found in a folder: then there may be other things than sessions, and
    sub-agents are places of their own.
    """
    joint: str = NAME_JOINT
    """What comes between the name and a session's label."""
    passed_over: str = ""
    """Why it is not even looked at."""
    files: tuple[Path, ...] = ()
    """What a session that lies there as many files is made of."""


def find_places(path: str | Path) -> Iterator[SessionPlace]:
    """Give the places that a path stands for: itself, or all that is in a folder.

    Raises:
        UnreadableInput: a folder cannot be read.
    """
    if os.path.isdir(path):  # noqa: PTH112 - a path from a user may hold what Path refuses
        yield from (place for place in walk_places(Path(path)) if not place.passed_over)
    else:
        yield SessionPlace(str(path), "", in_folder=False)


def walk_places(
    folder: Path, leave_out: Path | None = None, agent: str | None = None
) -> Iterator[SessionPlace]:
    """Give the places in a folder and all below it, in order of their names; links are not
    followed.

    Raises:
        UnreadableInput: the folder itself cannot be read.
    """
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(folder)) from error
    walk = _FolderWalk(leave_out.stat() if leave_out and leave_out.is_dir() else None, agent)
    levels = [walk.listed(folder, "")]
    while levels:
        found = next(levels[-1], None)
        if found is None:
            levels.pop()
        elif isinstance(found, SessionPlace):
            yield found
        else:
            levels.append(walk.listed(*found))


@dataclass
class _FolderWalk:
    """The way through a folder, and what was found in it to belong to something."""

    leave_out: os.stat_result | None
    agent: str | None
    owners: dict[str, list[tuple[Path, Reader]]] = field(default_factory=dict)
    """The sessions that have files in a folder that is yet to come."""
    claimed: set[str] = field(default_factory=set)
    """The files of sessions that are made of many."""

    def listed(self, folder: Path, prefix: str) -> Iterator[SessionPlace | tuple[Path, str]]:
        """Give the places of one folder, and the folders in it."""
        try:
            with os.scandir(folder) as scan:
                kinds = {
                    entry.name: self._kind(entry)
                    for entry in sorted(scan, key=lambda entry: entry.name)
                }
            sessions = list(self._store(folder))
        except OSError:
            # A folder that cannot be listed is told of as a place that cannot be read.
            yield SessionPlace(str(folder), prefix.removesuffix("/"))
            return
        belonging = self._belonging(folder, kinds)
        kinds = {name: kind for name, kind in kinds.items() if name not in belonging}
        named = assign_place_names(
            [name for name, kind in kinds.items() if kind == "file"],
            [make_session_name(name) for name, _ in sessions],
        )
        joints = NameJoints([*named.values(), *(make_session_name(name) for name, _ in sessions)])
        for session, files in sessions:
            name = make_session_name(session)
            yield SessionPlace(
                str(folder), f"{prefix}{name}", session, joint=joints.of(name), files=files
            )
        for name, kind in kinds.items():
            path = folder / name
            if kind == "folder":
                yield path, f"{prefix}{name}/"
            elif kind == "file":
                yield from _list_file_places(path, prefix, named[name], joints)
            else:
                yield SessionPlace(str(path), "", passed_over=kind)

    def _kind(self, entry: os.DirEntry[str]) -> str:
        """Tell what a name in a folder stands for: a file, a folder, or the reason why it is passed
        over.
        """
        if entry.is_symlink():
            return _LINK_REASON
        if entry.is_dir():
            if self.leave_out is not None and os.path.samestat(entry.stat(), self.leave_out):
                return _OUTPUT_FOLDER_REASON
            return _SKIPPED_FOLDER_REASON if entry.name in SKIPPED_FOLDERS else "folder"
        if not entry.is_file():
            return _SPECIAL_FILE_REASON
        return (
            _VACR_FILE_REASON
            if entry.name.endswith(VACR_FILE_SUFFIXES) or entry.name.startswith(VACR_FILE_PREFIX)
            else "file"
        )

    def _store(self, folder: Path) -> Iterator[tuple[str, tuple[Path, ...]]]:
        """Give the sessions that lie in a folder as many files, with these; the files are theirs
        from now on.
        """
        store = find_folder_store(folder)
        for session in store.sessions() if store is not None else ():
            files = tuple(store.files(session))  # type: ignore[union-attr]
            self.claimed.update(map(str, files))
            yield session, files

    def _belonging(self, folder: Path, kinds: dict[str, str]) -> set[str]:
        """Give the names in a folder that belong to sessions and databases."""
        belonging = {name for name in kinds if self.claimed and str(folder / name) in self.claimed}
        for path, reader in self.owners.pop(str(folder), ()):
            belonging.update(
                file.name for file in list_attached_files(path, reader) if file.parent == folder
            )
        for name, kind in kinds.items():
            base = next(
                (
                    name.removesuffix(ending)
                    for ending in SQLITE_SIDE_SUFFIXES
                    if name.endswith(ending)
                ),
                "",
            )
            if kind == kinds.get(base) == "file" and _is_readable_database(folder / base):
                belonging.add(name)
        for reader in load_readers().values():
            for pattern in getattr(reader, "ATTACHED", ()):
                place, _, beside = pattern.rpartition("/")
                for name in [
                    name for name, kind in kinds.items() if kind == "file" and name not in belonging
                ]:
                    own = name.rpartition(".")[0] or name
                    if place:
                        self._own(folder, kinds, name, place.format(stem=own), reader)
                    elif (
                        (file := beside.format(stem=own)) != name
                        and file in kinds
                        and self._is_of(folder / name, reader)
                    ):
                        belonging.add(file)
        return belonging

    def _own(
        self, folder: Path, kinds: dict[str, str], name: str, place: str, reader: Reader
    ) -> None:
        """Keep whose files lie in a folder further down."""
        if (
            kinds.get(place.partition("/")[0]) == "folder"
            and (folder / place).is_dir()
            and self._is_of(folder / name, reader)
        ):
            self.owners.setdefault(str(folder / place), []).append((folder / name, reader))

    def _is_of(self, path: Path, reader: Reader) -> bool:
        """Tell whether a file is a session of a reader, for then what lies around it is the
        session's.
        """
        try:
            return (
                self.agent
                or find_reader(Source((SourcePart(path.name, read_file_ends(path)),))).name
            ) == reader.name
        except VacrError:
            return False


def _is_readable_database(path: Path) -> bool:
    try:
        return is_database(path)
    except UnreadableInput:
        return False


def _list_file_places(
    path: Path, prefix: str, name: str, joints: NameJoints
) -> Iterator[SessionPlace]:
    """Give the place that a file is, or the places of the sessions in a database."""
    sessions = _list_database_sessions(path) if _is_readable_database(path) else []
    for session in sessions:
        yield SessionPlace(str(path), f"{prefix}{name}", session, joint=joints.of(name, session))
    if not sessions:
        yield SessionPlace(str(path), f"{prefix}{name}", joint=joints.of(name))


def _list_database_sessions(path: Path) -> list[str]:
    """List the sessions of a database; none where that cannot be: whoever records it meets the same
    and tells why.
    """
    try:
        database = DatabaseFile(path)
        try:
            return [listed.session_id for listed in database.sessions()]
        finally:
            database.close()
    except Exception:  # noqa: BLE001 - what is wrong with one database keeps back nothing else
        return []


def fingerprint_place(place: SessionPlace) -> tuple[str, int]:
    """Tell what a place looks like, so that a change is seen without reading it, and its size;
    nothing if that is not known.
    """
    digest = hashlib.sha256()
    size = 0
    if not place.files and os.path.isdir(place.path):  # noqa: PTH112 - a path that may hold what Path refuses
        return "", 0
    try:
        for path in place.files or _list_place_files(Path(place.path)):
            status = path.stat()
            size += status.st_size
            digest.update(
                os.fsencode(path.name)
                + f":{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}\n".encode()
            )
    except OSError:
        return "", 0
    return digest.hexdigest(), size


def _list_place_files(path: Path) -> Iterator[Path]:
    """Give the files that a place is made of."""
    yield path
    yield from (
        side for suffix in ("-wal", "-journal") if (side := Path(f"{path}{suffix}")).is_file()
    )
    for reader in load_readers().values():
        yield from list_attached_files(path, reader)
