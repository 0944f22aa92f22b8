"""Compile plain types: kinds, literals and ranges. Step: validate.

Follows RFC 8610 sections 2.2.2.1, 3.1 and 3.6. A bool is never an integer, and 1, 1.0 and true are
three values. JSON has one kind of number (Appendix E): there a number that is integral is an
integer however it was written, and an integer is a floating-point number, for canonical JSON writes
1000.0 as 1000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vacr.errors import InvalidSchema
from vacr.schema.cddl.constants import constant
from vacr.schema.cddl.model import (
    ARRAY,
    BYTES,
    FALSE,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    LARGEST_UINT,
    MAP,
    NINT,
    NULL,
    SIMPLE,
    SMALLEST_NINT,
    TEXT,
    TRUE,
    UINT,
    UNDEFINED,
    Between,
    Kind,
)

if TYPE_CHECKING:
    from vacr.schema.cddl.compiler import Program

_FEW_LITERALS = 2
_KINDS = {
    (BYTES, None): "isinstance(x, bytes)",
    (TEXT, None): "isinstance(x, str)",
    (ARRAY, None): "isinstance(x, LISTS)",
    (MAP, None): "is_map(x)",
    (SIMPLE, None): "is_simple(x)",
    (SIMPLE, FALSE): "x is False",
    (SIMPLE, TRUE): "x is True",
    (SIMPLE, NULL): "x is None",
    (SIMPLE, UNDEFINED): "is_undefined(x)",
    (SIMPLE, FLOAT16): "fits_float(x, '<e')",
    (SIMPLE, FLOAT32): "fits_float(x, '<f')",
    (SIMPLE, FLOAT64): "isinstance(x, float)",
}
_JSON_KINDS = {
    (SIMPLE, None): "(is_simple(x) or x.__class__ is int)",
    (SIMPLE, FLOAT16): "fits_float(as_float(x), '<e')",
    (SIMPLE, FLOAT32): "fits_float(as_float(x), '<f')",
    (SIMPLE, FLOAT64): "isinstance(as_float(x), float)",
}


def kinds(program: Program, wanted_kinds: list[Kind]) -> list[str]:
    """Write the plain kinds of a choice, integers first as one range."""
    wanted = {(kind.major, kind.argument) for kind in wanted_kinds}
    low = SMALLEST_NINT if (NINT, None) in wanted else 0
    high = LARGEST_UINT if (UINT, None) in wanted else -1
    tests = [integer(program, low, high)] if low <= high else []
    if (SIMPLE, FLOAT64) in wanted:
        wanted -= {(SIMPLE, FLOAT16), (SIMPLE, FLOAT32)}
    if {(SIMPLE, FALSE), (SIMPLE, TRUE)} <= wanted:
        wanted -= {(SIMPLE, FALSE), (SIMPLE, TRUE)}
        tests.append("x.__class__ is bool")
    known = _KINDS | _JSON_KINDS if program.json else _KINDS
    for major, argument in sorted(wanted - {(UINT, None), (NINT, None)}, key=str):
        if (major, argument) in known:
            tests.append(known[major, argument])
        elif major == SIMPLE:
            tests.append(f"simple_number(x) == {argument}")
        else:
            tests.append(f"head_argument({whole(program)}, {major}) == {argument}")
    return tests


def whole(program: Program) -> str:
    """Write the value as the integer it may be: of JSON also when it was written as a fraction."""
    return "as_integer(x)" if program.json else "x"


def _is_float(program: Program) -> str:
    return (
        "(x.__class__ is float or x.__class__ is int)" if program.json else "x.__class__ is float"
    )


def integer(program: Program, low: int, high: int) -> str:
    """Write a range of integers; of JSON also a float that is integral (RFC 8610 Appendix E)."""
    test = f"(x.__class__ is int and {low} <= x <= {high})"
    return (
        f"({test} or x.__class__ is float and x.is_integer() and {low} <= x <= {high})"
        if program.json
        else test
    )


def literals(program: Program, values: list[Any]) -> list[str]:
    """Write the literals of a choice; several texts, or several integers, as one look
    into a set.
    """
    texts = [literal for literal in values if isinstance(literal, str)]
    integers = [literal for literal in values if isinstance(literal, int)]
    tests = [_literal(program, literal) for literal in values if not isinstance(literal, str | int)]
    if len(integers) > _FEW_LITERALS:
        # A float that is integral is found in the set as well, which is right for JSON alone.
        wanted = _is_float(program) if program.json else "x.__class__ is int"
        tests.append(f"({wanted} and x in {program.constant(frozenset(integers))})")
    else:
        tests += [_literal(program, number) for number in integers]
    if len(texts) > _FEW_LITERALS:
        return [*tests, f"(isinstance(x, str) and x in {program.constant(frozenset(texts))})"]
    return tests + [_literal(program, text) for text in texts]


def _literal(program: Program, value: Any) -> str:
    """Write a comparison with one value; 1, 1.0 and true are three values."""
    if isinstance(value, int):
        return integer(program, value, value)
    if isinstance(value, float):
        return f"({_is_float(program)} and x == {program.constant(value)})"
    return f"(x == {program.constant(value)})"


def between(program: Program, node: Between) -> str:
    """Write a range."""
    low, high = bounds(node)
    if isinstance(low, int) and isinstance(high, int):
        return integer(program, low, high if node.inclusive else high - 1)
    less = "<=" if node.inclusive else "<"
    return (
        f"({_is_float(program)} and {program.constant(low)} <= x {less} {program.constant(high)})"
    )


def bounds(node: Between) -> tuple[int | float, int | float]:
    """Give the ends of a range.

    Raises:
        InvalidSchema: when they are not two integers or two floating-point numbers.
    """
    low, high = constant(node.low), constant(node.high)
    if isinstance(low, int) and isinstance(high, int):
        return low, high
    if isinstance(low, float) and isinstance(high, float):
        return low, high
    raise InvalidSchema(
        "a range needs two integers or two floating-point numbers", where=str(node.place)
    )
