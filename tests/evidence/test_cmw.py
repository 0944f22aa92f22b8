"""Wrapped messages: round trips, and malformed ones."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacr.errors import InvalidStatement, UsageError
from vacr.evidence.messages import (
    COLLECTION_TYPE_MEMBER,
    CmwCollection,
    CmwRecord,
    compute_format_tag,
    decode_cmw,
    encode_cmw_cbor,
    encode_cmw_json,
    list_cmw_records,
)
from vacr.record.canonical_json import encode_canonical_json

types = st.sampled_from(
    ["application/eat+cwt", 'application/eat+cwt; eat_profile="urn:x"', "application/vnd.x+cbor"]
)
indicators = st.none() | st.integers(0, 31)
records = st.builds(CmwRecord, types | st.integers(0, 65535), st.binary(max_size=20), indicators)
text_records = st.builds(CmwRecord, types, st.binary(min_size=1, max_size=20), indicators)
names = st.text(min_size=1, max_size=5).filter(lambda name: name != COLLECTION_TYPE_MEMBER)
kinds = st.none() | st.sampled_from(["tag:example.org,2026:x", "1.3.6.1.4.1", "urn:example:y"])


def collections(inner, labels):
    return st.builds(CmwCollection, st.dictionaries(labels, inner, min_size=1, max_size=3), kinds)


wrapped = st.recursive(
    records, lambda inner: collections(inner, names | st.integers(-5, 500)), max_leaves=4
)
text_wrapped = st.recursive(text_records, lambda inner: collections(inner, names), max_leaves=4)


def depth(one):
    return 0 if isinstance(one, CmwRecord) else 1 + max(map(depth, one.members.values()))


@given(wrapped.filter(lambda wrapped_data: depth(wrapped_data) <= 4))
def test_cbor_round_trip(one):
    assert decode_cmw(encode_cmw_cbor(one)) == one


@given(text_wrapped.filter(lambda wrapped_data: depth(wrapped_data) <= 4))
def test_json_round_trip(one):
    assert decode_cmw(encode_cmw_json(one)) == one


@given(st.integers(0, 65024), st.binary(max_size=10))
def test_tag_round_trip(number, value):
    assert decode_cmw(cbor2.dumps(cbor2.CBORTag(compute_format_tag(number), value))) == CmwRecord(
        number, value
    )


def test_tags_match_rfc_9277():
    assert [compute_format_tag(number) for number in (0, 254, 255, 273)] == [
        1668546817,
        1668547071,
        1668547073,
        1668547091,
    ]


def test_example_with_all_forms_is_decoded():
    data = cbor2.dumps(
        {
            "a": [30001, b"\x23\x47\xda\x55", 4],
            "b": cbor2.CBORTag(1668576935, b"\x01"),
            "c": ["application/eat+jwt", b"ey", 8],
        }
    )
    found = decode_cmw(data)
    assert [record.indicator for record in list_cmw_records(found)] == [4, None, 8]
    assert found.members["b"] == CmwRecord(
        30000 + (1668576935 - compute_format_tag(30000)), b"\x01"
    )


def json_record(value, kind="application/eat+cwt"):
    return encode_canonical_json([kind, value])


MALFORMED = {
    "nothing": b"",
    "a number": cbor2.dumps(1),
    "a text": cbor2.dumps("application/eat+cwt"),
    "one part": cbor2.dumps([1]),
    "four parts": cbor2.dumps([1, b"x", 4, 4]),
    "a type that is not a media type": cbor2.dumps(["eat", b"x"]),
    "a content format too large": cbor2.dumps([65536, b"x"]),
    "a content format below none": cbor2.dumps([-1, b"x"]),
    "a flag for a content format": cbor2.dumps([True, b"x"]),
    "a value that is text": cbor2.dumps([1, "x"]),
    "an unknown indicator": cbor2.dumps([1, b"x", 32]),
    "an indicator that is not a number": cbor2.dumps([1, b"x", "4"]),
    "an empty collection": cbor2.dumps({}),
    "a collection of a type alone": cbor2.dumps({COLLECTION_TYPE_MEMBER: "urn:x:y"}),
    "a collection whose type is not a URI": cbor2.dumps(
        {COLLECTION_TYPE_MEMBER: "x", "a": [1, b"x"]}
    ),
    "a member without a name": cbor2.dumps({"": [1, b"x"]}),
    "a member named by bytes": cbor2.dumps({b"a": [1, b"x"]}),
    "another tag": cbor2.dumps(cbor2.CBORTag(61, b"x")),
    "a tag between the rows": cbor2.dumps(cbor2.CBORTag(1668546817 + 255, b"x")),
    "a tag of no bytes": cbor2.dumps(cbor2.CBORTag(1668546817, "x")),
    "too deep": cbor2.dumps({"a": {"a": {"a": {"a": {"a": [1, b"x"]}}}}}),
    "bytes after it": cbor2.dumps([1, b"x"]) + b"\x00",
    "a member twice": bytes.fromhex("a2616182014178616182014178"),
    "a content format in JSON": b'[1,"eA"]',
    "base64 with its padding": json_record("eA=="),
    "base64 of the other alphabet": json_record("+/+/"),
    "base64 with bits left over": json_record("eB"),
    "base64 of one letter": json_record("e"),
    "no base64": json_record(1),
    "a tag in JSON": b'{"a":{"b":1}}',
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_wrappers_are_refused(data):
    with pytest.raises(InvalidStatement) as refused:
        decode_cmw(data)
    assert refused.value.reason == "cmw-malformed"


@given(st.binary(max_size=60))
def test_any_bytes_are_a_wrapper_or_raise_our_error(data):
    try:
        found = decode_cmw(data)
    except InvalidStatement:
        return
    assert isinstance(found, CmwRecord | CmwCollection)


def test_wrapper_that_json_cannot_express_is_refused():
    with pytest.raises(UsageError, match="the number 263"):
        encode_cmw_json(CmwRecord(263, b"x"))
    with pytest.raises(UsageError, match="name"):
        encode_cmw_json(CmwCollection({1: CmwRecord("application/eat+cwt", b"x")}))
