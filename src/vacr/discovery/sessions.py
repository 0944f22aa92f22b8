"""List the sessions of all agents on this machine, without reading them whole.

A reader says where its agent keeps sessions on each system. To summarise a session, the reader gets
only the two ends of its file, as if they were all of it. That is fast, but a title or a time in the
middle is missed, and nothing here is evidence.

    >>> from pathlib import Path
    >>> from vacr.agents import load_agents
    >>> from vacr.discovery import read_session_summary
    >>> path = min(Path("examples").glob("*.jsonl"))
    >>> summaries = [read_session_summary(path, reader) for reader in load_agents().values()]
    >>> [summary.title for summary in summaries if summary is not None]
    ['Fix invoice rounding']
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from vacr.agents import (
    Agent,
    ListedSession,
    SessionStore,
    Source,
    SourcePart,
    is_multiline_json,
    load_agents,
    recognise_agent,
)
from vacr.discovery.session_stores import (
    DatabaseFile,
    FolderStore,
    find_folder_store,
    find_parent_session,
    is_database,
)
from vacr.errors import NotASession, UnreadableInput, UsageError
from vacr.files import describe_file_error, find_home_folder, format_path, is_folder
from vacr.record import find_session_title, flatten_to_line, get_epoch_milliseconds, shorten_title

_HEAD_SIZE = 1 << 17
_TAIL_SIZES = (1 << 14, 1 << 18, 1 << 22)
_MAX_LINE_SIZE = 1 << 22

_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSING_BRACKETS = {b"{": b"}", b"[": b"]"}


@dataclass(frozen=True)
class SessionSummary:
    """A session on this machine. Times are in epoch milliseconds."""

    agent: str
    path: str
    session: str | None
    """The session at that path, if the path has several."""
    session_id: str
    project: str
    start: int | None
    updated: int | None
    size: int | None
    """The size of its file, unless the file contains other sessions too."""
    title: str
    parent: str | None = None
    """The session that a sub-agent worked for. A fork that a person continues has no parent."""


def list_sessions(
    agent: str | None = None,
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
    failed: list[UnreadableInput] | None = None,
) -> Iterator[SessionSummary]:
    """Yield the sessions on this machine, in no order; add what cannot be read to `failed`.

    Raises:
        UsageError: no agent has that name.
    """
    readers = load_agents()
    if agent is not None and agent not in readers:
        raise UsageError(f"unknown agent {agent!r}", hint=f"Known agents: {', '.join(readers)}.")
    for reader in readers.values():
        if agent in (None, reader.name):
            errors = _ErrorCollector([] if failed is None else failed)
            yield from _list_agent_sessions(reader, environment, system, errors)


def read_session_summary(path: Path, reader: Agent) -> SessionSummary | None:
    """Return the summary of a transcript, or None if it cannot be read."""
    return next(_list_file_sessions(path, reader, "", _ErrorCollector([])), None)


def read_folder_session_summary(path: Path, session: str, reader: Agent) -> SessionSummary | None:
    """Return the summary of a session in a folder of several, or None if it cannot be read."""
    with _ErrorCollector([]).collect(path):
        store = find_folder_store(path)
        if store is not None and store.reader is reader:
            return next(_summarise_store_session(store, session), None)
    return None


def list_store_roots(
    reader: Agent, environment: Mapping[str, str] = os.environ, system: str = sys.platform
) -> Iterator[tuple[Path, SessionStore]]:
    """Yield the session folders of a reader's agent, with their layouts."""
    for store in reader.stores:
        root = _resolve_store_root(store, environment, system)
        if root is not None:
            yield root, store


def find_project_folder(path: Path, root: Path, pattern: str) -> str:
    """Return the name of the folder that is named after a session's project, or an empty text.

    It is the first folder that the pattern leaves open.
    """
    names = pattern.split("/")
    wildcards = (position for position, name in enumerate(names) if "*" in name)
    first_wildcard = next(wildcards, len(names))
    folders = path.relative_to(root).parts[:-1] if "**" not in names else ()
    return folders[first_wildcard] if first_wildcard < len(folders) else ""


