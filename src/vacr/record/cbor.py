"""A slow, strict reading of CBOR that keeps every tag and names the place of what it refuses. Step:
encode.

Follows RFC 8949 section 3. The fast path of `deterministic_cbor` vouches for bytes that encode to
themselves; all others come here. Refused: indefinite lengths, repeated keys, bytes after the item,
not-a-number and infinities, text that is not UTF-8, reserved heads, too deep a nesting, lengths
past the end. Heads that are longer than need be are read, unless only the shortest are asked for.

Deterministic CBOR. Step: encode. Follows RFC 8949 section 4.2.1: shortest forms, definite
lengths, keys in bytewise order.

Decoding is strict, see `cbor_scan`. Tags stay tags, but for big numbers; nothing becomes a date or
a set by itself.

CBOR values as text for people. Step: inspect. Follows the diagnostic notation of RFC 8949
section 8, laid out over lines.
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

_FLOAT_FORMATS = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}
_ARGUMENT_SIZES = {24: 1, 25: 2, 26: 4, 27: 8}
_MIN_ARGUMENTS = {24: 24, 25: 1 << 8, 26: 1 << 16, 27: 1 << 32}
"""The least argument that needs a head of each length."""
_SIMPLE_VALUES = {20: False, 21: True, 22: None}
_UNDEFINED_INFO = 23
_INDEFINITE_INFO = 31
_FIRST_LONG_SIMPLE_VALUE = 32
_BIGNUM_TAGS = (2, 3)


class CborScanner:
    """Reads one item of CBOR from bytes."""

    def __init__(
        self, data: bytes, max_depth: int, *, shortest: bool = False, most: int | None = None
    ) -> None:
        """Start at the first byte; `shortest` refuses heads longer than need be, `most` is how many
        items there may be.
        """
        self.data = data
        self.max_depth = max_depth
        self.shortest = shortest
        self.left = most
        self.position = 0

    def whole(self) -> Any:
        """Read the only item.

        Raises:
            UnreadableInput: with the byte offset and the pointer of what is refused.
        """
        value = self.item(None, 0)
        if self.position != len(self.data):
            raise self.refusal(f"{len(self.data) - self.position} more bytes after the item", None)
        return value

    def refusal(self, reason: str, place: ValuePath) -> UnreadableInput:
        """Make the error that names this place."""
        shown = format_pointer(place)
        where = f"byte {self.position}" + (f" ({shown[:200]})" if shown else "")
        return UnreadableInput(reason, where=where)

    def take(self, count: int, place: ValuePath) -> bytes:
        """Take bytes, if there are as many as the head says."""
        if count > len(self.data) - self.position:
            raise self.refusal(
                f"{count} bytes announced, {len(self.data) - self.position} left", place
            )
        self.position += count
        return self.data[self.position - count : self.position]

    def item(self, place: ValuePath, depth: int) -> Any:
        """Read one item."""
        if self.left is not None:
            if not self.left:
                raise self.refusal("more items than are read", place)
            self.left -= 1
        head = self.take(1, place)[0]
        major, info = head >> 5, head & 31
        if depth >= self.max_depth and 4 <= major <= 6:  # noqa: PLR2004 - arrays, maps and tags
            raise self.refusal(f"nested deeper than {self.max_depth} levels", place)
        if major == 7:  # noqa: PLR2004 - major type 7, floats and simple values
            return self.simple(info, place)
        if info == _INDEFINITE_INFO:
            raise self.refusal("indefinite length", place)
        argument = self.argument(info, place)
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 2:
                return self.take(argument, place)
            case 3:
                return self.text(argument, place)
            case 4:
                self.enough(argument, place)
                items = []
                for index in range(argument):
                    items.append(self.item((place, index), depth + 1))
                return items
            case 5:
                return self.map(argument, place, depth)
        return self.tagged(argument, place, depth)

    def argument(self, info: int, place: ValuePath) -> int:
        """Read the argument of a head."""
        if info < min(_ARGUMENT_SIZES):
            return info
        if info not in _ARGUMENT_SIZES:
            raise self.refusal(f"reserved head {info}", place)
        value = int.from_bytes(self.take(_ARGUMENT_SIZES[info], place), "big")
        if self.shortest and value < _MIN_ARGUMENTS[info]:
            raise self.refusal("a head that is longer than need be", place)
        return value

    def enough(self, count: int, place: ValuePath) -> None:
        """Refuse a count of items that the bytes left cannot hold, before making room for them."""
        if count > len(self.data) - self.position:
            raise self.refusal(
                f"{count} items announced, {len(self.data) - self.position} bytes left", place
            )

    def text(self, length: int, place: ValuePath) -> str:
        """Read text."""
        try:
            return self.take(length, place).decode()
        except UnicodeDecodeError as error:
            raise self.refusal("text that is not UTF-8", place) from error

    def map(self, count: int, place: ValuePath, depth: int) -> dict[Any, Any]:
        """Read a map."""
        self.enough(count, place)
        members: dict[Any, Any] = {}
        for _ in range(count):
            start = self.position
            key = _make_hashable(self.item(place, depth + 1))
            # 1, 1.0 and true would be three keys in CBOR; a dict takes them for one, so they are
            # refused as well.
            if key in members:
                self.position = start
                raise self.refusal(f"key {key!r} occurs more than once", place)
            members[key] = self.item((place, key), depth + 1)
        return members

    def tagged(self, tag: int, place: ValuePath, depth: int) -> Any:
        """Read what a tag holds; only big numbers are turned into what they mean."""
        value = self.item(place, depth + 1)
        if tag in _BIGNUM_TAGS and isinstance(value, bytes):
            if self.shortest:
                raise self.refusal("a big number", place)
            number = int.from_bytes(value, "big")
            return number if tag == _BIGNUM_TAGS[0] else -1 - number
        return cbor2.CBORTag(tag, value)

    def simple(self, info: int, place: ValuePath) -> Any:
        """Read a float or a simple value."""
        if info in _FLOAT_FORMATS:
            form, size = _FLOAT_FORMATS[info]
            value = struct.unpack(form, self.take(size, place))[0]
            if not math.isfinite(value):
                raise self.refusal(f"{value} is not a number a record can hold", place)
            return value
        if info in _SIMPLE_VALUES:
            return _SIMPLE_VALUES[info]
        if info == _UNDEFINED_INFO:
            return cbor2.undefined
        if info == _INDEFINITE_INFO:
            raise self.refusal("a break outside any item", place)
        code = self.argument(info, place)
        if info > min(_ARGUMENT_SIZES) or (
            info == min(_ARGUMENT_SIZES) and code < _FIRST_LONG_SIMPLE_VALUE
        ):
            raise self.refusal(f"reserved simple value {code}", place)
        return cbor2.CBORSimpleValue(code)


def _make_hashable(key: Any) -> Any:
    """Make a key of any type one that a dict can have."""
    if isinstance(key, list):
        return tuple(_make_hashable(item) for item in key)
    if isinstance(key, dict):
        return cbor2.frozendict({name: _make_hashable(item) for name, item in key.items()})
    if isinstance(key, cbor2.CBORTag):
        return cbor2.CBORTag(key.tag, _make_hashable(key.value))
    return key


# Every tag that the library would turn into something else of its own accord.
_CONVERTED_TAGS = (
    0,
    1,
    4,
    5,
    25,
    28,
    29,
    30,
    35,
    36,
    37,
    100,
    256,
    258,
    260,
    261,
    1004,
    43000,
    55799,
)


class _TagFound(Exception):  # noqa: N818 - a signal, not an error
    pass


def _signal_tag(*_: Any) -> NoReturn:
    raise _TagFound


_SEMANTIC_DECODERS = dict.fromkeys(_CONVERTED_TAGS, _signal_tag)


def _encode_spelled_float(encoder: cbor2.CBOREncoder, value: SpelledFloat) -> None:
    """Write a float of a native file as the number that its canonical JSON reads back as."""
    number = canonicalize_number(float(value))
    encoder.encode(number if type(number) is int else float(number))


_TYPE_ENCODERS: dict[type, Callable[[cbor2.CBOREncoder, Any], Any]] = {
    SpelledFloat: _encode_spelled_float
}


def encode_deterministic_cbor(value: Any) -> bytes:
    """Write a value as deterministic CBOR.

    Raises:
        InvalidRecord: it holds a number that is not finite, a lone surrogate, or a type that CBOR
            does not have.
    """
    try:
        if _has_only_text_keys(value, None, 0):
            # For text keys the library's length-first order is the bytewise order of their
            # encodings.
            return cbor2.dumps(value, canonical=True, encoders=_TYPE_ENCODERS)
        return _encode_item(value)
    except (
        cbor2.CBOREncodeError,
        UnicodeEncodeError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise InvalidRecord(f"cannot be written as CBOR: {error}") from error


def encode_byte_string(data: bytes) -> bytes:
    """Write a byte string."""
    return _encode_head(2, len(data)) + data


def decode_cbor(data: bytes) -> Any:
    """Read one CBOR item, strictly.

    Raises:
        UnreadableInput: the bytes are not one well-formed item, or hold something that decoders
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
        return CborScanner(data, MAX_DEPTH).whole()
    except (TypeError, ValueError) as error:
        raise UnreadableInput(f"not CBOR that can be read: {error}") from error


