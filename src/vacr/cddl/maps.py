"""Give the members of a map to the entries of its group, when no short way is sure to be right.
Step: validate.

Follows RFC 8610 sections 2.1.1 and 3.5.4. Members that fit the same entries are alike and are
counted, not named, so the search is over as many kinds of members as there are and not over the
members. A group of several entries that repeats has one count for all of them: the numbers that fit
are tried.

The members a map may have: its group, flattened. Step: validate.

Follows RFC 8610 sections 2.1.1 and 3.5. The groups inside a map's group are expanded into
alternative lists of entries, so that the compiler, the explainer and the generator see nothing but
keys and values.

A group of several entries that repeats stays one list: its entries share a number of copies.

Left out on purpose, and refused when compiling: more than `MOST_ALTERNATIVES` combinations of
optional groups, or combinations that come to more than `MOST_MEMBERS` entries in all; a choice of
groups with computed keys that repeats more than `MOST_COPIES` times with an end; and two groups of
several entries with computed keys that repeat in one map.

Compile maps. Step: validate.

Follows RFC 8610 sections 2.1.1, 3.5 and 3.5.4. The members of a map have no order: a map matches
when every member can be given to an entry of the group that its key and value fit, each entry
getting as many as it asks for. A cut binds: a member whose key fits an entry with a cut may not be
given to a later entry.

Most maps need no such search: each literal key is looked up, and the rest goes to wildcards that
take any number.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.cddl.controls import evaluate_constant
from vacr.cddl.limits import WorkLimitError
from vacr.cddl.model import (
    MAJOR_TEXT,
    AnyType,
    GroupItem,
    GroupNode,
    LiteralType,
    MajorType,
    MapType,
    TypeNode,
    flatten_choice,
    resolve_refs,
)
from vacr.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FittingItems: TypeAlias = "tuple[int, ...]"
_MAX_SEARCH_STEPS = 5_000_000


@dataclass(frozen=True, slots=True)
class GroupShare:
    """How many members an entry takes for each copy of the group it repeats with, and how many
    copies there may be.
    """

    least: int
    most: int | None
    fewest: int
    copies: int | None


@dataclass(frozen=True, slots=True)
class ItemLimit:
    """How many members an entry takes, and whether it binds those whose key fits."""

    cut: bool
    least: int
    most: int | None
    share: GroupShare | None = None


def assignable(
    members: dict[Any, Any],
    limits: list[ItemLimit],
    keys: Sequence[Callable[[Any], bool]],
    tests: Sequence[Callable[[Any], bool]],
) -> bool:
    """Tell whether every member can be given to an entry, and every entry gets as many as it needs.

    Raises:
        TooMuchWork: when there are too many ways to do so.

    """
    if sum(limit.least for limit in limits) > len(members):
        return False
    fits: Counter[FittingItems] = Counter()
    for key, value in members.items():
        options: list[int] = []
        for index, limit in enumerate(limits):
            if keys[index](key):
                if tests[index](value):
                    options.append(index)
                if limit.cut:
                    break
        if not options:
            return False
        fits[tuple(options)] += 1
    return any(
        _can_fill_items(fits, limits, len(members), copies)
        for copies in _list_copy_counts(limits, len(members))
    )


def _list_copy_counts(limits: list[ItemLimit], count: int) -> range:
    """Give the numbers of copies of the group that repeats which so many members allow."""
    shares = [limit.share for limit in limits if limit.share is not None]
    if not shares:
        return range(1)
    each = sum(share.least for share in shares)
    # Copies that need nothing only make more room, and no more of them than there are members can
    # be of use.
    most = count // each if each else max(count, shares[0].fewest)
    if shares[0].copies is not None:
        most = min(most, shares[0].copies)
    return range(shares[0].fewest, most + 1)


def _can_fill_items(
    fits: Counter[FittingItems], limits: list[ItemLimit], count: int, copies: int
) -> bool:
    """Tell whether the members can be placed with so many copies of the group that repeats."""
    required: list[int] = []
    room: list[int] = []
    for limit in limits:
        share = limit.share
        least, most = limit.least, limit.most
        if share is not None:
            least, most = share.least * copies, None if share.most is None else share.most * copies
        required.append(least)
        room.append(count if most is None else most)
        if share is not None and not copies:
            room[-1] = 0
    # A matching that fills what is required and one that places every member can always be joined
    # into one that does both (Mendelsohn and Dulmage), so the two questions are asked one by one.
    return _count_placeable_members(fits, room) == count and _count_placeable_members(
        fits, required
    ) == sum(required)


def _count_placeable_members(fits: Counter[FittingItems], room: list[int]) -> int:
    """Count how many members can be placed at once, moving those placed before where that helps."""
    left = list(room)
    held: list[Counter[FittingItems]] = [Counter() for _ in room]
    placed = 0
    steps = 0
    for options, count in fits.items():
        waiting = count
        while waiting:
            path, seen = _find_move_chain(options, left, held)
            steps += seen
            if steps > _MAX_SEARCH_STEPS:
                raise WorkLimitError(
                    "a map whose members fit its entries in too many ways to be checked"
                )
            if not path:
                break
            # Each step puts members of a kind into an entry; all but the first take them from the
            # one before.
            moves = [(path[step - 1][1], path[step][0]) for step in range(1, len(path))]
            moved = min(waiting, left[path[-1][1]], *(held[entry][kind] for entry, kind in moves))
            for kind, entry in path:
                held[entry][kind] += moved
            for entry, kind in moves:
                held[entry][kind] -= moved
            left[path[-1][1]] -= moved
            waiting -= moved
            placed += moved
    return placed


def _find_move_chain(
    options: FittingItems, left: list[int], held: list[Counter[FittingItems]]
) -> tuple[list[tuple[FittingItems, int]], int]:
    """Find the shortest chain of moves that makes room for one more member, empty when there is
    none, and the number of steps that took.
    """
    steps = 0
    came: dict[int, tuple[FittingItems, int | None]] = dict.fromkeys(options, (options, None))
    waiting = deque(options)
    while waiting:
        entry = waiting.popleft()
        if left[entry]:
            path: list[tuple[FittingItems, int]] = []
            at: int | None = entry
            while at is not None:
                kind, before = came[at]
                path.append((kind, at))
                at = before
            return path[::-1], steps
        for kind, count in held[entry].items():
            steps += len(kind)
            for other in kind if count else ():
                if other not in came:
                    came[other] = (kind, entry)
                    waiting.append(other)
    return [], steps


if TYPE_CHECKING:
    from collections.abc import Sequence

    from vacr.cddl.model import SourceLocation
    from vacr.cddl.syntax import Scalar

MAX_MAP_ALTERNATIVES = 512
MAX_MAP_MEMBERS = 30_000
MAX_GROUP_COPIES = 4
_TWO_COUNTS_HINT = "repeat the entries one by one, or nest the groups in maps of their own"


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
        """Tell whether the map cannot do without."""
        return self.least > 0

    @property
    def open_end(self) -> bool:
        """Tell whether any number of members fits."""
        return self.least == 0 and self.most is None and self.share is None


def expand_map_group(group: GroupNode) -> list[list[MapMember]]:
    """Flatten the groups inside a map's group into alternative lists of entries.

    Raises:
        InvalidSchema: when an entry has no key, or there are too many entries or alternatives.

    """
    return _expand_group(group, {})


def _expand_group(
    group: GroupNode, known: dict[int, list[list[MapMember]]]
) -> list[list[MapMember]]:
    """Flatten a group, each group inside it once."""
    if id(group) in known:
        return known[id(group)]
    found: list[list[MapMember]] = []
    written = 0
    for sequence in group.alternatives:
        choices = [_expand_item(item, group.place, known) for item in sequence]
        members = sum(max(map(len, choice), default=0) for choice in choices)
        several = prod(map(len, choices))
        written += members * several
        if several + len(found) > MAX_MAP_ALTERNATIVES or written > MAX_MAP_MEMBERS:
            hint = "write the optional members one by one instead of in groups"
            raise InvalidSchema(
                "a map with too many combinations of groups", where=str(group.place), hint=hint
            )
        found += [
            [member for part in combination for member in part] for combination in product(*choices)
        ]
        _check_single_count(choices, group.place)
    known[id(group)] = found
    return found


def _expand_item(
    item: GroupItem, place: SourceLocation, known: dict[int, list[list[MapMember]]]
) -> list[list[MapMember]]:
    """Give the alternatives that one entry of the group stands for."""
    if not isinstance(item.value, GroupNode):
        if item.key is None:
            raise InvalidSchema(
                "an entry of a map needs a key", where=str(place), hint="write: key: type"
            )
        return [
            [
                MapMember(
                    item.key,
                    evaluate_constant(item.key),
                    item.cut,
                    item.least,
                    item.most,
                    item.value,
                )
            ]
        ]
    inner = _expand_group(item.value, known)
    if (item.least, item.most) == (1, 1):
        return inner
    if len(inner) == 1 and len(inner[0]) == 1 and inner[0][0].least <= 1:
        only = inner[0][0]
        most = None if item.most is None or only.most is None else item.most * only.most
        return [[replace(only, least=item.least * only.least, most=0 if item.most == 0 else most)]]
    literal = all(member.literal is not None for sequence in inner for member in sequence)
    if len(inner) == 1 and not literal and (item.most is None or item.most > 1):
        return [_share_copies(inner[0], item.least, item.most, place)]
    return _expand_copies(item, inner, place)


def _share_copies(
    sequence: list[MapMember], fewest: int, copies: int | None, place: SourceLocation
) -> list[MapMember]:
    """Let the entries of a group that repeats share their number of copies."""
    if any(member.share is not None for member in sequence):
        raise InvalidSchema(
            "a repeated group in a map that holds a repeated group",
            where=str(place),
            hint=_TWO_COUNTS_HINT,
        )
    return [
        replace(
            member, least=0, most=None, share=GroupShare(member.least, member.most, fewest, copies)
        )
        for member in sequence
    ]


def _check_single_count(choices: list[list[list[MapMember]]], place: SourceLocation) -> None:
    """Refuse a list of entries with two numbers of copies to be found: all pairs would have to be
    tried.
    """
    counting = [
        any(member.share is not None for sequence in choice for member in sequence)
        for choice in choices
    ]
    if sum(counting) > 1:
        raise InvalidSchema(
            "two groups of several entries repeat in one map",
            where=str(place),
            hint=_TWO_COUNTS_HINT,
        )


def _expand_copies(
    item: GroupItem, inner: list[list[MapMember]], place: SourceLocation
) -> list[list[MapMember]]:
    """Repeat a group: what is required of its alternatives, and then any number or up to the most
    of them.
    """
    literal = all(member.literal is not None for sequence in inner for member in sequence)
    # An alternative whose keys are all literal fits at most once, for a key is there only once.
    several = combinations if literal else combinations_with_replacement
    cap = len(inner) if literal else MAX_GROUP_COPIES
    if not literal and max(item.least, item.most or 0) > cap:
        hint = f"with computed keys, up to {MAX_GROUP_COPIES} times or without an end is possible"
        raise InvalidSchema(
            "a choice of groups in a map repeats too often", where=str(place), hint=hint
        )
    counts = [item.least] if item.most is None else range(min(item.most, cap), item.least - 1, -1)
    found: list[list[MapMember]] = []
    for count in counts:
        if count > cap:
            break
        for used in several(range(len(inner)), count):
            taken = [
                _multiply_member(member, count)
                for index, count in Counter(used).items()
                for member in inner[index]
            ]
            left = [part for index, part in enumerate(inner) if not (literal and index in used)]
            rests = (
                _expand_any_number(left, place)
                if item.most is None
                else [_keep_cut_members(left) if count == 0 else []]
            )
            found += [taken + rest for rest in rests]
            if len(found) > MAX_MAP_ALTERNATIVES:
                raise InvalidSchema(
                    "a group in a map repeats in too many combinations", where=str(place)
                )
    return found


def _multiply_member(member: MapMember, count: int) -> MapMember:
    """Write so many copies of an entry as one."""
    return replace(
        member,
        least=member.least * count,
        most=None if member.most is None else member.most * count,
    )


def _expand_any_number(
    inner: list[list[MapMember]], place: SourceLocation
) -> list[list[MapMember]]:
    """Give the alternatives that any number of any of these groups stand for."""
    choices: list[list[list[MapMember]]] = []
    for sequence in inner:
        literal = all(member.literal is not None for member in sequence)
        if len(sequence) == 1 and sequence[0].least <= 1 and sequence[0].share is None:
            most = sequence[0].most if literal else None
            choices.append([[replace(sequence[0], least=0, most=most)]])
        elif literal:
            choices.append([sequence, _keep_cut_members([sequence])])
        else:
            choices.append([_share_copies(sequence, 0, None, place)])
        if prod(map(len, choices)) > MAX_MAP_ALTERNATIVES:
            break
    _check_single_count(choices, place)
    return [[member for part in parts for member in part] for parts in product(*choices)]


def _keep_cut_members(inner: list[list[MapMember]]) -> list[MapMember]:
    """Keep what a cut has named when the group that names it is left out."""
    return [
        replace(member, least=0, most=0) for sequence in inner for member in sequence if member.cut
    ]


def find_discriminator(
    alternatives: Sequence[MapType],
) -> tuple[str, dict[str, list[MapType]], list[MapType]] | None:
    """Find the literal member that tells maps apart: its key, the maps of each of its values, and
    the others.
    """
    literals = [list_required_literals(leaf) for leaf in alternatives]
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


def list_required_literals(node: MapType) -> dict[str, tuple[str, ...]]:
    """Give the members that must be there with one of some texts, by key."""
    sequences = expand_map_group(node.group)
    if len(sequences) != 1:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    keys = [member.literal for member in sequences[0]]
    for member in sequences[0]:
        if member.required and isinstance(member.literal, str) and keys.count(member.literal) == 1:
            options = [
                leaf.value for leaf in flatten_choice(member.value) if isinstance(leaf, LiteralType)
            ]
            texts = tuple(option for option in options if isinstance(option, str))
            if texts and len(texts) == len(flatten_choice(member.value)):
                found[member.literal] = texts
    return found


if TYPE_CHECKING:
    from vacr.cddl.compiler import CheckProgram


def define_map(program: CheckProgram, node: MapType, name: str) -> None:
    """Write the function of a map."""
    sequences = expand_map_group(node.group)
    if len(sequences) == 1:
        program.define(name, "v", _write_map_body(program, sequences[0], spread=False))
        return
    functions = [program.fresh("a") for _ in sequences]
    for function, members in zip(functions, sequences, strict=True):
        program.define(function, "v", _write_map_body(program, members, spread=True))
    tests = " or ".join(f"{function}(v)" for function in functions)
    program.define(name, "v", [f"return {tests or 'False'}"])


def _write_map_body(program: CheckProgram, members: list[MapMember], *, spread: bool) -> list[str]:
    """Write the body that checks one list of entries."""
    body = ["if v.__class__ is not dict:", "    v = as_map(v)", "    if v is None: return False"]
    literal = [member for member in members if member.literal is not None]
    if any(member.least > 1 for member in literal):
        return ["return False"]
    if not _is_directly_checkable(members):
        return [*body, _write_assignment_call(program, members)]
    if any(isinstance(member.literal, int | float) for member in literal):
        body.append(f"if has_odd_keys(v): {_write_assignment_call(program, members)}")
    wild = [member for member in members if member.literal is None]
    spread = spread or len(wild) > 1
    body.append("get = v.get")
    if not wild:
        body.append(f"n = {sum(member.required for member in literal)}")
    for index, member in enumerate(members):
        if member.literal is not None:
            earlier = members[:index] if member.cut else members
            rivals = [rival for rival in earlier if rival.literal is None]
            body += _write_literal_member(
                program, member, rivals, closed=not wild, spread=spread or bool(rivals)
            )
    return body + _write_remaining_members(program, literal, wild, spread=spread)


def _is_directly_checkable(members: list[MapMember]) -> bool:
    """Tell whether each member can be looked at by itself, with no counting and no choice between
    entries.
    """
    keys = [member.literal for member in members if member.literal is not None]
    wild = [index for index, member in enumerate(members) if member.literal is None]
    if len(set(map(_pair_with_class, keys))) != len(keys) or not all(
        members[index].open_end for index in wild
    ):
        return False
    first_cut = min((index for index in wild if members[index].cut), default=len(members))
    if any(member.literal is not None for member in members[first_cut:]):
        return False
    locked = [index for index, member in enumerate(members) if member.most == 0]
    return all(members[index].cut and not any(w < index for w in wild) for index in locked)


def _pair_with_class(value: object) -> tuple[type, object]:
    return value.__class__, value


def _write_literal_member(
    program: CheckProgram, member: MapMember, rivals: list[MapMember], *, closed: bool, spread: bool
) -> list[str]:
    """Write the check of the member with one key; `rivals` are the wildcards that may take it as
    well.
    """
    key = program.constant(member.literal)
    if member.most == 0:
        return [f"if {key} in v: return False"]
    test = program.expression(member.value, spread=spread)
    if member.required:
        if test == "True":
            return [f"if {key} not in v: return False"]
        return [f"x = get({key}, ABSENT)", f"if x is ABSENT or not {test}: return False"]
    if closed:
        refusal = [] if test == "True" else [f"    if not {test}: return False"]
        return [f"x = get({key}, ABSENT)", "if x is not ABSENT:", "    n += 1", *refusal]
    if test == "True":
        return []
    rescue = f" and not {_write_wildcard_check(program, rivals)}({key}, x)" if rivals else ""
    return [f"x = get({key}, ABSENT)", f"if x is not ABSENT and not {test}{rescue}: return False"]


def _write_remaining_members(
    program: CheckProgram, literal: list[MapMember], wild: list[MapMember], *, spread: bool
) -> list[str]:
    """Write the check of the members that no literal key names."""
    if not wild:
        return ["return len(v) == n"]
    if is_any_type(wild[0].key) and is_any_type(wild[0].value):
        return ["return True"]
    text_keys = all(isinstance(member.literal, str) for member in literal)
    if len(wild) == 1 and text_keys and is_text_type(wild[0].key) and is_any_type(wild[0].value):
        return ["return all_text(v)"]
    skip: list[str] = []
    if literal:
        skip = [
            (
                f"    if k in {program.constant(frozenset(member.literal for member in literal))}: "
                "continue"
            )
        ]
    return [
        "for k, y in v.items():",
        *skip,
        f"    if not {_write_wildcard_check(program, wild, spread=spread)}(k, y): return False",
        "return True",
    ]


def _write_wildcard_check(
    program: CheckProgram, wild: list[MapMember], *, spread: bool = True
) -> str:
    """Write the function that tells whether a member fits one of these entries, with regard to
    cuts.
    """
    name = program.fresh("w")
    body: list[str] = []
    for member in wild:
        body += ["x = k", f"if {program.expression(member.key)}:", "    x = y"]
        body.append(f"    if {program.expression(member.value, spread=spread)}: return True")
        if member.cut:
            body.append("    return False")
    program.define(name, "k, y", [*body, "return False"])
    return name


def _write_assignment_call(program: CheckProgram, members: list[MapMember]) -> str:
    """Write the call that gives members to entries when no short way is sure to be right."""
    limits = program.constant(
        [ItemLimit(member.cut, member.least, member.most, member.share) for member in members]
    )
    keys = "".join(f"{program.function(member.key)}, " for member in members)
    tests = "".join(f"{program.function(member.value, remember=True)}, " for member in members)
    return f"return assignable(v, {limits}, ({keys}), ({tests}))"


def is_any_type(node: TypeNode) -> bool:
    """Tell whether a type is `any`."""
    return isinstance(resolve_refs(node), AnyType)


def is_text_type(node: TypeNode) -> bool:
    """Tell whether a type is all of `tstr`."""
    inner = resolve_refs(node)
    return isinstance(inner, MajorType) and (inner.major, inner.argument) == (MAJOR_TEXT, None)


MAP_HELPERS = (assignable,)
