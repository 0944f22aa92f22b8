r"""Rows of Cursor's two databases as entries.

The editor keeps its conversations in `state.vscdb`. The row `composerData:<id>` describes a
conversation and lists its bubbles in order; each bubble is a row of its own, or inside that row in
older versions. A bubble becomes an entry; its thinking and its tool call become children. JSON in a
text is parsed, and the text is dropped if the value encodes to it again.

The command line keeps each conversation in a `store.db`. Its blobs are named by their digests. A
root, in protobuf, lists the digests of the messages in order. Blobs that it does not list (older
roots, file contents, compacted messages) become events.

>>> from vacr.agents.cursor.databases import make_bubble_entry
>>> from vacr.agents.lift import SessionBuilder
>>> tool = {"name": "read_file", "rawArgs": '{"path":"a.py"}', "result": '{"contents":"x = 1"}'}
>>> bubble = {"type": 2, "bubbleId": "b-1", "text": "Reading.", "toolFormerData": tool}
>>> entry = make_bubble_entry(bubble, SessionBuilder("cursor-vscdb", "cursor"))
>>> entry["type"], entry["id"], entry["content"]
('assistant', 'b-1', 'Reading.')
>>> for child in entry["children"]:
...     print(child)
{'type': 'tool-call', 'name': 'read_file', 'input': {'path': 'a.py'}}
{'type': 'tool-result', 'output': {'contents': 'x = 1'}}

Everything else of an export becomes an event after the conversation: rows of other tables, unknown
columns, repeated keys, lines that are not rows.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from vacr.agents.agent import Source
from vacr.agents.documents import (
    EXPORT_HEAD_MEMBER,
    RepairedValue,
    get_exported_session_id,
    get_extra_head_members,
    is_export_row,
    parse_json_text,
)
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    SourceNotice,
    add_remaining_members,
    is_count,
    is_one_of,
    keep_native_members,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries, encode_native_json, is_timestamp

CURSOR_EXPORT_TABLES = {
    "cursor-vscdb": {"cursorDiskKV": ("key", "value")},
    "cursor-store": {"meta": ("key", "value"), "blobs": ("id", "data")},
}
"""Format → its tables of keys and values, and the columns that hold them."""
CURSOR_CHAT_TABLE = "chatdata"
CURSOR_SECRET_MEMBERS = ("blobEncryptionKey", "speculativeSummarizationEncryptionKey")

CURSOR_BUBBLE_TYPES = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}
CURSOR_BUBBLE_MOVES = Lift(Move("bubbleId", "id"), Move("createdAt", "timestamp", None))
CURSOR_CHAT_BUBBLE_MOVES = Lift(Move("id", "id"), Move("modelType", "model-id"))
CURSOR_CONTENT_MEMBERS = (("content", list), ("text", str), ("rawText", str))
"""The members that can be a bubble's content; the first non-empty one is."""
CURSOR_CALL_MOVES = Lift(Move("name", "name"), Move("toolCallId", "call-id"))
CURSOR_USAGE_COUNTERS = (("input", "inputTokens"), ("output", "outputTokens"))

CURSOR_ROOT_MESSAGES_FIELD, CURSOR_ROOT_PENDING_FIELD, CURSOR_ROOT_WORKSPACES_FIELD = 1, 4, 9
"""Fields of the root: digests of messages, messages in progress, and folders."""
CURSOR_BLOB_ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}
CURSOR_REPEAT_MEMBERS = ("type", "event-type", "role")
"""The members of an entry that only refers to an earlier one."""

_DEFAULT_MODEL = "default"
_WINDOWS_DRIVE = re.compile(r"/[A-Za-z]:")
_DIGEST_BYTES = 32
_WIRE_VARINT, _WIRE_FIXED64, _WIRE_BYTES, _WIRE_FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_VARINT_CONTINUES = 0x80


# --- Exports ---


