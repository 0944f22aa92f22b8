"""`vacr list`: the sessions of all agents on this machine."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from vacr.cli import options
from vacr.cli.options import Voice, plural, size
from vacr.cli.tables import laid_out
from vacr.sources.discovery import Session, sessions
from vacr.sources.files import as_text

_NOTHING_FOUND = 1


@click.command()
@click.option("--agent", metavar="NAME", shell_complete=options.complete_agent, help="Only the sessions of this agent.")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="Only the newest N.")
@options.streaming_voice_options
def command(
    agent: str | None,
    limit: int | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """List the sessions of all agents on this machine, the newest first; sub-agents are counted with their session.

    They are looked for where the agents keep them, also where their own environment variables say (CLAUDE_CONFIG_DIR, CODEX_HOME,
    GEMINI_CLI_HOME, XDG_DATA_HOME, OPENCODE_DB, CURSOR_DATA_DIR). -v shows the paths, to be given to `vacr record`.

    \b
    Example:
      vacr list -n 20
      vacr list --agent codex-cli --format jsonl | jq -r .path
    """
    voice = Voice(format, quiet, verbose)
    found = newest_first(agent)[:limit]
    voice.data({"sessions": [_document(session, helpers) for session, helpers in found]})
    for session, helpers in found:
        voice.line(_document(session, helpers))
    if not found:
        voice.notice("vacr: no sessions found; see `vacr list --help` for where they are looked for")
        return _NOTHING_FOUND
    head, *rows = table(found)
    voice.result(head)
    for (session, _), row in zip(found, rows, strict=True):
        voice.result(row)
        if voice.verbose:
            voice.result(f"  {as_text(session.path)}{f' --session {session.session}' if session.session else ''}")
    return 0


def newest_first(agent: str | None) -> list[tuple[Session, int]]:
    """Give the sessions, the newest first, each with the number of its sub-agents."""
    found = list(sessions(agent))
    parents = {session.session_id: session.parent for session in found if session.parent != session.session_id}
    helpers = Counter(_first(session.session_id, parents) for session in found)
    own = [session for session in found if _first(session.session_id, parents) == session.session_id]
    own.sort(key=lambda session: (-(session.updated or 0), session.path, session.session_id))
    listed = Counter(session.session_id for session in own)
    return [(session, helpers[session.session_id] - listed[session.session_id]) for session in own]


def _first(session_id: str, parents: dict[str, str | None]) -> str:
    """Give the session that a sub-agent worked for in the end: its parent may be a sub-agent itself."""
    passed = {session_id}
    while (parent := parents.get(session_id)) in parents:
        if parent in passed:
            # Sessions that call each other their parent have none.
            return min(passed)
        passed.add(str(parent))
        session_id = str(parent)
    return session_id


def table(found: list[tuple[Session, int]]) -> list[str]:
    """Lay the sessions out in columns that fit the terminal."""
    rows = [("agent", "project", "last used", "size", "title")]
    for session, helpers in found:
        more = f"(+{plural(helpers, 'sub-agent')}) " if helpers else ""
        when = shown_time(session.updated or session.start)
        large = "–" if session.size is None else size(session.size)
        rows.append((session.agent, shown_project(session) or "–", when, large, f"{more}{session.title}" or "–"))
    return laid_out(rows, right=frozenset((3,)))


def shown_project(session: Session) -> str:
    """Name the project as a person knows it."""
    path = session.project
    home = str(Path.home())
    path = f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
    return path if len(path) <= 40 else f"…{path[-39:]}"  # noqa: PLR2004 - a third of a line


def shown_time(moment: int | None) -> str:
    """Show a time as it is here."""
    if moment is None:
        return "–"
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "–"


def _document(session: Session, helpers: int) -> dict[str, Any]:
    return {
        "agent": session.agent,
        "path": as_text(session.path),
        "session": session.session,
        "session-id": session.session_id,
        "project": session.project,
        "start": session.start,
        "updated": session.updated,
        "size": session.size,
        "title": session.title,
        "parent": session.parent,
        "sub-agents": helpers,
    }
