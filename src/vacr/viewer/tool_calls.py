"""Tool calls for people: a one-line summary, the requested changes as diffs, the input as texts.

A diff shows the change that a call requests, whether or not it was carried out; the resulting files
are the business of the file attribution. The tool table of `vacr.attribution` lists which tool
writes, replaces, patches or deletes files.

    >>> from vacr.viewer.tool_calls import build_diffs, summarise_tool_call
    >>> summarise_tool_call("Bash", {"command": "make test", "timeout": 60})
    'make test'
    >>> edit = {"file_path": "total.py", "old_string": "return 0", "new_string": "return 1"}
    >>> build_diffs("claude-code", "Edit", edit)
    [FileDiff(path='total.py', kind='edit', lines=['@@', '-return 0', '+return 1'])]
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.agents import (
    COMMAND_ARGUMENTS,
    CONTENT_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolEffect,
    find_tool_effect,
    get_text_argument,
    parse_requested_edits,
)
from vacr.edits import FilePatch, parse_apply_patch
from vacr.viewer.texts import format_json, format_value

SEARCH_ARGUMENTS = ("pattern", "query", "url")
DESCRIPTIVE_ARGUMENTS = (
    "description",
    "title",
    "subject",
    "prompt",
    "message",
    "question",
    "objective",
    "skill",
    "name",
    "text",
)
_MAX_SUMMARY_LENGTH = 200

_CONTEXT_LINES = 3
# An edit may have any length, and a diff may compare every old line with every new one.
_MAX_COMPARED_PAIRS = 4_000_000


def summarise_tool_call(tool: str, arguments: Any) -> str:
    """Return one line about a call: its command, file or pattern, or else its arguments."""
    line = " ".join(_choose_summary(tool, arguments).split())
    return line if len(line) <= _MAX_SUMMARY_LENGTH else f"{line[: _MAX_SUMMARY_LENGTH - 1]}…"


def _choose_summary(tool: str, arguments: Any) -> str:
    if "patch" in tool.lower():
        text = _get_patch_text(arguments)
        return ", ".join(file.to or file.path for file in parse_apply_patch(text)) or text
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict) or not arguments:
        return ""
    for names in (COMMAND_ARGUMENTS, SEARCH_ARGUMENTS, PATH_ARGUMENTS):
        if (argument := get_text_argument(arguments, names)) is not None:
            return argument
    for name in COMMAND_ARGUMENTS:
        if isinstance(arguments.get(name), list):
            return " ".join(str(word) for word in arguments[name])
    description = get_text_argument(arguments, DESCRIPTIVE_ARGUMENTS)
    return description if description is not None else format_json(arguments)


def _get_patch_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return get_text_argument(arguments, PATCH_ARGUMENTS) or ""


def list_input_texts(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each argument of a call; a single value has an empty name."""
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            yield format_value(name), format_value(value)
    elif arguments is not None:
        yield "", format_value(arguments)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The change of one file that a call requests."""

    path: str
    kind: str
    """`edit`, `write`, `add`, `delete` or `move`."""
    lines: list[str]
    """Lines with their marks: `+`, `-`, a blank, or `@` where lines are left out."""

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(line.startswith("-") for line in self.lines)


def build_diffs(agent: str, tool: str, arguments: Any) -> list[FileDiff]:
    """Return the changes that a call requests; an empty list if it does not change files."""
    effect = find_tool_effect(agent, tool, arguments)
    if effect is ToolEffect.PATCH:
        return [_build_patch_diff(file) for file in parse_apply_patch(_get_patch_text(arguments))]
    path = get_text_argument(arguments, PATH_ARGUMENTS)
    if path is None or not isinstance(arguments, dict):
        return []
    if effect is ToolEffect.REPLACE:
        edits = parse_requested_edits(arguments) or ()
        lines = [line for edit in edits for line in _diff_texts(edit.old, edit.new)]
        return [FileDiff(path, "edit", lines)] if lines else []
    if effect in (ToolEffect.WRITE, ToolEffect.UNPLACED_EDIT):
        text = get_text_argument(arguments, CONTENT_ARGUMENTS)
        return [FileDiff(path, "write", _mark_added(text))] if text is not None else []
    return [FileDiff(path, "delete", [])] if effect is ToolEffect.DELETE else []


def _mark_added(text: str) -> list[str]:
    return [f"+{line}" for line in text.splitlines()]


def _build_patch_diff(file: FilePatch) -> FileDiff:
    if file.kind == "add":
        return FileDiff(file.path, "add", _mark_added(file.text))
    lines = []
    for part in file.parts:
        lines.append(f"@@ {part.anchor}".rstrip())
        lines += list(_diff_texts("\n".join(part.old), "\n".join(part.new)))[1:]
    kind = "edit"
    if file.kind == "delete":
        kind = "delete"
    elif file.to and not lines:
        kind = "move"
    return FileDiff(f"{file.path} → {file.to}" if file.to else file.path, kind, lines)


def _diff_texts(old: str, new: str) -> Iterator[str]:
    """Yield `@@` and then the lines of a diff of two texts."""
    yield "@@"
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        before, after = _trim_common_lines(before, after)
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    diff = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    for line in list(diff)[2:]:  # after the two lines of file names
        if not line.startswith("@@"):
            yield line


def _trim_common_lines(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Leave out the common lines at both ends, except for the context of the difference."""
    shortest = min(len(before), len(after))
    prefix = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - prefix
    suffix = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    first, last = max(0, prefix - _CONTEXT_LINES), max(0, suffix - _CONTEXT_LINES)
    return before[first : len(before) - last], after[first : len(after) - last]
