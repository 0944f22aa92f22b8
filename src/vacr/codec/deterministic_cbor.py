"""Deterministic CBOR. Step: encode. Follows RFC 8949 section 4.2.1: shortest forms, definite
lengths, keys in bytewise order.

Decoding is strict, see `cbor_scan`. Tags stay tags, but for big numbers; nothing becomes a date or
a set by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import cbor2

from vacr.codec import numbers
from vacr.codec.cbor_scan import Scanner
from vacr.codec.depth import MAX_DEPTH
from vacr.codec.pointers import Place, pointer
from vacr.errors import InvalidRecord, UnreadableInput

# Every tag that the library would turn into something else of its own accord.
_TAGS = (0, 1, 4, 5, 25, 28, 29, 30, 35, 36, 37, 100, 256, 258, 260, 261, 1004, 43000, 55799)


class _TagFound(Exception):  # noqa: N818 - a signal, not an error
    pass


def _on_tag(*_: Any) -> NoReturn:
    raise _TagFound


_SEMANTIC = dict.fromkeys(_TAGS, _on_tag)


def _encode_spelled(encoder: cbor2.CBOREncoder, value: numbers.SpelledFloat) -> None:
    """Write a float of a native file as the number that its canonical JSON reads back as."""
    number = numbers.canonical(float(value))
    encoder.encode(number if type(number) is int else float(number))


_ENCODERS: dict[type, Callable[[cbor2.CBOREncoder, Any], Any]] = {
    numbers.SpelledFloat: _encode_spelled
}


def encode(value: Any) -> bytes:
    """Write a value as deterministic CBOR.

    Raises:
        InvalidRecord: it holds a number that is not finite, a lone surrogate, or a type that CBOR
            does not have.
    """
    try:
        if _only_text_keys(value, None, 0):
            # For text keys the library's length-first order is the bytewise order of their
            # encodings.
            return cbor2.dumps(value, canonical=True, encoders=_ENCODERS)
        return _encode(value)
    except (
        cbor2.CBOREncodeError,
        UnicodeEncodeError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise InvalidRecord(f"cannot be written as CBOR: {error}") from error


def byte_string(data: bytes) -> bytes:
    """Write a byte string."""
    return _head(2, len(data)) + data


def decode(data: bytes) -> Any:
    """Read one CBOR item, strictly.

    Raises:
        UnreadableInput: the bytes are not one well-formed item, or hold something that decoders
            disagree about.
    """
    try:
        value = cbor2.loads(
            data,
            tag_hook=_on_tag,
            semantic_decoders=_SEMANTIC,
            max_depth=MAX_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
        )
        if encode(value) == data:
            return value
    except (
        _TagFound,
        cbor2.CBORError,
        InvalidRecord,
        ValueError,
        TypeError,
        RecursionError,
        OverflowError,
        MemoryError,
    ):
        pass
    try:
        return Scanner(data, MAX_DEPTH).whole()
    except (TypeError, ValueError) as error:
        raise UnreadableInput(f"not CBOR that can be read: {error}") from error


def decode_shortest(data: bytes, *, max_depth: int, most: int) -> Any:
    """Read one CBOR item whose heads are all as short as can be; its keys may be in any order, and
    big numbers are refused.

    `most` is how many items it may hold, so that the time is bounded.

    Raises:
        UnreadableInput: the bytes are not one well-formed item, or hold something that decoders
            disagree about.
    """
    try:
        return Scanner(data, max_depth, shortest=True, most=most).whole()
    except (TypeError, ValueError) as error:
        raise UnreadableInput(f"not CBOR that can be read: {error}") from error


def _only_text_keys(value: Any, place: Place, depth: int) -> bool:
    """Tell whether all keys are text.

    Raises:
        InvalidRecord: a number is not finite, or the nesting is too deep.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRecord(f"{value} has no place in a record", where=pointer(place) or "/")
        return True
    if not isinstance(value, dict | list | tuple | cbor2.CBORTag):
        return True
    if depth >= MAX_DEPTH:
        raise InvalidRecord(f"nested deeper than {MAX_DEPTH} levels", where=pointer(place) or "/")
    plain = True
    # Loops, not comprehensions, which would take a second stack frame for each level.
    if isinstance(value, dict):
        for key, item in value.items():
            plain &= type(key) is str
            plain &= _only_text_keys(item, (place, key), depth + 1)
    elif isinstance(value, cbor2.CBORTag):
        plain = _only_text_keys(value.value, place, depth + 1)
    else:
        for index, item in enumerate(value):
            plain &= _only_text_keys(item, (place, index), depth + 1)
    return plain


def _encode(value: Any) -> bytes:
    if isinstance(value, dict):
        members = sorted((_encode(key), _encode(item)) for key, item in value.items())
        return _head(5, len(members)) + b"".join(key + item for key, item in members)
    if isinstance(value, list | tuple):
        return _head(4, len(value)) + b"".join(map(_encode, value))
    if isinstance(value, cbor2.CBORTag):
        return _head(6, value.tag) + _encode(value.value)
    return cbor2.dumps(value, canonical=True, encoders=_ENCODERS)


def _head(major: int, argument: int) -> bytes:
    head = bytearray(cbor2.dumps(argument))
    head[0] |= major << 5
    return bytes(head)
