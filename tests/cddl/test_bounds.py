"""Limits: deep but allowed values are checked, and a check that takes too long is a finding."""

import sys
import threading
import time

import cbor2
import pytest

from tests.conftest import slow
from vacr.cddl.controls import DecodedStrings
from vacr.cddl.schema import compile_cddl
from vacr.cddl.tokens import CddlError

NESTED_STRINGS = [
    "a = bstr .cbor ([a, int] / [a, tstr]) / int",
    "a = (bstr .cbor [a, int]) / (bstr .cbor [a, tstr]) / int",
    "a = bstr .cbor ({v: a, t: int} / {v: a, t: tstr} / [a, int] / [a, tstr]) / int",
]


@pytest.fixture(autouse=True)
def limit_cpu_time():
    """Fail a test that computes for long; waiting for a busy machine does not count."""
    started = time.process_time()
    yield
    assert time.process_time() - started < 20


@pytest.mark.parametrize("cddl", NESTED_STRINGS)
@pytest.mark.parametrize("leaf", [0, "wrong"])
def test_strings_in_strings_are_decoded_once(cddl, leaf):
    value = leaf
    for _ in range(60):
        value = cbor2.dumps([value, "x"])
    checker = compile_cddl(cddl).checker()
    assert checker.matches(value) == (leaf == 0)
    assert bool(checker.findings(value)) == (leaf != 0)


def test_json_in_json_is_decoded_once():
    import json

    value = 0
    for _ in range(12):  # every level doubles the backslashes
        value = json.dumps([value, "x"])
    assert (
        compile_cddl("a = tstr .json ([a, int] / [a, bool] / [a, tstr]) / int")
        .checker()
        .matches(value)
    )


def test_decoded_strings_are_bounded_and_dropped_after_a_run(monkeypatch):
    monkeypatch.setattr("vacr.cddl.controls._MAX_KEPT_BYTES", 1000)
    strings = DecodedStrings()
    for number in range(100):
        assert strings.matches_bytes(lambda _: True, number.to_bytes(2, "big"), bytes.hex)
    assert len(strings._known) < 10
    strings.forget()
    assert not strings._known


@pytest.mark.parametrize(
    ("cddl", "value", "deeper"),
    [
        ("a = [g]  g = (int, ? g)", [1] * 497, [1] * 5000),
        ("a = tstr .abnf 'x\nx = \"a\" [x]'", "a" * 140, "a" * 1000),
    ],
)
def test_deep_right_recursion_is_checked(cddl, value, deeper):
    checker = compile_cddl(cddl).checker()
    assert checker.matches(value)
    assert checker.matches(deeper)


@pytest.mark.parametrize("leaf", [1, "wrong"])
def test_value_of_the_largest_decodable_depth_is_checked_and_explained(leaf):
    value = leaf
    for _ in range(399):
        value = {"c": value}
    findings = compile_cddl("a = {a: a} / {b: a} / {c: a} / 1").checker().findings(value)
    assert [finding.pointer for finding in findings] == ([] if leaf == 1 else ["/c" * 399])


def test_too_deep_value_is_reported_and_recursion_limit_restored():
    before = sys.getrecursionlimit(), threading.stack_size()
    (finding,) = compile_cddl("a = [g]  g = (int, ? g)").checker().findings([1] * 100_000)
    assert "too deeply" in finding.found
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


@pytest.mark.parametrize(
    ("grammar", "good", "bad"),
    [
        ('*(*(*(*"a")))', "a" * 200, "a" * 200 + "b"),
        ('10000(10000("a" / ""))', "", "b"),
        ('3*5("a" / "")', "aaaaa", "aaaaaa"),
        ('2(3("a"))', "aaaaaa", "aaaaa"),
    ],
)
def test_abnf_repetition_of_repetitions_is_decided(grammar, good, bad):
    checker = compile_cddl(f"a = tstr .abnf '{grammar}'").checker()
    assert checker.matches(good)
    assert not checker.matches(bad)


@pytest.mark.parametrize(
    ("cddl", "value", "word"),
    [
        ("a = tstr .abnf '*(*(*(*\"a\")))'", "a" * 3000, "ABNF"),
        ('a = tstr .regexp "(a|b)*a(a|b){6000}"', "ab" * 5000, "regular expression"),
    ],
)
@slow
def test_too_costly_check_is_a_finding(cddl, value, word):
    (finding,) = compile_cddl(cddl).checker().findings(value)
    assert "too" in finding.found
    assert word in finding.found


def test_product_of_repetitions_does_not_backtrack():
    checker = compile_cddl('a = tstr .regexp "a{0,15}a{0,15}a{0,15}.*.*b"').checker()
    assert not any(checker.matches("a" * length) for length in range(900, 1000))
    assert checker.matches("a" * 900 + "b")


def test_combinations_of_groups_with_many_members_are_refused():
    members = ", ".join(f"m{index}: int" for index in range(500))
    groups = ", ".join(f"? (x{index}: int, y{index}: int)" for index in range(9))
    with pytest.raises(CddlError, match="combinations"):
        compile_cddl(f"a = {{ {members}, {groups} }}")
    maps = " ".join(
        f"a{index} = {{ g, {groups[: groups.index('? (x5') - 2]} }}" for index in range(20)
    )
    with pytest.raises(CddlError, match="combinations"):
        compile_cddl(f"{maps} g = ({members})")


def test_many_members_for_few_entries_are_assigned_by_counting():
    members = {str(number): number for number in range(40_000)}
    assert compile_cddl("a = {20000* tstr => any}").checker().matches(members)
    assert (
        compile_cddl("a = {20000*30000 tstr => any, 10000* tstr => int}").checker().matches(members)
    )
    assert (
        not compile_cddl("a = {*30000 tstr => any, *9999 tstr => int}").checker().matches(members)
    )


def test_hundred_thousand_unknown_members_are_explained_quickly():
    checker = compile_cddl(
        f"a = {{ {', '.join(f'? m{index}: int' for index in range(1000))} }}"
    ).checker()
    assert len(checker.findings({f"x{index}": 1 for index in range(100_000)})) == 100


def test_many_integers_are_looked_up_in_a_set():
    checker = compile_cddl(f"a = [* ({' / '.join(map(str, range(0, 10_000, 2)))})]").checker()
    assert checker.matches([9998] * 20_000)
    assert not any(checker.matches([value]) for value in (9999, 2.0, True, "2"))
