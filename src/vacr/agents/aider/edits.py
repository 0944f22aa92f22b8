r"""The edits in an answer of the model, as Aider applies them.

The edit format of the run decides how a change is written: as SEARCH/REPLACE blocks, as whole files
or as a unified diff, each in a fence, or as an `apply_patch` patch. A path stands before a block.

>>> from vacr.agents.aider.edits import find_edits
>>> answer = "hello.py\n```python\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n```"
>>> find_edits(answer, "diff")
[('search-replace', {'path': 'hello.py', 'old_string': 'a = 1\n', 'new_string': 'a = 2\n'})]
>>> find_edits("hello.py\n```python\na = 3\n```", "whole")
[('whole-file', {'path': 'hello.py', 'content': 'a = 3\n'})]
"""

from __future__ import annotations

import re
from typing import Any

SEARCH_REPLACE, WHOLE_FILE, UNIFIED_DIFF, PATCH = "search-replace", "whole-file", "udiff", "patch"
UNPLACED = "edit"

_HEAD = re.compile(r"<{5,9} SEARCH>?\s*\Z")
_DIVIDER = re.compile(r"={5,9}\s*\Z")
_UPDATED = re.compile(r">{5,9} REPLACE\s*\Z")
_FENCE = "```"
_MAX_PATH_LENGTH = 250
_REASONING = re.compile(r"<(thinking-content-[0-9a-f]{32})>(.*?)</\1>", re.DOTALL)

FoundEdit = tuple[str, dict[str, Any]]
"""The kind of an edit, and its arguments."""


def split_reasoning(text: str) -> tuple[list[str], str]:
    """Return the model's reasoning in an answer, and the answer without it."""
    return [match[2].strip() for match in _REASONING.finditer(text)], _REASONING.sub("", text)


def find_edits(text: str, edit_format: str) -> list[FoundEdit]:
    """Return the edits of an answer; empty if none can be read for certain."""
    text = split_reasoning(text)[1].replace("\r\n", "\n")
    if "*** Begin Patch" in text:
        return [(PATCH, {"patch": text})]
    if "diff" in edit_format and "udiff" not in edit_format:
        return _find_search_blocks(text)
    if "udiff" in edit_format:
        return _find_diff_blocks(text)
    if "whole" in edit_format:
        return _find_whole_files(text)
    return _find_search_blocks(text)


def _find_search_blocks(text: str) -> list[FoundEdit]:
    """Return the SEARCH/REPLACE blocks; none if one of them is incomplete."""
    lines = text.split("\n")
    edits: list[FoundEdit] = []
    path = ""
    position = 0
    while position < len(lines):
        if not _HEAD.match(lines[position]):
            position += 1
            continue
        path = _find_path(lines, position) or path
        divider = _find_line(lines, position + 1, (_DIVIDER,))
        end = _find_line(lines, divider + 1, (_UPDATED, _DIVIDER)) if divider else 0
        if not path or not end:
            return []
        old, new = lines[position + 1 : divider], lines[divider + 1 : end]
        texts = {"old_string": _join(old), "new_string": _join(new)}
        edits.append((SEARCH_REPLACE, {"path": path, **texts}))
        position = end + 1
    return edits


def _find_line(lines: list[str], start: int, patterns: tuple[re.Pattern[str], ...]) -> int:
    """Return the position of the first line that matches a pattern, or 0."""
    for position in range(start, len(lines)):
        if any(pattern.match(lines[position]) for pattern in patterns):
            return position
    return 0


def _join(lines: list[str]) -> str:
    """Return lines with their line ends."""
    return "".join(line + "\n" for line in lines)


def _find_path(lines: list[str], head: int) -> str:
    """Return the path in the lines above a block, or an empty text: the last one but the fence."""
    for line in reversed(lines[max(0, head - 3) : head]):
        if line.startswith(_FENCE):
            continue
        return _clean_path(line)
    return ""


def _clean_path(line: str) -> str:
    """Return the path that a line consists of, without Markdown; else an empty text."""
    path = line.strip().strip("*").rstrip(":").strip("`").lstrip("#").strip()
    path = path.rstrip(":").strip("`")
    return path if 0 < len(path) <= _MAX_PATH_LENGTH and path != "..." else ""


def _find_whole_files(text: str) -> list[FoundEdit]:
    """Return the fences that follow a line with a path, each as a whole file.

    An answer with fences inside of fences cannot be read for certain, and has none.
    """
    lines = text.split("\n")
    fences = [position for position, line in enumerate(lines) if line.startswith(_FENCE)]
    if len(fences) % 2:
        return []
    edits: list[FoundEdit] = []
    for opening, closing in zip(fences[::2], fences[1::2], strict=True):
        if lines[closing].strip() != _FENCE:
            return []
        path = _clean_path(lines[opening - 1]) if opening else ""
        if path:
            content = _join(lines[opening + 1 : closing])
            edits.append((WHOLE_FILE, {"path": path, "content": content}))
    # Aider takes the first listing of a file, so a second one decides nothing.
    first: dict[str, FoundEdit] = {}
    for kind, arguments in edits:
        first.setdefault(arguments["path"], (kind, arguments))
    return [*first.values()]


def _find_diff_blocks(text: str) -> list[FoundEdit]:
    """Return the hunks of the diffs in fences, each as its old text and its new text.

    Hunks before a `+++ ` line with a path are left out, and so are hunks without a change.
    """
    edits: list[FoundEdit] = []
    in_fence, path, hunk = False, "", [""][:0]

    def close_hunk() -> None:
        if path and any(line[:1] in "+-" for line in hunk if line):
            old = [line[1:] for line in hunk if line[:1] != "+"]
            new = [line[1:] for line in hunk if line[:1] != "-"]
            texts = {"old_string": _join(old), "new_string": _join(new)}
            edits.append((UNIFIED_DIFF, {"path": path, **texts}))

    for line in text.split("\n"):
        if line.startswith(_FENCE):
            close_hunk()
            in_fence, path, hunk = not in_fence and line.startswith("```diff"), "", []
        elif not in_fence or line.startswith("--- "):
            continue
        elif line.startswith("+++ "):
            close_hunk()
            path, hunk = line[4:].strip().removeprefix("b/"), []
        elif line.startswith("@@"):
            close_hunk()
            hunk = []
        else:
            hunk.append(line or " ")
    return edits
