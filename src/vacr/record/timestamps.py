"""Timestamps of a record: RFC 3339 text or epoch milliseconds (`abstract-timestamp` in v3.cddl).

Text is kept as it was written. It is compared as text where all timestamps have one usual form,
because parsing every timestamp of a large session is slow.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

_match_timestamp = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:60|[0-5][0-9])"
    r"(?:[.][0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
).fullmatch
# A second of a day that exists in every year: 29 February is left to the slow path.
_SECOND_PATTERN = (
    r"[12][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
# Matchers of many timestamps of one usual form, one per line, by the length of a line.
_USUAL_FORM_MATCHERS = {
    len("2026-01-01T00:00:00.000Z\n"): re.compile(
        rf"(?:{_SECOND_PATTERN}[.][0-9]{{3}}Z\n)++"
    ).fullmatch,
    len("2026-01-01T00:00:00Z\n"): re.compile(rf"(?:{_SECOND_PATTERN}Z\n)++").fullmatch,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def is_timestamp(value: Any) -> bool:
    """Return whether a value is RFC 3339 text, or an integer of milliseconds below 2^64."""
    if type(value) is str:
        return _match_timestamp(value) is not None
    return type(value) is int and 0 <= value < 2**64


def are_sortable_timestamps(values: list[Any]) -> bool:
    """Return whether all values are timestamps of one usual form, so that they can be compared.

    They are milliseconds, or texts that sort by time. Return False for an empty list.
    """
    if values and type(values[0]) is int:
        return set(map(type, values)) == {int} and min(values) >= 0 and max(values) < 2**64
    try:
        text = "\n".join([*values, ""])
    except TypeError:
        return False
    line_length, rest = divmod(len(text), len(values) or 1)
    return (
        not rest
        and line_length in _USUAL_FORM_MATCHERS
        and _USUAL_FORM_MATCHERS[line_length](text) is not None
    )


def get_epoch_milliseconds(value: str | float) -> int | None:
    """Return a timestamp, RFC 3339 text or milliseconds, as whole milliseconds since 1970.

    Return None for text that is not RFC 3339, or names a day that does not exist. A number must be
    finite; it may lie outside of any calendar.
    """
    if not isinstance(value, str):
        return int(value)
    if _match_timestamp(value) is None:
        return None
    is_leap_second = value[17:19] == "60"
    text = f"{value[:17]}59{value[19:]}" if is_leap_second else value
    try:
        elapsed = datetime.fromisoformat(text) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return elapsed // _MILLISECOND + 1000 * is_leap_second


def format_timestamp(value: str | float) -> str | None:
    """Return a timestamp as RFC 3339 text, or None for milliseconds outside years 1 to 9999.

    Text is returned unchanged.
    """
    if isinstance(value, str):
        return value
    try:
        moment = _EPOCH + timedelta(milliseconds=value)
    except (OverflowError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def find_time_span(stamps: list[str | int]) -> tuple[str | int, str | int] | None:
    """Return the earliest and the latest of some timestamps, unchanged.

    Unreadable timestamps are ignored. Return None if no readable one is left.
    """
    if are_sortable_timestamps(stamps):
        return min(stamps), max(stamps)
    moments = [
        (milliseconds, stamp)
        for stamp in dict.fromkeys(stamps)
        if (milliseconds := get_epoch_milliseconds(stamp)) is not None
    ]
    if not moments:
        return None
    return min(moments, key=_get_milliseconds)[1], max(moments, key=_get_milliseconds)[1]


def _get_milliseconds(moment: tuple[int, str | int]) -> int:
    """Return the first value of a pair, the sort key of moments."""
    return moment[0]
