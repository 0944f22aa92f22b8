"""JSON with comments, as settings are written by people: values with their places in the text.

What is edited is the text, never a value that is written anew, so that comments, order and layout
stay. Commas after the last member are taken, as the editors that such files come from take them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from vacr.errors import UnreadableInput

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*[\s\S]*?\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_DEEPEST = 100


@dataclass
class Node:
    """A value, and where it stands."""

    start: int
    end: int = 0
    scalar: Any = None
    members: list[Member] | None = None
    """Of an object."""
    items: list[Member] | None = None
    """Of a list."""

    def get(self, name: str) -> Node | None:
        """Give a member of an object; of several the last one counts."""
        return next((one.value for one in reversed(self.members or ()) if one.name == name), None)

    @property
    def value(self) -> Any:
        """The value as Python has it."""
        if self.members is not None:
            return {one.name: one.value.value for one in self.members}
        return self.scalar if self.items is None else [one.value.value for one in self.items]


@dataclass
class Member:
    """A member of an object or an item of a list: from its name to its end, and the comma after it,
    if there is one.
    """

    start: int
    value: Node
    name: str = ""
    comma: int | None = None


@dataclass
class _Parser:
    text: str
    at: int = field(default=0)

    def blank(self) -> str:
        """Pass over what is no value, and give the character after it."""
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def node(self, depth: int) -> Node:
        first, node = self.blank(), Node(self.at)
        if depth > _DEEPEST:
            self.fail(f"it is nested deeper than {_DEEPEST} levels")
        if first == "{":
            node.members = self.inside("}", depth)
        elif first == "[":
            node.items = self.inside("]", depth)
        else:
            node.scalar = self.scalar(_STRING if first == '"' else _SCALAR)
        node.end = self.at
        return node

    def inside(self, closing: str, depth: int) -> list[Member]:
        found: list[Member] = []
        self.at += 1
        while (follows := self.blank()) != closing:
            if found and found[-1].comma is None:
                self.fail(f"a comma or {closing} is missing")
            start, name = self.at, ""
            if closing == "}":
                if follows != '"':
                    self.fail("the name of a member is missing")
                name = self.scalar(_STRING)
                if self.blank() != ":":
                    self.fail("a colon is missing")
                self.at += 1
            member = Member(start, self.node(depth + 1), name)
            found.append(member)
            if self.blank() == ",":
                member.comma = self.at
                self.at += 1
        self.at += 1
        return found

    def scalar(self, pattern: re.Pattern[str]) -> Any:
        match = pattern.match(self.text, self.at)
        if match is None:
            self.fail("a value is missing")
        try:
            value = json.loads(match.group())
        except ValueError:
            self.fail(f"{match.group()[:40]} is no value")
        self.at = match.end()
        return value

    def fail(self, message: str) -> NoReturn:
        line, column = (
            self.text.count("\n", 0, self.at) + 1,
            self.at - self.text.rfind("\n", 0, self.at),
        )
        raise UnreadableInput(f"not JSON: line {line}, column {column}: {message}")


def parse(text: str) -> Node:
    """Parse a text that is one value.

    Raises:
        UnreadableInput: it is not.
    """
    parser = _Parser(text)
    node = parser.node(0)
    if parser.blank():
        parser.fail("something follows the value")
    return node
