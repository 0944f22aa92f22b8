"""Results as text: JSON documents for programs, and counts and sizes for people.

Documents name the version of their schema, and nothing in them can drive a terminal:

    >>> from vacr.workflows import encode_output_document, format_count, format_size
    >>> encode_output_document({"files": 1})
    b'{"files":1,"schema_version":"1"}'
    >>> format_count(2, "entry"), format_size(12_218)
    ('2 entries', '12.2 kB')
"""

from __future__ import annotations

import re
from typing import Any

from vacr.record import encode_canonical_json

OUTPUT_SCHEMA_VERSION = "1"
_SIZE_UNITS = ("B", "kB", "MB", "GB")
_UNIT_FACTOR = 1000
_TERMINAL_CONTROL_PATTERN = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")


def encode_output_document(document: dict[str, Any]) -> bytes:
    """Encode a document for programs, with the version of its schema."""
    versioned = {"schema_version": OUTPUT_SCHEMA_VERSION, **document}
    text = encode_canonical_json(_replace_surrogates(versioned)).decode()
    # JSON leaves characters as they are that drive a terminal or reverse the order of letters;
    # as escapes they mean the same.
    return _TERMINAL_CONTROL_PATTERN.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _replace_surrogates(value: Any) -> Any:
    """Replace surrogates in all texts: file names, and messages with them, may hold any bytes."""
    if isinstance(value, str):
        return _SURROGATE_PATTERN.sub("\ufffd", value)
    if isinstance(value, dict):
        return {
            _replace_surrogates(name): _replace_surrogates(item) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_replace_surrogates(item) for item in value]
    return value


def format_size(count: int) -> str:
    """Return a number of bytes with the unit that a person would use."""
    if count < _UNIT_FACTOR:
        return f"{count} B"
    value, unit = float(count), "B"
    for unit in _SIZE_UNITS:  # noqa: B007 - the unit that was reached is used below
        if value < _UNIT_FACTOR:
            break
        value /= _UNIT_FACTOR
    return f"{value:.1f} {unit}"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural_noun}"
