"""Cursor's databases: the sessions they hold, and the rows of each.

The editor keeps keys and values in `state.vscdb`. Every row whose key names a conversation belongs
to it, of any kind. The rest of the database is in no record: empty drafts, lists and windows,
other members of a value with chats, and contents that no row of a conversation names.

The command line has a `store.db` for each session.

>>> from vacr.agents.cursor.stores import group_chats_by_id
>>> chats = '{"tabs":[{"tabId":"t-1","bubbles":[]},{"tabId":"t-2","bubbles":[]}]}'
>>> group_chats_by_id(chats)["t-2"]
[{'tabId': 't-2', 'bubbles': []}]
>>> print(group_chats_by_id('{"tabs":'))
None
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from vacr.agents.cursor.databases import (
    CURSOR_CHAT_TABLE,
    CURSOR_ROOT_WORKSPACES_FIELD,
    parse_folder_uri,
    parse_protobuf_fields,
)
from vacr.agents.documents import (
    SELECT_TABLE_NAMES,
    DatabaseQuery,
    ListedSession,
    build_select,
    decode_exact_json,
    list_columns,
)
from vacr.model import JsonObject

CURSOR_COMPOSER_KIND = "composerData"
CURSOR_BUBBLE_KIND = "bubbleId"
CURSOR_AGENT_KINDS = ("agentKv:checkpoint", "agentKv:bubbleCheckpoint")
"""Kinds of rows whose names have a colon of their own."""
CURSOR_CHAT_KEYS = (
    "workbench.panel.aichat.view.aichat.chatdata",
    "workbench.panel.chat.view.chat.chatdata",
)
"""The keys under which versions before the composer keep all their chats in one value."""

_ITEM_TABLE, _EDITOR_TABLE = "ItemTable", "cursorDiskKV"
"""The editor's tables. A trimmed copy of its database may have only one of them."""
_BUBBLE_MEMBERS = ("conversation", "fullConversationHeadersOnly", "conversationMap")
_USER_BUBBLE_TYPE = 1
_CONTENT_KEY = re.compile(r"composer\.content\.[0-9a-f]{64}")

_SELECT_NUMBERED_TABLE = (
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'cursorDiskKV' "
    "AND sql NOT LIKE '%WITHOUT%ROWID%'"
)
_SELECT_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key"
_SELECT_KEYS_WITH_VALUE = (
    "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
)
_SELECT_KEYS_AND_VALUES = (
    "SELECT key, value FROM cursorDiskKV "
    "WHERE key >= ? AND key < ? AND value IS NOT NULL ORDER BY key"
)
_SELECT_LAST_ROW_NUMBER = (
    "SELECT count(*) AS rows, max(rowid) AS last FROM cursorDiskKV WHERE key >= ? AND key < ?"
)
# Steps by the index from each kind of key to the next, past the rows themselves. Keys without a
# kind are mostly contents.
_SELECT_KINDS = """
    WITH RECURSIVE seen(key) AS (
        SELECT min(key) FROM cursorDiskKV WHERE key < x''
        UNION ALL
        SELECT (SELECT min(key) FROM cursorDiskKV WHERE key < x'' AND key > max(seen.key, CASE
            WHEN instr(seen.key, ':') THEN substr(seen.key, 1, instr(seen.key, ':') - 1) || ';'
            WHEN seen.key LIKE 'composer.content.%' THEN 'composer.content/'
            ELSE seen.key END))
        FROM seen WHERE seen.key IS NOT NULL
    )
    SELECT substr(key, 1, instr(key, ':') - 1) AS kind FROM seen
    WHERE instr(key, ':') AND key NOT LIKE 'agentKv:%'
"""