def make_part_name(path: Path, reader: Agent | None = None) -> str:
    """Return the name of a file as a part of a source.

    Where the folder identifies the session, the name includes the folder.
    """
    pattern = reader.part_name if reader is not None else None
    match = pattern.search(path.absolute().as_posix()) if pattern else None
    return format_path(match[0] if match else path.name)


def _resolve_store_root(
    store: SessionStore, environment: Mapping[str, str], system: str
) -> Path | None:
    """Return the folder of a store, from its variable or else its default, if it has one."""
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
        profile = environment.get("USERPROFILE")
        return profile or os.path.expanduser("~")  # noqa: PTH111 - Path.home may raise
    # Without a home, the `~` stays, and nothing is found there.
    return find_home_folder(environment) or "~"


class _ErrorCollector:
    """Collects errors, so that one unreadable session does not hide the others."""

    def __init__(self, errors: list[UnreadableInput]) -> None:
        self._errors = errors

    @contextmanager
    def collect(self, path: str | Path) -> Iterator[None]:
        """Collect the error that is raised for a path; a file without a session is not one."""
        try:
            yield
        except NotASession:
            pass
        except UnreadableInput as error:
            error.where = error.where or str(path)
            self._errors.append(error)
        except OSError as error:
            self._add(describe_file_error(error), error.filename or path)
        except MemoryError:
            self._add("not enough memory to read the session", path)
        except Exception as error:  # noqa: BLE001 - a bug must not hide other sessions
            self._add(f"a bug in vacr: {type(error).__name__}: {error}", path)

    def _add(self, message: str, path: str | Path) -> None:
        self._errors.append(UnreadableInput(message, where=str(path)))


def _list_agent_sessions(
    reader: Agent, environment: Mapping[str, str], system: str, errors: _ErrorCollector
) -> Iterator[SessionSummary]:
    folders: dict[str, Path] = {}
    seen_paths: set[str] = set()
    ids_in_databases: set[str] = set()
    for root, store in list_store_roots(reader, environment, system):
        with errors.collect(root), suppress(FileNotFoundError, NotADirectoryError, ValueError):
            # A glob below a folder that cannot be listed finds nothing, and reports nothing.
            os.scandir(root).close()
        for pattern in store.sessions:
            for path in _match_store_pattern(root, pattern):
                real_path = os.path.realpath(path)
                if real_path in seen_paths:
                    continue
                seen_paths.add(real_path)
                if is_folder(path):
                    folders[real_path] = path
                    continue
                project = find_project_folder(path, root, pattern)
                for session in _list_file_sessions(path, reader, project, errors):
                    if session.session is not None:
                        ids_in_databases.add(session.session_id)
                    yield session
    for path in folders.values():
        # An agent that moved to a database leaves its earlier files where they were.
        for session in _list_folder_sessions(path, reader, errors):
            if session.session_id not in ids_in_databases:
                yield session


def _match_store_pattern(root: Path, pattern: str) -> list[Path]:
    """Return the paths below a folder that match a pattern; an empty one matches the folder."""
    try:
        return sorted(root.glob(pattern)) if pattern else [root]
    except (OSError, ValueError, NotImplementedError):
        return []


def _list_file_sessions(
    path: Path, reader: Agent, project: str, errors: _ErrorCollector
) -> Iterator[SessionSummary]:
    """Yield the sessions of a transcript or a database."""
    with errors.collect(path):
        if is_database(path):
            with closing(DatabaseFile(path, reader.name)) as database:
                for listed in database.sessions():
                    yield _summarise_listed_session(listed, reader, path)
        elif path.is_file():
            source = Source((SourcePart(make_part_name(path, reader), read_file_ends(path)),))
            if recognise_agent(source) is reader:
                yield from _summarise_source(source, reader, path, None, project)


