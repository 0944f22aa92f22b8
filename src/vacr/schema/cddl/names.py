"""Resolve the names of a CDDL text: rules, generics, sockets, groups and types. Step: validate.

Follows RFC 8610 sections 2 and 3: the first rule is the root, `/=` and `//=` extend, an undefined `$socket` is an empty
choice (3.9), generics are instantiated once for each list of arguments (3.10), `~` unwraps (3.7) and `&` turns a group
into a choice (2.2.2.2). A rule of the text hides the prelude's rule of the same name. Rules wait in a queue instead of
calling each other, so a long chain of names costs no stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from vacr.schema.cddl import model, syntax
from vacr.schema.cddl.model import GroupNode, Item, Node, Place

if TYPE_CHECKING:
    from vacr.schema.cddl.lexer import Source

MOST_INSTANCES = 5000
_Bindings: TypeAlias = "dict[str, _Bound]"


@dataclass(eq=False, slots=True)
class Definition:
    """All that a text says about one name."""

    source: Source
    table: Table
    name: str
    parameters: tuple[str, ...]
    rules: list[syntax.Rule]


@dataclass(eq=False, slots=True)
class Table:
    """The definitions of one text, and the table to look in next."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    outer: Table | None = None

    def find(self, name: str) -> Definition | None:
        """Look a name up here, then outside."""
        found = self.definitions.get(name)
        return found if found or self.outer is None else self.outer.find(name)


@dataclass(eq=False, slots=True)
class _Scope:
    """What the names of a piece of text mean; `key` numbers the instance of a generic it belongs to."""

    source: Source
    table: Table
    bindings: _Bindings = field(default_factory=dict)
    key: int = 0


@dataclass(eq=False, slots=True)
class _Bound:
    """A generic argument with the scope it was written in."""

    node: syntax.Type
    scope: _Scope
    key: int


def tabulate(source: Source, rules: list[syntax.Rule], outer: Table | None = None) -> Table:
    """Gather the definitions of a text by name.

    Raises:
        InvalidSchema: when a name is defined twice in different ways.

    """
    table = Table(outer=outer)
    for rule in rules:
        known = table.definitions.get(rule.name)
        if known is None:
            table.definitions[rule.name] = Definition(source, table, rule.name, rule.parameters, [rule])
            continue
        if rule.parameters != known.parameters:
            source.fail(f"rule {rule.name!r} is extended with other generic parameters", rule.at)
        first = next((r for r in known.rules if r.operator == "="), None)
        if rule.operator == "=" and first is not None:
            if first != rule:
                hint = f"the other definition is at {source.where(first.at)}; extend it with /= or //="
                source.fail(f"rule {rule.name!r} is defined twice, differently", rule.at, hint)
            continue
        known.rules.append(rule)
    return table


def _single(group: syntax.Group) -> syntax.Type | syntax.Group | None:
    """Give what a group of one plain entry holds: it is that, in parentheses."""
    match group.alternatives:
        case [[entry]] if entry.plain:
            return entry.value
        case _:
            return None


