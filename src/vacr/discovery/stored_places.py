"""Where sessions lie on this machine, and whether each changed, without reading any of them.

`list_sessions` reads both ends of every file for its title. An index that knows most sessions needs
less: the path, the session in a database, and a stamp that changes whenever the session does.

    >>> from pathlib import Path
    >>> from vacr.discovery import list_stored_places
    >>> environment = {"HOME": str(Path("home").absolute())}
    >>> list(list_stored_places(environment))      # A new user has no sessions.
    []

A database is opened only if it changed: `known` has the stamps of databases from the last time.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vacr.agents import Agent, load_agents
from vacr.discovery.session_stores import (
    SQLITE_SIDE_SUFFIXES,
    DatabaseFile,
    find_folder_store,
    is_database,
)
from vacr.discovery.sessions import ErrorCollector, list_store_roots, match_store_pattern
from vacr.errors import UnreadableInput
from vacr.files import is_folder


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """A transcript, a session of a database or folder, or a database that did not change."""

    agent: str
    path: str
    session: str | None
    """The id of the session if the path has several; None for a transcript."""
    stamp: str
    """Changes whenever the session does."""
    size: int
    modified: int
    """When its file was last written, in nanoseconds since 1970."""
    database_stamp: str = ""
    """What `known` of the next call takes for this database; empty outside of databases."""
    is_unchanged_database: bool = False
    """Whether this stands for all sessions of a database, none of which changed."""


def list_stored_places(
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
    *,
    known: Mapping[str, str] | None = None,
    failed: list[UnreadableInput] | None = None,
) -> Iterator[StoredPlace]:
    """Yield the places of all sessions on this machine, in no order.

    `known` maps the paths of databases to the `database_stamp` of an earlier call; a database that
    did not change since then is yielded as one place. Errors are added to `failed`.
    `environment` and `system` (a value of `sys.platform`) decide where agents keep their sessions.
    """
    errors = ErrorCollector([] if failed is None else failed)
    for agent in load_agents().values():
        seen: set[str] = set()
        for root, store in list_store_roots(agent, environment, system):
            for pattern in store.sessions:
                for path in match_store_pattern(root, pattern):
                    real_path = os.path.realpath(path)
                    if real_path not in seen:
                        seen.add(real_path)
                        yield from _list_places_at(path, agent, known or {}, errors)


def _list_places_at(
    path: Path, agent: Agent, known: Mapping[str, str], errors: ErrorCollector
) -> Iterator[StoredPlace]:
    """Yield the places at a path of an agent's store: a folder, a database or a transcript."""
    with errors.collect(path):
        if is_folder(path):
            yield from _list_folder_places(path, agent)
        elif is_database(path):
            yield from _list_database_places(path, agent, known)
        else:
            status = path.stat()
            stamp = f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"
            name = str(path)
            yield StoredPlace(agent.name, name, None, stamp, status.st_size, status.st_mtime_ns)


def _list_folder_places(path: Path, agent: Agent) -> Iterator[StoredPlace]:
    """Yield the sessions of a folder store; nothing if it is not a store of the agent."""
    store = find_folder_store(path)
    if store is None or store.agent is not agent:
        return
    for session in store.sessions():
        statuses = [(file.name, file.stat()) for file in store.files(session)]
        digest = hashlib.sha256()
        for name, status in sorted(statuses, key=lambda item: item[0]):
            about = f":{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}\n"
            digest.update(os.fsencode(name) + about.encode())
        size = sum(status.st_size for _, status in statuses)
        modified = max((status.st_mtime_ns for _, status in statuses), default=0)
        yield StoredPlace(agent.name, str(path), session, digest.hexdigest(), size, modified)


def _list_database_places(
    path: Path, agent: Agent, known: Mapping[str, str]
) -> Iterator[StoredPlace]:
    """Yield the sessions of a database, or the database itself if it did not change."""
    stamp = _compute_database_stamp(path)
    status = path.stat()
    size, modified = status.st_size, status.st_mtime_ns
    if known.get(str(path)) == stamp:
        yield StoredPlace(
            agent.name, str(path), None, stamp, size, modified, stamp, is_unchanged_database=True
        )
        return
    with closing(DatabaseFile(path, agent.name)) as database:
        for listed, mark in database.list_marked_sessions():
            digest = hashlib.sha256(repr((listed, mark)).encode("utf-8", "replace")).hexdigest()
            session = listed.session_id
            yield StoredPlace(agent.name, str(path), session, digest, size, modified, stamp)


def _compute_database_stamp(path: Path) -> str:
    """Return a text that changes whenever a database or one of its side files does."""
    stamps = []
    for suffix in ("", *SQLITE_SIDE_SUFFIXES):
        try:
            status = Path(f"{path}{suffix}").stat()
        except OSError:
            stamps.append("-")
        else:
            stamps.append(f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}")
    return " ".join(stamps)
