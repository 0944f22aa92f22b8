"""Read the sessions at a place: a file, a folder of files, or a database.

A path that cannot be read raises an error that says why. Where a place has several sessions, one
that cannot be read does not hide the others: its error is yielded among them.

A session may be more than its transcript: agents write large outputs to files of their own, and so
do sub-agents. An agent states where by patterns (`attached`, `sub_sessions`).

    >>> from pathlib import Path
    >>> from vacr.discovery import read_sessions
    >>> [session] = read_sessions(min(Path("examples").glob("*.jsonl")))
    >>> len(session.reading.record["session"]["entries"]), session.left_out
    (20, ())
"""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from vacr.agents import (
    Agent,
    Reading,
    Source,
    SourcePart,
    load_agents,
    parse_json_documents,
    recognise_agent,
)
from vacr.discovery.session_stores import (
    SQLITE_MAGIC,
    SQLITE_SIDE_SUFFIXES,
    DatabaseFile,
    FolderStore,
    check_not_session_piece,
    find_folder_store,
    find_session_store,
    is_database,
    make_listing_error,
    make_no_session_error,
    open_cached_database,
)
from vacr.discovery.sessions import list_store_roots, make_part_name
from vacr.errors import NotASession, PluginError, UnreadableInput, UsageError
from vacr.files import (
    STDIN,
    format_path,
    is_file,
    is_folder,
    join_path,
    make_absolute,
    read_bytes,
)


@dataclass(frozen=True)
class OpenedSession:
    """A session that was read, and where it comes from."""

    name: str
    """The name of the file that the session was read from, or `stdin`."""
    reading: Reading
    agent: Agent
    label: str = ""
    """The id of the session or sub-agent, if the same place has others; else empty."""
    source: Source | None = None
    """The native bytes, if the caller wanted to keep them."""
    left_out: tuple[UnreadableInput, ...] = ()
    """The errors of files that belong to the session and could not be read."""
    files: tuple[Path, ...] = ()
    """The files that the session was read from."""


@dataclass(frozen=True)
class MapFile:
    """A file that names the members of a session, for agents that need one.

    It counts as if it lay next to the session.
    """

    path: str
    """Where it was read from, for errors."""
    data: bytes


@dataclass(frozen=True)
class _ReadOptions:
    """The options of `read_sessions` that apply to every session at a place."""

    agent_name: str | None
    sub_agents: bool
    keep_source: bool
    map_file: MapFile | None = None


def read_sessions(
    path: str | Path,
    *,
    session: str | None = None,
    agent: str | None = None,
    sub_agents: bool = True,
    keep_source: bool = False,
    named: Iterable[str | Path] = (),
    data: bytes | None = None,
    map_file: MapFile | None = None,
) -> Iterator[OpenedSession | UnreadableInput]:
    """Yield the sessions at a path, and the sessions of their sub-agents if `sub_agents` is set.

    The path is a transcript, a database, a folder that an agent uses as a store, or `-` for
    standard input. Where it has several sessions, one that cannot be read is yielded as its error,
    and `session` selects one by id. `agent` is the name of the agent that wrote them; without it,
    the agent is recognised. Sub-agents in the files `named` are left out: the caller reads these
    files anyway. A session may be large, so its native bytes are kept only if `keep_source` is set.
    `data` is the content of the path, if the caller has read it already. `map_file` replaces the
    map next to the session, for an agent that has maps.

    Raises:
        UnreadableInput: the path cannot be read, or does not have that session.
        NotASession: the path is not a session of a known agent.
        UsageError: no agent has that name, or the agent has no maps.
    """
    options = _ReadOptions(agent, sub_agents, keep_source, map_file)
    if map_file is not None:
        _check_map_agent(agent)
    if str(path) != STDIN:
        store = _find_store(Path(path), session)
        if store is not None:
            yield from _read_folder_store(*store, options)
            return
        if is_database(path):
            yield from _read_database(Path(path), session, options)
            return
        check_not_session_piece(Path(path))
    if data is None:
        data = read_bytes(path)
    if data.startswith(SQLITE_MAGIC):
        # It came through a pipe, and only a file can be opened as a database.
        with tempfile.TemporaryDirectory(prefix="vacr-") as folder:
            copy = Path(folder) / "stdin.db"
            copy.write_bytes(data)
            yield from _read_database(copy, session, options)
        return
    named_files = tuple(map(str, named))
    is_found = session is None
    for opened in _read_session_file(Path(path), data, options, named_files):
        if isinstance(opened, UnreadableInput):
            yield opened
        elif session in (None, opened.reading.record["session"]["session-id"]):
            is_found = True
            yield opened
    if not is_found:
        raise make_no_session_error(session, path)


