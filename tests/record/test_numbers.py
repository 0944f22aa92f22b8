"""Numbers: canonical text, exact round trips, and native spellings."""

import json
import math
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from vacr.errors import InvalidRecord
from vacr.record.canonical_json import decode_json, encode_canonical_json, encode_decoded_json
from vacr.record.json_text import encode_native_json, format_float, parse_spelled_float

FINITE = st.floats(allow_nan=False, allow_infinity=False)
BITS = (
    st.integers(0, 2**64 - 1)
    .map(lambda bits: struct.unpack(">d", bits.to_bytes(8, "big"))[0])
    .filter(math.isfinite)
)


def encode_as_rfc_8785(value):
    """Return RFC 8785's text, except for floats that would be mistaken for another integer."""
    text = rfc8785.dumps(value)
    if b"." not in text and b"e" not in text and int(text) != value:
        return None
    return text


@given(FINITE | BITS)
def test_floats_are_written_as_in_rfc_8785(value):
    assert format_float(value).encode() == (
        encode_as_rfc_8785(value) or format_float(value).encode()
    )


@given(FINITE | BITS | st.integers(2**53, 10**21).map(float))
def test_every_float_round_trips_exactly(value):
    assert json.loads(format_float(value)) == value
    assert decode_json(format_float(value).encode()) == value


@given(FINITE | BITS)
def test_encoder_and_format_float_agree(value):
    assert encode_canonical_json([value]) == f"[{format_float(value)}]".encode()


@given(FINITE | BITS)
def test_canonical_numbers_round_trip(value):
    data = encode_canonical_json([value])
    assert encode_canonical_json(decode_json(data)) == data
    assert encode_decoded_json(decode_json(data)) == data


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1.0", "1"),
        ("-0.0", "0"),
        ("1e16", "10000000000000000"),
        ("1E2", "100"),
        ("1e20", "100000000000000000000"),
        ("18446744073709551616.5", "1.8446744073709552e+19"),
        ("-1234567890123456789.0", "-1.2345678901234568e+18"),
        ("1e21", "1e+21"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("5e-324", "5e-324"),
        ("0.10", "0.1"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("18446744073709551616", "18446744073709551616"),
        ("-18446744073709551617", "-18446744073709551617"),
    ],
)
def test_spellings_have_one_canonical_form(text, written):
    assert encode_canonical_json(decode_json(text.encode())) == written.encode()


@given(
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
)
def test_native_spelling_is_kept(text):
    if "." in text or "e" in text.lower():
        value = parse_spelled_float(text)
        assert encode_native_json(value) == text.encode()
        assert encode_decoded_json(value) == format_float(float(text)).encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(InvalidRecord, match="not a finite number"):
        encode_canonical_json({"a": value})
