"""Maps: the members that one may have, the source code that checks them, and the search.

The members of a map have no order. A map matches when every member can be assigned to an entry of
the group that its key and value fit, and each entry gets as many members as it asks for (RFC 8610
sections 2.1.1, 3.5 and 3.5.4). A cut binds: a member whose key fits an entry with a cut may not be
assigned to a later entry:

    >>> from vacr.cddl import compile_cddl
    >>> cut = compile_cddl("a = {? id: int, * tstr => any}")        # `id:` includes a cut
    >>> cut.checker().matches({"id": "x"})
    False
    >>> compile_cddl('a = {? "id" => int, * tstr => any}').checker().matches({"id": "x"})
    True

A map's group may include other groups, optional, repeated or alternative. The compiler, the
explainer and the generator want keys and values only, so `expand_map_group` multiplies the groups
out into alternative lists of entries:

    >>> from vacr.cddl.maps import expand_map_group
    >>> node = compile_cddl("a = {id: int, (x: int // y: int, z: int)}").node("a").node
    >>> [[member.literal for member in entries] for entries in expand_map_group(node.group)]
    [['id', 'x'], ['id', 'y', 'z']]

A repeated group of several entries stays one list, whose entries share a number of copies. These
are refused when a schema is compiled: more than `MAX_MAP_ALTERNATIVES` combinations of optional
groups, or combinations of more than `MAX_MAP_MEMBERS` entries in all; a choice of groups with
computed keys that may repeat more than `MAX_GROUP_COPIES` times, unless without limit; and two
repeated groups of several entries with computed keys in one map.

Most maps need no search: `define_map` writes code that looks up each literal key and gives the rest
to wildcards that take any number. Otherwise the code calls `can_assign_members`. Members that fit
the same entries are counted there, not named, so the search grows with the kinds of members and not
with the members. In generated code `v` is the map, `k` and `y` are a key and its value, `x` is the
value under test, and `n` counts the members that a closed map accounts for.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.cddl.tokens import Scalar
from vacr.cddl.type_graph import (
    AnyType,
    GroupItem,
    GroupNode,
    LiteralType,
    MajorType,
    MapType,
    SourceLocation,
    TypeNode,
    evaluate_constant,
    flatten_choice,
    resolve_refs,
)
from vacr.cddl.values import MAJOR_TEXT, WorkLimitError

if TYPE_CHECKING:
    from vacr.cddl.compiler import CheckProgram

MAX_MAP_ALTERNATIVES = 512
MAX_MAP_MEMBERS = 30_000
MAX_GROUP_COPIES = 4
_MAX_SEARCH_STEPS = 5_000_000
_TWO_COUNTS_HINT = "Repeat the entries one by one, or nest the groups in maps of their own."

# The indexes of the entries that a member fits.
FittingEntries: TypeAlias = tuple[int, ...]


# The entries of a map.


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
        """Return the least and the most members for so many copies (None: without limit)."""
        if self.most is None and copies:
            return self.least * copies, None
        # Without copies, even an entry that takes any number takes none.
        return self.least * copies, (self.most or 0) * copies


@dataclass(frozen=True, slots=True, eq=False)
class MapMember:
    """One entry of a flattened map, which takes `least` to `most` members (None: without limit).

    `literal` is the key if it is a constant, and None in a wildcard, such as `tstr => any`.
    """

    key: TypeNode
    literal: Scalar | None
    cut: bool
    least: int
    most: int | None
    value: TypeNode
    share: GroupShare | None = None

    @property
    def required(self) -> bool:
        """Return whether the map needs this entry: at least one member."""
        return self.least > 0

    @property
    def takes_any_number(self) -> bool:
        """Return whether the map may have any number of members that match this entry."""
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
    """Find the literal member that distinguishes maps, such as `type: "user"`; `None` without one.

    Return its key, the candidate maps for each of its texts, and the maps without the member. A
    map without the member is a candidate for every text.
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
    """Return the keys of the required members with literal texts, each with the allowed texts.

    For example, `{type: "a" / "b", n: int}` has `{"type": ("a", "b")}`. The result is empty for a
    map with alternative lists of entries.
    """
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
    """Return the alternative lists of entries of a group.

    `known` has the results so far by the identity of a group, so each group is expanded once.

    Raises:
        CddlError: an entry has no key, or there are too many combinations.
    """
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
            hint = "Write the optional members one by one instead of in groups."
            group.place.fail("this map has too many combinations of groups", hint)
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
    """Return the alternative lists of entries that one item of a group stands for.

    Raises:
        CddlError: at `place`, when a type has no key or a group repeats in too many ways.

    """
    if not isinstance(item.value, GroupNode):
        if item.key is None:
            place.fail("an entry of a map needs a key", "write key: type")
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
    """Return whether no entry of these lists is a wildcard."""
    return all(member.literal is not None for sequence in sequences for member in sequence)


