"""The data model a schema describes, with every name resolved. Step: validate.

`names` makes this graph out of the syntax tree; the compiler, the explainer and the generator read
it. Rules and groups may refer to themselves, so the nodes are compared by identity.

How Python holds the values of CBOR and JSON, for the compiled checks. Step: validate.

The data model is RFC 8949 section 2 as cbor2 decodes it: dict, list or tuple, str, bytes, int,
float, bool, None, CBORTag, CBORSimpleValue and undefined. An integer past 64 bits is the tag 2 or 3
it is written as; a smaller one may have been, so where a schema asks for just that tag (`biguint`)
it is taken for it. cbor2 is never imported to look at a value: a value of its types can only exist
once somebody else has imported it.

Left out on purpose: datetime, Decimal, UUID and the like, which cbor2 makes of some tags when asked
to. They match `any` and nothing else; decode with tags kept as CBORTag.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vacr.cddl.syntax import CddlSource, Scalar

LARGEST_UINT = 2**64 - 1
SMALLEST_NINT = -(2**64)

PRELUDE_FILE = "prelude.cddl"

MAJOR_UINT, MAJOR_NINT, MAJOR_BYTES, MAJOR_TEXT, MAJOR_ARRAY, MAJOR_MAP, MAJOR_TAG, MAJOR_SIMPLE = (
    range(8)
)
SIMPLE_FALSE, SIMPLE_TRUE, SIMPLE_NULL, SIMPLE_UNDEFINED = 20, 21, 22, 23
SIMPLE_FLOAT16, SIMPLE_FLOAT32, SIMPLE_FLOAT64 = 25, 26, 27


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where in which text something is written."""

    source: CddlSource
    at: int

    def __str__(self) -> str:
        """Give `name:line:column`."""
        return self.source.where(self.at)


@dataclass(eq=False, slots=True)
class AnyType:
    """Every value."""


@dataclass(eq=False, slots=True)
class LiteralType:
    """One value."""

    value: Scalar


@dataclass(eq=False, slots=True)
class MajorType:
    """The values of a major type, or of one argument of it; never a tag."""

    major: int
    argument: int | None = None


@dataclass(eq=False, slots=True)
class SimpleType:
    """The simple values whose number is of a type: `#7.<type>`."""

    number: TypeNode


@dataclass(eq=False, slots=True)
class TagType:
    """A tag with a number (any, when None) and a content."""

    number: int | TypeNode | None
    content: TypeNode


@dataclass(eq=False, slots=True)
class ChoiceType:
    """A value of any of these types; of none when there are no alternatives."""

    alternatives: list[TypeNode]


@dataclass(eq=False, slots=True)
class RangeType:
    """A range of numbers; its ends are known once every name is."""

    low: TypeNode
    high: TypeNode
    inclusive: bool
    place: SourceLocation


@dataclass(eq=False, slots=True)
class ControlType:
    """A type narrowed or computed by a control operator; `detail` is what the controller was
    prepared into.
    """

    operator: str
    target: TypeNode
    controller: TypeNode
    place: SourceLocation
    detail: Any = None


@dataclass(eq=False, slots=True)
class MapType:
    """A map of the members of a group."""

    group: GroupNode
    place: SourceLocation


@dataclass(eq=False, slots=True)
class ArrayType:
    """An array of the entries of a group."""

    group: GroupNode
    place: SourceLocation


@dataclass(eq=False, slots=True)
class RuleRef:
    """A rule that is a type, or one instance of a generic one."""

    name: str
    place: SourceLocation
    node: TypeNode = field(default_factory=lambda: ChoiceType([]))

    @property
    def standard(self) -> bool:
        """Tell whether it is a rule of the prelude."""
        return self.place.source.name == PRELUDE_FILE


@dataclass(eq=False, slots=True)
class GroupItem:
    """One entry of a group."""

    least: int
    most: int | None
    key: TypeNode | None
    cut: bool
    value: TypeNode | GroupNode


