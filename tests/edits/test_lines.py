"""The line diff: its documented ties, known suffixes, and bounded work."""

import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacr.edits.lines import NO_ORIGIN, find_line_origins, find_local_origins, merge_changes

LINES = st.lists(st.sampled_from("abc"), max_size=12)


def plain(old, new):
    """Search by the documented rule without shortcuts: all diagonals of all distances."""
    best = {1: (0, ())}
    for distance in range(len(old) + len(new) + 1):
        paths = {}
        for k in range(-distance, distance + 1, 2):
            removal, addition = best.get(k - 1), best.get(k + 1)
            if distance == 0:
                x, pairs = 0, ()
            else:
                may_remove = removal is not None and removal[0] < len(old)
                may_add = addition is not None and addition[0] - k <= len(new)
                if may_add and (not may_remove or addition[0] > removal[0]):
                    x, pairs = addition
                elif may_remove:
                    x, pairs = removal[0] + 1, removal[1]
                else:
                    continue
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                pairs = (*pairs, (x, x - k))
                x += 1
            paths[k] = (x, pairs)
            if x >= len(old) and x - k >= len(new):
                found = [NO_ORIGIN] * len(new)
                for a, b in pairs:
                    found[b] = a
                return found
        best = paths
    raise AssertionError("there is always a way")


def whole(old, new, suffix=0):
    found = find_line_origins(old, new, suffix)
    left = len(new) - len(found)
    return found + list(range(len(old) - left, len(old)))


@given(LINES, LINES)
def test_ties_follow_the_documented_rule(old, new):
    assert whole(old, new) == plain(old, new)


@given(LINES, LINES, LINES)
def test_a_known_suffix_changes_nothing(old, new, suffix):
    old, new = old + suffix, new + suffix
    assert whole(old, new, len(suffix)) == plain(old, new)


@given(LINES, LINES, LINES, st.integers(1, 6))
def test_short_lookahead_changes_nothing(old, new, suffix, ahead):
    near = find_local_origins(old + suffix[:ahead], new + suffix[:ahead], len(suffix[:ahead]))
    found = find_line_origins(old + suffix, new + suffix, len(suffix))
    assert near is None or near == found


@given(
    st.lists(st.integers(0, 9).map(str), max_size=60),
    st.lists(st.integers(0, 9).map(str), max_size=60),
)
def test_lines_match_in_order_beyond_the_work_limit(old, new):
    found = find_line_origins(old, new, work=1)
    kept = [i for i in found if i != NO_ORIGIN]
    assert kept == sorted(set(kept))
    assert all(i == NO_ORIGIN or old[i] == line for i, line in zip(found, new, strict=True))


@pytest.mark.parametrize("lines", [3000, 6000])
def test_diff_of_a_rewritten_file_is_bounded(lines):
    old = [f"old {i % 97}" for i in range(lines)]
    new = [f"old {i * 31 % 97}" if i % 2 else f"new {i}" for i in range(lines)]
    assert len(find_line_origins(old, new)) == lines


def test_lines_of_one_side_only_are_new():
    assert find_line_origins(["a"] * 5, ["b"] * 3) == [NO_ORIGIN] * 3
    assert find_line_origins([], ["a"]) == [NO_ORIGIN]
    assert find_line_origins(["a", "b"], ["a"]) == [0]


def merge_with_git(folder, original, ours, theirs):
    """Return the merge that git makes, or `None` if it finds a conflict."""
    for name, text in (("ours", ours), ("original", original), ("theirs", theirs)):
        (folder / name).write_text(text)
    command = ["git", "merge-file", "-p", "ours", "original", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def change_lines(lines, chance):
    """Return lines with a few lines added, removed or replaced."""
    changed = list(lines)
    for number in range(chance.randrange(4)):
        at = chance.randrange(len(changed))
        changed[at : at + chance.randrange(2)] = [f"new {chance.random()} {number}\n"]
    return changed


def test_changes_merge_as_git_merges_them(tmp_path):
    chance = random.Random(7)  # noqa: S311 - seeded, so that the texts are always the same
    merged = []
    for _ in range(200):
        original = [f"line {number}\n" for number in range(chance.randrange(3, 20))]
        texts = ["".join(lines) for lines in (original, *two_changes(original, chance))]
        merged.append(merge_changes(*texts))
        assert merged[-1] == merge_with_git(tmp_path, *texts)
    assert None in merged
    assert any(merged)


def two_changes(lines, chance):
    return change_lines(lines, chance), change_lines(lines, chance)


def test_changes_of_the_same_line_do_not_merge():
    assert merge_changes("a\nb\n", "a\nc\n", "a\nd\n") is None
    assert merge_changes("a\nb\n", "a\nc\n", "a\nc\n") == "a\nc\n"
