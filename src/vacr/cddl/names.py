"""What the names in a piece of CDDL mean: the definitions of a text, and the arguments of a
generic. Step: validate.

Follows RFC 8610 section 2.2.2 (`/=`, `//=`): a name may be extended any number of times but defined
only once.

Find out what a name stands for: which rule, and whether a group or a type. Step: validate.

Follows RFC 8610 sections 2.1 and 3.10. Chains of names are walked without recursion, and what was
found out is kept.

Resolve the names of a CDDL text: rules, generics, sockets, groups and types. Step: validate.

Follows RFC 8610 sections 2 and 3: the first rule is the root, `/=` and `//=` extend, an undefined
`$socket` is an empty choice (3.9), generics are instantiated once for each list of arguments
(3.10), `~` unwraps (3.7) and `&` turns a group into a choice (2.2.2.2). A rule of the text hides
the prelude's rule of the same name, unless it only extends it. Rules wait in a queue instead of
calling each other, so a long chain of names costs no stack.

Refuse rules that refer to themselves without getting anywhere. Step: validate.

`a = [a]` describes something, if nothing finite; `a = a / int` and `g = (? g, int)` would be
followed without end. This holds for maps altogether: a group that includes itself adds the same
keys again, so it is refused there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vacr.cddl.model import (
    MAJOR_TAG,
    AnyType,
    ArrayType,
    ChoiceType,
    ControlType,
    GroupItem,
    GroupNode,
    LiteralType,
    MajorType,
    MapType,
    RangeType,
    RuleRef,
    SimpleType,
    SourceLocation,
    TagType,
    TypeNode,
    list_child_nodes,
)
from vacr.cddl.syntax import (
    ArraySyntax,
    ChoiceSyntax,
    ControlSyntax,
    EnumerationSyntax,
    GroupEntrySyntax,
    GroupSyntax,
    LiteralSyntax,
    MajorSyntax,
    MapSyntax,
    NameSyntax,
    RangeSyntax,
    RuleSyntax,
    TypeSyntax,
    UnwrapSyntax,
)
from vacr.errors import InvalidSchema

if TYPE_CHECKING:
    from vacr.cddl.syntax import CddlSource


# A rule that only extends one of the prelude starts with that, by a name that no text can hold.
EXTENDED_PREFIX = "prelude:"


@dataclass(eq=False, slots=True)
class RuleDefinition:
    """All that a text says about one name."""

    source: CddlSource
    table: RuleTable
    name: str
    parameters: tuple[str, ...]
    rules: list[RuleSyntax]


@dataclass(eq=False, slots=True)
class RuleTable:
    """The definitions of one text, and the table to look in next."""

    definitions: dict[str, RuleDefinition] = field(default_factory=dict)
    outer: RuleTable | None = None

    def find(self, name: str) -> RuleDefinition | None:
        """Look a name up here, then outside."""
        if name.startswith(EXTENDED_PREFIX):
            return self.outer.find(name.removeprefix(EXTENDED_PREFIX)) if self.outer else None
        found = self.definitions.get(name)
        return found if found or self.outer is None else self.outer.find(name)


@dataclass(eq=False, slots=True)
class NameScope:
    """What the names of a piece of text mean; `key` numbers the instance of a generic it belongs
    to.
    """

    source: CddlSource
    table: RuleTable
    bindings: dict[str, BoundArgument] = field(default_factory=dict)
    key: int = 0


@dataclass(eq=False, slots=True)
class BoundArgument:
    """A generic argument with the scope it was written in."""

    node: TypeSyntax
    scope: NameScope
    key: int


def build_rule_table(
    source: CddlSource, rules: list[RuleSyntax], outer: RuleTable | None = None
) -> RuleTable:
    """Gather the definitions of a text by name.

    Raises:
        InvalidSchema: when a name is defined twice in different ways.

    """
    table = RuleTable(outer=outer)
    for rule in rules:
        known = table.definitions.get(rule.name)
        if known is None:
            table.definitions[rule.name] = RuleDefinition(
                source, table, rule.name, rule.parameters, [rule]
            )
            continue
        if rule.parameters != known.parameters:
            source.fail(f"rule {rule.name!r} is extended with other generic parameters", rule.at)
        first = next((r for r in known.rules if r.operator == "="), None)
        if rule.operator == "=" and first is not None:
            if first != rule:
                hint = (
                    f"the other definition is at {source.where(first.at)}; extend it with /= or //="
                )
                source.fail(f"rule {rule.name!r} is defined twice, differently", rule.at, hint)
            continue
        known.rules.append(rule)
    for name, known in table.definitions.items():
        if (
            outer is not None
            and outer.find(name)
            and all(rule.operator == "/=" for rule in known.rules)
        ):
            at = known.rules[0].at
            body = GroupEntrySyntax(1, 1, None, NameSyntax(EXTENDED_PREFIX + name, (), at), at)
            known.rules.insert(0, RuleSyntax(name, (), "=", body, at))
    return table


if TYPE_CHECKING:
    pass

MAX_RULE_INSTANCES = 5000


def unwrap_single_entry(group: GroupSyntax) -> TypeSyntax | GroupSyntax | None:
    """Give what a group of one plain entry holds: it is that, in parentheses."""
    match group.alternatives:
        case [[entry]] if entry.plain:
            return entry.value
        case _:
            return None


def _is_alias(definition: RuleDefinition) -> bool:
    """Tell whether a rule says nothing but one type, or one name."""
    rule = definition.rules[0]
    return len(definition.rules) == 1 and rule.body.plain and rule.operator != "//="


def _looks_like_group(rule: RuleSyntax) -> bool:
    """Tell whether a definition can only be that of a group."""
    value = rule.body.value
    return (
        rule.operator == "//="
        or not rule.body.plain
        or (isinstance(value, GroupSyntax) and unwrap_single_entry(value) is None)
    )


class RuleLookup:
    """Knows the rules by name, and numbers the instances of generic ones."""

    def __init__(self) -> None:
        """Start with nothing found out."""
        self._numbers: dict[tuple[object, ...], int] = {}
        self._kinds: dict[int, bool] = {}

    def number(self, *key: object) -> int:
        """Give a key a number, so that keys made of keys stay small."""
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def definition(self, name: NameSyntax, scope: NameScope) -> RuleDefinition | None:
        """Find the definition a name stands for; None for a socket without one."""
        found = scope.table.find(name.name)
        if found is None and not name.name.startswith("$"):
            from difflib import get_close_matches

            close = get_close_matches(name.name, scope.table.definitions, 1)
            hint = f"did you mean {close[0]!r}?" if close else ""
            scope.source.fail(f"rule {name.name!r} is not defined", name.at, hint)
        wanted = len(found.parameters) if found else len(name.arguments)
        if wanted != len(name.arguments):
            scope.source.fail(
                f"{name.name!r} takes {wanted} generic arguments, not {len(name.arguments)}",
                name.at,
            )
        return found

    def inner(self, definition: RuleDefinition, name: NameSyntax, scope: NameScope) -> NameScope:
        """Make the scope in which the body of a definition is read."""
        if not definition.parameters:
            return NameScope(definition.source, definition.table)
        bounds = [self._bound(argument, scope) for argument in name.arguments]
        key = self.number(definition.name, *(bound.key for bound in bounds))
        bindings = dict(zip(definition.parameters, bounds, strict=True))
        return NameScope(definition.source, definition.table, bindings, key)

    def _bound(self, argument: TypeSyntax, scope: NameScope) -> BoundArgument:
        """Bind a generic argument; one that is itself a parameter stays the same argument."""
        if isinstance(argument, NameSyntax) and argument.name in scope.bindings:
            return scope.bindings[argument.name]
        if isinstance(argument, NameSyntax) and not argument.arguments:
            return BoundArgument(
                argument, scope, self.number("name", argument.name, id(scope.table))
            )
        return BoundArgument(argument, scope, self.number("node", id(argument), scope.key))

    def follow(
        self, node: TypeSyntax | GroupSyntax, scope: NameScope
    ) -> tuple[TypeSyntax | GroupSyntax, NameScope]:
        """Step through parentheses, parameters and rules that only name another, to what
        is meant.
        """
        seen: set[tuple[int, int]] = set()
        while True:
            if isinstance(node, GroupSyntax):
                inner = unwrap_single_entry(node)
                if inner is None:
                    return node, scope
                node = inner
            elif isinstance(node, NameSyntax) and node.name in scope.bindings:
                bound = scope.bindings[node.name]
                node, scope = bound.node, bound.scope
            elif isinstance(node, NameSyntax):
                definition = self.definition(node, scope)
                if (
                    definition is None
                    or len(definition.rules) > 1
                    or not definition.rules[0].body.plain
                ):
                    return node, scope
                inner_scope = self.inner(definition, node, scope)
                if (id(definition), inner_scope.key) in seen or definition.rules[
                    0
                ].operator == "//=":
                    return node, scope
                seen.add((id(definition), inner_scope.key))
                if len(seen) > MAX_RULE_INSTANCES:
                    scope.source.fail(f"rule {node.name!r} has no end", node.at)
                node, scope = definition.rules[0].body.value, inner_scope
            else:
                return node, scope

    def is_group(self, node: TypeSyntax | GroupSyntax, scope: NameScope) -> bool:
        """Tell whether this is a group and not a type (RFC 8610 section 2.1)."""
        path: list[int] = []
        found: bool | None = None
        while found is None:
            if isinstance(node, GroupSyntax):
                inner = unwrap_single_entry(node)
                found = True if inner is None else None
                node = node if inner is None else inner
            elif isinstance(node, NameSyntax) and node.name in scope.bindings:
                bound = scope.bindings[node.name]
                node, scope = bound.node, bound.scope
            elif isinstance(node, NameSyntax):
                definition = self.definition(node, scope)
                if definition is None or node.name.startswith("$$"):
                    found = node.name.startswith("$$")
                    continue
                scope = self.inner(definition, node, scope)
                key = self.number("kind", id(definition), scope.key)
                # A rule that leads back to itself is refused later; here it only must not go on for
                # ever.
                found = False if key in path else self._kinds.get(key)
                path.append(key)
                if found is None and _is_alias(definition):
                    node = definition.rules[0].body.value
                elif found is None:
                    found = any(_looks_like_group(rule) for rule in definition.rules)
            else:
                found = isinstance(node, UnwrapSyntax) and not self._is_tag(node.name, scope)
        self._kinds.update(dict.fromkeys(path, found))
        return found

    def _is_tag(self, name: NameSyntax, scope: NameScope) -> bool:
        return isinstance(self.follow(name, scope)[0], MajorSyntax)


if TYPE_CHECKING:
    from vacr.cddl.syntax import CddlSource


class NameResolver(RuleLookup):
    """Turns syntax into model, one instance of each rule."""

    def __init__(self, table: RuleTable) -> None:
        """Start with nothing resolved."""
        super().__init__()
        self._table = table
        self._refs: dict[int, RuleRef] = {}
        self._groups: dict[int, GroupNode] = {}
        self._waiting_refs: list[tuple[RuleRef, RuleDefinition, NameScope]] = []
        self._waiting_groups: list[tuple[GroupNode, RuleDefinition, NameScope]] = []
        self._waiting_choices: list[tuple[ChoiceType, GroupNode]] = []
        self._kept: list[TypeSyntax] = []

    def resolve(self, source: CddlSource, node: TypeSyntax) -> TypeNode:
        """Resolve a type written at the top of a text, and everything it needs.

        Raises:
            InvalidSchema: when a name is undefined or used as what it is not.

        """
        # Nodes are told apart by identity, so one that was numbered must not go away.
        self._kept.append(node)
        found = self._type(node, NameScope(source, self._table))
        self._drain()
        return found

    def resolve_all(self, table: RuleTable) -> list[TypeNode | GroupNode]:
        """Resolve every rule of a table that is not generic.

        Raises:
            InvalidSchema: when a name is undefined or used as what it is not.

        """
        found: list[TypeNode | GroupNode] = []
        for definition in table.definitions.values():
            if definition.parameters:
                continue
            scope = NameScope(definition.source, definition.table)
            name = NameSyntax(definition.name, (), definition.rules[0].at)
            found.append(
                self._group_of(name, scope)
                if self.is_group(name, scope)
                else self._type(name, scope)
            )
        self._drain()
        return found

    def _drain(self) -> None:
        """Resolve the rules that were met, and those met on the way."""
        while self._waiting_refs or self._waiting_groups:
            if self._waiting_refs:
                ref, definition, scope = self._waiting_refs.pop()
                ref.node = self._definition_type(definition, scope)
            else:
                group, definition, scope = self._waiting_groups.pop()
                group.alternatives = self._definition_group(definition, scope)
        for choice, group in self._waiting_choices:
            choice.alternatives = _collect_group_values(group)
        self._waiting_choices.clear()

    # --- types
    # -----------------------------------------------------------------------------------------

    def _type(self, node: TypeSyntax | GroupSyntax, scope: NameScope) -> TypeNode:
        """Resolve a type."""
        place = SourceLocation(scope.source, node.at)
        match node:
            case LiteralSyntax():
                return LiteralType(node.value)
            case NameSyntax():
                return self._ref(node, scope)
            case ChoiceSyntax():
                return ChoiceType([self._type(part, scope) for part in node.alternatives])
            case RangeSyntax():
                low, high = self._type(node.low, scope), self._type(node.high, scope)
                return RangeType(low, high, node.inclusive, place)
            case ControlSyntax():
                target, controller = (
                    self._type(node.target, scope),
                    self._type(node.controller, scope),
                )
                return ControlType(node.operator, target, controller, place)
            case MapSyntax():
                return MapType(self._group(node.group, scope), place)
            case ArraySyntax():
                return ArrayType(self._group(node.group, scope), place)
            case UnwrapSyntax():
                return self._unwrapped(node, scope)
            case EnumerationSyntax():
                return self._enumeration(node, scope)
            case MajorSyntax():
                return self._major(node, scope)
            case GroupSyntax():
                inner = unwrap_single_entry(node)
                if inner is None:
                    scope.source.fail("a group stands where a type is needed", node.at)
                return self._type(inner, scope)

    def _ref(self, name: NameSyntax, scope: NameScope) -> TypeNode:
        """Resolve a name as a type."""
        if name.name in scope.bindings:
            bound = scope.bindings[name.name]
            return self._type(bound.node, bound.scope)
        if self.is_group(name, scope):
            scope.source.fail(f"{name.name!r} is a group; a type is needed here", name.at)
        definition = self.definition(name, scope)
        if definition is None:
            return RuleRef(name.name, SourceLocation(scope.source, name.at))
        inner = self.inner(definition, name, scope)
        key = self.number("type", id(definition), inner.key)
        if key not in self._refs:
            self._count(name, scope)
            place = SourceLocation(definition.source, definition.rules[0].at)
            self._refs[key] = RuleRef(definition.name, place)
            self._waiting_refs.append((self._refs[key], definition, inner))
        return self._refs[key]

    def _count(self, name: NameSyntax, scope: NameScope) -> None:
        """Refuse generics that make ever new instances."""
        if len(self._refs) + len(self._groups) > MAX_RULE_INSTANCES:
            hint = "a generic rule that calls itself with a larger argument has no end"
            scope.source.fail(
                f"more than {MAX_RULE_INSTANCES} rules, at {name.name!r}", name.at, hint
            )

    def _definition_type(self, definition: RuleDefinition, scope: NameScope) -> TypeNode:
        """Resolve all that is said about a rule that is a type."""
        found = [self._type(rule.body.value, scope) for rule in definition.rules]
        return found[0] if len(found) == 1 else ChoiceType(found)

    def _unwrapped(self, node: UnwrapSyntax, scope: NameScope) -> TypeNode:
        """Resolve `~name` where a type is needed: the content of a tag."""
        inner, inner_scope = self.follow(node.name, scope)
        if not isinstance(inner, MajorSyntax) or inner.major != MAJOR_TAG:
            hint = "a map or an array is unwrapped into a group, inside another map or array"
            scope.source.fail(
                f"{node.name.name!r} is not a tag and cannot be unwrapped into a type",
                node.at,
                hint,
            )
        return self._type(inner.content, inner_scope) if inner.content else AnyType()

    def _enumeration(self, node: EnumerationSyntax, scope: NameScope) -> TypeNode:
        """Resolve `&group`; the group may still be waiting, so its values are filled in at
        the end.
        """
        if isinstance(node.group, NameSyntax) and not self.is_group(node.group, scope):
            scope.source.fail(
                f"{node.group.name!r} is not a group; '&' makes a choice of a group", node.at
            )
        group = self._group_of(node.group, scope)
        choice = ChoiceType([])
        self._waiting_choices.append((choice, group))
        return choice

    def _major(self, node: MajorSyntax, scope: NameScope) -> TypeNode:
        """Resolve `#`, `#n`, `#n.m` and tags."""
        if node.major is None:
            return AnyType()
        if isinstance(node.argument, int) or node.argument is None:
            argument: int | TypeNode | None = node.argument
        else:
            argument = self._type(node.argument, scope)
        if node.major == MAJOR_TAG:
            content = self._type(node.content, scope) if node.content else AnyType()
            return TagType(argument, content)
        if argument is None or isinstance(argument, int):
            return MajorType(node.major, argument)
        return SimpleType(argument)

    # --- groups
    # ----------------------------------------------------------------------------------------

    def _group(self, node: GroupSyntax, scope: NameScope) -> GroupNode:
        """Resolve a group written in place."""
        sequences = [
            [self._item(entry, scope) for entry in sequence] for sequence in node.alternatives
        ]
        return GroupNode("", SourceLocation(scope.source, node.at), sequences)

    def _item(self, entry: GroupEntrySyntax, scope: NameScope) -> GroupItem:
        """Resolve one entry."""
        if entry.key is not None:
            key, value = self._type(entry.key.type, scope), self._type(entry.value, scope)
            return GroupItem(entry.least, entry.most, key, entry.key.cut, value)
        if self.is_group(entry.value, scope):
            return GroupItem(
                entry.least, entry.most, None, cut=False, value=self._group_of(entry.value, scope)
            )
        return GroupItem(
            entry.least, entry.most, None, cut=False, value=self._type(entry.value, scope)
        )

    def _group_of(self, node: TypeSyntax | GroupSyntax, scope: NameScope) -> GroupNode:
        """Resolve what was found to be a group: one in place, a name, or an unwrapped map
        or array.
        """
        if isinstance(node, GroupSyntax):
            return self._group(node, scope)
        if isinstance(node, NameSyntax) and node.name not in scope.bindings:
            definition = self.definition(node, scope)
            place = SourceLocation(scope.source, node.at)
            if definition is None:
                return GroupNode(node.name, place)
            inner = self.inner(definition, node, scope)
            key = self.number("group", id(definition), inner.key)
            if key not in self._groups:
                self._count(node, scope)
                self._groups[key] = GroupNode(
                    node.name, SourceLocation(definition.source, definition.rules[0].at)
                )
                self._waiting_groups.append((self._groups[key], definition, inner))
            return self._groups[key]
        target = node.name if isinstance(node, UnwrapSyntax) else node
        inner_node, inner_scope = self.follow(target, scope)
        if isinstance(node, UnwrapSyntax):
            return self._opened(node, inner_node, inner_scope, scope)
        return self._group_of(inner_node, inner_scope)

    def _opened(
        self,
        node: UnwrapSyntax,
        found: TypeSyntax | GroupSyntax,
        found_scope: NameScope,
        scope: NameScope,
    ) -> GroupNode:
        """Give the group inside the map or array that `~name` stands for."""
        if not isinstance(found, MapSyntax | ArraySyntax):
            scope.source.fail(
                f"{node.name.name!r} is no map, array or tag and cannot be unwrapped", node.at
            )
        key = self.number("unwrap", id(found), found_scope.key)
        if key not in self._groups:
            self._count(node.name, scope)
            opened = self._groups[key] = GroupNode(
                node.name.name, SourceLocation(scope.source, node.at)
            )
            opened.alternatives = self._group(found.group, found_scope).alternatives
        return self._groups[key]

    def _definition_group(
        self, definition: RuleDefinition, scope: NameScope
    ) -> list[list[GroupItem]]:
        """Resolve all that is said about a rule that is a group."""
        sequences: list[list[GroupItem]] = []
        for rule in definition.rules:
            if rule.body.plain and isinstance(rule.body.value, GroupSyntax):
                sequences += self._group(rule.body.value, scope).alternatives
            else:
                sequences.append([self._item(rule.body, scope)])
        return sequences


def _collect_group_values(group: GroupNode) -> list[TypeNode]:
    """Collect the values of a group, through the groups inside it."""
    found: list[TypeNode] = []
    seen = {id(group)}
    waiting = [group]
    while waiting:
        for item in (item for sequence in waiting.pop(0).alternatives for item in sequence):
            if not isinstance(item.value, GroupNode):
                found.append(item.value)
            elif id(item.value) not in seen:
                seen.add(id(item.value))
                waiting.append(item.value)
    return found


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The controller of these describes what is inside a string, not the string itself.
_STRING_CONTENT_OPERATORS = frozenset({"cbor", "cborseq", "json"})


def list_reachable_nodes(starts: Iterable[TypeNode | GroupNode]) -> list[TypeNode | GroupNode]:
    """Give every node that can be reached, each once."""
    seen: dict[int, TypeNode | GroupNode] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting.extend(list_child_nodes(node))
    return list(seen.values())


def check_no_endless_rules(nodes: list[TypeNode | GroupNode]) -> None:
    """Refuse rules and groups that come back to themselves without consuming anything.

    Raises:
        InvalidSchema: when there is one.

    """
    groups = [node for node in nodes if isinstance(node, GroupNode)]
    empty = _find_empty_groups(groups)
    _check_no_cycles(nodes, _list_type_steps, "rule {!r} refers to itself with nothing in between")
    _check_no_cycles(
        groups, lambda node: _list_group_steps(node, empty), "group {!r} starts with itself"
    )
    maps = [node.group for node in nodes if isinstance(node, MapType)]
    _check_no_cycles(maps, _list_member_steps, "group {!r} includes itself in a map")


def _list_type_steps(node: TypeNode | GroupNode) -> Iterator[TypeNode | GroupNode]:
    """Go to what the same value is checked against."""
    match node:
        case RuleRef() | ChoiceType() | RangeType() | SimpleType():
            yield from list_child_nodes(node)
        case ControlType():
            yield node.target
            if node.operator not in _STRING_CONTENT_OPERATORS:
                yield node.controller
        case TagType() if isinstance(node.number, TypeNode):
            yield node.number
        case _:
            pass


def _list_group_steps(
    node: TypeNode | GroupNode, empty: set[int]
) -> Iterator[TypeNode | GroupNode]:
    """Go to the groups that start where this one starts."""
    if isinstance(node, GroupNode):
        for sequence in node.alternatives:
            for item in sequence:
                if isinstance(item.value, GroupNode):
                    yield item.value
                if not _can_item_be_empty(item, empty):
                    break


def _list_member_steps(node: TypeNode | GroupNode) -> Iterator[TypeNode | GroupNode]:
    """Go to the groups that a map would include."""
    if isinstance(node, GroupNode):
        items = (item for sequence in node.alternatives for item in sequence)
        yield from (item.value for item in items if isinstance(item.value, GroupNode))


def _can_item_be_empty(item: GroupItem, empty: set[int]) -> bool:
    return item.least == 0 or id(item.value) in empty


def _find_empty_groups(groups: list[GroupNode]) -> set[int]:
    """Find the groups that match no entry at all."""
    empty: set[int] = set()
    grown = True
    while grown:
        grown = False
        for group in groups:
            if id(group) not in empty and any(
                all(_can_item_be_empty(item, empty) for item in sequence)
                for sequence in group.alternatives
            ):
                empty.add(id(group))
                grown = True
    return empty


def _check_no_cycles(
    nodes: Iterable[TypeNode | GroupNode],
    steps: Callable[[TypeNode | GroupNode], Iterator[TypeNode | GroupNode]],
    message: str,
) -> None:
    """Walk depth first without recursion, and refuse the first step back onto the path."""
    done: set[int] = set()
    for start in nodes:
        path: list[tuple[TypeNode | GroupNode, Iterator[TypeNode | GroupNode]]] = [
            (start, steps(start))
        ]
        on_path = {id(start)}
        while path and id(start) not in done:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                on_path.discard(id(node))
                done.add(id(node))
            elif id(following) in on_path:
                _raise_cycle_error([step for step, _ in path], message)
            elif id(following) not in done:
                path.append((following, steps(following)))
                on_path.add(id(following))


def _raise_cycle_error(path: list[TypeNode | GroupNode], message: str) -> None:
    """Name the last named node of a cycle."""
    named = [node for node in path if isinstance(node, RuleRef | GroupNode) and node.name] or path
    last = named[-1]
    where = str(last.place) if isinstance(last, RuleRef | GroupNode | MapType | ArrayType) else ""
    name = last.name if isinstance(last, RuleRef | GroupNode) else ""
    raise InvalidSchema(message.format(name), where=where)
