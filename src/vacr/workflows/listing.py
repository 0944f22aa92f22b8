"""The sessions of all agents on this machine, the newest first, each with its sub-agents."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from vacr.agents import load_agents
from vacr.discovery import SessionSummary, list_sessions, list_store_roots
from vacr.errors import UnreadableInput
from vacr.files import find_home_folder

SessionWithSubAgents = tuple[SessionSummary, list[SessionSummary]]


def list_newest_sessions(
    agent: str | None, failed: list[UnreadableInput] | None = None
) -> list[SessionWithSubAgents]:
    """Return the sessions with their sub-agents; stores that cannot be read go to `failed`."""
    sessions = list(list_sessions(agent, failed=failed))
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


def _find_root_session(session_id: str, parents: dict[str, str | None]) -> str:
    """Return the session that a sub-agent worked for in the end: parents may be sub-agents too."""
    visited = {session_id}
    while (parent := parents.get(session_id)) in parents:
        if parent in visited:
            # Sessions that name each other as parents have no root.
            return min(visited)
        visited.add(str(parent))
        session_id = str(parent)
    return session_id


def build_session_document(
    session: SessionSummary, sub_agents: list[SessionSummary]
) -> dict[str, Any]:
    """Describe a session for programs."""
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
    }


def describe_session_folders(agent: str | None) -> str:
    """Name the folders in which sessions are looked for."""
    roots = [
        root
        for name, reader in load_agents().items()
        if agent in (None, name)
        for root, _ in list_store_roots(reader)
    ]
    return ", ".join(dict.fromkeys(abbreviate_home(str(root)) for root in roots))


def abbreviate_home(path: str) -> str:
    """Return a path with the home folder written as `~`."""
    home = find_home_folder(os.environ)
    if home and (path == home or path.startswith(f"{home}/")):
        return f"~{path[len(home) :]}"
    return path
