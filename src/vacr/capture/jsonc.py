r"""JSON with comments, edited as text.

Settings files belong to their users: comments, order and layout have to survive when a hook is
added or removed. So the parser remembers where each value stands, and edits insert or cut text
there; a value is never written again as a whole. Trailing commas are accepted, as the editors that
such files come from accept them.

>>> from vacr.capture.jsonc import add_json_member, parse_jsonc
>>> text = '{\n  // mine\n  "theme": "dark",\n}\n'
>>> parse_jsonc(text).value
{'theme': 'dark'}
>>> print(add_json_member(text, parse_jsonc(text), [1], "hooks"), end="")
{
  // mine
  "theme": "dark",
  "hooks": [
    1
  ],
}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from vacr.errors import UnreadableInput

_BLANKS_AND_COMMENTS = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*[\s\S]*?\*/)*")
_STRING_PATTERN = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR_PATTERN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_INDENTED_LINE = re.compile(r"^([ \t]+)[^ \t\r\n/]", re.MULTILINE)
_MAX_DEPTH = 100


@dataclass
class JsonNode:
    """A value, and its range in the text."""

    start: int
    end: int = 0
    scalar: Any = None
    members: list[JsonMember] | None = None
    """The members, if it is an object."""
    items: list[JsonMember] | None = None
    """The items, if it is a list."""

    def get(self, name: str) -> JsonNode | None:
        """Return the value of a member, or None; the last of several counts."""
        for member in reversed(self.members or ()):
            if member.name == name:
                return member.value
        return None

    @property
    def children(self) -> list[JsonMember]:
        """The members of an object, or the items of a list."""
        return (self.members if self.items is None else self.items) or []

    @property
    def value(self) -> Any:
        """The value as a Python object."""
        if self.members is not None:
            return {member.name: member.value.value for member in self.members}
        return self.scalar if self.items is None else [item.value.value for item in self.items]


@dataclass
class JsonMember:
    """A member of an object or an item of a list, and the offset of the comma after it."""

    start: int
    value: JsonNode
    name: str = ""
    comma: int | None = None


def parse_jsonc(text: str) -> JsonNode:
    """Parse a text that is one JSON value, with comments.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    parser = _Parser(text)
    node = parser.parse_node(0)
    if parser.skip_blanks():
        parser.fail("something follows the value")
    return node


@dataclass
class _Parser:
    text: str
    at: int = 0

    def skip_blanks(self) -> str:
        """Skip white space and comments, and return the next character."""
        match = _BLANKS_AND_COMMENTS.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def parse_node(self, depth: int) -> JsonNode:
        first, node = self.skip_blanks(), JsonNode(self.at)
        if depth > _MAX_DEPTH:
            self.fail(f"it is nested deeper than {_MAX_DEPTH} levels")
        if first == "{":
            node.members = self.parse_children("}", depth)
        elif first == "[":
            node.items = self.parse_children("]", depth)
        else:
            node.scalar = self.parse_scalar(_STRING_PATTERN if first == '"' else _SCALAR_PATTERN)
        node.end = self.at
        return node

    def parse_children(self, closing: str, depth: int) -> list[JsonMember]:
        children: list[JsonMember] = []
        self.at += 1
        while (first := self.skip_blanks()) != closing:
            if children and children[-1].comma is None:
                self.fail(f"a comma or {closing} is missing")
            start = self.at
            name = self.parse_name(first) if closing == "}" else ""
            child = JsonMember(start, self.parse_node(depth + 1), name)
            children.append(child)
            if self.skip_blanks() == ",":
                child.comma = self.at
                self.at += 1
        self.at += 1
        return children

    def parse_name(self, first: str) -> str:
        if first != '"':
            self.fail("the name of a member is missing")
        name: str = self.parse_scalar(_STRING_PATTERN)
        if self.skip_blanks() != ":":
            self.fail("a colon is missing")
        self.at += 1
        return name

    def parse_scalar(self, pattern: re.Pattern[str]) -> Any:
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
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        raise UnreadableInput(f"not JSON: line {line}, column {column}: {message}")


# --- edits ---


def add_json_member(text: str, holder: JsonNode, value: Any, name: str | None = None) -> str:
    """Add a last member to an object, or a last item to a list, and return the new text."""
    children = holder.children
    label = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
    if children and not _begins_line(text, children[-1].start):
        # A list or object in one line stays in one line.
        end = children[-1].value.end
        return f"{text[:end]}, {label}{json.dumps(value, ensure_ascii=False)}{text[end:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    indent_unit = _detect_indent_unit(text)
    holder_indent = _get_line_indent(text, holder.start)
    indent = _get_line_indent(text, children[0].start) if children else holder_indent + indent_unit
    lines = json.dumps(value, ensure_ascii=False, indent=indent_unit)
    lines = lines.replace("\n", newline + indent)
    has_trailing_comma = bool(children) and children[-1].comma is not None

    # Insert after the last child, or after the comments that follow it.
    bracket = holder.end - 1
    inside = text[holder.start + 1 : bracket]
    insert_at = holder.start + 1 + len(inside.rstrip())
    blanks = text[insert_at:bracket]
    is_bracket_on_own_line = bool(inside.strip()) and newline in blanks
    tail = blanks if is_bracket_on_own_line else newline + holder_indent
    member = f"{newline}{indent}{label}{lines}{',' if has_trailing_comma else ''}"
    result = text[:insert_at] + member + tail + text[bracket:]
    if children and not has_trailing_comma:
        end = children[-1].value.end
        result = f"{result[:end]},{result[end:]}"
    return result


def remove_json_member(text: str, holder: JsonNode, member: JsonMember) -> str:
    """Remove a member or an item, with its comma and the white space before it."""
    children = holder.children
    index = children.index(member)
    start, end = len(text[: member.start].rstrip()), member.value.end
    if member.comma is not None:
        end = member.comma + 1
        if len(children) > 1 and index == 0 and not _begins_line(text, member.start):
            # In one line, the next child moves to its place.
            start, end = member.start, children[1].start
    elif index:
        # The last child has no comma, so the one before it must not have one either.
        comma = children[index - 1].comma
        if comma is not None:
            return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _get_line_indent(text: str, at: int) -> str:
    """Return the white space at the start of the line around an offset."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _detect_indent_unit(text: str) -> str:
    """Return the indent of one level: like the first indented line, or two spaces."""
    match = _INDENTED_LINE.search(text)
    return match.group(1) if match else "  "
