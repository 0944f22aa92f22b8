"""Two encoders write JSON; whichever does, the text is the same."""

import json

import msgspec
import orjson
import pytest
from hypothesis import given

from tests.codec.strategies import JSON
from vacr.codec import canonical_json, json_text
from vacr.codec.depth import MAX_DEPTH
from vacr.readers.lines import decode_native


def nested(levels):
    return b'{"a":[' * levels + b"1.0" + b"]}" * levels


REFUSED = {
    "an integer past 64 bits": b'{"b":18446744073709551616,"a":1.50}',
    "nested deeper than orjson goes": nested(MAX_DEPTH // 2 - 10),
}


@given(JSON)
def test_both_encoders_write_the_same(value):
    decoded = canonical_json.decode(canonical_json.encode(value))
    assert json_text.native_text(decoded) == json_text._native_encoder.encode(decoded)
    assert json_text.sorted_text(decoded) == json_text._sorted_encoder.encode(decoded)
    assert json_text.native_text(decoded, indented=True) == msgspec.json.format(
        json_text._native_encoder.encode(decoded), indent=2
    )


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_orjson_refuses_is_written_too(text):
    value = decode_native(text)
    with pytest.raises(TypeError):
        orjson.dumps(value, default=json_text._native_fragment)
    assert json_text.native_text(value) == text
    assert json.loads(json_text.native_text(value, indented=True)) == json.loads(text)
    assert json_text.sorted_text(value) == canonical_json.encode(value)


@pytest.mark.parametrize("write", [json_text.native_text, json_text.sorted_text])
def test_what_json_has_no_type_for_is_refused(write):
    with pytest.raises(TypeError, match="not a type of JSON"):
        write([object()])


def test_a_text_that_is_none_is_refused():
    with pytest.raises(UnicodeEncodeError):
        json_text.native_text(["\ud800"])
