"""Gemini CLI sessions: session JSON, the JSONL log that replaced it, and saved chats. Step: read.

A message becomes one entry; its thoughts and tool calls are taken out of it and become its children, a call and its
result each an entry of its own. The log is folded as Gemini folds it (`gemini_fold`), but what the fold would throw away
stays, marked `vacr.superseded`. What the tables below name is moved; docs/mapping/gemini-cli.md is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.content import children
from vacr.model import USAGE_MEMBERS, Native
from vacr.readers import gemini_known as known
from vacr.readers.assemble import Reading, Session, collector_paused
from vacr.readers.gemini_fold import REPLACED, Fold, patch_of
from vacr.readers.lift import Lift, Move, fill, is_count, is_one_of, keep_native, mark
from vacr.readers.lines import Repaired
from vacr.readers.source import Source
from vacr.readers.stores import Store
from vacr.timestamps import is_timestamp

name = "gemini-cli"
formats = ("gemini-json", "gemini-jsonl")

STORES = (
    Store(
        ("tmp/*/chats/*.json", "tmp/*/chats/*.jsonl", "tmp/*/chats/*/*.jsonl", "tmp/*/checkpoint-*.json"),
        "~",
        "GEMINI_CLI_HOME",
        ".gemini",
    ),
)
# A sub-agent's session lies in a folder of its parent's name; nothing in it says whose it is.
NAMED = re.compile(r"[0-9a-f-]{36}/[^/]+\.jsonl?$")
SUB_SESSIONS = ("{session}/*.jsonl", "{session}/*.json")

MESSAGE = Lift(Move("id", "id"), Move("timestamp", "timestamp", None), Move("content", "content", None))
GEMINI = Lift(Move("model", "model-id"))
THOUGHT = Lift(Move("description", "content", None), Move("subject", "subject"), Move("timestamp", "timestamp", None))
CALL = Lift(Move("id", "call-id"), Move("name", "name"), Move("args", "input", None), Move("timestamp", "timestamp", None))
RESULT = Lift(Move("result", "output", None), Move("status", "status"), Move("resultDisplay", "resultDisplay", None))
TURN = Lift(
    Move("parts", "content", None),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("finishReason", "stop-reason"),
)
EVENT = Lift(Move("id", "id"), Move("timestamp", "timestamp", None))
FAILED = frozenset(("error",))
EVENT_NAMES = {"$rewindTo": "rewind", "$patch": "message-patch", "$set": "metadata-update"}
HEADER = "session-metadata"
HISTORIES = ("history", "clientHistory")
"""Where saved chats and checkpoints hold their turns."""

_HEADER_MEMBERS = frozenset(("sessionId", "messages", *HISTORIES))
_STATUS = frozenset(("status",))


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Gemini CLI's."""
    return sum(map(_is_ours, sample)) / len(sample)


def _is_ours(value: Any) -> bool:
    if type(value) is list:
        return bool(value) and all(map(_is_turn, value))
    if type(value) is not dict or "uuid" in value:
        return False
    if not EVENT_NAMES.keys().isdisjoint(value) or _is_turn(value):
        return True
    if any(type(value.get(name)) is list and all(map(_is_turn, value[name])) for name in HISTORIES):
        return True
    if type(value.get("messages")) is list:
        return "sessionId" in value and ("projectHash" in value or all(map(_is_message, value["messages"])))
    return ("sessionId" in value and "projectHash" in value) or _is_message(value)


def _is_turn(value: Any) -> bool:
    return type(value) is dict and type(value.get("parts")) is list and is_one_of(value.get("role"), known.ROLES)


def _is_message(value: Any) -> bool:
    if type(value) is not dict or "timestamp" not in value or "id" not in value:
        return False
    return is_one_of(value.get("type"), known.EVENTS) or is_one_of(value.get("type"), known.ROLES)


def read(source: Source) -> Iterator[Reading]:
    """Read the sessions of a file; a saved session is one, and so is a log."""
    with collector_paused():
        chats = list(_chats(source))
    while chats:
        with collector_paused():
            reading = chats.pop(0).read(source)
        yield reading


def _chats(source: Source) -> Iterator[_Chat]:
    """Part the values of a file by session: one that names another session begins another."""
    chat = _Chat()
    for number, batch in source.main.documents():
        for document in batch:
            session = document.get("sessionId") if _is_header(document) else None
            if session is not None and chat.session_id not in (None, session):
                yield chat
                chat = _Chat()
            chat.session_id = chat.session_id or session
            chat.take(number, document)
    yield chat


def _is_header(document: Any) -> bool:
    return type(document) is dict and "sessionId" in document and "type" not in document and "parts" not in document


