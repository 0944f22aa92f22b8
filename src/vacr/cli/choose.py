"""The choice of a session among those on this machine, for verbs that were given none."""

from __future__ import annotations

import sys

import click

from vacr.cli.list import format_session_table, list_newest_sessions
from vacr.cli.options import Voice
from vacr.cli.tables import get_terminal_width
from vacr.discovery import SessionSummary

_MAX_SESSIONS_SHOWN = 20
_CANCEL_ANSWERS = ("", "q")


def choose_session(
    agent: str | None, voice: Voice
) -> tuple[SessionSummary, list[SessionSummary]] | None:
    """Ask for one of the newest sessions on a terminal; without one, take the newest. Nothing where
    there are none.

    It comes with its sub-agents.

    Raises:
        click.Abort: the user wants none of them.
    """
    found = list_newest_sessions(agent)
    if not found:
        return None
    if voice.json or sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        newest = found[0][0]
        voice.notice(
            "vacr: the newest session: "
            f"{newest.path}{f' ({newest.session})' if newest.session else ''}"
        )
        return found[0]
    shown = found[:_MAX_SESSIONS_SHOWN]
    width = get_terminal_width(sys.stderr)
    head, *rows = format_session_table(shown, width and width - 4)
    click.echo(f"    {head}", err=True)
    for number, row in enumerate(rows, 1):
        click.echo(f"{number:3} {row}", err=True)
    if len(found) > _MAX_SESSIONS_SHOWN:
        click.echo(
            f"    and {len(found) - _MAX_SESSIONS_SHOWN} older ones, which vacr list -v shows with their paths",
            err=True,
        )

    def chosen(typed: str) -> tuple[SessionSummary, list[SessionSummary]]:
        if typed.strip().lower() in _CANCEL_ANSWERS:
            raise click.Abort
        if not typed.strip().isdecimal() or not 1 <= int(typed) <= len(shown):
            raise click.BadParameter(f"that is none of the numbers from 1 to {len(shown)}")
        return shown[int(typed) - 1]

    question = "Which one is to be recorded? Its number, or q for none"
    picked: tuple[SessionSummary, list[SessionSummary]] = click.prompt(
        question, default="", show_default=False, value_proc=chosen, err=True
    )
    return picked
