"""Listings: files shown with line numbers, in the forms that agents' tools print.

A line that the tool may have cut, and a gap in the numbers, end a run of consecutive lines.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from vacr.edits.actions import FileAction, ObservedFile, ObservedLines

# The forms of a line number.
ARROW_LINE_NUMBER = re.compile(r" *(\d{1,7})(?:→|\t)")  # Claude Code's Read, `cat -n`, `nl`
_BAR_LINE_NUMBER = re.compile(r"(\d{5})\| ")  # OpenCode's read until 2026
_PIPE_LINE_NUMBER = re.compile(r" *(\d{1,7})\|")  # Cursor's Read
_COLON_LINE_NUMBER = re.compile(r"(\d{1,7}): ")  # OpenCode's read since
_LINE_NUMBER_FORMS = (ARROW_LINE_NUMBER, _BAR_LINE_NUMBER, _COLON_LINE_NUMBER, _PIPE_LINE_NUMBER)

MIN_CUT_LINE_LENGTH = 1_900
"""Tools cut lines somewhere above this length, so a longer line may not be the file's."""

# The text after a listing: a line of the file would begin with a number.
_LISTING_END_MARKS = (
    "<system-reminder>",
    "</content>",
    "</file>",
    "(End of file - total ",
    "(Showing lines ",
)
_TOTAL_LINES_NOTE = re.compile(r"^\(End of file - total (\d{1,7}) lines\)$", re.MULTILINE)

NumberedRun = tuple[int, list[str]]
"""Consecutive lines of a file, and the number of the first."""


def parse_listing(path: str, output: str) -> Iterator[FileAction]:
    """Yield the observations in a listing of one file, read in the first form that matches."""
    lines = list(
        takewhile(lambda line: not line.startswith(_LISTING_END_MARKS), output.split("\n"))
    )
    for form in _LINE_NUMBER_FORMS:
        runs = parse_numbered_lines(lines, form)
        if runs:
            totals = _TOTAL_LINES_NOTE.findall(output)
            yield from _observe_listing_runs(path, runs, int(totals[-1]) if totals else None, form)
            return


def _observe_listing_runs(
    path: str, runs: list[NumberedRun], total: int | None, form: re.Pattern[str]
) -> Iterator[FileAction]:
    """Yield the runs of a listing as observations.

    OpenCode states how many lines a file has; until 2026 it counted and showed an empty line after
    the last line end.
    """
    first, lines = runs[-1]
    reaches_end = total is not None and first + len(lines) - 1 == total
    if reaches_end and form is _BAR_LINE_NUMBER:
        if runs == [(1, lines)]:
            yield ObservedFile(path, "".join(lines).removesuffix("\n"))
            return
        if lines[-1] == "\n":
            lines.pop()
    for number, (first, lines) in enumerate(runs, 1):
        yield ObservedLines(path, first, lines, last=reaches_end and number == len(runs))


def parse_numbered_lines(lines: Iterable[str], form: re.Pattern[str]) -> list[NumberedRun]:
    """Gather the lines that begin with a number into runs of consecutive ones."""
    runs: list[NumberedRun] = []
    for line in lines:
        if number := form.match(line):
            _add_to_runs(runs, int(number[1]), line[number.end() :])
    return runs


def gather_uncut_lines(first: int, lines: Iterable[str]) -> list[NumberedRun]:
    """Gather consecutive lines into runs, without lines that may have been cut."""
    runs: list[NumberedRun] = []
    for number, line in enumerate(lines, first):
        _add_to_runs(runs, number, line)
    return runs


def _add_to_runs(runs: list[NumberedRun], number: int, line: str) -> None:
    """Add a line to the run it continues, or begin another run; skip a line that may be cut."""
    if len(line) >= MIN_CUT_LINE_LENGTH:
        return
    if runs and runs[-1][0] + len(runs[-1][1]) == number:
        runs[-1][1].append(line + "\n")
    else:
        runs.append((number, [line + "\n"]))
