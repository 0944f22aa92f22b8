"""The places in a folder: every file that may hold sessions, or else why it is passed over. Only
what must be is opened.

All that is in a folder is a place, belongs to one (a database's journal, a session's large
outputs), or is passed over and told.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vacr.errors import UnreadableInput, VacrError
from vacr.readers.registry import Reader, reader_for, readers
from vacr.readers.source import Part, Source
from vacr.recording.names import JOINT, Joints, place_names, whole_name
from vacr.sources.databases import SIDE_FILES, DatabaseFile, is_database
from vacr.sources.ends import ends
from vacr.sources.companions import attached_files
from vacr.sources.files import reason_of
from vacr.sources.folders import folder_store

OURS = (".acr.json", ".acr.cbor", ".acr.source.zip", ".cose")
OUR_PREFIX = ".vacr-"
NOT_ENTERED = frozenset((".git", "node_modules", "__pycache__", ".venv"))

_LINK = "a link, which is not followed"
_ODD = "neither a file nor a folder"
_OURS = "written by vacr"
_NOT_ENTERED = "a folder that is not entered"
_OUTPUT = "the folder that the records go to"


@dataclass(frozen=True)
class Place:
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
    joint: str = JOINT
    """What comes between the name and a session's label."""
    passed_over: str = ""
    """Why it is not even looked at."""
    files: tuple[Path, ...] = ()
    """What a session that lies there as many files is made of."""


def at(path: str | Path) -> Iterator[Place]:
    """Give the places that a path stands for: itself, or all that is in a folder.

    Raises:
        UnreadableInput: a folder cannot be read.
    """
    if os.path.isdir(path):  # noqa: PTH112 - a path from a user may hold what Path refuses
        yield from (place for place in places(Path(path)) if not place.passed_over)
    else:
        yield Place(str(path), "", in_folder=False)


def places(
    folder: Path, leave_out: Path | None = None, agent: str | None = None
) -> Iterator[Place]:
    """Give the places in a folder and all below it, in order of their names; links are not
    followed.

    Raises:
        UnreadableInput: the folder itself cannot be read.
    """
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(folder)) from error
    walk = _Walk(leave_out.stat() if leave_out and leave_out.is_dir() else None, agent)
    levels = [walk.listed(folder, "")]
    while levels:
        found = next(levels[-1], None)
        if found is None:
            levels.pop()
        elif isinstance(found, Place):
            yield found
        else:
            levels.append(walk.listed(*found))


@dataclass
class _Walk:
    """The way through a folder, and what was found in it to belong to something."""

    leave_out: os.stat_result | None
    agent: str | None
    owners: dict[str, list[tuple[Path, Reader]]] = field(default_factory=dict)
    """The sessions that have files in a folder that is yet to come."""
    claimed: set[str] = field(default_factory=set)
    """The files of sessions that are made of many."""

    def listed(self, folder: Path, prefix: str) -> Iterator[Place | tuple[Path, str]]:
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
            yield Place(str(folder), prefix.removesuffix("/"))
            return
        belonging = self._belonging(folder, kinds)
        kinds = {name: kind for name, kind in kinds.items() if name not in belonging}
        named = place_names(
            [name for name, kind in kinds.items() if kind == "file"],
            [whole_name(name) for name, _ in sessions],
        )
        joints = Joints([*named.values(), *(whole_name(name) for name, _ in sessions)])
        for session, files in sessions:
            name = whole_name(session)
            yield Place(str(folder), f"{prefix}{name}", session, joint=joints.of(name), files=files)
        for name, kind in kinds.items():
            path = folder / name
            if kind == "folder":
                yield path, f"{prefix}{name}/"
            elif kind == "file":
                yield from _file(path, prefix, named[name], joints)
            else:
                yield Place(str(path), "", passed_over=kind)

    def _kind(self, entry: os.DirEntry[str]) -> str:
        """Tell what a name in a folder stands for: a file, a folder, or the reason why it is passed
        over.
        """
        if entry.is_symlink():
            return _LINK
        if entry.is_dir():
            if self.leave_out is not None and os.path.samestat(entry.stat(), self.leave_out):
                return _OUTPUT
            return _NOT_ENTERED if entry.name in NOT_ENTERED else "folder"
        if not entry.is_file():
            return _ODD
        return _OURS if entry.name.endswith(OURS) or entry.name.startswith(OUR_PREFIX) else "file"

    def _store(self, folder: Path) -> Iterator[tuple[str, tuple[Path, ...]]]:
        """Give the sessions that lie in a folder as many files, with these; the files are theirs
        from now on.
        """
        store = folder_store(folder)
        for session in store.sessions() if store is not None else ():
            files = tuple(store.files(session))  # type: ignore[union-attr]
            self.claimed.update(map(str, files))
            yield session, files

    def _belonging(self, folder: Path, kinds: dict[str, str]) -> set[str]:
        """Give the names in a folder that belong to sessions and databases."""
        belonging = {name for name in kinds if self.claimed and str(folder / name) in self.claimed}
        for path, reader in self.owners.pop(str(folder), ()):
            belonging.update(
                file.name for file in attached_files(path, reader) if file.parent == folder
            )
        for name, kind in kinds.items():
            base = next(
                (name.removesuffix(ending) for ending in SIDE_FILES if name.endswith(ending)), ""
            )
            if kind == kinds.get(base) == "file" and _is_database(folder / base):
                belonging.add(name)
        for reader in readers().values():
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
                self.agent or reader_for(Source((Part(path.name, ends(path)),))).name
            ) == reader.name
        except VacrError:
            return False


def _is_database(path: Path) -> bool:
    try:
        return is_database(path)
    except UnreadableInput:
        return False


def _file(path: Path, prefix: str, name: str, joints: Joints) -> Iterator[Place]:
    """Give the place that a file is, or the places of the sessions in a database."""
    sessions = _sessions(path) if _is_database(path) else []
    for session in sessions:
        yield Place(str(path), f"{prefix}{name}", session, joint=joints.of(name, session))
    if not sessions:
        yield Place(str(path), f"{prefix}{name}", joint=joints.of(name))


def _sessions(path: Path) -> list[str]:
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


def state_of(place: Place) -> tuple[str, int]:
    """Tell what a place looks like, so that a change is seen without reading it, and its size;
    nothing if that is not known.
    """
    digest = hashlib.sha256()
    size = 0
    if not place.files and os.path.isdir(place.path):  # noqa: PTH112 - a path that may hold what Path refuses
        return "", 0
    try:
        for path in place.files or _files_of(Path(place.path)):
            status = path.stat()
            size += status.st_size
            digest.update(
                os.fsencode(path.name)
                + f":{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}\n".encode()
            )
    except OSError:
        return "", 0
    return digest.hexdigest(), size


def _files_of(path: Path) -> Iterator[Path]:
    """Give the files that a place is made of."""
    yield path
    yield from (
        side for suffix in ("-wal", "-journal") if (side := Path(f"{path}{suffix}")).is_file()
    )
    for reader in readers().values():
        yield from attached_files(path, reader)
