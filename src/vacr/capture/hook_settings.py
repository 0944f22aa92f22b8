r"""Hooks in the text of an agent's settings: found, added and removed.

An agent runs a command of ours at each event, and most agents list such commands in a JSON file of
settings. That file belongs to its user: comments, order and layout have to survive. So the parser
remembers where each value stands, and edits insert or cut text there; a value is never written
again as a whole. Comments and trailing commas are accepted, as the agents accept them.

>>> from vacr.agents import HookLayout
>>> from vacr.capture.hook_settings import add_hooks, remove_hooks
>>> text = '{\n  // mine\n  "theme": "dark",\n}\n'
>>> command = "python vacr/capture/hook.py some-agent"
>>> with_hooks = add_hooks(text, HookLayout(nested=False), {"Stop": command})
>>> print(with_hooks, end="")
{
  // mine
  "theme": "dark",
  "hooks": {
    "Stop": [
      {
        "command": "python vacr/capture/hook.py some-agent"
      }
    ]
  },
}
>>> remove_hooks(with_hooks) == text
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from vacr.agents import HookLayout
from vacr.errors import UnreadableInput

HOOK_SCRIPT_MARK = "vacr/capture/hook.py"
"""A part of every command of ours, in all versions and installations of vacr."""

_UNCHANGED_HINT = "The file was not changed. Correct it, and run the command again."
_BLANKS_AND_COMMENTS = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*[\s\S]*?\*/)*")
_STRING_PATTERN = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR_PATTERN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_INDENTED_LINE = re.compile(r"^([ \t]+)[^ \t\r\n/]", re.MULTILINE)
_MAX_DEPTH = 100


def list_hook_commands(text: str) -> dict[str, list[str]]:
    """Return the commands of vacr's hooks in the text of a settings file, by event.

    Hooks of others are left out. Return an empty dict if vacr has no hooks there.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    commands: dict[str, list[str]] = {}
    for event, _, handlers in _find_vacr_hooks(_parse_settings(text)):
        event_commands = commands.setdefault(event.name, [])
        event_commands.extend(handler.value.value["command"] for handler in handlers)
    return commands


def add_hooks(text: str, layout: HookLayout, wanted: dict[str, str]) -> str:
    """Return the text of a settings file with one hook of vacr for each event.

    `wanted` maps events to commands, and `layout` is the agent's form of hooks. Other hooks of vacr
    are removed. The text is returned unchanged if it has exactly these hooks.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    if list_hook_commands(text) == {event: [command] for event, command in wanted.items()}:
        return text
    text = remove_hooks(text) if text.strip() else "{}\n"
    for name, value in layout.opening:
        root = _parse_settings(text)
        if root.get(name) is None:
            text = add_json_member(text, root, value, name)
    if _parse_settings(text).get("hooks") is None:
        text = add_json_member(text, _parse_settings(text), {}, "hooks")
    for event, command in wanted.items():
        hooks = _get_hooks_node(_parse_settings(text))
        event_hooks = hooks.get(event) if hooks else None
        if event_hooks is not None:
            text = add_json_member(text, event_hooks, layout.entry(command))
        elif hooks is not None:
            text = add_json_member(text, hooks, [layout.entry(command)], event)
    return text


def remove_hooks(text: str) -> str:
    """Return the text of a settings file without vacr's hooks.

    Lists and objects that become empty are removed, too. Without such hooks, return the same text.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    while True:
        root = _parse_settings(text)
        first = next(_find_vacr_hooks(root), None)
        if first is None:
            return text
        text = _remove_hook_container(text, root, *first)


def format_settings(text: str) -> str:
    """Return the text of settings, indented with one value on each line and without comments.

    It is for display only. An empty text stays empty.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    if not text.strip():
        return ""
    return json.dumps(parse_jsonc(text).value, ensure_ascii=False, indent=2) + "\n"


def is_empty_settings(text: str, layout: HookLayout) -> bool:
    """Return whether settings are `{}`, or have only the members that `layout.opening` requires.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    return bool(parse_jsonc(text).value in ({}, dict(layout.opening)))


