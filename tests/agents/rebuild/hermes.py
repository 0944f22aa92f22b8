"""Rows and session files of Hermes, back from their records."""

import contextlib
import json

from tests.agents.rebuild import chat_documents, json_sessions, session_rows
from tests.agents.rebuild.comparing import dropped


def rows(record: dict) -> list:
    return session_rows.values(record, message)


def session_file(record: dict) -> list:
    return json_sessions.values(record, "messages", "session_id", message)


def message(entry: dict) -> dict:
    """Return a message; its own time and id are among the native members."""
    for name in ("timestamp", "id", "stop-reason", "token-usage"):
        entry.pop(name, None)
    return chat_documents.message(entry)


def native_row(value):
    """Return a line without the nulls that the format leaves out, and with its calls as a value."""
    if not isinstance(value, dict) or value.keys() != {"row", "table"}:
        return value
    table, row = value["table"], value["row"]
    if table == "sessions" and isinstance(row, dict):
        return session_rows.line(table, dropped(row))
    role = row.get("role") if isinstance(row, dict) else None
    is_talk = role in ("user", "assistant") or (role == "tool" and row.get("content") is not None)
    if table != "messages" or not is_talk:
        return value
    if role == "assistant" and isinstance(row.get("tool_calls"), str):
        with contextlib.suppress(ValueError):
            row = row | {"tool_calls": json.loads(row["tool_calls"])}
    return session_rows.line(table, chat_documents.chat_message(row))
