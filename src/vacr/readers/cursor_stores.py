"""Where Cursor keeps conversations in databases: the editor's `state.vscdb`, the command line's `store.db`. Step: read.

What the editor keeps of no conversation in particular (drafts, the layout of its windows, contents that no row names) is not
part of any; nor are the blobs that its agent keeps by digest alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from vacr.model import Native
from vacr.readers.cursor_blobs import WORKSPACES, fields
from vacr.readers.cursor_bubbles import folder_of
from vacr.readers.export import Listed, Query
from vacr.readers.lines import exact

# Kinds of rows that name the conversation after the first colon, and what they are about after the last.
KINDS = ("bubbleId", "messageRequestContext", "checkpointId", "codeBlockDiff", "codeBlockPartialInlineDiffFates")
FILES = "ofsContent"
"""A kind of rows that are about a file, whose address has colons of its own."""
CHATS = ("workbench.panel.aichat.view.aichat.chatdata", "workbench.panel.chat.view.chat.chatdata")
"""Where versions before the composer keep their chats, all in one value."""
_CONTENT = re.compile(r"composer\.content\.[0-9a-f]{64}")
_USER = 1


class _Editor:
    """The editor's database: keys and values."""

    format_id = "cursor-vscdb"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables may be the editor's."""
        return "ItemTable" in tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """List the conversations that have any bubbles, then the chats of versions before."""
        if _has(query, "cursorDiskKV"):
            # The keys come from the index; what the bubbles say is not looked at.
            named = {name for row in query(_KEYS, "bubbleId:", "bubbleId;") if (name := _conversation(row["key"]))}
            for row in query(*_beginning("composerData:")):
                name = row["key"].partition(":")[2] if type(row["key"]) is str else ""
                composer = _object(row["value"])
                unknown = not composer and row["value"] != "{}"
                if unknown or any(composer.get(member) for member in _BUBBLES) or _has_bubbles(query, name):
                    yield _listed(query, name, composer)
                named.discard(name)
            yield from (Listed(name) for name in sorted(named) if _has_bubbles(query, name))
        for identity, tab in dict(_tabs(query)).items():
            title = tab.get("chatTitle")
            yield Listed(identity, title if type(title) is str else "", start=tab.get("lastSendTime"))

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give the rows of a conversation by key, and the file contents that they name."""
        found: list[Native] = []
        if _has(query, "cursorDiskKV"):
            found += query(*_row(f"composerData:{session_id}"))
            for kind in KINDS:
                rows = query(*_beginning(f"{kind}:{session_id}:"))
                found += [row for row in rows if _conversation(row["key"]) == session_id]
            found += query(*_beginning(f"{FILES}:{session_id}:"))
            said = [row["value"] for row in found if type(row["value"]) is str]
            for name in sorted({name for value in said for name in _CONTENT.findall(value)}):
                found += query(*_row(name))
        if found and _has(query, "composerHeaders"):
            heads = query("SELECT * FROM composerHeaders WHERE composerId = ?", session_id)
            yield from (("composerHeaders", row) for row in heads)
        yield from (("cursorDiskKV", row) for row in found)
        yield from _chat_rows(query, session_id)


class _CommandLine:
    """The command line's database: one for each session."""

    format_id = "cursor-store"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is the command line's."""
        return {"blobs", "meta"} <= tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """Give the one session; its id is said in hexadecimal JSON, or it has none."""
        head: Native = {}
        for row in query("SELECT value FROM meta WHERE key = '0'"):
            head = _object(_unhexed(row["value"]))
        identity, title = head.get("agentId"), head.get("name")
        yield Listed(
            identity if type(identity) is str else "",
            title if type(title) is str else "",
            _workspace(query, head.get("latestRootBlobId")),
            start=head.get("createdAt"),
            alone=True,
        )

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give all rows: the database holds nothing else."""
        del session_id
        yield from (("meta", row) for row in query("SELECT key, value FROM meta ORDER BY key, value"))
        yield from (("blobs", row) for row in query("SELECT id, data FROM blobs ORDER BY id, data"))


DATABASES = (_CommandLine(), _Editor())

_BUBBLES = ("conversation", "fullConversationHeadersOnly", "conversationMap")
_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key"


def _has(query: Query, table: str) -> bool:
    return any(True for _ in query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))


def _row(key: str) -> tuple[str, str]:
    """Ask for one row."""
    return "SELECT key, value FROM cursorDiskKV WHERE key = ? AND value IS NOT NULL", key


def _beginning(prefix: str) -> tuple[str, str, str]:
    """Ask for the rows whose keys begin so, in order of their keys; what begins so ends before the next letter does."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    statement = "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
    return statement, prefix, end


