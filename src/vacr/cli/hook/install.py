"""`vacr hook install`: put hooks into the settings of agents."""

from __future__ import annotations

import os
import sys

import click

from vacr.capture.installers import changes
from vacr.capture.installers.agents import USER
from vacr.cli import options
from vacr.cli.hook.changing import Changing, changing_options, chosen, scope_of
from vacr.cli.options import Voice
from vacr.errors import UsageError
from vacr.sources.state import VARIABLE, state_folder


@click.command()
@changing_options
@options.voice_options
def command(
    agent: str,
    yes: bool,  # noqa: FBT001 - click passes flags so
    dry_run: bool,  # noqa: FBT001
    project: bool,  # noqa: FBT001
    local: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Put hooks into the settings of agents. The change is shown first, and you are asked.

    Nothing else in the settings changes, comments and layout included. Installing again changes
    nothing, unless vacr or Python was moved.

    \b
    Example:
      vacr hook install --agent claude-code
      vacr hook install --dry-run
      vacr hook install --agent codex-cli --project --yes
    """
    voice = Voice(format, quiet, verbose)
    if sys.platform == "win32":
        raise UsageError(
            "hooks need a shell as Linux and macOS have it",
            hint="Sessions can be recorded afterwards: vacr record.",
        )
    scope, state, agents = (
        scope_of(project=project, local=local),
        state_folder(os.environ),
        chosen(agent),
    )
    making = Changing(voice, state, scope, yes, dry_run)
    code = making.each(
        agents, lambda one, path: changes.install(one, path, os.environ, state), "installed"
    )
    for one in making.made:
        if one.notice:
            voice.notice(one.notice)
    if making.made and os.environ.get(VARIABLE):
        voice.notice(f"The agents have to be started with {VARIABLE} set to the same folder, too.")
    if making.made and scope != USER:
        voice.notice(
            "The hooks name the Python and the vacr of this machine: on another one they do "
            "nothing."
        )
    return code
