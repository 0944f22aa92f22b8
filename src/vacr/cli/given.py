"""Records and sessions that a user names, by file or by folder, as records."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.cli.options import Voice
from vacr.cli.records import decode_json_or_cbor
from vacr.discovery import (
    NAME_JOINT,
    SessionPlace,
    find_places,
    make_record_name,
    read_sessions,
    strip_native_suffix,
)
from vacr.errors import InvalidRecord, NotASession, UnreadableInput, VacrError
from vacr.files import STDIN, read_bytes
from vacr.record import (
    RecordEncoding,
    assign_record_id,
    convert_to_original_version,
    is_record_modified,
    validate,
)

_STDIN_STEM = "stdin"
_RECORD_SUFFIXES = (".acr.json", ".acr.cbor")
_RECORD_CHANGED_MESSAGE = (
    "the record was changed after it was made: its id is not that of its content"
)
_INPUT_HINT = (
    "Name a record, a native session, or a folder of them; vacr list -v shows where sessions are."
)


@dataclass(frozen=True)
class InputRecord:
    """A record that a user named, or that was made of a session that a user named."""

    path: str
    stem: str
    """What files that are made of it are named after; of one in a folder, with the folders between.
    """
    form: RecordEncoding
    record: Any
    stored: bool = False
    """Whether it was named as a record, not made just now."""
    data: bytes | None = None
    """Its bytes, where they came through a pipe and cannot be read again."""

    def stored_bytes(self) -> bytes:
        """Give the bytes of a record that was named as one.

        Raises:
            UnreadableInput: the file is no longer there.
        """
        return read_bytes(self.path) if self.data is None else self.data


def read_input_records(
    path: str, *, changed: bool = False, failed: Callable[[VacrError], None] | None = None
) -> Iterator[InputRecord]:
    """Give the records in a file or a folder, and those of the native sessions in it.

    What cannot be read in a folder is handed to `failed`, if there is one, and does not keep the
    others back.

    Raises:
        UnreadableInput: something cannot be read, or there is nothing of the kind.
        InvalidRecord: a record is not valid, or, unless that is allowed, was changed after it was
            made.
    """
    found = False
    for one in scan_input_records(path, changed=changed):
        if isinstance(one, InputRecord):
            found = True
            yield one
        elif not isinstance(one, NotASession):
            if failed is None:
                raise one
            found = True
            failed(one)
    if not found:
        raise UnreadableInput(
            "there is no record in it, and no session", where=path, hint=_INPUT_HINT
        )


def scan_input_records(path: str, *, changed: bool = False) -> Iterator[InputRecord | VacrError]:
    """Give the same; in a folder, what cannot be read does not keep the others back and comes as an
    error among them.

    Raises:
        UnreadableInput: the path itself cannot be read, or is of no kind that is known.
        InvalidRecord: it is a record that is not valid, or that was changed after it was made.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        yield from _read_input_file(path, changed=changed)
        return
    for file in sorted(
        file for file in Path(path).rglob("*") if file.name.endswith(_RECORD_SUFFIXES)
    ):
        try:
            yield _read_record_file(
                str(file),
                file.relative_to(path).with_name(_derive_file_stem(file.name)).as_posix(),
                changed=changed,
            )
        except VacrError as error:
            yield error
    for place in find_places(path):
        yield from _read_folder_sessions(place)


def _read_input_file(path: str, *, changed: bool) -> Iterator[InputRecord]:
    """Give the record that a file is, or those of the sessions in it."""
    if _is_pipe(path):
        yield from _read_piped_input(path, changed=changed)
        return
    if path.endswith(_RECORD_SUFFIXES):
        yield _read_record_file(path, _derive_file_stem(path), changed=changed)
        return
    try:
        yield from _read_native_file(path)
    except NotASession as error:
        value = _decode_record(read_bytes(path))
        if value is None:
            raise NotASession(error.message, where=error.where, hint=_INPUT_HINT) from error
        yield _build_checked_input(path, _derive_file_stem(path), value, changed=changed)


def _read_piped_input(path: str, *, changed: bool) -> Iterator[InputRecord]:
    """Give the record that comes through a pipe, or those of the sessions in it; it can be read but
    once.
    """
    data = read_bytes(path)
    value = _decode_record(data)
    if value is not None:
        yield _build_checked_input(path, _STDIN_STEM, value, changed=changed, data=data)
        return
    try:
        yield from _read_native_file(path, data)
    except NotASession as error:
        raise NotASession(error.message, where=path, hint=_INPUT_HINT) from error


