"""The choice of a session among those on this machine, for verbs that were given none."""

from __future__ import annotations

import sys

import click

from vacr.cli.list import newest_first, table
from vacr.cli.options import Voice, printable
from vacr.sources.discovery import Session
from vacr.sources.files import as_text

_SHOWN = 20


def choose(agent: str | None, voice: Voice) -> Session | None:
    """Ask for one of the newest sessions on a terminal; without one, take the newest. Nothing where there are none."""
    found = newest_first(agent)
    if not found:
        return None
    if voice.json or sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        newest = found[0][0]
        voice.notice(f"vacr: the newest session: {as_text(newest.path)}{f' ({newest.session})' if newest.session else ''}")
        return newest
    shown = found[:_SHOWN]
    head, *rows = table(shown)
    click.echo(f"    {head}", err=True)
    for number, row in enumerate(rows, 1):
        click.echo(printable(f"{number:3} {row}"), err=True)
    if len(found) > _SHOWN:
        click.echo(f"    and {len(found) - _SHOWN} older ones: see vacr list", err=True)
    number = click.prompt("Which one", type=click.IntRange(1, len(shown)), default=1, err=True)
    return shown[number - 1][0]
