"""`vacr list`: the sessions of all agents on this machine."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import click

from vacr.cli import options
from vacr.cli.options import Voice, plural, size
from vacr.cli.tables import columns_of, end_of, laid_out
from vacr.errors import UnreadableInput, printable
from vacr.readers.registry import readers
from vacr.sources.discovery import Session, roots, sessions
from vacr.sources.state import home_folder

_NOTHING_FOUND = 1
_NARROWEST_PROJECT = 15
_WIDE = 120


@click.command()
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=options.complete_agent,
    help="Only the sessions of this agent.",
)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="Only the newest N.")
@options.streaming_voice_options
def command(
    agent: str | None,
    limit: int | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """List the sessions of all agents on this machine, the newest first; sub-agents are counted
    with their session.

    They are looked for where the agents keep them, also where their own environment variables say
    (CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, OPENCODE_DB,
    CURSOR_DATA_DIR). -v shows the paths, to be given to `vacr record`.

    \b
    Example:
      vacr list -n 20
      vacr list --agent codex-cli --format jsonl | jq -r .path
    """
    voice = Voice(format, quiet, verbose)
    failed: list[UnreadableInput] = []
    found = newest_first(agent, failed)[:limit]
    errors = [{"path": error.where, "error": error.message} for error in failed]
    voice.data(
        {"sessions": [_document(session, helpers) for session, helpers in found], "errors": errors}
    )
    for error in failed:
        voice.error(f"vacr: {error}", error.hint)
    for session, helpers in found:
        voice.line(_document(session, helpers))
    if not found:
        voice.notice(f"vacr: no sessions found in {looked_in(agent)}")
        return _NOTHING_FOUND
    head, *rows = table(found, columns_of(sys.stdout))
    voice.result(head)
    for (session, _), row in zip(found, rows, strict=True):
        voice.result(row)
        if voice.verbose:
            voice.result(
                f"  {session.path}{f' --session {session.session}' if session.session else ''}"
            )
    return 0


def looked_in(agent: str | None) -> str:
    """Name the folders in which sessions are looked for."""
    found = [
        root
        for name, reader in readers().items()
        if agent in (None, name)
        for root, _ in roots(reader)
    ]
    return ", ".join(dict.fromkeys(_below_home(str(root)) for root in found))


def newest_first(
    agent: str | None, failed: list[UnreadableInput] | None = None
) -> list[tuple[Session, list[Session]]]:
    """Give the sessions, the newest first, each with its sub-agents; and what could not be read."""
    found = list(sessions(agent, failed=failed))
    found.sort(key=lambda session: (-(session.updated or 0), session.path, session.session_id))
    parents = {
        session.session_id: session.parent
        for session in found
        if session.parent != session.session_id
    }
    own: list[Session] = []
    helpers = defaultdict[str, list[Session]](list)
    for session in found:
        first = _first(session.session_id, parents)
        (own if first == session.session_id else helpers[first]).append(session)
    return [(session, helpers[session.session_id]) for session in own]


def _first(session_id: str, parents: dict[str, str | None]) -> str:
    """Give the session that a sub-agent worked for in the end: its parent may be a sub-agent
    itself.
    """
    passed = {session_id}
    while (parent := parents.get(session_id)) in parents:
        if parent in passed:
            # Sessions that call each other their parent have none.
            return min(passed)
        passed.add(str(parent))
        session_id = str(parent)
    return session_id


def table(found: list[tuple[Session, list[Session]]], width: int | None) -> list[str]:
    """Lay the sessions out in columns, cut to the width of a terminal if there is one."""
    both = width is None or width >= _WIDE
    rows = [("agent", "project", "start", *(["last used"] if both else []), "size", "title")]
    for session, helpers in found:
        more = f"(+{plural(len(helpers), 'sub-agent')}) " if helpers else ""
        when = [shown_time(session.start), *([shown_time(session.updated)] if both else [])]
        large = "–" if session.size is None else size(session.size)
        project = _below_home(session.project) or "–"
        project = (
            project
            if width is None
            else end_of(printable(project), max(_NARROWEST_PROJECT, width // 5))
        )
        rows.append((session.agent, project, *when, large, f"{more}{session.title}" or "–"))
    return laid_out(rows, right=frozenset((len(rows[0]) - 2,)), width=width)


def _below_home(path: str) -> str:
    """Write a path as a person knows it."""
    home = home_folder(os.environ)
    return (
        f"~{path[len(home) :]}" if home and (path == home or path.startswith(f"{home}/")) else path
    )


def shown_time(moment: int | None) -> str:
    """Show a time as it is here."""
    if moment is None:
        return "–"
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "–"


def _document(session: Session, helpers: list[Session]) -> dict[str, Any]:
    return {
        "agent": session.agent,
        "path": session.path,
        "session": session.session,
        "session-id": session.session_id,
        "project": session.project,
        "start": session.start,
        "updated": session.updated,
        "size": session.size,
        "title": session.title,
        "parent": session.parent,
        "sub-agents": len(helpers),
    }
