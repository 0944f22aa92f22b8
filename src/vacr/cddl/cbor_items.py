"""Decode the CBOR inside a byte string, for `.cbor` and `.cborseq`. Step: validate.

Follows RFC 8949 section 3 and RFC 8742. cbor2 decodes records; this small reader exists because the
check needs what cbor2 does not give: every tag left as a tag, the end of each item, and an answer,
not an error, for whatever is not CBOR. Depth is bounded.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NoReturn

from vacr.cddl.model import MAJOR_ARRAY, MAJOR_BYTES, MAJOR_MAP, MAJOR_TEXT, tag_of

MAX_CBOR_DEPTH = 200
_INDEFINITE_INFO, _BREAK_BYTE = 31, 0xFF
_SIMPLE_VALUES = {20: False, 21: True, 22: None}
_UNDEFINED_VALUE, _LARGEST_IMMEDIATE = 23, 23
_HALF_FLOAT, _SINGLE_FLOAT, _DOUBLE_FLOAT = 25, 26, 27
_FLOAT_FORMATS = {_HALF_FLOAT: ">e", _SINGLE_FLOAT: ">f", _DOUBLE_FLOAT: ">d"}
_BIGNUM_TAG, _NEGATIVE_BIGNUM_TAG = 2, 3


class MalformedCborError(ValueError):
    """Bytes that are not well-formed CBOR."""


def decode_cbor_item(data: bytes) -> Any:
    """Decode exactly one item.

    Raises:
        NotCbor: when the bytes are not one well-formed item.

    """
    reader = _CborReader(data)
    item = reader.item(0)
    if reader.at != len(data):
        raise MalformedCborError("bytes after the item")
    return item


def decode_cbor_sequence(data: bytes) -> list[Any]:
    """Decode a sequence of items (RFC 8742).

    Raises:
        NotCbor: when the bytes are not well-formed items.

    """
    reader = _CborReader(data)
    found = []
    while reader.at < len(data):
        found.append(reader.item(0))
    return found


class _CborReader:
    """A position in some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def _fail(self, message: str) -> NoReturn:
        raise MalformedCborError(message)

    def _take(self, count: int) -> bytes:
        taken = self._data[self.at : self.at + count]
        if len(taken) != count:
            self._fail("the bytes end early")
        self.at += count
        return taken

    def _head(self) -> tuple[int, int, int | None]:
        """Read a head: major type, additional information, and its argument (None: indefinite
        length).
        """
        first = self._take(1)[0]
        major, information = first >> 5, first & 31
        if information <= _LARGEST_IMMEDIATE:
            return major, information, information
        if information <= _DOUBLE_FLOAT:
            return major, information, int.from_bytes(self._take(1 << (information - 24)), "big")
        if information == _INDEFINITE_INFO and major in {
            MAJOR_BYTES,
            MAJOR_TEXT,
            MAJOR_ARRAY,
            MAJOR_MAP,
        }:
            return major, information, None
        return self._fail("a malformed head")

    def item(self, depth: int) -> Any:
        """Read one item."""
        if depth > MAX_CBOR_DEPTH:
            self._fail("nested too deeply")
        major, information, argument = self._head()
        match major:
            case 2 | 3:
                return self._string(major, argument)
            case 4:
                return self._array(argument, depth)
            case 5:
                return self._map(argument, depth)
        if argument is None:
            self._fail("a malformed head")
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 6:
                return self._tag(argument, depth)
            case _:
                return self._simple(information, argument)

    def _break(self) -> bool:
        """Step over the end of an item of indefinite length, if it is next."""
        if self.at >= len(self._data):
            self._fail("the bytes end early")
        found = self._data[self.at] == _BREAK_BYTE
        self.at += found
        return found

    def _string(self, major: int, length: int | None) -> str | bytes:
        if length is not None:
            raw = self._take(length)
            try:
                return raw if major == MAJOR_BYTES else raw.decode()
            except UnicodeDecodeError:
                self._fail("text that is not UTF-8")
        parts: list[Any] = []
        while not self._break():
            inner, _, size = self._head()
            if inner != major or size is None:
                self._fail("a malformed string of indefinite length")
            parts.append(self._string(major, size))
        return b"".join(parts) if major == MAJOR_BYTES else "".join(parts)

    def _array(self, length: int | None, depth: int) -> list[Any]:
        if length is not None:
            return [self.item(depth + 1) for _ in range(self._possible(length))]
        found = []
        while not self._break():
            found.append(self.item(depth + 1))
        return found

    def _possible(self, count: int) -> int:
        """Refuse a count that the bytes left cannot hold, before making room for it."""
        if count > len(self._data) - self.at:
            self._fail("the bytes end early")
        return count

    def _map(self, length: int | None, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        left = math.inf if length is None else self._possible(length)
        while left and not (length is None and self._break()):
            key = _make_hashable(self.item(depth + 1))
            try:
                repeated = key in found
            except (TypeError, RuntimeError):
                self._fail("a key that cannot be a key here")
            if repeated:
                self._fail(
                    "a key that is there twice, or is equal to another in Python, as true is to 1"
                )
            found[key] = self.item(depth + 1)
            left -= 1
        return found

    def _tag(self, number: int, depth: int) -> Any:
        content = self.item(depth + 1)
        if isinstance(content, bytes) and number in {_BIGNUM_TAG, _NEGATIVE_BIGNUM_TAG}:
            value = int.from_bytes(content, "big")
            return value if number == _BIGNUM_TAG else -1 - value
        from cbor2 import CBORTag

        return CBORTag(number, content)

    def _simple(self, information: int, argument: int) -> Any:
        if information in _FLOAT_FORMATS:
            form = _FLOAT_FORMATS[information]
            return struct.unpack(form, argument.to_bytes(struct.calcsize(form), "big"))[0]
        if argument in _SIMPLE_VALUES:
            return _SIMPLE_VALUES[argument]
        if information > _LARGEST_IMMEDIATE and argument < 32:  # noqa: PLR2004 - RFC 8949 section 3.3
            self._fail("a malformed simple value")
        import cbor2

        return cbor2.undefined if argument == _UNDEFINED_VALUE else cbor2.CBORSimpleValue(argument)


def _make_hashable(key: Any) -> Any:
    """Turn a key that is an array or a map into its immutable form, as cbor2 does."""
    if isinstance(key, list):
        return tuple(_make_hashable(item) for item in key)
    if isinstance(key, dict):
        from cbor2 import frozendict

        return frozendict({name: _make_hashable(value) for name, value in key.items()})
    tag = tag_of(key)
    if tag is not None and key.__class__ is not int:
        from cbor2 import CBORTag

        return CBORTag(tag[0], _make_hashable(tag[1]))
    return key