def _list_folder_sessions(
    path: Path, reader: Agent, errors: _ErrorCollector
) -> Iterator[SessionSummary]:
    """Yield the sessions of a folder that contains several."""
    with errors.collect(path):
        store = find_folder_store(path)
        if store is None or store.reader is not reader:
            return
        for session in store.sessions():
            with errors.collect(path):
                yield from _summarise_store_session(store, session)
        for error in store.listing_errors:
            with errors.collect(path):
                raise error


def _summarise_store_session(store: FolderStore, session: str) -> Iterator[SessionSummary]:
    """Yield the summary of a session in a folder; its own file, if there is one, stands for it."""
    source = store.read_glimpse(session)
    file = store.path / source.main.name
    for summary in _summarise_source(source, store.reader, file, None, ""):
        own = replace(summary, size=None)
        yield own if file.stem == session else replace(own, path=str(store.path), session=session)


def _summarise_source(
    source: Source, reader: Agent, path: Path, session: str | None, project: str
) -> Iterator[SessionSummary]:
    """Yield the summary of each session that a reader finds in the ends of a file."""
    status = path.stat()
    for reading in reader.read_labelled(source):
        trace = reading.record["session"]
        working_dir = trace.get("environment", {}).get("working-dir", "")
        modified = status.st_mtime_ns // 1_000_000
        yield SessionSummary(
            agent=reader.name,
            path=str(path),
            session=session,
            session_id=str(trace["session-id"]),
            project=flatten_to_line(working_dir) or project,
            start=_parse_milliseconds(trace.get("session-start")),
            updated=_parse_milliseconds(trace.get("session-end")) or modified,
            size=status.st_size,
            title=find_session_title(trace),
            parent=find_parent_session(reading.record),
        )


def _summarise_listed_session(listed: ListedSession, reader: Agent, path: Path) -> SessionSummary:
    """Return the summary of a session that a database lists."""
    start, end, size = _parse_milliseconds(listed.start), _parse_milliseconds(listed.end), None
    if listed.alone:
        # The database has no other session, so its files are this session's.
        files = (Path(f"{path}{suffix}") for suffix in ("", "-wal"))
        statuses = [file.stat() for file in files if file.is_file()]
        size = sum(status.st_size for status in statuses)
        end = end or max(status.st_mtime_ns for status in statuses) // 1_000_000
    return SessionSummary(
        agent=reader.name,
        path=str(path),
        session=listed.session_id,
        session_id=listed.session_id,
        project=flatten_to_line(listed.project),
        start=start,
        updated=end or start,
        size=size,
        title=shorten_title(flatten_to_line(listed.title)),
        parent=listed.parent,
    )


def _parse_milliseconds(stamp: Any) -> int | None:
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None


def read_file_ends(path: Path) -> bytes:
    """Read the two ends of a file, or all of it if it is small.

    A file of lines yields its first and last lines. A file that is one JSON value yields its
    beginning, cut after a whole member and closed, so that it is a value again.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD_SIZE)
            if len(head) < size and b"\n" not in head:
                head += file.read(_MAX_LINE_SIZE - _HEAD_SIZE)
            if len(head) >= size:
                return head
            if b"\n" not in head or is_multiline_json(head):
                return _close_cut_json(head[:_HEAD_SIZE])
            return head[: head.rfind(b"\n") + 1] + _read_last_lines(file, len(head), size)
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def _read_last_lines(file: BinaryIO, start: int, size: int) -> bytes:
    """Read at least one whole line from the end of a file, unless it is unusually long."""
    for tail_size in _TAIL_SIZES:
        file.seek(max(start, size - tail_size))
        tail = file.read()
        first_line = tail.find(b"\n") + 1
        if 0 < first_line < len(tail):
            return tail[first_line:]
    return b""


def _close_cut_json(text: bytes) -> bytes:
    """Cut a JSON text after its last whole member, and close the open brackets."""
    closing_brackets: list[bytes] = []
    closed_text = text
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSING_BRACKETS:
            closing_brackets.append(_CLOSING_BRACKETS[token])
        elif token in (b"}", b"]"):
            closing_brackets = closing_brackets[:-1]
        elif token == b",":
            closed_text = text[: match.start()] + b"".join(reversed(closing_brackets))
    return closed_text
