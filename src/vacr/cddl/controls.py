"""Find the one value that a type stands for, and the operators that compute one. Step: validate.

A key, the ends of a range and most controllers have to be values; they may be written as names, and
be computed with `.plus`, `.cat` and `.det` (RFC 9165 section 2).

Compile plain types: kinds, literals and ranges. Step: validate.

Follows RFC 8610 sections 2.2.2.1, 3.1 and 3.6. A bool is never an integer, and 1, 1.0 and true are
three values. JSON has one kind of number (Appendix E): there a number that is integral is an
integer however it was written, and an integer is a floating-point number, for canonical JSON writes
1000.0 as 1000.

The text conversions of RFC 9741: text that stands for bytes, an integer or JSON. Step: validate.

Each name is that of a control operator; each function decodes a text or says with ValueError that
it cannot be one. The form has to be exact (the padding, the case, no bits left over) except in the
sloppy variants.

Compile control operators. Step: validate.

Follows RFC 8610 section 3.8, RFC 9165 and the text conversions of RFC 9741. `prepare` looks at a
controller once, when the schema is compiled, and refuses what makes no sense there; `expression`
writes the check.

Left out on purpose: `.printf` and `.join` of RFC 9741. `.feature` accepts what its target accepts
and reports nothing.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from vacr.cddl.cbor_items import decode_cbor_item, decode_cbor_sequence
from vacr.cddl.model import (
    LARGEST_UINT,
    MAJOR_ARRAY,
    MAJOR_BYTES,
    MAJOR_MAP,
    MAJOR_NINT,
    MAJOR_SIMPLE,
    MAJOR_TEXT,
    MAJOR_UINT,
    SIMPLE_FALSE,
    SIMPLE_FLOAT16,
    SIMPLE_FLOAT32,
    SIMPLE_FLOAT64,
    SIMPLE_NULL,
    SIMPLE_TRUE,
    SIMPLE_UNDEFINED,
    SMALLEST_NINT,
    ChoiceType,
    ControlType,
    LiteralType,
    MajorType,
    RangeType,
    TypeNode,
    flatten_choice,
    resolve_refs,
)
from vacr.cddl.regexp import PatternError, compile_pattern
from vacr.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.cddl.syntax import Scalar

_MAX_JOINED_BYTES = 1_000_000


def evaluate_constant(node: TypeNode) -> Scalar | None:
    """Give the value a type stands for, or None when it stands for more than one.

    Raises:
        InvalidSchema: when `.plus`, `.cat` or `.det` are given what they cannot join.

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


def _compute_operator(node: ControlType) -> Scalar:
    """Compute the value of `.plus`, `.cat` or `.det`."""
    left, right = evaluate_constant(node.target), evaluate_constant(node.controller)
    value = (
        COMPUTING_OPERATORS[node.operator](left, right)
        if left is not None and right is not None
        else None
    )
    if value is None:
        hint = ".plus joins two numbers, .cat and .det join two strings"
        raise InvalidSchema(
            f".{node.operator} needs a value on either side", where=str(node.place), hint=hint
        )
    return value


def _add_numbers(left: Scalar, right: Scalar) -> Scalar | None:
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


def _convert_to_bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _concatenate_dedented(left: Scalar, right: Scalar) -> Scalar | None:
    """Concatenate after taking its common indentation off each side (RFC 9165 section 2.3)."""
    if not isinstance(left, str | bytes) or not isinstance(right, str | bytes):
        return None
    first = _remove_indentation(left)
    try:
        return _concatenate_strings(
            first.decode("utf-8", "surrogatepass") if isinstance(left, str) else first,
            _remove_indentation(right),
        )
    except UnicodeDecodeError:
        return None


def _remove_indentation(value: str | bytes) -> bytes:
    """Take off the blanks that all lines start with."""
    lines = _convert_to_bytes(value).split(b"\n")
    indents = [len(line) - len(line.lstrip(b" ")) for line in lines if line.strip(b" \r")]
    common = min(indents, default=0)
    dedented = [
        line[common:] if line[:common].strip(b" ") == b"" else line.lstrip(b" ") for line in lines
    ]
    return b"\n".join(dedented)


