"""`vacr hook status`: which agents have hooks, and whether they work."""

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
    list_spools,
)
from vacr.cli.hook.changing import agent_option, select_agents
from vacr.cli.options import Voice, format_count, format_size, voice_options
from vacr.cli.tables import align_columns, get_terminal_width
from vacr.files import find_state_folder

_EXIT_FAILED = 1
_HEALTHY_STATES = (HOOKS_INSTALLED, HOOKS_NOT_INSTALLED)


@click.command()
@agent_option
@voice_options
def command(
    agent: str,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Tell which agents have hooks, whether they work, and what they have spooled.

    Settings of the project in this folder are listed where they have hooks. Exit code 1: hooks are
    there that do not work, or are not as this version has them, or no agent was found.

    \b
    Example:
      vacr hook status
      vacr hook status --agent claude-code --format json
    """
    voice, state = Voice(format, quiet, verbose), find_state_folder(os.environ)
    found = [row for one in select_agents(agent) for row in _list_hook_states(one, state)]
    noted = state / os.fsdecode(ERROR_LOG_FILE)
    errors = noted.stat().st_size if noted.is_file() else 0
    voice.data(
        {"agents": found, "spool": str(state / "spool"), "errors": str(noted) if errors else None}
    )
    if not found:
        voice.notice("vacr: no agent was found on this machine; name one with --agent")
        return _EXIT_FAILED
    table = [("agent", "hooks", "sessions", "spooled", "settings", "")]
    for row in found:
        table.append(
            (
                row["agent"],
                row["state"],
                str(row["sessions"]),
                format_size(row["bytes"]),
                row["file"],
                row["detail"],
            )
        )
    for line in align_columns(table, right=frozenset((2, 3)), width=get_terminal_width(sys.stdout)):
        voice.result(line)
    if errors:
        voice.notice(f"vacr: hooks have noted errors in {noted} ({format_count(errors, 'byte')})")
    return 0 if all(row["state"] in _HEALTHY_STATES for row in found) else _EXIT_FAILED


def _list_hook_states(agent: AgentHooks, state: Path) -> Iterator[dict[str, Any]]:
    """Tell how it stands with an agent: with the user's settings, and with those of this folder
    that have hooks.
    """
    sizes = [spool.path.stat().st_size for spool in list_spools(state) if spool.agent == agent.name]
    seen = set()
    for scope in (USER_SCOPE, PROJECT_SCOPE, *((LOCAL_SCOPE,) if agent.local else ())):
        path = agent.path(scope, os.environ, Path.cwd())
        # In the user's own folder both are one.
        if path in seen:
            continue
        seen.add(path)
        how, detail = find_hook_status(agent, path, os.environ)
        if scope == USER_SCOPE or how != HOOKS_NOT_INSTALLED:
            told = {
                "agent": agent.name,
                "scope": scope,
                "file": str(path),
                "state": how,
                "detail": detail,
            }
            yield {**told, "sessions": len(sizes), "bytes": sum(sizes)}
