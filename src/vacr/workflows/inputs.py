"""The records and sessions that a user names, by file or by folder, as records.

Most verbs take a record, a native session, a pipe, or a folder of these. This module turns any of
them into `InputRecord`s, which remember where a record came from and what its outputs are named
after:

    >>> from vacr.workflows import read_input_records
    >>> [session] = read_input_records("session.jsonl")
    >>> session.stem, session.form, session.stored
    ('session', 'json', False)
    >>> len(session.record["session"]["entries"])
    20

A stored record is validated first. If it was modified after it was made, it is refused, unless the
caller accepts such records (`changed=True`); `InputRecord.modified` then says how its id
contradicts its content.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vacr.discovery import (
    NAME_JOINT,
    SessionPlace,
    derive_record_name,
    find_places,
    list_kept_family,
    make_record_name,
    read_sessions,
)
from vacr.errors import InvalidRecord, NotASession, PluginError, UnreadableInput, VacrError
from vacr.files import STDIN, is_file, is_folder, read_bytes
from vacr.record import assign_record_id, detect_and_decode, get_keeping_agent
from vacr.workflows.session_names import describe_missing_input, find_named_session
from vacr.workflows.statement_files import RECORD_SUFFIXES, STATEMENT_SUFFIX

if TYPE_CHECKING:
    from vacr.record import RecordEncoding, RecordModification

_STDIN_STEM = "stdin"
_NATIVE_HINT = "If this is a native session, record it first: vacr record FILE."
MODIFIED_RECORD_HINT = (
    "Do not rely on it. Record the session again (vacr record SESSION), or find an unmodified copy."
)
_INPUT_HINT = "Name a record, a session, or a folder of them. To find sessions: vacr list"


@dataclass(frozen=True)
class InputRecord:
    """A record that a user named, or the record of a session that a user named."""

    path: str
    """The file of the record or of the session."""
    stem: str
    """The name of its outputs without their endings; inside a folder, with the folders between."""
    form: RecordEncoding
    """The encoding of the record's file; JSON for a session."""
    record: Any
    stored: bool = False
    """Whether a record was named, and not a session."""
    data: bytes | None = None
    """Its bytes, if they came through a pipe and cannot be read again."""
    modified: str = ""
    """How the id of a modified record contradicts its content; empty for all others."""

    def stored_bytes(self) -> bytes:
        """Return the bytes of a stored record, from its file or from a pipe.

        Raises:
            UnreadableInput: the file no longer exists.
        """
        return read_bytes(self.path) if self.data is None else self.data


def read_input_records(
    path: str, *, changed: bool = False, failed: Callable[[VacrError], None] | None = None
) -> Iterator[InputRecord]:
    """Yield the records in a file or a folder, and the records of native sessions there.

    `changed` also accepts records that were modified after they were made. `failed` gets the error
    of each unreadable item in a folder; without it, the first error is raised.

    Raises:
        UnreadableInput: an item cannot be read, or the path contains no records or sessions.
        InvalidRecord: a record is invalid, or was modified.
    """
    is_empty = True
    for item in scan_input_records(path, changed=changed):
        if isinstance(item, NotASession):
            continue
        is_empty = False
        if isinstance(item, InputRecord):
            yield item
        elif failed is None:
            raise item
        else:
            failed(item)
    if is_empty:
        raise UnreadableInput("no records or sessions found", where=path, hint=_INPUT_HINT)


def scan_input_records(path: str, *, changed: bool = False) -> Iterator[InputRecord | VacrError]:
    """Yield the records and native sessions in a file or a folder, all as records.

    Instead of a path, `path` may be the name of a session: see `find_named_session`. For an
    unreadable item of a folder, yield its error. `changed` also accepts records that were
    modified after they were made.

    Raises:
        UnreadableInput: the path itself cannot be read, or is not a record or session.
        UsageError: it is the name of several sessions.
        InvalidRecord: the named record is invalid, or was modified.
    """
    if not is_folder(path):
        if path != STDIN and not os.path.lexists(path):
            place = find_named_session(path)
            if place is None:
                reason = describe_missing_input(path)
                raise UnreadableInput(reason, where=path, hint=_INPUT_HINT)
            if place.path.endswith(RECORD_SUFFIXES):
                for record in list_kept_family(Path(place.path)):
                    yield from _read_input_file(str(record), changed=changed)
            else:
                yield from _read_native_file(place.path, session=place.session)
            return
        yield from _read_input_file(path, changed=changed)
        return
    for place in list_input_places(path):
        yield from read_input_place(place, changed=changed)


