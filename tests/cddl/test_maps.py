"""Maps: RFC 8610 sections 2.1.1, 3.5 and 3.5.4, one line a case."""

import cbor2
import pytest

from vacr.cddl.schema import compile_cddl
from vacr.cddl.tokens import CddlError

CASES = [
    # Structs and tables.
    (
        "{a: int, ? b: tstr}",
        [{"a": 1}, {"b": "x", "a": 1}],
        [{}, {"a": 1, "b": 1}, {"a": 1, "c": 1}, [], None],
    ),
    (
        "{\"a b\": int, 5: int, h'00': int}",
        [{"a b": 1, 5: 1, b"\0": 1}],
        [{"a b": 1, "5": 1, b"\0": 1}],
    ),
    ("{* tstr => int}", [{}, {"a": 1, "b": 2}], [{"a": "x"}, {1: 1}]),
    ("{+ tstr => int}", [{"a": 1}], [{}]),
    (
        "{2*3 tstr => int}",
        [{"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}],
        [{"a": 1}, dict.fromkeys("abcd", 1)],
    ),
    ("{*2 tstr => int}", [{}, {"a": 1, "b": 2}], [dict.fromkeys("abc", 1)]),
    ("{* int => tstr, * tstr => int}", [{1: "a", "a": 1}], [{1: 1}, {"a": "a"}]),
    ("{* any => any}", [{}, {1: 2, "x": None, (1, 2): 3}], [[]]),
    ("{? 1 => int, * tstr => any}", [{1: 1, "x": 1}], [{1: "x"}, {2: 1}]),
    ("{(1 / 2) => int}", [{1: 1}, {2: 1}], [{}, {1: 1, 2: 1}, {3: 1}]),
    (
        "{? (1 / 2) => int, * int => tstr}",
        [{}, {1: 1}, {1: 1, 2: "x"}, {1: "x", 3: "y"}],
        [{1: 1, 2: 2}],
    ),
    ("{[int, int] => tstr}", [{(1, 2): "x"}], [{(1,): "x"}]),
    # Python takes 1, 1.0 and true for the same key; CDDL does not.
    ("{1 => int}", [{1: 1}], [{True: 1}, {1.0: 1}]),
    ("{? 1 => int}", [{1: 1}, {}], [{True: 1}, {1.0: 1}]),
    ("{true => int}", [{True: 1}], [{1: 1}]),
    ("{* bool => int, ? 0 => tstr}", [{False: 1}, {0: "x"}], [{False: "x"}]),
    # Group choices and inline groups.
    ("{a: int // b: tstr}", [{"a": 1}, {"b": "x"}], [{}, {"a": 1, "b": "x"}, {"b": 1}]),
    (
        "{k: int, (a: int // b: int)}",
        [{"k": 1, "a": 1}, {"k": 1, "b": 1}],
        [{"k": 1}, {"a": 1, "b": 1}],
    ),
    ("{? (a: int, b: int)}", [{}, {"a": 1, "b": 1}], [{"a": 1}, {"b": 1}]),
    (
        "{? (a: int // b: int), c: int}",
        [{"c": 1}, {"a": 1, "c": 1}],
        [{"a": 1}, {"a": 1, "b": 1, "c": 1}],
    ),
    ("{* (a: int, ? b: int)}", [{}, {"a": 1}, {"a": 1, "b": 1}], [{"b": 1}]),
    ("{+ (a: int, b: int)}", [{"a": 1, "b": 1}], [{}, {"a": 1}]),
    (
        "{* (tstr => int, int => tstr)}",
        [{}, {"a": 1, 1: "a"}],
        [{"a": 1}, {"a": 1, "b": 1, 1: "a"}],
    ),
    # Groups of several entries that repeat, any number of times.
    (
        "{* (int => int, tstr => tstr)}",
        [{**dict.fromkeys(range(9), 1), **dict.fromkeys("abcdefghi", "x")}],
        [{**dict.fromkeys(range(9), 1), **dict.fromkeys("abcdefgh", "x")}],
    ),
    (
        "{5*5 (int => int, tstr => tstr)}",
        [{**dict.fromkeys(range(5), 1), **dict.fromkeys("abcde", "x")}],
        [{}, {1: 1, "a": "x"}, {**dict.fromkeys(range(6), 1), **dict.fromkeys("abcdef", "x")}],
    ),
    (
        "{2*3 (2*2 int => int, ? tstr => tstr), k: int}",
        [
            {0: 1, 1: 1, 2: 1, 3: 1, "k": 1},
            {**dict.fromkeys(range(6), 1), "a": "x", "b": "x", "c": "x", "k": 1},
        ],
        [
            {0: 1, 1: 1, "k": 1},
            {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, "k": 1},
            {**dict.fromkeys(range(8), 1), "k": 1},
        ],
    ),
    (
        "{* (? k: int, * int => any)}",
        [{}, {"k": 1, 1: 1, 2: 2, 3: 3}, {5: 5}],
        [{"k": "x"}, {"z": 1}],
    ),
    (
        "{* (2*2 int => int)}",
        [{}, {1: 1, 2: 2}, dict.fromkeys(range(6), 1)],
        [{1: 1}, dict.fromkeys(range(5), 1)],
    ),
    (
        "{* (int => int, tstr => tstr // x: int)}",
        [{"x": 1}, {**dict.fromkeys(range(9), 1), **dict.fromkeys("abcdefghi", "x"), "x": 1}],
        [{1: 1}, {1: 1, "a": "x", "b": "x"}],
    ),
    ("{2* a: int}", [], [{"a": 1}]),
    ("{ // a: int}", [{}, {"a": 1}], [{"b": 1}]),
    ("{0*0 a: int, * tstr => any}", [{}, {"b": 1}], [{"a": 1}]),
    # Cuts (3.5.4): `:` and `^ =>` bind, `=>` alone does not.
    ('{? "k" => int, * tstr => any}', [{"k": "x"}, {"k": 1}, {}], []),
    ('{? "k" ^ => int, * tstr => any}', [{"k": 1}, {}], [{"k": "x"}]),
    ("{? k: int, * tstr => any}", [{"k": 1}, {"z": "x"}], [{"k": "x"}]),
    ("{* tstr => any, ? k: int}", [{"k": "x"}, {"k": 1}], []),
    ("{* tstr => any, k: int}", [{"k": 1}, {"k": 1, "z": 1}], [{"k": "x"}, {}]),
    ("{* tstr ^ => int, * tstr => any}", [{"a": 1}], [{"a": "x"}]),
    ("{* tstr ^ => int, * any => any}", [{"a": 1, 1: "x"}], [{"a": "x"}]),
    ("{* tstr ^ => int, ? k: tstr}", [{"a": 1}, {"k": 1}], [{"k": "x"}]),
    ("{? a => int, * int => any}  a = 5", [{5: "x"}, {5: 1}], [{"x": 1}]),
    (
        "{? (a: int, b: int), * tstr => any}",
        [{"a": 1, "b": 1, "c": 1}, {"z": 1}],
        [{"a": "x", "b": 1}, {"a": 1}],
    ),
    ("{a: int // a: tstr}", [{"a": 1}, {"a": "x"}], [{"a": None}]),
    # Entries that compete for members all get enough.
    ("{+ tstr => int, + tstr => tstr}", [{"a": 1, "b": "x"}], [{"a": 1, "b": 2}, {"a": 1}]),
    (
        "{+ tstr => any, + tstr => int}",
        [{"a": 1, "b": "x"}, {"a": 1, "b": 2}],
        [{"a": "x", "b": "y"}, {"a": 1}],
    ),
    (
        "{tstr => any, tstr => int}",
        [{"a": 1, "b": "x"}, {"b": "x", "a": 1}],
        [{"a": 1}, dict.fromkeys("abc", 1)],
    ),
    ('{"a" => any, + tstr => int}', [{"a": "x", "b": 1}], [{"a": 1}, {"b": 1}]),
]


@pytest.mark.parametrize(("cddl", "good", "bad"), CASES)
def test_members_are_assigned_to_entries(cddl, good, bad):
    checker = compile_cddl(f"m = {cddl}").checker()
    for value in good:
        assert checker.matches(value), value
        assert checker.findings(value) == []
    for value in bad:
        assert not checker.matches(value), value
        assert checker.findings(value), value


@pytest.mark.parametrize(
    "cddl", ["m = {int}", "m = {a: int, [tstr]}", "m = {g}  g = (int)", "m = {g} g = (int, b: int)"]
)
def test_map_entry_without_a_key_is_refused(cddl):
    with pytest.raises(Exception, match="needs a key"):
        compile_cddl(cddl)


@pytest.mark.parametrize(
    "cddl",
    [
        "m = {* (int => int, tstr => tstr), * (bool => int, bstr => tstr)}",
        "m = {* (int => int, * (tstr => tstr, bool => int))}",
        "m = {*9 (int => int // tstr => tstr, bool => int)}",
    ],
)
def test_uncountable_repetitions_are_refused(cddl):
    with pytest.raises(CddlError, match="repeat"):
        compile_cddl(cddl)


CHOICES = """
a = b / c / d / {kind: "e" / "f", value: 1} / [* a] / #6.99({* tstr => any}) / 7
b = {type: "u", * tstr => any}
c = {type: "t", input: any, * tstr => any}
d = {type: tstr, vendor: tstr, ? list: [* a]}
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "t", "input": 5}, True),
        ({"type": "t"}, False),
        ({"type": "t", "vendor": "x"}, True),
        ({"type": "u"}, True),
        ({"type": "w", "vendor": "x"}, True),
        ({"type": "w"}, False),
        ({"type": 1}, False),
        ({"type": ["u"]}, False),
        ({"kind": "f", "value": 1}, True),
        ({"kind": "f", "type": "u"}, True),
        ({"kind": "g", "value": 1}, False),
        ({}, False),
        ([{"type": "u"}, [], 7], True),
        ([{"type": "u"}, 8], False),
        (
            {"type": "z", "vendor": "v", "list": [{"type": "t", "input": None}, {"type": "z"}]},
            False,
        ),
        (cbor2.CBORTag(99, {}), True),
        (cbor2.CBORTag(98, {}), False),
    ],
)
def test_literal_member_decides_a_choice_of_maps(value, expected):
    checker = compile_cddl(CHOICES).checker()
    assert checker.matches(value) is expected
    assert bool(checker.findings(value)) is not expected


def test_frozen_map_of_cbor2_is_a_map():
    value = cbor2.loads(cbor2.dumps({"x": 1}), immutable=True)
    key = cbor2.loads(bytes.fromhex("a1a1010202"))
    assert compile_cddl("m = {x: int}").checker().matches(value)
    assert compile_cddl("m = {{1: int} => int}").checker().matches(key)