def decode_shortest_cbor(data: bytes, *, max_depth: int, most: int) -> Any:
    """Read one CBOR item whose heads are all as short as can be; its keys may be in any order, and
    big numbers are refused.

    `most` is how many items it may hold, so that the time is bounded.

    Raises:
        UnreadableInput: the bytes are not one well-formed item, or hold something that decoders
            disagree about.
    """
    try:
        return CborScanner(data, max_depth, shortest=True, most=most).whole()
    except (TypeError, ValueError) as error:
        raise UnreadableInput(f"not CBOR that can be read: {error}") from error


def _has_only_text_keys(value: Any, place: ValuePath, depth: int) -> bool:
    """Tell whether all keys are text.

    Raises:
        InvalidRecord: a number is not finite, or the nesting is too deep.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRecord(
                f"{value} has no place in a record", where=format_pointer(place) or "/"
            )
        return True
    if not isinstance(value, dict | list | tuple | cbor2.CBORTag):
        return True
    if depth >= MAX_DEPTH:
        raise InvalidRecord(
            f"nested deeper than {MAX_DEPTH} levels", where=format_pointer(place) or "/"
        )
    plain = True
    # Loops, not comprehensions, which would take a second stack frame for each level.
    if isinstance(value, dict):
        for key, item in value.items():
            plain &= type(key) is str
            plain &= _has_only_text_keys(item, (place, key), depth + 1)
    elif isinstance(value, cbor2.CBORTag):
        plain = _has_only_text_keys(value.value, place, depth + 1)
    else:
        for index, item in enumerate(value):
            plain &= _has_only_text_keys(item, (place, index), depth + 1)
    return plain


def _encode_item(value: Any) -> bytes:
    if isinstance(value, dict):
        members = sorted((_encode_item(key), _encode_item(item)) for key, item in value.items())
        return _encode_head(5, len(members)) + b"".join(key + item for key, item in members)
    if isinstance(value, list | tuple):
        return _encode_head(4, len(value)) + b"".join(map(_encode_item, value))
    if isinstance(value, cbor2.CBORTag):
        return _encode_head(6, value.tag) + _encode_item(value.value)
    return cbor2.dumps(value, canonical=True, encoders=_TYPE_ENCODERS)


def _encode_head(major: int, argument: int) -> bytes:
    head = bytearray(cbor2.dumps(argument))
    head[0] |= major << 5
    return bytes(head)


_MAX_LINE_WIDTH = 100
_MAX_SHOWN_BYTES = 64
_BIGNUM_LIMIT = 1 << 64
"""From here on numbers are big ones, which have tags, and more digits than Python writes."""


def format_diagnostic(value: Any, indent: int = 0) -> str:
    """Write a value; what is short stays on one line, and long byte strings are told by their
    length.
    """
    flat = _format_on_one_line(value)
    if len(flat) + indent <= _MAX_LINE_WIDTH or not isinstance(
        value, dict | list | tuple | cbor2.CBORTag
    ):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, cbor2.CBORTag):
        return f"{value.tag}({format_diagnostic(value.value, indent)})"
    if isinstance(value, dict):
        members = [
            f"{inner}{_format_on_one_line(key)}: {format_diagnostic(item, indent + 2)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(members) + "\n" + " " * indent + "}"
    return (
        "[\n"
        + ",\n".join(inner + format_diagnostic(item, indent + 2) for item in value)
        + "\n"
        + " " * indent
        + "]"
    )


def _format_on_one_line(value: Any) -> str:
    if isinstance(value, bytes):
        shown = f"h'{value[:_MAX_SHOWN_BYTES].hex()}'"
        return shown if len(value) <= _MAX_SHOWN_BYTES else f"{shown[:-1]}…' / {len(value)} bytes /"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{_format_on_one_line(key)}: {_format_on_one_line(item)}"
                for key, item in value.items()
            )
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_format_on_one_line, value)) + "]"
    if isinstance(value, cbor2.CBORTag):
        return f"{value.tag}({_format_on_one_line(value.value)})"
    if isinstance(value, cbor2.CBORSimpleValue):
        return f"simple({value.value})"
    if value is cbor2.undefined:
        return "undefined"
    if isinstance(value, int) and not -_BIGNUM_LIMIT <= value < _BIGNUM_LIMIT:
        number = value if value > 0 else -1 - value
        return f"{2 if value > 0 else 3}({_format_on_one_line(number.to_bytes((number.bit_length() + 7) // 8, 'big'))})"
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or isinstance(value, bool)
        else repr(value)
    )