def is_cursor_export_head(value: Any) -> bool:
    """Return whether a value is the first line of an export of one of Cursor's databases."""
    return type(value) is dict and is_one_of(value.get(EXPORT_HEAD_MEMBER), CURSOR_EXPORT_TABLES)


def add_database_entries(source: Source, session: SessionBuilder) -> None:
    """Add the entries of an export's rows to the session; rows without a place become events."""
    rows = _ExportRows(session)
    for line, batch in source.main.documents():
        for document in batch:
            rows.add_line(line, document)
    if session.format_id == "cursor-store":
        add_blob_entries(rows.keyed["meta"], rows.keyed["blobs"], session)
    else:
        add_composer_entries(rows.keyed["cursorDiskKV"], session)
        for chat in rows.chats:
            add_chat_entries(chat, session)
    session.entries += rows.other_events


class _ExportRows:
    """The rows of one export."""

    def __init__(self, session: SessionBuilder) -> None:
        """Start without rows; `session` gets the facts about the session."""
        self.session = session
        self.keyed: dict[str, dict[str, Any]] = {}
        """Table → key → value."""
        self.chats: list[JsonObject] = []
        self.other_events: list[JsonObject] = []

    def add_line(self, line: int, document: Any) -> None:
        """Add one line of the export; the first names the format and the session."""
        if isinstance(document, RepairedValue):
            self.session.repaired.append(document.reason)
            document = document.value
        if is_export_row(document):
            self.add_row(document["table"], document["row"])
        elif is_cursor_export_head(document):
            self.add_head(document)
        else:
            self.other_events.append(self.session.make_unusual_event(line, document))

    def add_head(self, head: JsonObject) -> None:
        """Add the first line; a repeated one, or one with other members, also becomes an event."""
        is_first = not self.keyed
        if is_first:
            self.session.format_id = head[EXPORT_HEAD_MEMBER]
            self.keyed = {table: {} for table in CURSOR_EXPORT_TABLES[self.session.format_id]}
            self.session.session_id = get_exported_session_id(head) or self.session.session_id
        if not is_first or get_extra_head_members(head):
            self.keep_row(EXPORT_HEAD_MEMBER, head)

    def add_row(self, table: str, row: JsonObject) -> None:
        """Add one row by its key; a row without a key, or with a known one, is kept as an event."""
        if table == CURSOR_CHAT_TABLE and self.session.format_id == "cursor-vscdb":
            self.chats.append(row)
            return
        columns = CURSOR_EXPORT_TABLES[self.session.format_id].get(table, ("", ""))
        key_column, value_column = columns
        key = row.get(key_column)
        if type(key) is not str or value_column not in row or key in self.keyed[table]:
            self.keep_row(table, row)
            return
        self.keyed[table][key] = row.pop(value_column)
        if len(row) > 1:
            self.keep_row(table, row)

    def keep_row(self, table: str, row: JsonObject) -> None:
        """Keep a row as an event, named after its table."""
        self.other_events.append({"type": "system-event", "event-type": table, "data": row})


def flag_cursor_secrets(session: SessionBuilder) -> None:
    """Note the keys that open Cursor's encrypted data in `session.secrets`, with a warning each."""
    for member in CURSOR_SECRET_MEMBERS:
        if session.native.get(member):
            session.secrets.append(f"/session/{member}")
            message = (
                f"contains an encryption key of Cursor at /session/{member}: "
                "anyone who reads the record gets it, so keep the record private"
            )
            session.notices.append(SourceNotice(message))


# --- The editor: bubbles ---


