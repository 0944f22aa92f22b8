"""Records as bytes. Step: encode. JSON in a profile of RFC 8785, CBOR by RFC 8949 section 4.2.1.

The same record has one form in each, and going from one to the other and back gives the same bytes.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from vacr.codec import canonical_json
from vacr.errors import UnreadableInput, UsageError

Form = Literal["json", "cbor"]

# The tag that the published draft asks for around a record in CBOR: read where it stands, not
# written.
RECORD_TAG = 4149

_FIRST_BINARY = 0x80


def encode(value: Any, form: Form = "json") -> bytes:
    """Write a record, or any part of one, in its canonical form.

    Raises:
        InvalidRecord: the value holds what that form cannot.
        UsageError: there is no such form.
    """
    if form == "json":
        return canonical_json.encode(value)
    if form != "cbor":
        raise UsageError(f"no form {form!r}", hint="The forms are json and cbor.")
    from vacr.codec import deterministic_cbor

    return deterministic_cbor.encode(value)


def decode(data: bytes, form: Form | None = None) -> Any:
    """Read a record, or any part of one, strictly; without a form, the bytes tell which it is.

    Raises:
        UnreadableInput: the bytes are not exactly one value of that form.
    """
    if not data:
        raise UnreadableInput("empty: there is nothing to read")
    if form is None:
        return decode_either(data)[0]
    if form == "json":
        return canonical_json.decode(data)
    from vacr.codec import deterministic_cbor

    value = deterministic_cbor.decode(data)
    if getattr(value, "tag", None) == RECORD_TAG:
        return value.value
    return value


def decode_either(data: bytes) -> tuple[Any, Form]:
    """Read a value of a form that only the bytes tell, and say which it is.

    Raises:
        UnreadableInput: it is of neither form; the reason is that of the form it looks like.
    """
    likely, other = ("json", "cbor") if _looks_like_text(data) else ("cbor", "json")
    try:
        return decode(data, cast("Form", likely)), cast("Form", likely)
    except UnreadableInput:
        try:
            return decode(data, cast("Form", other)), cast("Form", other)
        except UnreadableInput:
            pass
        raise


def _looks_like_text(data: bytes) -> bool:
    """Tell by the first byte: maps, arrays and tags of CBOR start with one that text does
    not have.
    """
    return not data or data[0] < _FIRST_BINARY or data.startswith(canonical_json.BYTE_ORDER_MARK)
