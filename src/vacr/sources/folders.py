"""Folders that agents keep a session in, as many files: read as one source, or listed.

Links in them are not followed, for they may lead anywhere; what is left out so is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput
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

    def sessions(self) -> list[str]:
        """List the ids of the sessions; a folder in it that cannot be listed is passed over, as whoever reads it tells."""
        found: list[str] = self._folder.sessions(self._listable)
        return found

    def source(self, session_id: str, left_out: list[UnreadableInput]) -> Source:
        """Read the files of a session, and tell which links were left out.

        Raises:
            UnreadableInput: there are none, or one cannot be read.
        """
        return self._source(self._folder.parts, session_id, left_out)

    def glimpse(self, session_id: str) -> Source:
        """Read only as much of a session as tells what it is.

        Raises:
            UnreadableInput: there is nothing, or it cannot be read.
        """
        return self._source(self._folder.glimpse, session_id)

    def files(self, session_id: str) -> list[Path]:
        """Name the files of a session, as far as they can be listed."""
        return [self.path / name for name in self._folder.parts(self._listable, session_id)]

    def _listable(self, pattern: str) -> list[str]:
        return self._files(pattern, passed_over=[])

    def _source(
        self, names_of: Callable[..., list[str]], session_id: str, left_out: list[UnreadableInput] | None = None
    ) -> Source:
        try:
            names = names_of(lambda pattern: self._files(pattern, left_out), session_id)
        except OSError as error:
            raise unlisted(error, self.path) from error
        if not names:
            raise UnreadableInput(f"no session {session_id} in it", where=str(self.path))
        return Source(tuple(Part(as_text(name), read_bytes(self.path / name)) for name in names))

    def _files(
        self, pattern: str, left_out: list[UnreadableInput] | None = None, passed_over: list[OSError] | None = None
    ) -> list[str]:
        """Give the paths of files by a pattern; a name that has a meaning in patterns stands for itself."""
        *folders, name = pattern.split("/")
        places = [self.path]
        for folder in folders:
            found = [one for place in places for one in _matching(place, folder, passed_over)]
            places = [one for one in found if _is(one.is_dir, passed_over) and not _is_link(one, left_out)]
        found = [one for place in places for one in _matching(place, name, passed_over)]
        files = [one for one in found if _is(one.is_file, passed_over) and not _is_link(one, left_out)]
        return [file.relative_to(self.path).as_posix() for file in files]


def _matching(place: Path, name: str, passed_over: list[OSError] | None) -> list[Path]:
    """Give what a name or the end of one stands for in a folder.

    Raises:
        OSError: the folder cannot be listed, and nobody wants to know that later.
    """
    ending = name.removeprefix("*")
    if ending == name:
        return [place / name]
    try:
        return sorted(found for found in place.iterdir() if found.name.endswith(ending) and not found.name.startswith("."))
    except OSError as error:
        if passed_over is None:
            raise
        passed_over.append(error)
        return []


def _is(question: Callable[[], bool], passed_over: list[OSError] | None) -> bool:
    """Tell what something is; what nobody may know of is nothing.

    Raises:
        OSError: nobody may know, and nobody wants to know that later.
    """
    try:
        return question()
    except OSError as error:
        if passed_over is None:
            raise
        passed_over.append(error)
        return False


def _is_link(path: Path, left_out: list[UnreadableInput] | None) -> bool:
    """Tell whether a path is a link, which is then left out."""
    if not path.is_symlink():
        return False
    if left_out is not None and all(error.where != str(path) for error in left_out):
        left_out.append(UnreadableInput("a link, which is not followed", where=str(path)))
    return True


def unlisted(error: OSError, path: Path) -> UnreadableInput:
    """Say which folder of a store cannot be listed, and why."""
    return UnreadableInput(reason_of(error), where=str(error.filename or path))


def folder_store(path: Path) -> FolderStore | None:
    """Give the store that a folder is, if it is one."""
    for reader in readers().values():
        folder: Any = getattr(reader, "FOLDER", None)
        if folder is not None and all(_is_folder(path / mark) for mark in folder.marks):
            return FolderStore(path, reader)
    return None


def store_of_session(path: Path) -> tuple[FolderStore, str] | None:
    """Give the store that a session's own file lies in, and the session's id."""
    if path.parent.parent.name == "session" and path.suffix == ".json":
        store = folder_store(path.absolute().parent.parent.parent)
        if store is not None:
            return store, path.stem
    return None


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114 - where nobody may look, there is none
