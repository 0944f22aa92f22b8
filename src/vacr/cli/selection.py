"""Choose the sessions that a verb is about, by agent, project, repository or time.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["stats", "examples/", "--agent", "codex-cli", "-q"])
    0
    >>> run_command_line(["show", "examples/", "--since", "2026-12-01"])
    1

Without paths, the options choose among all sessions on this machine, by the index of `vacr search`.
With paths, they choose among the sessions there. With `latest`, they choose the first session that
`vacr list` shows with them.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from vacr.cli.options import PATH, F, complete_agent
from vacr.console import Voice, show_job_progress
from vacr.discovery import SessionSummary, list_sessions
from vacr.errors import UnreadableInput, UsageError
from vacr.files import make_absolute
from vacr.workflows import (
    LATEST,
    complete_agent_name,
    join_relayed_sessions,
    parse_moment,
    remember_chosen_sessions,
)

if TYPE_CHECKING:
    from vacr.archive import SourceQuery

SessionWithSubAgents = tuple[SessionSummary, list[SessionSummary]]

EXIT_NO_SELECTION = 1
_NO_MATCH = "no sessions match"
_LIST_HINT = "To list sessions: vacr list"
_TIME_FORMS = "a date, `yesterday`, `last-week`, or `3d` ago"


def selection_options(function: F, *, times: bool = True, agent: bool = True) -> F:
    """Add `--agent`, `--project`, `--repo`, `--since` and `--until` to a verb.

    A verb that has `--since` and `--until`, or `--agent`, leaves them out.
    """
    options: list[Callable[[Any], Any]] = [
        click.option(
            "--project",
            metavar="FOLDER",
            type=PATH,
            help="Only sessions that worked in this folder.",
        ),
        click.option(
            "--repo",
            metavar="TEXT",
            help="Only sessions in repositories whose address has this text.",
        ),
    ]
    if agent:
        option = click.option(
            "--agent",
            metavar="NAME",
            shell_complete=complete_agent,
            help="Only sessions of this agent.",
        )
        options.insert(0, option)
    if times:
        options += [
            click.option(
                "--since", metavar="TIME", help=f"Only sessions used since then: {_TIME_FORMS}."
            ),
            click.option(
                "--until",
                metavar="TIME",
                help="Only sessions that began until then; a day or `last-week` with all of it.",
            ),
        ]
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True)
class Selection:
    """The options of `selection_options`."""

    agent: str | None = None
    project: str | None = None
    repo: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether no option is set."""
        return self == Selection()

    def build_query(self) -> SourceQuery:
        """Return the query for the index.

        Raises:
            UsageError: the agent is unknown, or a time is wrong.
        """
        from vacr.archive import SourceQuery

        now = datetime.now().astimezone()
        return SourceQuery(
            agent=check_agent_name(self.agent),
            project=make_absolute(self.project) if self.project else "",
            repo=self.repo or "",
            since_ms=parse_moment(self.since, "--since", now) if self.since else None,
            until_ms=parse_moment(self.until, "--until", now, is_end=True) if self.until else None,
        )

    def choose(self, paths: Sequence[str], voice: Voice) -> tuple[str, ...]:
        """Return the selected sessions as paths or ids, the newest first.

        Without options, return the paths. For `latest` alone, return the latest selected session.

        Raises:
            UsageError: neither a path nor an option is given, or an option is wrong.
            UnreadableInput: the index cannot be used, or no session matches.
        """
        if self.is_empty:
            if not paths:
                raise UsageError(
                    "no session is named",
                    hint="Name one: latest, an id of vacr list, or a path. Or choose among all: "
                    "--agent NAME, --project FOLDER, --since 7d",
                )
            return tuple(paths)
        query = self.build_query()
        if asks_for_latest(paths):
            return (self._find_latest(voice),)
        named = next((path for path in paths if not os.path.lexists(path)), None)
        if named is not None:
            raise UsageError(
                f"{named} names a session already",
                hint="Omit it, or the options that choose sessions, such as --agent and --since.",
            )
        from vacr.archive import list_sources
        from vacr.cli.index_answers import answer_from_index

        sources = answer_from_index(
            lambda index: list_sources(index.connection, query), voice, paths
        )
        if not sources:
            raise _NoSelection(_NO_MATCH, hint=_LIST_HINT)
        # A path with several sessions does not name one of them, but its id does.
        remember_chosen_sessions(sources)
        return tuple(dict.fromkeys(session or path for path, session in sources))

    def select_sessions(
        self, sessions: list[SessionWithSubAgents], voice: Voice
    ) -> list[SessionWithSubAgents]:
        """Return the sessions of the project, the repository and the time.

        Only a repository needs the index.

        Raises:
            UsageError: a time is wrong.
            UnreadableInput: the index cannot be used.
        """
        query = self.build_query()
        named = set(self.choose((), voice)) if self.repo else None
        below = query.project.rstrip("/") + "/"
        selected = []
        for session, sub_agents in sessions:
            begun = session.start if session.start is not None else session.updated
            used = session.updated if session.updated is not None else session.start
            if (
                (not query.project or f"{session.project.rstrip('/')}/".startswith(below))
                and (query.since_ms is None or (used is not None and used >= query.since_ms))
                and (query.until_ms is None or (begun is not None and begun < query.until_ms))
                and (named is None or not named.isdisjoint((session.path, session.session_id)))
            ):
                selected.append((session, sub_agents))
        return selected

    def _find_latest(self, voice: Voice) -> str:
        """Return the path or id of the session that `vacr list` shows first with these options.

        A sub-agent's session does not count, even if the list does not show its parent.

        Raises:
            UsageError: an option is wrong.
            UnreadableInput: the index cannot be used, or no session matches.
        """
        agent = complete_agent_name(self.agent) if self.agent is not None else None
        found = self.select_sessions(list_newest_sessions(agent, voice), voice)
        latest = next((session for session, _ in found if session.parent is None), None)
        if latest is None:
            raise _NoSelection(_NO_MATCH, hint=_LIST_HINT)
        return latest.session or latest.path


