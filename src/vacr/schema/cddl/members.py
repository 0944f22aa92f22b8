"""The members a map may have: its group, flattened. Step: validate.

Follows RFC 8610 sections 2.1.1 and 3.5. The groups inside a map's group are expanded into
alternative lists of entries, so that the compiler, the explainer and the generator see nothing but
keys and values.

A group of several entries that repeats stays one list: its entries share a number of copies.

Left out on purpose, and refused when compiling: more than `MOST_ALTERNATIVES` combinations of
optional groups, or combinations that come to more than `MOST_MEMBERS` entries in all; a choice of
groups with computed keys that repeats more than `MOST_COPIES` times with an end; and two groups of
several entries with computed keys that repeat in one map.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import TYPE_CHECKING

from vacr.errors import InvalidSchema
from vacr.schema.cddl.assignment import Share
from vacr.schema.cddl.constants import constant
from vacr.schema.cddl.model import Exact, GroupNode, Item, MapType, Node, leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vacr.schema.cddl.model import Place
    from vacr.schema.cddl.syntax import Scalar

MOST_ALTERNATIVES = 512
MOST_MEMBERS = 30_000
MOST_COPIES = 4
_TWO_COUNTS = "repeat the entries one by one, or nest the groups in maps of their own"


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One entry of a flattened map; `literal` is its key when that is one value."""

    key: Node
    literal: Scalar | None
    cut: bool
    least: int
    most: int | None
    value: Node
    share: Share | None = None

    @property
    def required(self) -> bool:
        """Tell whether the map cannot do without."""
        return self.least > 0

    @property
    def open_end(self) -> bool:
        """Tell whether any number of members fits."""
        return self.least == 0 and self.most is None and self.share is None


def expand(group: GroupNode) -> list[list[Member]]:
    """Flatten the groups inside a map's group into alternative lists of entries.

    Raises:
        InvalidSchema: when an entry has no key, or there are too many entries or alternatives.

    """
    return _expand(group, {})


def _expand(group: GroupNode, known: dict[int, list[list[Member]]]) -> list[list[Member]]:
    """Flatten a group, each group inside it once."""
    if id(group) in known:
        return known[id(group)]
    found: list[list[Member]] = []
    written = 0
    for sequence in group.alternatives:
        choices = [_choices(item, group.place, known) for item in sequence]
        members = sum(max(map(len, choice), default=0) for choice in choices)
        several = prod(map(len, choices))
        written += members * several
        if several + len(found) > MOST_ALTERNATIVES or written > MOST_MEMBERS:
            hint = "write the optional members one by one instead of in groups"
            raise InvalidSchema(
                "a map with too many combinations of groups", where=str(group.place), hint=hint
            )
        found += [
            [member for part in combination for member in part] for combination in product(*choices)
        ]
        _refuse_two_counts(choices, group.place)
    known[id(group)] = found
    return found


def _choices(item: Item, place: Place, known: dict[int, list[list[Member]]]) -> list[list[Member]]:
    """Give the alternatives that one entry of the group stands for."""
    if not isinstance(item.value, GroupNode):
        if item.key is None:
            raise InvalidSchema(
                "an entry of a map needs a key", where=str(place), hint="write: key: type"
            )
        return [[Member(item.key, constant(item.key), item.cut, item.least, item.most, item.value)]]
    inner = _expand(item.value, known)
    if (item.least, item.most) == (1, 1):
        return inner
    if len(inner) == 1 and len(inner[0]) == 1 and inner[0][0].least <= 1:
        only = inner[0][0]
        most = None if item.most is None or only.most is None else item.most * only.most
        return [[replace(only, least=item.least * only.least, most=0 if item.most == 0 else most)]]
    literal = all(member.literal is not None for sequence in inner for member in sequence)
    if len(inner) == 1 and not literal and (item.most is None or item.most > 1):
        return [_shared(inner[0], item.least, item.most, place)]
    return _copies(item, inner, place)


def _shared(sequence: list[Member], fewest: int, copies: int | None, place: Place) -> list[Member]:
    """Let the entries of a group that repeats share their number of copies."""
    if any(member.share is not None for member in sequence):
        raise InvalidSchema(
            "a repeated group in a map that holds a repeated group",
            where=str(place),
            hint=_TWO_COUNTS,
        )
    return [
        replace(member, least=0, most=None, share=Share(member.least, member.most, fewest, copies))
        for member in sequence
    ]


