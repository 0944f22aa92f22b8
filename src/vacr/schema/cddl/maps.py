"""Compile maps. Step: validate.

Follows RFC 8610 sections 2.1.1, 3.5 and 3.5.4. The members of a map have no order: a map matches
when every member can be given to an entry of the group that its key and value fit, each entry
getting as many as it asks for. A cut binds: a member whose key fits an entry with a cut may not be
given to a later entry.

Most maps need no such search: each literal key is looked up, and the rest goes to wildcards that
take any number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl.assignment import Limit, assignable
from vacr.schema.cddl.members import expand
from vacr.schema.cddl.model import TEXT, AnyType, Kind, MapType, Node, follow

if TYPE_CHECKING:
    from vacr.schema.cddl.compiler import Program
    from vacr.schema.cddl.members import Member


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
            body += _literal_member(
                program, member, rivals, closed=not wild, spread=spread or bool(rivals)
            )
    return body + _rest(program, literal, wild, spread=spread)


def _is_plain(members: list[Member]) -> bool:
    """Tell whether each member can be looked at by itself, with no counting and no choice between
    entries.
    """
    keys = [member.literal for member in members if member.literal is not None]
    wild = [index for index, member in enumerate(members) if member.literal is None]
    if len(set(map(_typed, keys))) != len(keys) or not all(
        members[index].open_end for index in wild
    ):
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
    rescue = f" and not {_wildcards(program, rivals)}({key}, x)" if rivals else ""
    return [f"x = get({key}, ABSENT)", f"if x is not ABSENT and not {test}{rescue}: return False"]


def _rest(
    program: Program, literal: list[Member], wild: list[Member], *, spread: bool
) -> list[str]:
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
        skip = [
            (
                f"    if k in {program.constant(frozenset(member.literal for member in literal))}: "
                "continue"
            )
        ]
    return [
        "for k, y in v.items():",
        *skip,
        f"    if not {_wildcards(program, wild, spread=spread)}(k, y): return False",
        "return True",
    ]


def _wildcards(program: Program, wild: list[Member], *, spread: bool = True) -> str:
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


def _general(program: Program, members: list[Member]) -> str:
    """Write the call that gives members to entries when no short way is sure to be right."""
    limits = program.constant(
        [Limit(member.cut, member.least, member.most, member.share) for member in members]
    )
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


HELPERS = (assignable,)
