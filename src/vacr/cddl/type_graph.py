"""The graph of types that a schema describes, with every name resolved.

`names` builds this graph from the syntax tree; the compiler, the explainer and the generator read
it. Rules and groups may refer to themselves, so nodes are compared by identity. The functions here
walk the graph, evaluate constants, and refuse rules that lead back to themselves without consuming
anything:

    >>> from vacr.cddl import compile_cddl
    >>> from vacr.cddl.type_graph import flatten_choice
    >>> schema = compile_cddl("number = integer / 1.5  integer = 1 / 2")
    >>> [leaf.value for leaf in flatten_choice(schema.node("number"))]
    [1, 2, 1.5]
    >>> compile_cddl("a = [a]").rules       # nothing finite, but each step enters an array
    ('a',)
    >>> compile_cddl("a = a / int")
    Traceback (most recent call last):
    vacr.cddl.tokens.CddlError: <cddl>:1:1: rule 'a' refers to itself without a map, ...

A key, the ends of a range and most controllers have to be single values. They may be written as
names, and computed with `.plus`, `.cat` and `.det` (RFC 9165 section 2):

    >>> from vacr.cddl.type_graph import evaluate_constant
    >>> schema = compile_cddl("base = 400  teapot = base .plus 18  any-code = int")
    >>> evaluate_constant(schema.node("teapot"))
    418
    >>> evaluate_constant(schema.node("any-code")) is None
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from vacr.cddl.tokens import CddlError, CddlSource, Scalar

PRELUDE_FILE = "prelude.cddl"
_MAX_JOINED_BYTES = 1_000_000

# The controller of these describes the content of a string, not the string itself.
_STRING_CONTENT_OPERATORS = frozenset({"cbor", "cborseq", "json"})


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in a CDDL text."""

    source: CddlSource
    at: int

    def __str__(self) -> str:
        """Return `name:line:column`."""
        return self.source.locate(self.at)

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Raise an error about this place.

        Raises:
            CddlError: always.

        """
        self.source.fail(message, self.at, hint)


@dataclass(eq=False, slots=True)
class AnyType:
    """Every value."""


@dataclass(eq=False, slots=True)
class LiteralType:
    """One value."""

    value: Scalar


@dataclass(eq=False, slots=True)
class MajorType:
    """All values of a major type other than tags, or only values with `argument` in the head."""

    major: int
    argument: int | None = None


@dataclass(eq=False, slots=True)
class SimpleType:
    """The simple values whose number matches a type: `#7.<type>`."""

    number: TypeNode


@dataclass(eq=False, slots=True)
class TagType:
    """A tag with a number (None: any) and a content."""

    number: int | TypeNode | None
    content: TypeNode


@dataclass(eq=False, slots=True)
class ChoiceType:
    """A value of any of these types; without alternatives, no value."""

    alternatives: list[TypeNode]


@dataclass(eq=False, slots=True)
class RangeType:
    """A range of numbers; its ends may be names."""

    low: TypeNode
    high: TypeNode
    inclusive: bool
    place: SourceLocation


@dataclass(eq=False, slots=True)
class ControlType:
    """A type narrowed or computed by a control operator.

    `detail` is the prepared form of the controller, such as a compiled regular expression.
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
    """A rule that is a type, or one instance of a generic rule."""

    name: str
    place: SourceLocation
    node: TypeNode = field(default_factory=lambda: ChoiceType([]))

    @property
    def is_standard(self) -> bool:
        """Return whether the prelude defines this rule."""
        return self.place.source.name == PRELUDE_FILE


@dataclass(eq=False, slots=True)
class GroupItem:
    """One entry of a group, repeated `least` to `most` times (None: without limit)."""

    least: int
    most: int | None
    key: TypeNode | None
    cut: bool
    value: TypeNode | GroupNode

    @property
    def occurs_once(self) -> bool:
        """Return whether the entry has to occur exactly once."""
        return self.least == 1 and self.most == 1


@dataclass(eq=False, slots=True)
class GroupNode:
    """Alternative sequences of entries; `name` is the name of its rule, or empty."""

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
AnyNode: TypeAlias = TypeNode | GroupNode


# Walking the graph.


def resolve_refs(node: TypeNode) -> TypeNode:
    """Return the type behind a rule name, through any chain of names; else the node itself."""
    while isinstance(node, RuleRef):
        node = node.node
    return node


