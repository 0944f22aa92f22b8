"""List the sessions of all agents on this machine, without reading them whole.

An agent states where it keeps sessions on each system. To summarise a session, the agent reads only
the two ends of its file, as if they were all of it. That is fast, but a title or a time in the
middle is missed, and nothing here is evidence.

    >>> from pathlib import Path
    >>> from vacr.agents import load_agents
    >>> from vacr.discovery import read_session_summary
    >>> path = min(Path("examples").glob("*.jsonl"))
    >>> summaries = [read_session_summary(path, agent) for agent in load_agents().values()]
    >>> [summary.title for summary in summaries if summary is not None]
    ['Fix invoice rounding']
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from io import FileIO
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from vacr.agents import (
    Agent,
    ListedSession,
    SessionStore,
    Source,
    SourcePart,
    is_multiline_json,
    is_written_by,
    label_speakers,
    load_agents,
)
from vacr.discovery.kept_records import list_kept_records, summarize_kept_record
from vacr.discovery.session_stores import (
    SQLITE_MAGIC,
    DatabaseFile,
    FolderStore,
    find_folder_store,
    find_parent_session,
)
from vacr.discovery.summary_cache import SummaryCache, compute_file_version
from vacr.errors import NotASession, UnreadableInput, UsageError
from vacr.files import (
    describe_file_error,
    find_home_folder,
    find_state_folder,
    format_path,
    is_file,
    is_folder,
    join_path,
)
from vacr.record import find_session_title, flatten_to_line, get_epoch_milliseconds, shorten_title

_HEAD_SIZE = 1 << 17
_TAIL_SIZES = (1 << 14, 1 << 18, 1 << 22)
_MAX_LINE_SIZE = 1 << 22

_KEPT = "kept"
"""Stands for an agent where the cache has the summaries of kept records."""
_UNCACHED_MEMBERS = {"agent", "path", "session", "copies", "is_kept"}

_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSING_BRACKETS = {b"{": b"}", b"[": b"]"}


@dataclass(frozen=True)
class SessionSummary:
    """A session on this machine. Times are in milliseconds since 1970, or None if unknown."""

    agent: str
    """The name of the agent."""
    path: str
    session: str | None
    """The id to select the session at that path, or None if it is the only one there."""
    session_id: str
    project: str
    """The agent's working folder, or else the name of a folder above the file; may be empty."""
    start: int | None
    updated: int | None
    size: int | None
    """The size of its file in bytes, or None if it shares files or consists of several."""
    title: str
    parent: str | None = None
    """The id of the session that a sub-agent worked for; None for any other session."""
    copies: tuple[str, ...] = ()
    """Paths of recordings of the same session on the way to an editor."""
    is_kept: bool = False
    """Whether the agent no longer has it, and the path is that of the record that the user kept."""


def list_sessions(
    agent: str | None = None,
    environment: Mapping[str, str] = os.environ,
    system: str = sys.platform,
    failed: list[UnreadableInput] | None = None,
    *,
    kept: bool = True,
) -> Iterator[SessionSummary]:
    """Yield the sessions of all agents on this machine, or of the named one, in no order.

    A session that the user kept, and that its agent no longer has, is one of them, unless `kept` is
    False. Errors of files and folders that cannot be read are added to `failed`. `environment` and
    `system` (a value of `sys.platform`) decide where agents keep their sessions.

    Raises:
        UsageError: no agent has that name.
    """
    agents = load_agents()
    if agent is not None and agent not in agents:
        raise UsageError(f"unknown agent {agent!r}", hint=f"Known agents: {', '.join(agents)}.")
    errors = ErrorCollector([] if failed is None else failed)
    cache = SummaryCache(environment)
    stored: set[tuple[str, str]] = set()
    try:
        for name in agents if agent is None else [agent]:
            for session in _list_agent_sessions(agents[name], environment, system, errors, cache):
                stored.add((name, session.session_id))
                yield session
            cache.forget_others(name)
        for session in _list_kept_sessions(agent, environment, errors, cache) if kept else ():
            if (session.agent, session.session_id) not in stored:
                yield session
    finally:
        cache.save()


