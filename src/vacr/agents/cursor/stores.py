"""Where Cursor keeps conversations in databases: the editor's `state.vscdb`, the command line's
`store.db`. Step: read.

What names a conversation by its key is part of it, whatever kind of row it is. What the editor
keeps of none in particular is part of no record: drafts in which nothing was said, its lists and
windows, what a value holds beside its chats, and contents that it keeps by digest alone and no row
of a conversation names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from vacr.agents.cursor.databases import (
    CURSOR_ROOT_WORKSPACES_FIELD,
    parse_folder_uri,
    parse_protobuf_fields,
)
from vacr.agents.documents import DatabaseQuery, ListedSession, decode_exact_json
from vacr.model import JsonObject

CURSOR_COMPOSER_KIND = "composerData"
CURSOR_BUBBLE_KIND = "bubbleId"
CURSOR_AGENT_KINDS = ("agentKv:checkpoint", "agentKv:bubbleCheckpoint")
"""Kinds of rows whose names have a colon of their own."""
CURSOR_CHAT_KEYS = (
    "workbench.panel.aichat.view.aichat.chatdata",
    "workbench.panel.chat.view.chat.chatdata",
)
"""Where versions before the composer keep their chats, all in one value."""
_CONTENT_KEY = re.compile(r"composer\.content\.[0-9a-f]{64}")
_USER_BUBBLE_TYPE = 1


class _EditorDatabase:
    """The editor's database: keys and values."""

    format_id = "cursor-vscdb"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables may be the editor's."""
        return "ItemTable" in tables

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """List the conversations that have any bubbles, then the chats of versions before."""
        seen = set()
        for listed in itertools.chain(self._composers(query), _list_chats(query)):
            if listed.session_id not in seen:
                seen.add(listed.session_id)
                yield listed

    def _composers(self, query: DatabaseQuery) -> Iterator[ListedSession]:
        if not _has_table(query, "cursorDiskKV"):
            return
        # The keys come from the index; what the bubbles say is not looked at.
        named = {
            name
            for row in query(_SELECT_KEYS, "bubbleId:", "bubbleId;")
            if (name := _get_conversation_id(row["key"]))
        }
        for row in query(*_build_prefix_query(f"{CURSOR_COMPOSER_KIND}:")):
            name = row["key"].partition(":")[2] if type(row["key"]) is str else ""
            composer = _decode_object(row["value"])
            unknown = not composer and row["value"] != "{}"
            if (
                unknown
                or any(composer.get(member) for member in _BUBBLE_MEMBERS)
                or _has_bubbles(query, name)
            ):
                yield _list_composer(query, name, composer)
            named.discard(name)
        yield from (ListedSession(name) for name in sorted(named) if _has_bubbles(query, name))

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Give the rows of a conversation by key, and the file contents that they name."""
        found = (
            [("cursorDiskKV", row) for row in _select_own_rows(query, session_id)]
            if _has_table(query, "cursorDiskKV")
            else []
        )
        said = [row["value"] for _, row in found if type(row["value"]) is str]
        for name in sorted({name for value in said for name in _CONTENT_KEY.findall(value)}):
            found += (
                ("cursorDiskKV", row)
                for row in _select_rows(query, "cursorDiskKV", "WHERE key = ?", name)
            )
        found += _select_chat_rows(query, session_id)
        for table in _list_tables(query) if found else ():
            if "composerId" in _list_columns(query, table):
                yield from (
                    (table, row)
                    for row in _select_rows(query, table, "WHERE composerId = ?", session_id)
                )
        yield from found

    def sign(self, query: DatabaseQuery, session_id: str) -> object:
        """Tell the bubbles of a conversation by how many there are and the last number: a row that
        is written gets another.
        """
        if not query.once(_has_row_numbers):
            return None
        bubbles = query(
            _SELECT_LAST_ROW_NUMBER,
            f"{CURSOR_BUBBLE_KIND}:{session_id}:",
            f"{CURSOR_BUBBLE_KIND}:{session_id};",
        )
        return [
            *bubbles,
            *query(
                _SELECT_LAST_ROW_NUMBER,
                f"{CURSOR_COMPOSER_KIND}:{session_id}",
                f"{CURSOR_COMPOSER_KIND}:{session_id}\0",
            ),
        ]


class _CommandLineDatabase:
    """The command line's database: one for each session."""

    format_id = "cursor-store"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is the command line's."""
        return {"blobs", "meta"} <= tables

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Give the one session; its id is said in hexadecimal JSON, or it has none."""
        head: JsonObject = {}
        for row in query("SELECT value FROM meta WHERE key = '0'"):
            head = _decode_object(_decode_hex(row["value"]))
        identity, title = head.get("agentId"), head.get("name")
        yield ListedSession(
            identity if type(identity) is str else "",
            title if type(title) is str else "",
            _find_workspace(query, head.get("latestRootBlobId")),
            start=head.get("createdAt"),
            alone=True,
        )

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Give all rows: the database holds nothing else."""
        del session_id
        for table in _list_tables(query):
            yield from ((table, row) for row in _select_rows(query, table))

    def sign(self, query: DatabaseQuery, session_id: str) -> object:
        """Tell nothing: any change of the file is one of the session."""
        del query, session_id
        return None


