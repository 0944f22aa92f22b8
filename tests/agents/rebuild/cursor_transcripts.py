"""Cursor transcripts, back from their entries: lines of JSON, or the text itself."""


def line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    entry.pop("children", None)
    kind = entry.pop("type")
    if kind == "system-event":
        named = {} if entry["event-type"] == "unknown" else {"type": entry["event-type"]}
        return entry.get("data", {}) | named | ours.get("native", {})
    message = entry.pop("message", {})
    if "content" in entry:
        message["content"] = entry.pop("content")
    if "model-id" in entry:
        entry["model"] = entry.pop("model-id")
    return entry | ours.get("native", {}) | {"role": kind, "message": message}


def text(record: dict) -> str:
    """Return the text of a transcript from its record."""
    found = ""
    for entry in record["session"]["entries"]:
        if entry["type"] == "system-event":
            found += entry["data"]["text"]
        else:
            found += entry["line"] + "".join(block["text"] for block in entry["content"])
    return found