def list_kept_sessions(environment: Mapping[str, str] = os.environ) -> Iterator[SessionSummary]:
    """Yield the sessions that the user kept, and their sub-agents, also if the agent has them."""
    cache = SummaryCache(environment)
    try:
        yield from _list_kept_sessions(None, environment, ErrorCollector([]), cache)
    finally:
        cache.save()


def _list_kept_sessions(
    agent: str | None, environment: Mapping[str, str], errors: ErrorCollector, cache: SummaryCache
) -> Iterator[SessionSummary]:
    """Yield the kept sessions of all agents that are installed, or of the named one.

    Unchanged records that are in `cache` are not read.
    """
    records: list[Path] = []
    with suppress(UsageError):  # There may be no state folder.
        records = list_kept_records(find_state_folder(environment))
    agents = load_agents() if agent is None else (agent,)
    for path in records:
        name = path.parent.name
        version = compute_file_version(str(path), "", "")
        with errors.collect(path):
            rows = cache.find_rows(_KEPT, str(path), version)
            if rows is None:
                rows = [summarize_kept_record(path)]
                cache.add_rows(_KEPT, str(path), version, rows)
            if name in agents:
                for row in rows:
                    yield SessionSummary(
                        agent=name, path=str(path), session=None, **row, is_kept=True
                    )
    if records:
        cache.forget_others(_KEPT)


def read_session_summary(path: Path, agent: Agent) -> SessionSummary | None:
    """Return the summary of the first session in a transcript or a database of an agent.

    Return None if the file cannot be read, or is not a session of that agent.
    """
    cache = SummaryCache(None)
    return next(_list_file_sessions(path, agent, "", ErrorCollector([]), cache), None)


def read_folder_session_summary(path: Path, session: str, agent: Agent) -> SessionSummary | None:
    """Return the summary of the session with this id in a folder store of an agent.

    Return None if the session cannot be read, or the folder is not a store of that agent.
    """
    with ErrorCollector([]).collect(path):
        store = find_folder_store(path)
        if store is not None and store.agent is agent:
            return next(_summarise_store_session(store, session), None)
    return None


def list_store_roots(
    agent: Agent, environment: Mapping[str, str] = os.environ, system: str = sys.platform
) -> Iterator[tuple[Path, SessionStore]]:
    """Yield each folder where an agent keeps sessions, whether it exists or not, and its layout.

    A store without a folder on this system is left out.
    """
    for store in agent.stores:
        root = _resolve_store_root(store, environment, system)
        if root is not None:
            yield root, store


def find_project_folder(path: Path, root: Path, pattern: str) -> str:
    """Return the name of the first folder below `root` that a wildcard of the pattern matches.

    Agents name it after the project. Return an empty string if there is none: for the path
    `/store/my-app/a.jsonl`, `*/*.jsonl` yields `my-app`, and `my-app/*.jsonl` nothing. A pattern
    with `**` also gives an empty string. The path must lie below `root`.
    """
    names = pattern.split("/")
    wildcards = (position for position, name in enumerate(names) if "*" in name)
    first_wildcard = next(wildcards, len(names))
    if first_wildcard >= len(names) - 1 or "**" in names:
        return ""
    folders = path.parts[len(root.parts) : -1]
    return folders[first_wildcard] if first_wildcard < len(folders) else ""


def make_part_name(path: Path, agent: Agent | None = None) -> str:
    """Return the name of a file as a part of a source: usually its file name.

    If the agent has a pattern for it (`part_name`), return the matching end of the path, because
    the folder identifies the session.
    """
    pattern = agent.part_name if agent is not None else None
    match = pattern.search(path.absolute().as_posix()) if pattern else None
    return format_path(match[0] if match else path.name)