def _has_bubbles(query: Query, name: str) -> bool:
    statement = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
    return any(_conversation(row["key"]) == name for row in query(statement, f"bubbleId:{name}:", f"bubbleId:{name};"))


def _conversation(key: Any) -> str:
    """Tell whose a row is: its name stands between the first colon and the last, and may hold anything."""
    return key.partition(":")[2].rpartition(":")[0] if type(key) is str else ""


def _listed(query: Query, name: str, composer: Native) -> Listed:
    """Tell what a conversation says about itself."""
    workspace, info = composer.get("workspaceIdentifier"), composer.get("subagentInfo")
    uri = workspace.get("uri") if type(workspace) is dict else None
    project = uri.get("fsPath") if type(uri) is dict else None
    parent = info.get("parentComposerId") if type(info) is dict else None
    return Listed(
        name,
        _title(query, name, composer),
        project if type(project) is str else "",
        composer.get("createdAt"),
        composer.get("lastUpdatedAt"),
        parent if type(parent) is str else None,
    )


def _title(query: Query, name: str, composer: Native) -> str:
    """Give what a conversation is called, or else what was first asked in it."""
    title = composer.get("name")
    if type(title) is str and title.strip():
        return title
    for member in ("conversation", "fullConversationHeadersOnly"):
        bubbles = composer.get(member)
        for bubble in bubbles if type(bubbles) is list else ():
            if type(bubble) is dict and bubble.get("type") == _USER:
                found = [bubble, *(_object(row["value"]) for row in query(*_row(f"bubbleId:{name}:{bubble.get('bubbleId')}")))]
                return next((one["text"] for one in found if type(one.get("text")) is str), "")
    return ""


def _tabs(query: Query) -> Iterator[tuple[str, Native]]:
    """Give the chats of versions before the composer, by their ids."""
    for row in query("SELECT value FROM ItemTable WHERE key IN (?, ?) ORDER BY key", *CHATS):
        tabs = _object(row["value"]).get("tabs")
        for tab in tabs if type(tabs) is list else ():
            if type(tab) is dict and type(tab.get("tabId")) is str:
                yield tab["tabId"], tab


def _chat_rows(query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
    """Give the chat of that id out of the value with all chats, or that value where taking it apart would lose something."""
    table = "chatdata"
    for row in query("SELECT key, value FROM ItemTable WHERE key IN (?, ?) ORDER BY key", *CHATS):
        for whole in exact(row["value"].encode()) if type(row["value"]) is str else ():
            tabs = whole.get("tabs") if type(whole) is dict else None
            for tab in tabs if type(tabs) is list else ():
                if type(tab) is dict and tab.get("tabId") == session_id:
                    yield table, tab
                    # One that has the same id once more is kept beside the first.
                    table = "chatdata-again"
            break
        else:
            tabs = _object(row["value"]).get("tabs")
            if type(tabs) is list and any(type(tab) is dict and tab.get("tabId") == session_id for tab in tabs):
                yield "ItemTable", row


def _workspace(query: Query, root: Any) -> str:
    """Find in the root of a session which folder it is about."""
    for row in query("SELECT CAST(data AS BLOB) AS data FROM blobs WHERE id = ?", root) if type(root) is str else ():
        data = row["data"].encode() if type(row["data"]) is str else row["data"] or b""
        return next((folder_of(value) for field, value in fields(data) if field == WORKSPACES), "")
    return ""


def _object(value: Any) -> Native:
    """Look into a value that should be a JSON object, only to list what there is."""
    try:
        found = msgspec.json.decode(value) if type(value) is str else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        found = None
    return found if type(found) is dict else {}


def _unhexed(value: Any) -> Any:
    try:
        return bytes.fromhex(value).decode() if type(value) is str else value
    except (ValueError, UnicodeDecodeError):
        return value
