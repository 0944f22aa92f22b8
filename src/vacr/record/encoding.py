"""A record as bytes, and the id that is derived from these bytes.

A record has exactly one form in each of two encodings, canonical JSON and deterministic CBOR.
Converting from one to the other and back returns the same bytes. `canonical_json` and `cbor` do the
work; this module chooses between them:

    >>> from vacr.record import compute_record_id, decode, encode
    >>> record = {"version": "3.0.0-draft", "session": {"session-start": "2026-01-01T00:00:00Z"}}
    >>> encode(record, "json")
    b'{"session":{"session-start":"2026-01-01T00:00:00Z"},"version":"3.0.0-draft"}'
    >>> decode(encode(record, "cbor")) == record
    True
    >>> compute_record_id(record)
    '019b76da-a800-7cb2-9b05-d45292ba74b6'

The `id` is a UUID (RFC 9562) made from the SHA-256 of the record's canonical JSON without `id`. Any
change makes it another record, and anybody can check that. A UUIDv7 carries the session's start; a
session without one gets a UUIDv8 that is all digest.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, cast

from vacr.errors import UnreadableInput, UsageError
from vacr.model import Record
from vacr.record.canonical_json import (
    BYTE_ORDER_MARK,
    decode_json,
    encode_canonical_json,
    encode_decoded_json,
)
from vacr.record.timestamps import get_epoch_milliseconds

RecordEncoding = Literal["json", "cbor"]

RECORD_CBOR_TAG = 4149
"""The tag that the published draft puts around a record in CBOR: accepted, never written."""

_FIRST_BINARY_BYTE = 0x80
_UUID_TIME_BITS = 48


def encode(value: Any, form: RecordEncoding = "json") -> bytes:
    """Encode a record, or any part of one, as canonical JSON or deterministic CBOR.

    `form` is `json` or `cbor`.

    Raises:
        InvalidRecord: the value contains something that the encoding cannot express.
        UsageError: the encoding does not exist.
    """
    if form == "json":
        return encode_canonical_json(value)
    if form != "cbor":
        raise UsageError(f"unknown encoding {form!r}", hint="Use json or cbor.")
    from vacr.record.cbor import encode_deterministic_cbor

    return encode_deterministic_cbor(value)


def decode(data: bytes, form: RecordEncoding | None = None) -> Any:
    """Decode a record, or any part of one, strictly; if `form` is None, detect the encoding.

    The tag that the published draft puts around a record in CBOR is removed.

    Raises:
        UnreadableInput: the bytes are not exactly one value in that encoding.
    """
    if not data:
        raise UnreadableInput("the input is empty")
    if form is None:
        return detect_and_decode(data)[0]
    if form == "json":
        return decode_json(data)
    from vacr.record.cbor import decode_cbor

    value = decode_cbor(data)
    if getattr(value, "tag", None) == RECORD_CBOR_TAG:
        return value.value
    return value


def detect_and_decode(data: bytes) -> tuple[Any, RecordEncoding]:
    """Decode a value of unknown encoding, and return the value and its encoding.

    Raises:
        UnreadableInput: it is neither JSON nor CBOR; the message is about the one it looks like.
    """
    likely: RecordEncoding = "json"
    other: RecordEncoding = "cbor"
    if not _looks_like_json(data):
        likely, other = other, likely
    try:
        return decode(data, likely), likely
    except UnreadableInput:
        try:
            return decode(data, other), other
        except UnreadableInput:
            pass
        raise


def _looks_like_json(data: bytes) -> bool:
    """Return whether the first byte may begin JSON, and begins no CBOR map, array or tag.

    Empty data counts as JSON.
    """
    return not data or data[0] < _FIRST_BINARY_BYTE or data.startswith(BYTE_ORDER_MARK)


# The id of a record, and the program that made it.


def assign_record_id(record: Record) -> None:
    """Set the `id` of a record in place.

    This encodes the whole record; use `encode_with_id` if you also need the bytes.

    Raises:
        InvalidRecord: the record cannot be written as JSON.
    """
    encode_with_id(record)


def encode_with_id(record: Record) -> list[bytes | memoryview]:
    """Set the `id` of a record in place, and return its canonical JSON as consecutive pieces.

    The record must contain only decoded JSON. The pieces are not joined, because a session may be
    large and joining would copy it.

    Raises:
        InvalidRecord: the record cannot be written as JSON.
    """
    members = cast("dict[str, Any]", record)
    members.pop("id", None)
    head, after_id = b"{", members
    if min(members) < "id":
        before_id = {name: value for name, value in members.items() if name < "id"}
        after_id = {name: value for name, value in members.items() if name > "id"}
        head = encode_decoded_json(before_id)[:-1] + b","
    tail = encode_decoded_json(after_id)
    digest = hashlib.sha256(head)
    rest = memoryview(tail)[1:]
    digest.update(rest)
    record["id"] = _make_record_uuid(digest.digest(), record)
    return [head, b'"id":"', record["id"].encode(), b'",', rest]


def compute_record_id(record: Record) -> str:
    """Return the id that a record must have, derived from all its members except `id`.

    Raises:
        InvalidRecord: the record has no canonical JSON.
    """
    rest = {name: value for name, value in record.items() if name != "id"}
    return _make_record_uuid(hashlib.sha256(encode_canonical_json(rest)).digest(), record)


def _make_record_uuid(digest: bytes, record: Record) -> str:
    """Return a UUIDv7 of the session's start and the digest, or a UUIDv8 without a start."""
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
    """Return the member `vacr` of a record, or an empty dict if it has none, or not an object.

    A record of version 2 has it inside its metadata.
    """
    ours, metadata = record.get("vacr"), record.get("metadata")
    if ours is None and isinstance(metadata, dict) and metadata.get("vendor") == "vacr":
        data = metadata.get("data")
        ours = data.get("vacr") if isinstance(data, dict) else None
    return ours if isinstance(ours, dict) else {}


def list_secret_places(record: Any) -> list[str]:
    """Return the pointers in `vacr.secrets` of a record; other values there are left out."""
    places = get_vacr_metadata(record).get("secrets")
    return [place for place in places if type(place) is str] if type(places) is list else []


def get_keeping_agent(record: Any) -> str:
    """Return the agent that keeps a session of its own under the record's session id.

    Return an empty text unless the record was made on the way between an editor and that agent.
    """
    keeper = get_vacr_metadata(record).get("kept-by")
    return keeper if isinstance(keeper, str) else ""


def is_made_by_vacr(record: Any) -> bool:
    """Return whether a record claims that vacr made it, so that its id is derived from its content.

    A record of another program may have a member `vacr` too, if vacr converted it: that member
    contains `converted` and nothing else.
    """
    agent, ours = record.get("recording-agent"), record.get("vacr", {"converted": {}})
    only_converted = isinstance(ours, dict) and ours.keys() == {"converted"}
    return not only_converted or (isinstance(agent, dict) and agent.get("name") == "vacr")