def _resolve_store_root(
    store: SessionStore, environment: Mapping[str, str], system: str
) -> Path | None:
    """Return the folder of a store: the value of its environment variable, or else its default.

    The folder may be relative to another store (`within`), and `under` names the folder in it.
    Return None if it has neither on this system, or if the variable that disables it is set.
    """
    if store.unless and environment.get(store.unless):
        return None
    variable = store.variables.get(system, store.variable)
    named = environment.get(variable) if variable else None
    base = named or store.systems.get(system, store.default)
    if not base:
        return None
    if base == ".":
        base = str(Path.cwd())
    elif base == "~" or base.startswith("~/"):
        base = f"{_resolve_home(environment, system)}{base[1:]}"
    within = _resolve_store_root(store.within, environment, system) if store.within else None
    return (within or Path()) / base / store.under


def _resolve_home(environment: Mapping[str, str], system: str) -> str:
    """Return the user's home folder on a system, or `~` if the user has none."""
    if system == "win32":
        profile = environment.get("USERPROFILE")
        return profile or os.path.expanduser("~")  # noqa: PTH111 - Path.home may raise
    # Without a home, the `~` stays, and nothing is found there.
    return find_home_folder(environment) or "~"


class ErrorCollector:
    """Collects errors, so that one unreadable session does not hide the others."""

    def __init__(self, errors: list[UnreadableInput]) -> None:
        """Add the errors to this list."""
        self._errors = errors

    @contextmanager
    def collect(self, path: str | Path) -> Iterator[None]:
        """Suppress any exception in the context, and add it to the list as an error at `path`.

        NotASession is suppressed without adding it.
        """
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
        """Add an error with this message at `path` to the list."""
        self._errors.append(UnreadableInput(message, where=str(path)))


def _list_agent_sessions(
    agent: Agent,
    environment: Mapping[str, str],
    system: str,
    errors: ErrorCollector,
    cache: SummaryCache,
) -> Iterator[SessionSummary]:
    """Yield each session of an agent once, from its files, databases and folder stores.

    A session in a folder store is left out if a database has it too. Unchanged files
    that are in `cache` are not read.
    """
    folders: dict[str, Path] = {}
    seen_paths: set[str] = set()
    links = LinkResolver()
    ids_in_databases: set[str] = set()
    for root, store in list_store_roots(agent, environment, system):
        with errors.collect(root), suppress(FileNotFoundError, NotADirectoryError, ValueError):
            # A glob below a folder that cannot be listed finds nothing, and reports nothing.
            os.scandir(root).close()
        for pattern in store.sessions:
            for path in match_store_pattern(root, pattern):
                real_path = links.resolve(str(path))
                if real_path in seen_paths:
                    continue
                seen_paths.add(real_path)
                if is_folder(path):
                    folders[real_path] = path
                    continue
                project = agent.project_of_store_folder(find_project_folder(path, root, pattern))
                for session in _list_file_sessions(path, agent, project, errors, cache):
                    if session.session is not None:
                        ids_in_databases.add(session.session_id)
                    yield session
    for path in folders.values():
        # An agent that moved to a database leaves its earlier files where they were.
        for session in _list_folder_sessions(path, agent, errors):
            if session.session_id not in ids_in_databases:
                yield session
    _report_encrypted_stores(agent, environment, system, errors)


class LinkResolver:
    """Resolves links in paths as `os.path.realpath` does, but each folder only once."""

    def __init__(self) -> None:
        """Start without folders."""
        self._real_folders: dict[str, str] = {}

    def resolve(self, path: str) -> str:
        """Return a path without links."""
        folder, name = os.path.split(path)
        if not folder or name in ("", ".", "..") or os.path.islink(path):  # noqa: PTH114
            return os.path.realpath(path)
        real_folder = self._real_folders.get(folder)
        if real_folder is None:
            real_folder = self._real_folders[folder] = self.resolve(folder)
        return f"{real_folder.rstrip(os.sep)}{os.sep}{name}"


def _report_encrypted_stores(
    agent: Agent, environment: Mapping[str, str], system: str, errors: ErrorCollector
) -> None:
    """Add an error to `errors` for each store of an agent that has encrypted sessions."""
    for encrypted in agent.encrypted:
        root = _resolve_store_root(encrypted.store, environment, system)
        if root is None:
            continue
        count = sum(len(match_store_pattern(root, pattern)) for pattern in encrypted.store.sessions)
        if count:
            sessions = "1 session" if count == 1 else f"{count:,} sessions"
            with errors.collect(root):
                raise UnreadableInput(
                    f"{sessions} of {encrypted.program}, encrypted by the program; vacr cannot "
                    "read them"
                )