def _check_map_agent(name: str | None) -> None:
    """Raise a UsageError if the named agent has no maps; an unknown agent is reported later."""
    agents = load_agents()
    if name is None or (name in agents and not agents[name].map_suffix):
        usable = ", ".join(agent.name for agent in agents.values() if agent.map_suffix)
        who = f"the agent {name} has" if name else "a recognised agent needs"
        raise UsageError(f"{who} no map", hint=f"Add --agent {usable}, or omit --map.")


def is_in_agent_store(folder: Path, agent: Agent) -> bool:
    """Return whether a folder is, or lies in, a folder where the agent keeps its own sessions.

    vacr must not write there.
    """
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(os.path.realpath(root)) for root, _ in list_store_roots(agent))


def _find_store(path: Path, session: str | None) -> tuple[FolderStore, str | None] | None:
    """Return the folder store for a path, and the id of the session to read from it.

    For a folder, the id is `session`, where None means all sessions; for a session's own file in a
    store, it is the id in the file's name. Return None if the path is neither.
    """
    try:
        store = find_folder_store(path) if path.is_dir() else None
        return (store, session) if store is not None else find_session_store(path)
    except (OSError, ValueError):
        return None


def _read_folder_store(
    store: FolderStore, session: str | None, options: _ReadOptions
) -> Iterator[OpenedSession | UnreadableInput]:
    """Yield a session of a folder store and its sub-agents; all sessions if `session` is None.

    A session that cannot be read is yielded as its error. The errors of subfolders that cannot be
    listed come last.

    Raises:
        UnreadableInput: the folder cannot be listed.
    """
    try:
        session_ids = store.sessions() if session is None else [session]
        if session is not None and options.sub_agents:
            session_ids += _list_descendants(session, store.find_parents())
    except OSError as error:
        raise make_listing_error(error, store.path) from error
    for session_id in session_ids:
        left_out: list[UnreadableInput] = []
        try:
            source = store.source(session_id, left_out)
        except UnreadableInput as error:
            yield error
            continue
        # Sessions of such a folder have files named after them, so they need no label.
        label = "" if session in (None, session_id) else session_id
        files = [store.path / part.name for part in source.parts]
        names = (f"{session_id}.json", label)
        yield from _read_store_session(source, store.agent, names, options, files, left_out)
    yield from store.listing_errors


def _read_database(
    path: Path, session: str | None, options: _ReadOptions
) -> Iterator[OpenedSession | UnreadableInput]:
    """Yield one session of a database and its sub-agents', or all sessions if `session` is None.

    A session that cannot be read, or does not exist, is yielded as its error.

    Raises:
        UnreadableInput: the database cannot be read.
        NotASession: no agent knows the database, or it has no sessions.
    """
    with (
        closing(DatabaseFile(path, options.agent_name))
        if session is None
        else open_cached_database(path, options.agent_name) as database
    ):
        if session is None:
            session_ids = [listed.session_id for listed in database.sessions()]
        else:
            session_ids = [session]
            if options.sub_agents:
                parents = {listed.session_id: listed.parent for listed in database.sessions()}
                session_ids += _list_descendants(session, parents)
        if not session_ids:
            raise NotASession(
                "the database has no sessions",
                where=str(path),
                hint="To find sessions: vacr list -v",
            )
        side_files = (Path(f"{path}{suffix}") for suffix in SQLITE_SIDE_SUFFIXES)
        files = [path, *(file for file in side_files if file.is_file())]
        for session_id in session_ids:
            try:
                source = database.source(session_id)
            except UnreadableInput as error:
                yield error
                continue
            names = (database.name, session_id)
            yield from _read_store_session(source, database.agent, names, options, files)


def _list_descendants(session: str, parents: dict[str, str | None]) -> list[str]:
    """Return the ids of a session's sub-agents, of their sub-agents, and so on.

    `parents` maps the id of each session to the id of its parent, or None.
    """
    family = [session]
    for member in family:
        family += [
            child for child, parent in parents.items() if parent == member and child not in family
        ]
    return family[1:]


def _read_store_session(
    source: Source,
    agent: Agent,
    names: tuple[str, str],
    options: _ReadOptions,
    files: Iterable[Path],
    left_out: Iterable[UnreadableInput] = (),
) -> Iterator[OpenedSession]:
    """Yield the sessions in the source of one session in a store, usually one.

    `names` are the name and the label of the result.
    """
    name, label = names
    for reading in agent.read_labelled(source):
        yield OpenedSession(
            name,
            reading,
            agent,
            label,
            source if options.keep_source else None,
            tuple(left_out),
            tuple(files),
        )


