"""Encode, decode and print CBOR, with exactly one encoding for every value.

A signature covers bytes, so equal values must have equal bytes: shortest forms, definite lengths,
keys in bytewise order (RFC 8949 section 4.2.1). Decoding is strict, because two decoders that
disagree about a signed value would disagree about the evidence. Repeated keys, indefinite lengths,
trailing bytes and numbers that are not finite are refused, with their place:

    >>> from vacr.record import decode_cbor, encode_deterministic_cbor, format_diagnostic
    >>> data = encode_deterministic_cbor({"b": 1, "a": [True, 2.5]})
    >>> data.hex()
    'a2616182f5f94100616201'
    >>> format_diagnostic(decode_cbor(data))
    '{"a": [true, 2.5], "b": 1}'
    >>> decode_cbor(bytes.fromhex("a2616101616102"))
    Traceback (most recent call last):
    ...
    vacr.errors.UnreadableInput: byte 4: key 'a' occurs more than once

Tags stay tags, except for big numbers: a date stays a tagged text.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any, NoReturn

import cbor2

from vacr.errors import InvalidRecord, UnreadableInput
from vacr.record.json_text import (
    MAX_DEPTH,
    SpelledFloat,
    ValuePath,
    canonicalize_number,
    format_pointer,
)

# The major types that the scanner and the encoder distinguish.
_BYTE_STRING = 2
_ARRAY = 4
_MAP = 5
_TAG = 6
_FLOAT_OR_SIMPLE = 7

# The meaning of the five lower bits of an item's first byte.
_ARGUMENT_SIZES = {24: 1, 25: 2, 26: 4, 27: 8}
_MIN_ARGUMENTS = {24: 24, 25: 1 << 8, 26: 1 << 16, 27: 1 << 32}
"""The smallest argument that needs a head of each length."""
_FLOAT_FORMATS = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}
_SIMPLE_VALUES = {20: False, 21: True, 22: None}
_UNDEFINED_INFO = 23
_INDEFINITE_INFO = 31
_FIRST_LONG_SIMPLE_VALUE = 32

_BIGNUM_TAGS = (2, 3)
_BIGNUM_LIMIT = 1 << 64
"""From here on, an integer is written as a big number: a tag around a byte string."""

_ABBREVIATING_TAG = 256
"""Within this tag, cbor2 writes a repeated text as a reference to the first one."""

# Every tag that cbor2 would convert into a Python type of its own.
_CONVERTED_TAGS = (
    *(0, 1, 4, 5, 25, 28, 29, 30, 35, 36, 37),
    *(100, 256, 258, 260, 261, 1004, 43000, 55799),
)

_SHORT_TAG_HEADS = frozenset(bytes((0xC0 | tag,)) for tag in range(4, 24))
"""The first byte of an item with a tag from 4 to 23: neither a date nor a big number."""
_NON_FINITE_NUMBERS = (b"\xf9\x7c\x00", b"\xf9\xfc\x00", b"\xf9\x7e\x00")
"""How the library writes the two infinities and the value that is not a number.

