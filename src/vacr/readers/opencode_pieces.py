"""The pieces of OpenCode's conversations, put together whatever form they lie in. Step: read.

An export holds a session whole; the storage folder has a file for each message and part, the
database a row, and dumps of either mix the sessions of many. Here they are told apart by what they
are, and sorted to the session they belong to.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from vacr.codec import canonical_json
from vacr.model import Native

LARGE_PROJECT = 1 << 16
"""As many bytes of a project as every session of it has; of a larger one, the first session has it
for all.
"""


def kept_elsewhere(project: Any, session: str) -> Native:
    """Say where a large project is kept."""
    return {"id": project, "kept-with-session": session}


@dataclass
class Message:
    """A message and its parts."""

    info: Any
    parts: list[Any] | None = field(default_factory=list)
    """Nothing where an export has none, not even an empty list."""
    beside: Native = field(default_factory=dict)
    """What stands beside the two in an export."""


@dataclass
class Conversation:
    """All that is known of one session."""

    info: Native | None = None
    messages: list[Message] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    """What belongs to the session beside its messages, by the name of its folder or table."""
    rows: list[tuple[str, Native]] = field(default_factory=list)
    """Rows of tables that say something about the session in a way of their own."""
    chat: list[Native] = field(default_factory=list)
    """Messages in the form of a sample."""
    chat_from: str | None = None
    """Where in the sample they stood, as a JSON Pointer."""
    loose: list[Any] = field(default_factory=list)
    """Values that fit nowhere."""


class Pieces:
    """The pieces of a source, while they are being collected."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._sessions: dict[str, Conversation] = {}
        self._messages: dict[tuple[str, str], Message] = {}
        self._order: dict[str, list[tuple[Any, str]]] = {}
        self._parts: list[tuple[str, bool, Native]] = []
        self._projects: dict[str, Native] = {}
        self._unplaced: list[tuple[str, str, Any]] = []
        self._current = ""
        self.only: str | None = None
        """The session that all pieces are of, whatever they say: where they lie tells whose they
        are.
        """

    def add(self, value: Any, kind: str) -> None:
        """Take one value that stands by itself, and is of some kind."""
        if kind in ("session", "message", "part", "project"):
            getattr(self, f"_add_{kind}")(value)
        else:
            self._unplaced.append((kind, self._current, value))

    def add_row(self, table: str, row: Native) -> None:
        """Take a row of a table that is none of the above."""
        self._at(row.get("session_id") or row.get("aggregate_id")).rows.append((table, row))

    def _add_session(self, info: Native) -> None:
        conversation = self._at(info.get("id"))
        if conversation.info is None:
            conversation.info = info
        else:
            conversation.loose.append(info)

    def _add_message(self, info: Native) -> None:
        self._at(info.get("sessionID"))
        identity = info["id"]
        if (self._current, identity) in self._messages:
            self._unplaced.append(("", self._current, info))
            return
        self._messages[self._current, identity] = Message(info)
        self._order.setdefault(self._current, []).append((_created(info), identity))

    def _add_part(self, part: Native) -> None:
        session = part.get("sessionID")
        self._at(session)
        self._parts.append((self._current, type(session) is str, part))

    def _add_project(self, project: Native) -> None:
        if self._projects.setdefault(project["id"], project) is not project:
            self._unplaced.append(("", self._current, project))

    def _at(self, session: Any) -> Conversation:
        """Go to the session that a piece names, if it does."""
        if self.only is not None:
            self._current = self.only
        elif type(session) is str:
            self._current = session
        return self._sessions.setdefault(self._current, Conversation())

    def conversations(self) -> list[tuple[str, Conversation]]:
        """Give the sessions with their ids, in the order they were met; what belongs to none goes
        to the nearest.
        """
        self._place_parts()
        for session, conversation in self._sessions.items():
            for _, identity in sorted(self._order.get(session, ())):
                message = self._messages[session, identity]
                message.parts = sorted(message.parts or (), key=_identity)
                conversation.messages.append(message)
        used = self._place_projects()
        for identity, project in self._projects.items():
            if identity not in used:
                self._unplaced.append(("project", self._current, project))
        self._place_shares()
        for kind, session, value in self._unplaced:
            self._place(kind, session, value)
        return [
            (session, found)
            for session, found in self._sessions.items()
            if session or found != Conversation()
        ]

    def _place_parts(self) -> None:
        """Give each part to its message: that of its session, or else the first of that id where it
        names no session.
        """
        first: dict[str, Message] = {}
        for (_, identity), message in self._messages.items():
            first.setdefault(identity, message)
        for session, says_so, part in self._parts:
            found = self._messages.get((session, part["messageID"]))
            if found is None and not says_so:
                found = first.get(part["messageID"])
            parts = (
                self._sessions[session].loose
                if found is None or found.parts is None
                else found.parts
            )
            parts.append(part)

    def _place_projects(self) -> set[str]:
        """Give each session its project, which several may share."""
        holders: dict[str, str] = {}
        for session, conversation in self._sessions.items():
            info = conversation.info or {}
            identity = info.get("projectID", info.get("project_id"))
            if type(identity) is str and identity in self._projects:
                project = self._projects[identity]
                if identity in holders and len(canonical_json.encode(project)) > LARGE_PROJECT:
                    project = kept_elsewhere(identity, holders[identity])
                conversation.extras["project"] = project
                holders.setdefault(identity, session)
        return set(holders)

    def _place_shares(self) -> None:
        """Find the sessions that shares are of: a share is named by how the session's id ends."""
        backwards = sorted(session[::-1] for session in self._sessions)
        for position, (kind, _, value) in enumerate(self._unplaced):
            ending = value["id"][::-1] if kind == "session_share" else ""
            nearest = bisect_left(backwards, ending)
            if ending and nearest < len(backwards) and backwards[nearest].startswith(ending):
                self._unplaced[position] = kind, backwards[nearest][::-1], value

    def _place(self, kind: str, session: str, value: Any) -> None:
        """Give a value to the session it names, or else to the one it stands with."""
        if not session and self._sessions:
            session = next(iter(self._sessions))
        conversation = self._sessions.setdefault(session, Conversation())
        if kind and kind not in conversation.extras:
            conversation.extras[kind] = value
        else:
            conversation.loose.append(value)


def kind_of_piece(value: Any) -> str:
    """Tell what a value that stands by itself is; nothing for what is not known."""
    if type(value) is list:
        return _kind_of_list(value)
    if type(value) is not dict or type(value.get("id")) is not str:
        return ""
    if type(value.get("messageID")) is str and "type" in value:
        return "part"
    if "role" in value and ("sessionID" in value or value["id"].startswith("msg")):
        return "message"
    if "worktree" in value:
        return "project"
    if "secret" in value and "url" in value:
        return "session_share"
    if "directory" in value and (
        "projectID" in value or "project_id" in value or value["id"].startswith("ses")
    ):
        return "session"
    return ""


def _kind_of_list(items: list[Any]) -> str:
    if not items or not all(type(item) is dict for item in items):
        return ""
    if all("file" in item and "additions" in item for item in items):
        return "session_diff"
    return "todo" if all("content" in item and "status" in item for item in items) else ""


def _created(info: Native) -> int:
    """Give the time of a message for sorting; what has none comes first."""
    times = info.get("time")
    created = times.get("created") if type(times) is dict else info.get("time_created")
    return created if type(created) is int else -1


def _identity(part: Native) -> str:
    return part["id"] if type(part.get("id")) is str else ""
