"""OpenCode sessions: exports, the storage folder, database rows, dumps of these, and samples.

A source may hold many sessions in pieces. The reader first sorts the pieces to their sessions, then
makes a record of each: a message becomes one entry, its parts the content and the children. The
tokens of a message are counted once, at the message; its steps repeat them and stay as they are.

>>> from pathlib import Path
>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.opencode.reader import read
>>> data = Path("examples/opencode.json").read_bytes()
>>> (reading,) = read(Source((SourcePart("opencode.json", data),)))
>>> session = reading.record["session"]
>>> [entry["type"] for entry in session["entries"]]
['user', 'assistant', 'assistant', 'assistant']
>>> session["agent-meta"]["cli-name"], session["environment"]["working-dir"]
('opencode', '/home/mira/invoice')

docs/mapping/opencode.md is generated from the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import (
    RepairedValue,
    UndecodableBytes,
    get_exported_session_id,
    get_extra_head_members,
    is_export_head,
    is_export_row,
)
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    SourceNotice,
    add_remaining_members,
    describe_json_kind,
    is_one_of,
)
from vacr.agents.opencode.parts import (
    OPENCODE_MESSAGE_MEMBERS,
    OPENCODE_SESSION_MEMBERS,
    add_message_parts,
    lift_opencode_usage,
    lift_timestamp,
    make_part_entries,
)
from vacr.agents.opencode.pieces import (
    OpenCodeConversation,
    OpenCodeMessage,
    PieceCollector,
    add_database_row,
    classify_piece,
    make_row_entries,
)
from vacr.agents.opencode.samples import (
    find_sample_session_id,
    is_opencode_sample,
    make_sample_entry,
    split_sample,
)
from vacr.agents.opencode.speakers import is_headless
from vacr.agents.opencode.stores import DATABASES, FOLDER, OPENCODE_DATABASE, add_ids_from_path
from vacr.model import JsonObject
from vacr.record import MAX_JSON_PROBLEMS, NameCounts, is_timestamp

__all__ = ["DATABASES", "FOLDER", "STORES", "formats", "name", "read", "recognises"]

name = "opencode"
formats = ("opencode-export", "opencode-json", "opencode-sqlite")

_DATA_STORE = SessionStore(
    ("opencode*.db", "storage"), "~/.local/share", "XDG_DATA_HOME", "opencode"
)
STORES = (_DATA_STORE, SessionStore(("",), "", "OPENCODE_DB", within=_DATA_STORE))

OPENCODE_MESSAGE_MOVES = Lift(
    Move("id", "id"),
    Move("parentID", "parent-id"),
    Move("modelID", "model-id"),
    Move("finish", "stop-reason"),
)
OPENCODE_MESSAGE_ROLES = frozenset(("user", "assistant"))
FATE_REVERTED = "reverted"


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is OpenCode's; 0 if it is empty."""
    if not sample:
        return 0.0
    if is_export_head(sample[0], OPENCODE_DATABASE.format_id):
        return 1.0
    return sum(map(_is_opencode_value, sample)) / len(sample)


def _is_opencode_value(value: Any) -> bool:
    """Return whether a value has the form of an export, a sample or a piece of OpenCode."""
    return _is_session_export(value) or is_opencode_sample(value) or classify_piece(value) != ""