@dataclass(eq=False, slots=True)
class GroupNode:
    """Alternative sequences of entries; `name` is that of the rule, when it is one."""

    name: str
    place: SourceLocation
    alternatives: list[list[GroupItem]] = field(default_factory=list)


TypeNode: TypeAlias = (
    AnyType
    | LiteralType
    | MajorType
    | SimpleType
    | TagType
    | ChoiceType
    | RangeType
    | ControlType
    | MapType
    | ArrayType
    | RuleRef
)


def resolve_refs(node: TypeNode) -> TypeNode:
    """Step through rule names to what they stand for."""
    while isinstance(node, RuleRef):
        node = node.node
    return node


def flatten_choice(node: TypeNode) -> list[TypeNode]:
    """Flatten a choice, through rule names, into its alternatives."""
    found: list[TypeNode] = []
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        leaf = resolve_refs(waiting.pop())
        if isinstance(leaf, ChoiceType):
            # The same choice twice adds nothing, and a hostile schema could nest it to double
            # without end.
            if id(leaf) not in seen:
                seen.add(id(leaf))
                waiting.extend(reversed(leaf.alternatives))
        elif id(leaf) not in seen:
            seen.add(id(leaf))
            found.append(leaf)
    return found


def flatten_named_choice(node: ChoiceType) -> list[tuple[str, TypeNode]]:
    """Flatten a choice, keeping the name of the nearest rule of the schema for each alternative."""
    found: list[tuple[str, TypeNode]] = []
    seen: set[int] = set()
    waiting: list[tuple[str, TypeNode]] = [("", node)]
    while waiting:
        name, leaf = waiting.pop()
        while isinstance(leaf, RuleRef):
            name = name if leaf.standard else leaf.name
            leaf = leaf.node
        if id(leaf) in seen:
            continue
        seen.add(id(leaf))
        if isinstance(leaf, ChoiceType):
            waiting.extend((name, part) for part in reversed(leaf.alternatives))
        else:
            found.append((name, leaf))
    return found


def list_child_nodes(node: TypeNode | GroupNode) -> Iterator[TypeNode | GroupNode]:
    """Give the nodes directly inside one."""
    match node:
        case RuleRef():
            yield node.node
        case ChoiceType():
            yield from node.alternatives
        case ControlType():
            yield from (node.target, node.controller)
        case RangeType():
            yield from (node.low, node.high)
        case SimpleType():
            yield node.number
        case TagType():
            if isinstance(node.number, TypeNode):
                yield node.number
            yield node.content
        case MapType() | ArrayType():
            yield node.group
        case GroupNode():
            for item in (item for sequence in node.alternatives for item in sequence):
                if item.key is not None:
                    yield item.key
                yield item.value
        case _:
            pass


LIST_TYPES = (list, tuple)
_BIGNUM_TAG, _NEGATIVE_BIGNUM_TAG = BIGNUM_TAGS = 2, 3
_FIRST_LONG_ARGUMENT = 24


def _get_cbor_type(name: str) -> Any:
    """Give a type of cbor2 if that is loaded."""
    return getattr(sys.modules.get("cbor2"), name, None)


def as_map(value: Any) -> dict[Any, Any] | None:
    """Give a map as a dict; cbor2 makes a frozen one of a map that is a key."""
    if isinstance(value, dict):
        return value
    frozen = _get_cbor_type("frozendict")
    return dict(value) if frozen is not None and isinstance(value, frozen) else None


def is_map(value: Any) -> bool:
    """Tell whether a value is a map."""
    return as_map(value) is not None


