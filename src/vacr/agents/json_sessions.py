"""Sessions that are one JSON value: an object with a list of messages, or the list alone.

Many agents rewrite such a value after each step. The members around the list belong to the session,
and each message becomes an entry. A file may also hold several sessions, one after the other, or
values that are not a session. The latter become events, marked `vacr.from: "line"`, so that nothing
is lost and every value can be put back in its place.

>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.json_sessions import JsonSession, read_json_sessions
>>> from vacr.agents.lift import SessionBuilder
>>> class Parrot(JsonSession):
...     list_member = "squawks"
...     def learn_header(self, header):
...         self.session.session_id = header.pop("cage")
...     def make_entry(self, message):
...         return {"type": "assistant", "content": message["text"]}
>>> data = b'{"cage": "c-7", "size": 3, "squawks": [{"text": "hello"}]}'
>>> def begin(header, messages):
...     return Parrot(SessionBuilder("parrot-json", "parrot"))
>>> (reading,) = read_json_sessions(Source((SourcePart("cage.json", data),)), begin, "squawks")
>>> session = reading.record["session"]
>>> session["session-id"], session["size"], session["entries"]
('c-7', 3, [{'type': 'assistant', 'content': 'hello'}])
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue, UndecodableBytes
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import UNKNOWN, Reading, SessionBuilder
from vacr.model import JsonObject
from vacr.record import encode_decoded_json

FROM_MEMBER = "member"
"""The value of `vacr.from` for the first message of an object that has no other members.

A message that has a `vacr.from` of its own gets it as `vacr.in`.
"""
FROM_LINE = "line"
"""The value of `vacr.from` for a value outside the session, where entries come from a list."""


class JsonSession:
    """One session on its way into a record; each agent derives its own.

    `make_entry` may return entries that later messages change; `settle` runs after the last one.
    """

    list_member = ""
    """The member of the object that holds the messages; empty if the session is the list alone."""

    def __init__(self, session: SessionBuilder) -> None:
        """Keep the builder of the record."""
        self.session = session

    def learn_header(self, header: JsonObject) -> None:
        """Learn about the session from the members around the list; the rest stays in the session.

        By default nothing is learned.
        """

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry.

        Raises:
            NotImplementedError: in this class; each agent overrides the method.
        """
        raise NotImplementedError

    def settle(self, source: Source) -> None:
        """Decide what needs all messages, or other parts of the source; by default nothing."""

    def add_header(self, header: JsonObject) -> None:
        """Add the members around the list, without the list itself."""
        self.learn_header(header)
        self.session.native = header

    def add_messages(self, messages: list[Any]) -> None:
        """Add an entry for each message; values of other kinds become events."""
        append, make_entry = self.session.entries.append, self.make_entry
        for message in messages:
            if type(message) is dict:
                append(make_entry(message))
            else:
                append(self.session.make_value_event(message))

    def add_other_value(self, line: int, value: Any) -> None:
        """Add an event for a value that is not a session; `line` is its line in the file."""
        session = self.session
        if type(value) is UndecodableBytes:
            session.entries.append(session.make_unusual_event(line, value))
            return
        if type(value) is dict:
            session.drift.count_type("(object)")
            event: JsonObject = {"type": "system-event", "event-type": UNKNOWN, "data": value}
        else:
            event = session.make_value_event(value)
        get_writable_marks(event)["from"] = FROM_LINE
        session.entries.append(event)

    def finish(self, source: Source) -> Reading:
        """Return the record of the session."""
        self.settle(source)
        self.session.tidy()
        return self.session.reading(source)


def derive_session_id(first: list[Any]) -> str:
    """Return an id for a session that states none.

    `first` are native values that stay the same while the session grows.
    """
    return hashlib.sha256(encode_decoded_json(first)).hexdigest()[:32]


SessionMaker = Callable[[JsonObject, list[Any]], JsonSession]
"""Returns the session for the members around a list of messages, and the list."""


def read_json_sessions(
    source: Source,
    begin: SessionMaker,
    list_member: str,
    is_message_list: Callable[[list[Any]], bool] | None = None,
    is_header: Callable[[JsonObject], bool] | None = None,
) -> Iterator[Reading]:
    """Yield the record of each session in a file; a file without one gives a record of its values.

    `list_member` is the member that holds the messages. With `is_message_list`, a list that passes
    it is a session by itself; with `is_header`, so is an object that passes it and has no messages.
    """

    def split(value: Any) -> tuple[JsonObject, list[Any]] | None:
        """Return the members around the messages and the messages, or None for another value."""
        if type(value) is dict:
            messages = value.get(list_member)
            if type(messages) is list:
                # An empty list stays among the members, so that it is not lost.
                if messages:
                    del value[list_member]
                return value, messages
            return (value, []) if is_header is not None and is_header(value) else None
        if type(value) is list and is_message_list is not None and is_message_list(value):
            return {}, value
        return None

    with pause_garbage_collector():
        sessions = _split_sessions(source, begin, split)
    # Each session is released as soon as its record is made.
    while sessions:
        with pause_garbage_collector():
            reading = sessions.pop(0).finish(source)
        yield reading


def _split_sessions(
    source: Source,
    begin: SessionMaker,
    split: Callable[[Any], tuple[JsonObject, list[Any]] | None],
) -> list[JsonSession]:
    """Return the sessions in a source; other values belong to the session before them.

    Values before the first session belong to it, after its entries. `split` returns the parts of a
    value that is a session.
    """
    sessions: list[JsonSession] = []
    early: list[tuple[int, Any]] = []
    repaired: list[str] = []
    for number, batch in source.main.documents():
        for document in batch:
            value = document
            if type(document) is RepairedValue:
                value = document.value
                (sessions[-1].session.repaired if sessions else repaired).append(document.reason)
            parts = split(value)
            if parts is not None:
                header, messages = parts
                session = begin(header, messages)
                is_bare_object = header is value and all(
                    member is None for member in header.values()
                )
                session.add_header(header)
                session.add_messages(messages)
                if is_bare_object and messages:
                    marks = get_writable_marks(session.session.entries[0])
                    marks["in" if "from" in marks else "from"] = FROM_MEMBER
                sessions.append(session)
            elif sessions:
                sessions[-1].add_other_value(number, value)
            else:
                early.append((number, value))
    if not sessions:
        sessions.append(begin({}, []))
    for number, value in early:
        sessions[0].add_other_value(number, value)
    sessions[0].session.repaired[:0] = repaired
    return sessions
