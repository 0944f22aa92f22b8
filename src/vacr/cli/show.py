"""`vacr show`: a conversation in the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from vacr.cli import options
from vacr.cli.given import given
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.showing import filter_of, filter_options
from vacr.timestamps import as_text
from vacr.viewer.filters import Filter
from vacr.viewer.rows import Row, rows
from vacr.viewer.terminal import DETAILS, NORMAL, Line, Teller
from vacr.viewer.totals import Totals, add_usage, counted
from vacr.viewer.visible import visible_line

_LOOKS = {"head": "1", "dim": "2", "error": "31", "added": "32", "removed": "31", "call": "36"}
_NOTHING_MATCHED = 1


@click.command(no_args_is_help=True)
@click.argument("path", metavar="RECORD|SESSION", type=PATH)
@click.option("--detail", type=click.Choice(DETAILS), default=NORMAL, show_default=True, help="How much is shown of each.")
@filter_options
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: on a terminal]"
)
@click.option("--no-pager", is_flag=True, help="Print it all at once.")
@options.streaming_voice_options
def command(
    path: str,
    detail: str,
    color: str,
    no_pager: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Show a conversation: what was asked, what was answered, each tool call in a line, edits as diffs, and what it adds up to.

    It takes a record, or a native session. What is shown is not verified: `vacr verify` does that. Nothing in a session can drive
    the terminal: control characters are shown as what they are.

    \b
    Example:
      vacr show abc.acr.json
      vacr show abc.acr.json --detail full --only tool --errors
      vacr show ~/.claude/projects/x/abc.jsonl --grep "rm -rf"
    """
    voice = Voice(format, quiet, verbose)
    chosen = filter_of(**asked)
    found = 0
    coloured = color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    for one in given(path, changed=True):
        shown = _Shown(one.record, chosen)
        for row in shown.rows() if voice.json else ():
            voice.line(
                {
                    "place": row.place,
                    "id": row.name,
                    "kind": row.kind,
                    "tool": row.tool or None,
                    "summary": row.summary or None,
                    "is_error": row.is_error,
                }
            )
        if not voice.json:
            teller = Teller(detail, events="event" in asked["only"])
            text = (_painted(lines, coloured=coloured) for lines in shown.lines(teller))
            if no_pager or not sys.stdout.isatty():
                for piece in text:
                    click.echo(piece, color=coloured, nl=False)
            else:
                click.echo_via_pager(text, color=coloured)
        found += shown.count
    return 0 if found or chosen == Filter() else _NOTHING_MATCHED


class _Shown:
    """A record, row by row: the first is on the screen before the last is made."""

    def __init__(self, record: Any, chosen: Filter) -> None:
        """Take a record, and which of its rows are asked for."""
        self.record, self.chosen = record, chosen
        self.count = 0

    def rows(self, totals: Totals | None = None) -> Iterator[Row]:
        """Give what is asked for, and add up all there is."""
        for row in self.chosen.chosen(counted(rows(self.record), totals or Totals())):
            self.count += 1
            yield row

    def lines(self, teller: Teller) -> Iterator[Iterable[Line]]:
        """Give the lines of each row, between those about the session."""
        totals = Totals(sessions=1)
        yield _head(self.record)
        for row in self.rows(totals):
            yield teller.lines(row)
        add_usage(self.record, totals)
        yield Line(""), Line(_sum(totals), "dim")


def _painted(lines: Iterable[Line], *, coloured: bool) -> str:
    looks = ((line.text, _LOOKS.get(line.look) if coloured else None) for line in lines)
    return "".join(f"\033[{look}m{text}\033[0m\n" if look else f"{text}\n" for text, look in looks)


def _head(record: Any) -> Iterator[Line]:
    session = record["session"]
    meta = session.get("agent-meta", {})
    who = " ".join(str(meta[name]) for name in ("cli-name", "cli-version") if name in meta)
    models = ", ".join(map(str, meta.get("models") or [meta.get("model-id", "unknown")]))
    where = session.get("environment", {}).get("working-dir", "")
    yield Line(visible_line(f"{who}, {models}"), "head")
    name = session.get("session-id", "")
    named = name.hex() if isinstance(name, bytes) else name
    start = as_text(session["session-start"]) if "session-start" in session else None
    yield Line(
        visible_line(" · ".join(str(part) for part in (named, where, (start or "")[:19].replace("T", " ")) if part)),
        "dim",
    )


def _sum(found: Totals) -> str:
    told = [plural(found.prompts, "prompt"), plural(found.calls, "tool call"), plural(found.errors, "error")]
    if found.files:
        told.append(f"{plural(len(found.files), 'file')} (+{found.added} -{found.removed})")
    if found.tokens:
        told.append(f"{found.tokens['input']:,} tokens in, {found.tokens['output']:,} out")
    if found.cost:
        told.append(f"{found.cost:.2f} $")
    if found.milliseconds:
        told.append(_lasted(found.milliseconds // 1000))
    return ", ".join(told)


def _lasted(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s"
