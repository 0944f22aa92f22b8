"""The text conversions of RFC 9741: text that stands for bytes, an integer or JSON.

`tstr .b64u bytes` asks for a text that is the base64url form of some bytes. `TEXT_DECODERS` has a
decoder for each such operator, which raises ValueError for a text not of that form; the generator
needs the way back, `TEXT_ENCODERS`:

    >>> from vacr.cddl.text_codecs import TEXT_DECODERS, TEXT_ENCODERS
    >>> TEXT_DECODERS["b45"]("QED8WEX0")
    b'ietf!'
    >>> TEXT_ENCODERS["hexuc"](b"ietf!")
    '6965746621'
    >>> TEXT_DECODERS["hexlc"]("6A") # upper case
    Traceback (most recent call last):
    ValueError: not in the exact form

The form has to be exact (the padding, the case, no bits left over) except in the sloppy variants.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

_BASE45_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_DECIMAL_PATTERN = re.compile(r"0|-?[1-9][0-9]*")
_MAX_DECIMAL_LENGTH = 4000


def _check_exact_form(text: str, decoded: bytes, encode: Callable[[bytes], str]) -> bytes:
    """Refuse a text that the encoder would not have written."""
    if encode(decoded) != text:
        raise ValueError("not in the exact form")
    return decoded


def _decode_base64(text: str) -> bytes:
    return _check_exact_form(text, _decode_sloppy_base64(text), _encode_base64)


def _decode_sloppy_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode_base64url(text: str) -> bytes:
    return _check_exact_form(text, _decode_sloppy_base64url(text), _encode_base64url)


def _decode_sloppy_base64url(text: str) -> bytes:
    if set(text) & set("+/="):
        raise ValueError("not the URL-safe alphabet without padding")
    standard = text.replace("-", "+").replace("_", "/")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def _encode_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode_base32(text: str) -> bytes:
    decoded = base64.b32decode(_pad_base32(text))
    return _check_exact_form(text, decoded, _encode_base32)


def _encode_base32(data: bytes) -> str:
    return base64.b32encode(data).rstrip(b"=").decode()


def _decode_base32hex(text: str) -> bytes:
    decoded = base64.b32hexdecode(_pad_base32(text))
    return _check_exact_form(text, decoded, _encode_base32hex)


def _encode_base32hex(data: bytes) -> str:
    return base64.b32hexencode(data).rstrip(b"=").decode()


def _pad_base32(text: str) -> str:
    if "=" in text:
        raise ValueError("padding")
    return text + "=" * (-len(text) % 8)


def _decode_base45(text: str) -> bytes:
    """Decode Base45 (RFC 9285): three characters for two bytes, two for a last one."""
    digits = [_BASE45_ALPHABET.index(character) for character in text]
    decoded = bytearray()
    for start in range(0, len(digits), 3):
        chunk = digits[start : start + 3]
        value = sum(digit * 45**place for place, digit in enumerate(chunk))
        size = len(chunk) - 1
        if value >= 256**size:
            raise ValueError("a group of characters that stands for no bytes")
        decoded += value.to_bytes(size, "big")
    return _check_exact_form(text, bytes(decoded), _encode_base45)


def _encode_base45(data: bytes) -> str:
    text = ""
    for start in range(0, len(data), 2):
        chunk = data[start : start + 2]
        value = int.from_bytes(chunk, "big")
        for place in range(len(chunk) + 1):
            text += _BASE45_ALPHABET[value // 45**place % 45]
    return text


def _decode_hex(text: str) -> bytes:
    return binascii.unhexlify(text)


def _decode_lowercase_hex(text: str) -> bytes:
    return _check_exact_form(text, _decode_hex(text), bytes.hex)


def _decode_uppercase_hex(text: str) -> bytes:
    return _check_exact_form(text, _decode_hex(text), _encode_uppercase_hex)


def _encode_uppercase_hex(data: bytes) -> str:
    return bytes.hex(data).upper()


def _decode_decimal(text: str) -> int:
    if len(text) > _MAX_DECIMAL_LENGTH or not _DECIMAL_PATTERN.fullmatch(text):
        raise ValueError("not an integer in its shortest form")
    return int(text)


def _encode_decimal(number: int) -> str:
    return f"{number:d}"


def _decode_json(text: str) -> Any:
    import json

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _encode_json(value: Any) -> str:
    import json

    return json.dumps(value, allow_nan=False)


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
