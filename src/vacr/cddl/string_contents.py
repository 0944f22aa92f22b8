"""The content of strings: CBOR in bytes, and text that stands for bytes, an integer or JSON.

A schema can look into a string. `bstr .cbor claims` asks for bytes that are the CBOR encoding of
claims, and `tstr .b64u bytes` for a text that is the base64url form of some bytes. Each operator
has a decoder here, which raises ValueError for a string in another form:

    >>> from vacr.cddl.string_contents import BYTE_DECODERS, TEXT_DECODERS, TEXT_ENCODERS
    >>> BYTE_DECODERS["cbor"](bytes.fromhex("a1616182010a"))
    {'a': [1, 10]}
    >>> BYTE_DECODERS["cborseq"](bytes.fromhex("016161"))
    [1, 'a']
    >>> TEXT_DECODERS["b45"]("QED8WEX0")
    b'ietf!'
    >>> TEXT_ENCODERS["hexuc"](b"ietf!")            # the generator needs the way back
    '6965746621'
    >>> TEXT_DECODERS["hexlc"]("6A")                # upper case
    Traceback (most recent call last):
    ValueError: not in the exact form

CBOR follows RFC 8949 section 3 and RFC 8742, with bounded depth. cbor2 decodes records, but a
schema needs what cbor2 does not offer: every tag left as a tag, the end of each item, and one error
for anything that is not CBOR. The text forms come from RFC 9741 and must be exact (the padding, the
case, no bits left over), except in the sloppy variants.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from typing import Any, NoReturn

from vacr.cddl.values import (
    BIGNUM_TAG,
    BIGNUM_TAGS,
    MAJOR_ARRAY,
    MAJOR_BYTES,
    MAJOR_MAP,
    MAJOR_TEXT,
    SIMPLE_FALSE,
    SIMPLE_FLOAT16,
    SIMPLE_FLOAT32,
    SIMPLE_FLOAT64,
    SIMPLE_NULL,
    SIMPLE_TRUE,
    SIMPLE_UNDEFINED,
    get_tag,
)

MAX_CBOR_DEPTH = 200
_LARGEST_IMMEDIATE = 23
_LAST_SIZED_ARGUMENT = 27
_INDEFINITE_LENGTH = 31
_BREAK_BYTE = 0xFF
# A smaller number fits into the first byte, and may not be written in two (RFC 8949 section 3.3).
_FIRST_TWO_BYTE_SIMPLE = 32
_SIMPLE_WORDS = {SIMPLE_FALSE: False, SIMPLE_TRUE: True, SIMPLE_NULL: None}
_FLOAT_FORMATS = {SIMPLE_FLOAT16: ">e", SIMPLE_FLOAT32: ">f", SIMPLE_FLOAT64: ">d"}

_BASE45_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_DECIMAL_PATTERN = re.compile(r"0|-?[1-9][0-9]*")
_MAX_DECIMAL_LENGTH = 4000


# The content of bytes: a small CBOR decoder.


class MalformedCborError(ValueError):
    """Bytes that are not well-formed CBOR."""


def decode_cbor_item(data: bytes) -> Any:
    """Return the Python value of bytes that are exactly one CBOR item.

    Raises:
        MalformedCborError: when the bytes are not one well-formed item.

    """
    reader = _CborReader(data)
    item = reader.read_item(0)
    if reader.at != len(data):
        raise MalformedCborError("bytes after the item")
    return item


def decode_cbor_sequence(data: bytes) -> list[Any]:
    """Return the Python values of a CBOR sequence (RFC 8742); an empty list for no bytes.

    Raises:
        MalformedCborError: when the bytes are not well-formed items.

    """
    reader = _CborReader(data)
    items = []
    while reader.at < len(data):
        items.append(reader.read_item(0))
    return items


class _CborReader:
    """Reads CBOR items from bytes one by one; `at` is the offset of the next byte."""

    def __init__(self, data: bytes) -> None:
        """Start at the first byte."""
        self._data = data
        self.at = 0

    def read_item(self, depth: int) -> Any:
        """Return the next item as a Python value; `depth` counts the items around it.

        Raises:
            MalformedCborError: when the bytes are not well-formed, or nested too deeply.

        """
        if depth > MAX_CBOR_DEPTH:
            self._fail("nested too deeply")
        major, information, argument = self._read_head()
        match major:
            case 2 | 3:
                return self._read_string(major, argument)
            case 4:
                return self._read_array(argument, depth)
            case 5:
                return self._read_map(argument, depth)
        if argument is None:
            self._fail("an item with an invalid first byte")
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 6:
                return self._read_tag(argument, depth)
            case _:
                return self._build_simple(information, argument)

    def _fail(self, message: str) -> NoReturn:
        """Raise a MalformedCborError with this message."""
        raise MalformedCborError(message)

    def _take(self, count: int) -> bytes:
        """Return the next `count` bytes and go past them.

        Raises:
            MalformedCborError: fewer bytes are left.
        """
        piece = self._data[self.at : self.at + count]
        if len(piece) != count:
            self._fail("the bytes end early")
        self.at += count
        return piece

    def _read_head(self) -> tuple[int, int, int | None]:
        """Read major type, additional information and argument (None: indefinite length).

        Raises:
            MalformedCborError: the bytes end early, or the first one is invalid.
        """
        first = self._take(1)[0]
        major, information = first >> 5, first & 31
        if information <= _LARGEST_IMMEDIATE:
            return major, information, information
        if information <= _LAST_SIZED_ARGUMENT:
            size = 1 << (information - 24)
            return major, information, int.from_bytes(self._take(size), "big")
        has_length = major in {MAJOR_BYTES, MAJOR_TEXT, MAJOR_ARRAY, MAJOR_MAP}
        if information == _INDEFINITE_LENGTH and has_length:
            return major, information, None
        return self._fail("an item with an invalid first byte")

    def _skip_break(self) -> bool:
        """Skip the byte that ends an item of indefinite length; return whether it was next.

        Raises:
            MalformedCborError: no bytes are left.
        """
        if self.at >= len(self._data):
            self._fail("the bytes end early")
        is_break = self._data[self.at] == _BREAK_BYTE
        self.at += is_break
        return is_break

    def _check_count(self, count: int) -> int:
        """Return a count of items unchanged.

        Raises:
            MalformedCborError: the count is above the number of bytes left.
        """
        if count > len(self._data) - self.at:
            self._fail("the bytes end early")
        return count

    def _read_string(self, major: int, length: int | None) -> str | bytes:
        """Return text or bytes, by major type; without a length, join chunks up to the break.

        Raises:
            MalformedCborError: the bytes end early, a chunk has another type, or text is not UTF-8.
        """
        if length is not None:
            raw = self._take(length)
            try:
                return raw if major == MAJOR_BYTES else raw.decode()
            except UnicodeDecodeError:
                self._fail("text that is not UTF-8")
        chunks: list[Any] = []
        while not self._skip_break():
            chunk_major, _, size = self._read_head()
            if chunk_major != major or size is None:
                self._fail("a malformed string of indefinite length")
            chunks.append(self._read_string(major, size))
        return b"".join(chunks) if major == MAJOR_BYTES else "".join(chunks)

    def _read_array(self, length: int | None, depth: int) -> list[Any]:
        """Return so many items, or without a length all items up to the break."""
        if length is not None:
            return [self.read_item(depth + 1) for _ in range(self._check_count(length))]
        elements = []
        while not self._skip_break():
            elements.append(self.read_item(depth + 1))
        return elements

    def _read_map(self, length: int | None, depth: int) -> dict[Any, Any]:
        """Return a dict of so many members, or without a length of all up to the break.

        Raises:
            MalformedCborError: a member is malformed, or two keys are equal in Python.
        """
        members: dict[Any, Any] = {}
        remaining = math.inf if length is None else self._check_count(length)
        while remaining and not (length is None and self._skip_break()):
            key = _make_hashable(self.read_item(depth + 1))
            try:
                repeated = key in members
            except (TypeError, RuntimeError):
                self._fail("a key of a type that cannot be a key")
            if repeated:
                self._fail("a repeated key, or keys that are equal in Python, such as true and 1")
            members[key] = self.read_item(depth + 1)
            remaining -= 1
        return members

    def _read_tag(self, number: int, depth: int) -> Any:
        """Return the integer of a bignum, and any other tag as a `CBORTag`."""
        content = self.read_item(depth + 1)
        if isinstance(content, bytes) and number in BIGNUM_TAGS:
            value = int.from_bytes(content, "big")
            return value if number == BIGNUM_TAG else -1 - value
        from cbor2 import CBORTag

        return CBORTag(number, content)

    def _build_simple(self, information: int, argument: int) -> Any:
        """Return the float, or the simple value, of a head of major type 7.

        Raises:
            MalformedCborError: the simple value is not in its shortest form.
        """
        if information in _FLOAT_FORMATS:
            form = _FLOAT_FORMATS[information]
            return struct.unpack(form, argument.to_bytes(struct.calcsize(form), "big"))[0]
        if argument in _SIMPLE_WORDS:
            return _SIMPLE_WORDS[argument]
        if information > _LARGEST_IMMEDIATE and argument < _FIRST_TWO_BYTE_SIMPLE:
            self._fail("a malformed simple value")
        import cbor2

        return cbor2.undefined if argument == SIMPLE_UNDEFINED else cbor2.CBORSimpleValue(argument)


def _make_hashable(key: Any) -> Any:
    """Return a key in a form that a dict accepts, like cbor2: tuple for list, frozendict for dict.

    The content of a tag is converted too; any other key is returned unchanged.
    """
    if isinstance(key, list):
        return tuple(_make_hashable(item) for item in key)
    if isinstance(key, dict):
        from cbor2 import frozendict

        return frozendict({name: _make_hashable(value) for name, value in key.items()})
    tag = get_tag(key)
    if tag is not None and key.__class__ is not int:
        from cbor2 import CBORTag

        number, content = tag
        return CBORTag(number, _make_hashable(content))
    return key


# The content of text: a decoder and an encoder for each form.


def _check_exact_form(text: str, decoded: bytes, encode: Callable[[bytes], str]) -> bytes:
    """Return the decoded bytes; refuse a text that `encode` writes in another way.

    Raises:
        ValueError: when encoding the bytes again does not yield the text.

    """
    if encode(decoded) != text:
        raise ValueError("not in the exact form")
    return decoded


def _decode_base64(text: str) -> bytes:
    """Decode base64 with its padding, and without bits left over.

    Raises:
        ValueError: the text is not exactly the base64 of some bytes.
    """
    return _check_exact_form(text, _decode_sloppy_base64(text), _encode_base64)


def _decode_sloppy_base64(text: str) -> bytes:
    """Decode base64 with its padding; bits left over may have any value.

    Raises:
        ValueError: the text has other characters, or wrong padding.
    """
    return base64.b64decode(text, validate=True)


def _encode_base64(data: bytes) -> str:
    """Return bytes as base64 with padding."""
    return base64.b64encode(data).decode()


def _decode_base64url(text: str) -> bytes:
    """Decode base64url without padding, and without bits left over.

    Raises:
        ValueError: the text is not exactly the base64url of some bytes.
    """
    return _check_exact_form(text, _decode_sloppy_base64url(text), _encode_base64url)


def _decode_sloppy_base64url(text: str) -> bytes:
    """Decode base64url without padding; bits left over may have any value.

    Raises:
        ValueError: the text has other characters, padding or an impossible length.
    """
    if set(text) & set("+/="):
        raise ValueError("not the URL-safe alphabet without padding")
    standard = text.replace("-", "+").replace("_", "/")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def _encode_base64url(data: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode_base32(text: str) -> bytes:
    """Decode base32 in upper case, without padding and without bits left over.

    Raises:
        ValueError: the text is not exactly the base32 of some bytes.
    """
    decoded = base64.b32decode(_pad_base32(text))
    return _check_exact_form(text, decoded, _encode_base32)


def _encode_base32(data: bytes) -> str:
    """Return bytes as base32 in upper case, without padding."""
    return base64.b32encode(data).rstrip(b"=").decode()


def _decode_base32hex(text: str) -> bytes:
    """Decode base32hex in upper case, without padding and without bits left over.

    Raises:
        ValueError: the text is not exactly the base32hex of some bytes.
    """
    decoded = base64.b32hexdecode(_pad_base32(text))
    return _check_exact_form(text, decoded, _encode_base32hex)


def _encode_base32hex(data: bytes) -> str:
    """Return bytes as base32hex in upper case, without padding."""
    return base64.b32hexencode(data).rstrip(b"=").decode()


def _pad_base32(text: str) -> str:
    """Return base32 text with the padding that Python's decoder needs.

    Raises:
        ValueError: the text has padding already.
    """
    if "=" in text:
        raise ValueError("base32 has no padding here")
    return text + "=" * (-len(text) % 8)


def _decode_base45(text: str) -> bytes:
    """Decode Base45 (RFC 9285): three characters for two bytes, two for a last one.

    Raises:
        ValueError: the text has other characters, or does not encode bytes.
    """
    digits = [_BASE45_ALPHABET.index(character) for character in text]
    decoded = bytearray()
    for start in range(0, len(digits), 3):
        chunk = digits[start : start + 3]
        value = sum(digit * 45**place for place, digit in enumerate(chunk))
        size = len(chunk) - 1
        if value >= 256**size:
            raise ValueError("a group of Base45 characters encodes no bytes")
        decoded += value.to_bytes(size, "big")
    return _check_exact_form(text, bytes(decoded), _encode_base45)


def _encode_base45(data: bytes) -> str:
    """Encode bytes as Base45 (RFC 9285)."""
    text = ""
    for start in range(0, len(data), 2):
        chunk = data[start : start + 2]
        value = int.from_bytes(chunk, "big")
        for place in range(len(chunk) + 1):
            text += _BASE45_ALPHABET[value // 45**place % 45]
    return text


def _decode_hex(text: str) -> bytes:
    """Decode hexadecimal digits in either case.

    Raises:
        ValueError: the text does not consist of pairs of hexadecimal digits.
    """
    return binascii.unhexlify(text)


def _decode_lowercase_hex(text: str) -> bytes:
    """Decode hexadecimal digits in lower case.

    Raises:
        ValueError: the text does not consist of pairs of such digits.
    """
    return _check_exact_form(text, _decode_hex(text), bytes.hex)


def _decode_uppercase_hex(text: str) -> bytes:
    """Decode hexadecimal digits in upper case.

    Raises:
        ValueError: the text does not consist of pairs of such digits.
    """
    return _check_exact_form(text, _decode_hex(text), _encode_uppercase_hex)


def _encode_uppercase_hex(data: bytes) -> str:
    """Return bytes as hexadecimal digits in upper case."""
    return bytes.hex(data).upper()


def _decode_decimal(text: str) -> int:
    """Return the integer of decimal digits, without leading zeros or a plus sign.

    Raises:
        ValueError: the text is not an integer in this form, or is too long.
    """
    if len(text) > _MAX_DECIMAL_LENGTH or not _DECIMAL_PATTERN.fullmatch(text):
        raise ValueError("not an integer in its shortest form")
    return int(text)


def _encode_decimal(number: int) -> str:
    """Return an integer as decimal digits, with a minus sign if it is negative."""
    return f"{number:d}"


def _decode_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, or has NaN or Infinity, which Python would accept.
    """
    import json

    def refuse(word: str) -> None:
        """Raise a ValueError about `NaN` or `Infinity`."""
        raise ValueError(f"{word} is not a JSON value")

    return json.loads(text, parse_constant=refuse)


