"""The members of OpenCode's sessions that are known. Step: read.

Seen in versions 1.1 to 1.18. A name that is missing here costs nothing but a count in the record's
`vacr.drift`.

The parts of an OpenCode message as entries. Step: read.

Texts and files are what the message says and stay in its content as they are; everything else
becomes a child: a tool part a call and a result, reasoning a reasoning entry, the rest events.

The pieces of OpenCode's conversations, put together whatever form they lie in. Step: read.

An export holds a session whole; the storage folder has a file for each message and part, the
database a row, and dumps of either mix the sessions of many. Here they are told apart by what they
are, and sorted to the session they belong to.

What a message of OpenCode's used: tokens and money. Step: read.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    add_remaining_members,
    describe_json_kind,
    get_writable_marks,
    is_one_of,
    make_typed_event,
    sum_token_usage,
)
from vacr.model import JsonObject
from vacr.record import encode_canonical_json, is_timestamp

OPENCODE_SESSION_MEMBERS = frozenset(
    (
        "id",
        "slug",
        "projectID",
        "directory",
        "path",
        "parentID",
        "title",
        "agent",
        "model",
        "version",
        "summary",
        "cost",
    )
    + ("tokens", "permission", "time", "share", "revert", "metadata", "workspaceID")
    + (
        "project_id",
        "parent_id",
        "share_url",
        "summary_additions",
        "summary_deletions",
        "summary_files",
        "summary_diffs",
    )
    + (
        "time_created",
        "time_updated",
        "time_compacting",
        "time_archived",
        "workspace_id",
        "tokens_input",
        "tokens_output",
    )
    + ("tokens_reasoning", "tokens_cache_read", "tokens_cache_write")
)
OPENCODE_MESSAGE_MEMBERS = frozenset(
    (
        "id",
        "sessionID",
        "role",
        "time",
        "parentID",
        "modelID",
        "providerID",
        "mode",
        "agent",
        "path",
        "cost",
        "tokens",
    )
    + (
        "finish",
        "error",
        "summary",
        "system",
        "tools",
        "format",
        "variant",
        "model",
        "structured",
        "time_created",
    )
    + ("time_updated", "metadata")
)
OPENCODE_PART_MEMBERS = frozenset(
    ("id", "sessionID", "messageID", "type", "metadata", "time", "time_created", "time_updated")
)
OPENCODE_TOOL_MEMBERS = OPENCODE_PART_MEMBERS | frozenset(("callID", "tool", "state"))
OPENCODE_REASONING_MEMBERS = OPENCODE_PART_MEMBERS | frozenset(("text",))
OPENCODE_STATE_MEMBERS = frozenset(
    ("status", "input", "output", "error", "title", "metadata", "time", "attachments", "raw")
)

# Part type → the members it has, beside those of every part.
_EVENT_OWN_MEMBERS = {
    "step-start": frozenset(("snapshot",)),
    "step-finish": frozenset(("reason", "snapshot", "cost", "tokens")),
    "snapshot": frozenset(("snapshot",)),
    "patch": frozenset(("hash", "files")),
    "agent": frozenset(("name", "source")),
    "retry": frozenset(("attempt", "error")),
    "compaction": frozenset(("auto", "overflow", "tail_start_id")),
    "subtask": frozenset(("prompt", "description", "agent", "model", "command")),
}
_CONTENT_OWN_MEMBERS = {
    "text": frozenset(("text", "synthetic", "ignored")),
    "file": frozenset(("mime", "filename", "url", "source")),
}
OPENCODE_EVENT_MEMBERS = {
    kind: OPENCODE_PART_MEMBERS | members for kind, members in _EVENT_OWN_MEMBERS.items()
}
OPENCODE_CONTENT_MEMBERS = {
    kind: OPENCODE_PART_MEMBERS | members for kind, members in _CONTENT_OWN_MEMBERS.items()
}


OPENCODE_REASONING_MOVES = Lift(Move("text", "content", None), Move("id", "id"))
OPENCODE_CALL_MOVES = Lift(Move("tool", "name"), Move("callID", "call-id"), Move("id", "id"))
OPENCODE_EVENT_MOVES = Lift(Move("id", "id"))
OPENCODE_RESERVED_EVENT_TYPES = frozenset(("unknown", "message", "undecodable", "attached-file"))
"""What events are called that have no native type; a native type of such a name is kept beside."""
OPENCODE_OUTPUT_MEMBERS = ("output", "error")
"""What a tool gave, or why it failed; one of them is the output of the result."""


def add_message_parts(parts: list[Any], entry: JsonObject, session: SessionBuilder) -> None:
    """Put the parts of a message into its content and its children."""
    content: list[Any] = []
    found: list[JsonObject] = []
    order = []
    # The ids are looked at before the parts are taken apart.
    in_order = _is_ordered_by_id(parts)
    for part in parts:
        if type(part) is dict and is_one_of(part.get("type"), OPENCODE_CONTENT_MEMBERS):
            session.drift.count_members(part["type"], part, OPENCODE_CONTENT_MEMBERS[part["type"]])
            order.append(f"content/{len(content)}")
            content.append(part)
        else:
            order.append(f"children/{len(found)}")
            found += make_part_entries(part, session)
    if not in_order:
        get_writable_marks(entry)["order"] = order
    if content or not found:
        entry["content"] = content
    if found:
        entry["children"] = found
        session.embedded += found


def _is_ordered_by_id(parts: list[Any]) -> bool:
    """Tell whether the ids of parts say in which order they stand, as OpenCode's own do."""
    ids = [part["id"] for part in parts if type(part) is dict and type(part.get("id")) is str]
    return len(ids) == len(parts) and all(one < two for one, two in itertools.pairwise(ids))


