"""The sessions of all agents on this machine: where they lie, and what a look at their ends tells.

A file is not read whole: its ends are given to the reader as if they were all of it. So a title or
a time that stands only in between is missed, and nothing here is evidence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vacr.agents import (
    ListedSession,
    Reader,
    SessionStore,
    Source,
    SourcePart,
    find_reader,
    load_readers,
)
from vacr.discovery.companions import make_part_name, read_file_ends
from vacr.discovery.databases import DatabaseFile, is_database
from vacr.discovery.folders import FolderStore, find_folder_store, find_parent_session
from vacr.errors import NotASession, UnreadableInput, UsageError
from vacr.files import describe_file_error, find_home_folder
from vacr.record import find_session_title, flatten_to_line, get_epoch_milliseconds, shorten_title


@dataclass(frozen=True)
class SessionSummary:
    """A session on this machine."""

    agent: str
    path: str
    session: str | None
    """Which of the sessions at that path, where there are several."""
    session_id: str
    project: str
    start: int | None
    updated: int | None
    size: int | None
    """How large its file is; not known of what shares one with others."""
    title: str
    parent: str | None = None
    """The session that a sub-agent worked for. A fork, which a person goes on with, has none."""


def list_store_roots(
    reader: Reader, environment: Mapping[str, str] = os.environ, system: str = sys.platform
) -> Iterator[tuple[Path, SessionStore]]:
    """Give the folders in which a reader's agent keeps sessions, and what is where in them."""
    for store in getattr(reader, "STORES", ()):
        root = _resolve_store_root(store, environment, system)
        if root is not None:
            yield root, store


def _resolve_store_root(
    store: SessionStore, environment: Mapping[str, str], system: str
) -> Path | None:
    """Give the folder of a store, as its variable or else the system says; nothing where there is
    none.
    """
    if store.unless and environment.get(store.unless):
        return None
    variable = store.variables.get(system, store.variable)
    named = environment.get(variable) if variable else None
    base = named or store.systems.get(system, store.default)
    if not base:
        return None
    if base == "~" or base.startswith("~/"):
        base = f"{_resolve_home(environment, system)}{base[1:]}"
    within = _resolve_store_root(store.within, environment, system) if store.within else None
    return (within or Path()) / base / store.under


def _resolve_home(environment: Mapping[str, str], system: str) -> str:
    if system == "win32":
        return environment.get("USERPROFILE") or os.path.expanduser("~")  # noqa: PTH111 - which does not raise
    # Without a home, what stands for it stays, and nothing is found there.
    return find_home_folder(environment) or "~"


def list_sessions(
    agent: str | None = None,
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
    failed: list[UnreadableInput] | None = None,
) -> Iterator[SessionSummary]:
    """Give the sessions on this machine, in no order; what cannot be read is told of among what
    failed.

    Raises:
        UsageError: no reader has the name of that agent.
    """
    known = load_readers()
    if agent is not None and agent not in known:
        raise UsageError(f"no reader for {agent!r}", hint=f"Known agents: {', '.join(known)}.")
    for reader in known.values():
        if agent in (None, reader.name):
            yield from _list_agent_sessions(
                reader, environment, system, _ErrorCollector([] if failed is None else failed)
            )


class _ErrorCollector:
    """What could not be read. One thing that cannot be keeps nothing else back, whatever is wrong
    with it.
    """

    def __init__(self, errors: list[UnreadableInput]) -> None:
        self._errors = errors

    @contextmanager
    def at(self, path: str | Path) -> Iterator[None]:
        """Keep what goes wrong with a path; that something is no session is nothing wrong."""
        try:
            yield
        except NotASession:
            pass
        except UnreadableInput as error:
            self._errors.append(error)
        except OSError as error:
            self._errors.append(
                UnreadableInput(describe_file_error(error), where=str(error.filename or path))
            )
        except MemoryError:
            self._errors.append(
                UnreadableInput("too large for the memory there is", where=str(path))
            )
        except Exception as error:  # noqa: BLE001 - a bug that one session brings to light hides no other session
            self._errors.append(
                UnreadableInput(f"a bug in vacr: {type(error).__name__}: {error}", where=str(path))
            )


def _list_agent_sessions(
    reader: Reader, environment: Mapping[str, str], system: str, failed: _ErrorCollector
) -> Iterator[SessionSummary]:
    folders: dict[str, Path] = {}
    met: set[str] = set()
    in_databases: set[str] = set()
    for root, store in list_store_roots(reader, environment, system):
        with failed.at(root), suppress(FileNotFoundError, NotADirectoryError, ValueError):
            # Looking for something below a folder that cannot be listed would find nothing, and say
            # nothing.
            os.scandir(root).close()
        for pattern in store.sessions:
            for path in _match_store_pattern(root, pattern):
                real = os.path.realpath(path)
                if real in met:
                    continue
                met.add(real)
                if os.path.isdir(path):  # noqa: PTH112 - a name may be one that Path refuses
                    folders[real] = path
                    continue
                for session in _list_file_sessions(
                    path, reader, find_project_folder(path, root, pattern), failed
                ):
                    in_databases.update({session.session_id} if session.session is not None else ())
                    yield session
    for path in folders.values():
        # An agent that went over to a database leaves the files of before where they were.
        yield from (
            session
            for session in _list_folder_sessions(path, reader, failed)
            if session.session_id not in in_databases
        )