These bytes may also be part of a byte string; then the scanner decodes the data.
"""

_MAX_LINE_WIDTH = 100
_MAX_SHOWN_BYTES = 64


def encode_deterministic_cbor(value: Any) -> bytes:
    """Encode a value as deterministic CBOR.

    Raises:
        InvalidRecord: it contains a number that is not finite, a lone surrogate, or a type that
            CBOR does not have.
    """
    try:
        if _suits_library(value, None, 0):
            # For text keys, the library's length-first order is the bytewise order of encodings.
            return cbor2.dumps(value, canonical=True, encoders=_TYPE_ENCODERS)
        return _encode_item(value)
    except (
        cbor2.CBOREncodeError,
        UnicodeEncodeError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise InvalidRecord(f"the value cannot be written as CBOR: {error}") from error


def encode_byte_string(data: bytes) -> bytes:
    """Encode bytes as a CBOR byte string."""
    return encode_byte_string_head(len(data)) + data


def encode_byte_string_head(size: int) -> bytes:
    """Encode the first bytes of a CBOR byte string with `size` bytes, which follow them."""
    return _encode_head(_BYTE_STRING, size)


def decode_cbor(data: bytes) -> Any:
    """Decode one CBOR item strictly.

    The fast library is trusted only for bytes that encode to themselves. All others go to the
    scanner, because the library also accepts ambiguous input.

    Raises:
        UnreadableInput: the bytes are not one well-formed item, or contain something that decoders
            disagree about.
    """
    try:
        value = cbor2.loads(
            data,
            tag_hook=_signal_tag,
            semantic_decoders=_SEMANTIC_DECODERS,
            max_depth=MAX_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
        )
        if encode_deterministic_cbor(value) == data:
            return value
    except _FAST_PATH_ERRORS:
        pass
    return _scan_item(CborScanner(data, MAX_DEPTH))


def decode_shortest_cbor(
    data: bytes, *, max_depth: int, max_items: int, shared_index: int | None = None
) -> Any:
    """Decode one CBOR item, and refuse lengths and numbers that are not in their shortest form.

    Keys may be in any order; big numbers are refused. `max_items` limits the number of
    items, and so the time that decoding takes. If a large item is an array, a byte string at
    `shared_index` becomes a memoryview of `data`, which takes no memory. The result is otherwise
    the scanner's, but the fast library decodes most data.

    Raises:
        UnreadableInput: the bytes are not one well-formed item, or contain something that decoders
            disagree about.
    """
    # Every item takes at least one byte. The fast way encodes the value again, to compare it.
    if len(data) <= min(max_items, _MAX_FAST_SIZE):
        try:
            return _decode_unambiguous_cbor(data, max_depth)
        except _FAST_PATH_ERRORS:
            pass
    scanner = CborScanner(data, max_depth, shortest=True, max_items=max_items)
    scanner.shared_index = shared_index
    return _scan_item(scanner)


def _decode_unambiguous_cbor(data: bytes, max_depth: int) -> Any:
    """Decode one CBOR item with the fast library, if the library encodes its value to these bytes.

    The library writes shortest forms, definite lengths and different keys only, so the data has
    no others. A tag is allowed at the beginning only.

    Raises:
        _NeedsScannerError: the library encodes the value to other bytes, or the data has another
            tag or, possibly, a number that is not finite.
        cbor2.CBORError, ValueError, TypeError, RecursionError, OverflowError, MemoryError: the
            library refuses the data, or cannot encode the value.
    """
    if data[:1] in _SHORT_TAG_HEADS and max_depth > 1:
        # Without its tag, because the library returns other types within a tag.
        return cbor2.CBORTag(data[0] & 31, _decode_unambiguous_cbor(data[1:], max_depth - 1))
    value = cbor2.loads(
        data,
        tag_hook=_signal_tag,
        semantic_decoders=_ALL_SEMANTIC_DECODERS,
        max_depth=max_depth - 1,  # the library does not count the outermost level
        allow_indefinite=False,
        allow_duplicate_keys=False,
    )
    if cbor2.dumps(value) != data or any(number in data for number in _NON_FINITE_NUMBERS):
        raise _NeedsScannerError
    return value


def _scan_item(scanner: CborScanner) -> Any:
    """Return the only item of the scanner's data.

    Raises:
        UnreadableInput: the data is not exactly one valid item.
    """
    try:
        return scanner.read_whole_item()
    except (TypeError, ValueError) as error:
        raise UnreadableInput(f"unreadable CBOR: {error}") from error


class _NeedsScannerError(Exception):
    """Ends the fast path, for example at a tag; the scanner then decodes the data."""


def _signal_tag(*_: Any) -> NoReturn:
    """Raise `_NeedsScannerError`: the library calls this for every tag."""
    raise _NeedsScannerError


_MAX_FAST_SIZE = 1 << 18
"""The size up to which the fast library decodes; larger data would be copied."""
_FAST_PATH_ERRORS = (
    _NeedsScannerError,
    cbor2.CBORError,
    InvalidRecord,
    ValueError,
    TypeError,
    RecursionError,
    OverflowError,
    MemoryError,
)
_SEMANTIC_DECODERS = dict.fromkeys(_CONVERTED_TAGS, _signal_tag)
_ALL_SEMANTIC_DECODERS = dict.fromkeys((*_CONVERTED_TAGS, *_BIGNUM_TAGS), _signal_tag)


def _encode_spelled_float(encoder: cbor2.CBOREncoder, value: SpelledFloat) -> None:
    """Encode a float as the number in its canonical JSON: `2E3` as the integer 2000."""
    number = canonicalize_number(float(value))
    encoder.encode(number if type(number) is int else float(number))


_TYPE_ENCODERS: dict[type, Callable[[cbor2.CBOREncoder, Any], Any]] = {
    SpelledFloat: _encode_spelled_float
}


def _suits_library(value: Any, place: ValuePath, depth: int) -> bool:
    """Return whether the library encodes a value as it should; check numbers and depth, too.

    It needs text as the keys of all maps, and no tag within which it would abbreviate repeated
    texts.

    Raises:
        InvalidRecord: a number is not finite, or the nesting is too deep.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRecord(
                f"{value} is not a finite number",
                where=format_pointer(place) or "/",
                hint="Only finite numbers can be in a record.",
            )
        return True
    if not isinstance(value, dict | list | tuple | cbor2.CBORTag | cbor2.frozendict):
        return True
    if depth >= MAX_DEPTH:
        raise InvalidRecord(
            f"nested deeper than {MAX_DEPTH} levels", where=format_pointer(place) or "/"
        )
    suits = True
    # Loops, not comprehensions: those would take a second stack frame for each level.
    if isinstance(value, dict | cbor2.frozendict):
        for key, item in value.items():
            if type(key) is not str:
                suits = False
                _suits_library(key, place, depth + 1)
            suits &= _suits_library(item, (place, key), depth + 1)
    elif isinstance(value, cbor2.CBORTag):
        suits = _suits_library(value.value, place, depth + 1)
        suits = suits and value.tag != _ABBREVIATING_TAG
    else:
        for index, item in enumerate(value):
            suits &= _suits_library(item, (place, index), depth + 1)
    return suits


