"""Types that stand for one value, and the operators that compute one.

A key, the ends of a range and most controllers have to be values. They may be written as names, and
computed with `.plus`, `.cat` and `.det` (RFC 9165 section 2):

    >>> from vacr.cddl import compile_cddl
    >>> from vacr.cddl.constants import evaluate_constant
    >>> schema = compile_cddl("base = 400  teapot = base .plus 18  any-code = int")
    >>> evaluate_constant(schema.node("teapot"))
    418
    >>> evaluate_constant(schema.node("any-code")) is None
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vacr.cddl.tokens import Scalar
from vacr.cddl.type_graph import (
    ChoiceType,
    ControlType,
    LiteralType,
    RangeType,
    TypeNode,
    resolve_refs,
)

_MAX_JOINED_BYTES = 1_000_000


def evaluate_constant(node: TypeNode) -> Scalar | None:
    """Return the value a type stands for, or None when it stands for more than one.

    Raises:
        CddlError: when the sides of `.plus`, `.cat` or `.det` cannot be joined.

    """
    node = resolve_refs(node)
    match node:
        case LiteralType():
            return node.value
        case ChoiceType(alternatives=[only]):
            return evaluate_constant(only)
        case ControlType(operator="feature"):
            return evaluate_constant(node.target)
        case ControlType() if node.operator in COMPUTING_OPERATORS:
            if node.detail is None:
                node.detail = _compute_operator(node)
            value: Scalar = node.detail
            return value
        case _:
            return None


def get_range_bounds(node: RangeType) -> tuple[int | float, int | float]:
    """Return the ends of a range.

    Raises:
        CddlError: when they are not two integers or two floating-point numbers.

    """
    low, high = evaluate_constant(node.low), evaluate_constant(node.high)
    if isinstance(low, int) and isinstance(high, int):
        return low, high
    if isinstance(low, float) and isinstance(high, float):
        return low, high
    return node.place.fail("a range needs two integers or two floating-point numbers")


def _compute_operator(node: ControlType) -> Scalar:
    """Compute the value of `.plus`, `.cat` or `.det`."""
    left, right = evaluate_constant(node.target), evaluate_constant(node.controller)
    value = None
    if left is not None and right is not None:
        value = COMPUTING_OPERATORS[node.operator](left, right)
    if value is None:
        hint = ".plus joins two numbers, .cat and .det join two strings"
        node.place.fail(f".{node.operator} needs a value on either side", hint)
    return value


def _add_numbers(left: Scalar, right: Scalar) -> Scalar | None:
    """Add; the sum is of the target's kind, rounded down to an integer (RFC 9165 section 2.1)."""
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    try:
        total = left + right
        return math.floor(total) if isinstance(left, int) else float(total)
    except (OverflowError, ValueError):
        return None


def _concatenate_strings(left: Scalar, right: Scalar) -> Scalar | None:
    """Concatenate the bytes; the result is of the target's kind (RFC 9165 section 2.2)."""
    if not isinstance(left, str | bytes) or not isinstance(right, str | bytes):
        return None
    joined = _convert_to_bytes(left) + _convert_to_bytes(right)
    if len(joined) > _MAX_JOINED_BYTES:
        return None
    try:
        return joined.decode() if isinstance(left, str) else joined
    except UnicodeDecodeError:
        return None


def _concatenate_dedented(left: Scalar, right: Scalar) -> Scalar | None:
    """Concatenate after removing the common indentation of each side (RFC 9165 section 2.3)."""
    if not isinstance(left, str | bytes) or not isinstance(right, str | bytes):
        return None
    first = _remove_indentation(left)
    second = _remove_indentation(right)
    if isinstance(left, bytes):
        return _concatenate_strings(first, second)
    try:
        return _concatenate_strings(first.decode("utf-8", "surrogatepass"), second)
    except UnicodeDecodeError:
        return None


def _remove_indentation(value: str | bytes) -> bytes:
    """Remove the spaces that all lines start with; lines of spaces alone do not count."""
    lines = _convert_to_bytes(value).split(b"\n")
    indents = [len(line) - len(line.lstrip(b" ")) for line in lines if line.strip(b" \r")]
    common = min(indents, default=0)
    dedented = []
    for line in lines:
        starts_with_common = line[:common].strip(b" ") == b""
        dedented.append(line[common:] if starts_with_common else line.lstrip(b" "))
    return b"\n".join(dedented)


def _convert_to_bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


COMPUTING_OPERATORS: dict[str, Callable[[Scalar, Scalar], Scalar | None]] = {
    "plus": _add_numbers,
    "cat": _concatenate_strings,
    "det": _concatenate_dedented,
}