def match_store_pattern(root: Path, pattern: str) -> list[Path]:
    """Return the sorted paths below a folder that match a glob pattern.

    An empty pattern matches the folder itself. Return an empty list if matching fails, or if there
    is no such folder.
    """
    try:
        if not pattern:
            return [root] if _may_exist(root) else []
        return sorted(root.glob(pattern), key=attrgetter("parts"))
    except (OSError, ValueError, NotImplementedError):
        return []


def _may_exist(path: Path) -> bool:
    """Return whether a path exists; also if that cannot be checked, so that reading it fails."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _list_file_sessions(
    path: Path, agent: Agent, project: str, errors: ErrorCollector, cache: SummaryCache
) -> Iterator[SessionSummary]:
    """Yield the summaries of an agent's sessions in a transcript or a database.

    Yield nothing for a file of another agent; add an error to `errors` if the file cannot be read.
    `project` is for transcripts that do not state one. A transcript that has not changed since it
    was added to `cache` is not read.
    """
    name = str(path)
    with errors.collect(path):
        description = _find_description(path, agent)
        version = compute_file_version(name, description, project)
        rows = cache.find_rows(agent.name, name, version)
        if rows is not None:
            for row in rows:
                yield SessionSummary(agent=agent.name, path=name, session=None, **row)
            return
        if not is_file(path):
            return
        source, status = _read_ends_as_source(path, agent)
        if source.main.data.startswith(SQLITE_MAGIC):
            with closing(DatabaseFile(path, agent.name)) as database:
                for listed in database.sessions():
                    yield _summarise_listed_session(listed, agent, path)
            return
        summaries = []
        if is_written_by(source, agent):
            if description:
                source = _add_description(source, description)
            for summary in _summarise_source(source, agent, path, project, status):
                summaries.append(summary)
                yield summary
        cache.add_rows(agent.name, name, version, map(_make_cache_row, summaries))


def _make_cache_row(summary: SessionSummary) -> dict[str, Any]:
    """Return the members of a transcript's summary that its agent and path do not determine."""
    members = vars(summary)
    return {name: members[name] for name in members.keys() - _UNCACHED_MEMBERS}


