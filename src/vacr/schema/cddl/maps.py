"""Compile maps. Step: validate.

Follows RFC 8610 sections 2.1.1, 3.5 and 3.5.4. The members of a map have no order: a map matches when every member can be
given to an entry of the group that its key and value fit, each entry getting as many as it asks for. A cut binds: a
member whose key fits an entry with a cut may not be given to a later entry. Groups inside the group are expanded into
alternatives first, so a wildcard never takes what a cut in an optional group has named.

Left out on purpose: a group of several entries with computed keys that repeats more than `MOST_COPIES` times, and more
than `MOST_ALTERNATIVES` combinations of optional groups; both are refused when compiling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import TYPE_CHECKING, Any

from vacr.errors import InvalidSchema
from vacr.schema.cddl import values
from vacr.schema.cddl.constants import constant
from vacr.schema.cddl.model import (
    TEXT,
    AnyType,
    Exact,
    GroupNode,
    Item,
    Kind,
    MapType,
    Node,
    follow,
    leaves,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vacr.schema.cddl.compiler import Program
    from vacr.schema.cddl.model import Place
    from vacr.schema.cddl.syntax import Scalar

MOST_ALTERNATIVES = 512
MOST_COPIES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One entry of a flattened map; `literal` is its key when that is one value."""

    key: Node
    literal: Scalar | None
    cut: bool
    least: int
    most: int | None
    value: Node

    @property
    def required(self) -> bool:
        """Tell whether the map cannot do without."""
        return self.least > 0

    @property
    def open_end(self) -> bool:
        """Tell whether any number of members fits."""
        return self.least == 0 and self.most is None


# --- flattening -----------------------------------------------------------------------------------------------


def expand(group: GroupNode) -> list[list[Member]]:
    """Flatten the groups inside a map's group into alternative lists of entries.

    Raises:
        InvalidSchema: when an entry has no key, or there are too many alternatives.

    """
    found: list[list[Member]] = []
    for sequence in group.alternatives:
        choices = [_choices(item, group.place) for item in sequence]
        if prod(map(len, choices)) + len(found) > MOST_ALTERNATIVES:
            hint = "write the optional members one by one instead of in groups"
            message = f"a map with more than {MOST_ALTERNATIVES} combinations of optional groups"
            raise InvalidSchema(message, where=str(group.place), hint=hint)
        found += [[member for part in combination for member in part] for combination in product(*choices)]
    return found


def _choices(item: Item, place: Place) -> list[list[Member]]:
    """Give the alternatives that one entry of the group stands for."""
    if not isinstance(item.value, GroupNode):
        if item.key is None:
            raise InvalidSchema("an entry of a map needs a key", where=str(place), hint="write: key: type")
        return [[Member(item.key, constant(item.key), item.cut, item.least, item.most, item.value)]]
    inner = expand(item.value)
    if (item.least, item.most) == (1, 1):
        return inner
    if len(inner) == 1 and len(inner[0]) == 1 and inner[0][0].least <= 1:
        only = inner[0][0]
        most = None if item.most is None or only.most is None else item.most * only.most
        return [[replace(only, least=item.least * only.least, most=0 if item.most == 0 else most)]]
    return _copies(item, inner, place)


def _copies(item: Item, inner: list[list[Member]], place: Place) -> list[list[Member]]:
    """Repeat a group: what is required of its alternatives, and then any number or up to the most of them."""
    literal = all(member.literal is not None for sequence in inner for member in sequence)
    # An alternative whose keys are all literal fits at most once, for a key is there only once.
    several = combinations if literal else combinations_with_replacement
    cap = len(inner) if literal else MOST_COPIES
    counts = [item.least] if item.most is None else range(min(item.most, cap), item.least - 1, -1)
    found: list[list[Member]] = []
    for count in counts:
        if count > cap:
            break
        for used in several(range(len(inner)), count):
            taken = [member for index in used for member in inner[index]]
            left = [part for index, part in enumerate(inner) if not (literal and index in used)]
            rests = _any_number(left) if item.most is None else [_named(left) if count == 0 else []]
            found += [taken + rest for rest in rests]
            if len(found) > MOST_ALTERNATIVES:
                raise InvalidSchema("a group in a map repeats in too many combinations", where=str(place))
    return found