def _repeat_only_member(only: MapMember, item: GroupItem) -> MapMember:
    """Return the only entry of a repeated group, with both occurrences multiplied.

    For example, `2*3 (? a: int)` has the entry `a` 0 to 3 times.
    """
    most = None if item.most is None or only.most is None else item.most * only.most
    return replace(only, least=item.least * only.least, most=0 if item.most == 0 else most)


def _share_copies(
    sequence: MemberList, fewest: int, copies: int | None, place: SourceLocation
) -> MemberList:
    """Return the entries of a repeated group, which share a number of copies.

    The group has `fewest` to `copies` copies (None: without limit).

    Raises:
        CddlError: when the entries include another repeated group.

    """
    if any(member.share is not None for member in sequence):
        place.fail(
            "a repeated group in a map may not contain another repeated group", _TWO_COUNTS_HINT
        )
    shared = []
    for member in sequence:
        share = GroupShare(member.least, member.most, fewest, copies)
        shared.append(replace(member, least=0, most=None, share=share))
    return shared


def _check_single_count(choices: list[list[MemberList]], place: SourceLocation) -> None:
    """Refuse two repeated groups in one map: every pair of copy counts would have to be tried.

    Raises:
        CddlError: at `place`, when more than one choice has a repeated group.
    """
    counting = [
        any(member.share is not None for sequence in choice for member in sequence)
        for choice in choices
    ]
    if sum(counting) > 1:
        place.fail("a map may repeat only one group of several entries", _TWO_COUNTS_HINT)


def _expand_copies(
    item: GroupItem, inner: list[MemberList], place: SourceLocation
) -> list[MemberList]:
    """Return the alternatives for a repeated choice of groups, given as lists of entries.

    Every possible selection of copies is one alternative. A group whose keys are all literal fits
    at most once, as a map has each key only once.

    Raises:
        CddlError: at `place`, when there are too many copies or combinations.
    """
    literal = _has_only_literal_keys(inner)
    choose = combinations if literal else combinations_with_replacement
    max_copies = len(inner) if literal else MAX_GROUP_COPIES
    if not literal and max(item.least, item.most or 0) > max_copies:
        hint = (
            f"With computed keys, repeat the group up to {MAX_GROUP_COPIES} times, or without a "
            "limit."
        )
        place.fail(f"a choice of groups in a map repeats more than {max_copies} times", hint)
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
    """Return the alternatives of a repeated choice that require the chosen groups.

    `chosen` has indexes of `inner`, one for each copy, and `literal` states that all keys are
    literal. If `most` is None, any number of further copies may follow.
    """
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
    """Return an entry that takes as many members as so many copies of it."""
    most = None if member.most is None else member.most * copies
    return replace(member, least=member.least * copies, most=most)


def _expand_any_number(inner: list[MemberList], place: SourceLocation) -> list[MemberList]:
    """Return the alternatives for any number of copies of each of these groups, also none."""
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
    """Return the entries with a cut, changed to take no member.

    A cut reserves its key even where its group is left out, so no other entry may take the key.
    """
    return [
        replace(member, least=0, most=0) for sequence in inner for member in sequence if member.cut
    ]


