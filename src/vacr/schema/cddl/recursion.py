"""Refuse rules that refer to themselves without getting anywhere. Step: validate.

`a = [a]` describes something, if nothing finite; `a = a / int` and `g = (? g, int)` would be
followed without end. This holds for maps altogether: a group that includes itself adds the same
keys again, so it is refused there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.errors import InvalidSchema
from vacr.schema.cddl.model import (
    ArrayType,
    Between,
    Controlled,
    GroupNode,
    Item,
    MapType,
    Node,
    OneOf,
    Ref,
    SimpleOf,
    Tagged,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The controller of these describes what is inside a string, not the string itself.
_INSIDE = frozenset({"cbor", "cborseq", "json"})


def reachable(starts: Iterable[Node | GroupNode]) -> list[Node | GroupNode]:
    """Give every node that can be reached, each once."""
    seen: dict[int, Node | GroupNode] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting.extend(parts(node))
    return list(seen.values())


def refuse_endless(nodes: list[Node | GroupNode]) -> None:
    """Refuse rules and groups that come back to themselves without consuming anything.

    Raises:
        InvalidSchema: when there is one.

    """
    groups = [node for node in nodes if isinstance(node, GroupNode)]
    empty = _can_be_empty(groups)
    _refuse_cycles(nodes, _type_steps, "rule {!r} refers to itself with nothing in between")
    _refuse_cycles(groups, lambda node: _group_steps(node, empty), "group {!r} starts with itself")
    maps = [node.group for node in nodes if isinstance(node, MapType)]
    _refuse_cycles(maps, _member_steps, "group {!r} includes itself in a map")


def _type_steps(node: Node | GroupNode) -> Iterator[Node | GroupNode]:
    """Go to what the same value is checked against."""
    match node:
        case Ref() | OneOf() | Between() | SimpleOf():
            yield from parts(node)
        case Controlled():
            yield node.target
            if node.operator not in _INSIDE:
                yield node.controller
        case Tagged() if isinstance(node.number, Node):
            yield node.number
        case _:
            pass


def _group_steps(node: Node | GroupNode, empty: set[int]) -> Iterator[Node | GroupNode]:
    """Go to the groups that start where this one starts."""
    if isinstance(node, GroupNode):
        for sequence in node.alternatives:
            for item in sequence:
                if isinstance(item.value, GroupNode):
                    yield item.value
                if not _empty_item(item, empty):
                    break


def _member_steps(node: Node | GroupNode) -> Iterator[Node | GroupNode]:
    """Go to the groups that a map would include."""
    if isinstance(node, GroupNode):
        items = (item for sequence in node.alternatives for item in sequence)
        yield from (item.value for item in items if isinstance(item.value, GroupNode))


def _empty_item(item: Item, empty: set[int]) -> bool:
    return item.least == 0 or id(item.value) in empty


def _can_be_empty(groups: list[GroupNode]) -> set[int]:
    """Find the groups that match no entry at all."""
    empty: set[int] = set()
    grown = True
    while grown:
        grown = False
        for group in groups:
            if id(group) not in empty and any(
                all(_empty_item(item, empty) for item in sequence)
                for sequence in group.alternatives
            ):
                empty.add(id(group))
                grown = True
    return empty


def _refuse_cycles(
    nodes: Iterable[Node | GroupNode],
    steps: Callable[[Node | GroupNode], Iterator[Node | GroupNode]],
    message: str,
) -> None:
    """Walk depth first without recursion, and refuse the first step back onto the path."""
    done: set[int] = set()
    for start in nodes:
        path: list[tuple[Node | GroupNode, Iterator[Node | GroupNode]]] = [(start, steps(start))]
        on_path = {id(start)}
        while path and id(start) not in done:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                on_path.discard(id(node))
                done.add(id(node))
            elif id(following) in on_path:
                _refuse([step for step, _ in path], message)
            elif id(following) not in done:
                path.append((following, steps(following)))
                on_path.add(id(following))


def _refuse(path: list[Node | GroupNode], message: str) -> None:
    """Name the last named node of a cycle."""
    named = [node for node in path if isinstance(node, Ref | GroupNode) and node.name] or path
    last = named[-1]
    where = str(last.place) if isinstance(last, Ref | GroupNode | MapType | ArrayType) else ""
    name = last.name if isinstance(last, Ref | GroupNode) else ""
    raise InvalidSchema(message.format(name), where=where)
