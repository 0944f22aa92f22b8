"""`vacr stats`: the totals of sessions: tokens, cost, models, tools, errors and time.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["stats", "examples/claude-code.jsonl"])
    agent        sessions  prompts  calls  failed  tokens in  cached  tokens out    cost  elapsed
    claude-code         1        1      4       1     97,316  95,784         606  ~$0.07  0:00:18
    models, by tokens out: claude-opus-4-6 606
    tools: Edit 2, Read 1, Bash 1 (1 failed)
    cost: ~$0.07 estimated, prices of 2026-11-18 (~ is or contains an estimate)
    files: 1 edited (+6 -1)
    0

A table that is too wide for its terminal has rounded numbers and fewer columns. A line below names
the others, and `--wide` prints them all.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any

import click
from rich.cells import cell_len

from vacr.archive import (
    INDEX_GROUPINGS,
    SearchIndex,
    TotalsQuery,
    add_up_groups,
    count_sessions,
    sum_totals,
)
from vacr.cli.index_answers import answer_from_index
from vacr.cli.line_stats import LineOptions, show_line_statistics
from vacr.cli.modified import ModifiedRecords
from vacr.cli.options import (
    EXIT_NO_SESSION,
    PATH,
    Verb,
    check_commit_options,
    commit_options,
    complete_agent,
    load_prices,
    prices_option,
    voice_options,
)
from vacr.cli.selection import Selection, check_agent_name
from vacr.console import (
    Voice,
    align_columns,
    get_terminal_width,
    show_job_progress,
    truncate_start,
)
from vacr.errors import (
    InvalidRecord,
    NotASession,
    UnreadableInput,
    UsageError,
    VacrError,
    escape_unprintable,
)
from vacr.files import make_absolute
from vacr.record import has_labels
from vacr.viewer import (
    BY_AGENT,
    BY_DAY,
    BY_MODEL,
    COUNTED_TOKENS,
    GROUPINGS,
    PriceTable,
    SessionGroups,
    Totals,
    format_cost,
    format_line_counts,
    list_cost_facts,
    list_cost_marks,
    load_price_table,
    sum_tokens,
)
from vacr.workflows import (
    LINE_GROUPINGS,
    InputRecord,
    format_count,
    parse_moment,
    scan_input_records,
)

_BAR_WIDTH = 16
_MIN_KEY_WIDTH = 12
_BAR_EIGHTHS = " ▏▎▍▌▋▊▉"
_MAX_NAMES_SHOWN = 8
_MILLISECONDS_PER_SECOND = 1000
_MICRO = 1_000_000
_COLUMN_NAMES = (
    "sessions",
    "prompts",
    "calls",
    "failed",
    "tokens in",
    "cached",
    "tokens out",
    "cost",
    "elapsed",
)
_PLAIN_OUTCOMES = frozenset(("success", "error", "unknown"))
_EXTRA_COLUMNS = ("cached", "prompts", "elapsed", "calls", "sessions", "failed", "cost")
"""The columns that a narrow terminal leaves out, the first ones first."""
_TOKEN_UNITS = ((999_950_000, 10**9, "G"), (999_950, 10**6, "M"), (1_000, 10**3, "k"))
"""The least count that rounds to one unit, the unit, and its name."""
_TIME_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def _complete_grouping(
    context: click.Context, _parameter: click.Parameter, typed: str
) -> list[str]:
    """Return the groupings that begin with the typed text, after the last comma in it."""
    before, comma, begun = typed.rpartition(",")
    names = LINE_GROUPINGS if context.params.get("lines") or comma else GROUPINGS
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


@click.command(cls=Verb)
@click.argument("paths", nargs=-1, metavar="[RECORD|SESSION|FOLDER]...", type=PATH)
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    type=PATH,
    help="Records or native sessions, like the arguments; repeatable.  [default with --lines: the "
    "sessions of the repository]",
)
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Only sessions of this agent; not with --lines.",
)
@click.option(
    "--repo",
    metavar="TEXT",
    help="Only sessions in repositories whose address has this text; not with --lines.",
)
@click.option(
    "--project",
    metavar="FOLDER",
    type=PATH,
    help="Only sessions that worked in this folder; not with --lines.",
)
@click.option(
    "--model",
    metavar="TEXT",
    help="Without paths: only models whose name has this text; groups by model.",
)
@click.option(
    "--by",
    metavar="NAME[,NAME]",
    shell_complete=_complete_grouping,
    help=f"How to group sessions: {', '.join(GROUPINGS)}, and without paths also repo. "
    f"With --lines: one or more of {', '.join(LINE_GROUPINGS)}.  "
    f"[default: {BY_AGENT}; with --lines, all]",
)
@click.option(
    "--lines",
    metavar="A..B|REVISION",
    help="Count the lines that commits added, instead of sessions: those of a range, or of the "
    "whole history of a revision.",
)
@commit_options
@click.option(
    "--no-index",
    is_flag=True,
    help="With --lines: read all sessions, instead of using the index.",
)
@click.option(
    "--wide",
    is_flag=True,
    help="Print all columns and exact numbers, also if they do not fit the terminal.",
)
@prices_option
@voice_options
def command(
    paths: tuple[str, ...],
    records: tuple[str, ...],
    agent: str | None,
    repo: str | None,
    project: str | None,
    model: str | None,
    by: str | None,
    lines: str | None,
    repository: str | None,
    since: str | None,
    until: str | None,
    no_index: bool,
    wide: bool,
    prices: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Add up tokens, cost, tools and time, or the lines of commits.

    Without arguments, all sessions on this machine count, from the index of `vacr search`; --since
    and --until choose a time: `7d` is the last seven days, and `last-week` begins on Monday of last
    week. Otherwise the arguments are records, native sessions, or folders of them. If a session was
    recorded several times, one recording counts: an unmodified one wins, then the agent's own, then
    the longest. Entries copied from another session are not counted twice. The column `elapsed` is
    the time from the start to the end of each session, with its pauses; with --since, --until or
    --by day, the part in that time. Days are those of your time zone; with paths, a session counts
    for the day on which it began. A narrow terminal shows rounded numbers and fewer columns.

    A cost is what the agent states. If it states none, or zero for tokens used, vacr estimates it
    from the list price of the model on that day. Each cost is rounded by itself, so the last row
    may differ by a cent from the sum of the rows above. The column adds up both: `~` marks a sum
    with an estimate, `≥` a sum without the models that have no price. The line below the table
    shows them separately.

    If a record was modified after it was made, it counts, but a warning comes first, and the exit
    code is 1.

    With --lines, vacr counts the lines that each commit added, as ai, human, mixed and unknown,
    like `vacr blame --commit`. The last columns show how many of the ai lines the branch still has
    7, 30 and 90 days after their commit. Mixed lines were edited before their commit. Without
    records, vacr uses the sessions on this machine that worked in the repository. A modified record
    is refused, and in a folder skipped.

    \b
    Example:
      vacr stats --by model --since 7d
      vacr stats --model opus --since last-week
      vacr stats ~/.claude/projects --by day
      vacr stats records/ --by model --format json
      vacr stats --lines HEAD~10..HEAD
      vacr stats --lines main..HEAD --by author --records records/
      vacr stats --lines main --since 2026-01-01 --by week,author
    """
    voice = Voice(format, quiet, verbose)
    paths = (*paths, *records)
    filters = {"agent": agent, "repo": repo, "project": project}
    if model is not None and (paths or lines is not None or by not in (None, BY_MODEL)):
        raise UsageError(
            "--model chooses among all sessions on this machine, by model",
            hint="For example: vacr stats --model opus --since last-week",
        )
    if lines is not None:
        _refuse_index_options(filters)
    elif paths and repository is None:
        paths = Selection(agent, project, repo, since, until).choose(paths, voice)
        since = until = None
    elif repository is not None:
        check_commit_options(repository=repository)
    else:
        choice = {**filters, "model": model}
        return _show_index_totals(by, choice, since, until, prices, voice, wide=wide)
    if lines is not None:
        if prices is not None:
            raise UsageError(
                "--lines and --prices exclude each other",
                hint="Omit --prices: sessions have costs, single lines of code do not.",
            )
        options = LineOptions(lines, repository, since, until, no_index)
        return show_line_statistics(options, by, paths, voice, wide=wide)
    check_commit_options(repository=repository, since=since, until=until)
    if no_index:
        raise UsageError("--no-index needs --lines", hint="For example: --lines main..HEAD")
    return _show_session_totals(paths, by, prices, voice, wide=wide)


