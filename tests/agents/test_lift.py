"""Tables that turn native members into canonical ones."""

import pytest

from vacr.agents.lift import COUNTER_LIMIT, UsageSums

SUMS = UsageSums(
    ("input", ("fresh", "cache.read", "cache.write")),
    ("cached", ("cache.read",)),
    ("output", ("written",)),
)


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ({}, {}),
        (
            {"fresh": 7, "cache": {"read": 5, "write": 1}, "written": 0},
            {"input": 13, "cached": 5, "output": 0},
        ),
        # The first counter of a sum must be there, the others need not.
        ({"fresh": 7}, {"input": 7}),
        ({"cache": {"read": 5}}, {"cached": 5}),
        # Only integers of 0 or more count.
        ({"fresh": 7, "cache": {"read": -5, "write": 1.0}}, {"input": 7}),
        ({"fresh": True, "cache": {"read": None}, "written": "3"}, {}),
        # The holder of nested counters may be anything.
        ({"fresh": 7, "cache": [5]}, {"input": 7}),
        ({"fresh": 7, "cache.read": 5}, {"input": 7}),
        # A record holds counters below the limit.
        ({"fresh": COUNTER_LIMIT - 1}, {"input": COUNTER_LIMIT - 1}),
        ({"fresh": COUNTER_LIMIT, "written": 2}, {"output": 2}),
        ({"fresh": COUNTER_LIMIT - 1, "cache": {"read": 1}}, {"cached": 1}),
    ],
)
def test_sums_of_counters(counters, expected):
    assert SUMS.compute(counters) == expected
