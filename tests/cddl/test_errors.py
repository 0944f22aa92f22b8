"""Texts that are not CDDL and schemas that contradict themselves: errors with line and column."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacr.cddl.schema import Schema, compile_cddl
from vacr.cddl.tokens import CddlError

CASES = [
    ("a = #6.18446744073709551616(int)", "1:5", "64 bits"),
    ("a = ", "1:5", "expected a type"),
    ("a", "1:2", "expected '='"),
    ("= int", "1:1", "expected the name of a rule"),
    ("a = int\nb == int", "2:4", "expected a type"),
    ("a = [int", "1:6", "to close"),
    ("a = {x: int", "1:6", "to close"),
    ("a = (int", "1:6", "to close"),
    ("a = [int)", "1:9", "expected a type"),
    ('a = "abc', "1:5", "unexpected character"),
    ("a = 'abc", "1:5", "unexpected character"),
    ('a = "\\q"', "1:5", "not an escape"),
    ('a = "\\ud800"', "1:5", "not an escape"),
    ('a = "\\u{110000}"', "1:5", "not an escape"),
    ("a = h'0'", "1:5", "byte string"),
    ("a = h'xx'", "1:5", "byte string"),
    ("a = b64'!!'", "1:5", "byte string"),
    ("a = %", "1:5", "unexpected character '%'"),
    ("a = #8", "1:5", "no major type"),
    ("a = #3.<int>", "1:5", "only #6 and #7"),
    ("a = #6.<int(int)", "1:12", "expected '>'"),
    ("a = int / ", "1:11", "expected a type"),
    ("a = 1e400", "1:5", "out of range"),
    ("a = -1e400", "1:5", "out of range"),
    ("a = 0x1p99999", "1:5", "out of range"),
    ("a = 1..", "1:8", "expected a type"),
    ("a = [5*3 int]", "1:6", "above its maximum"),
    ("a = b", "1:5", "'b' is not defined"),
    ("a = {x: undefind}", "1:9", "is not defined"),
    ("a = int\na = tstr", "2:1", "defined twice"),
    ("a<t> = t\na /= int", "2:1", "other generic parameters"),
    ("a = b<int>\nb = int", "1:5", "generic arguments for 'b': expected 0, found 1"),
    ("a = b\nb<t> = t", "1:5", "generic arguments for 'b': expected 1, found 0"),
    ("a<> = int", "1:3", "generic parameter"),
    ("a = b<int\nb<t> = t", "2:1", "expected '>'"),
    ("a = (x: int)\nb = {k: a}", "2:9", "is a group"),
    ("a = [int] .size (x: int)", "1:18", "expected a type, found a group"),
    ("a = (int, int) / tstr", "1:6", "expected a type, found a group"),
    ("a = 1..2.5", "1:6", "a range needs"),
    ('a = 1.."x"', "1:6", "a range needs"),
    ("a = int..tstr", "1:5", "not defined"),
    ("a = int .. tstr", "1:9", "a range needs"),
    ("a = ~b\nb = int", "1:5", "cannot be unwrapped"),
    ("a = [~b]\nb = int", "1:6", "cannot be unwrapped"),
    ("a = &b\nb = int", "1:5", "is not a group"),
    ("a = & 5", "1:7", "expected a name"),
    ("a = a", "1:1", "refers to itself"),
    ("a = int\nb = c\nc = b", "2:1", "refers to itself"),
    ("a = a / int", "1:1", "refers to itself"),
    ("a = int / [a] / b\nb = a", "", "refers to itself"),
    ("a = a .size 3", "1:1", "refers to itself"),
    ("a = int .and a", "1:1", "refers to itself"),
    ("a = [g]\ng = (? g, int)", "2:1", "starts with itself"),
    ("a = [g]\ng = (g // int)", "2:1", "starts with itself"),
    ("a = [* g]\ng = (* int, g)", "2:1", "starts with itself"),
    ("a = {g}\ng = (x: int, ? g)", "2:1", "includes itself"),
    ("a = {x: int, ~a}", "", "itself"),
    ("a = grow<int>\ngrow<t> = [grow<[t]>]", "", "5000"),
    ("a = " + "[" * 60 + "]" * 60, "1:5", "nested deeper"),
    ("a = " + "(" * 5000 + "int" + ")" * 5000, "1:5", "nested deeper"),
    ("a = " + "b<" * 5000, "1:", "nested deeper"),
    ("a = " + "9" * 5000, "1:5", "digits"),
    (
        "a = {" + "".join(f"? (a{i}: int, b{i}: int)," for i in range(20)) + "}",
        "1:6",
        "combinations",
    ),
    (
        "a = {g0}\n"
        + "".join(f"g{i} = (g{i + 1}, g{i + 1})\n" for i in range(30))
        + "g30 = (x: int)",
        "",
        "combinations",
    ),
]


@pytest.mark.parametrize(("cddl", "place", "message"), CASES)
def test_mistake_is_reported_with_its_place(cddl, place, message):
    with pytest.raises(CddlError) as caught:
        compile_cddl(cddl, name="x.cddl").checker()
    assert message in caught.value.message
    assert f":{place}" in caught.value.where


def test_similar_rule_name_is_suggested():
    with pytest.raises(CddlError) as caught:
        compile_cddl("start = {x: recrd}\nrecord = int")
    assert caught.value.hint == "Did you mean 'record'?"


def test_text_without_rules_compiles_but_has_no_root():
    schema = compile_cddl("; nothing\n")
    assert schema.rules == ()
    with pytest.raises(CddlError, match="no rules"):
        schema.checker()
    assert schema.checker("int").matches(1)


@pytest.mark.parametrize(
    "rule", ["nope", "[* nope]", "int int", "", "{", "a = int", "g", "int .foo 1"]
)
def test_checker_of_an_invalid_expression_is_refused(rule):
    schema = compile_cddl("a = {g}  g = (x: int)")
    with pytest.raises(CddlError):
        schema.checker(rule)


TOKENS = [
    "a",
    "b",
    "=",
    "/=",
    "//=",
    "/",
    "//",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    "=>",
    "^",
    "*",
    "+",
    "?",
    "2*3",
    ",",
]
TOKENS += [
    "int",
    "tstr",
    "bstr",
    "any",
    '"x"',
    "'y'",
    "h'00'",
    "1",
    "-2",
    "1.5",
    "..",
    "...",
    "~",
    "&",
    "#",
    "#6.1(",
]
TOKENS += [
    ".size",
    ".regexp",
    ".and",
    ".cbor",
    ".plus",
    "<",
    ">",
    "$s",
    "$$g",
    "\n",
    ";",
    "#6.<",
    ".default",
    ".bits",
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=30).map(lambda tokens: "a = " + " ".join(tokens)))
def test_shuffled_tokens_compile_or_are_refused(text):
    _compile_and_use(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_random_text_compiles_or_is_refused(text):
    _compile_and_use(text)


def _compile_and_use(text):
    try:
        schema = compile_cddl(text)
    except CddlError as error:
        assert error.where  # noqa: PT017 - both outcomes are right, and the error has to say where
        return
    assert isinstance(schema, Schema)
    if schema.rules:
        try:
            checker = schema.checker()
        except CddlError:
            return
        for value in (1, "x", b"x", [1, "x"], {"x": 1, "a": 2}, None):
            assert bool(checker.findings(value)) is not checker.matches(value)