class _EditorDatabase:
    """The editor's database: keys and values."""

    format_id = "cursor-vscdb"

    def knows(self, tables: frozenset[str]) -> bool:
        """Return whether a database with these tables may be the editor's."""
        return not {_ITEM_TABLE, _EDITOR_TABLE}.isdisjoint(tables)

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """List the conversations that have bubbles, then the chats of earlier versions."""
        seen = set()
        for listed in itertools.chain(_list_composers(query), _list_chats(query)):
            if listed.session_id not in seen:
                seen.add(listed.session_id)
                yield listed

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the rows of a conversation by key, and the file contents that they name."""
        rows: list[tuple[str, JsonObject]] = []
        if _has_table(query, _EDITOR_TABLE):
            rows += ((_EDITOR_TABLE, row) for row in _select_own_rows(query, session_id))
        texts = [row["value"] for _, row in rows if type(row["value"]) is str]
        for key in sorted({key for text in texts for key in _CONTENT_KEY.findall(text)}):
            contents = _select_rows(query, _EDITOR_TABLE, "WHERE key = ?", key)
            rows += ((_EDITOR_TABLE, row) for row in contents)
        rows += _select_chat_rows(query, session_id)
        for table in _list_tables(query) if rows else ():
            if "composerId" in list_columns(query, table):
                for row in _select_rows(query, table, "WHERE composerId = ?", session_id):
                    yield table, row
        yield from rows

    def compute_change_mark(self, query: DatabaseQuery, session_id: str) -> object:
        """Return the count of a conversation's rows and their last number.

        Writing a row gives it another number. Return None if the table has no row numbers.
        """
        if not query.once(_has_row_numbers):
            return None
        bubbles = f"{CURSOR_BUBBLE_KIND}:{session_id}"
        composer = f"{CURSOR_COMPOSER_KIND}:{session_id}"
        return [
            *query(_SELECT_LAST_ROW_NUMBER, f"{bubbles}:", f"{bubbles};"),
            *query(_SELECT_LAST_ROW_NUMBER, composer, f"{composer}\0"),
        ]


class _CommandLineDatabase:
    """The command line's database: one for each session."""

    format_id = "cursor-store"

    def knows(self, tables: frozenset[str]) -> bool:
        """Return whether a database with these tables is the command line's."""
        return {"blobs", "meta"} <= tables

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Yield the one session; its id, if it has one, is in JSON in hexadecimal."""
        head: JsonObject = {}
        for row in query("SELECT value FROM meta WHERE key = '0'"):
            head = _decode_object(_decode_hex(row["value"]))
        session_id, title = head.get("agentId"), head.get("name")
        yield ListedSession(
            session_id if type(session_id) is str else "",
            title if type(title) is str else "",
            _find_workspace(query, head.get("latestRootBlobId")),
            start=head.get("createdAt"),
            alone=True,
        )

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield each row of each table, after the name of the table.

        The database has only one session, so `session_id` is not used.
        """
        del session_id
        for table in _list_tables(query):
            for row in _select_rows(query, table):
                yield table, row

    def compute_change_mark(self, query: DatabaseQuery, session_id: str) -> object:
        """Return None: any change of the file is a change of the session."""
        del query, session_id
        return None


DATABASES = (_CommandLineDatabase(), _EditorDatabase())


# --- Conversations of the editor ---


def _list_composers(query: DatabaseQuery) -> Iterator[ListedSession]:
    """Yield the conversations that have bubbles, also conversations without a row of their own."""
    if not _has_table(query, _EDITOR_TABLE):
        return
    # The keys come from the index, without a look at the bubbles themselves.
    unlisted = {
        session_id
        for row in query(_SELECT_KEYS, *_get_kind_bounds(CURSOR_BUBBLE_KIND))
        if (session_id := _get_conversation_id(row["key"]))
    }
    for row in query(_SELECT_KEYS_AND_VALUES, *_get_kind_bounds(CURSOR_COMPOSER_KIND)):
        session_id = row["key"].partition(":")[2] if type(row["key"]) is str else ""
        composer = _decode_object(row["value"])
        is_unreadable = not composer and row["value"] != "{}"
        has_members = any(composer.get(member) for member in _BUBBLE_MEMBERS)
        if is_unreadable or has_members or _has_bubbles(query, session_id):
            yield _make_listed_composer(query, session_id, composer)
        unlisted.discard(session_id)
    for session_id in sorted(unlisted):
        if _has_bubbles(query, session_id):
            yield ListedSession(session_id)


