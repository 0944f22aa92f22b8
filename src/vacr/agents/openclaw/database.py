"""OpenClaw's database of one agent: rows with the lines that its session files had before.

Since 2026.9, OpenClaw keeps the sessions of an agent in `openclaw-agent.sqlite`. A row of
`transcript_events` holds one line of a session, in the form of Pi; older rows may be compressed.
`session_windows` has a row for each session, and `session_nodes` one for each conversation. The
columns that are not the line itself stay in the entry's `vacr.event-row`; each other row becomes
an event.

>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.documents import encode_session_rows
>>> from vacr.agents.openclaw.database import OPENCLAW_DATABASE_FORMAT, read_rows
>>> line = '{"type": "message", "id": "a1", "message": {"role": "user", "content": "Hi"}}'
>>> row = {"session_id": "s1", "seq": 1, "event_json": line, "created_at": 1795062112115}
>>> data = encode_session_rows(OPENCLAW_DATABASE_FORMAT, "s1", [("transcript_events", row)])
>>> reading = read_rows(Source((SourcePart("rows.jsonl", data),)), "openclaw")
>>> (entry,) = reading.record["session"]["entries"]
>>> entry["content"], entry["vacr"]["event-row"]
('Hi', {'created_at': 1795062112115, 'seq': 1})
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import DatabaseQuery, ListedSession, parse_json_text
from vacr.agents.labels import (
    HUMAN,
    INFERRED_HUMAN,
    get_writable_marks,
)
from vacr.agents.lift import Reading, drop_nulls
from vacr.agents.openclaw.speakers import separate_words
from vacr.agents.pi_entries import PiReader
from vacr.agents.session_tables import SessionTables, make_row_event, read_exported_rows
from vacr.agents.zstd import decompress_zstd
from vacr.model import JsonObject

OPENCLAW_DATABASE_FORMAT = "openclaw-sqlite"
EVENTS_TABLE = "transcript_events"
NODES_TABLE = "session_nodes"
MAX_LINE_BYTES = 1 << 23
"""OpenClaw compresses lines of up to half of this."""
_COMPRESSION_REASON = "OpenClaw compresses old messages"
_SELECT_WINDOWS = (
    "SELECT session_id, session_key, created_at, updated_at, spawned_by FROM session_windows"
)
_SELECT_CURRENT_SESSIONS = "SELECT session_key, current_session_id FROM session_nodes"
_SELECT_NODES = (
    "SELECT node.* FROM session_nodes AS node JOIN session_windows AS part "
    "ON part.session_key = node.session_key WHERE part.session_id = ?"
)
_MAX_SOUGHT_PROMPTS = 8
"""The first messages of a session are searched for one of a person."""


@dataclass(frozen=True)
class AgentDatabase(SessionTables):
    """The database of one agent of OpenClaw; see `SessionDatabase`."""

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Return the sessions, sorted by id, with their first prompt as the title."""
        known = {listed.session_id: listed for listed in super().sessions(query)}
        windows = list(query(_SELECT_WINDOWS))
        by_key = {
            row["session_key"]: row["current_session_id"] for row in query(_SELECT_CURRENT_SESSIONS)
        }
        for row in windows:
            session_id = row["session_id"]
            if session_id in known:
                parent = by_key.get(row["spawned_by"])
                known[session_id] = ListedSession(
                    session_id,
                    _find_title(query, session_id),
                    _find_folder(query, session_id),
                    row["created_at"],
                    row["updated_at"],
                    parent if type(parent) is str and parent != session_id else None,
                )
        return [known[session_id] for session_id in sorted(known)]

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the rows of a session, and the one of its conversation.

        Raises:
            UnreadableInput: a line is compressed, and the package for that is missing.
        """
        for table, row in super().rows(query, session_id):
            yield table, decode_line(row) if table == EVENTS_TABLE else row
        for row in query(_SELECT_NODES, session_id):
            yield NODES_TABLE, row


OPENCLAW_DATABASE = AgentDatabase(
    OPENCLAW_DATABASE_FORMAT,
    signs=frozenset(
        (
            "transcript_events.event_json",
            "transcript_events.seq",
            "session_windows.session_key",
            "session_nodes.current_session_id",
        )
    ),
    order={EVENTS_TABLE: ("seq",), "session_windows": ()},
    weighed=("event_json", "entry_json"),
)


def _find_title(query: DatabaseQuery, session_id: str) -> str:
    """Return the first words of a person in a session, or an empty text."""
    for line in _find_lines(query, session_id, '%"role":"user"%'):
        message = line.get("message")
        if type(message) is dict and message.get("role") == "user":
            speaker = separate_words({"content": message.get("content")}, INFERRED_HUMAN)
            if speaker.who == HUMAN:
                return speaker.prompt or _join_text(message.get("content"))
    return ""


def _find_folder(query: DatabaseQuery, session_id: str) -> str:
    """Return the folder in a session's header, or an empty text."""
    for line in _find_lines(query, session_id, '%"type":"session"%'):
        if type(line.get("cwd")) is str:
            return str(line["cwd"])
    return ""


