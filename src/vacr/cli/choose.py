"""The choice of a session among those on this machine, for verbs that were given none."""

from __future__ import annotations

import sys

import click

from vacr.cli.list import newest_first, table
from vacr.cli.options import Voice
from vacr.cli.tables import columns_of
from vacr.sources.discovery import Session

_SHOWN = 20
_LEAVE = ("", "q")


def choose(agent: str | None, voice: Voice) -> tuple[Session, list[Session]] | None:
    """Ask for one of the newest sessions on a terminal; without one, take the newest. Nothing where
    there are none.

    It comes with its sub-agents.

    Raises:
        click.Abort: the user wants none of them.
    """
    found = newest_first(agent)
    if not found:
        return None
    if voice.json or sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        newest = found[0][0]
        voice.notice(
            "vacr: the newest session: "
            f"{newest.path}{f' ({newest.session})' if newest.session else ''}"
        )
        return found[0]
    shown = found[:_SHOWN]
    width = columns_of(sys.stderr)
    head, *rows = table(shown, width and width - 4)
    click.echo(f"    {head}", err=True)
    for number, row in enumerate(rows, 1):
        click.echo(f"{number:3} {row}", err=True)
    if len(found) > _SHOWN:
        click.echo(
            f"    and {len(found) - _SHOWN} older ones, which vacr list -v shows with their paths",
            err=True,
        )

    def chosen(typed: str) -> tuple[Session, list[Session]]:
        if typed.strip().lower() in _LEAVE:
            raise click.Abort
        if not typed.strip().isdecimal() or not 1 <= int(typed) <= len(shown):
            raise click.BadParameter(f"that is none of the numbers from 1 to {len(shown)}")
        return shown[int(typed) - 1]

    question = "Which one is to be recorded? Its number, or q for none"
    picked: tuple[Session, list[Session]] = click.prompt(
        question, default="", show_default=False, value_proc=chosen, err=True
    )
    return picked
