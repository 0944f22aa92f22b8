"""What installing and uninstalling have in common: which agents, show the change, ask, make it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from vacr.capture.installers.agents import AGENTS, LOCAL, PROJECT, USER, Agent
from vacr.capture.installers.changes import Change
from vacr.cli.options import Voice
from vacr.errors import UsageError, VacrError

F = TypeVar("F", bound=Callable[..., Any])

ALL = "all"
_NOTHING_FOUND = 1


def agent_option(function: F) -> F:
    """Add `--agent` to a verb."""
    choice = click.Choice([*AGENTS, ALL])
    return click.option(
        "--agent", type=choice, default=ALL, help="Which agent.  [default: all that are here]"
    )(function)


def changing_options(function: F) -> F:
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


def chosen(agent: str) -> list[Agent]:
    """Give the agents that are meant; without a name, those on this machine."""
    return (
        [AGENTS[agent]]
        if agent != ALL
        else [one for one in AGENTS.values() if one.is_here(os.environ)]
    )


@dataclass(frozen=True)
class Changing:
    """How changes are made, as the options say."""

    voice: Voice
    state: Path
    scope: str
    yes: bool
    dry_run: bool
    made: list[Agent] = field(default_factory=list)
    """Those whose settings were changed."""

    def each(
        self, agents: list[Agent], work_out: Callable[[Agent, Path], Change], done: str
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
            return _NOTHING_FOUND
        return worst

    def _one(self, agent: Agent, change: Change, done: str) -> str:
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

    def _agreed(self, agent: Agent, change: Change) -> bool:
        if self.yes:
            return True
        if self.voice.json or not sys.stdin.isatty():
            hint = "Give --yes to make it, or --dry-run only to see it."
            raise UsageError(
                f"{agent.name}: nobody can be asked whether {change.path} may be changed", hint=hint
            )
        return click.confirm(f"Change {change.path}?", err=True)


def scope_of(*, project: bool, local: bool) -> str:
    """Give the settings that are meant.

    Raises:
        UsageError: it was said twice.
    """
    if project and local:
        raise UsageError("--project and --local are different settings", hint="Give one of them.")
    return PROJECT if project else LOCAL if local else USER
