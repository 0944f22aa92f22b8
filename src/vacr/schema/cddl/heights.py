"""How deep the smallest instance of a type has to be. Step: validate (for making instances).

A recursive rule is left by the alternative of the least height, so generation always ends; a type
without a finite instance (`a = [a]`), or without one that JSON can hold, has no height at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vacr.schema.cddl.model import (
    BYTES,
    FLOAT16,
    FLOAT64,
    NULL,
    SIMPLE,
    TEXT,
    AnyType,
    ArrayType,
    Between,
    Controlled,
    Exact,
    GroupNode,
    Item,
    Kind,
    MapType,
    Node,
    OneOf,
    Ref,
    SimpleOf,
    Tagged,
    leaves,
)
from vacr.schema.cddl.recursion import reachable
from vacr.schema.cddl.texts import CODECS

if TYPE_CHECKING:
    from collections.abc import Iterable

_STRUCTURED = frozenset({"and", "within", "eq"})


class Heights:
    """The heights of the types reachable from one, in JSON or in CBOR."""

    def __init__(self, node: Node, *, json: bool) -> None:
        """Compute all heights, from the leaves up until nothing changes."""
        self._json = json
        self._known: dict[int, float] = {}
        nodes = reachable([node])
        grown = True
        while grown:
            grown = False
            for inner in nodes:
                height = self._compute(inner)
                if height < self._known.get(id(inner), math.inf):
                    self._known[id(inner)] = height
                    grown = True

    def of(self, node: Node | GroupNode) -> float:
        """Give the height of a type or group; infinite when it has no instance."""
        return self._known.get(id(node), math.inf)

    def sequence(self, items: Iterable[Item]) -> float:
        """Give the height that the required entries of a sequence need."""
        return max((self.item(item) for item in items if item.least), default=0)

    def item(self, item: Item) -> float:
        """Give the height of one entry."""
        return self.of(item.value)

    def _compute(self, node: Node | GroupNode) -> float:
        match node:
            case Ref():
                return self.of(node.node)
            case OneOf(alternatives=alternatives):
                return min((self.of(part) for part in alternatives), default=math.inf)
            case MapType(group=group):
                return 1 + self._members(group)
            case ArrayType(group=group):
                return 1 + self.of(group)
            case GroupNode():
                return min(map(self.sequence, node.alternatives), default=math.inf)
            case Tagged():
                return math.inf if self._json else 1 + self.of(node.content)
            case Controlled():
                return self._controlled(node)
            case _:
                return 0 if self._plain(node) else math.inf

    def _plain(self, node: Node) -> bool:
        """Tell whether a type without parts has an instance here."""
        match node:
            case Exact():
                return not (self._json and isinstance(node.value, bytes))
            case Kind(major=major, argument=argument):
                unwritable = major == SIMPLE and argument is not None and argument > NULL
                floats = argument is not None and FLOAT16 <= argument <= FLOAT64
                return not self._json or (major != BYTES and (not unwritable or floats))
            case SimpleOf():
                return not self._json
            case AnyType() | Between():
                return True
            case _:
                return False

    def _controlled(self, node: Controlled) -> float:
        if node.operator in {"cbor", "cborseq"}:
            return math.inf if self._json else 1 + self.of(node.controller)
        if node.operator in CODECS:
            return 1
        if node.operator in _STRUCTURED:
            return max(self.of(node.target), self.of(node.controller))
        return self.of(node.target)

    def _members(self, group: GroupNode) -> float:
        """Give the height of a group in a map, whose keys have to be possible as well."""
        best = math.inf
        for sequence in group.alternatives:
            heights = [0.0]
            for item in sequence:
                if item.least and isinstance(item.value, GroupNode):
                    heights.append(self._members(item.value))
                elif item.least:
                    heights.append(self.of(item.value) if self.key(item.key) else math.inf)
            best = min(best, max(heights))
        return best

    def key(self, node: Node | None) -> bool:
        """Tell whether a key of this type can be written: in JSON it has to be text."""
        if node is None or not self._json:
            return node is not None
        return any(_is_text(leaf) for leaf in leaves(node))


def _is_text(leaf: Node) -> bool:
    match leaf:
        case Exact(value=value):
            return isinstance(value, str)
        case Kind(major=major):
            return major == TEXT
        case Controlled(target=target):
            return any(map(_is_text, leaves(target)))
        case _:
            return isinstance(leaf, AnyType)
