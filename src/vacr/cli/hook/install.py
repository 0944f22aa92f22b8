"""`vacr hook install`: put hooks into the settings of agents."""

from __future__ import annotations

import os
import sys

import click

from vacr.capture import USER_SCOPE, plan_hook_install
from vacr.cli.hook.changing import (
    SettingsChanger,
    choose_settings_scope,
    select_agents,
    settings_change_options,
)
from vacr.cli.options import Voice, voice_options
from vacr.errors import UsageError
from vacr.files import STATE_VARIABLE, find_state_folder


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
        choose_settings_scope(project=project, local=local),
        find_state_folder(os.environ),
        select_agents(agent),
    )
    making = SettingsChanger(voice, state, scope, yes, dry_run)
    code = making.each(
        agents, lambda one, path: plan_hook_install(one, path, os.environ, state), "installed"
    )
    for one in making.made:
        if one.notice:
            voice.notice(one.notice)
    if making.made and os.environ.get(STATE_VARIABLE):
        voice.notice(
            f"The agents have to be started with {STATE_VARIABLE} set to the same folder, too."
        )
    if making.made and scope != USER_SCOPE:
        voice.notice(
            "The hooks name the Python and the vacr of this machine: on another one they do "
            "nothing."
        )
    return code
