"""A slow, strict reading of CBOR that keeps every tag and names the place of what it refuses. Step:
encode.

Follows RFC 8949 section 3. The fast path of `deterministic_cbor` vouches for bytes that encode to
themselves; all others come here. Refused: indefinite lengths, repeated keys, bytes after the item,
not-a-number and infinities, text that is not UTF-8, reserved heads, too deep a nesting, lengths
past the end. Heads that are longer than need be are read, unless only the shortest are asked for.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import cbor2

from vacr.codec.pointers import Place, pointer
from vacr.errors import UnreadableInput

_FLOATS = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}
_LONG_HEADS = {24: 1, 25: 2, 26: 4, 27: 8}
_LEAST = {24: 24, 25: 1 << 8, 26: 1 << 16, 27: 1 << 32}
"""The least argument that needs a head of each length."""
_SIMPLE = {20: False, 21: True, 22: None}
_UNDEFINED = 23
_INDEFINITE = 31
_FIRST_LONG_SIMPLE = 32
_BIGNUMS = (2, 3)


class Scanner:
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

    def refusal(self, reason: str, place: Place) -> UnreadableInput:
        """Make the error that names this place."""
        shown = pointer(place)
        where = f"byte {self.position}" + (f" ({shown[:200]})" if shown else "")
        return UnreadableInput(reason, where=where)

    def take(self, count: int, place: Place) -> bytes:
        """Take bytes, if there are as many as the head says."""
        if count > len(self.data) - self.position:
            raise self.refusal(
                f"{count} bytes announced, {len(self.data) - self.position} left", place
            )
        self.position += count
        return self.data[self.position - count : self.position]

    def item(self, place: Place, depth: int) -> Any:
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
        if info == _INDEFINITE:
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

    def argument(self, info: int, place: Place) -> int:
        """Read the argument of a head."""
        if info < min(_LONG_HEADS):
            return info
        if info not in _LONG_HEADS:
            raise self.refusal(f"reserved head {info}", place)
        value = int.from_bytes(self.take(_LONG_HEADS[info], place), "big")
        if self.shortest and value < _LEAST[info]:
            raise self.refusal("a head that is longer than need be", place)
        return value

    def enough(self, count: int, place: Place) -> None:
        """Refuse a count of items that the bytes left cannot hold, before making room for them."""
        if count > len(self.data) - self.position:
            raise self.refusal(
                f"{count} items announced, {len(self.data) - self.position} bytes left", place
            )

    def text(self, length: int, place: Place) -> str:
        """Read text."""
        try:
            return self.take(length, place).decode()
        except UnicodeDecodeError as error:
            raise self.refusal("text that is not UTF-8", place) from error

    def map(self, count: int, place: Place, depth: int) -> dict[Any, Any]:
        """Read a map."""
        self.enough(count, place)
        members: dict[Any, Any] = {}
        for _ in range(count):
            start = self.position
            key = _hashable(self.item(place, depth + 1))
            # 1, 1.0 and true would be three keys in CBOR; a dict takes them for one, so they are
            # refused as well.
            if key in members:
                self.position = start
                raise self.refusal(f"key {key!r} occurs more than once", place)
            members[key] = self.item((place, key), depth + 1)
        return members

    def tagged(self, tag: int, place: Place, depth: int) -> Any:
        """Read what a tag holds; only big numbers are turned into what they mean."""
        value = self.item(place, depth + 1)
        if tag in _BIGNUMS and isinstance(value, bytes):
            if self.shortest:
                raise self.refusal("a big number", place)
            number = int.from_bytes(value, "big")
            return number if tag == _BIGNUMS[0] else -1 - number
        return cbor2.CBORTag(tag, value)

    def simple(self, info: int, place: Place) -> Any:
        """Read a float or a simple value."""
        if info in _FLOATS:
            form, size = _FLOATS[info]
            value = struct.unpack(form, self.take(size, place))[0]
            if not math.isfinite(value):
                raise self.refusal(f"{value} is not a number a record can hold", place)
            return value
        if info in _SIMPLE:
            return _SIMPLE[info]
        if info == _UNDEFINED:
            return cbor2.undefined
        if info == _INDEFINITE:
            raise self.refusal("a break outside any item", place)
        code = self.argument(info, place)
        if info > min(_LONG_HEADS) or (info == min(_LONG_HEADS) and code < _FIRST_LONG_SIMPLE):
            raise self.refusal(f"reserved simple value {code}", place)
        return cbor2.CBORSimpleValue(code)


def _hashable(key: Any) -> Any:
    """Make a key of any type one that a dict can have."""
    if isinstance(key, list):
        return tuple(_hashable(item) for item in key)
    if isinstance(key, dict):
        return cbor2.frozendict({name: _hashable(item) for name, item in key.items()})
    if isinstance(key, cbor2.CBORTag):
        return cbor2.CBORTag(key.tag, _hashable(key.value))
    return key
