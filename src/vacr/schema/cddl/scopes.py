"""What the names in a piece of CDDL mean: the definitions of a text, and the arguments of a
generic. Step: validate.

Follows RFC 8610 section 2.2.2 (`/=`, `//=`): a name may be extended any number of times but defined
only once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vacr.schema.cddl import syntax

if TYPE_CHECKING:
    from vacr.schema.cddl.lexer import Source


# A rule that only extends one of the prelude starts with that, by a name that no text can hold.
EXTENDED = "prelude:"


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
        if name.startswith(EXTENDED):
            return self.outer.find(name.removeprefix(EXTENDED)) if self.outer else None
        found = self.definitions.get(name)
        return found if found or self.outer is None else self.outer.find(name)


@dataclass(eq=False, slots=True)
class Scope:
    """What the names of a piece of text mean; `key` numbers the instance of a generic it belongs
    to.
    """

    source: Source
    table: Table
    bindings: dict[str, Bound] = field(default_factory=dict)
    key: int = 0


@dataclass(eq=False, slots=True)
class Bound:
    """A generic argument with the scope it was written in."""

    node: syntax.Type
    scope: Scope
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
            table.definitions[rule.name] = Definition(
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
            body = syntax.Entry(1, 1, None, syntax.Name(EXTENDED + name, (), at), at)
            known.rules.insert(0, syntax.Rule(name, (), "=", body, at))
    return table
