"""Gemini CLI sessions: session JSON, the JSONL log that replaced it, and saved chats.

Since version 0.39 a session is a log that Gemini folds when it resumes: a message that is written
again under its id replaces the earlier one, `$rewindTo` takes a message and all after it back,
`$set.messages` replaces them all. A record keeps every message of the log, and marks the ones that
the conversation no longer holds with the reason, in `vacr.superseded`.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.gemini.reader import read
>>> log = b'''{"sessionId": "s-1", "projectHash": "ab", "startTime": "2026-01-01T00:00:00Z"}
... {"id": "m-1", "timestamp": "2026-01-01T00:00:01Z", "type": "user", "content": "Hello"}
... {"id": "m-1", "timestamp": "2026-01-01T00:00:01Z", "type": "user", "content": "Hello!"}
... '''
>>> (reading,) = read(Source((SourcePart("session.jsonl", log),)))
>>> for entry in reading.record["session"]["entries"]:
...     print(entry["content"], entry.get("vacr"))
Hello {'superseded': 'replaced', 'repeats': 'm-1'}
Hello! None
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue
from vacr.agents.gemini.messages import (
    FATE_DROPPED,
    FATE_REPLACED,
    FATE_REWOUND,
    GEMINI_CHECKPOINT_MEMBERS,
    GEMINI_ENTRY_TYPES,
    GEMINI_EVENT_TYPES,
    GEMINI_SESSION_MEMBERS,
    is_gemini_turn,
    make_gemini_message_entry,
    make_turn_entry,
    mark_repeated_children,
)
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import Reading, SessionBuilder, is_one_of
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
# Only the folder of a sub-agent's session names its parent.
NAMED = re.compile(r"[0-9a-f-]{36}/[^/]+\.jsonl?$")
SUB_SESSIONS = ("{session}/*.jsonl", "{session}/*.json")

GEMINI_EVENT_NAMES = {"$rewindTo": "rewind", "$patch": "message-patch", "$set": "metadata-update"}
GEMINI_HEADER_EVENT = "session-metadata"
GEMINI_HISTORY_MEMBERS = ("history", "clientHistory")
"""The members of saved chats and checkpoints that hold turns."""
GEMINI_FROM_ARRAY, GEMINI_FROM_LINE, GEMINI_FROM_MESSAGES = "[]", "line", "messages"
"""Values of `vacr.from`: the place of a turn or a message, where its format has several."""
GEMINI_FROM_SESSION = "session"
"""The value of `vacr.from` for the place of a session's description that did not come first."""


@dataclass(frozen=True)
class ChatFormat:
    """The names in the records of an agent whose chats have Gemini CLI's form."""

    document: str
    """The format of a chat that is one JSON value."""
    log: str
    """The format of a chat with one value a line."""
    agent: str
    provider: str


GEMINI_FORMAT = ChatFormat("gemini-json", "gemini-jsonl", "gemini-cli", "google")
_OTHER_ANSWER_TYPE = "qwen"
"""The type of the model's messages in chats of another agent, whose form is the same."""
_KNOWN_HEADER_MEMBERS = GEMINI_SESSION_MEMBERS | GEMINI_CHECKPOINT_MEMBERS
_HEADER_MARKERS = frozenset(("sessionId", "messages", *GEMINI_HISTORY_MEMBERS))
_VALUE_MARKERS = frozenset((*GEMINI_EVENT_NAMES, *_HEADER_MARKERS, "parts", "timestamp"))
"""Every value of Gemini CLI has one of these members."""


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Gemini CLI's; 0 if it is empty."""
    if not sample:
        return 0.0
    return sum(map(_is_gemini_value, sample)) / len(sample)


def _is_gemini_value(value: Any) -> bool:
    """Return whether a value has the form of a session, a message or a log line of Gemini CLI."""
    if type(value) is list:
        return _is_history(value)
    if type(value) is not dict or "uuid" in value or _VALUE_MARKERS.isdisjoint(value):
        return False
    return _has_gemini_form(value) and not _has_other_answers(value)


def _has_gemini_form(value: JsonObject) -> bool:
    """Return whether an object has the form of Gemini CLI, or of an agent with the same form."""
    if not GEMINI_EVENT_NAMES.keys().isdisjoint(value) or is_gemini_turn(value):
        return True
    if any(_is_history(value.get(name)) for name in GEMINI_HISTORY_MEMBERS):
        return True
    if type(value.get("messages")) is list:
        # Sessions of others have an id and messages as well; an empty list tells nothing.
        return "sessionId" in value and (
            "projectHash" in value
            or (
                bool(value["messages"] or not {"agent", "origin"} & value.keys())
                and all(map(_is_gemini_message, value["messages"]))
            )
        )
    return ("sessionId" in value and "projectHash" in value) or _is_gemini_message(value)


def _has_other_answers(value: JsonObject) -> bool:
    """Return whether a chat or a message has answers of another agent."""
    messages = value.get("messages")
    return value.get("type") == _OTHER_ANSWER_TYPE or (
        type(messages) is list
        and any(
            type(message) is dict and message.get("type") == _OTHER_ANSWER_TYPE
            for message in messages
        )
    )


