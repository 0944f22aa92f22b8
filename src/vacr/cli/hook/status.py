"""`vacr hook status`: which agents have hooks, and whether they work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from vacr.capture.hook import ERRORS
from vacr.capture.installers import changes
from vacr.capture.installers.agents import LOCAL, PROJECT, USER, Agent
from vacr.capture.spool import spools
from vacr.cli import options
from vacr.cli.hook.changing import agent_option, chosen
from vacr.cli.options import Voice, plural, size
from vacr.cli.tables import columns_of, laid_out
from vacr.sources.state import state_folder

_FAILED = 1
_FINE = (changes.INSTALLED, changes.NOT_INSTALLED)


@click.command()
@agent_option
@options.voice_options
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
    voice, state = Voice(format, quiet, verbose), state_folder(os.environ)
    found = [row for one in chosen(agent) for row in _rows(one, state)]
    noted = state / os.fsdecode(ERRORS)
    errors = noted.stat().st_size if noted.is_file() else 0
    voice.data(
        {"agents": found, "spool": str(state / "spool"), "errors": str(noted) if errors else None}
    )
    if not found:
        voice.notice("vacr: no agent was found on this machine; name one with --agent")
        return _FAILED
    table = [("agent", "hooks", "sessions", "spooled", "settings", "")]
    for row in found:
        table.append(
            (
                row["agent"],
                row["state"],
                str(row["sessions"]),
                size(row["bytes"]),
                row["file"],
                row["detail"],
            )
        )
    for line in laid_out(table, right=frozenset((2, 3)), width=columns_of(sys.stdout)):
        voice.result(line)
    if errors:
        voice.notice(f"vacr: hooks have noted errors in {noted} ({plural(errors, 'byte')})")
    return 0 if all(row["state"] in _FINE for row in found) else _FAILED


def _rows(agent: Agent, state: Path) -> Iterator[dict[str, Any]]:
    """Tell how it stands with an agent: with the user's settings, and with those of this folder
    that have hooks.
    """
    sizes = [spool.path.stat().st_size for spool in spools(state) if spool.agent == agent.name]
    seen = set()
    for scope in (USER, PROJECT, *((LOCAL,) if agent.local else ())):
        path = agent.path(scope, os.environ, Path.cwd())
        # In the user's own folder both are one.
        if path in seen:
            continue
        seen.add(path)
        how, detail = changes.status(agent, path, os.environ)
        if scope == USER or how != changes.NOT_INSTALLED:
            told = {
                "agent": agent.name,
                "scope": scope,
                "file": str(path),
                "state": how,
                "detail": detail,
            }
            yield {**told, "sessions": len(sizes), "bytes": sum(sizes)}