def _refuse_index_options(filters: dict[str, str | None]) -> None:
    """Refuse options that choose sessions.

    Raises:
        UsageError: one of them is set.
    """
    for name, value in filters.items():
        if value is not None:
            raise UsageError(
                f"--{name} chooses sessions, but --lines counts commits",
                hint="Omit one of them.",
            )


def _show_index_totals(
    by: str | None,
    filters: dict[str, str | None],
    since: str | None,
    until: str | None,
    prices: str | None,
    voice: Voice,
    *,
    wide: bool,
) -> int:
    """Print the totals of all sessions on this machine; return the exit code.

    Raises:
        UsageError: the grouping, a time or an agent is unknown, or prices are named.
        UnreadableInput: the index cannot be used.
    """
    by = by or (BY_MODEL if filters["model"] else BY_AGENT)
    if by not in INDEX_GROUPINGS:
        raise UsageError(
            f"sessions cannot be grouped by {by}",
            hint=f"Choose from: {', '.join(INDEX_GROUPINGS)}",
        )
    if prices is not None:
        raise UsageError(
            "--prices works only with paths: without paths, the costs come from the index",
            hint="Name the sessions: vacr stats FOLDER --prices FILE",
        )
    now = datetime.now().astimezone()
    project = filters["project"]
    query = TotalsQuery(
        by,
        agent=check_agent_name(filters["agent"]),
        repo=filters["repo"] or "",
        project=make_absolute(project) if project else "",
        since_ms=parse_moment(since, "--since", now) if since else None,
        until_ms=parse_moment(until, "--until", now, is_end=True) if until else None,
        model=(filters["model"] or "").lower(),
        has_local_days=True,
    )

    newest = ""

    def add_up(index: SearchIndex) -> tuple[dict[str, Totals], Totals, list[str], bool]:
        """Return the totals of groups and of all, the models, and whether there are no sessions."""
        nonlocal newest
        groups = sum_totals(index.connection, query)
        total = add_up_groups(groups, count_sessions(index.connection, query))
        unchosen = replace(query, model="")
        models = [*sum_totals(index.connection, unchosen)] if query.model and not groups else []
        if not groups and (since or until) and not query.model:
            at_any_time = replace(query, by=BY_DAY, since_ms=None, until_ms=None)
            days = (day for day in sum_totals(index.connection, at_any_time) if day[:1].isdigit())
            newest = max(days, default="")
        return groups, total, models, index.is_empty

    groups, total, models, is_empty = answer_from_index(add_up, voice)
    date = load_price_table().date
    voice.data(
        {
            "by": by,
            "groups": [{"key": key, **_build_totals_document(own)} for key, own in groups.items()],
            "total": _build_totals_document(total),
            "prices": {"date": date},
        }
    )
    if is_empty:
        return EXIT_NO_SESSION
    if not groups:
        latest = f"The newest at any time is of {newest}. " if newest else ""
        voice.notice(f"vacr: no sessions match. {latest}{_suggest_models(models)}")
        return EXIT_NO_SESSION
    _print_totals(by, groups, total, date, voice, wide=wide)
    return 0


