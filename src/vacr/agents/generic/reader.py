"""Conversations of any program as records: OpenAI chat and Anthropic messages, as JSON or JSONL.

The layout of the file decides how many records it gives:

| the file | format | records |
|---|---|---|
| an object with a list of messages | `generic-json` | one for each object |
| a list of messages | `generic-list` | one for each list |
| lines, each a message | `generic-jsonl` | one |

Several objects or lists may stand in one file, such as one for each line. A member map names the
members that the program spells in its own way.

>>> import json
>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.generic.reader import read
>>> chat = {"model": "m-1", "messages": [{"role": "user", "content": "Hi", "mood": "good"}]}
>>> [reading] = read(Source((SourcePart("chat.json", json.dumps(chat).encode()),)))
>>> reading.record["session"]["entries"]
[{'type': 'user', 'content': 'Hi', 'mood': 'good'}]
>>> reading.record["session"]["agent-meta"]["model-id"]
'm-1'

Every message keeps its own members. Only members with one meaning and an unchanged value move to
the canonical ones; converted times, and calls with their arguments, stand in the entry twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue, UndecodableBytes, parse_json_text
from vacr.agents.generic import AGENT
from vacr.agents.generic.member_map import (
    ASSISTANT,
    SYSTEM,
    TOOL,
    USER,
    USUAL_MAP,
    MemberMap,
    MemberPath,
    parse_member_map,
)
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Reading,
    SessionBuilder,
    SourceNotice,
    UsageSums,
    add_remaining_members,
    parse_names,
)
from vacr.agents.openai_chat import build_chat_usage
from vacr.errors import UnreadableInput
from vacr.model import JsonObject
from vacr.record import build_child_entries, is_timestamp

JSON_FORMAT, LIST_FORMAT, LINES_FORMAT = AGENT.formats
FROM_LINE = "line"
"""The value of `vacr.from` for a value between the conversations of a file."""

_USUAL_NAMES = parse_names(
    "finish_reason function_call name refusal stop_reason stop_sequence type annotations audio"
)
_BLOCK_USAGE_SUMS = UsageSums(
    ("input", ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")),
    ("output", ("output_tokens",)),
    ("cached", ("cache_read_input_tokens",)),
)
"""Canonical counter → counters of the Anthropic API; it counts cached input separately."""
_MAP_HINT = "To name its members, write FILE.map.toml, or add --map."


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each conversation in a source.

    Raises:
        UnreadableInput: the map cannot be used.
    """
    member_map = _load_member_map(source)
    with pause_garbage_collector():
        conversations = _split_conversations(source, member_map)
    if len(conversations) > 1:
        if "id" in member_map.facts:
            part = next(part for part in source.parts if part.name.endswith(AGENT.map_suffix))
            raise UnreadableInput(
                f"the map states one id, but the file has {len(conversations)} conversations",
                where=part.name,
                hint="Name the member with the id instead: [session-members] id = PATH",
            )
        for number, conversation in enumerate(conversations, 1):
            if conversation.session.session_id is None:
                conversation.session.session_id = f"{source.main.sha256}-{number}"
    # Each conversation is released as soon as its record is made.
    while conversations:
        yield conversations.pop(0).finish(source)


def _load_member_map(source: Source) -> MemberMap:
    """Return the map among the parts of a source, or the usual one."""
    for part in source.parts[1:]:
        if part.name.endswith(AGENT.map_suffix):
            return parse_member_map(part.data, part.name)
    return USUAL_MAP


def _split_conversations(source: Source, member_map: MemberMap) -> list[_Conversation]:
    """Return the conversations in a source; other values belong to the one before them.

    Values before the first conversation belong to it, after its entries. Without any, all values
    are the lines of one.
    """
    conversations: list[_Conversation] = []
    early: list[tuple[int, Any]] = []
    for number, batch in source.main.documents():
        for document in batch:
            is_repaired = type(document) is RepairedValue
            value = document.value if is_repaired else document
            format_id = _find_format(value, member_map)
            if format_id:
                conversation = _Conversation(format_id, member_map)
                if is_repaired:
                    conversation.session.repaired.append(document.reason)
                conversation.add_document(value)
                conversations.append(conversation)
            elif conversations:
                conversations[-1].add_line(number, document, FROM_LINE)
            else:
                early.append((number, document))
    origin = FROM_LINE if conversations else ""
    if not conversations:
        conversations.append(_Conversation(LINES_FORMAT, member_map))
    for number, document in early:
        conversations[0].add_line(number, document, origin)
    return conversations


