"""Records and sessions that a user names, by file or by folder, as records."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vacr
from vacr.cli.options import Voice
from vacr.cli.records import value_in
from vacr.codec import Form
from vacr.errors import InvalidRecord, NotASession, UnreadableInput, VacrError
from vacr.identity import identify
from vacr.recording.names import JOINT, record_name, stem
from vacr.recording.places import Place, at
from vacr.sources import STDIN, read, read_bytes
from vacr.versions.made import as_made, is_changed

_PIPED = "stdin"
_ENDINGS = (".acr.json", ".acr.cbor")
_CHANGED = "the record was changed after it was made: its id is not that of its content"
_NAMED = (
    "Name a record, a native session, or a folder of them; vacr list -v shows where sessions are."
)


@dataclass(frozen=True)
class Given:
    """A record that a user named, or that was made of a session that a user named."""

    path: str
    stem: str
    """What files that are made of it are named after; of one in a folder, with the folders between.
    """
    form: Form
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


def given(
    path: str, *, changed: bool = False, failed: Callable[[VacrError], None] | None = None
) -> Iterator[Given]:
    """Give the records in a file or a folder, and those of the native sessions in it.

    What cannot be read in a folder is handed to `failed`, if there is one, and does not keep the
    others back.

    Raises:
        UnreadableInput: something cannot be read, or there is nothing of the kind.
        InvalidRecord: a record is not valid, or, unless that is allowed, was changed after it was
            made.
    """
    found = False
    for one in opened(path, changed=changed):
        if isinstance(one, Given):
            found = True
            yield one
        elif not isinstance(one, NotASession):
            if failed is None:
                raise one
            found = True
            failed(one)
    if not found:
        raise UnreadableInput("there is no record in it, and no session", where=path, hint=_NAMED)


def opened(path: str, *, changed: bool = False) -> Iterator[Given | VacrError]:
    """Give the same; in a folder, what cannot be read does not keep the others back and comes as an
    error among them.

    Raises:
        UnreadableInput: the path itself cannot be read, or is of no kind that is known.
        InvalidRecord: it is a record that is not valid, or that was changed after it was made.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        yield from _file(path, changed=changed)
        return
    for file in sorted(file for file in Path(path).rglob("*") if file.name.endswith(_ENDINGS)):
        try:
            yield _record(
                str(file),
                file.relative_to(path).with_name(_stem(file.name)).as_posix(),
                changed=changed,
            )
        except VacrError as error:
            yield error
    for place in at(path):
        yield from _place(place)


def _file(path: str, *, changed: bool) -> Iterator[Given]:
    """Give the record that a file is, or those of the sessions in it."""
    if _is_pipe(path):
        yield from _pipe(path, changed=changed)
        return
    if path.endswith(_ENDINGS):
        yield _record(path, _stem(path), changed=changed)
        return
    try:
        yield from _native(path)
    except NotASession as error:
        value = _record_in(read_bytes(path))
        if value is None:
            raise NotASession(error.message, where=error.where, hint=_NAMED) from error
        yield _checked(path, _stem(path), value, changed=changed)


def _pipe(path: str, *, changed: bool) -> Iterator[Given]:
    """Give the record that comes through a pipe, or those of the sessions in it; it can be read but
    once.
    """
    data = read_bytes(path)
    value = _record_in(data)
    if value is not None:
        yield _checked(path, _PIPED, value, changed=changed, data=data)
        return
    try:
        yield from _native(path, data)
    except NotASession as error:
        raise NotASession(error.message, where=path, hint=_NAMED) from error


def _native(path: str, piped: bytes | None = None) -> Iterator[Given]:
    """Give the sessions of a native file, named as their records would be; what cannot be read
    keeps no other back.

    Raises:
        UnreadableInput: something in it cannot be read, or it is of no kind that is known.
    """
    failed = None
    name = stem(Path(path).name) if piped is None else _PIPED
    for found in read(path) if piped is None else read(STDIN, data=piped):
        if isinstance(found, VacrError):
            failed = failed or found
            continue
        identify(found.reading.record)
        yield Given(path, record_name(name, JOINT, found.label), "json", found.reading.record)
    if failed is not None:
        raise failed


def _place(place: Place) -> Iterator[Given | VacrError]:
    """Give the sessions of a place in a folder, named as their records would be."""
    try:
        for found in read(place.path, session=place.session, sub_agents=False):
            if isinstance(found, VacrError):
                yield found
                continue
            record = found.reading.record
            identify(record)
            folder, slash, name = place.name.rpartition("/")
            yield Given(
                place.path,
                f"{folder}{slash}{record_name(name, place.joint, found.label)}",
                "json",
                record,
            )
    except VacrError as error:
        yield error


def _record(path: str, name: str, *, changed: bool) -> Given:
    try:
        value = value_in(read_bytes(path))
    except UnreadableInput as error:
        where = (
            error.where
            if error.where.startswith(path)
            else f"{path}: {error.where}"
            if error.where
            else path
        )
        raise UnreadableInput(error.message, where=where, hint=error.hint) from error
    return _checked(path, name, value, changed=changed)


def _checked(
    path: str, name: str, value: tuple[Any, Form], *, changed: bool, data: bytes | None = None
) -> Given:
    record, form = value
    try:
        vacr.validate(record, json=form == "json").raise_for_errors()
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
    if not changed and is_changed(record, json=form == "json"):
        raise InvalidRecord(
            _CHANGED,
            where=path,
            hint="It proves nothing. Make it again from the session: vacr record FILE.",
        )
    return Given(path, name, form, as_made(record, json=form == "json"), stored=True, data=data)


def _is_pipe(path: str) -> bool:
    try:
        return path == STDIN or stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116 - a path that a user gave
    except (OSError, ValueError):
        return False


def _record_in(data: bytes) -> tuple[Any, Form] | None:
    """Give the record that bytes are, whatever they are named, and its form; nothing where they are
    none.
    """
    with suppress(VacrError):
        value, form = value_in(data)
        return (
            (value, form)
            if isinstance(value, dict) and {"version", "session"} <= value.keys()
            else None
        )
    return None


def distinct(found: list[Given], voice: Voice) -> list[Given]:
    """Of several recordings of a session leave out all but the longest, or the first of them."""
    longest: dict[str, Given] = {}
    for one in found:
        other = longest.setdefault(_session(one), one)
        if len(one.record["session"]["entries"]) > len(other.record["session"]["entries"]):
            longest[_session(one)] = one
    for one in found:
        if longest[_session(one)] is not one:
            voice.notice(f"{one.path}: {_other(one, longest[_session(one)])}, left out")
    return [one for one in found if longest[_session(one)] is one]


def _other(one: Given, longest: Given) -> str:
    shorter = len(one.record["session"]["entries"]) < len(longest.record["session"]["entries"])
    return f"{'a shorter' if shorter else 'another'} recording of the session in {longest.path}"


def _session(one: Given) -> str:
    name: str = one.record["session"]["session-id"]
    return name


def _stem(path: str) -> str:
    name = Path(path).name
    for ending in (*_ENDINGS, ".jsonl", ".json"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending).removesuffix(".attributed") or name
    return name
