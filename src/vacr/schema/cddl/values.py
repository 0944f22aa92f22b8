"""How Python holds the values of CBOR and JSON, for the compiled checks. Step: validate.

The data model is RFC 8949 section 2 as cbor2 decodes it: dict, list or tuple, str, bytes, int,
float, bool, None, CBORTag, CBORSimpleValue and undefined. An integer past 64 bits is the tag 2 or 3
it is written as; a smaller one may have been, so where a schema asks for just that tag (`biguint`)
it is taken for it. cbor2 is never imported to look at a value: a value of its types can only exist
once somebody else has imported it.

Left out on purpose: datetime, Decimal, UUID and the like, which cbor2 makes of some tags when asked
to. They match `any` and nothing else; decode with tags kept as CBORTag.
"""

from __future__ import annotations

import struct
import sys
from typing import Any

from vacr.schema.cddl.model import (
    ARRAY,
    BYTES,
    LARGEST_UINT,
    MAP,
    NINT,
    SMALLEST_NINT,
    TEXT,
    UINT,
)

LISTS = (list, tuple)
_BIGNUM, _NEGATIVE_BIGNUM = BIGNUMS = 2, 3
_IMMEDIATE = 24


def _cbor_type(name: str) -> Any:
    """Give a type of cbor2 if that is loaded."""
    return getattr(sys.modules.get("cbor2"), name, None)


def as_map(value: Any) -> dict[Any, Any] | None:
    """Give a map as a dict; cbor2 makes a frozen one of a map that is a key."""
    if isinstance(value, dict):
        return value
    frozen = _cbor_type("frozendict")
    return dict(value) if frozen is not None and isinstance(value, frozen) else None


def is_map(value: Any) -> bool:
    """Tell whether a value is a map."""
    return as_map(value) is not None


def tag_of(value: Any) -> tuple[int, Any] | None:
    """Give the number and content of a tag, also of an integer that is a bignum (RFC 8949 section
    3.4.3).
    """
    if value.__class__ is int:
        if value > LARGEST_UINT:
            return _BIGNUM, value.to_bytes((value.bit_length() + 7) // 8, "big")
        if value < SMALLEST_NINT:
            value = -1 - value
            return _NEGATIVE_BIGNUM, value.to_bytes((value.bit_length() + 7) // 8, "big")
        return None
    tag = _cbor_type("CBORTag")
    return (value.tag, value.value) if tag is not None and isinstance(value, tag) else None


def bignum_of(value: Any, number: int) -> tuple[int, Any] | None:
    """Give the content of tag 2 or 3 of any integer of that sign: decoding makes a plain integer of
    a small bignum, and the two are the same number (RFC 8949 section 3.4.3).
    """
    if value.__class__ is not int:
        return tag_of(value)
    if (value < 0) != (number == _NEGATIVE_BIGNUM):
        return None
    magnitude: int = value if value >= 0 else -1 - value
    return number, magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big")


def is_undefined(value: Any) -> bool:
    """Tell whether a value is CBOR's undefined."""
    module = sys.modules.get("cbor2")
    return module is not None and value is module.undefined


def simple_number(value: Any) -> int | None:
    """Give the number of a simple value (RFC 8949 section 3.3)."""
    if isinstance(value, bool):
        return 21 if value else 20
    if value is None:
        return 22
    if is_undefined(value):
        return 23
    simple = _cbor_type("CBORSimpleValue")
    return int(value.value) if simple is not None and isinstance(value, simple) else None


def is_simple(value: Any) -> bool:
    """Tell whether a value is of major type 7."""
    return isinstance(value, float) or simple_number(value) is not None


def fits_float(value: Any, form: str) -> bool:
    """Tell whether a float is one of the width that a struct format names; the width on the wire is
    not kept.
    """
    if not isinstance(value, float):
        return False
    try:
        unpacked: float = struct.unpack(form, struct.pack(form, value))[0]
    except OverflowError:
        return False
    return unpacked == value or value != value  # noqa: PLR0124 - only NaN differs from itself


def as_integer(value: Any) -> Any:
    """Give a number of JSON that is integral as an integer, and anything else as it is."""
    return int(value) if value.__class__ is float and value.is_integer() else value


def as_float(value: Any) -> Any:
    """Give a number of JSON as a floating-point number if it is one, and anything else as it is."""
    try:
        return float(value) if value.__class__ is int else value
    except OverflowError:
        return value


def head_argument(value: Any, major: int) -> int | None:
    """Give the additional information that a value of a major type is written with, in the shortest
    form.
    """
    measure: int | None = None
    if value.__class__ is int:
        if major == UINT and 0 <= value <= LARGEST_UINT:
            measure = value
        elif major == NINT and SMALLEST_NINT <= value < 0:
            measure = -1 - value
    elif (major == BYTES and isinstance(value, bytes)) or (
        major == ARRAY and isinstance(value, LISTS)
    ):
        measure = len(value)
    elif major == TEXT and isinstance(value, str):
        measure = len(value.encode("utf-8", "surrogatepass"))
    elif major == MAP:
        members = as_map(value)
        measure = None if members is None else len(members)
    if measure is None or measure < _IMMEDIATE:
        return measure
    return next(24 + step for step in range(4) if measure < 1 << (8 << step))


def has_odd_keys(members: dict[Any, Any]) -> bool:
    """Tell whether a key is one that Python takes for an equal integer: true for 1, 1.0 for 1."""
    return any(key.__class__ is bool or key.__class__ is float for key in members)


def all_text(members: dict[Any, Any]) -> bool:
    """Tell whether every key is text."""
    try:
        # Joining asks every key whether it is text, at the speed of the interpreter's own loop.
        "".join(members)
    except TypeError:
        return False
    return True
