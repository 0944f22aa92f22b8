"""The places in a folder: every file that may hold sessions, told by its name and not yet opened.

What belongs to another place (a database's journal, a session's large outputs) is none of its own, nor is what vacr wrote.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput
from vacr.readers.registry import readers
from vacr.sources.databases import SIDE_FILES, DatabaseFile, is_database
from vacr.sources.files import attached_files, reason_of
from vacr.sources.folders import folder_store

SUFFIXES = (".jsonl", ".json", ".ndjson", ".txt", ".db", ".vscdb", ".sqlite")
"""Endings of native files that a record's name leaves out."""
OURS = (".acr.json", ".acr.cbor", ".acr.source.zip", ".cose")
NOT_ENTERED = frozenset((".git", "node_modules", "__pycache__", ".venv"))


@dataclass(frozen=True)
class Place:
    """Where sessions may lie: a file, or one session of a database or a folder that holds several."""

    path: str
    name: str
    """The name of its record, relative to the folder."""
    session: str | None = None
    in_folder: bool = True
    """Whether it was found in a folder: then there may be other things than sessions, and sub-agents are places of their own."""


def at(path: str | Path) -> Iterator[Place]:
    """Give the places that a path stands for: itself, or all that is in a folder.

    Raises:
        UnreadableInput: a folder cannot be read.
    """
    if os.path.isdir(path):  # noqa: PTH112 - a path from a user may hold what Path refuses
        yield from places(Path(path))
    else:
        yield Place(str(path), "", in_folder=False)


def places(folder: Path, leave_out: Path | None = None) -> Iterator[Place]:
    """Give the places in a folder and all below it, in order of their names; links are not followed.

    Raises:
        UnreadableInput: the folder itself cannot be read.
    """
    try:
        yield from _places(folder, "", {os.path.realpath(leave_out)} if leave_out else set())
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(folder)) from error


def _places(folder: Path, prefix: str, not_entered: set[str]) -> Iterator[Place]:
    store = folder_store(folder)
    if store is not None:
        yield from (Place(str(folder), f"{prefix}{session}", session) for session in store.sessions())
        yield from (Place(error.where, f"{prefix}{Path(error.where).name}") for error in store.unlisted)
        return
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False) and is_place(entry.name)]
    belonging, folders = _attached(folder, names, {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)})
    stems = Counter(map(stem, names))
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in NOT_ENTERED and os.path.realpath(entry.path) not in not_entered:
                try:
                    yield from _places(Path(entry.path), f"{prefix}{entry.name}/", not_entered | folders)
                except OSError:
                    # A folder that cannot be listed is told of as a place that cannot be read.
                    yield Place(entry.path, f"{prefix}{entry.name}")
        elif entry.is_file(follow_symlinks=False) and is_place(entry.name) and entry.name not in belonging:
            name = stem(entry.name)
            yield from _file(Path(entry.path), f"{prefix}{name if stems[name] == 1 else entry.name}")


def _attached(folder: Path, names: list[str], beside: set[str]) -> tuple[set[str], set[str]]:
    """Give the files, and the folders, that belong to the sessions of other files in a folder."""
    files, folders = set(), set()
    for reader in readers().values():
        for pattern in getattr(reader, "ATTACHED", ()):
            place, _, name = pattern.rpartition("/")
            for one in names:
                own = one.rpartition(".")[0] or one
                if not place:
                    files.add(name.format(stem=own))
                elif own in beside:
                    folders.add(os.path.realpath(folder / place.format(stem=own)))
    return files, folders


def _file(path: Path, name: str) -> Iterator[Place]:
    """Give the place that a file is, or the places of the sessions in a database."""
    try:
        if is_database(path):
            database = DatabaseFile(path)
            try:
                yield from (Place(str(path), name, listed.session_id) for listed in database.sessions())
            finally:
                database.close()
            return
    except Exception:  # noqa: BLE001, S110 - whoever records it meets the same and tells why; nothing keeps other places back
        pass
    yield Place(str(path), name)


def is_place(name: str) -> bool:
    """Tell whether a file may hold sessions: vacr's own files and the side files of databases do not."""
    return not name.endswith((*OURS, *SIDE_FILES)) and not name.startswith(".vacr-")


def stem(name: str) -> str:
    """Give the name of a native file without its ending."""
    for suffix in SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name


def state_of(place: Place) -> tuple[str, int]:
    """Tell what a place looks like, so that a change is seen without reading it, and its size; nothing if that is not known."""
    digest = hashlib.sha256()
    size = 0
    try:
        for path in _files_of(Path(place.path), place.session):
            status = path.stat()
            size += status.st_size
            digest.update(os.fsencode(path.name) + f":{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}\n".encode())
    except OSError:
        return "", 0
    return digest.hexdigest(), size


def _files_of(path: Path, session: str | None) -> Iterator[Path]:
    """Give the files that a place is made of."""
    if session is not None and path.is_dir():
        store = folder_store(path)
        yield from store.files(session) if store else ()
        return
    yield path
    yield from (side for suffix in ("-wal", "-journal") if (side := Path(f"{path}{suffix}")).is_file())
    for reader in readers().values():
        yield from attached_files(path, reader)