class Resolver:
    """Turns syntax into model, one instance of each rule."""

    def __init__(self, table: Table) -> None:
        """Start with nothing resolved."""
        self._table = table
        self._numbers: dict[tuple[object, ...], int] = {}
        self._refs: dict[int, model.Ref] = {}
        self._groups: dict[int, GroupNode] = {}
        self._waiting_refs: list[tuple[model.Ref, Definition, _Scope]] = []
        self._waiting_groups: list[tuple[GroupNode, Definition, _Scope]] = []
        self._waiting_choices: list[tuple[model.OneOf, GroupNode]] = []
        self._kept: list[syntax.Type] = []

    def resolve(self, source: Source, node: syntax.Type) -> Node:
        """Resolve a type written at the top of a text, and everything it needs.

        Raises:
            InvalidSchema: when a name is undefined or used as what it is not.

        """
        # Nodes are told apart by identity, so one that was numbered must not go away.
        self._kept.append(node)
        found = self._type(node, _Scope(source, self._table))
        self._drain()
        return found

    def resolve_all(self, table: Table) -> list[Node | GroupNode]:
        """Resolve every rule of a table that is not generic.

        Raises:
            InvalidSchema: when a name is undefined or used as what it is not.

        """
        found: list[Node | GroupNode] = []
        for definition in table.definitions.values():
            if definition.parameters:
                continue
            scope = _Scope(definition.source, definition.table)
            name = syntax.Name(definition.name, (), definition.rules[0].at)
            found.append(
                self._group_of(name, scope) if self._is_group(name, scope) else self._type(name, scope)
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
            choice.alternatives = _values(group)
        self._waiting_choices.clear()

    # --- names ------------------------------------------------------------------------------------------------

    def _number(self, *key: object) -> int:
        """Number a key, so that keys made of keys stay small."""
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def _definition(self, name: syntax.Name, scope: _Scope) -> Definition | None:
        """Find the definition a name stands for; None for a socket without one."""
        found = scope.table.find(name.name)
        if found is None and not name.name.startswith("$"):
            from difflib import get_close_matches  # noqa: PLC0415 - needed for this message alone

            close = get_close_matches(name.name, scope.table.definitions, 1)
            hint = f"did you mean {close[0]!r}?" if close else ""
            scope.source.fail(f"rule {name.name!r} is not defined", name.at, hint)
        wanted = len(found.parameters) if found else len(name.arguments)
        if wanted != len(name.arguments):
            scope.source.fail(
                f"{name.name!r} takes {wanted} generic arguments, not {len(name.arguments)}", name.at
            )
        return found

    def _inner(self, definition: Definition, name: syntax.Name, scope: _Scope) -> _Scope:
        """Make the scope in which the body of a definition is read."""
        if not definition.parameters:
            return _Scope(definition.source, definition.table)
        bounds = [self._bound(argument, scope) for argument in name.arguments]
        key = self._number(definition.name, *(bound.key for bound in bounds))
        bindings = dict(zip(definition.parameters, bounds, strict=True))
        return _Scope(definition.source, definition.table, bindings, key)

    def _bound(self, argument: syntax.Type, scope: _Scope) -> _Bound:
        """Bind a generic argument; one that is itself a parameter stays the same argument."""
        if isinstance(argument, syntax.Name) and argument.name in scope.bindings:
            return scope.bindings[argument.name]
        if isinstance(argument, syntax.Name) and not argument.arguments:
            return _Bound(argument, scope, self._number("name", argument.name, id(scope.table)))
        return _Bound(argument, scope, self._number("node", id(argument), scope.key))

    def _follow(
        self, node: syntax.Type | syntax.Group, scope: _Scope
    ) -> tuple[syntax.Type | syntax.Group, _Scope]:
        """Step through parentheses, parameters and rules that only name another, to what is meant."""
        seen: set[tuple[int, int]] = set()
        while True:
            if isinstance(node, syntax.Group):
                inner = _single(node)
                if inner is None:
                    return node, scope
                node = inner
            elif isinstance(node, syntax.Name) and node.name in scope.bindings:
                bound = scope.bindings[node.name]
                node, scope = bound.node, bound.scope
            elif isinstance(node, syntax.Name):
                definition = self._definition(node, scope)
                if definition is None or len(definition.rules) > 1 or not definition.rules[0].body.plain:
                    return node, scope
                inner_scope = self._inner(definition, node, scope)
                if (id(definition), inner_scope.key) in seen or definition.rules[0].operator == "//=":
                    return node, scope
                seen.add((id(definition), inner_scope.key))
                if len(seen) > MOST_INSTANCES:
                    scope.source.fail(f"rule {node.name!r} has no end", node.at)
                node, scope = definition.rules[0].body.value, inner_scope
            else:
                return node, scope

    def _is_group(self, node: syntax.Type | syntax.Group, scope: _Scope) -> bool:
        """Tell whether this is a group and not a type (RFC 8610 section 2.1)."""
        node, scope = self._follow(node, scope)
        if isinstance(node, syntax.Name):
            definition = self._definition(node, scope)
            if definition is None or node.name.startswith("$$"):
                return node.name.startswith("$$")
            inner = self._inner(definition, node, scope)
            return any(
                rule.operator == "//="
                or not rule.body.plain
                or (isinstance(rule.body.value, syntax.Group) and _single(rule.body.value) is None)
                or (
                    rule is not definition.rules[0]
                    and rule.operator == "="
                    and self._is_group(rule.body.value, inner)
                )
                for rule in definition.rules
            )
        if isinstance(node, syntax.Unwrap):
            return not isinstance(self._follow(node.name, scope)[0], syntax.Major)
        return isinstance(node, syntax.Group)

    # --- types ------------------------------------------------------------------------------------------------

    def _type(self, node: syntax.Type | syntax.Group, scope: _Scope) -> Node:
        """Resolve a type."""
        place = Place(scope.source, node.at)
        match node:
            case syntax.Literal():
                return model.Exact(node.value)
            case syntax.Name():
                return self._ref(node, scope)
            case syntax.Choice():
                return model.OneOf([self._type(part, scope) for part in node.alternatives])
            case syntax.Range():
                low, high = self._type(node.low, scope), self._type(node.high, scope)
                return model.Between(low, high, node.inclusive, place)
            case syntax.Control():
                target, controller = self._type(node.target, scope), self._type(node.controller, scope)
                return model.Controlled(node.operator, target, controller, place)
            case syntax.Map():
                return model.MapType(self._group(node.group, scope), place)
            case syntax.Array():
                return model.ArrayType(self._group(node.group, scope), place)
            case syntax.Unwrap():
                return self._unwrapped(node, scope)
            case syntax.Enumeration():
                return self._enumeration(node, scope)
            case syntax.Major():
                return self._major(node, scope)
            case syntax.Group():
                inner = _single(node)
                if inner is None:
                    scope.source.fail("a group stands where a type is needed", node.at)
                return self._type(inner, scope)

    def _ref(self, name: syntax.Name, scope: _Scope) -> Node:
        """Resolve a name as a type."""
        if name.name in scope.bindings:
            bound = scope.bindings[name.name]
            return self._type(bound.node, bound.scope)
        if self._is_group(name, scope):
            scope.source.fail(f"{name.name!r} is a group; a type is needed here", name.at)
        definition = self._definition(name, scope)
        if definition is None:
            return model.Ref(name.name, Place(scope.source, name.at))
        inner = self._inner(definition, name, scope)
        key = self._number("type", id(definition), inner.key)
        if key not in self._refs:
            self._count(name, scope)
            place = Place(definition.source, definition.rules[0].at)
            self._refs[key] = model.Ref(name.name, place)
            self._waiting_refs.append((self._refs[key], definition, inner))
        return self._refs[key]

    def _count(self, name: syntax.Name, scope: _Scope) -> None:
        """Refuse generics that make ever new instances."""
        if len(self._refs) + len(self._groups) > MOST_INSTANCES:
            hint = "a generic rule that calls itself with a larger argument has no end"
            scope.source.fail(f"more than {MOST_INSTANCES} rules, at {name.name!r}", name.at, hint)

    def _definition_type(self, definition: Definition, scope: _Scope) -> Node:
        """Resolve all that is said about a rule that is a type."""
        found = [self._type(rule.body.value, scope) for rule in definition.rules]
        return found[0] if len(found) == 1 else model.OneOf(found)

    def _unwrapped(self, node: syntax.Unwrap, scope: _Scope) -> Node:
        """Resolve `~name` where a type is needed: the content of a tag."""
        inner, inner_scope = self._follow(node.name, scope)
        if not isinstance(inner, syntax.Major) or inner.major != model.TAG:
            hint = "a map or an array is unwrapped into a group, inside another map or array"
            scope.source.fail(
                f"{node.name.name!r} is not a tag and cannot be unwrapped into a type", node.at, hint
            )
        return self._type(inner.content, inner_scope) if inner.content else model.AnyType()

    def _enumeration(self, node: syntax.Enumeration, scope: _Scope) -> Node:
        """Resolve `&group`; the group may still be waiting, so its values are filled in at the end."""
        if isinstance(node.group, syntax.Name) and not self._is_group(node.group, scope):
            scope.source.fail(f"{node.group.name!r} is not a group; '&' makes a choice of a group", node.at)
        group = self._group_of(node.group, scope)
        choice = model.OneOf([])
        self._waiting_choices.append((choice, group))
        return choice

    def _major(self, node: syntax.Major, scope: _Scope) -> Node:
        """Resolve `#`, `#n`, `#n.m` and tags."""
        if node.major is None:
            return model.AnyType()
        if isinstance(node.argument, int) or node.argument is None:
            argument: int | Node | None = node.argument
        else:
            argument = self._type(node.argument, scope)
        if node.major == model.TAG:
            content = self._type(node.content, scope) if node.content else model.AnyType()
            return model.Tagged(argument, content)
        if argument is None or isinstance(argument, int):
            return model.Kind(node.major, argument)
        return model.SimpleOf(argument)

    # --- groups -----------------------------------------------------------------------------------------------

    def _group(self, node: syntax.Group, scope: _Scope) -> GroupNode:
        """Resolve a group written in place."""
        sequences = [[self._item(entry, scope) for entry in sequence] for sequence in node.alternatives]
        return GroupNode("", Place(scope.source, node.at), sequences)

    def _item(self, entry: syntax.Entry, scope: _Scope) -> Item:
        """Resolve one entry."""
        if entry.key is not None:
            key, value = self._type(entry.key.type, scope), self._type(entry.value, scope)
            return Item(entry.least, entry.most, key, entry.key.cut, value)
        if self._is_group(entry.value, scope):
            return Item(entry.least, entry.most, None, cut=False, value=self._group_of(entry.value, scope))
        return Item(entry.least, entry.most, None, cut=False, value=self._type(entry.value, scope))

    def _group_of(self, node: syntax.Type | syntax.Group, scope: _Scope) -> GroupNode:
        """Resolve what was found to be a group: one in place, a name, or an unwrapped map or array."""
        if isinstance(node, syntax.Group):
            return self._group(node, scope)
        if isinstance(node, syntax.Name) and node.name not in scope.bindings:
            definition = self._definition(node, scope)
            place = Place(scope.source, node.at)
            if definition is None:
                return GroupNode(node.name, place)
            inner = self._inner(definition, node, scope)
            key = self._number("group", id(definition), inner.key)
            if key not in self._groups:
                self._count(node, scope)
                self._groups[key] = GroupNode(node.name, Place(definition.source, definition.rules[0].at))
                self._waiting_groups.append((self._groups[key], definition, inner))
            return self._groups[key]
        target = node.name if isinstance(node, syntax.Unwrap) else node
        inner_node, inner_scope = self._follow(target, scope)
        if isinstance(node, syntax.Unwrap):
            return self._opened(node, inner_node, inner_scope, scope)
        return self._group_of(inner_node, inner_scope)

    def _opened(
        self, node: syntax.Unwrap, found: syntax.Type | syntax.Group, found_scope: _Scope, scope: _Scope
    ) -> GroupNode:
        """Give the group inside the map or array that `~name` stands for."""
        if not isinstance(found, syntax.Map | syntax.Array):
            scope.source.fail(f"{node.name.name!r} is no map, array or tag and cannot be unwrapped", node.at)
        key = self._number("unwrap", id(found), found_scope.key)
        if key not in self._groups:
            self._count(node.name, scope)
            opened = self._groups[key] = GroupNode(node.name.name, Place(scope.source, node.at))
            opened.alternatives = self._group(found.group, found_scope).alternatives
        return self._groups[key]

    def _definition_group(self, definition: Definition, scope: _Scope) -> list[list[Item]]:
        """Resolve all that is said about a rule that is a group."""
        sequences: list[list[Item]] = []
        for rule in definition.rules:
            if rule.body.plain and isinstance(rule.body.value, syntax.Group):
                sequences += self._group(rule.body.value, scope).alternatives
            else:
                sequences.append([self._item(rule.body, scope)])
        return sequences


def _values(group: GroupNode) -> list[Node]:
    """Collect the values of a group, through the groups inside it."""
    found: list[Node] = []
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
