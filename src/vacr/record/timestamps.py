"""Timestamps as the record has them: RFC 3339 text or epoch milliseconds. Follows
`abstract-timestamp` of the schema.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

_match_timestamp = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:60|[0-5][0-9])"
    r"(?:[.][0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
).fullmatch
# A second of a day that every calendar has.
_SECOND_PATTERN = (
    r"[12][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
# The usual forms, a line each, by the length of a line.
_USUAL_FORM_MATCHERS = {
    len("2026-01-01T00:00:00.000Z\n"): re.compile(
        rf"(?:{_SECOND_PATTERN}[.][0-9]{{3}}Z\n)++"
    ).fullmatch,
    len("2026-01-01T00:00:00Z\n"): re.compile(rf"(?:{_SECOND_PATTERN}Z\n)++").fullmatch,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def is_timestamp(value: Any) -> bool:
    """Tell whether a value is a timestamp as we write it: RFC 3339 text, or a count of
    milliseconds.
    """
    if type(value) is str:
        return _match_timestamp(value) is not None
    return type(value) is int and 0 <= value < 2**64


def are_sortable_timestamps(values: list[Any]) -> bool:
    """Tell whether many values are timestamps of one usual form, with milliseconds or without, so
    that they sort as texts.
    """
    try:
        text = "\n".join([*values, ""])
    except TypeError:
        return False
    size, rest = divmod(len(text), len(values) or 1)
    return (
        not rest and size in _USUAL_FORM_MATCHERS and _USUAL_FORM_MATCHERS[size](text) is not None
    )


def get_epoch_milliseconds(value: str | float) -> int | None:
    """Give a timestamp as epoch milliseconds, or nothing for a date that no calendar has (30
    February).
    """
    if not isinstance(value, str):
        return int(value)
    if _match_timestamp(value) is None:
        return None
    leap = value[17:19] == "60"
    text = f"{value[:17]}59{value[19:]}" if leap else value
    try:
        elapsed = datetime.fromisoformat(text) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return elapsed // _MILLISECOND + 1000 * leap


def format_timestamp(value: str | float) -> str | None:
    """Give a timestamp as RFC 3339 text, or nothing for a count of milliseconds that no calendar
    has.
    """
    if isinstance(value, str):
        return value
    try:
        moment = _EPOCH + timedelta(milliseconds=value)
    except (OverflowError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def find_time_span(stamps: list[str | int]) -> tuple[str | int, str | int] | None:
    """Give the earliest and the latest of some timestamps, as they were written."""
    if are_sortable_timestamps(stamps):
        return min(stamps), max(stamps)
    known = [
        (when, stamp)
        for stamp in dict.fromkeys(stamps)
        if (when := get_epoch_milliseconds(stamp)) is not None
    ]
    if not known:
        return None
    return min(known, key=_get_moment)[1], max(known, key=_get_moment)[1]


def _get_moment(pair: tuple[int, str | int]) -> int:
    return pair[0]
