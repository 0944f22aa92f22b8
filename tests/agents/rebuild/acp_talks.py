"""Transcripts of conversations in the Agent Client Protocol, back from their records."""

import base64


def values(record: dict) -> list:
    """Return the lines of the transcript that a record holds, and the undecodable bytes."""
    return list(_list_values(record))


def _list_values(record):
    for entry in record["session"]["entries"]:
        marks = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and marks.get("encoding") == "base64":
            yield base64.b64decode(entry["data"]["bytes"])
        elif "not-an-object" in marks:
            yield entry["data"]["value"]
        elif "chunks" in entry:
            yield from entry["chunks"]
        elif marks.get("from") != "tool_call":  # That is a view of the call before it.
            line = entry["data"] if entry["type"] == "system-event" else _rebuild_line(entry)
            yield line | ({"at": entry["timestamp"]} if "timestamp" in entry else {})


def _rebuild_line(entry):
    """Return the line of a message, a call or a result."""
    own = {"type", "timestamp", "vacr", "content", "input", "output", "call-id", "name", "status"}
    own.add("children")
    line = {name: value for name, value in entry.items() if name not in own}
    native = entry.get("vacr", {}).get("native", {})
    # The agent's own status of a result is in its update as well.
    copied = {"status"} if entry["type"] == "tool-result" else set()
    line |= {name: value for name, value in native.items() if name not in copied}
    params = line["message"]["params"]
    update = params.get("update", {})
    if entry["type"] == "user":
        params["prompt"] = entry["content"]
    elif entry["type"] == "tool-call":
        if entry["input"] and "completed-by" not in entry.get("vacr", {}):
            update["rawInput"] = entry["input"]
    elif entry["type"] == "tool-result":
        if entry["output"] != update.get("content", ""):
            update["rawOutput"] = entry["output"]
    elif entry["content"]:
        update["content"] = entry["content"][0]
    return line


def native(value):
    """Return a value without null members, of which a record may lack some."""
    if isinstance(value, dict):
        return {name: native(item) for name, item in value.items() if item is not None}
    return [native(item) for item in value] if isinstance(value, list) else value