def _encode_item(value: Any) -> bytes:
    """Encode a value whose maps may have keys of any type, in bytewise order of the keys."""
    if isinstance(value, dict | cbor2.frozendict):
        members = sorted((_encode_item(key), _encode_item(item)) for key, item in value.items())
        return _encode_head(_MAP, len(members)) + b"".join(key + item for key, item in members)
    if isinstance(value, list | tuple):
        return _encode_head(_ARRAY, len(value)) + b"".join(map(_encode_item, value))
    if isinstance(value, cbor2.CBORTag):
        return _encode_head(_TAG, value.tag) + _encode_item(value.value)
    return cbor2.dumps(value, canonical=True, encoders=_TYPE_ENCODERS)


def _encode_head(major: int, argument: int) -> bytes:
    """Encode the first bytes of an item: its major type, and its length, count or tag number."""
    if argument < _MIN_ARGUMENTS[24]:
        return bytes((major << 5 | argument,))
    for info, size in _ARGUMENT_SIZES.items():
        if argument < 1 << 8 * size:
            return bytes((major << 5 | info,)) + argument.to_bytes(size, "big")
    raise ValueError(f"{argument} is too large for the head of a CBOR item")


class CborScanner:
    """A slow, strict decoder that keeps every tag and reports the place of a problem."""

    def __init__(
        self, data: bytes, max_depth: int, *, shortest: bool = False, max_items: int | None = None
    ) -> None:
        """Start at the first byte.

        `shortest` refuses big numbers, and lengths and numbers that could be shorter. `max_items`
        limits the number of items; None allows any number.
        """
        self._data = data
        self._max_depth = max_depth
        self._shortest = shortest
        self._items_left = max_items
        self._position = 0
        self.shared_index: int | None = None
        """The index in the outermost array of a byte string to return as a memoryview."""

    def read_whole_item(self) -> Any:
        """Decode and return the only item of the data.

        Raises:
            UnreadableInput: the data is not exactly one valid item; the error has the byte offset
                and the pointer.
        """
        value = self._read_item(None, 0)
        rest = len(self._data) - self._position
        if rest:
            raise self._make_error(f"{rest} more bytes after the item", None)
        return value

    def _make_error(self, reason: str, place: ValuePath) -> UnreadableInput:
        """Return an error with this reason, at the current byte and at a pointer."""
        pointer = format_pointer(place)
        where = f"byte {self._position}" + (f" ({pointer[:200]})" if pointer else "")
        return UnreadableInput(reason, where=where)

    def _read_item(self, place: ValuePath, depth: int) -> Any:
        """Read one item with everything inside it.

        `place` is its pointer, for errors.

        Raises:
            UnreadableInput: the item is malformed, cut off, nested too deeply, or one too many.
        """
        if self._items_left is not None:
            if not self._items_left:
                raise self._make_error("too many items", place)
            self._items_left -= 1
        head = self._read_bytes(1, place)[0]
        major, info = head >> 5, head & 31
        if depth >= self._max_depth and _ARRAY <= major <= _TAG:
            raise self._make_error(f"nested deeper than {self._max_depth} levels", place)
        if major == _FLOAT_OR_SIMPLE:
            return self._read_float_or_simple(info, place)
        if info == _INDEFINITE_INFO:
            raise self._make_error("indefinite length", place)
        argument = self._read_argument(info, place)
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 2:
                if self.shared_index is not None and place == (None, self.shared_index):
                    return self._share_bytes(argument, place)
                return self._read_bytes(argument, place)
            case 3:
                return self._read_text(argument, place)
            case 4:
                self._check_count(argument, place)
                items = []
                for index in range(argument):
                    items.append(self._read_item((place, index), depth + 1))
                return items
            case 5:
                return self._read_map(argument, place, depth)
        return self._read_tagged(argument, place, depth)

    def _read_bytes(self, count: int, place: ValuePath) -> bytes:
        """Read `count` bytes.

        `place` is its pointer, for errors.

        Raises:
            UnreadableInput: the data has fewer bytes left.
        """
        start = self._position
        if count > len(self._data) - start:
            left = len(self._data) - start
            raise self._make_error(
                f"the data is cut off: {count} bytes announced, {left} left", place
            )
        self._position += count
        return self._data[start : self._position]

    def _share_bytes(self, count: int, place: ValuePath) -> memoryview:
        """Skip `count` bytes, and return a view of them.

        Raises:
            UnreadableInput: the data has fewer bytes left.
        """
        start = self._position
        if count > len(self._data) - start:
            self._read_bytes(count, place)
        self._position += count
        return memoryview(self._data)[start : self._position]

    def _read_argument(self, info: int, place: ValuePath) -> int:
        """Return the argument of an item (its number, length, count or tag).

        `info`, the lower five bits of the item's first byte, is the argument or its size. `place`
        is its pointer, for errors.

        Raises:
            UnreadableInput: the argument is cut off, reserved, or not in its shortest form.
        """
        if info < min(_ARGUMENT_SIZES):
            return info
        if info not in _ARGUMENT_SIZES:
            raise self._make_error(f"a first byte that CBOR reserves ({info})", place)
        value = int.from_bytes(self._read_bytes(_ARGUMENT_SIZES[info], place), "big")
        if self._shortest and value < _MIN_ARGUMENTS[info]:
            raise self._make_error("a number or length that is not in its shortest form", place)
        return value

    def _read_text(self, length: int, place: ValuePath) -> str:
        """Read `length` bytes as UTF-8 text.

        `place` is its pointer, for errors.

        Raises:
            UnreadableInput: the text is cut off, or not UTF-8.
        """
        try:
            return self._read_bytes(length, place).decode()
        except UnicodeDecodeError as error:
            raise self._make_error("text that is not UTF-8", place) from error

    def _read_map(self, count: int, place: ValuePath, depth: int) -> dict[Any, Any]:
        """Read a map of `count` members, and refuse repeated keys.

        `place` is the pointer, for errors.
        """
        self._check_count(count, place)
        members: dict[Any, Any] = {}
        for _ in range(count):
            start = self._position
            key = _make_hashable(self._read_item(place, depth + 1))
            # 1, 1.0 and true are three keys in CBOR but one in a dict, so they are refused too.
            if key in members:
                self._position = start
                raise self._make_error(f"key {key!r} occurs more than once", place)
            members[key] = self._read_item((place, key), depth + 1)
        return members

    def _check_count(self, count: int, place: ValuePath) -> None:
        """Refuse a count of items that exceeds the number of bytes left.

        `place` is the pointer, for errors.
        """
        left = len(self._data) - self._position
        if count > left:
            raise self._make_error(
                f"the data is cut off: {count} items announced, {left} bytes left", place
            )

    def _read_tagged(self, tag: int, place: ValuePath, depth: int) -> Any:
        """Read the item after a tag, and return a `CBORTag`, or an integer for a big number.

        `place` is its pointer, for errors.

        Raises:
            UnreadableInput: the item is malformed, or a big number is not allowed.
        """
        value = self._read_item(place, depth + 1)
        if tag in _BIGNUM_TAGS and isinstance(value, bytes):
            if self._shortest:
                raise self._make_error("a big number is not allowed here", place)
            number = int.from_bytes(value, "big")
            return number if tag == _BIGNUM_TAGS[0] else -1 - number
        return cbor2.CBORTag(tag, value)

    def _read_float_or_simple(self, info: int, place: ValuePath) -> Any:
        """Return a finite float, a boolean, None, `undefined` or a `CBORSimpleValue`.

        `place` is its pointer, for errors.

        Raises:
            UnreadableInput: the value is cut off, reserved, not finite, or a break code.
        """
        if info in _FLOAT_FORMATS:
            form, size = _FLOAT_FORMATS[info]
            value = struct.unpack(form, self._read_bytes(size, place))[0]
            if not math.isfinite(value):
                raise self._make_error(f"{value} is not a finite number", place)
            return value
        if info in _SIMPLE_VALUES:
            return _SIMPLE_VALUES[info]
        if info == _UNDEFINED_INFO:
            return cbor2.undefined
        if info == _INDEFINITE_INFO:
            raise self._make_error("a break code, but no item of indefinite length", place)
        code = self._read_argument(info, place)
        one_byte_info = min(_ARGUMENT_SIZES)
        if info > one_byte_info or (info == one_byte_info and code < _FIRST_LONG_SIMPLE_VALUE):
            raise self._make_error(f"reserved simple value {code}", place)
        return cbor2.CBORSimpleValue(code)


