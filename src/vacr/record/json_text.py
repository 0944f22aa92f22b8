"""The text of JSON values: fast encoders, the spelling of numbers, depth and pointers.

A native file may spell a number in a way that no encoder would choose. To prove later that nothing
was lost, the same value must be written in two ways: as it was read, and canonically.

    >>> from vacr.record.json_text import encode_native_json, encode_sorted_json
    >>> from vacr.record.json_text import parse_spelled_float
    >>> value = {"cost": parse_spelled_float("1.50"), "at": parse_spelled_float("2E3")}
    >>> encode_native_json(value)
    b'{"cost":1.50,"at":2E3}'
    >>> encode_sorted_json(value)
    b'{"at":2000,"cost":1.5}'

Canonical numbers follow RFC 8785 section 3.2.2.3 (ECMAScript `Number::toString`), with one
difference: integers are written exactly, however large. So that no float is mistaken for another
integer, a float above 2^53 whose shortest digits are not its exact value keeps its exponent.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

import msgspec
import orjson

from vacr.errors import InvalidRecord

MAX_DEPTH = 400
"""How deep a value may nest, in every codec.

It is far below the limits of the C decoders and of the interpreter's stack, so that the same input
is accepted or refused on every machine.
"""

ValuePath = tuple[Any, Any] | None
"""The place of a value: the parent's place and the key or index under it; None for the root.

A chain is cheap to extend; its pointer is built only for an error.
"""

# ECMAScript writes plain digits from 1e-6 up to 1e21, and an exponent beyond.
_MIN_PLAIN_NUMBER = 1e-6
_PLAIN_NUMBER_LIMIT = 1e21
_EXACT_INTEGER_LIMIT = 2**53
# Between these bounds, the JSON encoders spell a fraction as canonical JSON does.
_MIN_SAME_SPELLING = 1e-4
_SAME_SPELLING_LIMIT = 1e15

_NON_OPENING_BYTES = bytes(byte for byte in range(256) if byte not in b"{[")


class SpelledFloat(float):
    """A float that keeps its spelling, because the encoders would write it differently.

    `native` is the spelling as read, such as `1.50`; `canonical` is the canonical one, `1.5`. JSON
    encoders do not know this type, so they call a hook, and the hook writes one of the two.
    """

    __slots__ = ("canonical", "native")
    native: bytes
    canonical: bytes

    def __new__(cls, text: str) -> Self:
        """Parse the text of a JSON number.

        Raises:
            ValueError: the number is out of the range of floats.
        """
        value = super().__new__(cls, text)
        if math.isinf(value):
            raise ValueError("number out of range")
        value.native = text.encode()
        value.canonical = format_float(value).encode()
        return value


def encode_native_json(value: Any, *, indented: bool = False) -> bytes:
    """Encode a decoded value with its original member order and number spellings.

    The text is on one line, or indented by two spaces.

    orjson is nearly twice as fast as msgspec and writes the same text, but refuses integers above
    64 bits and more than 254 levels, which real sessions do contain. msgspec writes those.

    Raises:
        TypeError: it contains a type that JSON does not have.
        ValueError: it contains a text that is not valid Unicode.
        RecursionError: it is nested too deep.
    """
    try:
        return orjson.dumps(value, _make_native_fragment, orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        text = _native_encoder.encode(value)
        return msgspec.json.format(text, indent=2) if indented else text


def encode_shallow_json(value: Any, *, indented: bool = False) -> bytes | None:
    """Encode like `encode_native_json`; return None if it nests deeper than orjson's 254 levels.

    So a result proves that the value is not too deep, without a count of its brackets. Integers
    above 64 bits and invalid Unicode yield None as well.
    """
    try:
        return orjson.dumps(value, _make_native_fragment, orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        return None


def encode_sorted_json(value: Any) -> bytes:
    """Encode a decoded value with canonical numbers and with members sorted by code point.

    The text is on one line without spaces.

    Raises:
        TypeError: it contains a type that JSON does not have.
        ValueError: it contains a text that is not valid Unicode.
        RecursionError: it is nested too deep.
    """
    try:
        return orjson.dumps(value, _make_canonical_fragment, orjson.OPT_SORT_KEYS)
    except TypeError:
        return _sorted_encoder.encode(value)


# The hooks that the encoders call for a type they do not know.


def _make_native_fragment(value: object) -> orjson.Fragment:
    """Return the native spelling of a `SpelledFloat` for orjson."""
    return orjson.Fragment(_check_spelled_float(value).native)


def _make_canonical_fragment(value: object) -> orjson.Fragment:
    """Return the canonical spelling of a `SpelledFloat` for orjson."""
    return orjson.Fragment(_check_spelled_float(value).canonical)


def _make_native_raw(value: object) -> msgspec.Raw:
    """Return the native spelling of a `SpelledFloat` for msgspec."""
    return msgspec.Raw(_check_spelled_float(value).native)


def _make_canonical_raw(value: object) -> msgspec.Raw:
    """Return the canonical spelling of a `SpelledFloat` for msgspec."""
    return msgspec.Raw(_check_spelled_float(value).canonical)


def _check_spelled_float(value: object) -> SpelledFloat:
    """Return the value, narrowed to SpelledFloat.

    Raises:
        TypeError: it is of another type.
    """
    if isinstance(value, SpelledFloat):
        return value
    raise TypeError(f"JSON has no type for {type(value).__name__}")


_native_encoder = msgspec.json.Encoder(enc_hook=_make_native_raw)
_sorted_encoder = msgspec.json.Encoder(order="deterministic", enc_hook=_make_canonical_raw)


@lru_cache(maxsize=4096)
def parse_spelled_float(text: str) -> float:
    """Parse a JSON number with a fraction or an exponent, and keep its spelling.

    Return a plain float if encoders would write the same text, otherwise a `SpelledFloat`.

    Raises:
        ValueError: the number is out of the range of floats.
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
    """Parse a JSON number with a fraction or an exponent, without its spelling.

    For example, `2E3` becomes the integer 2000, and `1.50` the float 1.5.

    Raises:
        ValueError: the number is out of the range of floats.
    """
    return canonicalize_number(SpelledFloat(text))


