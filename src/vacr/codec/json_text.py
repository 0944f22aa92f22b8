"""Writing JSON fast. Step: encode. The text of decoded values: as it was read, or with its members
sorted.

orjson is nearly twice as fast as msgspec and writes the same text, but it refuses what real
sessions hold now and then: integers past 64 bits and nesting past 254 levels. msgspec writes those.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from vacr.codec.numbers import SpelledFloat


def native_text(value: Any, *, indented: bool = False) -> bytes:
    """Write a decoded value as it was read, on one line or with the usual indentation of two
    spaces.

    Raises:
        TypeError: it holds what JSON has no type for.
        ValueError: it holds a text that is none.
        RecursionError: it is nested too deep.
    """
    try:
        return orjson.dumps(value, _native_fragment, orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        text = _native_encoder.encode(value)
        return msgspec.json.format(text, indent=2) if indented else text


def sorted_text(value: Any) -> bytes:
    """Write a decoded value with canonical numbers, the members of each map sorted by code point.

    Raises:
        TypeError: it holds what JSON has no type for.
        ValueError: it holds a text that is none.
        RecursionError: it is nested too deep.
    """
    try:
        return orjson.dumps(value, _canonical_fragment, orjson.OPT_SORT_KEYS)
    except TypeError:
        return _sorted_encoder.encode(value)


def _native_fragment(value: object) -> orjson.Fragment:
    return orjson.Fragment(_spelled(value).native)


def _canonical_fragment(value: object) -> orjson.Fragment:
    return orjson.Fragment(_spelled(value).canonical)


def _native_raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(_spelled(value).native)


def _canonical_raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(_spelled(value).canonical)


def _spelled(value: object) -> SpelledFloat:
    """Give a number that the encoders do not know.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, SpelledFloat):
        return value
    raise TypeError(f"{type(value).__name__} is not a type of JSON")


_native_encoder = msgspec.json.Encoder(enc_hook=_native_raw)
_sorted_encoder = msgspec.json.Encoder(order="deterministic", enc_hook=_canonical_raw)