def _find_lines(query: DatabaseQuery, session_id: str, pattern: str) -> Iterator[JsonObject]:
    """Yield the first lines of a session that match a pattern and are not compressed."""
    statement = (
        f"SELECT event_json FROM {EVENTS_TABLE} "  # noqa: S608 - our own name
        "WHERE session_id = ? AND event_json LIKE ? ORDER BY seq LIMIT ?"
    )
    for row in query(statement, session_id, pattern, _MAX_SOUGHT_PROMPTS):
        line = parse_json_text(row["event_json"])
        if type(line) is dict:
            yield line


def _join_text(content: Any) -> str:
    """Return the text of a message; empty if it has none."""
    blocks = content if type(content) is list else [content]
    texts = [block.get("text") if type(block) is dict else block for block in blocks]
    return "\n".join(text for text in texts if type(text) is str)


def decode_line(row: JsonObject) -> JsonObject:
    """Return a row with its line as text; unchanged if it is not compressed, or is damaged.

    Raises:
        UnreadableInput: the line is compressed, and the package for that is missing.
    """
    data: Any = row.get("event_zstd")
    if type(data) is not bytes or row.get("event_json") is not None:
        return row
    line = decompress_zstd(data, _COMPRESSION_REASON, MAX_LINE_BYTES)
    try:
        return row if line is None else row | {"event_json": line.decode(), "event_zstd": None}
    except UnicodeDecodeError:
        return row


def read_rows(source: Source, agent: str) -> Reading:
    """Return the record of the rows of a session."""
    with pause_garbage_collector():
        reader = PiReader(OPENCLAW_DATABASE_FORMAT, agent)
        session = reader.session
        rows = read_exported_rows(source, session)
        stored_id = session.session_id
        others, session.entries = session.entries, []
        events: list[JsonObject] = []
        for table, row in rows:
            line = parse_json_text(row.get("event_json")) if table == EVENTS_TABLE else None
            if type(line) is dict:
                session.entries.append(_make_line_entry(reader, row, line, stored_id))
            else:
                events.append(make_row_event(table, row))
        reader.settle()
        # The header of a session may have another id than the rows.
        session.session_id = stored_id
        session.entries += events + others
        session.tidy()
        return session.reading(source)


def _make_line_entry(
    reader: PiReader, row: JsonObject, line: JsonObject, stored_id: str | None
) -> JsonObject:
    """Turn the line in a row into an entry; the other columns stay in `vacr.event-row`.

    The id of the session is not repeated there.
    """
    entry = reader.make_entry(line)
    del row["event_json"]
    drop_nulls(row)
    if stored_id is not None and row.get("session_id") == stored_id:
        del row["session_id"]
    get_writable_marks(entry)["event-row"] = row
    return entry