def _any_number(inner: list[list[Member]]) -> list[list[Member]]:
    """Give the alternatives that any number of any of these groups stand for."""
    choices: list[list[list[Member]]] = []
    for sequence in inner:
        literal = all(member.literal is not None for member in sequence)
        if len(sequence) == 1:
            most = sequence[0].most if literal else None
            choices.append([[replace(sequence[0], least=0, most=most)]])
        else:
            copies = range(1 if literal else MOST_COPIES, 0, -1)
            choices.append([*(sequence * count for count in copies), _named([sequence])])
        if prod(map(len, choices)) > MOST_ALTERNATIVES:
            break
    return [[member for part in parts for member in part] for parts in product(*choices)]


def _named(inner: list[list[Member]]) -> list[Member]:
    """Keep what a cut has named when the group that names it is left out."""
    return [replace(member, least=0, most=0) for sequence in inner for member in sequence if member.cut]


def discriminator(
    alternatives: Sequence[MapType],
) -> tuple[str, dict[str, list[MapType]], list[MapType]] | None:
    """Find the literal member that tells maps apart: its key, the maps of each of its values, and the others."""
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


def required_literals(node: MapType) -> dict[str, frozenset[str]]:
    """Give the members that must be there with one of some texts, by key."""
    sequences = expand(node.group)
    if len(sequences) != 1:
        return {}
    found: dict[str, frozenset[str]] = {}
    keys = [member.literal for member in sequences[0]]
    for member in sequences[0]:
        if member.required and isinstance(member.literal, str) and keys.count(member.literal) == 1:
            options = [leaf.value for leaf in leaves(member.value) if isinstance(leaf, Exact)]
            texts = frozenset(option for option in options if isinstance(option, str))
            if texts and len(texts) == len(leaves(member.value)):
                found[member.literal] = texts
    return found


# --- compiling ------------------------------------------------------------------------------------------------


def define(program: Program, node: MapType, name: str) -> None:
    """Write the function of a map."""
    sequences = expand(node.group)
    if len(sequences) == 1:
        program.define(name, "v", _sequence(program, sequences[0], spread=False))
        return
    functions = [program.fresh("a") for _ in sequences]
    for function, members in zip(functions, sequences, strict=True):
        program.define(function, "v", _sequence(program, members, spread=True))
    tests = " or ".join(f"{function}(v)" for function in functions)
    program.define(name, "v", [f"return {tests or 'False'}"])


def _sequence(program: Program, members: list[Member], *, spread: bool) -> list[str]:
    """Write the body that checks one list of entries."""
    body = ["if v.__class__ is not dict:", "    v = as_map(v)", "    if v is None: return False"]
    literal = [member for member in members if member.literal is not None]
    if any(member.least > 1 for member in literal):
        return ["return False"]
    if not _is_plain(members):
        return [*body, _general(program, members)]
    if any(isinstance(member.literal, int | float) for member in literal):
        body.append(f"if has_odd_keys(v): {_general(program, members)}")
    wild = [member for member in members if member.literal is None]
    spread = spread or len(wild) > 1
    body.append("get = v.get")
    if not wild:
        body.append(f"n = {sum(member.required for member in literal)}")
    for index, member in enumerate(members):
        if member.literal is not None:
            earlier = members[:index] if member.cut else members
            rivals = [rival for rival in earlier if rival.literal is None]
            body += _literal_member(program, member, rivals, closed=not wild, spread=spread or bool(rivals))
    return body + _rest(program, literal, wild, spread=spread)


def _is_plain(members: list[Member]) -> bool:
    """Tell whether each member can be looked at by itself, with no counting and no choice between entries."""
    keys = [member.literal for member in members if member.literal is not None]
    wild = [index for index, member in enumerate(members) if member.literal is None]
    if len(set(map(_typed, keys))) != len(keys) or not all(members[index].open_end for index in wild):
        return False
    first_cut = min((index for index in wild if members[index].cut), default=len(members))
    if any(member.literal is not None for member in members[first_cut:]):
        return False
    locked = [index for index, member in enumerate(members) if member.most == 0]
    return all(members[index].cut and not any(w < index for w in wild) for index in locked)


def _typed(value: object) -> tuple[type, object]:
    return value.__class__, value


