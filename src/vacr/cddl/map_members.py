"""The members a map may have: its group, flattened into lists of entries.

A map's group may include other groups, optional, repeated or alternative. The compiler, the
explainer and the generator want keys and values only, so the groups are multiplied out into
alternative lists of entries (RFC 8610 sections 2.1.1 and 3.5):

    >>> from vacr.cddl import compile_cddl
    >>> from vacr.cddl.map_members import expand_map_group
    >>> node = compile_cddl("a = {id: int, (x: int // y: int, z: int)}").node("a").node
    >>> [[member.literal for member in entries] for entries in expand_map_group(node.group)]
    [['id', 'x'], ['id', 'y', 'z']]

A repeated group of several entries stays one list, whose entries share a number of copies.

Refused when a schema is compiled: more than `MAX_MAP_ALTERNATIVES` combinations of optional groups,
or combinations of more than `MAX_MAP_MEMBERS` entries in all; a choice of groups with computed keys
that may repeat more than `MAX_GROUP_COPIES` times, unless without limit; and two repeated groups of
several entries with computed keys in one map.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import TypeAlias

from vacr.cddl.constants import evaluate_constant
from vacr.cddl.tokens import Scalar
from vacr.cddl.type_graph import (
    GroupItem,
    GroupNode,
    LiteralType,
    MapType,
    SourceLocation,
    TypeNode,
    flatten_choice,
)

MAX_MAP_ALTERNATIVES = 512
MAX_MAP_MEMBERS = 30_000
MAX_GROUP_COPIES = 4
_TWO_COUNTS_HINT = "repeat the entries one by one, or nest the groups in maps of their own"


@dataclass(frozen=True, slots=True)
class GroupShare:
    """The part of an entry in a repeated group.

    It takes `least` to `most` members for each copy of the group, and the group has `fewest` to
    `copies` copies (None: without limit).
    """

    least: int
    most: int | None
    fewest: int
    copies: int | None

    def multiply(self, copies: int) -> tuple[int, int | None]:
        """Return how many members, at least and at most, the entry takes in so many copies."""
        if self.most is None and copies:
            return self.least * copies, None
        # Without copies, even an entry that takes any number takes none.
        return self.least * copies, (self.most or 0) * copies


@dataclass(frozen=True, slots=True, eq=False)
class MapMember:
    """One entry of a flattened map; `literal` is its key when that is one value."""

    key: TypeNode
    literal: Scalar | None
    cut: bool
    least: int
    most: int | None
    value: TypeNode
    share: GroupShare | None = None

    @property
    def required(self) -> bool:
        """Return whether the map needs this entry."""
        return self.least > 0

    @property
    def takes_any_number(self) -> bool:
        """Return whether any number of members fits."""
        return self.least == 0 and self.most is None and self.share is None


MemberList: TypeAlias = list[MapMember]


def expand_map_group(group: GroupNode) -> list[MemberList]:
    """Flatten the groups inside a map's group into alternative lists of entries.

    Raises:
        CddlError: when an entry has no key, or there are too many entries or alternatives.

    """
    return _expand_group(group, {})


def find_discriminator(
    maps: Sequence[MapType],
) -> tuple[str, dict[str, list[MapType]], list[MapType]] | None:
    """Find the literal member that distinguishes maps, such as `type: "user"`.

    Returns its key, the maps that each of its values allows, and the maps without it.
    """
    literals = [_list_required_literals(node) for node in maps]
    counts = Counter(key for texts_by_key in literals for key in texts_by_key)
    if not counts:
        return None
    key = max(counts, key=lambda name: counts[name])
    # The texts that each map allows for this key; a map without the key allows any.
    allowed_texts = [texts_by_key.get(key) for texts_by_key in literals]
    pairs = list(zip(maps, allowed_texts, strict=True))
    others = [node for node, allowed in pairs if allowed is None]
    texts = dict.fromkeys(text for _, allowed in pairs for text in allowed or ())
    cases = {
        text: [node for node, allowed in pairs if allowed is None or text in allowed]
        for text in texts
    }
    return key, cases, others


def _list_required_literals(node: MapType) -> dict[str, tuple[str, ...]]:
    """Return the members that have to be there with one of some texts, by key."""
    sequences = expand_map_group(node.group)
    if len(sequences) != 1:
        return {}
    members = sequences[0]
    keys = [member.literal for member in members]
    literals: dict[str, tuple[str, ...]] = {}
    for member in members:
        if member.required and isinstance(member.literal, str) and keys.count(member.literal) == 1:
            leaves = flatten_choice(member.value)
            values = [leaf.value for leaf in leaves if isinstance(leaf, LiteralType)]
            texts = tuple(value for value in values if isinstance(value, str))
            if texts and len(texts) == len(leaves):
                literals[member.literal] = texts
    return literals


def _expand_group(group: GroupNode, known: dict[int, list[MemberList]]) -> list[MemberList]:
    """Flatten a group, each group inside it once."""
    if id(group) in known:
        return known[id(group)]
    expanded: list[MemberList] = []
    member_count = 0
    for sequence in group.alternatives:
        choices = [_expand_item(item, group.place, known) for item in sequence]
        # Count before multiplying out: a hostile schema would exhaust the memory.
        combination_count = prod(map(len, choices))
        longest = sum(max(map(len, choice), default=0) for choice in choices)
        member_count += longest * combination_count
        too_many = combination_count + len(expanded) > MAX_MAP_ALTERNATIVES
        if too_many or member_count > MAX_MAP_MEMBERS:
            hint = "write the optional members one by one instead of in groups"
            group.place.fail("a map with too many combinations of groups", hint)
        expanded += _join_combinations(choices)
        _check_single_count(choices, group.place)
    known[id(group)] = expanded
    return expanded


def _join_combinations(choices: list[list[MemberList]]) -> list[MemberList]:
    """Pick one list from each choice in every possible way, and join the picked lists."""
    return [[member for part in parts for member in part] for parts in product(*choices)]


def _expand_item(
    item: GroupItem, place: SourceLocation, known: dict[int, list[MemberList]]
) -> list[MemberList]:
    """Return the alternatives that one entry of the group stands for."""
    if not isinstance(item.value, GroupNode):
        if item.key is None:
            place.fail("an entry of a map needs a key", "write: key: type")
        literal = evaluate_constant(item.key)
        return [[MapMember(item.key, literal, item.cut, item.least, item.most, item.value)]]
    inner = _expand_group(item.value, known)
    if item.occurs_once:
        return inner
    if len(inner) == 1 and len(inner[0]) == 1 and inner[0][0].least <= 1:
        return [[_repeat_only_member(inner[0][0], item)]]
    has_computed_key = not _has_only_literal_keys(inner)
    if len(inner) == 1 and has_computed_key and (item.most is None or item.most > 1):
        return [_share_copies(inner[0], item.least, item.most, place)]
    return _expand_copies(item, inner, place)


def _has_only_literal_keys(sequences: list[MemberList]) -> bool:
    return all(member.literal is not None for sequence in sequences for member in sequence)


def _repeat_only_member(only: MapMember, item: GroupItem) -> MapMember:
    """Return the single entry of a repeated group, with the occurrences multiplied."""
    most = None if item.most is None or only.most is None else item.most * only.most
    return replace(only, least=item.least * only.least, most=0 if item.most == 0 else most)


def _share_copies(
    sequence: MemberList, fewest: int, copies: int | None, place: SourceLocation
) -> MemberList:
    """Make the entries of a repeated group share their number of copies."""
    if any(member.share is not None for member in sequence):
        place.fail("a repeated group in a map that holds a repeated group", _TWO_COUNTS_HINT)
    shared = []
    for member in sequence:
        share = GroupShare(member.least, member.most, fewest, copies)
        shared.append(replace(member, least=0, most=None, share=share))
    return shared


def _check_single_count(choices: list[list[MemberList]], place: SourceLocation) -> None:
    """Refuse a list with two numbers of copies to be found: all pairs would have to be tried."""
    counting = [
        any(member.share is not None for sequence in choice for member in sequence)
        for choice in choices
    ]
    if sum(counting) > 1:
        place.fail("two groups of several entries repeat in one map", _TWO_COUNTS_HINT)


def _expand_copies(
    item: GroupItem, inner: list[MemberList], place: SourceLocation
) -> list[MemberList]:
    """Multiply out a repeated choice of groups: first the required copies, then the optional ones.

    An alternative whose keys are all literal fits at most once, as a key is there only once.
    """
    literal = _has_only_literal_keys(inner)
    choose = combinations if literal else combinations_with_replacement
    max_copies = len(inner) if literal else MAX_GROUP_COPIES
    if not literal and max(item.least, item.most or 0) > max_copies:
        hint = f"with computed keys, up to {MAX_GROUP_COPIES} times or without an end is possible"
        place.fail("a choice of groups in a map repeats too often", hint)
    counts: Sequence[int] = [item.least]
    if item.most is not None:
        counts = range(min(item.most, max_copies), item.least - 1, -1)
    expanded: list[MemberList] = []
    for count in counts:
        if count > max_copies:
            break
        for chosen in choose(range(len(inner)), count):
            expanded += _expand_chosen(inner, chosen, place, literal=literal, most=item.most)
            if len(expanded) > MAX_MAP_ALTERNATIVES:
                place.fail("a group in a map repeats in too many combinations")
    return expanded


def _expand_chosen(
    inner: list[MemberList],
    chosen: tuple[int, ...],
    place: SourceLocation,
    *,
    literal: bool,
    most: int | None,
) -> list[MemberList]:
    """Return the alternatives with these copies of groups, given by index, as the required ones."""
    required = [
        _multiply_member(member, copies)
        for index, copies in Counter(chosen).items()
        for member in inner[index]
    ]
    if most is not None:
        return [required if chosen else _keep_cut_members(inner)]
    left = [part for index, part in enumerate(inner) if not (literal and index in chosen)]
    return [required + rest for rest in _expand_any_number(left, place)]


def _multiply_member(member: MapMember, copies: int) -> MapMember:
    """Return one entry for so many copies of an entry."""
    most = None if member.most is None else member.most * copies
    return replace(member, least=member.least * copies, most=most)


def _expand_any_number(inner: list[MemberList], place: SourceLocation) -> list[MemberList]:
    """Return the alternatives that any number of any of these groups stand for."""
    choices: list[list[MemberList]] = []
    for sequence in inner:
        literal = _has_only_literal_keys([sequence])
        first = sequence[0] if sequence else None
        if first is not None and len(sequence) == 1 and first.least <= 1 and first.share is None:
            choices.append([[replace(first, least=0, most=first.most if literal else None)]])
        elif literal:
            choices.append([sequence, _keep_cut_members([sequence])])
        else:
            choices.append([_share_copies(sequence, 0, None, place)])
        if prod(map(len, choices)) > MAX_MAP_ALTERNATIVES:
            break
    _check_single_count(choices, place)
    return _join_combinations(choices)


def _keep_cut_members(inner: list[MemberList]) -> MemberList:
    """Return the keys that a cut reserves, even though the group that names them is left out."""
    return [
        replace(member, least=0, most=0) for sequence in inner for member in sequence if member.cut
    ]