def _suggest_models(models: list[str]) -> str:
    """Return the next step where no session matches: the models that there are, if any."""
    if not models:
        return "To see all sessions: vacr list"
    more = len(models) - _MAX_NAMES_SHOWN
    rest = f", and {more} more" if more > 0 else ""
    return f"The models there: {', '.join(models[:_MAX_NAMES_SHOWN])}{rest}"


def _show_session_totals(
    paths: tuple[str, ...], by: str | None, prices: str | None, voice: Voice, *, wide: bool
) -> int:
    """Print the totals of sessions; return the exit code.

    Raises:
        UsageError: the grouping is unknown.
        UnreadableInput: the price file cannot be read.
    """
    by = _check_session_grouping(by or BY_AGENT)
    table = load_prices(prices)
    read = _read_sessions(paths, by, table, voice)
    groups, total = read.totals.groups(), read.totals.total()
    voice.data(_build_sessions_document(by, groups, total, read, table))
    if groups:
        _print_totals(by, groups, total, table.date, voice, wide=wide)
    _report_left_out_sessions(read, voice)
    worst = max(
        (error.exit_code for error in read.failed), default=0 if groups else EXIT_NO_SESSION
    )
    return max(worst, read.modified.exit_code)


def _check_session_grouping(by: str) -> str:
    """Return the grouping of sessions.

    Raises:
        UsageError: it is unknown.
    """
    if by in GROUPINGS:
        return by
    only_lines = by.partition(",")[0] in LINE_GROUPINGS
    raise UsageError(
        f"sessions cannot be grouped by {by}",
        hint=f"Choose from: {', '.join(GROUPINGS)}"
        + (". To count lines of commits, add --lines RANGE." if only_lines else ""),
    )