def flatten_choice(node: TypeNode) -> list[TypeNode]:
    """Return the alternatives of a choice, through rule names and inner choices, each once.

    Any other type is its own only alternative.
    """
    leaves: list[TypeNode] = []
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        leaf = resolve_refs(waiting.pop())
        # Repeating a choice adds nothing, and in a hostile schema nested repetition would double
        # the work at every level.
        if id(leaf) in seen:
            continue
        seen.add(id(leaf))
        if isinstance(leaf, ChoiceType):
            waiting.extend(reversed(leaf.alternatives))
        else:
            leaves.append(leaf)
    return leaves


def flatten_named_choice(node: ChoiceType) -> list[tuple[str, TypeNode]]:
    """Return the alternatives of a choice like `flatten_choice`, each after the name of its rule.

    That is the nearest rule of the schema, not of the prelude; the name is empty without one.
    """
    leaves: list[tuple[str, TypeNode]] = []
    seen: set[int] = set()
    waiting: list[tuple[str, TypeNode]] = [("", node)]
    while waiting:
        name, leaf = waiting.pop()
        while isinstance(leaf, RuleRef):
            name = name if leaf.is_standard else leaf.name
            leaf = leaf.node
        if id(leaf) in seen:
            continue
        seen.add(id(leaf))
        if isinstance(leaf, ChoiceType):
            waiting.extend((name, part) for part in reversed(leaf.alternatives))
        else:
            leaves.append((name, leaf))
    return leaves


def list_reachable_nodes(starts: Iterable[AnyNode]) -> list[AnyNode]:
    """Return the start nodes and all nodes inside them at any depth, each once."""
    seen: dict[int, AnyNode] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting.extend(list_child_nodes(node))
    return list(seen.values())


def list_child_nodes(node: AnyNode) -> Iterator[AnyNode]:
    """Yield the nodes directly inside a node; a literal or another leaf has none."""
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
            for item in list_group_items(node):
                if item.key is not None:
                    yield item.key
                yield item.value
        case _:
            pass


def list_group_items(group: GroupNode) -> Iterator[GroupItem]:
    """Yield the entries of all alternatives of a group."""
    for sequence in group.alternatives:
        yield from sequence


# Constants: types that stand for one value, and the operators that compute one.


def evaluate_constant(node: TypeNode) -> Scalar | None:
    """Return the value of a constant type, such as `5` or `4 .plus 1`, or None for other types.

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
    """Return the low and the high end of a range; it is empty if the low end is above the high one.

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
    """Return the result of `.plus`, `.cat` or `.det`.

    Raises:
        CddlError: a side is not constant, or the sides cannot be joined.
    """
    left, right = evaluate_constant(node.target), evaluate_constant(node.controller)
    value = None
    if left is not None and right is not None:
        value = COMPUTING_OPERATORS[node.operator](left, right)
    if value is None:
        hint = ".plus adds two constant numbers; .cat and .det join two constant strings."
        node.place.fail(f".{node.operator} cannot combine its two sides", hint)
    return value


def _add_numbers(left: Scalar, right: Scalar) -> Scalar | None:
    """Return the sum of two numbers, or `None` for other values or a sum out of range.

    The sum is of the kind of `left`; an integer is rounded down (RFC 9165 section 2.1).
    """
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    try:
        total = left + right
        return math.floor(total) if isinstance(left, int) else float(total)
    except (OverflowError, ValueError):
        return None


def _concatenate_strings(left: Scalar, right: Scalar) -> Scalar | None:
    """Return two strings joined, as text or bytes like `left` (RFC 9165 section 2.2).

    Return `None` for other values, and for a result that is too long or not UTF-8.
    """
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
    """Return two strings joined like `_concatenate_strings`, each without its indentation.

    Return `None` in the same cases (RFC 9165 section 2.3).
    """
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
    """Return a string as bytes, without the spaces that all its lines start with.

    A line of spaces alone does not count for the number of common spaces.
    """
    lines = _convert_to_bytes(value).split(b"\n")
    indents = [len(line) - len(line.lstrip(b" ")) for line in lines if line.strip(b" \r")]
    common = min(indents, default=0)
    dedented = []
    for line in lines:
        starts_with_common = line[:common].strip(b" ") == b""
        dedented.append(line[common:] if starts_with_common else line.lstrip(b" "))
    return b"\n".join(dedented)


