"""Records, and parts of them, as a user names them: files in either form."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from vacr import codec
from vacr.codec import Form
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.identity import made_by_vacr, record_id
from vacr.schema.versions import major
from vacr.sources import read_bytes
from vacr.versions import convert


def is_changed(record: Any, form: Form) -> bool:
    """Tell whether a record that vacr made is not any more what it was made as."""
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return False
    made = as_made(record, json=form == "json")
    if not made_by_vacr(made):
        return False
    try:
        return bool(made["id"] != record_id(made))
    except InvalidRecord:
        return True


def as_made(record: Any, *, json: bool) -> Any:
    """Give a record of version 2 in the version it may have been made in, whose content gives the id."""
    if major(record.get("version")) == "2":
        with suppress(InvalidRecord):
            return convert(record, "v3", json=json)
    return record


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
