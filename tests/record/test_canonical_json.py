"""Canonical JSON: one text for each value, and a strict decoder."""

import json

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tests.record.value_strategies import JSON, KEYS
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.record.canonical_json import (
    decode_json,
    decode_unicode_escapes,
    encode_canonical_json,
    encode_decoded_json,
    is_exact_json,
    is_same_apart_from_escapes,
)
from vacr.record.json_text import MAX_DEPTH


def is_accepted_by_rfc(value):
    """Return whether RFC 8785 accepts a value: our profile adds integers above 2^53."""
    if isinstance(value, dict):
        return all(map(is_accepted_by_rfc, value.values()))
    if isinstance(value, list):
        return all(map(is_accepted_by_rfc, value))
    return not isinstance(value, int | float) or isinstance(value, bool) or abs(value) < 2**53


@given(JSON)
def test_agrees_with_rfc_8785_on_values_the_rfc_accepts(value):
    if is_accepted_by_rfc(value):
        assert encode_canonical_json(value) == rfc8785.dumps(value)


@given(JSON)
def test_canonical_bytes_round_trip(value):
    data = encode_canonical_json(value)
    assert encode_canonical_json(decode_json(data)) == data
    assert encode_decoded_json(decode_json(data)) == data
    assert msgspec.json.decode(data) == json.loads(data)


@given(st.dictionaries(KEYS, st.integers(0, 9), max_size=8))
def test_keys_are_in_utf16_order(value):
    keys = [
        key
        for key, _ in json.JSONDecoder(object_pairs_hook=list).decode(
            encode_canonical_json(value).decode()
        )
    ]
    assert keys == sorted(value, key=lambda key: key.encode("utf-16-be"))


@pytest.mark.parametrize("before", ["", '"', "\\", '\\"', "\\\\", '":', "x" * 99 + '"', "\n"])
@pytest.mark.parametrize("after", ["", '"', "\\", '\\"', "\\\\", '":', ':"'])
def test_keys_are_in_utf16_order_next_to_any_text(before, after):
    odd = f"{before}\U0001f600{after}"
    for value in ({odd: 1, f"{before}\ue000": 2}, {"a": odd, odd: 1, f"{before}\ue000": odd}):
        assert list(json.loads(encode_canonical_json(value))) == sorted(
            value, key=lambda key: key.encode("utf-16-be")
        )


@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_spelling_decodes_to_the_same_value(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert encode_canonical_json(decode_json(text)) == encode_canonical_json(value)


REFUSED = [
    ("repeated member", b'{"a":1,"a":2}', "/: member 'a' occurs more than once"),
    (
        "repeated member, inside",
        b'{"x":[{"b":1},{"a":1,"b":2,"a":3}]}',
        "/x/1: member 'a' occurs more than once",
    ),
    (
        "repeated member, spaced",
        b'{"a" : 1 , "b":2, "a" : 2}',
        "/: member 'a' occurs more than once",
    ),
    ("repeated member, escaped", b'{"a":1,"\\u0061":2}', "/: member 'a' occurs more than once"),
    ("repeated member ending in a backslash", b'{"a\\\\":1,"a\\\\":2}', "occurs more than once"),
    ("text after the value", b'{"a":1} x', "line 1, column 9: not JSON"),
    ("a second value", b"{}\n{}", "line 2, column 1: more text after the value"),
    ("number out of range", b'{"n":1e400}', "/n: number out of range: 1e400"),
    ("not a number", b'{"n":[NaN]}', "/n/0: number out of range: NaN"),
    ("infinity", b'{"n":-Infinity}', "/n: number out of range: -Infinity"),
    ("an integer of too many digits", b"[" + b"9" * 5000 + b"]", "/0: number out of range"),
    ("lone surrogate", b'["a\\ud800"]', "/0: lone surrogate"),
    ("lone surrogate in a key", b'{"\\udc00":1}', "lone surrogate"),
    ("raw surrogate bytes", b'["\xed\xa0\x80"]', "column 3: byte 0xed is not UTF-8"),
    ("not UTF-8", b'["\xff"]', "column 3: byte 0xff is not UTF-8"),
    ("control character", b'["\x01"]', "control character"),
    ("byte order mark", b"\xef\xbb\xbf{}", "byte order mark"),
    ("too deep", b"[" * 100_000 + b"]" * 100_000, f"nested deeper than {MAX_DEPTH} levels"),
    ("one too deep", b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested deeper"),
    (
        "one too deep, with siblings",
        b'{"a":1,"b":' * (MAX_DEPTH + 1) + b"0" + b',"c":2}' * (MAX_DEPTH + 1),
        "nested deeper",
    ),
    ("cut off", b'{"a":"b', "not JSON"),
    ("empty", b"", "no JSON value"),
    ("blank", b" \n", "no JSON value"),
    ("single quotes", b"{'a':1}", "not JSON"),
]


@pytest.mark.parametrize(
    ("data", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_invalid_json_is_refused_with_its_place(data, message):
    with pytest.raises(UnreadableInput) as caught:
        decode_json(data)
    assert message in str(caught.value)


def test_nesting_is_accepted_up_to_the_limit():
    data = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert encode_canonical_json(decode_json(data)) == data


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {1: 2}}, "/a: a key of type int"),
        ({"a": [b"x"]}, "/a/0: a value of type bytes cannot be written as JSON"),
        ({"a": "\ud800"}, "/a: a lone surrogate"),
        ({"\ud800": 1}, "a lone surrogate"),
        ({"a~/b": {"c": object()}}, "/a~0~1b/c: a value of type object cannot"),
    ],
)
def test_values_json_cannot_express_are_refused_with_their_pointer(value, message):
    with pytest.raises(InvalidRecord) as caught:
        encode_canonical_json(value)
    assert message in str(caught.value)