def _read_native_file(path: str, piped: bytes | None = None) -> Iterator[InputRecord]:
    """Give the sessions of a native file, named as their records would be; what cannot be read
    keeps no other back.

    Raises:
        UnreadableInput: something in it cannot be read, or it is of no kind that is known.
    """
    failed = None
    name = strip_native_suffix(Path(path).name) if piped is None else _STDIN_STEM
    for found in read_sessions(path) if piped is None else read_sessions(STDIN, data=piped):
        if isinstance(found, VacrError):
            failed = failed or found
            continue
        assign_record_id(found.reading.record)
        yield InputRecord(
            path, make_record_name(name, NAME_JOINT, found.label), "json", found.reading.record
        )
    if failed is not None:
        raise failed


def _read_folder_sessions(place: SessionPlace) -> Iterator[InputRecord | VacrError]:
    """Give the sessions of a place in a folder, named as their records would be."""
    try:
        for found in read_sessions(place.path, session=place.session, sub_agents=False):
            if isinstance(found, VacrError):
                yield found
                continue
            record = found.reading.record
            assign_record_id(record)
            folder, slash, name = place.name.rpartition("/")
            yield InputRecord(
                place.path,
                f"{folder}{slash}{make_record_name(name, place.joint, found.label)}",
                "json",
                record,
            )
    except VacrError as error:
        yield error


def _read_record_file(path: str, name: str, *, changed: bool) -> InputRecord:
    try:
        value = decode_json_or_cbor(read_bytes(path))
    except UnreadableInput as error:
        where = (
            error.where
            if error.where.startswith(path)
            else f"{path}: {error.where}"
            if error.where
            else path
        )
        raise UnreadableInput(error.message, where=where, hint=error.hint) from error
    return _build_checked_input(path, name, value, changed=changed)


def _build_checked_input(
    path: str,
    name: str,
    value: tuple[Any, RecordEncoding],
    *,
    changed: bool,
    data: bytes | None = None,
) -> InputRecord:
    record, form = value
    try:
        validate(record, json=form == "json").raise_for_errors()
    except InvalidRecord as error:
        hint = error.hint or "vacr validate shows all that is wrong with it."
        raise InvalidRecord(
            f"not a valid record: {error.where}: {error.message}", where=path, hint=hint
        ) from error
    if not isinstance(record, dict) or not isinstance(record.get("session"), dict):
        hint = (
            "It may be a part of one, or of version 1, which is the file attribution alone: "
            "vacr validate tells."
        )
        raise UnreadableInput("this is no record of a session", where=path, hint=hint)
    if not changed and is_record_modified(record, json=form == "json"):
        raise InvalidRecord(
            _RECORD_CHANGED_MESSAGE,
            where=path,
            hint="It proves nothing. Make it again from the session: vacr record FILE.",
        )
    return InputRecord(
        path,
        name,
        form,
        convert_to_original_version(record, json=form == "json"),
        stored=True,
        data=data,
    )


def _is_pipe(path: str) -> bool:
    try:
        return path == STDIN or stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116 - a path that a user gave
    except (OSError, ValueError):
        return False


def _decode_record(data: bytes) -> tuple[Any, RecordEncoding] | None:
    """Give the record that bytes are, whatever they are named, and its form; nothing where they are
    none.
    """
    with suppress(VacrError):
        value, form = decode_json_or_cbor(data)
        return (
            (value, form)
            if isinstance(value, dict) and {"version", "session"} <= value.keys()
            else None
        )
    return None


def drop_duplicate_recordings(found: list[InputRecord], voice: Voice) -> list[InputRecord]:
    """Of several recordings of a session leave out all but the longest, or the first of them."""
    longest: dict[str, InputRecord] = {}
    for one in found:
        other = longest.setdefault(_get_session_id(one), one)
        if len(one.record["session"]["entries"]) > len(other.record["session"]["entries"]):
            longest[_get_session_id(one)] = one
    for one in found:
        if longest[_get_session_id(one)] is not one:
            voice.notice(
                f"{one.path}: {_describe_duplicate(one, longest[_get_session_id(one)])}, left out"
            )
    return [one for one in found if longest[_get_session_id(one)] is one]


def _describe_duplicate(one: InputRecord, longest: InputRecord) -> str:
    shorter = len(one.record["session"]["entries"]) < len(longest.record["session"]["entries"])
    return f"{'a shorter' if shorter else 'another'} recording of the session in {longest.path}"


def _get_session_id(one: InputRecord) -> str:
    name: str = one.record["session"]["session-id"]
    return name


def _derive_file_stem(path: str) -> str:
    name = Path(path).name
    for ending in (*_RECORD_SUFFIXES, ".jsonl", ".json"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending).removesuffix(".attributed") or name
    return name
