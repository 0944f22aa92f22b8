"""Mutants of a CDDL schema: the schema with one clause deleted or changed.

A clause is a rule, or an entry of a rule's map, array or group. Its name says which: `range`,
`range.content-hash-alg`. The syntax tree of the schema is changed and written as CDDL again, so
every mutant is compiled like any other schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from vacr.cddl.syntax import (
    ArraySyntax,
    ChoiceSyntax,
    ControlSyntax,
    GroupEntrySyntax,
    GroupSyntax,
    KeySyntax,
    LiteralSyntax,
    MajorSyntax,
    MapSyntax,
    NameSyntax,
    RuleSyntax,
    TypeSyntax,
    parse_rules,
)
from vacr.cddl.tokens import CddlSource

OTHER_TYPES = {
    "any": ("tstr", "bool"),
    "tstr": ("any", "bstr", "uint"),
    "bstr": ("any", "tstr"),
    "uint": ("any", "int", "number", "tstr"),
    "int": ("any", "uint", "tstr"),
    "number": ("any", "int", "float", "tstr"),
    "bool": ("any", "true", "tstr"),
    "null": ("any", "true"),
}
"""The types that take the place of a type of the prelude: a wider one, narrower ones, others."""
OTHER_RULES = ("any", "bool")
"""The types that take the place of a reference to a rule."""
ANY_TEXT_PATTERN = "(.|\\n)*"
Value = TypeSyntax | GroupSyntax


@dataclass(frozen=True)
class Mutant:
    """A schema in which one clause is changed."""

    rule: str
    clause: str
    """The rule, or the rule and its member: `range.content-hash-alg`."""
    change: str
    text: str

    def __str__(self) -> str:
        """Return the clause and its change, for messages."""
        return f"{self.clause}: {self.change}"


def list_clauses(text: str) -> list[str]:
    """Return the names of all clauses of a schema: its rules and their members."""
    names = []
    for rule in parse_schema(text):
        names.append(rule.name)
        names += [f"{rule.name}.{name_entry(entry)}" for entry in list_members(rule.body.value)]
    return names


def make_mutants(text: str, only_rule: str = "") -> Iterator[Mutant]:
    """Yield all mutants of a schema, or those of one rule."""
    rules = parse_schema(text)
    for index, rule in enumerate(rules):
        if only_rule not in {"", rule.name}:
            continue
        for member, change, value in mutate_rule(rule.body.value):
            mutated = replace(rule, body=replace(rule.body, value=value))
            clause = f"{rule.name}.{member}" if member else rule.name
            mutant_text = format_rules([*rules[:index], mutated, *rules[index + 1 :]])
            yield Mutant(rule.name, clause, change, mutant_text)


def parse_schema(text: str) -> list[RuleSyntax]:
    """Parse a schema into its rules."""
    return parse_rules(CddlSource(text, "schema"))


def list_members(value: Value) -> list[GroupEntrySyntax]:
    """Return the named entries of the map, array or group that a rule consists of."""
    group = find_group(value)
    if group is None:
        return []
    [entries] = group.alternatives
    return [entry for entry in entries if is_member(entry)]


def find_group(value: Value) -> GroupSyntax | None:
    """Return the group of a rule's map or array, also inside a tag; None for other types."""
    match value:
        case GroupSyntax():
            return value
        case MapSyntax(group=group) | ArraySyntax(group=group):
            return group
        case MajorSyntax(content=content) if content is not None:
            return find_group(content)
    return None


def is_member(entry: GroupEntrySyntax) -> bool:
    """Return whether an entry is a member with a name, or an included group."""
    return bool(name_entry(entry)) and entry.most == 1


def name_entry(entry: GroupEntrySyntax) -> str:
    """Return the key of an entry, the name of the group it includes, or an empty text."""
    match entry.key.type if entry.key else entry.value:
        case LiteralSyntax(value=value):
            return str(value)
        case NameSyntax(name=name):
            return name
    return ""


# Mutations. Each yields the changes, and the changed part of the syntax tree.