def make_part_entries(part: Any, session: SessionBuilder) -> list[JsonObject]:
    """Turn a part that is not said into entries."""
    if type(part) is not dict:
        return [session.make_value_event(part)]
    kind = part.get("type")
    if kind == "tool" and type(part.get("tool")) is str and type(part.get("state")) is dict:
        return make_tool_entries(part, session)
    if kind == "reasoning" and "text" in part:
        return [make_reasoning_entry(part, session)]
    return [make_part_event(part, session)]


def make_reasoning_entry(part: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a reasoning part into a reasoning entry."""
    session.drift.count_members("reasoning", part, OPENCODE_REASONING_MEMBERS)
    entry: JsonObject = {"type": part.pop("type")}
    OPENCODE_REASONING_MOVES.apply(part, entry)
    lift_timestamp(part, "start", entry)
    return add_remaining_members(entry, part)


def make_tool_entries(part: JsonObject, session: SessionBuilder) -> list[JsonObject]:
    """Part a tool's call from its result; what the state says beside the input belongs to the
    result, if there is one.
    """
    state = part["state"]
    session.drift.count_members("tool", part, OPENCODE_TOOL_MEMBERS)
    session.drift.count_members("tool.state", state, OPENCODE_STATE_MEMBERS)
    call: JsonObject = {"type": "tool-call", "vacr": {"native": {"type": part.pop("type")}}}
    OPENCODE_CALL_MOVES.apply(part, call)
    call["input"] = state.pop("input", None)
    lift_timestamp(state, "start", call)
    given = next((name for name in OPENCODE_OUTPUT_MEMBERS if state.get(name) is not None), None)
    if given is None:
        if not state:
            del part["state"]
        return [add_remaining_members(call, part)]
    del part["state"]
    result: JsonObject = {"type": "tool-result", "output": state.pop(given)}
    if "call-id" in call:
        result["call-id"] = call["call-id"]
    if given == "error":
        result["is-error"] = True
    if type(state.get("status")) is str:
        result["status"] = state.pop("status")
    lift_timestamp(state, "end", result)
    if state:
        result["state"] = state
    return [add_remaining_members(call, part), result]


def make_part_event(part: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn any other part into an event."""
    kind = part.pop("type", None)
    if is_one_of(kind, OPENCODE_EVENT_MEMBERS):
        session.drift.count_members(kind, part, OPENCODE_EVENT_MEMBERS[kind])
    elif not is_one_of(kind, OPENCODE_CONTENT_MEMBERS):
        session.drift.count_type(f"part/{kind if type(kind) is str else describe_json_kind(kind)}")
    return make_typed_event(part, kind, OPENCODE_RESERVED_EVENT_TYPES, OPENCODE_EVENT_MOVES)


def lift_timestamp(holder: JsonObject, member: str, entry: JsonObject) -> None:
    """Move one of the times of a native object to the entry's timestamp."""
    times = holder.get("time")
    if type(times) is dict and type(times.get(member)) is int and is_timestamp(times[member]):
        entry["timestamp"] = times.pop(member)
        if not times:
            del holder["time"]


MAX_SHARED_PROJECT_BYTES = 1 << 16
"""As many bytes of a project as every session of it has; of a larger one, the first session has it
for all.
"""


def make_project_reference(project: Any, session: str) -> JsonObject:
    """Say where a large project is kept."""
    return {"id": project, "kept-with-session": session}


@dataclass
class OpenCodeMessage:
    """A message and its parts."""

    info: Any
    parts: list[Any] | None = field(default_factory=list)
    """Nothing where an export has none, not even an empty list."""
    beside: JsonObject = field(default_factory=dict)
    """What stands beside the two in an export."""


@dataclass
class OpenCodeConversation:
    """All that is known of one session."""

    info: JsonObject | None = None
    messages: list[OpenCodeMessage] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    """What belongs to the session beside its messages, by the name of its folder or table."""
    rows: list[tuple[str, JsonObject]] = field(default_factory=list)
    """Rows of tables that say something about the session in a way of their own."""
    chat: list[JsonObject] = field(default_factory=list)
    """Messages in the form of a sample."""
    chat_from: str | None = None
    """Where in the sample they stood, as a JSON Pointer."""
    loose: list[Any] = field(default_factory=list)
    """Values that fit nowhere."""


class PieceCollector:
    """The pieces of a source, while they are being collected."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._sessions: dict[str, OpenCodeConversation] = {}
        self._messages: dict[tuple[str, str], OpenCodeMessage] = {}
        self._order: dict[str, list[tuple[Any, str]]] = {}
        self._parts: list[tuple[str, bool, JsonObject]] = []
        self._projects: dict[str, JsonObject] = {}
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

    def add_row(self, table: str, row: JsonObject) -> None:
        """Take a row of a table that is none of the above."""
        self._at(row.get("session_id") or row.get("aggregate_id")).rows.append((table, row))

    def _add_session(self, info: JsonObject) -> None:
        conversation = self._at(info.get("id"))
        if conversation.info is None:
            conversation.info = info
        else:
            conversation.loose.append(info)

    def _add_message(self, info: JsonObject) -> None:
        self._at(info.get("sessionID"))
        identity = info["id"]
        if (self._current, identity) in self._messages:
            self._unplaced.append(("", self._current, info))
            return
        self._messages[self._current, identity] = OpenCodeMessage(info)
        self._order.setdefault(self._current, []).append((_get_created_time(info), identity))

    def _add_part(self, part: JsonObject) -> None:
        session = part.get("sessionID")
        self._at(session)
        self._parts.append((self._current, type(session) is str, part))

    def _add_project(self, project: JsonObject) -> None:
        if self._projects.setdefault(project["id"], project) is not project:
            self._unplaced.append(("", self._current, project))

    def _at(self, session: Any) -> OpenCodeConversation:
        """Go to the session that a piece names, if it does."""
        if self.only is not None:
            self._current = self.only
        elif type(session) is str:
            self._current = session
        return self._sessions.setdefault(self._current, OpenCodeConversation())

    def conversations(self) -> list[tuple[str, OpenCodeConversation]]:
        """Give the sessions with their ids, in the order they were met; what belongs to none goes
        to the nearest.
        """
        self._place_parts()
        for session, conversation in self._sessions.items():
            for _, identity in sorted(self._order.get(session, ())):
                message = self._messages[session, identity]
                message.parts = sorted(message.parts or (), key=_get_part_id)
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
            if session or found != OpenCodeConversation()
        ]

    def _place_parts(self) -> None:
        """Give each part to its message: that of its session, or else the first of that id where it
        names no session.
        """
        first: dict[str, OpenCodeMessage] = {}
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
                if (
                    identity in holders
                    and len(encode_canonical_json(project)) > MAX_SHARED_PROJECT_BYTES
                ):
                    project = make_project_reference(identity, holders[identity])
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
        conversation = self._sessions.setdefault(session, OpenCodeConversation())
        if kind and kind not in conversation.extras:
            conversation.extras[kind] = value
        else:
            conversation.loose.append(value)


def classify_piece(value: Any) -> str:
    """Tell what a value that stands by itself is; nothing for what is not known."""
    if type(value) is list:
        return _classify_list(value)
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


def _classify_list(items: list[Any]) -> str:
    if not items or not all(type(item) is dict for item in items):
        return ""
    if all("file" in item and "additions" in item for item in items):
        return "session_diff"
    return "todo" if all("content" in item and "status" in item for item in items) else ""


def _get_created_time(info: JsonObject) -> int:
    """Give the time of a message for sorting; what has none comes first."""
    times = info.get("time")
    created = times.get("created") if type(times) is dict else info.get("time_created")
    return created if type(created) is int else -1


def _get_part_id(part: JsonObject) -> str:
    return part["id"] if type(part.get("id")) is str else ""


OPENCODE_USAGE_SUMS = (
    ("input", ("input", "cache.read", "cache.write")),
    ("output", ("output", "reasoning")),
    ("cached", ("cache.read",)),
    ("reasoning", ("reasoning",)),
    ("total", ("total",)),
)
"""Canonical counter → the native ones that it is the sum of; the first must be there."""


def lift_opencode_usage(info: JsonObject, entry: JsonObject) -> None:
    """Give the canonical counters of a message; OpenCode counts cached input and reasoning beside
    input and output.
    """
    usage: JsonObject = {}
    tokens = info.get("tokens")
    if type(tokens) is dict:
        cache = tokens["cache"] if type(tokens.get("cache")) is dict else {}
        usage = sum_token_usage(
            tokens | {"cache.read": cache.get("read"), "cache.write": cache.get("write")},
            OPENCODE_USAGE_SUMS,
        )
    if isinstance(info.get("cost"), int | float) and type(info["cost"]) is not bool:
        usage["cost"] = info.pop("cost")
    if usage:
        entry["token-usage"] = usage