def _find_format(value: Any, member_map: MemberMap) -> str:
    """Return the format of a value that is a whole conversation, or an empty text."""
    if type(value) is list:
        has_role = any(member_map.role.find(message) is not None for message in value)
        return LIST_FORMAT if has_role else ""
    messages = member_map.messages.find(value)
    is_list = type(messages) is list and any(type(message) is dict for message in messages)
    return JSON_FORMAT if is_list else ""


class _Conversation:
    """One conversation on its way into a record."""

    def __init__(self, format_id: str, member_map: MemberMap) -> None:
        """Start without entries."""
        self.map = member_map
        self.session = SessionBuilder(format_id, member_map.facts.get("agent", AGENT.name))
        self.known = _USUAL_NAMES | {path.names[0] for path in member_map.members.values()}
        self.messages = 0
        self.local_times = 0

    def add_document(self, value: Any) -> None:
        """Add the messages of a list, or of an object; its other members stay in the session."""
        messages = value
        if type(value) is dict:
            messages = self.map.messages.take(value)
            self._learn_facts(value)
            self.session.native = value
        for message in messages:
            if type(message) is dict:
                self.session.entries.append(self._make_entry(message))
            else:
                self.session.entries.append(self.session.make_value_event(message))

    def add_line(self, line: int, document: Any, origin: str) -> None:
        """Add a value that is not a conversation; `line` is its number, `origin` its mark if any.

        A value that is not an object, or bytes that cannot be decoded, become an event.
        """
        value, reason = document, ""
        if type(document) is RepairedValue:
            value, reason = document.value, document.reason
        if type(value) is dict:
            entry = self._make_entry(value)
        else:
            entry = self.session.make_unusual_event(line, value)
        if reason:
            get_writable_marks(entry)["repaired"] = reason
        if origin and type(value) is not UndecodableBytes:
            get_writable_marks(entry)["from"] = origin
        self.session.entries.append(entry)

    def finish(self, source: Source) -> Reading:
        """Return the record."""
        self._state_facts()
        if not self.messages:
            role = ".".join(self.map.role.names)
            self.session.notices.append(
                SourceNotice(f"no message: no object has a known role in {role!r}. {_MAP_HINT}")
            )
        if self.local_times:
            self.session.notices.append(
                SourceNotice(f"times without a zone: {self.local_times}; kept as they are")
            )
        self.session.tidy()
        return self.session.reading(source)

    # --- the session ---

    def _learn_facts(self, header: JsonObject) -> None:
        """Learn about the session from the members around the list of messages."""
        found = {fact: path.find(header) for fact, path in self.map.fact_members.items()}
        texts = {fact: text for fact, text in found.items() if type(text) is str and text}
        session = self.session
        session.session_id = texts.get("id")
        session.working_dir = texts.get("folder")
        session.cli_version = texts.get("agent-version")
        session.cli_name = self.map.facts.get("agent") or texts.get("agent") or AGENT.name
        if "model" in texts:
            # Messages may name the model more precisely, so that it counts for more.
            session.models[texts["model"]] += 0
        session.start = self.map.parse_time(found.get("start"))

    def _state_facts(self) -> None:
        """Add the facts about the session that the map states."""
        facts, session = self.map.facts, self.session
        session.session_id = facts.get("id", session.session_id)
        session.working_dir = facts.get("folder", session.working_dir)
        session.cli_version = facts.get("agent-version", session.cli_version)
        session.start = facts.get("start", session.start)
        if "model" in facts:
            session.models[facts["model"]] += 0

    # --- messages ---

    def _make_entry(self, message: JsonObject) -> JsonObject:
        """Turn an object into an entry; one without a known role becomes an event."""
        kind = self.map.find_kind(message)
        content = self.map.members["content"].find(message)
        if kind in (USER, ASSISTANT) or (kind == TOOL and content is not None):
            self.messages += 1
            self.session.drift.count_members(str(kind), message, self.known)
            if kind == TOOL:
                return self._make_result(message)
            return self._make_message(message, str(kind))
        return self._make_event(message, kind)

    def _make_message(self, message: JsonObject, kind: str) -> JsonObject:
        """Turn a message of the user or the assistant into an entry."""
        entry: JsonObject = {"type": kind}
        if self.map.role.names == ("role",) and message["role"] == kind:
            del message["role"]
        self._move_text(message, "id", entry, "id")
        self._move_text(message, "parent", entry, "parent-id")
        self._move_time(message, entry)
        if model := self._move_text(message, "model", entry, "model-id"):
            self.session.models[model] += 1
        content = self.map.members["content"]
        if content.find(message) is not None:
            entry["content"] = content.take(message)
        children = build_child_entries(
            entry.get("content"), self.session.drift.types, self.session.drift.members
        )
        children += self._take_reasoning(message)
        children += self._make_calls(message)
        if children:
            entry["children"] = children
        if usage := _build_usage(self.map.members["usage"].find(message)):
            entry["token-usage"] = usage
        return add_remaining_members(entry, message)

    def _make_result(self, message: JsonObject) -> JsonObject:
        """Turn a message that is the result of a call into an entry; its role stays in it."""
        entry: JsonObject = {"type": "tool-result"}
        entry["output"] = self.map.members["content"].take(message)
        self._move_text(message, "call-id", entry, "call-id")
        self._move_text(message, "tool-name", entry, "name")
        is_error = self.map.members["is-error"].find(message)
        if type(is_error) is bool:
            entry["is-error"] = is_error
        self._move_text(message, "id", entry, "id")
        self._move_text(message, "parent", entry, "parent-id")
        self._move_time(message, entry)
        return add_remaining_members(entry, message)

    def _make_event(self, message: JsonObject, kind: str | None) -> JsonObject:
        """Make the event that keeps an object as it is.

        `event-type` is the role, or `unknown` if the object has none. `kind` is None if the role
        is missing or unknown to the map; then the object is counted as drift.
        """
        role = self.map.role.find(message)
        entry: JsonObject = {
            "type": "system-event",
            "event-type": role if kind == SYSTEM or type(role) is str else UNKNOWN,
            "data": message,
            "vacr": {"message": True},
        }
        if kind is None:
            self.session.drift.count_type(f"role/{role}" if type(role) is str else role)
        else:
            self.messages += 1
        stamp = self.map.parse_time(self.map.members["time"].find(message))
        if stamp is not None and is_timestamp(stamp):
            entry["timestamp"] = stamp
        return entry

    def _move_text(self, message: JsonObject, member: str, entry: JsonObject, to: str) -> str:
        """Move a text to a canonical member, and return it; return "" if it is not a text."""
        path = self.map.members[member]
        value = path.find(message)
        if type(value) is not str or not value:
            return ""
        entry[to] = path.take(message)
        return value

    def _move_time(self, message: JsonObject, entry: JsonObject) -> None:
        """Move a time to the timestamp; a converted time also stays in its place.

        A time without a zone stays where it is, and is marked.
        """
        path = self.map.members["time"]
        native = path.find(message)
        stamp = self.map.parse_time(native)
        if stamp is not None and is_timestamp(stamp):
            entry["timestamp"] = stamp
            if type(stamp) is type(native) and stamp == native:
                path.take(message)
        elif type(native) is str and is_timestamp(f"{native.replace(' ', 'T', 1)}Z"):
            entry["vacr"] = {"time-zone": UNKNOWN}
            self.local_times += 1

    def _take_reasoning(self, message: JsonObject) -> list[JsonObject]:
        """Take the reasoning out of a message as a list of one entry; empty without a text."""
        path = self.map.members["reasoning"]
        text = path.find(message)
        if type(text) is not str or not text:
            return []
        child = {"type": "reasoning", "content": path.take(message)}
        return [{**child, "vacr": {"member": path.names[-1]}}]

    def _make_calls(self, message: JsonObject) -> list[JsonObject]:
        """Return an entry for each call in a message; the calls themselves stay in it."""
        calls = self.map.members["tool-calls"].find(message)
        if type(calls) is not list:
            return []
        entries = (self._make_call(call) for call in calls)
        return [entry for entry in entries if entry is not None]

    def _make_call(self, call: Any) -> JsonObject | None:
        """Return the entry of a call, or None if it has no name or no input."""
        call_name = _find_or_none(self.map.call["name"], call)
        if type(call_name) is not str:
            return None
        entry: JsonObject = {"type": "tool-call"}
        call_id = self.map.call["id"].find(call)
        if type(call_id) is str and call_id:
            entry["call-id"] = call_id
        entry["name"] = call_name
        entry["input"] = parse_json_text(self.map.call["input"].find(call))
        return entry


def _find_or_none(path: MemberPath, call: Any) -> Any:
    """Return the member of a call, or None if the call is not an object."""
    return path.find(call) if type(call) is dict else None


def _build_usage(usage: Any) -> JsonObject:
    """Return the canonical counters of either API's usage; empty without usable counters."""
    if type(usage) is not dict:
        return {}
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return build_chat_usage(usage)
    return _BLOCK_USAGE_SUMS.compute(usage)
