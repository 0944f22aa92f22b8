"""`vacr hook uninstall`: take the hooks out of the settings of agents."""

from __future__ import annotations

import os

import click

from vacr.capture.installers import changes
from vacr.cli import options
from vacr.cli.hook.changing import Changing, changing_options, chosen, scope_of
from vacr.cli.options import Voice
from vacr.sources.state import state_folder


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
    """Take the hooks out again. The change is shown first, and you are asked.

    A file that did not change since they were installed becomes what it was, byte for byte; one
    that was made for them is removed. Of another one only our entries go. What is in the spool
    stays.

    \b
    Example:
      vacr hook uninstall --agent claude-code
      vacr hook uninstall --yes
    """
    voice, state = Voice(format, quiet, verbose), state_folder(os.environ)
    making = Changing(voice, state, scope_of(project=project, local=local), yes, dry_run)
    return making.each(
        chosen(agent), lambda one, path: changes.uninstall(one, path, state), "uninstalled"
    )
