"""Deterministic CBOR: one encoding for each value, and a strict decoder."""

import math

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.value_strategies import JSON, TEXT
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.record.canonical_json import encode_canonical_json
from vacr.record.cbor import (
    CborScanner,
    decode_cbor,
    decode_shortest_cbor,
    encode_deterministic_cbor,
)
from vacr.record.encoding import RECORD_CBOR_TAG, decode, encode
from vacr.record.json_text import MAX_DEPTH

ITEMS = st.recursive(
    JSON | st.binary(max_size=8) | st.just(cbor2.undefined),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            TEXT | st.integers(-(2**64), 2**64 - 1) | st.binary(max_size=4), inner, max_size=4
        )
        | st.builds(cbor2.CBORTag, st.integers(6, 2**32), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_json_to_cbor_and_back_returns_the_same_bytes(value):
    text = encode(value, "json")
    data = encode(decode(text, "json"), "cbor")
    assert encode(decode(data, "cbor"), "json") == text
    assert encode(decode(data, "cbor"), "cbor") == data


@given(ITEMS)
def test_encoded_values_decode_to_themselves(value):
    data = encode_deterministic_cbor(value)
    assert encode_deterministic_cbor(decode_cbor(data)) == data


@given(ITEMS)
def test_keys_are_in_bytewise_order(value):
    def check(item):
        if isinstance(item, cbor2.CBORTag):
            check(item.value)
        elif isinstance(item, list):
            [check(inner) for inner in item]
        elif isinstance(item, dict):
            keys = [encode_deterministic_cbor(key) for key in item]
            assert keys == sorted(keys)
            [check(inner) for inner in item.values()]

    check(decode_cbor(encode_deterministic_cbor(value)))


KEYS = st.recursive(
    TEXT | st.integers(-9, 2**64) | st.floats() | st.floats(width=16) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(inner, inner, max_size=3).map(cbor2.frozendict)
        | st.builds(cbor2.CBORTag, st.integers(6, 40), inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, KEYS, max_size=3), st.booleans())
def test_maps_with_any_keys_decode_as_the_scanner_does(value, canonical):
    """Floats, lists, tags and other maps may be keys, and maps in keys may have such keys, too."""
    data = cbor2.dumps(value, canonical=canonical)
    scanner = CborScanner(data, MAX_DEPTH)
    assert decode_or_describe(lambda: decode_cbor(data)) == decode_or_describe(
        scanner.read_whole_item
    )
    assert_deterministic(data)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_have_the_shortest_form(value):
    data = encode_deterministic_cbor(value)
    assert cbor2.loads(data) == value
    assert len(data) == min(len(cbor2.dumps(value, canonical=True)), 9)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({100000: 1, "a": 2}, "a21a000186a001616102"),
        (
            {10: 1, 100: 2, -1: 3, "z": 4, "aa": 5},
            "a50a0118640220036 17a0462616105".replace(" ", ""),
        ),
        (1.5, "f93e00"),
        (2**64, "c249010000000000000000"),
        (-(2**64), "3bffffffffffffffff"),
        ({cbor2.frozendict({"a": 2, 100000: 1}): 3}, "a1a21a000186a00161610203"),
        (cbor2.CBORTag(18, [b"", {}, None, b""]), "d28440a0f640"),
    ],
)
def test_value_has_this_encoding(value, expected):
    assert encode_deterministic_cbor(value).hex() == expected


REFUSED = [
    ("indefinite array", "9f01ff", "indefinite length"),
    ("indefinite map", "bf616101ff", "indefinite length"),
    ("indefinite text", "7f6161ff", "indefinite length"),
    ("repeated key", "a2616101616102", "byte 4: key 'a' occurs more than once"),
    ("repeated key inside", "a16162a2616101616102", "(/b): key 'a' occurs more than once"),
    (
        "keys equal as numbers",
        "a20102f93c0003",
        "occurs more than once",
    ),
    ("bytes after the item", "a000", "1 more bytes after the item"),
    ("not a number", "f97e00", "nan is not a finite number"),
    ("not a number, long", "fb7ff8000000000001", "nan is not a finite number"),
    ("infinity", "f97c00", "inf is not a finite number"),
    ("not a number as a key", "a1f97e0001", "nan is not a finite number"),
    ("not a number in a map as a key", "a1a1f97e000101", "nan is not a finite number"),
    ("infinity as a key", "a1f97c0001", "inf is not a finite number"),
    ("cut off", "a26161", "byte 3"),
    ("text not UTF-8", "61ff", "not UTF-8"),
    ("reserved head", "1c", "a first byte that CBOR reserves"),
    ("reserved simple value", "f818", "reserved simple value"),
    ("a break alone", "ff", "break"),
    ("a huge array", "9bffffffffffffffff00", "items announced"),
    ("a huge text", "7b7fffffffffffffff61", "bytes announced"),
    ("too deep", "81" * 100_000 + "00", f"nested deeper than {MAX_DEPTH} levels"),
    ("too deep by tags", "c6" * 5000 + "00", "nested deeper"),
    ("empty", "", "byte 0"),
]


