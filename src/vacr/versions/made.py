"""Records as they were made, whose content gives their id. Step: convert, verify."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from vacr.errors import InvalidRecord
from vacr.identity import made_by_vacr, record_id
from vacr.schema.versions import major
from vacr.versions import convert


def as_made(record: Any, *, json: bool) -> Any:
    """Give a record of version 2 in the version it may have been made in, whose content gives the
    id.
    """
    if major(record.get("version")) == "2":
        with suppress(InvalidRecord):
            return convert(record, "v3", json=json)
    return record


def is_changed(record: Any, *, json: bool) -> bool:
    """Tell whether a record that vacr made is not any more what it was made as."""
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return False
    made = as_made(record, json=json)
    if not made_by_vacr(made):
        return False
    try:
        return bool(made["id"] != record_id(made))
    except InvalidRecord:
        return True
