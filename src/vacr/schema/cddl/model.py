"""The data model a schema describes, with every name resolved. Step: validate.

`names` makes this graph out of the syntax tree; the compiler, the explainer and the generator read
it. Rules and groups may refer to themselves, so the nodes are compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vacr.schema.cddl.lexer import Source
    from vacr.schema.cddl.syntax import Scalar

LARGEST_UINT = 2**64 - 1
SMALLEST_NINT = -(2**64)

PRELUDE = "prelude.cddl"

UINT, NINT, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE = range(8)
FALSE, TRUE, NULL, UNDEFINED = 20, 21, 22, 23
FLOAT16, FLOAT32, FLOAT64 = 25, 26, 27


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which text something is written."""

    source: Source
    at: int

    def __str__(self) -> str:
        """Give `name:line:column`."""
        return self.source.where(self.at)


@dataclass(eq=False, slots=True)
class AnyType:
    """Every value."""


@dataclass(eq=False, slots=True)
class Exact:
    """One value."""

    value: Scalar


@dataclass(eq=False, slots=True)
class Kind:
    """The values of a major type, or of one argument of it; never a tag."""

    major: int
    argument: int | None = None


@dataclass(eq=False, slots=True)
class SimpleOf:
    """The simple values whose number is of a type: `#7.<type>`."""

    number: Node


@dataclass(eq=False, slots=True)
class Tagged:
    """A tag with a number (any, when None) and a content."""

    number: int | Node | None
    content: Node


@dataclass(eq=False, slots=True)
class OneOf:
    """A value of any of these types; of none when there are no alternatives."""

    alternatives: list[Node]


@dataclass(eq=False, slots=True)
class Between:
    """A range of numbers; its ends are known once every name is."""

    low: Node
    high: Node
    inclusive: bool
    place: Place


@dataclass(eq=False, slots=True)
class Controlled:
    """A type narrowed or computed by a control operator; `detail` is what the controller was
    prepared into.
    """

    operator: str
    target: Node
    controller: Node
    place: Place
    detail: Any = None


@dataclass(eq=False, slots=True)
class MapType:
    """A map of the members of a group."""

    group: GroupNode
    place: Place


@dataclass(eq=False, slots=True)
class ArrayType:
    """An array of the entries of a group."""

    group: GroupNode
    place: Place


@dataclass(eq=False, slots=True)
class Ref:
    """A rule that is a type, or one instance of a generic one."""

    name: str
    place: Place
    node: Node = field(default_factory=lambda: OneOf([]))

    @property
    def standard(self) -> bool:
        """Tell whether it is a rule of the prelude."""
        return self.place.source.name == PRELUDE


@dataclass(eq=False, slots=True)
class Item:
    """One entry of a group."""

    least: int
    most: int | None
    key: Node | None
    cut: bool
    value: Node | GroupNode


@dataclass(eq=False, slots=True)
class GroupNode:
    """Alternative sequences of entries; `name` is that of the rule, when it is one."""

    name: str
    place: Place
    alternatives: list[list[Item]] = field(default_factory=list)


Node: TypeAlias = (
    AnyType
    | Exact
    | Kind
    | SimpleOf
    | Tagged
    | OneOf
    | Between
    | Controlled
    | MapType
    | ArrayType
    | Ref
)


def follow(node: Node) -> Node:
    """Step through rule names to what they stand for."""
    while isinstance(node, Ref):
        node = node.node
    return node


def leaves(node: Node) -> list[Node]:
    """Flatten a choice, through rule names, into its alternatives."""
    found: list[Node] = []
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        leaf = follow(waiting.pop())
        if isinstance(leaf, OneOf):
            # The same choice twice adds nothing, and a hostile schema could nest it to double
            # without end.
            if id(leaf) not in seen:
                seen.add(id(leaf))
                waiting.extend(reversed(leaf.alternatives))
        elif id(leaf) not in seen:
            seen.add(id(leaf))
            found.append(leaf)
    return found


def named_leaves(node: OneOf) -> list[tuple[str, Node]]:
    """Flatten a choice, keeping the name of the nearest rule of the schema for each alternative."""
    found: list[tuple[str, Node]] = []
    seen: set[int] = set()
    waiting: list[tuple[str, Node]] = [("", node)]
    while waiting:
        name, leaf = waiting.pop()
        while isinstance(leaf, Ref):
            name = name if leaf.standard else leaf.name
            leaf = leaf.node
        if id(leaf) in seen:
            continue
        seen.add(id(leaf))
        if isinstance(leaf, OneOf):
            waiting.extend((name, part) for part in reversed(leaf.alternatives))
        else:
            found.append((name, leaf))
    return found


def parts(node: Node | GroupNode) -> Iterator[Node | GroupNode]:
    """Give the nodes directly inside one."""
    match node:
        case Ref():
            yield node.node
        case OneOf():
            yield from node.alternatives
        case Controlled():
            yield from (node.target, node.controller)
        case Between():
            yield from (node.low, node.high)
        case SimpleOf():
            yield node.number
        case Tagged():
            if isinstance(node.number, Node):
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
