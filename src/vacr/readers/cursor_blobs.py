"""The conversations of Cursor's command line, from the blobs of its `store.db`. Step: read.

Blobs are named by their digest. A root, in protobuf, names the messages in order: field 1 repeats
the digests of JSON messages. Blobs that are not among them (older roots, file contents, what was
compacted away) are kept as events.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from vacr.content import children
from vacr.model import Native
from vacr.readers.assemble import Session
from vacr.readers.cursor_bubbles import flag_secrets, folder_of, text_value
from vacr.readers.lift import fill
from vacr.timestamps import is_timestamp

MESSAGES, PENDING, WORKSPACES = 1, 4, 9
"""Fields of the root: digests of messages, messages that are being worked on, and folders."""
ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}
REPEATED = ("type", "event-type", "role")
"""What an entry says that only names another: who spoke."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DIGEST = 32
_LONGEST = 10


def take_blobs(meta: dict[str, Any], blobs: dict[str, Any], session: Session) -> None:
    """Make the entries of a conversation of its rows."""
    head = _head(meta.get("0"))
    session.entries += [
        _kept("meta", key, value) for key, value in meta.items() if key != "0" or head is None
    ]
    head = head or {}
    _describe(head, session)
    named = head.get("latestRootBlobId")
    root = _bytes(blobs.get(named) if type(named) is str else None)
    said: dict[str, Native] = {}
    for field, data in fields(root):
        if field == MESSAGES and len(data) == _DIGEST and (name := data.hex()) in blobs:
            # What was said twice in the same words is one blob: it is there once, and where it is
            # named again is told.
            entry = (
                _again(name, said[name]) if name in said else _message(name, blobs[name], session)
            )
            said.setdefault(name, entry)
            session.entries.append(entry)
        elif field == WORKSPACES and session.working_dir is None:
            session.working_dir = folder_of(data)
    _pending(root, session)
    session.entries += [
        _kept("blob", key, blobs[key]) for key in sorted(blobs.keys() - said.keys())
    ]


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the length-delimited fields of a protobuf message; what is no protobuf gives none from
    there on.
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == _VARINT:
            _, position = _varint(data, position)
        elif kind in (_FIXED64, _FIXED32):
            position += 8 if kind == _FIXED64 else 4
        elif kind == _BYTES:
            length, position = _varint(data, position)
            if not 0 <= length <= len(data) - position:
                return
            yield key >> 3, data[position : position + length]
            position += length
        else:
            return


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a number; one that does not end within its longest form is none, and neither is what
    follows.
    """
    value = shift = 0
    while position < len(data):
        if shift == 7 * _LONGEST:
            return -1, len(data)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says more follows
            break
        shift += 7
    return value, position


def _head(value: Any) -> Native | None:
    """Read the one row that describes the session: JSON in hexadecimal."""
    if type(value) is not str:
        return None
    try:
        text = bytes.fromhex(value).decode()
    except (ValueError, UnicodeDecodeError):
        text = value
    head = text_value(text)
    return head if type(head) is dict else None


def _describe(head: Native, session: Session) -> None:
    if session.session_id and head.get("agentId") == session.session_id:
        del head["agentId"]
    if is_timestamp(head.get("createdAt")):
        session.start = head["createdAt"]
    if type(head.get("lastUsedModel")) is str and head["lastUsedModel"] != "default":
        session.models[head["lastUsedModel"]] += 1
    session.native = head
    flag_secrets(session)


def _message(identity: str, value: Any, session: Session) -> Native:
    """Turn a message into an entry; what is none is kept as it is."""
    message = text_value(value)
    if type(message) is not dict or type(message.get("role")) is not str:
        return _kept("blob", identity, value)
    return message_entry(message, session) | {"id": identity}


def _again(identity: str, entry: Native) -> Native:
    """Name a blob that has its entry."""
    return {name: entry[name] for name in REPEATED if name in entry} | {
        "vacr": {"repeats": identity}
    }


def message_entry(message: Native, session: Session) -> Native:
    """Turn a message of the AI SDK into an entry."""
    role = message.pop("role")
    if role not in ROLES:
        return {"type": "system-event", "event-type": role, "data": message}
    entry: Native = {"type": ROLES[role]}
    if role != entry["type"]:
        entry["role"] = role
    content = message.pop("content", None)
    if content is not None:
        entry["content"] = content
    if views := children(content, session.drift.types, session.drift.members):
        entry["children"] = views
    model = _model(content)
    if model is not None:
        entry["model-id"] = model
        session.models[model] += 1
    return fill(entry, message)


def _model(content: Any) -> str | None:
    """Find the model in what Cursor notes about a block."""
    for block in content if type(content) is list else ():
        options = block.get("providerOptions") if type(block) is dict else None
        cursor = options.get("cursor") if type(options) is dict else None
        if type(cursor) is dict and type(cursor.get("modelName")) is str:
            name: str = cursor["modelName"]
            return name
    return None


def _pending(root: bytes, session: Session) -> None:
    """Add the messages that were being worked on: they are no blobs yet."""
    for field, data in fields(root):
        message = text_value(data.decode("utf-8", "replace")) if field == PENDING else None
        if type(message) is dict and type(message.get("role")) is str:
            entry = message_entry(message, session)
            session.entries.append(entry | {"vacr": entry.get("vacr", {}) | {"pending": True}})


def _kept(kind: str, key: str, value: Any) -> Native:
    return {
        "type": "system-event",
        "event-type": kind,
        "data": {"key": key, "value": text_value(value)},
    }


def _bytes(value: Any) -> bytes:
    """Give the bytes of a row's value, which an export has as text or in base64."""
    if type(value) is dict and type(value.get("base64")) is str:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, binascii.Error):
            return b""
    return value.encode() if type(value) is str else b""
