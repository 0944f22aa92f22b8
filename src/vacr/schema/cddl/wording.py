"""The words of a finding: values in short, types in the notation of CDDL, and JSON pointers. Step:
validate.

No value is ever shown whole: a record may hold megabytes, and what is in it may be secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vacr.errors import printable
from vacr.schema.cddl.constants import constant
from vacr.schema.cddl.model import (
    AnyType,
    ArrayType,
    Between,
    Controlled,
    Exact,
    Kind,
    MapType,
    Node,
    OneOf,
    Ref,
    SimpleOf,
    Tagged,
)
from vacr.schema.cddl.values import LISTS, as_map, is_undefined, simple_number, tag_of

if TYPE_CHECKING:
    from vacr.schema.cddl.members import Member

LONGEST_VALUE = 60
LONGEST_TYPE = 120
MOST_NAMES = 12
_LONGEST_TOKEN = 100
_DEEPEST = 6
_LARGEST_SHOWN = 128


def shown(value: Any) -> str:
    """Say in few words what a value is."""
    if isinstance(value, str):
        return f"text {quoted(value)}"
    if isinstance(value, bytes):
        return f"bytes {hexadecimal(value)}"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return _number(value)
    members = as_map(value)
    if members is not None:
        return f"a map of {counted(len(members), 'member')}"
    if isinstance(value, LISTS):
        return f"an array of {counted(len(value), 'element')}"
    return _uncommon(value)


def _uncommon(value: Any) -> str:
    tag = tag_of(value)
    if tag is not None:
        return f"tag {tag[0]}"
    if is_undefined(value):
        return "undefined"
    number = simple_number(value)
    return f"a Python {type(value).__name__[:40]}" if number is None else f"simple({number})"


def _number(value: int | float) -> str:  # noqa: PYI041 - the two are told apart here
    if isinstance(value, float):
        return f"float {value!r}"
    # Writing out a large integer takes long, and Python refuses it past some thousand digits.
    bits = value.bit_length()
    return f"integer {value}" if bits <= _LARGEST_SHOWN else f"an integer of {bits} bits"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def quoted(text: str) -> str:
    """Write the beginning of a text in quotes, with nothing in it that could drive a terminal."""
    cut = text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
    plain = printable(cut.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{plain if len(plain) <= LONGEST_VALUE + 10 else plain[:LONGEST_VALUE] + "…"}"'


def hexadecimal(data: bytes) -> str:
    """Write the beginning of some bytes."""
    most = LONGEST_VALUE // 4
    return (
        f"h'{data.hex()}'" if len(data) <= most else f"h'{data[:most].hex()}…' ({len(data)} bytes)"
    )


def token(key: Any) -> str:
    """Write a key or index as one step of a JSON pointer (RFC 6901); keys that JSON cannot have in
    diagnostic notation.
    """
    text = key if isinstance(key, str) else key_text(key)
    if len(text) > _LONGEST_TOKEN:
        text = text[: _LONGEST_TOKEN - 1] + "…"
    return "/" + text.replace("~", "~0").replace("/", "~1")


def key_text(key: Any) -> str:
    """Write a key as it is named in a message."""
    if isinstance(key, str):
        return quoted(key)
    if isinstance(key, bytes):
        return hexadecimal(key)
    if isinstance(key, bool):
        return str(key).lower()
    return _number(key).rpartition(" ")[2] if isinstance(key, int | float) else shown(key)


def described(node: Node, depth: int = 0) -> str:
    """Write a type in the notation of CDDL, in short."""
    text = _described(node, depth)
    return text if len(text) <= LONGEST_TYPE else text[: LONGEST_TYPE - 1] + "…"


def _described(node: Node, depth: int) -> str:
    if depth > _DEEPEST:
        return "…"
    match node:
        case Ref():
            return node.name
        case Exact():
            return _literal(node.value)
        case OneOf(alternatives=alternatives):
            several = [described(part, depth + 1) for part in alternatives[:20]]
            return " / ".join(several) if several else "nothing (an empty choice)"
        case Between():
            dots = ".." if node.inclusive else "..."
            return f"{described(node.low, depth + 1)}{dots}{described(node.high, depth + 1)}"
        case Controlled():
            value = constant(node)
            if value is not None:
                return _literal(value)
            inner = constant(node.controller)
            controller = _grouped(node.controller, depth) if inner is None else _literal(inner)
            return f"{_grouped(node.target, depth)} .{node.operator} {controller}"
        case Tagged():
            number = (
                ""
                if node.number is None
                else f".{node.number}"
                if isinstance(node.number, int)
                else ".<…>"
            )
            return f"#6{number}({described(node.content, depth + 1)})"
        case MapType():
            return "a map"
        case ArrayType():
            return "an array"
        case AnyType():
            return "any"
        case Kind():
            return f"#{node.major}" if node.argument is None else f"#{node.major}.{node.argument}"
        case SimpleOf():
            return f"#7.<{described(node.number, depth + 1)}>"


def _grouped(node: Node, depth: int) -> str:
    """Write one side of an operator, a choice in parentheses."""
    text = described(node, depth + 1)
    return f"({text})" if isinstance(node, OneOf | Between | Controlled) else text


def _literal(value: float | str | bytes) -> str:
    if isinstance(value, str):
        return quoted(value)
    return hexadecimal(value) if isinstance(value, bytes) else _number(value).rpartition(" ")[2]


def allowed(sequence: list[Member]) -> str:
    """Say which members a map may have."""
    names = [
        key_text(member.literal)
        for member in sequence
        if member.literal is not None and member.most != 0
    ]
    names += [f"{described(member.key)} => …" for member in sequence if member.literal is None]
    more = f", … ({len(names)} in all)" if len(names) > MOST_NAMES else ""
    return f"one of {', '.join(names[:MOST_NAMES])}{more}" if names else "no members"


def counts(member: Member) -> str:
    """Say how many members an entry asks for."""
    most = "or more" if member.most is None else f"to {member.most}"
    key = described(member.key)
    if member.share is not None:
        return f"members {key} => {described(member.value)}, as many as its group has copies"
    return f"{member.least} {most} members {key} => {described(member.value)}"
