"""Records, and parts of them, as a user names them: files in either form."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vacr
from vacr import codec
from vacr.cli.options import Voice
from vacr.codec import Form
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.sources import read_bytes
from vacr.versions import convert

_ENDINGS = (".acr.json", ".acr.cbor")


@dataclass(frozen=True)
class Given:
    """A record that a user named, or that was made of a session that a user named."""

    path: str
    stem: str
    form: Form
    record: Any


def given(path: str) -> Iterator[Given]:
    """Give the records in a file or a folder, as version 3 has them, and those of the native sessions in it.

    Raises:
        InvalidRecord: a record is not valid, or not whole.
        UnreadableInput: there is nothing of the kind.
    """
    if os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        found = sorted(file for file in Path(path).rglob("*") if file.name.endswith(_ENDINGS))
        for file in found:
            yield from given(str(file))
        if found:
            return
    elif path.endswith(_ENDINGS):
        try:
            record, form = load(path)
            vacr.validate(record, json=form == "json").raise_for_errors()
            record = convert(record, "v3", json=form == "json")
        except InvalidRecord as error:
            hint = error.hint or "vacr validate shows all that is wrong with it."
            raise InvalidRecord(f"not a valid record: {error.where}: {error.message}", where=path, hint=hint) from error
        except UnreadableInput as error:
            where = error.where if error.where.startswith(path) else f"{path}: {error.where}"
            raise UnreadableInput(error.message, where=where, hint=error.hint) from error
        yield Given(path, _stem(path), form, record)
        return
    for record in vacr.read(path):
        session = record["session"]["session-id"].rpartition("/")[2]
        stem = _stem(path)
        yield Given(
            path, stem if stem.endswith(session) or "parent" not in record["vacr"] else f"{stem}.{session}", "json", record
        )


def distinct(found: list[Given], voice: Voice) -> list[Given]:
    """Leave out shorter recordings of a session of which there is a longer one."""
    longest: dict[str, Given] = {}
    for one in found:
        other = longest.setdefault(_session(one), one)
        if len(one.record["session"]["entries"]) > len(other.record["session"]["entries"]):
            longest[_session(one)] = one
    for one in found:
        if longest[_session(one)] is not one:
            other = longest[_session(one)]
            shorter = len(one.record["session"]["entries"]) < len(other.record["session"]["entries"])
            if shorter or one.path != other.path:
                voice.notice(f"{one.path}: a {'shorter' if shorter else 'second'} recording of {other.path}, left out")
    return [one for one in found if longest[_session(one)] is one]


def _session(one: Given) -> str:
    name: str = one.record["session"]["session-id"]
    return name


def _stem(path: str) -> str:
    name = Path(path).name
    for ending in (*_ENDINGS, ".jsonl", ".json"):
        if name.endswith(ending):
            return name.removesuffix(ending).removesuffix(".attributed")
    return name


def load(path: str) -> tuple[Any, Form]:
    """Read the value in a file, and say in which form it is.

    Raises:
        UnreadableInput: there is no such file, or it is not exactly one value of either form.
    """
    data = read_bytes(path)
    try:
        return codec.decode_either(data)
    except UnreadableInput as error:
        hint = error.hint or "If it is a native session, make a record of it first: vacr record FILE."
        raise UnreadableInput(error.message, where=error.where, hint=hint) from error