def _make_hashable(key: Any) -> Any:
    """Return a key of any CBOR type in a form that a dict accepts: a list becomes a tuple."""
    if isinstance(key, list):
        return tuple(_make_hashable(item) for item in key)
    if isinstance(key, dict):
        return cbor2.frozendict({name: _make_hashable(item) for name, item in key.items()})
    if isinstance(key, cbor2.CBORTag):
        return cbor2.CBORTag(key.tag, _make_hashable(key.value))
    return key


def format_diagnostic(value: Any, indent: int = 0) -> str:
    """Return a value in the diagnostic notation of RFC 8949 section 8, for people.

    Short values stay on one line; the lines after the first are indented by `indent` spaces. Byte
    strings longer than 64 bytes are cut, with their length in a comment.
    """
    flat = _format_on_one_line(value)
    if len(flat) + indent <= _MAX_LINE_WIDTH or not isinstance(
        value, dict | list | tuple | cbor2.CBORTag
    ):
        return flat
    if isinstance(value, cbor2.CBORTag):
        return f"{value.tag}({format_diagnostic(value.value, indent)})"
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [
            f"{inner}{_format_on_one_line(key)}: {format_diagnostic(item, indent + 2)}"
            for key, item in value.items()
        ]
        opening, closing = "{", "}"
    else:
        lines = [inner + format_diagnostic(item, indent + 2) for item in value]
        opening, closing = "[", "]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"


