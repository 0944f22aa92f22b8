"""Compile arrays. Step: validate.

Follows RFC 8610 sections 2.1.2 and 3.4 and its normative Appendix A: entries are matched in order
as in a parsing expression grammar. An occurrence takes as much as it can and gives nothing back,
the first alternative that matches is taken, so `[* int, int]` matches nothing. Keys are only names
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl.model import ArrayType, GroupNode, Item

if TYPE_CHECKING:
    from vacr.schema.cddl.compiler import Program

_LIST = "if not isinstance(v, LISTS): return False"


def define(program: Program, node: ArrayType, name: str) -> None:
    """Write the function of an array."""
    match node.group.alternatives:
        case [[Item(value=value) as only]] if not isinstance(value, GroupNode):
            program.define(name, "v", _repeated(program, only))
        case [sequence] if all(_once(item) for item in sequence):
            program.define(name, "v", _fixed(program, sequence))
        case _:
            group = program.function(node.group)
            program.define(name, "v", [_LIST, "n = len(v)", f"return {group}(v, 0, n) == n"])


def _once(item: Item) -> bool:
    return (item.least, item.most) == (1, 1) and not isinstance(item.value, GroupNode)


def _repeated(program: Program, item: Item) -> list[str]:
    """Write `[* type]`, the most frequent form, as one loop."""
    body = [_LIST]
    if item.least:
        body.append(f"if len(v) < {item.least}: return False")
    if item.most is not None:
        body.append(f"if len(v) > {item.most}: return False")
    test = _test(program, item, spread=False)
    if test != "True":
        body += ["for x in v:", f"    if not {test}: return False"]
    return [*body, "return True"]


def _fixed(program: Program, sequence: list[Item]) -> list[str]:
    """Write an array of known length."""
    body = [_LIST, f"if len(v) != {len(sequence)}: return False"]
    for index, item in enumerate(sequence):
        test = _test(program, item, spread=False)
        if test != "True":
            body += [f"x = v[{index}]", f"if not {test}: return False"]
    return [*body, "return True"]


def define_group(program: Program, group: GroupNode, name: str) -> None:
    """Write the function that matches a group from position `p` on, giving the position after it,
    or -1.
    """
    if len(group.alternatives) == 1:
        program.define(name, "v, p, n", _sequence(program, group.alternatives[0]))
        return
    body: list[str] = []
    for sequence in group.alternatives:
        alternative = program.fresh("g")
        program.define(alternative, "v, p, n", _sequence(program, sequence))
        body += [f"q = {alternative}(v, p, n)", "if q >= 0: return q"]
    program.define(name, "v, p, n", [*body, "return -1"])


def _sequence(program: Program, sequence: list[Item]) -> list[str]:
    body: list[str] = []
    for item in sequence:
        body += (
            _group_item(program, item)
            if isinstance(item.value, GroupNode)
            else _type_item(program, item)
        )
    return [*body, "return p"]


def _type_item(program: Program, item: Item) -> list[str]:
    """Write an entry that is a type: as many elements as fit, up to the most."""
    test = _test(program, item, spread=True)
    if (item.least, item.most) == (1, 1):
        return ["if p >= n: return -1", "x = v[p]", f"if not {test}: return -1", "p += 1"]
    return [
        "c = 0",
        f"while p < n{_limit(item)}:",
        "    x = v[p]",
        f"    if not {test}: break",
        "    p += 1",
        "    c += 1",
        *_enough(item),
    ]


def _group_item(program: Program, item: Item) -> list[str]:
    """Write an entry that is a group; one that matched nothing would match nothing for ever, and is
    enough.
    """
    assert isinstance(item.value, GroupNode)  # noqa: S101 - the caller has looked
    group = program.function(item.value, remember=bool(item.value.name))
    if (item.least, item.most) == (1, 1):
        return [f"p = {group}(v, p, n)", "if p < 0: return -1"]
    return [
        "c = 0",
        f"while True{_limit(item)}:",
        f"    q = {group}(v, p, n)",
        "    if q < 0: break",
        "    if q == p:",
        f"        c = {item.least}",
        "        break",
        "    p = q",
        "    c += 1",
        *_enough(item),
    ]


def _limit(item: Item) -> str:
    return "" if item.most is None else f" and c < {item.most}"


def _enough(item: Item) -> list[str]:
    return [f"if c < {item.least}: return -1"] if item.least else []


def _test(program: Program, item: Item, *, spread: bool) -> str:
    assert not isinstance(item.value, GroupNode)  # noqa: S101 - the caller has looked
    return program.expression(item.value, spread=spread)
