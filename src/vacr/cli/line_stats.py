"""`vacr stats --lines`: who wrote the lines that commits added, as a table.

>>> from vacr.cli.line_stats import parse_groupings
>>> parse_groupings("week,author")
['week', 'author']
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from rich.cells import cell_len

from vacr.blame import Repository
from vacr.cli.record_inputs import open_blame_inputs
from vacr.console import (
    Voice,
    align_columns,
    fit_to_width,
    get_terminal_width,
    show_phases,
    truncate_start,
)
from vacr.errors import UsageError, escape_unprintable
from vacr.workflows import (
    CONTRIBUTOR_TYPES,
    LINE_GROUPINGS,
    LineCounts,
    LineStatistics,
    build_statistics_document,
    collect_line_statistics,
    format_count,
    format_group_names,
    get_blame_records,
    sort_line_groups,
)

_MAX_ROWS = 10
_MIN_KEY_WIDTH = 12
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NO_SHARE = "–"
_DROPPABLE_COLUMNS = ("lines", "90 d", "7 d", "30 d")
"""The columns that a narrow terminal leaves out, in this order."""


@dataclass(frozen=True)
class LineOptions:
    """The options that choose commits and records, of `vacr stats` and of `vacr view`."""

    range: str
    repository: str | None = None
    since: str | None = None
    until: str | None = None
    no_index: bool = False

    def collect(self, paths: Sequence[str], voice: Voice) -> LineStatistics:
        """Count the lines, joined to the records at some paths; show progress in a terminal.

        Without paths, the sessions on this machine that worked in the repository count.

        Raises:
            UsageError: a time is malformed.
            UnreadableInput: there is no such repository, range or record.
        """
        since = _parse_time(self.since, "--since")
        until = _parse_time(self.until, "--until", is_end=True)
        repository = Repository(self.repository or ".")
        with show_phases(voice) as progress:
            reading = partial(progress, "reading sessions")
            reading(0, 0)
            with open_blame_inputs(
                paths, repository, reading, voice, no_index=self.no_index
            ) as inputs:
                statistics = collect_line_statistics(
                    repository,
                    self.range,
                    get_blame_records(inputs),
                    since=since,
                    until=until,
                    progress=progress,
                )
        repository.close()
        self._report_gaps(statistics, voice)
        return statistics

    def _report_gaps(self, statistics: LineStatistics, voice: Voice) -> None:
        """Print a notice if no commit was counted, and an error if files could not be read."""
        if statistics.end is None:
            voice.notice(f"vacr: no commits in {self.range}")
        elif not statistics.commits:
            voice.notice(f"vacr: no commits in {self.range} match --since and --until")
        if statistics.unreadable:
            first = statistics.unreadable[0]
            count = format_count(len(statistics.unreadable), "file")
            voice.error(
                f"vacr: not counted: {count} whose objects the repository lacks, such as "
                f"{first.path} in {first.commit[:12]}",
                "In a partial clone, fetch all objects with: git fetch --refetch --no-filter",
            )


def _parse_time(text: str | None, option: str, *, is_end: bool = False) -> int | None:
    """Return a date or a time of the user in seconds since 1970; `None` without one.

    A date is a day in UTC: its first second, or with `is_end` its last. `option` names the option
    in the error.

    Raises:
        UsageError: it is neither a date nor a time.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if is_end and _DATE.fullmatch(text):
            moment += timedelta(days=1, seconds=-1)
        return int(moment.timestamp())
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} {text}: neither a date nor a time",
            hint=f"For example: {option} 2026-03-14, or {option} 2026-03-14T09:00:00Z",
        ) from error