COMPUTING_OPERATORS: dict[str, Callable[[Scalar, Scalar], Scalar | None]] = {
    "plus": _add_numbers,
    "cat": _concatenate_strings,
    "det": _concatenate_dedented,
}


if TYPE_CHECKING:
    from vacr.cddl.compiler import CheckProgram

_MAX_COMPARED_LITERALS = 2
_KIND_TESTS = {
    (MAJOR_BYTES, None): "isinstance(x, bytes)",
    (MAJOR_TEXT, None): "isinstance(x, str)",
    (MAJOR_ARRAY, None): "isinstance(x, LISTS)",
    (MAJOR_MAP, None): "is_map(x)",
    (MAJOR_SIMPLE, None): "is_simple(x)",
    (MAJOR_SIMPLE, SIMPLE_FALSE): "x is False",
    (MAJOR_SIMPLE, SIMPLE_TRUE): "x is True",
    (MAJOR_SIMPLE, SIMPLE_NULL): "x is None",
    (MAJOR_SIMPLE, SIMPLE_UNDEFINED): "is_undefined(x)",
    (MAJOR_SIMPLE, SIMPLE_FLOAT16): "fits_float(x, '<e')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT32): "fits_float(x, '<f')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT64): "isinstance(x, float)",
}
_JSON_KIND_TESTS = {
    (MAJOR_SIMPLE, None): "(is_simple(x) or x.__class__ is int)",
    (MAJOR_SIMPLE, SIMPLE_FLOAT16): "fits_float(as_float(x), '<e')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT32): "fits_float(as_float(x), '<f')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT64): "isinstance(as_float(x), float)",
}


def write_kind_tests(program: CheckProgram, wanted_kinds: list[MajorType]) -> list[str]:
    """Write the plain kinds of a choice, integers first as one range."""
    wanted = {(kind.major, kind.argument) for kind in wanted_kinds}
    low = SMALLEST_NINT if (MAJOR_NINT, None) in wanted else 0
    high = LARGEST_UINT if (MAJOR_UINT, None) in wanted else -1
    tests = [write_integer_test(program, low, high)] if low <= high else []
    if (MAJOR_SIMPLE, SIMPLE_FLOAT64) in wanted:
        wanted -= {(MAJOR_SIMPLE, SIMPLE_FLOAT16), (MAJOR_SIMPLE, SIMPLE_FLOAT32)}
    if {(MAJOR_SIMPLE, SIMPLE_FALSE), (MAJOR_SIMPLE, SIMPLE_TRUE)} <= wanted:
        wanted -= {(MAJOR_SIMPLE, SIMPLE_FALSE), (MAJOR_SIMPLE, SIMPLE_TRUE)}
        tests.append("x.__class__ is bool")
    known = _KIND_TESTS | _JSON_KIND_TESTS if program.json else _KIND_TESTS
    for major, argument in sorted(wanted - {(MAJOR_UINT, None), (MAJOR_NINT, None)}, key=str):
        if (major, argument) in known:
            tests.append(known[major, argument])
        elif major == MAJOR_SIMPLE:
            tests.append(f"simple_number(x) == {argument}")
        else:
            tests.append(f"head_argument({write_integer_value(program)}, {major}) == {argument}")
    return tests


def write_integer_value(program: CheckProgram) -> str:
    """Write the value as the integer it may be: of JSON also when it was written as a fraction."""
    return "as_integer(x)" if program.json else "x"


def _write_float_test(program: CheckProgram) -> str:
    return (
        "(x.__class__ is float or x.__class__ is int)" if program.json else "x.__class__ is float"
    )


