"""The identity of a record. Step: read, validate and verify. Follows RFC 9562 (UUIDv7 and UUIDv8).

`id` is made of the SHA-256 of the record's canonical JSON without `id`: any change makes another
record, and anybody can check it. Its time is the session's start; a session without one gets a
UUIDv8, all of it digest.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

from vacr.model import Record
from vacr.record.canonical_json import encode_canonical_json, encode_decoded_json
from vacr.record.timestamps import get_epoch_milliseconds

_UUID_TIME_BITS = 48


def assign_record_id(record: Record) -> list[bytes]:
    """Put the id into a record that a reader made, and give the record's canonical JSON in pieces.

    In pieces, because a session may be large and joining them would copy it.
    """
    whole = cast("dict[str, Any]", record)
    whole.pop("id", None)
    before = {name: value for name, value in whole.items() if name < "id"}
    after = {name: value for name, value in whole.items() if name > "id"}
    tail = encode_decoded_json(after)
    head = encode_decoded_json(before)[:-1] + b"," if before else b"{"
    digest = hashlib.sha256(head)
    digest.update(memoryview(tail)[1:])
    record["id"] = _make_record_uuid(digest.digest(), record)
    return [head, b'"id":"', record["id"].encode(), b'",', memoryview(tail)[1:]]  # type: ignore[list-item]


def get_vacr_metadata(record: Any) -> dict[str, Any]:
    """Give what vacr says about a record, which version 2 holds in its metadata."""
    said, metadata = record.get("vacr"), record.get("metadata")
    if said is None and isinstance(metadata, dict) and metadata.get("vendor") == "vacr":
        data = metadata.get("data")
        said = data.get("vacr") if isinstance(data, dict) else None
    return said if isinstance(said, dict) else {}


def is_made_by_vacr(record: Any) -> bool:
    """Tell whether a record says that vacr made it: then its id is that of its content.

    That it was converted, and no more, is what vacr says about a record that others made.
    """
    agent, ours = record.get("recording-agent"), record.get("vacr", {"converted": {}})
    only_converted = isinstance(ours, dict) and ours.keys() == {"converted"}
    return not only_converted or (isinstance(agent, dict) and agent.get("name") == "vacr")


def compute_record_id(record: Record) -> str:
    """Give the id that a record must have.

    Raises:
        InvalidRecord: the record has no canonical JSON.
    """
    rest = {name: value for name, value in record.items() if name != "id"}
    return _make_record_uuid(hashlib.sha256(encode_canonical_json(rest)).digest(), record)


def _make_record_uuid(digest: bytes, record: Record) -> str:
    start = record.get("session", {}).get("session-start")
    when = (
        get_epoch_milliseconds(start)
        if isinstance(start, str | int | float) and not isinstance(start, bool)
        else None
    )
    text = digest.hex()
    version, first = "8", text[:12]
    if when is not None and 0 <= when < 1 << _UUID_TIME_BITS:
        version, first = "7", f"{when:012x}"
    variant = "89ab"[digest[8] >> 4 & 3]
    return f"{first[:8]}-{first[8:]}-{version}{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"
