"""`vacr keep`: copies of the sessions that their agents will delete soon.

>>> from vacr.cli import run_command_line
>>> run_command_line(["keep"])
No session is deleted within 7 days.
0
"""

from __future__ import annotations

import os

import click

from vacr.app import KeepReport, keep_sessions, list_unkept_sessions
from vacr.cli.options import Verb, voice_options
from vacr.console import Voice
from vacr.files import find_state_folder
from vacr.workflows import abbreviate_home, find_kept_folder, format_count


@click.command(cls=Verb)
@voice_options
def command(format: str, quiet: bool, verbose: int) -> int:
    """Keep the sessions that their agents delete within 7 days.

    Some agents delete old sessions. vacr records each of these with its sealed source into the
    folder `kept` of its state folder. It stays in the app, in `vacr search` and in `vacr show`
    after the agent has deleted it.

    \b
    Example:
      vacr keep
      vacr doctor  # lists the sessions at risk
    """
    voice = Voice(format, quiet, verbose)
    state = find_state_folder(os.environ)
    report = KeepReport()
    sessions = list_unkept_sessions(state, os.environ)
    keep_sessions(state, sessions, report)
    folder = str(find_kept_folder(state))
    for failed in report.failed:
        voice.error(f"{failed['source']}: {failed['error']}", failed["hint"])
    if not sessions:
        voice.result("No session is deleted within 7 days.")
    else:
        count = format_count(report.kept, "session")
        voice.result(f"Kept {count} in {abbreviate_home(folder)}")
    if report.failed:
        voice.result(f"{format_count(len(report.failed), 'error')}: run vacr keep again.")
    voice.data(
        {
            "folder": folder,
            "kept": report.kept,
            "sessions": [endangered.session.session_id for endangered in sessions],
            "errors": report.failed,
        }
    )
    return report.exit_code