def _is_session_export(value: Any) -> bool:
    """Return whether a value is the export of a session: an `info` and a list of messages."""
    if type(value) is not dict or type(value.get("info")) is not dict:
        return False
    messages = value.get("messages")
    return type(messages) is list and all(
        type(message) is dict and "info" in message for message in messages
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each session in a source."""
    with pause_garbage_collector():
        sessions = _SessionSplitter(source).collect_sessions()
    # Each session is released as soon as its record is made.
    while sessions:
        with pause_garbage_collector():
            reading = sessions.pop(0).read(source)
        yield reading


class _SessionSplitter:
    """The values of a source, being sorted to their sessions."""

    def __init__(self, source: Source) -> None:
        """Sort all values of a source: the files of a storage folder, or one file."""
        self.pieces = PieceCollector()
        self.whole_sessions: list[_SessionReader] = []
        self.format_id = "opencode-json"
        self.undecodable: list[tuple[str, int, UndecodableBytes]] = []
        self.repaired: list[str] = []
        self.part_name = ""
        if FOLDER.holds(source):
            self.pieces.only = FOLDER.session_of(source) or None
            for part in source.parts:
                self.part_name = part.name
                for line, batch in part.documents():
                    for document in batch:
                        self.add_value(line, add_ids_from_path(part.name, document))
        else:
            for line, batch in source.main.documents():
                for document in batch:
                    self.add_value(line, document)

    def add_value(self, line: int, document: Any) -> None:
        """Add one value of the source: a piece, an export, a sample, or a row of a database.

        Any other value is kept as a loose one. `line` is the number of its line.
        """
        if kind := classify_piece(document):
            self.pieces.add(document, kind)
        elif isinstance(document, RepairedValue):
            self.repaired.append(document.reason)
            self.add_value(line, document.value)
        elif isinstance(document, UndecodableBytes):
            self.undecodable.append((self.part_name, line, document))
        elif _is_session_export(document):
            self.whole_sessions.append(_SessionReader("opencode-export", _split_export(document)))
        elif is_opencode_sample(document):
            session_id = find_sample_session_id(document)
            session = _SessionReader("opencode-json", split_sample(document), session_id)
            self.whole_sessions.append(session)
        elif is_export_head(document, OPENCODE_DATABASE.format_id):
            self.format_id = OPENCODE_DATABASE.format_id
            self.pieces.only = get_exported_session_id(document)
            if extra := get_extra_head_members(document):
                self.pieces.add(extra, "")
        elif self.format_id == OPENCODE_DATABASE.format_id and is_export_row(document):
            add_database_row(document["table"], document["row"], self.pieces)
        else:
            self.pieces.add(document, "")

    def collect_sessions(self) -> list[_SessionReader]:
        """Return the sessions, at least one; undecodable bytes go to the last of them."""
        sessions = self.whole_sessions + [
            _SessionReader(self.format_id, conversation, session_id)
            for session_id, conversation in self.pieces.collect_conversations()
        ]
        sessions = sessions or [_SessionReader(self.format_id, OpenCodeConversation())]
        sessions[-1].undecodable = self.undecodable
        # The session of a repair is not known, so each of several lists the first repairs.
        limit = None if len(sessions) == 1 else MAX_JSON_PROBLEMS
        for reader in sessions:
            reader.session.repaired = self.repaired[:limit]
        return sessions


def _split_export(export: JsonObject) -> OpenCodeConversation:
    """Turn an export into a conversation: its session, its messages, and what remains.

    The export and its messages are changed: what moves into the conversation is removed from them.
    """
    messages = [
        OpenCodeMessage(
            message.pop("info"),
            message.pop("parts") if type(message.get("parts")) is list else None,
            message,
        )
        for message in export.pop("messages")
    ]
    return OpenCodeConversation(export.pop("info"), messages, export)


class _SessionReader:
    """One session on its way into a record."""

    def __init__(
        self, format_id: str, conversation: OpenCodeConversation, session_id: str = ""
    ) -> None:
        """Prepare to make the record of a conversation.

        Without a `session_id`, the description of the session may have it.
        """
        self.session = SessionBuilder(format_id, "opencode", session_id=session_id or None)
        self.conversation = conversation
        self.providers: NameCounts = defaultdict(int)
        self.undecodable: list[tuple[str, int, UndecodableBytes]] = []
        self.beside: list[str] = []
        """Members of the session that did not stand in its own object."""

    def read(self, source: Source) -> Reading:
        """Return the record of the session; `source` states the parts it was read from."""
        session, conversation = self.session, self.conversation
        self.learn_session({} if conversation.info is None else conversation.info)
        self.add_entries()
        self.mark_reverted()
        if self.providers:
            session.provider = max(self.providers, key=self.providers.__getitem__)
        session.tidy()
        # The files of a storage folder have been read, so they are not attachments.
        reading = session.reading(source, attached=not FOLDER.holds(source))
        if self.beside:
            reading.record["vacr"]["beside"] = self.beside
        if conversation.chat_from is not None:
            reading.record["vacr"]["chat-from"] = conversation.chat_from
        return reading

    def learn_session(self, info: JsonObject) -> None:
        """Learn about the session; members without a canonical name stay as they are."""
        session, extras = self.session, self.conversation.extras
        is_sample = self.conversation.chat_from is not None
        if not is_sample:
            session.drift.count_members("session", info, OPENCODE_SESSION_MEMBERS)
        self.beside = sorted(
            name for name, value in extras.items() if name not in info and value is not None
        )
        own_id = info.get("id")
        is_same = session.session_id is None or own_id == session.session_id
        if own_id and type(own_id) is str and is_same and not is_sample:
            session.session_id = info.pop("id")
        if info.get("version") and type(info["version"]) is str:
            session.cli_version = info.pop("version")
        if type(info.get("directory")) is str:
            session.working_dir = info["directory"]
        parent = info.get("parentID", info.get("parent_id"))
        if type(parent) is str:
            session.parent, session.mode = parent, "autonomous"
        elif is_headless(info):
            session.mode = "autonomous"
        self.learn_times(info)
        project = extras.get("project")
        if type(project) is dict and type(project.get("sandboxes")) is list:
            session.sandboxes = [path for path in project["sandboxes"] if type(path) is str]
        session.native = info
        info.update((member, extras.pop(member)) for member in self.beside)

    def learn_times(self, info: JsonObject) -> None:
        """Learn start and end, from the nested times of an export or the columns of a row."""
        times = info["time"] if type(info.get("time")) is dict else info
        for member in ("created", "time_created"):
            if is_timestamp(times.get(member)):
                self.session.start = times[member]
        for member in ("updated", "time_updated"):
            if is_timestamp(times.get(member)):
                self.session.end = times[member]

    def add_entries(self) -> None:
        """Add the messages, then everything of the session that has no place among them."""
        session, conversation = self.session, self.conversation
        entries = session.entries = [
            self.make_message_entry(message) for message in conversation.messages
        ]
        entries += [make_sample_entry(message, session) for message in conversation.chat]
        entries += make_row_entries(conversation, session)
        placed = len(entries)
        for value in conversation.loose:
            entries += make_part_entries(value, session)
        for member, value in conversation.extras.items():
            entries.append(_make_sibling_event(member, value))
        self.flag_secrets(placed)
        for part_name, line, undecodable in self.undecodable:
            entries.append(session.make_unusual_event(line, undecodable, part_name))

    def make_message_entry(self, message: OpenCodeMessage) -> JsonObject:
        """Turn a message into an entry; a message of an unknown role becomes an event."""
        info, session = message.info, self.session
        role = info.get("role") if type(info) is dict else None
        if not is_one_of(role, OPENCODE_MESSAGE_ROLES):
            kind = role if type(role) is str else describe_json_kind(role)
            session.drift.count_type(f"role/{kind}")
            parts = {} if message.parts is None else {"parts": message.parts}
            data = {"info": info} | parts | message.beside
            return {"type": "system-event", "event-type": "message", "data": data}
        session.drift.count_members("message", info, OPENCODE_MESSAGE_MEMBERS)
        entry: JsonObject = {"type": info.pop("role")}
        OPENCODE_MESSAGE_MOVES.apply(info, entry)
        lift_timestamp(info, "created", entry)
        lift_opencode_usage(info, entry)
        if message.parts is not None:
            add_message_parts(message.parts, entry, session)
        self.learn_from_message(info, entry)
        add_remaining_members(entry, info)
        if message.beside:
            get_writable_marks(entry)["beside"] = message.beside
        return entry

    def learn_from_message(self, info: JsonObject, entry: JsonObject) -> None:
        """Learn the model, its provider, and the working folder from a message."""
        if "model-id" in entry:
            self.session.models[entry["model-id"]] += 1
            if type(info.get("providerID")) is str:
                self.providers[info["providerID"]] += 1
        path = info.get("path")
        if self.session.working_dir is None and type(path) is dict and type(path.get("cwd")) is str:
            self.session.working_dir = path["cwd"]

    def flag_secrets(self, placed: int) -> None:
        """Point to the secret of a shared session: anyone who has it can change the share.

        It is in the session itself, or in an entry after the `placed` ones.
        """
        session = self.session
        holders = [
            (f"/session/{member}", session.native.get(member))
            for member in ("share", "session_share")
        ]
        for index, entry in enumerate(session.entries[placed:], placed):
            data = entry.get("data", {})
            pointer = f"/session/entries/{index}/data"
            holders += [(pointer, data), (f"{pointer}/value", data.get("value"))]
        for pointer, holder in holders:
            if type(holder) is dict and holder.get("secret"):
                session.secrets.append(f"{pointer}/secret")
                message = (
                    f"contains the secret of a shared session at {pointer}/secret: "
                    "anyone who reads the record can change the shared session, so keep the record "
                    "private"
                )
                session.notices.append(SourceNotice(message))

    def mark_reverted(self) -> None:
        """Mark the messages that the user reverted; the next prompt would delete them."""
        revert = self.session.native.get("revert")
        target = revert.get("messageID") if type(revert) is dict else None
        if target is None:
            return
        is_reverted = False
        for entry in self.session.entries[: len(self.conversation.messages)]:
            is_reverted = is_reverted or entry.get("id") == target
            if is_reverted:
                get_writable_marks(entry)["superseded"] = FATE_REVERTED


def _make_sibling_event(member: str, value: Any) -> JsonObject:
    """Make the event that keeps a value whose name the session's own object uses, too."""
    return {
        "type": "system-event",
        "event-type": member,
        "data": {"value": value},
        "vacr": {"beside": True},
    }