def _remove_hook_container(
    text: str,
    root: JsonNode,
    event: JsonMember,
    group: JsonMember | None,
    handlers: list[JsonMember],
) -> str:
    """Return the text without the first hook of vacr in an event.

    If it is alone in its group, event or `hooks` object, remove that instead. `group` is None if
    the hook is directly in the list of the event.
    """
    hooks = next(member for member in reversed(root.members or []) if member.name == "hooks")
    handler = handlers[0]
    handler_list = group.value.get("hooks") if group else event.value
    if handler_list is None or len(handler_list.items or ()) > 1:
        return remove_json_member(text, handler_list or event.value, handler)
    if group is not None and len(event.value.items or ()) > 1:
        return remove_json_member(text, event.value, group)
    if len(hooks.value.members or ()) > 1:
        return remove_json_member(text, hooks.value, event)
    return remove_json_member(text, root, hooks)


def _find_vacr_hooks(
    root: JsonNode,
) -> Iterator[tuple[JsonMember, JsonMember | None, list[JsonMember]]]:
    """Yield vacr's hooks: the event, the group of hooks in it or None, and the hooks themselves."""
    hooks = _get_hooks_node(root)
    for event in (hooks.members or []) if hooks else []:
        for item in event.value.items or ():
            if _is_vacr_hook(item):
                yield event, None, [item]
            inner = item.value.get("hooks")
            inner_items = (inner.items or []) if inner else []
            handlers = [handler for handler in inner_items if _is_vacr_hook(handler)]
            if handlers:
                yield event, item, handlers


def _is_vacr_hook(item: JsonMember) -> bool:
    """Return whether an item is an object whose `command` is one of vacr's."""
    command = item.value.get("command")
    return command is not None and is_vacr_command(command.scalar)


def _parse_settings(text: str) -> JsonNode:
    """Parse the text of settings, and check that hooks can be added; an empty text counts as `{}`.

    Raises:
        UnreadableInput: the text is not a JSON object, or its `hooks` are not lists in an object.
    """
    root = parse_jsonc(text if text.strip("\ufeff \t\r\n") else "{}")
    if root.members is None:
        raise UnreadableInput("the settings are not a JSON object", hint=_UNCHANGED_HINT)
    hooks = _get_hooks_node(root)
    for event in (hooks.members or []) if hooks else []:
        if event.value.items is None:
            raise UnreadableInput(
                f"the setting hooks.{event.name} is not a list", hint=_UNCHANGED_HINT
            )
    return root


def _get_hooks_node(root: JsonNode) -> JsonNode | None:
    """Return the object `hooks` of the settings, or None if it is missing.

    Raises:
        UnreadableInput: it is not an object.
    """
    hooks = root.get("hooks")
    if hooks is not None and hooks.members is None:
        raise UnreadableInput("the setting hooks is not an object", hint=_UNCHANGED_HINT)
    return hooks


def is_vacr_command(command: Any) -> bool:
    """Return whether a value is a command that runs the hook script of vacr."""
    return isinstance(command, str) and HOOK_SCRIPT_MARK in command.replace("\\", "/")


# --- JSON with comments ---


@dataclass
class JsonNode:
    """A JSON value, and its range in the text."""

    start: int
    end: int = 0
    scalar: Any = None
    """The value, if it is neither an object nor a list."""
    members: list[JsonMember] | None = None
    """The members, if it is an object."""
    items: list[JsonMember] | None = None
    """The items, if it is a list."""

    def get(self, name: str) -> JsonNode | None:
        """Return the value of a member, or None if it is missing or this is not an object.

        The last of several members with the same name counts.
        """
        for member in reversed(self.members or ()):
            if member.name == name:
                return member.value
        return None

    @property
    def children(self) -> list[JsonMember]:
        """The members of an object, or the items of a list; empty for other values."""
        return (self.members if self.items is None else self.items) or []

    @property
    def value(self) -> Any:
        """The value as a Python object; of members with the same name, the last counts."""
        if self.members is not None:
            return {member.name: member.value.value for member in self.members}
        return self.scalar if self.items is None else [item.value.value for item in self.items]


@dataclass
class JsonMember:
    """A member of an object, or an item of a list."""

    start: int
    """The offset of its name, or of the value of an item."""
    value: JsonNode
    name: str = ""
    """The name of a member; empty for an item."""
    comma: int | None = None
    """The offset of the comma after it, if there is one."""


