"""Times that a user types: a date, a time, or how long ago.

    >>> from datetime import UTC, datetime
    >>> from vacr.workflows import parse_moment
    >>> now = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
    >>> for text in ("yesterday", "last-week", "3d", "2026-03-01", "2026-03-01T09:00:00+00:00"):
    ...     moment = parse_moment(text, "--since", now)
    ...     print(datetime.fromtimestamp(moment / 1000, UTC).isoformat())
    2026-03-13T00:00:00+00:00
    2026-03-02T00:00:00+00:00
    2026-03-11T12:00:00+00:00
    2026-03-01T00:00:00+00:00
    2026-03-01T09:00:00+00:00

A day begins at midnight in the time zone of `now`, which is the time zone of this machine.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from vacr.errors import UsageError

_AGO = re.compile(r"([0-9]{1,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAYS_BACK = {"today": 0, "yesterday": 1}
_WEEKS_BACK = {"this-week": 0, "last-week": 1}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse_moment(text: str, option: str, now: datetime, *, is_end: bool = False) -> int:
    """Return a time that a user typed, in milliseconds since 1970.

    A day or a week is its beginning, or with `is_end` the beginning of the next one.

    Raises:
        UsageError: it is neither a date, a time, `today`, `last-week`, nor like `12h`, `3d`, `2w`.
    """
    try:
        return int(_resolve_moment(text.strip().lower(), now, is_end=is_end).timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{option} {text}: neither a date nor a time",
            hint=f"For example: {option} 2026-03-14, yesterday, last-week, 3d (days ago), or 2w",
        ) from error


def _resolve_moment(text: str, now: datetime, *, is_end: bool) -> datetime:
    """Return the time that a text means.

    Raises:
        ValueError, OverflowError: it is not a time, or outside of the calendar.
    """
    if match := _AGO.fullmatch(text):
        return now - int(match[1]) * _UNITS[match[2]]
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if (week := text.replace(" ", "-")) in _WEEKS_BACK:
        weeks = _WEEKS_BACK[week] - int(is_end)
        return midnight - timedelta(days=midnight.weekday() + 7 * weeks)
    if text in _DAYS_BACK:
        day = midnight - timedelta(days=_DAYS_BACK[text])
    else:
        if not _DATE.match(text):  # Such as a week: `2026-W31` would be its Monday alone.
            raise ValueError("not a date")
        day = datetime.fromisoformat(text.upper())
        if day.tzinfo is None:
            day = day.replace(tzinfo=now.tzinfo)
        if not _DATE.fullmatch(text):
            return day
    return day + timedelta(days=1) if is_end else day
