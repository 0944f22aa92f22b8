"""Sessions that are one JSON value, back from their records: Cline's, and others of that shape."""

import base64

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


def values(record: dict, list_member: str, id_member: str, message) -> list:
    """Return the values of a file: the session, and the values beside it."""
    session, source = record["session"], record["vacr"]["source"]
    header = {name: value for name, value in session.items() if name not in SESSION}
    header |= record["vacr"].get("native", {})
    if session["session-id"] != source["parts"][0]["sha-256"] and id_member:
        header[id_member] = session["session-id"]
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
    if header and messages:
        header[list_member] = messages
    return [header or messages] * bool(header or messages) + found


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
    message = block_message(entry, {"timestamp": "ts"})
    if "model-id" in message:
        message["modelInfo"]["id"] = message.pop("model-id")
    return message


def cline_task(record: dict) -> list:
    return values(record, "", "", cline_task_message)


def cline_task_message(entry: dict) -> dict:
    if entry.get("event-type") == "reasoning":
        return {"type": "reasoning", **entry["data"]}
    message = block_message(entry, {"timestamp": "ts"})
    if "model-id" in message:
        message["modelInfo"]["modelId"] = message.pop("model-id")
    return message


def cline_screen(record: dict) -> list:
    return values(record, "", "", cline_screen_message)


def cline_screen_message(entry: dict) -> dict:
    if entry.pop("type") != "system-event":
        return restore_names(entry, {"timestamp": "ts", "content": "text"})
    return entry["data"] | ({"ts": entry["timestamp"]} if "timestamp" in entry else {})


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
