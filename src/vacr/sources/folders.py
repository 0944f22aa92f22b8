"""Folders that agents keep a session in, as many files: read as one source, or listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from vacr.errors import NotASession, UnreadableInput
from vacr.model import Record
from vacr.readers.registry import Reader, readers
from vacr.readers.source import Part, Source
from vacr.sources.files import as_text, read_bytes, reason_of


class FolderStore:
    """A folder that holds the sessions of an agent, a file for each of their pieces."""

    def __init__(self, path: Path, reader: Reader) -> None:
        """Keep whose folder it is."""
        self.path = path
        self.reader = reader
        self._folder: Any = reader.FOLDER  # type: ignore[attr-defined]
        self.unlisted: list[UnreadableInput] = []
        """The folders that could not be listed when the sessions were, so that some may be missing."""

    def sessions(self) -> list[str]:
        """List the ids of the sessions, also of those whose own folder cannot be listed: whoever reads them is told.

        Raises:
            OSError: the folder itself cannot be listed.
        """
        self.unlisted = []
        found: list[str] = self._folder.sessions(self._listable)
        self.unlisted = [error for error in self.unlisted if Path(error.where).name not in found]
        return found

    def source(self, session_id: str) -> Source:
        """Read the files of a session.

        Raises:
            UnreadableInput: there are none, or one cannot be read.
        """
        return self._source(self._folder.parts, session_id)

    def glimpse(self, session_id: str) -> Source:
        """Read only as much of a session as tells what it is.

        Raises:
            UnreadableInput: there is nothing, or it cannot be read.
        """
        return self._source(self._folder.glimpse, session_id)

    def parents(self) -> dict[str, str | None]:
        """Tell which of the sessions are sub-agents, and of which; those that cannot be read are told when they are asked for.

        Raises:
            OSError: the folder, or one in it, cannot be listed.
        """
        found: dict[str, str | None] = {}
        for session_id in self.sessions():
            with suppress(UnreadableInput):
                for reading in self.reader.read(self.glimpse(session_id)):
                    found[session_id] = parent_of(reading.record)
        return found

    def files(self, session_id: str) -> list[Path]:
        """Name the files of a session.

        Raises:
            OSError: they cannot be listed.
        """
        return [self.path / name for name in self._folder.parts(self._files, session_id)]

    def _source(self, names_of: Callable[..., list[str]], session_id: str) -> Source:
        try:
            names = names_of(self._files, session_id)
        except OSError as error:
            raise unlisted(error, self.path) from error
        if not names:
            raise no_session(session_id, self.path)
        return Source(tuple(Part(as_text(name), read_bytes(self.path / name)) for name in names))

    def _files(self, pattern: str) -> list[str]:
        """Give the paths of files by a pattern; a name that has a meaning in patterns stands for itself."""
        *folders, name = pattern.split("/")
        return [file for place in self._places(folders) for file in self._in(place, name)]

    def _listable(self, pattern: str) -> list[str]:
        """Give the same; of a folder that cannot be listed, its own path with nothing after it."""
        *folders, name = pattern.split("/")
        found: list[str] = []
        for place in self._places(folders):
            try:
                found += self._in(place, name)
            except OSError as error:
                found.append(f"{place.relative_to(self.path).as_posix()}/")
                self.unlisted.append(unlisted(error, place))
        return found

    def _places(self, folders: list[str]) -> list[Path]:
        places = [self.path]
        for folder in folders:
            places = [found for place in places for found in _matching(place, folder) if found.is_dir()]
        return places

    def _in(self, place: Path, name: str) -> list[str]:
        found = [file for file in _matching(place, name) if file.is_file() and not file.is_symlink()]
        return [file.relative_to(self.path).as_posix() for file in found]


def _matching(place: Path, name: str) -> list[Path]:
    ending = name.removeprefix("*")
    if ending == name:
        return [place / name]
    return sorted(found for found in place.iterdir() if found.name.endswith(ending) and not found.name.startswith("."))


def parent_of(record: Record) -> str | None:
    """Name the session that a sub-agent worked for; what a person began with a copy of another works for none."""
    parent: str | None = record["vacr"].get("parent", {}).get("session-id")
    return parent if record["session"].get("format") == "autonomous" else None


def no_session(session_id: str | None, path: str | Path) -> UnreadableInput:
    """Say that a session is not where it should be."""
    return UnreadableInput(f"no session {session_id} in it", where=str(path), hint="Without --session, all in it are recorded.")


def unlisted(error: OSError, path: Path) -> UnreadableInput:
    """Say which folder of a store cannot be listed, and why."""
    return UnreadableInput(reason_of(error), where=str(error.filename or path))


def folder_store(path: Path) -> FolderStore | None:
    """Give the store that a folder is, if it is one."""
    for reader in readers().values():
        folder: Any = getattr(reader, "FOLDER", None)
        if folder is not None and (all((path / mark).is_dir() for mark in folder.marks) or _shows(path, folder.signs)):
            return FolderStore(path, reader)
    return None


def _shows(path: Path, signs: Iterable[str]) -> bool:
    """Tell whether a folder has a file by which it is known."""
    held = ((path / sign.partition("/")[0], sign.partition("/")[2]) for sign in signs)
    return any(next(folder.glob(pattern), None) is not None for folder, pattern in held if folder.is_dir())


def store_of_session(path: Path) -> tuple[FolderStore, str] | None:
    """Give the store that a session's own file lies in, and the session's id."""
    if path.parent.parent.name == "session" and path.suffix == ".json":
        store = folder_store(path.absolute().parent.parent.parent)
        if store is not None:
            return store, path.stem
    return None


def refuse_piece(path: Path) -> None:
    """Refuse a file that is a piece of a session in a store.

    Raises:
        NotASession: naming the store, which has all of it.
    """
    folder = path.absolute().parent.parent
    for reader in readers().values():
        if folder.name in getattr(getattr(reader, "FOLDER", None), "pieces", ()) and folder_store(folder.parent) is not None:
            hint = f"Record the folder that has all of it, {folder.parent}, or one session of it with --session."
            raise NotASession("a piece of a session", where=str(path), hint=hint)
