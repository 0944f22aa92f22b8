"""The conversations of Cursor's editor, from the rows of its `state.vscdb`. Step: read.

`composerData:<id>` describes a conversation and names its bubbles in order; each bubble is a row of
its own (older versions keep them inside). A bubble becomes an entry; its thinking and its tool call
are taken out of it and become children. JSON that a bubble holds as text is read, and the text
dropped where it comes out of the value again.

The conversations of Cursor's command line, from the blobs of its `store.db`. Step: read.

Blobs are named by their digest. A root, in protobuf, names the messages in order: field 1 repeats
the digests of JSON messages. Blobs that are not among them (older roots, file contents, what was
compacted away) are kept as events.

The rows of Cursor's databases on their way into a record. Step: read.

Rows that make up the conversation are taken by their keys. Whatever else there is becomes an event
behind it: rows of other tables, columns that are not known, a key that is there again, lines that
are no rows.
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
    decode_exact_json,
    get_exported_session_id,
    get_extra_head_members,
    is_export_row,
)
from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    SourceNotice,
    add_remaining_members,
    get_writable_marks,
    is_count,
    is_one_of,
    keep_native_members,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries, encode_native_json, is_timestamp

CURSOR_BUBBLE_MOVES = Lift(Move("bubbleId", "id"), Move("createdAt", "timestamp", None))
CURSOR_CHAT_BUBBLE_MOVES = Lift(Move("id", "id"), Move("modelType", "model-id"))
CURSOR_CONTENT_MEMBERS = (("content", list), ("text", str), ("rawText", str))
"""Where a bubble has what was said: in the first of these that is no empty text."""
CURSOR_BUBBLE_TYPES = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}
CURSOR_CALL_MOVES = Lift(Move("name", "name"), Move("toolCallId", "call-id"))
CURSOR_USAGE_COUNTERS = (("input", "inputTokens"), ("output", "outputTokens"))
CURSOR_SECRET_MEMBERS = ("blobEncryptionKey", "speculativeSummarizationEncryptionKey")
_WINDOWS_DRIVE = re.compile(r"/[A-Za-z]:")


def parse_json_text(value: Any) -> Any:
    """Read a value that may be JSON as text."""
    if type(value) is str and value[:1] in ("{", "["):
        return next(iter(decode_exact_json(value.encode())), value)
    return value


def parse_folder_uri(uri: str | bytes) -> str:
    """Give the folder that an address names; one that is not on this machine stays an address."""
    text = uri.decode("utf-8", "replace") if isinstance(uri, bytes) else uri
    if not text.startswith("file://"):
        return text
    path = unquote(text.removeprefix("file://"))
    if _WINDOWS_DRIVE.match(path):
        return path[1:]
    return path if path.startswith("/") else f"//{path}"


def add_composer_entries(rows: dict[str, Any], session: SessionBuilder) -> None:
    """Make the entries of a conversation of its rows, by key."""
    key, prefix = f"composerData:{session.session_id}", f"bubbleId:{session.session_id}:"
    composer = _parse_object(rows.get(key))
    if composer is not None:
        del rows[key]
    bubbles = {
        name: bubble
        for name in rows
        if name.startswith(prefix) and (bubble := _parse_object(rows[name])) is not None
    }
    composer = {} if composer is None else composer
    for bubble, said in _order_bubbles(
        composer, {name.removeprefix(prefix): bubble for name, bubble in bubbles.items()}
    ):
        session.entries.append(make_bubble_entry(bubble, session))
        if said is not None:
            keep_native_members(session.entries[-1], {"bubbleId": said})
    session.entries += [
        _make_row_event(name, parse_json_text(value))
        for name, value in rows.items()
        if name not in bubbles
    ]
    _learn_composer_session(composer, session)


def _parse_object(value: Any) -> JsonObject | None:
    """Read a value that should be an object as text; bytes that are no text are none."""
    found = parse_json_text(value) if type(value) is str else None
    return found if type(found) is dict else None


def add_chat_entries(chat: JsonObject, session: SessionBuilder) -> None:
    """Make the entries of a chat of the versions before the composer; it describes the session,
    unless something else does.
    """
    bubbles = chat.pop("bubbles") if type(chat.get("bubbles")) is list else []
    session.entries += [make_bubble_entry(bubble, session) for bubble in bubbles]
    if session.native:
        session.entries.append({"type": "system-event", "event-type": "chatdata", "data": chat})
    else:
        session.native = chat


def _make_row_event(key: str, value: Any) -> JsonObject:
    """Keep a row that is no bubble."""
    return {
        "type": "system-event",
        "event-type": key.partition(":")[0],
        "data": {"key": key, "value": value},
    }


def _order_bubbles(composer: JsonObject, bubbles: dict[str, JsonObject]) -> list[tuple[Any, Any]]:
    """Give the bubbles in the order of the conversation; those that it does not name follow by
    time.

    What a bubble calls itself comes with it, where it is kept under another name.
    """
    inline = composer.get("conversation")
    found = (
        [(bubble, None) for bubble in composer.pop("conversation")] if type(inline) is list else []
    )
    headers = composer.get("fullConversationHeadersOnly")
    older = composer.get("conversationMap")
    for header in headers if type(headers) is list else ():
        name = header.get("bubbleId") if type(header) is dict else None
        if type(name) is str and name in bubbles:
            found.append(_set_bubble_id(bubbles.pop(name), name))
        elif type(older) is dict and type(name) is str and type(older.get(name)) is dict:
            found.append(_set_bubble_id(older.pop(name), name))
    if type(older) is dict:
        for name in [
            name for name, bubble in older.items() if type(bubble) is dict and name not in bubbles
        ]:
            bubbles[name] = older.pop(name)
    rest = sorted(bubbles.items(), key=lambda item: (str(item[1].get("createdAt", "")), item[0]))
    return found + [_set_bubble_id(bubble, name) for name, bubble in rest]


def _set_bubble_id(bubble: JsonObject, name: str) -> tuple[JsonObject, Any]:
    """Let a bubble have the name it is kept under."""
    said = bubble.get("bubbleId")
    bubble["bubbleId"] = name
    return bubble, said if said != name else None


def _learn_composer_session(composer: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session; what has no canonical member stays under its own name."""
    if session.session_id and composer.get("composerId") == session.session_id:
        del composer["composerId"]
    for member, end in (("createdAt", False), ("lastUpdatedAt", True)):
        if is_timestamp(composer.get(member)):
            setattr(session, "end" if end else "start", composer[member])
    config = composer.get("modelConfig")
    if (
        not session.models
        and type(config) is dict
        and type(config.get("modelName")) is str
        and config["modelName"] != "default"
    ):
        session.models[config["modelName"]] += 1
    workspace = composer.get("workspaceIdentifier")
    uri = workspace.get("uri") if type(workspace) is dict else None
    if type(uri) is dict and type(uri.get("fsPath")) is str:
        session.working_dir = uri["fsPath"]
    info = composer.get("subagentInfo")
    if type(info) is dict and type(info.get("parentComposerId")) is str:
        session.parent, session.mode = info["parentComposerId"], "autonomous"
    session.native = composer
    flag_cursor_secrets(session)


