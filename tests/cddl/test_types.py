"""Types: RFC 8610 sections 2 and 3 and Appendix D, one line a case."""

import cbor2
import pytest

from vacr.cddl.schema import compile_cddl

BIG = 2**64
TAG = cbor2.CBORTag
INF = float("inf")

CASES = [
    # The standard prelude (Appendix D).
    ("any", [0, "", b"", None, [], {}, 1.5, TAG(99, 1), cbor2.undefined], []),
    ("uint", [0, 1, 23, BIG - 1], [-1, BIG, 1.0, True, "1", None]),
    ("nint", [-1, -BIG], [0, 1, -BIG - 1, -1.0]),
    ("int", [0, -1, BIG - 1, -BIG], [BIG, -BIG - 1, False, True, 1.0, "1"]),
    ("bstr", [b"", b"a"], ["", "a", None]),
    ("bytes", [b""], [""]),
    ("tstr", ["", "é"], [b"", None, 1]),
    ("text", ["a"], [b"a"]),
    ("tdate", [TAG(0, "2026-01-01T00:00:00Z")], ["2026-01-01T00:00:00Z", TAG(0, 1), TAG(1, "x")]),
    ("time", [TAG(1, 5), TAG(1, 5.5)], [5, TAG(1, "5"), TAG(0, 5)]),
    ("number", [0, -5, 1.5, 1.0], ["1", True, None, BIG]),
    (
        "biguint",
        [BIG, TAG(2, b"\x01"), 2**80, 5, 0],
        [-1, True, 1.0, -BIG - 1, TAG(3, b"\x01"), TAG(2, "x")],
    ),
    ("bignint", [-BIG - 1, TAG(3, b"\x01"), -1], [BIG, 0]),
    ("bigint", [BIG, -BIG - 1, 0], [True, 1.5]),
    ("#6.2(bstr .size 2)", [256, TAG(2, b"\0\0")], [255, -256, 65536]),
    ("integer", [0, BIG, -BIG - 1, TAG(2, b"\x01")], [1.0, True]),
    ("unsigned", [0, BIG, BIG - 1], [-1, -BIG - 1]),
    ("decfrac", [TAG(4, [-2, 27315]), TAG(4, (-2, BIG))], [TAG(4, [1]), TAG(5, [1, 2])]),
    ("bigfloat", [TAG(5, [-1, 3])], [TAG(4, [-1, 3])]),
    ("eb64url", [TAG(21, b"x"), TAG(21, [1])], [b"x"]),
    ("eb64legacy", [TAG(22, 1)], [TAG(21, 1)]),
    ("eb16", [TAG(23, b"")], [TAG(22, b"")]),
    ("encoded-cbor", [TAG(24, b"\x01")], [TAG(24, "x"), b"\x01"]),
    ("uri", [TAG(32, "a:b")], ["a:b"]),
    ("b64url", [TAG(33, "a")], [TAG(34, "a")]),
    ("b64legacy", [TAG(34, "a")], [TAG(33, "a")]),
    ("regexp", [TAG(35, "a")], [TAG(35, 1)]),
    ("mime-message", [TAG(36, "a")], [TAG(36, b"a")]),
    ("cbor-any", [TAG(55799, 1)], [1]),
    ("float16", [1.5, 0.0, -2.0, INF, float("nan")], [1, 0.1, 1e10]),
    ("float32", [1.5, 1e10], [0.1, 1e300]),
    ("float64", [0.1, 1.5, 1e300], [1, "1.5"]),
    ("float16-32", [1.5, 1e10], [0.1]),
    ("float32-64", [0.1], [1]),
    ("float", [0.1, 1.0, INF], [1, True]),
    ("false", [False], [0, True, None]),
    ("true", [True], [1, False]),
    ("bool", [True, False], [0, 1, None, "true"]),
    ("nil", [None], [0, False, cbor2.undefined]),
    ("null", [None], [cbor2.undefined]),
    ("undefined", [cbor2.undefined], [None, False]),
    # Values (section 3.1).
    ("1", [1], [1.0, True, "1", 2]),
    ("0", [0], [False, 0.0]),
    ("-7", [-7], [7]),
    ("0x10", [16], [10]),
    ("0b101", [5], [101]),
    ("1.5", [1.5], [1, 2]),
    ("1.0", [1.0], [1, True]),
    ("1e3", [1000.0], [1000]),
    ("0x1.8p1", [3.0], [3]),
    ("-0x1p-1", [-0.5], [0.5]),
    ('"a"', ["a"], ["b", b"a", "A"]),
    ('"a\\n\\"\\u00e9\\u{1F600}\\ud83d\\ude00"', ['a\n"é\U0001f600\U0001f600'], ["a"]),
    ("'a'", [b"a"], ["a"]),
    ("'it\\'s'", [b"it's"], ["it's"]),
    ("h'0A 0b'", [b"\n\x0b"], [b"0a0b"]),
    ("h''", [b""], [""]),
    ("b64'aGk_-w'", [b"hi?\xfb"], ["hi"]),
    ("b64'aGk='", [b"hi"], []),
    # Choices (2.2.2) and ranges (2.2.2.1).
    ("int / tstr", [1, "a"], [b"a", None, 1.5]),
    ("(int / tstr) / bool", [1, "a", True], [None]),
    ('"a" / "b" / "c" / 4', ["a", "c", 4], ["d", 5, [], {}]),
    ("1..5", [1, 3, 5], [0, 6, 3.0, True]),
    ("1...5", [1, 4], [0, 5]),
    ("-1..1", [-1, 0, 1], [False, 2]),
    ("1.0..5.0", [1.0, 5.0, 2.5], [3, 5.1, 0.9]),
    ("1.0...5.0", [1.0, 4.99], [5.0]),
    ("0..0xff", [255], [256]),
    # Enumerations (2.2.2.2), tags (2.2.3) and major types (3.6, 3.7).
    ("&(a: 1, b: 2, c: 5)", [1, 2, 5], [3, "a"]),
    ('&(1, "x", nested: (3))', [1, "x", 3], [2]),
    ("#", [1, None, TAG(7, 7)], []),
    ("#0", [0], [-1]),
    ("#1", [-1], [0]),
    ("#2", [b""], [""]),
    ("#3", [""], [b""]),
    ("#4", [[], [1, 2], ()], [{}]),
    ("#5", [{}, {1: 2}], [[]]),
    ("#6", [TAG(1, 1), BIG], [1]),
    ("#6.99", [TAG(99, 1), TAG(99, "x")], [TAG(98, 1)]),
    ("#6.99(int)", [TAG(99, 1)], [TAG(99, "x"), 1]),
    ("#6(tstr)", [TAG(5, "x"), TAG(6, "x")], [TAG(5, 1), "x"]),
    ("#6.<1..3>(int)", [TAG(1, 1), TAG(3, 1)], [TAG(4, 1), TAG(1, "x")]),
    ("#6.<any>(int)", [TAG(12345, 1)], [TAG(12345, "x")]),
    ("#7", [True, None, 1.5, cbor2.CBORSimpleValue(99)], [1, "x"]),
    ("#7.20", [False], [True]),
    ("#7.25", [1.5], [0.1]),
    ("#7.99", [cbor2.CBORSimpleValue(99)], [cbor2.CBORSimpleValue(98), 99]),
    ("#7.<98..99>", [cbor2.CBORSimpleValue(99)], [cbor2.CBORSimpleValue(97), 99, None]),
    ("#7.<any>", [cbor2.CBORSimpleValue(99), None], [99]),
    ("#0.5", [5], [6]),
    ("#0.24", [24, 255], [23, 256]),
    ("#1.0", [-1], [-2]),
    ("#2.3", [b"abc"], [b"ab", "abc"]),
    ("#3.2", ["ab", "é"], ["a", "é漢"]),
    ("#4.1", [[0]], [[], [0, 0]]),
    ("#5.1", [{1: 1}], [{}]),
    # Unwrapping a tag (3.7), an empty choice (3.9), names that hide the prelude's.
    ("~time", [5, 5.5], [TAG(1, 5), "x"]),
    ("$nothing", [], [0, None, "", {}]),
    ("$nothing / int", [1], ["x"]),
]
ACCEPTED = [(cddl, value) for cddl, good, _ in CASES for value in good]
REFUSED = [(cddl, value) for cddl, _, bad in CASES for value in bad]


