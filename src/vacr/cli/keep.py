"""`vacr keep`: copies of the sessions that their agents will delete soon.

>>> from vacr.cli import run_command_line
>>> run_command_line(["keep"])
No session is deleted within 7 days.
0
"""

from __future__ import annotations

import os
import time

import click

from vacr.app import KeepReport, drop_kept_sessions, keep_sessions
from vacr.capture import list_endangered_sessions
from vacr.cli.options import Verb, voice_options
from vacr.console import Voice
from vacr.discovery import find_kept_folder
from vacr.files import find_state_folder
from vacr.workflows import abbreviate_home, format_count

_REMINDER = "It looks 7 days ahead: run vacr keep at least once a week, for example by cron."


@click.command(cls=Verb)
@voice_options
def command(format: str, quiet: bool, verbose: int) -> int:
    """Keep the sessions that their agents delete within 7 days.

    Some agents delete old sessions. vacr records each of these with its sealed source into the
    folder `kept` of its state folder. It stays in the app, in `vacr search` and in `vacr show`
    after the agent has deleted it, and verbs that take a session take it: `vacr list` marks it
    `kept`. Run it at least once a week, for example by cron.

    \b
    Example:
      vacr keep
      vacr doctor  # lists the sessions at risk
    """
    voice = Voice(format, quiet, verbose)
    state = find_state_folder(os.environ)
    report = KeepReport()
    endangered = list_endangered_sessions(state, os.environ, time.time())
    sessions = drop_kept_sessions(state, endangered)
    keep_sessions(state, sessions, report)
    folder = str(find_kept_folder(state))
    for failed in report.failed:
        voice.error(f"{failed['source']}: {failed['error']}", failed["hint"])
    shown = abbreviate_home(folder)
    if not endangered:
        voice.result("No session is deleted within 7 days.")
    elif not sessions:
        count = f"{len(endangered):,}"
        voice.result(f"Nothing new to keep: {count} of {count} at risk are already kept in {shown}")
    else:
        count = format_count(report.kept, "session")
        voice.result(f"Kept {count} in {shown}")
    if report.failed:
        voice.result(f"{format_count(len(report.failed), 'error')}: run vacr keep again.")
    voice.notice(_REMINDER)
    voice.data(
        {
            "folder": folder,
            "kept": report.kept,
            "at-risk": len(endangered),
            "already-kept": len(endangered) - len(sessions),
            "sessions": [unkept.session.session_id for unkept in sessions],
            "errors": report.failed,
        }
    )
    return report.exit_code
