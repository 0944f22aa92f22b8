"""Generated instances match, are the same for the same seed, and are refused if impossible."""

import json

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacr.cddl.schema import compile_cddl
from vacr.cddl.string_contents import decode_cbor_item
from vacr.cddl.tokens import CddlError
from vacr.record.canonical_json import encode_canonical_json
from vacr.record.validation import load_record_schema

SCHEMAS = [
    "a = int / tstr / bool / nil / float16 / float32",
    "a = [* (int, tstr)]",
    "a = [? int, + tstr, 2*3 {x: int}]",
    "a = {x: int, ? y: tstr, * tstr => any}",
    "a = {+ tstr => int, ? k: tstr}",
    "a = {2*4 tstr => int}",
    "a = {a: int // b: tstr, c: bool}",
    "a = {? (a: int, b: int), (c: 1 // d: 2)}",
    "a = tree<int>  tree<t> = {v: t, ? l: tree<t>, ? r: tree<t>}",
    "a = [* a]",
    "a = int / [a, a]",
    "a = [g]  g = (int, ? g)",
    "a = {next: a} / {end: true}",
    'a = tstr .regexp "[A-Z]{2}(-[0-9]+)?|none"',
    "a = tstr .size 5",
    "a = tstr .size (2..4)",
    "a = uint .size 2",
    "a = uint .bits &(x: 0, y: 5)",
    "a = int .lt 5",
    "a = number .ge 1.5",
    "a = uint .le 0",
    "a = int .ne 0",
    "a = int .and (3..9)",
    'a = ("x" .cat "y") / (1 .plus 1)',
    'a = tstr .abnf "1*3(%x61-63) [\\"end\\"]"',
    "a = tstr .b64u bstr",
    "a = tstr .hexuc (bstr .size 3)",
    "a = tstr .base10 (0..10)",
    "a = tstr .json {x: int}",
    "a = -5..5 / 1.0..2.0 / 3...9",
    "a = &(x: 1, y: 2)",
    "a = {~b, c: int}  b = {a: int}",
    "a = any",
    "a = [* any]",
    "a = {* tstr => any}",
    "a = int .default 5",
    'a = tstr .feature "x"',
    "a = #4.2 / #5.1 / #3.3 / #0.24",
    "a = bstr / int",
    "a = {? 1 => int, k: int}",
    "a = {* (tstr / int) => int}",
]
CBOR_ONLY = [
    "a = bstr",
    "a = bstr .size 3",
    "a = bstr .bits (0..12)",
    "a = #6.99(tstr)",
    "a = #6.<1000..1003>(int)",
    "a = #7.99",
    "a = undefined",
    "a = bstr .cbor {x: [* int]}",
    "a = bstr .cborseq [int, ? tstr]",
    "a = {1 => int, 2 => bstr}",
    "a = {+ int => bstr}",
    "a = {+ [int, int] => tstr}",
    "a = biguint",
    "a = [bstr]",
    "a = h'00'",
    'a = bstr .abnfb "1*%x00-ff"',
]


@pytest.mark.parametrize("cddl", SCHEMAS)
def test_instances_match(cddl):
    schema = compile_cddl(cddl)
    for seed in range(25):
        value = schema.generate(seed=seed)
        json.dumps(value, allow_nan=False)
        assert schema.checker(json=True).findings(value) == []
        assert schema.generate(seed=seed) == value
        assert schema.checker().findings(schema.generate(seed=seed, json=False)) == []


@pytest.mark.parametrize("cddl", CBOR_ONLY)
def test_types_json_lacks_are_generated_only_for_cbor(cddl):
    schema = compile_cddl(cddl)
    for seed in range(10):
        assert schema.checker().findings(schema.generate(seed=seed, json=False)) == []
    with pytest.raises(CddlError, match="no instance in JSON"):
        schema.generate(seed=1)


@pytest.mark.parametrize(
    "cddl",
    [
        "a = [a]",
        "a = {x: b}  b = [+ b]",
        "a = $nothing",
        "a = 5..1",
        "a = int .and tstr",
        "a = [* int, int]",
        "a = [99999* int]",
        "a = {2* x: int}",
        'a = tstr .pcre "(?=x)y"',
    ],
)
def test_type_without_an_instance_is_refused(cddl):
    with pytest.raises(CddlError, match="instance"):
        compile_cddl(cddl).generate(seed=1, json=False)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["1", "2", "3"]), st.booleans())