def flag_cursor_secrets(session: SessionBuilder) -> None:
    """Tell where keys stand that open what Cursor keeps encrypted."""
    for member in CURSOR_SECRET_MEMBERS:
        if session.native.get(member):
            session.secrets.append(f"/session/{member}")
            session.notices.append(
                SourceNotice(
                    f"holds a key of Cursor's, at /session/{member}: whoever reads the record "
                    "has it"
                )
            )


def make_bubble_entry(bubble: Any, session: SessionBuilder) -> JsonObject:
    """Turn a bubble into an entry."""
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
    beside = _take_thinking(bubble) + _take_tool_call(bubble)
    session.embedded += beside
    if (
        found := build_child_entries(
            entry.get("content"), session.drift.types, session.drift.members
        )
        + beside
    ):
        entry["children"] = found
    return add_remaining_members(entry, bubble)


def _move_content(bubble: JsonObject, entry: JsonObject) -> None:
    """Move what was said; whatever else could have been it stays under its own name."""
    found = [name for name, kind in CURSOR_CONTENT_MEMBERS if type(bubble.get(name)) is kind]
    if found:
        name = next((name for name in found if bubble[name] != ""), found[0])
        entry["content"] = bubble.pop(name)
        if name == "rawText":
            get_writable_marks(entry)["content-from"] = name


def _learn_from_bubble(bubble: JsonObject, entry: JsonObject, session: SessionBuilder) -> None:
    """Learn from a bubble which model spoke, what it cost, and where the editor was."""
    model = bubble.get("modelInfo")
    if (
        type(model) is dict
        and type(model.get("modelName")) is str
        and model["modelName"] != "default"
    ):
        entry.setdefault("model-id", model["modelName"])
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
    places = bubble.get("workspaceUris")
    if session.working_dir is None and type(places) is list and places and type(places[0]) is str:
        session.working_dir = parse_folder_uri(places[0])


def _take_thinking(bubble: JsonObject) -> list[JsonObject]:
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
    """Part a tool call from its result; what else is known about it stays with the bubble."""
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
    given = next((name for name in ("result", "error") if tool.get(name) is not None), None)
    if given is None:
        return [call]
    result: JsonObject = {"type": "tool-result", "output": _take_json_member(tool, given)}
    if "call-id" in call:
        result["call-id"] = call["call-id"]
    if type(tool.get("status")) is str:
        result["status"] = tool["status"]
    if given == "error" or is_one_of(tool.get("status"), ("error",)):
        result["is-error"] = True
    return [call, result]


