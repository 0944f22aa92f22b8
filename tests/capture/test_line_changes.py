"""Differences of lines and bytes: exact, bounded in time, and readable."""

import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacr.capture import line_changes as lines
from vacr.capture.line_changes import (
    find_appended_bytes,
    find_hunks,
    find_line_changes,
    find_splice,
    find_splices,
)
from vacr.capture.session_journal import PartContent

LINES = st.lists(
    st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=12
)


def describe_changes(seen, now):
    return [str(change) for change in find_line_changes(seen, now)]


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_splice_turns_old_into_new(front, middle, back):
    for old, new in (
        (front + back, front + middle + back),
        (front + middle + back, back),
        (middle, front),
    ):
        at, cut, data = find_splice(old, new)
        assert old[:at] + data + old[at + cut :] == new
        assert len(data) + len(old) - cut == len(new)


@given(LINES, LINES, LINES)
@settings(max_examples=300)
def test_splices_turn_old_into_new(one, two, common):
    big = [b"x" * 5000 + b"\n"]
    old, new = b"".join(one + big + common + two + big), b"".join(big + two + common + big + one)
    changed = bytearray(old)
    for at, cut, data in find_splices(old, new):
        changed[at : at + cut] = data
    assert changed == new


def test_splices_leave_out_unchanged_lines():
    rows = [b"%d " % number * 500 + b"\n" for number in range(3000)]
    old = b"".join(rows)
    for places in ((100, 2900), (5, 6), (1000, 1001, 1500)):
        new = list(rows)
        for place in reversed(places):
            new.insert(place, b"new line\n")
        assert sum(cut + len(data) for _, cut, data in find_splices(old, b"".join(new))) < 5000


@given(LINES, LINES, LINES)
@settings(max_examples=300)
@pytest.mark.parametrize("steps", [0, 30, 1 << 23])
def test_hunks_turn_old_into_new(steps, one, two, common):
    """Also if only few steps are allowed."""
    old, new = [*one, *common, *two, *common], [*common, *two, *common, *one]
    made, first, begins = [], 0, 0
    with patch.object(lines, "_MAX_COMPARISON_STEPS", steps):
        found = list(find_hunks(old, new))
    for hunk in found:
        assert old[first : hunk.old_start] == new[begins : hunk.new_start]
        made += [*old[first : hunk.old_start], *new[hunk.new_start : hunk.new_end]]
        first, begins = hunk.old_end, hunk.new_end
    assert [*made, *old[first:]] == new


def test_comparing_many_equal_lines_is_fast():
    began = time.process_time()
    many = [b"\n"] * 2000
    assert (
        sum(hunk.new_end - hunk.new_start for hunk in find_hunks(many, [b"\n", b"x\n"] * 1000))
        >= 1000
    )
    line = b"x" * 20_000_000
    assert find_splice(line + b"1" + line, line + b"2" + line) == (len(line), 1, b"2")
    assert time.process_time() - began < 5


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10), st.binary(max_size=10)), max_size=20)
)
def test_part_content_follows_splices(steps):
    content, plain = PartContent(loaded=bytearray()), b""
    for where, much, data in steps:
        at = min(where, len(plain))
        cut = min(much, len(plain) - at)
        content.splice(at, cut, data)
        plain = plain[:at] + data + plain[at + cut :]
        assert (content.size, bytes(content.loaded), content.lines) == (
            len(plain),
            plain,
            plain.count(b"\n"),
        )
        assert content.tail == plain[-4096:]


def test_changed_lines_are_named():
    seen = b"one\ntwo\nthree\nfour\n"
    assert describe_changes(seen, seen) == []
    assert describe_changes(seen, seen + b"five\n") == []
    assert describe_changes(seen, b"one\n2\nthree\nfour\nfive\n") == ["line 2 changed"]
    assert describe_changes(seen, b"one\nfour\n") == ["lines 2 to 3 vanished"]
    assert describe_changes(seen, b"one\nnew\ntwo\nthree\nfour\n") == [
        "line 2 has 1 new line before it"
    ]
    assert describe_changes(seen, b"") == ["lines 1 to 4 vanished"]
    assert describe_changes(seen, b"1\n2\n3\n4\n") == ["lines 1 to 4 changed"]
    assert describe_changes(seen, b"1\n2\n") == ["lines 1 to 2 changed", "lines 3 to 4 vanished"]


def test_half_written_line_may_be_completed():
    assert describe_changes(b"one\ntw", b"one\ntwo\n") == []
    assert describe_changes(b"one\ntw", b"1\ntwo\n") == ["line 1 changed"]
    assert describe_changes(b"one\ntw", b"one\nother\n") == ["line 2 changed"]
    assert describe_changes(b"one\ntw", b"one\n") == ["line 2 vanished"]


def test_changes_in_many_lines_are_named_exactly():
    seen = b"".join(b"line %d\n" % number for number in range(5000))
    now = seen.replace(b"line 7\n", b"LINE 7\n").replace(b"line 4998\n", b"LINE 4998\n") + b"more\n"
    assert describe_changes(seen, now) == ["line 8 changed", "line 4999 changed"]
    assert find_appended_bytes(seen, now) == b"more\n"


@given(LINES, LINES)
@settings(max_examples=300)
def test_appended_bytes_are_found(seen, more):
    seen, more = b"".join(seen), b"".join(more)
    assert find_appended_bytes(seen, seen + more) == more


def test_appended_bytes_are_found_after_a_change():
    seen = b"one\ntwo\nthree\n"
    assert find_appended_bytes(seen, b"one\n2\nthree\nfour\n") == b"four\n"
    assert find_appended_bytes(seen, b"one\nfour\n") == b""  # it may stand for what is gone
    assert find_appended_bytes(seen, b"") == b""
    assert find_appended_bytes(seen, b"three\nfour\n") == b"four\n"