def mutate_rule(value: Value) -> Iterator[tuple[str, str, Value]]:
    """Yield the changes of a rule, each with the member it concerns, or an empty text."""
    group = find_group(value)
    if isinstance(value, LiteralSyntax) and isinstance(value.value, str):
        yield "", "pattern changed", replace(value, value=f"{value.value}x")
        yield "", "pattern takes any text", replace(value, value=ANY_TEXT_PATTERN)
        return
    if group is None:
        for change, mutated in mutate_type(value):
            yield "", change, mutated
        return
    for member, change, mutated_group in mutate_group(group, in_map=not is_array(value)):
        yield member, change, replace_group(value, mutated_group)
    if isinstance(value, MajorSyntax):
        yield "", "another tag", replace(value, argument=value.argument + 1)
        yield "", "no tag", value.content


def is_array(value: Value) -> bool:
    """Return whether a rule is an array, or a tagged one."""
    if isinstance(value, MajorSyntax):
        return is_array(value.content)
    return isinstance(value, ArraySyntax)


def replace_group(value: Value, group: GroupSyntax) -> Value:
    """Return a rule's type with another group in its map or array."""
    match value:
        case GroupSyntax():
            return group
        case MajorSyntax(content=content):
            return replace(value, content=replace_group(content, group))
    return replace(value, group=group)


def mutate_group(group: GroupSyntax, *, in_map: bool) -> Iterator[tuple[str, str, GroupSyntax]]:
    """Yield the changes of the entries of a group, and open a closed map."""
    [entries] = group.alternatives
    for index, entry in enumerate(entries):
        member = name_entry(entry) if is_member(entry) else ""
        before, after = entries[:index], entries[index + 1 :]
        for change, mutated in mutate_entry(entry, in_map=in_map):
            changed = (*before, *mutated, *after)
            yield member, change, replace(group, alternatives=(changed,))
    if in_map and not any(map(may_open_map, entries)):
        for key in ("tstr", "int"):
            any_key = KeySyntax(make_name(key), cut=False)
            opened = (*entries, GroupEntrySyntax(0, None, any_key, make_name("any"), 0))
            yield "", f"opened for {key} keys", replace(group, alternatives=(opened,))


def may_open_map(entry: GroupEntrySyntax) -> bool:
    """Return whether an entry is a wildcard, or includes a group, which may have one."""
    return entry.most is None or entry.key is None


def mutate_entry(
    entry: GroupEntrySyntax, *, in_map: bool
) -> Iterator[tuple[str, tuple[GroupEntrySyntax, ...]]]:
    """Yield the changes of one entry, each with the entries that replace it."""
    yield "deleted", ()
    if entry.key is None and in_map:
        # An included group: the entries of that group are clauses of their own.
        return
    for least, most in list_other_occurrences(entry, in_map=in_map):
        change = f"occurs {format_occurrence(least, most) or 'once'}"
        yield change, (replace(entry, least=least, most=most),)
    if entry.key is not None and entry.most is None:
        for change, mutated in mutate_type(entry.key.type):
            key = replace(entry.key, type=mutated)
            yield f"key: {change}", (replace(entry, key=key),)
    elif has_arrow(entry):
        key = replace(entry.key, cut=not entry.key.cut)
        yield "cut" if key.cut else "not cut", (replace(entry, key=key),)
    for change, mutated in mutate_type(entry.value):
        yield change, (replace(entry, value=mutated),)


def has_arrow(entry: GroupEntrySyntax) -> bool:
    """Return whether the key is followed by `=>`: then it may have a cut or not."""
    key = entry.key
    return key is not None and not (key.cut and isinstance(key.type, LiteralSyntax))


def list_other_occurrences(
    entry: GroupEntrySyntax, *, in_map: bool
) -> list[tuple[int, int | None]]:
    """Return how often a mutated entry may occur: required ⇄ optional, more or fewer items."""
    match entry.least, entry.most:
        case 1, 1:
            return [(0, 1)] if in_map else [(0, 1), (1, None)]
        case 0, 1:
            return [(1, 1)]
        case 0, None:
            return [(1, None), (0, 1)]
        case least, None:
            return [(least - 1, None), (least + 1, None), (least, least)]
    raise ValueError(f"unexpected occurrence: {entry.least}*{entry.most}")


