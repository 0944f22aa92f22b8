"""Heights of types: how deep the smallest instance of each type has to be.

The generator of random instances needs a way out of recursive rules. It takes the alternative of
the least height when an instance gets too deep, so generation always ends:

    >>> from vacr.cddl import compile_cddl
    >>> from vacr.cddl.type_heights import TypeHeights
    >>> node = compile_cddl("tree = [tree, tree] / leaf  leaf = {n: int}").node("tree")
    >>> TypeHeights(node, json=True).get(node)          # a leaf: one map
    1.0
    >>> node = compile_cddl("a = [a]").node("a")
    >>> TypeHeights(node, json=True).get(node)          # no finite instance
    inf
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from vacr.cddl.string_contents import TEXT_DECODERS
from vacr.cddl.type_graph import (
    AnyNode,
    AnyType,
    ArrayType,
    ChoiceType,
    ControlType,
    GroupItem,
    GroupNode,
    LiteralType,
    MajorType,
    MapType,
    RangeType,
    RuleRef,
    SimpleType,
    TagType,
    TypeNode,
    flatten_choice,
    list_reachable_nodes,
)
from vacr.cddl.values import (
    MAJOR_BYTES,
    MAJOR_SIMPLE,
    MAJOR_TEXT,
    SIMPLE_FLOAT16,
    SIMPLE_FLOAT32,
    SIMPLE_FLOAT64,
    SIMPLE_NULL,
)


class TypeHeights:
    """The heights of a type and of all types inside it, in JSON or in CBOR.

    A literal or number has the height 0, and each map, array or tag around it adds 1. A type
    without a finite instance (`a = [a]`), or without any instance in JSON, is infinite.
    """

    def __init__(self, node: TypeNode, *, json: bool) -> None:
        """Compute all heights, from the leaves up until nothing changes."""
        self._json = json
        self._known: dict[int, float] = {}
        nodes = list_reachable_nodes([node])
        grown = True
        while grown:
            grown = False
            for inner in nodes:
                height = self._compute(inner)
                if height < self._known.get(id(inner), math.inf):
                    self._known[id(inner)] = height
                    grown = True

    def get(self, node: AnyNode) -> float:
        """Return the height of a type or group; infinite when it has no instance."""
        return self._known.get(id(node), math.inf)

    def get_sequence(self, items: Iterable[GroupItem]) -> float:
        """Return the largest height of the required entries; 0 when all are optional."""
        return max((self.get(item.value) for item in items if item.least), default=0)

    def can_write_key(self, node: TypeNode | None) -> bool:
        """Return whether a key of this type can be written: in JSON it has to be text.

        False for None, an entry without a key.
        """
        if node is None or not self._json:
            return node is not None
        return any(map(_can_be_text, flatten_choice(node)))

    def _compute(self, node: AnyNode) -> float:
        """Return the height of a node from the heights inside it that are known so far."""
        match node:
            case RuleRef():
                return self.get(node.node)
            case ChoiceType(alternatives=alternatives):
                return min((self.get(part) for part in alternatives), default=math.inf)
            case MapType(group=group):
                return 1 + self._compute_members(group)
            case ArrayType(group=group):
                return 1 + self.get(group)
            case GroupNode():
                return min(map(self.get_sequence, node.alternatives), default=math.inf)
            case TagType():
                return math.inf if self._json else 1 + self.get(node.content)
            case ControlType():
                return self._compute_control(node)
            case _:
                return 0 if self._has_plain_instance(node) else math.inf

    def _has_plain_instance(self, node: TypeNode) -> bool:
        """Return whether a type without parts has an instance, in JSON if that is the format."""
        match node:
            case LiteralType():
                return not (self._json and isinstance(node.value, bytes))
            case MajorType(major=major, argument=argument):
                if not self._json:
                    return True
                if major == MAJOR_SIMPLE and argument is not None:
                    is_float = argument in {SIMPLE_FLOAT16, SIMPLE_FLOAT32, SIMPLE_FLOAT64}
                    return argument <= SIMPLE_NULL or is_float
                return major != MAJOR_BYTES
            case SimpleType():
                return not self._json
            case AnyType() | RangeType():
                return True
            case _:
                return False

    def _compute_control(self, node: ControlType) -> float:
        """Return the height of a controlled type, mostly the height of its target."""
        if node.operator in {"cbor", "cborseq"}:
            return math.inf if self._json else 1 + self.get(node.controller)
        if node.operator in TEXT_DECODERS:
            return 1
        if node.operator in {"and", "within", "eq"}:
            return max(self.get(node.target), self.get(node.controller))
        return self.get(node.target)

    def _compute_members(self, group: GroupNode) -> float:
        """Return the height of a group in a map; infinite if a required key cannot be written."""
        lowest = math.inf
        for sequence in group.alternatives:
            highest = 0.0
            for item in sequence:
                if not item.least:
                    continue
                if isinstance(item.value, GroupNode):
                    height = self._compute_members(item.value)
                else:
                    height = self.get(item.value) if self.can_write_key(item.key) else math.inf
                highest = max(highest, height)
            lowest = min(lowest, highest)
        return lowest


def _can_be_text(leaf: TypeNode) -> bool:
    """Return whether one alternative of a type has an instance that is text."""
    match leaf:
        case LiteralType(value=value):
            return isinstance(value, str)
        case MajorType(major=major):
            return major == MAJOR_TEXT
        case ControlType(target=target):
            return any(map(_can_be_text, flatten_choice(target)))
        case _:
            return isinstance(leaf, AnyType)