def _convert_to_bytes(value: str | bytes) -> bytes:
    """Return text as UTF-8, where a lone surrogate keeps its value; return bytes unchanged."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


COMPUTING_OPERATORS: dict[str, Callable[[Scalar, Scalar], Scalar | None]] = {
    "plus": _add_numbers,
    "cat": _concatenate_strings,
    "det": _concatenate_dedented,
}


# Cycles.


def check_no_endless_rules(nodes: list[AnyNode]) -> None:
    """Refuse rules and groups that come back to themselves without consuming anything.

    `a = a / int` and `g = (? g, int)` could be followed for ever. A map may not include a group
    that includes itself at all: it would add the same keys again.

    Raises:
        CddlError: when one of the nodes is such a rule or group.

    """
    groups = [node for node in nodes if isinstance(node, GroupNode)]
    map_groups = [node.group for node in nodes if isinstance(node, MapType)]
    empty = _find_empty_groups(groups)
    _check_no_cycles(
        nodes,
        _list_type_steps,
        "rule {!r} refers to itself without a map, array or tag in between",
    )
    _check_no_cycles(
        groups,
        lambda node: _list_group_steps(node, empty),
        "group {!r} starts with itself, so it would never end",
    )
    _check_no_cycles(map_groups, _list_member_steps, "group {!r} includes itself in a map")


def _list_type_steps(node: AnyNode) -> Iterator[AnyNode]:
    """Yield the nodes inside a node that check the same value, and not a part of it."""
    match node:
        case RuleRef() | ChoiceType() | RangeType() | SimpleType():
            yield from list_child_nodes(node)
        case ControlType():
            yield node.target
            if node.operator not in _STRING_CONTENT_OPERATORS:
                yield node.controller
        case TagType() if isinstance(node.number, TypeNode):
            yield node.number
        case _:
            pass


def _list_group_steps(node: AnyNode, empty: set[int]) -> Iterator[AnyNode]:
    """Yield the groups inside a group that may start at the same element of an array.

    `empty` has the identities of the groups that can match no element. A type yields no groups.
    """
    if isinstance(node, GroupNode):
        for sequence in node.alternatives:
            for item in sequence:
                if isinstance(item.value, GroupNode):
                    yield item.value
                if not _can_item_be_empty(item, empty):
                    break


def _list_member_steps(node: AnyNode) -> Iterator[AnyNode]:
    """Yield the groups that are entries of a group, in any alternative; a type has none."""
    if isinstance(node, GroupNode):
        for item in list_group_items(node):
            if isinstance(item.value, GroupNode):
                yield item.value


def _can_item_be_empty(item: GroupItem, empty: set[int]) -> bool:
    """Return whether an entry is optional, or a group in `empty`, a set of identities."""
    return item.least == 0 or id(item.value) in empty


def _find_empty_groups(groups: list[GroupNode]) -> set[int]:
    """Return the identities (`id`) of the groups that can match without any element."""
    empty: set[int] = set()
    grown = True
    while grown:
        grown = False
        for group in groups:
            if id(group) not in empty and any(
                all(_can_item_be_empty(item, empty) for item in sequence)
                for sequence in group.alternatives
            ):
                empty.add(id(group))
                grown = True
    return empty


def _check_no_cycles(
    nodes: Iterable[AnyNode], list_steps: Callable[[AnyNode], Iterator[AnyNode]], message: str
) -> None:
    """Refuse nodes whose steps lead in a circle; `{!r}` in `message` becomes a rule's name.

    The walk is depth first without recursion, and `list_steps` yields the nodes after a node.

    Raises:
        CddlError: at the first step back onto the path.

    """
    done: set[int] = set()
    for start in nodes:
        path = [(start, list_steps(start))]
        on_path = {id(start)}
        while path and id(start) not in done:
            node, steps = path[-1]
            following = next(steps, None)
            if following is None:
                path.pop()
                on_path.discard(id(node))
                done.add(id(node))
            elif id(following) in on_path:
                _raise_cycle_error([step for step, _ in path], message)
            elif id(following) not in done:
                path.append((following, list_steps(following)))
                on_path.add(id(following))


def _raise_cycle_error(path: list[AnyNode], message: str) -> NoReturn:
    """Raise an error about a cycle at the end of a path, naming the last node with a name."""
    named = [node for node in path if isinstance(node, RuleRef | GroupNode) and node.name] or path
    last = named[-1]
    where = str(last.place) if isinstance(last, RuleRef | GroupNode | MapType | ArrayType) else ""
    name = last.name if isinstance(last, RuleRef | GroupNode) else ""
    raise CddlError(message.format(name), where=where)