@pytest.mark.parametrize(("cddl", "value"), ACCEPTED)
def test_value_of_the_type_matches(cddl, value):
    checker = compile_cddl(f"a = {cddl}").checker()
    assert checker.matches(value)
    assert checker.findings(value) == []


@pytest.mark.parametrize(("cddl", "value"), REFUSED)
def test_value_of_another_type_does_not_match(cddl, value):
    checker = compile_cddl(f"a = {cddl}").checker()
    assert not checker.matches(value)
    assert len(checker.findings(value)) >= 1


@pytest.mark.parametrize(
    ("cddl", "good", "bad"),
    [
        ("int", [1, 1.0, -3.0], [1.5, True, "1", 2.0**70]),
        ("uint", [1.0, 0.0], [-1.0, 0.5]),
        ("1", [1, 1.0], [2.0, True]),
        ("0..5", [3.0], [3.5, 6.0]),
        ("number", [1.0, 2], ["2"]),
        ("float", [1.0, 1, 1.5, 2**53 + 1, -(10**400) // 10**100], [True, "1", None, 10**400]),
        ("float16", [1, 1.5, 1.0], [100_001, 0.1]),
        ("1.0", [1, 1.0], [2, 1.5, True]),
        ("0.0..1.0", [0, 1, 0.5], [2, True]),
        ("uint .size 1", [255, 255.0], [256, 256.0, -1.0, 0.5]),
        ("uint .size (1..2)", [255.0], [65536.0]),
        ("uint .bits &(a: 0, b: 2)", [5, 5.0], [2.0]),
        ("#0.1", [1, 1.0], [2.0]),
        ("#1.0", [-1.0], [1.0]),
        ("#7", [1, 1.0, True, None], ["1"]),
        ("1 / 2 / 3 / 4", [1, 4.0], [5, 1.5, True]),
        ("uint .eq 1.0 / float .eq 1", [1, 1.0], [2]),
        ("bstr", [], ["", "aGk"]),
        ("biguint", [2**64], [1]),
        ("integer", [2**64, 1.0], [1.5]),
    ],
)
def test_json_has_one_kind_of_number(cddl, good, bad):
    checker = compile_cddl(f"a = {cddl}").checker(json=True)
    assert all(map(checker.matches, good))
    assert not any(map(checker.matches, bad))


GENERICS = [
    ("a = pair<int>  pair<t> = [t, t]", [[1, 2]], [[1, "x"], [1]]),
    (
        "a = message<1, tstr> / message<2, int>  message<t, v> = {type: t, value: v}",
        [{"type": 1, "value": "x"}, {"type": 2, "value": 5}],
        [{"type": 1, "value": 5}],
    ),
    (
        "a = tree<int>  tree<t> = {v: t, ? left: tree<t>, ? right: tree<t>}",
        [{"v": 1}, {"v": 1, "left": {"v": 2, "right": {"v": 3}}}],
        [{"v": 1, "left": {"v": "x"}}],
    ),
    ("a = opt<(int / tstr)>  opt<t> = t / nil", [1, "x", None], [b""]),
    ("a = [two<int, tstr>]  two<x, y> = (x, y)", [[1, "x"]], [["x", 1], [1]]),
    ("a = {wrap<g>}  wrap<t> = (t)  g = (k: int)", [{"k": 1}], [{}, {"k": "x"}]),
    (
        "a = outer<int>  outer<t> = inner<[t]>  inner<t> = {x: t}",
        [{"x": [1]}],
        [{"x": 1}, {"x": ["s"]}],
    ),
]
RULES = [
    # Extension of a rule of the prelude, which keeps its own; a text may start with a byte order
    # mark.
    ("a = int  int /= tstr", [1, "x"], [None]),
    ("\ufeffa = int / number  int /= tstr", [1, "x", 1.5], [None]),
    ("a = number  int /= tstr", [1], ["x"]),
    ("a = int  int = tstr  int /= bool", ["x", True], [1]),
    # Extension (2.2.2, 3.9): in any order, before or after the definition, and without one.
    ("a = b  b = int  b /= tstr  b /= bool", [1, "x", True], [None]),
    ("a = [$e]  $e /= int  $e /= tstr", [[1], ["x"]], [[None]]),
    (
        "a = {base, * $$more}  base = (k: int)  $$more //= (x: int)  $$more //= (y: tstr)",
        [{"k": 1}, {"k": 1, "x": 2}, {"k": 1, "y": "s"}, {"k": 1, "x": 2, "y": "s"}],
        [{"k": 1, "z": 1}, {"x": 1}],
    ),
    ("a = {k: int, * $$undefined}", [{"k": 1}], [{"k": 1, "x": 1}]),
    ("a = {k: int, $$undefined}", [], [{"k": 1}]),
    ("a = [g]  g = (int)  g //= (tstr, tstr)", [[1], ["x", "y"]], [["x"], [1, "x"]]),
    ("a = int  a = int", [1], ["x"]),
    # Groups and types by name (2.1), in maps and in arrays.
    ("a = [g]  g = (int, tstr)", [[1, "x"]], [[1], ["x", 1]]),
    ("a = {g}  g = (x: int, ? y: tstr)", [{"x": 1}, {"x": 1, "y": "s"}], [{}, {"x": 1, "y": 1}]),
    ("a = {g, z: int}  g = h  h = (x: int)", [{"x": 1, "z": 1}], [{"x": 1}]),
    ("a = [+ g]  g = (k: int)", [[1], [1, 2]], [[], ["x"]]),
    ("a = (int)", [1], ["x"]),
    ("a = ((int / (tstr)))", [1, "x"], [None]),
    ("a = {b}  b = (x: int // y: int)", [{"x": 1}, {"y": 1}], [{}, {"x": 1, "y": 1}]),
    # Unwrapping maps and arrays (3.7).
    (
        "a = {~base, b: int}  base = {a: int, ? c: int}",
        [{"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}],
        [{"b": 2}],
    ),
    ("a = [~base, int]  base = [tstr, tstr]", [["x", "y", 1]], [["x", 1]]),
    ("a = {~alias}  alias = base  base = {a: int}", [{"a": 1}], [{}]),
    ("a = ~b  b = #6.99(int)", [1], ["x"]),
    # Enumerations of a named group.
    ("a = &colours  colours = (red: 1, green: 2, dark)  dark = (black: 9)", [1, 2, 9], [3]),
    # Recursion.
    ("a = [* a]", [[], [[], [[]]]], [[1], 1]),
    ("a = {? next: a}", [{}, {"next": {"next": {}}}], [{"next": 1}]),
    ("a = [g]  g = (int, ? g)", [[1], [1, 2, 3]], [[], [1, "x"]]),
    ("a = int / [a, a]", [1, [1, [2, 3]]], [[1], [1, ["x", 2]]]),
    # A rule of the schema hides the prelude's; the prelude keeps its own.
    ("a = number  int = tstr", [1, 1.5], ["x"]),
    ("a = int  int = tstr", ["x"], [1]),
    # The first rule is the root; comments, commas and line ends are free.
    ("a = int ; the root\n; nothing\nb = tstr", [1], ["x"]),
    ("a={x:int,y:int}", [{"x": 1, "y": 1}], [{"x": 1}]),
    ("a = {x: int y: int}", [{"x": 1, "y": 1}], [{"x": 1}]),
    ("a = [int, tstr,]", [[1, "x"]], [[1]]),
    ("a = { }", [{}], [{"x": 1}, []]),
    ("a = [ ]", [[]], [[1], {}]),
    ("@x-y.z_1 = int", [1], ["x"]),
]


@pytest.mark.parametrize(("cddl", "good", "bad"), GENERICS + RULES)
def test_rules_work_together(cddl, good, bad):
    checker = compile_cddl(cddl).checker()
    for value in good:
        assert checker.matches(value), value
    for value in bad:
        assert not checker.matches(value), value
        assert checker.findings(value), value


def test_any_rule_or_type_expression_has_a_checker():
    schema = compile_cddl("a = {x: b}  b = int")
    assert schema.rules == ("a", "b")
    assert schema.root == "a"
    assert schema.checker("b").matches(1)
    assert schema.checker("[* b]").matches([1, 2])
    assert schema.checker("{k: b / tstr}").matches({"k": "x"})
    assert schema.checker("tstr").matches("x")
    assert schema.checker("b") is schema.checker("b")
    assert schema.checker("b", json=True) is not schema.checker("b")


def test_tuple_is_an_array_and_unknown_object_matches_only_any():
    schema = compile_cddl("a = [int, int]  b = any  c = int / tstr / {* any => any} / [* any]")
    assert schema.checker().matches((1, 2))
    assert schema.checker("b").matches(object())
    assert not schema.checker("c").matches(object())
    assert "Python object" in schema.checker("c").findings(object())[0].found
