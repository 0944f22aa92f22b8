"""Where Cursor keeps conversations in databases: the editor's `state.vscdb`, the command line's `store.db`. Step: read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.model import Native
from vacr.readers.export import Listed, Query

# Kinds of rows that name the conversation after the first colon.
PREFIXES = (
    "bubbleId",
    "messageRequestContext",
    "checkpointId",
    "codeBlockDiff",
    "codeBlockPartialInlineDiffFates",
    "ofsContent",
)
CHATS = ("workbench.panel.aichat.view.aichat.chatdata", "workbench.panel.chat.view.chat.chatdata")
"""Where versions before the composer keep their chats, all in one value."""
_CONTENT = re.compile(r"composer\.content\.[0-9a-f]{64}")


class _Editor:
    """The editor's database: keys and values."""

    format_id = "cursor-vscdb"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables may be the editor's."""
        return "ItemTable" in tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """List the conversations that have any bubbles, then the chats of versions before."""
        for row in _between(query, "composerData:"):
            composer = _object(row["value"])
            identity = row["key"].partition(":")[2]
            if composer.get("conversation") or composer.get("fullConversationHeadersOnly") or _has_bubbles(query, identity):
                workspace = composer.get("workspaceIdentifier")
                uri = workspace.get("uri") if type(workspace) is dict else None
                project = uri.get("fsPath") if type(uri) is dict else ""
                title = composer.get("name")
                yield Listed(
                    identity,
                    title if type(title) is str else "",
                    project if type(project) is str else "",
                    composer.get("createdAt"),
                    composer.get("lastUpdatedAt"),
                )
        for tab in _tabs(query):
            title = tab.get("chatTitle")
            yield Listed(tab["tabId"], title if type(title) is str else "")

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give the rows of a conversation by key, and the file contents that they name."""
        found = [row for row in _between(query, f"composerData:{session_id}") if row["key"] == f"composerData:{session_id}"]
        for prefix in PREFIXES:
            found += _between(query, f"{prefix}:{session_id}:")
        named = sorted({name for row in found if type(row["value"]) is str for name in _CONTENT.findall(row["value"])})
        for name in named:
            found += [row for row in _between(query, name) if row["key"] == name]
        yield from (("cursorDiskKV", row) for row in found)
        yield from (("chatdata", tab) for tab in _tabs(query) if tab["tabId"] == session_id)


class _CommandLine:
    """The command line's database: one for each session."""

    format_id = "cursor-store"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is the command line's."""
        return {"blobs", "meta"} <= tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """Give the one session; its id is said in hexadecimal JSON, or it has none."""
        for row in query("SELECT value FROM meta WHERE key = '0'"):
            head = _object(_unhexed(row["value"]))
            identity, title = head.get("agentId"), head.get("name")
            yield Listed(
                identity if type(identity) is str else "", title if type(title) is str else "", start=head.get("createdAt")
            )
            return
        yield Listed("")

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give all rows: the database holds nothing else."""
        del session_id
        yield from (("meta", row) for row in query("SELECT key, value FROM meta ORDER BY key"))
        yield from (("blobs", row) for row in query("SELECT id, CAST(data AS BLOB) AS data FROM blobs ORDER BY id"))


DATABASES = (_CommandLine(), _Editor())


def _between(query: Query, prefix: str) -> Iterable[Native]:
    """Give the rows whose keys begin so, in order of their keys; an editor's database may lack the table."""
    if not list(query("SELECT name FROM sqlite_master WHERE name = 'cursorDiskKV'")):
        return ()
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    statement = (
        "SELECT key, CAST(value AS BLOB) AS value FROM cursorDiskKV WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
    )
    return list(query(statement, prefix, end))


def _has_bubbles(query: Query, identity: str) -> bool:
    return any(True for _ in _between(query, f"bubbleId:{identity}:"))


def _tabs(query: Query) -> Iterator[Native]:
    for key in CHATS:
        for row in query("SELECT CAST(value AS BLOB) AS value FROM ItemTable WHERE key = ?", key):
            tabs = _object(row["value"]).get("tabs")
            yield from (
                tab for tab in (tabs if type(tabs) is list else ()) if type(tab) is dict and type(tab.get("tabId")) is str
            )


def _object(value: Any) -> Native:
    """Look into a value that should be a JSON object, only to list what there is."""
    try:
        found = json.loads(value) if type(value) is str else None
    except (ValueError, RecursionError):
        found = None
    return found if type(found) is dict else {}


def _unhexed(value: Any) -> Any:
    try:
        return bytes.fromhex(value).decode() if type(value) is str else value
    except (ValueError, UnicodeDecodeError):
        return value
