"""Timestamps: recognised, compared and formatted."""

import pytest

from vacr.record.timestamps import (
    are_sortable_timestamps,
    find_time_span,
    format_timestamp,
    get_epoch_milliseconds,
    is_timestamp,
)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2016-12-31T23:59:60Z", 1483228800000),
        ("2026-03-14T09:26:53.123456789Z", 1773480413123),
        ("2026-02-30T00:00:00Z", None),
        (1773480413589, 1773480413589),
        (1.9, 1),
    ],
)
def test_timestamp_converts_to_milliseconds(stamp, expected):
    assert get_epoch_milliseconds(stamp) == expected


@pytest.mark.parametrize("value", ["2026-03-14T09:26:53Z", "2026-03-14T09:26:53.1-00:30", 0, 5])
def test_timestamps_are_recognised(value):
    assert is_timestamp(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "2026-03-14",
        "2026-03-14t09:26:53z",
        "2026-03-14T24:00:00Z",
        "x2026-03-14T09:26:53Z",
        -1,
        1.5,
        True,
        None,
        [],
        b"",
    ],
)
def test_other_values_are_not_timestamps(value):
    assert not is_timestamp(value)


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([], None),
        (
            ["2026-01-01T00:00:01.000Z", "2026-01-01T00:00:00.000Z"],
            ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z"),
        ),
        (
            ["2026-01-01T01:00:00+01:00", "2026-01-01T00:30:00Z"],
            ("2026-01-01T01:00:00+01:00", "2026-01-01T00:30:00Z"),
        ),
        ([5, "1970-01-01T00:00:00Z"], ("1970-01-01T00:00:00Z", 5)),
        (["2026-02-30T00:00:00Z"], None),
        (
            ["2026-02-30T00:00:00.000Z", "2026-01-31T00:00:00.000Z"],
            ("2026-01-31T00:00:00.000Z",) * 2,
        ),
        (
            ["2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z"],
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ),
        (
            ["2026-01-01T00:00:01Z", "2026-01-01T00:00:01.500Z"],
            ("2026-01-01T00:00:01Z", "2026-01-01T00:00:01.500Z"),
        ),
    ],
)
def test_time_span_is_earliest_to_latest(stamps, expected):
    assert find_time_span(stamps) == expected


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([], False),
        ([5, 3, 0, 2**64 - 1], True),
        ([5, -1], False),
        ([5, 2**64], False),
        ([5, True], False),
        ([5, 2.5], False),
        ([5, "2026-01-01T00:00:01Z"], False),
        (["2026-01-01T00:00:01Z", 5], False),
        (["2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z"], True),
        (["2026-01-01T00:00:01Z", "2026-01-01T00:00:01.500Z"], False),
    ],
)
def test_timestamps_of_one_form_can_be_compared(stamps, expected):
    assert are_sortable_timestamps(stamps) == expected


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-02-30T00:00:00Z", "2026-02-30T00:00:00Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1773480413589.9, "2026-03-14T09:26:53.589Z"),
        (10**300, None),
        (1e300, None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_timestamp_is_formatted_as_text(stamp, expected):
    assert format_timestamp(stamp) == expected