def _take_json_member(holder: JsonObject, member: str) -> Any:
    """Read a member that may be JSON as text; the text stays if it does not come out of the value
    again.
    """
    text = holder[member]
    value = parse_json_text(text)
    if type(text) is not str or value is text or encode_native_json(value) == text.encode():
        del holder[member]
    return value


CURSOR_ROOT_MESSAGES_FIELD, CURSOR_ROOT_PENDING_FIELD, CURSOR_ROOT_WORKSPACES_FIELD = 1, 4, 9
"""Fields of the root: digests of messages, messages that are being worked on, and folders."""
CURSOR_BLOB_ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}
CURSOR_REPEAT_MEMBERS = ("type", "event-type", "role")
"""What an entry says that only names another: who spoke."""

_WIRE_VARINT, _WIRE_FIXED64, _WIRE_BYTES, _WIRE_FIXED32 = 0, 1, 2, 5
_DIGEST_BYTES = 32
_MAX_VARINT_BYTES = 10


def add_blob_entries(meta: dict[str, Any], blobs: dict[str, Any], session: SessionBuilder) -> None:
    """Make the entries of a conversation of its rows."""
    head = _parse_session_head(meta.get("0"))
    session.entries += [
        _make_kept_event("meta", key, value)
        for key, value in meta.items()
        if key != "0" or head is None
    ]
    head = head or {}
    _learn_store_session(head, session)
    named = head.get("latestRootBlobId")
    root = _decode_row_bytes(blobs.get(named) if type(named) is str else None)
    said: dict[str, JsonObject] = {}
    for field, data in parse_protobuf_fields(root):
        if (
            field == CURSOR_ROOT_MESSAGES_FIELD
            and len(data) == _DIGEST_BYTES
            and (name := data.hex()) in blobs
        ):
            # What was said twice in the same words is one blob: it is there once, and where it is
            # named again is told.
            entry = (
                _make_repeat_entry(name, said[name])
                if name in said
                else _make_blob_entry(name, blobs[name], session)
            )
            said.setdefault(name, entry)
            session.entries.append(entry)
        elif field == CURSOR_ROOT_WORKSPACES_FIELD and session.working_dir is None:
            session.working_dir = parse_folder_uri(data)
    _add_pending_entries(root, session)
    session.entries += [
        _make_kept_event("blob", key, blobs[key]) for key in sorted(blobs.keys() - said.keys())
    ]


def parse_protobuf_fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the length-delimited fields of a protobuf message; what is no protobuf gives none from
    there on.
    """
    position = 0
    while position < len(data):
        key, position = _decode_varint(data, position)
        kind = key & 7
        if kind == _WIRE_VARINT:
            _, position = _decode_varint(data, position)
        elif kind in (_WIRE_FIXED64, _WIRE_FIXED32):
            position += 8 if kind == _WIRE_FIXED64 else 4
        elif kind == _WIRE_BYTES:
            length, position = _decode_varint(data, position)
            if not 0 <= length <= len(data) - position:
                return
            yield key >> 3, data[position : position + length]
            position += length
        else:
            return


def _decode_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a number; one that does not end within its longest form is none, and neither is what
    follows.
    """
    value = shift = 0
    while position < len(data):
        if shift == 7 * _MAX_VARINT_BYTES:
            return -1, len(data)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says more follows
            break
        shift += 7
    return value, position


def _parse_session_head(value: Any) -> JsonObject | None:
    """Read the one row that describes the session: JSON in hexadecimal."""
    if type(value) is not str:
        return None
    try:
        text = bytes.fromhex(value).decode()
    except (ValueError, UnicodeDecodeError):
        text = value
    head = parse_json_text(text)
    return head if type(head) is dict else None


def _learn_store_session(head: JsonObject, session: SessionBuilder) -> None:
    if session.session_id and head.get("agentId") == session.session_id:
        del head["agentId"]
    if is_timestamp(head.get("createdAt")):
        session.start = head["createdAt"]
    if type(head.get("lastUsedModel")) is str and head["lastUsedModel"] != "default":
        session.models[head["lastUsedModel"]] += 1
    session.native = head
    flag_cursor_secrets(session)


def _make_blob_entry(identity: str, value: Any, session: SessionBuilder) -> JsonObject:
    """Turn a message into an entry; what is none is kept as it is."""
    message = parse_json_text(value)
    if type(message) is not dict or type(message.get("role")) is not str:
        return _make_kept_event("blob", identity, value)
    return make_cursor_message_entry(message, session) | {"id": identity}


