"""`vacr hook uninstall`: take the hooks out of the settings of agents."""

from __future__ import annotations

import os

import click

from vacr.capture import plan_hook_uninstall
from vacr.cli.hook.changing import (
    SettingsChanger,
    choose_settings_scope,
    select_agents,
    settings_change_options,
)
from vacr.cli.options import Voice, voice_options
from vacr.files import find_state_folder


@click.command()
@settings_change_options
@voice_options
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
    voice, state = Voice(format, quiet, verbose), find_state_folder(os.environ)
    making = SettingsChanger(
        voice, state, choose_settings_scope(project=project, local=local), yes, dry_run
    )
    return making.each(
        select_agents(agent), lambda one, path: plan_hook_uninstall(one, path, state), "uninstalled"
    )
