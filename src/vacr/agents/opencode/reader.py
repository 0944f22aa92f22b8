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

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import (
    RepairedValue,
    UndecodableBytes,
    get_exported_session_id,
    get_extra_head_members,
    is_export_head,
    is_export_row,
)
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    SourceNotice,
    add_remaining_members,
    describe_json_kind,
    get_writable_marks,
    is_one_of,
)
from vacr.agents.opencode.parts import (
    OPENCODE_MESSAGE_MEMBERS,
    OPENCODE_SESSION_MEMBERS,
    OpenCodeConversation,
    OpenCodeMessage,
    PieceCollector,
    add_message_parts,
    classify_piece,
    lift_opencode_usage,
    lift_timestamp,
    make_part_entries,
)
from vacr.agents.opencode.samples import (
    find_sample_session_id,
    is_opencode_sample,
    make_sample_entry,
    split_sample,
)
from vacr.agents.opencode.stores import (
    DATABASES,
    FOLDER,
    OPENCODE_DATABASE,
    add_database_row,
    add_ids_from_path,
    make_row_entries,
)
from vacr.model import JsonObject
from vacr.record import MAX_JSON_PROBLEMS, NameCounts, is_timestamp

__all__ = ["DATABASES", "FOLDER", "formats", "name", "read", "recognises"]

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
    """Tell how much of a sample of native values is OpenCode's."""
    return (
        1.0
        if is_export_head(sample[0], OPENCODE_DATABASE.format_id)
        else sum(map(_is_opencode_value, sample)) / len(sample)
    )


def _is_opencode_value(value: Any) -> bool:
    return _is_session_export(value) or is_opencode_sample(value) or classify_piece(value) != ""


def _is_session_export(value: Any) -> bool:
    if (
        type(value) is not dict
        or type(value.get("info")) is not dict
        or type(value.get("messages")) is not list
    ):
        return False
    return all(type(message) is dict and "info" in message for message in value["messages"])


def read(source: Source) -> Iterator[Reading]:
    """Read the sessions of a source, one record each."""
    with pause_garbage_collector():
        found = _SessionSplitter(source).found()
    while found:
        with pause_garbage_collector():
            reading = found.pop(0).read(source)
        yield reading


class _SessionSplitter:
    """The sessions of a source, on the way of being told apart."""

    def __init__(self, source: Source) -> None:
        self.pieces = PieceCollector()
        self.whole: list[_SessionReader] = []
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
                        self.take(line, add_ids_from_path(part.name, document))
        else:
            for line, batch in source.main.documents():
                for document in batch:
                    self.take(line, document)

    def take(self, line: int, document: Any) -> None:
        """Take one value of the source."""
        if kind := classify_piece(document):
            self.pieces.add(document, kind)
        elif isinstance(document, RepairedValue):
            self.repaired.append(document.reason)
            self.take(line, document.value)
        elif isinstance(document, UndecodableBytes):
            self.unusual.append((self.part, line, document))
        elif _is_session_export(document):
            self.whole.append(_SessionReader("opencode-export", _split_export(document)))
        elif is_opencode_sample(document):
            session_id = find_sample_session_id(document)
            self.whole.append(_SessionReader("opencode-json", split_sample(document), session_id))
        elif is_export_head(document, OPENCODE_DATABASE.format_id):
            self.format_id = OPENCODE_DATABASE.format_id
            self.pieces.only = get_exported_session_id(document)
            if beside := get_extra_head_members(document):
                self.pieces.add(beside, "")
        elif self.format_id == OPENCODE_DATABASE.format_id and is_export_row(document):
            add_database_row(document["table"], document["row"], self.pieces)
        else:
            self.pieces.add(document, "")

    def found(self) -> list[_SessionReader]:
        """Give the sessions; what could not be decoded goes with the last of them."""
        found = self.whole + [
            _SessionReader(self.format_id, one, session)
            for session, one in self.pieces.conversations()
        ]
        found = found or [_SessionReader(self.format_id, OpenCodeConversation())]
        found[-1].unusual = self.unusual
        for one in found:
            # Which of them was repaired is not known; of very many, each tells the first.
            one.session.repaired = (
                self.repaired if len(found) == 1 else self.repaired[:MAX_JSON_PROBLEMS]
            )
        return found


def _split_export(export: JsonObject) -> OpenCodeConversation:
    """Take an export apart."""
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
        self.session = SessionBuilder(format_id, "opencode", session_id=session_id or None)
        self.conversation = conversation
        self.providers: NameCounts = defaultdict(int)
        self.unusual: list[tuple[str, int, Any]] = []
        self.beside: list[str] = []
        """The members of the session that did not stand in its own object, but beside."""

    def read(self, source: Source) -> Reading:
        """Make the record."""
        session, conversation = self.session, self.conversation
        self.describe({} if conversation.info is None else conversation.info, conversation.extras)
        session.entries = [self.message(message) for message in conversation.messages]
        session.entries += [make_sample_entry(message, session) for message in conversation.chat]
        session.entries += make_row_entries(conversation, session)
        placed = len(session.entries)
        session.entries += [
            entry for value in conversation.loose for entry in make_part_entries(value, session)
        ]
        session.entries += [
            _make_beside_event(member, value) for member, value in conversation.extras.items()
        ]
        self.flag_secrets(placed)
        session.entries += [
            session.make_unusual_event(line, document, part)
            for part, line, document in self.unusual
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

    def describe(self, info: JsonObject, extras: JsonObject) -> None:
        """Learn about the session; what has no canonical member stays under its own name."""
        session = self.session
        if self.conversation.chat_from is None:
            session.drift.count_members("session", info, OPENCODE_SESSION_MEMBERS)
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
                session.notices.append(SourceNotice(told))

    def message(self, message: OpenCodeMessage) -> JsonObject:
        """Turn a message into an entry."""
        info, session = message.info, self.session
        role = info.get("role") if type(info) is dict else None
        if not is_one_of(role, OPENCODE_MESSAGE_ROLES):
            session.drift.count_type(
                f"role/{role if type(role) is str else describe_json_kind(role)}"
            )
            parts = {} if message.parts is None else {"parts": message.parts}
            return {
                "type": "system-event",
                "event-type": "message",
                "data": {"info": info} | parts | message.beside,
            }
        session.drift.count_members("message", info, OPENCODE_MESSAGE_MEMBERS)
        entry: JsonObject = {"type": info.pop("role")}
        OPENCODE_MESSAGE_MOVES.apply(info, entry)
        lift_timestamp(info, "created", entry)
        lift_opencode_usage(info, entry)
        if message.parts is not None:
            add_message_parts(message.parts, entry, session)
        self.learn(info, entry)
        add_remaining_members(entry, info)
        if message.beside:
            get_writable_marks(entry)["beside"] = message.beside
        return entry

    def learn(self, info: JsonObject, entry: JsonObject) -> None:
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
                get_writable_marks(entry)["superseded"] = FATE_REVERTED


def _make_beside_event(member: str, value: Any) -> JsonObject:
    """Keep what stood beside a session under a name that the session has itself."""
    return {
        "type": "system-event",
        "event-type": member,
        "data": {"value": value},
        "vacr": {"beside": True},
    }
