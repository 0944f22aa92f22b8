"""Conversion between versions: accepted and refused records."""

import copy

import cbor2
import pytest

from tests.conftest import EXAMPLES, record_of
from tests.record.test_schema_v1 import RECORD as V1
from tests.record.test_schema_v2 import RECORD as V2
from vacr.errors import InvalidRecord, UsageError
from vacr.record.conversion import FORMAT_VERSIONS, convert
from vacr.record.encoding import decode, encode
from vacr.record.json_text import MAX_DEPTH

V3 = record_of((EXAMPLES / "claude-code.jsonl").read_bytes())
RECORDS = {"v1": V1, "v2": V2, "v3": V3}


@pytest.mark.parametrize("version", FORMAT_VERSIONS)
def test_same_version_returns_the_record_itself(version):
    assert convert(RECORDS[version], version) is RECORDS[version]


def test_public_api_converts():
    assert convert(convert(V3, "v2"), "v3") == V3


@pytest.mark.parametrize("version", FORMAT_VERSIONS)
def test_input_record_is_not_changed(version):
    for to in {"v2", "v3"} - {version}:
        before = copy.deepcopy(RECORDS[version])
        convert(RECORDS[version], to)
        assert RECORDS[version] == before


def test_unknown_version_is_refused():
    with pytest.raises(UsageError, match="v4"):
        convert(V3, "v4")


REFUSED = [
    (None, "/"),
    ([], "/"),
    ("x", "/"),
    ({}, "/"),
    ({"version": 3}, "/version"),
    ({"version": "4.0"}, "/version"),
    (V3["session"], "/"),
    (cbor2.CBORTag(18, [b"", {}, None, b""]), "/"),
    (V3 | {"session": V3["session"] | {"entries": [{"type": "x"}]}}, "/session/entries/0/type"),
    (V2 | {"more": 1}, "/more"),
    (V1 | {"timestamp": 5}, "/timestamp"),
]


@pytest.mark.parametrize(("value", "where"), REFUSED)
def test_invalid_records_are_refused_with_their_place(value, where):
    for to in FORMAT_VERSIONS:
        with pytest.raises(InvalidRecord) as caught:
            convert(value, to)
        assert caught.value.where == where
        assert caught.value.hint


def test_integer_keys_survive_in_cbor_and_are_refused_in_json():
    newer = convert(V2, "v3")
    assert convert(decode(encode(newer, "cbor")), "v2") == V2
    with pytest.raises(InvalidRecord) as caught:
        encode(newer)
    assert caught.value.where == "/session/entries/6/vendor-ext/data"


def make_nested_record(depth):
    entry = {"type": "reasoning"}
    for _ in range(depth):
        entry = {"type": "user", "children": [entry]}
    return V2 | {"session": V2["session"] | {"entries": [entry]}}


def test_children_convert_at_the_maximum_depth():
    record = make_nested_record((MAX_DEPTH - 4) // 2)
    newer = convert(decode(encode(record)), "v3")
    assert decode(encode(convert(newer, "v2"))) == record


def test_children_beyond_the_maximum_depth_convert_or_are_refused():
    try:
        again = convert(convert(make_nested_record(3000), "v3"), "v2")
    except InvalidRecord:
        return
    for _ in range(3000):
        (again,) = again["session"]["entries"] if "session" in again else again["children"]
    assert again["children"] == [{"type": "reasoning"}]


def count_levels(value):
    count = 0
    while value:
        (value,) = [item for item in value.values() if isinstance(item, dict)]
        count += 1
    return count


def test_record_too_deep_for_the_other_version_is_refused():
    """Version 2 packs members into extensions, which adds levels: at the limit, one too many."""
    inner = {}
    for _ in range(MAX_DEPTH - 5):
        inner = {"x": inner}
    event = {"type": "system-event", "event-type": "e", "own": inner}
    record = RECORDS["v3"] | {"session": RECORDS["v3"]["session"] | {"entries": [event]}}
    for form in ("json", "cbor"):
        decoded = decode(encode(record, form))
        with pytest.raises(
            InvalidRecord, match="the result would be nested deeper than 400 levels"
        ):
            convert(decoded, "v2", json=form == "json")
    event["own"] = inner["x"]["x"]
    assert encode(convert(record, "v2"))


@pytest.mark.parametrize("name", ["vendor-ext", "metadata", "data"])
def test_nested_extensions_convert(name):
    extension = {"vendor": "vacr", "data": {}}
    for _ in range(20_000):
        extension = {"vendor": "vacr", "data": {name: extension} if name != "data" else extension}
    member = "data" if name == "data" else "vendor-ext"
    event = {"type": "system-event", "event-type": "e", member: extension}
    record = V2 | {"session": V2["session"] | {"entries": [event]}, "metadata": extension}
    again = convert(convert(record, "v3"), "v2")
    # Comparing them would take as much of the stack as recursion does.
    assert (
        count_levels(again["metadata"])
        == count_levels(again["session"]["entries"][0][member])
        == count_levels(extension)
    )
