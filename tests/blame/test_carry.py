"""Claims carried to rewritten commits: only to the same lines, and to no other."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from vacr.blame.carry import CarriedFile, carry_claims

TEXTS = st.sampled_from(["", "}", "{", "return", "alpha one", "beta two", "gamma three", "delta 4"])


@st.composite
def old_files(draw):
    lines = draw(st.lists(TEXTS, max_size=12))
    numbers = st.sets(st.integers(1, max(len(lines), 1)).filter(lambda n: n <= len(lines)))
    added = draw(numbers) if lines else set()
    claimed = {number for number in draw(numbers) if number in added} if lines else set()
    path = draw(st.sampled_from(["a.py", "b.py"]))
    return CarriedFile(path, lines, added, dict.fromkeys(claimed, "ai"))


@given(
    olds=st.lists(old_files(), max_size=3),
    lines=st.lists(TEXTS, max_size=14),
    stated=st.booleans(),
    data=st.data(),
)
def test_no_line_gets_a_claim_that_no_old_note_had_about_its_text(olds, lines, stated, data):
    numbers = list(range(1, len(lines) + 1))
    added = set(data.draw(st.lists(st.sampled_from(numbers)))) if numbers else set()
    carried = carry_claims(olds, "a.py", lines, added, stated=stated)
    assert set(carried) <= added
    new = Counter(lines[number - 1] for number in carried)
    old = Counter(file.lines[number - 1] for file in olds for number in file.claims)
    assert new <= old


@given(old_files())
def test_unchanged_file_keeps_every_claim(file):
    carried = carry_claims([file], file.path, file.lines, set(range(1, len(file.lines) + 1)))
    assert carried == file.claims


def test_brace_of_a_person_does_not_take_the_claim_of_a_dropped_block():
    old_lines = ["by hand {", "}", "agent's function {", "}"]
    old = CarriedFile("a.c", old_lines, {1, 2, 3, 4}, {3: "ai", 4: "ai"})
    assert carry_claims([old], "a.c", ["something else {", "}"], {1, 2}) == {}
    assert carry_claims([old], "a.c", ["}", "agent's function {", "}"], {1, 2, 3}) == {
        2: "ai",
        3: "ai",
    }


def test_block_that_moved_keeps_its_claims():
    one, two = ["def one():", "    return 'one'"], ["def two():", "    return 'two'"]
    old = CarriedFile("a.py", [*one, *two], {1, 2, 3, 4}, {3: "ai", 4: "ai"})
    assert carry_claims([old], "a.py", [*two, *one], {1, 2, 3, 4}) == {1: "ai", 2: "ai"}


def test_line_without_a_claim_in_the_newest_old_commit_has_none():
    lines = ["value = compute_everything()"]
    older = CarriedFile("a.py", lines, {1}, {1: "ai"})
    newer = CarriedFile("a.py", lines, {1}, {})
    assert carry_claims([older, newer], "a.py", lines, {1}) == {}
    assert carry_claims([newer, older], "a.py", lines, {1}) == {1: "ai"}


def test_short_block_counts_only_where_git_states_the_rewrite():
    old = CarriedFile("a.py", ["x = 12345"], {1}, {1: "ai"})
    assert carry_claims([old], "a.py", ["x = 12345", "y"], {1, 2}) == {1: "ai"}
    assert carry_claims([old], "a.py", ["x = 12345", "y"], {1, 2}, stated=False) == {}
    assert carry_claims([old], "b.py", ["x = 12345", "y"], {1, 2}) == {}