def test_generated_records_match(seed, version, as_json):
    schema = load_record_schema(version)
    value = schema.generate(seed=seed, json=as_json)
    assert schema.checker(json=as_json).findings(value) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_generated_signed_records_match(seed):
    schema = load_record_schema("3")
    value = schema.generate("scitt-signed-agent-record", seed=seed, json=False)
    assert schema.checker("signed-agent-record").findings(value) == []


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5)
)


def mutate(value, random, replacement):
    """Replace or remove one place of a value, chosen at random."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        if random.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutate(value[key], random, replacement)}
    if isinstance(value, list) and value and random.random() < 0.9:
        index = random.randrange(len(value))
        return [*value[:index], mutate(value[index], random, replacement), *value[index + 1 :]]
    return replacement


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["1", "2", "3"]),
    st.randoms(),
    SCALARS | st.lists(SCALARS, max_size=2),
)
def test_mutated_record_matches_or_has_findings(seed, version, random, replacement):
    schema = load_record_schema(version)
    value = mutate(schema.generate(seed=seed), random, replacement)
    checker = schema.checker(json=True)
    findings = checker.findings(value)
    assert bool(findings) is not checker.matches(value)
    assert all(finding.text() for finding in findings)


JSONISH = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abxy", max_size=2) | st.integers(0, 2), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SCHEMAS + CBOR_ONLY), JSONISH)
def test_any_value_matches_or_has_findings(cddl, value):
    checker = compile_cddl(cddl).checker()
    assert bool(checker.findings(value)) is not checker.matches(value)


@pytest.mark.parametrize(
    "cddl",
    [
        "a = float",
        "a = float16",
        "a = 0.0..1000.0",
        "a = 1000.0",
        "a = {x: float, * tstr => float}",
    ],
)
def test_numbers_match_after_a_round_trip_through_canonical_json(cddl):
    schema = compile_cddl(cddl)
    for seed in range(25):
        written = encode_canonical_json(schema.generate(seed=seed))
        assert schema.checker(json=True).findings(json.loads(written)) == []


@pytest.mark.parametrize(
    "cddl", ["a = bigint", "a = [* integer]", "a = #6.2(bstr .size 2)", "a = decfrac"]
)
def test_bignums_match_after_a_round_trip_through_cbor(cddl):
    schema = compile_cddl(cddl)
    for seed in range(25):
        written = cbor2.dumps(schema.generate(seed=seed, json=False))
        assert schema.checker().findings(decode_cbor_item(written)) == []


@pytest.mark.parametrize(
    "cddl", ["a = {* (int => int, tstr => tstr)}", "a = {2*3 (int => int, tstr => tstr)}"]
)
def test_generated_entries_of_a_repeated_group_share_a_count(cddl):
    schema = compile_cddl(cddl)
    for seed in range(25):
        assert schema.checker().findings(schema.generate(seed=seed, json=False)) == []


def test_tag_number_past_64_bits_has_no_instance():
    with pytest.raises(CddlError):
        compile_cddl("a = #6.<18446744073709551616>(int)").generate(seed=1, json=False)


@pytest.mark.parametrize(
    ("cddl", "message"),
    [
        ("a = undefined", "or a simple value other than true, false and null"),
        ("a = #7.5", "JSON has no simple value 5"),
    ],
)
def test_error_names_simple_values_that_json_lacks(cddl, message):
    with pytest.raises(CddlError) as caught:
        compile_cddl(cddl).generate(seed=1)
    assert message in str(caught.value)


def test_hint_about_cbor_has_no_python_words():
    with pytest.raises(CddlError) as caught:
        compile_cddl("a = bstr").generate(seed=1)
    assert "CBOR" in str(caught.value.hint)
    assert "False" not in str(caught.value.hint)


def test_too_costly_instance_is_not_generated(monkeypatch):
    monkeypatch.setattr("vacr.cddl.regexp._MAX_TEXT_WORK", 10)
    with pytest.raises(CddlError, match="no instance"):
        compile_cddl('a = tstr .regexp "(a|b)*a(a|b){50}"').generate(seed=1)