def check_input_name(path: str) -> None:
    """Check that an input is a file or folder, or names a session; nothing is opened.

    Raises:
        UnreadableInput: there is neither a file nor a session of that name.
        UsageError: several sessions have the name.
    """
    is_missing = path != STDIN and not os.path.lexists(path)
    if is_missing and find_named_session(path) is None:
        raise UnreadableInput(describe_missing_input(path), where=path, hint=_INPUT_HINT)


def list_input_places(folder: str) -> Iterator[SessionPlace]:
    """Yield the places of records in a folder and below it, then those that may be sessions.

    Nothing is opened yet.

    Raises:
        UnreadableInput: the folder cannot be read.
    """
    files = (file for file in Path(folder).rglob("*") if file.name.endswith(RECORD_SUFFIXES))
    for file in sorted(files):
        stem = file.relative_to(folder).with_name(_derive_file_stem(file.name)).as_posix()
        yield SessionPlace(str(file), stem)
    yield from find_places(folder)


def read_input_place(
    place: SessionPlace, *, changed: bool = False
) -> Iterator[InputRecord | VacrError]:
    """Yield the records at a place in a folder; yield errors, too.

    `changed` also accepts records that were modified after they were made.
    """
    if not place.path.endswith(RECORD_SUFFIXES):
        yield from _read_folder_sessions(place)
        return
    try:
        yield _read_record_file(place.path, place.name, changed=changed)
    except VacrError as error:
        yield error


def _read_input_file(path: str, *, changed: bool) -> Iterator[InputRecord]:
    """Yield the record in a file or a pipe, or the records of the native sessions in it.

    `changed` also accepts a record that was modified after it was made.

    Raises:
        NotASession: the file is neither a record nor a native session.
        UnreadableInput: the file cannot be read.
    """
    if _is_pipe(path):
        yield from _read_piped_input(path, changed=changed)
        return
    if path.endswith(RECORD_SUFFIXES):
        yield _read_record_file(path, _derive_file_stem(path), changed=changed)
        return
    try:
        yield from _read_native_file(path)
    except NotASession as error:
        decoded = _decode_record(read_bytes(path))
        if decoded is None:
            raise NotASession(error.message, where=error.where, hint=_INPUT_HINT) from error
        yield _build_checked_input(path, _derive_file_stem(path), decoded, changed=changed)


def _is_pipe(path: str) -> bool:
    """Return whether a path is standard input or a named pipe, which can be read only once."""
    try:
        return path == STDIN or stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116 - a user's path
    except (OSError, ValueError):
        return False


def _read_piped_input(path: str, *, changed: bool) -> Iterator[InputRecord]:
    """Yield the record in a pipe, or the records of the native sessions in it.

    `changed` also accepts a record that was modified after it was made.

    Raises:
        NotASession: the input is neither a record nor a native session.
    """
    data = read_bytes(path)
    decoded = _decode_record(data)
    if decoded is not None:
        yield _build_checked_input(path, _STDIN_STEM, decoded, changed=changed, data=data)
        return
    try:
        yield from _read_native_file(path, data)
    except NotASession as error:
        raise NotASession(error.message, where=path, hint=_INPUT_HINT) from error


def _decode_record(data: bytes) -> tuple[Any, RecordEncoding] | None:
    """Return the record in some bytes, with its encoding, or None if they are not a record.

    A value with `version` and `session` counts as a record; it is not validated.
    """
    with suppress(VacrError):
        value, form = _decode_json_or_cbor(data)
        if isinstance(value, dict) and {"version", "session"} <= value.keys():
            return value, form
    return None


def read_session_inputs(path: str, session: str) -> Iterator[InputRecord]:
    """Yield the record of one session of a database or folder, then those of its sub-agents.

    Raises:
        UnreadableInput: it cannot be read, or the path does not have it.
        NotASession: the format is unknown.
    """
    return _read_native_file(path, session=session)


