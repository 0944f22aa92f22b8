"""Findings and their words: values in short, types in the notation of CDDL, and JSON pointers.

A finding names the place where a value does not match, the value there and the expected type:

    >>> from vacr.cddl.descriptions import SchemaFinding, describe_value
    >>> found = describe_value(["a secret"] * 3)
    >>> SchemaFinding("/entries/0/name", "tool-call", found, "tstr").text()
    '/entries/0/name: tool-call: an array of 3 elements, expected tstr'

No value is ever shown whole: a record may have megabytes, and its content may be secret.
Unprintable characters are escaped, so that a value cannot drive the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vacr.cddl.maps import MapMember, MemberList
from vacr.cddl.tokens import Scalar
from vacr.cddl.type_graph import (
    AnyType,
    ArrayType,
    ChoiceType,
    ControlType,
    LiteralType,
    MajorType,
    MapType,
    RangeType,
    RuleRef,
    SimpleType,
    TagType,
    TypeNode,
    evaluate_constant,
)
from vacr.cddl.values import LIST_TYPES, as_map, get_simple_number, get_tag, is_undefined

MAX_SHOWN_NAMES = 12
_MAX_SHOWN_VALUE_LENGTH = 60
_MAX_SHOWN_TYPE_LENGTH = 120
_MAX_SHOWN_ALTERNATIVES = 20
_MAX_SHOWN_DEPTH = 6
_MAX_SHOWN_BITS = 128
_MAX_POINTER_TOKEN_LENGTH = 100
_ESCAPE_ALLOWANCE = 10


@dataclass(frozen=True, slots=True)
class SchemaFinding:
    """One place where a value does not match its schema."""

    pointer: str
    """The JSON pointer (RFC 6901) of the value; empty for the whole."""
    rule: str
    """The name of the nearest rule that the value does not match."""
    found: str
    """The value there, in few words."""
    expected: str
    """The type that should be there, in the notation of CDDL."""

    def text(self) -> str:
        """Return the finding as one line: `/n: rule: text "one", expected int`."""
        pointer = _escape_unprintable(self.pointer) or "(root)"
        return f"{pointer}: {self.rule}: {self.found}, expected {self.expected}"


def describe_value(value: Any) -> str:
    """Return a value in few words, such as `text "abc"`, `integer 5` or `a map of 2 members`.

    Long text and bytes are cut.
    """
    if isinstance(value, str):
        return f"text {_quote_text(value)}"
    if isinstance(value, bytes):
        return f"bytes {_format_hex_bytes(value)}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _describe_number(value)
    members = as_map(value)
    if members is not None:
        return f"a map of {format_count(len(members), 'member')}"
    if isinstance(value, LIST_TYPES):
        return f"an array of {format_count(len(value), 'element')}"
    return _describe_uncommon_value(value)


def _describe_uncommon_value(value: Any) -> str:
    """Return `tag 18`, `undefined` or `simple(99)`; for other objects, their Python class."""
    tag = get_tag(value)
    if tag is not None:
        return f"tag {tag[0]}"
    if is_undefined(value):
        return "undefined"
    number = get_simple_number(value)
    return f"a Python {type(value).__name__[:40]}" if number is None else f"simple({number})"


def _describe_number(value: int | float) -> str:  # noqa: PYI041 - the two differ here
    """Return `integer 5` or `float 0.5`; a large integer becomes `an integer of 200 bits`."""
    if isinstance(value, float):
        return f"float {value!r}"
    # Writing out a large integer takes long, and Python refuses it past some thousand digits.
    bits = value.bit_length()
    return f"integer {value}" if bits <= _MAX_SHOWN_BITS else f"an integer of {bits} bits"


def _format_number(value: float) -> str:
    """Return the digits of a number; a large integer becomes `an integer of 200 bits`."""
    return _describe_number(value).removeprefix("integer ").removeprefix("float ")


def _quote_text(text: str) -> str:
    """Return the beginning of a text in quotes, with quotes and unprintable characters escaped."""
    start = _cut(text, _MAX_SHOWN_VALUE_LENGTH)
    escaped = _escape_unprintable(start.replace("\\", "\\\\").replace('"', '\\"'))
    if len(escaped) > _MAX_SHOWN_VALUE_LENGTH + _ESCAPE_ALLOWANCE:
        escaped = escaped[:_MAX_SHOWN_VALUE_LENGTH] + "…"
    return f'"{escaped}"'


def _escape_unprintable(text: str) -> str:
    r"""Return a text with each unprintable character escaped, such as `\x1b`."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _cut(text: str, length: int) -> str:
    """Return a text of at most `length` characters; a longer text ends with `…`."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _format_hex_bytes(data: bytes) -> str:
    """Return bytes as `h'00ff'`; of long bytes, only the beginning and the length."""
    most = _MAX_SHOWN_VALUE_LENGTH // 4
    if len(data) <= most:
        return f"h'{data.hex()}'"
    return f"h'{data[:most].hex()}…' ({len(data)} bytes)"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 member` or `2 members`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_pointer_step(key: Any) -> str:
    """Return a key as one step of a JSON pointer (RFC 6901): `a/b` becomes `/a~1b`.

    A key that is not text is written like in `format_key`, and a long key is cut.
    """
    text = key if isinstance(key, str) else format_key(key)
    token = _cut(text, _MAX_POINTER_TOKEN_LENGTH)
    return "/" + token.replace("~", "~0").replace("/", "~1")


def format_key(key: Any) -> str:
    """Return a key for a message: `"name"`, `7`, `h'00'` or `true`; other keys described."""
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, str | bytes | int | float):
        return _format_literal(key)
    return describe_value(key)


def _format_literal(value: Scalar) -> str:
    """Return a constant in the notation of CDDL, cut where it is long."""
    if isinstance(value, str):
        return _quote_text(value)
    return _format_hex_bytes(value) if isinstance(value, bytes) else _format_number(value)


def describe_type(node: TypeNode, depth: int = 0) -> str:
    """Return a type in the notation of CDDL, such as `int / tstr .size 3`, cut where it is long.

    A rule is shown by its name; a map or array without one is `a map` or `an array`. `depth` counts
    the types around this one; a type too deep inside becomes `…`.
    """
    return _cut(_describe_whole_type(node, depth), _MAX_SHOWN_TYPE_LENGTH)


def _describe_whole_type(node: TypeNode, depth: int) -> str:
    """Return a type like `describe_type`; cut only the types inside it, not the whole."""
    if depth > _MAX_SHOWN_DEPTH:
        return "…"
    match node:
        case RuleRef():
            return node.name
        case LiteralType():
            return _format_literal(node.value)
        case ChoiceType(alternatives=alternatives):
            shown = alternatives[:_MAX_SHOWN_ALTERNATIVES]
            parts = [describe_type(part, depth + 1) for part in shown]
            return " / ".join(parts) if parts else "no value (an empty choice)"
        case RangeType():
            dots = ".." if node.inclusive else "..."
            low, high = describe_type(node.low, depth + 1), describe_type(node.high, depth + 1)
            return f"{low}{dots}{high}"
        case ControlType():
            return _describe_control(node, depth)
        case TagType():
            return f"#6{_format_tag_number(node)}({describe_type(node.content, depth + 1)})"
        case MapType():
            return "a map"
        case ArrayType():
            return "an array"
        case AnyType():
            return "any"
        case MajorType():
            return f"#{node.major}" if node.argument is None else f"#{node.major}.{node.argument}"
        case SimpleType():
            return f"#7.<{describe_type(node.number, depth + 1)}>"


def _describe_control(node: ControlType, depth: int) -> str:
    """Return a controlled type, such as `tstr .size 3`; the value if it is a constant."""
    value = evaluate_constant(node)
    if value is not None:
        return _format_literal(value)
    constant = evaluate_constant(node.controller)
    if constant is None:
        controller = _describe_operand(node.controller, depth)
    else:
        controller = _format_literal(constant)
    return f"{_describe_operand(node.target, depth)} .{node.operator} {controller}"


def _describe_operand(node: TypeNode, depth: int) -> str:
    """Return one side of an operator; a choice, range or control gets parentheses."""
    text = describe_type(node, depth + 1)
    return f"({text})" if isinstance(node, ChoiceType | RangeType | ControlType) else text


def _format_tag_number(node: TagType) -> str:
    """Return the number of a tag after a dot: `.18`, `.<…>` for a type, or nothing for any."""
    if node.number is None:
        return ""
    return f".{node.number}" if isinstance(node.number, int) else ".<…>"


def describe_allowed_members(members: MemberList) -> str:
    """Return the keys that a map may have, such as `one of "a", tstr => …`, or `no members`."""
    names = [
        format_key(member.literal)
        for member in members
        if member.literal is not None and member.most != 0
    ]
    names += [f"{describe_type(member.key)} => …" for member in members if member.literal is None]
    if not names:
        return "no members"
    more = f", … ({len(names)} in all)" if len(names) > MAX_SHOWN_NAMES else ""
    return f"one of {', '.join(names[:MAX_SHOWN_NAMES])}{more}"


def describe_member_count(member: MapMember) -> str:
    """Return how many members an entry asks for, such as `1 or more members tstr => int`."""
    entry = f"members {describe_type(member.key)} => {describe_type(member.value)}"
    if member.share is not None:
        return f"{entry}, as many as of the other members in their repeated group"
    most = "or more" if member.most is None else f"to {member.most}"
    return f"{member.least} {most} {entry}"