def _format_on_one_line(value: Any) -> str:
    """Return a value in diagnostic notation on one line of any length."""
    if isinstance(value, bytes):
        return _format_byte_string(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict | cbor2.frozendict):
        members = (
            f"{_format_on_one_line(key)}: {_format_on_one_line(item)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_format_on_one_line, value)) + "]"
    if isinstance(value, cbor2.CBORTag):
        return f"{value.tag}({_format_on_one_line(value.value)})"
    if isinstance(value, cbor2.CBORSimpleValue):
        return f"simple({value.value})"
    if value is cbor2.undefined:
        return "undefined"
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and not -_BIGNUM_LIMIT <= value < _BIGNUM_LIMIT:
        return _format_big_number(value)
    return repr(value)


def _format_byte_string(data: bytes) -> str:
    """Return bytes as `h'…'`, cut after 64 bytes."""
    shown = f"h'{data[:_MAX_SHOWN_BYTES].hex()}'"
    if len(data) <= _MAX_SHOWN_BYTES:
        return shown
    return f"{shown[:-1]}…' / {len(data)} bytes /"


def _format_big_number(value: int) -> str:
    """Format an integer of more than 64 bits as CBOR writes it: a tag around a byte string."""
    # Not in decimal: Python refuses to write integers of more than a few thousand digits.
    tag, magnitude = (2, value) if value > 0 else (3, -1 - value)
    data = magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big")
    return f"{tag}({_format_byte_string(data)})"
