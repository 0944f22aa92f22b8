"""The two JSON encoders, orjson and msgspec, write the same text."""

import json

import msgspec
import orjson
import pytest
from hypothesis import given

from tests.record.value_strategies import JSON
from vacr.agents.documents import decode_native_json
from vacr.record.canonical_json import decode_json, encode_canonical_json
from vacr.record.json_text import (
    MAX_DEPTH,
    _make_native_fragment,
    _native_encoder,
    _sorted_encoder,
    encode_native_json,
    encode_sorted_json,
)


def nest(levels):
    return b'{"a":[' * levels + b"1.0" + b"]}" * levels


REFUSED = {
    "an integer past 64 bits": b'{"b":18446744073709551616,"a":1.50}',
    "nested deeper than orjson goes": nest(MAX_DEPTH // 2 - 10),
}


@given(JSON)
def test_both_encoders_write_the_same_text(value):
    decoded = decode_json(encode_canonical_json(value))
    assert encode_native_json(decoded) == _native_encoder.encode(decoded)
    assert encode_sorted_json(decoded) == _sorted_encoder.encode(decoded)
    assert encode_native_json(decoded, indented=True) == msgspec.json.format(
        _native_encoder.encode(decoded), indent=2
    )


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_values_orjson_refuses_are_written(text):
    value = decode_native_json(text)
    with pytest.raises(TypeError):
        orjson.dumps(value, default=_make_native_fragment)
    assert encode_native_json(value) == text
    assert json.loads(encode_native_json(value, indented=True)) == json.loads(text)
    assert encode_sorted_json(value) == encode_canonical_json(value)


@pytest.mark.parametrize("write", [encode_native_json, encode_sorted_json])
def test_types_json_lacks_are_refused(write):
    with pytest.raises(TypeError, match="JSON has no type for object"):
        write([object()])


def test_lone_surrogate_is_refused():
    with pytest.raises(UnicodeEncodeError):
        encode_native_json(["\ud800"])
