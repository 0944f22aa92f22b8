"""`vacr list`: the sessions of all agents on this machine."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import click

from vacr.agents import load_readers
from vacr.cli.options import (
    Voice,
    complete_agent,
    format_count,
    format_size,
    streaming_voice_options,
)
from vacr.cli.tables import align_columns, get_terminal_width, truncate_start
from vacr.discovery import SessionSummary, list_sessions, list_store_roots
from vacr.errors import UnreadableInput, escape_unprintable
from vacr.files import find_home_folder

_EXIT_NO_SESSION = 1
_MIN_PROJECT_WIDTH = 15
_WIDE_TERMINAL = 120


@click.command()
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Only the sessions of this agent.",
)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="Only the newest N.")
@streaming_voice_options
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
    found = list_newest_sessions(agent, failed)[:limit]
    errors = [{"path": error.where, "error": error.message} for error in failed]
    voice.data(
        {
            "sessions": [_build_session_document(session, helpers) for session, helpers in found],
            "errors": errors,
        }
    )
    for error in failed:
        voice.error(f"vacr: {error}", error.hint)
    for session, helpers in found:
        voice.line(_build_session_document(session, helpers))
    if not found:
        voice.notice(f"vacr: no sessions found in {describe_session_folders(agent)}")
        return _EXIT_NO_SESSION
    head, *rows = format_session_table(found, get_terminal_width(sys.stdout))
    voice.result(head)
    for (session, _), row in zip(found, rows, strict=True):
        voice.result(row)
        if voice.verbose:
            voice.result(
                f"  {session.path}{f' --session {session.session}' if session.session else ''}"
            )
    return 0


def describe_session_folders(agent: str | None) -> str:
    """Name the folders in which sessions are looked for."""
    found = [
        root
        for name, reader in load_readers().items()
        if agent in (None, name)
        for root, _ in list_store_roots(reader)
    ]
    return ", ".join(dict.fromkeys(_abbreviate_home(str(root)) for root in found))


def list_newest_sessions(
    agent: str | None, failed: list[UnreadableInput] | None = None
) -> list[tuple[SessionSummary, list[SessionSummary]]]:
    """Give the sessions, the newest first, each with its sub-agents; and what could not be read."""
    found = list(list_sessions(agent, failed=failed))
    found.sort(key=lambda session: (-(session.updated or 0), session.path, session.session_id))
    parents = {
        session.session_id: session.parent
        for session in found
        if session.parent != session.session_id
    }
    own: list[SessionSummary] = []
    helpers = defaultdict[str, list[SessionSummary]](list)
    for session in found:
        first = _find_root_session(session.session_id, parents)
        (own if first == session.session_id else helpers[first]).append(session)
    return [(session, helpers[session.session_id]) for session in own]


def _find_root_session(session_id: str, parents: dict[str, str | None]) -> str:
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


def format_session_table(
    found: list[tuple[SessionSummary, list[SessionSummary]]], width: int | None
) -> list[str]:
    """Lay the sessions out in columns, cut to the width of a terminal if there is one."""
    both = width is None or width >= _WIDE_TERMINAL
    rows = [("agent", "project", "start", *(["last used"] if both else []), "size", "title")]
    for session, helpers in found:
        more = f"(+{format_count(len(helpers), 'sub-agent')}) " if helpers else ""
        when = [
            format_local_time(session.start),
            *([format_local_time(session.updated)] if both else []),
        ]
        large = "–" if session.size is None else format_size(session.size)
        project = _abbreviate_home(session.project) or "–"
        project = (
            project
            if width is None
            else truncate_start(escape_unprintable(project), max(_MIN_PROJECT_WIDTH, width // 5))
        )
        rows.append((session.agent, project, *when, large, f"{more}{session.title}" or "–"))
    return align_columns(rows, right=frozenset((len(rows[0]) - 2,)), width=width)


def _abbreviate_home(path: str) -> str:
    """Write a path as a person knows it."""
    home = find_home_folder(os.environ)
    return (
        f"~{path[len(home) :]}" if home and (path == home or path.startswith(f"{home}/")) else path
    )


def format_local_time(moment: int | None) -> str:
    """Show a time as it is here."""
    if moment is None:
        return "–"
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "–"


def _build_session_document(
    session: SessionSummary, helpers: list[SessionSummary]
) -> dict[str, Any]:
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