def _is_history(value: Any) -> bool:
    """Return whether a value is a list of turns, with at least one."""
    return type(value) is list and bool(value) and all(map(is_gemini_turn, value))


def _is_gemini_message(value: Any) -> bool:
    """Return whether a value is a message with an id, a time and a known type."""
    if type(value) is not dict or "timestamp" not in value or "id" not in value:
        return False
    kind = value.get("type")
    return is_one_of(kind, GEMINI_EVENT_TYPES) or is_one_of(kind, GEMINI_ENTRY_TYPES)


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each session in a file; a saved session is one, and so is a log."""
    return read_chats(source, GEMINI_FORMAT)


def read_chats(source: Source, form: ChatFormat) -> Iterator[Reading]:
    """Yield the record of each session in a file, with the names of `form`."""
    with pause_garbage_collector():
        chats = list(_split_by_session(source, form))
    # Each chat is released as soon as its record is made.
    while chats:
        with pause_garbage_collector():
            reading = chats.pop(0).read(source)
        yield reading


def _split_by_session(source: Source, form: ChatFormat) -> Iterator[_ChatReader]:
    """Split the values of a file where one names another session."""
    chat = _ChatReader(form)
    for number, batch in source.main.documents():
        for document in batch:
            session_id = _get_session_id(document)
            if session_id is not None and chat.session_id not in (None, session_id):
                yield chat
                chat = _ChatReader(form)
            chat.session_id = chat.session_id or session_id
            chat.add_value(number, document)
    yield chat


def _get_session_id(document: Any) -> Any:
    """Return the session id of a value that describes a session, or None for any other value."""
    if type(document) is dict:
        is_header = "type" not in document and "parts" not in document
        return document.get("sessionId") if is_header else None
    return _get_session_id(document.value) if isinstance(document, RepairedValue) else None


class _ChatReader:
    """One session on its way into a record.

    Entries are made after the whole log was seen: only then the fate of each message is known.
    """

    def __init__(self, form: ChatFormat) -> None:
        """Start without values."""
        self.log_format = form.log
        self.session = SessionBuilder(form.document, form.agent, provider=form.provider)
        self.session_id: Any = None
        self.fold = _LogFold()
        self.steps: list[tuple[Callable[..., JsonObject], tuple[Any, ...]]] = []
        """The functions that make the entries, with their arguments."""
        self.has_header = False

    def read(self, source: Source) -> Reading:
        """Return the record of the session; `add_value` added its values before.

        It can be called only once: it clears the steps.
        """
        session = self.session
        session.entries = [make_entry(*arguments) for make_entry, arguments in self.steps]
        # The steps refer to this chat, and would keep it alive until the next garbage collection.
        self.steps.clear()
        if session.native.get("kind") == "subagent":
            session.mode = "autonomous"
            session.parent = source.main.name.rpartition("/")[0].rpartition("/")[2] or None
        mark_repeated_children(session)
        session.tidy()
        if session.end is None and is_timestamp(session.native.get("lastUpdated")):
            session.end = session.native["lastUpdated"]
        return session.reading(source)

    def add_value(self, line: int, document: Any) -> None:
        """Add one value of the file: a message, a turn, a change, or the session's description.

        Any other value becomes an event. `line` is the number of its line.
        """
        is_new = not self.steps and not self.has_header
        if isinstance(document, RepairedValue):
            self.session.repaired.append(document.reason)
            self.add_value(line, document.value)
        elif is_new and _is_history(document):
            self.steps += [(self.make_turn_entry, (turn, GEMINI_FROM_ARRAY)) for turn in document]
        elif type(document) is not dict:
            self.steps.append((self.session.make_unusual_event, (line, document)))
        elif is_gemini_turn(document):
            self.session.format_id = self.log_format
            self.steps.append((self.make_turn_entry, (document, GEMINI_FROM_LINE)))
        elif not GEMINI_EVENT_NAMES.keys().isdisjoint(document):
            self.add_patch(document)
        elif "type" not in document and not _HEADER_MARKERS.isdisjoint(document):
            self.add_header(document)
        else:
            self.session.format_id = self.log_format
            number = self.fold.add_message(document)
            self.steps.append((self.make_message_entry, (document, number)))

    def add_patch(self, line: JsonObject) -> None:
        """Add a line that changes earlier ones: a rewind, a removal, or new messages for all."""
        self.session.format_id = self.log_format
        self.steps.append((self.make_patch_event, (line,)))
        if "$rewindTo" in line:
            self.fold.rewind_to(line["$rewindTo"])
        elif type(line.get("$patch")) is dict:
            self.fold.remove_messages(line["$patch"].get("removeIds"))
        elif (messages := _get_replacing_messages(line)) is not None:
            if messages:
                del line["$set"]["messages"]
            self.replace_messages(messages, "$set")

    def add_header(self, header: JsonObject) -> None:
        """Add the object that describes the session, with its messages; a later one is a change."""
        messages = header.get("messages")
        if self.has_header:
            self.session.format_id = self.log_format
            self.steps.append((self.make_patch_event, (header,)))
        else:
            self.has_header = True
            if self.steps:
                self.steps.append((self.make_header_place, ()))
            self.learn_session(header)
        for member in GEMINI_HISTORY_MEMBERS:
            if _is_history(header.get(member)):
                turns = header.pop(member)
                self.steps += [(self.make_turn_entry, (turn, member)) for turn in turns]
        if type(messages) is list:
            if messages:
                del header["messages"]
            self.replace_messages(messages, GEMINI_FROM_MESSAGES)

    def replace_messages(self, messages: list[Any], origin: str) -> None:
        """Add messages that replace all earlier ones.

        `origin` is the member that they come from.
        """
        self.fold.replace_all(messages)
        add_message, make_entry = self.fold.add_message, self.make_message_entry
        self.steps += [
            (make_entry, (message, add_message(message), origin)) for message in messages
        ]

    def learn_session(self, header: JsonObject) -> None:
        """Learn about the session from its first object; the rest of it stays in the session."""
        session = self.session
        session.drift.count_members("session", header, _KNOWN_HEADER_MEMBERS)
        if header.get("sessionId") and type(header["sessionId"]) is str:
            session.session_id = header.pop("sessionId")
        if is_timestamp(header.get("startTime")):
            session.start = header["startTime"]
        session.native = header

    def make_message_entry(
        self, message: Any, number: int, origin: str | None = None
    ) -> JsonObject:
        """Make the entry of a message; a log states where a message stood, if not on a line.

        `number` is its number in the log, and `origin` the member that it comes from, or None.
        """
        is_log = self.session.format_id == self.log_format
        fate = self.fold.superseded.get(number) if is_log else None
        entry = make_gemini_message_entry(message, self.session, fate)
        if origin is not None and (is_log or type(message) is not dict):
            get_writable_marks(entry)["from"] = origin
        return entry

    def make_turn_entry(self, turn: JsonObject, origin: str) -> JsonObject:
        """Make the entry of a saved turn; all but a bare array of turns state where it stood.

        `origin` is the member that it comes from, or one of the constants `GEMINI_FROM_…`.
        """
        entry = make_turn_entry(turn, self.session)
        if (
            origin != GEMINI_FROM_ARRAY
            or self.has_header
            or self.session.format_id == self.log_format
        ):
            get_writable_marks(entry)["from"] = origin
        return entry

    def make_header_place(self) -> JsonObject:
        """Make the event at the place of the description; its members are in the session."""
        return {
            "type": "system-event",
            "event-type": GEMINI_HEADER_EVENT,
            "vacr": {"from": GEMINI_FROM_SESSION},
        }

    def make_patch_event(self, line: JsonObject) -> JsonObject:
        """Make the event of a line that changes the session or its messages."""
        kind = next((name for name in GEMINI_EVENT_NAMES if name in line), "")
        updated = line["$set"].get("lastUpdated") if type(line.get("$set")) is dict else None
        if is_timestamp(updated):
            self.session.end = updated
        return {
            "type": "system-event",
            "event-type": GEMINI_EVENT_NAMES.get(kind, GEMINI_HEADER_EVENT),
            "data": line,
        }


def _get_replacing_messages(line: JsonObject) -> list[Any] | None:
    """Return the messages of a line that replaces them all, or None."""
    patch = line.get("$set")
    messages = patch.get("messages") if type(patch) is dict else None
    return messages if type(messages) is list else None


class _LogFold:
    """The conversation as Gemini would see it, while its log is read."""

    def __init__(self) -> None:
        """Start without messages."""
        self._live: dict[str, int] = {}
        self.superseded: dict[int, str] = {}
        """Number of a message, in the order of the log → why the conversation lost it."""
        self._count = 0

    def add_message(self, message: Any) -> int:
        """Add a message, and return its number; it replaces an earlier one with the same id."""
        number = self._count
        self._count += 1
        identity = message.get("id") if type(message) is dict else None
        if type(identity) is str:
            if identity in self._live:
                self.superseded[self._live[identity]] = FATE_REPLACED
            # A message that is written again keeps its place, as it does in Gemini's map.
            self._live[identity] = number
        return number

    def rewind_to(self, identity: Any) -> None:
        """Take back a message and all after it; an unknown id takes all of them back."""
        is_known = identity in self._live if type(identity) is str else False
        while self._live:
            last, number = self._live.popitem()
            self.superseded[number] = FATE_REWOUND
            if is_known and last == identity:
                break

    def remove_messages(self, identities: Any) -> None:
        """Remove the messages with these ids; unknown ids are ignored."""
        for identity in identities if type(identities) is list else ():
            if type(identity) is str and identity in self._live:
                self.superseded[self._live.pop(identity)] = FATE_DROPPED

    def replace_all(self, messages: list[Any]) -> None:
        """Drop all messages before a new list of them is added."""
        new_ids = {
            message.get("id")
            for message in messages
            if type(message) is dict and type(message.get("id")) is str
        }
        for identity, number in self._live.items():
            self.superseded[number] = FATE_REPLACED if identity in new_ids else FATE_DROPPED
        self._live.clear()
