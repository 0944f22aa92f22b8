"""How deep values may nest. Step: encode.

One limit for every codec, well under what the C decoders and the interpreter's stack allow, so that
the same input is accepted or refused on every machine.

Numbers as canonical JSON writes them. Step: encode. Follows RFC 8785 section 3.2.2.3 (ECMAScript
`Number::toString`).

Integers are written exactly, however large: that is where our profile goes beyond RFC 8785, which
refuses them. So that no float is taken for another integer, one past 2^53 whose shortest digits are
not its exact value keeps its exponent.

Writing JSON fast. Step: encode. The text of decoded values: as it was read, or with its members
sorted.

orjson is nearly twice as fast as msgspec and writes the same text, but it refuses what real
sessions hold now and then: integers past 64 bits and nesting past 254 levels. msgspec writes those.

JSON pointers (RFC 6901) of places in a value. Step: encode, and validate.

A place is a chain of steps back to the root, so that going down costs nothing; the text is made
when somebody asks.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

import msgspec
import orjson

from vacr.errors import InvalidRecord

MAX_DEPTH = 400

_NON_OPENING_BYTES = bytes(byte for byte in range(256) if byte not in b"{[")


def is_deeper_than(limit: int, value: Any, data: bytes) -> bool:
    """Tell whether a value nests deeper than a limit; `data` is its text, whose length and brackets
    rule most values out.
    """
    return (
        len(data) > 2 * limit
        and count_opening_brackets(data) > limit
        and measure_depth(value, limit) > limit
    )


def count_opening_brackets(data: bytes) -> int:
    """Count the brackets that open, those in strings too."""
    return len(data.translate(None, _NON_OPENING_BYTES))


def measure_depth(value: Any, limit: int) -> int:
    """Give the depth of a value's nesting, or a number above the limit."""
    items, reached = [value], 0
    while reached <= limit:
        containers = [item for item in items if type(item) is dict or type(item) is list]
        if not containers:
            break
        reached += 1
        items = [
            item for held in containers for item in (held.values() if type(held) is dict else held)
        ]
    return reached


# ECMAScript writes plain digits from 1e-6 up to 1e21, and an exponent beyond.
_MIN_PLAIN_NUMBER = 1e-6
_PLAIN_NUMBER_LIMIT = 1e21
_EXACT_INTEGER_LIMIT = 2**53
# Between these bounds the JSON encoder's own spelling of a fraction is the canonical one.
_MIN_SAME_SPELLING = 1e-4
_SAME_SPELLING_LIMIT = 1e15


class SpelledFloat(float):
    """A float that remembers how it was written, for the encoder would write it otherwise.

    JSON encoders do not know the type and ask us: so the native spelling and the canonical one are
    both at hand.
    """

    __slots__ = ("canonical", "native")
    native: bytes
    canonical: bytes

    def __new__(cls, text: str) -> Self:
        """Read the text.

        Raises:
            ValueError: the number is past what a float can hold.
        """
        value = super().__new__(cls, text)
        if math.isinf(value):
            raise ValueError("number out of range")
        value.native = text.encode()
        value.canonical = format_float(value).encode()
        return value


def format_float(value: float) -> str:
    """Write a float as ECMAScript does.

    Raises:
        InvalidRecord: the value is not finite, which JSON cannot say.
    """
    if not math.isfinite(value):
        raise InvalidRecord(
            f"{value} has no canonical form", hint="Only finite numbers can be in a record."
        )
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(float(value)).partition("e")
    if _MIN_PLAIN_NUMBER <= abs(value) < _PLAIN_NUMBER_LIMIT:
        text = (
            _format_without_exponent(mantissa, int(exponent))
            if exponent
            else mantissa.removesuffix(".0")
        )
        if abs(value) < _EXACT_INTEGER_LIMIT or int(text) == value:
            return text
    if not exponent:
        return _format_with_exponent(mantissa)
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


def _format_with_exponent(digits: str) -> str:
    """Write the digits of a large integral float with an exponent."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    figures = digits.removesuffix(".0")
    short = figures.rstrip("0")
    return f"{sign}{short[0]}{'.' + short[1:] if len(short) > 1 else ''}e+{len(figures) - 1}"


def _format_without_exponent(digits: str, exponent: int) -> str:
    """Write a mantissa and an exponent without the exponent."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, _, fraction = digits.partition(".")
    point = len(whole) + exponent
    figures = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    return f"{sign}{figures.ljust(point, '0')}"


@lru_cache(maxsize=4096)
def parse_spelled_float(text: str) -> float:
    """Read a JSON number that has a fraction or an exponent, and keep its spelling where the
    encoder has another.

    Raises:
        ValueError: the number is past what a float can hold.
    """
    value = float(text)
    if (
        _MIN_SAME_SPELLING <= abs(value) < _SAME_SPELLING_LIMIT
        and repr(value) == text
        and text[-2:] != ".0"
    ):
        return value
    return SpelledFloat(text)


def parse_json_number(text: str) -> int | float:
    """Read a JSON number that has a fraction or an exponent: an integral one becomes the integer it
    is written as.

    Raises:
        ValueError: the number is past what a float can hold.
    """
    return canonicalize_number(SpelledFloat(text))


def canonicalize_number(value: float) -> int | float:
    """Give the number that the canonical text of a finite float reads back as."""
    text = format_float(value)
    if "." in text or "e" in text:
        return parse_spelled_float(text)
    return int(text)


def encode_native_json(value: Any, *, indented: bool = False) -> bytes:
    """Write a decoded value as it was read, on one line or with the usual indentation of two
    spaces.

    Raises:
        TypeError: it holds what JSON has no type for.
        ValueError: it holds a text that is none.
        RecursionError: it is nested too deep.
    """
    try:
        return orjson.dumps(value, _make_native_fragment, orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        text = _native_encoder.encode(value)
        return msgspec.json.format(text, indent=2) if indented else text


def encode_sorted_json(value: Any) -> bytes:
    """Write a decoded value with canonical numbers, the members of each map sorted by code point.

    Raises:
        TypeError: it holds what JSON has no type for.
        ValueError: it holds a text that is none.
        RecursionError: it is nested too deep.
    """
    try:
        return orjson.dumps(value, _make_canonical_fragment, orjson.OPT_SORT_KEYS)
    except TypeError:
        return _sorted_encoder.encode(value)


def _make_native_fragment(value: object) -> orjson.Fragment:
    return orjson.Fragment(_check_spelled_float(value).native)


def _make_canonical_fragment(value: object) -> orjson.Fragment:
    return orjson.Fragment(_check_spelled_float(value).canonical)


def _make_native_raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(_check_spelled_float(value).native)


def _make_canonical_raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(_check_spelled_float(value).canonical)


def _check_spelled_float(value: object) -> SpelledFloat:
    """Give a number that the encoders do not know.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, SpelledFloat):
        return value
    raise TypeError(f"{type(value).__name__} is not a type of JSON")


_native_encoder = msgspec.json.Encoder(enc_hook=_make_native_raw)
_sorted_encoder = msgspec.json.Encoder(order="deterministic", enc_hook=_make_canonical_raw)


ValuePath = tuple[Any, Any] | None
"""The parent's place and the key or index under it; nothing for the root."""


def escape_pointer_token(name: str) -> str:
    """Escape a member's name for a pointer."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def format_pointer(place: ValuePath) -> str:
    """Write the pointer of a place."""
    steps = []
    while place is not None:
        place, key = place
        steps.append(f"/{escape_pointer_token(str(key))}")
    return "".join(reversed(steps))