DATABASES = (_CommandLineDatabase(), _EditorDatabase())

_BUBBLE_MEMBERS = ("conversation", "fullConversationHeadersOnly", "conversationMap")
_SELECT_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key"
_SELECT_LAST_ROW_NUMBER = (
    "SELECT count(*) AS rows, max(rowid) AS last FROM cursorDiskKV WHERE key >= ? AND key < ?"
)
# Goes from each kind of keys to the next by the index, past the rows themselves; what has no kind
# is mostly contents.
_SELECT_KINDS = """
    WITH RECURSIVE seen(key) AS (
        SELECT min(key) FROM cursorDiskKV WHERE key < x''
        UNION ALL
        SELECT (SELECT min(key) FROM cursorDiskKV WHERE key < x'' AND key > max(seen.key, CASE
            WHEN instr(seen.key, ':') THEN substr(seen.key, 1, instr(seen.key, ':') - 1) || ';'
            WHEN seen.key LIKE 'composer.content.%' THEN 'composer.content/'
            ELSE seen.key END))
        FROM seen WHERE seen.key IS NOT NULL
    ) SELECT substr(key, 1, instr(key, ':') - 1) AS kind FROM seen WHERE instr(key, ':') AND key NOT LIKE 'agentKv:%'
"""


def _has_table(query: DatabaseQuery, table: str) -> bool:
    return any(
        True for _ in query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table)
    )


def _has_row_numbers(query: DatabaseQuery) -> bool:
    named = "type = 'table' AND name = 'cursorDiskKV'"
    return any(
        True
        for _ in query(
            f"SELECT 1 FROM sqlite_master WHERE {named} AND sql NOT LIKE '%WITHOUT%ROWID%'"  # noqa: S608
        )
    )


def _list_tables(query: DatabaseQuery) -> list[str]:
    statement = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE "
        "VIRTUAL%' ORDER BY name COLLATE BINARY"
    )
    return [
        row["name"]
        for row in query(statement)
        if type(row["name"]) is str and not row["name"].startswith("sqlite_")
    ]


def _list_columns(query: DatabaseQuery, table: str) -> list[str]:
    return [row["name"] for row in query("SELECT name FROM pragma_table_info(?)", table)]


def _select_rows(
    query: DatabaseQuery, table: str, condition: str = "", *parameters: str
) -> list[JsonObject]:
    """Ask for rows with all their columns, in an order that does not depend on where they lie."""
    rows = query(f"SELECT * FROM {_quote_name(table)} {condition}", *parameters)  # noqa: S608 - a name that the database itself gave
    # SQLite would copy every value to sort by it; it is looked at only where the columns before it
    # do not tell.
    return sorted(rows, key=lambda row: [(type(value).__name__, value) for value in row.values()])


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _select_own_rows(query: DatabaseQuery, session_id: str) -> Iterator[JsonObject]:
    """Give the rows that name a conversation after their kind, and nothing or something else after
    that.
    """
    for kind in [
        *CURSOR_AGENT_KINDS,
        *(row["kind"] for row in query(_SELECT_KINDS) if type(row["kind"]) is str),
    ]:
        name = f"{kind}:{session_id}"
        yield from _select_rows(query, "cursorDiskKV", "WHERE key = ?", name)
        if kind != CURSOR_COMPOSER_KIND:
            for row in _select_rows(
                query, "cursorDiskKV", "WHERE key >= ? AND key < ?", f"{name}:", f"{name};"
            ):
                if kind != CURSOR_BUBBLE_KIND or _get_conversation_id(row["key"]) == session_id:
                    yield row


def _build_prefix_query(prefix: str) -> tuple[str, str, str]:
    """Ask for the rows whose keys begin so, in order of their keys; what begins so ends before the
    next letter does.
    """
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    statement = (
        "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? AND value IS "
        "NOT NULL ORDER BY key"
    )
    return statement, prefix, end


def _has_bubbles(query: DatabaseQuery, name: str) -> bool:
    statement = (
        "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
    )
    return any(
        _get_conversation_id(row["key"]) == name
        for row in query(statement, f"bubbleId:{name}:", f"bubbleId:{name};")
    )


