"""Gemini CLI sessions: session JSON, the JSONL log that replaced it, and saved chats. Step: read.

A message becomes one entry (`gemini_messages`). The log is folded as Gemini folds it
(`gemini_fold`), but what the fold would throw away stays, marked `vacr.superseded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue
from vacr.agents.gemini.messages import (
    GEMINI_CHECKPOINT_MEMBERS,
    GEMINI_ENTRY_TYPES,
    GEMINI_EVENT_TYPES,
    GEMINI_SESSION_MEMBERS,
    GeminiLogFold,
    get_replacing_messages,
    is_gemini_turn,
    make_gemini_message_entry,
    make_turn_entry,
)
from vacr.agents.lift import Reading, SessionBuilder, get_writable_marks, is_one_of
from vacr.model import JsonObject
from vacr.record import is_timestamp

name = "gemini-cli"
formats = ("gemini-json", "gemini-jsonl")

STORES = (
    SessionStore(
        (
            "tmp/*/chats/*.json",
            "tmp/*/chats/*.jsonl",
            "tmp/*/chats/*/*.jsonl",
            "tmp/*/checkpoint-*.json",
        ),
        "~",
        "GEMINI_CLI_HOME",
        ".gemini",
    ),
)
# A sub-agent's session lies in a folder of its parent's name; nothing in it says whose it is.
NAMED = re.compile(r"[0-9a-f-]{36}/[^/]+\.jsonl?$")
SUB_SESSIONS = ("{session}/*.jsonl", "{session}/*.json")

GEMINI_EVENT_NAMES = {"$rewindTo": "rewind", "$patch": "message-patch", "$set": "metadata-update"}
GEMINI_HEADER_EVENT = "session-metadata"
GEMINI_HISTORY_MEMBERS = ("history", "clientHistory")
"""Where saved chats and checkpoints hold their turns."""

GEMINI_FROM_ARRAY, GEMINI_FROM_LINE, GEMINI_FROM_MESSAGES = "[]", "line", "messages"
"""Where a turn or a message stood, other than in the one place its format has it: told in
`vacr.from`.
"""

_LOG_FORMAT = "gemini-jsonl"
_KNOWN_HEADER_MEMBERS = GEMINI_SESSION_MEMBERS | GEMINI_CHECKPOINT_MEMBERS
_HEADER_MARKERS = frozenset(("sessionId", "messages", *GEMINI_HISTORY_MEMBERS))
_VALUE_MARKERS = frozenset((*GEMINI_EVENT_NAMES, *_HEADER_MARKERS, "parts", "timestamp"))
"""Members of which every value of Gemini CLI has one."""


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Gemini CLI's."""
    return sum(map(_is_gemini_value, sample)) / len(sample)


def _is_gemini_value(value: Any) -> bool:
    if type(value) is list:
        return bool(value) and all(map(is_gemini_turn, value))
    if type(value) is not dict or "uuid" in value or _VALUE_MARKERS.isdisjoint(value):
        return False
    if not GEMINI_EVENT_NAMES.keys().isdisjoint(value) or is_gemini_turn(value):
        return True
    if any(
        type(value.get(name)) is list and all(map(is_gemini_turn, value[name]))
        for name in GEMINI_HISTORY_MEMBERS
    ):
        return True
    if type(value.get("messages")) is list:
        return "sessionId" in value and (
            "projectHash" in value or all(map(_is_gemini_message, value["messages"]))
        )
    return ("sessionId" in value and "projectHash" in value) or _is_gemini_message(value)


def _is_gemini_message(value: Any) -> bool:
    if type(value) is not dict or "timestamp" not in value or "id" not in value:
        return False
    return is_one_of(value.get("type"), GEMINI_EVENT_TYPES) or is_one_of(
        value.get("type"), GEMINI_ENTRY_TYPES
    )


def read(source: Source) -> Iterator[Reading]:
    """Read the sessions of a file; a saved session is one, and so is a log."""
    with pause_garbage_collector():
        chats = list(_split_by_session(source))
    while chats:
        with pause_garbage_collector():
            reading = chats.pop(0).read(source)
        yield reading


def _split_by_session(source: Source) -> Iterator[_ChatReader]:
    """Part the values of a file by session: one that names another session begins another."""
    chat = _ChatReader()
    for number, batch in source.main.documents():
        for document in batch:
            session = _get_session_id(document)
            if session is not None and chat.session_id not in (None, session):
                yield chat
                chat = _ChatReader()
            chat.session_id = chat.session_id or session
            chat.take(number, document)
    yield chat


def _get_session_id(document: Any) -> Any:
    """Give the session that a value names, if it describes one."""
    if type(document) is dict:
        return (
            document.get("sessionId")
            if "type" not in document and "parts" not in document
            else None
        )
    return _get_session_id(document.value) if isinstance(document, RepairedValue) else None