# The source of the check.


def define_map(program: CheckProgram, node: MapType, name: str) -> None:
    """Add the function `name(v)`, which tests whether `v` matches a map type, to the source."""
    sequences = expand_map_group(node.group)
    if len(sequences) == 1:
        program.define(name, "v", _write_map_body(program, sequences[0], repeated=False))
        return
    functions = [program.make_name("a") for _ in sequences]
    for function, members in zip(functions, sequences, strict=True):
        program.define(function, "v", _write_map_body(program, members, repeated=True))
    tests = " or ".join(f"{function}(v)" for function in functions)
    program.define(name, "v", [f"return {tests or 'False'}"])


def _write_map_body(program: CheckProgram, members: MemberList, *, repeated: bool) -> list[str]:
    """Return the body that tests whether the map `v` matches one list of entries.

    With `repeated`, the map may be checked against other lists too.
    """
    literal = [member for member in members if member.literal is not None]
    wild = [member for member in members if member.literal is None]
    if any(member.least > 1 for member in literal):
        # A key is there only once.
        return ["return False"]
    body = ["if v.__class__ is not dict:", "    v = as_map(v)", "    if v is None: return False"]
    if not _is_directly_checkable(members):
        return [*body, _write_assignment_call(program, members)]
    if any(isinstance(member.literal, int | float) for member in literal):
        body.append(f"if has_ambiguous_keys(v): {_write_assignment_call(program, members)}")
    repeated = repeated or len(wild) > 1
    body.append("get = v.get")
    if not wild:
        body.append(f"n = {sum(member.required for member in literal)}")
    for index, member in enumerate(members):
        if member.literal is not None:
            # With a cut, only the entries before this one may take the member instead.
            candidates = members[:index] if member.cut else members
            rivals = [rival for rival in candidates if rival.literal is None]
            body += _write_literal_member(
                program, member, rivals, closed=not wild, repeated=repeated or bool(rivals)
            )
    return body + _write_remaining_members(program, literal, wild, repeated=repeated)


def _is_directly_checkable(members: MemberList) -> bool:
    """Return whether each member can be checked alone, without counting or choosing an entry."""
    keys = [member.literal for member in members if member.literal is not None]
    distinct = {(key.__class__, key) for key in keys}
    if len(distinct) != len(keys):
        return False
    wild = [index for index, member in enumerate(members) if member.literal is None]
    if not all(members[index].takes_any_number for index in wild):
        return False
    first_cut = min((index for index in wild if members[index].cut), default=len(members))
    if any(member.literal is not None for member in members[first_cut:]):
        return False
    forbidden = [index for index, member in enumerate(members) if member.most == 0]
    return all(members[index].cut and not any(w < index for w in wild) for index in forbidden)


def _write_literal_member(
    program: CheckProgram,
    member: MapMember,
    rivals: MemberList,
    *,
    closed: bool,
    repeated: bool,
) -> list[str]:
    """Return the lines that check the member with a literal key.

    `rivals` are the wildcards that may take the member instead. A `closed` map has no wildcards, so
    the lines count the optional members that they find. `repeated` has the same meaning as in
    `CheckProgram.write_expression`.
    """
    key = program.name_constant(member.literal)
    if member.most == 0:
        return [f"if {key} in v: return False"]
    test = program.write_expression(member.value, repeated=repeated)
    if member.required:
        if test == "True":
            return [f"if {key} not in v: return False"]
        return [f"x = get({key}, ABSENT)", f"if x is ABSENT or not {test}: return False"]
    if closed:
        refusal = [] if test == "True" else [f"    if not {test}: return False"]
        return [f"x = get({key}, ABSENT)", "if x is not ABSENT:", "    n += 1", *refusal]
    if test == "True":
        return []
    rescue = f" and not {_define_wildcard_check(program, rivals)}({key}, x)" if rivals else ""
    return [f"x = get({key}, ABSENT)", f"if x is not ABSENT and not {test}{rescue}: return False"]