@dataclass
class _ReadSessions:
    """The sessions at the paths of the command line, added up."""

    totals: SessionGroups
    modified: ModifiedRecords
    unlabelled: int = 0
    """Records whose entries have no labels, so that prompts and failures are partly unknown."""
    failed: list[VacrError] = field(default_factory=list)


def _read_sessions(
    paths: tuple[str, ...], by: str, prices: PriceTable, voice: Voice
) -> _ReadSessions:
    """Read and add up the sessions at paths, with a warning about each modified record."""
    read = _ReadSessions(SessionGroups(by, prices, has_local_days=True), ModifiedRecords(voice))
    items = (item for path in paths for item in _scan_input_path(path))
    with show_job_progress("reading sessions", voice) as progress:
        for number, item in enumerate(items, 1):
            progress(number, 0)
            if isinstance(item, InputRecord):
                read.modified.warn(item.path, item.modified)
                read.totals.add(item.record, is_modified=bool(item.modified))
                read.unlabelled += not has_labels(item.record)
            elif isinstance(item, NotASession):
                voice.notice(f"vacr: {item}", 1)
            else:
                read.failed.append(item)
    return read


def _build_sessions_document(
    by: str, groups: dict[str, Totals], total: Totals, read: _ReadSessions, prices: PriceTable
) -> dict[str, Any]:
    """Return the totals of sessions for JSON output."""
    return {
        "by": by,
        "groups": [{"key": key, **_build_totals_document(own)} for key, own in groups.items()],
        "total": _build_totals_document(total),
        "prices": {"date": prices.date, "source": prices.source},
        "repeated": read.totals.repeated,
        "modified": read.modified.documents,
        "unlabelled": read.unlabelled,
        "errors": [
            {"error": error.message, "where": error.where, "hint": error.hint}
            for error in read.failed
        ],
    }


def _report_left_out_sessions(read: _ReadSessions, voice: Voice) -> None:
    """Print which sessions do not count, or count only partly."""
    if read.totals.repeated:
        voice.notice(f"vacr: skipped {format_count(read.totals.repeated, 'duplicate recording')}")
    if read.unlabelled:
        voice.notice(
            f"vacr: {format_count(read.unlabelled, 'record')} without labels, from another program "
            "or an earlier version: prompts and failures are only partly known. Record the "
            "sessions again."
        )
    for error in read.failed:
        voice.error(f"vacr: {error}", error.hint)