def _make_repeat_entry(identity: str, entry: JsonObject) -> JsonObject:
    """Name a blob that has its entry."""
    return {name: entry[name] for name in CURSOR_REPEAT_MEMBERS if name in entry} | {
        "vacr": {"repeats": identity}
    }


def make_cursor_message_entry(message: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a message of the AI SDK into an entry."""
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
    """Find the model in what Cursor notes about a block."""
    for block in content if type(content) is list else ():
        options = block.get("providerOptions") if type(block) is dict else None
        cursor = options.get("cursor") if type(options) is dict else None
        if type(cursor) is dict and type(cursor.get("modelName")) is str:
            name: str = cursor["modelName"]
            return name
    return None


def _add_pending_entries(root: bytes, session: SessionBuilder) -> None:
    """Add the messages that were being worked on: they are no blobs yet."""
    for field, data in parse_protobuf_fields(root):
        message = (
            parse_json_text(data.decode("utf-8", "replace"))
            if field == CURSOR_ROOT_PENDING_FIELD
            else None
        )
        if type(message) is dict and type(message.get("role")) is str:
            entry = make_cursor_message_entry(message, session)
            session.entries.append(entry | {"vacr": entry.get("vacr", {}) | {"pending": True}})


def _make_kept_event(kind: str, key: str, value: Any) -> JsonObject:
    return {
        "type": "system-event",
        "event-type": kind,
        "data": {"key": key, "value": parse_json_text(value)},
    }


def _decode_row_bytes(value: Any) -> bytes:
    """Give the bytes of a row's value, which an export has as text or in base64."""
    if type(value) is dict and type(value.get("base64")) is str:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, binascii.Error):
            return b""
    return value.encode() if type(value) is str else b""


CURSOR_EXPORT_TABLES = {
    "cursor-vscdb": {"cursorDiskKV": ("key", "value")},
    "cursor-store": {"meta": ("key", "value"), "blobs": ("id", "data")},
}
"""Format → its tables of keys and values, and the columns that hold them."""
CURSOR_CHAT_TABLE = "chatdata"


def is_cursor_export_head(value: Any) -> bool:
    """Tell whether a value is the first line of an export of one of Cursor's databases."""
    return type(value) is dict and is_one_of(value.get(EXPORT_HEAD_MEMBER), CURSOR_EXPORT_TABLES)


def add_database_entries(source: Source, session: SessionBuilder) -> None:
    """Make entries of the rows of a database."""
    rows = _ExportRows(session)
    for line, batch in source.main.documents():
        for document in batch:
            rows.take(line, document)
    if session.format_id == "cursor-store":
        add_blob_entries(rows.keyed["meta"], rows.keyed["blobs"], session)
    else:
        add_composer_entries(rows.keyed["cursorDiskKV"], session)
        for chat in rows.chats:
            add_chat_entries(chat, session)
    session.entries += rows.beside


class _ExportRows:
    """The rows of one export."""

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.keyed: dict[str, dict[str, Any]] = {}
        self.chats: list[JsonObject] = []
        self.beside: list[JsonObject] = []

    def take(self, line: int, document: Any) -> None:
        """Take one line of the export; the first names the format and the session."""
        if isinstance(document, RepairedValue):
            self.session.repaired.append(document.reason)
            document = document.value
        if is_export_row(document):
            self.take_row(document["table"], document["row"])
        elif is_cursor_export_head(document):
            self.take_head(document)
        else:
            self.beside.append(self.session.make_unusual_event(line, document))

    def take_head(self, head: JsonObject) -> None:
        """Take the first line; one that comes again, or that says more, is kept."""
        is_first = not self.keyed
        if is_first:
            self.session.format_id = head[EXPORT_HEAD_MEMBER]
            self.keyed = {table: {} for table in CURSOR_EXPORT_TABLES[self.session.format_id]}
            self.session.session_id = get_exported_session_id(head) or self.session.session_id
        if not is_first or get_extra_head_members(head):
            self.keep(EXPORT_HEAD_MEMBER, head)

    def take_row(self, table: str, row: JsonObject) -> None:
        """Take one row by its key."""
        if table == CURSOR_CHAT_TABLE and self.session.format_id == "cursor-vscdb":
            self.chats.append(row)
            return
        key, value = CURSOR_EXPORT_TABLES[self.session.format_id].get(table, ("", ""))
        if type(row.get(key)) is not str or value not in row or row[key] in self.keyed[table]:
            self.keep(table, row)
            return
        self.keyed[table][row[key]] = row.pop(value)
        if len(row) > 1:
            self.keep(table, row)

    def keep(self, table: str, row: JsonObject) -> None:
        """Keep a row as it is."""
        self.beside.append({"type": "system-event", "event-type": table, "data": row})
