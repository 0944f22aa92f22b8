"""Find out what a name stands for: which rule, and whether a group or a type. Step: validate.

Follows RFC 8610 sections 2.1 and 3.10. Chains of names are walked without recursion, and what was
found out is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vacr.schema.cddl import syntax
from vacr.schema.cddl.scopes import Bound, Scope

if TYPE_CHECKING:
    from vacr.schema.cddl.scopes import Definition

MOST_INSTANCES = 5000


def single(group: syntax.Group) -> syntax.Type | syntax.Group | None:
    """Give what a group of one plain entry holds: it is that, in parentheses."""
    match group.alternatives:
        case [[entry]] if entry.plain:
            return entry.value
        case _:
            return None


def _is_alias(definition: Definition) -> bool:
    """Tell whether a rule says nothing but one type, or one name."""
    rule = definition.rules[0]
    return len(definition.rules) == 1 and rule.body.plain and rule.operator != "//="


def _looks_like_group(rule: syntax.Rule) -> bool:
    """Tell whether a definition can only be that of a group."""
    value = rule.body.value
    return (
        rule.operator == "//="
        or not rule.body.plain
        or (isinstance(value, syntax.Group) and single(value) is None)
    )


class Lookup:
    """Knows the rules by name, and numbers the instances of generic ones."""

    def __init__(self) -> None:
        """Start with nothing found out."""
        self._numbers: dict[tuple[object, ...], int] = {}
        self._kinds: dict[int, bool] = {}

    def number(self, *key: object) -> int:
        """Give a key a number, so that keys made of keys stay small."""
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def definition(self, name: syntax.Name, scope: Scope) -> Definition | None:
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

    def inner(self, definition: Definition, name: syntax.Name, scope: Scope) -> Scope:
        """Make the scope in which the body of a definition is read."""
        if not definition.parameters:
            return Scope(definition.source, definition.table)
        bounds = [self._bound(argument, scope) for argument in name.arguments]
        key = self.number(definition.name, *(bound.key for bound in bounds))
        bindings = dict(zip(definition.parameters, bounds, strict=True))
        return Scope(definition.source, definition.table, bindings, key)

    def _bound(self, argument: syntax.Type, scope: Scope) -> Bound:
        """Bind a generic argument; one that is itself a parameter stays the same argument."""
        if isinstance(argument, syntax.Name) and argument.name in scope.bindings:
            return scope.bindings[argument.name]
        if isinstance(argument, syntax.Name) and not argument.arguments:
            return Bound(argument, scope, self.number("name", argument.name, id(scope.table)))
        return Bound(argument, scope, self.number("node", id(argument), scope.key))

    def follow(
        self, node: syntax.Type | syntax.Group, scope: Scope
    ) -> tuple[syntax.Type | syntax.Group, Scope]:
        """Step through parentheses, parameters and rules that only name another, to what
        is meant.
        """
        seen: set[tuple[int, int]] = set()
        while True:
            if isinstance(node, syntax.Group):
                inner = single(node)
                if inner is None:
                    return node, scope
                node = inner
            elif isinstance(node, syntax.Name) and node.name in scope.bindings:
                bound = scope.bindings[node.name]
                node, scope = bound.node, bound.scope
            elif isinstance(node, syntax.Name):
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
                if len(seen) > MOST_INSTANCES:
                    scope.source.fail(f"rule {node.name!r} has no end", node.at)
                node, scope = definition.rules[0].body.value, inner_scope
            else:
                return node, scope

    def is_group(self, node: syntax.Type | syntax.Group, scope: Scope) -> bool:
        """Tell whether this is a group and not a type (RFC 8610 section 2.1)."""
        path: list[int] = []
        found: bool | None = None
        while found is None:
            if isinstance(node, syntax.Group):
                inner = single(node)
                found = True if inner is None else None
                node = node if inner is None else inner
            elif isinstance(node, syntax.Name) and node.name in scope.bindings:
                bound = scope.bindings[node.name]
                node, scope = bound.node, bound.scope
            elif isinstance(node, syntax.Name):
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
                found = isinstance(node, syntax.Unwrap) and not self._is_tag(node.name, scope)
        self._kinds.update(dict.fromkeys(path, found))
        return found

    def _is_tag(self, name: syntax.Name, scope: Scope) -> bool:
        return isinstance(self.follow(name, scope)[0], syntax.Major)
