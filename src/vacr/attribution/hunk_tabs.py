"""Hunks whose tabs a host shows as spaces.

Some hosts record a patch with two spaces for each tab that indents a line. The known lines of the
file, and the text that the call spells, tell which lines have tabs.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from vacr.edits import Edit, Hunk, strip_line_end

_LEADING_TABS = re.compile(r"\t+")
_LEADING_SPACE_PAIRS = re.compile(r"(?: {2})+")


def restore_hunk_tabs(
    hunks: Sequence[Hunk], known: Callable[[int], str | None], edits: Sequence[Edit]
) -> list[Hunk]:
    """Return hunks with the tabs of the file; `known` returns an earlier line by its number."""
    return [
        replace(hunk, lines=list(_restore_line_tabs(hunk, known, edits)))
        if hunk.tabs_as_spaces
        else hunk
        for hunk in hunks
    ]


def _restore_line_tabs(
    hunk: Hunk, known: Callable[[int], str | None], edits: Sequence[Edit]
) -> Iterator[str]:
    written = {
        _expand_leading_tabs(line): line
        for edit in edits
        for text in (edit.old, edit.new)
        for line in text.split("\n")
    }
    number = max(hunk.old_first, 1)
    rows = []
    for line in hunk.lines:
        text, before = strip_line_end(line[1:]), None
        if line[:1] != "+":
            before, number = known(number), number + 1
        exact = written.get(text)
        if before is not None and _expand_leading_tabs(strip_line_end(before)) == text:
            exact = strip_line_end(before)
        rows.append((line, text, exact))
    exact_lines = [*written.values(), *(exact for _, _, exact in rows if exact)]
    has_tabs = any(exact.startswith("\t") for exact in exact_lines)
    has_spaces = any(exact.startswith("  ") for exact in exact_lines)
    for line, text, exact in rows:
        spelled = text
        if exact is not None:
            spelled = exact
        elif has_tabs and not has_spaces and text[:1] == " ":
            spelled = _LEADING_SPACE_PAIRS.sub(_replace_space_pairs, text, count=1)
        yield line[:1] + spelled + line[1 + len(text) :]


def _expand_leading_tabs(line: str) -> str:
    tabs = _LEADING_TABS.match(line)
    return "  " * len(tabs[0]) + line[tabs.end() :] if tabs else line


def _replace_space_pairs(pairs: re.Match[str]) -> str:
    return "\t" * (len(pairs[0]) // 2)