class _Chat:
    """One session on its way into a record: first all that was written is seen, then entries are made of it."""

    def __init__(self) -> None:
        self.session = Session("gemini-json", "gemini-cli", provider="google")
        self.session_id: Any = None
        self.fold = Fold()
        self.steps: list[tuple[Any, ...]] = []
        self.has_header = False

    def read(self, source: Source) -> Reading:
        """Make the record."""
        session = self.session
        session.entries = [make(*given) for make, *given in self.steps]
        if session.native.get("kind") == "subagent":
            session.mode = "autonomous"
            session.parent = source.main.name.rpartition("/")[0].rpartition("/")[2] or None
        session.tidy()
        if session.end is None and is_timestamp(session.native.get("lastUpdated")):
            session.end = session.native["lastUpdated"]
        return session.reading(source)

    def take(self, line: int, document: Any) -> None:
        """Take one value of the file."""
        if isinstance(document, Repaired):
            self.session.repaired.append(document.reason)
            self.take(line, document.value)
        elif type(document) is list and all(map(_is_turn, document)):
            self.steps += [(self.turn, turn) for turn in document]
        elif type(document) is not dict:
            self.steps.append((self.session.unusual, line, document))
        elif _is_turn(document):
            self.steps.append((self.turn, document))
        elif not EVENT_NAMES.keys().isdisjoint(document):
            self.take_patch(document)
        elif "type" not in document and not _HEADER_MEMBERS.isdisjoint(document):
            self.take_header(document)
        else:
            self.session.format_id = "gemini-jsonl"
            self.steps.append((self.message, document, self.fold.write(document)))

    def take_patch(self, line: Native) -> None:
        """Take a line that changes what was written before it."""
        self.session.format_id = "gemini-jsonl"
        self.steps.append((self.patch, line))
        if "$rewindTo" in line:
            self.fold.rewind(line["$rewindTo"])
        elif type(line.get("$patch")) is dict:
            self.fold.remove(line["$patch"].get("removeIds"))
        elif (messages := patch_of(line)) is not None:
            del line["$set"]["messages"]
            self.fold.replace_all(messages)
            self.steps += [(self.set_message, message, self.fold.write(message)) for message in messages]

    def take_header(self, header: Native) -> None:
        """Take what the file says about the session, and the messages it holds there."""
        messages = header.get("messages")
        if self.has_header:
            self.steps.append((self.patch, header))
        else:
            self.has_header = True
            self.describe(header)
        for member in HISTORIES:
            if type(header.get(member)) is list and all(map(_is_turn, header[member])):
                self.steps += [(self.turn, turn) for turn in header.pop(member)]
        if type(messages) is list:
            del header["messages"]
            self.fold.replace_all(messages)
            self.steps += [(self.message, message, self.fold.write(message)) for message in messages]

    def describe(self, header: Native) -> None:
        """Learn about the session from its first object; what is left of it stays in the session."""
        session = self.session
        session.drift.see_members("session", header.keys() - known.SESSION - known.CHECKPOINT)
        if type(header.get("sessionId")) is str:
            session.session_id = header.pop("sessionId")
        if is_timestamp(header.get("startTime")):
            session.start = header.pop("startTime")
        session.native = header

    def patch(self, line: Native) -> Native:
        """Turn a line that changes the session or the messages into an event."""
        kind = next((name for name in EVENT_NAMES if name in line), "")
        updated = line["$set"].get("lastUpdated") if type(line.get("$set")) is dict else None
        if is_timestamp(updated):
            self.session.end = updated
        return {"type": "system-event", "event-type": EVENT_NAMES.get(kind, HEADER), "data": line}

    def set_message(self, message: Any, number: int) -> Native:
        """Make the entry of a message that stands in a line which sets them all."""
        entry = self.message(message, number)
        mark(entry)["from"] = "$set"
        return entry

    def message(self, message: Any, number: int) -> Native:
        """Turn a message into an entry of its type."""
        if type(message) is not dict:
            return self.session.other(message)
        kind = message.pop("type", None)
        if not is_one_of(kind, known.ROLES):
            return self.event(message, kind)
        entry_type = known.ROLES[kind]
        fate = self.fold.superseded.get(number) if self.session.format_id == "gemini-jsonl" else None
        members = known.GEMINI if kind == "gemini" else known.MESSAGE
        self.session.drift.see_members(str(kind), message.keys() - members)
        entry: Native = {"type": entry_type}
        if kind != entry_type:
            keep_native(entry, {"type": kind})
        MESSAGE.apply(message, entry)
        if "content" not in entry and type(message.get("parts")) is list:
            entry["content"] = message.pop("parts")
            mark(entry)["content-from"] = "parts"
        if fate is not None:
            self.supersede(entry, fate)
        views = self.views(entry)
        if fate != REPLACED:
            views += self.lift(message, entry)
        if views:
            entry["children"] = views
        return fill(entry, message)

    def supersede(self, entry: Native, fate: str) -> None:
        """Mark a message that the conversation does not hold any more; one that was written again leaves its id to the other."""
        ours = mark(entry)
        ours["superseded"] = fate
        if fate == REPLACED:
            ours["repeats"] = entry.pop("id")

    def views(self, entry: Native) -> list[Native]:
        """See the parts of a content as entries."""
        content, drift = entry.get("content"), self.session.drift
        if content is None:
            entry.pop("content", None)
        return children(content, drift.types, drift.members)

    def lift(self, message: Native, entry: Native) -> list[Native]:
        """Take model, usage, thoughts and calls out of a message; give the entries that stand inside it."""
        GEMINI.apply(message, entry)
        if "model-id" in entry:
            self.session.models[entry["model-id"]] += 1
        if type(message.get("tokens")) is dict:
            lift_tokens(message, entry, self.session)
        found = []
        thoughts, calls = message.get("thoughts"), message.get("toolCalls")
        if type(thoughts) is list and all(type(thought) is dict and "description" in thought for thought in thoughts):
            del message["thoughts"]
            found += [self.thought(thought) for thought in thoughts]
            self.keep_empty("thoughts", thoughts, message)
        if type(calls) is list and all(type(call) is dict and type(call.get("name")) is str for call in calls):
            del message["toolCalls"]
            for call in calls:
                found += self.call(call)
            self.keep_empty("toolCalls", calls, message)
        self.session.embedded += found
        return found

    def keep_empty(self, member: str, items: list[Any], message: Native) -> None:
        """Leave a list where it was that nothing could be taken out of."""
        if not items:
            message[member] = items

    def thought(self, thought: Native) -> Native:
        """Turn a thought into reasoning."""
        self.session.drift.see_members("thoughts", thought.keys() - known.THOUGHT)
        entry: Native = {"type": "reasoning"}
        THOUGHT.apply(thought, entry)
        return fill(entry, thought)

    def call(self, call: Native) -> list[Native]:
        """Part a tool call from its result."""
        self.session.drift.see_members("toolCalls", call.keys() - known.CALL)
        entry: Native = {"type": "tool-call"}
        CALL.apply(call, entry)
        entry.setdefault("input", None)
        if call.get("result") is None:
            return [fill(entry, call, _STATUS)]
        result: Native = {"type": "tool-result"}
        RESULT.apply(call, result)
        if "call-id" in entry:
            result["call-id"] = entry["call-id"]
        if is_one_of(result.get("status"), FAILED):
            result["is-error"] = True
        return [fill(entry, call), result]

    def turn(self, turn: Any) -> Native:
        """Turn a saved turn into a message whose content is its parts."""
        if not _is_turn(turn):
            return self.session.other(turn)
        self.session.drift.see_members("history", turn.keys() - known.TURN)
        entry: Native = {}
        TURN.apply(turn, entry)
        if self.session.session_id is None and type(turn.get("sessionId")) is str:
            self.session.session_id = turn["sessionId"]
        entry["type"] = known.ROLES[turn["role"]]
        if turn["role"] == entry["type"]:
            del turn["role"]
        if views := self.views(entry):
            entry["children"] = views
        return fill(entry, turn)

    def event(self, message: Native, kind: Any) -> Native:
        """Turn what was shown to the user, and what is not known, into an event."""
        if not is_one_of(kind, known.EVENTS):
            self.session.drift.see_type(kind)
        entry: Native = {"type": "system-event", "event-type": kind if type(kind) is str else "unknown"}
        if type(kind) is not str and kind is not None:
            keep_native(entry, {"type": kind})
        EVENT.apply(message, entry)
        if message:
            entry["data"] = message
        return entry


def lift_tokens(message: Native, entry: Native, session: Session) -> None:
    """Turn Gemini's counters into token usage: their names are the canonical ones, but for the thoughts.

    Counters that are no counts stay where they were.
    """
    tokens = message["tokens"]
    session.drift.see_members("tokens", tokens.keys() - known.TOKENS)
    counts = {name: count for name, count in tokens.items() if name in USAGE_MEMBERS and is_count(count)}
    exact = len(counts) == len(USAGE_MEMBERS.intersection(tokens)) and "reasoning" not in tokens
    if is_count(tokens.get("thoughts")):
        counts.setdefault("reasoning", tokens["thoughts"])
    if exact:
        del message["tokens"]
        entry["token-usage"] = tokens | counts
    elif counts:
        entry["token-usage"] = counts
