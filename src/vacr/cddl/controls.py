"""Control operators: `tstr .size 3`, `uint .lt 10`, `bstr .cbor claims`.

A control narrows its target by a controller. `prepare_control` looks at each controller once, when
the schema is compiled, and refuses nonsense; `write_control_test` writes the check as source code,
for the compiler; the remaining functions are called by that code:

    >>> from vacr.cddl import compile_cddl
    >>> schema = compile_cddl("tag = tstr .size (1..3)")
    >>> [schema.checker().matches(text) for text in ("", "abc", "äö")]      # 0, 3 and 4 bytes
    [False, True, False]

The operators come from RFC 8610 section 3.8, RFC 9165 and RFC 9741, whose `.printf` and `.join` are
missing. `.feature` accepts the values of its target and reports nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.cddl.regexp import PatternError, compile_pattern
from vacr.cddl.string_contents import BYTE_DECODERS, TEXT_DECODERS
from vacr.cddl.type_graph import (
    COMPUTING_OPERATORS,
    ControlType,
    LiteralType,
    MajorType,
    RangeType,
    evaluate_constant,
    flatten_choice,
)
from vacr.cddl.values import LARGEST_UINT

if TYPE_CHECKING:
    from vacr.cddl.abnf import AbnfGrammar
    from vacr.cddl.compiler import CheckProgram

Predicate: TypeAlias = Callable[[Any], bool]

_COMPARISON_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TRANSPARENT_OPERATORS = frozenset({"default", "feature"})
_CONJUNCTION_OPERATORS = frozenset({"and", "within", "eq"})
_PATTERN_OPERATORS = frozenset({"regexp", "pcre"})
_ABNF_OPERATORS = frozenset({"abnf", "abnfb"})
_UNPREPARED_OPERATORS = frozenset(
    {
        *_TRANSPARENT_OPERATORS,
        *_CONJUNCTION_OPERATORS,
        "ne",
        "bits",
        *BYTE_DECODERS,
        *TEXT_DECODERS,
    }
)
_NUMBER_TYPES = frozenset({int, float})
_MAX_INTEGER_SIZE = 8
_TEXT_TEST = "isinstance(x, str)"

_MAX_KEPT_BYTES = 32_000_000
_STRING_OVERHEAD = 200


# When the schema is compiled: check and prepare the controller.


def prepare_control(node: ControlType) -> None:
    """Check an operator and its controller, and store the prepared controller in `node.detail`.

    Raises:
        CddlError: when the operator is unknown or its controller unusable.

    """
    prepare = _CONTROL_PREPARERS.get(node.operator)
    if prepare is not None:
        prepare(node)
    elif node.operator in COMPUTING_OPERATORS:
        evaluate_constant(node)
    elif node.operator not in _UNPREPARED_OPERATORS:
        known = sorted((*_CONTROL_PREPARERS, *COMPUTING_OPERATORS, *_UNPREPARED_OPERATORS))
        hint = f"The operators are {', '.join(known)}."
        node.place.fail(f"control operator .{node.operator} is unknown", hint)


def _prepare_size(node: ControlType) -> None:
    """Store the number of bytes for `.size`, or None for a range; refuse other controllers.

    Raises:
        CddlError: the controller is neither a whole number, 0 or more, nor a range.
    """
    size = evaluate_constant(node.controller)
    if size is None:
        for leaf in flatten_choice(node.controller):
            if not isinstance(leaf, RangeType | MajorType | LiteralType | ControlType):
                node.place.fail(
                    ".size needs a number of bytes, such as 3, or a range in parentheses, such as "
                    "(1..3)"
                )
    elif not isinstance(size, int) or size < 0:
        node.place.fail(".size needs a whole number of bytes, 0 or more")
    node.detail = size


def _prepare_number(node: ControlType) -> None:
    """Store the number that `.lt`, `.le`, `.gt` or `.ge` compares with.

    Raises:
        CddlError: the controller is not a constant number.
    """
    node.detail = evaluate_constant(node.controller)
    if not isinstance(node.detail, int | float):
        node.place.fail(f".{node.operator} needs a number to compare with")


def _prepare_regexp(node: ControlType) -> None:
    """Store the function that matches the pattern of `.regexp` or `.pcre`.

    Raises:
        CddlError: the controller is not a text with a valid pattern.
    """
    pattern = evaluate_constant(node.controller)
    if not isinstance(pattern, str):
        node.place.fail(f".{node.operator} needs a text with a regular expression")
    try:
        node.detail = compile_pattern(pattern, pcre=node.operator == "pcre")
    except PatternError as error:
        hint = ""
        if node.operator == "regexp":
            hint = "XML Schema patterns match the whole text, and have no (?…) groups."
        node.place.fail(f"invalid regular expression: {error}", hint)


def _prepare_abnf(node: ControlType) -> None:
    """Store the parsed grammar of `.abnf` or `.abnfb`.

    Raises:
        CddlError: the controller is not a text or bytes with a valid grammar.
    """
    text = evaluate_constant(node.controller)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        node.place.fail(f".{node.operator} needs a text with an ABNF grammar")
    # Few schemas contain ABNF, and only those pay for importing its parser.
    from vacr.cddl.abnf import AbnfGrammar, AbnfSyntaxError

    try:
        node.detail = AbnfGrammar(text)
    except AbnfSyntaxError as error:
        node.place.fail(str(error))


_CONTROL_PREPARERS: dict[str, Callable[[ControlType], None]] = {
    "size": _prepare_size,
    "regexp": _prepare_regexp,
    "pcre": _prepare_regexp,
    "abnf": _prepare_abnf,
    "abnfb": _prepare_abnf,
    **dict.fromkeys(_COMPARISON_SIGNS, _prepare_number),
}


# When a checker is compiled: write the source of the check.


def write_control_test(program: CheckProgram, node: ControlType, *, repeated: bool) -> str:
    """Return the source of an expression that tests whether `x` matches a controlled type.

    `repeated` has the same meaning as in `CheckProgram.write_expression`.
    """
    value = evaluate_constant(node)
    if value is not None and node.operator in COMPUTING_OPERATORS:
        return program.write_expression(LiteralType(value))
    both_sides_test = node.operator in _CONJUNCTION_OPERATORS or node.operator == "ne"
    target = program.write_expression(node.target, repeated=repeated or both_sides_test)
    test = _write_operator_test(program, node)
    if node.operator in _PATTERN_OPERATORS and target == _TEXT_TEST:
        return f"({target} and {program.name_constant(node.detail)}(x))"
    if test == "True" or target == "False":
        return target
    return test if target == "True" else f"({target} and {test})"


def _write_operator_test(program: CheckProgram, node: ControlType) -> str:
    """Return the test of `x` that the operator adds to its target; `True` if it adds none."""
    operator = node.operator
    if operator in _TRANSPARENT_OPERATORS:
        return "True"
    if operator in _CONJUNCTION_OPERATORS:
        return program.write_expression(node.controller, repeated=True)
    if operator == "ne":
        return f"not {program.write_expression(node.controller, repeated=True)}"
    if operator in _COMPARISON_SIGNS:
        limit = program.name_constant(node.detail)
        numbers = program.name_constant(_NUMBER_TYPES)
        return f"(x.__class__ in {numbers} and x {_COMPARISON_SIGNS[operator]} {limit})"
    if operator in _PATTERN_OPERATORS:
        return f"({_TEXT_TEST} and {program.name_constant(node.detail)}(x))"
    if operator in _ABNF_OPERATORS:
        return f"matches_{operator}({program.name_constant(node.detail)}, x)"
    if operator in TEXT_DECODERS or operator in BYTE_DECODERS:
        return _write_content_test(program, node)
    if operator == "size" and isinstance(node.detail, int):
        return f"has_size({program.integer_value}, {node.detail})"
    # For `.bits`, and for `.size` with a range, the controller tests a derived number.
    test = program.name_function(node.controller)
    return f"matches_{operator}({test}, {program.integer_value})"


def _write_content_test(program: CheckProgram, node: ControlType) -> str:
    """Return the call that decodes the string `x` and tests its content."""
    # Another alternative may decode the same string, and must not check its content again.
    test = program.name_function(node.controller, remember=True)
    if node.operator in TEXT_DECODERS:
        return f"matches_text({test}, x, {program.name_constant(TEXT_DECODERS[node.operator])})"
    return f"matches_bytes({test}, x, {program.name_constant(BYTE_DECODERS[node.operator])})"


# When a value is checked: the functions that the source calls by name.


def has_size(value: Any, size: int) -> bool:
    """Return whether a string has exactly `size` bytes, or an integer fits into so many.

    False for any other value (RFC 8610 section 3.8.1).
    """
    if isinstance(value, str):
        if value.isascii():
            return len(value) == size
        return len(value.encode("utf-8", "surrogatepass")) == size
    if isinstance(value, bytes):
        return len(value) == size
    if value.__class__ is int:
        magnitude: int = value if value >= 0 else -1 - value
        return magnitude <= LARGEST_UINT if size >= _MAX_INTEGER_SIZE else magnitude < 256**size
    return False


def matches_size(test: Predicate, value: Any) -> bool:
    """Return whether the number of bytes of a string passes a test.

    For an integer, one of the sizes from 0 to 8 bytes that it fits into has to pass. Return False
    for any other value.
    """
    if isinstance(value, str):
        return test(len(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, bytes):
        return test(len(value))
    return any(has_size(value, size) and test(size) for size in range(_MAX_INTEGER_SIZE + 1))


def matches_bits(test: Predicate, value: Any) -> bool:
    """Return whether the index of every set bit passes a test (RFC 8610 section 3.8.2).

    The value is bytes or an unsigned integer; False for any other value.
    """
    if isinstance(value, bytes):
        value = int.from_bytes(value, "little")
    if value.__class__ is not int or value < 0:
        return False
    return all(test(index) for index, bit in enumerate(reversed(f"{value:b}")) if bit == "1")


def matches_abnf(grammar: AbnfGrammar, value: Any) -> bool:
    """Return whether the characters of a text, or of bytes in UTF-8, match a grammar.

    Return False for bytes that are not UTF-8, and for any other value.

    Raises:
        WorkLimitError: when the grammar has too many readings of the text.
    """
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return False
    return isinstance(value, str) and grammar.matches([ord(character) for character in value])


def matches_abnfb(grammar: AbnfGrammar, value: Any) -> bool:
    """Return whether bytes, or the UTF-8 bytes of a text, match a grammar.

    Return False for any other value.

    Raises:
        WorkLimitError: when the grammar has too many readings of the bytes.
    """
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return isinstance(value, bytes) and grammar.matches(value)


CONTROL_HELPERS: tuple[Callable[..., Any], ...] = (
    has_size,
    matches_size,
    matches_bits,
    matches_abnf,
    matches_abnfb,
)


class DecodedStrings:
    """The content of strings, each decoded once in a run.

    Answers are remembered by the identity of a value (see `compiler`), so a string checked on
    several paths has to return the same decoded value each time; decoded again on every path, each
    level of nesting would double the work. The memory is bounded. It is cleared only while no
    check is inside a string, so a path under way does not lose the values it will need again.
    """

    def __init__(self) -> None:
        """Start without decoded strings."""
        self._known: dict[
            tuple[Callable[[Any], Any], str | bytes], tuple[Any, ValueError | None]
        ] = {}
        self._size = 0
        self._depth = 0

    def forget(self) -> None:
        """Drop all decoded strings, at the end of a run."""
        if self._known:
            self._known.clear()
            self._size = self._depth = 0

    def decode(self, value: str | bytes, decoder: Callable[[Any], Any]) -> Any:
        """Return the content of a string, the same object each time.

        Raises:
            ValueError: when the decoder cannot read the string.

        """
        key = (decoder, value)
        entry = self._known.get(key)
        if entry is None:
            if self._size > _MAX_KEPT_BYTES and not self._depth:
                self._known.clear()
                self._size = 0
            try:
                entry = (decoder(value), None)
            except ValueError as error:
                entry = (None, error)
            self._known[key] = entry
            self._size += len(value) + _STRING_OVERHEAD
        content, problem = entry
        if problem is not None:
            raise problem.with_traceback(None)
        return content

    def matches_bytes(self, test: Predicate, value: Any, decoder: Callable[[bytes], Any]) -> bool:
        """Return whether a value is bytes whose decoded content passes a test.

        False for bytes that the decoder refuses (RFC 8610 section 3.8.4).
        """
        return isinstance(value, bytes) and self._matches_content(test, value, decoder)

    def matches_text(self, test: Predicate, value: Any, decoder: Callable[[str], Any]) -> bool:
        """Return whether a value is a text whose decoded content passes a test.

        False for a text that the decoder refuses (RFC 9741).
        """
        return isinstance(value, str) and self._matches_content(test, value, decoder)

    def _matches_content(
        self, test: Predicate, value: str | bytes, decoder: Callable[[Any], Any]
    ) -> bool:
        """Return whether a string can be decoded and its content passes a test."""
        try:
            content = self.decode(value, decoder)
        except ValueError:
            return False
        self._depth += 1
        try:
            return test(content)
        finally:
            self._depth -= 1