def _refuse_two_counts(choices: list[list[list[Member]]], place: Place) -> None:
    """Refuse a list of entries with two numbers of copies to be found: all pairs would have to be
    tried.
    """
    counting = [
        any(member.share is not None for sequence in choice for member in sequence)
        for choice in choices
    ]
    if sum(counting) > 1:
        raise InvalidSchema(
            "two groups of several entries repeat in one map", where=str(place), hint=_TWO_COUNTS
        )


def _copies(item: Item, inner: list[list[Member]], place: Place) -> list[list[Member]]:
    """Repeat a group: what is required of its alternatives, and then any number or up to the most
    of them.
    """
    literal = all(member.literal is not None for sequence in inner for member in sequence)
    # An alternative whose keys are all literal fits at most once, for a key is there only once.
    several = combinations if literal else combinations_with_replacement
    cap = len(inner) if literal else MOST_COPIES
    if not literal and max(item.least, item.most or 0) > cap:
        hint = f"with computed keys, up to {MOST_COPIES} times or without an end is possible"
        raise InvalidSchema(
            "a choice of groups in a map repeats too often", where=str(place), hint=hint
        )
    counts = [item.least] if item.most is None else range(min(item.most, cap), item.least - 1, -1)
    found: list[list[Member]] = []
    for count in counts:
        if count > cap:
            break
        for used in several(range(len(inner)), count):
            taken = [
                _times(member, count)
                for index, count in Counter(used).items()
                for member in inner[index]
            ]
            left = [part for index, part in enumerate(inner) if not (literal and index in used)]
            rests = (
                _any_number(left, place)
                if item.most is None
                else [_named(left) if count == 0 else []]
            )
            found += [taken + rest for rest in rests]
            if len(found) > MOST_ALTERNATIVES:
                raise InvalidSchema(
                    "a group in a map repeats in too many combinations", where=str(place)
                )
    return found


def _times(member: Member, count: int) -> Member:
    """Write so many copies of an entry as one."""
    return replace(
        member,
        least=member.least * count,
        most=None if member.most is None else member.most * count,
    )


def _any_number(inner: list[list[Member]], place: Place) -> list[list[Member]]:
    """Give the alternatives that any number of any of these groups stand for."""
    choices: list[list[list[Member]]] = []
    for sequence in inner:
        literal = all(member.literal is not None for member in sequence)
        if len(sequence) == 1 and sequence[0].least <= 1 and sequence[0].share is None:
            most = sequence[0].most if literal else None
            choices.append([[replace(sequence[0], least=0, most=most)]])
        elif literal:
            choices.append([sequence, _named([sequence])])
        else:
            choices.append([_shared(sequence, 0, None, place)])
        if prod(map(len, choices)) > MOST_ALTERNATIVES:
            break
    _refuse_two_counts(choices, place)
    return [[member for part in parts for member in part] for parts in product(*choices)]


def _named(inner: list[list[Member]]) -> list[Member]:
    """Keep what a cut has named when the group that names it is left out."""
    return [
        replace(member, least=0, most=0) for sequence in inner for member in sequence if member.cut
    ]


def discriminator(
    alternatives: Sequence[MapType],
) -> tuple[str, dict[str, list[MapType]], list[MapType]] | None:
    """Find the literal member that tells maps apart: its key, the maps of each of its values, and
    the others.
    """
    literals = [required_literals(leaf) for leaf in alternatives]
    counts: dict[str, int] = {}
    for found in literals:
        for key in found:
            counts[key] = counts.get(key, 0) + 1
    if not counts:
        return None
    key = max(counts, key=lambda name: counts[name])
    others = [leaf for leaf, found in zip(alternatives, literals, strict=True) if key not in found]
    texts = {text: None for found in literals for text in found.get(key, ())}
    cases = {
        text: [
            leaf
            for leaf, found in zip(alternatives, literals, strict=True)
            if key not in found or text in found[key]
        ]
        for text in texts
    }
    return key, cases, others


def required_literals(node: MapType) -> dict[str, tuple[str, ...]]:
    """Give the members that must be there with one of some texts, by key."""
    sequences = expand(node.group)
    if len(sequences) != 1:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    keys = [member.literal for member in sequences[0]]
    for member in sequences[0]:
        if member.required and isinstance(member.literal, str) and keys.count(member.literal) == 1:
            options = [leaf.value for leaf in leaves(member.value) if isinstance(leaf, Exact)]
            texts = tuple(option for option in options if isinstance(option, str))
            if texts and len(texts) == len(leaves(member.value)):
                found[member.literal] = texts
    return found
