"""Conversations of any program, back from their records by the map that they contain."""

import base64
import tomllib

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
MEMBERS = {
    "role": "role",
    "content": "content",
    "time": "timestamp",
    "id": "id",
    "parent": "parent_id",
    "model": "model",
    "reasoning": "reasoning_content",
    "call-id": "tool_call_id",
    "tool-name": "name",
}
MOVED = (
    ("id", "id"),
    ("parent-id", "parent"),
    ("model-id", "model"),
    ("call-id", "call-id"),
    ("name", "tool-name"),
    ("content", "content"),
    ("output", "content"),
)


def values(record: dict) -> list:
    """Return the values of a file that belong to a record, the conversation first."""
    entries = record["session"]["entries"]
    maps = [
        tomllib.loads(entry["data"]["text"])
        for entry in entries
        if entry.get("event-type") == "attached-file" and "vacr" not in entry
    ]
    stated = maps[0] if maps else {}
    names = MEMBERS | stated.get("members", {})
    messages, others = [], []
    for entry in entries:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            others.append(base64.b64decode(entry["data"]["bytes"]))
        elif entry.get("event-type") != "attached-file" or "vacr" in entry:
            (others if ours.get("from") == "line" else messages).append(message(entry, names))
    form = record["vacr"]["source"]["format"]
    if form == "generic-jsonl":
        return messages + others
    if form == "generic-list":
        return [messages, *others]
    header = {name: value for name, value in record["session"].items() if name not in SESSION}
    header |= header.pop("vacr", {}).get("native", {})
    put(header, stated.get("messages", "messages"), messages)
    return [header, *others]


def message(entry: dict, names: dict):
    """Return the native value of an entry."""
    ours = entry.pop("vacr", {})
    if "not-an-object" in ours:
        return entry["data"]["value"]
    kind = entry.pop("type")
    if kind == "system-event":
        return entry["data"]
    children = entry.pop("children", ())
    entry.pop("token-usage", None)
    moved = {name: entry.pop(name) for name, _ in MOVED if name in entry}
    if "repeats" in ours:
        moved["id"] = ours["repeats"]
    stamp = entry.pop("timestamp", None)
    back = entry | ours.get("native", {})
    for canonical, member in MOVED:
        if canonical in moved:
            put(back, names[member], moved[canonical])
    if stamp is not None and find(back, names["time"]) is None:
        put(back, names["time"], stamp)
    for child in children:
        if "member" in child.get("vacr", {}):
            put(back, names["reasoning"], child["content"])
    if find(back, names["role"]) is None:
        put(back, names["role"], kind)
    return back


def split(path) -> list:
    return path.split(".") if isinstance(path, str) else path


def find(value: dict, path):
    for name in split(path):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def put(value: dict, path, member) -> None:
    *outer, last = split(path)
    for name in outer:
        value = value.setdefault(name, {})
    value[last] = member


def native(value):
    """Return a native value without the nulls that the format leaves out.

    These are nulls of messages, and of the object around them.
    """
    if isinstance(value, list):
        return [dropped(item) if isinstance(item, dict) else item for item in value]
    if not isinstance(value, dict):
        return value
    value = dropped(value)
    for name, member in value.items():
        if isinstance(member, list):
            value[name] = native(member)
        elif isinstance(member, dict):
            value[name] = {
                inner: native(item) if isinstance(item, list) else item
                for inner, item in member.items()
            }
    return value