def add_composer_entries(rows: dict[str, Any], session: SessionBuilder) -> None:
    """Add the entries of a conversation, given its rows by key; the rows are changed.

    Rows that are not messages become events after them.
    """
    composer_key, prefix = f"composerData:{session.session_id}", f"bubbleId:{session.session_id}:"
    composer = _parse_object(rows.get(composer_key))
    if composer is not None:
        del rows[composer_key]
    bubbles = {
        key: bubble
        for key in rows
        if key.startswith(prefix) and (bubble := _parse_object(rows[key])) is not None
    }
    composer = {} if composer is None else composer
    bubbles_by_id = {key.removeprefix(prefix): bubble for key, bubble in bubbles.items()}
    for bubble, own_id in _order_bubbles(composer, bubbles_by_id):
        entry = make_bubble_entry(bubble, session)
        if own_id is not None:
            keep_native_members(entry, {"bubbleId": own_id})
        session.entries.append(entry)
    for key, value in rows.items():
        if key not in bubbles:
            session.entries.append(_make_key_event(key.partition(":")[0], key, value))
    _learn_composer_session(composer, session)


def _parse_object(value: Any) -> JsonObject | None:
    """Parse a text that should be an object; return None for anything else."""
    parsed = parse_json_text(value) if type(value) is str else None
    return parsed if type(parsed) is dict else None


def _make_key_event(kind: str, key: str, value: Any) -> JsonObject:
    """Make the event of a row that is not a message; a value that is JSON text is parsed."""
    data = {"key": key, "value": parse_json_text(value)}
    return {"type": "system-event", "event-type": kind, "data": data}


def _order_bubbles(composer: JsonObject, bubbles: dict[str, JsonObject]) -> list[tuple[Any, Any]]:
    """Return the bubbles in the order of the conversation, then the unlisted ones by time.

    Each comes with its own id, if that differs from its key.
    """
    ordered: list[tuple[Any, Any]] = []
    if type(composer.get("conversation")) is list:
        ordered += [(bubble, None) for bubble in composer.pop("conversation")]
    headers = composer.get("fullConversationHeadersOnly")
    older = composer.get("conversationMap")
    older_bubbles: JsonObject = older if type(older) is dict else {}
    for header in headers if type(headers) is list else ():
        bubble_id = header.get("bubbleId") if type(header) is dict else None
        if type(bubble_id) is not str:
            continue
        if bubble_id in bubbles:
            ordered.append(_set_bubble_id(bubbles.pop(bubble_id), bubble_id))
        elif type(older_bubbles.get(bubble_id)) is dict:
            ordered.append(_set_bubble_id(older_bubbles.pop(bubble_id), bubble_id))
    for bubble_id, bubble in list(older_bubbles.items()):
        if type(bubble) is dict and bubble_id not in bubbles:
            bubbles[bubble_id] = older_bubbles.pop(bubble_id)
    rest = sorted(bubbles.items(), key=lambda item: (str(item[1].get("createdAt", "")), item[0]))
    return ordered + [_set_bubble_id(bubble, bubble_id) for bubble_id, bubble in rest]


def _set_bubble_id(bubble: JsonObject, bubble_id: str) -> tuple[JsonObject, Any]:
    """Set a bubble's id to its key; return the bubble with its own id, if that differs."""
    own_id = bubble.get("bubbleId")
    bubble["bubbleId"] = bubble_id
    return bubble, own_id if own_id != bubble_id else None