def test_values_too_deep_to_decode_are_not_encoded():
    value: list = []
    for _ in range(MAX_DEPTH + 5):
        value = [value]
    with pytest.raises(InvalidRecord, match="nested deeper"):
        encode_canonical_json(value)


@given(
    st.binary(max_size=60)
    | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_random_bytes_decode_or_raise_our_error(data):
    try:
        value = decode_json(data)
    except UnreadableInput:
        return
    assert decode_json(encode_canonical_json(value)) == value


@given(JSON, st.data())
def test_mutated_bytes_decode_or_raise_our_error(value, data):
    text = bytearray(encode_canonical_json(value))
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        canonical = encode_canonical_json(decode_json(bytes(text)))
    except UnreadableInput:
        return
    assert encode_canonical_json(decode_json(canonical)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2,"b":"\\u003ax"}',
        b'{"a":1,"a":2,"b":"\\u003Ax"}',
        b'{ "a\\\\": 1, "a\\\\": 2 }',
        b'{\n  "a": {"b": 1,\n "b": ": \\\\\\": 1"}\n}',
    ],
)
def test_repeated_member_is_found_in_any_text(text):
    with pytest.raises(UnreadableInput, match="more than once"):
        decode_json(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb'"caf\u00e9"', '"café"'),
        (rb'"\ud83d\ude00"', '"😀"'),
        (rb'"\u0022\u005c\u000A"', r'"\"\\\n"'),
        (rb'"\\u00e9"', r'"\\u00e9"'),
        (rb'"\\\u00e9"', r'"\\é"'),
    ],
)
def test_only_real_escapes_are_decoded(text: bytes, expected: str) -> None:
    assert decode_unicode_escapes(text) == expected.encode()


@given(st.lists(st.sampled_from(["é", "€", "😀", "\\", '"', "\n", "u00e9", "x" * 3000])))
def test_texts_are_the_same_apart_from_escapes(pieces: list[str]) -> None:
    escaped = json.dumps("".join(pieces)).encode()
    again = json.dumps("".join(pieces), ensure_ascii=False).encode()
    if len(pieces) < 16:
        assert is_same_apart_from_escapes(again, escaped)
    for other in (again + b" ", again[:-1], again.replace("é".encode(), "è".encode())):
        assert other == again or not is_same_apart_from_escapes(other, escaped)


@given(st.text())
def test_decoded_escapes_mean_the_same_text(text: str) -> None:
    escaped = json.dumps(text).encode()
    assert json.loads(decode_unicode_escapes(escaped)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb'{"a": "\u00e9", "b": 1}', True),
        (rb'{"a": "\u00e9", "a": 1}', False),
        (rb'{"\u0061": 1, "a": 2}', False),
        (b'{"a": ' + b"[" * 20 + b"]" * 20 + b"}", True),
    ],
)
def test_repeated_members_are_noticed_despite_escapes(text: bytes, expected: bool) -> None:
    assert is_exact_json(json.loads(text), text, MAX_DEPTH) is expected


def test_depth_beyond_the_limit_is_not_exact() -> None:
    text = b"[" * 300 + b"]" * 300
    assert not is_exact_json(json.loads(text), text, 299)
    assert is_exact_json(json.loads(text), text, 300)