def _read_ends_as_source(path: Path, agent: Agent) -> tuple[Source, os.stat_result]:
    """Return the two ends of a file as a source, and the status of the file.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    data, status = _read_ends(path)
    return Source((SourcePart(make_part_name(path, agent), data),)), status


def _find_description(path: Path, agent: Agent) -> str:
    """Return the attached file that describes a session, or an empty text if there is none."""
    if not agent.described_by:
        return ""
    name = agent.described_by.format(stem=path.stem, name=path.name.partition(".")[0])
    file = join_path(os.path.dirname(path), name)  # noqa: PTH120 - faster than Path
    return file if name != path.name and is_file(file) else ""


def _add_description(source: Source, file: str) -> Source:
    """Return a source with the attached file that describes the session."""
    return Source((*source.parts, SourcePart(Path(file).name, read_file_ends(file))))


def _list_folder_sessions(
    path: Path, agent: Agent, errors: ErrorCollector
) -> Iterator[SessionSummary]:
    """Yield the summaries of the sessions in a folder store; nothing if it is not the agent's.

    Errors are added to `errors`, and not raised.
    """
    with errors.collect(path):
        store = find_folder_store(path)
        if store is None or store.agent is not agent:
            return
        for session in store.sessions():
            with errors.collect(path):
                yield from _summarise_store_session(store, session)
        for error in store.listing_errors:
            with errors.collect(path):
                raise error


def _summarise_store_session(store: FolderStore, session: str) -> Iterator[SessionSummary]:
    """Yield the summary of a session in a folder store, without a size.

    Its path is the session's own file if that is named after the session, or else the store.
    """
    source = store.read_glimpse(session)
    file = store.path / source.main.name
    for summary in _summarise_source(source, store.agent, file, "", file.stat()):
        own = replace(summary, size=None)
        yield own if file.stem == session else replace(own, path=str(store.path), session=session)


def _summarise_source(
    source: Source, agent: Agent, path: Path, project: str, status: os.stat_result
) -> Iterator[SessionSummary]:
    """Yield the summary of each session that an agent finds in a source, the ends of a file.

    `project` is for sessions that do not state their working folder; `status` is the file's.
    """
    for reading in agent.read(source):
        label_speakers(agent, cast("dict[str, Any]", reading.record))
        trace = reading.record["session"]
        working_dir = trace.get("environment", {}).get("working-dir", "")
        modified = status.st_mtime_ns // 1_000_000
        yield SessionSummary(
            agent=agent.name,
            path=str(path),
            session=None,
            session_id=_resolve_session_id(str(trace["session-id"]), source, path, status.st_size),
            project=flatten_to_line(working_dir) or project,
            start=_parse_milliseconds(trace.get("session-start")),
            updated=_parse_milliseconds(trace.get("session-end")) or modified,
            size=status.st_size,
            title=find_session_title(trace),
            parent=find_parent_session(reading.record),
        )


def _resolve_session_id(session_id: str, source: Source, path: Path, size: int) -> str:
    """Return the id of a session; if it is the digest of these ends, that of the whole file."""
    if session_id != source.main.sha256 or len(source.main.data) == size:
        return session_id
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _summarise_listed_session(listed: ListedSession, agent: Agent, path: Path) -> SessionSummary:
    """Return the summary of a session that the database at `path` lists.

    If the database has no other session, the size and time of its files are this session's.
    """
    start, end, size = _parse_milliseconds(listed.start), _parse_milliseconds(listed.end), None
    if listed.alone:
        files = (Path(f"{path}{suffix}") for suffix in ("", "-wal"))
        statuses = [file.stat() for file in files if file.is_file()]
        size = sum(status.st_size for status in statuses)
        end = end or max(status.st_mtime_ns for status in statuses) // 1_000_000
    return SessionSummary(
        agent=agent.name,
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
    """Return a time as milliseconds since 1970; `stamp` is RFC 3339 text or already milliseconds.

    Return None for other text and for any other type.
    """
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None


def read_file_ends(path: str | Path) -> bytes:
    """Return the two ends of a file, or all of it if it is small.

    For a file of lines, these are its first and last lines. For a file that is one JSON value, it
    is the beginning, cut after a whole member and closed, so that it is a value again.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    return _read_ends(path)[0]


def _read_ends(path: str | Path) -> tuple[bytes, os.stat_result]:
    """Return the two ends of a file as `read_file_ends` does, and its status; less of a database.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - faster than Path
            status = os.fstat(file.fileno())
            size = status.st_size
            # A buffer larger than the file would cost more time than the file.
            head = file.read(min(_HEAD_SIZE, size))
            if head.startswith(SQLITE_MAGIC):
                return head, status
            if len(head) < size and b"\n" not in head:
                head += file.read(_MAX_LINE_SIZE - _HEAD_SIZE)
            if len(head) >= size:
                return head, status
            if b"\n" not in head or is_multiline_json(head):
                return _close_cut_json(head[:_HEAD_SIZE]), status
            tail = _read_last_lines(file, len(head), size)
            return head[: head.rfind(b"\n") + 1] + tail, status
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def _read_last_lines(file: FileIO, start: int, size: int) -> bytes:
    """Return the last whole lines of a file, from offset `start` at the earliest.

    `size` is the size of the file. Return empty bytes if the last line is longer than 4 MiB.
    """
    for tail_size in _TAIL_SIZES:
        file.seek(max(start, size - tail_size))
        tail = file.read()
        first_line = tail.find(b"\n") + 1
        if 0 < first_line < len(tail):
            return tail[first_line:]
    return b""


def _close_cut_json(text: bytes) -> bytes:
    """Cut a JSON text after its last whole member, and close the open brackets.

    For example, `{"a": [1, 2, 3` becomes `{"a": [1, 2]}`. A text without a comma stays as it is.
    """
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
