"""A record as bytes, in one of two encodings: canonical JSON or deterministic CBOR.

A record has exactly one encoding in each, and converting from one to the other and back returns the
same bytes. `canonical_json` and `cbor` do the work; this module chooses between them.
"""

from __future__ import annotations

from typing import Any, Literal

from vacr.errors import UnreadableInput, UsageError
from vacr.record.canonical_json import BYTE_ORDER_MARK, decode_json, encode_canonical_json

RecordEncoding = Literal["json", "cbor"]

RECORD_CBOR_TAG = 4149
"""The tag that the published draft puts around a record in CBOR: accepted, never written."""

_FIRST_BINARY_BYTE = 0x80


def encode(value: Any, form: RecordEncoding = "json") -> bytes:
    """Encode a record, or any part of one, in its canonical form.

    Raises:
        InvalidRecord: the value contains something that the encoding cannot express.
        UsageError: the encoding does not exist.
    """
    if form == "json":
        return encode_canonical_json(value)
    if form != "cbor":
        raise UsageError(f"no form {form!r}", hint="The forms are json and cbor.")
    from vacr.record.cbor import encode_deterministic_cbor

    return encode_deterministic_cbor(value)


def decode(data: bytes, form: RecordEncoding | None = None) -> Any:
    """Decode a record, or any part of one, strictly; without `form`, detect the encoding.

    Raises:
        UnreadableInput: the bytes are not exactly one value in that encoding.
    """
    if not data:
        raise UnreadableInput("empty: there is nothing to read")
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
    """Decode a value of unknown encoding, and return it with the encoding.

    Raises:
        UnreadableInput: it has neither encoding; the reason refers to the one it looks like.
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
    """Return whether the first byte may begin JSON: no map, array or tag of CBOR begins with it."""
    return not data or data[0] < _FIRST_BINARY_BYTE or data.startswith(BYTE_ORDER_MARK)
