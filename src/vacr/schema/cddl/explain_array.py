"""Find the elements that keep an array from matching. Step: validate.

For arrays of one repeated type or of fixed length every wrong element is a problem of its own. For
the others, matching is traced as `arrays` compiles it (RFC 8610 Appendix A), and the furthest
element reached is the one to talk about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vacr.schema.cddl.model import ArrayType, GroupNode, Item, Node
from vacr.schema.cddl.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable


def element_problems(
    node: ArrayType, elements: list[Any], ok: Callable[[Node, Any], bool]
) -> list[tuple[int, Node | str]] | None:
    """List the wrong elements with their types, and a wrong length as text; None when the array has
    to be traced.
    """
    match node.group.alternatives:
        case [[Item(value=value) as only]] if not isinstance(value, GroupNode):
            return [*_length(only, len(elements)), *_wrong([value] * len(elements), elements, ok)]
        case [sequence]:
            types = [item.value for item in sequence if (item.least, item.most) == (1, 1)]
            plain = [inner for inner in types if not isinstance(inner, GroupNode)]
            if len(plain) != len(sequence):
                return None
            wrong = _wrong(plain, elements, ok)
            if len(elements) != len(sequence):
                wrong.insert(0, (0, f"an array of {counted(len(sequence), 'element')}"))
            return wrong
        case _:
            return None


def _wrong(
    types: list[Node], elements: list[Any], ok: Callable[[Node, Any], bool]
) -> list[tuple[int, Node | str]]:
    pairs = zip(types, elements, strict=False)
    return [
        (index, inner) for index, (inner, element) in enumerate(pairs) if not ok(inner, element)
    ]


def _length(item: Item, length: int) -> list[tuple[int, Node | str]]:
    if length < item.least:
        return [(0, f"at least {counted(item.least, 'element')}")]
    if item.most is not None and length > item.most:
        return [(0, f"at most {counted(item.most, 'element')}")]
    return []


class ArrayTrace:
    """Matches an array as the compiled check does, and remembers how far it came and what was
    wanted there.
    """

    def __init__(self, elements: list[Any], ok: Callable[[Node, Any], bool]) -> None:
        """Stand before the first element."""
        self._elements = elements
        self._ok = ok
        self._known: dict[tuple[int, int], int] = {}
        self.furthest = 0
        self.wanted: list[Node] = []

    def run(self, group: GroupNode) -> None:
        """Match the whole; what is left over counts as reached."""
        end = self._group(group, 0)
        if end > self.furthest:
            self.furthest, self.wanted = end, []

    def _group(self, group: GroupNode, at: int) -> int:
        key = (id(group), at)
        if key not in self._known:
            ends = (self._sequence(sequence, at) for sequence in group.alternatives)
            self._known[key] = next((end for end in ends if end >= 0), -1)
        return self._known[key]

    def _sequence(self, sequence: list[Item], at: int) -> int:
        for item in sequence:
            count = 0
            while item.most is None or count < item.most:
                end = self._once(item.value, at)
                if end < 0:
                    break
                count += 1
                if end == at:
                    count = max(count, item.least)
                    break
                at = end
            if count < item.least:
                return -1
        return at

    def _once(self, value: Node | GroupNode, at: int) -> int:
        if isinstance(value, GroupNode):
            return self._group(value, at)
        if at < len(self._elements) and self._ok(value, self._elements[at]):
            return at + 1
        if at > self.furthest:
            self.furthest, self.wanted = at, []
        if at == self.furthest:
            self.wanted.append(value)
        return -1