def write_integer_test(program: CheckProgram, low: int, high: int) -> str:
    """Write a range of integers; of JSON also a float that is integral (RFC 8610 Appendix E)."""
    test = f"(x.__class__ is int and {low} <= x <= {high})"
    return (
        f"({test} or x.__class__ is float and x.is_integer() and {low} <= x <= {high})"
        if program.json
        else test
    )


def write_literal_tests(program: CheckProgram, values: list[Any]) -> list[str]:
    """Write the literals of a choice; several texts, or several integers, as one look
    into a set.
    """
    texts = [literal for literal in values if isinstance(literal, str)]
    integers = [literal for literal in values if isinstance(literal, int)]
    tests = [
        _write_literal_test(program, literal)
        for literal in values
        if not isinstance(literal, str | int)
    ]
    if len(integers) > _MAX_COMPARED_LITERALS:
        # A float that is integral is found in the set as well, which is right for JSON alone.
        wanted = _write_float_test(program) if program.json else "x.__class__ is int"
        tests.append(f"({wanted} and x in {program.constant(frozenset(integers))})")
    else:
        tests += [_write_literal_test(program, number) for number in integers]
    if len(texts) > _MAX_COMPARED_LITERALS:
        return [*tests, f"(isinstance(x, str) and x in {program.constant(frozenset(texts))})"]
    return tests + [_write_literal_test(program, text) for text in texts]


def _write_literal_test(program: CheckProgram, value: Any) -> str:
    """Write a comparison with one value; 1, 1.0 and true are three values."""
    if isinstance(value, int):
        return write_integer_test(program, value, value)
    if isinstance(value, float):
        return f"({_write_float_test(program)} and x == {program.constant(value)})"
    return f"(x == {program.constant(value)})"


def write_range_test(program: CheckProgram, node: RangeType) -> str:
    """Write a range."""
    low, high = get_range_bounds(node)
    if isinstance(low, int) and isinstance(high, int):
        return write_integer_test(program, low, high if node.inclusive else high - 1)
    less = "<=" if node.inclusive else "<"
    return f"({_write_float_test(program)} and {program.constant(low)} <= x {less} {program.constant(high)})"


def get_range_bounds(node: RangeType) -> tuple[int | float, int | float]:
    """Give the ends of a range.

    Raises:
        InvalidSchema: when they are not two integers or two floating-point numbers.
    """
    low, high = evaluate_constant(node.low), evaluate_constant(node.high)
    if isinstance(low, int) and isinstance(high, int):
        return low, high
    if isinstance(low, float) and isinstance(high, float):
        return low, high
    raise InvalidSchema(
        "a range needs two integers or two floating-point numbers", where=str(node.place)
    )


if TYPE_CHECKING:
    from collections.abc import Callable

_BASE45_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_DECIMAL_PATTERN = re.compile(r"0|-?[1-9][0-9]*")
_MAX_DECIMAL_LENGTH = 4000


def _check_exact_form(text: str, decoded: bytes, encode: Callable[[bytes], str]) -> bytes:
    """Refuse a text that the encoder would not have written."""
    if encode(decoded) != text:
        raise ValueError("not in the exact form")
    return decoded


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _encode_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode_base64(text: str) -> bytes:
    return _check_exact_form(text, base64.b64decode(text, validate=True), _encode_base64)


def _decode_base64url(text: str) -> bytes:
    return _check_exact_form(text, _decode_sloppy_base64url(text), _encode_base64url)


def _decode_sloppy_base64url(text: str) -> bytes:
    if set(text) & set("+/="):
        raise ValueError("not the URL-safe alphabet without padding")
    plain = text.replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _decode_sloppy_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _decode_unpadded_base32(
    text: str, decode: Callable[[str], bytes], encode: Callable[[bytes], bytes]
) -> bytes:
    if "=" in text:
        raise ValueError("padding")
    decoded = decode(text + "=" * (-len(text) % 8))
    return _check_exact_form(text, decoded, lambda data: encode(data).rstrip(b"=").decode())