def _read_session_file(
    path: Path, data: bytes, options: _ReadOptions, named_files: tuple[str, ...]
) -> Iterator[OpenedSession | UnreadableInput]:
    """Yield the sessions in a transcript whose bytes are `data`, and then its sub-agents' sessions.

    Sub-agents in `named_files` are skipped; one that cannot be read is yielded as its
    error.

    Raises:
        UnreadableInput: no known agent wrote the transcript, or it cannot be parsed.
        UsageError: no agent has the name in the options.
    """
    on_disk = str(path) != STDIN
    source = Source((SourcePart(make_part_name(path) if on_disk else "stdin", data),))
    del data  # here and below, so that the bytes can be released while sessions are yielded
    try:
        agent = recognise_agent(source, options.agent_name)
    except UnreadableInput as error:
        raise type(error)(error.message, where=str(path), hint=error.hint) from error
    left_out: list[UnreadableInput] = []
    # Standard input may be a file, too.
    files = [path if on_disk else Path("/dev/stdin")]
    if on_disk:
        source.main.name = make_part_name(path, agent)
        source = Source((*source.parts, *read_attached_parts(path, agent, left_out, files)))
    map_name = f"{Path(source.main.name).stem}{agent.map_suffix}" if agent.map_suffix else ""
    map_path = str(path.with_name(map_name)) if map_name and on_disk else map_name
    if options.map_file is not None:
        map_path = options.map_file.path
        parts = [part for part in source.parts if part.name != map_name]
        source = Source((*parts, SourcePart(map_name, options.map_file.data)))
        files.append(Path(map_path))
    try:
        readings = list(agent.read_labelled(source))
    except PluginError as error:
        error.where = str(path)
        raise
    except UnreadableInput as error:
        if error.where == source.main.name:
            error.where = str(path)
        elif map_name and error.where.startswith(map_name):
            error.where = f"{map_path}{error.where.removeprefix(map_name)}"
        raise
    session_ids = {reading.record["session"]["session-id"] for reading in readings}
    has_several = len(readings) > 1
    kept_source = source if options.keep_source else None
    del source
    while readings:
        reading = readings.pop(0)
        yield OpenedSession(
            path.name if on_disk else "stdin",
            reading,
            agent,
            str(reading.record["session"]["session-id"]) if has_several else "",
            kept_source,
            tuple(left_out),
            tuple(files),
        )
    if on_disk and options.sub_agents:
        yield from _read_sub_agents(path, agent, session_ids, options, named_files)


@lru_cache(maxsize=1)
def _resolve_paths(files: tuple[str, ...], folder: Path) -> frozenset[str]:
    """Return the real paths of files, which may be relative to a folder.

    Each session of a run has the same files, and a run may have thousands.
    """
    return frozenset(os.path.realpath(folder / file) for file in files)


def _read_sub_agents(
    path: Path,
    agent: Agent,
    session_ids: set[Any],
    options: _ReadOptions,
    named_files: tuple[str, ...],
) -> Iterator[OpenedSession | UnreadableInput]:
    """Yield the sessions of sub-agents in files around a transcript, or the errors of reading them.

    `session_ids` are the ids of the sessions in the transcript at `path`. The
    `named_files` are skipped, also if they are links.
    """
    for file in find_sub_agent_files(path, agent, session_ids):
        if named_files and os.path.realpath(file) in _resolve_paths(named_files, Path.cwd()):
            continue
        try:
            data = read_companion_file(file, path)
        except UnreadableInput as error:
            yield error
            continue
        left_out: list[UnreadableInput] = []
        files = [file]
        main = SourcePart(make_part_name(file, agent), data)
        source = Source((main, *read_attached_parts(file, agent, left_out, files)))
        for reading in agent.read_labelled(source):
            yield OpenedSession(
                file.name,
                reading,
                agent,
                file.stem.removeprefix("agent-"),
                source if options.keep_source else None,
                tuple(left_out),
                tuple(files),
            )


# The files around a session's file: attached outputs, and the sessions of sub-agents.


def read_attached_parts(
    path: Path, agent: Agent, left_out: list[UnreadableInput], files: list[Path]
) -> Iterator[SourcePart]:
    """Read the files attached to the transcript at `path`, and yield each as a part of its source.

    Add the paths that could be read to `files`, and the errors of the others to `left_out`.
    """
    for file in list_attached_files(path, agent):
        try:
            data = read_companion_file(file, path)
        except UnreadableInput as error:
            left_out.append(error)
            continue
        yield SourcePart(make_attached_name(file, path), data)
        files.append(file)


def list_attached_files(path: Path, agent: Agent) -> Iterator[Path]:
    """Yield the existing files that belong to the transcript at `path`, such as large outputs.

    The patterns in `agent.attached` find them, and `agent.parent_note` the note of a parent.
    """
    for file in _list_pattern_files(agent.attached, path):
        yield file
        if agent.parent_note and file.name == agent.described_by and _is_sub_agent(file, agent):
            folder = Path(make_absolute(path.parent))
            pattern = agent.parent_note.format(folder=glob.escape(folder.name))
            yield from sorted(folder.parent.glob(pattern))


