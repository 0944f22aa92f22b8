"""Keep the index of conversations up to date with the sessions on this machine.

A refresh looks at the files of all agents, and reads only those that are new or changed, the newest
first. Sessions whose files are gone leave the index, unless the user kept a copy of them. Records
that a user added by path stay as long as their files exist.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from vacr.archive import SearchIndex
    >>> from vacr.workflows import refresh_search_index
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex.open(Path(folder.name))
    >>> report = refresh_search_index(index, ["session.jsonl"], environment={"HOME": folder.name})
    >>> report.added, report.unchanged
    (1, 0)
    >>> refresh_search_index(index, ["session.jsonl"], environment={"HOME": folder.name}).unchanged
    1
    >>> index.close()
    >>> folder.cleanup()

If the refresh is interrupted, the sessions that it has read so far stay in the index, and the next
refresh goes on from there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

from vacr.archive import RecordRows, SearchIndex, SourceVersion, build_record_rows
from vacr.discovery import (
    SessionPlace,
    StoredPlace,
    fingerprint_place,
    list_kept_records,
    list_stored_places,
    read_sessions,
)
from vacr.errors import NotASession, UnreadableInput, VacrError
from vacr.files import is_folder, make_absolute
from vacr.workflows.inputs import (
    InputRecord,
    list_input_places,
    read_input_place,
    scan_input_records,
)

_WHOLE_DATABASE = "*"
"""Stands for a session id, in the row that has the stamp of a whole database."""
_BATCH_BYTES = 8 << 20
_BATCH_SECONDS = 0.5

ProgressCallback = Callable[[int, int], None]
"""Gets the number of bytes read, and of all bytes to read."""


@dataclass
class RefreshReport:
    """The result of a refresh in numbers of sources: transcripts, and sessions of databases."""

    added: int = 0
    """New or changed sources that were read."""
    unchanged: int = 0
    removed: int = 0
    failed: list[VacrError] = field(default_factory=list)
    """Sessions and folders that could not be read."""


@dataclass(frozen=True)
class _PendingSource:
    """A source that has to be read."""

    version: SourceVersion
    read: Callable[[], Iterator[RecordRows | VacrError]]


def refresh_search_index(
    index: SearchIndex,
    paths: Sequence[str] = (),
    *,
    only_paths: bool = False,
    environment: Mapping[str, str] = os.environ,
    progress: ProgressCallback = lambda _done, _total: None,
) -> RefreshReport:
    """Bring the index up to date with the agents' sessions, and with records at some paths.

    With `only_paths`, the sessions of the agents and the kept sessions are left out.

    Raises:
        UnreadableInput: the index cannot be written.
    """
    report = RefreshReport()
    known = index.list_sources()
    pending: list[_PendingSource] = []
    seen: set[tuple[str, str]] = set()
    databases: dict[str, StoredPlace] = {}
    sources = _list_stored_sources(known, environment, report, databases) if not only_paths else ()
    kept = [str(path) for path in list_kept_records(index.state)] if not only_paths else []
    named = (source for path in [*kept, *paths] for source in _list_named_sources(path, report))
    for found in chain(sources, named):
        key = found.version.path, found.version.session
        if key in seen:
            continue
        seen.add(key)
        if known.get(key) == found.version.stamp:
            report.unchanged += 1
        else:
            pending.append(found)
    pending.sort(key=lambda source: -source.version.mtime)
    _read_pending(index, pending, report, progress)
    _finish_refresh(index, known, seen, databases, report)
    return report


def _list_stored_sources(
    known: dict[tuple[str, str], str],
    environment: Mapping[str, str],
    report: RefreshReport,
    databases: dict[str, StoredPlace],
) -> Iterator[_PendingSource]:
    """Yield the sources of all agents, with their stamps; add the databases that were opened.

    The sessions of an unchanged database are yielded as the index knows them.
    """
    stamps = {path: stamp for (path, session), stamp in known.items() if session == _WHOLE_DATABASE}
    failed: list[UnreadableInput] = []
    for place in list_stored_places(environment, known=stamps, failed=failed):
        if place.is_unchanged_database:
            for (path, session), stamp in known.items():
                if path == place.path and session != _WHOLE_DATABASE:
                    yield _PendingSource(SourceVersion(path, session, 0, 0, stamp), _read_nothing)
            databases[place.path] = place
            continue
        if place.database_stamp:
            databases[place.path] = place
        yield _make_stored_source(place)
    report.failed += failed


def _read_nothing() -> Iterator[RecordRows | VacrError]:
    """Yield nothing: the index has the rows already."""
    return iter(())


def _make_stored_source(place: StoredPlace) -> _PendingSource:
    """Return the source of a place in an agent's store."""
    version = SourceVersion(
        place.path, place.session or "", place.size, place.modified, place.stamp
    )
    return _PendingSource(version, partial(_read_stored_place, place))