class _ChatReader:
    """One session on its way into a record: first all that was written is seen, then entries are
    made of it.
    """

    def __init__(self) -> None:
        self.session = SessionBuilder("gemini-json", "gemini-cli", provider="google")
        self.session_id: Any = None
        self.fold = GeminiLogFold()
        self.steps: list[tuple[Callable[..., JsonObject], tuple[Any, ...]]] = []
        self.has_header = False

    def read(self, source: Source) -> Reading:
        """Make the record."""
        session = self.session
        session.entries = [make(*given) for make, given in self.steps]
        # They refer to this chat, which would keep all of it until the garbage collector comes by.
        self.steps.clear()
        if session.native.get("kind") == "subagent":
            session.mode = "autonomous"
            session.parent = source.main.name.rpartition("/")[0].rpartition("/")[2] or None
        session.tidy()
        if session.end is None and is_timestamp(session.native.get("lastUpdated")):
            session.end = session.native["lastUpdated"]
        return session.reading(source)

    def take(self, line: int, document: Any) -> None:
        """Take one value of the file."""
        if isinstance(document, RepairedValue):
            self.session.repaired.append(document.reason)
            self.take(line, document.value)
        elif (
            type(document) is list
            and document
            and self.is_new
            and all(map(is_gemini_turn, document))
        ):
            self.steps += [(self.turn, (turn, GEMINI_FROM_ARRAY)) for turn in document]
        elif type(document) is not dict:
            self.steps.append((self.session.make_unusual_event, (line, document)))
        elif is_gemini_turn(document):
            self.session.format_id = _LOG_FORMAT
            self.steps.append((self.turn, (document, GEMINI_FROM_LINE)))
        elif not GEMINI_EVENT_NAMES.keys().isdisjoint(document):
            self.take_patch(document)
        elif "type" not in document and not _HEADER_MARKERS.isdisjoint(document):
            self.take_header(document)
        else:
            self.session.format_id = _LOG_FORMAT
            self.steps.append((self.message, (document, self.fold.write(document))))

    @property
    def is_new(self) -> bool:
        """Tell whether nothing has been taken yet."""
        return not self.steps and not self.has_header

    def take_patch(self, line: JsonObject) -> None:
        """Take a line that changes what was written before it."""
        self.session.format_id = _LOG_FORMAT
        self.steps.append((self.patch, (line,)))
        if "$rewindTo" in line:
            self.fold.rewind(line["$rewindTo"])
        elif type(line.get("$patch")) is dict:
            self.fold.remove(line["$patch"].get("removeIds"))
        elif (messages := get_replacing_messages(line)) is not None:
            if messages:
                del line["$set"]["messages"]
            self.take_all(messages, "$set")

    def take_header(self, header: JsonObject) -> None:
        """Take what the file says about the session, and the messages it holds there; to say it
        again is to change it.
        """
        messages = header.get("messages")
        if self.has_header:
            self.session.format_id = _LOG_FORMAT
            self.steps.append((self.patch, (header,)))
        else:
            self.has_header = True
            self.describe(header)
        for member in GEMINI_HISTORY_MEMBERS:
            if (
                type(header.get(member)) is list
                and header[member]
                and all(map(is_gemini_turn, header[member]))
            ):
                self.steps += [(self.turn, (turn, member)) for turn in header.pop(member)]
        if type(messages) is list:
            if messages:
                del header["messages"]
            self.take_all(messages, GEMINI_FROM_MESSAGES)

    def take_all(self, messages: list[Any], origin: str) -> None:
        """Take messages that are set anew, all at once."""
        self.fold.replace_all(messages)
        write, make = self.fold.write, self.message
        self.steps += [(make, (message, write(message), origin)) for message in messages]

    def describe(self, header: JsonObject) -> None:
        """Learn about the session from its first object; what is left of it stays in the
        session.
        """
        session = self.session
        session.drift.count_members("session", header, _KNOWN_HEADER_MEMBERS)
        if header.get("sessionId") and type(header["sessionId"]) is str:
            session.session_id = header.pop("sessionId")
        if is_timestamp(header.get("startTime")):
            session.start = header["startTime"]
        session.native = header

    def patch(self, line: JsonObject) -> JsonObject:
        """Turn a line that changes the session or the messages into an event."""
        kind = next((name for name in GEMINI_EVENT_NAMES if name in line), "")
        updated = line["$set"].get("lastUpdated") if type(line.get("$set")) is dict else None
        if is_timestamp(updated):
            self.session.end = updated
        return {
            "type": "system-event",
            "event-type": GEMINI_EVENT_NAMES.get(kind, GEMINI_HEADER_EVENT),
            "data": line,
        }

    def message(self, message: Any, number: int, origin: str | None = None) -> JsonObject:
        """Make the entry of a message; one of a log that stands in a line which sets them all says
        so.
        """
        is_log = self.session.format_id == _LOG_FORMAT
        entry = make_gemini_message_entry(
            message, self.session, self.fold.superseded.get(number) if is_log else None
        )
        if origin is not None and (is_log or type(message) is not dict):
            get_writable_marks(entry)["from"] = origin
        return entry

    def turn(self, turn: JsonObject, origin: str) -> JsonObject:
        """Make the entry of a saved turn; only where a chat is nothing but an array of turns need
        it not say where it stood.
        """
        entry = make_turn_entry(turn, self.session)
        if origin != GEMINI_FROM_ARRAY or self.has_header or self.session.format_id == _LOG_FORMAT:
            get_writable_marks(entry)["from"] = origin
        return entry