def _get_kind_bounds(kind: str) -> tuple[str, str]:
    """Return the bounds of the keys of a kind: the semicolon follows the colon."""
    return f"{kind}:", f"{kind};"


def _has_bubbles(query: DatabaseQuery, session_id: str) -> bool:
    """Return whether a conversation has at least one bubble with a value."""
    bounds = _get_kind_bounds(f"{CURSOR_BUBBLE_KIND}:{session_id}")
    return any(
        _get_conversation_id(row["key"]) == session_id
        for row in query(_SELECT_KEYS_WITH_VALUE, *bounds)
    )


def _get_conversation_id(key: Any) -> str:
    """Return the conversation of a bubble's key: all between the first colon and the last."""
    return key.partition(":")[2].rpartition(":")[0] if type(key) is str else ""


def _make_listed_composer(
    query: DatabaseQuery, session_id: str, composer: JsonObject
) -> ListedSession:
    """Return a conversation as a listed session, from the object that describes it."""
    workspace, info = composer.get("workspaceIdentifier"), composer.get("subagentInfo")
    uri = workspace.get("uri") if type(workspace) is dict else None
    project = uri.get("fsPath") if type(uri) is dict else None
    parent = info.get("parentComposerId") if type(info) is dict else None
    return ListedSession(
        session_id,
        _find_title(query, session_id, composer),
        project if type(project) is str else "",
        composer.get("createdAt"),
        composer.get("lastUpdatedAt"),
        parent if type(parent) is str else None,
    )


def _find_title(query: DatabaseQuery, session_id: str, composer: JsonObject) -> str:
    """Return the name of a conversation, or else its first prompt; empty without either."""
    title = composer.get("name")
    if type(title) is str and title.strip():
        return title
    for member in ("conversation", "fullConversationHeadersOnly"):
        headers = composer.get(member)
        for header in headers if type(headers) is list else ():
            if type(header) is dict and header.get("type") == _USER_BUBBLE_TYPE:
                rows = query(
                    "SELECT value FROM cursorDiskKV WHERE key = ?",
                    f"{CURSOR_BUBBLE_KIND}:{session_id}:{header.get('bubbleId')}",
                )
                bubbles = [header, *(_decode_object(row["value"]) for row in rows)]
                texts = (bubble["text"] for bubble in bubbles if type(bubble.get("text")) is str)
                return next(texts, "")
    return ""


def _select_own_rows(query: DatabaseQuery, session_id: str) -> Iterator[JsonObject]:
    """Yield the rows of a conversation: their keys are `KIND:ID`, or begin with `KIND:ID:`."""
    kinds = [row["kind"] for row in query(_SELECT_KINDS) if type(row["kind"]) is str]
    for kind in [*CURSOR_AGENT_KINDS, *kinds]:
        key = f"{kind}:{session_id}"
        yield from _select_rows(query, _EDITOR_TABLE, "WHERE key = ?", key)
        if kind == CURSOR_COMPOSER_KIND:
            continue
        condition = "WHERE key >= ? AND key < ?"
        for row in _select_rows(query, _EDITOR_TABLE, condition, *_get_kind_bounds(key)):
            if kind != CURSOR_BUBBLE_KIND or _get_conversation_id(row["key"]) == session_id:
                yield row


# --- Chats of versions before the composer ---


def group_chats_by_id(value: Any) -> dict[str, list[Any]] | None:
    """Split a value with all chats by their ids; return None if that would lose something.

    Chats without an id are together under an empty one.
    """
    parsed = decode_exact_json(value.encode()) if type(value) is str else []
    if not parsed:
        return None if value else {}
    tabs = parsed[0].get("tabs") if type(parsed[0]) is dict else None
    chats: dict[str, list[Any]] = {}
    for tab in tabs if type(tabs) is list else ():
        tab_id = tab.get("tabId") if type(tab) is dict else None
        chats.setdefault(tab_id if type(tab_id) is str else "", []).append(tab)
    return chats