def _read_stored_place(place: StoredPlace) -> Iterator[RecordRows | VacrError]:
    """Yield the rows of the sessions at a place; yield errors, too."""
    try:
        for opened in read_sessions(
            place.path, session=place.session, agent=place.agent, sub_agents=False
        ):
            if isinstance(opened, VacrError):
                yield opened
            else:
                yield build_record_rows(cast("dict[str, Any]", opened.reading.record))
    except VacrError as error:
        yield error


def _list_named_sources(path: str, report: RefreshReport) -> Iterator[_PendingSource]:
    """Yield the records and sessions at a path that a user named, or in that folder.

    A missing file is yielded, too: reading it gives the error. A folder that cannot be listed is
    added to `report.failed`.
    """
    try:
        whole_file = SessionPlace(path, "", in_folder=False)
        for place in list_input_places(path) if is_folder(path) else [whole_file]:
            stamp, size = fingerprint_place(place)
            modified = 0
            with suppress(OSError):
                modified = Path(place.path).stat().st_mtime_ns
            name = make_absolute(place.path)
            version = SourceVersion(name, place.session or "", size, modified, stamp)
            yield _PendingSource(version, partial(_read_named_place, place))
    except VacrError as error:
        report.failed.append(error)


def _read_named_place(place: SessionPlace) -> Iterator[RecordRows | VacrError]:
    """Yield the rows of the records at a place; yield errors, too."""
    try:
        items = read_input_place(place) if place.in_folder else scan_input_records(place.path)
        for item in items:
            yield build_record_rows(item.record) if isinstance(item, InputRecord) else item
    except VacrError as error:
        yield error


def _read_pending(
    index: SearchIndex,
    pending: Sequence[_PendingSource],
    report: RefreshReport,
    progress: ProgressCallback,
) -> None:
    """Read sources and add them to the index, in batches of about half a second.

    Only the writing of a batch locks the index, so that other processes can write in between. A
    source that one of them has added is not read again.
    """
    total = sum(source.version.size for source in pending)
    done, start = 0, 0
    while start < len(pending):
        began, first_byte = time.monotonic(), done
        batch: list[_ReadSource] = []
        while start < len(pending):
            progress(done, total)
            source = pending[start].version
            if index.find_stamp(source.path, source.session) == source.stamp:
                report.unchanged += 1
            elif read := _read_source(pending[start], report):
                batch.append(read)
            done += source.size
            start += 1
            if done - first_byte > _BATCH_BYTES or time.monotonic() - began > _BATCH_SECONDS:
                break
        with index.transaction():
            for read in batch:
                index.add_source(read.version, read.rows, read.failure)
        report.added += len(batch)
    if pending:
        progress(total, total)


@dataclass(frozen=True)
class _ReadSource:
    """A source with the rows of its records, or why it has none."""

    version: SourceVersion
    rows: list[RecordRows]
    failure: str


def _read_source(source: _PendingSource, report: RefreshReport) -> _ReadSource | None:
    """Read one source; a source that is not a session counts as read, with its reason.

    Return None for a source that cannot be read, so that the next refresh tries it again.
    """
    rows: list[RecordRows] = []
    errors: list[VacrError] = []
    try:
        for item in source.read():
            if isinstance(item, RecordRows):
                rows.append(item)
            else:
                errors.append(item)
    except Exception as error:  # noqa: BLE001 - one session must not hide all others
        reason = f"vacr failed: {type(error).__name__}"
        errors.append(UnreadableInput(reason, where=source.version.path))
    real_errors = [error for error in errors if not isinstance(error, NotASession)]
    report.failed += real_errors
    if real_errors and not rows:
        return None
    return _ReadSource(source.version, rows, errors[0].message if errors else "")


def _finish_refresh(
    index: SearchIndex,
    known: Mapping[tuple[str, str], str],
    seen: set[tuple[str, str]],
    databases: Mapping[str, StoredPlace],
    report: RefreshReport,
) -> None:
    """Remove sources that are gone, mark repeated records, and remember databases' stamps."""
    gone = [
        key
        for key in known
        if key not in seen and key[1] != _WHOLE_DATABASE and _is_gone(key, databases)
    ]
    if not gone and not report.added and not databases:
        return
    with index.transaction():
        for path, session in gone:
            index.remove_source(path, session)
            report.removed += 1
        for path, place in databases.items():
            if not place.is_unchanged_database:
                size, modified, stamp = place.size, place.modified, place.database_stamp
                index.add_source(SourceVersion(path, _WHOLE_DATABASE, size, modified, stamp), ())
        if gone or report.added:
            index.mark_repeated_records()


def _is_gone(key: tuple[str, str], databases: Mapping[str, StoredPlace]) -> bool:
    """Return whether a source that a refresh did not find no longer exists.

    A session that its database no longer lists is gone. Other files may only be out of sight, for
    example because a user named them in an earlier refresh.
    """
    path, session = key
    if session and path in databases:
        return True
    return not os.path.lexists(path)
