"""`vacr list`: the sessions of all agents on this machine, each with its sub-agents.

The newest session comes first. Sub-agents are counted with the session that started them:

    >>> from vacr.cli.list import format_session_table
    >>> from vacr.discovery import SessionSummary
    >>> session = SessionSummary(
    ...     "parrot", "a.jsonl", None, "a", "/src/app", None, None, 12_218, "Fix the tests"
    ... )
    >>> for line in format_session_table([(session, [session])], 100):
    ...     print(line)
    id  agent   project   last used  title
    a   parrot  /src/app  –          (+1 sub-agent) Fix the tests
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click
from rich.cells import cell_len

from vacr.agents import load_agents
from vacr.archive import find_current_titles
from vacr.cli.options import EXIT_NO_SESSION, Verb, streaming_voice_options
from vacr.cli.selection import (
    Selection,
    SessionWithSubAgents,
    list_newest_sessions,
    selection_options,
)
from vacr.console import (
    Voice,
    align_columns,
    get_terminal_width,
    join_escaped_lines,
    truncate_path,
)
from vacr.discovery import SessionSummary, list_store_roots
from vacr.errors import UnreadableInput, UsageError, escape_unprintable
from vacr.files import find_index_file, find_state_folder
from vacr.workflows import (
    abbreviate_home,
    complete_agent_name,
    format_count,
    format_size,
    shorten_session_ids,
)

_MAX_ID_WIDTH = 13
"""The width of an id, from which on it may get a line of its own."""
_MIN_PROJECT_WIDTH = 15
_WIDE_TERMINAL = 120
_NARROW_TERMINAL = 100
_UNKNOWN = "–"


@click.command(cls=Verb)
@selection_options
@click.option(
    "-n", "--limit", type=click.IntRange(1), metavar="N", help="List only the N newest sessions."
)
@streaming_voice_options
def command(
    agent: str | None,
    project: str | None,
    repo: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """List the sessions of all agents on this machine, the newest first.

    A session is listed with the number of its sub-agents. Other verbs take its id instead of a
    path, or `latest`, or `latest:AGENT`. Verbs that have --agent, --project, --repo, --since and
    --until take them with `latest`, too: the latest session that matches. A session that `vacr acp`
    recorded, and that its agent keeps, too, is listed once. A session that its agent has deleted,
    and of which `vacr keep` made a copy, is marked `kept`. With -v the paths of each session are
    shown. vacr searches the folders of the agents, and honours their environment variables:
    CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, OPENCODE_DB,
    CURSOR_DATA_DIR, PI_CODING_AGENT_DIR, OPENCLAW_STATE_DIR, QWEN_HOME, KIMI_CODE_HOME,
    KIMI_SHARE_DIR and others.

    \b
    Example:
      vacr list -n 20
      vacr list --since yesterday --project .
      vacr show latest
      vacr list --agent codex-cli --format jsonl | jq -r .path
    """
    voice = Voice(format, quiet, verbose)
    failed: list[UnreadableInput] = []
    agent = complete_agent_name(agent) if agent is not None else None
    selection = Selection(agent, project, repo, since, until)
    found = sessions = list_newest_sessions(agent, voice, failed)
    if selection != Selection(agent):
        sessions = selection.select_sessions(sessions, voice)
    sessions = _use_indexed_titles(sessions[:limit])
    documents = [build_session_document(*session) for session in sessions]
    errors = [{"path": error.where, "error": error.message} for error in failed]
    voice.data({"sessions": documents, "errors": errors})
    for error in failed:
        voice.error(f"vacr: {error}", error.hint)
    for document in documents:
        voice.line(document)
    if found and not sessions:
        shown = "the only session" if len(found) == 1 else f"none of the {len(found):,} sessions"
        negation = "does not match" if len(found) == 1 else "matches"
        command = f"vacr list --agent {agent}" if agent else "vacr list"
        voice.notice(f"vacr: {shown} {negation} the options. To see all of them: {command}")
        return EXIT_NO_SESSION
    if not sessions:
        voice.notice(
            f"vacr: no sessions found in {describe_session_folders(agent)}. For sessions in "
            "another folder: vacr record FOLDER -o records/"
        )
        if voice.verbose and agent is None:
            for name in load_agents():
                voice.notice(f"  {name}: {describe_session_folders(name)}")
        return EXIT_NO_SESSION
    head, *rows = format_session_table(sessions, get_terminal_width(sys.stdout))
    lines = [head]
    for (session, _), row in zip(sessions, rows, strict=True):
        lines += row.split("\n")
        if voice.verbose:
            option = f" --session {session.session}" if session.session else ""
            lines.append(f"  {session.path}{option}")
            lines += [f"  also {path}" for path in session.copies]
    voice.results(lines)
    return 0


def _use_indexed_titles(sessions: list[SessionWithSubAgents]) -> list[SessionWithSubAgents]:
    """Return the sessions with the titles that `vacr show`, the search and the app have.

    The listing reads only the two ends of a file, and an agent may have written its title in the
    middle. The index has read all of it. Without a current index, the titles stay.
    """
    titles: dict[tuple[str, int], str] = {}
    with suppress(UsageError, sqlite3.Error, OSError, ValueError):
        index = find_index_file(find_state_folder(os.environ))
        if index.exists():
            with closing(sqlite3.connect(f"{index.as_uri()}?mode=ro", uri=True)) as connection:
                titles = find_current_titles(connection)
    return [
        (_replace_title(session, titles.get((session.path, session.size or 0), "")), sub_agents)
        for session, sub_agents in sessions
    ]


def _replace_title(session: SessionSummary, title: str) -> SessionSummary:
    """Return a session with the title of the index, unless that is only shorter, or empty."""
    is_shorter = title.endswith("…") and session.title.startswith(title[:-1])
    return session if not title or is_shorter else replace(session, title=title)


def build_session_document(
    session: SessionSummary, sub_agents: list[SessionSummary]
) -> dict[str, Any]:
    """Return the facts about a session, and the number of its sub-agents, for JSON output."""
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
        "sub-agents": len(sub_agents),
        "copies": list(session.copies),
        "kept": session.is_kept,
    }


def describe_session_folders(agent: str | None) -> str:
    """Return the folders that vacr searches for sessions of an agent, separated by commas.

    For `None`, a text that names the number of agents, and how to see their folders; for an unknown
    agent, an empty text.
    """
    agents = load_agents()
    if agent is None:
        return f"the usual folders of {len(agents)} agents (vacr list -v shows them)"
    roots = [root for root, _ in list_store_roots(agents[agent])] if agent in agents else []
    return ", ".join(dict.fromkeys(abbreviate_home(str(root)) for root in roots))


def format_session_table(sessions: list[SessionWithSubAgents], width: int | None) -> list[str]:
    """Return the lines of a table of sessions, the head first.

    With a `width`, long projects and titles are cut to fit, and a narrow table has fewer columns.
    If it is still too wide, a long id has a line of its own, above the rest of its row.
    """
    is_wide = width is None or width >= _WIDE_TERMINAL
    is_narrow = width is not None and width < _NARROW_TERMINAL
    sizes = ["size"] if is_wide else []
    # A table that is not wide has room for titles: it has only the time that it is sorted by.
    heads = [*(["start"] if is_wide else []), "last used"]
    rows = [("id", "agent", "project", *heads, *sizes, "title")]
    short_ids = shorten_session_ids(session.session_id for session, _ in sessions)
    for session, sub_agents in sessions:
        more = f"(+{format_count(len(sub_agents), 'sub-agent')}) " if sub_agents else ""
        times = [*([session.start] if is_wide else []), session.updated]
        project = abbreviate_home(session.project) or _UNKNOWN
        if width is not None:
            project_width = max(_MIN_PROJECT_WIDTH, width // 5)
            project = truncate_path(escape_unprintable(project), project_width)
        size = _UNKNOWN if session.size is None else format_size(session.size)
        shown_sizes = [size] if is_wide else []
        copied = "(also by vacr acp) " if session.copies else ""
        kept = "(kept) " if session.is_kept else ""
        title = f"{more}{kept}{copied}{join_escaped_lines(session.title)}" or _UNKNOWN
        shown_id = short_ids[session.session_id]
        shown_times = [_format_local_time(time) for time in times]
        if is_narrow:
            shown_times = [time[: len("2026-03-14")] for time in shown_times]
        rows.append((shown_id, session.agent, project, *shown_times, *shown_sizes, title))
    right = frozenset((len(rows[0]) - 2,)) if is_wide else frozenset()
    lines = align_columns(rows, right=right, width=width)
    if width is None or max(map(cell_len, lines)) <= width:
        return lines
    long_ids = [row[0] if len(row[0]) > _MAX_ID_WIDTH else "" for row in rows]
    short = [("" if long else row[0], *row[1:]) for long, row in zip(long_ids, rows, strict=True)]
    lines = align_columns(short, right=right, width=width)
    return [
        f"{escape_unprintable(long)}\n{line}" if long else line
        for long, line in zip(long_ids, lines, strict=True)
    ]


def _format_local_time(moment: int | None) -> str:
    """Return milliseconds since 1970 as date and time of this time zone; `–` if unknown."""
    if moment is None:
        return _UNKNOWN
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return _UNKNOWN