def _write_remaining_members(
    program: CheckProgram, literal: MemberList, wild: MemberList, *, repeated: bool
) -> list[str]:
    """Return the last lines of a map's body: members without a literal key have to fit a wildcard.

    Without wildcards, the map may not have such members. `repeated` has the same meaning as in
    `CheckProgram.write_expression`.
    """
    if not wild:
        return ["return len(v) == n"]
    first = wild[0]
    if _is_any_type(first.key) and _is_any_type(first.value):
        return ["return True"]
    text_keys = all(isinstance(member.literal, str) for member in literal)
    if len(wild) == 1 and text_keys and _is_text_type(first.key) and _is_any_type(first.value):
        return ["return has_only_text_keys(v)"]
    skip: list[str] = []
    if literal:
        keys = program.name_constant(frozenset(member.literal for member in literal))
        skip = [f"    if k in {keys}: continue"]
    check = _define_wildcard_check(program, wild, repeated=repeated)
    return [
        "for k, y in v.items():",
        *skip,
        f"    if not {check}(k, y): return False",
        "return True",
    ]


def _define_wildcard_check(
    program: CheckProgram, wild: MemberList, *, repeated: bool = True
) -> str:
    """Add a function that tests whether a member fits one of the wildcards; return its name.

    A wildcard with a cut ends the search for a key that fits it. `repeated` has the same meaning as
    in `CheckProgram.write_expression`.
    """
    name = program.make_name("w")
    body: list[str] = []
    for member in wild:
        body += ["x = k", f"if {program.write_expression(member.key)}:", "    x = y"]
        body.append(
            f"    if {program.write_expression(member.value, repeated=repeated)}: return True"
        )
        if member.cut:
            body.append("    return False")
    program.define(name, "k, y", [*body, "return False"])
    return name


def _write_assignment_call(program: CheckProgram, members: MemberList) -> str:
    """Return the line that calls `can_assign_members` for the map `v` and these entries."""
    limits = program.name_constant(
        [EntryLimit(member.cut, member.least, member.most, member.share) for member in members]
    )
    keys = "".join(f"{program.name_function(member.key)}, " for member in members)
    tests = "".join(f"{program.name_function(member.value, remember=True)}, " for member in members)
    return f"return can_assign_members(v, {limits}, ({keys}), ({tests}))"


def _is_any_type(node: TypeNode) -> bool:
    """Return whether a type is `any`."""
    return isinstance(resolve_refs(node), AnyType)


def _is_text_type(node: TypeNode) -> bool:
    """Return whether a type is `tstr`, without further limits."""
    inner = resolve_refs(node)
    return isinstance(inner, MajorType) and inner.major == MAJOR_TEXT and inner.argument is None


# The search.


@dataclass(frozen=True, slots=True)
class EntryLimit:
    """How many members an entry takes.

    With `cut`, a member whose key fits may not be assigned to a later entry.
    """

    cut: bool
    least: int
    most: int | None
    share: GroupShare | None = None


def can_assign_members(
    members: dict[Any, Any],
    limits: list[EntryLimit],
    keys: Sequence[Callable[[Any], bool]],
    tests: Sequence[Callable[[Any], bool]],
) -> bool:
    """Return whether members can be assigned to entries so that each entry gets as many as it asks.

    Every member needs an entry. For the entry at an index, `limits` has the number of members it
    takes, and `keys` and `tests` have the checks of a member's key and value.

    Raises:
        WorkLimitError: when the search for an assignment takes too many steps.

    """
    if sum(limit.least for limit in limits) > len(members):
        return False
    fits: Counter[FittingEntries] = Counter()
    for key, value in members.items():
        fitting: list[int] = []
        for index, limit in enumerate(limits):
            if keys[index](key):
                if tests[index](value):
                    fitting.append(index)
                if limit.cut:
                    break
        if not fitting:
            return False
        fits[tuple(fitting)] += 1
    return any(
        _can_fill_entries(fits, limits, len(members), copies)
        for copies in _list_copy_counts(limits, len(members))
    )