def parse_jsonc(text: str) -> JsonNode:
    """Parse a text that is one JSON value; comments and trailing commas are accepted.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    parser = _Parser(text)
    node = parser.parse_node(0)
    if parser.skip_blanks():
        parser.fail("unexpected text after the value")
    return node


@dataclass
class _Parser:
    """Reads a text from left to right; `at` is the offset of the next character."""

    text: str
    at: int = 0

    def skip_blanks(self) -> str:
        """Skip white space and comments, and return the next character; empty at the end."""
        match = _BLANKS_AND_COMMENTS.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def parse_node(self, depth: int) -> JsonNode:
        """Parse the next value; `depth` is the number of objects and lists around it.

        Raises:
            UnreadableInput: there is no valid value, or it is nested too deeply.
        """
        first, node = self.skip_blanks(), JsonNode(self.at)
        if depth > _MAX_DEPTH:
            self.fail(f"nested deeper than {_MAX_DEPTH} levels")
        if first == "{":
            node.members = self.parse_children("}", depth)
        elif first == "[":
            node.items = self.parse_children("]", depth)
        else:
            node.scalar = self.parse_scalar(_STRING_PATTERN if first == '"' else _SCALAR_PATTERN)
        node.end = self.at
        return node

    def parse_children(self, closing: str, depth: int) -> list[JsonMember]:
        """Parse the members or items after an opening bracket, up to the `closing` one.

        Raises:
            UnreadableInput: a comma, a name or the closing bracket is missing, or a value is
                invalid.
        """
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
        """Parse the name of a member, whose first character is known, and the colon after it.

        Raises:
            UnreadableInput: the name is not in double quotes, or the colon is missing.
        """
        if first != '"':
            self.fail("a name in double quotes is missing")
        name: str = self.parse_scalar(_STRING_PATTERN)
        if self.skip_blanks() != ":":
            self.fail("a colon is missing")
        self.at += 1
        return name

    def parse_scalar(self, pattern: re.Pattern[str]) -> Any:
        """Parse the text that matches a pattern as a string, number, true, false or null.

        Raises:
            UnreadableInput: the pattern does not match, or the text is not such a value.
        """
        match = pattern.match(self.text, self.at)
        if match is None:
            self.fail("a value is missing")
        try:
            value = json.loads(match.group())
        except ValueError:
            self.fail(f"{match.group()[:40]} is not a value")
        self.at = match.end()
        return value

    def fail(self, message: str) -> NoReturn:
        """Raise UnreadableInput with the line and column of the current offset."""
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        raise UnreadableInput(f"not JSON: line {line}, column {column}: {message}")


# --- editing JSON with comments ---


def add_json_member(text: str, container: JsonNode, value: Any, name: str | None = None) -> str:
    """Return the text with a value added at the end of an object or list, laid out like the rest.

    `name` is the name of the new member of an object, or None to add an item to a list.
    """
    children = container.children
    label = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
    if children and not _begins_line(text, children[-1].start):
        # A list or object in one line stays in one line.
        end = children[-1].value.end
        return f"{text[:end]}, {label}{json.dumps(value, ensure_ascii=False)}{text[end:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    indent_unit = _detect_indent_unit(text)
    container_indent = _get_line_indent(text, container.start)
    indent = (
        _get_line_indent(text, children[0].start) if children else container_indent + indent_unit
    )
    lines = json.dumps(value, ensure_ascii=False, indent=indent_unit)
    lines = lines.replace("\n", newline + indent)
    has_trailing_comma = bool(children) and children[-1].comma is not None

    # Insert after the last child, or after the comments that follow it.
    bracket = container.end - 1
    inside = text[container.start + 1 : bracket]
    insert_at = container.start + 1 + len(inside.rstrip())
    blanks = text[insert_at:bracket]
    is_bracket_on_own_line = bool(inside.strip()) and newline in blanks
    tail = blanks if is_bracket_on_own_line else newline + container_indent
    member = f"{newline}{indent}{label}{lines}{',' if has_trailing_comma else ''}"
    result = text[:insert_at] + member + tail + text[bracket:]
    if children and not has_trailing_comma:
        end = children[-1].value.end
        result = f"{result[:end]},{result[end:]}"
    return result


def remove_json_member(text: str, container: JsonNode, member: JsonMember) -> str:
    """Return the text without a member or an item, its comma and the white space before it."""
    children = container.children
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
    """Return whether only white space precedes the offset `at` in its line."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _get_line_indent(text: str, at: int) -> str:
    """Return the white space at the start of the line that contains the offset `at`."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _detect_indent_unit(text: str) -> str:
    """Return one level of indentation: that of the first indented line, or else two spaces."""
    match = _INDENTED_LINE.search(text)
    return match.group(1) if match else "  "
