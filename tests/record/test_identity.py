"""The id of a record: derived from its bytes, and different after any change."""

import hashlib
import json
from uuid import UUID

import pytest
from hypothesis import given

from tests.conftest import EXAMPLES, jsonl, read_one, record_of
from tests.record.value_strategies import JSON
from vacr.record.canonical_json import decode_json, encode_canonical_json
from vacr.record.encoding import compute_record_id, encode_with_id, is_made_by_vacr

EXAMPLE = (EXAMPLES / "claude-code.jsonl").read_bytes()


def test_pieces_are_the_canonical_bytes():
    reading = read_one(EXAMPLE)
    data = b"".join(encode_with_id(reading.record))
    assert encode_canonical_json(json.loads(data)) == data


def test_id_is_derived_from_the_other_bytes():
    record = record_of(EXAMPLE)
    assert compute_record_id(record) == record["id"]
    rest = {name: value for name, value in record.items() if name != "id"}
    digest = hashlib.sha256(encode_canonical_json(rest)).digest()
    value = UUID(record["id"])
    assert value.version == 7
    assert value.bytes[9:] == digest[9:16]
    assert value.int >> 80 == 1773480361250


def test_any_change_changes_the_id():
    record = record_of(EXAMPLE)
    for change in ({"created": 1}, {"zz": 1}, {"version": "3.0.1"}, {"vcs": {"type": "git"}}):
        assert compute_record_id(record | change) != record["id"]


def test_id_of_a_session_without_a_start_is_all_digest():
    record = record_of(
        jsonl({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "x"}})
    )
    assert UUID(record["id"]).version == 8


@given(JSON)
def test_members_before_and_after_the_id_are_in_order(value):
    value = decode_json(encode_canonical_json(value))
    record = {"a": value, "version": "3", "id": "old", "session": {"session-start": 5}, "ib": value}
    data = b"".join(encode_with_id(dict(record)))
    assert encode_canonical_json(decode_json(data)) == data
    assert compute_record_id(decode_json(data)) == decode_json(data)["id"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, False),
        ({"recording-agent": {"name": "vacr"}}, True),
        ({"recording-agent": {"name": "other"}, "vacr": {"source": {}}}, True),
        ({"vacr": {}}, True),
        ({"vacr": 5}, True),
        ({"vacr": {"converted": {"stubs": ["/session"]}}}, False),
        ({"vacr": {"converted": {}, "source": {}}}, True),
        ({"vacr": {"converted": {}}, "recording-agent": {"name": "vacr"}}, True),
    ],
)
def test_records_made_by_vacr_are_recognised(record, expected):
    assert is_made_by_vacr(record) is expected