def _scan_input_path(path: str) -> Iterator[InputRecord | VacrError]:
    """Yield the records at a path, and an error for each unreadable one.

    If the path has no records, yield an error, too.
    """
    has_items = False
    try:
        for item in scan_input_records(path, changed=True):
            has_items = has_items or isinstance(item, InputRecord)
            yield item
    except VacrError as error:
        if isinstance(error, InvalidRecord):
            yield error
            return
        # A named file must not be skipped silently.
        yield UnreadableInput(error.message, where=error.where or path, hint=error.hint)
        return
    if not has_items:
        yield UnreadableInput(
            "no records or sessions found",
            where=path,
            hint="To find sessions: vacr list -v",
        )


def _build_totals_document(totals: Totals) -> dict[str, Any]:
    """Return totals for JSON output."""
    return {
        "sessions": totals.sessions,
        "prompts": totals.prompts,
        "answers": totals.answers,
        "calls": totals.calls,
        "errors": totals.errors,
        "failed-calls": totals.failed_calls,
        "entries": totals.entries,
        "lines-added": totals.added,
        "lines-removed": totals.removed,
        "milliseconds": totals.milliseconds,
        "outcomes": dict(totals.outcomes),
        "micro-dollars": round(totals.cost.stated * _MICRO),
        "estimated-micro-dollars": round(totals.cost.estimated * _MICRO),
        "calls-stated-as-free": totals.cost.zero_calls,
        "priced-as": dict(totals.cost.priced_as),
        "unpriced": dict(totals.cost.unpriced),
        # Not every agent states a total, so it is computed for all.
        "tokens": {name: totals.tokens[name] for name in COUNTED_TOKENS}
        | {"total": sum_tokens(totals)},
        "models": dict(totals.models),
        "tools": dict(totals.tools),
        "failed-tools": {name: count for name, count in totals.failed_tools.items() if count},
        "files": len(totals.files),
    }


def _print_totals(
    by: str,
    groups: dict[str, Totals],
    total: Totals,
    price_date: str,
    voice: Voice,
    *,
    wide: bool,
) -> None:
    """Print a table with a line for each group, then lines about models, tools and files.

    On a terminal, bars compare the tokens of the groups, if there is room. A table that does not
    fit gets shorter, unless it may be `wide`.
    """
    shown = [*groups.items(), *([("all", total)] if len(groups) > 1 else [])]
    width = get_terminal_width(sys.stdout)
    lines = _align_totals(by, shown, _COLUMN_NAMES)
    left_out: tuple[str, ...] = ()
    if width is not None:
        bars = [""] + _draw_bars(groups)
        lines_with_bars = [
            f"{line}  {bar}".rstrip() for line, bar in zip_longest(lines, bars, fillvalue="")
        ]
        if max(map(cell_len, lines_with_bars)) <= width:
            lines = lines_with_bars
        elif not wide and max(map(cell_len, lines)) > width:
            lines, left_out = _align_to_width(by, shown, width)
    voice.results(lines)
    if left_out:
        voice.prose(f"left out: {', '.join(left_out)}; for all columns, add --wide")
    marks = list_cost_marks(totals.cost for _, totals in shown)
    for fact in _list_total_facts(by, total, price_date, marks):
        voice.prose(fact)


def _list_total_facts(by: str, total: Totals, price_date: str, marks: list[str]) -> Iterator[str]:
    """Yield the lines below a table: models, tools, costs, calls, events and files.

    `marks` explain the marks of costs in the table.
    """
    if total.models and by != BY_MODEL:  # A table by model has them already.
        yield f"models, by tokens out: {_join_counts(total.models)}"
    if total.tools:
        yield f"tools: {_join_counts(total.tools, total.failed_tools)}"
    if facts := list_cost_facts(total.cost, price_date):
        explained = f" ({'; '.join(marks)})" if marks else ""
        yield f"cost: {'; '.join(facts)}{explained}"
    others = {name: count for name, count in total.outcomes.items() if name not in _PLAIN_OUTCOMES}
    if others:
        yield f"calls: {', '.join(f'{count:,} {name}' for name, count in sorted(others.items()))}"
    if total.error_events:
        yield f"events: {format_count(total.error_events, 'error')}"
    if total.files:
        lines = format_line_counts(total.added, total.removed)
        yield f"files: {len(total.files):,} edited ({lines})"


