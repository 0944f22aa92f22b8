"""From the syntax tree to the graph of types: what each name of a schema stands for.

A name may be a rule of the text or of the prelude, a generic with arguments, a socket that others
extend, a group or a type. `NameResolver` replaces every name by a node of `type_graph`:

    >>> from vacr.cddl.names import NameResolver, build_rule_table
    >>> from vacr.cddl.syntax import parse_rules, parse_type
    >>> from vacr.cddl.tokens import CddlSource
    >>> source = CddlSource("list<t> = [* t]  id = #0  id /= #3", "example")
    >>> resolver = NameResolver(build_rule_table(source, parse_rules(source)))
    >>> expression = CddlSource("list<id>", "expression")
    >>> array = resolver.resolve(expression, parse_type(expression)).node
    >>> [[item]] = array.group.alternatives
    >>> item.value.name, [part.major for part in item.value.node.alternatives]
    ('id', [0, 3])

Resolution follows RFC 8610 sections 2 and 3. A name is defined once and extended any number of
times with `/=` and `//=` (2.2.2). An undefined `$socket` is an empty choice (3.9). A generic has
one instance for each list of arguments (3.10). `~` unwraps (3.7), and `&` turns a group into a
choice (2.2.2.2). A rule of the text hides the prelude's rule of the same name, unless it only
extends it.

Rules wait in a queue instead of calling each other, and chains of names are followed in loops, so a
long chain costs no stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

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
    unwrap_single_entry,
)
from vacr.cddl.tokens import CddlSource
from vacr.cddl.type_graph import (
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
    list_group_items,
)
from vacr.cddl.values import MAJOR_TAG

MAX_RULE_INSTANCES = 5000

# A rule that only extends one of the prelude starts with that one, by a name no text can contain.
_PRELUDE_PREFIX = "prelude:"


@dataclass(eq=False, slots=True)
class RuleDefinition:
    """All definitions of one name in a text: `=` and its extensions with `/=` and `//=`."""

    source: CddlSource
    table: RuleTable
    name: str
    parameters: tuple[str, ...]
    rules: list[RuleSyntax]

    @property
    def is_alias(self) -> bool:
        """Return whether the rule has one definition, without key or occurrence: `a = b`."""
        first = self.rules[0]
        return len(self.rules) == 1 and first.body.is_plain and first.operator != "//="

    @property
    def place(self) -> SourceLocation:
        """Return the place of the first definition."""
        return SourceLocation(self.source, self.rules[0].at)


@dataclass(eq=False, slots=True)
class RuleTable:
    """The definitions of one text, and the table to look in next."""

    definitions: dict[str, RuleDefinition] = field(default_factory=dict)
    outer: RuleTable | None = None

    def find(self, name: str) -> RuleDefinition | None:
        """Return the definition of a name, here or else in the outer table; `None` without one.

        A name that starts with `prelude:` is looked up in the outer table only.
        """
        if name.startswith(_PRELUDE_PREFIX):
            return self.outer.find(name.removeprefix(_PRELUDE_PREFIX)) if self.outer else None
        definition = self.definitions.get(name)
        if definition is None and self.outer is not None:
            return self.outer.find(name)
        return definition


@dataclass(eq=False, slots=True)
class NameScope:
    """The meaning of names in a piece of text.

    `bindings` has the arguments of generic parameters, and `key` is the number of the generic
    instance, or 0 outside of one.
    """

    source: CddlSource
    table: RuleTable
    bindings: dict[str, BoundArgument] = field(default_factory=dict)
    key: int = 0

    def locate(self, node: TypeSyntax | GroupSyntax) -> SourceLocation:
        """Return the place of a node in the text."""
        return SourceLocation(self.source, node.at)


@dataclass(eq=False, slots=True)
class BoundArgument:
    """A generic argument with the scope of its text; equal arguments have the same `key`."""

    node: TypeSyntax
    scope: NameScope
    key: int


def build_rule_table(
    source: CddlSource, rules: list[RuleSyntax], outer: RuleTable | None = None
) -> RuleTable:
    """Return the rules of a text by name; `outer` is the table to search for other names.

    A name that the text only extends with `/=` starts with the definition in `outer`.

    Raises:
        CddlError: when a name is defined twice in different ways.

    """
    table = RuleTable(outer=outer)
    for rule in rules:
        definition = table.definitions.get(rule.name)
        if definition is None:
            table.definitions[rule.name] = RuleDefinition(
                source, table, rule.name, rule.parameters, [rule]
            )
        else:
            _add_rule(source, definition, rule)
    if outer is not None:
        for name, definition in table.definitions.items():
            only_extends = all(rule.operator == "/=" for rule in definition.rules)
            if only_extends and outer.find(name):
                _start_with_outer_rule(definition)
    return table


def _add_rule(source: CddlSource, definition: RuleDefinition, rule: RuleSyntax) -> None:
    """Add another rule to the definition of its name, unless it repeats the first word for word.

    Raises:
        CddlError: when it has other parameters, or is a second and different `=`.

    """
    if rule.parameters != definition.parameters:
        hint = f"The first definition is at {definition.place}."
        source.fail(f"rule {rule.name!r} already has other generic parameters", rule.at, hint)
    first = next((known for known in definition.rules if known.operator == "="), None)
    if rule.operator != "=" or first is None:
        definition.rules.append(rule)
    elif first != rule:
        hint = f"The other definition is at {source.locate(first.at)}; extend it with /= or //=."
        source.fail(f"rule {rule.name!r} is defined twice, with different types", rule.at, hint)


def _start_with_outer_rule(definition: RuleDefinition) -> None:
    """Make the outer rule of the same name the first choice of a definition.

    The definition consists of `/=` rules, which extend the outer rule.
    """
    at = definition.rules[0].at
    outer_name = NameSyntax(_PRELUDE_PREFIX + definition.name, (), at)
    body = GroupEntrySyntax(1, 1, None, outer_name, at)
    definition.rules.insert(0, RuleSyntax(definition.name, (), "=", body, at))


class RuleLookup:
    """Finds rules by name, and numbers the instances of generic ones."""

    def __init__(self) -> None:
        """Start without numbered keys and known groups."""
        self._numbers: dict[tuple[object, ...], int] = {}
        self._is_group: dict[int, bool] = {}

    def number_key(self, *key: object) -> int:
        """Return a number for a key: the same for the same parts, and a new one for new parts.

        A number can be part of another key, so nested keys stay small.
        """
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def find_definition(self, name: NameSyntax, scope: NameScope) -> RuleDefinition | None:
        """Return the definition of a name, or `None` for a socket (`$name`) without one.

        Raises:
            CddlError: when any other name is undefined, or the number of arguments is wrong.

        """
        definition = scope.table.find(name.name)
        if definition is None:
            if not name.name.startswith("$"):
                self._fail_undefined(name, scope)
            return None
        expected, found = len(definition.parameters), len(name.arguments)
        if expected != found:
            message = f"wrong number of generic arguments for {name.name!r}"
            scope.source.fail(f"{message}: expected {expected}, found {found}", name.at)
        return definition

    def _fail_undefined(self, name: NameSyntax, scope: NameScope) -> NoReturn:
        """Raise a CddlError about an undefined name; the hint suggests a similar name, if any."""
        from difflib import get_close_matches

        close = get_close_matches(name.name, scope.table.definitions, 1)
        hint = f"Did you mean {close[0]!r}?" if close else ""
        scope.source.fail(f"rule {name.name!r} is not defined", name.at, hint)

    def open_scope(
        self, definition: RuleDefinition, name: NameSyntax, scope: NameScope
    ) -> NameScope:
        """Return the scope for the body of a definition, with its parameters bound.

        The arguments come from `name`, a reference in `scope`.
        """
        if not definition.parameters:
            return NameScope(definition.source, definition.table)
        arguments = [self._bind_argument(argument, scope) for argument in name.arguments]
        key = self.number_key(definition.name, *(argument.key for argument in arguments))
        bindings = dict(zip(definition.parameters, arguments, strict=True))
        return NameScope(definition.source, definition.table, bindings, key)

    def _bind_argument(self, argument: TypeSyntax, scope: NameScope) -> BoundArgument:
        """Return a generic argument with its scope; a parameter yields the argument bound to it."""
        if isinstance(argument, NameSyntax) and argument.name in scope.bindings:
            return scope.bindings[argument.name]
        if isinstance(argument, NameSyntax) and not argument.arguments:
            key = self.number_key("name", argument.name, id(scope.table))
        else:
            key = self.number_key("node", id(argument), scope.key)
        return BoundArgument(argument, scope, key)

    def follow_names(
        self, node: TypeSyntax | GroupSyntax, scope: NameScope
    ) -> tuple[TypeSyntax | GroupSyntax, NameScope]:
        """Return the node behind parentheses, parameters and aliases (`a = b`), with its scope.

        The name of a rule that is not an alias is such a node. A cycle ends at one of its names.

        Raises:
            CddlError: when a name is undefined, or has the wrong number of generic arguments.
        """
        seen: set[tuple[int, int]] = set()
        while True:
            if isinstance(node, GroupSyntax):
                inner = unwrap_single_entry(node)
                if inner is None:
                    return node, scope
                node = inner
            elif isinstance(node, NameSyntax) and node.name in scope.bindings:
                argument = scope.bindings[node.name]
                node, scope = argument.node, argument.scope
            elif isinstance(node, NameSyntax):
                definition = self.find_definition(node, scope)
                if definition is None or not definition.is_alias:
                    return node, scope
                inner_scope = self.open_scope(definition, node, scope)
                instance = (id(definition), inner_scope.key)
                if instance in seen:
                    return node, scope
                seen.add(instance)
                if len(seen) > MAX_RULE_INSTANCES:
                    _refuse_endless_expansion(node, scope)
                node, scope = definition.rules[0].body.value, inner_scope
            else:
                return node, scope

    def is_group(self, node: TypeSyntax | GroupSyntax, scope: NameScope) -> bool:
        """Return whether a node stands for a group and not a type (RFC 8610 section 2.1).

        Names are followed to their rules; a rule that leads back to itself counts as a type.
        `$$name` is a group, and `$name` without a definition a type.

        Raises:
            CddlError: a name is not defined.
        """
        path: dict[int, None] = {}
        answer: bool | None = None
        while answer is None:
            if isinstance(node, GroupSyntax):
                inner = unwrap_single_entry(node)
                if inner is None:
                    answer = True
                else:
                    node = inner
            elif isinstance(node, NameSyntax) and node.name in scope.bindings:
                argument = scope.bindings[node.name]
                node, scope = argument.node, argument.scope
            elif isinstance(node, NameSyntax):
                definition = self.find_definition(node, scope)
                if definition is None or node.name.startswith("$$"):
                    answer = node.name.startswith("$$")
                    continue
                scope = self.open_scope(definition, node, scope)
                key = self.number_key("kind", id(definition), scope.key)
                # A rule that leads back to itself is refused later; here the loop only has to end.
                answer = False if key in path else self._is_group.get(key)
                path[key] = None
                if len(path) > MAX_RULE_INSTANCES:
                    _refuse_endless_expansion(node, scope)
                if answer is None and definition.is_alias:
                    node = definition.rules[0].body.value
                elif answer is None:
                    answer = any(_looks_like_group(rule) for rule in definition.rules)
            else:
                answer = isinstance(node, UnwrapSyntax) and not self._is_tag(node.name, scope)
        self._is_group.update(dict.fromkeys(path, answer))
        return answer

    def _is_tag(self, name: NameSyntax, scope: NameScope) -> bool:
        """Return whether a name stands for a tag, or another type written with `#`."""
        return isinstance(self.follow_names(name, scope)[0], MajorSyntax)


def _refuse_endless_expansion(name: NameSyntax, scope: NameScope) -> NoReturn:
    """Raise a CddlError about a name that leads to too many rules, one after the other."""
    scope.source.fail(
        f"{name.name!r} expands to more than {MAX_RULE_INSTANCES} rules",
        name.at,
        "A generic rule may not call itself with an ever larger argument.",
    )


def _looks_like_group(rule: RuleSyntax) -> bool:
    """Return whether a definition can only be a group: by `//=`, a key, or several entries."""
    value = rule.body.value
    return (
        rule.operator == "//="
        or not rule.body.is_plain
        or (isinstance(value, GroupSyntax) and unwrap_single_entry(value) is None)
    )


class NameResolver(RuleLookup):
    """Builds the graph of types, with one node for each instance of a rule."""

    def __init__(self, table: RuleTable) -> None:
        """Start with the rules of a table, none of them resolved."""
        super().__init__()
        self._table = table
        self._refs: dict[int, RuleRef] = {}
        self._groups: dict[int, GroupNode] = {}
        self._waiting_refs: list[tuple[RuleRef, RuleDefinition, NameScope]] = []
        self._waiting_groups: list[tuple[GroupNode, RuleDefinition, NameScope]] = []
        self._waiting_choices: list[tuple[ChoiceType, GroupNode]] = []
        self._kept: list[TypeSyntax] = []

    def resolve(self, source: CddlSource, node: TypeSyntax) -> TypeNode:
        """Return the graph of a type expression, with every rule that it refers to resolved.

        Raises:
            CddlError: when a name is undefined, or a group is used as a type or the reverse.

        """
        # Nodes are distinguished by identity, so a numbered node must not be freed.
        self._kept.append(node)
        resolved = self._resolve_type(node, NameScope(source, self._table))
        self._resolve_waiting()
        return resolved

    def resolve_all(self, table: RuleTable) -> list[TypeNode | GroupNode]:
        """Return the nodes of all rules of a table, without the generic ones.

        Raises:
            CddlError: when a name is undefined, or a group is used as a type or the reverse.

        """
        nodes: list[TypeNode | GroupNode] = []
        for definition in table.definitions.values():
            if definition.parameters:
                continue
            scope = NameScope(definition.source, definition.table)
            name = NameSyntax(definition.name, (), definition.rules[0].at)
            if self.is_group(name, scope):
                nodes.append(self._resolve_as_group(name, scope))
            else:
                nodes.append(self._resolve_type(name, scope))
        self._resolve_waiting()
        return nodes

    def _resolve_waiting(self) -> None:
        """Resolve the queued rules until the queues are empty, then fill in the enumerations.

        Resolving a rule may queue more rules.
        """
        while self._waiting_refs or self._waiting_groups:
            if self._waiting_refs:
                ref, definition, scope = self._waiting_refs.pop()
                ref.node = self._resolve_type_rule(definition, scope)
            else:
                group, definition, scope = self._waiting_groups.pop()
                group.alternatives = self._resolve_group_rule(definition, scope)
        for choice, group in self._waiting_choices:
            choice.alternatives = _collect_group_values(group)
        self._waiting_choices.clear()

    # Types.

    def _resolve_type(self, node: TypeSyntax | GroupSyntax, scope: NameScope) -> TypeNode:
        """Return the node of a type, or of a type in parentheses; refuse any other group.

        Raises:
            CddlError: the node is another group, or a name in it is undefined.
        """
        place = scope.locate(node)
        match node:
            case LiteralSyntax():
                return LiteralType(node.value)
            case NameSyntax():
                return self._resolve_name(node, scope)
            case ChoiceSyntax():
                return ChoiceType([self._resolve_type(part, scope) for part in node.alternatives])
            case RangeSyntax():
                low = self._resolve_type(node.low, scope)
                high = self._resolve_type(node.high, scope)
                return RangeType(low, high, node.inclusive, place)
            case ControlSyntax():
                target = self._resolve_type(node.target, scope)
                controller = self._resolve_type(node.controller, scope)
                return ControlType(node.operator, target, controller, place)
            case MapSyntax():
                return MapType(self._resolve_group(node.group, scope), place)
            case ArraySyntax():
                return ArrayType(self._resolve_group(node.group, scope), place)
            case UnwrapSyntax():
                return self._unwrap_tag(node, scope)
            case EnumerationSyntax():
                return self._resolve_enumeration(node, scope)
            case MajorSyntax():
                return self._resolve_major(node, scope)
            case GroupSyntax():
                inner = unwrap_single_entry(node)
                if inner is None:
                    place.fail("expected a type, found a group")
                return self._resolve_type(inner, scope)

    def _resolve_name(self, name: NameSyntax, scope: NameScope) -> TypeNode:
        """Return the node of a name in the place of a type; refuse the name of a group.

        The body of a rule is queued when its name occurs for the first time. An undefined socket
        becomes a rule without alternatives.

        Raises:
            CddlError: the name is a group's, or undefined, or has the wrong number of arguments.
        """
        if name.name in scope.bindings:
            argument = scope.bindings[name.name]
            return self._resolve_type(argument.node, argument.scope)
        if self.is_group(name, scope):
            scope.source.fail(f"expected a type, but {name.name!r} is a group", name.at)
        definition = self.find_definition(name, scope)
        if definition is None:
            return RuleRef(name.name, scope.locate(name))
        inner_scope = self.open_scope(definition, name, scope)
        key = self.number_key("type", id(definition), inner_scope.key)
        if key not in self._refs:
            self._check_instance_count(name, scope)
            ref = self._refs[key] = RuleRef(definition.name, definition.place)
            self._waiting_refs.append((ref, definition, inner_scope))
        return self._refs[key]

    def _check_instance_count(self, name: NameSyntax, scope: NameScope) -> None:
        """Check that there are not too many instances of rules: generics may create them endlessly.

        Raises:
            CddlError: about `name`, if there are more than `MAX_RULE_INSTANCES`.
        """
        if len(self._refs) + len(self._groups) > MAX_RULE_INSTANCES:
            _refuse_endless_expansion(name, scope)

    def _resolve_type_rule(self, definition: RuleDefinition, scope: NameScope) -> TypeNode:
        """Return the body of a rule that is a type; several definitions become a choice."""
        parts = [self._resolve_type(rule.body.value, scope) for rule in definition.rules]
        return parts[0] if len(parts) == 1 else ChoiceType(parts)

    def _unwrap_tag(self, node: UnwrapSyntax, scope: NameScope) -> TypeNode:
        """Return the type of `~name` in the place of a type: the content of the tag `name`.

        Raises:
            CddlError: when `name` is not a tag.

        """
        tag, tag_scope = self.follow_names(node.name, scope)
        if not isinstance(tag, MajorSyntax) or tag.major != MAJOR_TAG:
            hint = "Unwrap a map or an array inside another map or array."
            message = f"{node.name.name!r} is not a tag, so it cannot be unwrapped into a type"
            scope.source.fail(message, node.at, hint)
        return self._resolve_type(tag.content, tag_scope) if tag.content else AnyType()

    def _resolve_enumeration(self, node: EnumerationSyntax, scope: NameScope) -> TypeNode:
        """Return the choice for `&group`, still empty: `_resolve_waiting` fills in the values.

        Raises:
            CddlError: the name after `&` is not a group.
        """
        if isinstance(node.group, NameSyntax) and not self.is_group(node.group, scope):
            scope.source.fail(f"'&' needs a group, but {node.group.name!r} is not a group", node.at)
        choice = ChoiceType([])
        self._waiting_choices.append((choice, self._resolve_as_group(node.group, scope)))
        return choice

    def _resolve_major(self, node: MajorSyntax, scope: NameScope) -> TypeNode:
        """Return the node of `#`, `#n`, `#n.m`, `#7.<type>` or a tag."""
        if node.major is None:
            return AnyType()
        argument: int | TypeNode | None
        if node.argument is None or isinstance(node.argument, int):
            argument = node.argument
        else:
            argument = self._resolve_type(node.argument, scope)
        if node.major == MAJOR_TAG:
            content = self._resolve_type(node.content, scope) if node.content else AnyType()
            return TagType(argument, content)
        if argument is None or isinstance(argument, int):
            return MajorType(node.major, argument)
        return SimpleType(argument)

    # Groups.

    def _resolve_group(self, node: GroupSyntax, scope: NameScope) -> GroupNode:
        """Return a new node for a group in parentheses, brackets or braces."""
        sequences = [
            [self._resolve_item(entry, scope) for entry in sequence]
            for sequence in node.alternatives
        ]
        return GroupNode("", scope.locate(node), sequences)

    def _resolve_item(self, entry: GroupEntrySyntax, scope: NameScope) -> GroupItem:
        """Return one entry of a group; without a key, its value may be a group itself."""
        key: TypeNode | None = None
        cut = False
        value: TypeNode | GroupNode
        if entry.key is not None:
            key, cut = self._resolve_type(entry.key.type, scope), entry.key.cut
            value = self._resolve_type(entry.value, scope)
        elif self.is_group(entry.value, scope):
            value = self._resolve_as_group(entry.value, scope)
        else:
            value = self._resolve_type(entry.value, scope)
        return GroupItem(entry.least, entry.most, key, cut, value)

    def _resolve_as_group(self, node: TypeSyntax | GroupSyntax, scope: NameScope) -> GroupNode:
        """Return the node of a group in any form: `(…)`, a name, or `~` with a map or array."""
        if isinstance(node, GroupSyntax):
            return self._resolve_group(node, scope)
        if isinstance(node, NameSyntax) and node.name not in scope.bindings:
            return self._resolve_group_name(node, scope)
        if isinstance(node, UnwrapSyntax):
            return self._unwrap_group(node, scope)
        inner, inner_scope = self.follow_names(node, scope)
        return self._resolve_as_group(inner, inner_scope)

    def _resolve_group_name(self, name: NameSyntax, scope: NameScope) -> GroupNode:
        """Return the node of a rule that is a group, and queue its body the first time.

        An undefined socket becomes a group without alternatives.

        Raises:
            CddlError: another name is undefined, or has the wrong number of generic arguments.
        """
        definition = self.find_definition(name, scope)
        if definition is None:
            return GroupNode(name.name, scope.locate(name))
        inner_scope = self.open_scope(definition, name, scope)
        key = self.number_key("group", id(definition), inner_scope.key)
        if key not in self._groups:
            self._check_instance_count(name, scope)
            group = self._groups[key] = GroupNode(name.name, definition.place)
            self._waiting_groups.append((group, definition, inner_scope))
        return self._groups[key]

    def _unwrap_group(self, node: UnwrapSyntax, scope: NameScope) -> GroupNode:
        """Return the group of `~name` in the place of a group: the entries of a map or array.

        Raises:
            CddlError: when `name` is neither.

        """
        container, container_scope = self.follow_names(node.name, scope)
        if not isinstance(container, MapSyntax | ArraySyntax):
            scope.source.fail(
                f"{node.name.name!r} is not a map, an array or a tag, so it cannot be unwrapped",
                node.at,
            )
        key = self.number_key("unwrap", id(container), container_scope.key)
        if key not in self._groups:
            self._check_instance_count(node.name, scope)
            # The group has to be known before its entries, which may unwrap it again.
            group = self._groups[key] = GroupNode(node.name.name, scope.locate(node))
            group.alternatives = self._resolve_group(container.group, container_scope).alternatives
        return self._groups[key]

    def _resolve_group_rule(
        self, definition: RuleDefinition, scope: NameScope
    ) -> list[list[GroupItem]]:
        """Return the alternatives of a rule that is a group, from all its definitions."""
        sequences: list[list[GroupItem]] = []
        for rule in definition.rules:
            if rule.body.is_plain and isinstance(rule.body.value, GroupSyntax):
                sequences += self._resolve_group(rule.body.value, scope).alternatives
            else:
                sequences.append([self._resolve_item(rule.body, scope)])
        return sequences


def _collect_group_values(group: GroupNode) -> list[TypeNode]:
    """Return the value types of all entries of a group and of the groups inside it."""
    values: list[TypeNode] = []
    seen = {id(group)}
    waiting = [group]
    while waiting:
        for item in list_group_items(waiting.pop(0)):
            if not isinstance(item.value, GroupNode):
                values.append(item.value)
            elif id(item.value) not in seen:
                seen.add(id(item.value))
                waiting.append(item.value)
    return values
