"""Rows of a database with sessions and messages, back from their entries."""

import base64
import json

from tests.agents.rebuild.comparing import dropped

SESSION = {
    "session-id",
    "agent-meta",
    "entries",
    "format",
    "session-start",
    "session-end",
    "environment",
}
CONTENT = ("text", "image_url", "binary")


def values(record: dict, message=None) -> list:
    """Return the lines of an export: its head, and a line for each row.

    `message` returns the row of an entry; by default it is one of Crush.
    """
    session, ours = record["session"], record["vacr"]
    found = []
    session_id = session["session-id"]
    if session_id != ours["source"]["parts"][0]["sha-256"]:
        found.append({"vacr-export": ours["source"]["format"], "session": session_id})
    row = {name: value for name, value in session.items() if name not in SESSION}
    if row := row | row.pop("vacr", {}).get("native", {}):
        found.append(line("sessions", row | {"id": session_id}))
    return found + [
        value
        for entry in session["entries"]
        for value in entry_values(entry, message or crush_message)
    ]


def line(table: str, row: dict) -> dict:
    return {"table": table, "row": row}


def entry_values(entry: dict, message) -> list:
    ours = entry.get("vacr", {})
    if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
        return [base64.b64decode(entry["data"]["bytes"])]
    if "not-an-object" in ours:
        return [entry["data"]["value"]]
    if ours.get("row"):
        kept = entry["event-type"] == "vacr-export"
        return [entry["data"] if kept else line(entry["event-type"], entry["data"])]
    return [line("messages", message(entry))]


def crush_message(entry: dict) -> dict:
    """Return the row of a message of Crush; its parts are a value."""
    ours = entry.pop("vacr", {})
    kind, content, children = entry.pop("type"), entry.pop("content"), entry.pop("children", [])
    for name in ("timestamp", "stop-reason"):
        entry.pop(name, None)
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if "model-id" in entry:
        entry["model"] = entry.pop("model-id")
    pieces = {f"content/{number}": block_part(block) for number, block in enumerate(content)}
    pieces |= {f"children/{number}": child_part(child) for number, child in enumerate(children)}
    parts = [pieces[place] for place in ours.get("order", pieces)]
    return {"role": kind} | entry | ours.get("native", {}) | {"parts": parts}


def block_part(block: dict) -> dict:
    return {
        "type": block["type"],
        "data": {name: value for name, value in block.items() if name != "type"},
    }


def child_part(child: dict):
    ours = child.pop("vacr", {})
    native = ours.get("native", {})
    if "not-an-object" in ours:
        return child["data"]["value"]
    if ours.get("part"):
        return {"type": child["event-type"], "data": child["data"]}
    kind = child.pop("type")
    if "repeats" in ours:
        child["id"] = ours["repeats"]
    if kind == "reasoning":
        child.pop("timestamp", None)
        names = {"content": "thinking", "encrypted": "signature"}
    elif kind == "tool-call":
        names = {"call-id": "id"}
    else:
        names = {"output": "content", "call-id": "tool_call_id"}
    data = {names.get(name, name): value for name, value in child.items()} | native
    return {"type": kind.replace("-", "_"), "data": data}


def native(value):
    """Return a line without the nulls that the format leaves out, and with its parts as a value."""
    if not isinstance(value, dict) or value.keys() != {"row", "table"}:
        return value
    row = value["row"]
    if not isinstance(row, dict):
        return value
    if value["table"] == "sessions":
        return line("sessions", dropped(row))
    if value["table"] != "messages":
        return value
    parts = row.get("parts")
    if isinstance(parts, str):
        try:
            parts = json.loads(parts)
        except ValueError:
            return line("messages", dropped(row))
    if isinstance(parts, list):
        parts = [without_nulls(part) for part in parts]
    return line("messages", dropped(row | {"parts": parts}))


def without_nulls(part):
    """Return a part without the nulls of a call, a result or reasoning."""
    taken = ("tool_call", "tool_result", "reasoning")
    is_taken = isinstance(part, dict) and part.get("type") in taken
    if is_taken and isinstance(part.get("data"), dict):
        kept = {name for name in ("input", "content") if name in part["data"]}
        return part | {
            "data": {
                name: value
                for name, value in part["data"].items()
                if value is not None or name in kept
            }
        }
    return part
