"""`vacr hook`: hooks by which agents report what they do.

The three verbs change or check the settings files of agents. A change is first shown as a diff, and
written only if the user agrees:

    >>> from vacr.cli.hook import _choose_settings_scope, _select_agents
    >>> _choose_settings_scope(project=True, local=False)
    'project'
    >>> [hooks.name for hooks in _select_agents("codex-cli")]
    ['codex-cli']
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
    SettingsChange,
    find_hook_status,
    load_agent_hooks,
    plan_hook_install,
    plan_hook_uninstall,
)
from vacr.cli.options import F, voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice, align_columns, get_terminal_width
from vacr.errors import UsageError, VacrError
from vacr.files import STATE_VARIABLE, find_state_folder
from vacr.workflows import format_count, format_size

_ALL_AGENTS = "all"
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


def _agent_option(function: F) -> F:
    """Add `--agent` to a verb."""
    choice = click.Choice([*load_agent_hooks(), _ALL_AGENTS])
    return click.option(
        "--agent",
        type=choice,
        default=_ALL_AGENTS,
        help="Agent whose settings to change.  [default: all agents on this machine]",
    )(function)


def _settings_change_options(function: F) -> F:
    """Add `--agent`, `--yes`, `--dry-run`, `--project` and `--local` to a verb."""
    for option in (
        click.option(
            "--local",
            is_flag=True,
            help="Change the agent's settings for you in this project.",
        ),
        click.option(
            "--project",
            is_flag=True,
            help="Change the agent's settings for all who work in this project.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the change without making it."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
        _agent_option,
    ):
        function = option(function)
    return function


@command.command(short_help="Add hooks to the settings of agents.")
@_settings_change_options
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
    scope = _choose_settings_scope(project=project, local=local)
    state = find_state_folder(os.environ)
    changer = _SettingsChanger(voice, state, scope, yes, dry_run)
    exit_code = changer.change_all(
        _select_agents(agent),
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
@_agent_option
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
    rows = [row for hooks in _select_agents(agent) for row in _list_hook_states(hooks, state)]
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
    for line in align_columns(table, right=frozenset((2, 3)), width=get_terminal_width(sys.stdout)):
        voice.result(line)
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
@_settings_change_options
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
    scope = _choose_settings_scope(project=project, local=local)
    return _SettingsChanger(voice, state, scope, yes, dry_run).change_all(
        _select_agents(agent),
        lambda hooks, path: plan_hook_uninstall(hooks, path, state),
        "uninstalled",
    )


def _select_agents(agent: str) -> list[AgentHooks]:
    """Return the hooks of the named agent, or for `all` of every agent on this machine."""
    if agent != _ALL_AGENTS:
        return [load_agent_hooks()[agent]]
    return [hooks for hooks in load_agent_hooks().values() if hooks.is_here(os.environ)]


def _choose_settings_scope(*, project: bool, local: bool) -> str:
    """Return `project` or `local` if that option is set, else `user`.

    Raises:
        UsageError: both options are set.
    """
    if project and local:
        raise UsageError("--project and --local exclude each other", hint="Omit one of them.")
    if project:
        return PROJECT_SCOPE
    return LOCAL_SCOPE if local else USER_SCOPE


@dataclass(frozen=True)
class _SettingsChanger:
    """Changes the settings of agents: shows each change, asks, and makes it."""

    voice: Voice
    state: Path
    scope: str
    yes: bool
    dry_run: bool
    changed: list[AgentHooks] = field(default_factory=list)
    """The agents whose settings were changed."""

    def change_all(
        self,
        agents: list[AgentHooks],
        plan: Callable[[AgentHooks, Path], SettingsChange],
        done: str,
    ) -> int:
        """Plan and make the change for each agent; return the exit code.

        `plan` returns the change of a settings file, and `done` names it: `installed` or
        `uninstalled`. A failure for one agent does not stop the others.

        Raises:
            UsageError: confirmation is needed, and there is no terminal.
        """
        documents, worst = [], 0
        for hooks in agents:
            try:
                path = hooks.path(self.scope, os.environ, Path.cwd())
                change = plan(hooks, path)
                state = self._change(hooks, change, done)
                documents.append(
                    {"agent": hooks.name, "file": str(path), "state": state, "diff": change.diff()}
                )
            except UsageError:
                raise
            except VacrError as error:
                self.voice.error(f"vacr: {error}", error.hint)
                documents.append(
                    {
                        "agent": hooks.name,
                        "state": "failed",
                        "error": str(error),
                        "hint": error.hint,
                    }
                )
                worst = max(worst, error.exit_code)
        self.voice.data({"agents": documents})
        if not agents:
            self.voice.notice("vacr: no agents found on this machine. Name one with --agent.")
            return _EXIT_FAILED
        return worst

    def _change(self, hooks: AgentHooks, change: SettingsChange, done: str) -> str:
        """Show a change and make it if the user agrees.

        Return `done` if it was made, else `unchanged` or `not made`.
        """
        if change.is_none:
            self.voice.result(f"{hooks.name}: nothing to change in {change.path}")
            return "unchanged"
        if not self.voice.quiet:
            self.voice.lines(change.shown().rstrip("\n"))
        if self.dry_run:
            return "not made"
        if not self._is_agreed(hooks, change):
            self.voice.result(f"{hooks.name}: {change.path} was not changed")
            return "not made"
        change.make(self.state)
        self.changed.append(hooks)
        self.voice.result(f"{hooks.name}: {done} in {change.path}")
        return done

    def _is_agreed(self, hooks: AgentHooks, change: SettingsChange) -> bool:
        """Return whether `--yes` is set, or the user answers yes to the question.

        Raises:
            UsageError: there is no terminal to ask on.
        """
        if self.yes:
            return True
        if self.voice.json or not sys.stdin.isatty():
            hint = "Add --yes to make the change, or --dry-run to see it."
            raise UsageError(
                f"{hooks.name}: cannot ask before changing {change.path}: no terminal",
                hint=hint,
            )
        return click.confirm(f"Change {change.path}?", err=True)
