"""The records for `vacr blame`: named by the user, or of the sessions of a repository.

With an index of claims, a source that did not change since the last blame is not read again:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from vacr.blame import ClaimIndex
    >>> from vacr.workflows import read_blame_records
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = ClaimIndex.open(Path(folder.name))
    >>> records = read_blame_records(["session.jsonl"], print, index=index)
    >>> len(records)
    1
    >>> index.close()
    >>> folder.cleanup()

Without an index, the records themselves are returned. Both give the same blame.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vacr.blame import (
    BlameRecords,
    ClaimIndex,
    IndexedRecord,
    IndexedRecords,
    RecordHandle,
    SourceStamp,
)
from vacr.discovery import SessionPlace, fingerprint_place, list_sessions
from vacr.errors import NotASession, UnreadableInput, VacrError
from vacr.files import STDIN, is_absolute, is_folder, make_absolute, resolve_links
from vacr.workflows.inputs import (
    InputRecord,
    list_input_places,
    read_input_place,
    scan_input_records,
)
from vacr.workflows.session_names import find_named_session

_MIN_SETTLED_NANOSECONDS = 50_000_000
"""A file that was written so recently may change again without a change of its times."""

SkippedCallback = Callable[[str, VacrError], None]
"""Gets each input that cannot be read: its path, and the error."""
ProgressCallback = Callable[[int, int], None]
"""Gets the number of steps done, and of all steps."""
BlameInputs = Sequence[InputRecord] | IndexedRecords
"""Records with their sources, or records that an index knows."""
_InputPlace = tuple[str, SessionPlace | None]
"""The path for messages, and a place in a folder; `None` for a file that a user named."""


def _ignore_progress(_done: int, _total: int) -> None:
    """Do nothing."""


def read_blame_records(
    paths: Iterable[str],
    skipped: SkippedCallback,
    *,
    index: ClaimIndex | None = None,
    progress: ProgressCallback = _ignore_progress,
) -> BlameRecords:
    """Return all records at some paths, and the records of native sessions there.

    `skipped` gets each unreadable item of a folder: the path of the folder, and the error.
    `progress` gets the inputs read and their total.

    Raises:
        UnreadableInput: a named file cannot be read, or the paths contain no records.
        InvalidRecord: a named record is invalid, or was modified.
    """
    return get_blame_records(read_named_inputs(paths, skipped, index=index, progress=progress))


def get_blame_records(inputs: BlameInputs) -> BlameRecords:
    """Return records without their sources."""
    if isinstance(inputs, IndexedRecords):
        return inputs
    return [recording.record for recording in inputs]


def read_named_inputs(
    paths: Iterable[str],
    skipped: SkippedCallback,
    *,
    index: ClaimIndex | None = None,
    progress: ProgressCallback = _ignore_progress,
) -> BlameInputs:
    """Return the same records as `read_blame_records`, with their sources.

    `skipped` and `progress` are as there.

    Raises:
        UnreadableInput: a named file cannot be read, or the paths contain no records.
        InvalidRecord: a named record is invalid, or was modified.
    """
    paths = tuple(paths)
    places = _list_named_places(paths)
    return _read_inputs(places, skipped, _make_no_records_error(paths), index, progress)


def _list_named_places(paths: Iterable[str]) -> list[_InputPlace]:
    """Return the places in the folders among some paths, and the other paths without a place.

    Each comes after the path that the user named. A session that is named by its id, or as the
    latest, has a place as well: the index knows sources by their paths.
    """
    places: list[_InputPlace] = []
    for path in paths:
        if is_folder(path):
            places += [(path, place) for place in list_input_places(path)]
        elif path != STDIN and not os.path.lexists(path):
            places.append((path, find_named_session(path)))
        else:
            places.append((path, None))
    return places


def _make_no_records_error(paths: Iterable[str]) -> UnreadableInput:
    """Return the error for paths that contain no records."""
    hint = "To create records: vacr record FOLDER -o records/"
    return UnreadableInput("no records found", where=", ".join(paths), hint=hint)


def read_project_records(
    folders: Sequence[str],
    skipped: SkippedCallback,
    *,
    index: ClaimIndex | None = None,
    progress: ProgressCallback = _ignore_progress,
    environment: Mapping[str, str] = os.environ,
) -> BlameRecords:
    """Return the records of the sessions on this machine that worked in some folders, or below.

    `skipped` gets each session that cannot be read: its path, and the error. `progress` gets the
    sessions read and their total. `environment` decides where agents keep their sessions.

    Raises:
        UnreadableInput: there are no such sessions.
    """
    inputs = read_project_inputs(
        folders, skipped, index=index, progress=progress, environment=environment
    )
    return get_blame_records(inputs)


def read_project_inputs(
    folders: Sequence[str],
    skipped: SkippedCallback,
    *,
    index: ClaimIndex | None = None,
    progress: ProgressCallback = _ignore_progress,
    environment: Mapping[str, str] = os.environ,
) -> BlameInputs:
    """Return the same records as `read_project_records`, with their sources.

    The arguments are as there.

    Raises:
        UnreadableInput: there are no such sessions.
    """
    places = _list_project_places(folders, skipped, environment)
    return _read_inputs(places, skipped, _make_no_sessions_error(folders), index, progress)


def _list_project_places(
    folders: Sequence[str],
    skipped: SkippedCallback,
    environment: Mapping[str, str] = os.environ,
) -> list[_InputPlace]:
    """Return the places of the sessions on this machine that worked in some folders, or below.

    Each comes after the path of its session. `skipped` gets each store that cannot be read.
    """
    failed: list[UnreadableInput] = []
    places: list[_InputPlace] = []
    for summary in list_sessions(environment=environment, failed=failed):
        # Here, a path of another system would be in the current folder.
        project = resolve_links(summary.project) if is_absolute(summary.project) else ""
        if any(f"{project}/".startswith(f"{folder}/") for folder in folders):
            place = SessionPlace(summary.path, Path(summary.path).name, summary.session)
            places.append((summary.path, place))
    for error in failed:
        skipped(error.where, error)
    return places


def _make_no_sessions_error(folders: Sequence[str]) -> UnreadableInput:
    """Return the error for folders where no session worked."""
    return UnreadableInput(
        "no sessions of this repository found on this machine",
        where=", ".join(folders),
        hint="Add --records PATH: records, sessions, or folders of them. To find sessions: "
        "vacr list -v",
    )


def _read_inputs(
    places: Sequence[_InputPlace],
    skipped: SkippedCallback,
    missing: UnreadableInput,
    index: ClaimIndex | None,
    progress: ProgressCallback,
) -> BlameInputs:
    """Return the records at places, from an index if there is one.

    Raises:
        UnreadableInput: a named file cannot be read; or `missing`, if no place has records.
        InvalidRecord: a named record is invalid, or was modified.
    """
    reader = _InputReader(index, skipped)
    for number, (path, place) in enumerate(places):
        progress(number, len(places))
        reader.read(path, place)
    if not reader.found:
        raise missing
    handles = [item for item in reader.found if isinstance(item, RecordHandle)]
    if index is None or len(handles) < len(reader.found) or not index.is_usable:
        # Without an index, or if it failed on the way.
        return [
            item.read_input() if isinstance(item, RecordHandle) else item for item in reader.found
        ]
    if reader.has_new_sources:
        index.forget_missing_sources()
    return IndexedRecords(index, handles, progress)


class _InputReader:
    """Reads inputs, and adds them to an index if there is one."""

    def __init__(self, index: ClaimIndex | None, skipped: SkippedCallback) -> None:
        """Take the index, if there is one; `skipped` gets unreadable items of folders.

        A named file that cannot be read is an error instead.
        """
        self.index = index
        self.skipped = skipped
        self.found: list[RecordHandle | InputRecord] = []
        """The records; a record that the index knows is a handle."""
        self.has_new_sources = False

    def read(self, path: str, place: SessionPlace | None) -> None:
        """Read one input, unless the index knows it, and add its records to `found`.

        Errors of a folder's items go to `skipped`.

        Raises:
            UnreadableInput: a named file, without a place, cannot be read.
            InvalidRecord: a named record is invalid, or was modified.
        """
        index, stamp = self.index, _stamp_place(place)
        if index is not None and place is not None and stamp is not None:
            known = index.find_source(stamp)
            if known is not None:
                if known.failure:
                    self.skipped(path, NotASession(known.failure, where=place.path))
                self.found += [
                    _make_handle(record, partial(_read_again, place, stamp, position))
                    for position, record in enumerate(known.records)
                ]
                return
        found: list[InputRecord] = []
        errors: list[VacrError] = []
        for item in _read_items(path, place):
            if isinstance(item, InputRecord):
                found.append(item)
            else:
                errors.append(item)
                self.skipped(path, item)
        handles = None
        if index is not None:
            handles = self._add_to_index(index, path, place, stamp, found, errors)
        self.found += found if handles is None else handles

    def _add_to_index(
        self,
        index: ClaimIndex,
        path: str,
        place: SessionPlace | None,
        stamp: SourceStamp | None,
        found: Sequence[InputRecord],
        errors: Sequence[VacrError],
    ) -> list[RecordHandle] | None:
        """Add an input that was read to the index, and return the handles of its records.

        The index knows the input by `stamp`, that of its files before they were read. It knows it
        by its records instead if the files are not a place, have changed meanwhile, or may be
        readable the next time. Return `None` if a file is gone or the index cannot be written.
        """
        try:
            records = [(_compute_digest(item), item.record) for item in found]
        except UnreadableInput:
            return None
        # Errors may pass, except that a file is not a session.
        failure = errors[0].message if errors and isinstance(errors[0], NotASession) else ""
        may_pass = len(errors) > (1 if failure else 0)
        if stamp is None or may_pass or stamp != _stamp_place(place):
            if not records:
                return []
            stamp = _stamp_content(path, place, [digest for digest, _ in records])
        source = index.find_source(stamp)
        is_new = source is None
        indexed = index.add_source(stamp, records, failure) if source is None else source.records
        if indexed is None:
            return None
        self.has_new_sources = self.has_new_sources or is_new
        return [
            _make_handle(record, partial(_get_input, item))
            for record, item in zip(indexed, found, strict=True)
        ]


def _make_handle(indexed: IndexedRecord, read_input: Callable[[], InputRecord]) -> RecordHandle:
    """Return the handle of a record that the index knows, and that a function reads."""

    def load() -> dict[str, Any]:
        """Read the record without its source."""
        record: dict[str, Any] = read_input().record
        return record

    return RecordHandle(indexed, load, read_input)


def _get_input(item: InputRecord) -> InputRecord:
    """Return an input that was read already."""
    return item


def _read_items(path: str, place: SessionPlace | None) -> Iterator[InputRecord | VacrError]:
    """Yield the records of an input; of a place in a folder, yield errors, too.

    Raises:
        UnreadableInput: a named file, without a place, cannot be read.
        InvalidRecord: a named record is invalid, or was modified.
    """
    return scan_input_records(path) if place is None else read_input_place(place)


def _stamp_place(place: SessionPlace | None) -> SourceStamp | None:
    """Return the stamp of a place.

    Return `None` for a path that a user named, which may have further files, and for a file that
    cannot be examined, or was written just now.
    """
    if place is None:
        return None
    digest, size = fingerprint_place(place)
    try:
        status = Path(place.path).stat()
    except OSError:
        return None
    age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    if not digest or age < _MIN_SETTLED_NANOSECONDS:
        return None
    path = make_absolute(place.path)
    return SourceStamp(path, place.session or "", size, status.st_mtime_ns, digest)


def _stamp_content(path: str, place: SessionPlace | None, digests: Sequence[str]) -> SourceStamp:
    """Return the stamp of an input that is known by its records only."""
    content = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    session = (place.session if place is not None else None) or ""
    return SourceStamp(make_absolute(path if place is None else place.path), session, 0, 0, content)


def _compute_digest(item: InputRecord) -> str:
    """Return a digest of a record: of its bytes, or for a session its id, made from its content.

    Raises:
        UnreadableInput: the file of the record is gone.
    """
    if item.stored:
        return f"sha256:{hashlib.sha256(item.stored_bytes()).hexdigest()}"
    return str(item.record["id"])


def _read_again(place: SessionPlace, stamp: SourceStamp, position: int) -> InputRecord:
    """Return the input at a position of a place that the index knows.

    Raises:
        UnreadableInput: the place changed meanwhile.
    """
    records = [item for item in read_input_place(place) if isinstance(item, InputRecord)]
    if position >= len(records) or _stamp_place(place) != stamp:
        hint = "Run the command again."
        raise UnreadableInput("the session changed while it was read", where=place.path, hint=hint)
    return records[position]
