"""Changes of agents' settings files: shown as a diff, agreed to, and made.

`vacr hook` and `vacr mcp` share it.

>>> from vacr.cli.agent_settings import choose_settings_scope
>>> choose_settings_scope(project=True, local=False)
'project'
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import click

from vacr.capture import (
    LOCAL_SCOPE,
    PROJECT_SCOPE,
    USER_SCOPE,
    AgentSettings,
    SettingsChange,
)
from vacr.cli.options import F
from vacr.console import Voice
from vacr.errors import UsageError, VacrError

ALL_AGENTS = "all"
EXIT_NO_AGENT = 1

S = TypeVar("S", bound=AgentSettings)


def agent_option(agents: Iterable[str]) -> Callable[[F], F]:
    """Return a decorator that adds `--agent` to a verb, for agents of these names."""
    return click.option(
        "--agent",
        type=click.Choice([*agents, ALL_AGENTS]),
        default=ALL_AGENTS,
        help="Agent whose settings to change.  [default: all agents on this machine]",
    )


def settings_change_options(agents: Iterable[str], *, local: bool) -> Callable[[F], F]:
    """Return a decorator that adds `--agent`, `--yes`, `--dry-run` and `--project` to a verb.

    With `local`, it adds `--local`, too.
    """

    def add_options(function: F) -> F:
        """Add the options, the last one first, as click needs it."""
        if local:
            help_text = "Change the agent's settings for you in this project."
            function = click.option("--local", is_flag=True, help=help_text)(function)
        for option in (
            click.option(
                "--project",
                is_flag=True,
                help="Change the agent's settings for all who work in this project.",
            ),
            click.option("--dry-run", is_flag=True, help="Show the change without making it."),
            click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
            agent_option(agents),
        ):
            function = option(function)
        return function

    return add_options


def select_agents(agents: Mapping[str, S], name: str) -> list[S]:
    """Return the agent of this name, or all agents on this machine for `all`."""
    if name != ALL_AGENTS:
        return [agents[name]]
    return [agent for agent in agents.values() if agent.is_here(os.environ)]


def choose_settings_scope(*, project: bool, local: bool) -> str:
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
class SettingsChanger(Generic[S]):
    """Changes the settings of agents: shows each change, asks, and makes it."""

    voice: Voice
    state: Path
    scope: str
    yes: bool
    dry_run: bool
    changed: list[S] = field(default_factory=list)
    """The agents whose settings were changed."""

    def change_all(
        self,
        agents: Sequence[S],
        plan: Callable[[S, Path], SettingsChange],
        done: str,
    ) -> int:
        """Plan and make the change for each agent; return the exit code.

        `plan` returns the change of a settings file, and `done` names it: `installed` or
        `uninstalled`. A failure for one agent does not stop the others.

        Raises:
            UsageError: confirmation is needed, and the user cannot be asked.
        """
        documents, worst = [], 0
        for agent in agents:
            try:
                path = agent.path(self.scope, os.environ, Path.cwd())
                change = plan(agent, path)
                state = self._change(agent, change, done)
                documents.append(
                    {"agent": agent.name, "file": str(path), "state": state, "diff": change.diff()}
                )
            except UsageError:
                raise
            except VacrError as error:
                self.voice.error(f"vacr: {error}", error.hint)
                documents.append(
                    {
                        "agent": agent.name,
                        "state": "failed",
                        "error": str(error),
                        "hint": error.hint,
                    }
                )
                worst = max(worst, error.exit_code)
        self.voice.data({"agents": documents})
        if not agents:
            self.voice.notice("vacr: no agents found on this machine. Name one with --agent.")
            return EXIT_NO_AGENT
        return worst

    def _change(self, agent: S, change: SettingsChange, done: str) -> str:
        """Show a change and make it if the user agrees.

        Return `done` if it was made, else `unchanged` or `not made`.
        """
        if change.is_empty:
            self.voice.result(f"{agent.name}: nothing to change in {change.path}")
            return "unchanged"
        if not self.voice.quiet:
            self.voice.lines(change.shown().rstrip("\n"))
        if self.dry_run:
            return "not made"
        if not self._is_agreed(agent, change):
            self.voice.result(f"{agent.name}: {change.path} was not changed")
            return "not made"
        change.make(self.state)
        self.changed.append(agent)
        self.voice.result(f"{agent.name}: {done} in {change.path}")
        return done

    def _is_agreed(self, agent: S, change: SettingsChange) -> bool:
        """Return whether `--yes` is set, or the user answers yes to the question.

        Raises:
            UsageError: the user cannot be asked: there is no terminal, or the output is JSON.
        """
        if self.yes:
            return True
        if self.voice.json or not sys.stdin.isatty():
            reason = "--format json is set" if self.voice.json else "no terminal"
            hint = "Add --yes to make the change, or --dry-run to see it."
            raise UsageError(
                f"{agent.name}: cannot ask before changing {change.path}: {reason}",
                hint=hint,
            )
        return click.confirm(f"Change {change.path}?", err=True)