def _get_conversation_id(key: Any) -> str:
    """Tell whose a bubble is: the name stands between the first colon and the last, and may hold
    anything.
    """
    return key.partition(":")[2].rpartition(":")[0] if type(key) is str else ""


def _list_composer(query: DatabaseQuery, name: str, composer: JsonObject) -> ListedSession:
    """Tell what a conversation says about itself."""
    workspace, info = composer.get("workspaceIdentifier"), composer.get("subagentInfo")
    uri = workspace.get("uri") if type(workspace) is dict else None
    project = uri.get("fsPath") if type(uri) is dict else None
    parent = info.get("parentComposerId") if type(info) is dict else None
    return ListedSession(
        name,
        _find_title(query, name, composer),
        project if type(project) is str else "",
        composer.get("createdAt"),
        composer.get("lastUpdatedAt"),
        parent if type(parent) is str else None,
    )


def _find_title(query: DatabaseQuery, name: str, composer: JsonObject) -> str:
    """Give what a conversation is called, or else what was first asked in it."""
    title = composer.get("name")
    if type(title) is str and title.strip():
        return title
    for member in ("conversation", "fullConversationHeadersOnly"):
        bubbles = composer.get(member)
        for bubble in bubbles if type(bubbles) is list else ():
            if type(bubble) is dict and bubble.get("type") == _USER_BUBBLE_TYPE:
                rows = query(
                    "SELECT value FROM cursorDiskKV WHERE key = ?",
                    f"bubbleId:{name}:{bubble.get('bubbleId')}",
                )
                found = [bubble, *(_decode_object(row["value"]) for row in rows)]
                return next((one["text"] for one in found if type(one.get("text")) is str), "")
    return ""


def group_chats_by_id(value: Any) -> dict[str, list[Any]] | None:
    """Take a value with all chats apart, by their ids; give nothing where that would lose
    something.

    Chats that have no id are together under none.
    """
    whole = decode_exact_json(value.encode()) if type(value) is str else []
    if not whole:
        return None if value else {}
    tabs = whole[0].get("tabs") if type(whole[0]) is dict else None
    found: dict[str, list[Any]] = {}
    for tab in tabs if type(tabs) is list else ():
        identity = tab.get("tabId") if type(tab) is dict else None
        found.setdefault(identity if type(identity) is str else "", []).append(tab)
    return found


def _read_all_chats(query: DatabaseQuery) -> list[tuple[JsonObject, dict[str, list[Any]] | None]]:
    """Take the values with all chats apart, each with its row where that cannot be done."""
    rows = _select_rows(query, "ItemTable", "WHERE key IN (?, ?)", *CURSOR_CHAT_KEYS)
    return [
        ({}, found) if (found := group_chats_by_id(row["value"])) is not None else (row, None)
        for row in rows
    ]


def _list_chats(query: DatabaseQuery) -> Iterator[ListedSession]:
    """List the chats of versions before the composer; what cannot be taken apart has no id."""
    for _, found in query.once(_read_all_chats):
        for identity, tabs in ({"": [{}]} if found is None else found).items():
            tab = tabs[0] if type(tabs[0]) is dict else {}
            title = tab.get("chatTitle")
            yield ListedSession(
                identity, title if type(title) is str else "", start=tab.get("lastSendTime")
            )


def _select_chat_rows(query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
    """Give the chats of an id, or of none, out of the values with all chats."""
    for row, found in query.once(_read_all_chats):
        if found is not None:
            yield from (
                ("chatdata", tab if type(tab) is dict else {"value": tab})
                for tab in found.get(session_id, ())
            )
        elif not session_id:
            yield "ItemTable", row


def _find_workspace(query: DatabaseQuery, root: Any) -> str:
    """Find in the root of a session which folder it is about."""
    for row in (
        query("SELECT CAST(data AS BLOB) AS data FROM blobs WHERE id = ?", root)
        if type(root) is str
        else ()
    ):
        data = row["data"].encode() if type(row["data"]) is str else row["data"] or b""
        return next(
            (
                parse_folder_uri(value)
                for field, value in parse_protobuf_fields(data)
                if field == CURSOR_ROOT_WORKSPACES_FIELD
            ),
            "",
        )
    return ""


def _decode_object(value: Any) -> JsonObject:
    """Look into a value that should be a JSON object, only to list what there is."""
    try:
        found = msgspec.json.decode(value) if type(value) is str else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        found = None
    return found if type(found) is dict else {}


def _decode_hex(value: Any) -> Any:
    try:
        return bytes.fromhex(value).decode() if type(value) is str else value
    except (ValueError, UnicodeDecodeError):
        return value