def _learn_composer_session(composer: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session; members without a canonical name stay as they are."""
    if session.session_id and composer.get("composerId") == session.session_id:
        del composer["composerId"]
    if is_timestamp(composer.get("createdAt")):
        session.start = composer["createdAt"]
    if is_timestamp(composer.get("lastUpdatedAt")):
        session.end = composer["lastUpdatedAt"]
    model = _get_model_name(composer.get("modelConfig"))
    if model is not None and not session.models:
        session.models[model] += 1
    workspace = composer.get("workspaceIdentifier")
    uri = workspace.get("uri") if type(workspace) is dict else None
    if type(uri) is dict and type(uri.get("fsPath")) is str:
        session.working_dir = uri["fsPath"]
    info = composer.get("subagentInfo")
    if type(info) is dict and type(info.get("parentComposerId")) is str:
        session.parent, session.mode = info["parentComposerId"], "autonomous"
    session.native = composer
    flag_cursor_secrets(session)


def _get_model_name(holder: Any) -> str | None:
    """Return the model that an object names, or None; the default can be any, and is None too."""
    model = holder.get("modelName") if type(holder) is dict else None
    return model if type(model) is str and model != _DEFAULT_MODEL else None


def add_chat_entries(chat: JsonObject, session: SessionBuilder) -> None:
    """Add the entries of a chat of the versions before the composer.

    The chat describes the session, unless something else does.
    """
    bubbles = chat.pop("bubbles") if type(chat.get("bubbles")) is list else []
    session.entries += [make_bubble_entry(bubble, session) for bubble in bubbles]
    if session.native:
        event = {"type": "system-event", "event-type": CURSOR_CHAT_TABLE, "data": chat}
        session.entries.append(event)
    else:
        session.native = chat


def make_bubble_entry(bubble: Any, session: SessionBuilder) -> JsonObject:
    """Turn a bubble into an entry; a bubble of an unknown type becomes an event."""
    kind = bubble.get("type") if type(bubble) is dict else None
    if type(kind) not in (int, str) or kind not in CURSOR_BUBBLE_TYPES:
        if type(bubble) is not dict:
            return session.make_value_event(bubble)
        session.drift.count_type(f"bubble/{kind}")
        return {"type": "system-event", "event-type": "bubble", "data": bubble}
    entry: JsonObject = {"type": CURSOR_BUBBLE_TYPES[bubble.pop("type")]}
    if kind != entry["type"]:
        keep_native_members(entry, {"type": kind})
    (CURSOR_BUBBLE_MOVES if type(kind) is int else CURSOR_CHAT_BUBBLE_MOVES).apply(bubble, entry)
    _move_content(bubble, entry)
    _learn_from_bubble(bubble, entry, session)
    own_children = _take_thinking(bubble) + _take_tool_call(bubble)
    session.embedded += own_children
    drift = session.drift
    views = build_child_entries(entry.get("content"), drift.types, drift.members)
    if children := views + own_children:
        entry["children"] = children
    return add_remaining_members(entry, bubble)


def _move_content(bubble: JsonObject, entry: JsonObject) -> None:
    """Move the content of a bubble; other members that could be it stay."""
    present = [name for name, kind in CURSOR_CONTENT_MEMBERS if type(bubble.get(name)) is kind]
    if present:
        name = next((name for name in present if bubble[name] != ""), present[0])
        entry["content"] = bubble.pop(name)
        if name == "rawText":
            get_writable_marks(entry)["content-from"] = name


def _learn_from_bubble(bubble: JsonObject, entry: JsonObject, session: SessionBuilder) -> None:
    """Learn the model, the tokens and the folder from a bubble."""
    model = _get_model_name(bubble.get("modelInfo"))
    if model is not None:
        entry.setdefault("model-id", model)
    if "model-id" in entry:
        session.models[entry["model-id"]] += 1
    counts = bubble.get("tokenCount")
    if type(counts) is dict:
        usage = {
            name: counts[native]
            for name, native in CURSOR_USAGE_COUNTERS
            if is_count(counts.get(native))
        }
        if any(usage.values()):
            entry["token-usage"] = usage
    uris = bubble.get("workspaceUris")
    if session.working_dir is None and type(uris) is list and uris and type(uris[0]) is str:
        session.working_dir = parse_folder_uri(uris[0])


def _take_thinking(bubble: JsonObject) -> list[JsonObject]:
    """Take the thinking out of a bubble, as a list of one entry; empty if it has none."""
    thinking = bubble.get("thinking")
    if type(thinking) is str and thinking:
        del bubble["thinking"]
        return [{"type": "reasoning", "content": thinking, "vacr": {"bare": True}}]
    if type(thinking) is not dict or "text" not in thinking:
        return []
    del bubble["thinking"]
    entry: JsonObject = {"type": "reasoning", "content": thinking.pop("text")}
    return [add_remaining_members(entry, thinking)]


def _take_tool_call(bubble: JsonObject) -> list[JsonObject]:
    """Take a tool call and its result out of a bubble; other facts about it stay.

    The list has the call, and the result if there is one; it is empty without a call.
    """
    tool = bubble.get("toolFormerData")
    if type(tool) is not dict or type(tool.get("name")) is not str:
        return []
    call: JsonObject = {"type": "tool-call"}
    CURSOR_CALL_MOVES.apply(tool, call)
    call["input"] = None
    for member in ("rawArgs", "params"):
        if tool.get(member) is not None:
            call["input"] = _take_json_member(tool, member)
            break
    present = (name for name in ("result", "error") if tool.get(name) is not None)
    output_member = next(present, None)
    if output_member is None:
        return [call]
    result: JsonObject = {"type": "tool-result", "output": _take_json_member(tool, output_member)}
    if "call-id" in call:
        result["call-id"] = call["call-id"]
    if type(tool.get("status")) is str:
        result["status"] = tool["status"]
    if output_member == "error" or is_one_of(tool.get("status"), ("error",)):
        result["is-error"] = True
    return [call, result]


def _take_json_member(holder: JsonObject, member: str) -> Any:
    """Parse a member that may be JSON; its text stays if the value does not encode to it."""
    text = holder[member]
    value = parse_json_text(text)
    if type(text) is not str or value is text or encode_native_json(value) == text.encode():
        del holder[member]
    return value


# --- The command line: blobs ---


def add_blob_entries(meta: dict[str, Any], blobs: dict[str, Any], session: SessionBuilder) -> None:
    """Add the entries of a conversation, from the rows of its tables `meta` and `blobs` by key.

    A row that is neither a message nor the description of the session becomes an event.
    """
    head = _parse_session_head(meta.get("0"))
    for key, value in meta.items():
        if key != "0" or head is None:
            session.entries.append(_make_key_event("meta", key, value))
    head = head or {}
    _learn_store_session(head, session)
    root_id = head.get("latestRootBlobId")
    root = _decode_row_bytes(blobs.get(root_id) if type(root_id) is str else None)
    entries_by_id: dict[str, JsonObject] = {}
    for field, data in parse_protobuf_fields(root):
        is_message = field == CURSOR_ROOT_MESSAGES_FIELD and len(data) == _DIGEST_BYTES
        if is_message and (blob_id := data.hex()) in blobs:
            # Messages of the same words share a blob: the later ones only refer to the first.
            entry = (
                _make_repeat_entry(blob_id, entries_by_id[blob_id])
                if blob_id in entries_by_id
                else _make_blob_entry(blob_id, blobs[blob_id], session)
            )
            entries_by_id.setdefault(blob_id, entry)
            session.entries.append(entry)
        elif field == CURSOR_ROOT_WORKSPACES_FIELD and session.working_dir is None:
            session.working_dir = parse_folder_uri(data)
    _add_pending_entries(root, session)
    for blob_id in sorted(blobs.keys() - entries_by_id.keys()):
        session.entries.append(_make_key_event("blob", blob_id, blobs[blob_id]))


def _parse_session_head(value: Any) -> JsonObject | None:
    """Parse the row that describes the session: JSON, usually in hexadecimal.

    Return None if it is not a JSON object.
    """
    if type(value) is not str:
        return None
    try:
        text = bytes.fromhex(value).decode()
    except (ValueError, UnicodeDecodeError):
        text = value
    head = parse_json_text(text)
    return head if type(head) is dict else None


def _learn_store_session(head: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session; members without a canonical name stay as they are."""
    if session.session_id and head.get("agentId") == session.session_id:
        del head["agentId"]
    if is_timestamp(head.get("createdAt")):
        session.start = head["createdAt"]
    if type(head.get("lastUsedModel")) is str and head["lastUsedModel"] != _DEFAULT_MODEL:
        session.models[head["lastUsedModel"]] += 1
    session.native = head
    flag_cursor_secrets(session)


def _make_blob_entry(blob_id: str, value: Any, session: SessionBuilder) -> JsonObject:
    """Turn a blob into a message, or an event if it is none."""
    message = parse_json_text(value)
    if type(message) is not dict or type(message.get("role")) is not str:
        return _make_key_event("blob", blob_id, value)
    return make_cursor_message_entry(message, session) | {"id": blob_id}


def _make_repeat_entry(blob_id: str, entry: JsonObject) -> JsonObject:
    """Make the entry that refers to the earlier entry of a blob."""
    members = {name: entry[name] for name in CURSOR_REPEAT_MEMBERS if name in entry}
    return members | {"vacr": {"repeats": blob_id}}


def make_cursor_message_entry(message: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a message in the form of the AI SDK into an entry."""
    role = message.pop("role")
    if role not in CURSOR_BLOB_ROLES:
        return {"type": "system-event", "event-type": role, "data": message}
    entry: JsonObject = {"type": CURSOR_BLOB_ROLES[role]}
    if role != entry["type"]:
        entry["role"] = role
    content = message.pop("content", None)
    if content is not None:
        entry["content"] = content
    if views := build_child_entries(content, session.drift.types, session.drift.members):
        entry["children"] = views
    model = _find_block_model(content)
    if model is not None:
        entry["model-id"] = model
        session.models[model] += 1
    return add_remaining_members(entry, message)


def _find_block_model(content: Any) -> str | None:
    """Return the model in Cursor's own notes about a block, or None."""
    for block in content if type(content) is list else ():
        options = block.get("providerOptions") if type(block) is dict else None
        notes = options.get("cursor") if type(options) is dict else None
        if type(notes) is dict and type(notes.get("modelName")) is str:
            model: str = notes["modelName"]
            return model
    return None


def _add_pending_entries(root: bytes, session: SessionBuilder) -> None:
    """Add the messages in progress; the root holds them itself."""
    for field, data in parse_protobuf_fields(root):
        if field != CURSOR_ROOT_PENDING_FIELD:
            continue
        message = parse_json_text(data.decode("utf-8", "replace"))
        if type(message) is dict and type(message.get("role")) is str:
            entry = make_cursor_message_entry(message, session)
            session.entries.append(entry | {"vacr": entry.get("vacr", {}) | {"pending": True}})


def _decode_row_bytes(value: Any) -> bytes:
    """Return the bytes of a value, which an export has as text or in base64; else no bytes."""
    if type(value) is dict and type(value.get("base64")) is str:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, binascii.Error):
            return b""
    return value.encode() if type(value) is str else b""


# --- Values ---


def parse_folder_uri(uri: str | bytes) -> str:
    """Return the path of a folder's URI; a URI of another machine stays as it is."""
    text = uri.decode("utf-8", "replace") if isinstance(uri, bytes) else uri
    if not text.startswith("file://"):
        return text
    path = unquote(text.removeprefix("file://"))
    if _WINDOWS_DRIVE.match(path):
        return path[1:]
    return path if path.startswith("/") else f"//{path}"


def parse_protobuf_fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the length-delimited fields of a protobuf message, up to the first invalid byte.

    Each comes as its number and its bytes.
    """
    position = 0
    while position < len(data):
        key, position = _decode_varint(data, position)
        wire_type = key & 7
        if wire_type == _WIRE_VARINT:
            _, position = _decode_varint(data, position)
        elif wire_type in (_WIRE_FIXED64, _WIRE_FIXED32):
            position += 8 if wire_type == _WIRE_FIXED64 else 4
        elif wire_type == _WIRE_BYTES:
            length, position = _decode_varint(data, position)
            if not 0 <= length <= len(data) - position:
                return
            yield key >> 3, data[position : position + length]
            position += length
        else:
            return


def _decode_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number and the position after it; an endless one is -1, at the end of the data."""
    value = shift = 0
    while position < len(data):
        if shift == 7 * _MAX_VARINT_BYTES:
            return -1, len(data)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < _VARINT_CONTINUES:
            break
        shift += 7
    return value, position
