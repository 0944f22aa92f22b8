"""The places of sessions on this machine, and the place that a changed file belongs to.

A place is a transcript, or a session in a database or folder that holds several sessions. Its name
is the name of its journal, so it has to be stable, unique and readable.

>>> from pathlib import Path
>>> from vacr.capture.session_places import SessionPlace
>>> SessionPlace("some-agent", Path("/home/nora/chats/fix the bug.jsonl")).name
'some-agent/fix-the-bug-163e9ddc502323a5'

The file system reports changes of any file. `AgentRoot.find_holder` maps it to its place:

| changed file | place |
|---|---|
| `chats/abc.jsonl` | `chats/abc.jsonl` |
| `chats/abc/subagents/1.meta` | `chats/abc.jsonl` |
| `store.db-wal` | `store.db` |
| `store/session/abc/message.json` | `store`, if a pattern names that folder |
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

from vacr.agents import Agent, load_agents
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
_COMPANION_SUFFIXES = (".jsonl", ".json")
"""A folder next to a transcript, with the same name but for this suffix, belongs to it."""


@dataclass(frozen=True)
class SessionPlace:
    """A transcript, or a session in a database or folder that holds several."""

    agent: str
    path: Path
    session: str = ""
    """The id of the session, if the path holds several."""

    @cached_property
    def name(self) -> str:
        """The name of the session's journal: readable, and different for every place."""
        session_bytes = self.session.encode("utf-8", "replace")
        digest = hashlib.sha256(b"\0".join([os.fsencode(self.path), session_bytes])).hexdigest()
        stem = _UNSAFE_CHARACTERS.sub("-", format_path(self.session or self.path.stem))
        return f"{self.agent}/{stem[:_MAX_STEM_LENGTH]}-{digest[:_NAME_DIGEST_DIGITS]}"


@dataclass(frozen=True)
class AgentRoot:
    """A folder of an agent, and the patterns of the sessions in it."""

    reader: Agent
    path: Path
    patterns: tuple[str, ...]

    def list_places(self) -> Iterator[Path]:
        """Yield the files, databases and folders that hold sessions."""
        for pattern in self.patterns:
            try:
                yield from self.path.glob(pattern) if pattern else [self.path]
            except (OSError, ValueError, NotImplementedError):
                continue

    def find_holder(self, path: Path) -> Path | None:
        """Return the file, database or folder that holds the sessions of a changed file."""
        try:
            relative = path.relative_to(self.path).as_posix()
        except ValueError:
            return None
        if ".." in path.parts:
            return None
        for suffix in SQLITE_SIDE_SUFFIXES:
            if self._matches_pattern(relative.removesuffix(suffix)):
                return Path(str(path).removesuffix(suffix))
        for folder in path.parents:
            if folder == self.path or not folder.is_relative_to(self.path):
                break
            if self._is_session_path(folder) and folder.is_dir():
                return folder
            for suffix in _COMPANION_SUFFIXES:
                transcript = folder.with_name(folder.name + suffix)
                if self._is_session_path(transcript) and transcript.is_file():
                    return transcript
        return None

    def _is_session_path(self, path: Path) -> bool:
        return self._matches_pattern(path.relative_to(self.path).as_posix())

    def contains(self, path: Path) -> bool:
        """Return whether a path is in the folder after following links."""
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path))

    def find_project(self, path: Path) -> str:
        """Return the project that the folders above a session name, or an empty string."""
        if not path.is_relative_to(self.path):
            return ""
        relative = path.relative_to(self.path).as_posix()
        for pattern in self.patterns:
            if _compile_path_pattern(pattern or ".").fullmatch(relative):
                return find_project_folder(path, self.path, pattern)
        return ""

    def _matches_pattern(self, relative: str) -> bool:
        return any(pattern.fullmatch(relative) for pattern in self._compiled_patterns)

    @cached_property
    def _compiled_patterns(self) -> list[re.Pattern[str]]:
        return [_compile_path_pattern(pattern or ".") for pattern in self.patterns]


def _compile_path_pattern(pattern: str) -> re.Pattern[str]:
    """Translate a glob pattern of a path into a regular expression."""
    expression = "".join(
        r"(?:[^/]+/)*" if piece == "**/" else r"[^/]*" if piece == "*" else re.escape(piece)
        for piece in re.split(r"(\*\*/|\*)", pattern)
    )
    return re.compile(expression)


def list_agent_roots(
    agents: tuple[str, ...] = (),
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
) -> list[AgentRoot]:
    """Return the folders of all or some agents on this machine, whether they exist or not.

    Raises:
        UsageError: an agent is unknown.
    """
    for agent in agents:
        if agent not in load_agents():
            raise UsageError(
                f"unknown agent {agent!r}", hint=f"Known agents: {', '.join(load_agents())}."
            )
    return [
        AgentRoot(reader, path, store.sessions)
        for reader in load_agents().values()
        if not agents or reader.name in agents
        for path, store in list_store_roots(reader, environment, system)
    ]


def find_session_project(place: SessionPlace, roots: Iterable[AgentRoot] = ()) -> tuple[str, bool]:
    """Return a session's project, as `vacr list` shows it, and whether the session states it.

    The project is the agent's working folder, if the start or end of the transcript has it, or
    else the name of a folder above the session.
    """
    reader = load_agents()[place.agent]
    summary = (
        read_folder_session_summary(place.path, place.session, reader)
        if place.session
        else read_session_summary(place.path, reader)
    )
    if summary is not None and summary.project:
        return summary.project, True
    for root in roots:
        if root.reader is reader and (project := root.find_project(place.path)):
            return project, False
    return "", False


def is_store(path: Path) -> bool:
    """Return whether a path may hold several sessions, as a database or a folder."""
    try:
        return path.is_dir() or is_database(path)
    except UnreadableInput:
        return False
