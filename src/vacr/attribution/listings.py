"""Lines with numbers, as tools show files. Step: attribute."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from vacr.attribution.events import Event, Observe, Snapshot

# How a listing puts the number before the line.
ARROW = re.compile(r" *(\d{1,7})(?:→|\t)")  # Claude Code's Read, `cat -n`, `nl`
BAR = re.compile(r"(\d{5})\| ")  # OpenCode's read until 2026
PIPE = re.compile(r" *(\d{1,7})\|")  # Cursor's Read
COLON = re.compile(r"(\d{1,7}): ")  # OpenCode's read since

# Tools cut longer lines; what a cut line was is not known.
LONGEST = 1_900

# What follows a listing: a line of the file would have a number before it.
_AFTER = ("<system-reminder>", "</content>", "</file>", "(End of file - total ", "(Showing lines ")
_TOTAL = re.compile(r"^\(End of file - total (\d{1,7}) lines\)$", re.MULTILINE)

Run = tuple[int, list[str]]


def listed(path: str, output: str) -> Iterator[Event]:
    """Read a listing of one file, in the first form that its lines have."""
    lines = list(takewhile(lambda line: not line.startswith(_AFTER), output.split("\n")))
    for form in (ARROW, BAR, COLON, PIPE):
        runs = numbered(lines, form)
        if runs:
            totals = _TOTAL.findall(output)
            yield from _whole_or_runs(path, runs, int(totals[-1]) if totals else None, form)
            return


def _whole_or_runs(
    path: str, runs: list[Run], total: int | None, form: re.Pattern[str]
) -> Iterator[Event]:
    """Give the runs of a listing; OpenCode tells how many lines a file has, until 2026 with the
    empty one after its last end.
    """
    first, seen = runs[-1]
    ends = total is not None and first + len(seen) - 1 == total
    if ends and form is BAR and runs == [(1, seen)]:
        yield Snapshot(path, "".join(seen).removesuffix("\n"))
        return
    if ends and form is BAR and seen[-1] == "\n":
        seen.pop()
    for number, (first, seen) in enumerate(runs, 1):
        yield Observe(path, first, seen, last=ends and number == len(runs))


def whole_lines(first: int, lines: Iterable[str]) -> list[Run]:
    """Gather consecutive lines into runs, without those that may have been cut."""
    runs: list[Run] = []
    for number, line in enumerate(lines, first):
        _gather(runs, number, line)
    return runs


def _gather(runs: list[Run], number: int, line: str) -> None:
    """Add a line to the run it goes on, or begin another; one that may have been cut ends a run."""
    if len(line) >= LONGEST:
        return
    if runs and runs[-1][0] + len(runs[-1][1]) == number:
        runs[-1][1].append(line + "\n")
    else:
        runs.append((number, [line + "\n"]))


def numbered(lines: Iterable[str], form: re.Pattern[str]) -> list[Run]:
    """Gather lines that carry numbers into runs of consecutive ones."""
    runs: list[Run] = []
    for line in lines:
        if found := form.match(line):
            _gather(runs, int(found[1]), line[found.end() :])
    return runs


def found_under(lines: Iterable[str]) -> Iterator[tuple[str, Run]]:
    """Read `path:` and below it `  Line 12: text`, as OpenCode's grep shows files."""
    path: str | None = None
    for line in lines:
        found = re.match(r"  Line (\d{1,7}): ", line)
        if found and path is not None and len(line) < LONGEST:
            yield path, (int(found[1]), [line[found.end() :] + "\n"])
        elif line.endswith(":") and not line.startswith(" "):
            path = line[:-1]
