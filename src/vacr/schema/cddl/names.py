"""Resolve the names of a CDDL text: rules, generics, sockets, groups and types. Step: validate.

Follows RFC 8610 sections 2 and 3: the first rule is the root, `/=` and `//=` extend, an undefined
`$socket` is an empty choice (3.9), generics are instantiated once for each list of arguments
(3.10), `~` unwraps (3.7) and `&` turns a group into a choice (2.2.2.2). A rule of the text hides
the prelude's rule of the same name, unless it only extends it. Rules wait in a queue instead of
calling each other, so a long chain of names costs no stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl import model, syntax
from vacr.schema.cddl.lookup import MOST_INSTANCES, Lookup, single
from vacr.schema.cddl.model import GroupNode, Item, Node, Place
from vacr.schema.cddl.scopes import Scope

if TYPE_CHECKING:
    from vacr.schema.cddl.lexer import Source
    from vacr.schema.cddl.scopes import Definition, Table


class Resolver(Lookup):
    """Turns syntax into model, one instance of each rule."""

    def __init__(self, table: Table) -> None:
        """Start with nothing resolved."""
        super().__init__()
        self._table = table
        self._refs: dict[int, model.Ref] = {}
        self._groups: dict[int, GroupNode] = {}
        self._waiting_refs: list[tuple[model.Ref, Definition, Scope]] = []
        self._waiting_groups: list[tuple[GroupNode, Definition, Scope]] = []
        self._waiting_choices: list[tuple[model.OneOf, GroupNode]] = []
        self._kept: list[syntax.Type] = []

    def resolve(self, source: Source, node: syntax.Type) -> Node:
        """Resolve a type written at the top of a text, and everything it needs.

        Raises:
            InvalidSchema: when a name is undefined or used as what it is not.

        """
        # Nodes are told apart by identity, so one that was numbered must not go away.
        self._kept.append(node)
        found = self._type(node, Scope(source, self._table))
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
            scope = Scope(definition.source, definition.table)
            name = syntax.Name(definition.name, (), definition.rules[0].at)
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
            choice.alternatives = _values(group)
        self._waiting_choices.clear()

    # --- types
    # -----------------------------------------------------------------------------------------

    def _type(self, node: syntax.Type | syntax.Group, scope: Scope) -> Node:
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
                target, controller = (
                    self._type(node.target, scope),
                    self._type(node.controller, scope),
                )
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
                inner = single(node)
                if inner is None:
                    scope.source.fail("a group stands where a type is needed", node.at)
                return self._type(inner, scope)

    def _ref(self, name: syntax.Name, scope: Scope) -> Node:
        """Resolve a name as a type."""
        if name.name in scope.bindings:
            bound = scope.bindings[name.name]
            return self._type(bound.node, bound.scope)
        if self.is_group(name, scope):
            scope.source.fail(f"{name.name!r} is a group; a type is needed here", name.at)
        definition = self.definition(name, scope)
        if definition is None:
            return model.Ref(name.name, Place(scope.source, name.at))
        inner = self.inner(definition, name, scope)
        key = self.number("type", id(definition), inner.key)
        if key not in self._refs:
            self._count(name, scope)
            place = Place(definition.source, definition.rules[0].at)
            self._refs[key] = model.Ref(definition.name, place)
            self._waiting_refs.append((self._refs[key], definition, inner))
        return self._refs[key]

    def _count(self, name: syntax.Name, scope: Scope) -> None:
        """Refuse generics that make ever new instances."""
        if len(self._refs) + len(self._groups) > MOST_INSTANCES:
            hint = "a generic rule that calls itself with a larger argument has no end"
            scope.source.fail(f"more than {MOST_INSTANCES} rules, at {name.name!r}", name.at, hint)

    def _definition_type(self, definition: Definition, scope: Scope) -> Node:
        """Resolve all that is said about a rule that is a type."""
        found = [self._type(rule.body.value, scope) for rule in definition.rules]
        return found[0] if len(found) == 1 else model.OneOf(found)

    def _unwrapped(self, node: syntax.Unwrap, scope: Scope) -> Node:
        """Resolve `~name` where a type is needed: the content of a tag."""
        inner, inner_scope = self.follow(node.name, scope)
        if not isinstance(inner, syntax.Major) or inner.major != model.TAG:
            hint = "a map or an array is unwrapped into a group, inside another map or array"
            scope.source.fail(
                f"{node.name.name!r} is not a tag and cannot be unwrapped into a type",
                node.at,
                hint,
            )
        return self._type(inner.content, inner_scope) if inner.content else model.AnyType()

    def _enumeration(self, node: syntax.Enumeration, scope: Scope) -> Node:
        """Resolve `&group`; the group may still be waiting, so its values are filled in at
        the end.
        """
        if isinstance(node.group, syntax.Name) and not self.is_group(node.group, scope):
            scope.source.fail(
                f"{node.group.name!r} is not a group; '&' makes a choice of a group", node.at
            )
        group = self._group_of(node.group, scope)
        choice = model.OneOf([])
        self._waiting_choices.append((choice, group))
        return choice

    def _major(self, node: syntax.Major, scope: Scope) -> Node:
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

    # --- groups
    # ----------------------------------------------------------------------------------------

    def _group(self, node: syntax.Group, scope: Scope) -> GroupNode:
        """Resolve a group written in place."""
        sequences = [
            [self._item(entry, scope) for entry in sequence] for sequence in node.alternatives
        ]
        return GroupNode("", Place(scope.source, node.at), sequences)

    def _item(self, entry: syntax.Entry, scope: Scope) -> Item:
        """Resolve one entry."""
        if entry.key is not None:
            key, value = self._type(entry.key.type, scope), self._type(entry.value, scope)
            return Item(entry.least, entry.most, key, entry.key.cut, value)
        if self.is_group(entry.value, scope):
            return Item(
                entry.least, entry.most, None, cut=False, value=self._group_of(entry.value, scope)
            )
        return Item(entry.least, entry.most, None, cut=False, value=self._type(entry.value, scope))

    def _group_of(self, node: syntax.Type | syntax.Group, scope: Scope) -> GroupNode:
        """Resolve what was found to be a group: one in place, a name, or an unwrapped map
        or array.
        """
        if isinstance(node, syntax.Group):
            return self._group(node, scope)
        if isinstance(node, syntax.Name) and node.name not in scope.bindings:
            definition = self.definition(node, scope)
            place = Place(scope.source, node.at)
            if definition is None:
                return GroupNode(node.name, place)
            inner = self.inner(definition, node, scope)
            key = self.number("group", id(definition), inner.key)
            if key not in self._groups:
                self._count(node, scope)
                self._groups[key] = GroupNode(
                    node.name, Place(definition.source, definition.rules[0].at)
                )
                self._waiting_groups.append((self._groups[key], definition, inner))
            return self._groups[key]
        target = node.name if isinstance(node, syntax.Unwrap) else node
        inner_node, inner_scope = self.follow(target, scope)
        if isinstance(node, syntax.Unwrap):
            return self._opened(node, inner_node, inner_scope, scope)
        return self._group_of(inner_node, inner_scope)

    def _opened(
        self,
        node: syntax.Unwrap,
        found: syntax.Type | syntax.Group,
        found_scope: Scope,
        scope: Scope,
    ) -> GroupNode:
        """Give the group inside the map or array that `~name` stands for."""
        if not isinstance(found, syntax.Map | syntax.Array):
            scope.source.fail(
                f"{node.name.name!r} is no map, array or tag and cannot be unwrapped", node.at
            )
        key = self.number("unwrap", id(found), found_scope.key)
        if key not in self._groups:
            self._count(node.name, scope)
            opened = self._groups[key] = GroupNode(node.name.name, Place(scope.source, node.at))
            opened.alternatives = self._group(found.group, found_scope).alternatives
        return self._groups[key]

    def _definition_group(self, definition: Definition, scope: Scope) -> list[list[Item]]:
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