def _encode_json(value: Any) -> str:
    """Return a value as JSON text.

    Raises:
        ValueError: the value contains NaN or an infinity.
        TypeError: the value contains bytes or another type that JSON does not have.
    """
    import json

    return json.dumps(value, allow_nan=False)


# The operators, by name.

BYTE_DECODERS: dict[str, Callable[[bytes], Any]] = {
    "cbor": decode_cbor_item,
    "cborseq": decode_cbor_sequence,
}
TEXT_DECODERS: dict[str, Callable[[str], Any]] = {
    "b64u": _decode_base64url,
    "b64u-sloppy": _decode_sloppy_base64url,
    "b64c": _decode_base64,
    "b64c-sloppy": _decode_sloppy_base64,
    "b32": _decode_base32,
    "h32": _decode_base32hex,
    "b45": _decode_base45,
    "hex": _decode_hex,
    "hexlc": _decode_lowercase_hex,
    "hexuc": _decode_uppercase_hex,
    "base10": _decode_decimal,
    "decimal": _decode_decimal,
    "json": _decode_json,
}
TEXT_ENCODERS: dict[str, Callable[[Any], str]] = {
    "b64u": _encode_base64url,
    "b64u-sloppy": _encode_base64url,
    "b64c": _encode_base64,
    "b64c-sloppy": _encode_base64,
    "b32": _encode_base32,
    "h32": _encode_base32hex,
    "b45": _encode_base45,
    "hex": bytes.hex,
    "hexlc": bytes.hex,
    "hexuc": _encode_uppercase_hex,
    "base10": _encode_decimal,
    "decimal": _encode_decimal,
    "json": _encode_json,
}
