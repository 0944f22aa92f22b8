"""Records as bytes. Step: encode. JSON in a profile of RFC 8785, CBOR by RFC 8949 section 4.2.1.

The same record has one form in each, and going from one to the other and back gives the same bytes.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from vacr.errors import UnreadableInput, UsageError
from vacr.record.canonical_json import BYTE_ORDER_MARK, decode_json, encode_canonical_json

RecordEncoding = Literal["json", "cbor"]

# The tag that the published draft asks for around a record in CBOR: read where it stands, not
# written.
RECORD_CBOR_TAG = 4149

_FIRST_BINARY_BYTE = 0x80


def encode(value: Any, form: RecordEncoding = "json") -> bytes:
    """Write a record, or any part of one, in its canonical form.

    Raises:
        InvalidRecord: the value holds what that form cannot.
        UsageError: there is no such form.
    """
    if form == "json":
        return encode_canonical_json(value)
    if form != "cbor":
        raise UsageError(f"no form {form!r}", hint="The forms are json and cbor.")
    from vacr.record.cbor import encode_deterministic_cbor

    return encode_deterministic_cbor(value)


def decode(data: bytes, form: RecordEncoding | None = None) -> Any:
    """Read a record, or any part of one, strictly; without a form, the bytes tell which it is.

    Raises:
        UnreadableInput: the bytes are not exactly one value of that form.
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
    """Read a value of a form that only the bytes tell, and say which it is.

    Raises:
        UnreadableInput: it is of neither form; the reason is that of the form it looks like.
    """
    likely, other = ("json", "cbor") if _looks_like_json(data) else ("cbor", "json")
    try:
        return decode(data, cast("RecordEncoding", likely)), cast("RecordEncoding", likely)
    except UnreadableInput:
        try:
            return decode(data, cast("RecordEncoding", other)), cast("RecordEncoding", other)
        except UnreadableInput:
            pass
        raise


def _looks_like_json(data: bytes) -> bool:
    """Tell by the first byte: maps, arrays and tags of CBOR start with one that text does
    not have.
    """
    return not data or data[0] < _FIRST_BINARY_BYTE or data.startswith(BYTE_ORDER_MARK)
