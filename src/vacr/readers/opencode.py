"""OpenCode sessions: exports, the storage folder, the database's rows, dumps of these, and samples.
Step: read.

A message becomes one entry, its parts what it says and its children (`opencode_parts`). Sessions
that a source mixes are told apart (`opencode_pieces`) and become a record each. Token usage is the
message's; its steps repeat it and keep theirs as they are. What the tables below name is moved;
docs/mapping/opencode.md is made of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.codec import json_scan
from vacr.content import Counts
from vacr.model import Native
from vacr.readers import export
from vacr.readers import opencode_known as known
from vacr.readers import opencode_samples as samples
from vacr.readers.assemble import Notice, Reading, Session
from vacr.readers.collector import collector_paused
from vacr.readers.lift import Lift, Move, fill, is_one_of, kind_of, mark
from vacr.readers.lines import Repaired, Undecodable
from vacr.readers.opencode_database import DATABASE, DATABASES
from vacr.readers.opencode_parts import lift_time, part_entries, take_parts
from vacr.readers.opencode_pieces import Conversation, Message, Pieces, kind_of_piece
from vacr.readers.opencode_rows import from_row, row_entries
from vacr.readers.opencode_stores import FOLDER, from_file
from vacr.readers.opencode_usage import lift_usage
from vacr.readers.source import Source
from vacr.readers.stores import Store
from vacr.timestamps import is_timestamp

__all__ = ["DATABASES", "FOLDER", "formats", "name", "read", "recognises"]

name = "opencode"
formats = ("opencode-export", "opencode-json", "opencode-sqlite")

_DATA = Store(("opencode*.db", "storage"), "~/.local/share", "XDG_DATA_HOME", "opencode")
STORES = (_DATA, Store(("",), "", "OPENCODE_DB", within=_DATA))
MESSAGE = Lift(
    Move("id", "id"),
    Move("parentID", "parent-id"),
    Move("modelID", "model-id"),
    Move("finish", "stop-reason"),
)
ROLES = frozenset(("user", "assistant"))
REVERTED = "reverted"


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is OpenCode's."""
    return (
        1.0
        if export.is_head(sample[0], DATABASE.format_id)
        else sum(map(_is_ours, sample)) / len(sample)
    )


def _is_ours(value: Any) -> bool:
    return _is_export(value) or samples.is_sample(value) or kind_of_piece(value) != ""


def _is_export(value: Any) -> bool:
    if (
        type(value) is not dict
        or type(value.get("info")) is not dict
        or type(value.get("messages")) is not list
    ):
        return False
    return all(type(message) is dict and "info" in message for message in value["messages"])


def read(source: Source) -> Iterator[Reading]:
    """Read the sessions of a source, one record each."""
    with collector_paused():
        found = _Sessions(source).found()
    while found:
        with collector_paused():
            reading = found.pop(0).read(source)
        yield reading


class _Sessions:
    """The sessions of a source, on the way of being told apart."""

    def __init__(self, source: Source) -> None:
        self.pieces = Pieces()
        self.whole: list[_Session] = []
        self.format_id = "opencode-json"
        self.unusual: list[tuple[str, int, Any]] = []
        self.repaired: list[str] = []
        self.part = ""
        if FOLDER.holds(source):
            self.pieces.only = FOLDER.session_of(source) or None
            for part in source.parts:
                self.part = part.name
                for line, batch in part.documents():
                    for document in batch:
                        self.take(line, from_file(part.name, document))
        else:
            for line, batch in source.main.documents():
                for document in batch:
                    self.take(line, document)

    def take(self, line: int, document: Any) -> None:
        """Take one value of the source."""
        if kind := kind_of_piece(document):
            self.pieces.add(document, kind)
        elif isinstance(document, Repaired):
            self.repaired.append(document.reason)
            self.take(line, document.value)
        elif isinstance(document, Undecodable):
            self.unusual.append((self.part, line, document))
        elif _is_export(document):
            self.whole.append(_Session("opencode-export", _exported(document)))
        elif samples.is_sample(document):
            session_id = samples.session_id(document)
            self.whole.append(_Session("opencode-json", samples.conversation(document), session_id))
        elif export.is_head(document, DATABASE.format_id):
            self.format_id = DATABASE.format_id
            self.pieces.only = export.session_of(document)
            if beside := export.beside(document):
                self.pieces.add(beside, "")
        elif self.format_id == DATABASE.format_id and export.is_row(document):
            from_row(document["table"], document["row"], self.pieces)
        else:
            self.pieces.add(document, "")

    def found(self) -> list[_Session]:
        """Give the sessions; what could not be decoded goes with the last of them."""
        found = self.whole + [
            _Session(self.format_id, one, session) for session, one in self.pieces.conversations()
        ]
        found = found or [_Session(self.format_id, Conversation())]
        found[-1].unusual = self.unusual
        for one in found:
            # Which of them was repaired is not known; of very many, each tells the first.
            one.session.repaired = (
                self.repaired if len(found) == 1 else self.repaired[: json_scan.MOST]
            )
        return found


def _exported(export: Native) -> Conversation:
    """Take an export apart."""
    messages = [
        Message(
            message.pop("info"),
            message.pop("parts") if type(message.get("parts")) is list else None,
            message,
        )
        for message in export.pop("messages")
    ]
    return Conversation(export.pop("info"), messages, export)