@pytest.mark.parametrize(
    ("data", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_invalid_cbor_is_refused_with_its_place(data, message):
    with pytest.raises(UnreadableInput) as caught:
        decode_cbor(bytes.fromhex(data))
    assert message in str(caught.value)


def test_repeated_texts_are_never_abbreviated():
    value = cbor2.CBORTag(256, {"total": {"total": None, "lines": ["lines"]}})
    data = encode_deterministic_cbor([value])
    assert data.count(b"total") == data.count(b"lines") == 2
    assert encode_deterministic_cbor(decode_cbor(data)) == data


def test_tags_stay_tags():
    assert decode_cbor(
        bytes.fromhex("c074323031332d30332d32315432303a30343a30305a")
    ) == cbor2.CBORTag(0, "2013-03-21T20:04:00Z")
    assert decode_cbor(bytes.fromhex("d9010281 01".replace(" ", ""))) == cbor2.CBORTag(258, [1])


def test_record_tag_is_optional():
    record = {"version": "3.0.0-draft"}
    tagged = encode_deterministic_cbor(cbor2.CBORTag(RECORD_CBOR_TAG, record))
    assert decode(tagged) == decode(encode_deterministic_cbor(record)) == record


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, {"a": [-math.inf]}, {math.nan: 1}, "\ud800", object()]
)
def test_unencodable_values_are_refused(value):
    with pytest.raises(InvalidRecord):
        encode_deterministic_cbor(value)


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        ("a161618101", None),
        ("a1616141ff", "/a"),
        ("a1616182f7f7", "/a/0"),
        ("a1016161", "/"),
        ("a16161c6f6", "/a"),
    ],
)
def test_values_only_cbor_has_are_refused_in_json(data, pointer):
    value = decode_cbor(bytes.fromhex(data))
    if pointer is None:
        assert encode_canonical_json(value) == b'{"a":[1]}'
    else:
        with pytest.raises(InvalidRecord) as caught:
            encode_canonical_json(value)
        assert caught.value.where == pointer


@given(st.binary(max_size=40))
def test_random_bytes_decode_or_raise_our_error(data):
    assert_deterministic(data)


def assert_deterministic(data):
    """Check that bytes are refused, or are a value that has one encoding."""
    try:
        canonical = encode_deterministic_cbor(decode_cbor(data))
    except UnreadableInput:
        return
    assert encode_deterministic_cbor(decode_cbor(canonical)) == canonical


@given(ITEMS, st.data())
def test_mutated_bytes_decode_or_raise_our_error(value, data):
    item = bytearray(encode_deterministic_cbor(value))
    for _ in range(data.draw(st.integers(1, 3))):
        item[data.draw(st.integers(0, len(item) - 1))] = data.draw(st.integers(0, 255))
    assert_deterministic(bytes(item))


MAX_TEST_DEPTH, MAX_TEST_ITEMS = 5, 40

ANY_ITEMS = st.recursive(
    JSON
    | st.binary(max_size=8)
    | st.floats(width=16)
    | st.sampled_from([cbor2.undefined, math.nan, math.inf, -math.inf, 2**64, -(2**64) - 1])
    | st.sampled_from([cbor2.CBORSimpleValue(0), cbor2.CBORSimpleValue(255)]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXT | st.integers(-(2**64), 2**64 - 1), inner, max_size=4)
        | st.dictionaries(st.tuples(st.integers(0, 3)) | st.booleans(), inner, max_size=2)
        | st.builds(cbor2.CBORTag, st.integers(0, 300), inner)
    ),
    max_leaves=12,
)


def decode_or_describe(decode):
    """Return the value with its types, or the message of the error."""
    try:
        return repr(decode())
    except UnreadableInput as error:
        return str(error)


def assert_scanner_agrees(data):
    """Check that the short way of decoding returns and refuses the same as the scanner."""
    scanner = CborScanner(data, MAX_TEST_DEPTH, shortest=True, max_items=MAX_TEST_ITEMS)
    fast = decode_or_describe(
        lambda: decode_shortest_cbor(data, max_depth=MAX_TEST_DEPTH, max_items=MAX_TEST_ITEMS)
    )
    assert fast == decode_or_describe(scanner.read_whole_item)


@given(ANY_ITEMS, st.booleans(), st.data())
def test_fast_decoding_agrees_with_the_scanner(value, canonical, data):
    encoded = cbor2.dumps(value, canonical=canonical)
    assert_scanner_agrees(encoded)
    position = data.draw(st.integers(0, len(encoded) - 1))
    changed = bytearray(encoded)
    changed[position] = data.draw(st.integers(0, 255))
    assert_scanner_agrees(bytes(changed))
    assert_scanner_agrees(encoded[:position])
    assert_scanner_agrees(encoded + bytes(changed[:1]))


@given(st.binary(max_size=40))
def test_fast_decoding_agrees_with_the_scanner_about_random_bytes(data):
    assert_scanner_agrees(data)


@pytest.mark.parametrize("head", ["81", "a100", "c6", "d2", "d8ff", "a1"])
@pytest.mark.parametrize("depth", range(1, MAX_TEST_DEPTH + 3))
@pytest.mark.parametrize(
    "inner", ["00", "80", "a0", "f97e00", "1800", "c24101", "fb3ff0000000000000"]
)
def test_fast_decoding_has_the_same_limits_as_the_scanner(head, depth, inner):
    assert_scanner_agrees(bytes.fromhex(head * depth + inner))
    assert_scanner_agrees(bytes.fromhex("d2" + head * depth + inner))


def test_fast_decoding_counts_items_like_the_scanner():
    for count in range(MAX_TEST_ITEMS - 2, MAX_TEST_ITEMS + 2):
        assert_scanner_agrees(cbor2.dumps([0] * count))
        assert_scanner_agrees(cbor2.dumps([bytes(count)]))


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("data", ["00", "80", "8180", "c600", "d280", "818180", "d28180"])
def test_fast_decoding_obeys_the_smallest_depths(data, max_depth):
    encoded = bytes.fromhex(data)
    scanner = CborScanner(encoded, max_depth, shortest=True, max_items=9)
    fast = decode_or_describe(
        lambda: decode_shortest_cbor(encoded, max_depth=max_depth, max_items=9)
    )
    assert fast == decode_or_describe(scanner.read_whole_item)
