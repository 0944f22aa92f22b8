"""Which sessions a verb is about: those of an agent, a project, a repository or a time.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["stats", "examples/", "--agent", "codex-cli", "-q"])
    0
    >>> run_command_line(["show", "examples/", "--since", "2026-12-01"])
    1

Without paths, all sessions on this machine are considered, by the index of `vacr search`. With
paths, those that lie there. With `latest`, the first one that `vacr list` shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from vacr.cli.options import PATH, F, complete_agent
from vacr.console import Voice
from vacr.errors import UnreadableInput, UsageError
from vacr.files import make_absolute
from vacr.workflows import LATEST, complete_agent_name, parse_moment

if TYPE_CHECKING:
    from vacr.archive import SourceQuery

EXIT_NO_SELECTION = 1
_NO_MATCH = "no sessions match"
_LIST_HINT = "To list sessions: vacr list"
_TIME_FORMS = "a date, `yesterday`, or `3d` ago"


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
            click.option("--until", metavar="TIME", help="Only sessions that began until then."),
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
        from vacr.cli.search import check_agent_name

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
                    "no session is named", hint="For example: latest, an id of vacr list, or a path"
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
        from vacr.cli.search import open_fresh_index

        with open_fresh_index(voice, paths) as index:
            sources = list_sources(index.connection, query)
        if not sources:
            raise _NoSelection(_NO_MATCH, hint=_LIST_HINT)
        # A path with several sessions does not name one of them, but its id does.
        return tuple(dict.fromkeys(session or path for path, session in sources))

    def _find_latest(self, voice: Voice) -> str:
        """Return the path or id of the session that `vacr list` shows first with these options.

        Raises:
            UsageError: an option is wrong.
            UnreadableInput: the index cannot be used, or no session matches.
        """
        from vacr.cli.list import list_newest_sessions, select_sessions

        agent = complete_agent_name(self.agent) if self.agent is not None else None
        sessions = select_sessions(list_newest_sessions(agent, voice), self, voice)
        if not sessions:
            raise _NoSelection(_NO_MATCH, hint=_LIST_HINT)
        latest, _ = sessions[0]
        return latest.session or latest.path


def asks_for_latest(paths: Sequence[str]) -> bool:
    """Return whether the only path is `latest`, and not a file or folder of that name."""
    return tuple(paths) == (LATEST,) and not os.path.lexists(LATEST)


class _NoSelection(UnreadableInput):
    """No session matches; the exit code is that of a search without a hit."""

    exit_code = EXIT_NO_SELECTION
