"""Hostile schemas and values, made to waste time or memory: each check ends quickly."""

import pytest

from vacr.cddl.schema import compile_cddl
from vacr.cddl.tokens import CddlError


def nest_in_arrays(depth, leaf):
    value = leaf
    for _ in range(depth):
        value = [value, 3]
    return value


def test_ambiguous_choice_is_checked_once_for_each_value():
    schema = compile_cddl("a = [a, 1] / [a, 2] / int")
    assert not schema.checker().matches(nest_in_arrays(100, 0))
    assert schema.checker().findings(nest_in_arrays(60, 0))


def test_chain_of_choices_does_not_double_the_work():
    rules = [f"a{i} = [a{i + 1}, 1] / [a{i + 1}, 2]" for i in range(60)]
    checker = compile_cddl("\n".join([*rules, "a60 = int"])).checker()
    assert not checker.matches(nest_in_arrays(60, 0))
    assert checker.findings(nest_in_arrays(60, 0))


def test_choice_of_maps_does_not_double_the_work():
    checker = compile_cddl("m = {? n: m, ? x: 1} / {? n: m, ? x: 2} / {? n: m, y: int}").checker()
    value = {"x": 3}
    for _ in range(80):
        value = {"n": value}
    assert not checker.matches(value)
    assert checker.findings(value)


def test_optional_elements_do_not_double_the_work():
    checker = compile_cddl("a = [? a, ? a, a] / int").checker()
    value = "x"
    for _ in range(80):
        value = [value]
    assert not checker.matches(value)
    assert checker.findings(value)


def test_groups_of_groups_do_not_double_the_work():
    rules = [f"g{i} = (g{i + 1}, g{i + 1})" for i in range(60)]
    checker = compile_cddl("\n".join(["a = [g0]", *rules, "g60 = (? int)"])).checker()
    assert checker.matches([])
    assert checker.matches([1])
    assert not checker.matches(["x"])
    rules = [f"g{i} = (g{i + 1}, 1 // g{i + 1}, 2)" for i in range(60)]
    checker = compile_cddl("\n".join(["a = [g0]", *rules, "g60 = (int)"])).checker()
    assert not checker.matches([0] + [3] * 60)
    assert checker.findings([0] + [3] * 60)


def test_conjunctions_do_not_double_the_work():
    rules = [f"a{i} = a{i + 1} .and a{i + 1}" for i in range(60)]
    checker = compile_cddl("\n".join([*rules, "a60 = int"])).checker()
    assert checker.matches(1)
    assert not checker.matches("x")


def test_choices_of_the_same_choice_do_not_double_the_work():
    rules = [f"a{i} = a{i + 1} / a{i + 1}" for i in range(200)]
    checker = compile_cddl("\n".join([*rules, "a200 = int"])).checker()
    assert checker.matches(1)
    assert checker.findings("x")


def test_long_chain_of_names_needs_no_stack():
    rules = [f"a{i} = a{i + 1}" for i in range(3000)]
    assert compile_cddl("\n".join([*rules, "a3000 = int"])).checker().matches(1)
    rules = [f"a{i} = [a{i + 1}]" for i in range(3000)]
    assert not compile_cddl("\n".join([*rules, "a3000 = int"])).checker().matches(1)
    rules = [f"a{i} = a{i + 1} .size 1" for i in range(300)]
    assert compile_cddl("\n".join([*rules, "a300 = tstr"])).checker().matches("x")
    rules = [f"a{i} = a{i + 1} / {i}" for i in range(3000)]
    assert compile_cddl("\n".join([*rules, "a3000 = tstr"])).checker().matches(77)


def test_long_right_recursion_is_bounded():
    checker = compile_cddl("a = [g]  g = (int, ? g)").checker()
    assert checker.matches([1] * 100)
    assert not checker.matches([1] * 100_000)
    assert checker.findings([1] * 100_000)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a|aa)+b",
        "(.*a){12}b",
        "(a?){40}b",
        "a*" * 30 + "b",
        "(x+x+)+y",
        "(a|b|ab)*c",
    ],
)
def test_no_pattern_hangs(pattern):
    checker = compile_cddl(f'a = tstr .regexp "{pattern}"').checker()
    assert not checker.matches("a" * 2000)


def test_no_pcre_hangs_on_long_texts():
    checker = compile_cddl('a = tstr .pcre "(a)\\\\1+b"').checker()
    assert checker.matches("aab")
    assert not checker.matches("a" * 10**6)


def test_huge_map_with_competing_entries_is_decided():
    checker = compile_cddl("m = {2*200 tstr => int, 3*300 tstr => any, * tstr => int}").checker()
    assert checker.matches({str(i): i for i in range(400)})
    assert not checker.matches({str(i): "x" for i in range(400)})


@pytest.mark.parametrize(
    "data",
    [
        b"\x9f" * 100_000,
        b"\x81" * 100_000,
        b"\xd8\x20" * 50_000,
        b"\x9a\xff\xff\xff\xff",
        b"\x7b" + b"\xff" * 8,
        b"\xbf" * 5,
    ],
)
def test_embedded_cbor_with_false_lengths_is_refused(data):
    checker = compile_cddl("a = bstr .cbor any").checker()
    assert not checker.matches(data)
    assert checker.findings(data)


def test_abnf_grammar_with_many_readings_is_decided():
    checker = compile_cddl('a = tstr .abnf \'a\na = *b\nb = *"x" / "x" "x"\'').checker()
    assert checker.matches("x" * 60)
    assert not checker.matches("x" * 60 + "y")


def test_growing_generic_is_refused():
    with pytest.raises(CddlError):
        compile_cddl("a = g<int, int>\ng<x, y> = [g<[x, y], [y, x]>]")


def test_growing_alias_is_refused():
    with pytest.raises(CddlError, match="expands to more than"):
        compile_cddl("start = g<int>\ng<T> = g<h<T>>\nh<T> = [T]")


def test_huge_bounds_cost_nothing():
    checker = compile_cddl(f"a = [{10**18}*{10**19} int] / {{{10**18}* tstr => int}}").checker()
    assert not checker.matches([1, 2])
    assert not checker.matches({"a": 1})
    assert checker.findings([1, 2])