def _read_native_file(
    path: str, piped: bytes | None = None, session: str | None = None
) -> Iterator[InputRecord]:
    """Yield the records of the sessions in a native file, or in `piped` bytes.

    `session` selects one session by its id, with its sub-agents.

    Raises:
        UnreadableInput: a session cannot be read; raised after all readable ones.
        NotASession: the format is unknown.
    """
    first_error = None
    name = derive_record_name(path) if piped is None else _STDIN_STEM
    source = path if piped is None else STDIN
    for opened in read_sessions(source, session=session, data=piped):
        if isinstance(opened, VacrError):
            first_error = first_error or opened
            continue
        record = opened.reading.record
        assign_record_id(record)
        yield InputRecord(path, make_record_name(name, NAME_JOINT, opened.label), "json", record)
    if first_error is not None:
        raise first_error


def _read_record_file(path: str, stem: str, *, changed: bool) -> InputRecord:
    """Read and validate the record in a file; `stem` is its name without endings.

    Raises:
        UnreadableInput: the file cannot be read, or is not a record; the error names the file.
        InvalidRecord: the record is invalid, or was modified and `changed` is false.
    """
    try:
        decoded = read_json_or_cbor(path)
    except UnreadableInput as error:
        where = error.where
        if not where.startswith(path):
            where = f"{path}: {where}" if where else path
        raise UnreadableInput(error.message, where=where, hint=error.hint) from error
    return _build_checked_input(path, stem, decoded, changed=changed)


def _build_checked_input(
    path: str,
    stem: str,
    decoded: tuple[Any, RecordEncoding],
    *,
    changed: bool,
    data: bytes | None = None,
) -> InputRecord:
    """Validate a decoded record, and return it as an input in the current schema version.

    Raises:
        InvalidRecord: it does not follow its schema, or was modified and `changed` is false.
        UnreadableInput: it follows a schema, but is not the record of a session.
    """
    # An index needs no schema, and no other version.
    from vacr.agents import validate_record
    from vacr.record import convert_to_original_version, find_record_modification

    record, form = decoded
    is_json = form == "json"
    try:
        validate_record(record, json=is_json).raise_for_errors()
    except InvalidRecord as error:
        hint = error.hint or "To see all findings: vacr validate FILE"
        reason = f"not a valid record: {error.where}: {error.message}"
        if modification := find_modification_of_invalid(record, json=is_json):
            reason = f"{modification}. It is also {reason}"
            hint = f"{MODIFIED_RECORD_HINT} {hint}"
        raise InvalidRecord(reason, where=path, hint=hint) from error
    if not isinstance(record, dict) or not isinstance(record.get("session"), dict):
        hint = "The file may be a part of a record, or have version 1. To see: vacr validate FILE"
        raise UnreadableInput("not the record of a session", where=path, hint=hint)
    original = convert_to_original_version(record, json=is_json)
    modification = find_record_modification(original, json=is_json)
    modified = "" if modification is None else str(modification)
    if modified and not changed:
        raise make_modified_error(path, modified)
    return InputRecord(path, stem, form, original, stored=True, data=data, modified=modified)


def find_modification_of_invalid(record: Any, *, json: bool) -> RecordModification | None:
    """Return how the id of a record that is not valid contradicts its content, or None.

    An id is that of version 3. A record of version 2 that is not valid cannot be converted, so
    nothing is known about its id, and None is returned. `json` is True for a record from JSON,
    False for one from CBOR.
    """
    from vacr.record import find_record_modification, parse_major_version

    version = record.get("version") if isinstance(record, dict) else None
    if not isinstance(version, str) or parse_major_version(version) != "3":
        return None
    # An invalid record may have anything in any place.
    with suppress(VacrError, TypeError, ValueError, LookupError, AttributeError, RecursionError):
        return find_record_modification(record, json=json)
    return None


def make_modified_error(path: str, modified: str, more_hint: str = "") -> InvalidRecord:
    """Return the error that refuses a modified record.

    `modified` is the text of its `RecordModification`; `more_hint` is a further next step, if any.
    """
    hint = f"{MODIFIED_RECORD_HINT} {more_hint}" if more_hint else MODIFIED_RECORD_HINT
    return InvalidRecord(modified, where=path, hint=hint)


