"""Folders that agents keep a session in, as many files: read as one source, or listed.

Links in them are not followed, for they may lead anywhere; what is left out so is told.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from vacr.agents import Reader, Source, SourcePart, load_readers
from vacr.errors import NotASession, UnreadableInput
from vacr.files import describe_file_error, format_path, read_bytes
from vacr.model import Record


class FolderStore:
    """A folder that holds the sessions of an agent, a file for each of their pieces."""

    def __init__(self, path: Path, reader: Reader) -> None:
        """Keep whose folder it is."""
        self.path = path
        self.reader = reader
        self._folder: Any = reader.FOLDER
        self.unlisted: list[UnreadableInput] = []
        """The folders that could not be listed when the sessions were, so that some may be missing.
        """

    def sessions(self) -> list[str]:
        """List the ids of the sessions, also of those whose own folder cannot be listed: whoever
        reads them is told.

        Raises:
            OSError: the folder itself cannot be listed.
        """
        self.unlisted = []
        found: list[str] = self._folder.sessions(self._listable)
        self.unlisted = [error for error in self.unlisted if Path(error.where).name not in found]
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

    def parents(self) -> dict[str, str | None]:
        """Tell which of the sessions are sub-agents, and of which; those that cannot be read are
        told when they are asked for.

        Raises:
            OSError: the folder, or one in it, cannot be listed.
        """
        found: dict[str, str | None] = {}
        for session_id in self.sessions():
            with suppress(UnreadableInput):
                for reading in self.reader.read(self.glimpse(session_id)):
                    found[session_id] = find_parent_session(reading.record)
        return found

    def files(self, session_id: str) -> list[Path]:
        """Name the files of a session, as far as they can be listed."""
        names: list[str] = self._folder.parts(
            lambda pattern: self._files(pattern, unlisted=[]), session_id
        )
        return [self.path / name for name in names]

    def _source(
        self,
        names_of: Callable[..., list[str]],
        session_id: str,
        left_out: list[UnreadableInput] | None = None,
    ) -> Source:
        try:
            names = names_of(lambda pattern: self._files(pattern, left_out), session_id)
        except OSError as error:
            raise make_listing_error(error, self.path) from error
        if not names:
            raise make_no_session_error(session_id, self.path)
        return Source(
            tuple(SourcePart(format_path(name), read_bytes(self.path / name)) for name in names)
        )

    def _listable(self, pattern: str) -> list[str]:
        """Give the paths of files by a pattern; of a folder that cannot be listed, its own path
        with nothing after it.
        """
        failed: list[tuple[Path, OSError]] = []
        found = self._files(pattern, unlisted=failed)
        self.unlisted += [make_listing_error(error, place) for place, error in failed]
        return found + [f"{place.relative_to(self.path).as_posix()}/" for place, _ in failed]

    def _files(
        self,
        pattern: str,
        left_out: list[UnreadableInput] | None = None,
        unlisted: list[tuple[Path, OSError]] | None = None,
    ) -> list[str]:
        """Give the paths of files by a pattern; a name that has a meaning in patterns stands for
        itself.

        Raises:
            OSError: a folder cannot be listed, and nobody asked which.
        """
        *folders, name = pattern.split("/")
        places = [self.path]
        for folder in folders:
            places = [
                one
                for place in places
                for one in _list_matching_paths(place, folder, stat.S_ISDIR, left_out, unlisted)
            ]
        files = [
            one
            for place in places
            for one in _list_matching_paths(place, name, stat.S_ISREG, left_out, unlisted)
        ]
        return [file.relative_to(self.path).as_posix() for file in files]


def _list_matching_paths(
    place: Path,
    name: str,
    is_wanted: Callable[[int], bool],
    left_out: list[UnreadableInput] | None,
    unlisted: list[tuple[Path, OSError]] | None,
) -> list[Path]:
    """Give what a name, or the end of one, stands for in a folder.

    Raises:
        OSError: the folder cannot be listed, and nobody asked which.
    """
    ending = name.removeprefix("*")
    try:
        listed = [place / name] if ending == name else sorted(place.iterdir())
        found = [
            one
            for one in listed
            if ending == name or (one.name.endswith(ending) and not one.name.startswith("."))
        ]
        return [
            one
            for one in found
            if is_wanted(_read_file_mode(one)) and not _is_skipped_link(one, left_out)
        ]
    except OSError as error:
        if unlisted is None:
            raise
        unlisted.append((place, error))
        return []


def _read_file_mode(path: Path) -> int:
    """Return the kind and permissions of a file, or 0 if there is none.

    `Path.is_file` cannot be used: since Python 3.14 it returns False where permission is denied.

    Raises:
        OSError: the folder of the file cannot be searched.
    """
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return 0
        raise


def _is_skipped_link(path: Path, left_out: list[UnreadableInput] | None) -> bool:
    """Tell whether a path is a link, which is then left out."""
    if not path.is_symlink():
        return False
    if left_out is not None and all(error.where != str(path) for error in left_out):
        left_out.append(UnreadableInput("a link, which is not followed", where=str(path)))
    return True


def find_parent_session(record: Record) -> str | None:
    """Name the session that a sub-agent worked for; what a person began with a copy of another
    works for none.
    """
    parent: str | None = record["vacr"].get("parent", {}).get("session-id")
    return parent if record["session"].get("format") == "autonomous" else None


def make_no_session_error(session_id: str | None, path: str | Path) -> UnreadableInput:
    """Say that a session is not where it should be."""
    return UnreadableInput(
        f"no session {session_id} in it",
        where=str(path),
        hint="Without --session, all in it are recorded.",
    )


def make_listing_error(error: OSError, path: Path) -> UnreadableInput:
    """Say which folder of a store cannot be listed, and why."""
    return UnreadableInput(describe_file_error(error), where=str(error.filename or path))


def find_folder_store(path: Path) -> FolderStore | None:
    """Give the store that a folder is, if it is one."""
    for reader in load_readers().values():
        folder: Any = getattr(reader, "FOLDER", None)
        if folder is not None and (
            all(_is_real_folder(path / mark) for mark in folder.marks)
            or _has_sign_file(path, folder.signs)
        ):
            return FolderStore(path, reader)
    return None


def _has_sign_file(path: Path, signs: Iterable[str]) -> bool:
    """Tell whether a folder has a file by which it is known."""
    held = ((path / sign.partition("/")[0], sign.partition("/")[2]) for sign in signs)
    return any(
        next(folder.glob(pattern), None) is not None
        for folder, pattern in held
        if _is_real_folder(folder)
    )


def find_session_store(path: Path) -> tuple[FolderStore, str] | None:
    """Give the store that a session's own file lies in, and the session's id."""
    if path.parent.parent.name == "session" and path.suffix == ".json":
        store = find_folder_store(path.absolute().parent.parent.parent)
        if store is not None:
            return store, path.stem
    return None


def check_not_session_piece(path: Path) -> None:
    """Refuse a file that is a piece of a session in a store.

    Raises:
        NotASession: naming the store, which has all of it.
    """
    folder = path.absolute().parent.parent
    for reader in load_readers().values():
        if (
            folder.name in getattr(getattr(reader, "FOLDER", None), "pieces", ())
            and find_folder_store(folder.parent) is not None
        ):
            hint = (
                f"Record the folder that has all of it, {folder.parent}, or one session of "
                "it with --session."
            )
            raise NotASession("a piece of a session", where=str(path), hint=hint)


def _is_real_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114 - where nobody may look, there is none
