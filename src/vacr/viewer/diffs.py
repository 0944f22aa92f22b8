"""What a tool call asks to be changed in files, as diffs. Step: show. Follows the table of tools
that attribution has.

It is what was asked for, whether it was done or not; what became of the files is in the file
attribution.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.attribution import apply_patch, tools
from vacr.attribution.derive import edits_in

_CONTEXT = 3
_MOST_COMPARED = 4_000_000
"""How many pairs of lines are compared: finding what is alike may take the square of that, and an
edit may be of any length.
"""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Lines of one file with their first letters: `+`, `-`, a blank, or `@` where something is left
    out.
    """

    path: str
    what: str
    """`edit`, `write`, `add`, `delete`, or `move`."""
    lines: list[str]

    @property
    def added(self) -> int:
        """How many lines come."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines go."""
        return sum(line.startswith("-") for line in self.lines)


def diffs_of(agent: str, tool: str, given: Any) -> list[FileDiff]:
    """Give what a call asks to be changed; nothing for a tool that changes no file by its
    arguments.
    """
    kind = tools.TOOLS.get(agent, {}).get(tool)
    path = tools.text(given, tools.PATHS)
    if kind == tools.PATCH:
        text = given if isinstance(given, str) else tools.text(given, tools.PATCHES)
        return [_patched(file) for file in apply_patch.parse(text or "")]
    if path is None or not isinstance(given, dict):
        return []
    if kind == tools.REPLACE:
        lines = [line for edit in edits_in(given) or () for line in _compared(edit.old, edit.new)]
        return [FileDiff(path, "edit", lines)] if lines else []
    if kind in (tools.WRITE, tools.SKETCH) and (text := tools.text(given, tools.TEXT)) is not None:
        return [FileDiff(path, "write", [f"+{line}" for line in text.splitlines()])]
    return [FileDiff(path, "delete", [])] if kind == tools.DELETE else []


def _patched(file: apply_patch.FilePatch) -> FileDiff:
    if file.kind == "add":
        return FileDiff(file.path, "add", [f"+{line}" for line in file.text.splitlines()])
    lines = []
    for part in file.parts:
        lines.append(f"@@ {part.anchor}".rstrip())
        lines += list(_compared("\n".join(part.old), "\n".join(part.new)))[1:]
    to = f"{file.path} → {file.to}" if file.to else file.path
    return FileDiff(
        to,
        "delete" if file.kind == "delete" else "move" if file.to and not lines else "edit",
        lines,
    )


def _compared(old: str, new: str) -> Iterator[str]:
    """Give the lines of a diff of two texts, after one that begins it."""
    yield "@@"
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > _MOST_COMPARED:
        before, after = _changed(before, after)
    if len(before) * len(after) > _MOST_COMPARED:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    found = difflib.unified_diff(before, after, n=_CONTEXT, lineterm="")
    for line in list(found)[2:]:
        if not line.startswith("@@"):
            yield line


def _changed(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Leave out the lines that two texts begin and end alike with, but for some around what
    differs.
    """
    shortest = min(len(before), len(after))
    start = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    rest = shortest - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    first, last = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    return before[first : len(before) - last], after[first : len(after) - last]
