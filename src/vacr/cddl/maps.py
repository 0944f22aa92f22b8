"""Maps: the source code that checks one, and the search for when no short way is certain.

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

Most maps need no search: `define_map` writes code that looks up each literal key and gives the rest
to wildcards that take any number. Otherwise the code calls `can_assign_members`. Members that fit
the same entries are counted there, not named, so the search grows with the kinds of members and not
with the members. In generated code `v` is the map, `k` and `y` are a key and its value, `x` is the
value under test, and `n` counts the members that a closed map accounts for.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.cddl.limits import WorkLimitError
from vacr.cddl.map_members import GroupShare, MapMember, MemberList, expand_map_group
from vacr.cddl.type_graph import AnyType, MajorType, MapType, TypeNode, resolve_refs
from vacr.cddl.values import MAJOR_TEXT

if TYPE_CHECKING:
    from vacr.cddl.compiler import CheckProgram

# The indexes of the entries that a member fits.
FittingEntries: TypeAlias = tuple[int, ...]

_MAX_SEARCH_STEPS = 5_000_000


# The source of the check.


def define_map(program: CheckProgram, node: MapType, name: str) -> None:
    """Write the function of a map."""
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
    """Write the body that checks one list of entries."""
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
    """Write the check of a literal key; `rivals` are wildcards that may take the member as well."""
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
    """Write the check of the members without a literal key."""
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
    """Write a function that returns whether a member fits a wildcard, with regard to cuts."""
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
    """Write the call that searches for an assignment of members to entries."""
    limits = program.name_constant(
        [EntryLimit(member.cut, member.least, member.most, member.share) for member in members]
    )
    keys = "".join(f"{program.name_function(member.key)}, " for member in members)
    tests = "".join(f"{program.name_function(member.value, remember=True)}, " for member in members)
    return f"return can_assign_members(v, {limits}, ({keys}), ({tests}))"


def _is_any_type(node: TypeNode) -> bool:
    return isinstance(resolve_refs(node), AnyType)


def _is_text_type(node: TypeNode) -> bool:
    """Return whether a type is all of `tstr`."""
    inner = resolve_refs(node)
    return isinstance(inner, MajorType) and inner.major == MAJOR_TEXT and inner.argument is None


# The search.


@dataclass(frozen=True, slots=True)
class EntryLimit:
    """How many members an entry takes, and whether it binds those whose key fits."""

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
    """Return whether every member has an entry, and every entry as many members as it needs.

    `keys` and `tests` check the key and the value of a member for each entry.

    Raises:
        WorkLimitError: when there are too many ways to do so.

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
    """Return the numbers of copies of the repeated group that so many members allow."""
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
    """Return whether the members can be placed with so many copies of the repeated group."""
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
    """Count how many members can be placed at once, moving earlier ones where that helps."""
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
    """Find the shortest chain of moves that makes room for one more member, breadth first.

    Returns pairs of a kind of member and the entry it moves to (an empty chain when every entry is
    full), and the number of steps the search took.
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
