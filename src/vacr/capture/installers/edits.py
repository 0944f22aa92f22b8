"""Edits of JSON text that leave every other byte as it is: add a member or an item, take
one out.
"""

from __future__ import annotations

import json
import re
from typing import Any

from vacr.capture.installers.jsonc import Member, Node

_UNIT = re.compile(r"^([ \t]+)[^ \t\r\n/]", re.MULTILINE)


def added(text: str, holder: Node, value: Any, name: str | None = None) -> str:
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
    indent = _indent(text, held[0].start) if held else _indent(text, holder.start) + _unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace(
        "\n", newline + indent
    )
    end = holder.start + 1 + len(inside.rstrip())
    trailing = bool(held) and held[-1].comma is not None
    tail = (
        text[end:close]
        if inside.strip() and newline in text[end:close]
        else newline + _indent(text, holder.start)
    )
    new = f"{newline}{indent}{label}{lines}{',' if trailing else ''}"
    result = text[:end] + new + tail + text[close:]
    if held and not trailing:
        result = result[: held[-1].value.end] + "," + result[held[-1].value.end :]
    return result


def removed(text: str, holder: Node, member: Member) -> str:
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


def _indent(text: str, at: int) -> str:
    """Give the white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Give the white space by which one level is moved in: that of the first line which is."""
    found = _UNIT.search(text)
    return found.group(1) if found else "  "
