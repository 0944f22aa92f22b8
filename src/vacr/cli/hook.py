"""`vacr hook`: hooks that report what agents do.

The three verbs change or check the settings files of agents. A change is first shown as a diff, and
written only if the user agrees:

    >>> from vacr.capture import load_agent_hooks
    >>> [name for name in load_agent_hooks() if name.startswith("codex")]
    ['codex-cli']
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from vacr.capture import (
    ERROR_LOG_FILE,
    HOOKS_INSTALLED,
    HOOKS_NOT_INSTALLED,
    LOCAL_SCOPE,
    PROJECT_SCOPE,
    USER_SCOPE,
    AgentHooks,
    find_hook_status,
    load_agent_hooks,
    plan_hook_install,
    plan_hook_uninstall,
)
from vacr.cli.agent_settings import (
    SettingsChanger,
    agent_option,
    choose_settings_scope,
    select_agents,
    settings_change_options,
)
from vacr.cli.options import voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice, align_columns, get_terminal_width
from vacr.errors import UsageError
from vacr.files import STATE_VARIABLE, find_state_folder
from vacr.workflows import format_count, format_size

_EXIT_FAILED = 1
_HEALTHY_STATES = (HOOKS_INSTALLED, HOOKS_NOT_INSTALLED)


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Install hooks, so that agents report their actions as they happen.

    A hook appends each event to a spool in the state folder (VACR_STATE, or ~/.local/state/vacr).
    It prints nothing, never fails, and does not affect the agent.

    \b
    Example:
      vacr hook install --agent claude-code
      vacr hook status
      vacr hook uninstall --agent claude-code
    """


@command.command(short_help="Add hooks to the settings of agents.")
@settings_change_options(load_agent_hooks(), local=True)
@voice_options
def install(
    agent: str,
    yes: bool,
    dry_run: bool,
    project: bool,
    local: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Add hooks to the settings of agents.

    vacr shows the change, and asks before making it. Everything else in the settings stays the
    same, even comments and layout. Installing again changes nothing, unless vacr or Python was
    moved.

    \b
    Example:
      vacr hook install --agent claude-code
      vacr hook install --dry-run
      vacr hook install --agent codex-cli --project --yes
    """
    voice = Voice(format, quiet, verbose)
    if sys.platform == "win32":
        raise UsageError(
            "hooks do not work on Windows, because they need a POSIX shell",
            hint="Record the sessions afterwards: vacr record",
        )
    scope = choose_settings_scope(project=project, local=local)
    state = find_state_folder(os.environ)
    changer = SettingsChanger[AgentHooks](voice, state, scope, yes, dry_run)
    exit_code = changer.change_all(
        select_agents(load_agent_hooks(), agent),
        lambda hooks, path: plan_hook_install(hooks, path, os.environ, state),
        "installed",
    )
    for hooks in changer.changed:
        if hooks.notice:
            voice.notice(hooks.notice)
    if changer.changed and os.environ.get(STATE_VARIABLE):
        voice.notice(f"Start the agents with the same {STATE_VARIABLE} as this command.")
    if changer.changed and scope != USER_SCOPE:
        voice.notice(
            "The hooks contain the paths of Python and vacr on this machine, and do nothing on "
            "other machines."
        )
    return exit_code


@command.command(short_help="Show which agents have hooks, and whether they work.")
@agent_option(load_agent_hooks())
@voice_options
def status(
    agent: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Show which agents have hooks, and whether the hooks work.

    The table also shows how much the hooks have spooled. Settings of the project in this folder are
    listed if they have hooks. The exit code is 1 if hooks do not work or are outdated, or if no
    agent was found.

    \b
    Example:
      vacr hook status
      vacr hook status --agent claude-code --format json
    """
    voice, state = Voice(format, quiet, verbose), find_state_folder(os.environ)
    agents = select_agents(load_agent_hooks(), agent)
    rows = [row for hooks in agents for row in _list_hook_states(hooks, state)]
    error_log = state / os.fsdecode(ERROR_LOG_FILE)
    errors = error_log.stat().st_size if error_log.is_file() else 0
    voice.data(
        {
            "agents": rows,
            "spool": str(state / "spool"),
            "errors": str(error_log) if errors else None,
        }
    )
    if not rows:
        voice.notice("vacr: no agents found on this machine. Name one with --agent.")
        return _EXIT_FAILED
    table = [("agent", "hooks", "sessions", "spooled", "settings", "")]
    for row in rows:
        counts = str(row["sessions"]), format_size(row["bytes"])
        table.append((row["agent"], row["state"], *counts, row["file"], row["detail"]))
    for line in align_columns(
        table, right=frozenset((2, 3)), width=get_terminal_width(sys.stdout), paths=4
    ):
        voice.results(line.split("\n"))
    if errors:
        voice.notice(
            f"vacr: hooks have logged errors: see {error_log} ({format_count(errors, 'byte')})"
        )
    return 0 if all(row["state"] in _HEALTHY_STATES for row in rows) else _EXIT_FAILED


def _list_hook_states(hooks: AgentHooks, state: Path) -> Iterator[dict[str, Any]]:
    """Yield facts about the hooks of an agent, for each of its settings files.

    The user's settings come first; settings of the project only if they have hooks. `state` is the
    state folder with the spools.
    """
    from vacr.capture import list_spools

    sizes = [spool.path.stat().st_size for spool in list_spools(state) if spool.agent == hooks.name]
    checked = set()
    for scope in (USER_SCOPE, PROJECT_SCOPE, *((LOCAL_SCOPE,) if hooks.local else ())):
        path = hooks.path(scope, os.environ, Path.cwd())
        # In the home folder, the settings of the user and of the project are the same file.
        if path in checked:
            continue
        checked.add(path)
        status, detail = find_hook_status(hooks, path, os.environ)
        if scope == USER_SCOPE or status != HOOKS_NOT_INSTALLED:
            yield {
                "agent": hooks.name,
                "scope": scope,
                "file": str(path),
                "state": status,
                "detail": detail,
                "sessions": len(sizes),
                "bytes": sum(sizes),
            }


@command.command(short_help="Remove the hooks.")
@settings_change_options(load_agent_hooks(), local=True)
@voice_options
def uninstall(
    agent: str,
    yes: bool,
    dry_run: bool,
    project: bool,
    local: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Remove the hooks from the settings of agents.

    vacr shows the change, and asks before making it. A settings file that has not changed since the
    installation is restored byte for byte, or deleted if the installation created it. From any
    other file, only the entries of vacr are removed. The spool stays.

    \b
    Example:
      vacr hook uninstall --agent claude-code
      vacr hook uninstall --yes
    """
    voice, state = Voice(format, quiet, verbose), find_state_folder(os.environ)
    scope = choose_settings_scope(project=project, local=local)
    return SettingsChanger[AgentHooks](voice, state, scope, yes, dry_run).change_all(
        select_agents(load_agent_hooks(), agent),
        lambda hooks, path: plan_hook_uninstall(hooks, path, state),
        "uninstalled",
    )
