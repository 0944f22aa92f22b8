"""Documents with the messages of a chat, back from their records."""

import base64

from tests.agents.rebuild.comparing import dropped
from vacr.record import build_child_entries

SESSION = {
    "session-id",
    "agent-meta",
    "entries",
    "format",
    "session-start",
    "session-end",
    "environment",
}


def swe_agent(record: dict) -> list:
    return documents(record, "history")


def mini_swe_agent(record: dict) -> list:
    return documents(record, "messages")


def documents(record: dict, list_member: str) -> list:
    """Return the document of a record, and the other values of its file."""
    session = record["session"]
    header = {name: value for name, value in session.items() if name not in SESSION}
    header |= header.pop("vacr", {}).get("native", {})
    found, messages, steps = [], [], []
    for entry in session["entries"]:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif ours.get("from") == "line":
            found.append(entry["data"]["value"] if "not-an-object" in ours else entry["data"])
        elif "not-an-object" in ours:
            messages.append(entry["data"]["value"])
        else:
            if isinstance(entry.get("step"), dict) and list_member == "history":
                steps.append(entry.pop("step"))
            messages.append(message(entry))
    if steps:
        header["trajectory"] = steps
    if messages and (header or list_member == "history"):
        header[list_member] = messages
    return [header or messages] * bool(header or messages) + found


def message(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    kind, native = entry.pop("type"), ours.get("native", {})
    if kind == "system-event":
        return entry["data"]
    for name in ("timestamp", "model-id", "token-usage"):
        entry.pop(name, None)
    if "paired-by" in ours:
        del entry["call-id"]
    if ours.get("from") == "function_call_output":
        return {"type": "function_call_output"} | renamed(entry, {"call-id": "call_id"}) | native
    calls = []
    views = build_child_entries(entry.get("content"))
    for child in entry.pop("children", [])[len(views) :]:
        marks = child.pop("vacr", {})
        if "from" in marks or "usage-from" in marks:
            continue
        if child.pop("type") == "reasoning":
            entry[marks["member"]] = child["content"]
        else:
            calls.append(call(child) | marks.get("native", {}))
    if calls:
        entry["tool_calls"] = calls
    if kind == "tool-result":
        names = {"output": "content", "call-id": "tool_call_id"}
        return renamed(entry, names) | native
    return {"role": kind} | entry | native


def renamed(entry: dict, names: dict) -> dict:
    return {names.get(name, name): value for name, value in entry.items()}


def call(child: dict) -> dict:
    function = child.pop("function", {}) | {"name": child.pop("name")}
    function.setdefault("arguments", child.pop("input"))
    child.pop("input", None)
    return renamed(child, {"call-id": "id"}) | {"function": function}


def native(value):
    """Return a native document without the nulls that the format leaves out."""
    if isinstance(value, list):
        return [chat_message(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = dropped(value)
    for name in ("messages", "history"):
        if isinstance(value.get(name), list):
            value[name] = [chat_message(item) for item in value[name]]
    return value


def chat_message(item):
    if not isinstance(item, dict):
        return item
    item = dropped(item)
    if isinstance(item.get("tool_calls"), list):
        calls = [dropped(call) if isinstance(call, dict) else call for call in item["tool_calls"]]
        item["tool_calls"] = calls
    return item
