"""The identity of a record: a UUID (RFC 9562) that is derived from its content.

The `id` is made from the SHA-256 of the record's canonical JSON without `id`. Any change makes it
another record, and anybody can check that. A UUIDv7 carries the session's start; a session without
one gets a UUIDv8 that is all digest.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

from vacr.model import Record
from vacr.record.canonical_json import encode_canonical_json, encode_decoded_json
from vacr.record.timestamps import get_epoch_milliseconds

_UUID_TIME_BITS = 48


def assign_record_id(record: Record) -> list[bytes]:
    """Set the id of a record that a reader made, and return its canonical JSON in pieces.

    In pieces, because a session may be large and joining them would copy it.
    """
    members = cast("dict[str, Any]", record)
    members.pop("id", None)
    before_id = {name: value for name, value in members.items() if name < "id"}
    after_id = {name: value for name, value in members.items() if name > "id"}
    tail = encode_decoded_json(after_id)
    head = encode_decoded_json(before_id)[:-1] + b"," if before_id else b"{"
    digest = hashlib.sha256(head)
    digest.update(memoryview(tail)[1:])
    record["id"] = _make_record_uuid(digest.digest(), record)
    return [head, b'"id":"', record["id"].encode(), b'",', memoryview(tail)[1:]]  # type: ignore[list-item]


def compute_record_id(record: Record) -> str:
    """Return the id that a record must have.

    Raises:
        InvalidRecord: the record has no canonical JSON.
    """
    rest = {name: value for name, value in record.items() if name != "id"}
    return _make_record_uuid(hashlib.sha256(encode_canonical_json(rest)).digest(), record)


def _make_record_uuid(digest: bytes, record: Record) -> str:
    start = record.get("session", {}).get("session-start")
    milliseconds = None
    if isinstance(start, str | int | float) and not isinstance(start, bool):
        milliseconds = get_epoch_milliseconds(start)
    text = digest.hex()
    version, first = "8", text[:12]
    if milliseconds is not None and 0 <= milliseconds < 1 << _UUID_TIME_BITS:
        version, first = "7", f"{milliseconds:012x}"
    variant = "89ab"[digest[8] >> 4 & 3]
    return f"{first[:8]}-{first[8:]}-{version}{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"


def get_vacr_metadata(record: Any) -> dict[str, Any]:
    """Return the member `vacr` of a record; version 2 has it inside its metadata."""
    ours, metadata = record.get("vacr"), record.get("metadata")
    if ours is None and isinstance(metadata, dict) and metadata.get("vendor") == "vacr":
        data = metadata.get("data")
        ours = data.get("vacr") if isinstance(data, dict) else None
    return ours if isinstance(ours, dict) else {}


def is_made_by_vacr(record: Any) -> bool:
    """Return whether a record claims that vacr made it, so that its id is derived from its content.

    A record of another program may have a member `vacr` too, if vacr converted it: that member
    contains `converted` and nothing else.
    """
    agent, ours = record.get("recording-agent"), record.get("vacr", {"converted": {}})
    only_converted = isinstance(ours, dict) and ours.keys() == {"converted"}
    return not only_converted or (isinstance(agent, dict) and agent.get("name") == "vacr")
