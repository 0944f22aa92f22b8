"""`vacr stats`: what sessions add up to."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.cells import cell_len

from vacr.cli import options
from vacr.cli.given import Given, opened
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.tables import columns_of, end_of, laid_out
from vacr.errors import NotASession, UnreadableInput, VacrError, printable
from vacr.viewer.grouped import AGENT, GROUPINGS, Groups, tokens
from vacr.viewer.totals import COUNTED, Totals

_BAR = 16
_NARROWEST_KEY = 12
_EIGHTHS = " ▏▎▍▌▋▊▉"
_MOST = 8
_SECONDS = 1000
_HEAD = (
    "sessions",
    "prompts",
    "calls",
    "errors",
    "tokens in",
    "cached",
    "tokens out",
    "cost",
    "time",
)
_LEAST = ("", "cost", "cached", "time", "prompts", "errors", "calls", "sessions")
"""What is left out where a terminal is too narrow, in this order; the bars have no name."""
_NOTHING = 1


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="RECORD|SESSION|FOLDER...", type=PATH)
@click.option(
    "--by",
    type=click.Choice(GROUPINGS),
    default=AGENT,
    show_default=True,
    help="What to add up by.",
)
@options.voice_options
def command(
    paths: tuple[str, ...],
    by: str,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Add up sessions: tokens, cost, models, tools, errors and time, as their records say. Nothing
    is priced here.

    It takes records and native sessions, files and folders. A session that was recorded more than
    once counts once, by its longest recording. What was copied from another session is not counted
    again.

    \b
    Example:
      vacr stats records/
      vacr stats ~/.claude/projects --by day
      vacr stats records/ --by model --format json
    """
    voice = Voice(format, quiet, verbose)
    found, failed = Groups(by), []
    for path in paths:
        for one in _all(path):
            if isinstance(one, Given):
                found.add(one.record)
            elif isinstance(one, NotASession):
                voice.notice(f"vacr: {one}", 1)
            else:
                failed.append(one)
    groups, total = found.groups(), found.total()
    errors = [
        {"error": error.message, "where": error.where, "hint": error.hint} for error in failed
    ]
    described = {
        "by": by,
        "groups": [{"key": key, **_described(one)} for key, one in groups.items()],
        "total": _described(total),
    }
    voice.data({**described, "repeated": found.repeated, "errors": errors})
    if groups:
        for line in _table(by, groups, total):
            voice.result(line)
    if found.repeated:
        voice.notice(
            f"vacr: {plural(found.repeated, 'other recording')} of the same sessions left out"
        )
    for error in failed:
        voice.error(f"vacr: {error}", error.hint)
    return max((error.exit_code for error in failed), default=0 if groups else _NOTHING)


def _all(path: str) -> Any:
    """Give what is at a path; what cannot be read comes as an error."""
    found = False
    try:
        for one in opened(path, changed=True):
            found = found or isinstance(one, Given)
            yield one
    except VacrError as error:
        # A file that was named is not passed over in silence.
        yield UnreadableInput(error.message, where=error.where or path, hint=error.hint)
        return
    if not found:
        yield UnreadableInput(
            "there is no record in it, and no session",
            where=path,
            hint="vacr list -v shows where sessions are.",
        )


def _described(one: Totals) -> dict[str, Any]:
    return {
        "sessions": one.sessions,
        "prompts": one.prompts,
        "answers": one.answers,
        "calls": one.calls,
        "errors": one.errors,
        "entries": one.entries,
        "lines-added": one.added,
        "lines-removed": one.removed,
        "milliseconds": one.milliseconds,
        "micro-dollars": round(one.cost * 1_000_000),
        # Not every agent says what its tokens add up to, and a sum of those that do is no sum of
        # all.
        "tokens": {name: one.tokens[name] for name in COUNTED} | {"total": tokens(one)},
        "models": dict(one.models),
        "tools": dict(one.tools),
        "failed-tools": {name: count for name, count in one.failed_tools.items() if count},
        "files": len(one.files),
    }


def _table(by: str, groups: dict[str, Totals], total: Totals) -> list[str]:
    width = columns_of(sys.stdout)
    most = max(map(tokens, groups.values())) or 1
    shown = [*groups.items(), *([("all", total)] if len(groups) > 1 else [])]
    rows = [[by, *_HEAD, *([""] if width else [])]]
    for number, (key, one) in enumerate(shown):
        bar = [_bar(tokens(one) / most) if number < len(groups) else ""] if width else []
        shown_key = end_of(printable(key), max(_NARROWEST_KEY, width // 3)) if width else key
        rows.append([shown_key, *_cells(one), *bar])
    lines = _fitting(rows, width)
    for name, counts in (("models, by tokens out", total.models), ("tools", total.tools)):
        if counts:
            told = [
                f"{key} {count:,}{_failed(total, key) if name == 'tools' else ''}"
                for key, count in counts.most_common(_MOST)
            ]
            rest = f", and {len(counts) - _MOST} more" if len(counts) > _MOST else ""
            lines.append(f"{name}: {', '.join(told)}{rest}")
    if total.files:
        lines.append(
            f"files: {len(total.files):,} that calls asked to change (+{total.added:,} "
            f"-{total.removed:,})"
        )
    return lines


def _fitting(rows: list[list[str]], width: int | None) -> list[str]:
    """Lay rows out; on a terminal with as many columns as it has room for."""
    left = list(_LEAST)
    while True:
        lines = laid_out(
            rows, right=frozenset(at for at, name in enumerate(rows[0]) if name in _HEAD)
        )
        if width is None or not left or max(map(cell_len, lines)) <= width:
            return lines
        name = left.pop(0)
        if name in rows[0]:
            gone = rows[0].index(name)
            rows = [[*row[:gone], *row[gone + 1 :]] for row in rows]


def _cells(one: Totals) -> list[str]:
    counts = [
        one.sessions,
        one.prompts,
        one.calls,
        one.errors,
        one.tokens["input"],
        one.tokens["cached"],
        one.tokens["output"],
    ]
    return [
        *(f"{count:,}" for count in counts),
        f"{one.cost:.2f} $" if one.cost else "",
        _time(one.milliseconds // _SECONDS),
    ]


def _failed(total: Totals, tool: str) -> str:
    return f" ({total.failed_tools[tool]:,} failed)" if total.failed_tools[tool] else ""


def _bar(share: float) -> str:
    """Draw a share of the longest bar, to an eighth of a character."""
    whole, rest = divmod(round(share * _BAR * 8), 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def _time(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"