def _read_all_chats(query: DatabaseQuery) -> list[tuple[JsonObject, dict[str, list[Any]] | None]]:
    """Split the values with all chats; a value that cannot be split comes with its row."""
    if not _has_table(query, _ITEM_TABLE):
        return []
    rows = _select_rows(query, _ITEM_TABLE, "WHERE key IN (?, ?)", *CURSOR_CHAT_KEYS)
    return [
        ({}, chats) if (chats := group_chats_by_id(row["value"])) is not None else (row, None)
        for row in rows
    ]


def _list_chats(query: DatabaseQuery) -> Iterator[ListedSession]:
    """List the chats; a value that cannot be split is a session without an id."""
    for _, chats in query.once(_read_all_chats):
        for session_id, tabs in ({"": [{}]} if chats is None else chats).items():
            tab = tabs[0] if type(tabs[0]) is dict else {}
            title = tab.get("chatTitle")
            yield ListedSession(
                session_id, title if type(title) is str else "", start=tab.get("lastSendTime")
            )


def _select_chat_rows(query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the chats with an id, each after its table; for an empty id, chats that have none.

    For an empty id, a value that could not be split into chats comes as a whole row.
    """
    for row, chats in query.once(_read_all_chats):
        if chats is not None:
            for tab in chats.get(session_id, ()):
                yield CURSOR_CHAT_TABLE, tab if type(tab) is dict else {"value": tab}
        elif not session_id:
            yield _ITEM_TABLE, row


# --- Values of the command line ---


def _find_workspace(query: DatabaseQuery, root_id: Any) -> str:
    """Return the folder that the root of a session names, or an empty text."""
    if type(root_id) is not str:
        return ""
    for row in query("SELECT CAST(data AS BLOB) AS data FROM blobs WHERE id = ?", root_id):
        data = row["data"].encode() if type(row["data"]) is str else row["data"] or b""
        for field, value in parse_protobuf_fields(data):
            if field == CURSOR_ROOT_WORKSPACES_FIELD:
                return parse_folder_uri(value)
        return ""
    return ""


def _decode_object(value: Any) -> JsonObject:
    """Decode a JSON object that only a list needs; return an empty one for anything else."""
    try:
        decoded = msgspec.json.decode(value) if type(value) is str else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        decoded = None
    return decoded if type(decoded) is dict else {}


def _decode_hex(value: Any) -> Any:
    """Return the text behind hexadecimal digits; any other value unchanged."""
    try:
        return bytes.fromhex(value).decode() if type(value) is str else value
    except (ValueError, UnicodeDecodeError):
        return value


# --- Tables ---


def _has_table(query: DatabaseQuery, table: str) -> bool:
    """Return whether the database has a table with this name."""
    statement = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return any(True for _ in query(statement, table))


def _has_row_numbers(query: DatabaseQuery) -> bool:
    """Return whether the editor's table has row numbers."""
    return any(True for _ in query(_SELECT_NUMBERED_TABLE))


def _list_tables(query: DatabaseQuery) -> list[str]:
    """Return the names of all tables except SQLite's own."""
    return [
        row["name"]
        for row in query(SELECT_TABLE_NAMES)
        if type(row["name"]) is str and not row["name"].startswith("sqlite_")
    ]


def _select_rows(
    query: DatabaseQuery, table: str, condition: str = "", *parameters: str
) -> list[JsonObject]:
    """Return rows with all columns, sorted by their values.

    `condition` is a WHERE clause, or empty for all rows.
    """
    rows = query(build_select("*", table, condition), *parameters)
    # SQLite would copy every value to sort by it; here a value counts only if the columns before
    # it are equal.
    return sorted(rows, key=lambda row: [(type(value).__name__, value) for value in row.values()])
