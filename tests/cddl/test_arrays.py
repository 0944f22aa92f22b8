"""Arrays: RFC 8610 sections 2.1.2 and 3.4 and Appendix A, one line a case."""

import pytest

from vacr.cddl.schema import compile_cddl

CASES = [
    ("[* int]", [[], [1, 2]], [["x"], [1, "x"], {}, "x"]),
    ("[+ int]", [[1]], [[]]),
    ("[? int]", [[], [1]], [[1, 2], ["x"]]),
    ("[2*4 int]", [[1, 2], [1, 2, 3, 4]], [[1], [1] * 5]),
    ("[3* int]", [[1] * 3, [1] * 9], [[1] * 2]),
    ("[*2 int]", [[], [1, 2]], [[1] * 3]),
    ("[0x2*0x3 int]", [[1, 2]], [[1], [1] * 4]),
    ("[int, tstr]", [[1, "x"]], [["x", 1], [1], [1, "x", 1]]),
    ("[x: int, y: tstr]", [[1, "x"]], [["x", 1]]),
    ("[* (int, tstr)]", [[], [1, "x"], [1, "x", 2, "y"]], [[1], [1, "x", 2], ["x", 1]]),
    ("[? int, * tstr]", [[], [1], ["x"], [1, "x", "y"]], [["x", 1], [1, 2]]),
    ("[+ (int / tstr)]", [[1, "x"]], [[], [None]]),
    ("[int // tstr, tstr]", [[1], ["x", "y"]], [["x"], [1, "x"]]),
    ("[(int // tstr), bool]", [[1, True], ["x", True]], [[True], [1, "x"]]),
    ("[* (int // tstr, bool)]", [[1, "x", True, 2]], [["x"], [1, "x"]]),
    ("[? (int, tstr), int]", [[5], [1, "x", 5]], [[1, "x"]]),
    ("[2*2 (int, ? tstr)]", [[1, 2], [1, "x", 2, "y"], [1, 2, "y"]], [[1], [1, 2, 3]]),
    ("[* ()]", [[]], [[1]]),
    ("[5* ()]", [[]], [[1]]),
    ("[* (? int)]", [[], [1, 2]], [["x"]]),
    ("[1 * int]", [[1], [1, 2]], [[], [2]]),
    # A parsing expression grammar is greedy and does not backtrack (Appendix A).
    ("[* int, int]", [], [[1], [1, 2]]),
    ("[? int, int]", [[1, 2]], [[1]]),
    ("[(int // int, tstr)]", [[1]], [[1, "x"]]),
    ("[* any, tstr]", [], [["x"]]),
    ("[any, tstr]", [[1, "x"]], [["x"]]),
    ("[{a: int}, [tstr]]", [[{"a": 1}, ["x"]]], [[{}, ["x"]], [{"a": 1}, [1]]]),
    ("[100000000000000000000*200000000000000000000 int]", [], [[1]]),
    ("[* 100000000000000000000]", [[], [10**20]], [[1]]),
]


@pytest.mark.parametrize(("cddl", "good", "bad"), CASES)
def test_elements_are_matched_in_order(cddl, good, bad):
    checker = compile_cddl(f"a = {cddl}").checker()
    for value in good:
        assert checker.matches(value), value
        assert checker.matches(tuple(value)), value
        assert checker.findings(value) == []
    for value in bad:
        assert not checker.matches(value), value
        assert checker.findings(value), value


def test_first_matching_alternative_is_taken_through_named_groups():
    checker = compile_cddl("a = [* g, tstr]  g = (int, h)  h = (bool // int)").checker()
    assert checker.matches([1, True, 2, 3, "x"])
    assert checker.matches(["x"])
    assert not checker.matches([1, "x"])
