"""Sessions that their agents will delete soon, and whether the journal keeps a copy.

Some agents delete transcripts that were not used for a while, when they start. An agent states that
with a `Retention`: how many days, and the setting that changes it.

    >>> from vacr.agents import Retention
    >>> from vacr.capture.endangered import choose_days
    >>> retention = Retention(30, ("sessions", "maxAge"))
    >>> choose_days(retention, {})
    30
    >>> choose_days(retention, {"sessions": {"maxAge": "4w"}})
    28.0
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.agents import Agent, Retention, load_agents
from vacr.capture.hook_settings import parse_jsonc
from vacr.capture.installers import AgentSettings, decode_settings_text, read_settings_file
from vacr.capture.session_sources import TranscriptPlace
from vacr.discovery import SessionSummary, list_sessions
from vacr.errors import UnreadableInput, UsageError

WARNING_DAYS = 7
"""Sessions that are deleted within this many days are endangered."""
_SECONDS_OF_DAY = 86_400
_DURATION = re.compile(r"(\d{1,6})([hdwm])")
_DAYS_OF_UNIT = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0}


@dataclass(frozen=True)
class EndangeredSession:
    """A session that its agent will delete, as far as its settings say."""

    session: SessionSummary
    deleted_at: float
    """When the agent may delete it, in seconds since 1970."""
    is_captured: bool
    """Whether the journal has all that the session has."""


def list_endangered_sessions(
    state: Path,
    environment: Mapping[str, str],
    now: float,
    days: float = WARNING_DAYS,
    system: str = sys.platform,
) -> list[EndangeredSession]:
    """Return the sessions that agents delete within some days, the most urgent first.

    `state` is the state folder with the journal. Sub-agents belong to the session that started
    them.
    """
    found = []
    for agent in load_agents().values():
        limit = find_retention_days(agent, environment)
        if limit is None:
            continue
        for session in list_sessions(agent.name, environment, system, [], kept=False):
            written = find_write_time(Path(session.path))
            if written is None or session.parent is not None:
                continue
            deleted_at = written + limit * _SECONDS_OF_DAY
            if deleted_at <= now + days * _SECONDS_OF_DAY:
                is_captured = is_session_captured(state, session)
                found.append(EndangeredSession(session, deleted_at, is_captured))
    return sorted(found, key=lambda session: session.deleted_at)


def find_retention_days(agent: Agent, environment: Mapping[str, str]) -> float | None:
    """Return after how many days an agent deletes sessions, or None if it keeps them.

    A settings file that cannot be read has the default.
    """
    retention = agent.retention
    if retention is None or agent.hooks is None:
        return None
    path = AgentSettings(agent.name, agent.hooks).folder(environment) / agent.hooks.file
    try:
        settings = parse_jsonc(decode_settings_text(read_settings_file(path)) or "{}").value
    except (UnreadableInput, UsageError):
        settings = {}
    return choose_days(retention, settings)


def choose_days(retention: Retention, settings: Any) -> float | None:
    """Return the days that an agent keeps sessions, by its settings or default; None for ever."""
    if retention.switch and _get_member(settings, retention.switch) is not True:
        return None
    value = _get_member(settings, retention.setting)
    if isinstance(value, bool) or value is None:
        return retention.days
    if isinstance(value, int | float):
        return float(value)
    duration = _DURATION.fullmatch(str(value))
    return int(duration[1]) * _DAYS_OF_UNIT[duration[2]] if duration else retention.days


def _get_member(value: Any, names: tuple[str, ...]) -> Any:
    """Return a nested member of an object, or None."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def is_session_captured(state: Path, session: SessionSummary) -> bool:
    """Return whether the journal was written after the session last changed."""
    place = TranscriptPlace(session.agent, Path(session.path), session.session or "")
    captured = find_write_time(state / "journal" / "sessions" / f"{place.name}.frames")
    written = find_write_time(Path(session.path))
    return captured is not None and written is not None and captured >= written


def find_write_time(path: Path) -> float | None:
    """Return when a file was last written, in seconds since 1970, or None if unknown.

    Agents go by this time, not by the times in the transcript.
    """
    try:
        return path.stat().st_mtime
    except OSError:
        return None
