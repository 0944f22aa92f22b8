"""Numbers as canonical JSON writes them. Step: encode. Follows RFC 8785 section 3.2.2.3 (ECMAScript `Number::toString`).

Integers are written exactly, however large: that is where our profile goes beyond RFC 8785, which refuses them.
"""

from __future__ import annotations

import math

from vacr.errors import InvalidRecord

# ECMAScript writes plain digits from 1e-6 up to 1e21, and an exponent beyond.
_PLAIN_ABOVE = 1e-6
_PLAIN_BELOW = 1e21
# Between these bounds the JSON encoder's own spelling of a fraction is the canonical one.
_SAME_ABOVE = 1e-4


class DelicateFloat(float):
    """A float whose canonical spelling differs from the encoder's own, so that the encoder asks us for it."""

    __slots__ = ()


def float_text(value: float) -> str:
    """Write a float as ECMAScript does.

    Raises:
        InvalidRecord: the value is not finite, which JSON cannot say.
    """
    if not math.isfinite(value):
        raise InvalidRecord(f"{value} has no canonical form", hint="Only finite numbers can be in a record.")
    if value == 0:
        return "0"
    if _PLAIN_ABOVE <= abs(value) < _PLAIN_BELOW:
        digits, _, exponent = repr(float(value)).partition("e")
        if not exponent:
            return digits.removesuffix(".0")
        return _plain(digits, int(exponent))
    mantissa, _, exponent = repr(float(value)).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


def _plain(digits: str, exponent: int) -> str:
    """Write a mantissa and an exponent without the exponent."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, _, fraction = digits.partition(".")
    point = len(whole) + exponent
    figures = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    return f"{sign}{figures.ljust(point, '0')}"


def number(text: str) -> int | float:
    """Read a JSON number that has a fraction or an exponent: an integral one becomes the integer it is written as.

    Raises:
        ValueError: the number is past what a float can hold.
    """
    value = float(text)
    if math.isinf(value):
        raise ValueError("number out of range")
    return canonical(value)


def canonical(value: float) -> int | float:
    """Give the number that the canonical text of a finite float reads back as."""
    magnitude = abs(value)
    if value.is_integer() and magnitude < _PLAIN_BELOW:
        return int(float_text(value))
    if _SAME_ABOVE <= magnitude < _PLAIN_BELOW:
        return value
    return DelicateFloat(value)
