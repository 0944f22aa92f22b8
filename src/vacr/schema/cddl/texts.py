"""The text conversions of RFC 9741: text that stands for bytes, an integer or JSON. Step: validate.

Each name is that of a control operator; each function decodes a text or says with ValueError that
it cannot be one. The form has to be exact (the padding, the case, no bits left over) except in the
sloppy variants.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_BASE45 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_DECIMAL = re.compile(r"0|-?[1-9][0-9]*")
_LONGEST_DECIMAL = 4000


def _exactly(text: str, decoded: bytes, encode: Callable[[bytes], str]) -> bytes:
    """Refuse a text that the encoder would not have written."""
    if encode(decoded) != text:
        raise ValueError("not in the exact form")
    return decoded


def _b64c(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _b64u(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_b64c(text: str) -> bytes:
    return _exactly(text, base64.b64decode(text, validate=True), _b64c)


def _from_b64u(text: str) -> bytes:
    return _exactly(text, _sloppy_b64u(text), _b64u)


def _sloppy_b64u(text: str) -> bytes:
    if set(text) & set("+/="):
        raise ValueError("not the URL-safe alphabet without padding")
    plain = text.replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _sloppy_b64c(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _base32(text: str, decode: Callable[[str], bytes], encode: Callable[[bytes], bytes]) -> bytes:
    if "=" in text:
        raise ValueError("padding")
    decoded = decode(text + "=" * (-len(text) % 8))
    return _exactly(text, decoded, lambda data: encode(data).rstrip(b"=").decode())


def _from_b32(text: str) -> bytes:
    return _base32(text, base64.b32decode, base64.b32encode)


def _from_h32(text: str) -> bytes:
    return _base32(text, base64.b32hexdecode, base64.b32hexencode)


def _from_b45(text: str) -> bytes:
    """Decode Base45 (RFC 9285)."""
    digits = [_BASE45.index(character) for character in text]
    found = bytearray()
    for start in range(0, len(digits), 3):
        chunk = digits[start : start + 3]
        value = sum(digit * 45**place for place, digit in enumerate(chunk))
        if value >= 256 ** (len(chunk) - 1):
            raise ValueError("a group of characters that stands for no bytes")
        found += value.to_bytes(len(chunk) - 1, "big")
    return _exactly(text, bytes(found), _to_b45)


def _from_hex(text: str) -> bytes:
    return binascii.unhexlify(text)


def _from_hexlc(text: str) -> bytes:
    return _exactly(text, binascii.unhexlify(text), bytes.hex)


def _from_hexuc(text: str) -> bytes:
    return _exactly(text, binascii.unhexlify(text), lambda data: data.hex().upper())


def _from_base10(text: str) -> int:
    if len(text) > _LONGEST_DECIMAL or not _DECIMAL.fullmatch(text):
        raise ValueError("not an integer in its shortest form")
    return int(text)


def _from_json(text: str) -> Any:
    import json

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


CODECS: dict[str, Callable[[str], Any]] = {
    "b64u": _from_b64u,
    "b64u-sloppy": _sloppy_b64u,
    "b64c": _from_b64c,
    "b64c-sloppy": _sloppy_b64c,
    "b32": _from_b32,
    "h32": _from_h32,
    "b45": _from_b45,
    "hex": _from_hex,
    "hexlc": _from_hexlc,
    "hexuc": _from_hexuc,
    "base10": _from_base10,
    "decimal": _from_base10,
    "json": _from_json,
}


def _to_base32(data: bytes) -> str:
    return base64.b32encode(data).rstrip(b"=").decode()


def _to_h32(data: bytes) -> str:
    return base64.b32hexencode(data).rstrip(b"=").decode()


def _to_b45(data: bytes) -> str:
    """Encode Base45 (RFC 9285)."""
    found = ""
    for start in range(0, len(data), 2):
        chunk = data[start : start + 2]
        value = int.from_bytes(chunk, "big")
        found += "".join(_BASE45[value // 45**place % 45] for place in range(len(chunk) + 1))
    return found


def _to_json(value: Any) -> str:
    import json

    return json.dumps(value, allow_nan=False)


ENCODERS: dict[str, Callable[[Any], str]] = {
    "b64u": _b64u,
    "b64u-sloppy": _b64u,
    "b64c": _b64c,
    "b64c-sloppy": _b64c,
    "b32": _to_base32,
    "h32": _to_h32,
    "b45": _to_b45,
    "hex": bytes.hex,
    "hexlc": bytes.hex,
    "hexuc": lambda data: bytes.hex(data).upper(),
    "base10": lambda number: f"{number:d}",
    "decimal": lambda number: f"{number:d}",
    "json": _to_json,
}