def _is_sub_agent(description: Path, agent: Agent) -> bool:
    """Return whether the file that describes a session has the sign of a sub-agent."""
    try:
        return agent.sub_agent_sign in read_bytes(description)
    except UnreadableInput:
        return False


def make_attached_name(file: Path, path: Path) -> str:
    """Return the name of a file that belongs to the transcript at `path`: its path from the folder.

    The note of a parent is in another session's folder; its path is from the folder above both.
    """
    absolute = Path(make_absolute(file))
    return format_path(absolute.relative_to(_get_common_folder(absolute, path)).as_posix())


def is_inside_session_folder(file: Path, path: Path) -> bool:
    """Return whether a file really is in the folder of the transcript at `path`.

    Return False if it is a link out of the folder. The note of a parent must really be in the
    parent's own folder, and not in that of another session next to it.
    """
    absolute = Path(make_absolute(file))
    own_folder = Path(make_absolute(path.parent))
    folder = Path(os.path.realpath(own_folder))
    if not absolute.is_relative_to(own_folder):
        if not absolute.is_relative_to(own_folder.parent):
            return False
        folder = Path(os.path.realpath(own_folder.parent))
        folder /= absolute.relative_to(own_folder.parent).parts[0]
    return Path(os.path.realpath(file)).is_relative_to(folder)


def _get_common_folder(file: Path, path: Path) -> Path:
    """Return the absolute folder of a transcript or, if the file is not in it, the folder above."""
    folder = Path(make_absolute(path.parent))
    return folder if file.is_relative_to(folder) else folder.parent


def find_sub_agent_files(path: Path, agent: Agent, sessions: set[Any]) -> Iterator[Path]:
    """Yield the transcripts of sub-agents that belong to the transcript at `path`.

    The patterns in `agent.sub_sessions` find them; `sessions` are the ids of the sessions in the
    transcript. A file in the same folder counts only if it names one of these ids.
    """
    for file in _list_pattern_files(agent.sub_sessions, path, sessions):
        if file == path:
            continue
        # Files in the session's own folder belong to it; those next to it must name the session.
        if file.parent != path.parent or _belongs_to_sessions(file, path, agent, sessions):
            yield file


def read_companion_file(file: Path, path: Path) -> bytes:
    """Return the bytes of a file that belongs to the transcript at `path`.

    Raises:
        UnreadableInput: the file cannot be read, or links out of the transcript's folder.
    """
    if not is_inside_session_folder(file, path):
        raise UnreadableInput("a link to a file outside the session's folder", where=str(file))
    return read_bytes(file)


def _list_pattern_files(
    patterns: Iterable[str], path: Path, sessions: Iterable[Any] = ()
) -> Iterator[Path]:
    """Yield the files that patterns match in the folder of the transcript at `path`, or below it.

    `{stem}` in a pattern stands for the transcript's name without its ending, `{name}` for its name
    without all endings, and `{session}` for each of the `sessions`. The files of one pattern are
    sorted by name. The last name of a pattern may have wildcards, and so may the folder above it,
    as in `parts/*/meta.json`. The transcript itself is left out, unless it matches wildcards.
    """
    # This runs for every file of a large folder, so it avoids the slower Path.
    stem, own_name, parent = path.stem, path.name.partition(".")[0], str(path.parent)
    for pattern in patterns:
        session_ids = sorted(sessions, key=str) if "{session}" in pattern else [""]
        for session in session_ids:
            filled = pattern.format(stem=stem, name=own_name, session=session)
            folder, _, name = filled.rpartition("/")
            if folder.endswith("/*"):
                folder, name = folder[:-2], f"*/{name}"
            place = join_path(parent, folder) if folder else parent
            if "*" not in name:
                file = join_path(place, name)
                if name != path.name and is_file(file):
                    yield Path(file)
            elif is_folder(place):
                yield from sorted(file for file in Path(place).glob(name) if file.is_file())


def _belongs_to_sessions(file: Path, path: Path, agent: Agent, sessions: set[Any]) -> bool:
    """Return whether the transcript `file` belongs to one of the `sessions`, given by id.

    The first value in which the agent finds the id of a session decides. Return False without one,
    and True if the file cannot be read.
    """
    try:
        data = read_companion_file(file, path)
    except UnreadableInput:
        # Reading it later will report why it cannot be read.
        return True
    for _, batch in parse_json_documents(data):
        for value in batch:
            belongs = agent.belongs_to_session(value, sessions)
            if belongs is not None:
                return belongs
    return False
