"""The nodes a CDDL text is parsed into. Step: validate.

One class a production of RFC 8610 Appendix B (as updated by RFC 9682). Names are not resolved here
and nothing is checked but the grammar: that is the work of `names`. `at` is the offset in the text,
for messages; two nodes that differ only in it are equal, which is how a repeated definition is told
from a contradicting one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = int | float | str | bytes


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text string or byte string."""

    value: Scalar
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A reference to a rule or a generic parameter, with its arguments."""

    name: str
    arguments: tuple[Type, ...]
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternative types: `a / b`."""

    alternatives: tuple[Type, ...]
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """A range of numbers: `0..9`, or `0...10` without its upper end."""

    low: Type
    high: Type
    inclusive: bool
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Control:
    """A control operator: `tstr .size 3`."""

    operator: str
    target: Type
    controller: Type
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Map:
    """A map: `{ … }`."""

    group: Group
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Array:
    """An array: `[ … ]`."""

    group: Group
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Unwrap:
    """What is inside a map, an array or a tag: `~name`."""

    name: Name
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """A choice of the values of a group: `&(a: 1, b: 2)`."""

    group: Group | Name
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Major:
    """A major type with its argument: `#`, `#1`, `#7.25`, `#6.32(tstr)`, `#6.<type>(any)`."""

    major: int | None
    argument: int | Type | None
    content: Type | None
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """What stands before `:` or `=>`; `cut` when a matching key binds (RFC 8610 section 3.5.4)."""

    type: Type
    cut: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a group, repeated `least` to `most` times (`most` None: without end)."""

    least: int
    most: int | None
    key: Key | None
    value: Type | Group
    at: int = field(compare=False)

    @property
    def plain(self) -> bool:
        """Tell whether nothing is said but the value."""
        return self.least == 1 and self.most == 1 and self.key is None


@dataclass(frozen=True, slots=True)
class Group:
    """Alternative sequences of entries: `a: int, b: tstr // c: bool`."""

    alternatives: tuple[tuple[Entry, ...], ...]
    at: int = field(compare=False)


Type: TypeAlias = (
    Literal | Name | Choice | Range | Control | Map | Array | Unwrap | Enumeration | Major
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One definition; `operator` is `=`, `/=` or `//=`."""

    name: str
    parameters: tuple[str, ...]
    operator: str
    body: Entry
    at: int = field(compare=False)
