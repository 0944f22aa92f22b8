"""Claude Code transcripts: project JSONL files, main sessions and sub-agents. Step: read.

One line becomes one entry; lines are related by `parent-id`, and branches, compaction and
sidechains stay as they are written. What the tables below name is moved;
docs/mapping/claude-code.md is made of them. Left out on purpose: following a session into other
files (`vacr.sources` finds those that belong together).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.content import children
from vacr.model import CANONICAL_MEMBERS, USAGE_MEMBERS, Native
from vacr.readers import claude_known as known
from vacr.readers.assemble import Reading, Session
from vacr.readers.collector import collector_paused
from vacr.readers.lift import (
    Lift,
    Move,
    is_count,
    is_one_of,
    keep_native,
    mark,
    set_aside,
    without_nulls,
)
from vacr.readers.source import Source
from vacr.readers.stores import Store

name = "claude-code"
formats = ("claude-jsonl",)

# Where Claude Code keeps its sessions, and what lies around a session's file there.
_SESSIONS = ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl")
STORES = (
    Store(_SESSIONS, "~/.claude", "CLAUDE_CONFIG_DIR"),
    Store(_SESSIONS, "~/.config", "XDG_CONFIG_HOME", "claude", unless="CLAUDE_CONFIG_DIR"),
)
ATTACHED = ("{stem}/tool-results/*", "{stem}.meta.json")
SUB_SESSIONS = ("{stem}/subagents/agent-*.jsonl", "agent-*.jsonl")

LINE = Lift(Move("uuid", "id"), Move("parentUuid", "parent-id"))
MESSAGE = Lift(
    Move("content", "content", None), Move("model", "model-id"), Move("stop_reason", "stop-reason")
)
SYNTHETIC_MESSAGE = Lift(*(move for move in MESSAGE.moves if move.canonical != "model-id"))
EVENT_NAMES = {"permission-mode": "permission-change"}
LINES_AS_ENTRIES = {
    "tool_use": ("tool-call", ("name", "input")),
    "tool_result": ("tool-result", ("output",)),
}
SYNTHETIC = "<synthetic>"

# Members of every line that say where it belongs, not what happened; on an event they stay beside
# `data`.
ENVELOPE = frozenset(
    (
        "isSidechain",
        "userType",
        "cwd",
        "sessionId",
        "version",
        "gitBranch",
        "entrypoint",
        "slug",
        "agentId",
    )
    + ("sessionKind", "session_id", "teamName")
)

_MOVED_OR_OURS = ENVELOPE | {"id", "parent-id", "timestamp", "type", "event-type", "vacr"}
_SET_ASIDE = CANONICAL_MEMBERS - {"timestamp"}
_EVENT_SET_ASIDE = frozenset(("id", "parent-id", "event-type", "vacr"))
_MESSAGES = known.MESSAGES
AUTONOMOUS = frozenset(("sdk-cli",))
INTERACTIVE = frozenset(
    ("cli", "claude-desktop", "claude-vscode", "claude-jetbrains", "claude-web")
)


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Claude Code's; a line of a kindred format makes
    it none of it.
    """
    ours = sum(map(_is_line, sample))
    return (ours - 2 * sum(map(_is_kindred, sample))) / len(sample) if ours else 0.0


def _is_line(value: Any) -> bool:
    if type(value) is not dict or "payload" in value:
        return False
    kind, message = value.get("type"), value.get("message")
    if type(kind) is str:
        if kind in known.MESSAGES:
            return type(message) is dict or "toolUseResult" in value
        if kind in known.EVENTS:
            return "sessionId" in value or not known.OWN[kind].isdisjoint(value)
    return "uuid" in value and type(message) is dict


