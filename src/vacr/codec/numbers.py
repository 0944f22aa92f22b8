"""Numbers as canonical JSON writes them. Step: encode. Follows RFC 8785 section 3.2.2.3 (ECMAScript
`Number::toString`).

Integers are written exactly, however large: that is where our profile goes beyond RFC 8785, which
refuses them. So that no float is taken for another integer, one past 2^53 whose shortest digits are
not its exact value keeps its exponent.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Self

from vacr.errors import InvalidRecord

# ECMAScript writes plain digits from 1e-6 up to 1e21, and an exponent beyond.
_PLAIN_ABOVE = 1e-6
_PLAIN_BELOW = 1e21
_EXACT_BELOW = 2**53
# Between these bounds the JSON encoder's own spelling of a fraction is the canonical one.
_SAME_ABOVE = 1e-4
_SAME_BELOW = 1e15


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
        value.canonical = float_text(value).encode()
        return value


def float_text(value: float) -> str:
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
    if _PLAIN_ABOVE <= abs(value) < _PLAIN_BELOW:
        text = _plain(mantissa, int(exponent)) if exponent else mantissa.removesuffix(".0")
        if abs(value) < _EXACT_BELOW or int(text) == value:
            return text
    if not exponent:
        return _with_exponent(mantissa)
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


def _with_exponent(digits: str) -> str:
    """Write the digits of a large integral float with an exponent."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    figures = digits.removesuffix(".0")
    short = figures.rstrip("0")
    return f"{sign}{short[0]}{'.' + short[1:] if len(short) > 1 else ''}e+{len(figures) - 1}"


def _plain(digits: str, exponent: int) -> str:
    """Write a mantissa and an exponent without the exponent."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, _, fraction = digits.partition(".")
    point = len(whole) + exponent
    figures = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    return f"{sign}{figures.ljust(point, '0')}"


@lru_cache(maxsize=4096)
def spelled(text: str) -> float:
    """Read a JSON number that has a fraction or an exponent, and keep its spelling where the
    encoder has another.

    Raises:
        ValueError: the number is past what a float can hold.
    """
    value = float(text)
    if _SAME_ABOVE <= abs(value) < _SAME_BELOW and repr(value) == text and text[-2:] != ".0":
        return value
    return SpelledFloat(text)


def number(text: str) -> int | float:
    """Read a JSON number that has a fraction or an exponent: an integral one becomes the integer it
    is written as.

    Raises:
        ValueError: the number is past what a float can hold.
    """
    return canonical(SpelledFloat(text))


def canonical(value: float) -> int | float:
    """Give the number that the canonical text of a finite float reads back as."""
    text = float_text(value)
    if "." in text or "e" in text:
        return spelled(text)
    return int(text)
