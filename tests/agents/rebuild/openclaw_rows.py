"""Rows of OpenClaw's database, back from their entries."""

import json

from tests.agents.rebuild import pi_entries, session_rows
from tests.agents.rebuild.comparing import dropped, without_nulls

EVENTS = "transcript_events"


def values(record: dict) -> list:
    """Return the lines of an export: its head, and a line for each row."""
    session_id = record["session"]["session-id"]
    found = []
    if session_id != record["vacr"]["source"]["parts"][0]["sha-256"]:
        found.append({"vacr-export": "openclaw-sqlite", "session": session_id})
    for entry in record["session"]["entries"]:
        ours = entry.get("vacr", {})
        if "event-row" in ours:
            row = {"session_id": session_id} | ours.pop("event-row")
            found.append(session_rows.line(EVENTS, row | {"event_json": pi_entries.line(entry)}))
        else:
            found += session_rows.entry_values(entry, None)
    return found


def native(value):
    """Return a line without the nulls that the format leaves out, and with its event as a value."""
    if not isinstance(value, dict) or value.keys() != {"row", "table"}:
        return value
    row = value["row"]
    if value["table"] != EVENTS or not isinstance(row, dict):
        return value
    event = row.get("event_json")
    if isinstance(event, str):
        try:
            event = json.loads(event)
        except ValueError:
            return value
    if not isinstance(event, dict):
        return value
    return session_rows.line(EVENTS, dropped(row) | {"event_json": without_nulls(event)})