_IFLOW_SESSION = re.compile(r"session-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _is_kindred(value: Any) -> bool:
    """Return whether a line only looks like Claude Code's.

    Messages of Qwen Code have parts, lines of Cursor have a role, and a session id of iFlow is
    `session-` with a UUID.
    """
    if type(value) is not dict:
        return False
    message, session = value.get("message"), value.get("sessionId")
    if type(session) is str and _IFLOW_SESSION.fullmatch(session):
        return True
    return (
        "systemPayload" in value
        or "role" in value
        or (type(message) is dict and "parts" in message)
    )


def read(source: Source) -> Iterator[Reading]:
    """Read one transcript."""
    with collector_paused():
        reading = _Transcript().read(source)
    yield reading


class _Transcript:
    """One transcript on its way into a record."""

    def __init__(self) -> None:
        self.session = Session("claude-jsonl", "claude-code", provider="anthropic")
        self.usages: dict[Any, Native] = {}
        self.agents: set[Any] = set()
        self.sidechain_only = True
        self.unlearned = ["sessionId", "cwd", "version", "gitBranch", "entrypoint"]

    def read(self, source: Source) -> Reading:
        session = self.session
        session.take_lines(source, self.entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def context(self, line: Native) -> None:
        """Learn about the session from the first line that says something."""
        for member in [
            member for member in self.unlearned if type(line.get(member)) is str and line[member]
        ]:
            self.unlearned.remove(member)
            self.learn(member, line[member])
        if self.sidechain_only and "message" in line:
            self.sidechain_only = line.get("isSidechain") is True
            self.agents.add(line.get("agentId") if type(line.get("agentId")) is str else None)

    def learn(self, member: str, value: str) -> None:
        """Take over what a line says about the session."""
        session = self.session
        match member:
            case "sessionId":
                session.session_id = value
            case "cwd":
                session.working_dir = value
            case "version":
                session.cli_version = value
            case "gitBranch":
                session.vcs["branch"] = value
            case "entrypoint":
                session.mode = _mode(value)

    def entry(self, line: Native) -> Native:
        """Turn one line into one entry."""
        self.context(line)
        return self.typed(line)

    def typed(self, line: Native) -> Native:
        """Turn a line, or a message that a line holds, into an entry of its type."""
        kind = line.pop("type", None)
        if type(kind) is str:
            if kind in _MESSAGES:
                return self.message(line, kind)
            if kind in LINES_AS_ENTRIES and all(
                member in line for member in LINES_AS_ENTRIES[kind][1]
            ):
                return self.tool(line, kind)
        elif kind is None and is_one_of(_role(line), _MESSAGES):
            entry = self.message(line, _role(line))
            mark(entry)["untyped"] = True
            return entry
        return self.event(line, kind)

    def message(self, entry: Native, kind: str) -> Native:
        """Turn a user's or an assistant's line into a message entry with its children."""
        if not entry.keys() <= known.MESSAGE_LINE:
            self.session.drift.see_members(kind, entry, known.MESSAGE_LINE)
            set_aside(entry, _SET_ASIDE)
        LINE.apply(entry, entry)
        entry["type"] = kind
        message = entry.get("message")
        if type(message) is dict:
            self.lift_message(message, entry)
        without_nulls(entry)
        return entry

    def lift_message(self, message: Native, entry: Native) -> None:
        """Move what the API's message says into the entry, and see its blocks as children."""
        drift = self.session.drift
        if not message.keys() <= known.MESSAGE:
            drift.see_members("message", message, known.MESSAGE)
        if message.get("model") == SYNTHETIC:
            mark(entry)["synthetic"] = True
            SYNTHETIC_MESSAGE.apply(message, entry)
        else:
            MESSAGE.apply(message, entry)
            if "usage" in message:
                self.count(message, entry)
            if "model-id" in entry:
                self.session.models[entry["model-id"]] += 1
        without_nulls(message)
        if not message and entry.get("content") is not None:
            del entry["message"]
        content = entry.get("content")
        if type(content) is list and (views := children(content, drift.types, drift.members)):
            entry["children"] = views

    def count(self, message: Native, entry: Native) -> None:
        """Remember the fullest usage of an API message: its lines repeat it, the last ones with the
        final numbers.
        """
        usage, identity = message["usage"], message.get("id")
        if type(usage) is not dict:
            return
        key: Any = identity if type(identity) in (str, int) else id(entry), type(identity)
        if not usage.keys() <= known.USAGE:
            self.session.drift.see_members("usage", usage, known.USAGE)
        best = self.usages.get(key)
        if best is None or _output(usage) >= _output(best["message"]["usage"]):
            self.usages[key] = entry

    def tool(self, entry: Native, kind: str) -> Native:
        """Turn a line that is itself a call or a result into that entry."""
        entry_type, members = LINES_AS_ENTRIES[kind]
        if type(entry.get("name", "")) is not str:
            return self.event(entry, kind)
        kept = {member: entry.pop(member) for member in members}
        set_aside(entry, _SET_ASIDE)
        keep_native(entry, {"type": kind})
        LINE.apply(entry, entry)
        without_nulls(entry)
        return entry | kept | {"type": entry_type}

    def event(self, entry: Native, kind: Any) -> Native:
        """Turn any other line into an event whose payload is in `data`."""
        self.see_event(entry, kind)
        if not _EVENT_SET_ASIDE.isdisjoint(entry):
            set_aside(entry, _EVENT_SET_ASIDE)
        LINE.apply(entry, entry)
        data = {member: entry.pop(member) for member in list(entry) if member not in _MOVED_OR_OURS}
        entry["type"] = "system-event"
        entry["event-type"] = EVENT_NAMES.get(kind, kind) if type(kind) is str else "unknown"
        if entry["event-type"] != kind and kind is not None:
            keep_native(entry, {"type": kind})
        if data:
            entry["data"] = data
            if kind == "progress":
                self.unfold(data, entry)
        without_nulls(entry)
        return entry

    def see_event(self, entry: Native, kind: Any) -> None:
        """Count what no table names about an event."""
        members = known.EVENTS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.see_type(kind)
            return
        if not entry.keys() <= members:
            self.session.drift.see_members(kind, entry, members)
        if kind in known.SUBTYPES:
            holder, subtypes = known.SUBTYPES[kind]
            inner = entry.get(holder) if holder else entry
            subtype = (
                inner.get("subtype" if kind == "system" else "type")
                if type(inner) is dict
                else None
            )
            if not is_one_of(subtype, subtypes):
                self.session.drift.see_type(f"{kind}/{subtype}")

    def unfold(self, data: Native, entry: Native) -> None:
        """Take the sub-agent's message out of a progress line: it is an entry of its own, inside
        the event.
        """
        inner = data.get("data")
        embedded = inner.get("message") if type(inner) is dict else None
        if (
            type(embedded) is dict
            and is_one_of(embedded.get("type"), known.MESSAGES)
            and type(embedded.get("message")) is dict
        ):
            del data["data"]["message"]
            entry["children"] = [self.typed(embedded)]
            self.session.embedded += entry["children"]

    def settle(self) -> None:
        """Decide what only the whole transcript tells: usage counted once, and whose session this
        is.
        """
        for entry in self.usages.values():
            entry["token-usage"] = token_usage(entry["message"].pop("usage"), entry)
            if not entry["message"]:
                del entry["message"]
        session = self.session
        agents = self.agents - {None}
        if self.sidechain_only and len(agents) == 1 and session.session_id is not None:
            session.parent, session.mode = session.session_id, "autonomous"
            session.session_id = f"{session.parent}/{agents.pop()}"
        if session.models and not any(
            "claude" in model or "anthropic" in model for model in session.models
        ):
            session.provider = "unknown"


def token_usage(usage: Native, entry: Native) -> Native:
    """Give Anthropic's usage with the canonical counters beside it: their input leaves cached
    tokens out, ours does not.
    """
    counters = [usage.get(member) for member in known.INPUT_COUNTERS]
    result: Native = {}
    if type(counters[0]) is int:
        result["input"] = sum(
            counter for counter in counters if type(counter) is int and counter > 0
        )
    if type(usage.get("cache_read_input_tokens")) is int:
        result["cached"] = usage["cache_read_input_tokens"]
    if type(usage.get("output_tokens")) is int:
        result["output"] = usage["output_tokens"]
    details = usage.get("output_tokens_details")
    if type(details) is dict:
        for member in ("thinking_tokens", "reasoning_tokens"):
            if type(details.get(member)) is int:
                result["reasoning"] = details[member]
    result = {member: count for member, count in result.items() if is_count(count)}
    if USAGE_MEMBERS.isdisjoint(usage):
        return usage | result
    entry["message"]["usage"] = usage
    return result


def _role(line: Native) -> Any:
    message = line.get("message")
    return message.get("role") if type(message) is dict else None


def _output(usage: Native) -> int:
    tokens = usage.get("output_tokens")
    return tokens if type(tokens) is int else 0


def _mode(entrypoint: Any) -> str | None:
    if entrypoint in AUTONOMOUS:
        return "autonomous"
    return "interactive" if entrypoint in INTERACTIVE else None