def _decode_base32(text: str) -> bytes:
    return _decode_unpadded_base32(text, base64.b32decode, base64.b32encode)


def _decode_base32hex(text: str) -> bytes:
    return _decode_unpadded_base32(text, base64.b32hexdecode, base64.b32hexencode)


def _decode_base45(text: str) -> bytes:
    """Decode Base45 (RFC 9285)."""
    digits = [_BASE45_ALPHABET.index(character) for character in text]
    found = bytearray()
    for start in range(0, len(digits), 3):
        chunk = digits[start : start + 3]
        value = sum(digit * 45**place for place, digit in enumerate(chunk))
        if value >= 256 ** (len(chunk) - 1):
            raise ValueError("a group of characters that stands for no bytes")
        found += value.to_bytes(len(chunk) - 1, "big")
    return _check_exact_form(text, bytes(found), _encode_base45)


def _decode_hex(text: str) -> bytes:
    return binascii.unhexlify(text)


def _decode_lowercase_hex(text: str) -> bytes:
    return _check_exact_form(text, binascii.unhexlify(text), bytes.hex)


def _decode_uppercase_hex(text: str) -> bytes:
    return _check_exact_form(text, binascii.unhexlify(text), lambda data: data.hex().upper())


def _decode_decimal(text: str) -> int:
    if len(text) > _MAX_DECIMAL_LENGTH or not _DECIMAL_PATTERN.fullmatch(text):
        raise ValueError("not an integer in its shortest form")
    return int(text)


def _decode_json(text: str) -> Any:
    import json

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


TEXT_DECODERS: dict[str, Callable[[str], Any]] = {
    "b64u": _decode_base64url,
    "b64u-sloppy": _decode_sloppy_base64url,
    "b64c": _decode_base64,
    "b64c-sloppy": _decode_sloppy_base64,
    "b32": _decode_base32,
    "h32": _decode_base32hex,
    "b45": _decode_base45,
    "hex": _decode_hex,
    "hexlc": _decode_lowercase_hex,
    "hexuc": _decode_uppercase_hex,
    "base10": _decode_decimal,
    "decimal": _decode_decimal,
    "json": _decode_json,
}


def _encode_base32(data: bytes) -> str:
    return base64.b32encode(data).rstrip(b"=").decode()


def _encode_base32hex(data: bytes) -> str:
    return base64.b32hexencode(data).rstrip(b"=").decode()