def tag_of(value: Any) -> tuple[int, Any] | None:
    """Give the number and content of a tag, also of an integer that is a bignum (RFC 8949 section
    3.4.3).
    """
    if value.__class__ is int:
        if value > LARGEST_UINT:
            return _BIGNUM_TAG, value.to_bytes((value.bit_length() + 7) // 8, "big")
        if value < SMALLEST_NINT:
            value = -1 - value
            return _NEGATIVE_BIGNUM_TAG, value.to_bytes((value.bit_length() + 7) // 8, "big")
        return None
    tag = _get_cbor_type("CBORTag")
    return (value.tag, value.value) if tag is not None and isinstance(value, tag) else None


def bignum_of(value: Any, number: int) -> tuple[int, Any] | None:
    """Give the content of tag 2 or 3 of any integer of that sign: decoding makes a plain integer of
    a small bignum, and the two are the same number (RFC 8949 section 3.4.3).
    """
    if value.__class__ is not int:
        return tag_of(value)
    if (value < 0) != (number == _NEGATIVE_BIGNUM_TAG):
        return None
    magnitude: int = value if value >= 0 else -1 - value
    return number, magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big")


def is_undefined(value: Any) -> bool:
    """Tell whether a value is CBOR's undefined."""
    module = sys.modules.get("cbor2")
    return module is not None and value is module.undefined


def simple_number(value: Any) -> int | None:
    """Give the number of a simple value (RFC 8949 section 3.3)."""
    if isinstance(value, bool):
        return 21 if value else 20
    if value is None:
        return 22
    if is_undefined(value):
        return 23
    simple = _get_cbor_type("CBORSimpleValue")
    return int(value.value) if simple is not None and isinstance(value, simple) else None


def is_simple(value: Any) -> bool:
    """Tell whether a value is of major type 7."""
    return isinstance(value, float) or simple_number(value) is not None


def fits_float(value: Any, form: str) -> bool:
    """Tell whether a float is one of the width that a struct format names; the width on the wire is
    not kept.
    """
    if not isinstance(value, float):
        return False
    try:
        unpacked: float = struct.unpack(form, struct.pack(form, value))[0]
    except OverflowError:
        return False
    return unpacked == value or value != value  # noqa: PLR0124 - only NaN differs from itself


def as_integer(value: Any) -> Any:
    """Give a number of JSON that is integral as an integer, and anything else as it is."""
    return int(value) if value.__class__ is float and value.is_integer() else value


def as_float(value: Any) -> Any:
    """Give a number of JSON as a floating-point number if it is one, and anything else as it is."""
    try:
        return float(value) if value.__class__ is int else value
    except OverflowError:
        return value


def head_argument(value: Any, major: int) -> int | None:
    """Give the additional information that a value of a major type is written with, in the shortest
    form.
    """
    measure: int | None = None
    if value.__class__ is int:
        if major == MAJOR_UINT and 0 <= value <= LARGEST_UINT:
            measure = value
        elif major == MAJOR_NINT and SMALLEST_NINT <= value < 0:
            measure = -1 - value
    elif (major == MAJOR_BYTES and isinstance(value, bytes)) or (
        major == MAJOR_ARRAY and isinstance(value, LIST_TYPES)
    ):
        measure = len(value)
    elif major == MAJOR_TEXT and isinstance(value, str):
        measure = len(value.encode("utf-8", "surrogatepass"))
    elif major == MAJOR_MAP:
        members = as_map(value)
        measure = None if members is None else len(members)
    if measure is None or measure < _FIRST_LONG_ARGUMENT:
        return measure
    return next(24 + step for step in range(4) if measure < 1 << (8 << step))


def has_odd_keys(members: dict[Any, Any]) -> bool:
    """Tell whether a key is one that Python takes for an equal integer: true for 1, 1.0 for 1."""
    return any(key.__class__ is bool or key.__class__ is float for key in members)


def all_text(members: dict[Any, Any]) -> bool:
    """Tell whether every key is text."""
    try:
        # Joining asks every key whether it is text, at the speed of the interpreter's own loop.
        "".join(members)
    except TypeError:
        return False
    return True
