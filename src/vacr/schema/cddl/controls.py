"""Compile control operators. Step: validate.

Follows RFC 8610 section 3.8, RFC 9165 and the text conversions of RFC 9741. `prepare` looks at a
controller once, when the schema is compiled, and refuses what makes no sense there; `expression`
writes the check.

Left out on purpose: `.printf` and `.join` of RFC 9741. `.feature` accepts what its target accepts
and reports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from vacr.errors import InvalidSchema
from vacr.schema.cddl import items, regexp, texts
from vacr.schema.cddl.constants import COMPUTING, constant
from vacr.schema.cddl.model import LARGEST_UINT, Between, Controlled, Exact, Kind, leaves
from vacr.schema.cddl.pattern import BadPattern
from vacr.schema.cddl.plain import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.schema.cddl.abnf import Grammar
    from vacr.schema.cddl.compiler import Predicate, Program

_COMPARING = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TRANSPARENT = frozenset({"default", "feature"})
_LARGEST_SIZE = 8
_TEXT = "isinstance(x, str)"
_NUMBERS = frozenset({int, float})
BYTE_CODECS: dict[str, Callable[[bytes], Any]] = {
    "cbor": items.decode_item,
    "cborseq": items.decode_sequence,
}


# --- when the schema is compiled
# ----------------------------------------------------------------------


def prepare(node: Controlled) -> None:
    """Check an operator and its controller, and keep what running it needs.

    Raises:
        InvalidSchema: when the operator is unknown or its controller unusable.

    """
    check = _PREPARE.get(node.operator)
    if check is not None:
        check(node)
    elif node.operator in COMPUTING:
        constant(node)
    elif node.operator not in _ANY_CONTROLLER:
        known = sorted((*_PREPARE, *COMPUTING, *_ANY_CONTROLLER))
        _refuse(
            node, f"control operator .{node.operator} is unknown", f"known are: {', '.join(known)}"
        )


def _refuse(node: Controlled, message: str, hint: str = "") -> NoReturn:
    raise InvalidSchema(message, where=str(node.place), hint=hint)


def _prepare_size(node: Controlled) -> None:
    value = constant(node.controller)
    if value is None:
        if not all(
            isinstance(leaf, Between | Kind | Exact | Controlled)
            for leaf in leaves(node.controller)
        ):
            _refuse(node, ".size needs a number of bytes or a range of them")
    elif not isinstance(value, int) or value < 0:
        _refuse(node, ".size needs a number of bytes that is not negative")
    node.detail = value


def _prepare_number(node: Controlled) -> None:
    node.detail = constant(node.controller)
    if not isinstance(node.detail, int | float):
        _refuse(node, f".{node.operator} needs a number to compare with")


def _prepare_regexp(node: Controlled) -> None:
    pattern = constant(node.controller)
    if not isinstance(pattern, str):
        _refuse(node, f".{node.operator} needs a text that is a regular expression")
    try:
        node.detail = regexp.matcher(pattern, pcre=node.operator == "pcre")
    except BadPattern as error:
        hint = (
            "XML Schema patterns are anchored and know no (?…) groups"
            if node.operator == "regexp"
            else ""
        )
        _refuse(node, f"unreadable regular expression: {error}", hint)


def _prepare_abnf(node: Controlled) -> None:
    text = constant(node.controller)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        _refuse(node, f".{node.operator} needs a text that is ABNF")
    # Few schemas hold ABNF, and only those pay for reading it.
    from vacr.schema.cddl.abnf import Grammar
    from vacr.schema.cddl.abnf_syntax import BadGrammar

    try:
        node.detail = Grammar(text)
    except BadGrammar as error:
        _refuse(node, str(error))


_PREPARE: dict[str, Callable[[Controlled], None]] = {
    "size": _prepare_size,
    "regexp": _prepare_regexp,
    "pcre": _prepare_regexp,
    "abnf": _prepare_abnf,
    "abnfb": _prepare_abnf,
    **dict.fromkeys(_COMPARING, _prepare_number),
}


# --- the source of the check
# --------------------------------------------------------------------------


def expression(program: Program, node: Controlled, *, spread: bool) -> str:
    """Write a controlled type as an expression over `x`."""
    value = constant(node)
    if value is not None and node.operator in COMPUTING:
        return program.expression(Exact(value))
    joined = spread or node.operator in {"and", "within", "eq", "ne"}
    target = program.expression(node.target, spread=joined)
    test = _test(program, node)
    if node.operator in {"regexp", "pcre"} and target == _TEXT:
        return f"({target} and {program.constant(node.detail)}(x))"
    if test == "True" or target == "False":
        return target
    return test if target == "True" else f"({target} and {test})"


def _test(program: Program, node: Controlled) -> str:
    """Write what the operator adds to its target."""
    operator = node.operator
    if operator in _TRANSPARENT:
        return "True"
    if operator in {"and", "within", "eq"}:
        return program.expression(node.controller, spread=True)
    if operator == "ne":
        return f"not {program.expression(node.controller, spread=True)}"
    if operator in _COMPARING:
        limit = program.constant(node.detail)
        return f"(x.__class__ in {program.constant(_NUMBERS)} and x {_COMPARING[operator]} {limit})"
    if operator in {"regexp", "pcre"}:
        return f"({_TEXT} and {program.constant(node.detail)}(x))"
    if operator in {"abnf", "abnfb"}:
        return f"{operator}_matches({program.constant(node.detail)}, x)"
    if operator == "size" and isinstance(node.detail, int):
        return f"has_size({whole(program)}, {node.detail})"
    if operator in texts.CODECS or operator in BYTE_CODECS:
        # The same string may be decoded for another alternative, and what it holds must not be
        # checked anew.
        inner = program.function(node.controller, remember=True)
        if operator in texts.CODECS:
            return f"text_holds({inner}, x, {program.constant(texts.CODECS[operator])})"
        return f"bytes_hold({inner}, x, {program.constant(BYTE_CODECS[operator])})"
    inner = program.function(node.controller)
    return f"{_INNER[operator].__name__}({inner}, {whole(program)})"


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
        return magnitude <= LARGEST_UINT if size >= _LARGEST_SIZE else magnitude < 256**size
    return False


def size_is(test: Predicate, value: Any) -> bool:
    """Tell whether the size of a string, or a number of bytes that an integer fits into, passes a
    test.
    """
    if isinstance(value, str):
        return test(len(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, bytes):
        return test(len(value))
    return any(has_size(value, size) and test(size) for size in range(_LARGEST_SIZE + 1))


def bits_are(test: Predicate, value: Any) -> bool:
    """Tell whether the number of every bit that is set passes a test (RFC 8610 section 3.8.2)."""
    if isinstance(value, bytes):
        value = int.from_bytes(value, "little")
    if value.__class__ is not int or value < 0:
        return False
    return all(test(index) for index, bit in enumerate(reversed(f"{value:b}")) if bit == "1")


def abnf_matches(grammar: Grammar, value: Any) -> bool:
    """Tell whether a string matches as characters; bytes are read as UTF-8."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return False
    return isinstance(value, str) and grammar.matches([ord(character) for character in value])


def abnfb_matches(grammar: Grammar, value: Any) -> bool:
    """Tell whether a string matches as bytes."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return isinstance(value, bytes) and grammar.matches(value)


_INNER: dict[str, Callable[[Predicate, Any], bool]] = {
    "size": size_is,
    "bits": bits_are,
}
_ANY_CONTROLLER = frozenset(
    {*_TRANSPARENT, "and", "within", "eq", "ne", "bits", *BYTE_CODECS, *texts.CODECS}
)
HELPERS: tuple[Callable[..., Any], ...] = (
    *_INNER.values(),
    has_size,
    abnf_matches,
    abnfb_matches,
)
