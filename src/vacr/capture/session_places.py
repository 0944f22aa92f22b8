"""Where the sessions to be followed lie on this machine, and which of them a changed file belongs
to.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vacr.agents import Reader, load_readers
from vacr.discovery import (
    SQLITE_SIDE_SUFFIXES,
    find_project_folder,
    is_database,
    list_store_roots,
    read_folder_session_summary,
    read_session_summary,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import format_path

_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_MAX_STEM_LENGTH = 60
_NAME_DIGEST_DIGITS = 16


@dataclass(frozen=True)
class SessionPlace:
    """A session that is followed: a transcript, or a session in a database or a folder that holds
    several.
    """

    agent: str
    path: Path
    session: str = ""
    """Which of the sessions at the path, where there are several."""

    @cached_property
    def name(self) -> str:
        """The name of its journal: readable, and another for every place."""
        digest = hashlib.sha256(
            b"\0".join([os.fsencode(self.path), self.session.encode("utf-8", "replace")])
        )
        stem = _UNSAFE_CHARACTERS.sub("-", format_path(self.session or self.path.stem))[
            :_MAX_STEM_LENGTH
        ]
        return f"{self.agent}/{stem}-{digest.hexdigest()[:_NAME_DIGEST_DIGITS]}"


@dataclass(frozen=True)
class AgentRoot:
    """A folder of an agent, and what lies where in it."""

    reader: Reader
    path: Path
    patterns: tuple[str, ...]

    def places(self) -> Iterator[Path]:
        """Give the files, databases and folders that hold sessions."""
        for pattern in self.patterns:
            try:
                yield from self.path.glob(pattern) if pattern else [self.path]
            except (OSError, ValueError, NotImplementedError):
                continue

    def holder(self, path: Path) -> Path | None:
        """Give the file, database or folder whose sessions a changed file belongs to."""
        try:
            relative = path.relative_to(self.path).as_posix()
        except ValueError:
            return None
        if ".." in path.parts:
            return None
        for ending in SQLITE_SIDE_SUFFIXES:
            if self._names(relative.removesuffix(ending)):
                return Path(str(path).removesuffix(ending))
        for folder in path.parents:
            if folder == self.path or not folder.is_relative_to(self.path):
                break
            if self._names(folder.relative_to(self.path).as_posix()) and folder.is_dir():
                return folder
            for ending in (".jsonl", ".json"):
                beside = folder.with_name(folder.name + ending)
                if self._names(beside.relative_to(self.path).as_posix()) and beside.is_file():
                    return beside
        return None

    def owns(self, path: Path) -> bool:
        """Tell whether a path is in the folder, wherever links lead."""
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path))

    def project(self, path: Path) -> str:
        """Give the name of the project that a session lies with, where a folder of it is
        named so.
        """
        if not path.is_relative_to(self.path):
            return ""
        relative = path.relative_to(self.path).as_posix()
        pattern = next(
            (one for one in self.patterns if _compile_path_pattern(one or ".").fullmatch(relative)),
            None,
        )
        return find_project_folder(path, self.path, pattern) if pattern is not None else ""

    def _names(self, relative: str) -> bool:
        return any(pattern.fullmatch(relative) for pattern in self._compiled)

    @cached_property
    def _compiled(self) -> list[re.Pattern[str]]:
        return [_compile_path_pattern(pattern or ".") for pattern in self.patterns]


def _compile_path_pattern(pattern: str) -> re.Pattern[str]:
    """Write a pattern of a path as a regular expression."""
    written = "".join(
        r"(?:[^/]+/)*" if piece == "**/" else r"[^/]*" if piece == "*" else re.escape(piece)
        for piece in re.split(r"(\*\*/|\*)", pattern)
    )
    return re.compile(written)


def list_agent_roots(
    agents: tuple[str, ...] = (),
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
) -> list[AgentRoot]:
    """Give the folders of agents on this machine, of all or of some, whether they are there or not.

    Raises:
        UsageError: no reader has the name of that agent.
    """
    for agent in agents:
        if agent not in load_readers():
            raise UsageError(
                f"no reader for {agent!r}", hint=f"Known agents: {', '.join(load_readers())}."
            )
    return [
        AgentRoot(reader, path, store.sessions)
        for reader in load_readers().values()
        if not agents or reader.name in agents
        for path, store in list_store_roots(reader, environment, system)
    ]


def find_session_project(place: SessionPlace, roots: Iterable[AgentRoot] = ()) -> tuple[str, bool]:
    """Say what a session is about, as `vacr list` does, and whether it says so itself.

    That is the folder that its agent worked in, as far as the ends of the transcript tell;
    or else the name of the one it lies in.
    """
    reader = load_readers()[place.agent]
    found = (
        read_folder_session_summary(place.path, place.session, reader)
        if place.session
        else read_session_summary(place.path, reader)
    )
    if found is not None and found.project:
        return found.project, True
    named = (root.project(place.path) for root in roots if root.reader is reader)
    return next(filter(None, named), ""), False


def is_store(path: Path) -> bool:
    """Tell whether several sessions may lie at a path: in a database or a folder."""
    try:
        return path.is_dir() or is_database(path)
    except UnreadableInput:
        return False
