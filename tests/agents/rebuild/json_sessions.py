"""Sessions that are one JSON value, back from their records: Cline's, and others of that shape."""

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


def values(record: dict, list_member: str, id_member: str, message) -> list:
    """Return the values of a file: the session, and the values beside it."""
    session, source = record["session"], record["vacr"]["source"]
    header = {name: value for name, value in session.items() if name not in SESSION}
    header |= header.pop("vacr", {}).get("native", {})
    if session["session-id"] != source["parts"][0]["sha-256"] and id_member:
        header[id_member] = session["session-id"]
    is_member = "member" in member_marks(session["entries"][:1])
    found, messages = [], []
    for entry in session["entries"]:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif ours.get("from") == "line":
            data = entry["data"]
            found.append(data["value"] if "not-an-object" in ours else data)
        elif "not-an-object" in ours:
            messages.append(entry["data"]["value"])
        else:
            messages.append(message(entry))
    if (header or is_member) and messages:
        header[list_member] = messages
    return [header or messages] * bool(header or messages) + found


def member_marks(entries: list) -> list:
    """Return the marks of entries that may say that an object held nothing but its messages."""
    return [entry.get("vacr", {}).get(name) for entry in entries for name in ("from", "in")]


def restore_names(entry: dict, names: dict) -> dict:
    """Return the native members of an entry; `names` are native names by the canonical ones."""
    ours = entry.pop("vacr", {})
    entry.pop("children", None)
    entry.pop("token-usage", None)
    native = ours.get("native", {})
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    return {names.get(name, name): value for name, value in entry.items()} | native


def block_message(entry: dict, names: dict) -> dict:
    """Return a message with a role and a content."""
    kind = entry.pop("type")
    if kind == "system-event":
        return dict(entry["data"])
    return {"role": kind} | restore_names(entry, names)


# --- Cline ---


def cline_session(record: dict) -> list:
    manifest = "enable_spawn" in record["session"]
    return values(record, "messages", "session_id" if manifest else "sessionId", cline_message)


def cline_message(entry: dict) -> dict:
    model = entry["type"] != "system-event" and entry.pop("model-id", False)
    message = block_message(entry, {"timestamp": "ts"})
    if model is not False:
        message["modelInfo"]["id"] = model
    return message


def cline_task(record: dict) -> list:
    return values(record, "", "", cline_task_message)


def cline_task_message(entry: dict) -> dict:
    if entry.get("event-type") == "reasoning":
        return {"type": "reasoning", **entry["data"]}
    model = entry["type"] != "system-event" and entry.pop("model-id", False)
    message = block_message(entry, {"timestamp": "ts"})
    if model is not False:
        message["modelInfo"]["modelId"] = model
    return message


def cline_screen(record: dict) -> list:
    return values(record, "", "", cline_screen_message)


def cline_screen_message(entry: dict) -> dict:
    if entry.pop("type") != "system-event":
        return restore_names(entry, {"timestamp": "ts", "content": "text"})
    return entry["data"] | ({"ts": entry["timestamp"]} if "timestamp" in entry else {})


# --- Continue ---


def continue_session(record: dict) -> list:
    return values(record, "history", "sessionId", continue_item)


def continue_index(record: dict) -> list:
    return values(record, "", "", lambda entry: entry["data"])


def continue_item(entry: dict) -> dict:
    """Return an item of the history."""
    kind = entry.pop("type")
    if kind == "system-event":
        return entry["data"]
    ours = entry.pop("vacr", {})
    children = entry.pop("children", [])[len(views(entry.get("content"))) :]
    for name in ("token-usage", "model-id"):
        entry.pop(name, None)
    native = ours.get("native", {})
    names = {"content": "content", "output": "content", "id": "id", "call-id": "toolCallId"}
    inner = {names[name]: entry.pop(name) for name in list(entry) if name in names}
    if kind == "tool-result" and inner.get("content") is None:
        inner.pop("content", None)
    if "repeats" in ours and kind != "tool-result":
        inner["id"] = ours["repeats"]
    entry["message"] = {"role": kind} | inner | entry.get("message", {})
    state: dict = {}
    """The state of the last call; its result follows it."""
    for child in children:
        if child["type"] == "reasoning" and "content" in child:
            restore_reasoning(entry, child)
        elif child["type"] == "tool-call":
            restore_call(entry, child)
            state = child
        elif child["type"] == "tool-result":
            state["output"] = child["output"]
            state |= {name: child[name] for name in ("status",) if name in child}
    return entry | native


def restore_reasoning(entry: dict, child: dict) -> None:
    times = {"startAt": child["timestamp"]} if "timestamp" in child else {}
    entry["reasoning"] = {
        "text": child["content"],
        **times,
        **child.get("vacr", {}).get("native", {}),
    }


def restore_call(entry: dict, child: dict) -> None:
    ours = child.pop("vacr", {})
    if ours.get("from") == "toolCalls":
        return
    del child["type"]
    child["toolCall"]["function"]["name"] = child.pop("name")
    arguments = child.pop("input", None)
    if ours.get("input-from") != "arguments":
        child["parsedArgs"] = arguments
    if "call-id" in child:
        child["toolCallId"] = child.pop("call-id")
    child |= ours.get("native", {})
    if ours.get("from") == "toolCallState":
        entry["toolCallState"] = child
    else:
        entry.setdefault("toolCallStates", []).append(child)


def continue_native(value):
    """Return a native value without the nulls of items, messages and states."""
    value = native(value)
    items = value.get("history") if isinstance(value, dict) else None
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        if isinstance(item.get("message"), dict) and "role" in item["message"]:
            item["message"] = dropped(item["message"])
        for name in ("toolCallStates", "toolCallState"):
            states = item.get(name)
            if isinstance(states, list):
                item[name] = native(states)
            elif isinstance(states, dict):
                item[name] = dropped(states)
    return value


# --- Amp ---


def amp_thread(record: dict) -> list:
    return values(record, "messages", "id", amp_message)


def amp_message(entry: dict) -> dict:
    if entry["type"] == "system-event":
        return entry["data"]
    moved = {
        name: entry.pop(name) for name in ("timestamp", "stop-reason", "model-id") if name in entry
    }
    message = block_message(entry, {})
    holder, member = ("meta", "sentAt") if message["role"] == "user" else ("usage", "timestamp")
    if "timestamp" in moved:
        message[holder][member] = moved["timestamp"]
    if "stop-reason" in moved:
        message["state"]["stopReason"] = moved["stop-reason"]
    if "model-id" in moved:
        message["usage"]["model"] = moved["model-id"]
    return message


def native(value):
    """Return a native value without the nulls that the format leaves out."""
    if isinstance(value, list):
        return [native(item) if isinstance(item, dict) else item for item in value]
    if not isinstance(value, dict):
        return value
    value = dropped(value)
    for name in ("messages", "history"):
        if isinstance(value.get(name), list):
            value[name] = native(value[name])
    return value
