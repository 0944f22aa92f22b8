"""What installing and uninstalling have in common: which agents, show the change, ask, make it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from vacr.capture import (
    AGENT_HOOKS,
    LOCAL_SCOPE,
    PROJECT_SCOPE,
    USER_SCOPE,
    AgentHooks,
    SettingsChange,
)
from vacr.cli.options import Voice
from vacr.errors import UsageError, VacrError

F = TypeVar("F", bound=Callable[..., Any])

ALL_AGENTS = "all"
_EXIT_NO_AGENT = 1


def agent_option(function: F) -> F:
    """Add `--agent` to a verb."""
    choice = click.Choice([*AGENT_HOOKS, ALL_AGENTS])
    return click.option(
        "--agent",
        type=choice,
        default=ALL_AGENTS,
        help="Which agent.  [default: all that are here]",
    )(function)


def settings_change_options(function: F) -> F:
    """Add to a verb what says where it changes something, and how."""
    for option in (
        click.option(
            "--local", is_flag=True, help="In the settings for this project and you alone."
        ),
        click.option(
            "--project", is_flag=True, help="In the settings of the project in this folder."
        ),
        click.option("--dry-run", is_flag=True, help="Show the change, and make none."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
        agent_option,
    ):
        function = option(function)
    return function


def select_agents(agent: str) -> list[AgentHooks]:
    """Give the agents that are meant; without a name, those on this machine."""
    return (
        [AGENT_HOOKS[agent]]
        if agent != ALL_AGENTS
        else [one for one in AGENT_HOOKS.values() if one.is_here(os.environ)]
    )


@dataclass(frozen=True)
class SettingsChanger:
    """How changes are made, as the options say."""

    voice: Voice
    state: Path
    scope: str
    yes: bool
    dry_run: bool
    made: list[AgentHooks] = field(default_factory=list)
    """Those whose settings were changed."""

    def each(
        self,
        agents: list[AgentHooks],
        work_out: Callable[[AgentHooks, Path], SettingsChange],
        done: str,
    ) -> int:
        """Work out the change for each agent, show it, ask, and make it; give the exit code.

        Raises:
            UsageError: nobody can be asked.
        """
        told, worst = [], 0
        for agent in agents:
            try:
                path = agent.path(self.scope, os.environ, Path.cwd())
                change = work_out(agent, path)
                state = self._one(agent, change, done)
                told.append(
                    {"agent": agent.name, "file": str(path), "state": state, "diff": change.diff()}
                )
            except UsageError:
                raise
            except VacrError as error:
                self.voice.error(f"vacr: {error}", error.hint)
                told.append(
                    {
                        "agent": agent.name,
                        "state": "failed",
                        "error": str(error),
                        "hint": error.hint,
                    }
                )
                worst = max(worst, error.exit_code)
        self.voice.data({"agents": told})
        if not agents:
            self.voice.notice("vacr: no agent was found on this machine; name one with --agent")
            return _EXIT_NO_AGENT
        return worst

    def _one(self, agent: AgentHooks, change: SettingsChange, done: str) -> str:
        if change.is_none:
            self.voice.result(f"{agent.name}: nothing to change in {change.path}")
            return "unchanged"
        if not self.voice.quiet:
            self.voice.lines(change.shown().rstrip("\n"))
        if self.dry_run:
            return "not made"
        if not self._agreed(agent, change):
            self.voice.result(f"{agent.name}: {change.path} was left as it is")
            return "not made"
        change.make(self.state)
        self.made.append(agent)
        self.voice.result(f"{agent.name}: {done} in {change.path}")
        return done

    def _agreed(self, agent: AgentHooks, change: SettingsChange) -> bool:
        if self.yes:
            return True
        if self.voice.json or not sys.stdin.isatty():
            hint = "Give --yes to make it, or --dry-run only to see it."
            raise UsageError(
                f"{agent.name}: nobody can be asked whether {change.path} may be changed", hint=hint
            )
        return click.confirm(f"Change {change.path}?", err=True)


def choose_settings_scope(*, project: bool, local: bool) -> str:
    """Give the settings that are meant.

    Raises:
        UsageError: it was said twice.
    """
    if project and local:
        raise UsageError("--project and --local are different settings", hint="Give one of them.")
    return PROJECT_SCOPE if project else LOCAL_SCOPE if local else USER_SCOPE