def _derive_file_stem(path: str) -> str:
    """Return a file's name without its endings: `a/x.attributed.acr.json` becomes `x`."""
    name = Path(path).name
    for ending in (*RECORD_SUFFIXES, ".jsonl", ".json"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending).removesuffix(".attributed") or name
    return name


def _read_folder_sessions(place: SessionPlace) -> Iterator[InputRecord | VacrError]:
    """Yield the records of the sessions at a place in a folder; yield errors, too."""
    folder, slash, name = place.name.rpartition("/")
    try:
        for session in read_sessions(place.path, session=place.session, sub_agents=False):
            if isinstance(session, VacrError):
                yield session
                continue
            record = session.reading.record
            assign_record_id(record)
            stem = f"{folder}{slash}{make_record_name(name, place.joint, session.label)}"
            yield InputRecord(place.path, stem, "json", record)
    except VacrError as error:
        yield error


def drop_duplicate_recordings(
    inputs: list[InputRecord], notify: Callable[[str], None]
) -> list[InputRecord]:
    """Return one recording of each session, and notify the user of the others.

    An unmodified recording wins over a modified one, then the agent's own over one made on the way
    to an editor, then the one with the most entries, then the first.
    """
    kept_by_id: dict[str, InputRecord] = {}
    for recording in inputs:
        best = kept_by_id.setdefault(_get_session_id(recording), recording)
        if _rank_recording(recording) > _rank_recording(best):
            kept_by_id[_get_session_id(recording)] = recording
    kept = []
    for recording in inputs:
        best = kept_by_id[_get_session_id(recording)]
        if recording is best:
            kept.append(recording)
            continue
        which = "another"
        if recording.modified and not best.modified:
            which = "a modified"
        elif _count_entries(recording) < _count_entries(best):
            which = "a shorter"
        notify(f"{recording.path}: skipped: {which} recording of the session in {best.path}")
    return kept


def _get_session_id(recording: InputRecord) -> str:
    """Return the id of the session of a recording."""
    session_id: str = recording.record["session"]["session-id"]
    return session_id


def _rank_recording(recording: InputRecord) -> tuple[bool, bool, int]:
    """Return how good a recording is: unmodified, the agent's own, and its number of entries."""
    is_own = not get_keeping_agent(recording.record)
    return not recording.modified, is_own, _count_entries(recording)


def _count_entries(recording: InputRecord) -> int:
    """Return the number of entries of a recording, without their children."""
    return len(recording.record["session"]["entries"])


@contextmanager
def name_failed_input(inputs: Iterable[InputRecord]) -> Iterator[None]:
    """Run a block; if it raises a PluginError about the record of an input, add the input's path.

    The error is raised again in any case.
    """
    try:
        yield
    except PluginError as error:
        paths = (recording.path for recording in inputs if recording.record is error.record)
        error.where = error.where or next(paths, "")
        raise


def read_json_or_cbor(path: str) -> tuple[Any, RecordEncoding]:
    """Read the value in a file, and return it with its encoding.

    Raises:
        UnreadableInput: the file does not exist, or is not exactly one value in JSON or CBOR.
    """
    data = read_bytes(path)
    try:
        return _decode_json_or_cbor(data)
    except UnreadableInput as error:
        if not path.endswith(RECORD_SUFFIXES):
            raise
        hint = "Get it again, or record the session again."
        if is_file(f"{path}{STATEMENT_SUFFIX}"):
            hint = f"To check it: vacr verify {shlex.quote(path)}"
        reason = f"the record is damaged: {error.message}"
        raise UnreadableInput(reason, where=error.where, hint=hint) from error


def _decode_json_or_cbor(data: bytes) -> tuple[Any, RecordEncoding]:
    """Decode a value, and return it with its encoding.

    Raises:
        UnreadableInput: the data is not exactly one value in JSON or CBOR.
    """
    try:
        return detect_and_decode(data)
    except UnreadableInput as error:
        hint = error.hint or _NATIVE_HINT
        if "ends in the middle" in error.message:
            hint = "The file is damaged. Get it again, or record the session again."
        raise UnreadableInput(error.message, where=error.where, hint=hint) from error
