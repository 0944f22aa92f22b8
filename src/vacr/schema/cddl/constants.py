"""Find the one value that a type stands for, and the operators that compute one. Step: validate.

A key, the ends of a range and most controllers have to be values; they may be written as names, and
be computed with `.plus`, `.cat` and `.det` (RFC 9165 section 2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vacr.errors import InvalidSchema
from vacr.schema.cddl.model import Controlled, Exact, Node, OneOf, follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.schema.cddl.syntax import Scalar

_LONGEST = 1_000_000


def constant(node: Node) -> Scalar | None:
    """Give the value a type stands for, or None when it stands for more than one.

    Raises:
        InvalidSchema: when `.plus`, `.cat` or `.det` are given what they cannot join.

    """
    node = follow(node)
    match node:
        case Exact():
            return node.value
        case OneOf(alternatives=[only]):
            return constant(only)
        case Controlled(operator="feature"):
            return constant(node.target)
        case Controlled() if node.operator in COMPUTING:
            if node.detail is None:
                node.detail = _computed(node)
            value: Scalar = node.detail
            return value
        case _:
            return None


def _computed(node: Controlled) -> Scalar:
    """Compute the value of `.plus`, `.cat` or `.det`."""
    left, right = constant(node.target), constant(node.controller)
    value = (
        COMPUTING[node.operator](left, right) if left is not None and right is not None else None
    )
    if value is None:
        hint = ".plus joins two numbers, .cat and .det join two strings"
        raise InvalidSchema(
            f".{node.operator} needs a value on either side", where=str(node.place), hint=hint
        )
    return value


def _plus(left: Scalar, right: Scalar) -> Scalar | None:
    """Add; the sum is of the target's kind, and the floor when that is an integer (RFC 9165 section
    2.1).
    """
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    try:
        total = left + right
        return math.floor(total) if isinstance(left, int) else float(total)
    except (OverflowError, ValueError):
        return None


def _cat(left: Scalar, right: Scalar) -> Scalar | None:
    """Concatenate the bytes; the result is of the target's kind (RFC 9165 section 2.2)."""
    if not isinstance(left, str | bytes) or not isinstance(right, str | bytes):
        return None
    joined = _bytes(left) + _bytes(right)
    if len(joined) > _LONGEST:
        return None
    try:
        return joined.decode() if isinstance(left, str) else joined
    except UnicodeDecodeError:
        return None


def _bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _det(left: Scalar, right: Scalar) -> Scalar | None:
    """Concatenate after taking its common indentation off each side (RFC 9165 section 2.3)."""
    if not isinstance(left, str | bytes) or not isinstance(right, str | bytes):
        return None
    first = _dedented(left)
    try:
        return _cat(
            first.decode("utf-8", "surrogatepass") if isinstance(left, str) else first,
            _dedented(right),
        )
    except UnicodeDecodeError:
        return None


def _dedented(value: str | bytes) -> bytes:
    """Take off the blanks that all lines start with."""
    lines = _bytes(value).split(b"\n")
    indents = [len(line) - len(line.lstrip(b" ")) for line in lines if line.strip(b" \r")]
    common = min(indents, default=0)
    dedented = [
        line[common:] if line[:common].strip(b" ") == b"" else line.lstrip(b" ") for line in lines
    ]
    return b"\n".join(dedented)


COMPUTING: dict[str, Callable[[Scalar, Scalar], Scalar | None]] = {
    "plus": _plus,
    "cat": _cat,
    "det": _det,
}