def _list_copy_counts(limits: list[EntryLimit], member_count: int) -> range:
    """Return the numbers of copies of the repeated group to try for so many members.

    Without a repeated group, return a range of one number, so that the caller tries once.
    """
    shares = [limit.share for limit in limits if limit.share is not None]
    if not shares:
        return range(1)
    fewest, most = shares[0].fewest, shares[0].copies
    members_per_copy = sum(share.least for share in shares)
    # Copies that need nothing only add room, and more of them than members are of no use.
    useful = member_count // members_per_copy if members_per_copy else max(member_count, fewest)
    return range(fewest, (useful if most is None else min(useful, most)) + 1)


def _can_fill_entries(
    fits: Counter[FittingEntries], limits: list[EntryLimit], member_count: int, copies: int
) -> bool:
    """Return whether all members find room, and all required places are filled.

    `fits` counts the members by the entries they fit; the repeated group has so many `copies`.
    """
    required: list[int] = []
    room: list[int] = []
    for limit in limits:
        least, most = limit.least, limit.most
        if limit.share is not None:
            least, most = limit.share.multiply(copies)
        required.append(least)
        room.append(member_count if most is None else most)
    # If one matching fills every requirement and another places every member, then some matching
    # does both (Mendelsohn and Dulmage). So the two are looked for one by one.
    return _count_placeable_members(fits, room) == member_count and _count_placeable_members(
        fits, required
    ) == sum(required)


def _count_placeable_members(fits: Counter[FittingEntries], room: list[int]) -> int:
    """Return the largest number of members that can be placed, with so much `room` in each entry.

    This is a bipartite matching: members placed earlier move on where that makes room.

    Raises:
        WorkLimitError: when the search takes too many steps.

    """
    left = list(room)
    placed: list[Counter[FittingEntries]] = [Counter() for _ in room]
    total = 0
    steps = 0
    for kind, count in fits.items():
        waiting = count
        while waiting:
            chain, chain_steps = _find_move_chain(kind, left, placed)
            steps += chain_steps
            if steps > _MAX_SEARCH_STEPS:
                raise WorkLimitError(
                    "a map whose members fit its entries in too many ways to be checked"
                )
            if not chain:
                break
            # Each step puts members of a kind into an entry; all but the first take them out of
            # the entry before.
            removals = [(chain[step - 1][1], chain[step][0]) for step in range(1, len(chain))]
            last = chain[-1][1]
            available = (placed[entry][moved_kind] for entry, moved_kind in removals)
            moved = min(waiting, left[last], *available)
            for moved_kind, entry in chain:
                placed[entry][moved_kind] += moved
            for entry, moved_kind in removals:
                placed[entry][moved_kind] -= moved
            left[last] -= moved
            waiting -= moved
            total += moved
    return total


def _find_move_chain(
    kind: FittingEntries, left: list[int], placed: list[Counter[FittingEntries]]
) -> tuple[list[tuple[FittingEntries, int]], int]:
    """Return the shortest chain of moves that makes room for one more member, and the search steps.

    The chain has pairs of a kind of member and the entry it moves to. It is empty when no move
    makes room. `kind` has the entries that the new member fits, `left` the room in each entry, and
    `placed` the members there.
    """
    steps = 0
    came_from: dict[int, tuple[FittingEntries, int | None]] = dict.fromkeys(kind, (kind, None))
    waiting = deque(kind)
    while waiting:
        entry = waiting.popleft()
        if left[entry]:
            chain: list[tuple[FittingEntries, int]] = []
            at: int | None = entry
            while at is not None:
                moved_kind, before = came_from[at]
                chain.append((moved_kind, at))
                at = before
            return chain[::-1], steps
        for moved_kind, count in placed[entry].items():
            steps += len(moved_kind)
            for other in moved_kind if count else ():
                if other not in came_from:
                    came_from[other] = (moved_kind, entry)
                    waiting.append(other)
    return [], steps


MAP_HELPERS = (can_assign_members,)