def list_newest_sessions(
    agent: str | None, voice: Voice, failed: list[UnreadableInput] | None = None
) -> list[SessionWithSubAgents]:
    """Return the sessions on this machine, the newest first, each with its sub-agents.

    With `agent`, only sessions of that agent. A session that `vacr acp` recorded, and that its
    agent keeps, too, is there once. An error for each store that cannot be read is appended to
    `failed`, unless that is `None`. The list may be empty. `voice` shows the progress if the search
    takes long.

    Raises:
        UsageError: the agent is unknown.
    """
    found = _show_search(list_sessions(agent, failed=failed), voice)
    sessions = join_relayed_sessions(found)
    sessions.sort(key=lambda session: (-(session.updated or 0), session.path, session.session_id))
    parents = {
        session.session_id: session.parent
        for session in sessions
        if session.parent != session.session_id
    }
    roots: list[SessionSummary] = []
    sub_agents = defaultdict[str, list[SessionSummary]](list)
    for session in sessions:
        root = _find_root_session(session.session_id, parents)
        (roots if root == session.session_id else sub_agents[root]).append(session)
    return [(session, sub_agents[session.session_id]) for session in roots]


def _show_search(sessions: Iterator[SessionSummary], voice: Voice) -> Iterator[SessionSummary]:
    """Yield the sessions; show how many were found once the search takes longer than a second."""
    begun = time.monotonic()
    with ExitStack() as stack:
        show = None
        for number, session in enumerate(sessions, 1):
            if show is None and time.monotonic() - begun > 1:
                show = stack.enter_context(show_job_progress("reading sessions", voice))
            if show is not None:
                show(number, 0)
            yield session


def _find_root_session(session_id: str, parents: dict[str, str | None]) -> str:
    """Return the id of the session at the top: the parent of a sub-agent may be one, too.

    `parents` maps each session id to its parent. A session without a known parent is its own root.
    """
    visited = {session_id}
    while (parent := parents.get(session_id)) in parents:
        if parent in visited:
            # Sessions that name each other as parents have no root.
            return min(visited)
        visited.add(str(parent))
        session_id = str(parent)
    return session_id


def asks_for_latest(paths: Sequence[str]) -> bool:
    """Return whether the only path is `latest`, and not a file or folder of that name."""
    return tuple(paths) == (LATEST,) and not os.path.lexists(LATEST)


class _NoSelection(UnreadableInput):
    """No session matches; the exit code is that of a search without a hit."""

    exit_code = EXIT_NO_SELECTION


def check_agent_name(agent: str | None) -> str:
    """Return the name of an agent that a user typed, or an empty text for None.

    Raises:
        UsageError: no agent has that name.
    """
    return "" if agent is None else complete_agent_name(agent)
