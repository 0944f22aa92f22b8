"""`vacr acp`: record the conversation between an editor and its agent, as it happens.

The editor starts this command in the place of the agent. Standard output belongs to the
conversation, so everything for a person goes to standard error:

    >>> from vacr.cli.acp import command
    >>> command.name
    'acp'
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from vacr.cli.options import Verb
from vacr.console import print_message
from vacr.errors import UsageError, VacrError
from vacr.files import find_state_folder

# Options after the name of the agent are the agent's.
_PASS_ALL = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command("acp", cls=Verb, context_settings=_PASS_ALL)
@click.option("-q", "--quiet", is_flag=True, help="Do not name the transcript.")
@click.argument("agent", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
def command(quiet: bool, agent: tuple[str, ...]) -> int:
    """Record the conversation between an editor and its agent.

    Editors start agents and talk to them in the Agent Client Protocol (ACP). Put `vacr acp --` in
    front of the agent's command in the settings of the editor. vacr passes every byte on unchanged,
    and keeps a transcript: prompts, thoughts, tool calls with their diffs, and permissions. `vacr
    list` shows it like any other session. The exit code is the agent's.

    \b
    Example:
      vacr acp -- opencode acp
      vacr acp -- gemini --experimental-acp
      vacr show latest:acp
    """
    from vacr.capture import create_transcript, relay_agent, run_unrecorded

    if sys.platform == "win32":
        raise UsageError(
            "vacr acp does not work on Windows, because it needs POSIX pipes",
            hint="Record the session of the agent afterwards: vacr record",
        )
    try:
        state = find_state_folder(os.environ)
        transcript = create_transcript(state, agent, str(Path.cwd()))
    except (VacrError, OSError) as error:
        # A full disk must not keep a person from working.
        print_message(f"vacr: the agent runs without being recorded: {error}")
        return run_unrecorded(agent)
    if not quiet:
        print_message(f"vacr: recording to {transcript}")
    return relay_agent(agent, transcript)