def _join_counts(counts: Counter[str], failed: Counter[str] | None = None) -> str:
    """Return the names with the highest counts, such as `Edit 2, Bash 1 (1 failed), and 3 more`."""
    parts = [
        f"{name} {count:,}" + (f" ({failed[name]:,} failed)" if failed and failed[name] else "")
        for name, count in counts.most_common(_MAX_NAMES_SHOWN)
    ]
    if len(counts) > _MAX_NAMES_SHOWN:
        parts.append(f"and {len(counts) - _MAX_NAMES_SHOWN} more")
    return ", ".join(parts)


def _align_totals(
    by: str, shown: list[tuple[str, Totals]], names: Sequence[str], *, rounded: bool = False
) -> list[str]:
    """Return the columns with these names as aligned lines, after a column with the groups."""
    rows = [[by, *names]]
    for key, totals in shown:
        cells = dict(zip(_COLUMN_NAMES, _format_totals_cells(totals, rounded), strict=True))
        rows.append([escape_unprintable(key), *(cells[name] for name in names)])
    return align_columns(rows, right=frozenset(range(1, len(names) + 1)))


def _align_to_width(
    by: str, shown: list[tuple[str, Totals]], width: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return a table that fits a width, and the names of the columns that it leaves out.

    It has rounded numbers, and long names of groups are cut.
    """
    limit = max(_MIN_KEY_WIDTH, width // 3)
    shown = [(truncate_start(escape_unprintable(key), limit), totals) for key, totals in shown]
    for count in range(len(_EXTRA_COLUMNS) + 1):
        left_out = _EXTRA_COLUMNS[:count]
        names = [name for name in _COLUMN_NAMES if name not in left_out]
        lines = _align_totals(by, shown, names, rounded=True)
        if max(map(cell_len, lines)) <= width:
            break
    return lines, left_out


def _format_totals_cells(totals: Totals, rounded: bool) -> list[str]:
    """Return the cells of a group, in the order of `_COLUMN_NAMES`."""
    counts = [totals.sessions, totals.prompts, totals.calls, totals.failed_calls]
    tokens = [totals.tokens[name] for name in ("input", "cached", "output")]
    seconds = totals.milliseconds // _MILLISECONDS_PER_SECOND
    return [
        *(f"{count:,}" for count in counts),
        *(_round_count(count) if rounded else f"{count:,}" for count in tokens),
        format_cost(totals.cost),
        _round_duration(seconds) if rounded else _format_duration(seconds),
    ]


def _round_count(count: int) -> str:
    """Return a count with at most one decimal and a unit, such as `1.3M`."""
    for least, unit, name in _TOKEN_UNITS:
        if count >= least:
            return f"{count / unit:,.1f}{name}"
    return str(count)


def _round_duration(seconds: int) -> str:
    """Return a duration in its largest unit, such as `3 h`."""
    unit, name = next((item for item in _TIME_UNITS if seconds >= item[0]), _TIME_UNITS[-1])
    return f"{seconds // unit:,} {name}"


def _draw_bars(groups: dict[str, Totals]) -> list[str]:
    """Return a bar for the tokens of each group; the longest belongs to the group with most."""
    most = max(map(sum_tokens, groups.values())) or 1
    return [_draw_bar(sum_tokens(totals) / most) for totals in groups.values()]


def _draw_bar(share: float) -> str:
    """Return a bar of blocks whose length is a share, 0 to 1, of the longest bar."""
    whole, rest = divmod(round(share * _BAR_WIDTH * 8), 8)
    return "█" * whole + (_BAR_EIGHTHS[rest] if rest else "")


def _format_duration(seconds: int) -> str:
    """Return a duration as hours, minutes and seconds: `0:00:18`."""
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"
