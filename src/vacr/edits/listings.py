"""Lines with numbers, as tools show files. Step: attribute."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from vacr.edits.actions import FileAction, ObservedFile, ObservedLines

# How a listing puts the number before the line.
ARROW_LINE_NUMBER = re.compile(r" *(\d{1,7})(?:→|\t)")  # Claude Code's Read, `cat -n`, `nl`
BAR_LINE_NUMBER = re.compile(r"(\d{5})\| ")  # OpenCode's read until 2026
PIPE_LINE_NUMBER = re.compile(r" *(\d{1,7})\|")  # Cursor's Read
COLON_LINE_NUMBER = re.compile(r"(\d{1,7}): ")  # OpenCode's read since

# Tools cut longer lines; what a cut line was is not known.
MIN_CUT_LINE_LENGTH = 1_900

# What follows a listing: a line of the file would have a number before it.
_LISTING_END_MARKS = (
    "<system-reminder>",
    "</content>",
    "</file>",
    "(End of file - total ",
    "(Showing lines ",
)
_TOTAL_LINES_NOTE = re.compile(r"^\(End of file - total (\d{1,7}) lines\)$", re.MULTILINE)

NumberedRun = tuple[int, list[str]]


def parse_listing(path: str, output: str) -> Iterator[FileAction]:
    """Read a listing of one file, in the first form that its lines have."""
    lines = list(
        takewhile(lambda line: not line.startswith(_LISTING_END_MARKS), output.split("\n"))
    )
    for form in (ARROW_LINE_NUMBER, BAR_LINE_NUMBER, COLON_LINE_NUMBER, PIPE_LINE_NUMBER):
        runs = parse_numbered_lines(lines, form)
        if runs:
            totals = _TOTAL_LINES_NOTE.findall(output)
            yield from _observe_listing_runs(path, runs, int(totals[-1]) if totals else None, form)
            return


def _observe_listing_runs(
    path: str, runs: list[NumberedRun], total: int | None, form: re.Pattern[str]
) -> Iterator[FileAction]:
    """Give the runs of a listing; OpenCode tells how many lines a file has, until 2026 with the
    empty one after its last end.
    """
    first, seen = runs[-1]
    ends = total is not None and first + len(seen) - 1 == total
    if ends and form is BAR_LINE_NUMBER and runs == [(1, seen)]:
        yield ObservedFile(path, "".join(seen).removesuffix("\n"))
        return
    if ends and form is BAR_LINE_NUMBER and seen[-1] == "\n":
        seen.pop()
    for number, (first, seen) in enumerate(runs, 1):
        yield ObservedLines(path, first, seen, last=ends and number == len(runs))


def gather_uncut_lines(first: int, lines: Iterable[str]) -> list[NumberedRun]:
    """Gather consecutive lines into runs, without those that may have been cut."""
    runs: list[NumberedRun] = []
    for number, line in enumerate(lines, first):
        _add_to_runs(runs, number, line)
    return runs


def _add_to_runs(runs: list[NumberedRun], number: int, line: str) -> None:
    """Add a line to the run it goes on, or begin another; one that may have been cut ends a run."""
    if len(line) >= MIN_CUT_LINE_LENGTH:
        return
    if runs and runs[-1][0] + len(runs[-1][1]) == number:
        runs[-1][1].append(line + "\n")
    else:
        runs.append((number, [line + "\n"]))


def parse_numbered_lines(lines: Iterable[str], form: re.Pattern[str]) -> list[NumberedRun]:
    """Gather lines that carry numbers into runs of consecutive ones."""
    runs: list[NumberedRun] = []
    for line in lines:
        if found := form.match(line):
            _add_to_runs(runs, int(found[1]), line[found.end() :])
    return runs


def parse_opencode_grep(lines: Iterable[str]) -> Iterator[tuple[str, NumberedRun]]:
    """Read `path:` and below it `  Line 12: text`, as OpenCode's grep shows files."""
    path: str | None = None
    for line in lines:
        found = re.match(r"  Line (\d{1,7}): ", line)
        if found and path is not None and len(line) < MIN_CUT_LINE_LENGTH:
            yield path, (int(found[1]), [line[found.end() :] + "\n"])
        elif line.endswith(":") and not line.startswith(" "):
            path = line[:-1]