def _match_store_pattern(root: Path, pattern: str) -> list[Path]:
    """Give what a pattern names below a folder; one that names nothing stands for the folder
    itself.
    """
    try:
        return sorted(root.glob(pattern)) if pattern else [root]
    except (OSError, ValueError, NotImplementedError):
        return []


def find_project_folder(path: Path, root: Path, pattern: str) -> str:
    """Name the project that a session lies with, where a folder is named after it: the first that
    the pattern leaves open.
    """
    names = pattern.split("/")
    opened = next((position for position, name in enumerate(names) if "*" in name), len(names))
    folders = path.relative_to(root).parts[:-1] if "**" not in names else ()
    return folders[opened] if opened < len(folders) else ""


def _list_file_sessions(
    path: Path, reader: Reader, project: str, failed: _ErrorCollector
) -> Iterator[SessionSummary]:
    """Give the sessions of a file."""
    with failed.at(path):
        if is_database(path):
            with closing(DatabaseFile(path, reader.name)) as database:
                for listed in database.sessions():
                    yield _summarise_listed_session(listed, reader, path)
        elif path.is_file():
            source = Source((SourcePart(make_part_name(path, reader), read_file_ends(path)),))
            if find_reader(source) is reader:
                yield from _summarise_source(source, reader, path, None, project)


def read_session_summary(path: Path, reader: Reader) -> SessionSummary | None:
    """Tell what a look at the ends of a transcript tells; nothing where it tells nothing."""
    return next(_list_file_sessions(path, reader, "", _ErrorCollector([])), None)


def read_folder_session_summary(path: Path, session: str, reader: Reader) -> SessionSummary | None:
    """Tell what a folder that holds several sessions tells of one; nothing where it tells
    nothing.
    """
    with _ErrorCollector([]).at(path):
        store = find_folder_store(path)
        if store is not None and store.reader is reader:
            return next(_summarise_store_session(store, session), None)
    return None


def _list_folder_sessions(
    path: Path, reader: Reader, failed: _ErrorCollector
) -> Iterator[SessionSummary]:
    """Give the sessions of a folder that holds several."""
    with failed.at(path):
        store = find_folder_store(path)
        if store is None or store.reader is not reader:
            return
        for session in store.sessions():
            with failed.at(path):
                yield from _summarise_store_session(store, session)
        for error in store.unlisted:
            with failed.at(path):
                raise error


def _summarise_store_session(store: FolderStore, session: str) -> Iterator[SessionSummary]:
    """Tell of a session by its own file, if it has one: that stands for all of it."""
    source = store.glimpse(session)
    file = store.path / source.main.name
    for found in _summarise_source(source, store.reader, file, None, ""):
        own = replace(found, size=None)
        yield own if file.stem == session else replace(own, path=str(store.path), session=session)


def _summarise_source(
    source: Source, reader: Reader, path: Path, session: str | None, project: str
) -> Iterator[SessionSummary]:
    """Tell what the reader finds in the ends of a session."""
    status = path.stat()
    for reading in reader.read(source):
        trace = reading.record["session"]
        yield SessionSummary(
            reader.name,
            str(path),
            session,
            str(trace["session-id"]),
            flatten_to_line(trace.get("environment", {}).get("working-dir", "")) or project,
            _parse_milliseconds(trace.get("session-start")),
            _parse_milliseconds(trace.get("session-end")) or status.st_mtime_ns // 1_000_000,
            status.st_size,
            find_session_title(trace),
            find_parent_session(reading.record),
        )


def _summarise_listed_session(listed: ListedSession, reader: Reader, path: Path) -> SessionSummary:
    """Tell what a database says about a session of its."""
    start, end, size = _parse_milliseconds(listed.start), _parse_milliseconds(listed.end), None
    if listed.alone:
        files = [
            file.stat() for suffix in ("", "-wal") if (file := Path(f"{path}{suffix}")).is_file()
        ]
        size = sum(status.st_size for status in files)
        end = end or max(status.st_mtime_ns for status in files) // 1_000_000
    return SessionSummary(
        reader.name,
        str(path),
        listed.session_id,
        listed.session_id,
        flatten_to_line(listed.project),
        start,
        end or start,
        size,
        shorten_title(flatten_to_line(listed.title)),
        listed.parent,
    )


def _parse_milliseconds(stamp: Any) -> int | None:
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None
