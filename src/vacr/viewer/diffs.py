"""The changes of files that a tool call requests, line by line.

    >>> import vacr
    >>> from vacr.viewer import build_rows, format_changes
    >>> [record] = vacr.read("session.jsonl")
    >>> diffs = [diff for row in build_rows(record) for diff in row.diffs]
    >>> diffs[0].path, format_changes(diffs[:1])
    ('/home/mira/invoice/total.py', '+1 -1')
    >>> diffs[0].lines[:2]
    ['@@', '-    return sum(l.qty * l.price for l in lines)']

A diff shows the request, whether or not the agent carried it out. For the resulting files, see the
file attribution. The page computes the same diffs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.agents import (
    CONTENT_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolEffect,
    find_tool_effect,
    get_patch_text,
    get_text_argument,
    parse_requested_edits,
)
from vacr.edits import FilePatch, parse_apply_patch
from vacr.model import JsonObject
from vacr.viewer.content import is_shown_diff

MOVE_ARROW = " → "
"""Separates the old and the new path of a moved file."""
INSERTION_ARGUMENTS = ("insert_line", "insertLine", "line")
"""Arguments with the place of a text that is inserted."""
_CONTEXT_LINES = 3
# An edit may have any length, and a diff may compare every old line with every new one.
_MAX_COMPARED_PAIRS = 4_000_000


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The change of one file that a call requests."""

    path: str
    kind: str
    """`edit`, `write`, `add`, `delete` or `move`."""
    lines: list[str]
    """Lines with their marks: `+`, `-` or a blank; a line `@@` where lines are left out."""

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(line.startswith("-") for line in self.lines)

    @property
    def is_deletion(self) -> bool:
        """Whether the call deletes the file."""
        return self.kind == "delete"


def format_line_counts(added: int, removed: int) -> str:
    """Return the numbers of added and removed lines, without a 0: `+6 -1`, `+6`, `-1`, or `+0`."""
    if not removed:
        return f"+{added:,}"
    return f"+{added:,} -{removed:,}" if added else f"-{removed:,}"


def format_changes(diffs: Sequence[FileDiff]) -> str:
    """Return the changes of diffs together: `+6 -1`, `deleted`, or `+6 -1, 1 deleted`.

    The number of lines in a deleted file is known only if the call contains them.
    """
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    deleted = sum(diff.is_deletion for diff in diffs)
    counts = format_line_counts(added, removed)
    if not deleted:
        return counts
    if len(diffs) == 1:
        return f"deleted, -{removed:,}" if removed else "deleted"
    if deleted < len(diffs):
        return f"{counts}, {deleted:,} deleted"
    return f"{deleted:,} deleted, -{removed:,}" if removed else f"{deleted:,} deleted"


def build_diffs(agent: str, tool: str, arguments: Any) -> list[FileDiff]:
    """Return the changes that a call requests; an empty list if it does not change files.

    `agent` and `tool` decide the meaning of the arguments.
    """
    effect = find_tool_effect(agent, tool, arguments)
    if effect is ToolEffect.PATCH:
        patch = get_patch_text(arguments) or ""
        return [_build_patch_diff(file) for file in parse_apply_patch(patch)]
    path = get_text_argument(arguments, PATH_ARGUMENTS)
    if path is None or not isinstance(arguments, dict):
        return []
    if effect is ToolEffect.REPLACE:
        edits = parse_requested_edits(arguments) or ()
        lines = [line for edit in edits for line in _diff_texts(edit.old, edit.new)]
        return [FileDiff(path, "edit", lines)] if lines else _build_addition(path, arguments)
    if effect in (ToolEffect.WRITE, ToolEffect.UNPLACED_EDIT):
        text = get_text_argument(arguments, CONTENT_ARGUMENTS)
        if text is None:
            return _build_addition(path, arguments)
        return [FileDiff(path, "write", _mark_added(text))]
    return [FileDiff(path, "delete", [])] if effect is ToolEffect.DELETE else []


def build_shown_diffs(output: Any) -> list[FileDiff]:
    """Return the changes that an output shows by the old and the new text of files."""
    diffs = []
    for block in output if isinstance(output, list) else ():
        if is_shown_diff(block):
            path, old, new = block["path"], block.get("oldText"), block["newText"]
            is_edit = isinstance(old, str) and bool(old)
            lines = list(_diff_texts(old, new)) if is_edit else _mark_added(new)
            diffs.append(FileDiff(path, "edit" if is_edit else "write", lines))
    return diffs


def _build_addition(path: str, arguments: JsonObject) -> list[FileDiff]:
    """Return the diff of a call of an editor with a new text and no old one; else empty.

    The text is inserted if the arguments state a line, or else it is the whole file.
    """
    text = get_text_argument(arguments, NEW_TEXT_ARGUMENTS)
    if text is None or get_text_argument(arguments, OLD_TEXT_ARGUMENTS):
        return []
    kind = "edit" if _is_insertion(arguments) else "write"
    return [FileDiff(path, kind, _mark_added(text))]


def _is_insertion(arguments: JsonObject) -> bool:
    """Return whether arguments state the line that a text is inserted at."""
    return any(type(arguments.get(name)) is int for name in INSERTION_ARGUMENTS)


def _mark_added(text: str) -> list[str]:
    """Return the lines of a text, each with a `+` before it."""
    return [f"+{line}" for line in text.splitlines()]


def _build_patch_diff(file: FilePatch) -> FileDiff:
    """Return the diff of one file in a patch; a moved file has the path `old → new`."""
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
    return FileDiff(f"{file.path}{MOVE_ARROW}{file.to}" if file.to else file.path, kind, lines)


def _diff_texts(old: str, new: str) -> Iterator[str]:
    """Yield the lines of a diff of two texts, each with its mark; `@@` comes before each hunk.

    It also comes first where the texts are equal. Of very long texts, all lines from the first
    difference to the last are one hunk: the old ones, and then the new ones.
    """
    yield "@@"
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        head, before, after, tail = _split_at_differences(before, after)
        if len(before) * len(after) > _MAX_COMPARED_PAIRS:
            yield from (f" {line}" for line in head)
            yield from (f"-{line}" for line in before)
            yield from (f"+{line}" for line in after)
            yield from (f" {line}" for line in tail)
            return
        before, after = [*head, *before, *tail], [*head, *after, *tail]
    diff = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    for line in list(diff)[3:]:  # after the two lines of file names and the first hunk's header
        yield "@@" if line.startswith("@@") else line


def _split_at_differences(
    before: list[str], after: list[str]
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the context before the first difference, the old and new lines, and the context after.

    The lines that both have at the start and the end are left out, except for the context.
    """
    shortest = min(len(before), len(after))
    prefix = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - prefix
    suffix = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    old_end, new_end = len(before) - suffix, len(after) - suffix
    head = before[max(0, prefix - _CONTEXT_LINES) : prefix]
    tail = before[old_end : old_end + _CONTEXT_LINES]
    return head, before[prefix:old_end], after[prefix:new_end], tail
