"""JSON with comments, as settings are written by people: values with their places in the text.

What is edited is the text, never a value that is written anew, so that comments, order and layout
stay. Commas after the last member are taken, as the editors that such files come from take them.

Edits of JSON text that leave every other byte as it is: add a member or an item, take
one out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from vacr.errors import UnreadableInput

_BLANKS_AND_COMMENTS = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*[\s\S]*?\*/)*")
_STRING_PATTERN = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR_PATTERN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_MAX_DEPTH = 100


@dataclass
class JsonNode:
    """A value, and where it stands."""

    start: int
    end: int = 0
    scalar: Any = None
    members: list[JsonMember] | None = None
    """Of an object."""
    items: list[JsonMember] | None = None
    """Of a list."""

    def get(self, name: str) -> JsonNode | None:
        """Give a member of an object; of several the last one counts."""
        return next((one.value for one in reversed(self.members or ()) if one.name == name), None)

    @property
    def value(self) -> Any:
        """The value as Python has it."""
        if self.members is not None:
            return {one.name: one.value.value for one in self.members}
        return self.scalar if self.items is None else [one.value.value for one in self.items]


@dataclass
class JsonMember:
    """A member of an object or an item of a list: from its name to its end, and the comma after it,
    if there is one.
    """

    start: int
    value: JsonNode
    name: str = ""
    comma: int | None = None


@dataclass
class _Parser:
    text: str
    at: int = field(default=0)

    def blank(self) -> str:
        """Pass over what is no value, and give the character after it."""
        match = _BLANKS_AND_COMMENTS.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def node(self, depth: int) -> JsonNode:
        first, node = self.blank(), JsonNode(self.at)
        if depth > _MAX_DEPTH:
            self.fail(f"it is nested deeper than {_MAX_DEPTH} levels")
        if first == "{":
            node.members = self.inside("}", depth)
        elif first == "[":
            node.items = self.inside("]", depth)
        else:
            node.scalar = self.scalar(_STRING_PATTERN if first == '"' else _SCALAR_PATTERN)
        node.end = self.at
        return node

    def inside(self, closing: str, depth: int) -> list[JsonMember]:
        found: list[JsonMember] = []
        self.at += 1
        while (follows := self.blank()) != closing:
            if found and found[-1].comma is None:
                self.fail(f"a comma or {closing} is missing")
            start, name = self.at, ""
            if closing == "}":
                if follows != '"':
                    self.fail("the name of a member is missing")
                name = self.scalar(_STRING_PATTERN)
                if self.blank() != ":":
                    self.fail("a colon is missing")
                self.at += 1
            member = JsonMember(start, self.node(depth + 1), name)
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


def parse_jsonc(text: str) -> JsonNode:
    """Parse a text that is one value.

    Raises:
        UnreadableInput: it is not.
    """
    parser = _Parser(text)
    node = parser.node(0)
    if parser.blank():
        parser.fail("something follows the value")
    return node


_INDENTED_LINE = re.compile(r"^([ \t]+)[^ \t\r\n/]", re.MULTILINE)


def add_json_member(text: str, holder: JsonNode, value: Any, name: str | None = None) -> str:
    """Add a member of a name to an object, or an item to a list, as its last one."""
    held = (holder.members if holder.items is None else holder.items) or []
    newline = "\r\n" if "\r\n" in text else "\n"
    label = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
    close = holder.end - 1
    inside = text[holder.start + 1 : close]
    if held and not _begins_line(text, held[-1].start):
        # What is written in one line stays in one line.
        after = f", {label}{json.dumps(value, ensure_ascii=False)}"
        return text[: held[-1].value.end] + after + text[held[-1].value.end :]
    indent = (
        _get_line_indent(text, held[0].start)
        if held
        else _get_line_indent(text, holder.start) + _detect_indent_unit(text)
    )
    lines = json.dumps(value, ensure_ascii=False, indent=_detect_indent_unit(text)).replace(
        "\n", newline + indent
    )
    end = holder.start + 1 + len(inside.rstrip())
    trailing = bool(held) and held[-1].comma is not None
    tail = (
        text[end:close]
        if inside.strip() and newline in text[end:close]
        else newline + _get_line_indent(text, holder.start)
    )
    new = f"{newline}{indent}{label}{lines}{',' if trailing else ''}"
    result = text[:end] + new + tail + text[close:]
    if held and not trailing:
        result = result[: held[-1].value.end] + "," + result[held[-1].value.end :]
    return result


def remove_json_member(text: str, holder: JsonNode, member: JsonMember) -> str:
    """Take a member or an item out, with its comma and the white space before it."""
    held = (holder.members if holder.items is None else holder.items) or []
    place = held.index(member)
    start, end = len(text[: member.start].rstrip()), member.value.end
    if member.comma is not None:
        end = member.comma + 1
        if len(held) > 1 and place == 0 and not _begins_line(text, member.start):
            # The next one takes its place.
            start, end = member.start, held[1].start
    elif place:
        before = held[place - 1].comma
        if before is not None:
            return text[:before] + text[before + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _get_line_indent(text: str, at: int) -> str:
    """Give the white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _detect_indent_unit(text: str) -> str:
    """Give the white space by which one level is moved in: that of the first line which is."""
    found = _INDENTED_LINE.search(text)
    return found.group(1) if found else "  "
