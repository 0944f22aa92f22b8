"""Cursor's conversations: transcripts in JSONL and in text, and the rows of its two databases.
Step: read.

A transcript has no ids, times, models or results: its session is named by its file, where that is a
UUID, or else by its content. The databases know more (`cursor_bubbles`, `cursor_blobs`).
docs/mapping/cursor.md is made of the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.content import children
from vacr.model import Native
from vacr.readers import cursor_text
from vacr.readers.assemble import Reading, Session
from vacr.readers.collector import collector_paused
from vacr.readers.cursor_rows import is_head, take_rows
from vacr.readers.cursor_stores import DATABASES
from vacr.readers.lift import Lift, Move, fill, is_one_of, typed_event
from vacr.readers.source import Source
from vacr.readers.stores import Store

__all__ = ["DATABASES", "NAMED", "SUB_SESSIONS", "formats", "name", "read", "recognises"]

name = "cursor"
formats = ("cursor-jsonl", "cursor-text", "cursor-vscdb", "cursor-store")

STORES = (
    Store(
        (
            "projects/*/agent-transcripts/*.jsonl",
            "projects/*/agent-transcripts/*.txt",
            "projects/*/agent-transcripts/*/*.jsonl",
            "projects/*/agent-transcripts/*/*.txt",
            "projects/*/agent-transcripts/*/subagents/*.jsonl",
            "chats/*/*/store.db",
            "acp-sessions/*/store.db",
        ),
        "~/.cursor",
        "CURSOR_DATA_DIR",
    ),
    Store(
        ("globalStorage/state.vscdb", "workspaceStorage/*/state.vscdb"),
        "~/.config",
        "XDG_CONFIG_HOME",
        "Cursor/User",
        systems={"darwin": "~/Library/Application Support", "win32": "~/AppData/Roaming"},
        variables={"darwin": "", "win32": "APPDATA"},
    ),
)
# A sub-agent's transcript lies below its parent's; nothing in it says whose it is.
NAMED = re.compile(r"[^/]+/subagents/[^/]+$")
SUB_SESSIONS = (
    "subagents/*.jsonl",
    "subagents/*.txt",
    "{stem}/subagents/*.jsonl",
    "{stem}/subagents/*.txt",
)

LINE = Lift(Move("model", "model-id"))
MESSAGE = Lift(Move("content", "content", None))
ROLES = frozenset(("user", "assistant"))
EVENTS = frozenset(("turn_ended", "error"))
OURS = frozenset(("unknown", "undecodable", "attached-file"))
"""What events are called that have no native type; a native type of such a name is kept beside."""
MEMBERS = frozenset(("role", "message"))
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Cursor's; text that holds no JSON comes as one
    value.
    """
    if is_head(sample[0]):
        return 1.0
    return sum(map(_is_ours, sample)) / len(sample)


def _is_ours(value: Any) -> bool:
    if type(value) is str:
        return cursor_text.is_transcript(value)
    if type(value) is not dict or "uuid" in value or "payload" in value:
        return False
    role = value.get("role")
    if type(role) is str and role in ROLES:
        return (
            type(value.get("message")) is dict
            and "content" in value["message"]
            and "type" not in value
        )
    return is_one_of(value.get("type"), EVENTS) and "status" in value


def read(source: Source) -> Iterator[Reading]:
    """Read one conversation."""
    with collector_paused():
        reading = _Conversation(source).read()
    yield reading


class _Conversation:
    """One conversation on its way into a record."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = Session("cursor-jsonl", "cursor")

    def read(self) -> Reading:
        """Make the record."""
        session = self.session
        text = self.text()
        if text is not None:
            self.take_text(text)
        elif any(map(is_head, self.source.main.sample(1))):
            take_rows(self.source, session)
        else:
            session.take_lines(self.source, self.entry)
        if session.session_id is None:
            self.name_by_file()
        session.tidy()
        return session.reading(self.source)

    def text(self) -> str | None:
        """Give the text of a transcript that is no JSON."""
        if self.source.main.data.lstrip()[:1] in (b"{", b"["):
            return None
        try:
            text = self.source.main.data.decode()
        except UnicodeDecodeError:
            return None
        return text if cursor_text.is_transcript(text) else None

    def name_by_file(self) -> None:
        """Name a session by its file, as Cursor does."""
        *folders, file = self.source.main.name.split("/")
        stem = file.rpartition(".")[0] or file
        if _UUID.fullmatch(stem):
            self.session.session_id = stem
        if folders[1:] == ["subagents"]:
            self.session.parent, self.session.mode = folders[0], "autonomous"
            self.session.session_id = f"{folders[0]}/{stem}"

    def entry(self, line: Native) -> Native:
        """Turn one line of a transcript into an entry."""
        session = self.session
        role, message = line.get("role"), line.get("message")
        if type(message) is not dict or type(role) is not str or role not in ROLES:
            kind = line.pop("type", None)
            if not is_one_of(kind, EVENTS):
                session.drift.see_type(kind)
            return typed_event(line, kind, OURS)
        if len(line) == len(MEMBERS) and len(message) == 1 and "content" in message:
            # Nearly all are so, and the message becomes the entry in place.
            message["type"] = role
            if views := children(message["content"], session.drift.types, session.drift.members):
                message["children"] = views
            return message
        session.drift.see_members("line", line, MEMBERS)
        entry: Native = {"type": line.pop("role")}
        LINE.apply(line, entry)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        MESSAGE.apply(message, entry)
        if not message:
            del line["message"]
        if views := children(entry.get("content"), session.drift.types, session.drift.members):
            entry["children"] = views
        return fill(entry, line)

    def take_text(self, text: str) -> None:
        """Make entries of a transcript in text."""
        session = self.session
        session.format_id = "cursor-text"
        if head := cursor_text.before(text):
            session.entries.append(
                {"type": "system-event", "event-type": "text", "data": {"text": head}}
            )
        for message in cursor_text.messages(text):
            entry: Native = {
                "type": message["role"],
                "line": message["line"],
                "content": message["content"],
            }
            if views := children(entry["content"]):
                entry["children"] = views
            session.entries.append(entry)