class _Session:
    """One session on its way into a record."""

    def __init__(self, format_id: str, conversation: Conversation, session_id: str = "") -> None:
        self.session = Session(format_id, "opencode", session_id=session_id or None)
        self.conversation = conversation
        self.providers: Counts = defaultdict(int)
        self.unusual: list[tuple[str, int, Any]] = []
        self.beside: list[str] = []
        """The members of the session that did not stand in its own object, but beside."""

    def read(self, source: Source) -> Reading:
        """Make the record."""
        session, conversation = self.session, self.conversation
        self.describe({} if conversation.info is None else conversation.info, conversation.extras)
        session.entries = [self.message(message) for message in conversation.messages]
        session.entries += [samples.chat_entry(message, session) for message in conversation.chat]
        session.entries += row_entries(conversation, session)
        placed = len(session.entries)
        session.entries += [
            entry for value in conversation.loose for entry in part_entries(value, session)
        ]
        session.entries += [
            _also_beside(member, value) for member, value in conversation.extras.items()
        ]
        self.flag_secrets(placed)
        session.entries += [
            session.unusual(line, document, part) for part, line, document in self.unusual
        ]
        self.mark_reverted()
        if self.providers:
            session.provider = max(self.providers, key=self.providers.__getitem__)
        session.tidy()
        reading = session.reading(source, attached=not FOLDER.holds(source))
        if self.beside:
            reading.record["vacr"]["beside"] = self.beside
        if conversation.chat_from is not None:
            reading.record["vacr"]["chat-from"] = conversation.chat_from
        return reading

    def describe(self, info: Native, extras: Native) -> None:
        """Learn about the session; what has no canonical member stays under its own name."""
        session = self.session
        if self.conversation.chat_from is None:
            session.drift.see_members("session", info, known.SESSION)
        self.beside = sorted(
            name for name, value in extras.items() if name not in info and value is not None
        )
        known_id = (
            info.get("id")
            if session.session_id is None or info.get("id") == session.session_id
            else None
        )
        if known_id and type(known_id) is str and self.conversation.chat_from is None:
            session.session_id = info.pop("id")
        if info.get("version") and type(info["version"]) is str:
            session.cli_version = info.pop("version")
        if type(info.get("directory")) is str:
            session.working_dir = info["directory"]
        parent = info.get("parentID", info.get("parent_id"))
        if type(parent) is str:
            session.parent, session.mode = parent, "autonomous"
        times = info["time"] if type(info.get("time")) is dict else info
        for member in ("created", "time_created"):
            if is_timestamp(times.get(member)):
                session.start = times[member]
        for member in ("updated", "time_updated"):
            if is_timestamp(times.get(member)):
                session.end = times[member]
        project = extras.get("project")
        if type(project) is dict and type(project.get("sandboxes")) is list:
            session.sandboxes = [path for path in project["sandboxes"] if type(path) is str]
        session.native = info
        info.update((member, extras.pop(member)) for member in self.beside)

    def flag_secrets(self, placed: int) -> None:
        """Tell where the secret of a shared session stands: whoever has it can change or delete
        what is shared.

        It is in the session, or in an entry after those that had a place of their own.
        """
        session = self.session
        holders = [
            (f"/session/{member}", session.native.get(member))
            for member in ("share", "session_share")
        ]
        for index, entry in enumerate(session.entries[placed:], placed):
            data = entry.get("data", {})
            holders += [
                (f"/session/entries/{index}/data", data),
                (f"/session/entries/{index}/data/value", data.get("value")),
            ]
        for place, holder in holders:
            if type(holder) is dict and holder.get("secret"):
                pointer = f"{place}/secret"
                session.secrets.append(pointer)
                told = (
                    f"holds the secret of a shared session, at {pointer}: whoever reads the "
                    "record can change what is shared"
                )
                session.notices.append(Notice(told))

    def message(self, message: Message) -> Native:
        """Turn a message into an entry."""
        info, session = message.info, self.session
        role = info.get("role") if type(info) is dict else None
        if not is_one_of(role, ROLES):
            session.drift.see_type(f"role/{role if type(role) is str else kind_of(role)}")
            parts = {} if message.parts is None else {"parts": message.parts}
            return {
                "type": "system-event",
                "event-type": "message",
                "data": {"info": info} | parts | message.beside,
            }
        session.drift.see_members("message", info, known.MESSAGE)
        entry: Native = {"type": info.pop("role")}
        MESSAGE.apply(info, entry)
        lift_time(info, "created", entry)
        lift_usage(info, entry)
        if message.parts is not None:
            take_parts(message.parts, entry, session)
        self.learn(info, entry)
        fill(entry, info)
        if message.beside:
            mark(entry)["beside"] = message.beside
        return entry

    def learn(self, info: Native, entry: Native) -> None:
        """Learn from a message which model spoke, by whom it is provided, and where the
        agent was.
        """
        if "model-id" in entry:
            self.session.models[entry["model-id"]] += 1
            if type(info.get("providerID")) is str:
                self.providers[info["providerID"]] += 1
        path = info.get("path")
        if self.session.working_dir is None and type(path) is dict and type(path.get("cwd")) is str:
            self.session.working_dir = path["cwd"]

    def mark_reverted(self) -> None:
        """Mark the messages that the user took back; OpenCode hides them until the next prompt
        deletes them.
        """
        revert = self.session.native.get("revert")
        target = revert.get("messageID") if type(revert) is dict else None
        if target is None:
            return
        taken_back = False
        for entry in self.session.entries[: len(self.conversation.messages)]:
            taken_back = taken_back or entry.get("id") == target
            if taken_back:
                mark(entry)["superseded"] = REVERTED


def _also_beside(member: str, value: Any) -> Native:
    """Keep what stood beside a session under a name that the session has itself."""
    return {
        "type": "system-event",
        "event-type": member,
        "data": {"value": value},
        "vacr": {"beside": True},
    }