def mutate_type(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield the changes of a type."""
    match value:
        case NameSyntax(name=name):
            for other in OTHER_TYPES.get(name, OTHER_RULES):
                yield f"{name} → {other}", make_name(other)
        case LiteralSyntax(value=str(literal)):
            yield f'"{literal}" changed', replace(value, value=f"{literal}x")
            yield f'"{literal}" → tstr', make_name("tstr")
        case LiteralSyntax(value=literal):
            yield f"{literal} changed", replace(value, value=literal + 1)
            yield f"{literal} → int", make_name("int")
        case ChoiceSyntax(alternatives=alternatives):
            yield from mutate_choice(value, alternatives)
        case ControlSyntax(target=target, controller=controller):
            yield f"no .{value.operator}", target
            for change, mutated in mutate_type(target):
                keeps_control = value.operator == "default"
                yield change, replace(value, target=mutated) if keeps_control else mutated
            for change, mutated in mutate_type(controller):
                if value.operator == "cbor" or isinstance(mutated, LiteralSyntax):
                    yield f".{value.operator}: {change}", replace(value, controller=mutated)
        case MapSyntax(group=group) | ArraySyntax(group=group):
            yield "→ any", make_name("any")
            for member, change, mutated in mutate_group(group, in_map=isinstance(value, MapSyntax)):
                yield f"{member} {change}".strip(), replace(value, group=mutated)
        case _:
            raise ValueError(f"unexpected type: {value}")


def mutate_choice(
    choice: ChoiceSyntax, alternatives: tuple[TypeSyntax, ...]
) -> Iterator[tuple[str, Value]]:
    """Yield a choice without each alternative, with each changed, and with one more."""
    for index, alternative in enumerate(alternatives):
        rest = (*alternatives[:index], *alternatives[index + 1 :])
        shown = format_type(alternative)[:30]
        yield f"without {shown}", replace(choice, alternatives=rest) if len(rest) > 1 else rest[0]
        for change, mutated in mutate_type(alternative):
            changed = (*alternatives[:index], mutated, *alternatives[index + 1 :])
            yield change, replace(choice, alternatives=changed)


def make_name(name: str) -> NameSyntax:
    """Return a reference to a rule without arguments."""
    return NameSyntax(name, (), 0)


# Writing the syntax tree as CDDL.


def format_rules(rules: list[RuleSyntax]) -> str:
    """Return the CDDL text of rules, one on each line."""
    return "".join(f"{rule.name} {rule.operator} {format_entry(rule.body)}\n" for rule in rules)


def format_entry(entry: GroupEntrySyntax) -> str:
    """Return the CDDL text of an entry of a group."""
    occurrence = format_occurrence(entry.least, entry.most)
    return f"{occurrence} {format_key(entry.key)}{format_type(entry.value)}".strip()


def format_occurrence(least: int, most: int | None) -> str:
    """Return the CDDL text of an occurrence; it is empty for an entry that occurs once."""
    match least, most:
        case 1, 1:
            return ""
        case 0, 1:
            return "?"
    return f"{least}*{'' if most is None else most}"


def format_key(key: KeySyntax | None) -> str:
    """Return the CDDL text of a key, with the mark after it."""
    if key is None:
        return ""
    if key.cut and isinstance(key.type, LiteralSyntax):
        return f"{format_type(key.type)}: "
    return f"{format_type(key.type)} {'^ ' if key.cut else ''}=> "


def format_type(value: Value) -> str:
    """Return the CDDL text of a type or a group."""
    match value:
        case LiteralSyntax(value=literal):
            return json.dumps(literal)
        case NameSyntax(name=name):
            return name
        case ChoiceSyntax(alternatives=alternatives):
            return " / ".join(map(format_type, alternatives))
        case ControlSyntax():
            controller = format_type(value.controller)
            if isinstance(value.controller, ChoiceSyntax):
                controller = f"({controller})"
            return f"{format_type(value.target)} .{value.operator} {controller}"
        case MapSyntax(group=group):
            return f"{{ {format_group(group)} }}"
        case ArraySyntax(group=group):
            return f"[ {format_group(group)} ]"
        case GroupSyntax():
            return f"( {format_group(value)} )"
        case MajorSyntax(major=major, argument=argument, content=content):
            return f"#{major}.{argument}({format_type(content)})"
    raise ValueError(f"unexpected type: {value}")


def format_group(group: GroupSyntax) -> str:
    """Return the CDDL text of the entries of a group."""
    return " // ".join(", ".join(map(format_entry, entries)) for entries in group.alternatives)
