"""Give hunks back the tabs that a host shows as spaces. Step: attribute.

Claude Code records its patches with two spaces for each tab that indents a line. What the file is
known to hold and what the call spells tell which lines have tabs.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from vacr.attribution.events import Edit, Hunk
from vacr.attribution.text import bare

_TABS = re.compile(r"\t+")
_PAIRS = re.compile(r"(?: {2})+")


def with_tabs(
    hunks: Sequence[Hunk], known: Callable[[int], str | None], edits: Sequence[Edit]
) -> list[Hunk]:
    """Spell the lines of hunks as the file has them; `known` gives a line before the change by its
    number.
    """
    return [
        replace(hunk, lines=list(_spelled(hunk, known, edits))) if hunk.tabs_as_spaces else hunk
        for hunk in hunks
    ]


def _spelled(
    hunk: Hunk, known: Callable[[int], str | None], edits: Sequence[Edit]
) -> Iterator[str]:
    written = {
        _as_recorded(line): line
        for edit in edits
        for text in (edit.old, edit.new)
        for line in text.split("\n")
    }
    number, found = max(hunk.old_first, 1), []
    for line in hunk.lines:
        text, before = bare(line[1:]), None
        if line[:1] != "+":
            before, number = known(number), number + 1
        exact = (
            bare(before)
            if before is not None and _as_recorded(bare(before)) == text
            else written.get(text)
        )
        found.append((line, text, exact))
    exact_ones = [*written.values(), *(exact for _, _, exact in found if exact)]
    tabbed = any(one.startswith("\t") for one in exact_ones) and not any(
        one.startswith("  ") for one in exact_ones
    )
    for line, text, exact in found:
        spelled = (
            exact
            if exact is not None
            else _PAIRS.sub(_tabs, text, count=1)
            if tabbed and text[:1] == " "
            else text
        )
        yield line[:1] + spelled + line[1 + len(text) :]


def _as_recorded(line: str) -> str:
    tabs = _TABS.match(line)
    return "  " * len(tabs[0]) + line[tabs.end() :] if tabs else line


def _tabs(pairs: re.Match[str]) -> str:
    return "\t" * (len(pairs[0]) // 2)
