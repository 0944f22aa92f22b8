"""Hooks in a settings file that is JSON: which entries are ours, how they come in and go out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.capture.installers import edits
from vacr.capture.installers.command import is_ours
from vacr.capture.installers.jsonc import Member, Node, parse
from vacr.errors import UnreadableInput

_NOTHING_CHANGED = "Nothing was changed. Correct it, and run this again."


@dataclass(frozen=True)
class Layout:
    """How an agent has hooks in its settings."""

    nested: bool = True
    """Whether an event has groups with hooks in them, rather than hooks."""
    handler: tuple[tuple[str, Any], ...] = ()
    """What a hook has beside its command."""
    opening: tuple[tuple[str, Any], ...] = ()
    """What the file has to have beside the hooks."""

    def entry(self, command: str) -> dict[str, Any]:
        """Make the entry of an event."""
        first = {"type": "command"} if self.nested else {}
        handler = {**first, "command": command, **dict(self.handler)}
        return {"hooks": [handler]} if self.nested else handler


def commands(text: str) -> dict[str, list[str]]:
    """Give our commands by event.

    Raises:
        UnreadableInput: the text is not what an agent reads.
    """
    found: dict[str, list[str]] = {}
    for event, _, handlers in _ours(_root(text)):
        found.setdefault(event.name, []).extend(one.value.value["command"] for one in handlers)
    return found


def installed(text: str, layout: Layout, wanted: dict[str, str]) -> str:
    """Give the text with a hook for each event, and none of ours beside them; as it is where all is
    as wanted.

    Raises:
        UnreadableInput: the text is not what an agent reads.
    """
    if commands(text) == {event: [command] for event, command in wanted.items()}:
        return text
    text = uninstalled(text) if text.strip() else "{}\n"
    for name, value in layout.opening:
        root = _root(text)
        if root.get(name) is None:
            text = edits.added(text, root, value, name)
    if _root(text).get("hooks") is None:
        text = edits.added(text, _root(text), {}, "hooks")
    for event, command in wanted.items():
        hooks = _hooks(_root(text))
        there = hooks.get(event) if hooks else None
        if there is not None:
            text = edits.added(text, there, layout.entry(command))
        elif hooks is not None:
            text = edits.added(text, hooks, [layout.entry(command)], event)
    return text


def uninstalled(text: str) -> str:
    """Give the text without our hooks, and without what is empty only because they are gone.

    Raises:
        UnreadableInput: the text is not what an agent reads.
    """
    while True:
        root = _root(text)
        first = next(_ours(root), None)
        if first is None:
            return text
        text = _without(text, root, *first)


def laid_out(text: str) -> str:
    """Write a settings file so that everything has a line of its own, to be shown; comments are
    not.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    return (
        json.dumps(parse(text).value, ensure_ascii=False, indent=2) + "\n" if text.strip() else ""
    )


def is_bare(text: str, layout: Layout) -> bool:
    """Tell whether a file has nothing but what an agent needs to have one."""
    return bool(parse(text).value in ({}, dict(layout.opening)))


def _without(
    text: str, root: Node, event: Member, group: Member | None, handlers: list[Member]
) -> str:
    """Take out the outermost thing that holds nothing but hooks of ours."""
    hooks = next(one for one in reversed(root.members or []) if one.name == "hooks")
    handler = handlers[0]
    held = group.value.get("hooks") if group else event.value
    if held is None or len(held.items or ()) > 1:
        return edits.removed(text, held or event.value, handler)
    if group is not None and len(event.value.items or ()) > 1:
        return edits.removed(text, event.value, group)
    if len(hooks.value.members or ()) > 1:
        return edits.removed(text, hooks.value, event)
    return edits.removed(text, root, hooks)


def _ours(root: Node) -> Iterator[tuple[Member, Member | None, list[Member]]]:
    """Give the events with hooks of ours: the event, the group if there are groups, and those
    hooks.
    """
    hooks = _hooks(root)
    for event in (hooks.members or []) if hooks else []:
        for item in event.value.items or ():
            if _is_ours(item):
                yield event, None, [item]
            inner = item.value.get("hooks")
            handlers = [one for one in (inner.items or ()) if _is_ours(one)] if inner else []
            if handlers:
                yield event, item, handlers


def _is_ours(item: Member) -> bool:
    command = item.value.get("command")
    return command is not None and is_ours(command.scalar)


def _root(text: str) -> Node:
    root = parse(text if text.strip("\ufeff \t\r\n") else "{}")
    if root.members is None:
        raise UnreadableInput("it is no JSON object", hint=_NOTHING_CHANGED)
    hooks = _hooks(root)
    for event in (hooks.members or []) if hooks else []:
        if event.value.items is None:
            raise UnreadableInput(f"hooks.{event.name} is no list", hint=_NOTHING_CHANGED)
    return root


def _hooks(root: Node) -> Node | None:
    hooks = root.get("hooks")
    if hooks is not None and hooks.members is None:
        raise UnreadableInput("hooks is no object", hint=_NOTHING_CHANGED)
    return hooks
