"""Find the members that keep a map from matching, and weigh how far it is from a type. Step:
validate.

Keys are looked up and not compared with every entry, and past `MOST_PROBLEMS` nothing more is
looked for: a map with a hundred thousand unknown members is explained as quickly as one with a
hundred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vacr.schema.cddl.constants import constant
from vacr.schema.cddl.members import expand
from vacr.schema.cddl.model import Exact, GroupNode, leaves

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.schema.cddl.members import Member
    from vacr.schema.cddl.model import ArrayType, MapType, Node

MISSING = object()
MOST_PROBLEMS = 200


def map_problems(
    sequence: list[Member], members: dict[Any, Any], ok: Callable[[Node, Any], bool]
) -> list[tuple[Any, Member | None]]:
    """List the members that are missing, unknown (with None) or do not fit their entry."""
    problems: list[tuple[Any, Member | None]] = []
    problems += [
        (MISSING, member)
        for member in sequence
        if member.literal is not None and member.required and member.literal not in members
    ]
    entries = _Entries(sequence, ok)
    for key, value in members.items():
        if len(problems) >= MOST_PROBLEMS:
            break
        options = entries.options(key)
        if not options:
            problems.append((key, None))
        elif not any(ok(member.value, value) for member in options) or (
            options[0].required
            and options[0].literal is not None
            and not ok(options[0].value, value)
        ):
            problems.append((key, options[0]))
    return problems


class _Entries:
    """The entries of a list, by literal key."""

    def __init__(self, sequence: list[Member], ok: Callable[[Node, Any], bool]) -> None:
        self._ok = ok
        self._wild = [
            (index, member) for index, member in enumerate(sequence) if member.literal is None
        ]
        self._named: dict[Any, list[tuple[int, Member]]] = {}
        for index, member in enumerate(sequence):
            if member.literal is not None:
                self._named.setdefault(member.literal, []).append((index, member))

    def options(self, key: Any) -> list[Member]:
        """Give the entries that a key fits, up to the first that binds; those with a literal key
        first.
        """
        found: list[Member] = []
        named = self._named.get(key, [])
        for _, member in sorted([*named, *self._wild], key=lambda pair: pair[0]):
            if not self._ok(member.key, key):
                continue
            if member.most != 0:
                found.append(member)
            if member.cut:
                break
        return sorted(found, key=lambda member: member.literal is None)


# --- literals that tell alternatives apart
# ------------------------------------------------------------


def map_balance(node: MapType, members: dict[Any, Any]) -> int:
    """Count the required members with a literal value that do not fit, less those that do."""
    sequences = expand(node.group)
    if len(sequences) != 1:
        return 0
    values = [
        (member.value, members[member.literal])
        for member in sequences[0]
        if member.required and member.literal is not None and member.literal in members
    ]
    return sum(_balance(inner, value) for inner, value in values)


def array_balance(node: ArrayType, elements: list[Any]) -> int:
    """Count the elements with a literal value that do not fit, less those that do, as far as every
    element is there once.
    """
    total = 0
    for sequence in node.group.alternatives[:1] if len(node.group.alternatives) == 1 else ():
        for item, element in zip(sequence, elements, strict=False):
            if (item.least, item.most) != (1, 1) or isinstance(item.value, GroupNode):
                break
            total += _balance(item.value, element)
    return total


def _balance(node: Node, value: Any) -> int:
    """Give 1 when a type is all literals and a value of their kind is none of them, -1 when it is
    one.
    """
    if value.__class__ not in {str, int}:
        return 0
    literals = [leaf.value if isinstance(leaf, Exact) else constant(leaf) for leaf in leaves(node)]
    if (
        not literals
        or None in literals
        or not any(literal.__class__ is value.__class__ for literal in literals)
    ):
        return 0
    return (
        -1
        if any(literal.__class__ is value.__class__ and literal == value for literal in literals)
        else 1
    )