def canonicalize_number(value: float) -> int | float:
    """Return the number that a decoder reads from the canonical text of a finite float.

    For example, 2000.0 becomes the integer 2000, and 1.5 stays a float.

    Raises:
        InvalidRecord: the value is not finite.
    """
    text = format_float(value)
    if "." in text or "e" in text:
        return parse_spelled_float(text)
    return int(text)


def format_float(value: float) -> str:
    """Return the canonical text of a float, as ECMAScript writes it: `2000`, `1.5`, `1e-7`.

    Raises:
        InvalidRecord: the value is not finite, which JSON cannot express.
    """
    if not math.isfinite(value):
        raise InvalidRecord(
            f"{value} is not a finite number", hint="Only finite numbers can be in a record."
        )
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(float(value)).partition("e")
    if _MIN_PLAIN_NUMBER <= abs(value) < _PLAIN_NUMBER_LIMIT:
        if exponent:
            text = _format_without_exponent(mantissa, int(exponent))
        else:
            text = mantissa.removesuffix(".0")
        if abs(value) < _EXACT_INTEGER_LIMIT or int(text) == value:
            return text
    if not exponent:
        return _format_with_exponent(mantissa)
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


def _format_with_exponent(text: str) -> str:
    """Write the digits of a large integral float with an exponent: 123000.0 as 1.23e+5."""
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    digits = text.removesuffix(".0")
    significant = digits.rstrip("0")
    fraction = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{fraction}e+{len(digits) - 1}"


def _format_without_exponent(mantissa: str, exponent: int) -> str:
    """Write a mantissa and an exponent as plain digits: 1.5 and -5 as 0.000015.

    The mantissa has one digit before the point. A positive exponent must be at least the number of
    decimals, as in 1.5 and 3.
    """
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + exponent
    digits = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits.ljust(point, '0')}"


def is_deeper_than(limit: int, value: Any, data: bytes) -> bool:
    """Return whether lists and maps in a value nest deeper than a limit.

    `data` is the JSON text of the value. For most values, its length and its brackets already
    decide.
    """
    return (
        len(data) > 2 * limit
        and count_opening_brackets(data) > limit
        and measure_depth(value, limit) > limit
    )


def count_opening_brackets(data: bytes) -> int:
    """Return the number of `{` and `[` in a text, including brackets inside strings."""
    return len(data.translate(None, _NON_OPENING_BYTES))


def measure_depth(value: Any, limit: int) -> int:
    """Return how deep lists and maps nest: 0 for a number, 1 for `[1]`, 2 for `[[1]]`.

    Return `limit + 1` for anything deeper than the limit.
    """
    items, depth = [value], 0
    while depth <= limit:
        containers = [item for item in items if type(item) is dict or type(item) is list]
        if not containers:
            break
        depth += 1
        items = [
            item
            for container in containers
            for item in (container.values() if type(container) is dict else container)
        ]
    return depth


def format_pointer(place: ValuePath) -> str:
    """Return the JSON pointer (RFC 6901) of a place; the root's is an empty string."""
    steps = []
    while place is not None:
        place, key = place
        steps.append(f"/{escape_pointer_token(str(key))}")
    return "".join(reversed(steps))


def escape_pointer_token(name: str) -> str:
    """Escape a member's name for a JSON pointer: `~` becomes `~0`, and `/` becomes `~1`."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name