def _literal_member(
    program: Program, member: Member, rivals: list[Member], *, closed: bool, spread: bool
) -> list[str]:
    """Write the check of the member with one key; `rivals` are the wildcards that may take it as well."""
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
    rescue = f" and not {_wildcards(program, rivals)}({key}, x)" if rivals else ""
    return [f"x = get({key}, ABSENT)", f"if x is not ABSENT and not {test}{rescue}: return False"]


def _rest(program: Program, literal: list[Member], wild: list[Member], *, spread: bool) -> list[str]:
    """Write the check of the members that no literal key names."""
    if not wild:
        return ["return len(v) == n"]
    if is_any(wild[0].key) and is_any(wild[0].value):
        return ["return True"]
    text_keys = all(isinstance(member.literal, str) for member in literal)
    if len(wild) == 1 and text_keys and is_text(wild[0].key) and is_any(wild[0].value):
        return ["return all_text(v)"]
    skip: list[str] = []
    if literal:
        skip = [f"    if k in {program.constant(frozenset(member.literal for member in literal))}: continue"]
    return [
        "for k, y in v.items():",
        *skip,
        f"    if not {_wildcards(program, wild, spread=spread)}(k, y): return False",
        "return True",
    ]


def _wildcards(program: Program, wild: list[Member], *, spread: bool = True) -> str:
    """Write the function that tells whether a member fits one of these entries, with regard to cuts."""
    name = program.fresh("w")
    body: list[str] = []
    for member in wild:
        body += ["x = k", f"if {program.expression(member.key)}:", "    x = y"]
        body.append(f"    if {program.expression(member.value, spread=spread)}: return True")
        if member.cut:
            body.append("    return False")
    program.define(name, "k, y", [*body, "return False"])
    return name


def _general(program: Program, members: list[Member]) -> str:
    """Write the call that gives members to entries when no short way is sure to be right."""
    limits = program.constant([(member.cut, member.least, member.most) for member in members])
    keys = "".join(f"{program.function(member.key)}, " for member in members)
    tests = "".join(f"{program.function(member.value, remember=True)}, " for member in members)
    return f"return assignable(v, {limits}, ({keys}), ({tests}))"


def is_any(node: Node) -> bool:
    """Tell whether a type is `any`."""
    return isinstance(follow(node), AnyType)


def is_text(node: Node) -> bool:
    """Tell whether a type is all of `tstr`."""
    inner = follow(node)
    return isinstance(inner, Kind) and (inner.major, inner.argument) == (TEXT, None)


# --- running --------------------------------------------------------------------------------------------------


def assignable(
    members: dict[Any, Any],
    limits: list[tuple[bool, int, int | None]],
    keys: Sequence[Callable[[Any], bool]],
    tests: Sequence[Callable[[Any], bool]],
) -> bool:
    """Tell whether every member can be given to an entry, and every entry gets as many as it needs."""
    if sum(least for _, least, _ in limits) > len(members):
        return False
    fits: list[list[int]] = []
    for key, value in members.items():
        options: list[int] = []
        for index, (cut, _, _) in enumerate(limits):
            if keys[index](key):
                if tests[index](value):
                    options.append(index)
                if cut:
                    break
        if not options:
            return False
        fits.append(options)
    # A matching that fills what is required and one that places every member can always be joined into one that does
    # both (Mendelsohn and Dulmage), so the two questions are asked one by one.
    required = [least for _, least, _ in limits]
    most = [len(members) if most is None else most for _, _, most in limits]
    return _placed(fits, most) == len(fits) and _placed(fits, required) == sum(required)


def _placed(fits: list[list[int]], room: list[int]) -> int:
    """Count how many members can be placed at once, moving those placed before where that helps."""
    held: list[list[int]] = [[] for _ in room]

    def place(member: int, seen: set[int]) -> bool:
        for entry in fits[member]:
            if entry not in seen:
                seen.add(entry)
                if len(held[entry]) < room[entry]:
                    held[entry].append(member)
                    return True
                for slot, other in enumerate(held[entry]):
                    if place(other, seen):
                        held[entry][slot] = member
                        return True
        return False

    return sum(place(member, set()) for member in range(len(fits)))


HELPERS = (assignable, values.as_map)
