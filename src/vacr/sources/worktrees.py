"""A file in a repository, as a user names it. Step: blame."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.sources.git import Repository


@dataclass(frozen=True)
class Place:
    """A repository, and the name of a file from its root."""

    repository: Repository
    path: str


def place_of(file: str, repository: str | None = None) -> Place:
    """Find the repository that a file is in: that of its folder, or the one that is named.

    In a repository without a work tree, files are named from its root.

    Raises:
        UnreadableInput: there is no repository.
        UsageError: the file is not in it.
    """
    full = Path(os.path.abspath(file))  # noqa: PTH100 - the file may be a link, which is not followed
    if full.is_dir() and not full.is_symlink():
        raise UsageError(f"{file} is a folder", hint="Name a file, or a commit with --commit.")
    if repository is not None:
        found = Repository(repository)
        top = _top(found)
        if top is None:
            return Place(found, file)
        if not full.exists() and not full.is_symlink():
            full = top / file
    else:
        folder = full.parent
        while not folder.is_dir():
            folder = folder.parent
        found = Repository(folder)
        top = _top(found)
        if top is None:
            raise UsageError(
                f"{file} is in no work tree",
                hint="Name the repository with --repository, and the file from its root.",
            )
    real = Path(os.path.realpath(full.parent)) / full.name
    if not real.is_relative_to(top) or real == top:
        raise UsageError(
            f"{file} is not in the work tree {top}",
            hint="Name the repository that it is in with --repository.",
        )
    found.path = top
    return Place(found, real.relative_to(top).as_posix())


def names_of(repository: Repository, *paths: str) -> list[str]:
    """Give the names that paths have from the root of a work tree: as one is written, and as links
    lead; outside, it has none.
    """
    top, here = _top(repository), Path.cwd()
    written = [Path(os.path.normpath(here / path)) for path in paths]
    found = dict.fromkeys(one for full in written for one in (full, Path(os.path.realpath(full))))
    return (
        [one.relative_to(top).as_posix() for one in found if one.is_relative_to(top)]
        if top is not None
        else []
    )


def _top(repository: Repository) -> Path | None:
    """Give the folder of the work tree, if there is one."""
    try:
        name = repository.run("rev-parse", "--show-toplevel")
    except UnreadableInput:
        return None
    return Path(os.path.realpath(os.fsdecode(name.removesuffix(b"\n"))))


def work_file(place: Place) -> bytes | None:
    """Read a file of the work tree as it lies there; `None` when there is none.

    Raises:
        UnreadableInput: it cannot be read, or is no file.
    """
    full = place.repository.path / place.path
    if full.is_symlink() or full.is_dir():
        kind = "a link" if full.is_symlink() else "a folder"
        raise UnreadableInput(f"this is {kind}, and no file with lines", where=str(full))
    try:
        return full.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableInput(error.strerror or str(error), where=str(full)) from error