def _encode_base45(data: bytes) -> str:
    """Encode Base45 (RFC 9285)."""
    found = ""
    for start in range(0, len(data), 2):
        chunk = data[start : start + 2]
        value = int.from_bytes(chunk, "big")
        found += "".join(
            _BASE45_ALPHABET[value // 45**place % 45] for place in range(len(chunk) + 1)
        )
    return found


def _encode_json(value: Any) -> str:
    import json

    return json.dumps(value, allow_nan=False)


TEXT_ENCODERS: dict[str, Callable[[Any], str]] = {
    "b64u": _encode_base64url,
    "b64u-sloppy": _encode_base64url,
    "b64c": _encode_base64,
    "b64c-sloppy": _encode_base64,
    "b32": _encode_base32,
    "h32": _encode_base32hex,
    "b45": _encode_base45,
    "hex": bytes.hex,
    "hexlc": bytes.hex,
    "hexuc": lambda data: bytes.hex(data).upper(),
    "base10": lambda number: f"{number:d}",
    "decimal": lambda number: f"{number:d}",
    "json": _encode_json,
}


if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.cddl.abnf import AbnfGrammar
    from vacr.cddl.compiler import CheckProgram, Predicate

_COMPARISON_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TRANSPARENT_OPERATORS = frozenset({"default", "feature"})
_MAX_INTEGER_SIZE = 8
_TEXT_TEST = "isinstance(x, str)"
_NUMBER_TYPES = frozenset({int, float})
BYTE_DECODERS: dict[str, Callable[[bytes], Any]] = {
    "cbor": decode_cbor_item,
    "cborseq": decode_cbor_sequence,
}


# --- when the schema is compiled
# ----------------------------------------------------------------------


def prepare_control(node: ControlType) -> None:
    """Check an operator and its controller, and keep what running it needs.

    Raises:
        InvalidSchema: when the operator is unknown or its controller unusable.

    """
    check = _CONTROL_PREPARERS.get(node.operator)
    if check is not None:
        check(node)
    elif node.operator in COMPUTING_OPERATORS:
        evaluate_constant(node)
    elif node.operator not in _UNPREPARED_OPERATORS:
        known = sorted((*_CONTROL_PREPARERS, *COMPUTING_OPERATORS, *_UNPREPARED_OPERATORS))
        _raise_invalid_control(
            node, f"control operator .{node.operator} is unknown", f"known are: {', '.join(known)}"
        )


def _raise_invalid_control(node: ControlType, message: str, hint: str = "") -> NoReturn:
    raise InvalidSchema(message, where=str(node.place), hint=hint)


def _prepare_size(node: ControlType) -> None:
    value = evaluate_constant(node.controller)
    if value is None:
        if not all(
            isinstance(leaf, RangeType | MajorType | LiteralType | ControlType)
            for leaf in flatten_choice(node.controller)
        ):
            _raise_invalid_control(node, ".size needs a number of bytes or a range of them")
    elif not isinstance(value, int) or value < 0:
        _raise_invalid_control(node, ".size needs a number of bytes that is not negative")
    node.detail = value


def _prepare_number(node: ControlType) -> None:
    node.detail = evaluate_constant(node.controller)
    if not isinstance(node.detail, int | float):
        _raise_invalid_control(node, f".{node.operator} needs a number to compare with")


def _prepare_regexp(node: ControlType) -> None:
    pattern = evaluate_constant(node.controller)
    if not isinstance(pattern, str):
        _raise_invalid_control(node, f".{node.operator} needs a text that is a regular expression")
    try:
        node.detail = compile_pattern(pattern, pcre=node.operator == "pcre")
    except PatternError as error:
        hint = (
            "XML Schema patterns are anchored and know no (?…) groups"
            if node.operator == "regexp"
            else ""
        )
        _raise_invalid_control(node, f"unreadable regular expression: {error}", hint)


def _prepare_abnf(node: ControlType) -> None:
    text = evaluate_constant(node.controller)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        _raise_invalid_control(node, f".{node.operator} needs a text that is ABNF")
    # Few schemas hold ABNF, and only those pay for reading it.
    from vacr.cddl.abnf import AbnfGrammar, AbnfSyntaxError

    try:
        node.detail = AbnfGrammar(text)
    except AbnfSyntaxError as error:
        _raise_invalid_control(node, str(error))


_CONTROL_PREPARERS: dict[str, Callable[[ControlType], None]] = {
    "size": _prepare_size,
    "regexp": _prepare_regexp,
    "pcre": _prepare_regexp,
    "abnf": _prepare_abnf,
    "abnfb": _prepare_abnf,
    **dict.fromkeys(_COMPARISON_SIGNS, _prepare_number),
}


# --- the source of the check
# --------------------------------------------------------------------------


def write_control_test(program: CheckProgram, node: ControlType, *, spread: bool) -> str:
    """Write a controlled type as an expression over `x`."""
    value = evaluate_constant(node)
    if value is not None and node.operator in COMPUTING_OPERATORS:
        return program.expression(LiteralType(value))
    joined = spread or node.operator in {"and", "within", "eq", "ne"}
    target = program.expression(node.target, spread=joined)
    test = _write_operator_test(program, node)
    if node.operator in {"regexp", "pcre"} and target == _TEXT_TEST:
        return f"({target} and {program.constant(node.detail)}(x))"
    if test == "True" or target == "False":
        return target
    return test if target == "True" else f"({target} and {test})"


def _write_operator_test(program: CheckProgram, node: ControlType) -> str:
    """Write what the operator adds to its target."""
    operator = node.operator
    if operator in _TRANSPARENT_OPERATORS:
        return "True"
    if operator in {"and", "within", "eq"}:
        return program.expression(node.controller, spread=True)
    if operator == "ne":
        return f"not {program.expression(node.controller, spread=True)}"
    if operator in _COMPARISON_SIGNS:
        limit = program.constant(node.detail)
        return f"(x.__class__ in {program.constant(_NUMBER_TYPES)} and x {_COMPARISON_SIGNS[operator]} {limit})"
    if operator in {"regexp", "pcre"}:
        return f"({_TEXT_TEST} and {program.constant(node.detail)}(x))"
    if operator in {"abnf", "abnfb"}:
        return f"{operator}_matches({program.constant(node.detail)}, x)"
    if operator == "size" and isinstance(node.detail, int):
        return f"has_size({write_integer_value(program)}, {node.detail})"
    if operator in TEXT_DECODERS or operator in BYTE_DECODERS:
        # The same string may be decoded for another alternative, and what it holds must not be
        # checked anew.
        inner = program.function(node.controller, remember=True)
        if operator in TEXT_DECODERS:
            return f"text_holds({inner}, x, {program.constant(TEXT_DECODERS[operator])})"
        return f"bytes_hold({inner}, x, {program.constant(BYTE_DECODERS[operator])})"
    inner = program.function(node.controller)
    return f"{_PREDICATE_HELPERS[operator].__name__}({inner}, {write_integer_value(program)})"


# --- what the checks call
# -----------------------------------------------------------------------------


def has_size(value: Any, size: int) -> bool:
    """Tell whether a string has a length, or an integer fits into a number of bytes (RFC 8610
    section 3.8.1).
    """
    if isinstance(value, str):
        return (
            len(value) == size
            if value.isascii()
            else len(value.encode("utf-8", "surrogatepass")) == size
        )
    if isinstance(value, bytes):
        return len(value) == size
    if value.__class__ is int:
        magnitude: int = value if value >= 0 else -1 - value
        return magnitude <= LARGEST_UINT if size >= _MAX_INTEGER_SIZE else magnitude < 256**size
    return False


def matches_size(test: Predicate, value: Any) -> bool:
    """Tell whether the size of a string, or a number of bytes that an integer fits into, passes a
    test.
    """
    if isinstance(value, str):
        return test(len(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, bytes):
        return test(len(value))
    return any(has_size(value, size) and test(size) for size in range(_MAX_INTEGER_SIZE + 1))


def matches_bits(test: Predicate, value: Any) -> bool:
    """Tell whether the number of every bit that is set passes a test (RFC 8610 section 3.8.2)."""
    if isinstance(value, bytes):
        value = int.from_bytes(value, "little")
    if value.__class__ is not int or value < 0:
        return False
    return all(test(index) for index, bit in enumerate(reversed(f"{value:b}")) if bit == "1")


def abnf_matches(grammar: AbnfGrammar, value: Any) -> bool:
    """Tell whether a string matches as characters; bytes are read as UTF-8."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return False
    return isinstance(value, str) and grammar.matches([ord(character) for character in value])


def abnfb_matches(grammar: AbnfGrammar, value: Any) -> bool:
    """Tell whether a string matches as bytes."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return isinstance(value, bytes) and grammar.matches(value)


_PREDICATE_HELPERS: dict[str, Callable[[Predicate, Any], bool]] = {
    "size": matches_size,
    "bits": matches_bits,
}
_UNPREPARED_OPERATORS = frozenset(
    {*_TRANSPARENT_OPERATORS, "and", "within", "eq", "ne", "bits", *BYTE_DECODERS, *TEXT_DECODERS}
)
CONTROL_HELPERS: tuple[Callable[..., Any], ...] = (
    *_PREDICATE_HELPERS.values(),
    has_size,
    abnf_matches,
    abnfb_matches,
)
