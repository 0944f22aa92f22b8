"""Gemini CLI sessions, logs and saved chats, back from their records."""

import base64

from tests.agents.rebuild.comparing import dropped
from vacr.record.message_content import build_child_entries as views

SESSION = {
    "session-id",
    "agent-meta",
    "entries",
    "format",
    "session-start",
    "session-end",
    "environment",
}
PATCHES = {"rewind": "$rewindTo", "message-patch": "$patch", "metadata-update": "$set"}
HEADER = "session-metadata"
LOGS = ("gemini-jsonl", "qwen-log")
HOLDERS = ("messages", "history", "clientHistory")
TURNS = ("line", "[]", "history", "clientHistory")


def values(record: dict) -> list:
    """Return the values of a file in order.

    The object that describes the session comes first, unless an event marks its place.
    """
    session, is_log = record["session"], record["vacr"]["source"]["format"] in LOGS
    header = {name: value for name, value in session.items() if name not in SESSION}
    header |= header.pop("vacr", {}).get("native", {})
    turns = [
        entry
        for entry in session["entries"]
        if not is_log or entry.get("vacr", {}).get("from") in TURNS
    ]
    from_turn = any(entry.get("sessionId") == session["session-id"] for entry in turns)
    if session["session-id"] != record["vacr"]["source"]["parts"][0]["sha-256"] and not from_turn:
        header["sessionId"] = session["session-id"]
    has_header = bool(header)
    holder, found, turns, is_placed = header, [], [], False
    for entry in session["entries"]:
        ours = entry.get("vacr", {})
        origin = ours.get("from")
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif origin == "session":
            is_placed = True
            found.append(header)
        elif origin == "$set":
            found[-1]["$set"].setdefault("messages", []).append(message(entry))
        elif origin in HOLDERS:
            holder.setdefault(origin, []).append(
                message(entry) if origin == "messages" else turn(entry)
            )
        elif origin == "line":
            found.append(turn(entry))
        elif origin == "[]" or not (is_log or has_header or "not-an-object" in ours):
            turns.append(turn(entry))
        elif is_log or "not-an-object" in ours:
            is_header = entry.get("event-type") == HEADER and "type" not in ours.get("native", {})
            found.append(message(entry))
            holder = found[-1] if is_header else holder
        else:
            header.setdefault("messages", []).append(message(entry))
    back = ([turns] if turns else []) + ([header] if header and not is_placed else []) + found
    # A record leaves out nulls, so one without entries is of an object with nothing but nulls.
    is_empty_file = record["vacr"]["source"]["parts"][0]["size"] == 0
    return back or [{}] * (not is_empty_file)


def message(entry: dict):
    """Return the message of an entry, or any other value of a log."""
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    if "not-an-object" in ours:
        return entry["data"]["value"]
    kind = entry.pop("type")
    if kind == "system-event":
        return event(entry, native, ours)
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    inside = entry.pop("children", [])[len(views(entry.get("content"))) :]
    usage = entry.pop("token-usage", None)
    if usage is not None and "tokens" not in entry:
        entry["tokens"] = {name: count for name, count in usage.items() if name != "reasoning"}
    if "model-id" in entry:
        entry["model"] = entry.pop("model-id")
    if "content" in entry:
        entry[ours.get("content-from", "content")] = entry.pop("content")
    for child in inside:
        if child["type"] == "reasoning":
            entry.setdefault("thoughts", []).append(thought(child))
        elif child["type"] == "tool-call":
            entry.setdefault("toolCalls", []).append(call(child))
        else:
            entry["toolCalls"][-1].update(result(child))
    return {"type": kind} | entry | native


def event(entry: dict, native: dict, ours: dict) -> dict:
    event_type, data = entry.pop("event-type"), entry.pop("data", {})
    is_patch = event_type == HEADER or PATCHES.get(event_type) in data
    if is_patch and "type" not in native:
        return data
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    return ({} if event_type == "unknown" else {"type": event_type}) | entry | data | native


def turn(entry: dict) -> dict:
    """Return the turn of a saved chat."""
    ours = entry.pop("vacr", {})
    entry.pop("children", None)
    kind = entry.pop("type")
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if "stop-reason" in entry:
        entry["finishReason"] = entry.pop("stop-reason")
    entry["parts"] = entry.pop("content")
    return {"role": kind} | entry | ours.get("native", {})


def thought(child: dict) -> dict:
    native = child.pop("vacr", {}).get("native", {})
    del child["type"]
    child["description"] = child.pop("content")
    return child | native


def call(child: dict) -> dict:
    native = child.pop("vacr", {}).get("native", {})
    del child["type"]
    for canonical, name in (("call-id", "id"), ("input", "args")):
        if canonical in child:
            child[name] = child.pop(canonical)
    return child | native


def result(child: dict) -> dict:
    """Return the members of a call that its result has."""
    names = ("status", "timestamp", "resultDisplay")
    native = child.pop("vacr", {}).get("native", {})
    return (
        {name: child[name] for name in names if name in child}
        | native
        | {"result": child["output"]}
    )


def native(value):
    """Return a native value without the nulls that the format leaves out.

    These are nulls of messages, turns, thoughts, calls, and of the session's description.
    """
    if isinstance(value, list):
        return [native(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = dropped(value)
    for name in (*HOLDERS, "thoughts", "toolCalls"):
        if isinstance(value.get(name), list):
            value[name] = native(value[name])
    if isinstance(value.get("$set"), dict) and isinstance(value["$set"].get("messages"), list):
        value["$set"] = value["$set"] | {"messages": native(value["$set"]["messages"])}
    return value
