"""Sessions by name, so that nobody has to type the path of a transcript.

A name is the beginning of an id, as `vacr list` shows it, or `latest`, or `latest:AGENT`. A
file or folder of that name in the current folder wins.

    >>> from vacr.errors import UnreadableInput
    >>> from vacr.workflows import find_named_session
    >>> find_named_session("notes/today.txt") is None      # Not the form of a name.
    True
    >>> try:
    ...     find_named_session("latest", {"HOME": "/nonexistent"})
    ... except UnreadableInput as error:
    ...     print(error)
    no sessions found on this machine
"""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from vacr.agents import find_agent, load_agents
from vacr.discovery import (
    NAME_JOINT,
    SessionPlace,
    SessionSummary,
    derive_record_name,
    list_kept_family,
    list_kept_sessions,
    list_sessions,
    make_record_name,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import is_folder, make_absolute
from vacr.workflows.statement_files import STATEMENT_SUFFIX, find_sealed_record

LATEST = "latest"
_LIST_HINT = "To list sessions with their ids: vacr list"
_PLACES_HINT = "Where vacr looks: vacr list -v"
_MAX_CANDIDATES = 5
_MIN_SHOWN_LENGTH = 8
_MIN_ID_LENGTH = 4
_ID_PATTERN = re.compile(rf"[0-9A-Za-z_-]{{{_MIN_ID_LENGTH},100}}")
_SHORT_ID_PATTERN = re.compile(rf"[0-9A-Za-z_-]{{1,{_MIN_ID_LENGTH - 1}}}")
_FILES_NEEDED = {
    "verify": (
        "a sealed record",
        "Seal it first: vacr seal {} -o sealed/, then vacr verify sealed/",
    ),
    "inspect": (
        "a signed statement",
        "Seal it first: vacr seal {} -o sealed/, then vacr inspect sealed/*.cose",
    ),
    "sign": ("a file", "To record and sign it: vacr seal {} -o sealed/"),
    "validate": (
        "a record",
        "Record it first: vacr record {} -o records/, then vacr validate records/",
    ),
}
"""What verbs take that take no session, and how to make it of one."""
_chosen_paths: dict[str, str] = {}
"""The paths of sessions that options chose in this process, by id."""
_NO_FILE = "there is no such file or folder"


def find_named_session(
    name: str, environment: Mapping[str, str] = os.environ
) -> SessionPlace | None:
    """Return the place of the session with this name; `None` if it has not the form of a name.

    The place of a session that the agent has deleted is the record in the state folder, if the user
    kept it.

    Raises:
        UnreadableInput: no session has that name.
        UsageError: several sessions have it, or no agent has that name.
    """
    if os.path.lexists(path := _chosen_paths.get(name, "")):
        return SessionPlace(path, Path(path).name, name)
    summary = _find_summary(name, environment)
    if summary is None:
        return None
    return SessionPlace(summary.path, Path(summary.path).name, summary.session)


def find_restorable_records(
    name: str, environment: Mapping[str, str] = os.environ
) -> tuple[Path, ...]:
    """Return the kept record of the session with this name, then those of its sub-agents.

    Return an empty tuple for the path of a file, and for a text that has not the form of a name.

    Raises:
        UnreadableInput: no session has that name, or the user has no copy of it.
        UsageError: several sessions have it, or no agent has that name.
    """
    summary = None if os.path.lexists(name) else _find_summary(name, environment)
    if summary is None:
        return ()
    copies = [summary] if summary.is_kept else list_kept_sessions(environment)
    session = summary.agent, summary.session_id
    same = [copy for copy in copies if (copy.agent, copy.session_id) == session]
    if not same:
        raise UnreadableInput(
            f"no copy of this session is kept; the agent still has it: {summary.path}",
            where=name,
            hint="To copy it with its native bytes: "
            f"vacr record {name} --seal-source -o records/, then vacr restore RECORD",
        )
    newest = max(same, key=lambda copy: copy.updated or 0)
    return tuple(list_kept_family(Path(newest.path)))


def remember_chosen_sessions(sessions: Iterable[tuple[str, str | None]]) -> None:
    """Remember the path of each chosen session, so that its id names it in this process.

    A database may lie in a folder that the user named, where no search by id would look; and one
    search for each of its sessions would take long. Sessions with a path of their own have no id.
    """
    _chosen_paths.update({session: path for path, session in sessions if session})


def is_too_short_id(name: str) -> bool:
    """Return whether a name looks like the beginning of an id, but is too short for one."""
    return _SHORT_ID_PATTERN.fullmatch(name) is not None


def describe_missing_input(name: str) -> str:
    """Return why an input cannot be read that is neither a path nor has the form of a name."""
    if is_too_short_id(name):
        return f"{_NO_FILE}, and the id of a session needs at least {_MIN_ID_LENGTH} characters"
    return _NO_FILE


def find_unsealed_session_error(
    name: str, verb: str, environment: Mapping[str, str] = os.environ
) -> UnreadableInput | None:
    """Return the error for a session in place of a file that a verb needs.

    `verb` is `verify`, `inspect`, `sign` or `validate`. Return `None` if a file has this name, or
    no session.
    """
    if os.path.lexists(name) or not _is_session_name(name, environment):
        return None
    needed, first_step = _FILES_NEEDED[verb]
    hint = first_step.format(name)
    if verb in ("verify", "inspect") and (record := _find_record_of_session(name, environment)):
        file = shlex.quote(f"{record}{STATEMENT_SUFFIX}" if verb == "inspect" else str(record))
        hint = f"It has a sealed record: vacr {verb} {file}"
    return UnreadableInput(f"this names a session; {verb} takes {needed}", where=name, hint=hint)


def _find_record_of_session(name: str, environment: Mapping[str, str]) -> Path | None:
    """Return the sealed record of the session with this name, if it is near; see the callee."""
    try:
        summary = _find_summary(name, environment)
    except (UsageError, UnreadableInput):
        return None
    if summary is None:
        return None
    stem = derive_record_name(summary.path)
    if summary.session:
        is_store = is_folder(summary.path)
        stem = summary.session if is_store else make_record_name(stem, NAME_JOINT, summary.session)
    return find_sealed_record(summary.path, stem, summary.session_id)


def _is_session_name(name: str, environment: Mapping[str, str]) -> bool:
    """Return whether a session of this machine has this name, or several have; `latest` is one."""
    try:
        return _find_summary(name, environment) is not None
    except UsageError:
        return LATEST not in name  # Several sessions, and not an unknown agent.
    except UnreadableInput:
        return name == LATEST


def find_session_id(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the whole id of the session with this name.

    Raises:
        UnreadableInput: no session has that name.
        UsageError: several sessions have it, or no agent has that name.
    """
    summary = _find_summary(name, environment)
    if summary is None:
        reason = "no session has this id"
        if is_too_short_id(name):
            reason = describe_missing_input(name)
        raise UnreadableInput(reason, where=name, hint=_choose_hint(environment))
    return summary.session_id


def _choose_hint(environment: Mapping[str, str]) -> str:
    """Return the next step after an unknown name: the list, or where vacr looks if it is empty."""
    has_sessions = next(iter(list_sessions(environment=environment)), None) is not None
    return _LIST_HINT if has_sessions else _PLACES_HINT


def find_session_at(path: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the id of the session that an agent keeps in a file; `None` if no agent does.

    In a database with several sessions, it is the last one that was used.
    """
    place = make_absolute(path)
    found = [
        summary
        for summary in list_sessions(environment=environment)
        if make_absolute(summary.path) == place
    ]
    latest = max(found, key=lambda summary: summary.updated or 0, default=None)
    return latest.session_id if latest is not None else None


def shorten_session_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return the shortest beginning of each id that no other id has; at least eight letters."""
    ordered = sorted(set(ids))
    shortened = {}
    for number, session_id in enumerate(ordered):
        neighbours = [*ordered[max(0, number - 1) : number], *ordered[number + 1 : number + 2]]
        shared = max((_count_shared(session_id, other) for other in neighbours), default=0)
        shortened[session_id] = session_id[: max(_MIN_SHOWN_LENGTH, shared + 1)]
    return shortened


def _count_shared(text: str, other: str) -> int:
    """Return the number of letters at the start that two texts have in common."""
    pairs = enumerate(zip(text, other, strict=False))
    shorter = min(len(text), len(other))
    return next((number for number, (left, right) in pairs if left != right), shorter)


def complete_agent_name(name: str) -> str:
    """Return the name of the only agent whose name begins with `name`.

    Raises:
        UsageError: no agent, or several, have a name that begins so.
    """
    agents = load_agents()
    found = [agent for agent in agents if agent.startswith(name)] if name else []
    if name in agents:
        return name
    if len(found) != 1:
        short_names = [agent.split("-")[0] for agent in agents]
        # The best matches come first, and people rarely mistype the first letters.
        close = get_close_matches(name, [*agents, *short_names], len(agents))
        close.sort(key=lambda other: -_count_shared(name, other))
        near = next((agent for agent in agents if close and agent.startswith(close[0])), "")
        guess = f"Did you mean {near}? " if near else ""
        hint = f"{guess}Known agents: {', '.join(agents)}."
        raise UsageError(f"unknown agent {name!r}", hint=hint)
    return found[0]


def is_agent_name(name: str) -> bool:
    """Return whether a name is that of an agent, or the beginning of one."""
    return any(agent.startswith(name) for agent in load_agents())


def _find_summary(name: str, environment: Mapping[str, str]) -> SessionSummary | None:
    """Return the session with this name; `None` if it has not the form of a name."""
    latest, _, agent = name.partition(":")
    if latest == LATEST and (agent or ":" not in name):
        return _find_latest_session(agent or None, environment)
    if not _ID_PATTERN.fullmatch(name):
        return None
    return _find_session_by_id(name, environment)


def _find_latest_session(agent: str | None, environment: Mapping[str, str]) -> SessionSummary:
    """Return the session that was last used, of all agents or of one; never a sub-agent's.

    Raises:
        UnreadableInput: there are no sessions.
        UsageError: no agent has that name.
    """
    agent = complete_agent_name(agent) if agent is not None else None
    found = [summary for summary in list_sessions(agent, environment) if summary.parent is None]
    sessions = join_relayed_sessions(found)
    if not sessions:
        whose = f" of {agent}" if agent else ""
        raise UnreadableInput(f"no sessions{whose} found on this machine", hint=_PLACES_HINT)
    return max(sessions, key=lambda session: (session.updated or 0, session.path))


def _find_session_by_id(name: str, environment: Mapping[str, str]) -> SessionSummary:
    """Return the session whose id begins with `name`.

    If sub-agents have ids with the same beginning, the session that started them counts.

    Raises:
        UnreadableInput: no session has such an id.
        UsageError: several sessions have one.
    """
    listed = list(list_sessions(environment=environment))
    found = [summary for summary in listed if summary.session_id.startswith(name)]
    exact = [summary for summary in found if summary.session_id == name]
    # Like in `vacr list`, a session whose parent is not there is a session of its own.
    listed_ids = {summary.session_id for summary in listed}
    roots = [
        summary
        for summary in found
        if summary.parent not in listed_ids or summary.parent == summary.session_id
    ]
    candidates = _drop_repeated(exact or roots or found)
    if not candidates:
        hint = _choose_hint(environment)
        if get_close_matches(name, [LATEST]):
            hint = f"Did you mean {LATEST}? {hint}"
        if is_agent_name(name):
            hint = f"For its latest session: {LATEST}:{name}. Or choose by --agent {name}."
        raise UnreadableInput(f"{_NO_FILE}, and no session with this id", where=name, hint=hint)
    if len(candidates) > 1:
        ids = ", ".join(summary.session_id for summary in candidates[:_MAX_CANDIDATES])
        if len(candidates) > _MAX_CANDIDATES:
            ids += f" and {len(candidates) - _MAX_CANDIDATES} more"
        raise UsageError(
            f"{len(candidates)} sessions have an id that begins with {name}",
            hint=f"Type more of the id: {ids}",
        )
    return candidates[0]


def _drop_repeated(summaries: Iterable[SessionSummary]) -> list[SessionSummary]:
    """Return the summaries, and of several files of one session the last used.

    A recording on the way to an editor is left out if the agent keeps the session itself.
    """
    by_id: dict[tuple[str, str], SessionSummary] = {}
    for summary in sorted(summaries, key=lambda summary: summary.updated or 0):
        by_id[summary.agent, summary.session_id] = summary
    return join_relayed_sessions(by_id.values())


def join_relayed_sessions(summaries: Iterable[SessionSummary]) -> list[SessionSummary]:
    """Return the summaries, in their order, with each session that its agent keeps only once.

    A recording on the way to an editor becomes one of the session's `copies`.
    """
    relayed = defaultdict[str, list[str]](list)
    kept: set[str] = set()
    listed = list(summaries)
    for summary in listed:
        if find_agent(summary.agent).is_relay:
            relayed[summary.session_id].append(summary.path)
        else:
            kept.add(summary.session_id)
    return [
        replace(summary, copies=tuple(relayed[summary.session_id]))
        if summary.session_id in kept & relayed.keys()
        else summary
        for summary in listed
        if summary.session_id not in kept or not find_agent(summary.agent).is_relay
    ]
