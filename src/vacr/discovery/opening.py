"""Native sessions on this machine, as sources for the readers: files, folders of files, databases.

A place is where a session lies: a file, or a session in a database or a folder that holds several.
A path that cannot be read is an error that says why; where a place holds several sessions, one that
cannot be read does not keep the others back.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.agents import Reader, Reading, Source, SourcePart, find_reader
from vacr.discovery.companions import (
    find_sub_agent_files,
    make_part_name,
    read_attached_parts,
    read_companion_file,
)
from vacr.discovery.databases import (
    SQLITE_MAGIC,
    SQLITE_SIDE_SUFFIXES,
    DatabaseFile,
    is_database,
    open_cached_database,
)
from vacr.discovery.folders import (
    FolderStore,
    check_not_session_piece,
    find_folder_store,
    find_session_store,
    make_listing_error,
    make_no_session_error,
)
from vacr.discovery.sessions import list_store_roots
from vacr.errors import NotASession, UnreadableInput
from vacr.files import STDIN, read_bytes


@dataclass(frozen=True)
class OpenedSession:
    """A reading and where it comes from; the native bytes only where they are to be kept."""

    name: str
    """The name of its source."""
    reading: Reading
    reader: Reader
    label: str = ""
    """What tells it from others of the same place: a session, or a sub-agent."""
    source: Source | None = None
    left_out: tuple[UnreadableInput, ...] = ()
    """Files that belong to the session and could not be read."""
    files: tuple[Path, ...] = ()
    """The files it was read from."""


@dataclass(frozen=True)
class _ReadOptions:
    agent: str | None
    sub_agents: bool
    keep_source: bool


def read_sessions(
    path: str | Path,
    *,
    session: str | None = None,
    agent: str | None = None,
    sub_agents: bool = True,
    keep_source: bool = False,
    named: Iterable[str | Path] = (),
    data: bytes | None = None,
) -> Iterator[OpenedSession | UnreadableInput]:
    """Read the sessions at a place, then those of sub-agents that have files of their own and are
    not named anyway.

    Where a place holds several, what cannot be read comes as an error among them. The native bytes
    are let go once they are read, for a session may be large, unless they are to be kept. What
    standard input had may be given as data.

    Raises:
        UnreadableInput: the place cannot be read, or is of no agent that is known.
        UsageError: no reader has that name.
    """
    wish = _ReadOptions(agent, sub_agents, keep_source)
    on_disk = str(path) != STDIN
    if on_disk and (store := _find_store(Path(path), session)):
        yield from _read_folder_store(*store, wish)
        return
    if on_disk and is_database(path):
        yield from _read_database(Path(path), session, wish)
        return
    if on_disk:
        check_not_session_piece(Path(path))
    data = read_bytes(path) if data is None else data
    if data.startswith(SQLITE_MAGIC):
        # It came through a pipe; only a file can be opened as a database.
        with tempfile.TemporaryDirectory(prefix="vacr-") as folder:
            copy = Path(folder) / "stdin.db"
            copy.write_bytes(data)
            yield from _read_database(copy, session, wish)
        return
    met = session is None
    for found in _read_session_file(
        Path(path), data, wish, {os.path.realpath(one) for one in named}
    ):
        if (
            session is None
            or isinstance(found, UnreadableInput)
            or found.reading.record["session"]["session-id"] == session
        ):
            met = met or not isinstance(found, UnreadableInput)
            yield found
    if not met:
        raise make_no_session_error(session, path)


def _find_store(path: Path, session: str | None) -> tuple[FolderStore, str | None] | None:
    """Give the store that a path is or lies in, and which of its sessions is meant, unless
    all are.
    """
    try:
        store = find_folder_store(path) if path.is_dir() else None
        return (store, session) if store is not None else find_session_store(path)
    except (OSError, ValueError):
        return None


def _read_folder_store(
    store: FolderStore, session: str | None, wish: _ReadOptions
) -> Iterator[OpenedSession | UnreadableInput]:
    try:
        listed = store.sessions() if session is None else [session]
        if session is not None and wish.sub_agents:
            listed += _list_descendants(session, store.parents())
    except OSError as error:
        raise make_listing_error(error, store.path) from error
    for one in listed:
        left_out: list[UnreadableInput] = []
        try:
            source = store.source(one, left_out)
        except UnreadableInput as error:
            yield error
        else:
            # The sessions of such a folder have files of their own names.
            files = [store.path / part.name for part in source.parts]
            label = "" if session in (None, one) else one
            yield from _read_store_session(
                source, store.reader, (f"{one}.json", label), wish, files, left_out
            )
    yield from store.unlisted


def _read_database(
    path: Path, session: str | None, wish: _ReadOptions
) -> Iterator[OpenedSession | UnreadableInput]:
    with (
        closing(DatabaseFile(path, wish.agent))
        if session is None
        else open_cached_database(path, wish.agent) as database
    ):
        listed = [one.session_id for one in database.sessions()] if session is None else [session]
        if session is not None and wish.sub_agents:
            listed += _list_descendants(
                session, {one.session_id: one.parent for one in database.sessions()}
            )
        if not listed:
            raise NotASession("there is no session in it", where=str(path))
        files = [
            path,
            *(
                side
                for ending in SQLITE_SIDE_SUFFIXES
                if (side := Path(f"{path}{ending}")).is_file()
            ),
        ]
        for one in listed:
            try:
                source = database.source(one)
            except UnreadableInput as error:
                yield error
            else:
                yield from _read_store_session(
                    source, database.reader, (database.name, one), wish, files
                )


def _list_descendants(session: str, parents: dict[str, str | None]) -> list[str]:
    """Give the sub-agents of a session, and theirs."""
    found = [session]
    for parent in found:
        found += [one for one, other in parents.items() if other == parent and one not in found]
    return found[1:]


def _read_store_session(
    source: Source,
    reader: Reader,
    named: tuple[str, str],
    wish: _ReadOptions,
    files: Iterable[Path],
    left_out: Iterable[UnreadableInput] = (),
) -> Iterator[OpenedSession]:
    """Read a source that holds one session of a store."""
    name, label = named
    for reading in reader.read(source):
        yield OpenedSession(
            name,
            reading,
            reader,
            label,
            source if wish.keep_source else None,
            tuple(left_out),
            tuple(files),
        )


def _read_session_file(
    path: Path, data: bytes, wish: _ReadOptions, named: set[str]
) -> Iterator[OpenedSession | UnreadableInput]:
    on_disk = str(path) != STDIN
    main = Source((SourcePart(make_part_name(path) if on_disk else "stdin", data),))
    del data
    try:
        reader = find_reader(main, wish.agent)
    except UnreadableInput as error:
        raise type(error)(error.message, where=str(path), hint=error.hint) from error
    left_out: list[UnreadableInput] = []
    # What stands behind standard input may be a file, too.
    files = [path if on_disk else Path("/dev/stdin")]
    if on_disk:
        main.main.name = make_part_name(path, reader)
        main = Source((*main.parts, *read_attached_parts(path, reader, left_out, files)))
    readings = list(reader.read(main))
    sessions = {reading.record["session"]["session-id"] for reading in readings}
    several = len(readings) > 1
    kept = main if wish.keep_source else None
    del main
    while readings:
        reading = readings.pop(0)
        label = str(reading.record["session"]["session-id"]) if several else ""
        yield OpenedSession(
            path.name if on_disk else "stdin",
            reading,
            reader,
            label,
            kept,
            tuple(left_out),
            tuple(files),
        )
    if on_disk and wish.sub_agents:
        yield from _read_sub_agents(path, reader, sessions, wish, named)


def _read_sub_agents(
    path: Path, reader: Reader, sessions: set[Any], wish: _ReadOptions, named: set[str]
) -> Iterator[OpenedSession | UnreadableInput]:
    for file in find_sub_agent_files(path, reader, sessions):
        if os.path.realpath(file) in named:
            continue
        try:
            data = read_companion_file(file, path)
        except UnreadableInput as error:
            yield error
            continue
        left_out: list[UnreadableInput] = []
        files = [file]
        source = Source(
            (
                SourcePart(make_part_name(file, reader), data),
                *read_attached_parts(file, reader, left_out, files),
            )
        )
        for reading in reader.read(source):
            label = file.stem.removeprefix("agent-")
            kept = source if wish.keep_source else None
            yield OpenedSession(
                file.name, reading, reader, label, kept, tuple(left_out), tuple(files)
            )


def is_in_agent_store(folder: Path, reader: Reader) -> bool:
    """Tell whether a folder lies in the agent's own store, where nothing of ours belongs."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(os.path.realpath(root)) for root, _ in list_store_roots(reader))
