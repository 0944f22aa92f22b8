"""CBOR values as text for people. Step: inspect. Follows the diagnostic notation of RFC 8949
section 8, laid out over lines.
"""

from __future__ import annotations

import json
from typing import Any

import cbor2

_WIDE = 100
_LONG = 64
_BIG = 1 << 64
"""From here on numbers are big ones, which have tags, and more digits than Python writes."""


def diagnostic(value: Any, indent: int = 0) -> str:
    """Write a value; what is short stays on one line, and long byte strings are told by their
    length.
    """
    flat = _flat(value)
    if len(flat) + indent <= _WIDE or not isinstance(value, dict | list | tuple | cbor2.CBORTag):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, cbor2.CBORTag):
        return f"{value.tag}({diagnostic(value.value, indent)})"
    if isinstance(value, dict):
        members = [
            f"{inner}{_flat(key)}: {diagnostic(item, indent + 2)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(members) + "\n" + " " * indent + "}"
    return (
        "[\n"
        + ",\n".join(inner + diagnostic(item, indent + 2) for item in value)
        + "\n"
        + " " * indent
        + "]"
    )


def _flat(value: Any) -> str:
    if isinstance(value, bytes):
        shown = f"h'{value[:_LONG].hex()}'"
        return shown if len(value) <= _LONG else f"{shown[:-1]}…' / {len(value)} bytes /"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flat, value)) + "]"
    if isinstance(value, cbor2.CBORTag):
        return f"{value.tag}({_flat(value.value)})"
    if isinstance(value, cbor2.CBORSimpleValue):
        return f"simple({value.value})"
    if value is cbor2.undefined:
        return "undefined"
    if isinstance(value, int) and not -_BIG <= value < _BIG:
        number = value if value > 0 else -1 - value
        return f"{2 if value > 0 else 3}({_flat(number.to_bytes((number.bit_length() + 7) // 8, 'big'))})"
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or isinstance(value, bool)
        else repr(value)
    )