def parse_groupings(text: str | None) -> list[str]:
    """Return the groupings in a text such as `week,author`, in its order and each once.

    For `None`, return all groupings.

    Raises:
        UsageError: a grouping is unknown.
    """
    if text is None:
        return list(LINE_GROUPINGS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in LINE_GROUPINGS:
            raise UsageError(
                f"lines cannot be grouped by {name}",
                hint=f"Choose from: {', '.join(LINE_GROUPINGS)}",
            )
    return list(dict.fromkeys(names))


def show_line_statistics(
    options: LineOptions, by: str | None, paths: Sequence[str], voice: Voice, *, wide: bool
) -> int:
    """Print who wrote the lines of a range as a table or as JSON; return the exit code, 0.

    `by` is the text of `--by`, or `None`; `paths` are records or sessions, if named. A `wide` table
    has all columns, also if they do not fit the terminal.
    """
    groupings = parse_groupings(by)
    statistics = options.collect(paths, voice)
    voice.data(build_statistics_document(statistics, groupings))
    total = statistics.total
    commits = format_count(statistics.commits, "commit")
    added = f"{total.lines.total():,} lines added" if total.lines.total() != 1 else "1 line added"
    voice.result(f"{statistics.range}: {commits}, {added}")
    rows = _build_table(statistics, groupings, shows_all=voice.verbose > 0)
    lines, left_out = _fit_rows(rows, None if wide else get_terminal_width(sys.stdout))
    voice.results(lines)
    if left_out:
        voice.prose(f"left out: {', '.join(left_out)}; for all columns, add --wide")
    for fact in _list_facts(total):
        voice.prose(fact)
    return 0


def _build_table(
    statistics: LineStatistics, groupings: Sequence[str], *, shows_all: bool
) -> list[list[str]]:
    """Return the rows of the table, the names of its columns first.

    Without `shows_all`, each grouping has only its largest groups, and weeks only the latest.
    """
    total = statistics.total
    days = [f"{days} d" for days in total.survival]
    rows = [["", *CONTRIBUTOR_TYPES, "lines", *days], _format_row("all lines", total)]
    for by in groupings:
        rows += [[by, *[""] * (len(rows[0]) - 1)]]
        names = format_group_names(statistics, by)
        groups = sort_line_groups(statistics, by)
        left_out = 0 if shows_all else max(0, len(groups) - _MAX_ROWS)
        # Of weeks, the latest matter most.
        shown = groups[left_out:] if by == "week" else groups[: len(groups) - left_out]
        rows += [_format_row(f"  {names[key]}", counts) for key, counts in shown]
        if left_out:
            rows += [[f"  {left_out:,} more: -v", *[""] * (len(rows[0]) - 1)]]
    return rows


def _format_row(name: str, counts: LineCounts) -> list[str]:
    """Return the cells of a group: its name, its lines by type, and the shares that survived."""
    shares = [_format_share(own.survived, own.lines) for own in counts.survival.values()]
    numbers = [counts.lines[kind] for kind in CONTRIBUTOR_TYPES]
    return [name, *(f"{number:,}" for number in numbers), f"{counts.lines.total():,}", *shares]


def _format_share(part: int, whole: int) -> str:
    """Return a part as a percentage, rounded down, or a dash if the whole is 0."""
    if not whole:
        return _NO_SHARE
    share = 100 * part // whole
    return f"{share}%" if share or not part else "<1%"


def _fit_rows(rows: list[list[str]], width: int | None) -> tuple[list[str], list[str]]:
    """Return rows as aligned lines, and the names of the columns that they leave out.

    Cut the names of groups so that lines fit a width. The end of a folder matters most, of other
    names the beginning. If names are too short to cut, leave out columns.
    """
    rows = [[escape_unprintable(row[0]), *row[1:]] for row in rows]
    droppable = list(_DROPPABLE_COLUMNS)
    left_out: list[str] = []
    while True:
        right = frozenset(range(1, len(rows[0])))
        lines = align_columns(rows, right=right)
        widest, longest = max(map(cell_len, lines)), max(cell_len(row[0]) for row in rows)
        if width is None or widest <= width:
            return lines, left_out
        key_width = longest - (widest - width)
        if key_width >= _MIN_KEY_WIDTH or not droppable:
            break
        left_out.append(droppable.pop(0))
        gone = rows[0].index(left_out[-1])
        rows = [[*row[:gone], *row[gone + 1 :]] for row in rows]
    key_width = max(key_width, _MIN_KEY_WIDTH)
    cut = []
    for name, *cells in rows:
        is_long_path = "/" in name and cell_len(name) > key_width
        end = f"  {truncate_start(name.strip(), key_width - 2)}" if is_long_path else name
        cut.append([fit_to_width(end, key_width), *cells])
    return align_columns(cut, right=right), left_out


def _list_facts(total: LineCounts) -> list[str]:
    """Return a line about lines edited before their commit, and one for each age of `ai` lines.

    The ages end with the first for which no line is old enough. Return an empty list if no session
    wrote a line.
    """
    mixed, written = total.lines["mixed"], total.lines["ai"] + total.lines["mixed"]
    if not written:
        return []
    share = _format_share(mixed, written)
    facts = [f"edited before commit: {mixed:,} of {written:,} lines that agents wrote ({share})"]
    for days, own in total.survival.items():
        if not own.lines:
            # None is older, either.
            facts.append(f"survived {days} days: no ai line is old enough")
            break
        share = _format_share(own.survived, own.lines)
        survived = f"{own.survived:,} of {own.lines:,} ai lines ({share})"
        young = f"; {own.too_young:,} too young" if own.too_young else ""
        facts.append(f"survived {days} days: {survived}{young}")
    return facts
